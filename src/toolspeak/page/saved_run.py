"""A run saved for later: as a test in Python, or as a question of a suite.

The test gives the model's messages back word for word (`ScriptedModel`) and runs the functions again, so it tells when
the functions or the reading of the messages have changed. The question asks any model again for the first message, and
expects the calls that this model made.
"""

import json
import pprint
import re
import textwrap
from collections.abc import Sequence
from functools import reduce as fold
from typing import Any

from toolspeak.loop import initial_state, reduce
from toolspeak.loop.references import find_references
from toolspeak.page.document import RunDocument
from toolspeak.run.run import build_outcome
from toolspeak.values import codec
from toolspeak.values.errors import UsageError
from toolspeak.values.events import CallReady, RunStarted, TurnEnded, TurnRestarted, TurnStarted
from toolspeak.values.messages import Call, Message

MAX_NAME_CHARS = 50

TEST = '''"""A run that was saved from the page of toolspeak."""

from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, {imports}

TOOLS = {tools}


def test_{name}() -> None:
    model = ScriptedModel(
        [
{lines}
        ],
        dialect={dialect!r},
    )
    agent = Agent(model, tools=TOOLS{system})
    outcome = agent.run({prompt})
    assert outcome.stop_reason == {reason!r}
    assert [call.name for call in outcome.calls] == {calls}
    assert outcome.text == {text}
'''


def write_test(document: RunDocument, targets: Sequence[str] = ()) -> str:
    """Return a run as a test in Python. `targets` say where the tools come from, as the command line named it.

    Raises:
        UsageError: The run has no beginning, does not begin with one prompt, or has not ended.
    """
    started = find_start(document)
    *before, prompt = started.messages
    if prompt.role != "user" or any(message.role != "system" for message in before):
        raise UsageError("a test needs a run that starts with a prompt, and this one continues a conversation")
    state = fold(reduce, (timed.fact for timed in document.facts), initial_state(started.tools))
    if state.ended is None:
        raise UsageError("the run has not ended; a test needs its end")
    lines = [_write_line(message) for message in _list_answers(document)]
    system = next((message.text for message in before), "")
    names = ", ".join(spec.name for spec in started.tools)
    outcome = build_outcome(state, ())
    return TEST.format(
        imports=", ".join(word for word in ("calls", "says") if any(line.startswith(word) for line in lines)),
        tools=repr(list(targets)) if targets else f"[]  # the functions: {names}",
        name=_make_name(prompt.text),
        lines=textwrap.indent(",\n".join(lines) + ",", " " * 12),
        dialect=started.dialect,
        system=f", system={system!r}" if system else "",
        prompt=_write_value(prompt.text),
        reason=outcome.stop_reason,
        calls=[call.name for call in outcome.calls],
        text=_write_value(outcome.text),
    )


def write_question(document: RunDocument) -> str:
    """Return the first turn of a run as a question of a suite: a line of JSON, in the format of `toolspeak eval`.

    Raises:
        UsageError: The run has no beginning or no answer, or begins with something that a suite cannot hold.
    """
    started = find_start(document)
    answers = _list_answers(document)
    if not answers:
        raise UsageError("the model has not answered yet; a question needs the calls that are right")
    if any(message.role == "tool" or message.calls for message in started.messages):
        raise UsageError("the run begins with calls and results; save a run that begins with a prompt")
    prompt = next((message.text for message in reversed(started.messages) if message.role == "user"), "")
    expected = _list_expected(document, answers[0])
    question: dict[str, Any] = {
        "id": _make_name(prompt).replace("_", "-"),
        "category": "playground",
        "messages": [{"role": message.role, "content": message.text} for message in started.messages],
        "tools": [
            {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
            for spec in started.tools
        ],
        "expected": expected,
    }
    if not expected:
        question["reply"] = answers[0].text
    return json.dumps(question, ensure_ascii=False) + "\n"


def name_saved(document: RunDocument) -> str:
    """Return the words that the name of a saved file begins with."""
    return _make_name(str(document.fold.summary.get("title", "")))


def find_start(document: RunDocument) -> RunStarted:
    """Return the first fact of a run; raise `UsageError` if the record does not hold it."""
    started = next((timed.fact for timed in document.facts if isinstance(timed.fact, RunStarted)), None)
    if started is None or not started.messages:
        raise UsageError("the record does not hold the beginning of this run")
    return started


def _list_answers(document: RunDocument) -> list[Message]:
    """Return the messages of the model that count: one that another model was asked for does not."""
    answers: dict[int, Message] = {}  # by the numbers of their turns
    turn = 0
    for timed in document.facts:
        match timed.fact:
            case TurnStarted(turn=number):
                turn = number
            case TurnEnded(message=message):
                answers[turn] = message
            case TurnRestarted(turn=number):
                answers.pop(number, None)
            case _:
                pass
    return list(answers.values())


def _write_line(message: Message) -> str:
    """Return a line of the script: the text of a message word for word, or its calls where they came by an API."""
    calls = [part.call for part in message.parts if isinstance(part, Call)]
    if message.raw is not None or not calls:
        return f"says({_write_value(message.text if message.raw is None else message.raw.text)})"
    written = [f"({call.name!r}, {_write_value(codec.encode_argument(call.arguments))})" for call in calls]
    text = f", text={message.text!r}" if message.text else ""
    return f"calls({', '.join(written)}{text})"


def _write_value(value: Any) -> str:
    return pprint.pformat(value, width=90, sort_dicts=False)


def _list_expected(document: RunDocument, answer: Message) -> list[dict[str, Any]]:
    """Return the calls of a message as what is expected. A call that needs the result of another one comes after it."""
    ids = {call.id for call in answer.calls}
    calls = [timed.fact.call for timed in document.facts if isinstance(timed.fact, CallReady)]
    first = [call for call in calls if call.id in ids and not find_references(call.arguments)]
    return [{"name": call.name, "arguments": {key: [value] for key, value in call.arguments.items()}} for call in first]


def _make_name(text: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return words[:MAX_NAME_CHARS].strip("_") or "run"
