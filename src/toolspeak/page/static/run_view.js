// @ts-check
// One run on the screen: its head with figures, its lanes, and its timeline. Follows the run as long as it goes on.

import { buildNotesButton } from "./annotate.js";
import { fetchOutline, fetchRest, followRun, post, runPath } from "./api.js";
import { drawError, h, showControls } from "./dom.js";
import { FindBar } from "./find.js";
import { formatCost, formatSeconds, formatTokens } from "./format.js";
import { buildNextButton } from "./go_on.js";
import { Overview } from "./overview.js";
import { describeEnd } from "./row.js";
import { RunModel } from "./run_model.js";
import { buildSaveButton } from "./save_run.js";
import { Timeline } from "./timeline.js";

/** @import { RunKey } from "./types.js" */

export class RunView {
  /**
   * @param {RunKey} key
   * @param {(fact: number | undefined) => void} onSelect is told the fact of the row that is chosen
   */
  constructor(key, onSelect) {
    this.key = key;
    this._onSelect = onSelect;
    /** @type {RunModel | undefined} */
    this.model = undefined;
    /** @type {Timeline | undefined} */
    this.timeline = undefined;
    this.find = new FindBar(key, () => this.timeline);
    this._title = h("h1", {}, "…");
    this._facts = h("p", { class: "run-facts" });
    this._remarks = h("div", { class: "run-remarks" });
    this._calls = h("button", { class: "toggle", type: "button", "aria-pressed": "false" }, "Turns only");
    this._calls.addEventListener("click", () => this.toggleCalls());
    this._overview = new Overview((time) => this._goTo(time));
    this._overview.element.hidden = true;
    this._tools = h("div", { class: "run-tools" }, this.find.element, this._calls, buildNotesButton(key), buildSaveButton(key), buildNextButton(key, () => this.model));
    this._head = h(
      "header",
      { class: "run-head" },
      h("a", { class: "back", href: "#", "aria-label": "All runs" }, "‹ Runs"),
      this._title,
      this._facts,
      this._remarks,
      this._overview.element,
      this._tools,
    );
    this.element = h("main", { class: "run", "aria-label": "The run" }, this._head);
    this._stop = () => {};
    this._isClosed = false;
  }

  /** Show a run, a long one as soon as its beginning is there. @param {number} [fact] the fact to show first */
  async open(fact) {
    const outline = await fetchOutline(this.key);
    if (this._isClosed) return;
    const model = (this.model = new RunModel(outline));
    const timeline = (this.timeline = new Timeline(this.key, model, {
      select: this._onSelect,
      show: () => this._mark(),
    }));
    if (this.key.source === "playground") timeline.openTurns();
    this.element.append(timeline.element);
    this._drawHead();
    timeline.update(
      model.rows.filter((row) => row.stage === "asking").map((row) => row.i),
      [],
    );
    if (fact !== undefined) timeline.showFact(fact);
    if (model.isReading) {
      this._readOn(model, timeline, fact).catch((error) => this._remarks.append(drawError(error)));
    } else if (model.isLive) {
      this._follow(model, timeline);
    }
  }

  /**
   * Add the rest of a long run.
   * @param {RunModel} model
   * @param {Timeline} timeline
   * @param {number} [fact] the fact to show, if it was not in the beginning
   */
  async _readOn(model, timeline, fact) {
    const isAwaited = fact !== undefined && model.rowOfFact(fact) === undefined;
    const rest = await fetchRest(this.key, model.facts);
    if (this._isClosed) return;
    timeline.update(model.mergeOutline(rest), []);
    this._drawHead();
    if (isAwaited && timeline.active === undefined) timeline.showFact(fact);
    if (model.isLive) this._follow(model, timeline);
  }

  /** @param {RunModel} model @param {Timeline} timeline */
  _follow(model, timeline) {
    this._stop = followRun(this.key, model.facts, {
      outline: (outline) => {
        timeline.update(model.mergeOutline(outline), []);
        this._drawHead();
      },
      changes: (changes) => {
        const { rows, drafts } = model.apply(changes);
        timeline.update(rows, drafts);
        if (rows.size > 0) this._drawHead();
      },
      end: (failure) => {
        model.isLive = false;
        model.failure = failure;
        this._drawHead();
      },
    });
  }

