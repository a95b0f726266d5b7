// The supervision tree as nested lists: each node in word, shape and colour; agents can be reloaded.

import { Failure, get, post } from "./api.js";
import { el, find, hue, keyed, setAttr, setData, setText, visible } from "./dom.js";
import { complain, say, settle } from "./notices.js";
import { STATES } from "./states.js";
import { shortened } from "./places.js";
import { counted, t } from "./texts.js";
import { age, tick } from "./time.js";

const MANY = 10;
const PATIENCE = 5; // seconds
const LONG = 160;
const DOWN = new Set(["stopped", "quarantined", "invalid", "failed"]);

// Who cannot be called now: name -> state.
export const down = (agents) => new Map(agents.filter(({ state }) => DOWN.has(state)).map(({ agent, state }) => [agent, state]));

export class Tree {
  agents = [];
  #root = find("#tree");
  #filter = find("#filter-agents");
  #tree = null;
  #busy = new Set();
  #changed;

  // `changed()`: an action has ended and the tree is worth another look.
  constructor(changed) {
    this.#changed = changed;
    this.#filter.addEventListener("input", () => this.#draw());
  }

  // Reads and draws; returns the agents, or null when nobody answered.
  async read() {
    try {
      this.#tree = await get("/api/supervision", PATIENCE);
    } catch (failure) {
      this.#fail(failure);
      return null;
    }
    this.agents = flat(this.#tree).filter((node) => node.agent);
    this.#draw();
    return this.agents;
  }

  #fail(failure) {
    if (!this.#tree) this.#root.replaceChildren(el("p.error", { text: t("panel_lost", { why: failure.message }) }));
  }

  #draw() {
    if (!this.#tree) return;
    const many = this.agents.length > MANY;
    const words = many ? this.#filter.value.trim().toLowerCase() : "";
    this.wanted = (node) => !node.agent || node.agent.toLowerCase().includes(words) || node.state.includes(words);
    find("#filter").hidden = !many;
    const count = this.agents.filter(this.wanted).length;
    setText(find("#filter-count"), words ? t("filter_count", { count, all: this.agents.length }) : "");
    keyed(this.#root, [this.#tree], () => "root", () => el("ul.nodes"), (list, tree) => this.#list(list, [tree]));
  }

  #list(list, nodes) {
    keyed(list, nodes.filter(this.wanted), (node) => node.path, (node) => this.#make(node), (item, node) => this.#update(item, node));
  }

  #make(node) {
    const item = el("li.node", { data: { path: node.path, agent: node.agent } });
    const name = el("bdi.name", { text: visible(node.name) });
    const line = el("div.line", {}, el("span.shape", { "aria-hidden": "true" }), name);
    item.append(line);
    if (node.agent) {
      this.#makeAgent(item, line, node);
      return item;
    }
    line.append(el("span.state"));
    item.append(el("p.facts"), el("p.last-error", { hidden: true }), el("ul.nodes"));
    return item;
  }

  #makeAgent(item, line, node) {
    item.classList.add("agent", hue(node.agent));
    line.append(el("button", { type: "button", on: { click: () => this.#act(item.current) } }));
    item.append(
      el("span.state"),
      el("p.facts"),
      el("details.parts", { hidden: true }, el("summary", { text: t("parts") }), el("ul.nodes")),
      el("ul.turns"),
      el("details.last-error", { hidden: true }, el("summary", {}, el("b", { text: t("last_error") }), " ", el("span")), el("pre", { dir: "auto" })),
    );
  }

  #update(item, node) {
    item.current = node;
    setData(item, "state", node.state);
    setData(item, "generation", node.generation);
    setText(find(".state", item), STATES(node.state));
    facts(find(".facts", item), node);
    if (node.agent) this.#updateAgent(item, node);
    else this.#updatePart(item, node);
  }

  #updatePart(item, node) {
    const error = find(":scope > .last-error", item);
    setText(error, visible(shortened(node.last_error ?? "")));
    error.hidden = !node.last_error;
    const list = find(":scope > .nodes", item);
    this.#list(list, node.children);
    list.hidden = node.children.length === 0;
    item.classList.toggle("leaf", list.hidden);
  }

  #updateAgent(item, node) {
    this.#button(find("button", item), node);
    keyed(find(".turns", item), node.turns, (turn) => turn.room, () => el("li"), (row, turn) => tick(row, turnText(turn)));
    lastError(find("details.last-error", item), node.last_error);
    const parts = find("details.parts", item);
    parts.hidden = node.children.length === 0;
    this.#list(find("ul", parts), node.children);
  }

  #button(button, { agent, state }) {
    const busy = this.#busy.has(agent);
    const start = DOWN.has(state);
    button.className = start ? "start" : "reload";
    setText(button, t(busy ? (start ? "starting_up" : "reloading") : start ? "start" : "reload"));
    setAttr(button, "aria-label", busy ? null : t(start ? "start_agent" : "reload_agent", { id: agent }));
    setAttr(button, "aria-busy", busy ? "true" : null);
    setAttr(button, "aria-disabled", busy ? "true" : null);
  }

