// Instants and ages as people of the page's language say them.

import { region, t } from "./texts.js";

const formats = new Map();

function format(zone, options) {
  const key = `${zone} ${JSON.stringify(options)}`;
  if (!formats.has(key)) formats.set(key, made(zone, options));
  return formats.get(key);
}

// A zone that this browser does not know is shown as the browser's own.
function made(timeZone, options) {
  try {
    return new Intl.DateTimeFormat(region, { timeZone, ...options });
  } catch {
    return new Intl.DateTimeFormat(region, options);
  }
}

const CLOCK = { hour: "numeric", minute: "2-digit" };
const DAY = { weekday: "short", day: "numeric", month: "short" };

export const clock = (date, zone) => format(zone, CLOCK).format(date);
export const exact = (date) => format(undefined, { dateStyle: "short", timeStyle: "medium" }).format(date);
export const full = (date, zone) => format(zone, { dateStyle: "full", timeStyle: "long" }).format(date);
export const dayKey = (date) => `${date.getFullYear()}-${date.getMonth()}-${date.getDate()}`;

// "today 18:30" without the "today"; else the day too, and the year when it is another one.
export function moment(date, zone, now = new Date()) {
  const day = format(zone, { dateStyle: "short" });
  if (day.format(date) === day.format(now)) return clock(date, zone);
  const year = date.getFullYear() === now.getFullYear() ? {} : { year: "numeric" };
  return format(zone, { ...DAY, ...CLOCK, ...year }).format(date);
}

// Whether clocks there and here differ at that instant.
export const elsewhere = (date, zone) => moment(date, zone, date) !== moment(date, undefined, date);

export function dayName(date, now = new Date()) {
  const yesterday = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1);
  if (dayKey(date) === dayKey(now)) return t("today");
  if (dayKey(date) === dayKey(yesterday)) return t("yesterday");
  return format(undefined, { dateStyle: "full" }).format(date);
}

const UNITS = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 14],
  ["week", 9],
  ["month", Infinity],
];
const SIZES = { second: 1, minute: 60, hour: 3600, day: 86400, week: 604800, month: 2629800 };
const relatives = new Intl.RelativeTimeFormat(region, { numeric: "always", style: "short" });

// "in 5 min", "3 h ago".
export function relative(date, now = new Date()) {
  const seconds = (date - now) / 1000;
  if (Math.abs(seconds) < 1) return t("now");
  const [unit, count] = inUnits(Math.abs(seconds));
  return relatives.format(seconds < 0 ? -count : count, unit);
}

function inUnits(seconds) {
  for (const [unit, limit] of UNITS) {
    const count = Math.round(seconds / SIZES[unit]);
    if (count < limit) return [unit, count];
  }
  return ["month", Math.round(seconds / SIZES.month)];
}

// "12 s", "3 min": how long something has been going on.
export function age(seconds) {
  return measured(...inUnits(Math.max(0, seconds)));
}

// "0.3 s" too.
export const duration = (seconds) => (seconds < 10 ? measured("second", Math.max(0, seconds)) : age(seconds));

function measured(unit, count) {
  return new Intl.NumberFormat(region, { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: 1 }).format(count);
}

// The zone as people read it: "Europe/Madrid", not a browser's abbreviation of it.
export const zoneName = (zone) => zone.replaceAll("_", " ");

// What says how long ago or how soon: written anew every second while it is in the page.
const ticking = new Map();

export function tick(node, write) {
  ticking.set(node, write);
  write(node);
}

export function startTicking() {
  setInterval(() => {
    if (document.visibilityState === "hidden") return;
    for (const [node, write] of ticking) {
      if (node.isConnected) write(node);
      else ticking.delete(node);
    }
  }, 1000);
}
