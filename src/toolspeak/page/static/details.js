// @ts-check
// What is behind a row: its texts, arguments, results and remarks.

import { fetchText, mediaPath } from "./api.js";
import { buildCopyButton } from "./copy_button.js";
import { h, showControls } from "./dom.js";
import { formatBytes, formatChars } from "./format.js";
import { drawJson, drawProgram } from "./json_tree.js";
import { drawMarkedText } from "./marked_text.js";

/** @import { Details, RunKey, Section } from "./types.js" */

const SHOWN_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"]);

// A browser takes minutes to break such a line in a font whose letters have different widths.
const UNBROKEN = /\S{2000}/;

/**
 * @param {RunKey} key
 * @param {Details} details
 * @param {string} [words] words that are looked for: what holds them is unfolded
 * @returns {HTMLElement[]}
 */
export function drawSections(key, details, words = "") {
  return details.sections.map((section, place) => drawSection(key, details.i, section, place, words));
}

/**
 * @param {RunKey} key
 * @param {number} row
 * @param {Section} section
 * @param {number} place
 * @param {string} words
 */
function drawSection(key, row, section, place, words) {
  switch (section.type) {
    case "remark":
      return h("p", { class: `remark remark-${section.tone ?? "plain"}` }, section.text ?? "");
    case "changes":
      return drawChanges(section);
    case "media":
      return drawMedia(key, row, section, place);
    case "raw":
      return drawMarkedText(section);
    case "figures":
      return drawFigures(section);
    default:
      return h(
        "section",
        { class: `part part-${section.type}` },
        h(
          "div",
          { class: "part-head" },
          h("h3", {}, section.label || "Text"),
          buildCopyButton(section.label || "the text", () => readAll(key, row, section, place)),
        ),
        ...drawText(key, row, section, place, words),
      );
  }
}

/** @param {RunKey} key @param {number} row @param {Section} section @param {number} place */
async function readAll(key, row, section, place) {
  let text = section.text ?? "";
  const total = section.chars ?? text.length;
  while (text.length < total) {
    const piece = await fetchText(key, row, place, text.length);
    if (piece.text === "") break;
    text += piece.text;
  }
  return text;
}

/**
 * Draw a text; of a long one the beginning, with a button for more.
 * @param {RunKey} key
 * @param {number} row
 * @param {Section} section
 * @param {number} place
 * @param {string} words
 */
function drawText(key, row, section, place, words) {
  const text = section.text ?? "";
  const total = section.chars ?? text.length;
  const isWhole = total <= text.length;
  const tree = section.type === "json" && isWhole && !UNBROKEN.test(text) ? drawJson(text, words) : undefined;
  if (tree !== undefined) return [tree];
  const content = section.type === "code" ? drawProgram(text) : [text];
  const block = h("pre", { class: "block", tabindex: "0", role: "group", "aria-label": section.label || "Text" }, ...content);
  block.classList.toggle("is-unbroken", UNBROKEN.test(text));
  if (isWhole) return [block];
  let shown = text.length;
  const button = h("button", { class: "link show-more", type: "button", onclick: () => void more() });
  const describe = () => {
    button.textContent = `Show more (${formatChars(total - shown)} left)`;
  };
  const more = async () => {
    const piece = await fetchText(key, row, place, shown);
    if (UNBROKEN.test(piece.text)) block.classList.add("is-unbroken");
    block.append(showControls(piece.text));
    shown += piece.text.length;
    if (shown >= total || piece.text === "") button.remove();
    else describe();
  };
  describe();
  return [block, button];
}

/** @param {Section} section */
function drawChanges(section) {
  const rows = (section.changes ?? []).map(({ path, before, after }) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, path || "(whole value)"),
      h("td", {}, h("del", {}, before || "missing")),
      h("td", { class: "arrow", "aria-label": "became" }, "→"),
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
function drawFigures(section) {
  const pairs = (section.figures ?? []).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]);
  return h("dl", { class: "figures" }, ...pairs);
}

/**
 * @param {RunKey} key
 * @param {number} row
 * @param {Section} section
 * @param {number} place
 */
function drawMedia(key, row, section, place) {
  const size = typeof section.size === "number" ? formatBytes(section.size) : "";
  const words = [section.name, section.mime, size, section.url].filter(Boolean).join(" · ");
  const path = mediaPath(key, row, place);
  const isHere = typeof section.size === "number";
  const image =
    isHere && SHOWN_TYPES.has(section.mime ?? "")
      ? h("img", { src: path, alt: section.name || `An image: ${section.mime}`, loading: "lazy" })
      : null;
  const link = isHere && image === null ? h("a", { href: path, download: section.name ?? "attachment" }, "Save") : null;
  return h(
    "section",
    { class: "part part-media" },
    h("h3", {}, section.label ?? ""),
    image,
    h("p", { class: "quiet" }, words, link ? " · " : null, link),
  );
}
