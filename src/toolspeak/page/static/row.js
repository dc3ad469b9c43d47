// @ts-check
// One row of the timeline, folded: few elements, so that a screen full of rows stays light.

import { h } from "./dom.js";
import { formatCost, formatSeconds, formatTokens } from "./format.js";

/** @import { Row } from "./types.js" */
/** @import { RunModel } from "./run_model.js" */

const ROLES = { system: "System", user: "You", assistant: "Model", tool: "Results" };

/** Who wrote a message of an inner run: it is asked by the agent above it, and not by a person. */
const INNER_ROLES = { ...ROLES, user: "Task" };

const STOP_WORDS = {
  answered: "Answered",
  empty: "No answer",
  length: "Cut off",
  refused: "Refused",
  limit: "Limit reached",
  loop: "Stuck in a loop",
  cancelled: "Cancelled",
  error: "Failed",
};

/** What a reader of the page calls the state of a call. */
export const STAGES = {
  writing: "writing…",
  ready: "waiting",
  asking: "needs approval",
  approved: "approved",
  refused: "refused",
  running: "running…",
  suspended: "waiting",
  done: "",
  failed: "error",
  malformed: "unreadable",
};

/** What a call is called that was under way when its run ended. A call of a gateway runs at the client. */
const ENDED_STAGES = { writing: "unfinished", ready: "not run here", running: "unfinished" };

/** @param {string} reason */
export function describeEnd(reason) {
  return STOP_WORDS[/** @type {keyof typeof STOP_WORDS} */ (reason)] ?? reason;
}

/**
 * @param {RunModel} model
 * @param {Row} row
 * @param {boolean} isOpened whether its details are shown
 * @returns {HTMLButtonElement}
 */
export function drawRow(model, row, isOpened) {
  const { label, text, meta, tone } = describeRow(model, row);
  const since = findOpenStart(model, row);
  const button = h(
    "button",
    {
      class: `row row-${row.kind}${tone ? ` tone-${tone}` : ""}${row.void ? " is-void" : ""}`,
      type: "button",
      "aria-expanded": String(isOpened),
      "data-row": row.i,
    },
    h("span", { class: "row-label" }, label),
    h("span", { class: "row-text" }, text),
    ...badges(row, isOver(model)).map(([words, kind]) => h("span", { class: `badge badge-${kind}` }, words)),
    meta || since !== undefined ? h("span", { class: "row-meta", title: describeTokens(row), "data-since": since }, meta ?? "") : null,
  );
  button.style.setProperty("--level", String(model.level(row.i)));
  if (model.hasTimes) placeBar(model, row, button);
  return button;
}

/**
 * @param {RunModel} model
 * @param {Row} row
 * @returns {{label: string, text: string, meta?: string, tone?: string}}
 */
export function describeRow(model, row) {
  const draft = model.drafts.get(row.i);
  switch (row.kind) {
    case "message": {
      const roles = row.inner ? INNER_ROLES : ROLES;
      const role = roles[/** @type {keyof typeof ROLES} */ (row.role)] ?? row.role ?? "";
      return { label: role, text: row.text ?? "", tone: row.role };
    }
    case "turn": {
      const arriving = draft?.get("text") ?? draft?.get("thinking");
      const isOpen = row.finish === undefined && !row.void;
      const text = row.text || (arriving ? arriving.slice(-160) : isOpen ? describeOpen(model) : "");
      return { label: `Turn ${row.turn}`, text, meta: turnMeta(row), tone: isOpen ? "open" : undefined };
    }
    case "call": {
      const written = row.arguments ?? draft?.get("args") ?? "";
      const outcome = row.error ?? row.result;
      const progress = model.progress.get(row.i);
      const given = row.is_program ? written : `(${written})`;
      const text = `${given}${outcome ? `  →  ${outcome}` : progress ? `  …  ${progress}` : ""}`;
      return { label: row.name || "a call", text, meta: duration(row), tone: callTone(row) };
    }
    case "end": {
      const tone = row.reason === "answered" ? "good" : "bad";
      return { label: describeEnd(row.reason ?? ""), text: row.text ?? "", meta: endMeta(row), tone };
    }
    default:
      return { label: "Note", text: row.text ?? "" };
  }
}

