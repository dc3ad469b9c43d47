// @ts-check
// The timeline of a run: its rows in a virtual list, each of which can be unfolded.

import { fetchDetails } from "./api.js";
import { drawApproval } from "./approval.js";
import { drawSections } from "./details.js";
import { h } from "./dom.js";
import { drawGoOn } from "./go_on.js";
import { drawRow } from "./row.js";
import { drawShown } from "./shown.js";
import { VirtualList } from "./virtual_list.js";

/** @import { Details, Row, RunKey } from "./types.js" */
/** @import { RunModel } from "./run_model.js" */

export class Timeline {
  /**
   * @param {RunKey} key
   * @param {RunModel} model
   * @param {{select: (fact: number | undefined) => void, show: () => void}} on is told which row is chosen, by its first
   *   fact, and when other rows are drawn
   */
  constructor(key, model, on) {
    this._key = key;
    this._model = model;
    this._on = on;
    /** @type {Set<number>} */
    this._unfolded = new Set();
    /** @type {Map<number, Details>} */
    this._details = new Map();
    /** @type {Map<number, {digest: string | undefined, element: HTMLElement}>} what is written there must not be lost */
    this._approvals = new Map();
    /** @type {Map<number, HTMLElement>} what the model was shown in turns; chosen dialects stay when rows are drawn again */
    this._requests = new Map();
    /** @type {Set<number>} rows in which the words that are looked for occur */
    this.hits = new Set();
    this._opensTurns = false;
    /** @type {number | undefined} */
    this.active = undefined;
    /** @type {VirtualList<number>} */
    this._list = new VirtualList({
      label: "Turns and calls",
      draw: (index) => this._draw(index),
      estimate: () => rowHeight(this._list.element),
      onShow: () => this._on.show(),
    });
    this.element = this._list.element;
    this.element.classList.add("timeline");
    this.element.addEventListener("click", (event) => this._click(event));
    this._setKeys();
  }

  /** List the rows anew, over the time that the run has taken so far. */
  _setKeys() {
    this.element.style.setProperty("--duration", String(Math.max(0.001, this._model.duration)));
    this._list.setKeys(this._model.listed());
  }

  /** @returns {[number, number]} the first and the last row in sight */
  get range() {
    const [first, last] = this._list.range;
    return [this._list.keyAt(first) ?? 0, this._list.keyAt(last) ?? 0];
  }

  /** @param {number} index */
  _draw(index) {
    const isUnfolded = this._unfolded.has(index);
    const row = this._model.row(index);
    const classes = ["item"];
    if (index === this.active) classes.push("is-active");
    if (this.hits.has(index)) classes.push("is-hit");
    const item = h("div", { class: classes.join(" ") });
    item.append(drawRow(this._model, row, isUnfolded));
    if (isUnfolded) item.append(this._drawDetails(row));
    return item;
  }

  /** @param {Row} row */
  _drawDetails(row) {
    const body = h("div", { class: "details" });
    body.style.setProperty("--level", String(this._model.level(row.i)));
    if (row.stage === "asking" && this._model.canAnswer) body.append(this._drawApproval(row));
    if (row.kind === "turn") body.append(this._drawTabs(row));
    const request = this._requests.get(row.i);
    if (request !== undefined) {
      body.append(request);
      return body;
    }
    const draft = this._model.drafts.get(row.i);
    if (draft !== undefined) {
      for (const text of draft.values()) body.append(h("pre", { class: "block draft", "aria-live": "off" }, text));
      return body;
    }
    const details = this._details.get(row.i);
    if (details === undefined) body.append(h("p", { class: "quiet" }, "Loading…"));
    else body.append(...drawSections(this._key, details));
    body.append(...drawGoOn(this._key, row, this._model.summary));
    const numbers = `${row.facts.length === 1 ? "Fact" : "Facts"} ${row.facts.join(", ")}`;
    body.append(h("p", { class: "fact-numbers" }, numbers));
    return body;
  }

