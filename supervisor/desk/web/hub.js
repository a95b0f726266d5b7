// The rooms as this page lives them: histories, live lines, what you send, which room is shown.

import { get, roomPath } from "./api.js";
import { Outbox } from "./outbox.js";
import { isHeard, KEPT, withRooms } from "./state.js";
import { keep, recall } from "./stores.js";

const AT_FIRST = 100;
const AHEAD = 30; // rooms that are read before anyone looks at them, for what is unread in them
const READ = "vivero.read";
const SHOWN = "vivero.room";

export class Hub {
  rooms = new Map();
  shown = null;
  state = "waiting"; // of the connection
  ready = false; // once the rooms were read
  #limits = new Map(); // room id -> how many lines its history was asked for
  #marks = recall("localStorage", READ, {});
  #loading = new Map();
  #on;

  // `on.opened()`: another room is shown; `on.changed(fresh, own)`: the shown one has news;
  // `on.rooms()`: the list; `on.spoke()`: an agent said something; `on.refused(item)`; `on.lost(failure)`.
  constructor(person, on) {
    this.person = person;
    this.#on = on;
    this.outbox = new Outbox({
      changed: () => this.room && on.changed(0, false),
      accepted: (_, line) => this.take([line], false),
      refused: (item) => on.refused(item),
    });
  }

  get room() {
    return this.rooms.get(this.shown);
  }

  get unread() {
    return [...this.rooms.values()].reduce((sum, room) => sum + room.unread(this.person.self), 0);
  }

  get view() {
    const room = this.room;
    const hasOlder = room.loaded && room.events.length >= AT_FIRST && this.#limit(room.id) < KEPT;
    const pending = this.outbox.of(room.id).filter((item) => !room.known.has(item.event_id));
    return { room, self: this.person.self, pending, state: this.state, hasOlder };
  }

  // Something may be missing in every room until its history is read again.
  doubt() {
    for (const room of this.rooms.values()) room.doubt();
  }

  // Reads the rooms anew, the shown one first: at the start, and when something may be missing.
  async refresh() {
    this.rooms = withRooms(this.rooms, await get("/api/rooms"));
    this.ready = true;
    for (const room of this.rooms.values()) room.readTs ??= this.#marks[room.id] ?? null;
    this.doubt();
    if (!this.room) this.choose(this.#firstRoom());
    else await this.#load(this.room);
    this.#on.rooms();
    const others = [...this.rooms.values()].filter((room) => !room.loaded).slice(0, AHEAD);
    for (const room of others) await this.#load(room);
  }

  #firstRoom() {
    const last = recall("sessionStorage", SHOWN, null) ?? recall("localStorage", SHOWN, null);
    return this.rooms.has(last) ? last : [...this.rooms.keys()][0];
  }

  choose(id) {
    if (id === undefined) return;
    this.shown = id;
    for (const kind of ["sessionStorage", "localStorage"]) keep(kind, SHOWN, id);
    this.#seen();
    this.#on.opened();
    if (!this.room.loaded) this.#load(this.room);
  }

  async older() {
    this.#limits.set(this.shown, KEPT);
    await this.#load(this.room);
  }

  say(text) {
    this.outbox.add(this.shown, this.person.name, text);
    this.#on.changed(0, true);
  }

  // Takes live lines, of any rooms, in order; `strange`: one may answer to what we still send.
  take(lines, strange = true) {
    for (const [id, news] of Map.groupBy(lines, (line) => line.room)) {
      const room = this.rooms.get(id);
      if (!room) this.#unknownRoom();
      const fresh = room?.add(news) ?? [];
      if (strange) for (const line of fresh) this.outbox.adopt(line);
      if (fresh.length) this.#fresh(room, fresh);
    }
    if (lines.some((line) => line.agent)) this.#on.spoke();
  }

  #fresh(room, fresh) {
    if (room.readTs === null) room.readTs = fresh[0].ts - 0.001;
    if (room.id === this.shown) {
      this.#seen();
      this.#on.changed(heard(fresh, this.person.self), false);
    }
    this.#on.rooms();
  }

  // All of the shown room is read while the page is seen.
  #seen() {
    if (document.visibilityState === "visible" && this.room) this.#mark(this.room);
  }

  #mark(room) {
    room.read();
    this.#marks[room.id] = room.readTs;
    keep("localStorage", READ, this.#marks);
  }

  // Another name, or another look at the page: what is own and what is read may differ.
  renamed() {
    if (!this.room) return;
    this.#seen();
    this.#on.rooms();
    this.#on.changed(0, false);
  }

  setState(state) {
    this.state = state;
    if (this.room) this.#on.changed(0, false);
    if (state === "live") this.outbox.flush();
  }

  #limit(id) {
    return this.#limits.get(id) ?? AT_FIRST;
  }

  async #load(room) {
    if (this.#loading.has(room.id)) return this.#loading.get(room.id);
    const work = this.#read(room).finally(() => this.#loading.delete(room.id));
    this.#loading.set(room.id, work);
    return work;
  }

  async #read(room) {
    try {
      const history = await get(`${roomPath(room.id)}?limit=${this.#limit(room.id)}`);
      const first = room.readTs === null;
      const fresh = room.load(history);
      for (const line of fresh) this.outbox.adopt(line);
      if (first) this.#mark(room);
      if (room.id !== this.shown) return this.#on.rooms();
      this.#seen();
      this.#on.changed(first ? 0 : heard(fresh, this.person.self), false);
    } catch (failure) {
      if (room.id === this.shown && failure.status) this.#on.lost(failure);
      if (failure.passing) setTimeout(() => room.loaded || this.#load(room), 2000);
    }
  }

  #unknownRoom() {
    clearTimeout(this.roomTimer);
    this.roomTimer = setTimeout(() => this.refresh().catch(() => {}), 300);
  }
}

const heard = (lines, self) => lines.filter((line) => isHeard(line, self)).length;