  async #act({ agent, state }) {
    if (this.#busy.has(agent)) return;
    this.#busy.add(agent);
    this.#draw();
    const verb = DOWN.has(state) ? "start" : "reload";
    try {
      tell(agent, await post(`/api/agents/${encodeURIComponent(agent)}/${verb}`, {}, 90));
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure;
      const why = failure.status ? failure.message : t("no_answer");
      failed(agent, t(`${verb}_failed`, { id: agent }), why, failure.errors);
    } finally {
      this.#busy.delete(agent);
      this.#draw();
      this.#changed();
    }
  }
}

// What an action came to: a report of results, or the agent itself after a start.
function tell(agent, answer) {
  for (const { id, outcome, generation, error, errors } of answer.results ?? [{ ...answer, outcome: "started" }]) {
    if (outcome === "failed") {
      failed(id, t("reload_failed", { id }), error, errors ?? []);
      continue;
    }
    settle(id ?? agent);
    if (outcome === "scheduled") say(t("is_scheduled", { id }));
    else if (outcome === "stopped") say(t("is_stopped", { id }));
    else say(t("gen_up", { id: id ?? agent, n: generation }) + (error ? ` (${error})` : ""));
  }
}

// The errors say it all; without any, the one sentence does.
function failed(agent, what, why, errors) {
  complain(agent, errors.length || !why ? what : `${what}: ${why}`, errors);
}

function flat(node) {
  return [node, ...node.children.flatMap(flat)];
}

function facts(place, { path, generation, restarts, mailbox, agent, children }) {
  const said = path === "root/agents" && children.length === 0 ? [["none", t("no_agents")]] : [];
  if (generation > (agent ? 0 : 1)) said.push(["generation", t("generation", { n: generation })]);
  if (agent || restarts > 0) said.push(["restarts", counted("restarts", restarts)]);
  if (agent || mailbox > 0) said.push(["mailbox", counted("mailbox", mailbox)]);
  keyed(place, said, ([name]) => name, ([name]) => el(`span.${name}`), (node, [, text]) => setText(node, text));
}

function turnText({ room, age_s: seconds }) {
  const began = performance.now() - seconds * 1000;
  return (row) => {
    const values = { room: visible(room), age: age((performance.now() - began) / 1000) };
    setText(row, t(room ? "answering_in" : "working", values));
  };
}

function lastError(details, error) {
  details.hidden = !error;
  const text = visible(shortened(error ?? ""));
  const first = text.split("\n", 1)[0];
  const short = first.length > LONG ? `${first.slice(0, LONG)}…` : first;
  setText(find("summary span", details), short);
  setText(find("pre", details), text);
  details.classList.toggle("whole", short === text);
}
