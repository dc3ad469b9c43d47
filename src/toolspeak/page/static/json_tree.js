// @ts-check
// JSON that can be folded, with colours, and programs with colours. The text is what the server has written, line by line
// and with two spaces for each level: numbers are never parsed, since a browser would round long ones.

import { h } from "./dom.js";

const MAX_OPEN_LINES = 60; // what is folded at first is drawn when it is unfolded
const LINE = /^( *)("(?:[^"\\]|\\.)*": )?(.*?)(,?)$/su;

/** @typedef {{indent: number, name: string, value: string, comma: string, lines: JsonLine[], close: string}} JsonLine */

/**
 * Draw JSON.
 * @param {string} text
 * @param {string} words words that are looked for: what holds them is unfolded
 * @returns {HTMLElement | undefined} undefined if the text is not JSON as the server writes it, or a plain value
 */
export function drawJson(text, words = "") {
  if (!/^[{[]\n/.test(text)) return undefined;
  const root = readLines(text.split("\n"));
  if (root === undefined) return undefined;
  const left = { lines: MAX_OPEN_LINES };
  return h("div", { class: "block json", tabindex: "0", role: "group", "aria-label": "JSON" }, drawLine(root, left, words.toLowerCase(), 0));
}

/** @param {string[]} texts @returns {JsonLine | undefined} */
function readLines(texts) {
  /** @type {JsonLine[]} */
  const open = [];
  /** @type {JsonLine | undefined} */
  let root;
  for (const text of texts) {
    const found = LINE.exec(text);
    if (found === null) return undefined;
    const [, spaces = "", name = "", value = "", comma = ""] = found;
    const parent = open.at(-1);
    if (root !== undefined && parent === undefined) return undefined; // something stands behind the end
    if (value === "}" || value === "]") {
      if (parent === undefined || name !== "") return undefined;
      parent.close = value;
      parent.comma = comma;
      open.pop();
      continue;
    }
    const line = { indent: spaces.length, name, value, comma, lines: [], close: "" };
    if (parent === undefined) root = line;
    else parent.lines.push(line);
    if (value === "{" || value === "[") open.push(line);
  }
  return open.length === 0 ? root : undefined;
}

/** @param {JsonLine} line @param {{lines: number}} left @param {string} words @param {number} depth @returns {HTMLElement} */
function drawLine(line, left, words, depth) {
  left.lines -= 1;
  if (line.close === "") return h("div", { class: "json-line" }, drawName(line), drawValue(line.value), line.comma);
  const count = line.lines.length;
  const what = line.value === "{" ? (count === 1 ? "field" : "fields") : count === 1 ? "item" : "items";
  const fold = h("details", { class: "json-fold" });
  const inner = h("div", { class: "json-inner" });
  const fill = () => {
    if (inner.childElementCount > 0) return;
    for (const each of line.lines) inner.append(drawLine(each, left, words, depth + 1));
  };
  const hasWords = words !== "" && depth < 200 && holds(line, words);
  if (depth === 0 || hasWords || left.lines > count) {
    fold.open = true;
    fill();
  }
  fold.addEventListener("toggle", () => {
    if (!fold.open) return;
    left.lines = Math.max(left.lines, MAX_OPEN_LINES);
    fill();
  });
  fold.append(
    h("summary", {}, drawName(line), line.value, h("span", { class: "json-more" }, ` ${count} ${what} ${line.close}${line.comma}`)),
    inner,
    h("div", { class: "json-line" }, line.close, line.comma),
  );
  return fold;
}

/** @param {JsonLine} line @param {string} words @returns {boolean} */
function holds(line, words) {
  const stack = [...line.lines];
  for (let each = stack.pop(); each !== undefined; each = stack.pop()) {
    if (`${each.name}${each.value}`.toLowerCase().includes(words)) return true;
    for (const inner of each.lines) stack.push(inner);
  }
  return false;
}

/** @param {JsonLine} line */
function drawName(line) {
  return line.name === "" ? null : h("span", { class: "json-name" }, line.name);
}

/** @param {string} value */
function drawValue(value) {
  const kind = value.startsWith('"') ? "text" : /^[-\d]/.test(value) ? "number" : /^[{[]/.test(value) ? "plain" : "word";
  return kind === "plain" ? value : h("span", { class: `json-${kind}` }, value);
}

const MAX_COLOURED_CHARS = 8000;
const TOKENS =
  /(?<comment>#[^\n]*)|(?<text>"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)|(?<number>\b\d[\w.]*)|(?<word>\b(?:and|as|assert|async|await|break|class|continue|def|del|elif|else|except|False|finally|for|from|if|import|in|is|lambda|None|not|or|pass|raise|return|True|try|while|with|yield)\b)/gu;

/** Draw a program in Python, or in something like it. @param {string} text @returns {(Node | string)[]} */
export function drawProgram(text) {
  /** @type {(Node | string)[]} */
  const parts = [];
  let done = 0;
  for (const found of text.slice(0, MAX_COLOURED_CHARS).matchAll(TOKENS)) {
    const kind = Object.entries(found.groups ?? {}).find(([, value]) => value !== undefined)?.[0];
    parts.push(text.slice(done, found.index), h("span", { class: `code-${kind}` }, found[0]));
    done = found.index + found[0].length;
  }
  parts.push(text.slice(done));
  return parts;
}
