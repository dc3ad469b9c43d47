"""A model that is asked again: what the client has got of its words is not sent twice."""

from typing import Any

import pytest

from toolspeak.dialects import DIALECTS
from toolspeak.gateway import app
from toolspeak.gateway.gate import SentText
from toolspeak.testing import ScriptedModel, ScriptedReply, calls, says
from toolspeak.values.pieces import ApiCall

from .conversing import OPENAI_TOOLS, QUESTION
from .hosting import Reply, ask, serve_model

PARIS = ("get_weather", {"city": "Paris"})
BAD = {
    "typescript": "```typescript\nget_weather({city: \n```",
    "python": "```python\nget_weather(city=\n```",
    "json": '<tool_call>\n{"name": "get_rain", "arguments": {}}\n</tool_call>',
}
in_text = pytest.mark.parametrize("dialect", BAD)


def exchange(script: list[ScriptedReply], dialect: str, *, streamed: bool = True) -> Reply:
    asking: dict[str, Any] = {"model": "scripted", "messages": [{"role": "user", "content": QUESTION}]}
    asking |= {"tools": OPENAI_TOOLS, "stream": streamed}
    return ask(app([serve_model(ScriptedModel(script, chunk=4), DIALECTS[dialect])]), asking)


def sent(reply: Reply) -> tuple[str, list[str]]:
    """The text of a streamed answer, and the names of its calls."""
    assert reply.body.endswith(b"data: [DONE]\n\n"), reply.body
    found = [choice["delta"] for chunk in reply.chunks for choice in chunk["choices"]]
    names = [call["function"]["name"] for delta in found for call in delta.get("tool_calls", ()) if "id" in call]
    return "".join(delta.get("content") or "" for delta in found), names


@in_text
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(
    ("words", "client_gets"),
    [
        ("Let me see.\n", "Let me see."),  # the same
        ("\n\nLet me see.\n", "Let me see."),
        ("", "Let me see."),
        ("Let me\n", "Let me see."),  # fewer
        ("Let me see. In Paris:\n", "Let me see. In Paris:"),  # more
        ("Sorry, I try again.\n", "Let me see."),  # others: the client has seen no fault
        ("Let me look.\n", "Let me see."),
    ],
)
def test_before_a_call_the_client_gets_the_words_once(dialect: str, times: int, words: str, client_gets: str):
    script = [says(f"Let me see.\n{BAD[dialect]}")] * times + [calls(PARIS, text=words)]
    assert sent(exchange(script, dialect)) == (client_gets, ["get_weather"])


def test_the_calls_of_an_api_are_mended_without_repeating_words():
    unknown = ApiCall(index=0, id="x", name="launch_rocket", arguments="{}")
    script = [ScriptedReply(text="Let me see.", calls=(unknown,)), calls(PARIS, text="Let me see.")]
    assert sent(exchange(script, "native")) == ("Let me see.", ["get_weather"])


@in_text
@pytest.mark.parametrize(
    ("answer", "client_gets"),
    [
        ("It is sunny.", "Let me see.\n\nIt is sunny."),
        ("Let me see. It is sunny.", "Let me see. It is sunny."),
        ("Let me see.", "Let me see."),
        ("Let me", "Let me see."),
        ("Let us look. Well.", "Let me see.\n\nLet us look. Well."),
    ],
)
def test_an_answer_without_a_call_is_never_lost(dialect: str, answer: str, client_gets: str):
    script = [says(f"Let me see.\n{BAD[dialect]}"), says(answer)]
    assert sent(exchange(script, dialect)) == (client_gets, [])


@in_text
def test_a_plain_answer_has_the_words_of_the_last_message_alone(dialect: str):
    script = [says(f"Let me see.\n{BAD[dialect]}"), calls(PARIS, text="Sorry.")]
    said = exchange(script, dialect, streamed=False).json["choices"][0]["message"]
    assert (said["content"], len(said["tool_calls"])) == ("Sorry.", 1)


@pytest.mark.parametrize("chunk", [1, 2, 3, 50])
def test_what_is_left_to_send(chunk: int):
    text = SentText()
    text.start_message()
    assert text.extend("Let me see.") == "Let me see."
    text.start_message()
    again = "Let me see. In Paris"
    pieces = [text.extend(again[at : at + chunk]) for at in range(0, len(again), chunk)]
    assert "".join(piece or "" for piece in pieces) == " In Paris"
    assert str(text) == again
    text.start_message()
    assert not text.is_repeated
    assert text.extend("Let us") is None


class CountingText(str):
    """A text that counts the characters that are copied out of it."""

    copied_chars = 0

    def __getitem__(self, key: Any) -> "CountingText":
        part = CountingText(super().__getitem__(key))
        CountingText.copied_chars += len(part)
        return part


class CountedSentText(SentText):
    def __str__(self) -> str:
        return CountingText(super().__str__())


def test_a_long_text_that_is_repeated_is_not_copied_with_each_piece():
    pieces = [f"word {number} " for number in range(2_000)]
    text = CountedSentText()
    for piece in pieces:
        text.extend(piece)
    text.start_message()
    CountingText.copied_chars = 0
    assert {text.extend(piece) for piece in pieces} == {""}
    assert text.is_repeated
    assert text.extend("and more") == "and more"
    assert CountingText.copied_chars <= len("".join(pieces))


@pytest.mark.parametrize("streamed", [True, False])
def test_reasoning_is_sent_with_each_message_of_a_stream(streamed: bool):
    """It is shown while it arrives, and is no part of the answer. A whole answer has that of the last message."""
    bad = ScriptedReply(thinking="One.", text=BAD["python"])
    reply = exchange([bad, ScriptedReply(thinking="Two.", text="It is sunny.")], "python", streamed=streamed)
    if streamed:
        deltas = [choice["delta"] for chunk in reply.chunks for choice in chunk["choices"]]
        assert "".join(delta.get("reasoning_content") or "" for delta in deltas) == "One.Two."
    else:
        assert reply.json["choices"][0]["message"]["reasoning_content"] == "Two."
