// What this browser keeps for the page; where it keeps nothing, things last as long as the page does.

// `kind`: "localStorage" or "sessionStorage". Only to look at one may throw, where it is forbidden.
export function recall(kind, key, otherwise) {
  try {
    return JSON.parse(globalThis[kind].getItem(key)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function keep(kind, key, value) {
  try {
    globalThis[kind].setItem(key, JSON.stringify(value));
  } catch {
    // Forbidden or full.
  }
}
