// @ts-check
// Find words in a run. The server looks through all texts; here the rows are stepped through, and the words are marked
// where they are drawn, without changing the document.

import { findWords } from "./api.js";
import { h } from "./dom.js";

/** @import { RunKey } from "./types.js" */
/** @import { Timeline } from "./timeline.js" */

const WAIT_MILLISECONDS = 180;
const MAX_RANGES = 500;

export class FindBar {
  /**
   * @param {RunKey} key
   * @param {Element} element where words are marked
   * @param {() => Timeline | undefined} timeline
   * @param {(row: number, words: string) => void} onShow shows a row, and words in it
   */
  constructor(key, element, timeline, onShow) {
    this._key = key;
    this._marked = element;
    this._onShow = onShow;
    this._timeline = timeline;
    /** @type {number[]} */
    this._rows = [];
    this._place = -1;
    this._words = "";
    this._timer = 0;
    this._input = h("input", {
      type: "search",
      class: "field",
      placeholder: "Find in this run",
      "aria-label": "Find in this run",
      oninput: () => this._wait(),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this._press(event),
    });
    this._count = h("span", { class: "find-count", role: "status" });
    this.element = h("div", { class: "find", role: "search" }, this._input, this._count);
  }

  focus() {
    this._input.focus();
    this._input.select();
  }

  _wait() {
    clearTimeout(this._timer);
    this._timer = window.setTimeout(() => void this._search(), WAIT_MILLISECONDS);
  }

  async _search() {
    const words = this._input.value;
    this._words = words;
    const rows = words === "" ? [] : await findWords(this._key, words).catch(() => []);
    if (words !== this._words) return; // others are looked for by now
    this._rows = rows;
    this._place = -1;
    this._timeline()?.setHits(rows);
    this._describe();
    this.highlight();
  }

  _describe() {
    const { length } = this._rows;
    if (this._words === "") this._count.textContent = "";
    else if (length === 0) this._count.textContent = "Nothing found";
    else this._count.textContent = this._place < 0 ? `${length} ${length === 1 ? "row" : "rows"}` : `${this._place + 1} of ${length}`;
  }

  /** Go to the next or the previous row. @param {1 | -1} step */
  step(step) {
    const timeline = this._timeline();
    if (timeline === undefined || this._rows.length === 0) return;
    this._place = (this._place + step + this._rows.length) % this._rows.length;
    if (this._place < 0) this._place = 0;
    const row = this._rows[this._place];
    if (row !== undefined) this._onShow(row, this._words);
    this._describe();
  }

  /** @param {KeyboardEvent} event */
  _press(event) {
    if (event.key === "Enter") {
      event.preventDefault();
      void this._enter(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      event.preventDefault();
      this._input.value = "";
      void this._search();
      this._timeline()?.focus();
    }
  }

  /** @param {1 | -1} step */
  async _enter(step) {
    if (this._words !== this._input.value) {
      clearTimeout(this._timer);
      await this._search();
    }
    this.step(step);
  }

  /** Mark the words in what is drawn. */
  highlight() {
    if (!("highlights" in CSS)) return;
    const words = this._words.toLowerCase();
    if (words === "") {
      CSS.highlights.delete("found");
      return;
    }
    /** @type {Range[]} */
    const ranges = [];
    const walker = document.createTreeWalker(this._marked, NodeFilter.SHOW_TEXT);
    while (walker.nextNode() && ranges.length < MAX_RANGES) {
      const node = walker.currentNode;
      const text = (node.nodeValue ?? "").toLowerCase();
      for (let at = text.indexOf(words); at >= 0 && ranges.length < MAX_RANGES; at = text.indexOf(words, at + 1)) {
        if (at + words.length > (node.nodeValue ?? "").length) break;
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + words.length);
        ranges.push(range);
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  }
}
