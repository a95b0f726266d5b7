// The conversation: the messages of one room, days between them, your pending ones at the end.

import { el, find, hue, keyed, setAttr, setData, setText, visible } from "./dom.js";
import { counted, t } from "./texts.js";
import { clock, dayKey, dayName, full } from "./time.js";

const LONG = 1800;
const MANY_LINES = 30;
const SAME_BREATH = 180; // seconds within which a sender's next message needs no new heading
const AT_END = 48; // pixels
const SMALL = { join: "joined", leave: "left", reaction: "reacted", edit: "edited" };

export class Talk {
  #log = find("#log");
  #newer = find("#newer");
  #missed = 0;
  #on;

  // `on.why(line)`, `on.call(name)`, `on.fill(text)`, `on.edit(item)`, `on.discard(item)`, `on.older()`.
  constructor(on) {
    this.#on = on;
    this.#newer.addEventListener("click", () => this.toEnd());
    this.#log.addEventListener("scroll", () => this.#atEnd() && this.#caughtUp(), { passive: true });
    new ResizeObserver(() => this.#missed === 0 && this.#stuck && this.toEnd()).observe(this.#log);
  }

  #stuck = true;

  // Shows a room anew, at its end. `view`: { room, self, pending, state, hasOlder }.
  open(view) {
    this.#log.setAttribute("aria-busy", "true");
    this.#log.replaceChildren();
    this.#log.keyedNodes = undefined;
    this.#draw(view);
    this.toEnd();
    requestAnimationFrame(() => this.#log.removeAttribute("aria-busy"));
  }

  // Brings the shown room up to date; `fresh` lines are new to the reader.
  update(view, fresh = 0, own = false) {
    const place = this.#atEnd() || own ? null : this.#place();
    this.#draw(view);
    if (!place) return this.toEnd();
    this.#keep(place);
    if (fresh > 0) this.#miss(fresh);
  }

  // Where the reader is: the first message in sight, and how far down it stands.
  #place() {
    const top = this.#log.getBoundingClientRect().top;
    const nodes = [...this.#log.querySelectorAll("[data-event]")];
    const node = nodes.find((one) => one.getBoundingClientRect().bottom > top);
    return { node, top: node?.getBoundingClientRect().top };
  }

  // Whatever came above it or went, it stands there still.
  #keep({ node, top }) {
    if (node?.isConnected) this.#log.scrollTop += node.getBoundingClientRect().top - top;
  }

  toEnd() {
    this.#log.scrollTop = this.#log.scrollHeight;
    this.#caughtUp();
  }

  // Brings a message into sight; false when it is not here.
  show(eventId) {
    const node = this.#log.querySelector(`[data-event="${CSS.escape(eventId)}"]`);
    node?.scrollIntoView({ block: "center" });
    node?.classList.add("pointed");
    setTimeout(() => node?.classList.remove("pointed"), 2500);
    return Boolean(node);
  }

  #atEnd() {
    const log = this.#log;
    this.#stuck = log.scrollHeight - log.scrollTop - log.clientHeight < AT_END;
    return this.#stuck;
  }

  #miss(count) {
    this.#missed += count;
    setText(this.#newer, `↓ ${counted("new", this.#missed)}`);
    this.#newer.hidden = false;
  }

