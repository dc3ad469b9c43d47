"""A run as a conversation: what was asked, what was answered, and the calls in between.

`describe_answer` is what stands above the rows of a run. `list_conversation` is what a chat shows: the messages that
the run began with and those of its turns, each with the calls that the model made in it. A run that goes on a
conversation begins with all of it, so one run holds the whole chat.
"""

import json
from typing import Any

from toolspeak.page.document import RunDocument
from toolspeak.page.rows import OutlineRow, preview_text
from toolspeak.values import codec
from toolspeak.values.events import RunStarted, TurnEnded
from toolspeak.values.messages import Media, Message, Result, Text

MAX_TEXT_CHARS = 20_000
"""How much of a prompt or an answer is sent. The details of its row have the rest."""

MAX_MESSAGES = 400
"""How many messages of a chat are sent: the last ones."""


def describe_answer(document: RunDocument) -> dict[str, Any]:
    """Return what was asked last and what the model wrote last, as JSON data, and the rows that hold them.

    The answer of a run that has a type for it is data; `is_json` says so.
    """
    prompt, answer, output = "", "", None
    data: dict[str, Any] = {"is_json": False}
    for number, timed in enumerate(document.facts):
        match timed.fact:
            case RunStarted(messages=messages):
                prompt = next((each.text for each in reversed(messages) if each.role == "user"), "")
                output = timed.fact.output
            case TurnEnded(message=message):
                typed = next((call for call in message.calls if call.name == output), None)
                answer = message.text
                if typed is not None:
                    answer = json.dumps(codec.encode_argument(typed.arguments), ensure_ascii=False, indent=2)
                data |= {"is_json": typed is not None, "answer_row": document.fold.row_by_fact[number]}
            case _:
                pass
    prompts = [row.index for row in document.fold.rows if row.fields.get("role") == "user" and not row.path]
    if prompts:
        data["prompt_row"] = prompts[-1]
    is_cut = {"is_cut": len(answer) > MAX_TEXT_CHARS, "is_prompt_cut": len(prompt) > MAX_TEXT_CHARS}
    return {"prompt": prompt[:MAX_TEXT_CHARS], "answer": answer[:MAX_TEXT_CHARS], **is_cut, **data}


def list_conversation(document: RunDocument) -> list[dict[str, Any]]:
    """Return the messages of a run as JSON data, with the calls of each; system prompts are left out."""
    found: list[dict[str, Any]] = []
    started = next((timed.fact for timed in document.facts if isinstance(timed.fact, RunStarted)), None)
    if started is not None:
        results = {part.call_id: part for each in started.messages for part in each.parts if isinstance(part, Result)}
        found += [_describe_earlier(each, results) for each in started.messages if each.role in ("user", "assistant")]
    children: dict[int, list[OutlineRow]] = {}
    for row in document.fold.rows:
        if row.kind == "call" and row.parent is not None and not row.path:
            children.setdefault(row.parent, []).append(row)
    for row in document.fold.rows:
        if row.kind == "turn" and not row.path and not row.fields.get("void"):
            ended = (document.facts[number].fact for number in row.facts)
            message = next((fact.message for fact in ended if isinstance(fact, TurnEnded)), None)
            if message is not None:
                calls = [_describe_call(each) for each in children.get(row.index, ())]
                found.append({**_describe_message(message), "row": row.index, "calls": calls})
    return found[-MAX_MESSAGES:]


def _describe_message(message: Message) -> dict[str, Any]:
    media = [part.name or part.mime for part in message.parts if isinstance(part, Media)]
    text = message.text
    is_cut = len(text) > MAX_TEXT_CHARS
    return {"role": message.role, "text": text[:MAX_TEXT_CHARS], "is_cut": is_cut, "media": media, "calls": []}


def _describe_earlier(message: Message, results: dict[str, Result]) -> dict[str, Any]:
    """Return a message of an earlier run, with its calls and what came of them."""
    calls: list[dict[str, Any]] = []
    for call in message.calls:
        arguments = preview_text(json.dumps(codec.encode_argument(call.arguments), ensure_ascii=False))
        result = results.get(call.id)
        text = "" if result is None else "".join(part.text for part in result.content if isinstance(part, Text))
        stage = "failed" if result is not None and result.is_error else "done"
        calls.append({"name": call.name, "arguments": arguments, "stage": stage, "outcome": preview_text(text)})
    return {**_describe_message(message), "calls": calls}


def _describe_call(row: OutlineRow) -> dict[str, Any]:
    fields = row.fields
    outcome = fields.get("error", fields.get("result", ""))
    call = {"name": fields["name"], "arguments": fields.get("arguments", ""), "stage": fields["stage"]}
    return {**call, "outcome": outcome, "row": row.index}
