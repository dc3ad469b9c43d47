// @ts-check
// What can be done with runs that were chosen: compare two, save them as a suite or as a test.

import { post } from "./api.js";
import { h } from "./dom.js";

/**
 * @param {() => string[]} chosen the runs that are chosen now, as `source/id`
 * @param {() => void} clear chooses none
 */
export function buildSetButtons(chosen, clear) {
  const count = h("span", { class: "set-count", role: "status" });
  const compare = h("button", { type: "button", class: "button" }, "Compare");
  const suite = h("button", { type: "button", class: "button" }, "Save as suite…");
  const test = h("button", { type: "button", class: "button" }, "Save as test…");
  const none = h("button", { type: "button", class: "link", onclick: clear }, "Clear selection");
  const element = h("div", { class: "set-actions", hidden: true }, count, compare, suite, test, none);
  const openDifferences = () => {
    const keys = chosen();
    if (keys.length !== 2) return false;
    location.hash = `#differences=${keys.join(",")}`;
    return true;
  };
  compare.addEventListener("click", openDifferences);
  suite.addEventListener("click", () => showDialog("suite", chosen()));
  test.addEventListener("click", () => showDialog("test", chosen()));
  return {
    element,
    compare: openDifferences,
    draw() {
      const { length } = chosen();
      element.hidden = length === 0;
      count.textContent = `${length} ${length === 1 ? "run" : "runs"} selected`;
      compare.disabled = length !== 2;
      compare.title = length === 2 ? "" : "Select two runs to compare";
    },
  };
}

const WORDS = {
  suite: [
    "Save as a suite",
    "A file of cases for toolspeak eval: the prompt and tools of each run, and the calls of its first turn as the expected ones.",
    "toolspeak eval --suite suite.jsonl",
  ],
  test: [
    "Save as a test",
    "An archive with a pytest file and a recording of each run, which replays its model and tools. It needs no network and no key.",
    "unzip saved_runs.zip && pytest test_saved_runs.py",
  ],
};

/** @param {"suite" | "test"} form @param {string[]} runs */
function showDialog(form, runs) {
  const [title = "", words = "", command = ""] = WORDS[form];
  const state = h("div", { class: "set-state", role: "status" });
  const dialog = h("dialog", { class: "dialog", "aria-label": title });
  const save = h("button", { type: "button", class: "button button-main" }, runs.length === 1 ? "Save 1 run" : `Save ${runs.length} runs`);
  save.addEventListener("click", async () => {
    save.disabled = true;
    state.replaceChildren(h("p", { class: "quiet" }, "Saving…"));
    try {
      /** @type {{name: string, content: string, count: number, left_out: {title: string, why: string}[]}} */
      const saved = await post("/api/sets", { as: form, runs });
      download(saved.name, saved.content);
      const done = `Saved ${saved.count} ${saved.count === 1 ? "run" : "runs"} as ${saved.name}`;
      const left = saved.left_out.map((each) => h("li", {}, `${each.title}: ${each.why}`));
      state.replaceChildren(
        h("p", {}, done),
        h("pre", { class: "block", tabindex: 0 }, command),
        ...(left.length > 0 ? [h("p", {}, `${left.length} ${left.length === 1 ? "was" : "were"} left out:`), h("ul", {}, ...left)] : []),
      );
    } catch (error) {
      state.replaceChildren(h("p", { class: "remark remark-bad" }, error instanceof Error ? error.message : String(error)));
    }
    save.disabled = false;
  });
  dialog.append(
    h("h2", {}, title),
    h("p", { class: "quiet" }, words, " API keys are removed, and runs with a score of 1 or 2 are left out."),
    state,
    h("div", { class: "dialog-buttons" }, save, h("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Close")),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** @param {string} name @param {string} content in base64 */
function download(name, content) {
  const bytes = Uint8Array.from(atob(content), (char) => char.charCodeAt(0));
  const url = URL.createObjectURL(new Blob([bytes]));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
