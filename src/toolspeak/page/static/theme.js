// @ts-check
// Light, dark, or as the system has it. The choice is kept by the browser.

import { h } from "./dom.js";

const KEY = "toolspeak-theme";
const THEMES = /** @type {const} */ (["auto", "light", "dark"]);
const WORDS = { auto: "Theme: system", light: "Theme: light", dark: "Theme: dark" };
const SIGNS = { auto: "◐", light: "○", dark: "●" };

export function buildThemeButton() {
  const kept = localStorage.getItem(KEY);
  let theme = THEMES.find((each) => each === kept) ?? "auto";
  const button = h("button", { type: "button", class: "icon-button" });
  const apply = () => {
    document.documentElement.dataset["theme"] = theme;
    button.textContent = SIGNS[theme];
    button.title = WORDS[theme];
    button.setAttribute("aria-label", WORDS[theme]);
  };
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "auto";
    localStorage.setItem(KEY, theme);
    apply();
  });
  apply();
  return button;
}
