// The page: joins the stream, the rooms, the panels and the keys together.

import { get, onSignedOut, signIn } from "./api.js";
import { Agenda } from "./agenda.js";
import { Composer } from "./composer.js";
import { Header } from "./header.js";
import { Hub } from "./hub.js";
import { Batch, oneAtATime, Panel } from "./panels.js";
import { setWorkspace } from "./places.js";
import { Person } from "./person.js";
import { RoomHead } from "./roomhead.js";
import { RoomList } from "./rooms.js";
import { SharedStream } from "./share.js";
import { Talk } from "./talk.js";
import { t, translatePage } from "./texts.js";
import { startTicking } from "./time.js";
import { down, Tree } from "./tree.js";
import { startViews } from "./views.js";
import { Why } from "./why.js";

translatePage();

// Where there is only a touch screen, focus would open its keyboard over half of the page.
const keyboard = !matchMedia("(hover: none)").matches;

const header = new Header();
const views = startViews();
const why = new Why((eventId) => {
  views.show("talk");
  return talk.show(eventId);
});
const person = new Person({ changed: () => hub.renamed(), entered: () => composer.resume() });
const composer = new Composer({ say });
const talk = new Talk({
  why: (line) => why.open(line),
  call: (name) => composer.call(name),
  fill: (text) => composer.fill(text),
  older: () => hub.older(),
  edit: (item) => giveBack(item),
  discard: (item) => hub.outbox.drop(item.txn),
});
const roomHead = new RoomHead();
const roomList = new RoomList((id) => {
  hub.choose(id);
  if (keyboard) composer.focus();
});
const hub = new Hub(person, {
  opened: () => {
    composer.complain("");
    talk.open(hub.view);
    drawRooms();
  },
  changed: (fresh, own) => talk.update(hub.view, fresh, own),
  rooms: drawRooms,
  spoke: () => {
    times.soon();
    supervision.soon();
  },
  refused: (item) => {
    if (!composer.empty || item.room !== hub.shown) return;
    giveBack(item);
    composer.complain(t("refused", { why: item.refusal }));
  },
  lost: (failure) => composer.complain(t("room_lost", { why: failure.message })),
});

const tree = new Tree(() => supervision.now());
const agenda = new Agenda();
const supervision = new Panel(readSupervision, 2000, 150, 1000);
const times = new Panel(() => agenda.read(), 5000, 300, 3000);

async function readSupervision() {
  const agents = await tree.read();
  mute = agents === null;
  showState();
  if (agents) person.setAgents(agents.map((agent) => agent.agent));
  drawRoomHead();
}

function giveBack(item) {
  hub.outbox.drop(item.txn);
  composer.fill(item.text);
}

function say(text) {
  if (!hub.room) composer.complain(t("no_room_yet"));
  if (!hub.room || !person.ready()) return false;
  hub.say(text);
  setTimeout(() => supervision.soon(), 200);
  return true;
}

function drawRooms() {
  roomList.draw([...hub.rooms.values()], hub.shown, person.self);
  header.unread(hub.unread);
  drawRoomHead();
}

function drawRoomHead() {
  if (!hub.room) return;
  const away = down(tree.agents);
  roomHead.draw(hub.room, person.self, away);
  composer.offer(hub.room.participants.filter((id) => !away.has(id)));
  roomHead.answering(hub.room, tree.agents);
}

// -- live -------------------------------------------------------------------------------------

let streamState = "waiting";
let mute = false; // the stream stands, but the supervisor gives no answers

function showState() {
  header.state(streamState === "live" && mute ? "waiting" : streamState);
}

const lines = new Batch((events) => hub.take(events.map((event) => JSON.parse(event.data))));

const stream = new SharedStream("/api/events?topics=rooms/*,supervision", {
  event({ type, id, data }) {
    if (type.startsWith("rooms/")) lines.add({ id, data });
    else if (type === "supervision") supervision.soon();
    else if (type === "gap") {
      hub.doubt();
      lookAgain();
    }
  },
  state(state) {
    streamState = state;
    showState();
    hub.setState(state);
    if (state !== "waiting") Panel.letAsk(state === "live");
  },
});

// What was said between two looks at the rooms is found by looking again.
const lookAgain = oneAtATime(async () => {
  try {
    await hub.refresh();
  } catch (failure) {
    if (failure.status !== 401) setTimeout(lookAgain, 1000);
  }
});

async function about() {
  try {
    const facts = await get("/api/about");
    person.suggest(facts.person);
    header.about(facts);
    setWorkspace(facts.workspace);
  } catch {
    // The name can be written by hand.
  }
}

// The printed address, opened where we are signed in or pasted where we were signed out.
async function readAddress() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  history.replaceState(null, "", location.pathname);
  if (await signIn(token)) location.reload();
}

addEventListener("hashchange", readAddress);
if (location.hash) history.replaceState(null, "", location.pathname);
onSignedOut(() => stream.signedOut());
document.addEventListener("visibilitychange", () => hub.renamed());
startTicking();
stream.start();
about();
supervision.now();
times.now();
lookAgain();
if (keyboard) composer.focus();
