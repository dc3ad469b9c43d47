"""Slips: calls that went wrong, with what toolspeak says about them, so that a model learns to put them right.

A small model that is told what was wrong with a call likes to make the same call again. These questions show it a
conversation in which that has happened, and teach the answer that should follow:

- A call is malformed or its arguments are refused: the right call, once or after the same slip twice.
- A call is made again and has the same result: the answer in words, or the call that is next.
- A result says in its own way that something failed, such as `{"error": "…"}`: what is right after an error.

The answers with a slip are read and answered by toolspeak's own loop, so the words are those that a model will see.
"""

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from files import list_epochs, rank

from toolspeak.dialects import Dialect, dialect
from toolspeak.dialects.text import TextDialect
from toolspeak.lab.files import render_qwen
from toolspeak.lab.questions import Question, Suite
from toolspeak.lab.trials import RecordedAnswer, RecordedCall, begin_conversation, take_answer, will_ask_model
from toolspeak.loop import State, reduce
from toolspeak.tools.schema_function import SchemaChecker
from toolspeak.values.codec import encode_argument
from toolspeak.values.errors import InvalidArguments
from toolspeak.values.events import ToolFinished
from toolspeak.values.messages import Call, Message, Result, Text, ToolCall, ToolResult
from toolspeak.values.spec import ToolSpec

CODE_DIALECTS = ("python", "typescript")

BARE_TEXT = re.compile(r'"([A-Za-z_][\w./-]*)"')
"""A text that models write without quotes, since it looks like a name or a path."""

SYNONYMS = {
    "city": "location", "place": "location", "location": "place", "path": "file", "file": "path", "text": "content",
    "content": "text", "message": "text", "id": "number", "number": "id", "name": "title", "title": "name",
    "date": "day", "day": "date", "amount": "quantity", "quantity": "amount", "query": "search", "folder": "directory",
    "note": "comment", "reason": "comment", "email": "address", "address": "email", "user": "name", "limit": "count",
}  # fmt: skip
"""What models call a parameter that has another name."""

Change: TypeAlias = Callable[[Question, str, random.Random], Question | None]
"""Lets a call of a question go wrong, in a dialect; returns None where that cannot be done."""

ANSWER_END = "<|im_end|>\n<|im_start|>assistant\n"  # what the template writes after an answer in the history

OWN_WORDS = ("not run:", "not taken:", "the run was")
"""How the errors begin that toolspeak itself writes; no tool returns them as a value."""


