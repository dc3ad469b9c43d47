// @ts-check
// What the address behind `#` can name beside one run: `#play`, `#chat`, `#chat=playground/a`, and
// `#compare=playground/a,playground/b`.

import { ChatView } from "./chat_view.js";
import { CompareView } from "./compare_view.js";
import { h } from "./dom.js";
import { setPlayground } from "./go_on.js";
import { Playground } from "./playground.js";

/** @import { RunKey, SourceList } from "./types.js" */

export class PlaygroundPages {
  constructor() {
    this._play = h("a", { class: "play-link", href: "#play" }, "Playground");
    this._chat = h("a", { class: "play-link", href: "#chat" }, "Chat");
    this._links = h("div", { class: "play-links" }, this._chat, this._play);
    this._playground = new Playground();
    /** @type {CompareView | ChatView | undefined} */
    this._opened = undefined;
    this._isThere = false;
    this._hasRuns = false;
  }

  /** Show the links to the playground, if there is one. @param {SourceList[]} sources @param {Element} above */
  note(sources, above) {
    this._isThere = sources.some((source) => source.name === "playground");
    this._hasRuns = sources.some((source) => source.runs.length > 0);
    if (this._isThere && !this._links.isConnected) above.after(this._links);
    setPlayground(this._isThere);
  }

  /** @returns {HTMLElement | undefined} what the address names; undefined if it names a run, or nothing */
  open() {
    const parameters = new URLSearchParams(location.hash.slice(1));
    const isFirst = this._isThere && !this._hasRuns && location.hash.length < 2;
    const isPlayground = parameters.has("play") || isFirst;
    const isChat = this._isThere && parameters.has("chat");
    this._play.toggleAttribute("aria-current", isPlayground);
    this._chat.toggleAttribute("aria-current", isChat);
    const [chat] = readKey(parameters.get("chat") ?? "");
    const opened = this._opened;
    if (isChat && opened instanceof ChatView && chat !== undefined && chat.id === opened.key?.id) return opened.element;
    opened?.close();
    this._opened = undefined;
    if (isChat) {
      const view = (this._opened = new ChatView(chat));
      void view.open();
      document.title = "Chat – toolspeak";
      return view.element;
    }
    if (isPlayground) {
      void this._playground.open();
      document.title = "Playground – toolspeak";
      return this._playground.element;
    }
    const keys = (parameters.get("compare") ?? "").split(",").flatMap(readKey);
    if (keys.length === 0) return undefined;
    const compared = (this._opened = new CompareView(keys));
    void compared.open();
    document.title = "Side by side – toolspeak";
    return compared.element;
  }
}

/** @param {string} text @returns {RunKey[]} */
function readKey(text) {
  const slash = text.indexOf("/");
  return slash > 0 ? [{ source: text.slice(0, slash), id: text.slice(slash + 1) }] : [];
}
