// @ts-check
// The details of one row, beside the rows: what the model wrote or was shown, arguments, results, and where to go on.

import { fetchDetails } from "./api.js";
import { drawSections } from "./details.js";
import { h } from "./dom.js";
import { drawGoOn } from "./go_on.js";
import { describeRow } from "./row.js";
import { drawShown } from "./shown.js";

/** @import { Details, Row, RunKey } from "./types.js" */
/** @import { RunModel } from "./run_model.js" */

const MAX_PIECES = 50; // of a long text that are fetched to find words in it

export class Pane {
  /**
   * @param {RunKey} key
   * @param {RunModel} model
   * @param {HTMLElement} place where it is put when it is open
   * @param {{close: () => void, show: () => void}} on is told when somebody closes it, and when something else is drawn
   */
  constructor(key, model, place, on) {
    this._key = key;
    this._place = place;
    this._model = model;
    this._on = on;
    /** @type {Map<number, Details>} */
    this._details = new Map();
    /** @type {Map<number, HTMLElement>} what the model was shown in turns; chosen dialects stay when it is drawn again */
    this._requests = new Map();
    /** @type {number | undefined} the row that is shown */
    this.index = undefined;
    this._words = "";
    this._title = h("h2", { class: "pane-title" });
    this._body = h("div", { class: "details" });
    const close = h("button", { type: "button", class: "icon-button", title: "Close (x)", "aria-label": "Close details" }, "✕");
    close.addEventListener("click", () => this._on.close());
    this._head = h("div", { class: "pane-head" }, this._title, close);
    this.element = h("aside", { class: "pane", "aria-label": "Details" }, this._head, this._body);
  }

  get isOpen() {
    return this.index !== undefined;
  }

  /** Show a row. @param {number} index @param {string} [words] words that are looked for: they are brought into sight */
  open(index, words = "") {
    const isOther = index !== this.index;
    this.index = index;
    this._words = words;
    this._place.append(this.element);
    this._draw();
    if (isOther) this._body.scrollTop = 0;
    void this._load(index);
  }

  close() {
    this.index = undefined;
    this.element.remove();
    this._body.replaceChildren();
  }

  /** Draw what has changed. @param {Set<number>} rows @param {Set<number>} drafts */
  update(rows, drafts) {
    for (const index of rows) this._details.delete(index);
    if (this.index === undefined) return;
    if (rows.has(this.index)) void this._load(this.index);
    if (rows.has(this.index) || drafts.has(this.index)) this._draw();
  }

  /** Show what the model was shown in the turn, or what it wrote. @param {boolean} [request] */
  toggleRequest(request) {
    const row = this.index === undefined ? undefined : this._model.rows[this.index];
    if (row?.kind !== "turn") return;
    if (request === undefined || request !== this._requests.has(row.i)) {
      if (!this._requests.delete(row.i)) this._requests.set(row.i, drawShown(this._key, row.i, row.dialect ?? ""));
    }
    this._draw();
  }

  /** Fetch the details of a row, and draw them. @param {number} index */
  async _load(index) {
    if (!this._details.has(index)) {
      try {
        this._details.set(index, await fetchDetails(this._key, index));
      } catch (error) {
        const text = error instanceof Error ? error.message : String(error);
        this._details.set(index, { i: index, facts: [], sections: [{ type: "remark", tone: "bad", text }] });
      }
      if (this.index === index) this._draw();
    }
    if (this._words !== "" && this.index === index) await this._bringIntoSight(this._words);
  }

  _draw() {
    if (this.index === undefined) return;
    const row = this._model.row(this.index);
    const focused = document.activeElement;
    const tab = focused instanceof HTMLElement && this._body.contains(focused) ? focused.dataset["tab"] : undefined;
    const { label, text } = describeRow(this._model, row);
    this._title.replaceChildren(h("span", { class: "row-label" }, label), row.kind === "call" ? "" : h("span", { class: "quiet" }, text.slice(0, 80)));
    this._body.replaceChildren(...this._drawBody(row));
    this._place.classList.toggle("has-columns", this._body.querySelector(".column + .column") !== null);
    if (tab !== undefined) {
      const again = this._body.querySelector(`[data-tab="${tab}"]`);
      if (again instanceof HTMLElement) again.focus({ preventScroll: true });
    }
    this._on.show();
  }

