// @ts-check
// What the model wrote, with marks that say what each part was read as. A mark has a number, and the numbers are
// explained below the text: by which rule a call was found, what was repaired, why a call was refused.

import { buildCopyButton } from "./copy_button.js";
import { h, showControls } from "./dom.js";
import { formatChars } from "./format.js";

/** @import { Section, Span } from "./types.js" */

const KINDS = {
  prose: "text",
  thinking: "reasoning",
  call: "call",
  malformed: "unreadable",
  made_up: "made up",
  dropped: "ignored",
  retraction: "end of reasoning",
  skipped: "skipped",
};

/** @param {Section} section */
export function drawMarkedText(section) {
  const spans = section.spans ?? [];
  const text = h("pre", { class: "block marked", tabindex: "0", role: "group", "aria-label": "What the model wrote" });
  const notes = h("ol", { class: "notes" });
  let number = 0;
  for (const span of spans) {
    const hasNote = span.notes.length > 0 || span.quoted === true;
    const name = hasNote ? String(++number) : "";
    text.append(drawSpan(span, name));
    if (hasNote) notes.append(drawNote(span, name));
  }
  const rest = section.rest ?? 0;
  return h(
    "section",
    { class: "part part-raw" },
    h(
      "div",
      { class: "part-head" },
      h("h3", {}, "What the model wrote"),
      buildCopyButton("what the model wrote", () => spans.map((span) => span.text).join("")),
    ),
    text,
    rest > 0 ? h("p", { class: "quiet" }, `${formatChars(rest)} more, without annotations`) : null,
    number > 0 ? notes : null,
  );
}

/** @param {Span} span @param {string} name */
function drawSpan(span, name) {
  if (span.kind === "prose" && name === "") return document.createTextNode(showControls(span.text));
  const tone = span.quoted ? "quoted" : span.repaired ? "repaired" : span.kind;
  const element = h("span", { class: `mark mark-${tone}` });
  let from = 0;
  for (const place of span.repairs ?? []) {
    element.append(showControls(span.text.slice(from, place)));
    element.append(h("span", { class: "repair", title: "repaired here" }, span.text.slice(place, place + 1)));
    from = place + 1;
  }
  element.append(showControls(span.text.slice(from)));
  if (name) element.append(h("sup", { class: "mark-number" }, name));
  return element;
}

/** @param {Span} span @param {string} name */
function drawNote(span, name) {
  const tone = span.quoted ? "quoted" : span.repaired ? "repaired" : span.kind;
  const words = span.quoted ? ["quoted from a text that the model was shown", ...span.notes] : span.notes;
  return h(
    "li",
    { value: name, class: "note" },
    h("span", { class: `tag tag-${tone}` }, span.quoted ? "quoted" : span.repaired ? "repaired" : KINDS[span.kind]),
    h("span", {}, words.join("; ")),
  );
}
