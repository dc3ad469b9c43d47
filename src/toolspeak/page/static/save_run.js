// @ts-check
// Saves a run: as one HTML file to send to somebody, as a test, or as a case for `toolspeak eval`.

import { runPath } from "./api.js";
import { h } from "./dom.js";

/** @import { RunKey } from "./types.js" */

/** @param {RunKey} key */
export function buildSaveButton(key) {
  return h("button", { type: "button", class: "link", onclick: () => showDialog(key) }, "Save…");
}

/** @param {RunKey} key */
function showDialog(key) {
  const hidden = h("input", {
    type: "text",
    class: "field",
    placeholder: "password, email",
    "aria-label": "Fields to remove, separated by commas",
  });
  const state = h("p", { class: "quiet", role: "status" });
  /** @param {string} form */
  const save = async (form) => {
    state.textContent = "Saving…";
    const query = new URLSearchParams({ as: form });
    for (const name of hidden.value.split(",")) if (name.trim()) query.append("hide", name.trim());
    try {
      state.textContent = `Saved as ${await download(`${runPath(key)}/export?${query}`)}`;
    } catch (error) {
      state.textContent = error instanceof Error ? error.message : String(error);
    }
  };
  /** @param {string} title @param {string} words @param {string} form @param {Node[]} more */
  const drawForm = (title, words, form, ...more) =>
    h(
      "section",
      { class: "choice" },
      h("div", {}, h("h3", {}, title), h("p", { class: "quiet" }, words), ...more),
      h("button", { type: "button", class: "button", "aria-label": `Save: ${title}`, onclick: () => void save(form) }, "Save"),
    );
  const label = h("label", { class: "labelled" }, "Fields to remove", hidden);
  const dialog = h("dialog", { class: "dialog", "aria-label": "Save the run" });
  dialog.append(
    h("h2", {}, "Save the run"),
    drawForm("HTML file", "Opens anywhere, even offline. API keys are removed.", "html", label),
    drawForm("Test", "A Python test that replays the model's messages and runs your functions.", "test"),
    drawForm("Eval case", "For toolspeak eval; expects the calls of the first turn.", "question"),
    state,
    h("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Close"),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** @param {string} path @returns {Promise<string>} the name of the file */
async function download(path) {
  const response = await fetch(path);
  if (!response.ok) throw new Error((await response.json()).error);
  const name = response.headers.get("content-disposition")?.match(/filename="([^"]+)"/)?.[1] ?? "run";
  const url = URL.createObjectURL(await response.blob());
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
  return name;
}
