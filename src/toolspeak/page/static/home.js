// @ts-check
// The home of the page: all runs as a table that is searched, filtered, sorted, summed and grouped; runs that are chosen
// are compared, or saved as a suite or a test.

import { h } from "./dom.js";
import { formatTime } from "./format.js";
import { RunFilter } from "./run_filter.js";
import { COLUMNS, describeSums, drawRun, sortRuns } from "./run_table.js";
import { buildSetButtons } from "./save_set.js";
import { VirtualList } from "./virtual_list.js";

/** @import { ListedRun, RunCatalogue } from "./run_catalogue.js" */

const WIDE_ROW = 56;
const NARROW_ROW = 104;

/** A conversation of several runs. @typedef {{name: string, runs: ListedRun[]}} Group */

export class Home {
  /**
   * @param {RunCatalogue} catalogue
   * @param {(key: string) => void} onOpen
   */
  constructor(catalogue, onOpen) {
    this._catalogue = catalogue;
    this._onOpen = onOpen;
    this._sort = "when";
    this._isUp = false;
    this._isGrouped = false;
    /** @type {Map<string, ListedRun>} */
    this._runs = new Map();
    /** @type {Map<string, Group>} */
    this._groups = new Map();
    /** @type {Set<string>} runs that stand under the line of their conversation */
    this._grouped = new Set();
    /** @type {Set<string>} */
    this._chosen = new Set();
    this.filter = new RunFilter(() => this.draw());
    this._sums = h("p", { class: "sums", role: "status" });
    this._failures = h("div", { class: "run-remarks" });
    this._group = h("button", { type: "button", class: "toggle", "aria-pressed": "false" }, "Group by conversation");
    this._group.addEventListener("click", () => {
      this._isGrouped = !this._isGrouped;
      this._group.setAttribute("aria-pressed", String(this._isGrouped));
      this.draw();
    });
    this._sorting = h(
      "select",
      { class: "field sorting", "aria-label": "Sort by", onchange: () => this._sortBy(this._sorting.value) },
      ...COLUMNS.map((column) => h("option", { value: column.name }, `Sort by ${column.label.toLowerCase()}`)),
    );
    this._all = h("input", { type: "checkbox", "aria-label": "Select all shown" });
    this._all.addEventListener("change", () => this._chooseAll(this._all.checked));
    this._heads = new Map(COLUMNS.map((column) => [column.name, this._drawHead(column.name, column.label)]));
    this._head = h(
      "div",
      { class: "run-line table-head", role: "row", "aria-rowindex": 1 },
      h("span", { class: "cell cell-pick", role: "columnheader" }, this._all),
      ...this._heads.values(),
    );
    /** @type {VirtualList<string>} */
    this._list = new VirtualList({
      label: "Runs",
      draw: (key) => this._drawItem(key),
      estimate: () => (matchMedia("(max-width: 760px)").matches ? NARROW_ROW : WIDE_ROW),
      isTable: true,
    });
    this._none = h("div", { class: "no-runs", hidden: true });
    this._table = h(
      "div",
      { class: "run-table", role: "table", "aria-label": "Runs" },
      h("div", { role: "rowgroup", class: "table-heads" }, this._head),
      this._list.element,
    );
    this._actions = buildSetButtons(
      () => [...this._chosen].filter((key) => this._catalogue.list().some((run) => run.key === key)),
      () => this._chooseAll(false),
    );
    this.element = h(
      "main",
      { class: "home", "aria-label": "All runs" },
      h("div", { class: "home-head" }, h("h1", {}, "Runs"), this.filter.field, this._group, this._sorting),
      this.filter.chips,
      this.filter.choices,
      this._sums,
      this._failures,
      this._actions.element,
      this._table,
      this._none,
    );
  }

  focus() {
    this.filter.field.focus();
  }

  /** Draw the runs that the catalogue has now. */
  draw() {
    const all = this._catalogue.list();
    const shown = sortRuns(this.filter.apply(all), this._sort, this._isUp);
    this._runs = new Map(shown.map((run) => [run.key, run]));
    this._drawState(all.length, shown);
    const keys = this._isGrouped ? this._groupRuns(shown) : [...this._runs.keys()];
    this._group.hidden = !all.some(({ entry }) => entry.conversation);
    this._table.setAttribute("aria-rowcount", String(keys.length + 1));
    this._list.redrawAll();
    this._list.setKeys(keys);
    this._mark();
  }

  /** Draw the sums, or that there is nothing to sum up. @param {number} count @param {ListedRun[]} shown */
  _drawState(count, shown) {
    const { unread, sources } = this._catalogue;
    const words = describeSums(shown);
    if (unread > 0) words.push(`${unread.toLocaleString("en")} ${unread === 1 ? "run" : "runs"} still loading`);
    this._sums.textContent = words.join("  ·  ");
    const failures = [
      ...sources.filter((source) => source.failure).map((source) => `${source.label}: ${source.failure}`),
      ...(this.filter.failure ? [this.filter.failure] : []),
    ];
    this._failures.replaceChildren(...failures.map((failure) => h("p", { class: "remark remark-bad" }, failure)));
    this._table.hidden = shown.length === 0;
    this._none.hidden = shown.length > 0;
    if (shown.length > 0) return;
    const clear = h("button", { type: "button", class: "button", onclick: () => this._clear() }, "Show all runs");
    this._none.replaceChildren(
      h("p", {}, count === 0 ? "No runs yet." : this.filter.describeMiss()),
      ...(unread > 0 ? [h("p", { class: "quiet" }, "Some runs are still loading, so this may be incomplete.")] : []),
      ...(this.filter.isActive ? [clear] : []),
    );
  }

