// Pure: what is known of the rooms, however often and in whatever order it arrives.

export const KEPT = 300;

const SPOKEN = new Set(["message", "notice"]);

// Whether somebody else said something, as opposed to us, or to who only came or went.
export const isHeard = (line, self) => SPOKEN.has(line.kind) && line.sender !== self;

export class Room {
  constructor(id) {
    this.id = id;
    this.alias = null;
    this.participants = [];
    this.members = [];
    this.events = []; // oldest first, at most KEPT
    this.known = new Set();
    this.loaded = false; // whether `events` follow on a history that was read
    this.sure = []; // while they do not: what was known before the doubt,
    this.since = []; // and what arrived live after it
    this.readTs = null; // all up to this instant was seen
  }

  get name() {
    return this.alias ?? this.id;
  }

  // Takes live events; returns those that are new.
  add(lines) {
    if (!this.loaded) this.since = [...this.since, ...lines].slice(-KEPT);
    const fresh = [];
    for (const line of lines) {
      if (this.known.has(line.event_id)) continue;
      this.known.add(line.event_id);
      fresh.push(line);
    }
    this.#keep([...this.events, ...fresh]);
    return fresh;
  }

  // Takes the newest lines as the server has them; returns those that came after what was known.
  load(history) {
    const before = this.known;
    const last = this.events.at(-1)?.ts ?? 0;
    this.#keep(merged(this.loaded ? this.events : this.sure, history));
    this.loaded = true;
    const oldest = history[0]?.ts ?? 0;
    this.add(this.since.filter((line) => line.ts >= oldest));
    this.since = [];
    return this.events.filter((line) => line.ts >= last && !before.has(line.event_id));
  }

  // What is shown may have holes now: the next history mends them.
  doubt() {
    if (!this.loaded) return;
    this.loaded = false;
    this.sure = this.events;
  }

  unread(self) {
    if (this.readTs === null) return 0;
    return this.events.filter((line) => line.ts > this.readTs && isHeard(line, self)).length;
  }

  read() {
    this.readTs = this.events.at(-1)?.ts ?? this.readTs ?? 0;
  }

  #keep(lines) {
    this.events = lines.slice(-KEPT);
    this.known = new Set(this.events.map((line) => line.event_id));
  }
}

// `history` decides the order. It holds only what was said, so joins and the like that we saw stay
// where they were; what is older than it stays only if the two overlap, else there is a hole.
export function merged(events, history) {
  if (history.length === 0) return events;
  const told = new Set(history.map((line) => line.event_id));
  const overlap = events.some((line) => told.has(line.event_id));
  const after = new Map();
  const earlier = [];
  let anchor = null;
  for (const line of events) {
    if (told.has(line.event_id)) anchor = line.event_id;
    else if (anchor !== null) after.set(anchor, [...(after.get(anchor) ?? []), line]);
    else if (overlap) earlier.push(line);
  }
  return [...earlier, ...history.flatMap((line) => [line, ...(after.get(line.event_id) ?? [])])];
}

// Joins what the server lists with what we hold; rooms keep their order there.
export function withRooms(rooms, infos) {
  const found = new Map();
  for (const info of infos) {
    const room = rooms.get(info.id) ?? new Room(info.id);
    Object.assign(room, { alias: info.alias, participants: info.participants, members: info.members ?? [] });
    found.set(info.id, room);
  }
  return found;
}
