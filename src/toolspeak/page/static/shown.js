// @ts-check
// What the model was shown in a turn, exactly, in the dialect of the turn or in another one; or in two, side by side.

import { fetchShown } from "./api.js";
import { drawError, h } from "./dom.js";

/** @import { RunKey, ShownRequest } from "./types.js" */

const EARLIER = 40;
const ROLES = { system: "System", user: "User", assistant: "Model", tool: "Results" };

/**
 * @param {RunKey} key
 * @param {number} row
 * @param {string} dialect the dialect of the turn
 */
export function drawShown(key, row, dialect) {
  const columns = h("div", { class: "columns" }, drawColumn(key, row, dialect));
  const button = h("button", { class: "toggle", type: "button", "aria-pressed": "false" }, "Side by side");
  button.addEventListener("click", () => {
    const isOn = columns.children.length > 1;
    if (isOn) columns.lastElementChild?.remove();
    else columns.append(drawColumn(key, row, dialect === "json" ? "python" : "json"));
    button.setAttribute("aria-pressed", String(!isOn));
    button.closest(".run-body")?.classList.toggle("has-columns", !isOn);
  });
  return h("div", { class: "shown" }, button, columns);
}

/**
 * @param {RunKey} key
 * @param {number} row
 * @param {string} dialect
 */
function drawColumn(key, row, dialect) {
  const column = h("div", { class: "column" }, h("p", { class: "quiet" }, "Rendering…"));
  /** @param {string} name @param {number} [first] */
  const load = async (name, first) => {
    try {
      const shown = await fetchShown(key, row, name, first);
      column.replaceChildren(...drawRequest(shown, load));
    } catch (error) {
      column.replaceChildren(drawError(error));
    }
  };
  void load(dialect);
  return column;
}

/**
 * @param {ShownRequest} shown
 * @param {(dialect: string, first?: number) => Promise<void>} load
 */
function drawRequest(shown, load) {
  const names = shown.dialects.includes(shown.used) ? shown.dialects : [shown.used, ...shown.dialects];
  const choice = h(
    "div",
    { class: "segments", role: "group", "aria-label": "Dialect" },
    ...names.map((name) =>
      h(
        "button",
        { type: "button", "aria-pressed": String(name === shown.dialect), onclick: () => void load(name) },
        name,
        name === shown.used ? h("span", { class: "used" }, " used") : null,
      ),
    ),
  );
  const messages = shown.messages.map(({ role, text, chars }) =>
    h(
      "section",
      { class: `shown-message shown-${role}` },
      h("h3", {}, ROLES[/** @type {keyof typeof ROLES} */ (role)] ?? role),
      h("pre", { class: "block", tabindex: "0", role: "group", "aria-label": `Message: ${role}` }, text),
      chars > text.length ? h("p", { class: "quiet" }, `${chars - text.length} more characters`) : null,
    ),
  );
  const systems = shown.messages.filter((message) => message.place < shown.first).length;
  const hidden = shown.first - systems;
  if (hidden > 0) {
    const earlier = h("button", { class: "link", type: "button" }, `${hidden} earlier messages`);
    earlier.addEventListener("click", () => void load(shown.dialect, shown.first - EARLIER));
    messages.splice(systems, 0, h("section", { class: "shown-message" }, earlier));
  }
  const parts = [choice, ...messages];
  if (shown.tools) {
    parts.push(
      h(
        "section",
        { class: "shown-message" },
        h("h3", {}, `Tools parameter (${shown.tool_count})`),
        h("pre", { class: "block", tabindex: "0", role: "group", "aria-label": "Tools" }, shown.tools),
      ),
    );
  }
  if (shown.grammar) {
    parts.push(
      h(
        "section",
        { class: "shown-message" },
        h("h3", {}, "Answer grammar"),
        h("pre", { class: "block", tabindex: "0", role: "group", "aria-label": "Grammar" }, shown.grammar),
      ),
    );
  }
  return parts;
}
