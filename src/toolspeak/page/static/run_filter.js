// @ts-check
// Which runs of a list are shown: by how they went, by model, tool, tag and source, and by what was said in them.

import { searchRuns } from "./api.js";
import { h } from "./dom.js";
import { formatCount } from "./format.js";

/** @import { Entry } from "./types.js" */
/** @import { ListedRun } from "./run_catalogue.js" */

/** @typedef {{name: string, words: string, title: string, has: (entry: Entry) => boolean}} Kind */

/** @type {Kind[]} */
const KINDS = [
  { name: "waiting", words: "Waiting", title: "Runs waiting for an approval, a timer or a signal", has: (entry) => entry.status === "paused" },
  {
    name: "running",
    words: "Running",
    title: "Runs in progress or waiting for a worker",
    has: (entry) => entry.status === "running" || entry.status === "queued",
  },
  {
    name: "failed",
    words: "Unanswered",
    title: "Runs that ended without an answer, or can't be read",
    has: (entry) => (entry.status === "done" && entry.reason !== "answered") || entry.unreadable !== undefined,
  },
  { name: "errors", words: "With errors", title: "Runs with a failed call or turn", has: (entry) => !!entry.errors },
  { name: "repairs", words: "With repairs", title: "Runs with a malformed call that was repaired", has: (entry) => !!entry.repairs },
  { name: "refusals", words: "With refusals", title: "Runs with a call that was refused", has: (entry) => !!entry.refusals },
  {
    name: "repeats",
    words: "Same call twice",
    title: "Runs in which the same call, with the same arguments, took effect more than once",
    has: (entry) => !!entry.repeats,
  },
  { name: "noted", words: "With notes", title: "Runs with a score or a note", has: (entry) => !!entry.note || !!entry.score },
];

/**
 * A choice among values that the runs have.
 * @typedef {{name: string, label: string, all: string, list: (run: ListedRun) => string[]}} Choice
 */

/** @type {Choice[]} */
const CHOICES = [
  { name: "source", label: "Source", all: "All sources", list: ({ source }) => [source.label] },
  { name: "model", label: "Model", all: "All models", list: ({ entry }) => (entry.model ? [entry.model] : []) },
  { name: "dialect", label: "Dialect", all: "All dialects", list: ({ entry }) => (entry.dialect ? [entry.dialect] : []) },
  { name: "tool", label: "Tool", all: "All tools", list: ({ entry }) => (entry.tools ?? []).map(([name]) => name) },
  { name: "tag", label: "Tag", all: "All tags", list: ({ entry }) => [...(entry.tags ?? []), ...(entry.labels ?? [])] },
];

export class RunFilter {
  /** @param {() => void} onChange */
  constructor(onChange) {
    this._onChange = onChange;
    this._kind = "";
    /** @type {Map<string, string>} excerpts by run; undefined if nothing is looked for */
    this._found = new Map();
    this._words = "";
    this._failure = "";
    this._isSearching = false;
    this.field = h("input", {
      type: "search",
      class: "field search",
      placeholder: "Search prompts, answers, calls and results",
      "aria-label": "Search all runs",
      oninput: () => this._typed(),
    });
    this.chips = h("div", { class: "chips-line", role: "group", "aria-label": "Show" });
    this._selects = new Map(
      CHOICES.map((choice) => [choice.name, h("select", { class: "field", "aria-label": choice.label, onchange: onChange })]),
    );
    this.choices = h("div", { class: "choices-line" }, ...this._selects.values());
  }

  /** What is looked for, if anything. */
  get words() {
    return this._words;
  }

  get failure() {
    return this._failure;
  }

  get isActive() {
    return this._words !== "" || this._isNarrowed;
  }

  get _isNarrowed() {
    return this._kind !== "" || [...this._selects.values()].some((select) => select.value !== "");
  }

  /** Say that no run is shown, and why. */
  describeMiss() {
    if (this._words === "") return "No runs match these filters.";
    return this._isNarrowed ? `No runs match “${this._words}” and these filters.` : `No runs match “${this._words}”.`;
  }

