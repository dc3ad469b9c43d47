// @ts-check
// A new run that goes on from a point of another one: from a fact as it is, from an edit, or with a further message.

import { h } from "./dom.js";
import { fetchEdit, fetchOffer, goOn } from "./playground_api.js";

/** @import { Row, RunKey, Summary } from "./types.js" */
/** @import { Editable, Offer } from "./playground_api.js" */
/** @import { RunModel } from "./run_model.js" */

const TITLES = { message: "Edit the message", answer: "Edit what the model wrote", result: "Edit the result", "": "Go on" };
const NOTES = {
  message: "The new run begins with this message.",
  answer: "The new run reads this text as if the model had just written it.",
  result: "The model sees this result instead. Calls that refer to it run again.",
  "": "The new run has the same beginning. What was under way at this fact happens anew.",
};

let isThere = false;

/** Say whether there is a playground. @param {boolean} value */
export function setPlayground(value) {
  isThere = value;
}

/**
 * Draw the buttons below a row.
 * @param {RunKey} key
 * @param {Row} row
 * @param {Summary} summary
 * @returns {HTMLElement[]}
 */
export function drawGoOn(key, row, summary) {
  if (!isThere) return [];
  /** @param {string} words @param {"edit" | "say" | "fact"} way */
  const button = (words, way) =>
    h("button", { type: "button", class: "link", onclick: () => void showDialog(key, row, summary, way) }, words);
  const canEdit = row.kind === "message" || (row.kind === "turn" && row.finish) || (row.kind === "call" && row.end != null);
  const buttons = [];
  if (canEdit) buttons.push(button("Edit and go on…", "edit"));
  if (row.kind !== "end" || row.reason !== "answered") buttons.push(button("Go on from here…", "fact"));
  return buttons.length > 0 ? [h("div", { class: "go-on" }, ...buttons)] : [];
}

/**
 * Build the button by which somebody says something next, after the end of the run.
 * @param {RunKey} key
 * @param {() => RunModel | undefined} model
 */
export function buildNextButton(key, model) {
  const button = h("button", { type: "button", class: "link", hidden: !isThere }, "Say something next…");
  button.addEventListener("click", () => {
    const run = model();
    const last = run?.rows.at(-1);
    if (run !== undefined && last !== undefined) void showDialog(key, last, run.summary, "say");
  });
  return button;
}

/**
 * @param {RunKey} key
 * @param {Row} row
 * @param {Summary} summary
 * @param {"edit" | "say" | "fact"} way
 */
async function showDialog(key, row, summary, way) {
  const state = h("p", { class: "quiet", role: "status" });
  const dialog = h("dialog", { class: "dialog dialog-wide" });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  try {
    const offer = await fetchOffer();
    /** @type {Editable} */
    const edit = way === "edit" ? await fetchEdit(key, row.i) : { what: "", text: "", is_error: false };
    fill(dialog, key, row, summary, way, offer, edit, state);
  } catch (error) {
    state.textContent = error instanceof Error ? error.message : String(error);
    dialog.append(state, h("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Close"));
  }
  dialog.showModal();
}

/**
 * @param {HTMLDialogElement} dialog
 * @param {RunKey} key
 * @param {Row} row
 * @param {Summary} summary
 * @param {"edit" | "say" | "fact"} way
 * @param {Offer} offer
 * @param {Editable} edit
 * @param {HTMLElement} state
 */
function fill(dialog, key, row, summary, way, offer, edit, state) {
  const title = way === "say" ? "Say something next" : TITLES[edit.what];
  const model = drawSelect("Model", offer.models, summary.model ?? "");
  const dialect = drawSelect("Dialect", offer.dialects, row.dialect ?? summary.dialect ?? "");
  const fact = drawSelect("After fact", row.facts.map(String), String(row.facts.at(-1)));
  const text = h("textarea", { class: "field text", rows: 10, "aria-label": title, spellcheck: "false" });
  text.value = edit.text;
  const isError = h("input", { type: "checkbox" });
  isError.checked = edit.is_error;
  const send = async () => {
    go.disabled = true;
    const body = { setup: { model: model.value, dialect: dialect.value } };
    const more =
      way === "say"
        ? { prompt: text.value }
        : way === "edit"
          ? { row: row.i, text: text.value, is_error: isError.checked }
          : { fact: Number(fact.value) };
    try {
      const run = await goOn(key, { ...body, ...more });
      dialog.close();
      location.hash = `#run=${run.source}/${run.id}`;
    } catch (error) {
      go.disabled = false;
      state.textContent = error instanceof Error ? error.message : String(error);
    }
  };
  const go = h("button", { type: "button", class: "button button-main", onclick: () => void send() }, "Go on");
  dialog.setAttribute("aria-label", title);
  dialog.append(
    h("h2", {}, title),
    h("p", { class: "quiet" }, way === "say" ? "The new run has the whole conversation before it." : NOTES[edit.what]),
  );
  if (way !== "fact") dialog.append(text);
  if (edit.what === "result") dialog.append(h("label", { class: "check" }, isError, " The call failed with this text"));
  dialog.append(
    h(
      "div",
      { class: "choices" },
      h("label", { class: "labelled" }, "Model", model),
      h("label", { class: "labelled" }, "Dialect", dialect),
      way === "fact" ? h("label", { class: "labelled" }, "After fact", fact) : null,
    ),
    state,
    h(
      "div",
      { class: "dialog-buttons" },
      go,
      h("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Cancel"),
    ),
  );
}

/** @param {string} label @param {string[]} names @param {string} chosen */
function drawSelect(label, names, chosen) {
  const select = h("select", { class: "field", "aria-label": label }, ...names.map((name) => h("option", { value: name }, name)));
  if (names.includes(chosen)) select.value = chosen;
  return select;
}
