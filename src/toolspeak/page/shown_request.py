"""What the model was shown in a turn, exactly: the facts before the turn, rendered by its dialect or by another one.

A run is the fold of its facts, so the request of any turn can be built again. In a dialect other than that of the run
the same conversation is rendered as that dialect would have shown it.
"""

from functools import reduce as fold
from typing import Any

from toolspeak import codec
from toolspeak.dialects import DIALECTS, Shown, dialect
from toolspeak.errors import UsageError
from toolspeak.events import RunStarted
from toolspeak.loop import AskModel, decide, initial_state, reduce
from toolspeak.messages import Call, Media, Message, Opaque, Part, Result, Text, Thinking
from toolspeak.page.details import format_json
from toolspeak.page.document import RunDocument
from toolspeak.page.facts import list_facts
from toolspeak.page.rows import OutlineRow
from toolspeak.run.turn_request import render_request

MAX_SHOWN_CHARS = 100_000
"""How much of one message is sent."""

LAST_MESSAGES = 12
"""How many messages are sent at first, beside the system prompt."""


def render_turn(document: RunDocument, index: int, dialect_name: str = "", first: int | None = None) -> dict[str, Any]:
    """Return what the model was shown in a turn, as JSON data.

    Args:
        document: The run.
        index: The row of the turn.
        dialect_name: The dialect; that of the turn if it is left out.
        first: The first message that is sent, beside the system prompt; the last few are if it is left out.

    Raises:
        UsageError: The row is no turn, or the facts before it do not hold the beginning of the run.
    """
    row = document.fold.rows[index]
    if row.kind != "turn":
        raise UsageError("only a turn has a request")
    used = row.fields.get("dialect", "")
    name = dialect_name or used
    known = document.shown.get(row.fields["turn"]) if name == used and not row.path else None
    shown = known or _render(document, row, name)
    return {"used": used, "dialect": name, "dialects": list(DIALECTS), **encode_shown(shown, first)}


def _render(document: RunDocument, row: OutlineRow, name: str) -> Shown:
    """Build the request of a turn again, from the facts before it."""
    facts = list_facts(document, row.path, row.facts[0])
    started = next((fact for fact in facts if isinstance(fact, RunStarted)), None)
    if started is None:
        raise UsageError("the record does not hold the beginning of this run")
    state = fold(reduce, facts, initial_state(started.tools))
    action = next((each for each in decide(state) if isinstance(each, AskModel)), AskModel(turn=row.fields["turn"]))
    return render_request(state, dialect(name), action)


def encode_shown(shown: Shown, first: int | None = None) -> dict[str, Any]:
    """Return what a model is shown as JSON data: each message as the text that is sent, and the tools of the API.

    A long conversation is not sent whole: `messages` are those that are, with their places.
    """
    tools = [
        {"name": spec.name, "description": spec.description, "parameters": spec.parameters} for spec in shown.tools
    ]
    count = len(shown.messages)
    start = max(0, count - LAST_MESSAGES if first is None else first)
    places = [place for place, each in enumerate(shown.messages) if place >= start or each.role == "system"]
    messages = [{"place": place, **_encode_message(shown.messages[place])} for place in places]
    data: dict[str, Any] = {"messages": messages, "count": count, "first": start}
    if tools:
        text = format_json(tools)
        data |= {"tools": text[:MAX_SHOWN_CHARS], "tool_count": len(tools)}
    if shown.constraint is not None and shown.constraint.grammar:
        data["grammar"] = shown.constraint.grammar[:MAX_SHOWN_CHARS]
    return data


def _encode_message(message: Message) -> dict[str, Any]:
    text = "\n".join(filter(None, (_format_part(part) for part in message.parts)))
    return {"role": message.role, "text": text[:MAX_SHOWN_CHARS], "chars": len(text)}


def _format_part(part: Part) -> str:
    match part:
        case Text(text=text) | Thinking(text=text):
            return text
        case Call(call=call):
            return f"{call.name} {format_json(codec.encode_argument(call.arguments))}"
        case Result(content=content):
            return "\n".join(filter(None, map(_format_part, content)))
        case Media(mime=mime, name=name):
            return f"[{name or 'attachment'}: {mime}]"
        case Opaque(vendor=vendor):
            return f"[data of {vendor}]"
