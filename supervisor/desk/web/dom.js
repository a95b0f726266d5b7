// Building and updating elements from plain text: nothing here, or anywhere, parses markup.

export const find = (selector, root = document) => root.querySelector(selector);

// el("button.why", { type: "button", text: "?", on: { click } }, ...children)
export function el(spec, props = {}, ...children) {
  const [tag, ...classes] = spec.split(".");
  const made = document.createElement(tag);
  if (classes.length) made.className = classes.join(" ");
  for (const [name, value] of Object.entries(props)) put(made, name, value);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function put(node, name, value) {
  if (name === "text") setText(node, value);
  else if (name === "on") for (const [type, act] of Object.entries(value)) node.addEventListener(type, act);
  else if (name === "data") for (const [key, item] of Object.entries(value)) setData(node, key, item);
  else setAttr(node, name, value);
}

// The setters below touch the document only when something changed: a screen reader, a selection
// and an open menu never notice an update that says the same.
export function setText(node, text) {
  const wanted = text ?? "";
  if (node.textContent !== wanted) node.textContent = wanted;
}

export function setAttr(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
    return;
  }
  const wanted = value === true ? "" : String(value);
  if (node.getAttribute(name) !== wanted) node.setAttribute(name, wanted);
}

export function setData(node, key, value) {
  if (value === null || value === undefined) delete node.dataset[key];
  else if (node.dataset[key] !== String(value)) node.dataset[key] = String(value);
}

// Makes the children of `parent` be those of `items`, in order: a node is made once for its key and
// only updated afterwards, so that focus, selection and open details stay where they are.
export function keyed(parent, items, keyOf, make, update) {
  const old = parent.keyedNodes ?? new Map();
  const nodes = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (nodes.has(key)) continue;
    const node = old.get(key) ?? make(item);
    nodes.set(key, node);
    update?.(node, item);
  }
  for (const [key, node] of old) if (nodes.get(key) !== node) node.remove();
  place(parent, nodes.values());
  parent.keyedNodes = nodes;
}

function place(parent, nodes) {
  let next = parent.firstChild;
  for (const node of nodes) {
    if (node === next) next = next.nextSibling;
    else parent.insertBefore(node, next);
  }
  while (next) {
    const after = next.nextSibling;
    next.remove();
    next = after;
  }
}

// Control characters as visible pictures, so that no text can hide or reorder what is around it.
const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202d\u202e\ufeff\u{e0000}-\u{e007f}]/gu;

export function visible(text) {
  return String(text).replaceAll("\r\n", "\n").replace(INVISIBLE, picture);
}

function picture(char) {
  const code = char.codePointAt(0);
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `\u27e8U+${code.toString(16).toUpperCase().padStart(4, "0")}\u27e9`;
}

// One of eight colour classes, the same for an id on every visit.
export function hue(id) {
  let hash = 0x811c9dc5;
  for (const char of id) hash = Math.imul(hash ^ char.codePointAt(0), 0x01000193) >>> 0;
  return `hue${(hash ^ (hash >>> 15)) & 7}`;
}
