// Your name: kept in this browser, checked here before the server has to refuse it.

import { find, setAttr, setText } from "./dom.js";
import { keep, recall } from "./stores.js";
import { t } from "./texts.js";

const KEY = "vivero.person";
const USABLE = /^[\p{L}\p{N}_][\p{L}\p{N}_.=+-]{0,63}$/u;

export class Person {
  #field = find("#person");
  #error = find("#person-error");
  #agents = new Set();
  #on;

  // `on.changed()`; `on.entered()`: the name was given with Enter, what waited for it can go on.
  constructor(on) {
    this.#on = on;
    this.#field.value = String(recall("localStorage", KEY, ""));
    this.#field.addEventListener("change", () => this.#settle());
    this.#field.addEventListener("input", () => this.#complain(""));
    find("#who").addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.#settle()) this.#on.entered();
    });
  }

  // The name without its @, or "" while there is none that can be used.
  get name() {
    const name = this.#field.value.trim().replace(/^@/, "");
    return this.#fault(name) ? "" : name;
  }

  get self() {
    return `@${this.name}`;
  }

  suggest(name) {
    if (!this.#field.value && name) this.#field.value = name;
    this.#on.changed();
  }

  setAgents(ids) {
    this.#agents = new Set(ids.map((id) => id.toLowerCase()));
  }

  // Returns whether there is a name to speak under; else says so and goes there.
  ready() {
    if (this.#settle()) return true;
    this.#field.focus();
    return false;
  }

  #settle() {
    const name = this.#field.value.trim().replace(/^@/, "");
    const fault = this.#fault(name);
    this.#complain(fault);
    if (fault) return false;
    this.#field.value = name;
    keep("localStorage", KEY, name);
    this.#on.changed();
    return true;
  }

  #fault(name) {
    if (!name) return t("need_name");
    if (!USABLE.test(name)) return t("bad_name");
    return this.#agents.has(name.toLowerCase()) ? t("name_is_agent", { name }) : "";
  }

  #complain(text) {
    setText(this.#error, text);
    this.#error.hidden = !text;
    setAttr(this.#field, "aria-invalid", text ? "true" : null);
  }
}
