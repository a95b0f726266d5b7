// The list of rooms: which one is shown, and how much was said in the others since you looked.

import { el, find, keyed, setAttr, setText, visible } from "./dom.js";
import { counted, t } from "./texts.js";

const MOST = 99;

export class RoomList {
  #list = find("#rooms ul");
  #choose;

  constructor(choose) {
    this.#choose = choose;
  }

  #shown = null;

  draw(rooms, shown, self) {
    const items = rooms.length ? rooms : [null];
    keyed(this.#list, items, (room) => room?.id ?? "", (room) => this.#make(room), (node, room) => room && update(node, room, shown, self));
    if (shown === this.#shown) return;
    this.#shown = shown;
    find("[aria-current]", this.#list)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  #make(room) {
    if (!room) return el("li.none", { text: t("no_rooms") });
    const button = el("button", { type: "button", data: { room: room.id }, on: { click: () => this.#choose(room.id) } });
    button.append(el("bdi.name"), el("span.unread", { hidden: true }));
    return el("li", {}, button);
  }
}

function update(node, room, shown, self) {
  const unread = room.id === shown ? 0 : room.unread(self);
  const badge = find(".unread", node);
  setText(find(".name", node), visible(room.name));
  setText(badge, unread > MOST ? `${MOST}+` : String(unread));
  setAttr(badge, "aria-label", unread ? counted("unread", unread) : null);
  setAttr(badge, "role", unread ? "img" : null);
  badge.hidden = unread === 0;
  setAttr(find("button", node), "aria-current", room.id === shown ? "true" : null);
}
