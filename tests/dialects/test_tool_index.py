"""Tools are found by words: in any script, by parts of names, and the same way each time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolspeak.dialects.tool_index import ToolIndex, split_words
from toolspeak.dialects.tool_selection import describe_find_tool, find_names
from toolspeak.spec import ToolSpec


def tool(name: str, about: str, **parameters: str) -> ToolSpec:
    properties = {key: {"type": "string", "description": text} for key, text in parameters.items()}
    return ToolSpec(name=name, description=about, parameters={"properties": properties})


TOOLS = [
    tool("get_weather", "The weather in a city.", city="The city."),
    tool("github__list_issues", "List the open issues of a repository.", repository="OWNER/NAME"),
    tool("createCalendarEvent", "Add an appointment to the calendar.", title="What it is about."),
    tool("отправить_письмо", "Отправляет письмо по электронной почте.", получатель="Кому."),
    tool("book_train", "预订火车票。", station="出发站"),
    tool("denwa", "電話をかける。"),
]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("How's the weather in Oslo?", "get_weather"),
        ("WEATHERS", "get_weather"),
        ("issues on GitHub", "github__list_issues"),
        ("put the dentist into my calendars", "createCalendarEvent"),
        ("event", "createCalendarEvent"),
        ("отправь письма Анне", "отправить_письмо"),
        ("我想订火车票", "book_train"),
        ("電話", "denwa"),
    ],
)
def test_a_tool_is_found_by_words(query: str, name: str):
    assert ToolIndex(TOOLS).rank(query)[0] == name


def test_each_sentence_of_a_message_is_about_something():
    message = (
        "Tell me about the weather in the city, the weather of the city please. Then list the issues.\nAnd a calendar?"
    )

    assert set(ToolIndex(TOOLS).rank(message)[:3]) == {"get_weather", "github__list_issues", "createCalendarEvent"}


def test_names_are_split_where_their_parts_meet():
    words = ["get", "http", "status", "orders", "v", "2", "server"]
    assert list(split_words("getHTTPStatus__orders_v2.server")) == words


def test_a_tool_is_found_by_its_exact_name():
    many = [tool(f"tool_{number}", "Does a thing.") for number in range(200)]

    assert find_names(many, "tool_137")[0] == "tool_137"
    assert find_names(many, "`tool_137`, 'tool_9'")[:2] == ("tool_137", "tool_9")


def test_namespaces_are_told():
    names = ["github__list", "github__close", "mail.send", "mail.read", "alone__x", "plain", "__init__"]

    assert "There are 7 tools from github (2), mail (2), and not all are shown." in describe_find_tool(names)


TEXTS = st.text(max_size=40) | st.sampled_from(["weather in 東京 погода", "aB" * 30, "_", ".", "\ud800", "é\u0301x"])


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=6), TEXTS)
def test_any_text_can_be_searched_and_the_order_is_fixed(given_tools: list[tuple[str, str]], query: str):
    specs = [tool(name or "x", about, key=about) for name, about in given_tools]
    index = ToolIndex(specs)

    ranked = index.rank(query)

    assert ranked == ToolIndex(specs).rank(query)
    assert set(ranked) <= {spec.name for spec in specs}
    assert set(index.score(query)) <= set(ranked)
