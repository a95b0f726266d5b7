// Pure: server-sent events out of pieces of text, wherever the pieces were cut.

export class EventParser {
  #rest = "";
  #skipNewline = false;
  #type = "";
  #id = "";
  #data = [];

  // Returns the events that this piece completes, each { type, id, data }.
  push(piece) {
    const text = this.#unsplit(piece);
    const done = [];
    let start = 0;
    for (let at = start; at < text.length; at += 1) {
      const char = text[at];
      if (char !== "\n" && char !== "\r") continue;
      this.#line(this.#rest + text.slice(start, at), done);
      this.#rest = "";
      if (char === "\r") {
        if (at + 1 === text.length) this.#skipNewline = true;
        else if (text[at + 1] === "\n") at += 1;
      }
      start = at + 1;
    }
    this.#rest += text.slice(start);
    return done;
  }

  // A "\r\n" cut in two is one line end.
  #unsplit(piece) {
    if (!this.#skipNewline || piece === "") return piece;
    this.#skipNewline = false;
    return piece[0] === "\n" ? piece.slice(1) : piece;
  }

  #line(line, done) {
    if (line === "") {
      if (this.#data.length) done.push({ type: this.#type || "message", id: this.#id, data: this.#data.join("\n") });
      this.#type = "";
      this.#data = [];
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#type = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
  }
}