  /** @param {Row} row @returns {HTMLElement[]} */
  _drawBody(row) {
    /** @type {HTMLElement[]} */
    const parts = row.kind === "turn" ? [this._drawTabs(row)] : [];
    const request = this._requests.get(row.i);
    if (request !== undefined) return [...parts, request];
    const draft = this._model.drafts.get(row.i);
    if (draft !== undefined) {
      for (const text of draft.values()) parts.push(h("pre", { class: "block draft", "aria-live": "off" }, text));
      return parts;
    }
    const details = this._details.get(row.i);
    const drawn = details === undefined ? [] : drawSections(this._key, details, this._words);
    if (details === undefined) parts.push(h("p", { class: "quiet" }, "Loading…"));
    else if (drawn.length === 0) parts.push(h("p", { class: "quiet working" }, this._describeEmpty(row)));
    return [...parts, ...drawn, ...drawGoOn(this._key, row, this._model.summary)];
  }

  /** Say why there is nothing to show of a row. @param {Row} row */
  _describeEmpty(row) {
    const isOpen = row.kind === "turn" && row.finish === undefined && !row.void;
    if (isOpen && this._model.isGoingOn) return "The model is working. Nothing has arrived yet.";
    if (isOpen || row.stage === "writing") return "The run ended before this was complete.";
    return "Nothing else was recorded.";
  }

  /** @param {Row} row */
  _drawTabs(row) {
    const showsRequest = this._requests.has(row.i);
    /** @param {boolean} request @param {string} words */
    const tab = (request, words) =>
      h(
        "button",
        {
          type: "button",
          "data-tab": String(request),
          "aria-pressed": String(request === showsRequest),
          onclick: () => this.toggleRequest(request),
        },
        words,
      );
    return h(
      "div",
      { class: "segments", role: "group", "aria-label": "Show" },
      tab(false, "What the model wrote"),
      tab(true, "What the model saw"),
    );
  }

  /** Scroll to the first place of words; of a long text as much is fetched as it takes. @param {string} words */
  async _bringIntoSight(words) {
    for (let count = 0; count < MAX_PIECES; count++) {
      const range = findWords(this._body, words);
      if (range !== undefined) {
        const place = range.getBoundingClientRect();
        const box = this._body.getBoundingClientRect();
        const block = range.startContainer.parentElement?.closest(".block");
        if (block instanceof HTMLElement) block.scrollTop += place.top - block.getBoundingClientRect().top - block.clientHeight / 3;
        this._body.scrollTop += range.getBoundingClientRect().top - box.top - box.height / 3;
        this._on.show();
        return;
      }
      const more = this._body.querySelector("button.show-more");
      if (!(more instanceof HTMLButtonElement) || this._words !== words) return;
      const before = more.textContent;
      more.click();
      await waitFor(() => !more.isConnected || more.textContent !== before);
    }
  }
}

/** @param {Element} element @param {string} words @returns {Range | undefined} where words first occur in a text */
export function findWords(element, words) {
  const folded = words.toLowerCase();
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const at = (node.nodeValue ?? "").toLowerCase().indexOf(folded);
    if (at < 0 || at + words.length > (node.nodeValue ?? "").length) continue;
    const range = new Range();
    range.setStart(node, at);
    range.setEnd(node, at + words.length);
    return range;
  }
  return undefined;
}

/** @param {() => boolean} isDone */
function waitFor(isDone) {
  return new Promise((resolve) => {
    const end = Date.now() + 10_000;
    const check = () => (isDone() || Date.now() > end ? resolve(undefined) : requestAnimationFrame(check));
    check();
  });
}
