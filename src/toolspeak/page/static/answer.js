// @ts-check
// What stands above the rows of a run: what was asked, if the title does not hold it, and the answer; or why there is none.

import { fetchAnswer } from "./api.js";
import { buildCopyButton } from "./copy_button.js";
import { h } from "./dom.js";
import { drawJson } from "./json_tree.js";
import { drawMarkdown } from "./markdown.js";
import { describeEnd } from "./row.js";

/** @import { RunKey, RunAnswer } from "./types.js" */
/** @import { RunModel } from "./run_model.js" */

const TITLE_CHARS = 110; // what the title of a run shows of its prompt on any screen

export class AnswerCard {
  /** @param {RunKey} key @param {(row: number) => void} onOpen is told the row whose details are wanted */
  constructor(key, onOpen) {
    this._key = key;
    this._onOpen = onOpen;
    /** @type {RunAnswer | undefined} */
    this._answer = undefined;
    this._isLoading = false;
    this._facts = -1;
    this.element = h("section", { class: "answer", "aria-label": "Prompt and answer" });
    this._prompt = h("div", { class: "answer-prompt" });
    this._text = h("div", { class: "answer-text" });
    this._failure = h("div", {});
    this.element.hidden = true;
  }

  /** Draw what is known, and fetch what is not. @param {RunModel} model */
  update(model) {
    const draft = this._findDraft(model);
    this._drawFailure(model);
    if (draft !== undefined) {
      this._text.replaceChildren(h("p", { class: "answer-draft draft" }, draft));
      this._place();
      this._facts = -1;
      return;
    }
    if (model.isReading || this._isLoading || this._facts === model.facts) return;
    this._facts = model.facts;
    this._isLoading = true;
    fetchAnswer(this._key)
      .then((answer) => {
        this._isLoading = false;
        this._answer = answer;
        if (this._findDraft(model) === undefined) this._draw(model, answer);
        if (this._facts !== model.facts) this.update(model);
      })
      .catch(() => (this._isLoading = false)); // the rows have all that there is
  }

  /** @param {RunModel} model @returns {string | undefined} the text that is arriving */
  _findDraft(model) {
    for (const [index, parts] of model.drafts) {
      const row = model.rows[index];
      if (row?.kind === "turn" && row.inner !== true && parts.has("text")) return parts.get("text");
    }
    return undefined;
  }

  /** @param {RunModel} model @param {RunAnswer} answer */
  _draw(model, answer) {
    const { prompt_row: promptRow, answer_row: answerRow } = answer;
    const isLong = answer.prompt.length > TITLE_CHARS || answer.prompt.includes("\n");
    this._prompt.replaceChildren();
    if (isLong) {
      this._prompt.append(
        this._drawHead("Prompt", answer.prompt, answer.is_prompt_cut ? promptRow : undefined),
        h("div", { class: "answer-asked", tabindex: "0", role: "group", "aria-label": "Prompt" }, answer.prompt),
      );
    }
    this._text.replaceChildren();
    if (answer.answer.trim() !== "") {
      const isAnswer = model.summary.reason === "answered";
      const drawn = (answer.is_json ? drawJson(answer.answer) : undefined) ?? drawMarkdown(answer.answer);
      this._text.append(
        this._drawHead(isAnswer ? "Answer" : "Last message", answer.answer, answer.is_cut ? answerRow : undefined),
        drawn,
      );
    }
    this._place();
  }

  /** Put what there is into the document: empty elements have no place there. */
  _place() {
    const parts = [this._prompt, this._failure, this._text].filter((part) => part.childElementCount > 0);
    if (parts.length !== this.element.childElementCount || parts.some((part) => !part.isConnected)) this.element.replaceChildren(...parts);
    this.element.hidden = parts.length === 0;
  }

  /** @param {string} words @param {string} text @param {number} [row] the row that has the rest */
  _drawHead(words, text, row) {
    const head = h("div", { class: "part-head" }, h("h2", { class: "answer-label" }, words), buildCopyButton(words.toLowerCase(), () => text));
    if (row !== undefined) head.append(h("button", { type: "button", class: "link", onclick: () => this._onOpen(row) }, "Show all"));
    return head;
  }

  /** Say why a run has no answer, whole. @param {RunModel} model */
  _drawFailure(model) {
    const { status, reason = "", detail = "" } = model.summary;
    this._failure.replaceChildren();
    if (status === "done" && reason !== "answered") this._failure.append(
      h("p", { class: "remark remark-bad failure", role: "status" }, h("strong", {}, describeEnd(reason)), detail ? `: ${detail}` : "."),
    );
    this._place();
  }
}
