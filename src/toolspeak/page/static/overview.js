// @ts-check
// The whole run at a glance: a lane for the model, one for each tool and one for approvals, over the time of the run. A
// lane is one path, however many calls it has, and one in red for what failed.

import { h, svg } from "./dom.js";
import { formatSeconds } from "./format.js";

/** @import { Row } from "./types.js" */
/** @import { RunModel } from "./run_model.js" */

const MAX_TOOL_LANES = 5;
const WIDTH = 1000;
const LANE_REM = 0.9;
const LANE = 14;
const BAR = 8;
const MIN_BAR = 1.2;
const MIN_FAULT = 4; // whoever looks for it must see it

/** @typedef {{name: string, kind: string, bars: [number, number][], faults: [number, number][]}} Lane */

/**
 * @param {RunModel} model
 * @returns {Lane[]}
 */
export function buildLanes(model) {
  /** @type {Lane} */
  const turns = { name: "model", kind: "model", bars: [], faults: [] };
  /** @type {Lane} */
  const inner = { name: "sub-agents", kind: "model", bars: [], faults: [] };
  /** @type {Lane} */
  const approvals = { name: "approval", kind: "approval", bars: [], faults: [] };
  /** @type {Map<string, Lane>} */
  const tools = new Map();
  /** @param {Lane} lane @param {Row} row @param {number} start @param {number} end */
  const add = (lane, row, start, end) => (isBad(row) ? lane.faults : lane.bars).push([start, end]);
  for (const row of model.rows) {
    if (row === undefined || row.void) continue;
    const lane = row.inner ? inner : turns;
    if (row.kind === "turn" && typeof row.start === "number") {
      add(lane, row, row.start, row.end ?? model.duration);
    } else if (row.kind === "call" && row.name) {
      if (typeof row.asked === "number") add(approvals, row, row.asked, row.answered ?? model.duration);
      if (typeof row.start !== "number") {
        if (row.stage === "malformed" && typeof row.ready === "number") turns.faults.push([row.ready, row.ready]);
        continue;
      }
      const isKnown = tools.has(row.name) || tools.size < MAX_TOOL_LANES;
      const name = isKnown ? row.name : "other tools";
      const own = tools.get(name) ?? { name, kind: "tool", bars: [], faults: [] };
      add(own, row, row.start, row.end ?? model.duration);
      tools.set(name, own);
    } else if (row.stage === "malformed" && typeof row.ready === "number") {
      lane.faults.push([row.ready, row.ready]);
    }
  }
  return [turns, inner, ...tools.values(), approvals].filter((lane) => lane.bars.length + lane.faults.length > 0);
}

/** @param {Row} row */
function isBad(row) {
  return row.faults?.some((fault) => fault === "error" || fault === "refusal") ?? false;
}

export class Overview {
  /** @param {(time: number) => void} onChoose is told the time that somebody points at */
  constructor(onChoose) {
    this._labels = h("div", { class: "lane-labels", "aria-hidden": "true" });
    this._drawing = svg("svg", { class: "lanes", preserveAspectRatio: "none", role: "img" });
    this._view = h("div", { class: "lanes-view", "aria-hidden": "true" });
    this._scale = h("div", { class: "lanes-scale", "aria-hidden": "true" });
    const box = h("div", { class: "lanes-box" });
    box.append(this._view, this._drawing); // the lanes keep their colours above the mark
    this.element = h("div", { class: "overview" }, this._labels, box, this._scale);
    this._duration = 0;
    box.addEventListener("click", (event) => {
      const { left, width } = box.getBoundingClientRect();
      if (width > 0) onChoose(((event.clientX - left) / width) * this._duration);
    });
  }

  /** @param {RunModel} model */
  draw(model) {
    const lanes = model.hasTimes && model.duration > 0 ? buildLanes(model) : [];
    this.element.hidden = lanes.length === 0;
    this._duration = model.duration;
    const height = lanes.length * LANE;
    this._drawing.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
    const faults = lanes.reduce((count, lane) => count + lane.faults.length, 0);
    const words = faults === 0 ? "" : `, ${faults} failed, in red`;
    this._drawing.setAttribute("aria-label", `lanes: ${lanes.length}, over ${formatSeconds(model.duration)}${words}`);
    this._drawing.style.height = `${lanes.length * LANE_REM}rem`;
    this._drawing.replaceChildren(
      ...lanes.flatMap((lane, place) => {
        const top = place * LANE + (LANE - BAR) / 2;
        const bars = svg("path", { class: `lane lane-${lane.kind}`, d: drawPath(lane.bars, top, model.duration) });
        if (lane.faults.length === 0) return [bars];
        return [bars, svg("path", { class: "lane-fault", d: drawPath(lane.faults, top, model.duration, MIN_FAULT) })];
      }),
    );
    this._labels.replaceChildren(...lanes.map((lane) => h("span", {}, lane.name)));
    this._scale.replaceChildren(h("span", {}, "0"), h("span", {}, formatSeconds(model.duration)));
  }

  /** Mark which part of the run is in sight. @param {number} from @param {number} to */
  mark(from, to) {
    if (this._duration <= 0) return;
    this._view.hidden = to - from > 0.97 * this._duration; // all of it is in sight
    this._view.style.left = `${(100 * from) / this._duration}%`;
    this._view.style.width = `${(100 * Math.max(0, to - from)) / this._duration}%`;
  }
}

/**
 * @param {[number, number][]} bars
 * @param {number} top
 * @param {number} duration
 * @param {number} [least] the least width of a bar
 */
function drawPath(bars, top, duration, least = MIN_BAR) {
  let path = "";
  let last = -1;
  for (const [start, end] of bars) {
    const width = Math.max(least, ((end - start) / duration) * WIDTH);
    const from = Math.min((start / duration) * WIDTH, WIDTH - width);
    if (from + width - last < 0.5) continue; // nobody could see it
    last = from + width;
    path += `M${from.toFixed(2)} ${top}h${width.toFixed(2)}v${BAR}h${(-width).toFixed(2)}z`;
  }
  return path;
}
