// @ts-check
// Markdown of a model as elements: headings, lists, tables, quotes, code, emphasis and links. What is not understood stays
// the text that it is. Nothing is loaded: an image is named, and a link says where it leads before somebody follows it.

import { h } from "./dom.js";

/** @import { Child } from "./dom.js" */

const MAX_DEPTH = 6; // quotes and lists in each other
const FENCE = /^ {0,3}(```+|~~~+)[ \t]*([\w+#.-]*)/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*)$/;
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])[ \t]+(.*)$/;
const QUOTE = /^ {0,3}> ?(.*)$/;

/** @param {string} text @returns {HTMLElement} */
export function drawMarkdown(text) {
  return h("div", { class: "markdown" }, ...drawBlocks(text.replaceAll("\r\n", "\n").split("\n"), 0));
}

/** @param {string[]} lines @param {number} depth @returns {HTMLElement[]} */
function drawBlocks(lines, depth) {
  /** @type {HTMLElement[]} */
  const blocks = [];
  let place = 0;
  while (place < lines.length) {
    const line = lines[place] ?? "";
    if (line.trim() === "") {
      place += 1;
      continue;
    }
    const [block, next] = drawBlock(lines, place, depth);
    blocks.push(block);
    place = next;
  }
  return blocks;
}

/** @param {string[]} lines @param {number} place @param {number} depth @returns {[HTMLElement, number]} */
function drawBlock(lines, place, depth) {
  const line = lines[place] ?? "";
  const fence = FENCE.exec(line);
  if (fence) return drawFence(lines, place, fence[1] ?? "```", fence[2] ?? "");
  const heading = HEADING.exec(line);
  if (heading) {
    const words = (heading[2] ?? "").replace(/ #{1,6}$/, "");
    return [h("p", { class: `md-heading md-heading-${(heading[1] ?? "").length}` }, ...drawInline(words)), place + 1];
  }
  if (RULE.test(line)) return [h("hr", {}), place + 1];
  if (depth < MAX_DEPTH && QUOTE.test(line)) return drawQuote(lines, place, depth);
  if (depth < MAX_DEPTH && ITEM.test(line)) return drawList(lines, place, depth);
  if (line.includes("|") && isDivider(lines[place + 1] ?? "")) return drawTable(lines, place);
  return drawParagraph(lines, place, depth);
}

/** @param {string[]} lines @param {number} place @param {string} mark @param {string} name @returns {[HTMLElement, number]} */
function drawFence(lines, place, mark, name) {
  let end = place + 1;
  while (end < lines.length && !(lines[end] ?? "").trim().startsWith(mark)) end += 1;
  const code = lines.slice(place + 1, end).join("\n");
  return [drawCode(code, name || "Code"), end + 1];
}

/** @param {string} text @param {string} label */
export function drawCode(text, label) {
  return h("pre", { class: "block", tabindex: "0", role: "group", "aria-label": label }, text);
}

/** @param {string[]} lines @param {number} place @param {number} depth @returns {[HTMLElement, number]} */
function drawQuote(lines, place, depth) {
  const inner = [];
  for (let found = QUOTE.exec(lines[place] ?? ""); found; found = QUOTE.exec(lines[place] ?? "")) {
    inner.push(found[1] ?? "");
    place += 1;
    if (place >= lines.length) break;
  }
  return [h("blockquote", {}, ...drawBlocks(inner, depth + 1)), place];
}

/** @param {string[]} lines @param {number} place @param {number} depth @returns {[HTMLElement, number]} */
function drawList(lines, place, depth) {
  const isNumbered = /\d/.test(ITEM.exec(lines[place] ?? "")?.[2] ?? "");
  const first = Number.parseInt(ITEM.exec(lines[place] ?? "")?.[2] ?? "1", 10);
  const list = isNumbered ? h("ol", { start: first === 1 ? null : first }) : h("ul");
  while (place < lines.length) {
    const found = ITEM.exec(lines[place] ?? "");
    if (!found || /\d/.test(found[2] ?? "") !== isNumbered) break;
    const indent = (found[1] ?? "").length + (found[2] ?? "").length + 1;
    const inner = [found[3] ?? ""];
    place += 1;
    while (place < lines.length) {
      const line = lines[place] ?? "";
      const isBlank = line.trim() === "";
      const isInside = line.startsWith(" ".repeat(Math.min(indent, 2)));
      if (isBlank && !(lines[place + 1] ?? "").startsWith(" ".repeat(Math.min(indent, 2)))) break;
      if (!isBlank && !isInside) break;
      inner.push(isBlank ? "" : line.slice(Math.min(indent, line.length - line.trimStart().length)));
      place += 1;
    }
    list.append(h("li", {}, ...flatten(drawBlocks(inner, depth + 1))));
    while (place < lines.length && (lines[place] ?? "").trim() === "" && ITEM.test(lines[place + 1] ?? "")) place += 1;
  }
  return [list, place];
}

/** An item of one paragraph is its words, without space around them. @param {HTMLElement[]} blocks @returns {Node[]} */
function flatten(blocks) {
  const [first, ...rest] = blocks;
  return first instanceof HTMLParagraphElement && first.className === "" ? [...first.childNodes, ...rest] : blocks;
}

/** @param {string[]} lines @param {number} place @returns {[HTMLElement, number]} */
function drawTable(lines, place) {
  const head = splitCells(lines[place] ?? "");
  const rows = [];
  for (place += 2; place < lines.length && (lines[place] ?? "").includes("|"); place++) rows.push(splitCells(lines[place] ?? ""));
  /** @param {"th" | "td"} tag @param {string[]} cells */
  const drawRow = (tag, cells) => h("tr", {}, ...head.map((_, column) => h(tag, {}, ...drawInline(cells[column] ?? ""))));
  const table = h("table", {}, h("thead", {}, drawRow("th", head)), h("tbody", {}, ...rows.map((row) => drawRow("td", row))));
  return [h("div", { class: "md-table", tabindex: "0", role: "group", "aria-label": "Table" }, table), place];
}

/** Whether a line stands between the head and the rows of a table. @param {string} line */
function isDivider(line) {
  return line.includes("-") && splitCells(line).every((cell) => /^:?-+:?$/.test(cell));
}

/** @param {string} line */
function splitCells(line) {
  return line.trim().replace(/^\|/, "").replace(/\|$/, "").split("|").map((cell) => cell.trim());
}

/** @param {string[]} lines @param {number} place @param {number} depth @returns {[HTMLElement, number]} */
function drawParagraph(lines, place, depth) {
  const words = [lines[place] ?? ""];
  for (place += 1; place < lines.length; place++) {
    const line = lines[place] ?? "";
    const isOther = FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line);
    if (line.trim() === "" || (isOther && depth < MAX_DEPTH)) break;
    words.push(line);
  }
  return [h("p", {}, ...drawInline(words.map((line) => line.trimStart()).join("\n"))), place];
}

