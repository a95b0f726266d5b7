// The one stream of live events: reopened from the last id, given up only when signed out.

import { EventParser } from "./sse.js";

const FIRST_WAIT = 300;
const LONGEST_WAIT = 5000;
const SILENCE = 40_000; // the server beats every 15 s

export class Stream {
  #since = null;
  #wait = FIRST_WAIT;
  #failures = 0;
  #held = true;
  #over = false;
  #attempt = null;
  #wake = () => {};
  #on;

  // `on.event({ type, id, data })`; `on.state("live" | "waiting" | "lost" | "signed-out")`.
  constructor(path, on) {
    this.path = path;
    this.#on = on;
  }

  // Runs as long as the page lives, or until the server no longer knows us.
  async run() {
    while (!this.#over) {
      if (!this.#held) await this.#woken();
      else await this.#once();
    }
  }

  // Lets the connection go (another tab needs it) until `hold`.
  release() {
    this.#held = false;
    this.#attempt?.abort();
  }

  // Wants the connection now: also cuts a wait between two attempts short.
  hold() {
    this.#held = true;
    this.#wait = FIRST_WAIT;
    this.#wake();
  }

  end() {
    this.#over = true;
    this.#attempt?.abort();
    this.#wake();
    this.#on.state("signed-out");
  }

  async #once() {
    this.#attempt = new AbortController();
    try {
      await this.#read(this.#attempt);
    } catch {
      // An abort, an outage or a silence: all end in another attempt.
    }
    this.#attempt.abort();
    if (this.#over || !this.#held) return;
    this.#failures += 1;
    this.#on.state(this.#failures > 2 ? "lost" : "waiting");
    await this.#woken(this.#wait * (0.75 + Math.random() / 2));
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT);
  }

  async #read(attempt) {
    let dog = setTimeout(() => attempt.abort(), SILENCE);
    try {
      const headers = this.#since === null ? {} : { "last-event-id": this.#since };
      const answer = await fetch(this.path, { headers, cache: "no-store", signal: attempt.signal });
      if (answer.status === 401) return this.end();
      if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
      await this.#pump(answer.body.getReader(), () => {
        clearTimeout(dog);
        dog = setTimeout(() => attempt.abort(), SILENCE);
      });
    } finally {
      clearTimeout(dog);
    }
  }

  async #pump(reader, alive) {
    const parser = new EventParser();
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      alive();
      for (const event of parser.push(decoder.decode(value, { stream: true }))) this.#take(event);
    }
  }

  #take(event) {
    if (event.type === "hello" || event.type === "gap") this.#opened();
    this.#on.event(event);
    if (event.id) this.#since = event.id;
  }

  #opened() {
    this.#wait = FIRST_WAIT;
    this.#failures = 0;
    this.#on.state("live");
  }

  #woken(milliseconds) {
    return new Promise((resolve) => {
      const timer = milliseconds === undefined ? 0 : setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

// A browser opens six connections a host in all, for all its tabs: a tab that is looked at says so,
// and those that nobody sees let their streams go until they are looked at again.
export function shareConnections(stream) {
  const channel = new BroadcastChannel("vivero");
  const seen = () => {
    if (document.visibilityState !== "visible") return;
    channel.postMessage("seen");
    stream.hold();
  };
  channel.addEventListener("message", () => {
    if (document.visibilityState === "hidden") stream.release();
  });
  document.addEventListener("visibilitychange", seen);
  addEventListener("pageshow", seen);
  addEventListener("online", () => document.visibilityState === "visible" && stream.hold());
  seen();
}