/** @param {RunModel} model what a turn is called of which nothing has arrived */
function describeOpen(model) {
  return model.isGoingOn ? "The model is working…" : "Unfinished";
}

/**
 * @param {RunModel} model
 * @param {Row} row
 * @returns {number | undefined} when a turn or a call began that still goes on
 */
function findOpenStart(model, row) {
  if (!model.isGoingOn || row.void || typeof row.end === "number" || typeof row.start !== "number") return undefined;
  return row.kind === "turn" || (row.kind === "call" && row.stage === "running") ? row.start : undefined;
}

/** @param {Row} row */
function callTone(row) {
  if (row.stage === "failed" || row.stage === "malformed" || row.stage === "refused") return "bad";
  if (row.stage === "asking") return "ask";
  return row.stage === "done" ? undefined : "open";
}

/** @param {Row} row */
function turnMeta(row) {
  const parts = [];
  if (row.input_tokens || row.output_tokens) parts.push(formatTokens(row));
  if (row.cost) parts.push(formatCost(row.cost));
  const time = duration(row);
  if (time) parts.push(time);
  return parts.join("  ·  ");
}

/** @param {Row} row */
function describeTokens(row) {
  if (row.kind !== "turn") return undefined;
  return `${row.input_tokens ?? 0} input tokens, ${row.output_tokens ?? 0} output tokens`;
}

/** @param {Row} row */
function duration(row) {
  const start = row.start ?? row.ready;
  return typeof start === "number" && typeof row.end === "number" ? formatSeconds(row.end - start) : "";
}

/** @param {Row} row */
function endMeta(row) {
  const seconds = row.seconds ?? row.at;
  return typeof seconds === "number" ? formatSeconds(seconds) : "";
}

/** @param {RunModel} model whether nothing more happens in a run */
function isOver(model) {
  return !model.isGoingOn && !model.isReading;
}

/**
 * @param {Row} row
 * @param {boolean} isRunOver
 * @returns {[string, string][]}
 */
function badges(row, isRunOver) {
  /** @type {[string, string][]} */
  const found = [];
  if (row.kind === "call") {
    const ended = isRunOver ? ENDED_STAGES[/** @type {keyof typeof ENDED_STAGES} */ (row.stage)] : undefined;
    const stage = ended ?? STAGES[/** @type {keyof typeof STAGES} */ (row.stage)] ?? row.stage ?? "";
    if (row.repair) found.push(["repaired", "warn"]);
    if (row.quoted) found.push(["quoted", "warn"]);
    if (row.repeat_of !== undefined) found.push(["same call again", "warn"]);
    if (stage) found.push([stage, ended ? "plain" : callTone(row) ?? "plain"]);
  }
  if (row.void) found.push(["void", "plain"]);
  else if (row.kind === "turn" && row.finish && !["stop", "tool_calls", "closed"].includes(row.finish)) {
    found.push([row.finish, "bad"]);
  }
  return found;
}

/**
 * Say when a turn or a call ran. The style sheet draws it as one bar in the whole time of the run, which the timeline
 * knows as `--duration`: a run may go on, and rows that are drawn already keep their scale with it.
 * @param {RunModel} model
 * @param {Row} row
 * @param {HTMLElement} element
 */
function placeBar(model, row, element) {
  element.classList.add("has-bar");
  const start = row.start ?? row.ready ?? row.at;
  if (typeof start !== "number") return;
  const isOpen = row.end == null && (row.kind === "turn" || row.kind === "call") && !isOver(model);
  element.style.setProperty("--start", String(start));
  element.style.setProperty("--seconds", isOpen ? `calc(var(--duration) - ${start})` : String((row.end ?? start) - start));
}