  /** Draw the question about a call once, and again only if it is asked about another call. @param {Row} row */
  _drawApproval(row) {
    const known = this._approvals.get(row.i);
    if (known !== undefined && known.digest === row.digest) return known.element;
    const element = drawApproval(this._key, row);
    this._approvals.set(row.i, { digest: row.digest, element });
    return element;
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
          "aria-pressed": String(request === showsRequest),
          onclick: () => {
            if (request !== this._requests.has(row.i)) this._switchRequest(row);
            this._redraw(row.i);
            this._list.scrollTo(row.i);
          },
        },
        words,
      );
    const words = ["What the model wrote", "What it was shown"];
    return h(
      "div",
      { class: "segments", role: "group", "aria-label": "Show" },
      tab(false, words[0] ?? ""),
      tab(true, words[1] ?? ""),
    );
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
    const row = this._model.rows[index];
    if (row === undefined) return; // it was found in a part of the run that has not arrived
    const before = this.active;
    this.active = index;
    this._model.reveal(index);
    if (this._list.placeOf(index) < 0) this._list.setKeys(this._model.listed());
    if (before !== undefined) this._list.find(before)?.classList.remove("is-active");
    this._list.scrollTo(index, block);
    this._list.find(index)?.classList.add("is-active");
    this._focus(index);
    this._on.select(row.facts[0]);
  }

  /** @param {number} index */
  _focus(index) {
    this._list.find(index)?.querySelector("button")?.focus({ preventScroll: true });
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

  /** @param {number} index @param {boolean} [unfold] */
  toggle(index, unfold = !this._unfolded.has(index)) {
    if (unfold) {
      this._unfolded.add(index);
      void this._load(index).then(() => this._list.scrollTo(index));
    } else {
      this._unfolded.delete(index);
    }
    this._redraw(index);
    this._list.scrollTo(index);
  }

  /** Show what the model was shown in the chosen turn, or what it wrote. */
  toggleRequest() {
    const index = this.active;
    if (index === undefined || this._model.row(index).kind !== "turn") return;
    this._switchRequest(this._model.row(index));
    this.toggle(index, true);
  }

  /** @param {Row} row */
  _switchRequest(row) {
    if (!this._requests.delete(row.i)) this._requests.set(row.i, drawShown(this._key, row.i, row.dialect ?? ""));
  }

  toggleActive() {
    if (this.active !== undefined) this.toggle(this.active);
  }

  /** Hide or list what is under the chosen row. @param {boolean} [collapse] */
  collapseActive(collapse) {
    const index = this.active;
    if (index === undefined || !this._model.hasChildren(index)) return;
    if (collapse ?? !this._model.collapsed.has(index)) this._model.collapsed.add(index);
    else this._model.collapsed.delete(index);
    this._list.redraw([index]);
    this._list.setKeys(this._model.listed());
    this._focus(index);
  }

  /** List turns alone, or calls as well. @param {boolean} hidesCalls */
  collapseTurns(hidesCalls) {
    this._model.collapsed = new Set(hidesCalls ? this._model.turns() : []);
    this._list.redrawAll();
    this._list.setKeys(this._model.listed());
    if (this.active !== undefined) this._list.scrollTo(this.active, "center");
  }

  foldAll() {
    this._unfolded.clear();
    this._list.redrawAll();
    this._list.setKeys(this._model.listed());
  }

  /** Fetch the details of a row, and draw it with them. What is in sight stays there. @param {number} index */
  async _load(index) {
    if (this._details.has(index)) return;
    try {
      this._details.set(index, await fetchDetails(this._key, index));
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      this._details.set(index, { i: index, facts: [], sections: [{ type: "remark", tone: "bad", text }] });
    }
    if (this._unfolded.has(index)) this._redraw(index);
  }

  /** @param {number} index */
  _redraw(index) {
    const focused = document.activeElement;
    const hadFocus = this._list.find(index)?.contains(focused);
    this._list.redraw([index]);
    this._list.showNow();
    if (hadFocus && !this._focusAgain(focused)) this._focus(index);
  }

  /** Focus an element that was drawn again; false if it is gone. @param {Element | null} element */
  _focusAgain(element) {
    if (!(element instanceof HTMLElement) || !this.element.contains(element)) return false;
    element.focus({ preventScroll: true });
    return true;
  }

  /**
   * Unfold the turns that there are, and others when they begin, so that their text is read as it arrives. The end is
   * shown, where the answer is.
   */
  openTurns() {
    this._opensTurns = true;
    this._list.scrollToEnd();
    for (const index of this._model.turns()) {
      this._unfolded.add(index);
      void this._load(index);
    }
  }

  /** Draw what has changed. @param {Iterable<number>} rows @param {Iterable<number>} drafts */
  update(rows, drafts) {
    const wasAtEnd = this._list.isAtEnd;
    const changed = [...rows];
    const focused = document.activeElement;
    const isInActive = this.active !== undefined && this._list.find(this.active)?.contains(focused);
    const isInside = this.element.contains(focused);
    for (const index of changed) {
      const row = this._model.row(index);
      if (row.stage !== "asking") this._approvals.delete(index);
      if (row.stage === "asking" && this._model.canAnswer) this._unfolded.add(index);
      if (this._opensTurns && row.kind === "turn" && row.facts.length === 1) this._unfolded.add(index);
      this._details.delete(index);
      if (this._unfolded.has(index)) void this._load(index);
    }
    this._list.redraw([...changed, ...drafts]);
    this._setKeys();
    if (this._list.staysAtEnd || (wasAtEnd && this._model.isLive)) this._list.scrollToEnd();
    if (isInside && !this._focusAgain(focused) && isInActive && this.active !== undefined) this._focus(this.active);
  }

  /** Draw all rows again: the words that are looked for have changed. @param {Iterable<number>} hits */
  setHits(hits) {
    this.hits = new Set(hits);
    this._list.redrawAll();
  }

  /** Show and unfold the row of a fact. @param {number} fact */
  showFact(fact) {
    const index = this._model.rowOfFact(fact);
    if (index === undefined) return;
    this.select(index, "center");
    if (!this._unfolded.has(index)) this.toggle(index, true);
  }

  /** @param {"start" | "end"} where */
  jump(where) {
    const key = this._list.keyAt(where === "start" ? 0 : this._list.count - 1);
    if (key !== undefined) this.select(key);
  }
}

/** @param {Element} element the height of a folded row, which the style sheet sets */
function rowHeight(element) {
  const height = parseFloat(getComputedStyle(element).getPropertyValue("--row-pixels"));
  return Number.isFinite(height) && height > 0 ? height : 40;
}
