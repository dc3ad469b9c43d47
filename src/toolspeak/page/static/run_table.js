// @ts-check
// A run as a row of the table, the columns that it can be sorted by, and the sums of many.

import { h } from "./dom.js";
import { formatCost, formatCount, formatSeconds, formatTime, formatTokens } from "./format.js";
import { describeEnd } from "./row.js";

/** @import { Child } from "./dom.js" */
/** @import { Entry } from "./types.js" */
/** @import { ListedRun } from "./run_catalogue.js" */

/** @type {Record<string, string>} */
const STATUS = { running: "Running", paused: "Waiting", queued: "Queued", unknown: "Unfinished" };

/**
 * @typedef {object} Column
 * @property {string} name
 * @property {string} label
 * @property {(entry: Entry) => number | string} [value] what it is sorted by
 * @property {boolean} [isText] whether it is sorted from A to Z first
 */

/** @type {Column[]} */
export const COLUMNS = [
  { name: "state", label: "Status", value: (entry) => describeStatus(entry), isText: true },
  { name: "title", label: "Prompt", value: (entry) => entry.title.toLowerCase(), isText: true },
  { name: "faults", label: "Errors", value: (entry) => (entry.errors ?? 0) * 1e6 + (entry.refusals ?? 0) * 1e3 + (entry.repairs ?? 0) },
  { name: "calls", label: "Calls", value: (entry) => entry.calls ?? 0 },
  { name: "turns", label: "Turns", value: (entry) => entry.turns ?? 0 },
  { name: "tokens", label: "Tokens in / out", value: countTokens },
  { name: "cost", label: "Cost", value: (entry) => entry.cost ?? 0 },
  { name: "time", label: "Duration", value: (entry) => entry.seconds ?? 0 },
  { name: "model", label: "Model", value: (entry) => `${entry.model} ${entry.dialect ?? ""}`, isText: true },
  { name: "tags", label: "Tags", value: (entry) => (entry.score ?? 0) + ((entry.tags ?? []).length > 0 ? 0.5 : 0) },
  { name: "when", label: "Updated", value: (entry) => entry.updated ?? 0 },
];

/** @param {Entry} entry */
function countTokens(entry) {
  return (entry.input_tokens ?? 0) + (entry.output_tokens ?? 0);
}

/** @param {Entry} entry */
export function toneOf(entry) {
  if (entry.unreadable !== undefined) return "bad";
  if (entry.status === "done" && entry.reason !== "answered") return "bad";
  if (entry.status === "done") return entry.errors || entry.refusals ? "warn" : "good";
  return entry.status;
}

/** @param {Entry} entry */
export function describeStatus(entry) {
  if (entry.unreadable !== undefined) return "Unreadable";
  return entry.status === "done" ? describeEnd(entry.reason) : STATUS[entry.status] ?? entry.status;
}

/** Sort runs by a column. @param {ListedRun[]} runs @param {string} name @param {boolean} isUp */
export function sortRuns(runs, name, isUp) {
  const value = COLUMNS.find((column) => column.name === name)?.value ?? (() => 0);
  const sign = isUp ? 1 : -1;
  const keyed = runs.map((run) => ({ run, key: value(run.entry), at: run.entry.updated ?? 0 }));
  keyed.sort((one, other) => (one.key < other.key ? -sign : one.key > other.key ? sign : other.at - one.at));
  return keyed.map(({ run }) => run);
}

/**
 * Return in words how many runs there are, and what they took.
 * @param {ListedRun[]} runs
 */
export function describeSums(runs) {
  if (runs.length === 0) return ["0 runs"];
  /** @param {(entry: Entry) => number} figure */
  const sum = (figure) => runs.reduce((total, { entry }) => total + figure(entry), 0);
  const [errors, repairs, refusals] = [sum((each) => each.errors ?? 0), sum((each) => each.repairs ?? 0), sum((each) => each.refusals ?? 0)];
  const scores = runs.flatMap(({ entry }) => (entry.score ? [entry.score] : []));
  const cost = sum((each) => each.cost ?? 0);
  const seconds = sum((each) => each.seconds ?? 0);
  const tokens = { input_tokens: sum((each) => each.input_tokens ?? 0), output_tokens: sum((each) => each.output_tokens ?? 0) };
  return [
    `${runs.length.toLocaleString("en")} ${runs.length === 1 ? "run" : "runs"}`,
    count(sum((each) => each.turns ?? 0), "turn"),
    tokens.input_tokens || tokens.output_tokens ? `${formatTokens(tokens)} tokens` : "",
    cost ? formatCost(cost) : "",
    seconds ? formatSeconds(seconds) : "",
    ...[count(errors, "error"), count(repairs, "repair"), count(refusals, "refusal")],
    scores.length > 0 ? `mean score ${(scores.reduce((total, score) => total + score, 0) / scores.length).toFixed(1)} of 5` : "",
  ].filter(Boolean);
}

/** @param {number} number @param {string} noun */
function count(number, noun) {
  return number > 0 ? `${formatCount(number)} ${number === 1 ? noun : `${noun}s`}` : "";
}

