"""Which answers are right: values by what they mean, calls in any order, results that flow."""

from typing import Any

import pytest

from toolspeak.lab.judge import judge_calls, matches
from toolspeak.lab.questions import ExpectedCall
from toolspeak.lab.trials import RecordedAnswer, Trial
from toolspeak.values.messages import Ref, ToolCall

from .scripted_models import question, suite_of, tool

TEXT, WHOLE, FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}


@pytest.mark.parametrize(
    ("value", "right"),
    [
        ("Oslo", "oslo"),
        (" New  York ", "new york"),
        ("It is paid.", "It is paid"),
        (5, 5.0),
        (True, True),
        (None, None),
        ([1, 2], [1, 2]),
        ({"a": "X"}, {"a": "x"}),
        ([2, 1], {"$set": [1, 2]}),
        ([{"a": 2}, {"a": 1}], {"$set": [{"a": 1}, {"a": 2}]}),
        ([], {"$set": []}),
        ("It moved to Noon, sorry.", {"$contains": ["noon", "moved"]}),
        (["whatever"], {"$any": True}),
    ],
)
def test_values_that_mean_the_same(value: Any, right: Any):
    assert matches(value, right)


@pytest.mark.parametrize(
    ("value", "right"),
    [
        ("Oslo", "Bergen"),
        ("5", 5),
        (5, "5"),
        (1, True),
        (True, 1),
        (0, False),
        ("", None),
        ([2, 1], [1, 2]),
        ([1, 2, 3], [1, 2]),
        ("ab", ["a", "b"]),
        ({"a": 1, "b": 2}, {"a": 1}),
        ({}, {"a": 1}),
        ([1, 1], {"$set": [1, 2]}),
        ([1], {"$set": [1, 2]}),
        (5, {"$contains": ["5"]}),
        ("later", {"$contains": ["noon"]}),
    ],
)
def test_values_that_do_not(value: Any, right: Any):
    assert not matches(value, right)


LIGHT = tool("set_light", room=TEXT, percent=WHOLE, warm={**FLAG, "default": False})
LOCK = tool("lock", door=TEXT)
HALL = ExpectedCall(
    name="set_light", arguments={"room": ["hall", "the hall"], "percent": [20]}, optional={"warm": [False]}
)
KITCHEN = ExpectedCall(name="set_light", arguments={"room": ["kitchen"], "percent": [20, 25]}, optional={})
BACK = ExpectedCall(name="lock", arguments={"door": ["back"]}, optional={})


def said(*calls: tuple[str, dict[str, Any]]) -> list[ToolCall]:
    return [ToolCall(id=f"c{place}", name=name, arguments=given) for place, (name, given) in enumerate(calls)]


@pytest.mark.parametrize(
    ("expected", "calls"),
    [
        ([HALL], [("set_light", {"room": "Hall", "percent": 20})]),
        ([HALL], [("set_light", {"room": "the hall", "percent": "20", "warm": "false"})]),  # coerced, as for a tool
        ([HALL], [("set_light", {"room": "hall", "percent": 20, "warm": None})]),
        (
            [HALL, KITCHEN],
            [("set_light", {"room": "kitchen", "percent": 25}), ("set_light", {"room": "hall", "percent": 20})],
        ),
        ([HALL, BACK], [("lock", {"door": "back"}), ("set_light", {"room": "hall", "percent": 20})]),
        ([], []),
    ],
)
def test_right_answers(expected: list[ExpectedCall], calls: list[tuple[str, dict[str, Any]]]):
    assert judge_calls(question("q", "…", [LIGHT, LOCK], *expected), said(*calls)).right


