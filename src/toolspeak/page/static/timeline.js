// @ts-check
// The timeline of a run: its rows in a virtual list, each of which can be unfolded.

import { fetchDetails } from "./api.js";
import { drawDetails } from "./details.js";
import { h } from "./dom.js";
import { drawRow } from "./row.js";
import { VirtualList } from "./virtual_list.js";

/** @import { Details, RunKey } from "./types.js" */
/** @import { RunModel } from "./run_model.js" */

export class Timeline {
  /**
   * @param {RunKey} key
   * @param {RunModel} model
   * @param {(fact: number | undefined) => void} onSelect is told the first fact of the row that is chosen
   */
  constructor(key, model, onSelect) {
    this._key = key;
    this._model = model;
    this._onSelect = onSelect;
    /** @type {Set<number>} */
    this._unfolded = new Set();
    /** @type {Map<number, Details>} */
    this._details = new Map();
    /** @type {number | undefined} */
    this.active = undefined;
    /** @type {VirtualList<number>} */
    this._list = new VirtualList({
      label: "Turns and calls",
      draw: (index) => this._draw(index),
      estimate: () => rowHeight(this._list.element),
    });
    this.element = this._list.element;
    this.element.classList.add("timeline");
    this.element.addEventListener("click", (event) => this._click(event));
    this._list.setKeys(model.listed());
  }

  /** @param {number} index */
  _draw(index) {
    const isUnfolded = this._unfolded.has(index);
    const row = this._model.row(index);
    const item = h("div", { class: `item${index === this.active ? " is-active" : ""}` });
    item.append(drawRow(this._model, row, isUnfolded));
    if (isUnfolded) {
      const details = this._details.get(index);
      item.append(details ? drawDetails(details) : h("div", { class: "details quiet" }, "Loading…"));
    }
    return item;
  }

  /** @param {MouseEvent} event */
  _click(event) {
    const target = event.target;
    if (!(target instanceof Element)) return;
    const button = target.closest("button.row");
    if (!(button instanceof HTMLElement)) return;
    const index = Number(button.dataset["row"]);
    this.select(index);
    this.toggle(index);
  }

  /** @param {number} index @param {"nearest" | "start" | "center"} [block] */
  select(index, block = "nearest") {
    const before = this.active;
    this.active = index;
    this._model.reveal(index);
    if (this._list.placeOf(index) < 0) this._list.setKeys(this._model.listed());
    if (before !== undefined) this._list.find(before)?.classList.remove("is-active");
    this._list.scrollTo(index, block);
    const item = this._list.find(index);
    item?.classList.add("is-active");
    item?.querySelector("button")?.focus({ preventScroll: true });
    this._onSelect(this._model.row(index).facts[0]);
  }

  /** Choose the row that is so many rows further. @param {number} step */
  move(step) {
    const place = this.active === undefined ? -1 : this._list.placeOf(this.active);
    const next = Math.min(Math.max(place + step, 0), this._list.count - 1);
    const key = this._list.keyAt(next);
    if (key !== undefined) this.select(key);
  }

  /** @param {number} index @param {boolean} [unfold] */
  toggle(index, unfold = !this._unfolded.has(index)) {
    if (unfold) {
      this._unfolded.add(index);
      void this._load(index);
    } else {
      this._unfolded.delete(index);
    }
    this._redraw(index);
  }

  /** @param {number} index */
  async _load(index) {
    if (this._details.has(index)) return;
    try {
      this._details.set(index, await fetchDetails(this._key, index));
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      this._details.set(index, { i: index, facts: [], sections: [{ type: "remark", tone: "bad", text }] });
    }
    this._redraw(index);
  }

  /** @param {number} index */
  _redraw(index) {
    const hadFocus = this._list.find(index)?.contains(document.activeElement);
    this._list.redraw([index]);
    this._list.scrollTo(index);
    if (hadFocus) this._list.find(index)?.querySelector("button")?.focus({ preventScroll: true });
  }

  /** Draw what has changed. @param {Iterable<number>} rows @param {Iterable<number>} drafts */
  update(rows, drafts) {
    const wasAtEnd = this._list.isAtEnd;
    const changed = [...rows];
    for (const index of changed) {
      this._details.delete(index);
      if (this._unfolded.has(index)) void this._load(index);
    }
    this._list.redraw([...changed, ...drafts]);
    this._list.setKeys(this._model.listed());
    if (wasAtEnd && this._model.isLive) this._list.scrollToEnd();
  }

  /** Show and unfold the row of a fact. @param {number} fact */
  showFact(fact) {
    const index = this._model.rowOfFact(fact);
    if (index === undefined) return;
    this.select(index, "center");
    if (!this._unfolded.has(index)) this.toggle(index, true);
  }
}

/** @param {Element} element the height of a folded row, which the style sheet sets */
function rowHeight(element) {
  const height = parseFloat(getComputedStyle(element).getPropertyValue("--row-pixels"));
  return Number.isFinite(height) && height > 0 ? height : 40;
}
