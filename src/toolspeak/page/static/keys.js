// @ts-check
// The keyboard: what each key does, and the dialog that says so.

import { h } from "./dom.js";

/** @import { Home } from "./home.js" */
/** @import { RunView } from "./run_view.js" */

/** @type {[string, string][]} */
const HELP = [
  ["j  k", "next or previous row"],
  ["[  ]", "previous or next turn"],
  ["Enter", "open or close the details"],
  ["e  E", "next or previous problem: error, refusal, repair, repeated call"],
  ["← →", "collapse or expand the row"],
  ["t", "show or hide calls"],
  ["s", "in a turn: what the model saw"],
  ["x", "close the details"],
  ["g  G", "first or last row"],
  ["/", "find"],
  ["n  N", "next or previous match"],
  ["r", "go to the list of runs"],
  ["x  d", "in the table: select a run, compare the two selected"],
  ["?", "this help"],
];

export function buildHelp() {
  const rows = HELP.map(([keys, words]) => {
    const caps = keys.split(/\s+/).map((key) => h("kbd", {}, key));
    return h("tr", {}, h("th", { scope: "row" }, ...caps), h("td", {}, words));
  });
  const dialog = h("dialog", { class: "help", "aria-label": "Keyboard shortcuts" });
  dialog.append(
    h("h2", {}, "Keyboard shortcuts"),
    h("table", {}, h("tbody", {}, ...rows)),
    h("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Close"),
  );
  dialog.addEventListener("close", () => dialog.remove());
  return dialog;
}

/**
 * @param {{view: () => RunView | undefined, home: () => Home | undefined, help: () => void, runs: () => void}} page
 */
export function listenToKeys(page) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
    if (event.key === "?") page.help();
    else if (event.key === "r") page.runs();
    else if (!page.home()?.press(event) && !pressInRun(event, page.view())) return;
    event.preventDefault();
  });
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  if (target instanceof HTMLInputElement && target.type === "checkbox") return false;
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

/**
 * @param {KeyboardEvent} event
 * @param {RunView | undefined} view
 * @returns {boolean} whether the key means something
 */
function pressInRun(event, view) {
  const timeline = view?.timeline;
  if (view === undefined || timeline === undefined) return false;
  switch (event.key) {
    case "j":
    case "ArrowDown":
      if (event.key === "ArrowDown" && isReading(event.target)) return false;
      timeline.move(1);
      return true;
    case "k":
    case "ArrowUp":
      if (event.key === "ArrowUp" && isReading(event.target)) return false;
      timeline.move(-1);
      return true;
    case "[":
      timeline.moveTurn(-1);
      return true;
    case "]":
      timeline.moveTurn(1);
      return true;
    case "ArrowLeft":
    case "ArrowRight":
      if (isReading(event.target)) return false;
      timeline.collapseActive(event.key === "ArrowLeft");
      return true;
    case "Enter":
      if (event.target instanceof HTMLButtonElement) return false; // the button does it
      view.toggleDetails();
      return true;
    case "e":
      view.moveFault(1);
      return true;
    case "E":
      view.moveFault(-1);
      return true;
    case "t":
      view.toggleCalls();
      return true;
    case "s":
      view.toggleRequest();
      return true;
    case "x":
    case "Escape":
      view.closeDetails();
      return true;
    case "g":
      timeline.jump("start");
      return true;
    case "G":
      timeline.jump("end");
      return true;
    case "/":
      view.find.focus();
      return true;
    case "n":
      view.find.step(1);
      return true;
    case "N":
      view.find.step(-1);
      return true;
    default:
      return false;
  }
}

/** Whether a text that scrolls has the focus. @param {EventTarget | null} target */
function isReading(target) {
  return target instanceof HTMLElement && target.classList.contains("block");
}
