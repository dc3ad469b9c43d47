// @ts-check
// The page: the table of all runs, or one run beside the list of runs, or the differences of two. What is open stands in
// the address behind `#`, so that it can be kept: `#run=files/3f2a…&fact=17`, `#differences=files/3f2a…,files/8c01…`.

import { joinKey, splitKey } from "./api.js";
import { DifferenceView } from "./difference_view.js";
import { drawError, h } from "./dom.js";
import { Home } from "./home.js";
import { buildHelp, listenToKeys } from "./keys.js";
import { PlaygroundPages } from "./playground_pages.js";
import { RunCatalogue } from "./run_catalogue.js";
import { RunList } from "./run_list.js";
import { RunView } from "./run_view.js";
import { buildThemeButton } from "./theme.js";

/** @import { RunKey } from "./types.js" */

const REFRESH_MILLISECONDS = 4000;
const READING_MILLISECONDS = 1000; // while the server still reads runs

/** @typedef {{run?: RunKey, fact?: number, pair?: [RunKey, RunKey]}} Place */

/** @returns {Place} */
function readPlace() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const [first, second] = (parameters.get("differences") ?? "").split(",").map(splitKey);
  const fact = Number.parseInt(parameters.get("fact") ?? "", 10);
  return {
    run: splitKey(parameters.get("run") ?? ""),
    pair: first && second ? [first, second] : undefined,
    fact: Number.isFinite(fact) && fact >= 0 ? fact : undefined,
  };
}

/** @param {Place} place */
function writePlace(place) {
  const parts = [];
  if (place.run) parts.push(`run=${joinKey(place.run)}`);
  if (place.fact !== undefined) parts.push(`fact=${place.fact}`);
  return `#${parts.join("&")}`;
}

class App {
  constructor() {
    /** @type {RunView | undefined} */
    this._view = undefined;
    this._catalogue = new RunCatalogue();
    this._runs = new RunList((key) => {
      location.hash = writePlace({ run: key });
    });
    this._home = new Home(this._catalogue, (key) => {
      location.hash = writePlace({ run: splitKey(key) });
    });
    this._stage = h("div", { class: "stage" });
    this._all = h("a", { class: "all-runs", href: "#", hidden: true }, "‹ All runs");
    this._pages = new PlaygroundPages();
    const help = h("button", { type: "button", class: "icon-button", title: "Keyboard shortcuts", "aria-label": "Keyboard shortcuts" }, "?");
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
      this._all,
      this._runs.filter,
      this._runs.none,
      this._runs.element,
    );
    this._shell = h("div", { class: "shell" }, side, this._stage);
  }

  async start() {
    document.body.replaceChildren(this._shell);
    listenToKeys({
      view: () => this._view,
      home: () => (this._home.element.isConnected ? this._home : undefined),
      help: () => this._showHelp(),
      runs: () => (this._home.element.isConnected ? this._home.focus() : this._runs.focus()),
    });
    try {
      await this._refresh();
    } catch (error) {
      this._stage.replaceChildren(drawError(error));
      return;
    }
    window.addEventListener("hashchange", () => void this._show());
    this._refreshLater();
    const shown = this._show();
    this._runs.show(this._catalogue.sources);
    this._runs.mark(this._view?.key);
    await shown;
  }

  _refreshLater() {
    setTimeout(
      async () => {
        if (!document.hidden) await this._refresh().catch(() => {}); // the next time may be better
        this._refreshLater();
      },
      this._catalogue.unread > 0 ? READING_MILLISECONDS : REFRESH_MILLISECONDS,
    );
  }

  async _refresh() {
    if (!(await this._catalogue.refresh())) return;
    const { sources } = this._catalogue;
    this._all.hidden = this._catalogue.count < 2; // there is no table of one run
    this._pages.note(sources, this._all);
    if (this._stage.hasChildNodes()) this._runs.show(sources); // else when the first view is there, which may hide it
    if (this._stage.querySelector(".welcome")) await this._show(); // the first run has come
    if (!this._home.element.isConnected) return;
    if (this._home.filter.words) await this._home.filter.search();
    else this._home.draw();
  }

  async _show() {
    const special = this._pages.open();
    if (special !== undefined) {
      this._view?.close();
      this._view = undefined;
      this._shell.classList.add("has-run");
      this._shell.classList.remove("is-home");
      this._runs.mark(undefined);
      this._stage.replaceChildren(special);
      return;
    }
    const place = readPlace();
    const run = place.run ?? (place.pair ? undefined : this._catalogue.only);
    const isHome = run === undefined && place.pair === undefined && this._catalogue.count > 0;
    this._shell.classList.toggle("has-run", run !== undefined || place.pair !== undefined);
    this._shell.classList.toggle("is-home", isHome || place.pair !== undefined);
    this._runs.mark(run);
    if (run === undefined) {
      this._view?.close();
      this._view = undefined;
      document.title = "toolspeak";
      if (place.pair) this._showDifferences(place.pair);
      else this._stage.replaceChildren(isHome ? this._home.element : drawWelcome());
      if (isHome) this._home.draw();
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

  /** @param {[RunKey, RunKey]} pair */
  _showDifferences(pair) {
    const view = new DifferenceView(...pair);
    this._stage.replaceChildren(view.element);
    void view.open();
    document.title = "Differences – toolspeak";
  }

  _showHelp() {
    const dialog = buildHelp();
    document.body.append(dialog);
    dialog.showModal();
  }
}

function drawWelcome() {
  return h(
    "main",
    { class: "welcome", "aria-label": "No run" },
    h("h1", {}, "No runs yet"),
    h("p", {}, "Record one:"),
    h("pre", { class: "block" }, "toolspeak run --record run.jsonl --tools tools.py 'What is …?'\ntoolspeak page run.jsonl"),
  );
}

void new App().start();
