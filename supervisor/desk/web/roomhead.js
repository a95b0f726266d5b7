// Above and under the conversation: whose room it is, and who is answering in it now.

import { find, setText, visible } from "./dom.js";
import { STATES } from "./states.js";
import { counted, list, t } from "./texts.js";

const NAMED = 5;

export class RoomHead {
  // `down`: agents that are not running, name -> state.
  draw(room, self, down) {
    setText(find("#room-title"), visible(room.name));
    const others = [...new Set([...room.participants, ...room.members])].filter((name) => name !== self);
    const names = others.map((name) => (down.has(name) ? t("is_down", { name, state: STATES(down.get(name)) }) : name));
    setText(find("#room-people"), names.length ? t("with", { names: named(names) }) : "");
  }

  // `agents`: the agents' nodes of the supervision tree.
  answering(room, agents) {
    const here = room ? agents.filter((agent) => agent.turns.some((turn) => turn.room === room.id)) : [];
    const names = here.map((agent) => agent.agent);
    setText(find("#typing"), names.length ? counted("typing", names.length, { names: named(names) }) : "");
  }
}

function named(names) {
  const shown = names.slice(0, NAMED).map(visible);
  const rest = names.length - shown.length;
  return rest > 0 ? t("and_more", { names: shown.join(", "), count: rest }) : list(shown);
}
