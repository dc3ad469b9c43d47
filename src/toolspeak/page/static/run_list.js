// @ts-check
// The list of runs, by their sources.

import { h } from "./dom.js";
import { formatTime } from "./format.js";
import { describeStatus, toneOf } from "./run_table.js";
import { VirtualList } from "./virtual_list.js";

/** @import { Entry, RunKey, SourceList } from "./types.js" */

/** @typedef {{source: SourceList, entry?: Entry}} Line */

export class RunList {
  /** @param {(key: RunKey) => void} onOpen */
  constructor(onOpen) {
    this._onOpen = onOpen;
    /** @type {Map<string, Line>} */
    this._lines = new Map();
    this._current = "";
    /** @type {VirtualList<string>} */
    this._list = new VirtualList({ label: "Runs", draw: (key) => this._draw(key), estimate: () => 62 });
    this.element = this._list.element;
    this.element.classList.add("run-list");
    /** @type {SourceList[]} */
    this._sources = [];
    this.none = h("p", { class: "quiet none", role: "status", hidden: true });
    this.filter = h("input", {
      type: "search",
      class: "field filter",
      placeholder: "Filter runs",
      "aria-label": "Filter runs",
      oninput: () => this.show(this._sources),
    });
  }

  focus() {
    this.filter.focus();
  }

  /** @param {SourceList[]} sources */
  show(sources) {
    this._sources = sources;
    this._lines.clear();
    const words = this.filter.value.trim().toLowerCase();
    for (const source of sources) {
      this._lines.set(source.name, { source });
      for (const entry of source.runs) {
        const text = `${entry.title} ${entry.where} ${entry.model}`.toLowerCase();
        if (text.includes(words)) this._lines.set(`${source.name}/${entry.id}`, { source, entry });
      }
    }
    const isEmpty = words !== "" && [...this._lines.values()].every((line) => line.entry === undefined);
    this.none.hidden = !isEmpty;
    this.none.textContent = isEmpty ? "No runs match." : "";
    this._list.redrawAll();
    this._list.setKeys([...this._lines.keys()]);
  }

  /** @param {RunKey | undefined} key */
  mark(key) {
    this._current = key ? `${key.source}/${key.id}` : "";
    this._list.redrawAll();
    if (key) this._list.scrollTo(this._current); // it was opened elsewhere, perhaps
  }

  /** @param {string} key */
  _draw(key) {
    const line = /** @type {Line} */ (this._lines.get(key));
    const { source, entry } = line;
    if (entry === undefined) {
      const words = source.failure || (source.runs.length === 0 ? "No runs yet." : "");
      return h(
        "div",
        { class: "item source" },
        h("h2", {}, source.label),
        words ? h("p", { class: source.failure ? "remark remark-bad" : "quiet" }, words) : null,
      );
    }
    const facts = source.name === "playground" ? [entry.model] : [entry.where, entry.model]; // its files have no names
    const flags = listFlags(entry);
    const isCurrent = key === this._current;
    return h(
      "div",
      { class: "item" },
      h(
        "button",
        {
          class: `entry entry-${toneOf(entry)}`,
          type: "button",
          title: describeStatus(entry),
          "aria-current": isCurrent ? "true" : undefined,
          onclick: () => this._onOpen({ source: source.name, id: entry.id }),
        },
        h("span", { class: "entry-title" }, entry.title || "(no prompt)"),
        h("span", { class: `entry-facts${flags.length > 0 ? " is-flagged" : ""}` }, [...flags, ...facts].filter(Boolean).join(" · ")),
        h("span", { class: "entry-time" }, entry.updated === null ? "" : formatTime(entry.updated)),
      ),
    );
  }
}

/** Say what must not be overlooked: that a run waits, and how many errors it has. @param {Entry} entry */
function listFlags(entry) {
  const flags = entry.status === "paused" ? ["waiting"] : [];
  if (entry.errors) flags.push(entry.errors === 1 ? "1 error" : `${entry.errors} errors`);
  return flags;
}
