// @ts-check
// Builds elements. Whatever a model or a tool wrote is only ever a text node: there is no way here to set markup, and the
// policy of the page forbids it as well.

/** @typedef {Node | string | null | undefined | false} Child */

const SHOWN_ATTRIBUTES = new Set(["title", "aria-label", "alt"]); // they are read like texts

/**
 * Build an element.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} [attributes] attributes;
 *   a function is the listener of an event, such as `onclick`
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (SHOWN_ATTRIBUTES.has(name)) element.setAttribute(name, showControls(String(value)));
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

// What would be obeyed or hidden instead of shown: control characters but tab and line feed, directions of writing, line
// breaks that only some programs know, characters without width, halves of characters.
const UNSAFE =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\xad\u034f\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff0-\ufffb\u115f\u1160\u17b4\u17b5\u3164\uffa0\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e00ff}\u{e01f0}-\u{e0fff}\ud800-\udfff]/gu;

/**
 * Return a text in which nothing is obeyed or hidden: such characters become escapes, as `\\x1b` and `\\u202e`.
 * @param {string} text
 */
export function showControls(text) {
  return text.replace(UNSAFE, (letter) => {
    const code = letter.codePointAt(0) ?? 0;
    if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`;
    return code < 0x10000 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\u{${code.toString(16)}}`;
  });
}

/**
 * @param {Element} element
 * @param {Child[]} children
 */
export function append(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(typeof child === "string" ? showControls(child) : child);
  }
}

/** Draw why something went wrong. @param {unknown} error */
export function drawError(error) {
  return h("p", { class: "remark remark-bad" }, error instanceof Error ? error.message : String(error));
}

const SVG = "http://www.w3.org/2000/svg";

/**
 * Build an element of a drawing.
 * @param {string} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  append(element, children);
  return element;
}
