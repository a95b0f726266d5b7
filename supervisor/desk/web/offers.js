// The list of agents that opens under an "@" being written: arrows choose, Enter or Tab takes.

import { el, setAttr } from "./dom.js";

const SHOWN = 8;

export class Offers {
  #field;
  #list;
  #names;
  #found = [];
  #at = 0;

  constructor(field, list, names) {
    this.#field = field;
    this.#list = list;
    this.#names = names;
    setAttr(field, "aria-controls", list.id);
    setAttr(field, "aria-autocomplete", "list");
    field.addEventListener("blur", () => this.#close());
    list.addEventListener("mousedown", (event) => event.preventDefault()); // keeps the focus
  }

  // Writes an "@" and opens the list.
  ask() {
    const { selectionStart: at, selectionEnd: end, value } = this.#field;
    this.#field.focus();
    this.#field.setRangeText(at > 0 && !/\s$/.test(value.slice(0, at)) ? " @" : "@", at, end, "end");
    this.look();
  }

  // Opens or closes by what is written before the cursor.
  look() {
    const word = this.#word();
    const names = word === null ? [] : this.#names().filter((name) => name.toLowerCase().startsWith(word.toLowerCase()));
    this.#found = names.slice(0, SHOWN);
    this.#at = 0;
    this.#show();
  }

  // Returns whether the key was for this list.
  key(event) {
    if (this.#found.length === 0) return false;
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) this.#at = (this.#at + steps[event.key] + this.#found.length) % this.#found.length;
    else if (event.key === "Escape") this.#found = [];
    else if ((event.key === "Enter" || event.key === "Tab") && !event.shiftKey) return this.#take(event);
    else return false;
    event.preventDefault();
    this.#show();
    return true;
  }

  // A name already written out is no offer: Enter then sends.
  #take(event) {
    const name = this.#found[this.#at];
    if (name === this.#word()) {
      this.#close();
      return false;
    }
    event.preventDefault();
    this.#write(name);
    return true;
  }

  #write(name) {
    const end = this.#field.selectionStart;
    this.#field.setRangeText(`@${name} `, end - this.#word().length - 1, end, "end");
    this.#field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  #word() {
    const before = this.#field.value.slice(0, this.#field.selectionStart);
    return /(?:^|[\s(¿¡])@([\p{L}\p{N}_.=+-]*)$/u.exec(before)?.[1] ?? null;
  }

  #close() {
    this.#found = [];
    this.#show();
  }

  #show() {
    this.#list.hidden = this.#found.length === 0;
    this.#list.replaceChildren(...this.#found.map((name, index) => this.#option(name, index)));
    setAttr(this.#field, "aria-activedescendant", this.#found.length ? `offer-${this.#at}` : null);
  }

  #option(name, index) {
    const click = () => this.#write(name);
    const chosen = String(index === this.#at);
    return el("li", { role: "option", id: `offer-${index}`, "aria-selected": chosen, on: { click } }, el("bdi", { text: `@${name}` }));
  }
}
