"""Questions that continue a conversation: its calls and results reach the model as the loop would send them."""

from typing import Any

import pytest

from toolspeak.dialects import DIALECTS
from toolspeak.lab.files import render_qwen
from toolspeak.lab.questions import ExpectedCall, Question, parse_turns
from toolspeak.lab.trials import RecordedAnswer, Trial
from toolspeak.values.errors import UsageError
from toolspeak.values.messages import Result

from .scripted_models import suite_of, tool

TOOLS = (tool("sea.now", place={"type": "string"}), tool("sea.warn", place={"type": "string"}))
TURNS = [
    {"user": "How is the sea at Brest and at Sark?"},
    {"calls": [{"name": "sea.now", "arguments": {"place": place}} for place in ("Brest", "Sark")]},
    {"results": [{"waves_m": 1.5}, {"error": "no station there"}]},
    {"reply": "1.5 m at Brest; there is no station at Sark."},
    {"user": "Any warning for Brest?"},
]


def asked(turns: list[Any]) -> Question:
    expected = (ExpectedCall(name="sea.warn", arguments={"place": ["Brest"]}, optional={}),)
    return Question(
        id="q", category="follow", messages=parse_turns(turns, TOOLS, "here"), tools=TOOLS, expected=expected
    )


def test_turns_become_messages():
    messages = asked(TURNS).messages
    assert [message.role for message in messages] == ["user", "assistant", "tool", "assistant", "user"]
    assert [call.arguments for call in messages[1].calls] == [{"place": "Brest"}, {"place": "Sark"}]
    good, bad = (part for part in messages[2].parts if isinstance(part, Result))
    assert [(part.call_id, part.is_error) for part in (good, bad)] == [
        (call.id, is_error) for call, is_error in zip(messages[1].calls, (False, True), strict=True)
    ]


@pytest.mark.parametrize(
    ("dialect", "shown"),
    [
        ("python", 'sea.now(place="Brest") → {"waves_m": 1.5}\nsea.now(place="Sark") → Error: no station there'),
        ("typescript", 'sea.now({place: "Sark"}) → Error: no station there'),
        ("json", '{"name": "sea.now", "arguments": {"place": "Sark"}} → Error: no station there'),
        ("native", "<tool_response>\nno station there\n</tool_response>"),
    ],
)
def test_a_model_is_shown_the_calls_and_results(dialect: str, shown: str):
    question = asked(TURNS)
    prompt = render_qwen(Trial(suite=suite_of(question), question=question, dialect=dialect).render())
    assert shown in prompt
    assert prompt.endswith("<|im_start|>user\nAny warning for Brest?<|im_end|>\n<|im_start|>assistant\n")


def test_calls_have_the_names_that_an_api_accepts():
    question = asked(TURNS)
    shown = Trial(suite=suite_of(question), question=question, dialect="native").render()
    assert [call.name for message in shown.messages for call in message.calls] == ["sea_now", "sea_now"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_only_the_new_answer_is_judged(dialect: str):
    question = asked(TURNS)
    trial = Trial(suite=suite_of(question), question=question, dialect=dialect)
    name = trial.tools[1].name
    text = f'<tool_call>\n{{"name": "{name}", "arguments": {{"place": "Brest"}}}}\n</tool_call>'
    assert trial.judge(RecordedAnswer(id=trial.id, text=text)).verdict.right
    assert not trial.judge(RecordedAnswer(id=trial.id, text="There is none.")).verdict.right


@pytest.mark.parametrize(
    ("turns", "says"),
    [
        ([], "'turns' end with what the user says or with results"),
        (TURNS[:4], "'turns' end with what the user says or with results"),
        (TURNS[:2], "'turns' end with what the user says or with results"),
        ([*TURNS[:2], TURNS[4]], "turn 3 is to give the 'results' of the calls before it"),
        ([*TURNS[:2], {"results": [1]}], "each call has one result (calls: 2, results: 1)"),
        ([TURNS[0], {"results": [1]}], "each call has one result (calls: 0, results: 1)"),
        ([{"user": "Hello.", "reply": "Hello."}], "turn 1 is not one of 'user', 'calls', 'results' and 'reply'"),
        ([{"calls": []}], "turn 1 is not one of 'user', 'calls', 'results' and 'reply'"),
        ([{"calls": [{"name": "sea.now"}]}], "a call in 'turns' has a 'name' and 'arguments', an object"),
        (
            [{"calls": [{"name": "land", "arguments": {}}]}],
            "'land' is called in 'turns', and is none of the tools",
        ),
    ],
)
def test_what_is_wrong_with_turns_is_told(turns: list[Any], says: str):
    with pytest.raises(UsageError) as caught:
        asked(turns)
    assert str(caught.value) == f"here: {says}"
