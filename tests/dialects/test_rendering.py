"""What a model is shown: tools, history, and what is asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolspeak import Tool
from toolspeak.dialects import DIALECTS, JSON, NATIVE, PYTHON, TYPESCRIPT, dialect, fold
from toolspeak.dialects.python_notation import format_tools as format_python_tools
from toolspeak.dialects.typescript_notation import format_tools as format_typescript_tools
from toolspeak.errors import UsageError
from toolspeak.events import ToolChoice
from toolspeak.messages import Call, Concat, Message, Raw, Ref, Result, Text, ToolCall, assistant, system, user
from toolspeak.spec import ToolSpec

TEXT = [JSON, TYPESCRIPT, PYTHON]


def ids(each):
    return each.name


def book(stay: dict[str, int], room: str = "any", nights: int | None = None) -> None:
    """Book a room.

    Args:
        stay: First and last day.
        room: Which room.
    """


MAX_NESTING = ToolSpec(
    name="plan-trip",
    description="Plan a trip.\nBy train.",
    parameters={
        "type": "object",
        "properties": {
            "stops": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "city": {"type": "string", "description": "Its name."},
                        "nights": {"type": "integer"},
                    },
                    "required": ["city"],
                },
                "minItems": 1,
            },
            "class": {"enum": ["first", "second"], "default": "second"},
            "start": {"type": "string", "format": "date", "description": "The first day."},
            "x-id": {"type": ["integer", "null"]},
        },
        "required": ["stops", "start"],
        "additionalProperties": False,
    },
)


def test_typescript_says_all_that_the_schema_says():
    assert format_typescript_tools([Tool(book).spec]) == (
        "/** Book a room. */\n"
        "book({\n"
        "  stay: Record<string, integer>; // First and last day.\n"
        '  room?: string = "any"; // Which room.\n'
        "  nights?: integer;\n"
        "})"
    )
    assert format_typescript_tools([MAX_NESTING]) == (
        "/** Plan a trip.\n"
        " * By train. */\n"
        "plan_trip({\n"
        "  stops: {\n"
        "    city: string; // Its name.\n"
        "    nights?: integer;\n"
        "  }[]; // at least 1 items\n"
        '  class?: "first" | "second" = "second";\n'
        "  start: string; // The first day (format date)\n"
        '  "x-id"?: integer;\n'
        "})"
    )


def test_python_says_all_that_the_schema_says():
    assert format_python_tools([Tool(book).spec]) == (
        'def book(*, stay: dict[str, int], room: str = "any", nights: int = None):\n'
        '  """Book a room.\n'
        "  Args:\n"
        "    stay: First and last day.\n"
        "    room: Which room.\n"
        '  """'
    )
    stub = format_python_tools([MAX_NESTING])
    for said in ('{"city": str (Its name.), "nights"?: int}', 'Literal["first", "second"] = "second"', "(format date)"):
        assert said in stub


def test_json_shows_signatures_and_a_call_with_values():
    prompt = JSON.prompt([MAX_NESTING])
    assert format_typescript_tools([MAX_NESTING]) in prompt
    assert '{"name": "plan-trip", "arguments": {"stops": [{"city": "some text"}], "start": "some text"}}' in prompt


def test_a_recursive_type_is_named():
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}, "additionalProperties": False}
    spec = ToolSpec(
        name="walk",
        description="",
        parameters={"type": "object", "properties": {"node": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}},
    )
    assert "type Node = {\n  next?: Node;\n}" in format_typescript_tools([spec])
    assert 'Node = {"next"?: Node}' in format_python_tools([spec])


# History

CALL = ToolCall(id="call_1", name="get_weather", arguments={"city": 'Par"is', "days": 3})
HISTORY = [
    system("Be brief."),
    user("Weather?"),
    Message(role="assistant", parts=(Text(text="Let me see."), Call(call=CALL))),
    Message(role="tool", parts=(Result(call_id="call_1", content=(Text(text='{"temp": 21}'),)),)),
    assistant("It is 21."),
    user("And tomorrow?"),
]
WEATHER = ToolSpec(
    name="get_weather",
    description="The weather.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
)


@pytest.mark.parametrize("text_dialect", TEXT, ids=ids)
def test_a_shorter_history_is_shown_as_the_beginning_of_a_longer_one(text_dialect):
    whole = text_dialect.render([WEATHER], HISTORY).messages
    for length in range(1, len(HISTORY)):
        shown = text_dialect.render([WEATHER], HISTORY[:length]).messages
        assert shown == whole[: len(shown)]


