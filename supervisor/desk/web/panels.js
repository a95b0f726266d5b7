// Asking for what a panel shows: soon after news, every so often, never twice at once.

export class Panel {
  #busy = false;
  #again = false;
  #timer = 0;
  #due = 0;

  // `read()` is awaited; `every` milliseconds while the page is seen, `settle` after news.
  constructor(read, every, settle) {
    this.read = read;
    this.every = every;
    this.settle = settle;
    document.addEventListener("visibilitychange", () => this.soon());
  }

  // News: read once they have settled. A read under way is followed by another.
  soon() {
    this.#plan(this.settle);
  }

  async now() {
    clearTimeout(this.#timer);
    this.#due = 0;
    if (this.#busy) {
      this.#again = true;
      return;
    }
    this.#busy = true;
    try {
      await this.read();
    } finally {
      this.#busy = false;
      this.#plan(this.#again ? this.settle : this.every);
      this.#again = false;
    }
  }

  // An earlier plan stands: a storm of news cannot put the reading off.
  #plan(wait) {
    if (document.visibilityState === "hidden") return;
    const due = performance.now() + wait;
    if (this.#due && this.#due <= due) return;
    clearTimeout(this.#timer);
    this.#due = due;
    this.#timer = setTimeout(() => this.now(), wait);
  }
}

// Collects items and hands them over together, once a frame; hidden pages have no frames.
export class Batch {
  #items = [];
  #planned = false;

  constructor(apply, most = 5000) {
    this.apply = apply;
    this.most = most;
  }

  add(item) {
    this.#items.push(item);
    if (this.#items.length >= this.most) this.#run();
    else if (!this.#planned) this.#plan();
  }

  #plan() {
    this.#planned = true;
    if (document.visibilityState === "visible") requestAnimationFrame(() => this.#run());
    setTimeout(() => this.#run(), 250);
  }

  #run() {
    this.#planned = false;
    const items = this.#items;
    this.#items = [];
    if (items.length) this.apply(items);
  }
}
