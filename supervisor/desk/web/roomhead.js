// Above and under the conversation: whose room it is, and who is answering in it now.

import { find, setText, visible } from "./dom.js";
import { counted, list, t } from "./texts.js";

const NAMED = 5;

export class RoomHead {
  draw(room, self) {
    setText(find("#room-title"), visible(room.name));
    const others = [...new Set([...room.participants, ...room.members])].filter((name) => name !== self);
    setText(find("#room-people"), others.length ? t("with", { names: named(others) }) : "");
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
