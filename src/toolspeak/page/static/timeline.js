// @ts-check
// The rows of a run in a virtual list. One of them is chosen; its details are shown beside the rows.

import { h } from "./dom.js";
import { drawRow } from "./row.js";
import { VirtualList } from "./virtual_list.js";

/** @import { RunModel } from "./run_model.js" */

export class Timeline {
  /**
   * @param {RunModel} model
   * @param {HTMLElement} head what stands above the rows and scrolls with them
   * @param {{select: (index: number) => void, open: (index: number) => void, show: () => void}} on is told which row is
   *   chosen, of which one the details are wanted, and when other rows are drawn
   */
  constructor(model, head, on) {
    this._model = model;
    this._on = on;
    /** @type {Set<number>} rows in which the words that are looked for occur */
    this.hits = new Set();
    /** @type {number | undefined} the row whose details are shown */
    this.opened = undefined;
    /** @type {number | undefined} */
    this.active = undefined;
    /** @type {VirtualList<number>} */
    this._list = new VirtualList({
      label: "Turns and calls",
      draw: (index) => this._draw(index),
      estimate: () => rowHeight(this._list.element),
      onShow: () => this._on.show(),
      head,
    });
    this.element = this._list.element;
    this.element.classList.add("timeline");
    this.element.addEventListener("click", (event) => this._click(event));
    this.list();
  }

  /** List the rows anew, over the time that the run has taken so far. */
  list() {
    this.element.style.setProperty("--duration", String(Math.max(0.001, this._model.duration)));
    this._list.setKeys(this._model.listed());
  }

  get count() {
    return this._list.count;
  }

  /** @returns {[number, number]} the first and the last row in sight */
  get range() {
    const [first, last] = this._list.range;
    return [this._list.keyAt(first) ?? 0, this._list.keyAt(last) ?? 0];
  }

  /** @param {number} index */
  _draw(index) {
    const row = this._model.row(index);
    const classes = ["item"];
    if (index === this.active) classes.push("is-active");
    if (this.hits.has(index)) classes.push("is-hit");
    return h("div", { class: classes.join(" ") }, drawRow(this._model, row, index === this.opened));
  }

  /** @param {MouseEvent} event */
  _click(event) {
    const target = event.target;
    if (!(target instanceof Element)) return;
    const button = target.closest("button.row");
    if (!(button instanceof HTMLElement)) return;
    const index = Number(button.dataset["row"]);
    const wasOpened = this.opened === index;
    this.select(index); // details that are open follow
    if (wasOpened || this.opened !== index) this._on.open(index);
  }

  /** @param {number} index @param {"nearest" | "start" | "center"} [block] */
  select(index, block = "nearest") {
    const row = this._model.rows[index];
    if (row === undefined) return; // it was found in a part of the run that has not arrived
    const before = this.active;
    this.active = index;
    this._model.reveal(index);
    if (this._list.placeOf(index) < 0) {
      if (this._model.filter !== "" && !this._model.listed().includes(index)) this._model.filter = ""; // or it had no place
      this._list.setKeys(this._model.listed());
    }
    if (before !== undefined) this._list.find(before)?.classList.remove("is-active");
    this._list.anchor = index;
    this._list.scrollTo(index, block);
    this._list.find(index)?.classList.add("is-active");
    this.focus();
    this._on.select(index);
  }

  /** Focus the chosen row. */
  focus() {
    if (this.active === undefined) this.element.focus();
    else this._list.find(this.active)?.querySelector("button")?.focus({ preventScroll: true });
  }

  /** Say of which row the details are shown. @param {number | undefined} index */
  markOpened(index) {
    const changed = [this.opened, index].filter((each) => each !== undefined);
    this.opened = index;
    for (const each of changed) this._list.find(each)?.querySelector("button.row")?.setAttribute("aria-expanded", String(each === index));
  }

  /** Choose the row that is so many rows further. @param {number} step */
  move(step) {
    const place = this.active === undefined ? -1 : this._list.placeOf(this.active);
    const next = Math.min(Math.max(place + step, 0), this._list.count - 1);
    const key = this._list.keyAt(next);
    if (key !== undefined) this.select(key);
  }

  /** Choose the next or the previous turn. @param {1 | -1} step */
  moveTurn(step) {
    let place = this.active === undefined ? -1 : this._list.placeOf(this.active);
    for (place += step; place >= 0 && place < this._list.count; place += step) {
      const key = /** @type {number} */ (this._list.keyAt(place));
      if (this._model.row(key).kind === "turn") {
        this.select(key, "start");
        return;
      }
    }
  }

  /** Hide or list what is under the chosen row. @param {boolean} [collapse] */
  collapseActive(collapse) {
    const index = this.active;
    if (index === undefined || !this._model.hasChildren(index)) return;
    if (collapse ?? !this._model.collapsed.has(index)) this._model.collapsed.add(index);
    else this._model.collapsed.delete(index);
    this._list.redraw([index]);
    this._list.setKeys(this._model.listed());
    this.focus();
  }

  /** List turns alone, or calls as well. @param {boolean} hidesCalls */
  collapseTurns(hidesCalls) {
    this._model.collapsed = new Set(hidesCalls ? this._model.rows.filter((row) => row.kind === "turn").map((row) => row.i) : []);
    this._relist();
  }

  /** List only rows in which something went wrong, or all. @param {string} fault "" for all rows */
  filter(fault) {
    this._model.filter = fault;
    this._relist();
  }

  _relist() {
    this._list.redrawAll();
    this._list.setKeys(this._model.listed());
    if (this.active !== undefined) this._list.scrollTo(this.active, "center");
  }

  /** Draw what has changed. @param {Iterable<number>} rows @param {Iterable<number>} drafts */
  update(rows, drafts) {
    const wasAtEnd = this._list.isAtEnd;
    const focused = document.activeElement;
    const isInside = this.element.contains(focused);
    this._list.redraw([...rows, ...drafts]);
    this.list();
    if (this._list.staysAtEnd || (wasAtEnd && this._model.isLive)) this._list.scrollToEnd();
    if (isInside && focused !== null && !this.element.contains(focused)) this.focus();
  }

  /** Draw all rows again: the words that are looked for have changed. @param {Iterable<number>} hits */
  setHits(hits) {
    this.hits = new Set(hits);
    this._list.redrawAll();
  }

  /** @param {"start" | "end"} where */
  jump(where) {
    const key = this._list.keyAt(where === "start" ? 0 : this._list.count - 1);
    if (key !== undefined) this.select(key);
    if (where === "start") this.element.scrollTop = 0;
  }
}

/** @param {Element} element the height of a folded row, which the style sheet sets */
function rowHeight(element) {
  const height = parseFloat(getComputedStyle(element).getPropertyValue("--row-pixels"));
  return Number.isFinite(height) && height > 0 ? height : 40;
}
