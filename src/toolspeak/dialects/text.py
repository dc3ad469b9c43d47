"""The text dialects: tools are described in the system prompt, and calls are written in the text of messages."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Protocol

from toolspeak.dialects import json_notation, python_notation, typescript_notation
from toolspeak.dialects import json_notation as raw_notation
from toolspeak.dialects.dialect import Constraint, Parser, Shown
from toolspeak.reading.names import find_raw_parameters, has_raw_form
from toolspeak.values.events import AUTO, ToolChoice
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Media, Message, Part, Result, Role, Text, ToolCall
from toolspeak.values.spec import Schema, ToolSpec

# Constraints that a server can hold an answer to when a call is forced: a JSON schema, or a grammar in GBNF.
#
# No JSON schema describes a block with a raw text: where one of the forced tools has a raw text, there is only a
# grammar, and a server that honours schemas alone is asked in words.


def forced_tools(specs: Sequence[ToolSpec], choice: ToolChoice) -> list[ToolSpec]:
    """Return the tools that a forced call may be of; empty if the choice forces no call."""
    if choice.mode == "required":
        return list(specs)
    return [spec for spec in specs if spec.name in choice.names] if choice.mode == "named" else []


def constrain_json(specs: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool) -> Constraint:
    """Constrain an answer to calls as JSON objects."""
    has_raw = any(map(has_raw_form, forced_tools(specs, choice)))
    return Constraint(
        json_schema=None if has_raw else _json_schema(specs, choice, parallel=parallel),
        grammar=_format_grammar("json", specs, choice, parallel=parallel),
    )


def _constrain_code(notation: str, specs: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool) -> Constraint:
    return Constraint(grammar=_format_grammar(notation, specs, choice, parallel=parallel))


constrain_typescript = partial(_constrain_code, "typescript")
constrain_python = partial(_constrain_code, "python")


def _format_grammar(notation: str, specs: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool) -> str:
    tools = forced_tools(specs, choice)
    from toolspeak.dialects.grammar import NOTATIONS, build_grammar, format_gbnf  # with the first forced call

    return format_gbnf(build_grammar(NOTATIONS[notation], tools, choice, parallel=parallel))


def _json_schema(specs: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool) -> Schema:
    """Return the schema of one call, or of a list of calls."""
    options = [_call_schema(spec) for spec in forced_tools(specs, choice)]
    call: dict[str, Any] = options[0] if len(options) == 1 else {"anyOf": options}
    least = len(choice.names) if choice.mode == "named" else 1
    return {"type": "array", "items": call, "minItems": least} if parallel else call


def _call_schema(spec: ToolSpec) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"name": {"const": spec.name}, "arguments": spec.parameters},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


MAX_INLINE_CHARS = 200
"""Characters beyond which a result is set apart in a fenced block, and a call before its result is cut."""


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
        format_call: Writes one call on one line, to stand before its result.
        constrain: Builds the constraint for a forced call.
    """

    name: str
    format_tools: Callable[[Sequence[ToolSpec]], str]
    format_calls: Callable[[Sequence[ToolCall]], str]
    format_call: Callable[[ToolCall], str]
    constrain: ConstraintBuilder
    in_text: bool = True

    def render(
        self,
        specs: Sequence[ToolSpec],
        history: Sequence[Message],
        *,
        choice: ToolChoice = AUTO,
        parallel: bool = True,
    ) -> Shown:
        """Return the conversation with the tools in its system message, and the choice of this turn at its end."""
        calls: dict[str, ToolCall] = {}
        raw = find_raw_parameters(specs)
        messages: list[Message] = []
        has_prompt = False
        for message in history:
            if message.role == "system" and not has_prompt and specs:
                messages.append(_text_message("system", f"{message.text}\n\n{self.prompt(specs)}".lstrip()))
                has_prompt = True
                continue
            calls |= {call.id: call for call in message.calls}
            messages.append(self._render_message(message, calls, raw))
        if specs and not has_prompt:
            messages.insert(0, _text_message("system", self.prompt(specs)))
        if specs and (note := choice_note(choice, parallel=parallel)) and messages:
            messages[-1] = _append_note(messages[-1], note)
        is_forced = bool(forced_tools(specs, choice))
        constraint = self.constrain(specs, choice, parallel=parallel) if is_forced else None
        return Shown(messages=tuple(messages), constraint=constraint, has_tools=bool(specs))

    def prompt(self, specs: Sequence[ToolSpec]) -> str:
        """Return the part of the system message that shows the tools and says how to call them."""
        prompt = (
            _template(self.name)
            .replace("{tools}", self.format_tools(specs))
            .replace("{example}", json_notation.format_example(specs))
        )
        return "\n\n".join(filter(None, (prompt, raw_notation.format_instructions(specs))))

    def parser(
        self, specs: Sequence[ToolSpec], *, strict: bool = False, thinking: bool = False, prefix: str = "call"
    ) -> Parser:
        """Return a reader of calls in every known form, whichever was asked for: models mix them.

        Args:
            specs: The tools on offer.
            strict: Refuse calls that had to be repaired.
            thinking: Whether the message begins inside reasoning, whose opening tag was in the prompt.
            prefix: What the ids of calls begin with.
        """
        from toolspeak.reading.reader import Reader  # imported with the first answer

        return Reader(specs, strict=strict, thinking=thinking, prefix=prefix, shows_first_word=True)

    def _render_message(self, message: Message, calls: dict[str, ToolCall], raw: Mapping[str, str]) -> Message:
        """Render one message of the history.

        Args:
            message: The message.
            calls: All calls so far, by id.
            raw: The parameter for the raw text of each tool that takes one, by the name of the tool.
        """
        if message.role == "assistant":
            if message.raw is not None and message.raw.dialect == self.name:
                return _text_message("assistant", message.raw.text)
            has_calls = bool(message.calls)
            written = raw_notation.format_mixed_calls(message.calls, raw, self.format_calls) if has_calls else ""
            return _text_message("assistant", "\n".join(filter(None, (message.text, written))))
        if message.role == "tool":
            return self._render_results(message, calls, raw)
        kept = tuple(part for part in message.parts if isinstance(part, Text | Media))
        return Message(role=message.role, parts=kept)

    def _render_results(self, message: Message, calls: dict[str, ToolCall], raw: Mapping[str, str]) -> Message:
        """Render results as a message of the user, since a model of text knows no other role for them."""
        parts: list[Part] = []
        texts: list[str] = []
        for part in message.parts:
            if isinstance(part, Result):
                texts.append(self._format_result(part, calls.get(part.call_id), raw))
                parts += [each for each in part.content if isinstance(each, Media)]
            elif isinstance(part, Text):
                texts.append(part.text)
            elif isinstance(part, Media):
                parts.append(part)
        head = "Results of your calls:\n"
        return Message(role="user", parts=(Text(text=head + "\n".join(texts)), *parts))

    def _format_result(self, result: Result, call: ToolCall | None, raw: Mapping[str, str]) -> str:
        text = "".join(part.text for part in result.content if isinstance(part, Text))
        if result.is_error:
            text = f"Error: {text}"
        source = self._format_source(call, raw) if call else result.call_id
        source = source if len(source) <= MAX_INLINE_CHARS else f"{source[:MAX_INLINE_CHARS]}…"
        if len(text) <= MAX_INLINE_CHARS and "\n" not in text:
            return f"{source} → {text}"
        fence = raw_notation.fence_around(text)
        return f"{source} →\n{fence}output\n{text}\n{fence}"

    def _format_source(self, call: ToolCall, raw: Mapping[str, str]) -> str:
        """Write the call before its result. A raw text is left out: quotes would show another form of it."""
        return call.name if raw_notation.find_raw_text(call, raw) is not None else self.format_call(call)


