// What an action came to, said once: good news goes away by itself, bad news when you close it.

import { el, find, visible } from "./dom.js";
import { placeOf, shortened } from "./places.js";
import { t } from "./texts.js";

const SHOWN = 8000;
const AT_ONCE = 5;

export function say(text) {
  const node = notice("p.done", {}, [text]);
  const leave = () => (node.matches(":hover, :focus-within") ? setTimeout(leave, 1000) : node.remove());
  setTimeout(leave, SHOWN);
}

// `errors`: [{ file, line, col, key, message }], each with its place; `about`: the agent.
export function complain(about, text, errors = []) {
  settle(about);
  notice("div.failed", { role: "alert", data: { about } }, [text], errors);
}

// What went wrong with an agent before is no news any more.
export function settle(about) {
  for (const node of find("#notices").querySelectorAll(".failed")) if (node.dataset.about === about) node.remove();
}

function notice(spec, props, [text], errors = []) {
  const node = el(spec, props, el("span.what", { text: visible(shortened(text)) }));
  if (errors.length) node.append(el("ul", {}, ...errors.map(place)));
  node.append(el("button.shut", { type: "button", text: "×", "aria-label": t("close"), on: { click: () => node.remove() } }));
  const all = find("#notices");
  all.append(node);
  while (all.children.length > AT_ONCE) all.firstChild.remove();
  return node;
}

function place(problem) {
  const { key, message } = problem;
  const where = placeOf(problem);
  return el("li", {}, el("code", { text: visible(where || key || "") }), ` ${visible(where && key ? `${key}: ${message}` : message)}`);
}
