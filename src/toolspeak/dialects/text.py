"""The dialects in which tools are told in the prompt: JSON, TypeScript, Python."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files

from toolspeak._frozen import frozen
from toolspeak.dialects import json_notation, python_notation, typescript_notation
from toolspeak.dialects.constraints import chosen, code_grammar, json_grammar, json_schema
from toolspeak.dialects.dialect import Constraint, Parser, Shown
from toolspeak.events import AUTO, ToolChoice
from toolspeak.messages import Media, Message, Part, Result, Role, Text, ToolCall
from toolspeak.reading.reader import Reader
from toolspeak.spec import ToolSpec

MAX_INLINE = 200
"""Characters beyond which a result is set apart in a block."""


@frozen
class TextDialect:
    """A dialect told in the prompt.

    Attributes:
        name: Its name, and that of its prompt in `prompts/`.
        signatures: How tools are written.
        calls: How calls are written.
        invocation: How one call is named when its result is told.
    """

    name: str
    signatures: Callable[[Sequence[ToolSpec]], str]
    calls: Callable[[Sequence[ToolCall]], str]
    invocation: Callable[[ToolCall], str]
    in_text: bool = True

    def render(
        self,
        specs: Sequence[ToolSpec],
        history: Sequence[Message],
        *,
        choice: ToolChoice = AUTO,
        parallel: bool = True,
    ) -> Shown:
        """The conversation with the tools told in its system message, and what is asked for at its end."""
        said: dict[str, ToolCall] = {}
        messages: list[Message] = []
        told = False
        for message in history:
            if message.role == "system" and not told and specs:
                messages.append(_text_message("system", f"{message.text}\n\n{self.prompt(specs)}".lstrip()))
                told = True
                continue
            said |= {call.id: call for call in message.calls}
            messages.append(self._message(message, said))
        if specs and not told:
            messages.insert(0, _text_message("system", self.prompt(specs)))
        if specs and (note := choice_note(choice, parallel=parallel)) and messages:
            messages[-1] = _with_note(messages[-1], note)
        return Shown(messages=tuple(messages), constraint=self._constraint(specs, choice, parallel=parallel))

    def prompt(self, specs: Sequence[ToolSpec]) -> str:
        """How the tools are told."""
        return (
            _template(self.name)
            .replace("{tools}", self.signatures(specs))
            .replace("{example}", json_notation.example(specs))
        )

    def parser(
        self, specs: Sequence[ToolSpec], *, strict: bool = False, thinking: bool = False, prefix: str = "call"
    ) -> Parser:
        """A reader of every form that is known, whichever was asked for: models mix them."""
        return Reader(specs, strict=strict, thinking=thinking, prefix=prefix)

    def _message(self, message: Message, said: dict[str, ToolCall]) -> Message:
        if message.role == "assistant":
            if message.raw is not None and message.raw.dialect == self.name:
                return _text_message("assistant", message.raw.text)
            written = self.calls(message.calls) if message.calls else ""
            return _text_message("assistant", "\n".join(filter(None, (message.text, written))))
        if message.role == "tool":
            return self._results(message, said)
        kept = tuple(part for part in message.parts if isinstance(part, Text | Media))
        return Message(role=message.role, parts=kept)

    def _results(self, message: Message, said: dict[str, ToolCall]) -> Message:
        """Results, in the order of the calls, as a message of the user: text models know no other."""
        parts: list[Part] = []
        texts: list[str] = []
        for part in message.parts:
            if isinstance(part, Result):
                texts.append(self._result(part, said.get(part.call_id)))
                parts += [each for each in part.content if isinstance(each, Media)]
            elif isinstance(part, Text):
                texts.append(part.text)
            elif isinstance(part, Media):
                parts.append(part)
        head = "Results of your calls:\n"
        return Message(role="user", parts=(Text(text=head + "\n".join(texts)), *parts))

    def _result(self, result: Result, call: ToolCall | None) -> str:
        text = "".join(part.text for part in result.content if isinstance(part, Text))
        if result.is_error:
            text = f"Error: {text}"
        what = self.invocation(call) if call else result.call_id
        what = what if len(what) <= MAX_INLINE else f"{what[:MAX_INLINE]}…"
        if len(text) <= MAX_INLINE and "\n" not in text:
            return f"{what} → {text}"
        fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 0)
        return f"{what} →\n{fence}output\n{text}\n{fence}"

    def _constraint(self, specs: Sequence[ToolSpec], choice: ToolChoice, *, parallel: bool) -> Constraint | None:
        if not chosen(specs, choice):
            return None
        if self.name == "json":
            return Constraint(
                json_schema=json_schema(specs, choice, parallel=parallel),
                grammar=json_grammar(specs, choice, parallel=parallel),
            )
        python = self.name == "python"
        return Constraint(grammar=code_grammar(specs, choice, parallel=parallel, python=python))


JSON = TextDialect(
    name="json",
    signatures=typescript_notation.signatures,
    calls=json_notation.calls,
    invocation=json_notation.invocation,
)
TYPESCRIPT = TextDialect(
    name="typescript",
    signatures=typescript_notation.signatures,
    calls=typescript_notation.calls,
    invocation=typescript_notation.invocation,
)
PYTHON = TextDialect(
    name="python",
    signatures=python_notation.signatures,
    calls=python_notation.calls,
    invocation=python_notation.invocation,
)


def choice_note(choice: ToolChoice, *, parallel: bool) -> str:
    """What is asked for in this turn, in words; empty if nothing in particular is."""
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
    return (files("toolspeak.dialects") / "prompts" / f"{name}.txt").read_text(encoding="utf-8").strip()


def _text_message(role: Role, text: str) -> Message:
    return Message(role=role, parts=(Text(text=text),))


def _with_note(message: Message, note: str) -> Message:
    *before, last = message.parts or (Text(text=""),)
    if not isinstance(last, Text):
        return Message(role=message.role, parts=(*before, last, Text(text=note)))
    return Message(role=message.role, parts=(*before, Text(text=f"{last.text}\n\n{note}".lstrip())))
