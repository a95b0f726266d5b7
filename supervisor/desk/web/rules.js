// The rules that decide who may speak, each as a sentence.

import { lang } from "./texts.js";

export const RULES = {
  mention: ["El mensaje nombra a este agente o le responde.", "The message names this agent or replies to it."],
  absent: ["El agente al que se nombraba no está en marcha: contesta otro.", "The agent that was named is not running: another one answers."],
  first: ["Nadie estaba nombrado: contesta el primero de la sala.", "Nobody was named: the first of the room answers."],
  round_robin: ["Contesta el que llevaba más tiempo callado.", "The one who had been silent longest answers."],
  turn_based: ["La sala va por turnos: le tocaba a este.", "The room takes turns: it was this one's."],
  all: ["En esta sala contestan todos.", "In this room everybody answers."],
  topic: ["El mensaje habla de los temas de este agente.", "The message is about this agent's topics."],
  retry: ["Se le dio otra vez al mismo agente.", "It was given to the same agent again."],
  next_participant: ["El anterior no pudo: pasó al siguiente de la sala.", "The one before could not: it went to the next of the room."],
  own_message: ["Lo escribió el único agente que podía contestar.", "It was written by the only agent that could answer."],
  no_participants: ["En esta sala no hay agentes.", "There are no agents in this room."],
  nobody_available: ["Ningún agente de la sala está disponible ahora.", "No agent of the room is available now."],
  sender_is_bot: ["Lo escribió un bot, y en esta sala no se contesta a bots.", "A bot wrote it, and bots are not answered in this room."],
  max_bot_turns: ["Los agentes ya han hablado las veces que permite un solo mensaje de una persona.", "The agents have taken all the turns that one message of a person allows."],
  max_agent_messages_per_hour: ["La sala ha llegado a su límite de mensajes de agentes por hora.", "The room has reached its limit of agents' messages an hour."],
  pair_guard: ["Se contestaban como máquinas: se le trata como a un bot.", "They answered each other as machines do: it is treated as a bot."],
  pending_reply: ["El agente ya estaba preparando otra respuesta a un bot aquí.", "The agent was already preparing another answer here."],
  response_cooldown: ["El agente acababa de hablar y descansa un momento.", "The agent had just spoken and rests for a moment."],
  already_answering: ["El agente ya tenía este mensaje entre manos.", "The agent already had this message in hand."],
  no_reply: ["El agente leyó el mensaje y no tenía nada que añadir.", "The agent read the message and had nothing to add."],
  stopped: ["Una persona mandó parar.", "A person asked to stop."],
  rule_failed: ["Una regla ha fallado; el registro dice más.", "A rule failed; the log says more."],
  waited_too_long: ["Esperó demasiado: la respuesta ya no servía.", "It waited too long: an answer was of no use any more."],
  raised_twice: ["Falló dos veces al contestar.", "Answering failed twice."],
  crashed: ["El agente se cayó con este mensaje.", "The agent crashed on this message."],
  too_many_attempts: ["Se intentó demasiadas veces.", "It was tried too many times."],
  starting: ["Espera a que el agente arranque.", "It waits for the agent to start."],
  crash: ["El agente se cayó mientras contestaba.", "The agent crashed while it was answering."],
  restart: ["El agente se reinició mientras contestaba.", "The agent was restarted while it was answering."],
  reload: ["El agente se recargó mientras contestaba.", "The agent was reloaded while it was answering."],
  shutdown: ["El supervisor se paró mientras contestaba.", "The supervisor was stopped while it was answering."],
  removed: ["El agente ya no existe.", "The agent does not exist any more."],
  turn_timeout: ["La respuesta tardó demasiado.", "The answer took too long."],
};

// The sentence for a rule, or "" for one that this page does not know.
export function ruleSentence(rule) {
  return RULES[rule.split(":", 1)[0]]?.[lang === "es" ? 0 : 1] ?? "";
}
