// @ts-check
// The playground: a prompt, the models and dialects that answer it, and the tools. One run opens as any run does; several
// are watched side by side.

import { drawError, h } from "./dom.js";
import { fetchOffer, startRun } from "./playground_api.js";

/** @import { RunKey } from "./types.js" */
/** @import { Offer, Setup } from "./playground_api.js" */

const MAX_RUNS = 4;
const LIMIT_WORDS = { turns: "Turns", calls: "Calls", tokens: "Tokens", seconds: "Seconds", cost: "US dollars" };

export class Playground {
  constructor() {
    this.element = h("main", { class: "playground", "aria-label": "Playground" }, h("p", { class: "quiet" }, "Loading…"));
    this._isDrawn = false;
  }

  async open() {
    if (this._isDrawn) return;
    try {
      this._draw(await fetchOffer());
      this._isDrawn = true;
    } catch (error) {
      this.element.replaceChildren(drawError(error));
    }
  }

  /** @param {Offer} offer */
  _draw(offer) {
    const prompt = h("textarea", {
      class: "field prompt",
      rows: 4,
      placeholder: "Ask a question",
      "aria-label": "Prompt",
    });
    const system = h("textarea", { class: "field", rows: 3, "aria-label": "System prompt" });
    const models = drawChips("Models", offer.models, offer.models.slice(0, 1));
    const dialects = drawChips("Dialects", offer.dialects, ["auto"]);
    const tools = drawChips(
      "Tools",
      offer.tools.map((tool) => tool.name),
      offer.tools.map((tool) => tool.name),
      (name) => describeTool(offer, name),
    );
    const limits = Object.entries(offer.limits).map(([name, value]) => drawLimit(name, value));
    const state = h("p", { class: "quiet", role: "status" });
    const ask = h("button", { type: "button", class: "button button-main" }, "Ask");

    /** @returns {Setup[]} */
    const listSetups = () => {
      const others = {
        system: system.value,
        tools: tools.chosen(),
        limits: Object.fromEntries(limits.map(({ name, input }) => [name, input.value === "" ? null : Number(input.value)])),
      };
      return models.chosen().flatMap((model) => dialects.chosen().map((dialect) => ({ model, dialect, ...others })));
    };
    const describe = () => {
      const { length } = listSetups();
      ask.disabled = length === 0 || length > MAX_RUNS;
      if (length === 0) state.textContent = "Choose a model and a dialect.";
      else if (length > MAX_RUNS) state.textContent = `${length} runs don't fit side by side; choose at most ${MAX_RUNS}.`;
      else state.textContent = length === 1 ? "" : `${length} runs, side by side`;
    };
    const send = async () => {
      ask.disabled = true;
      try {
        /** @type {RunKey[]} */
        const runs = [];
        for (const setup of listSetups()) runs.push(await startRun(prompt.value, setup));
        const names = runs.map((run) => `${run.source}/${run.id}`).join(",");
        location.hash = runs.length === 1 ? `#run=${names}` : `#compare=${names}`;
        describe();
      } catch (error) {
        describe();
        state.textContent = error instanceof Error ? error.message : String(error);
      }
    };
    ask.addEventListener("click", () => void send());
    prompt.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !ask.disabled) void send();
    });
    this.element.replaceChildren(
      h("a", { class: "back", href: "#", "aria-label": "All runs" }, "‹ Runs"),
      h("h1", {}, "Playground"),
      prompt,
      h("div", { class: "ask" }, ask, state),
      h("section", { class: "setup" }, models.element, dialects.element, offer.tools.length > 0 ? tools.element : noTools()),
      h(
        "details",
        { class: "more" },
        h("summary", {}, "System prompt and limits"),
        h("label", { class: "labelled" }, "System prompt", system),
        h("div", { class: "choices" }, ...limits.map(({ element }) => element)),
      ),
    );
    this.element.addEventListener("change", describe);
    describe();
    prompt.focus();
  }
}

function noTools() {
  return h(
    "p",
    { class: "quiet" },
    "No tools yet. Add some when you start the page: ",
    h("code", {}, "toolspeak page --tools app.py"),
  );
}

/** @param {Offer} offer @param {string} name */
function describeTool(offer, name) {
  const tool = offer.tools.find((each) => each.name === name);
  if (tool === undefined) return "";
  return tool.approve ? `${tool.description} Needs approval.` : tool.description;
}

/**
 * Draw names of which several can be chosen.
 * @param {string} label
 * @param {string[]} names
 * @param {string[]} chosen
 * @param {(name: string) => string} [explain]
 */
function drawChips(label, names, chosen, explain = () => "") {
  const boxes = names.map((name) => {
    const box = h("input", { type: "checkbox", value: name });
    box.checked = chosen.includes(name);
    return box;
  });
  const element = h(
    "fieldset",
    { class: "chips" },
    h("legend", {}, label),
    ...boxes.map((box, place) => {
      const name = names[place] ?? "";
      return h("label", { class: "chip", title: explain(name) || null }, box, h("span", {}, name));
    }),
  );
  return { element, chosen: () => boxes.filter((box) => box.checked).map((box) => box.value) };
}

/** @param {string} name @param {number | null} value */
function drawLimit(name, value) {
  const words = LIMIT_WORDS[/** @type {keyof typeof LIMIT_WORDS} */ (name)] ?? name;
  const input = h("input", { type: "number", class: "field", min: 0, step: "any", placeholder: "none", "aria-label": words });
  input.value = value === null ? "" : String(value);
  return { name, input, element: h("label", { class: "labelled" }, words, input) };
}