def make_slips(suite: Suite, settings: Mapping[str, Any], rng: random.Random) -> Iterator[tuple[int, str, Question]]:
    """Yield questions that follow a slip, each with its epoch and its dialect."""
    single = [each for each in suite.questions if len(each.expected) == 1 and not _has_references(each)]
    after = [each for each in suite.questions if each.messages[-1].role == "tool" and not _has_references(each)]
    failed = [each for each in after if any(not text.startswith(OWN_WORDS) for text in _list_errors(each.messages[-1]))]
    offers = list({id(each.tools): each.tools for each in suite.questions}.values())
    for epoch in list_epochs(settings):
        drawn: list[tuple[Question, Change]] = [
            *((each, slip_call) for each in rng.sample(single, min(len(single), settings["slips"]))),
            *((each, repeat_call) for each in rng.sample(after, min(len(after), settings["slips"] // 3))),
            *((each, return_error) for each in failed),
        ]
        for question, change in drawn:
            name = rng.choice(settings["dialects"])
            tools = [*question.tools]
            if rng.random() < 0.5:
                taken = {spec.name for spec in tools}
                tools += [spec for spec in rng.choice(offers) if spec.name not in taken]
            shown = replace(question, tools=tuple(rng.sample(tools, len(tools))))
            if "." in "".join(spec.name for spec in tools) and not dialect(name).in_text:
                continue  # an API is given other names, and these are made only when the question is shown
            if (slipped := change(shown, name, rng)) is not None:
                yield epoch, name, slipped


def slip_call(question: Question, dialect_name: str, rng: random.Random) -> Question | None:
    """Return the question after its call was made wrongly, once or twice; None if toolspeak would accept the call."""
    [expected] = question.expected
    [spec] = [spec for spec in question.tools if spec.name == expected.name]
    arguments = {key: values[0] for key, values in expected.arguments.items()}
    if any(isinstance(value, dict) for value in arguments.values()):
        return None
    kinds = [rename, leave_out, mistype]
    in_code = dialect_name in CODE_DIALECTS
    kind = rng.choice([*kinds, write_bare, write_bare, write_bare, put_under_condition] if in_code else kinds)
    if kind in kinds:
        changed = kind(arguments, spec, rng)
        text = None if changed is None else _write_call(question, dialect_name, spec.name, changed)
    else:
        text = kind(_write_call(question, dialect_name, spec.name, arguments), rng)
        changed = arguments
    if text is None or changed is None:
        return None
    call = ToolCall(id="", name=spec.name, arguments=changed)
    state = begin_conversation(question.tools, dialect_name, question.messages)
    for _ in range(rng.choice((1, 1, 2))):
        state = _take(state, dialect_name, text, (call,))
        checker = SchemaChecker(tool=spec.name, schema=spec.parameters)
        for each in list(state.turn.calls.values()):
            if each.result is not None:
                continue
            try:
                checker.validate(each.call.arguments if each.call else {})
            except InvalidArguments as error:
                result = ToolResult(call_id=each.id, error=str(error), ran=False)
                state = reduce(state, ToolFinished(result=result))
            else:
                return None
    is_refused = will_ask_model(state) and _list_errors(state.history[-1])
    return replace(question, messages=state.history) if is_refused else None


def rename(arguments: Mapping[str, Any], spec: ToolSpec, rng: random.Random) -> dict[str, Any] | None:
    """Give one argument another name."""
    if not arguments:
        return None
    key = rng.choice(list(arguments))
    parts = [each for each in key.split("_") if each]
    other = rng.choice(parts) if len(parts) > 1 else SYNONYMS.get(key, f"{key}_value")
    if other in spec.parameters.get("properties", {}):
        return None
    return {other if each == key else each: value for each, value in arguments.items()}


def leave_out(arguments: Mapping[str, Any], spec: ToolSpec, rng: random.Random) -> dict[str, Any] | None:
    """Leave one argument out that is required."""
    required = [key for key in spec.parameters.get("required", ()) if key in arguments]
    if not required:
        return None
    missing = rng.choice(required)
    return {key: value for key, value in arguments.items() if key != missing}


def mistype(arguments: Mapping[str, Any], spec: ToolSpec, rng: random.Random) -> dict[str, Any] | None:
    """Give one argument a value of another type."""
    if not arguments:
        return None
    key = rng.choice(list(arguments))
    value = arguments[key]
    other = rng.choice([None, [value], {"value": value}, f"the {value}" if not isinstance(value, str) else None])
    return {**arguments, key: other}


def write_bare(text: str, rng: random.Random) -> str | None:
    """Leave out the quotes of one text, or of all."""
    found = list(BARE_TEXT.finditer(text))
    if not found:
        return None
    chosen = found if rng.random() < 0.5 else [rng.choice(found)]
    for match in reversed(chosen):
        text = f"{text[: match.start()]}{match[1]}{text[match.end() :]}"
    return text


def put_under_condition(text: str, rng: random.Random) -> str:
    """Put the call under a condition that only running the code would tell."""
    fence, _, code = text.removesuffix("\n```").partition("\n")
    lines = code.splitlines()
    condition = rng.choice(("needed", "status", "found", "value > 0", "not done"))
    if fence == "```python":
        return "\n".join([fence, f"if {condition}:", *(f"    {line}" for line in lines), "```"])
    return "\n".join([fence, f"if ({condition.replace('not ', '!')}) {{", *(f"  {line}" for line in lines), "}", "```"])


def write_answer(tools: Sequence[ToolSpec], before: Sequence[Message], answer: Message, dialect_name: str) -> str:
    """Return an answer as the dialect writes it, without the token that ends it."""
    render = dialect(dialect_name).render
    prompt = render_qwen(render(tools, before))
    prompt_after = render_qwen(render(tools, (*before, answer)))
    return prompt_after.removeprefix(prompt).removesuffix(ANSWER_END)


def vary_dialect(name: str, key: str) -> Dialect:
    """Return a dialect; for most of the keys it shows what was worked out from results, so that both are learned."""
    found = dialect(name)
    return replace(found, figures=rank(f"{name}/{key}") < 0.8) if isinstance(found, TextDialect) else found


def repeat_call(question: Question, dialect_name: str, rng: random.Random) -> Question | None:
    """Return a question that follows results after its calls were made again, with the same results."""
    *before, asked, results = question.messages
    calls = tuple(part.call for part in asked.parts if isinstance(part, Call))
    expected = {each.name for each in question.expected}
    if not calls or len(calls) != len(asked.parts) or before[-1].role != "user":
        return None
    if expected & {call.name for call in calls}:  # it may be right to call it again, with other values
        return None
    given = [part for part in results.parts if isinstance(part, Result)]
    if len(given) != len(calls) or any(len(each.content) != 1 for each in given):
        return None
    text = write_answer(question.tools, before, asked, dialect_name)
    state = begin_conversation(question.tools, dialect_name, before)
    for _ in range(rng.choice((2, 2, 3))):
        state = _take(state, dialect_name, text, calls)
        made = list(state.turn.calls.values())
        if len(made) != len(given) or any(each.result is not None for each in made):
            return None
        for each, result in zip(made, given, strict=True):
            state = reduce(state, ToolFinished(result=_copy_result(result, each.id)))
    shown = [part for part in state.history[-1].parts if isinstance(part, Result)]
    if [each.content for each in shown] != [each.content for each in given]:
        return None
    return replace(question, messages=state.history) if will_ask_model(state) else None


def return_error(question: Question, _: str, rng: random.Random) -> Question:
    """Return a question whose tools return their errors as values, in any dialect."""
    *before, results = question.messages
    style = rng.choice(['{{"error": {}}}', '{{"status": "error", "message": {}}}', "Failed: {}"])

    def write(text: str) -> str:
        return style.format(json.dumps(text, ensure_ascii=False) if style.startswith("{") else text)

    parts = [
        replace(part, content=(Text(text=write(part.content[0].text)),), is_error=False)
        if isinstance(part, Result) and part.is_error and isinstance(part.content[0], Text)
        else part
        for part in results.parts
    ]
    return replace(question, messages=(*before, replace(results, parts=tuple(parts))))


def _has_references(question: Question) -> bool:
    """Whether a call uses the result of another: such calls are written only together."""
    calls = [call for message in question.messages for call in message.calls]
    return any("$" in json.dumps(encode_argument(call.arguments)) for call in calls) or any(
        isinstance(value, dict) for each in question.expected for values in each.arguments.values() for value in values
    )


def _list_errors(message: Message) -> list[str]:
    results = [part for part in message.parts if isinstance(part, Result) and part.is_error]
    return [first.text for each in results if isinstance(first := each.content[0], Text)]


def _copy_result(result: Result, call_id: str) -> ToolResult:
    [content] = result.content
    text = content.text if isinstance(content, Text) else ""
    if result.is_error:
        return ToolResult(call_id=call_id, error=text)
    try:
        return ToolResult(call_id=call_id, output=json.loads(text))
    except ValueError:
        return ToolResult(call_id=call_id, output=text)


def _write_call(question: Question, dialect_name: str, name: str, arguments: Mapping[str, Any]) -> str:
    """Write a call as the dialect writes it in the history."""
    call = ToolCall(id="call_1", name=name, arguments=dict(arguments))
    answer = Message(role="assistant", parts=(Call(call=call),))
    return write_answer(question.tools, question.messages, answer, dialect_name)


def _take(state: State, dialect_name: str, text: str, calls: Sequence[ToolCall]) -> State:
    """Return the state of the loop after an answer whose calls were not run yet."""
    if dialect(dialect_name).in_text:
        answer = RecordedAnswer(id="", text=text)
    else:
        written = [RecordedCall(name=each.name, arguments=json.dumps(each.arguments)) for each in calls]
        answer = RecordedAnswer(id="", text="", api_calls=tuple(written))
    return take_answer(state, dialect_name, answer)