  _clear() {
    this.filter.clear();
    this.focus();
  }

  /** Order runs by conversation, each under a line of its own. @param {ListedRun[]} runs @returns {string[]} */
  _groupRuns(runs) {
    /** @type {Map<string, ListedRun[]>} */
    const groups = new Map();
    for (const run of runs) {
      const name = run.entry.conversation ? `group ${run.source.name}/${run.entry.conversation}` : run.key;
      const members = groups.get(name);
      if (members) members.push(run);
      else groups.set(name, [run]);
    }
    this._groups.clear();
    this._grouped.clear();
    return [...groups].flatMap(([name, members]) => {
      const keys = members.map((run) => run.key);
      if (!name.startsWith("group ") || members.length < 2) return keys;
      this._groups.set(name, { name, runs: members });
      for (const key of keys) this._grouped.add(key);
      return [name, ...keys];
    });
  }

  /** @param {string} key */
  _drawItem(key) {
    const group = this._groups.get(key);
    if (group !== undefined) return this._drawGroup(group);
    const run = /** @type {ListedRun} */ (this._runs.get(key));
    const line = drawRun(run, {
      excerpt: this.filter.excerptOf(key),
      isChosen: this._chosen.has(key),
      onOpen: () => this._onOpen(key),
      onChoose: (isChosen) => this._choose(key, isChosen),
    });
    line.classList.toggle("is-chosen", this._chosen.has(key));
    line.classList.toggle("in-group", this._isGrouped && this._grouped.has(key));
    return line;
  }

  /** @param {Group} group */
  _drawGroup({ runs }) {
    const first = runs.reduce((one, other) => ((other.entry.updated ?? 0) < (one.entry.updated ?? 0) ? other : one));
    const last = Math.max(...runs.map((run) => run.entry.updated ?? 0));
    return h(
      "div",
      { class: "item group-line" },
      h(
        "span",
        { role: "cell", class: "group-cell" },
        h("span", { class: "group-title" }, first.entry.title || "(no prompt)"),
        h("span", { class: "quiet" }, [...describeSums(runs), last ? formatTime(last) : ""].filter(Boolean).join("  ·  ")),
      ),
    );
  }

  /** @param {string} name @param {string} label */
  _drawHead(name, label) {
    const button = h("button", { type: "button", onclick: () => this._sortBy(name) }, label);
    return h("span", { class: `cell cell-${name}`, role: "columnheader" }, button);
  }

  /** @param {string} name */
  _sortBy(name) {
    const column = COLUMNS.find((each) => each.name === name);
    this._isUp = name === this._sort ? !this._isUp : column?.isText === true;
    this._sort = name;
    this.draw();
    this._list.element.scrollTop = 0;
  }

  _mark() {
    for (const [name, head] of this._heads) {
      if (name === this._sort) head.setAttribute("aria-sort", this._isUp ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    }
    this._sorting.value = this._sort;
    const shown = [...this._runs.keys()];
    this._all.checked = shown.length > 0 && shown.every((key) => this._chosen.has(key));
    this._actions.draw();
  }

  /** @param {string} key @param {boolean} isChosen */
  _choose(key, isChosen) {
    if (isChosen) this._chosen.add(key);
    else this._chosen.delete(key);
    this._list.find(key)?.classList.toggle("is-chosen", isChosen);
    this._mark();
  }

  /** @param {boolean} isChosen */
  _chooseAll(isChosen) {
    this._chosen = new Set(isChosen ? this._runs.keys() : []);
    this._list.redrawAll();
    this._mark();
  }

  /**
   * @param {KeyboardEvent} event
   * @returns {boolean} whether the key means something
   */
  press(event) {
    switch (event.key) {
      case "/":
        this.focus();
        return true;
      case "j":
      case "ArrowDown":
        return this._move(1);
      case "k":
      case "ArrowUp":
        return this._move(-1);
      case "x": {
        const key = this._focusedKey();
        if (key === undefined) return false;
        this._choose(key, !this._chosen.has(key));
        const box = this._list.find(key)?.querySelector("input");
        if (box) box.checked = this._chosen.has(key);
        return true;
      }
      case "d":
        return this._actions.compare();
      case "Escape":
        if (!this.filter.isActive) return false;
        this._clear();
        return true;
      default:
        return false;
    }
  }

  /** @returns {string | undefined} */
  _focusedKey() {
    const line = document.activeElement?.closest(".run-line");
    return line?.querySelector("[data-key]")?.getAttribute("data-key") ?? undefined;
  }

  /** @param {number} step */
  _move(step) {
    const focused = this._focusedKey();
    let place = focused === undefined ? (step > 0 ? -1 : this._list.count) : this._list.placeOf(focused);
    do place += step;
    while (this._groups.has(this._list.keyAt(place) ?? ""));
    const key = this._list.keyAt(place);
    if (key === undefined) return true;
    this._list.scrollTo(key);
    /** @type {HTMLElement | null | undefined} */ (this._list.find(key)?.querySelector(".run-open"))?.focus();
    return true;
  }
}
