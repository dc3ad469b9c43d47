// @ts-check
// Several runs side by side: each in a column of its own, followed as it goes on.

import { h } from "./dom.js";
import { RunView } from "./run_view.js";

/** @import { RunKey } from "./types.js" */

export class CompareView {
  /** @param {RunKey[]} keys */
  constructor(keys) {
    this._views = keys.map((key) => new RunView(key, () => {}));
    this.element = h(
      "div",
      { class: "compare" },
      ...this._views.map((view) => h("div", { class: "compare-column" }, view.element)),
    );
  }

  async open() {
    await Promise.all(this._views.map((view) => this._openOne(view)));
  }

  /** @param {RunView} view */
  async _openOne(view) {
    const alone = h("a", { class: "link", href: `#run=${view.key.source}/${view.key.id}` }, "Open this run");
    view.element.querySelector(".run-tools")?.append(alone);
    await view.open();
  }

  close() {
    for (const view of this._views) view.close();
  }
}