  close() {
    this._isClosed = true;
    this._stop();
  }

  toggleCalls() {
    const hides = this._calls.getAttribute("aria-pressed") !== "true";
    this._calls.setAttribute("aria-pressed", String(hides));
    this.timeline?.collapseTurns(hides);
  }

  /** Show in the lanes which rows are in sight, and mark the words that are looked for. */
  _mark() {
    const { model, timeline } = this;
    if (model === undefined || timeline === undefined) return;
    const [first, last] = timeline.range;
    this._overview.mark(timeOf(model, first) ?? 0, timeOf(model, last) ?? model.duration);
    this.find.highlight();
  }

  /** @param {number} time */
  _goTo(time) {
    const model = this.model;
    if (model === undefined) return;
    let best = 0;
    for (const row of model.rows) {
      const at = row === undefined ? undefined : timeOf(model, row.i);
      if (at !== undefined && at <= time) best = row.i;
    }
    this.timeline?.select(best, "center");
  }

  _drawHead() {
    const model = this.model;
    if (model === undefined) return;
    const { summary } = model;
    const turns = model.turns().length;
    this._title.textContent = showControls(summary.title || "A run");
    const facts = [
      `${turns} ${turns === 1 ? "turn" : "turns"}`,
      summary.input_tokens || summary.output_tokens ? `${formatTokens(summary)} tokens` : "",
      summary.cost ? formatCost(summary.cost) : "",
      model.hasTimes ? formatSeconds(model.duration) : "",
    ].filter(Boolean);
    const isDone = summary.status === "done";
    const words = isDone ? describeEnd(summary.reason ?? "") : STATUS[summary.status] ?? summary.status;
    const tone = isDone ? (summary.reason === "answered" ? "good" : "bad") : summary.status;
    const isLive = model.isLive && !isDone;
    const isKnown = isLive || isDone;
    this._facts.replaceChildren(
      h(
        "span",
        { class: `state state-${isKnown ? tone : "open"}` },
        isKnown ? words : model.isReading ? "Reading…" : "Not ended",
      ),
      ...[summary.model, summary.dialect].flatMap((name) => (name ? [h("span", { class: "run-name" }, name)] : [])),
      ...facts.map((fact) => h("span", {}, fact)),
    );
    this._remarks.replaceChildren();
    if (model.failure) this._remarks.append(h("p", { class: "remark remark-bad" }, model.failure));
    const asking = model.rows.filter((row) => row.stage === "asking" && !row.void);
    if (asking.length > 0 && !isDone) this._remarks.append(this._drawAsking(asking.map((row) => row.i)));
    if (isLive && model.canAnswer) this._facts.append(this._drawCancel());
    this._overview.draw(model);
    this._mark();
  }

  /** @param {number[]} rows */
  _drawAsking(rows) {
    const words = rows.length === 1 ? "A call waits for approval." : `${rows.length} calls wait for approval.`;
    const show = () => {
      const [first] = rows;
      if (first !== undefined) this.timeline?.select(first, "center");
    };
    return h(
      "p",
      { class: "remark remark-warn", role: "status" },
      words,
      " ",
      h("button", { type: "button", class: "link", onclick: show }, "Show"),
    );
  }

  _drawCancel() {
    const button = h("button", { type: "button", class: "link" }, "End the run");
    button.addEventListener("click", () => {
      button.disabled = true;
      post(`${runPath(this.key)}/cancel`, {}).catch((error) => {
        button.disabled = false;
        button.textContent = error.message;
      });
    });
    return button;
  }
}

/** @type {Record<string, string>} */
const STATUS = { running: "Running", paused: "Waiting for approval", queued: "Waiting for a worker" };

/**
 * @param {RunModel} model
 * @param {number} index
 * @returns {number | undefined}
 */
function timeOf(model, index) {
  const row = model.rows[index];
  return row?.start ?? row?.ready ?? row?.at ?? undefined;
}
