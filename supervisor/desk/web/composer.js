// Where you write: Enter sends, your name is asked for first, an agent can be called with @.

import { el, find, setText } from "./dom.js";
import { Offers } from "./offers.js";
import { t } from "./texts.js";

const LIMIT = 20_000;
const BYTES = 60_000;
const CHIPS = 5;

export class Composer {
  #text = find("#composer");
  #error = find("#say-error");
  #callable = find("#callable");
  #agents = [];
  #offers;
  #held = false; // a text was to be sent and could not
  #on;

  // `on.say(text)` returns false when it could not be taken: the text then stays.
  constructor(on) {
    this.#on = on;
    this.#offers = new Offers(this.#text, find("#offers"), () => this.#agents);
    find("#say").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    this.#text.addEventListener("keydown", (event) => this.#key(event));
    this.#text.addEventListener("input", () => this.#edited());
  }

  focus() {
    this.#text.focus({ preventScroll: true });
  }

  // After an answer to what kept a text from being sent.
  resume() {
    this.focus();
    if (this.#held) this.#send();
  }

  get empty() {
    return this.#text.value.trim() === "";
  }

  fill(text) {
    this.#text.value = text;
    this.#edited();
    this.focus();
    this.#text.setSelectionRange(text.length, text.length);
  }

  // Puts `@name ` where the cursor is.
  call(name) {
    const { selectionStart: start, selectionEnd: end, value } = this.#text;
    const gap = start > 0 && !/\s$/.test(value.slice(0, start)) ? " " : "";
    this.#text.setRangeText(`${gap}@${name} `, start, end, "end");
    this.#edited();
    this.focus();
  }

  complain(text) {
    setText(this.#error, text);
    this.#error.hidden = !text;
  }

  // Says who can be called in this room.
  offer(agents) {
    if (agents.join() === this.#agents.join()) return;
    this.#agents = agents;
    const chips = agents.slice(0, CHIPS).map((id) => this.#chip(`@${id}`, t("call", { name: id }), () => this.call(id)));
    if (agents.length > CHIPS) chips.push(this.#chip("@…", t("call_any"), () => this.#offers.ask()));
    this.#callable.replaceChildren(...chips);
  }

  #chip(text, label, click) {
    return el("button.chip", { type: "button", "aria-label": label, on: { click } }, el("bdi", { text }));
  }

  #key(event) {
    if (event.isComposing || event.keyCode === 229) return; // an input method is at work
    if (this.#offers.key(event)) return;
    if (event.key !== "Enter" || event.shiftKey || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.#send();
  }

  #edited() {
    this.#held = false;
    this.complain("");
    this.#offers.look();
    if (CSS.supports("field-sizing", "content")) return;
    this.#text.style.height = "auto";
    this.#text.style.height = `${this.#text.scrollHeight + 2}px`;
  }

  #send() {
    const text = this.#text.value;
    if (!text.trim()) return;
    if ([...text].length > LIMIT) return this.complain(t("too_long", { limit: LIMIT }));
    if (new TextEncoder().encode(text).length > BYTES) return this.complain(t("too_big", { limit: BYTES }));
    this.#held = !this.#on.say(text);
    if (this.#held) return;
    this.#text.value = "";
    this.#edited();
    this.focus();
  }
}
