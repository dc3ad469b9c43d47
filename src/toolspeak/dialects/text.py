"""The text dialects: tools are described in the system prompt, and calls are written in the text of messages.

A dialect is put together from a prompt (`prompts/`), a notation of tools and calls, and a constraint: the form that a
server can hold an answer to when a call is forced, a JSON schema or a grammar in GBNF. No JSON schema describes a block
with a raw text: where one of the forced tools has a raw text, there is only a grammar, and a server that honours
schemas alone is asked in words.

What tools say of themselves is text: it fills the prompt once, is no template, and cannot end the block that it stands
in.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Protocol

from toolspeak.dialects import json_notation, python_notation, typescript_notation
from toolspeak.dialects.dialect import Constraint, Dialect, Parser, Shown
from toolspeak.reading.forms import RESULTS_LABEL
from toolspeak.reading.names import find_raw_parameters, has_raw_form
from toolspeak.values.events import AUTO, ToolChoice
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Media, Message, Part, Result, Role, Text, ToolCall, ends_with_results
from toolspeak.values.recent import RecentValues
from toolspeak.values.spec import Schema, ToolSpec

MAX_INLINE_CHARS = 200
"""Characters beyond which a result is set apart in a fenced block, and a call before its result is cut."""

LEAST_PROMPT_SIZE = 20_000
"""What a prompt counts at least, so that fifty of them are kept at most."""

_recent_prompts = RecentValues[tuple[Hashable, ...], tuple[str, tuple[ToolSpec, ...]]](
    max_size=50 * LEAST_PROMPT_SIZE, seconds=600
)
"""The last prompts: each turn of a run and each request of a client shows the same tools. Tools are told apart by their
ids, and are kept with the prompt, so that no other tool gets the id of one of them. Schemas are not compared: equal
ones may have their fields in another order."""


class ConstraintBuilder(Protocol):
    """Builds the constraint for an answer that must call some of the tools."""

    def __call__(self, specs: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool) -> Constraint:
        """Return the constraint."""
        ...


@frozen
class TextDialect:
    """A dialect in which tools and calls are text.

    Attributes:
        name: The name of the dialect, and of its prompt in `prompts/`.
        format_tools: Writes the tools as the prompt shows them.
        format_calls: Writes the calls of one message.
        format_call: Writes one call on one line, before its result.
        constrain: Builds the constraint for a forced call.
        figures: Whether results are followed by what was worked out from them (`figures.py`).
    """

    name: str
    format_tools: Callable[[Sequence[ToolSpec]], str]
    format_calls: Callable[[Sequence[ToolCall]], str]
    format_call: Callable[[ToolCall], str]
    constrain: ConstraintBuilder
    in_text: bool = True
    figures: bool = False

    def render(
        self,
        specs: Sequence[ToolSpec],
        history: Sequence[Message],
        *,
        choice: ToolChoice = AUTO,
        parallel: bool = True,
    ) -> Shown:
        """Return the conversation with the tools in its system message, and the choice of this turn at its end."""
        renderer = _MessageRenderer(self, find_raw_parameters(specs))
        messages = [renderer.render(message) for message in history]
        if not specs:
            return Shown(messages=tuple(messages))
        prompt = self.prompt(specs)
        place = next((place for place, message in enumerate(history) if message.role == "system"), None)
        if place is None:
            messages.insert(0, _text_message("system", prompt))
        else:
            messages[place] = _text_message("system", f"{history[place].text}\n\n{prompt}".lstrip())
        if note := choice_note(choice, parallel=parallel):
            messages[-1] = _append_note(messages[-1], note)
        is_forced = bool(_list_forced(specs, choice))
        constraint = self.constrain(specs, choice, parallel=parallel) if is_forced else None
        return Shown(
            messages=tuple(messages),
            constraint=constraint,
            has_tools=True,
            follows_results=ends_with_results(history),
            tool_count=len(specs),
        )

    def prompt(self, specs: Sequence[ToolSpec]) -> str:
        """Return the part of the system message that shows the tools and explains how to call them."""
        key = self.name, self.format_tools, tuple(map(id, specs))
        if (found := _recent_prompts.find(key)) is not None:
            return found[0]
        filled = json_notation.fill_prompt(
            self.name, tools=self.format_tools(specs), example=json_notation.format_example(specs)
        )
        prompt = "\n\n".join(filter(None, (filled, json_notation.format_instructions(specs))))
        _recent_prompts.add(key, (prompt, tuple(specs)), max(len(prompt), LEAST_PROMPT_SIZE))
        return prompt

    def parser(
        self, specs: Sequence[ToolSpec], *, strict: bool = False, thinking: bool = False, prefix: str = "call"
    ) -> Parser:
        """Return a parser of calls in every known form, because models mix them.

        Args:
            specs: The tools on offer.
            strict: Refuse calls that had to be repaired.
            thinking: Whether the message begins inside reasoning, whose opening tag was in the prompt.
            prefix: The beginning of call ids.
        """
        from toolspeak.reading.reader import Reader  # imported with the first answer

        return Reader(specs, strict=strict, thinking=thinking, prefix=prefix, shows_first_word=True)


def show_figures(dialect: Dialect) -> Dialect:
    """Return a dialect that shows what was worked out from results, if it is one in text."""
    return _add_figures(dialect) if isinstance(dialect, TextDialect) else dialect


@lru_cache(maxsize=8)
def _add_figures(dialect: TextDialect) -> TextDialect:
    """Return the same object each time: selections of tools are kept by it."""
    return replace(dialect, figures=True)


class _MessageRenderer:
    """Renders the messages of a history, one after the other.

    Args:
        dialect: The dialect.
        raw: The parameter for the raw text of each tool that takes one, by the name of the tool.
    """

    def __init__(self, dialect: TextDialect, raw: Mapping[str, str]) -> None:
        self._dialect = dialect
        self._raw = raw
        self._calls: dict[str, ToolCall] = {}  # all calls so far, by id
        self._figures: Any = None  # what was worked out since the last message of the user

    def render(self, message: Message) -> Message:
        self._calls |= {call.id: call for call in message.calls}
        if message.role == "user":
            self._figures = None
        if message.role == "assistant":
            if message.raw is not None and message.raw.dialect == self._dialect.name:
                return _text_message("assistant", message.raw.text)
            calls = message.calls
            written = json_notation.format_mixed_calls(calls, self._raw, self._dialect.format_calls) if calls else ""
            return _text_message("assistant", "\n".join(filter(None, (message.text, written))))
        if message.role == "tool":
            return self._render_results(message)
        return Message(role=message.role, parts=tuple(part for part in message.parts if isinstance(part, Text | Media)))

    def _render_results(self, message: Message) -> Message:
        """Render results as a message of the user, since a model of text knows no other role for them."""
        parts: list[Part] = []
        texts: list[str] = []
        for part in message.parts:
            if isinstance(part, Result):
                texts.append(self._format_result(part))
                parts += [each for each in part.content if isinstance(each, Media)]
            elif isinstance(part, Text):
                texts.append(part.text)
            elif isinstance(part, Media):
                parts.append(part)
        if self._dialect.figures:
            from toolspeak.dialects.figures import FIGURES_LABEL, Figures  # imported with the first results

            self._figures = self._figures or Figures()
            known = [each for each in message.parts if isinstance(each, Result) and each.call_id in self._calls]
            lines = self._figures.add([(self._calls[each.call_id], each) for each in known])
            texts += [f"{FIGURES_LABEL}:", *lines] if lines else []
        return Message(role="user", parts=(Text(text=f"{RESULTS_LABEL}:\n" + "\n".join(texts)), *parts))

    def _format_result(self, result: Result) -> str:
        text = "".join(part.text for part in result.content if isinstance(part, Text))
        if result.is_error:
            text = f"Error: {text}"
        call = self._calls.get(result.call_id)
        if call is None:
            source = result.call_id
        elif json_notation.find_raw_text(call, self._raw) is not None:
            source = call.name  # without the raw text: quotes would show another form of it
        else:
            source = self._dialect.format_call(call)
        source = source if len(source) <= MAX_INLINE_CHARS else f"{source[:MAX_INLINE_CHARS]}…"
        if len(text) <= MAX_INLINE_CHARS and "\n" not in text:
            return f"{source} → {text}"
        fence = json_notation.fence_around(text)
        return f"{source} →\n{fence}output\n{text}\n{fence}"


def _list_forced(specs: Sequence[ToolSpec], choice: ToolChoice) -> list[ToolSpec]:
    """Return the tools that a forced call may be of; empty if the choice forces no call."""
    if choice.mode == "required":
        return list(specs)
    return [spec for spec in specs if spec.name in choice.names] if choice.mode == "named" else []


def _constrain(dialect: str, specs: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool) -> Constraint:
    from toolspeak.dialects.grammar import write_grammar  # imported with the first forced call

    forced = _list_forced(specs, choice)
    has_schema = dialect == "json" and not any(map(has_raw_form, forced))
    return Constraint(
        json_schema=_build_schema(forced, choice, parallel=parallel) if has_schema else None,
        grammar=write_grammar(dialect, forced, choice, parallel=parallel),
    )


def _build_schema(forced: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool) -> Schema:
    """Return the schema of one call as a JSON object, or of a list of calls."""
    options: list[dict[str, Any]] = [
        {
            "type": "object",
            "properties": {"name": {"const": spec.name}, "arguments": spec.parameters},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for spec in forced
    ]
    call: dict[str, Any] = options[0] if len(options) == 1 else {"anyOf": options}
    least = len(choice.names) if choice.mode == "named" else 1
    return {"type": "array", "items": call, "minItems": least} if parallel else call


JSON = TextDialect(
    name="json",
    format_tools=typescript_notation.format_tools,  # small models copy a JSON schema back as arguments
    format_calls=json_notation.format_calls,
    format_call=json_notation.format_call,
    constrain=partial(_constrain, "json"),
)
TYPESCRIPT = TextDialect(
    name="typescript",
    format_tools=typescript_notation.format_tools,
    format_calls=typescript_notation.format_calls,
    format_call=typescript_notation.format_call,
    constrain=partial(_constrain, "typescript"),
)
PYTHON = TextDialect(
    name="python",
    format_tools=python_notation.format_tools,
    format_calls=python_notation.format_calls,
    format_call=python_notation.format_call,
    constrain=partial(_constrain, "python"),
)


def choice_note(choice: ToolChoice, *, parallel: bool) -> str:
    """Return what the model is asked to do in this turn, in words; "" if it may choose freely."""
    match choice.mode:
        case "none":
            return "Do not call anything now: answer in plain words."
        case "required":
            words = "Answer with a call now."
        case "named" if len(choice.names) == 1:
            words = f"Call {choice.names[0]} now."
        case "named":
            words = f"Call all of these now: {', '.join(choice.names)}."
        case _:
            words = ""
    return " ".join(filter(None, (words, "" if parallel else "Make only one call in this answer.")))


def _text_message(role: Role, text: str) -> Message:
    return Message(role=role, parts=(Text(text=text),))


def _append_note(message: Message, note: str) -> Message:
    *before, last = message.parts or (Text(text=""),)
    if not isinstance(last, Text):
        return Message(role=message.role, parts=(*before, last, Text(text=note)))
    return Message(role=message.role, parts=(*before, Text(text=f"{last.text}\n\n{note}".lstrip())))
