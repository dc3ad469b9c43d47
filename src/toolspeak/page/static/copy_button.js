// @ts-check
// A button that copies a text.

import { h } from "./dom.js";

/**
 * Build a button that copies a text.
 * @param {string} what
 * @param {() => string | Promise<string>} read
 */
export function buildCopyButton(what, read) {
  const button = h("button", { type: "button", class: "link copy", "aria-label": `Copy ${what}` }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(await read());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Your browser doesn't allow it";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  return button;
}
