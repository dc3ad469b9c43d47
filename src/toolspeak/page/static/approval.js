// @ts-check
// The answer to a call that waits for somebody to allow it.

import { post, runPath } from "./api.js";
import { h } from "./dom.js";

/** @import { Row, RunKey } from "./types.js" */

/**
 * @param {RunKey} key
 * @param {Row} row
 */
export function drawApproval(key, row) {
  const reason = h("input", {
    type: "text",
    class: "field",
    placeholder: "Why not, for the model (optional)",
    "aria-label": "Why the call is refused",
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
      state.textContent = counts ? "Answered; the run goes on." : "Somebody has answered before.";
    } catch (error) {
      state.textContent = error instanceof Error ? error.message : String(error);
      for (const button of buttons) button.disabled = false;
    }
  };
  const buttons = [
    h("button", { type: "button", class: "button button-main", onclick: () => void answer(true) }, "Allow"),
    ...(doubts.length > 0
      ? [h("button", { type: "button", class: "button", onclick: () => void answer(true, true) }, "Allow from now on")]
      : []),
    h("button", { type: "button", class: "button", onclick: () => void answer(reason.value.trim() || false) }, "Refuse"),
  ];
  return h(
    "section",
    { class: "approval" },
    h("p", {}, h("strong", {}, row.name ?? "A call"), " waits for your approval."),
    ...(doubts.length > 0 ? [h("ul", { class: "doubts" }, ...doubts.map((words) => h("li", {}, words)))] : []),
    h("div", { class: "approval-answer" }, ...buttons, reason),
    state,
  );
}
