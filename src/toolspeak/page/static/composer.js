// @ts-check
// Where somebody writes to a model: a text, files with it, and the model, dialect and tools that answer.

import { drawError, h } from "./dom.js";
import { formatBytes } from "./format.js";
import { fetchOffer } from "./playground_api.js";

/** @import { Attachment, Offer, Setup } from "./playground_api.js" */

const MAX_ATTACHED_BYTES = 12_000_000;

export class Composer {
  /**
   * @param {object} options
   * @param {string} options.label
   * @param {{model?: string, dialect?: string}} [options.chosen] what is chosen at first
   * @param {(prompt: string, setup: Setup, attachments: Attachment[]) => Promise<void>} options.send
   * @param {() => Promise<void>} [options.stop] ends what is going on
   */
  constructor({ label, chosen = {}, send, stop }) {
    this._chosen = chosen;
    this._send = send;
    this._stop = stop;
    /** @type {Attachment[]} */
    this._attached = [];
    this._isBusy = false;
    this._text = h("textarea", { class: "field composer-text", rows: 2, placeholder: "Write a message", "aria-label": label });
    this._text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      void this._submit();
    });
    this._state = h("p", { class: "quiet composer-state", role: "status" });
    this._files = h("div", { class: "composer-files" });
    this._button = h("button", { type: "button", class: "button button-main", onclick: () => void this._submit() }, "Send");
    this._end = h("button", { type: "button", class: "button", hidden: true, onclick: () => void this._stop?.() }, "Stop");
    this._choices = h("div", { class: "composer-choices" });
    /** @type {() => Setup} */
    this._readSetup = () => ({ model: "", dialect: "auto" });
    this.element = h("div", { class: "composer" }, this._text, this._files, this._choices, this._state);
  }

  /** Offer what can be chosen. */
  async open() {
    try {
      this._drawChoices(await fetchOffer());
      this._text.focus();
    } catch (error) {
      this.element.replaceChildren(drawError(error));
    }
  }

  focus() {
    this._text.focus();
  }

  /** Say that an answer arrives, or no longer does. @param {boolean} isBusy */
  setBusy(isBusy) {
    this._isBusy = isBusy;
    this._end.hidden = !isBusy;
    this._button.disabled = isBusy;
  }

  /** @param {Offer} offer */
  _drawChoices(offer) {
    const model = drawSelect("Model", offer.models, this._chosen.model);
    const dialect = drawSelect("Dialect", offer.dialects, this._chosen.dialect);
    const boxes = offer.tools.map((tool) => {
      const box = h("input", { type: "checkbox", value: tool.name });
      box.checked = true;
      return box;
    });
    const count = h("summary", {});
    const describe = () => {
      const chosen = boxes.filter((box) => box.checked).length;
      count.textContent = chosen === boxes.length ? `Tools (${chosen})` : `Tools (${chosen} of ${boxes.length})`;
    };
    const tools = h(
      "details",
      { class: "composer-tools", hidden: boxes.length === 0, onchange: describe },
      count,
      h("div", { class: "composer-list" }, ...boxes.map((box) => h("label", { class: "check" }, box, ` ${box.value}`))),
    );
    describe();
    const input = h("input", { type: "file", multiple: true, hidden: true, "aria-label": "Files to attach" });
    input.addEventListener("change", () => void this._attach([...(input.files ?? [])]).then(() => (input.value = "")));
    const attach = h("button", { type: "button", class: "link", onclick: () => input.click() }, "Attach…");
    this._readSetup = () => ({
      model: model.value,
      dialect: dialect.value,
      tools: boxes.filter((box) => box.checked).map((box) => box.value),
    });
    this._choices.replaceChildren(
      h("label", { class: "labelled" }, "Model", model),
      h("label", { class: "labelled" }, "Dialect", dialect),
      tools,
      input,
      attach,
      h("span", { class: "composer-buttons" }, this._end, this._button),
    );
  }

  /** @param {File[]} files */
  async _attach(files) {
    for (const file of files) {
      const size = this._attached.reduce((sum, each) => sum + each.data.length * 0.75, file.size);
      if (size > MAX_ATTACHED_BYTES) {
        this._state.textContent = `${file.name} is too large: a message can have ${formatBytes(MAX_ATTACHED_BYTES)} of attachments`;
        continue;
      }
      this._attached.push({ name: file.name, mime: file.type || "text/plain", data: await encode(file) });
    }
    this._drawFiles();
  }

  _drawFiles() {
    this._files.replaceChildren(
      ...this._attached.map((file) => {
        const remove = h("button", { type: "button", class: "link", "aria-label": `Remove ${file.name}` }, "✕");
        remove.addEventListener("click", () => {
          this._attached = this._attached.filter((each) => each !== file);
          this._drawFiles();
        });
        return h("span", { class: "composer-file" }, `${file.name} `, remove);
      }),
    );
  }

  async _submit() {
    const prompt = this._text.value;
    if (this._isBusy || prompt.trim() === "") return;
    this.setBusy(true);
    this._state.textContent = "";
    try {
      await this._send(prompt, this._readSetup(), this._attached);
      this._text.value = "";
      this._attached = [];
      this._drawFiles();
    } catch (error) {
      this.setBusy(false);
      this._state.textContent = error instanceof Error ? error.message : String(error);
    }
  }
}

/** @param {File} file @returns {Promise<string>} its bytes in Base64 */
async function encode(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

/** @param {string} label @param {string[]} names @param {string | undefined} chosen */
function drawSelect(label, names, chosen) {
  const select = h("select", { class: "field", "aria-label": label }, ...names.map((name) => h("option", { value: name }, name)));
  if (chosen !== undefined && names.includes(chosen)) select.value = chosen;
  return select;
}
