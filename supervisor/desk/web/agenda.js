// What will happen by itself: pending reminders and schedules, in their own zones.

import { get } from "./api.js";
import { el, find, keyed, setAttr, setData, setText, visible } from "./dom.js";
import { t, TEXTS } from "./texts.js";
import { elsewhere, full, moment, relative, tick, zoneName } from "./time.js";

const SHOWN = 100;

export class Agenda {
  #reminders = find("#reminders");
  #schedules = find("#schedules");

  async read() {
    await show(this.#reminders, "/api/reminders", (found) => drawReminders(this.#reminders, found));
    await show(this.#schedules, "/api/cron", (found) => drawSchedules(this.#schedules, found));
  }
}

async function show(list, path, draw) {
  try {
    draw(await get(path));
    list.dataset.read = "yes";
  } catch (failure) {
    if (!list.dataset.read) keyed(list, [failure], () => "error", () => el("li.error", { text: t("panel_lost", { why: failure.message }) }));
  }
}

function drawReminders(list, found) {
  const soonest = found.toSorted((a, b) => (a.next === null) - (b.next === null) || Date.parse(a.next) - Date.parse(b.next));
  draw(list, soonest, "no_reminders", makeReminder, updateReminder);
}

function drawSchedules(list, found) {
  draw(list, found, "no_schedules", makeSchedule, updateSchedule);
}

function draw(list, found, empty, make, update) {
  const items = found.slice(0, SHOWN);
  if (found.length > SHOWN) items.push({ id: " more", text: t("more", { count: found.length - SHOWN }) });
  if (found.length === 0) items.push({ id: " none", text: t(empty) });
  const own = ({ text }) => text === undefined;
  keyed(
    list,
    items,
    (item) => item.id,
    (item) => (own(item) ? make(item) : el("li.none")),
    (node, item) => (own(item) ? update(node, item) : setText(node, item.text)),
  );
}

function makeReminder({ id }) {
  return el("li", { data: { reminder: id } }, el("p.what", { dir: "auto" }), when("next"), el("p.who"));
}

function updateReminder(node, { message, user, room, kind, cron, next, timezone, state }) {
  setText(find(".what", node), visible(message));
  instant(find(".next", node), next, timezone);
  const repeats = kind === "once" ? [] : [kind === "cron" && cron ? t("repeats_cron", { cron }) : t("repeats")];
  const paused = state === "paused" ? [t("paused")] : [];
  const facts = [t("reminder_for", { user: visible(user), room: visible(room) }), ...repeats, ...paused];
  setText(find(".who", node), facts.join(" · "));
  setData(node, "state", state);
}

function makeSchedule({ id }) {
  const last = el("p.last", {}, el("span.shape", { "aria-hidden": "true" }), el("span.outcome"), el("time"));
  return el("li", { data: { schedule: id } }, el("p.what", {}, el("bdi", { text: visible(id) }), " ", el("code.cron")), when("next"), last);
}

function updateSchedule(node, { cron, timezone, next, last }) {
  setText(find(".cron", node), visible(cron));
  instant(find(".next", node), next, timezone);
  const outcome = last ? (last.outcome ?? "running") : null;
  setData(node, "outcome", outcome ?? "none");
  setText(find(".outcome", node), outcome ? word(outcome) : t("never_ran"));
  const time = find(".last time", node);
  time.hidden = !last;
  if (last) written(time, new Date(last.scheduled), timezone);
}

const word = (outcome) => (`outcome_${outcome}` in TEXTS.es ? t(`outcome_${outcome}`) : outcome);

function when(name) {
  return el(`p.${name}`, {}, el("time"), el("span.soon"), el("span.zone"), el("span.here"));
}

function instant(place, iso, zone) {
  const time = find("time", place);
  const date = iso ? new Date(iso) : null;
  place.classList.toggle("never", !date);
  setText(find(".zone", place), date ? zoneName(zone) : "");
  setText(find(".here", place), date && elsewhere(date, zone) ? t("here", { time: moment(date) }) : "");
  if (!date) {
    setText(time, t("never"));
    setAttr(time, "datetime", null);
    setText(find(".soon", place), "");
    return;
  }
  written(time, date, zone, iso);
  tick(find(".soon", place), (node) => setText(node, relative(date)));
}

function written(time, date, zone, iso = date.toISOString()) {
  setAttr(time, "datetime", iso);
  setAttr(time, "title", full(date, zone));
  setText(time, moment(date, zone));
}
