// @ts-check
// One run on the screen: its head with figures and lanes, the answer above its rows, the details of a row beside them, and
// where one writes what comes next. Follows the run as long as it goes on.

import { buildNotesButton } from "./annotate.js";
import { AnswerCard } from "./answer.js";
import { fetchOutline, fetchRest, followRun, post, runPath } from "./api.js";
import { ApprovalList } from "./approval.js";
import { drawError, h, showControls } from "./dom.js";
import { FindBar } from "./find.js";
import { formatCost, formatSeconds, formatTokens } from "./format.js";
import { buildReply } from "./go_on.js";
import { Overview } from "./overview.js";
import { Pane } from "./pane.js";
import { describeEnd } from "./row.js";
import { RunModel } from "./run_model.js";
import { buildSaveButton } from "./save_run.js";
import { Timeline } from "./timeline.js";

/** @import { RunKey } from "./types.js" */

const TICK_MILLISECONDS = 500;

/** @type {[string, "errors" | "repairs" | "refusals" | "repeats", string, string][]} faults, where they are counted, and their words */
const FAULTS = [
  ["error", "errors", "error", "bad"],
  ["refusal", "refusals", "refusal", "bad"],
  ["repair", "repairs", "repair", "warn"],
  ["repeat", "repeats", "repeated call", "warn"],
];

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
    /** @type {Pane | undefined} */
    this.pane = undefined;
    this._body = h("div", { class: "run-body" });
    this.find = new FindBar(
      key,
      this._body,
      () => this.timeline,
      (row, words) => this.showRow(row, words),
    );
    this._title = h("h1", {}, "…");
    this._facts = h("p", { class: "run-facts" });
    this._remarks = h("div", { class: "run-remarks" });
    this._asks = new ApprovalList(key, (element) => this._head.after(element), (row) => this.showRow(row));
    this._calls = h("button", { class: "toggle", type: "button", "aria-pressed": "false" }, "Turns only");
    this._calls.addEventListener("click", () => this.toggleCalls());
    this._filters = h("span", { class: "fault-filters" });
    this._overview = new Overview((time) => this._goTo(time));
    this._overview.element.hidden = true;
    this._tools = h(
      "div",
      { class: "run-tools", hidden: true },
      this.find.element,
      this._calls,
      this._filters,
      buildNotesButton(key),
      buildSaveButton(key),
    );
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
    this._card = new AnswerCard(key, (row) => this.showRow(row));
    this._empty = h("p", { class: "empty quiet", role: "status" });
    this._rows = h("div", { class: "run-rows" });
    this._body.append(this._rows);
    this.element = h("main", { class: "run", "aria-label": "Run" }, this._head, this._body);
    this._stop = () => {};
    this._isClosed = false;
    this._timer = 0;
  }

  /** Show a run, a long one as soon as its beginning is there. @param {number} [fact] the fact to show first */
  async open(fact) {
    let outline;
    try {
      outline = await fetchOutline(this.key);
    } catch (error) {
      this._showMissing(error);
      return;
    }
    if (this._isClosed) return;
    const model = (this.model = new RunModel(outline));
    const timeline = (this.timeline = new Timeline(model, this._card.element, {
      select: (index) => this._select(index),
      open: (index) => this._toggleRow(index),
      show: () => this._mark(),
    }));
    this.pane = new Pane(this.key, model, this._body, { close: () => this.closeDetails(), show: () => this.find.highlight() });
    this._rows.append(timeline.element);
    this._tools.hidden = false;
    const reply = buildReply(this.key, () => this.model);
    if (reply !== undefined) this.element.append(reply);
    this._drawHead();
    timeline.list();
    if (fact !== undefined) this.showFact(fact);
    if (model.isReading) {
      this._readOn(model, timeline, fact).catch((error) => this._remarks.append(drawError(error)));
    } else if (model.isLive) {
      this._follow(model, timeline);
    }
  }

  /** Say that a run cannot be shown. There is nothing to do with it then. @param {unknown} error */
  _showMissing(error) {
    this._title.textContent = "This run can't be shown";
    this._remarks.replaceChildren(
      drawError(error),
      h("p", {}, h("a", { href: "#" }, "All runs")),
    );
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
    if (isAwaited && timeline.active === undefined) this.showFact(fact);
    if (model.isLive) this._follow(model, timeline);
  }

  /** @param {RunModel} model @param {Timeline} timeline */
  _follow(model, timeline) {
    this._timer = window.setInterval(() => this._tick(model), TICK_MILLISECONDS);
    this._stop = followRun(this.key, model.facts, {
      outline: (outline) => {
        const rows = new Set(model.mergeOutline(outline));
        timeline.update(rows, []);
        this.pane?.update(rows, new Set());
        this._drawHead();
      },
      changes: (changes) => {
        const { rows, drafts } = model.apply(changes);
        timeline.update(rows, drafts);
        this.pane?.update(rows, drafts);
        if (rows.size > 0) this._drawHead();
        else this._card.update(model);
      },
      end: (failure) => {
        model.isLive = false;
        model.failure = failure;
        clearInterval(this._timer);
        timeline.update(
          model.rows.filter((row) => row.end == null).map((row) => row.i),
          [],
        );
        this._drawHead();
      },
    });
  }

  close() {
    this._isClosed = true;
    clearInterval(this._timer);
    this._stop();
  }

  /** Let the clocks go on while the run does. @param {RunModel} model */
  _tick(model) {
    if (!model.tick()) return;
    this.timeline?.element.style.setProperty("--duration", String(model.duration));
    for (const meta of this.element.querySelectorAll("[data-since]")) {
      meta.textContent = formatSeconds(model.duration - Number(meta.getAttribute("data-since")));
    }
    this._overview.draw(model);
    const clock = this._facts.querySelector(".run-clock");
    if (clock !== null) clock.textContent = formatSeconds(model.duration);
  }

  // What is shown

  /** Show and unfold the row of a fact. @param {number} fact */
  showFact(fact) {
    const index = this.model?.rowOfFact(fact);
    if (index !== undefined) this.showRow(index);
  }

  /** Choose a row, and show its details. @param {number} index @param {string} [words] words to bring into sight in them */
  showRow(index, words = "") {
    this._openPane(index, words);
    this.timeline?.select(index, "center");
  }

  /** @param {number} index */
  _select(index) {
    this._onSelect(this.model?.rows[index]?.facts[0]);
    if (this.pane?.isOpen && this.pane.index !== index) this._openPane(index);
    this._drawFilters();
  }

  /** @param {number} index */
  _toggleRow(index) {
    if (this.timeline?.opened === index) this.closeDetails();
    else this._openPane(index);
  }

  /** @param {number} index @param {string} [words] */
  _openPane(index, words = "") {
    this.element.classList.add("has-pane");
    this.pane?.open(index, words);
    this.timeline?.markOpened(index);
  }

  toggleDetails() {
    const active = this.timeline?.active;
    if (this.pane?.isOpen) this.closeDetails();
    else if (active !== undefined) this._openPane(active);
  }

  closeDetails() {
    this.element.classList.remove("has-pane");
    this.pane?.close();
    this.timeline?.markOpened(undefined);
    this.timeline?.focus();
  }

  /** Show what the model was shown in the chosen turn, or what it wrote. */
  toggleRequest() {
    const active = this.timeline?.active;
    if (active === undefined || this.model?.row(active).kind !== "turn") return;
    if (this.pane?.index !== active) this._openPane(active);
    this.pane?.toggleRequest();
  }

  toggleCalls() {
    const hides = this._calls.getAttribute("aria-pressed") !== "true";
    this._calls.setAttribute("aria-pressed", String(hides));
    this.timeline?.collapseTurns(hides);
  }

  /** Choose the next or the previous row in which something went wrong. @param {1 | -1} step */
  moveFault(step) {
    const found = this.model?.faulty() ?? [];
    const active = this.timeline?.active ?? -1;
    const next = step > 0 ? found.find((index) => index > active) ?? found[0] : found.findLast((index) => index < active) ?? found.at(-1);
    if (next !== undefined) this.showRow(next);
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
    const { turns } = summary;
    this._title.textContent = showControls(summary.title || "A run");
    const isDone = summary.status === "done";
    const words = isDone ? describeEnd(summary.reason ?? "") : STATUS[summary.status] ?? summary.status;
    const isAnswered = summary.reason === "answered";
    const tone = isDone ? (!isAnswered ? "bad" : summary.errors + summary.refusals > 0 ? "warn" : "good") : summary.status;
    const isKnown = model.isGoingOn || isDone;
    this._facts.replaceChildren(
      h(
        "span",
        { class: `state state-${isKnown ? tone : "open"}` },
        isKnown ? words : model.isReading ? "Loading…" : "Unfinished",
      ),
      ...FAULTS.flatMap(([, name, noun, kind]) => {
        const count = summary[name];
        return count > 0 ? [h("span", { class: `fault-count fault-${kind}` }, `${count} ${noun}${count === 1 ? "" : "s"}`)] : [];
      }),
      ...[summary.model, summary.dialect].flatMap((name) => (name ? [h("span", { class: "run-name" }, name)] : [])),
      h("span", {}, `${turns} ${turns === 1 ? "turn" : "turns"}`),
      ...(summary.input_tokens || summary.output_tokens ? [h("span", {}, `${formatTokens(summary)} tokens`)] : []),
      ...(summary.cost ? [h("span", {}, formatCost(summary.cost))] : []),
      ...(model.hasTimes ? [h("span", { class: "run-clock" }, formatSeconds(model.duration))] : []),
    );
    this._remarks.replaceChildren();
    if (model.failure) this._remarks.append(h("p", { class: "remark remark-bad" }, model.failure));
    if (model.origin !== undefined) this._remarks.append(this._drawOrigin(model.origin));
    if (model.isGoingOn && model.canAnswer) this._facts.append(this._drawCancel());
    this._asks.update(model);
    this._card.update(model);
    this._overview.draw(model);
    this._drawFilters();
    this._mark();
  }

  /** Draw the buttons that list only what went wrong; say so if nothing did. */
  _drawFilters() {
    const { model, timeline } = this;
    if (model === undefined || timeline === undefined) return;
    const chosen = model.filter;
    const buttons = FAULTS.filter(([fault, name]) => model.summary[name] > 0 || chosen === fault).map(([fault, name]) => {
      const words = `${name.charAt(0).toUpperCase()}${name.slice(1)} only`;
      const button = h("button", { class: "toggle", type: "button", "aria-pressed": String(chosen === fault) }, words);
      button.addEventListener("click", () => {
        timeline.filter(chosen === fault ? "" : fault);
        this._drawFilters();
        const again = [...this._filters.children].find((each) => each.textContent === words);
        if (again instanceof HTMLElement) again.focus();
      });
      return button;
    });
    this._filters.replaceChildren(...buttons);
    if (timeline.count === 0) this._rows.prepend(this._empty);
    else this._empty.remove();
    this._empty.textContent = chosen !== "" ? "No rows match this filter." : model.isGoingOn ? "Nothing has happened yet." : "No rows.";
  }

  /** @param {NonNullable<RunModel["origin"]>} origin */
  _drawOrigin(origin) {
    const words = origin.is_fork ? "Forked from " : "Continues ";
    const link = h("a", { href: `#run=${origin.source}/${origin.id}` }, origin.title || "another run");
    return h("p", { class: "origin quiet" }, words, link);
  }

  _drawCancel() {
    const button = h("button", { type: "button", class: "link" }, "Cancel the run");
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
