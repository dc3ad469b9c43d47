"""Answers in a format: how a model is asked for one, and which events of its message are sent to the client.

The client gets the JSON and nothing else, or calls. A model is asked in one of three ways:

- Beside tools, the answer is a call of one more tool, which the client does not see: every dialect can carry it, and a
  model that calls tools is told nothing new. Whatever comes first counts, a call or the answer.
- Without tools, the model is told in words to answer with JSON of a type.
- A vendor whose API has the field gets it unchanged, with or without tools.

If the client demands a call, the model is not asked for an answer at all. In each case the answer is checked. What else
the model writes is not sent: clients take all text for the answer.

`strict: false` is mended as well, and the last answer may be any object: some clients send it and then fail on what
does not fit.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, count
from typing import Any, Literal

from toolspeak.dialects.json_notation import fence_around
from toolspeak.dialects.typescript_notation import format_definitions, format_type
from toolspeak.gateway.answer_schema import AnswerSchema
from toolspeak.gateway.answer_text import AnswerFinder, AnswerResult, PrefixReader, check_answer
from toolspeak.gateway.gate import SentText
from toolspeak.loop import find_references
from toolspeak.run.output import ANSWER, DESCRIPTION, NAME
from toolspeak.values.events import ArgsDelta, CallReady, CallStarted, Event, TextDelta, ThinkingDelta, ToolChoice
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Call, Message, Part, Text, Thinking, system
from toolspeak.values.spec import Schema, ToolSpec
from toolspeak.values.work_budget import WorkBudget
from toolspeak.wire.chat_request import AnswerFormat

ANY_OBJECT: Schema = {"type": "object"}

DEFINITIONS = ("$defs", "definitions")
"""The keys of a schema that hold the schemas to which it refers."""

MAX_QUOTED_CHARS = 500
"""Characters of the beginning of an answer that a model is reminded of."""

AskingForm = Literal["tool", "words", "field", "none"]
"""How a model is asked for an answer in a format: by a tool, in words, by the field of its own API, or not at all."""


@frozen
class HeldFormat:
    """The format that the answer to one request is held to."""

    schema: AnswerSchema  # the answer is checked against it
    shown: Schema  # what the model is shown
    is_strict: bool  # whether the last answer is refused if it does not fit; else it may be any object
    asking: AskingForm
    tool: ToolSpec | None = None  # gives the answer, if the model is asked by a tool
    wrapper: str = ""  # the only parameter of the tool, which holds the answer; empty if its parameters are the answer

    def loosen(self) -> "HeldFormat":
        """Return the format that the last answer of a model is held to."""
        return self if self.is_strict else replace(self, schema=AnswerSchema(ANY_OBJECT, ""))


def hold_format(form: AnswerFormat, tools: Sequence[ToolSpec], choice: ToolChoice, *, knows_field: bool) -> HeldFormat:
    """Decide how a model is asked for an answer in a format. Raises `FieldError` if the schema cannot be checked.

    `tools` are those that the model may call instead of giving the answer, `choice` says which of them must be called,
    and `knows_field` whether the model's own API has a field for the format, which is forwarded.
    """
    schema = AnswerSchema(form.schema or ANY_OBJECT, form.path)
    if knows_field or not tools or choice.mode != "auto":
        asking = "field" if knows_field else "none" if tools else "words"
        return HeldFormat(schema=schema, shown=schema.root, is_strict=form.is_strict, asking=asking)
    root = schema.resolve(schema.root)
    is_plain = root.get("type") == "object" and bool(root.get("properties"))
    taken = {tool.name for tool in tools}
    names = chain([NAME], (f"{NAME}_{number}" for number in count(2)))
    name = next(name for name in names if name not in taken)
    parameters = schema.root
    if not is_plain:
        definitions = {key: each for key, each in schema.root.items() if key in DEFINITIONS}
        inner = {key: each for key, each in schema.root.items() if key not in DEFINITIONS}
        parameters = {"type": "object", "properties": {ANSWER: inner}, "required": [ANSWER], **definitions}
    return HeldFormat(
        schema=schema,
        shown=schema.root,
        is_strict=form.is_strict,
        asking="tool",
        tool=ToolSpec(name=name, description=DESCRIPTION, parameters=parameters),
        wrapper="" if is_plain else ANSWER,
    )


def add_instruction(held: HeldFormat, history: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the conversation with the request for JSON in its system message, where the model is asked in words."""
    if held.asking != "words":
        return history
    budget = WorkBudget(held.shown)
    types = "".join(format_definitions(held.shown.get(key, {}), budget) for key in DEFINITIONS)
    shown = {key: value for key, value in held.shown.items() if key not in DEFINITIONS}
    if shown == ANY_OBJECT:
        words = "Answer with only one JSON object, without any other words."
    else:
        types += f"type Answer = {format_type(shown, budget)}"
        fence = fence_around(types)
        type_ = f"{fence}typescript\n{types}\n{fence}"
        words = f"Answer with only one JSON value of the type Answer, without any other words:\n\n{type_}"
    first = history[0] if history else None
    if first is not None and first.role == "system":
        gap = "\n\n" if first.text.strip() else ""
        return (Message(role="system", parts=(*first.parts, Text(text=gap + words))), *history[1:])
    return (system(words), *history)