/**
 * Draw the cells of a run.
 * @param {ListedRun} run
 * @param {{excerpt: string, isChosen: boolean, onOpen: () => void, onChoose: (isChosen: boolean) => void}} options
 * @returns {HTMLElement}
 */
export function drawRun(run, { excerpt, isChosen, onOpen, onChoose }) {
  const { entry } = run;
  const box = h("input", { type: "checkbox", "aria-label": `Select: ${entry.title || "(no prompt)"}` });
  box.checked = isChosen;
  box.addEventListener("change", () => onChoose(box.checked));
  const below = excerpt ? drawExcerpt(excerpt) : [entry.unreadable || entry.answer || (entry.status === "done" ? entry.detail : "") || entry.where];
  const open = h(
    "button",
    { type: "button", class: "entry run-open", onclick: onOpen, "data-key": run.key },
    h("span", { class: "run-title" }, entry.title || "(no prompt)"),
    h("span", { class: "run-below" }, ...below),
  );
  return h(
    "div",
    { class: `item run-line tone-${toneOf(entry)}` },
    cell("pick", box),
    cell("state", h("span", { class: `dot dot-${toneOf(entry)}` }), h("span", { title: entry.detail }, describeStatus(entry))),
    cell("title", open),
    cell("faults", ...drawFaults(entry)),
    cell("calls", ...drawCalls(entry)),
    cell("turns", ...(entry.turns ? withUnit(entry.turns, "turn") : [])),
    cell("tokens", countTokens(entry) ? `${entry.input_tokens ? formatCount(entry.input_tokens) : "–"} / ${formatCount(entry.output_tokens ?? 0)}` : ""),
    cell("cost", entry.cost ? formatCost(entry.cost) : ""),
    cell("time", entry.seconds === undefined ? "" : formatSeconds(entry.seconds)),
    cell("model", h("span", {}, entry.model), entry.dialect ? h("span", { class: "quiet" }, entry.dialect) : null),
    cell("tags", ...drawTags(entry)),
    cell("when", entry.updated === null ? "" : h("time", { title: new Date(entry.updated * 1000).toLocaleString() }, formatTime(entry.updated))),
  );
}

/** @param {string} name @param {...Child} children */
function cell(name, ...children) {
  return h("span", { class: `cell cell-${name}`, role: "cell" }, ...children);
}

/** A number with its unit, which only narrow screens show. @param {number} number @param {string} noun */
function withUnit(number, noun) {
  return [String(number), h("span", { class: "unit" }, number === 1 ? ` ${noun}` : ` ${noun}s`)];
}

/** @param {Entry} entry */
function drawFaults(entry) {
  /** @type {[string, string][]} */
  const faults = [
    [count(entry.errors ?? 0, "error"), "bad"],
    [count(entry.refusals ?? 0, "refusal"), "bad"],
    [count(entry.repairs ?? 0, "repair"), "warn"],
  ];
  return faults.filter(([words]) => words).map(([words, tone]) => h("span", { class: `badge badge-${tone}` }, words));
}

/** @param {Entry} entry */
function drawCalls(entry) {
  if (!entry.calls) return [];
  const tools = (entry.tools ?? []).map(([name, times]) => (times > 1 ? `${name} ×${times}` : name)).join(", ");
  const repeated = (entry.repeated ?? []).map(([name, written, times]) => {
    const often = times === 2 ? "twice" : `${times} times`;
    const title = `The same call took effect ${often}: ${name}(${written})`;
    return h("span", { class: "badge badge-warn repeated", title }, h("span", { class: "repeated-name" }, name), ` ${often}`);
  });
  return [
    h("span", { title: tools, class: "call-count" }, ...withUnit(entry.calls, "call")),
    ...(repeated.length > 0 ? repeated.slice(0, 1) : [h("span", { class: "quiet tool-names" }, tools)]),
    repeated.length > 1 ? h("span", { class: "quiet", title: repeated.map((each) => each.title).join("\n") }, `+${repeated.length - 1}`) : null,
  ];
}

/** @param {Entry} entry */
function drawTags(entry) {
  const tags = [...(entry.tags ?? []), ...(entry.labels ?? [])];
  return [
    entry.score ? h("span", { class: `badge badge-${entry.score <= 2 ? "bad" : "good"}`, title: entry.note }, `${entry.score} of 5`) : null,
    entry.note && !entry.score ? h("span", { class: "badge", title: entry.note }, "note") : null,
    ...tags.slice(0, 4).map((tag) => h("span", { class: "badge tag", title: tag }, tag)),
    tags.length > 4 ? h("span", { class: "quiet" }, `+${tags.length - 4}`) : null,
  ];
}

/** Draw a text in which what was found stands between marks. @param {string} excerpt @returns {Child[]} */
function drawExcerpt(excerpt) {
  return excerpt.split("\x02").flatMap((piece, place) => {
    if (place === 0) return [piece];
    const [found = "", ...rest] = piece.split("\x03");
    return [h("mark", {}, found), rest.join("")];
  });
}
