// @ts-check
// The page: the list of runs beside one run. What is open stands in the address behind `#`, so that it can be kept:
// `#run=files/3f2a…&fact=17`.

import { fetchSources } from "./api.js";
import { h } from "./dom.js";
import { RunList } from "./run_list.js";
import { RunView } from "./run_view.js";

/** @import { RunKey, SourceList } from "./types.js" */

const runs = new RunList((key) => go({ run: key }));
const side = h(
  "nav",
  { class: "side", "aria-label": "Runs" },
  h("p", { class: "brand" }, h("a", { href: "#" }, "toolspeak")),
  runs.element,
);
const stage = h("div", { class: "stage" });
const shell = h("div", { class: "shell" }, side, stage);

/** @type {RunView | undefined} */
let view;

/** @typedef {{run?: RunKey, fact?: number}} Place */

/** @returns {Place} */
function readPlace() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const run = parameters.get("run") ?? "";
  const slash = run.indexOf("/");
  const fact = Number.parseInt(parameters.get("fact") ?? "", 10);
  return {
    run: slash > 0 ? { source: run.slice(0, slash), id: run.slice(slash + 1) } : undefined,
    fact: Number.isFinite(fact) && fact >= 0 ? fact : undefined,
  };
}

/** @param {Place} place */
function writePlace(place) {
  const parts = [];
  if (place.run) parts.push(`run=${place.run.source}/${place.run.id}`);
  if (place.fact !== undefined) parts.push(`fact=${place.fact}`);
  return `#${parts.join("&")}`;
}

/** @param {Place} place */
function go(place) {
  location.hash = writePlace(place);
}

/** @param {SourceList[]} sources @returns {RunKey | undefined} the only run that there is */
function onlyRun(sources) {
  const keys = sources.flatMap((source) => source.runs.map((entry) => ({ source: source.name, id: entry.id })));
  return keys.length === 1 ? keys[0] : undefined;
}

async function show() {
  const place = readPlace();
  const run = place.run ?? onlyRun(sources);
  shell.classList.toggle("has-run", run !== undefined);
  runs.mark(run);
  if (run === undefined) {
    view?.close();
    view = undefined;
    stage.replaceChildren(h("p", { class: "empty" }, "Choose a run."));
    return;
  }
  if (view !== undefined && view.key.source === run.source && view.key.id === run.id) {
    if (place.fact !== undefined) view.timeline?.showFact(place.fact);
    return;
  }
  view?.close();
  const opened = (view = new RunView(run, (fact) => {
    history.replaceState(null, "", writePlace({ run, fact }));
  }));
  stage.replaceChildren(opened.element);
  try {
    await opened.open(place.fact);
  } catch (error) {
    opened.element.append(h("p", { class: "remark remark-bad" }, error instanceof Error ? error.message : String(error)));
  }
}

/** @type {SourceList[]} */
let sources = [];

async function start() {
  document.body.replaceChildren(shell);
  try {
    sources = await fetchSources();
  } catch (error) {
    stage.replaceChildren(h("p", { class: "remark remark-bad" }, error instanceof Error ? error.message : String(error)));
    return;
  }
  runs.show(sources);
  window.addEventListener("hashchange", () => void show());
  await show();
}

document.addEventListener("keydown", (event) => {
  const target = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement) return;
  const timeline = view?.timeline;
  if (timeline === undefined) return;
  if (event.key === "j" || event.key === "k") {
    event.preventDefault();
    timeline.move(event.key === "j" ? 1 : -1);
  }
});

void start();
