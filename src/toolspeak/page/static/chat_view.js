// @ts-check
// A chat: the messages of a conversation, the calls in between, what is arriving, and where somebody writes. Each message
// of a person starts a run that begins with all that was said before, so the last run holds the whole chat.

import { fetchConversation, fetchOutline, followRun, post, runPath } from "./api.js";
import { ApprovalList } from "./approval.js";
import { Composer } from "./composer.js";
import { buildCopyButton } from "./copy_button.js";
import { drawError, h } from "./dom.js";
import { drawMarkdown } from "./markdown.js";
import { goOn, startRun } from "./playground_api.js";
import { describeEnd, STAGES } from "./row.js";
import { RunModel } from "./run_model.js";

/** @import { ChatCall, ChatMessage, RunKey } from "./types.js" */

export class ChatView {
  /** @param {RunKey | undefined} key the last run of the chat; undefined for a new one */
  constructor(key) {
    this.key = key;
    /** @type {RunModel | undefined} */
    this._model = undefined;
    this._title = h("h1", {}, "Chat");
    this._links = h("p", { class: "run-facts" });
    this._messages = h("div", { class: "chat-messages", role: "log", "aria-label": "Messages", tabindex: "0" });
    this._arriving = h("div", { class: "chat-message chat-assistant", hidden: true });
    this._asks = h("div", {});
    this._note = h("div", { class: "chat-note" });
    this._scroller = h("div", { class: "chat-scroll" }, this._messages, this._arriving, this._note);
    this._composer = new Composer({
      label: "Message",
      send: (prompt, setup, attachments) => this._send(prompt, setup, attachments),
      stop: () => this._cancel(),
    });
    this.element = h(
      "main",
      { class: "chat", "aria-label": "Chat" },
      h("header", { class: "chat-head" }, h("a", { class: "back", href: "#", "aria-label": "All runs" }, "‹ Runs"), this._title, this._links),
      this._scroller,
      this._asks,
      this._composer.element,
    );
    this._stop = () => {};
    this._isClosed = false;
    this._version = 0;
  }

  async open() {
    void this._composer.open();
    if (this.key === undefined) {
      this._messages.replaceChildren(h("p", { class: "quiet chat-welcome" }, "Ask anything. The model can use the tools selected below."));
      return;
    }
    await this._show(this.key);
  }

  close() {
    this._isClosed = true;
    this._stop();
  }

  /** Show the run of the last message, and follow it. @param {RunKey} key */
  async _show(key) {
    this._stop();
    this.key = key;
    try {
      const model = (this._model = new RunModel(await fetchOutline(key)));
      this._asks.replaceChildren();
      const asks = new ApprovalList(key, (element) => this._asks.append(element), (row) => this._openRow(row));
      await this._draw(model);
      asks.update(model);
      this._composer.setBusy(model.isGoingOn);
      if (!model.isGoingOn || this._isClosed) return;
      this._stop = followRun(key, model.facts, {
        outline: (outline) => {
          model.mergeOutline(outline);
          asks.update(model);
          void this._draw(model);
        },
        changes: (changes) => {
          const { rows } = model.apply(changes);
          if (rows.size > 0) {
            asks.update(model);
            void this._draw(model);
          } else {
            this._drawArriving(model);
          }
        },
        end: (failure) => {
          model.isLive = false;
          model.failure = failure;
          asks.update(model);
          this._composer.setBusy(false);
          void this._draw(model);
        },
      });
    } catch (error) {
      this._messages.replaceChildren(drawError(error));
    }
  }

  /** @param {RunModel} model */
  async _draw(model) {
    const version = ++this._version;
    const { key } = this;
    if (key === undefined) return;
    const messages = await fetchConversation(key);
    if (version !== this._version || this._isClosed) return; // something newer is drawn
    const isAtEnd = this._isAtEnd;
    this._title.textContent = "Chat";
    document.title = `${model.summary.title || "Chat"} – toolspeak`;
    this._links.replaceChildren(
      h("span", { class: "run-name" }, model.summary.model ?? ""),
      h("span", { class: "run-name" }, model.summary.dialect ?? ""),
      h("a", { href: `#run=${key.source}/${key.id}` }, "Show the run"),
      h("a", { href: "#chat" }, "New chat"),
    );
    this._messages.replaceChildren(...messages.map((message) => this._drawMessage(message)));
    this._note.replaceChildren(...this._drawNotes(model));
    this._drawArriving(model);
    if (isAtEnd || !model.isGoingOn) this._scroller.scrollTop = this._scroller.scrollHeight;
  }

