// @ts-check
// The calls that wait for somebody to allow them. They stay in sight until they are answered.

import { fetchDetails, post, runPath } from "./api.js";
import { drawSections } from "./details.js";
import { drawError, h } from "./dom.js";

/** @import { Row, RunKey } from "./types.js" */
/** @import { RunModel } from "./run_model.js" */

export class ApprovalList {
  /**
   * @param {RunKey} key
   * @param {(element: HTMLElement) => void} place puts the list where it is seen
   * @param {(row: number) => void} onShow shows a row
   */
  constructor(key, place, onShow) {
    this._key = key;
    this._place = place;
    this._onShow = onShow;
    /** @type {Map<number, {digest: string | undefined, element: HTMLElement}>} what is written there must not be lost */
    this._cards = new Map();
    this._element = h("div", { class: "approvals" });
  }

  /** @param {RunModel} model */
  update(model) {
    const asking = model.isGoingOn ? model.rows.filter((row) => row !== undefined && row.stage === "asking" && !row.void) : [];
    const wanted = new Set(asking.map((row) => row.i));
    for (const [index, { element }] of this._cards) {
      if (wanted.has(index)) continue;
      element.remove();
      this._cards.delete(index);
    }
    for (const row of asking) {
      const known = this._cards.get(row.i);
      if (known !== undefined && known.digest === row.digest) continue;
      known?.element.remove();
      const element = model.canAnswer ? drawApproval(this._key, row, this._onShow) : this._drawNote(row);
      this._cards.set(row.i, { digest: row.digest, element });
      this._element.append(element);
    }
    if (asking.length === 0) this._element.remove();
    else if (!this._element.isConnected) this._place(this._element);
  }

  /** @param {Row} row */
  _drawNote(row) {
    const show = h("button", { type: "button", class: "link", onclick: () => this._onShow(row.i) }, "Show");
    return h("p", { class: "remark remark-warn", role: "status" }, `${row.name || "A call"} is waiting for approval. `, show);
  }
}

/**
 * @param {RunKey} key
 * @param {Row} row
 * @param {(row: number) => void} onShow
 */
function drawApproval(key, row, onShow) {
  const details = h("div", { class: "details" }, h("p", { class: "quiet" }, "Loading…"));
  fetchDetails(key, row.i)
    .then((found) => details.replaceChildren(...drawSections(key, found)))
    .catch((error) => details.replaceChildren(drawError(error)));
  const reason = h("input", {
    type: "text",
    class: "field",
    placeholder: "Reason, shown to the model (optional)",
    "aria-label": "Reason for refusing",
  });
  const state = h("p", { class: "quiet", role: "status" });
  const doubts = row.doubts ?? [];
  /** @param {boolean | string} approved @param {boolean} [remember] whether the values in doubt are allowed from now on */
  const answer = async (approved, remember = false) => {
    for (const button of buttons) button.disabled = true;
    try {
      const { counts } = await post(`${runPath(key)}/approve`, {
        call_id: row.id,
        approved,
        remember,
        digest: row.digest ?? "",
      });
      state.textContent = counts ? "Answered. The run continues." : "Someone has already answered.";
    } catch (error) {
      state.textContent = error instanceof Error ? error.message : String(error);
      for (const button of buttons) button.disabled = false;
    }
  };
  const buttons = [
    h("button", { type: "button", class: "button button-main", onclick: () => void answer(true) }, "Allow"),
    ...(doubts.length > 0
      ? [h("button", { type: "button", class: "button", onclick: () => void answer(true, true) }, "Always allow these values")]
      : []),
    h("button", { type: "button", class: "button", onclick: () => void answer(reason.value.trim() || false) }, "Refuse"),
  ];
  return h(
    "section",
    { class: "approval", role: "group", "aria-label": "Approval" },
    h(
      "p",
      {},
      h("strong", {}, row.name || "A call"),
      " needs your approval. ",
      h("button", { type: "button", class: "link", onclick: () => onShow(row.i) }, "Show"),
    ),
    ...(doubts.length > 0 ? [h("ul", { class: "doubts" }, ...doubts.map((words) => h("li", {}, words)))] : []),
    details,
    h("div", { class: "approval-answer" }, ...buttons, reason),
    state,
  );
}
