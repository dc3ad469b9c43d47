// @ts-check
// The page: the list of runs beside one run. What is open stands in the address behind `#`, so that it can be kept:
// `#run=files/3f2a…&fact=17`.

import { fetchSources } from "./api.js";
import { drawError, h } from "./dom.js";
import { buildHelp, listenToKeys } from "./keys.js";
import { PlaygroundPages } from "./playground_pages.js";
import { RunList } from "./run_list.js";
import { RunView } from "./run_view.js";
import { buildThemeButton } from "./theme.js";

/** @import { RunKey, SourceList } from "./types.js" */

const REFRESH_MILLISECONDS = 4000;

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

class App {
  constructor() {
    /** @type {RunView | undefined} */
    this._view = undefined;
    /** @type {SourceList[]} */
    this._sources = [];
    this._listed = "";
    this._runs = new RunList((key) => {
      location.hash = writePlace({ run: key });
    });
    this._stage = h("div", { class: "stage" });
    this._pages = new PlaygroundPages();
    const help = h("button", { type: "button", class: "icon-button", title: "Keys", "aria-label": "Keys" }, "?");
    help.addEventListener("click", () => this._showHelp());
    const side = h(
      "nav",
      { class: "side", "aria-label": "Runs" },
      h(
        "div",
        { class: "brand" },
        h("a", { href: "#" }, h("img", { src: "/static/icon.svg", alt: "", width: 22, height: 22 }), "toolspeak"),
        buildThemeButton(),
        help,
      ),
      this._pages.link,
      this._runs.filter,
      this._runs.element,
    );
    this._shell = h("div", { class: "shell" }, side, this._stage);
  }

  async start() {
    document.body.replaceChildren(this._shell);
    listenToKeys({ view: () => this._view, help: () => this._showHelp(), runs: () => this._runs.focus() });
    try {
      await this._refresh();
    } catch (error) {
      this._stage.replaceChildren(drawError(error));
      return;
    }
    window.addEventListener("hashchange", () => void this._show());
    setInterval(() => {
      if (!document.hidden) this._refresh().catch(() => {}); // the next time may be better
    }, REFRESH_MILLISECONDS);
    await this._show();
  }

  async _refresh() {
    const sources = await fetchSources();
    const listed = JSON.stringify(sources);
    if (listed === this._listed) return;
    this._listed = listed;
    this._sources = sources;
    this._runs.show(sources);
    this._pages.note(sources);
  }

  /** @returns {RunKey | undefined} the only run that there is */
  _onlyRun() {
    const keys = this._sources.flatMap((source) => source.runs.map((entry) => ({ source: source.name, id: entry.id })));
    return keys.length === 1 ? keys[0] : undefined;
  }

  async _show() {
    const special = this._pages.open();
    if (special !== undefined) {
      this._view?.close();
      this._view = undefined;
      this._shell.classList.add("has-run");
      this._runs.mark(undefined);
      this._stage.replaceChildren(special);
      return;
    }
    const place = readPlace();
    const run = place.run ?? this._onlyRun();
    this._shell.classList.toggle("has-run", run !== undefined);
    this._runs.mark(run);
    if (run === undefined) {
      this._view?.close();
      this._view = undefined;
      this._stage.replaceChildren(drawWelcome(this._sources));
      return;
    }
    const shown = this._view?.key;
    if (shown !== undefined && shown.source === run.source && shown.id === run.id) {
      if (place.fact !== undefined) this._view?.showFact(place.fact);
      return;
    }
    this._view?.close();
    const view = (this._view = new RunView(run, (fact) => history.replaceState(null, "", writePlace({ run, fact }))));
    this._stage.replaceChildren(view.element);
    await view.open(place.fact);
    document.title = `${view.model?.summary.title || "A run"} – toolspeak`;
  }

  _showHelp() {
    const dialog = buildHelp();
    document.body.append(dialog);
    dialog.showModal();
  }
}

/** @param {SourceList[]} sources */
function drawWelcome(sources) {
  const hasRuns = sources.some((source) => source.runs.length > 0);
  const lines = hasRuns
    ? [h("p", {}, "Choose a run in the list. The key ? shows what else the keyboard can do.")]
    : [
        h("p", {}, "There is no run to show yet. Record one:"),
        h("pre", { class: "block" }, "toolspeak run --record run.jsonl --tools tools.py 'What is …?'\ntoolspeak page run.jsonl"),
      ];
  return h("main", { class: "welcome", "aria-label": "No run" }, h("h1", {}, "See a run, and see why"), ...lines);
}

void new App().start();