  clear() {
    this._kind = "";
    this._words = this.field.value = "";
    this._found.clear();
    for (const select of this._selects.values()) select.value = "";
    this._onChange();
  }

  /** @param {string} key @returns {string} what was found in a run, with marks */
  excerptOf(key) {
    return this._words ? this._found.get(key) ?? "" : "";
  }

  /** Return the runs that are shown, and draw what they can be filtered by. @param {ListedRun[]} runs */
  apply(runs) {
    const narrowed = runs.filter((run) => this._isFound(run) && this._isChosen(run));
    this._drawChips(narrowed);
    this._drawChoices(runs);
    const kind = KINDS.find((each) => each.name === this._kind);
    return kind === undefined ? narrowed : narrowed.filter((run) => kind.has(run.entry));
  }

  /** Look again: more runs may have been read. */
  async search() {
    const words = this.field.value.trim();
    if (words === "") {
      this._words = this._failure = "";
      this._onChange();
      return;
    }
    try {
      const { found, further } = await searchRuns(words);
      if (words !== this.field.value.trim()) return; // somebody has typed on
      this._found = new Map(found.map((each) => [`${each.source}/${each.id}`, each.excerpt]));
      for (const [source, ids] of Object.entries(further)) for (const id of ids) this._found.set(`${source}/${id}`, "");
      this._failure = "";
    } catch (error) {
      this._found.clear();
      this._failure = error instanceof Error ? error.message : String(error);
    }
    this._words = words;
    this._onChange();
  }

  /** Search at once, and again if somebody has typed on meanwhile: one search at a time. */
  async _typed() {
    if (this._isSearching) return;
    this._isSearching = true;
    for (let words; words !== this.field.value; ) {
      words = this.field.value;
      await this.search();
    }
    this._isSearching = false;
  }

  /** @param {ListedRun} run */
  _isFound(run) {
    return this._words === "" || this._found.has(run.key);
  }

  /** @param {ListedRun} run */
  _isChosen(run) {
    return CHOICES.every(({ name, list }) => {
      const value = this._selects.get(name)?.value;
      if (!value) return true;
      if (name === "tool" && this._kind === "repeats") return (run.entry.repeated ?? []).some(([tool]) => tool === value);
      return list(run).includes(value);
    });
  }

  /** @param {ListedRun[]} runs */
  _drawChips(runs) {
    /** @param {string} name @param {string} words @param {number} count @param {string} [title] */
    const draw = (name, words, count, title) => {
      const choose = () => {
        this._kind = name === this._kind ? "" : name;
        this._onChange();
        /** @type {HTMLElement | null} */ (this.chips.querySelector('[aria-pressed="true"]'))?.focus();
      };
      const label = [words, " ", h("span", { class: "chip-count" }, formatCount(count))];
      return h("button", { type: "button", class: `toggle kind-${name || "all"}`, "aria-pressed": String(name === this._kind), title, onclick: choose }, ...label);
    };
    const kinds = KINDS.map((kind) => ({ kind, count: runs.filter((run) => kind.has(run.entry)).length }));
    this.chips.replaceChildren(
      draw("", "All", runs.length),
      ...kinds
        .filter(({ kind, count }) => count > 0 || kind.name === this._kind)
        .map(({ kind, count }) => draw(kind.name, kind.words, count, kind.title)),
    );
  }

  /** @param {ListedRun[]} runs */
  _drawChoices(runs) {
    for (const { name, all, list } of CHOICES) {
      const select = this._selects.get(name);
      if (select === undefined) continue;
      const values = [...new Set(runs.flatMap(list))].sort();
      const chosen = select.value;
      const texts = [...select.options].map((option) => option.value).slice(1);
      select.hidden = values.length < 2 && chosen === "";
      if (texts.length === values.length && texts.every((text, place) => text === values[place])) continue;
      select.replaceChildren(
        h("option", { value: "" }, all),
        ...values.map((value) => h("option", { value }, value.length > 60 ? `${value.slice(0, 59)}…` : value)),
      );
      select.value = values.includes(chosen) ? chosen : "";
    }
  }
}