  get _isAtEnd() {
    const { scrollTop, clientHeight, scrollHeight } = this._scroller;
    return scrollTop + clientHeight >= scrollHeight - 60;
  }

  /** @param {RunModel} model */
  _drawNotes(model) {
    const { status, reason = "", detail = "" } = model.summary;
    if (model.failure) return [h("p", { class: "remark remark-bad" }, model.failure)];
    if (status !== "done" || reason === "answered") return [];
    return [h("p", { class: "remark remark-bad", role: "status" }, h("strong", {}, describeEnd(reason)), detail ? `: ${detail}` : ".")];
  }

  /** @param {ChatMessage} message */
  _drawMessage(message) {
    const isModel = message.role === "assistant";
    const parts = message.calls.map((call) => this._drawCall(call));
    const element = h("article", { class: `chat-message chat-${isModel ? "assistant" : "user"}`, "aria-label": isModel ? "What the model wrote" : "What you wrote" });
    if (message.text.trim() !== "") {
      element.append(isModel ? drawMarkdown(message.text) : h("p", { class: "chat-words" }, message.text));
    }
    if (message.is_cut && message.row !== undefined) {
      const row = message.row;
      element.append(h("button", { type: "button", class: "link", onclick: () => this._openRow(row) }, "Show all"));
    }
    for (const name of message.media) element.append(h("span", { class: "composer-file" }, name));
    element.append(...parts);
    if (isModel && message.text.trim() !== "") element.append(buildCopyButton("this answer", () => message.text));
    return element;
  }

  /** @param {ChatCall} call */
  _drawCall(call) {
    const stage = STAGES[/** @type {keyof typeof STAGES} */ (call.stage)] ?? call.stage;
    const isBad = call.stage === "failed" || call.stage === "malformed" || call.stage === "refused";
    const words = [
      h("span", { class: "row-label" }, call.name || "a call"),
      h("span", { class: "row-text" }, `(${call.arguments})${call.outcome ? `  →  ${call.outcome}` : ""}`),
      stage ? h("span", { class: `badge badge-${isBad ? "bad" : "open"}` }, stage) : null,
    ];
    const name = `chat-call row-call${isBad ? " tone-bad" : ""}`;
    const { row } = call;
    if (row === undefined) return h("div", { class: name }, ...words);
    return h("button", { type: "button", class: name, onclick: () => this._openRow(row) }, ...words);
  }

  /** Draw the text that is arriving. @param {RunModel} model */
  _drawArriving(model) {
    const isAtEnd = this._isAtEnd;
    const open = model.rows.findLast((row) => row.kind === "turn" && !row.inner && !row.void && row.finish === undefined);
    const draft = open === undefined ? undefined : model.drafts.get(open.i);
    const text = draft?.get("text") ?? "";
    this._arriving.hidden = !model.isGoingOn || open === undefined;
    this._arriving.replaceChildren(
      text !== "" ? h("p", { class: "chat-words draft" }, text) : h("p", { class: "quiet working" }, draft?.has("thinking") ? "Thinking…" : "The model is working…"),
    );
    if (isAtEnd) this._scroller.scrollTop = this._scroller.scrollHeight;
  }

  /** @param {number} row */
  _openRow(row) {
    const { key } = this;
    const fact = this._model?.rows[row]?.facts[0];
    if (key !== undefined) location.hash = `#run=${key.source}/${key.id}${fact === undefined ? "" : `&fact=${fact}`}`;
  }

  /** @param {string} prompt @param {import("./playground_api.js").Setup} setup @param {import("./playground_api.js").Attachment[]} attachments */
  async _send(prompt, setup, attachments) {
    const before = this.key;
    const next = before === undefined ? await startRun(prompt, setup, attachments) : await goOn(before, { prompt, setup, attachments });
    history.replaceState(null, "", `#chat=${next.source}/${next.id}`);
    await this._show(next);
    this._scroller.scrollTop = this._scroller.scrollHeight;
    this._composer.focus();
  }

  async _cancel() {
    if (this.key !== undefined) await post(`${runPath(this.key)}/cancel`, {}).catch(() => {}); // it has ended by itself
  }
}
