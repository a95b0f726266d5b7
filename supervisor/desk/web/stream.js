// The stream of live events: reopened from the last id, given up only when the server knows us no more.

import { EventParser } from "./sse.js";

const FIRST_WAIT = 300;
const LONGEST_WAIT = 5000;
const SILENCE = 40_000; // the server beats every 15 s

export class Stream {
  #since;
  #wait = FIRST_WAIT;
  #failures = 0;
  #over = false;
  #attempt = null;
  #wake = () => {};
  #on;

  // `since`: the last id that was read, or null. `on.events([{ type, id, data }])`, each list as it
  // came over the wire, maybe empty; `on.state("live" | "waiting" | "lost" | "signed-out")`.
  constructor(path, since, on) {
    this.path = path;
    this.#since = since;
    this.#on = on;
  }

  // Reads until `stop`, or until the server answers 401.
  async run() {
    while (!this.#over) {
      await this.#once();
      if (this.#over) return;
      this.#failures += 1;
      this.#on.state(this.#failures > 2 ? "lost" : "waiting");
      await this.#pause(this.#wait * (0.75 + Math.random() / 2));
      this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT);
    }
  }

  // Cuts a wait between two attempts short.
  hurry() {
    this.#wait = FIRST_WAIT;
    this.#wake();
  }

  stop() {
    this.#over = true;
    this.#attempt?.abort();
    this.#wake();
  }

  async #once() {
    this.#attempt = new AbortController();
    try {
      await this.#read(this.#attempt);
    } catch {
      // An abort, an outage or a silence: all end in another attempt.
    }
    this.#attempt.abort();
  }

  async #read(attempt) {
    let dog = setTimeout(() => attempt.abort(), SILENCE);
    try {
      const headers = this.#since === null ? {} : { "last-event-id": this.#since };
      const answer = await fetch(this.path, { headers, cache: "no-store", signal: attempt.signal });
      if (answer.status === 401) return this.#signedOut();
      if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
      await this.#pump(answer.body.getReader(), () => {
        clearTimeout(dog);
        dog = setTimeout(() => attempt.abort(), SILENCE);
      });
    } finally {
      clearTimeout(dog);
    }
  }

  #signedOut() {
    this.stop();
    this.#on.state("signed-out");
  }

  async #pump(reader, alive) {
    const parser = new EventParser();
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || this.#over) return;
      alive();
      this.#take(parser.push(decoder.decode(value, { stream: true })));
    }
  }

  #take(events) {
    if (events[0]?.type === "hello" || events[0]?.type === "gap") this.#opened(events[0]);
    this.#since = events.at(-1)?.id || this.#since;
    this.#on.events(events);
  }

  // Who never read before may have missed something too.
  #opened(first) {
    if (this.#since === null) first.type = "gap";
    this.#wait = FIRST_WAIT;
    this.#failures = 0;
    this.#on.state("live");
  }

  #pause(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