// Each of these looks ahead on one paragraph only, and to a mark that is there or not: the work is linear.
const INLINE =
  /(?<code>`+)|(?<image>!\[)|(?<link>\[)|(?<strong>\*\*|__)|(?<emphasis>\*|_)|(?<strike>~~)|(?<address>https?:\/\/[^\s<>"'`)\]]{1,2000})|\\(?<escaped>[!-/:-@[-`{-~])/gu;

/** @param {string} text @param {number} [depth] @returns {Child[]} */
function drawInline(text, depth = 0) {
  if (depth > 4) return [text];
  /** @type {Child[]} */
  const parts = [];
  const missing = new Set(); // marks that do not occur further on; they are not looked for again
  let done = 0;
  /** @param {number} at @param {number} next @param {Child} part */
  const add = (at, next, part) => {
    parts.push(text.slice(done, at), part);
    done = next;
  };
  /** @param {string} mark @param {number} from */
  const find = (mark, from) => {
    if (missing.has(mark)) return -1;
    const at = text.indexOf(mark, from);
    if (at < 0) missing.add(mark);
    return at;
  };
  for (const found of text.matchAll(INLINE)) {
    const at = found.index;
    const groups = found.groups ?? {};
    const after = at + found[0].length;
    if (at < done) continue;
    if (groups["escaped"]) {
      add(at, after, groups["escaped"]);
    } else if (groups["code"]) {
      const end = find(groups["code"], after);
      if (end > after) add(at, end + found[0].length, h("code", {}, text.slice(after, end).trim()));
    } else if (groups["address"]) {
      const address = found[0].replace(/[.,;:!?*_]+$/, "");
      add(at, at + address.length, drawLink(address, [address]));
    } else if (groups["link"] || groups["image"]) {
      const middle = find("](", after);
      const end = middle < 0 ? -1 : find(")", middle + 2);
      if (end < 0) continue;
      const words = text.slice(after, middle);
      const address = (text.slice(middle + 2, end).trim().split(/\s/)[0] ?? "").replace(/^<|>$/g, "");
      if (words.includes("[") && !groups["image"]) continue;
      const part = groups["image"] ? drawImageName(words, address) : drawLink(address, drawInline(words, depth + 1));
      if (part !== undefined) add(at, end + 1, part);
    } else {
      const mark = found[0];
      const isWord = mark.startsWith("_") && /\w/.test(text[at - 1] ?? "");
      if (isWord || /\s/.test(text[after] ?? " ")) continue;
      const end = find(mark, after);
      if (end <= after || /\s/.test(text[end - 1] ?? " ")) continue;
      const tag = groups["strong"] ? "strong" : groups["strike"] ? "del" : "em";
      add(at, end + mark.length, h(tag, {}, ...drawInline(text.slice(after, end), depth + 1)));
    }
  }
  parts.push(text.slice(done));
  return parts;
}

/**
 * Draw a link, with the host that it leads to: words can say anything.
 * @param {string} address
 * @param {Child[]} words
 * @returns {HTMLElement | undefined} undefined for what is no address of the web
 */
function drawLink(address, words) {
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  if (!["http:", "https:", "mailto:"].includes(url.protocol)) return undefined;
  const link = h("a", { href: url.href, target: "_blank", rel: "noopener noreferrer nofollow" }, ...words);
  if (url.host === "" || words[0] === address) return link;
  return h("span", {}, link, h("span", { class: "md-host" }, ` (${url.host})`));
}

/** @param {string} words @param {string} address */
function drawImageName(words, address) {
  return h("span", { class: "md-image" }, `[image: ${[words, address].filter(Boolean).join(", ")}]`);
}
