"""Tools are found by words: in any script, by parts of names, and the same way each time."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolspeak.dialects.tool_index import ToolIndex, split_words
from toolspeak.dialects.tool_selection import describe_find_tool, find_names
from toolspeak.values.spec import ToolSpec


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


def test_words_that_tell_nothing_find_nothing():
    tools = [tool("oncall.who", "Who is on call."), tool("flight_status", "Whether a flight is late.")]
    assert ToolIndex(tools).rank("Is there 1 flight who is on time?") == ["flight_status"]
    assert ToolIndex(tools).rank("who") == ["oncall.who"]  # there is nothing else to look for


def test_a_number_chooses_among_tools_that_other_words_find():
    subjects = ("taxes", "rivers", "birds")
    tools = [
        tool(f"write_report_{number}", f"Write report {number}, about {subjects[number % 3]}.") for number in range(200)
    ]
    assert ToolIndex(tools).rank("Write the report 77 about birds")[0] == "write_report_77"
    assert next(iter(ToolIndex(tools).score("birds 77"))) == "write_report_77"
    assert "write_report_78" not in ToolIndex(tools).score("birds 78")  # that one is about taxes


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("Is LH 1842 late on 3 October?", "date"),
        ("What about October 3rd or 2026-10-03?", "date"),
        ("Ring +44 20 7946 0018", "phone"),
        ("What is in /etc/nginx?", "path"),
        ("Shrink holiday.jpg", "path"),
        ("How much is 250 pounds?", "amount"),
        ("And £3.50?", "amount"),
        ("Half of 2.5 cups", "unit"),
        ("Where is 33.8688, 151.2093?", "latitude"),
        ("Ask ada@example.com", "email"),
        ("Read https://example.com/a", "url"),
        ("Ping 10.0.0.1", "ip"),
        ("At 6:30 pm", "time"),
        ("Paint it #ff8800", "color"),
    ],
)
def test_a_value_stands_for_the_parameters_that_take_it(message: str, name: str):
    kinds = ("date", "phone", "path", "amount", "unit", "latitude", "email", "url", "ip", "time", "color")
    tools = [tool(f"{number}", "Does a thing.", **{kind: "This."}) for number, kind in enumerate(kinds)]
    assert ToolIndex(tools).rank(message)[0] == str(kinds.index(name))


def test_tools_for_the_same_matter_follow_the_one_that_is_named():
    tools = [
        *(tool(f"other_{number}", f"Does thing {number}.") for number in range(20)),
        tool("split_bill", "Split the bill of a restaurant.", people="How many share it."),
        tool("add_tip", "Add a tip to an amount.", restaurant="Where."),
    ]
    assert ToolIndex(tools).rank("Please split this") == ["split_bill", "add_tip"]


@pytest.mark.parametrize("text", ["1" * 8_000, "/" * 8_000, "a." * 4_000, "1.2" * 2_600, "+1 " * 2_600, "may " * 2_000])
def test_long_messages_are_ranked_soon(text: str):
    began = time.thread_time()
    ToolIndex(TOOLS).rank(text)
    assert time.thread_time() - began < 2


@pytest.mark.parametrize("thanks", ["Thank you so much for your help!", "Vielen Dank im Voraus.", "Merci beaucoup!"])
def test_thanks_and_greetings_find_no_tool(thanks: str):
    letters = tool("send_thank_you_letter", "Send a letter of thanks; merci, vielen Dank.")
    index = ToolIndex([*TOOLS, letters])

    asked = f"Hello there. How is the weather in Oslo? {thanks}"

    assert index.rank(asked) == index.rank("How is the weather in Oslo?")
    assert index.rank(thanks) == ["send_thank_you_letter"]
    assert "send_thank_you_letter" in index.rank(f"Write Anna a thank you letter. {thanks}")


def test_frequent_words_of_other_languages_find_no_tool():
    index = ToolIndex([*TOOLS, tool("anadir", "Añade una nota, que queda en el cuaderno con los otros.")])

    assert index.rank("¿Cómo queda la nota?") == ["anadir"]
    assert "anadir" not in index.rank("que una en el los weather")


def test_a_question_of_common_words_still_finds_its_tool():
    index = ToolIndex([*TOOLS, tool("get_time", "What time it is.")])

    assert "get_time" in index.rank("How is the weather in Oslo? What time is it?")


def test_names_are_split_where_their_parts_meet():
    words = ["get", "http", "status", "order", "v", "2", "server"]
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
