// What you said and the server has not accepted yet: sent in order, again after an outage, once.

import { Failure, post, roomPath } from "./api.js";
import { keep, recall } from "./stores.js";

const KEY = "vivero.outbox";
const WAITS = [500, 1000, 2000, 4000, 5000];
const CLOCKS_APART = 2; // seconds; the server is mostly on this machine

export class Outbox {
  #busy = false;
  #timer = 0;
  #tries = 0;
  #on;

  // `on.changed()`; `on.accepted(item, line)`; `on.refused(item, failure)`.
  constructor(on) {
    this.#on = on;
    this.items = restored();
  }

  of(room) {
    return this.items.filter((item) => item.room === room);
  }

  // Puts a text in line; its transaction id makes sure that it is posted once however often it is sent.
  add(room, person, text) {
    const txn = crypto.randomUUID();
    this.items.push({ txn, room, person, text, at: Date.now() / 1000, event_id: null, refusal: null });
    this.#changed();
    this.flush();
  }

  drop(txn) {
    this.items = this.items.filter((item) => item.txn !== txn);
    this.#changed();
  }

  // A line that is new to us may be one of ours whose acceptance is still on its way: it is shown
  // once. Only the server's answer takes the item out of the line.
  adopt(line) {
    const own = (item) => !item.event_id && !item.refusal && item.room === line.room;
    const same = (item) => `@${item.person}` === line.sender && item.text.trim() === line.text.trim();
    const item = this.items.find((item) => own(item) && same(item) && line.ts > item.at - CLOCKS_APART);
    if (!item) return;
    item.event_id = line.event_id;
    this.#changed();
  }

  // Sends what waits, one after the other; called again when the connection is back.
  async flush() {
    clearTimeout(this.#timer);
    if (this.#busy) return;
    this.#busy = true;
    try {
      for (let item = this.#next(); item; item = this.#next()) await this.#send(item);
      this.#tries = 0;
    } catch (failure) {
      this.#later(failure);
    } finally {
      this.#busy = false;
    }
  }

  #next() {
    return this.items.find((item) => !item.refusal);
  }

  async #send(item) {
    try {
      const line = await post(roomPath(item.room), { text: item.text, as: item.person, txn_id: item.txn }, 20);
      this.items = this.items.filter((other) => other !== item);
      this.#on.accepted(item, line);
      this.#changed();
    } catch (failure) {
      if (!(failure instanceof Failure) || failure.passing || failure.status === 401) throw failure;
      item.refusal = failure.message;
      this.#on.refused(item, failure);
      this.#changed();
    }
  }

  #later(failure) {
    if (!(failure instanceof Failure)) throw failure;
    if (failure.status === 401) return;
    this.#timer = setTimeout(() => this.flush(), WAITS[Math.min(this.#tries, WAITS.length - 1)]);
    this.#tries += 1;
  }

  #changed() {
    keep("sessionStorage", KEY, this.items);
    this.#on.changed();
  }
}

function restored() {
  const items = recall("sessionStorage", KEY, []);
  return Array.isArray(items) ? items.filter((item) => typeof item?.txn === "string") : [];
}