  #caughtUp() {
    this.#stuck = true;
    this.#missed = 0;
    this.#newer.hidden = true;
  }

  #draw(view) {
    const items = rows(view);
    keyed(this.#log, items, (item) => item.key, (item) => this.#make(item), (node, item) => item.update?.(node));
  }

  #make(item) {
    if (item.kind === "day") return el("p.day", {}, el("span", { text: item.text }));
    if (item.kind === "older") return el("button.older", { type: "button", text: t("older"), on: { click: this.#on.older } });
    if (item.kind === "empty") return this.#examples(item.room);
    if (item.kind === "pending") return this.#pending(item);
    return item.kind === "small" ? smallLine(item.line) : this.#message(item.line);
  }

  #message(line) {
    const node = bubble(line);
    const why = el("button.why", { type: "button", text: t("why"), "aria-label": t("why_of", { name: line.sender }) });
    why.addEventListener("click", () => this.#on.why(line));
    find(".head", node).append(why);
    if (line.agent) this.#makeCallable(node, line.agent);
    return node;
  }

  #examples(room) {
    const agent = room.participants[1] ?? room.participants[0] ?? "";
    const phrases = [t("example_1"), t("example_2", { agent }), t("example_3")];
    const buttons = phrases.map((text) => el("button.example", { type: "button", text, on: { click: () => this.#on.fill(text) } }));
    return el("div.empty", {}, el("p", { text: t("empty_room") }), ...buttons);
  }

  #makeCallable(node, agent) {
    const sender = find(".sender", node);
    sender.addEventListener("click", () => this.#on.call(agent));
    setAttr(sender, "title", t("call", { name: agent }));
  }

  #pending({ item, now }) {
    const line = { sender: `@${item.person}`, text: item.text, ts: now, agent: null, kind: "message" };
    const node = bubble(line);
    node.classList.add("own", "pending");
    setData(node, "txn", item.txn);
    const act = (name, key) => el("button", { type: "button", text: t(key), on: { click: () => this.#on[name](item) } });
    node.append(el("p.fate", {}, el("span"), act("edit", "edit_again"), act("discard", "discard")));
    return node;
  }
}

// What is to be seen, in order: each with a key that stays its own.
function rows({ room, self, pending, state, hasOlder }) {
  const items = hasOlder ? [{ kind: "older", key: "older" }] : [];
  let day = null;
  let last = null;
  for (const line of room.events) {
    const date = new Date(line.ts * 1000);
    if (dayKey(date) !== day) {
      day = dayKey(date);
      last = null;
      items.push({ kind: "day", key: `day ${day} ${line.event_id}`, text: dayName(date) });
    }
    items.push(row(line, last, self));
    last = line;
  }
  items.push(...pending.map((item) => pendingRow(item, state)));
  if (items.length === 0 && room.loaded) items.push({ kind: "empty", key: "empty", room });
  return items;
}

function row(line, last, self) {
  const small = line.kind in SMALL || (line.kind !== "message" && line.kind !== "notice");
  const same = !small && last !== null && last.sender === line.sender && last.kind === line.kind && line.ts - last.ts < SAME_BREATH;
  const update = (node) => {
    node.classList.toggle("same", same);
    node.classList.toggle("own", line.sender === self);
  };
  return { kind: small ? "small" : "message", key: `event ${line.event_id}`, line, update };
}

const FATES = { live: "sending", "signed-out": "waits_to_sign_in" };

function pendingRow(item, state) {
  const fate = item.refusal ? t("refused", { why: item.refusal }) : t(FATES[state] ?? "waits_to_send");
  const update = (node) => {
    node.classList.toggle("refused", Boolean(item.refusal));
    setText(find(".fate span", node), fate);
    for (const button of node.querySelectorAll(".fate button")) button.hidden = !item.refusal;
  };
  return { kind: "pending", key: `txn ${item.txn}`, item, now: item.at, update };
}

function bubble(line) {
  const date = new Date(line.ts * 1000);
  const text = visible(line.text);
  const node = el("article.message", { data: { event: line.event_id, kind: line.kind } });
  if (line.agent) node.classList.add("agent", hue(line.agent));
  if (line.kind === "notice") node.classList.add("notice");
  node.append(
    el("p.head", {}, el("bdi.sender", { text: visible(line.sender) }), when(date)),
    el("p.text", { dir: "auto", text }),
  );
  if (text.length > LONG || text.split("\n", MANY_LINES + 1).length > MANY_LINES) foldable(node);
  return node;
}

function when(date) {
  const valid = !Number.isNaN(date.getTime());
  return el("time", valid ? { datetime: date.toISOString(), title: full(date), text: clock(date) } : {});
}

function foldable(node) {
  const button = el("button.fold", { type: "button", text: t("show_all"), "aria-expanded": "false" });
  node.classList.add("folded");
  button.addEventListener("click", () => {
    const folded = node.classList.toggle("folded");
    setText(button, t(folded ? "show_all" : "show_less"));
    setAttr(button, "aria-expanded", String(!folded));
  });
  node.append(button);
}

function smallLine(line) {
  const key = SMALL[line.kind] ?? "other_event";
  const values = { name: visible(line.sender), kind: visible(line.kind), text: visible(line.text) };
  const date = new Date(line.ts * 1000);
  return el("p.small", { data: { event: line.event_id, kind: line.kind }, dir: "auto" }, el("span", { text: t(key, values) }), when(date));
}
