// A dialog for any message: who answered it or which rule declined it, and what made an agent speak.

import { get } from "./api.js";
import { el, find, visible } from "./dom.js";
import { ruleSentence } from "./rules.js";
import { STATES } from "./states.js";
import { t } from "./texts.js";
import { duration, exact, full, moment } from "./time.js";

export class Why {
  #dialog = find("#why");
  #body = find("#why-body");
  #asked = 0;
  #show;

  // `show(eventId)` brings a message of the conversation into sight, or returns false.
  constructor(show) {
    this.#show = show;
    find("#why-close").addEventListener("click", () => this.#dialog.close());
    this.#dialog.addEventListener("click", (event) => event.target === this.#dialog && this.#dialog.close());
  }

  async open(line) {
    const asked = (this.#asked += 1);
    this.#body.replaceChildren(quote(line), el("p.wait", { text: t("loading") }));
    if (!this.#dialog.open) this.#dialog.showModal();
    let parts;
    try {
      parts = this.#parts(await get(`/api/why/${encodeURIComponent(line.event_id)}`));
    } catch (failure) {
      parts = [el("p.error", { text: t("why_lost", { why: failure.message }) })];
    }
    if (asked === this.#asked) this.#body.replaceChildren(quote(line), ...parts);
  }

  #parts({ event, slots, cause }) {
    const parts = [];
    if (cause) parts.push(el("h3", { text: t("why_cause", { name: visible(event.sender) }) }), this.#cause(cause));
    if (slots.length) parts.push(el("h3", { text: t("why_answers") }), ...slots.map((slot) => this.#slot(slot)));
    else if (!cause) parts.push(el("p", { text: t("why_nobody") }));
    return parts;
  }

  #cause({ kind, event, name, rule }) {
    const key = `cause_${kind}`;
    const said = event ? { name: visible(event.sender), time: moment(new Date(event.ts * 1000)) } : {};
    const part = el("div.cause", {}, el("p", { text: kind === "answer" && !event ? STATES("answered") : t(key, said) }));
    if (event) part.append(el("blockquote", { dir: "auto", text: visible(event.text) }), this.#link(event.event_id));
    part.append(facts([["cause_name", name && code(name)], ["rule", rule && ruleParts(rule)]]));
    return part;
  }

  #slot(slot) {
    const opened = slot.opened && new Date(slot.opened);
    const closed = slot.closed && new Date(slot.closed);
    return el(
      "div.slot",
      { data: { state: slot.state } },
      el("p.fate", {}, el("span.shape", { "aria-hidden": "true" }), el("b", { text: STATES(slot.state) })),
      facts([
        ["who", slot.agent ? visible(slot.agent) : !closed && t("nobody_yet")],
        ["rule", slot.rule && ruleParts(slot.rule)],
        ["reason", slot.reason && ruleParts(slot.reason)],
        ["attempts", slot.attempt || null],
        ["hop", slot.hop || null],
        ["opened", opened && instant(opened)],
        ["closed", closed && instant(closed)],
        ["took", opened && closed && duration((closed - opened) / 1000)],
        ["said", slot.answers?.length ? slot.answers.map((id) => this.#link(id)) : null],
      ]),
    );
  }

  #link(eventId) {
    const go = () => {
      this.#dialog.close();
      this.#show(eventId);
    };
    return el("button.link", { type: "button", text: t("go_to"), on: { click: go } });
  }
}

function quote(line) {
  const said = t("said_by", { name: visible(line.sender), time: full(new Date(line.ts * 1000)) });
  return el("div.quote", {}, el("p", { text: said }), el("blockquote", { dir: "auto", text: visible(line.text) }));
}

const code = (word) => el("code", { text: visible(word) });
const instant = (date) => el("time", { datetime: date.toISOString(), title: full(date), text: exact(date) });

function ruleParts(rule) {
  const sentence = ruleSentence(rule);
  return sentence ? [el("span", { text: sentence }), " ", code(rule)] : code(rule);
}

function facts(rows) {
  const known = rows.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
  return el("dl", {}, ...known.flatMap(([key, value]) => [el("dt", { text: t(key) }), el("dd", {}, ...[value].flat())]));
}
