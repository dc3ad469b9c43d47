"""Messages and their parts: what cannot be sent is refused where it is made."""

from typing import Any

import pytest

from tests.cases import each_case
from toolspeak.values.errors import UsageError
from toolspeak.values.messages import (
    Call,
    Media,
    Message,
    Result,
    Text,
    ToolCall,
    assistant,
    ends_with_results,
    system,
    user,
)
from toolspeak.values.origin import Origin


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({}, "Media(mime='image/png') is empty; give bytes with data=… or an address with url=…"),
        ({"data": b""}, "Media(mime='image/png') is empty"),
        ({"url": ""}, "Media(mime='image/png') is empty"),
        ({"data": "cat.png"}, "Media(data=…) takes bytes, not str; for a file: Path(…).read_bytes()"),
    ],
)
def test_media_without_content_are_refused(fields: dict[str, Any], problem: str):
    with pytest.raises(UsageError) as caught:
        Media(mime="image/png", **fields)
    assert problem in str(caught.value)


def test_an_empty_text_file_is_a_text():
    assert Media(mime="text/plain", data=b"").data == b""


ASKED = (system("Be brief."), user("How is Oslo?"))
CALLED = Message(role="assistant", parts=(Call(call=ToolCall(id="1", name="get_weather", arguments={})),))
GOOD, BAD = (Result(call_id="1", content=(Text(text="4 °C"),), is_error=failed) for failed in (False, True))
NOTE = Text(text="Now answer in words.", origin=Origin.LOOP)


def told(*parts: Result | Text) -> Message:
    return Message(role="tool", parts=parts)


@each_case("history, follows", {
    "nothing": ((), False),
    "a question": (ASKED, False),
    "a result": ((*ASKED, CALLED, told(GOOD)), True),
    "an error": ((*ASKED, CALLED, told(BAD)), False),
    "an error beside a result": ((*ASKED, CALLED, told(GOOD, BAD)), True),
    "one message for each result": ((*ASKED, CALLED, told(GOOD), told(BAD)), True),
    "a note after the results": ((*ASKED, CALLED, told(GOOD, NOTE)), True),
    "an answer": ((*ASKED, CALLED, told(GOOD), assistant("Cold.")), False),
    "another question": ((*ASKED, CALLED, told(GOOD), assistant("Cold."), user("And Rome?")), False),
    "a question beside results": ((*ASKED, CALLED, told(GOOD), user("And Rome?")), False),
    "another call that failed": ((*ASKED, CALLED, told(GOOD), CALLED, told(BAD)), False),
    "a note after an empty answer": (
        (*ASKED, CALLED, told(GOOD), assistant(""), Message(role="user", parts=(NOTE,))), False,
    ),
    "what is left of a longer conversation": ((ASKED[0], user("[A summary.]"), CALLED, told(GOOD)), True),
})  # fmt: skip
def test_a_conversation_that_ends_with_results_is_told(history: tuple[Message, ...], follows: bool):
    assert ends_with_results(history) is follows