@pytest.mark.parametrize("text_dialect", TEXT, ids=ids)
def test_calls_in_history_are_said_as_the_dialect_says_them(text_dialect):
    shown = text_dialect.render([WEATHER], HISTORY).messages
    said = next(message for message in shown if message.role == "assistant")
    parser = text_dialect.parser([WEATHER])
    understood = fold(parser.feed(said.text) + parser.close())
    assert [ready.call for ready in understood.calls] == [CALL]
    assert understood.text.strip() == "Let me see."
    results = next(message for message in shown if "21}" in message.text)
    assert results.role == "user"
    assert "get_weather" in results.text


@pytest.mark.parametrize("text_dialect", TEXT, ids=ids)
def test_its_own_words_go_back_as_they_were_and_those_of_another_dialect_are_said_anew(text_dialect):
    own = Message(role="assistant", parts=(Call(call=CALL),), raw=Raw(dialect=text_dialect.name, text="as it was"))
    other = Message(role="assistant", parts=(Call(call=CALL),), raw=Raw(dialect="klingon", text="as it was"))
    assert text_dialect.render([], [own]).messages[0].text == "as it was"
    assert text_dialect.render([], [other]).messages[0].text == text_dialect.format_calls([CALL])


@pytest.mark.parametrize("text_dialect", [TYPESCRIPT, PYTHON], ids=ids)
def test_results_that_flow_between_calls_survive_being_said_and_read(text_dialect):
    later = ToolCall(
        id="call_2",
        name="get_weather",
        arguments={
            "city": Concat(parts=("in ", Ref(call="call_1", path=("a-b", 0)), "`${x}`\n")),
            "days": Ref(call="call_1"),
        },
    )
    parser = text_dialect.parser([WEATHER])
    understood = fold(parser.feed(text_dialect.format_calls([CALL, later])) + parser.close())
    assert [ready.call for ready in understood.calls] == [CALL, later]


@given(st.text(max_size=60))
def test_a_result_never_breaks_out_of_its_place(text):
    result = Message(role="tool", parts=(Result(call_id="call_1", content=(Text(text=text),)),))
    for text_dialect in TEXT:
        shown = text_dialect.render([WEATHER], [*HISTORY[:3], result]).messages[-1]
        assert text in shown.text


# What is asked for


@pytest.mark.parametrize("text_dialect", TEXT, ids=ids)
@pytest.mark.parametrize(
    ("choice", "parallel", "words"),
    [
        (ToolChoice(mode="none"), True, "Do not call anything now"),
        (ToolChoice(mode="required"), True, "Answer with a call now."),
        (ToolChoice(mode="named", names=("a",)), True, "Call a now."),
        (ToolChoice(mode="named", names=("a", "b")), True, "Call all of these now: a, b."),
        (ToolChoice(), False, "Make only one call in this answer."),
    ],
)
def test_what_is_asked_for_is_said_at_the_end_and_nowhere_else(text_dialect, choice, parallel, words):
    plain = text_dialect.render([WEATHER], HISTORY).messages
    asked = text_dialect.render([WEATHER], HISTORY, choice=choice, parallel=parallel).messages
    assert asked[:-1] == plain[:-1]
    assert asked[-1].text.startswith(plain[-1].text)
    assert words in asked[-1].text


@pytest.mark.parametrize("text_dialect", TEXT, ids=ids)
def test_only_a_forced_call_can_be_held_to(text_dialect):
    assert text_dialect.render([WEATHER], HISTORY).constraint is None
    held = text_dialect.render([WEATHER], HISTORY, choice=ToolChoice(mode="required"), parallel=False).constraint
    assert held is not None
    assert held.grammar is not None
    assert "get_weather" in held.grammar
    assert "root ::=" in held.grammar
    rules = {line.split(" ::= ")[0] for line in held.grammar.split("\n")}
    assert {"root", "call-1", "value", "string"} <= rules
    if text_dialect is JSON:
        assert held.json_schema is not None
        assert held.json_schema["properties"]["name"] == {"const": "get_weather"}


def test_native_hands_everything_to_the_api():
    choice = ToolChoice(mode="required")
    shown = NATIVE.render([WEATHER], HISTORY, choice=choice, parallel=False)
    assert (shown.messages, shown.tools, shown.choice, shown.parallel) == (tuple(HISTORY), (WEATHER,), choice, False)


def test_a_dialect_is_had_by_name_and_a_wrong_name_is_told():
    assert dialect("python") is PYTHON
    assert set(DIALECTS) == {"native", "json", "typescript", "python"}
    with pytest.raises(UsageError, match="there is no dialect 'klingon'; the dialects are: native, json"):
        dialect("klingon")
