"""What a model is shown of the rounds that it summarizes."""

import re

import pytest

from toolspeak.models import Request
from toolspeak.run import Agent
from toolspeak.run.compaction import LEFT_OUT, DroppedPart, list_rounds_briefly
from toolspeak.testing import ScriptedModel, ScriptedReply, says
from toolspeak.values.limits import Limits
from toolspeak.values.messages import assistant, user


@pytest.mark.parametrize("context", [3000, 8000])
def test_each_dropped_round_is_in_one_summary(context: int):
    asked: list[str] = []

    def reply(request: Request) -> ScriptedReply:
        last = request.shown.messages[-1]
        if last.text.startswith("Summarize"):
            asked.append(last.text)
            return says("Summary.")
        return says("Fine. " + "blah " * 30)

    chat = Agent(ScriptedModel([reply] * 400), limits=Limits(context=context)).chat()
    chat.run("My name is Ada.")
    for turn in range(2, 121):
        chat.run(f"Turn {turn}: " + "pad " * 40)
    assert len(asked) > 1
    assert "My name is Ada." in asked[0]
    numbers = [int(number) for text in asked for number in re.findall(r"\[round_(\d+)\]", text)]
    assert numbers == [*range(1, len(numbers) + 1)]
    assert not any(LEFT_OUT in text for text in asked)


def test_a_plain_list_leaves_out_the_oldest_only_if_there_is_no_room_for_all():
    rounds = [(user(f"Question {number}: " + "why " * 40), assistant("Because.")) for number in range(1, 41)]
    wide = list_rounds_briefly(
        DroppedPart(earlier="", rounds=rounds, first=1, max_bytes=3200, has_recall=True)
    ).splitlines()
    assert len(wide) == 40
    assert wide[0].startswith("- round_1: user: Question 1:")
    narrow = list_rounds_briefly(
        DroppedPart(earlier="", rounds=rounds, first=1, max_bytes=700, has_recall=True)
    ).splitlines()
    assert narrow[0] == LEFT_OUT
    assert narrow[-1].startswith("- round_40: user: Question 40:")
    assert len("\n".join(narrow)) <= 700
