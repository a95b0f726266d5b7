// The words for the states of cells and answer slots; an unknown one is shown as it came.

import { lang } from "./texts.js";

const WORDS = {
  es: {
    starting: "arrancando",
    running: "en marcha",
    draining: "terminando",
    backoff: "esperando para reintentar",
    reconnecting: "reconectando",
    stopped: "parado",
    quarantined: "en cuarentena",
    invalid: "configuración inválida",
    failed: "fallido",
    open: "pendiente",
    dispatched: "en manos del agente",
    answered: "contestado",
    declined: "sin respuesta",
    expired: "caducado",
    dead_letter: "abandonado",
  },
  en: {
    starting: "starting",
    running: "running",
    draining: "finishing",
    backoff: "waiting to retry",
    reconnecting: "reconnecting",
    stopped: "stopped",
    quarantined: "quarantined",
    invalid: "invalid configuration",
    failed: "failed",
    open: "open",
    dispatched: "with the agent",
    answered: "answered",
    declined: "not answered",
    expired: "expired",
    dead_letter: "given up",
  },
};

export const STATE_WORDS = WORDS;
export const STATES = (state) => WORDS[lang][state] ?? state;
