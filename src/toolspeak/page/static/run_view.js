// @ts-check
// One run on the screen: its head with figures, and its timeline. Follows the run as long as it goes on.

import { fetchOutline, followRun } from "./api.js";
import { h } from "./dom.js";
import { formatCost, formatCount, formatSeconds } from "./format.js";
import { describeEnd } from "./row.js";
import { RunModel } from "./run_model.js";
import { Timeline } from "./timeline.js";

/** @import { RunKey } from "./types.js" */

export class RunView {
  /**
   * @param {RunKey} key
   * @param {(fact: number | undefined) => void} onSelect
   */
  constructor(key, onSelect) {
    this.key = key;
    this._onSelect = onSelect;
    /** @type {RunModel | undefined} */
    this.model = undefined;
    /** @type {Timeline | undefined} */
    this.timeline = undefined;
    this._head = h("header", { class: "run-head" });
    this.element = h("main", { class: "run", "aria-label": "The run" }, this._head);
    this._stop = () => {};
  }

  /** @param {number} [fact] the fact to show first */
  async open(fact) {
    const outline = await fetchOutline(this.key);
    const model = (this.model = new RunModel(outline));
    const timeline = (this.timeline = new Timeline(this.key, model, this._onSelect));
    this.element.append(timeline.element);
    this._drawHead();
    timeline.update([], []);
    if (fact !== undefined) timeline.showFact(fact);
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
    this._stop();
  }

  _drawHead() {
    const model = this.model;
    if (model === undefined) return;
    const { summary } = model;
    const turns = model.turns().length;
    const facts = [
      summary.model,
      summary.dialect,
      `${turns} ${turns === 1 ? "turn" : "turns"}`,
      `${formatCount(summary.input_tokens)} → ${formatCount(summary.output_tokens)} tokens`,
      summary.cost ? formatCost(summary.cost) : "",
      model.hasTimes ? formatSeconds(model.duration) : "",
    ].filter(Boolean);
    const isLive = model.isLive && summary.status !== "done";
    const state = summary.status === "done" ? describeEnd(summary.reason ?? "") : summary.status;
    const tone = summary.status === "done" ? (summary.reason === "answered" ? "good" : "bad") : summary.status;
    this._head.replaceChildren(
      h("h1", { title: summary.title ?? "" }, summary.title || "A run"),
      h(
        "p",
        { class: "run-facts" },
        h("span", { class: `state state-${tone}` }, isLive ? `${state}` : state),
        ...facts.map((fact) => h("span", {}, fact)),
      ),
    );
    if (model.failure) this._head.append(h("p", { class: "remark remark-bad" }, model.failure));
  }
}
