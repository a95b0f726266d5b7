// Asking the supervisor: JSON in, JSON out, every request with a deadline, every failure one type.

export class Failure extends Error {
  // `status` 0: nobody answered. `errors`: [{ file, line, col, key, message }].
  constructor(text, status, errors = []) {
    super(text);
    this.status = status;
    this.errors = errors;
  }

  // Whether the same request may succeed later.
  get passing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

let signedOut = () => {};

export function onSignedOut(act) {
  signedOut = act;
}

export const get = (path, seconds = 10) => request("GET", path, undefined, seconds);
export const post = (path, body, seconds = 15) => request("POST", path, body, seconds);

async function request(method, path, body, seconds) {
  let answer;
  let text;
  try {
    answer = await fetch(path, {
      method,
      body: body === undefined ? undefined : JSON.stringify(body),
      headers: body === undefined ? {} : { "content-type": "application/json" },
      cache: "no-store",
      signal: AbortSignal.timeout(seconds * 1000),
    });
    text = await answer.text();
  } catch (error) {
    throw new Failure(error.message, 0);
  }
  return result(answer, text);
}

function result(answer, text) {
  let value = null;
  try {
    value = text === "" ? null : JSON.parse(text);
  } catch {
    value = null;
  }
  if (answer.ok) return value;
  if (answer.status === 401) signedOut();
  throw new Failure(value?.error ?? `HTTP ${answer.status}`, answer.status, value?.errors ?? []);
}

// Hands the token in for the cookie; whether it was the right one.
export async function signIn(token) {
  const answer = await fetch("/api/session", { method: "POST", body: JSON.stringify({ token }) });
  return answer.ok;
}

export const roomPath = (room) => `/api/rooms/${encodeURIComponent(room)}/messages`;
