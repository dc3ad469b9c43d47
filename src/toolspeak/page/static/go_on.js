// @ts-check
// A new run that goes on from a point of another one: from a fact as it is, from an edit, or with a further message.

import { Composer } from "./composer.js";
import { h } from "./dom.js";
import { fetchEdit, fetchOffer, goOn } from "./playground_api.js";

/** @import { Row, RunKey, Summary } from "./types.js" */
/** @import { Editable, Offer } from "./playground_api.js" */
/** @import { RunModel } from "./run_model.js" */

const TITLES = { message: "Edit the message", answer: "Edit what the model wrote", result: "Edit the result", "": "Continue from here" };
const NOTES = {
  message: "The new run starts with this message.",
  answer: "The new run takes this as the model's answer and runs its calls.",
  result: "The model sees this result instead. Calls that refer to it run again.",
  "": "The new run starts with the same history. Anything in progress at this point runs again.",
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
  /** @param {string} words @param {"edit" | "fact"} way */
  const button = (words, way) =>
    h("button", { type: "button", class: "link", onclick: () => void showDialog(key, row, summary, way) }, words);
  const canEdit = row.kind === "message" || (row.kind === "turn" && row.finish) || (row.kind === "call" && row.end != null);
  const buttons = [];
  if (canEdit) buttons.push(button("Edit and continue…", "edit"));
  if (row.kind !== "end" || row.reason !== "answered") buttons.push(button("Continue from here…", "fact"));
  return buttons.length > 0 ? [h("div", { class: "go-on" }, ...buttons)] : [];
}

/**
 * Build what somebody writes in to go on with the conversation of a run, below its rows.
 * @param {RunKey} key
 * @param {() => RunModel | undefined} model
 * @returns {HTMLElement | undefined} undefined without a playground
 */
export function buildReply(key, model) {
  if (!isThere) return undefined;
  const button = h("button", { type: "button", class: "link" }, "Reply…");
  const element = h("footer", { class: "reply" }, button);
  button.addEventListener("click", () => {
    const summary = model()?.summary;
    const composer = new Composer({
      label: "Your reply",
      chosen: { model: summary?.model, dialect: summary?.dialect },
      send: async (prompt, setup, attachments) => {
        const run = await goOn(key, { prompt, setup, attachments });
        location.hash = `#chat=${run.source}/${run.id}`;
      },
    });
    element.replaceChildren(composer.element);
    void composer.open();
  });
  return element;
}

/**
 * @param {RunKey} key
 * @param {Row} row
 * @param {Summary} summary
 * @param {"edit" | "fact"} way
 */
async function showDialog(key, row, summary, way) {
  const state = h("p", { class: "quiet", role: "status" });
  const dialog = h("dialog", { class: "dialog dialog-wide" });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  try {
    const offer = await fetchOffer();
    const found = await fetchEdit(key, row.i);
    /** @type {Editable} */
    const edit = way === "edit" ? found : { what: "", text: "", is_error: false, points: found.points };
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
 * @param {"edit" | "fact"} way
 * @param {Offer} offer
 * @param {Editable} edit
 * @param {HTMLElement} state
 */
function fill(dialog, key, row, summary, way, offer, edit, state) {
  const title = TITLES[edit.what];
  const model = drawSelect("Model", offer.models, summary.model ?? "");
  const dialect = drawSelect("Dialect", offer.dialects, row.dialect ?? summary.dialect ?? "");
  const points = edit.points.map(([number, words]) => h("option", { value: number }, words));
  const point = h("select", { class: "field", "aria-label": "Continue after" }, ...points);
  point.value = String(edit.points.at(-1)?.[0] ?? "");
  const calls = edit.calls === undefined ? undefined : new CallEditor(edit.calls, offer);
  const text = h("textarea", { class: "field text", rows: edit.calls === undefined ? 10 : 4, "aria-label": title, spellcheck: "false" });
  text.value = edit.text;
  const isError = h("input", { type: "checkbox" });
  isError.checked = edit.is_error;
  const send = async () => {
    go.disabled = true;
    const body = { setup: { model: model.value, dialect: dialect.value } };
    const more =
      way === "edit"
        ? { row: row.i, text: text.value, is_error: isError.checked, calls: calls?.read() }
        : { fact: Number(point.value) };
    try {
      const run = await goOn(key, { ...body, ...more });
      dialog.close();
      location.hash = `#run=${run.source}/${run.id}`;
    } catch (error) {
      go.disabled = false;
      state.textContent = error instanceof Error ? error.message : String(error);
    }
  };
  const go = h("button", { type: "button", class: "button button-main", onclick: () => void send() }, "Continue");
  dialog.setAttribute("aria-label", title);
  dialog.append(
    h("h2", {}, title),
    h("p", { class: "quiet" }, NOTES[edit.what]),
  );
  if (way !== "fact") dialog.append(text);
  if (calls !== undefined) dialog.append(calls.element);
  if (edit.what === "result") dialog.append(h("label", { class: "check" }, isError, " This is an error"));
  dialog.append(
    h(
      "div",
      { class: "choices" },
      h("label", { class: "labelled" }, "Model", model),
      h("label", { class: "labelled" }, "Dialect", dialect),
      way === "fact" ? h("label", { class: "labelled" }, "Continue after", point) : null,
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

/** The calls of an answer, which can be edited, added and removed. */
class CallEditor {
  /** @param {{name: string, arguments: string}[]} calls @param {Offer} offer */
  constructor(calls, offer) {
    this._offer = offer;
    this._list = h("div", { class: "edited-calls" });
    const add = h("button", { type: "button", class: "link" }, "Add a call");
    add.addEventListener("click", () => this._add(offer.tools[0]?.name ?? "", "{}").focus());
    this.element = h("fieldset", { class: "call-editor" }, h("legend", {}, "Calls"), this._list, add);
    for (const call of calls) this._add(call.name, call.arguments);
  }

  /** @param {string} name @param {string} text */
  _add(name, text) {
    const names = this._offer.tools.map((tool) => tool.name);
    const tool = drawSelect("Tool", names.includes(name) || name === "" ? names : [name, ...names], name);
    const rows = Math.min(12, text.split("\n").length + 1);
    const written = h("textarea", { class: "field text", rows, "aria-label": "Arguments, as JSON", spellcheck: "false" });
    written.value = text;
    const remove = h("button", { type: "button", class: "link", "aria-label": `Remove the call to ${name}` }, "Remove");
    const element = h("div", { class: "edited-call" }, h("div", { class: "part-head" }, tool, remove), written);
    remove.addEventListener("click", () => element.remove());
    this._list.append(element);
    return tool;
  }

  /** @returns {{name: string, arguments: string}[]} */
  read() {
    return [...this._list.children].map((each) => ({
      name: each.querySelector("select")?.value ?? "",
      arguments: each.querySelector("textarea")?.value ?? "",
    }));
  }
}

/** @param {string} label @param {string[]} names @param {string} chosen */
function drawSelect(label, names, chosen) {
  const select = h("select", { class: "field", "aria-label": label }, ...names.map((name) => h("option", { value: name }, name)));
  if (names.includes(chosen)) select.value = chosen;
  return select;
}