JSON = TextDialect(
    name="json",
    format_tools=typescript_notation.format_tools,  # small models copy a JSON schema back as arguments
    format_calls=json_notation.format_calls,
    format_call=json_notation.format_call,
    constrain=constrain_json,
)
TYPESCRIPT = TextDialect(
    name="typescript",
    format_tools=typescript_notation.format_tools,
    format_calls=typescript_notation.format_calls,
    format_call=typescript_notation.format_call,
    constrain=constrain_typescript,
)
PYTHON = TextDialect(
    name="python",
    format_tools=python_notation.format_tools,
    format_calls=python_notation.format_calls,
    format_call=python_notation.format_call,
    constrain=constrain_python,
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


@cache
def _template(name: str) -> str:
    from importlib.resources import files  # imported with the first prompt of a text dialect

    return (files("toolspeak.dialects") / "prompts" / f"{name}.txt").read_text(encoding="utf-8").strip()


def _text_message(role: Role, text: str) -> Message:
    return Message(role=role, parts=(Text(text=text),))


def _append_note(message: Message, note: str) -> Message:
    *before, last = message.parts or (Text(text=""),)
    if not isinstance(last, Text):
        return Message(role=message.role, parts=(*before, last, Text(text=note)))
    return Message(role=message.role, parts=(*before, Text(text=f"{last.text}\n\n{note}".lstrip())))
