"""Events as the transcript draws them."""

from io import StringIO

import pytest

from toolspeak.cli.log import replay
from toolspeak.cli.record import CallTimer
from toolspeak.cli.transcript import Transcript, create_console
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, breaks, says
from toolspeak.values.errors import EndpointDown


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("", "assistant: Noon.\n"),
        (
            "It is",
            "assistant: It is\n(the answer of first broke off and does not count; asking second)\nassistant: Noon.\n",
        ),
    ],
    ids=["before the first word", "after it"],
)
def test_an_answer_that_broke_off_does_not_count(text: str, drawn: str):
    down = ScriptedModel([breaks(EndpointDown("gone"), text=text)], name="first")
    file = StringIO()
    transcript = Transcript(create_console(file), CallTimer())
    stream = Agent([down, ScriptedModel([says("Noon.")], name="second")]).stream("What time is it?")
    for event in stream:
        transcript.show(event)
    assert file.getvalue() == drawn
    again = StringIO()
    transcript = Transcript(create_console(again), CallTimer())
    for event in replay(stream.outcome.facts):  # the log has no deltas, and so nothing of the broken answer
        transcript.show(event)
    assert again.getvalue() == "assistant: Noon.\n"
