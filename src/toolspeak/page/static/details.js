// @ts-check
// What is below a row when it is unfolded: its texts, arguments, results and remarks.

import { h } from "./dom.js";
import { formatBytes, formatChars } from "./format.js";

/** @import { Details, Section } from "./types.js" */

/**
 * @param {Details} details
 * @returns {HTMLElement}
 */
export function drawDetails(details) {
  const facts = details.facts.map((fact) => `#${fact}`).join(" ");
  return h(
    "div",
    { class: "details" },
    ...details.sections.map(drawSection),
    details.sections.length === 0 ? h("p", { class: "quiet" }, "There is nothing more to show.") : null,
    h("p", { class: "fact-numbers" }, `Facts ${facts}`),
  );
}

/** @param {Section} section */
function drawSection(section) {
  switch (section.type) {
    case "remark":
      return h("p", { class: `remark remark-${section.tone}` }, section.text ?? "");
    case "changes":
      return drawChanges(section);
    case "media":
      return drawMedia(section);
    default:
      return h(
        "section",
        { class: `part part-${section.type}` },
        section.label ? h("h3", {}, section.label) : null,
        drawText(section),
      );
  }
}

/** @param {Section} section */
function drawText(section) {
  const text = section.text ?? "";
  const rest = (section.chars ?? text.length) - text.length;
  const block = h("pre", { class: "block", tabindex: "0", "aria-label": section.label || "Text" }, text);
  if (rest <= 0) return block;
  return h("div", {}, block, h("p", { class: "quiet" }, `${formatChars(rest)} more`));
}

/** @param {Section} section */
function drawChanges(section) {
  const rows = (section.changes ?? []).map(({ path, before, after }) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, path || "(all)"),
      h("td", {}, h("del", {}, before || "missing")),
      h("td", {}, h("ins", {}, after || "removed")),
    ),
  );
  return h(
    "section",
    { class: "part part-changes" },
    h("h3", {}, section.label ?? ""),
    h("table", { class: "changes" }, h("tbody", {}, ...rows)),
  );
}

/** @param {Section} section */
function drawMedia(section) {
  const size = typeof section.size === "number" ? formatBytes(section.size) : "";
  const words = [section.name, section.mime, size, section.url].filter(Boolean).join(" · ");
  return h("section", { class: "part part-media" }, h("h3", {}, section.label ?? ""), h("p", {}, words));
}
