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
    for (const end of text.matchAll(/\r\n|\n|\r/g)) {
      this.#line(this.#rest + text.slice(start, end.index), done);
      this.#rest = "";
      start = end.index + end[0].length;
    }
    if (piece !== "") this.#skipNewline = text.endsWith("\r");
    this.#rest += text.slice(start);
    return done;
  }

  // A "\r\n" cut in two is one line end.
  #unsplit(piece) {
    return this.#skipNewline && piece[0] === "\n" ? piece.slice(1) : piece;
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
