// What is true of the whole page: the connection, in words and shape, and the title's count.

import { el, find, setAttr, setData, setText } from "./dom.js";
import { t } from "./texts.js";

const PATIENCE = 15_000; // lost for so long, and there is more to say

export class Header {
  #connection = find("#connection");
  #banner = find("#banner");
  #timer = 0;
  #unread = 0;

  constructor() {
    document.addEventListener("visibilitychange", () => this.unread(this.#unread));
    this.state("waiting");
  }

  // `state`: live, waiting, lost, signed-out.
  state(state) {
    const before = this.#connection.dataset.state;
    setData(this.#connection, "state", state);
    setData(document.body, "connection", state);
    setText(find(".word", this.#connection), t(state));
    if (state === "signed-out") this.#signedOut();
    else if (state === "live") this.#quiet();
    else if (state === "lost" && before !== "lost") this.#timer = setTimeout(() => this.#say([t("lost_long")]), PATIENCE);
  }

  about({ workspace, version }) {
    setAttr(find("#top h1"), "title", `vivero ${version} · ${workspace}`);
  }

  // The title counts while nobody looks.
  unread(count) {
    this.#unread = count;
    const away = document.visibilityState === "hidden" && count > 0;
    document.title = away ? `(${count}) vivero` : "vivero";
  }

  #signedOut() {
    this.#say([t("signed_out_long"), " ", el("a", { href: "/", text: t("sign_in") })]);
  }

  #quiet() {
    clearTimeout(this.#timer);
    this.#banner.hidden = true;
    this.#banner.replaceChildren();
  }

  #say(parts) {
    clearTimeout(this.#timer);
    this.#banner.replaceChildren(el("p", {}, ...parts));
    this.#banner.hidden = false;
  }
}