@pytest.mark.parametrize(
    ("expected", "calls", "why"),
    [
        ([HALL], [], "nothing was called"),
        ([], [("lock", {"door": "back"})], "nothing was to be called, and lock was"),
        ([HALL], [("lock", {"door": "back"})], "lock was not to be called"),
        ([HALL], [("set_light", {"room": "hall"})], "set_light: percent is missing"),
        (
            [HALL],
            [("set_light", {"room": "attic", "percent": 20})],
            "set_light: room is 'attic', and right would be 'hall' or 'the hall'",
        ),
        (
            [KITCHEN],
            [("set_light", {"room": "kitchen", "percent": 20, "warm": True})],
            "set_light: warm was not to be given",
        ),
        ([HALL, BACK], [("set_light", {"room": "hall", "percent": 20})], "lock was not called"),
        ([BACK], [("lock", {"door": "back"}), ("lock", {"door": "back"})], "lock was not to be called again"),
    ],
)
def test_wrong_answers_and_why(expected: list[ExpectedCall], calls: list[tuple[str, dict[str, Any]]], why: str):
    verdict = judge_calls(question("q", "…", [LIGHT, LOCK], *expected), said(*calls))
    assert (verdict.right, verdict.why) == (False, why)


FIND, MAIL = tool("find", name=TEXT), tool("mail", to=TEXT, about={**TEXT, "default": ""})
STEPS = question(
    "q",
    "…",
    [FIND, MAIL],
    ExpectedCall(name="find", arguments={"name": ["Ana"]}, optional={}, returns={"email": "ana@x", "id": 3}),
    ExpectedCall(name="mail", arguments={"to": ["ana@x"]}, optional={}, after=(0,)),
)


@pytest.mark.parametrize("to", [Ref(call="c0", path=("email",)), "ana@x"])
def test_a_result_may_flow_into_the_next_call(to: Any):
    assert judge_calls(STEPS, said(("find", {"name": "Ana"}), ("mail", {"to": to}))).right


def test_a_model_may_want_to_see_the_first_result():
    assert judge_calls(STEPS, said(("find", {"name": "Ana"}))).right


@pytest.mark.parametrize(
    ("calls", "why"),
    [
        ([("find", {"name": "Ana"}), ("mail", {"to": "made@up"})], "mail: to is 'made@up', and right would be 'ana@x'"),
        ([("mail", {"to": "ana@x"})], "find was not called"),
        (
            [("find", {"name": "Ana"}), ("mail", {"to": Ref(call="c0", path=("phone",))})],
            "mail: the result it needs has no 'phone'; it has: \"'email', 'id'\"",
        ),
        (
            [("find", {"name": "Ana"}), ("mail", {"to": Ref(call="c0", path=("id",))})],
            "mail: to is 3, and right would be 'ana@x'",
        ),
    ],
)
def test_what_flows_wrongly(calls: list[tuple[str, dict[str, Any]]], why: str):
    verdict = judge_calls(STEPS, said(*calls))
    assert (verdict.right, verdict.why) == (False, why)


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        (
            "python",
            '```python\np = find_person(name="Priya Nair")\nsend_email(to=p["email"], subject="Meeting", body="It is at noon.")\n```',
        ),
        (
            "typescript",
            '```typescript\nconst p = find_person({name: "Priya Nair"});\nsend_email({to: p.email, subject: "Meeting", body: "It is at noon."});\n```',
        ),
        ("json", '<tool_call>\n{"name": "find_person", "arguments": {"name": "Priya Nair"}}\n</tool_call>'),
        ("native", '<tool_call>\n{"name": "find_person", "arguments": {"name": "Priya Nair"}}\n</tool_call>'),
    ],
)
def test_two_steps_as_models_say_them(dialect: str, text: str):
    tools = (
        tool("find_person", name=TEXT),
        tool("send_email", to=TEXT, subject=TEXT, body=TEXT),
    )
    email = {"to": ["priya@x"], "subject": ["Meeting"], "body": [{"$contains": ["noon"]}]}
    expected = (
        ExpectedCall(name="find_person", arguments={"name": ["Priya Nair"]}, optional={}, returns={"email": "priya@x"}),
        ExpectedCall(name="send_email", arguments=email, optional={}, after=(0,)),
    )
    asked = question("office", "Mail Priya Nair that the meeting is at noon.", tools, *expected)
    result = Trial(suite=suite_of(asked), question=asked, dialect=dialect).judge(RecordedAnswer(id="…", text=text))
    assert result.verdict.right, result.verdict.why
