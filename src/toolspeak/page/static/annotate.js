// @ts-check
// What people say of a run: a score, a note and tags. They stand beside the run, whose facts never change.

import { fetchAnnotation, saveAnnotation } from "./api.js";
import { h, showControls } from "./dom.js";

/** @import { Annotation, RunKey } from "./types.js" */

const SCORE_WORDS = ["bad", "poor", "fair", "good", "very good"];

/**
 * Build the button that shows what was said of a run, and opens the dialog in which more is said.
 * @param {RunKey} key
 */
export function buildNotesButton(key) {
  const button = h("button", { type: "button", class: "link notes-button", hidden: true }, "Score, note, tags…");
  /** @type {Annotation} */
  let annotation = { score: null, note: "", tags: [] };
  const draw = () => {
    const said = [annotation.score ? `${annotation.score} of 5` : "", ...annotation.tags, annotation.note ? "note" : ""].filter(Boolean);
    button.replaceChildren(said.length > 0 ? h("span", {}, said.join(" · ")) : "Score, note, tags…");
    button.title = showControls(annotation.note);
  };
  button.addEventListener("click", () =>
    showDialog(key, annotation, (saved) => {
      annotation = saved;
      draw();
    }),
  );
  fetchAnnotation(key).then(
    ({ can_annotate: canAnnotate, ...known }) => {
      annotation = known;
      button.hidden = !canAnnotate;
      draw();
    },
    () => {}, // the run says itself why it cannot be read
  );
  return button;
}

/**
 * @param {RunKey} key
 * @param {Annotation} annotation
 * @param {(saved: Annotation) => void} onSave
 */
function showDialog(key, annotation, onSave) {
  const scores = SCORE_WORDS.map((words, place) => {
    const box = h("input", { type: "radio", name: "score", value: place + 1 });
    box.checked = annotation.score === place + 1;
    return { box, element: h("label", { class: "chip" }, box, h("span", {}, `${place + 1} ${words}`)) };
  });
  const noScore = h("input", { type: "radio", name: "score", value: "" });
  noScore.checked = annotation.score === null;
  const note = h("textarea", { class: "field", rows: 4, maxlength: 10_000, "aria-label": "Note" });
  note.value = annotation.note;
  const tags = h("input", { type: "text", class: "field", placeholder: "billing, to review", "aria-label": "Tags, separated by commas" });
  tags.value = annotation.tags.join(", ");
  const state = h("p", { class: "quiet", role: "status" });
  const dialog = h("dialog", { class: "dialog notes-dialog", "aria-label": "Review this run" });
  const save = h("button", { type: "button", class: "button button-main" }, "Save");
  save.addEventListener("click", async () => {
    const chosen = scores.find(({ box }) => box.checked)?.box.value;
    save.disabled = true;
    try {
      onSave(
        await saveAnnotation(key, {
          score: chosen ? Number(chosen) : null,
          note: note.value,
          tags: tags.value.split(",").map((tag) => tag.trim()).filter(Boolean),
        }),
      );
      dialog.close();
    } catch (error) {
      state.textContent = error instanceof Error ? error.message : String(error);
    }
    save.disabled = false;
  });
  dialog.append(
    h("h2", {}, "Review this run"),
    h(
      "fieldset",
      { class: "chips" },
      h("legend", {}, "Score"),
      h("label", { class: "chip" }, noScore, h("span", {}, "none")),
      ...scores.map(({ element }) => element),
    ),
    h("label", { class: "labelled" }, "Note", note),
    h("label", { class: "labelled" }, "Tags", tags),
    h("p", { class: "quiet" }, "Saved beside the run. The run itself doesn't change."),
    state,
    h("div", { class: "dialog-buttons" }, save, h("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Cancel")),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
