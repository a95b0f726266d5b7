// On a narrow screen one view at a time, chosen with the tab bar; on a wide one all are seen.

import { find, setAttr, setData } from "./dom.js";

export function startViews() {
  const page = find("#page");
  const tabs = [...document.querySelectorAll("#tabs [data-view]")];
  const narrow = matchMedia("(max-width: 720px)");

  function show(view) {
    setData(page, "view", view);
    for (const tab of tabs) {
      const chosen = tab.dataset.view === view;
      setAttr(tab, "aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
  }

  // Only where there are tabs are the views panels of tabs.
  function roles() {
    for (const tab of tabs) {
      const panel = find(`#${tab.getAttribute("aria-controls")}`);
      setAttr(panel, "role", narrow.matches ? "tabpanel" : null);
    }
  }

  function step(event) {
    const at = tabs.indexOf(event.currentTarget);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const tab = tabs[(to + tabs.length) % tabs.length];
    show(tab.dataset.view);
    tab.focus();
  }

  for (const tab of tabs) {
    tab.addEventListener("click", () => show(tab.dataset.view));
    tab.addEventListener("keydown", step);
  }
  narrow.addEventListener("change", roles);
  roles();
  show("talk");
  return { show };
}
