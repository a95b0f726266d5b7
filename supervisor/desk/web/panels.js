// Asking for what a panel shows: soon after news, every so often, never twice at once.

// Runs `work` once at a time; what asks meanwhile shares one more run.
export function oneAtATime(work) {
  let running = false;
  let again = false;
  return async function run() {
    again = running;
    if (running) return;
    running = true;
    try {
      do {
        again = false;
        await work();
      } while (again);
    } finally {
      running = false;
    }
  };
}

export class Panel {
  static #asking = true;
  static #all = [];
  #timer = 0;
  #due = 0;
  #read = -Infinity; // when the last reading ended
  #run;

  // `read()` is awaited; `every` milliseconds while the page is seen, `settle` after news, but not
  // before `gap` after the last reading: a storm of news must leave the supervisor its time.
  constructor(read, every, settle, gap) {
    this.gap = gap;
    this.every = every;
    this.settle = settle;
    this.#run = oneAtATime(read);
    Panel.#all.push(this);
    document.addEventListener("visibilitychange", () => this.soon());
  }

  // Without a server that answers us there is nothing to ask; with one, all have something to ask.
  static letAsk(wanted) {
    Panel.#asking = wanted;
    if (wanted) for (const panel of Panel.#all) panel.soon();
  }

  // News: read once they have settled.
  soon() {
    this.#plan(Math.max(this.settle, this.#read + this.gap - performance.now()));
  }

  async now() {
    clearTimeout(this.#timer);
    this.#due = 0;
    if (!Panel.#asking) return;
    try {
      await this.#run();
    } finally {
      this.#read = performance.now();
      this.#plan(this.every);
    }
  }

  // An earlier plan stands: a storm of news cannot put the reading off.
  #plan(wait) {
    if (!Panel.#asking || document.visibilityState === "hidden") return;
    const due = performance.now() + wait;
    if (this.#due && this.#due <= due) return;
    clearTimeout(this.#timer);
    this.#due = due;
    this.#timer = setTimeout(() => this.now(), wait);
  }
}

const SHARE = 3; // of this many equal parts of time, applying takes one
const FLOOD = 100; // so many at once are not read one by one: what they change is painted less often
const FLOOD_PAUSE = 400;

// Collects items and hands them over together, once a frame, or more seldom when that takes long:
// a flood must leave time for a person's keys. A hidden page has no frames.
export class Batch {
  #items = [];
  #planned = false;
  #free = 0; // not before this instant

  constructor(apply, most = 5000) {
    this.apply = apply;
    this.most = most;
  }

  add(item) {
    this.#items.push(item);
    if (this.#items.length >= this.most) this.flush();
    else if (!this.#planned) this.#plan();
  }

  flush() {
    const items = this.#items;
    this.#items = [];
    const began = performance.now();
    if (items.length) this.apply(items);
    const rest = (performance.now() - began) * SHARE;
    this.#free = performance.now() + (items.length > FLOOD ? Math.max(rest, FLOOD_PAUSE) : rest);
  }

  #plan() {
    this.#planned = true;
    const run = () => {
      this.#planned = false;
      this.flush();
    };
    const busy = this.#free - performance.now();
    if (document.visibilityState === "hidden") setTimeout(run, 250);
    else if (busy > 0) setTimeout(run, busy);
    else requestAnimationFrame(run);
  }
}
