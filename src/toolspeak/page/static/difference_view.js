// @ts-check
// How two runs differ: their figures, and step by step their prompts, answers, calls and results, with marks.

import { fetchDifferences, joinKey } from "./api.js";
import { drawError, h } from "./dom.js";
import { formatCost, formatSeconds } from "./format.js";
import { describeEnd } from "./row.js";

/** @import { Differences, DifferentStep, RunKey, Segment } from "./types.js" */

const STATE_WORDS = { same: "same", changed: "differs", first: "only in A", second: "only in B" };

export class DifferenceView {
  /** @param {RunKey} first @param {RunKey} second */
  constructor(first, second) {
    this._keys = /** @type {[RunKey, RunKey]} */ ([first, second]);
    this._all = h("button", { type: "button", class: "toggle", "aria-pressed": "false" }, "Show unchanged steps");
    this._all.addEventListener("click", () => {
      const isShown = this._all.getAttribute("aria-pressed") !== "true";
      this._all.setAttribute("aria-pressed", String(isShown));
      this._body.classList.toggle("has-same", isShown);
    });
    this._body = h("div", { class: "differences-body" }, h("p", { class: "quiet" }, "Comparing…"));
    this.element = h(
      "main",
      { class: "differences", "aria-label": "Differences between two runs" },
      h("a", { class: "back back-always", href: "#" }, "‹ Runs"),
      h("div", { class: "home-head" }, h("h1", {}, "Differences"), this._all),
      this._body,
    );
  }

  async open() {
    try {
      this._draw(await fetchDifferences(...this._keys));
    } catch (error) {
      this._body.replaceChildren(drawError(error));
    }
  }

  /** @param {Differences} differences */
  _draw({ titles, figures, steps, left_out: leftOut }) {
    const same = steps.filter((step) => step.state === "same").length;
    const words = same === steps.length ? "Both runs took the same steps." : `Steps that differ: ${steps.length - same} of ${steps.length}.`;
    this._all.hidden = same === 0;
    this._body.classList.toggle("has-same", this._all.getAttribute("aria-pressed") === "true");
    this._body.replaceChildren(
      h("p", { class: "sums", role: "status" }, words, leftOut > 0 ? ` ${leftOut} further steps were not compared.` : ""),
      this._drawFigures(titles, figures),
      h("ol", { class: "steps" }, ...steps.map((step) => this._drawStep(step))),
    );
  }

  /** @param {Differences["titles"]} titles @param {Differences["figures"]} figures */
  _drawFigures(titles, figures) {
    const heads = titles.map((title, place) =>
      h(
        "th",
        { scope: "col" },
        h("a", { href: `#run=${joinKey(this._keys[place === 0 ? 0 : 1])}` }, h("span", { class: "side-name" }, place === 0 ? "A" : "B"), " ", title || "(no prompt)"),
      ),
    );
    const rows = figures.map(({ name, label, values }) => {
      const texts = values.map((value) => formatFigure(name, value));
      const isDifferent = texts[0] !== texts[1];
      return h(
        "tr",
        { class: isDifferent ? "is-different" : "is-same" },
        h("th", { scope: "row" }, label),
        ...texts.map((text) => h("td", {}, text)),
        h("td", { class: "quiet" }, isDifferent ? describeChange(name, values) : "same"),
      );
    });
    return h(
      "div",
      { class: "figures-box", tabindex: 0, role: "region", "aria-label": "Figures" },
      h(
        "table",
        { class: "figures-table" },
        h("thead", {}, h("tr", {}, h("td", {}), ...heads, h("th", { scope: "col" }, "Difference"))),
        h("tbody", {}, ...rows),
      ),
    );
  }

  /** @param {DifferentStep} step */
  _drawStep(step) {
    const links = step.facts.map((fact, place) =>
      fact === null
        ? null
        : h("a", { class: "link", href: `#run=${joinKey(this._keys[place === 0 ? 0 : 1])}&fact=${fact}` }, place === 0 ? "in A" : "in B"),
    );
    return h(
      "li",
      { class: `step step-${step.state} step-${step.kind}` },
      h(
        "div",
        { class: "step-head" },
        h("span", { class: "step-label" }, step.label),
        h("span", { class: `badge badge-${step.state}` }, STATE_WORDS[step.state]),
        ...links,
      ),
      step.text ? h("p", { class: "quiet step-text" }, step.text) : null,
      ...(step.parts ?? []).map((part) => {
        if (part.state === "same") return part.text ? h("p", { class: "quiet step-text" }, `${part.label}: ${part.text}`) : null;
        const [first, second] = part.texts ?? [null, null];
        if (part.label === "tokens") return drawTokens(first, second);
        return h(
          "div",
          { class: "step-part" },
          h("h3", {}, part.label),
          h("div", { class: "pair" }, drawSide("A", first, "del"), drawSide("B", second, "ins")),
        );
      }),
    );
  }
}

/** @param {string} name @param {Segment[] | null} segments @param {"del" | "ins"} tag */
function drawSide(name, segments, tag) {
  if (segments === null) return h("div", { class: "pair-side is-missing" }, h("span", { class: "quiet" }, `not in ${name}`));
  return h(
    "div",
    { class: "pair-side" },
    h("span", { class: "side-name" }, name),
    h("pre", { class: "pair-text" }, ...segments.map(([mark, text]) => (mark === "" ? text : h(tag, {}, text)))),
  );
}

/** Draw on one line what a turn has read and written in both runs. @param {(Segment[] | null)[]} sides */
function drawTokens(...sides) {
  const texts = sides.flatMap((segments) => (segments === null ? [] : [segments.map(([, text]) => text).join("")]));
  return h("p", { class: "quiet step-text" }, `tokens: ${texts.join("  →  ")}`);
}

/** @param {string} name @param {string | number | null} value */
function formatFigure(name, value) {
  if (value === null || value === undefined) return name === "model" || name === "dialect" || name === "reason" ? "–" : "0";
  if (name === "reason") return describeEnd(String(value));
  if (typeof value !== "number") return value;
  if (name === "cost") return formatCost(value);
  return name === "seconds" ? formatSeconds(value) : value.toLocaleString("en");
}

/** @param {string} name @param {[string | number | null, string | number | null]} values */
function describeChange(name, [first, second]) {
  const [from, to] = [first ?? 0, second ?? 0];
  if (typeof from !== "number" || typeof to !== "number") return "differs";
  const sign = to > from ? "+" : "−";
  const part = from > 0 ? ` (${sign}${Math.round((Math.abs(to - from) / from) * 100)} %)` : "";
  return `${sign}${formatFigure(name, Math.abs(to - from))}${part}`;
}
