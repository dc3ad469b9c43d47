"""Which tools a list has for a message, and how much it says of each. Runs with a budget are in `tests/run`."""

import pytest

from toolspeak.dialects import DIALECTS
from toolspeak.dialects.dialect import Shown
from toolspeak.dialects.slim_tools import OUTLINE_CHARS, make_help_tool
from toolspeak.dialects.tool_index import ToolIndex
from toolspeak.dialects.tool_selection import (
    DESCRIBED_TOOLS,
    LISTED_SHARE,
    ToolSelection,
    make_find_tool,
    select_tools,
)
from toolspeak.dialects.word_vectors import load_word_vectors
from toolspeak.values.events import AUTO
from toolspeak.values.messages import Call, Message, Result, Text, ToolCall, assistant, user
from toolspeak.values.spec import ToolSpec

PLACE = {"type": "string", "description": "The place that is meant."}
TOOLS = [
    ToolSpec(
        name=f"tell_{number}",
        description=f"Tells number {number} of the long report on the weather in all parts of the country. It is exact.",
        parameters={"type": "object", "properties": {"place": PLACE}, "required": ["place"]},
    )
    for number in range(300)
]


def select(message: str, budget: int, dialect: str = "python", kept: tuple[str, ...] = ()) -> ToolSelection:
    help_tool, find_tool = make_help_tool(TOOLS), make_find_tool(TOOLS)
    return select_tools(
        TOOLS, DIALECTS[dialect], budget, [user(message)], help_tool=help_tool, find_tool=find_tool, kept=kept
    )


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("budget", [700, 1000, 1500])
def test_the_likeliest_tools_are_described_and_the_others_outlined(budget: int, dialect: str):
    selection = select("How is the weather?", budget, dialect)

    first, others = selection.listed[:DESCRIBED_TOOLS], selection.listed[DESCRIBED_TOOLS:]
    assert all(len(spec.description) > OUTLINE_CHARS for spec in first)
    assert all("description" in spec.parameters["properties"]["place"] for spec in first)
    assert others
    assert all(0 < len(spec.description) <= OUTLINE_CHARS for spec in others)
    assert all(spec.parameters["properties"]["place"] == {"type": "string"} for spec in others)
    assert selection.cut >= {spec.name for spec in others}
    assert selection.tokens <= budget


def test_a_tool_that_is_listed_in_any_case_is_described():
    selection = select("How is the weather?", 1500, kept=("tell_299",))

    assert [spec.description.endswith("exact.") for spec in selection.listed].count(True) == DESCRIBED_TOOLS + 1
    assert selection.listed[0] == TOOLS[299]


def test_a_large_budget_is_not_filled_with_tools_that_only_come_near():
    weights = ToolIndex(TOOLS, load_word_vectors()).weigh("How is the weather?")

    likely = [name for name, weight in weights.items() if weight >= LISTED_SHARE]
    selection = select("How is the weather?", 3000)
    assert weights[likely[0]] == 1
    assert likely == [spec.name for spec in selection.listed]
    assert len(likely) < len(TOOLS)
    assert selection.tokens < 3000


def test_a_message_that_finds_nothing_begins_with_the_first_tools():
    assert [spec.name for spec in select("", 700).listed][:2] == ["tell_0", "tell_1"]


# Looking closer at the tools that are called

ASKED = user("How is the weather?")


def show(*history: Message, budget: int = 1000, dialect: str = "python") -> Shown:
    view = select("How is the weather?", budget, dialect).view(history)
    return view.render(view.history, AUTO, parallel=True)


def write(*names: str, dialect: str = "python") -> str:
    calls = [ToolCall(id=f"call_{name}", name=name, arguments={"place": "Oslo"}) for name in names]
    message = Message(role="assistant", parts=tuple(Call(call=call) for call in calls))
    return DIALECTS[dialect].render(TOOLS, [ASKED, message]).messages[-1].text


def run(name: str, arguments: dict[str, str]) -> list[Message]:
    """Return the messages of a call and its result."""
    call = Call(call=ToolCall(id=f"call_{name}", name=name, arguments=arguments))
    result = Result(call_id=f"call_{name}", content=(Text(text="4 °C"),))
    return [Message(role="assistant", parts=(call,)), Message(role="tool", parts=(result,))]


@pytest.mark.parametrize("dialect", ["python", "typescript", "json"])
def test_the_tools_of_an_answer_are_shown_whole_and_alone(dialect: str):
    closer = show(ASKED, dialect=dialect).closer

    assert closer is not None
    assert closer(write("tell_299", "tell_7", dialect=dialect)) == DIALECTS[dialect].render(
        [TOOLS[299], TOOLS[7]], [ASKED]
    )


@pytest.mark.parametrize("answer", ["It is cold.", "", write("find_tools"), write("tell_7", "help")])
def test_an_answer_stands_that_calls_no_tool_or_searches(answer: str):
    closer = show(ASKED).closer

    assert closer is not None
    assert closer(answer) is None


def test_tools_that_were_called_before_are_shown_too():
    history = [ASKED, *run("tell_3", {"place": "Oslo"}), assistant("4 °C."), user("And in Rome?")]
    closer = show(*history).closer

    assert closer is not None
    shown = closer(write("tell_7"))
    assert shown is not None
    assert shown.tool_count == 2
    assert "tell_3" in shown.messages[0].text
    assert shown.messages[-1].text.startswith("And in Rome?")


def test_a_search_is_left_out():
    closer = show(ASKED, *run("find_tools", {"query": "weather"})).closer

    assert closer is not None
    assert closer(write("tell_7")) == DIALECTS["python"].render([TOOLS[7]], [ASKED])


def test_nothing_is_looked_at_closer_after_a_call_nor_where_all_tools_are_listed_nor_in_native():
    assert show(ASKED, *run("tell_3", {"place": "Oslo"})).closer is None
    assert show(ASKED, budget=100_000).closer is None
    assert show(ASKED, dialect="native").closer is None
