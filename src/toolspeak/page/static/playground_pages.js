// @ts-check
// What the address behind `#` can name beside one run: `#play`, and `#compare=playground/a,playground/b`.

import { CompareView } from "./compare_view.js";
import { h } from "./dom.js";
import { setPlayground } from "./go_on.js";
import { Playground } from "./playground.js";

/** @import { RunKey, SourceList } from "./types.js" */

export class PlaygroundPages {
  constructor() {
    this.link = h("a", { class: "play-link", href: "#play", hidden: true }, "Playground");
    this._playground = new Playground();
    /** @type {CompareView | undefined} */
    this._compared = undefined;
    this._isThere = false;
    this._hasRuns = false;
  }

  /** @param {SourceList[]} sources */
  note(sources) {
    this._isThere = sources.some((source) => source.name === "playground");
    this._hasRuns = sources.some((source) => source.runs.length > 0);
    this.link.hidden = !this._isThere;
    setPlayground(this._isThere);
  }

  /** @returns {HTMLElement | undefined} what the address names; undefined if it names a run, or nothing */
  open() {
    this._compared?.close();
    this._compared = undefined;
    const parameters = new URLSearchParams(location.hash.slice(1));
    const isFirst = this._isThere && !this._hasRuns && location.hash.length < 2;
    const isPlayground = parameters.has("play") || isFirst;
    if (isPlayground) this.link.setAttribute("aria-current", "page");
    else this.link.removeAttribute("aria-current");
    if (isPlayground) {
      void this._playground.open();
      document.title = "Playground – toolspeak";
      return this._playground.element;
    }
    const keys = (parameters.get("compare") ?? "").split(",").flatMap(readKey);
    if (keys.length === 0) return undefined;
    this._compared = new CompareView(keys);
    void this._compared.open();
    document.title = "Side by side – toolspeak";
    return this._compared.element;
  }
}

/** @param {string} text @returns {RunKey[]} */
function readKey(text) {
  const slash = text.indexOf("/");
  return slash > 0 ? [{ source: text.slice(0, slash), id: text.slice(slash + 1) }] : [];
}
