// One stream for all tabs: a browser opens six connections a host in all, so the tab that holds the
// lock reads and tells the others; when it goes, the next one reads on from what it heard last.

import { Stream } from "./stream.js";

const NAME = "vivero.events";
const SILENCE = 40_000; // a reader that is quiet for so long is stuck: its lock is taken away
const LOOK = 5000;

export class SharedStream {
  #channel = new BroadcastChannel(NAME);
  #stream = null; // only in the tab that reads
  #waiting = null; // in the others: the request for the lock
  #since = null;
  #state = "waiting";
  #heard = performance.now();
  #on;

  // `on.event({ type, id, data })`: the type `gap` means that something may be missing before it;
  // `on.state("live" | "waiting" | "lost" | "signed-out")`.
  constructor(path, on) {
    this.path = path;
    this.#on = on;
  }

  start() {
    this.#channel.addEventListener("message", ({ data }) => this.#hear(data));
    this.#tell({ ask: true });
    this.#queue();
    setInterval(() => this.#watch(), LOOK);
    addEventListener("online", () => this.#hurry());
    addEventListener("pageshow", (event) => event.persisted && location.reload());
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.#hurry());
  }

  // The API said 401: there is nothing to read either.
  signedOut() {
    this.#stream?.stop();
    this.#setState("signed-out");
  }

  // -- reading -------------------------------------------------------------------------------------

  async #queue(how = {}) {
    this.#waiting = new AbortController();
    const options = how.steal ? how : { signal: this.#waiting.signal };
    let granted = false;
    try {
      await navigator.locks.request(NAME, options, () => {
        granted = true;
        return this.#read();
      });
    } catch {
      if (granted) this.#robbed(); // else we gave up waiting
    }
  }

  async #read() {
    this.#waiting = null;
    this.#stream = new Stream(this.path, this.#since, {
      events: (events) => {
        this.#tell({ events });
        this.#take(events);
      },
      state: (state) => {
        this.#setState(state);
        this.#tell({ state });
      },
    });
    await this.#stream.run();
    this.#stream = null;
  }

  // Another tab took us for dead.
  #robbed() {
    this.#stream?.stop();
    this.#stream = null;
    this.#heard = performance.now();
    this.#queue();
  }

  #watch() {
    if (this.#stream || !this.#waiting || performance.now() - this.#heard < SILENCE) return;
    this.#heard = performance.now();
    this.#waiting.abort();
    this.#queue({ steal: true });
  }

  // -- the other tabs ----------------------------------------------------------------------------

  #tell(message) {
    this.#channel.postMessage(message);
  }

  #hear({ ask, hurry, events, state, since }) {
    if (hurry) this.#stream?.hurry();
    if (ask && this.#stream) this.#tell({ state: this.#state, since: this.#since });
    if (ask || hurry) return;
    this.#heard = performance.now();
    this.#since ??= since ?? null;
    if (events) this.#take(events);
    if (state) this.#hearState(state);
  }

  // Each tab finds out for itself that it is signed out; that it no longer is, from another.
  #hearState(state) {
    if (this.#stream || state === "signed-out") return;
    if (this.#state === "signed-out" && state === "live" && !this.#waiting) this.#queue();
    this.#setState(state);
  }

  #hurry() {
    this.#stream?.hurry();
    this.#tell({ hurry: true });
  }

  #take(events) {
    for (const event of events) {
      this.#on.event(event);
      this.#since = event.id || this.#since;
    }
  }

  #setState(state) {
    this.#state = state;
    this.#on.state(state);
  }
}