class FormatGate:
    """Of the events that a `Gate` lets pass in one message, sends those of an answer in a format, or of calls."""

    def __init__(self, held: HeldFormat, sent: SentText, *, hold_text: bool = False) -> None:
        self.has_sent_call = False  # after that the model cannot be asked again
        self.is_done = False  # whether the rest of the message is not needed
        self._sent = sent  # of earlier answers, which the client keeps: the answer must begin with it
        self._held = held
        self._hold_text = hold_text  # whether text counts only if the whole message has no call
        self._prose: list[str] = []
        self._finder = AnswerFinder(held.schema)
        self._reader: PrefixReader | None = None  # of the call that gives the answer
        self._answer_id = ""
        self._result: AnswerResult | None = None
        self._has_differed = False
        self._dropped_ids: set[str] = set()  # of calls that give an answer beside other calls

    @property
    def has_answer(self) -> bool:
        """Whether a whole answer was sent."""
        return self._result is not None and bool(self._result.text) and not self._has_differed

    def admit(self, events: Sequence[Event]) -> list[Event]:
        """Return the events that may be sent now."""
        sent: list[Event] = []
        for event in events:
            if isinstance(event, ThinkingDelta):
                sent.append(event)
            elif isinstance(event, TextDelta):
                sent += self._admit_text(event.text)
            elif not self.is_done:
                sent += self._admit_call(event)
        return sent

    def _admit_text(self, text: str) -> list[Event]:
        self._prose.append(text)
        if self._hold_text or self.is_done or self.has_sent_call or self._answer_id:
            return []
        return self._search(text)

    def _search(self, text: str) -> list[Event]:
        """Look for the answer in text of the message."""
        self._finder.feed(text)
        if self._finder.is_complete:
            self._result = AnswerResult(text=self._finder.text)
            self.is_done = True
        return self._send_new(self._finder.reader)

    def _admit_call(self, event: Event) -> list[Event]:
        tool = self._held.tool
        if isinstance(event, CallStarted) and tool is not None and event.name == tool.name:
            if self.has_sent_call or self._answer_id:
                self._dropped_ids.add(event.call_id)  # it was given before the results of the calls were known
            else:
                self._answer_id = event.call_id
                self._reader = PrefixReader(self._held.schema, wrapper=self._held.wrapper, in_call=True)
            return []
        if self._answer_id:
            return self._read_call(event)
        if _get_call_id(event) in self._dropped_ids:
            return []
        if self._sent and not self.has_sent_call:  # a part of an answer, which calls cannot follow
            self._has_differed = True
            return []
        self.has_sent_call = True
        return [event]

    def _read_call(self, event: Event) -> list[Event]:
        """Read the call that gives the answer. Other calls beside it are dropped."""
        if isinstance(event, ArgsDelta) and event.call_id == self._answer_id and self._reader is not None:
            self._reader.send(event.text)
            return self._send_new(self._reader)
        if isinstance(event, CallReady) and event.call.id == self._answer_id:
            self._result = self._check_arguments(event.call.arguments)
            self.is_done = True
            return self._send_rest(self._reader, self._result)
        return []

    def _check_arguments(self, arguments: Any) -> AnswerResult:
        if self._reader is not None and self._reader.is_complete:
            return AnswerResult(text=self._reader.text)
        if find_references(arguments):
            return AnswerResult(problem="the answer must hold values, and not the results of calls")
        return check_answer(arguments.get(self._held.wrapper) if self._held.wrapper else arguments, self._held.schema)

    def close(self, *, ended_well: bool) -> list[Event]:
        """End a message without malformed calls, and return the last events."""
        if self._result is not None or self.has_sent_call or self._answer_id or self._held.asking == "none":
            return []
        sent = self._search("".join(self._prose)) if self._hold_text else []
        if self._result is None:
            self._result = self._finder.close(ended_well=ended_well)
            sent += self._send_rest(self._finder.reader, self._result)
        return sent

    def release_prose(self) -> list[Event]:
        """Return the text of the model, if nothing was sent: a refusal, which is no answer."""
        return [] if self._sent or self.has_sent_call else self._send("".join(self._prose))

    def find_problem(self) -> str | None:
        """Return why the message is not acceptable, in words for the model and the client; None if it is."""
        if self._has_differed or not (self._sent.is_repeated or self.has_sent_call):
            return "the answer does not go on from the part of it that was sent before"
        if self.has_sent_call or self._held.asking == "none":
            return None
        return "the answer is missing" if self._result is None else self._result.problem or None

    def give_advice(self) -> str:
        """Return what the model should do after a problem; empty if the problem says enough."""
        sent = str(self._sent)
        if sent:
            beginning = f"with {sent}" if len(sent) <= MAX_QUOTED_CHARS else "exactly as before"
            return f"Write the whole answer again, beginning {beginning}"  # no full stop, which would be a part of it
        tool = self._held.tool
        return f"Give the answer by calling {tool.name}." if tool is not None and not self._answer_id else ""

    def build_message(self, message: Message) -> Message:
        """Return the message that was sent, given the one that the `Gate` let pass."""
        tool = self._held.tool
        parts: list[Part] = [part for part in message.parts if isinstance(part, Thinking)]
        parts += [Text(text=str(self._sent))] if self._sent else []
        if self.has_sent_call:
            calls = (part for part in message.parts if isinstance(part, Call))
            parts += [part for part in calls if tool is None or part.call.name != tool.name]
        return Message(role="assistant", parts=tuple(parts))

    def _send_new(self, reader: PrefixReader | None) -> list[Event]:
        return self._send(reader.take_new()) if reader is not None and reader.has_begun else []

    def _send_rest(self, reader: PrefixReader | None, result: AnswerResult) -> list[Event]:
        """Send what is missing of a complete answer, some of which a reader may have found certain before."""
        begun = reader.text if reader is not None else ""
        if not result.text.startswith(begun):
            self._has_differed = self._has_differed or bool(result.text)
            return []
        return self._send(result.text[len(begun) :])

    def _send(self, text: str) -> list[Event]:
        """Send text, as far as it goes on where an earlier answer ended."""
        new = None if self._has_differed else self._sent.extend(text)
        self._has_differed = new is None
        return [TextDelta(text=new)] if new else []


def _get_call_id(event: Event) -> str:
    match event:
        case CallReady(call=call):
            return call.id
        case CallStarted(call_id=call_id) | ArgsDelta(call_id=call_id):
            return call_id
        case _:
            return ""
