"""`DialectContract`: what a dialect must do."""

import random
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from toolspeak.dialects import Dialect, MessageContent, Shown, fold
from toolspeak.events import AUTO, ToolChoice
from toolspeak.messages import Call, Message, Result, Text, ToolCall, assistant, system, user
from toolspeak.spec import ToolSpec
from toolspeak.testing.contract import Contract, require

ADD = ToolSpec(
    name="add",
    description="Add two numbers.",
    parameters={
        "type": "object",
        "properties": {"first": {"type": "integer"}, "second": {"type": "integer"}},
        "required": ["first", "second"],
    },
)
NOTE = ToolSpec(
    name="note",
    description="Keep a text.",
    parameters={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)
TOOLS = (ADD, NOTE)
"""The tools that dialects are tried with."""

FRAGMENTS = (
    *("add", "note", "(", ")", "{", "}", "[", "]", '"', "'", ":", ",", "\n", "\n\n", " ", "\\", "```", "```json\n"),
    *(
        "first",
        "second",
        "text",
        "1",
        "2.5",
        "-",
        "null",
        "<tool_call>",
        "</tool_call>",
        "<think>",
        "</think>",
        "é",
        "😀",
    ),
)
"""What random texts are made of."""

RANDOM_TEXTS = 50
CUTS = 10


class DialectContract(Contract):
    """What a dialect must do. Derive from it, and write `make_dialect` and `messages`.

    Attributes:
        messages: Texts that a model may write in your dialect, each with the calls in it, of the tools `add(first,
            second)` and `note(text)`. A dialect that leaves calls to the API needs none.
        seed: Chooses the random texts and the places where texts are cut.
    """

    messages: Mapping[str, Sequence[tuple[str, Mapping[str, Any]]]] = MappingProxyType({})
    seed: int = 0

    def make_dialect(self) -> Dialect:
        """Return the dialect."""
        raise NotImplementedError("write make_dialect, which returns your dialect")

    def test_the_name_stays_the_same(self) -> None:
        """Runs record the name, and messages keep their text under it."""
        name = cast("object", self.make_dialect().name)
        require(isinstance(name, str) and bool(name.strip()), f"the name of a dialect is a text, not {name!r}")
        require(self.make_dialect().name == name, "the name of a dialect does not change")

    def test_every_tool_is_shown(self) -> None:
        """A model can only call what it is shown."""
        dialect = self.make_dialect()
        shown = dialect.render(TOOLS, [user("What is 1 + 2?")])
        text = "\n".join(message.text for message in shown.messages)
        for tool in TOOLS:
            is_shown = tool.name in text if dialect.in_text else tool in shown.tools
            place = "in the messages" if dialect.in_text else "among the tools of Shown"
            require(is_shown, f"the tool {tool.name!r} is not {place}")
        require(not (dialect.in_text and shown.tools), "a dialect with in_text leaves Shown.tools empty")

    def test_the_conversation_is_shown(self) -> None:
        """What the user and the system prompt say reaches the model, and so do results."""
        shown = self.make_dialect().render(TOOLS, HISTORY)
        text = "\n".join(_all_text(shown))
        for words in ("Be brief.", "What is 1 + 2?", "The sum is three.", "Keep that."):
            require(words in text, f"the model is not shown {words!r}, which is in the history")
        require("three: 3" in text, "the model is not shown the result of its call")

    def test_a_longer_history_begins_with_the_shorter_one(self) -> None:
        """Servers keep what they have read of a conversation, as long as its beginning does not change."""
        dialect = self.make_dialect()
        whole = dialect.render(TOOLS, HISTORY).messages
        for length in (2, 4):
            part = dialect.render(TOOLS, HISTORY[:length]).messages
            require(
                whole[: len(part)] == part,
                f"what is shown for the first {length} messages is not the beginning of what is shown for all",
            )

    def test_a_choice_changes_only_the_last_message(self) -> None:
        """What differs from turn to turn stands at the end, so that the rest stays in the caches of servers."""
        dialect = self.make_dialect()
        usual = dialect.render(TOOLS, HISTORY, choice=AUTO).messages
        for choice in (ToolChoice(mode="required"), ToolChoice(mode="named", names=("add",))):
            shown = dialect.render(TOOLS, HISTORY, choice=choice, parallel=False).messages
            require(
                shown[: len(usual) - 1] == usual[:-1], f"the choice {choice.mode!r} changes more than the last message"
            )

    def test_calls_are_read(self) -> None:
        """The calls in your messages are those that you expect."""
        dialect = self.make_dialect()
        require(bool(self.messages) or not dialect.in_text, "give messages = {text: [(tool, arguments), …]}")
        for text, expected in self.messages.items():
            content = _read(dialect, [text])
            calls = [(ready.call.name, ready.call.arguments) for ready in content.calls]
            require(
                calls == [(name, dict(arguments)) for name, arguments in expected], f"in {text!r} the calls are {calls}"
            )

    def test_chunks_do_not_matter(self) -> None:
        """However a text is cut, its events fold into the same content."""
        dialect, chance = self.make_dialect(), random.Random(self.seed)  # noqa: S311 (no secret)
        for text in (*self.messages, *_random_texts(chance)):
            whole = _read(dialect, [text])
            require(_read(dialect, list(text)) == whole, f"read character by character, {text!r} is something else")
            for _ in range(CUTS):
                chunks = _cut(text, chance)
                require(_read(dialect, chunks) == whole, f"cut into {chunks}, {text!r} is something else")

    def test_any_text_can_be_read(self) -> None:
        """A parser never fails: a model may write anything, and its message may be cut anywhere."""
        dialect, chance = self.make_dialect(), random.Random(self.seed + 1)  # noqa: S311 (no secret)
        for text in _random_texts(chance):
            for finish in ("stop", "length"):
                parser = dialect.parser(TOOLS)
                try:
                    fold([*parser.feed(text), *parser.close(finish)])
                except Exception as error:
                    raise AssertionError(f"the text {text!r} makes the parser fail: {error!r}") from error

    def test_ids_begin_with_the_prefix_and_differ(self) -> None:
        """A result finds its call by the id, which must differ from turn to turn."""
        dialect = self.make_dialect()
        for text in self.messages:
            parser = dialect.parser(TOOLS, prefix="turn7")
            content = fold([*parser.feed(text), *parser.close("stop")])
            ids = [*(ready.call.id for ready in content.calls), *(each.call_id for each in content.malformed)]
            require(len(set(ids)) == len(ids), f"two calls in {text!r} have the same id: {ids}")
            require(all(each.startswith("turn7") for each in ids), f"ids do not begin with the prefix: {ids}")


HISTORY = (
    system("Be brief."),
    user("What is 1 + 2?"),
    Message(role="assistant", parts=(Call(call=ToolCall(id="a", name="add", arguments={"first": 1, "second": 2})),)),
    Message(role="tool", parts=(Result(call_id="a", content=(Text(text="three: 3"),)),)),
    assistant("The sum is three."),
    user("Keep that."),
)
"""A conversation with a call. The model is asked after its second, fourth and last message."""


def _all_text(shown: Shown) -> Iterable[str]:
    for message in shown.messages:
        for part in message.parts:
            if isinstance(part, Text):
                yield part.text
            elif isinstance(part, Result):
                yield from (each.text for each in part.content if isinstance(each, Text))


def _read(dialect: Dialect, chunks: Sequence[str]) -> MessageContent:
    parser = dialect.parser(TOOLS)
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return fold([*events, *parser.close("stop")])


def _random_texts(chance: random.Random) -> list[str]:
    return ["".join(chance.choices(FRAGMENTS, k=chance.randint(1, 20))) for _ in range(RANDOM_TEXTS)]


def _cut(text: str, chance: random.Random) -> list[str]:
    places = sorted(chance.sample(range(len(text) + 1), k=min(3, len(text))))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
