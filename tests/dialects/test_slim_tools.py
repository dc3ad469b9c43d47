"""Tools are cut to a budget: fairly, first sentences first, and without a change to what can be called."""

from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import RUNS_ALL
from tests.growth import count_steps
from toolspeak.dialects import DIALECTS, NATIVE, TYPESCRIPT
from toolspeak.dialects.slim_tools import (
    ANNOTATIONS,
    CUT_MARK,
    count_tool_tokens,
    describe_tool,
    make_help_tool,
    shorten_tools,
    slim_tools,
)
from toolspeak.values.spec import ToolSpec, map_subschemas

from .tool_lists import AGENTS, count_json, make_tools


def tool(name: str, about: str, **parameters: str) -> ToolSpec:
    properties = {key: {"type": "string", "description": text} for key, text in parameters.items()}
    return ToolSpec(name=name, description=about, parameters={"properties": properties})


def without_texts(schema: Any) -> Any:
    kept = {key: value for key, value in schema.items() if key not in ANNOTATIONS and key != "description"}
    return map_subschemas(kept, without_texts)


# What must hold for all tools

WORDS = st.text(st.sampled_from("ab e.g. Das ist。！\n-*é漢\u200b"), max_size=60) | st.sampled_from(
    ["Read a file. Then e.g. more.", "One\n\nTwo\n- three", "", "x" * 300, "文件。路径！"]
)
LEAVES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "boolean"]),
        "enum": st.lists(st.sampled_from(["a", "b", "description"]), min_size=1),
        "description": WORDS,
        "title": WORDS,
        "default": st.just({"description": "data", "title": "data"}),
    },
)
NAMES = st.sampled_from(["path", "title", "description", "items", "properties", "$comment"])


def nest(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}, optional={"description": WORDS}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}, optional={"description": WORDS}),
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(NAMES, inner, max_size=3)},
            optional={"description": WORDS, "required": st.lists(NAMES, max_size=2, unique=True)},
        ),
    )


SCHEMAS = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(NAMES, st.recursive(LEAVES, nest, max_leaves=6))},
    optional={"required": st.lists(NAMES, max_size=2, unique=True), "description": WORDS},
)
SPECS = st.lists(
    st.builds(
        ToolSpec, name=st.sampled_from(["read", "edit", "help", "run-it"]), description=WORDS, parameters=SCHEMAS
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda spec: spec.name,
)


@settings(max_examples=80 if RUNS_ALL else 25)
@given(SPECS, st.sampled_from(sorted(DIALECTS)), st.integers(0, 600))
def test_calls_stay_the_same_and_the_budget_is_kept(specs: list[ToolSpec], dialect: str, budget: int):
    help_tool = make_help_tool(specs)
    slim = slim_tools(specs, DIALECTS[dialect], budget, beside=[help_tool])

    assert [each.name for each in slim.tools] == [each.name for each in specs]
    for before, after in zip(specs, slim.tools, strict=True):
        assert without_texts(after.parameters) == without_texts(before.parameters)
        assert before.description.startswith(after.description.removesuffix(CUT_MARK))
    shown = [*slim.tools, help_tool] if slim.cut else slim.tools
    assert count_tool_tokens(shown, DIALECTS[dialect]) <= slim.tokens
    if slim.fits:
        assert slim.tokens <= budget
    else:
        assert all(not each.description for each in slim.tools)
        assert all(each.parameters == without_texts(each.parameters) for each in slim.tools)


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_the_name_of_the_help_tool_is_free(count: int):
    taken = ["help", "tool_help", "tool_help_2"][:count]
    name = make_help_tool([tool(each, "") for each in taken]).name

    assert name == ["help", "tool_help", "tool_help_2", "tool_help_3"][count]


# What a person would expect

LONG = "Run a command in a shell. " + "It may take a while, so be patient with it. " * 60


def test_what_fits_is_left_alone():
    specs = [tool("run", LONG, command="The command. As you would type it.")]

    slim = slim_tools(specs, TYPESCRIPT, 5_000)

    assert slim.tools == tuple(specs)
    assert not slim.cut


def test_a_long_description_does_not_take_the_place_of_the_others():
    specs = [tool("run", LONG, command="The command."), tool("read", "Read a file. Lines are numbered.", path="Where.")]

    slim = slim_tools(specs, TYPESCRIPT, 160)

    assert slim.cut == {"run"}
    assert slim.tools[0].description.startswith("Run a command in a shell. It may take")
    assert slim.tools[0].description.endswith("be patient with it.…")
    assert slim.tools[1] == specs[1]


def test_first_sentences_of_tools_come_before_those_of_parameters():
    specs = [tool(f"tool_{n}", "Do a thing that is useful. And more.", text="A text of words. Any.") for n in range(20)]
    first = [tool(each.name, "Do a thing that is useful.…", text="") for each in specs]
    second = [tool(each.name, "Do a thing that is useful.…", text="A text of words.…") for each in specs]

    some = slim_tools(specs, NATIVE, count_tool_tokens(first, NATIVE)).tools[7]
    more = slim_tools(specs, NATIVE, count_tool_tokens(second, NATIVE)).tools[7]

    assert some.description == first[7].description
    assert "description" not in some.parameters["properties"]["text"]
    assert more == second[7]


def test_sentences_are_cut_between_words_only_if_they_must_be():
    specs = [tool("run", "Compile " + "the words of the program " * 80)]

    slim = slim_tools(specs, NATIVE, 60)

    assert slim.tools[0].description.endswith(("words…", "of…", "the…", "program…"))


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Read e.g. a file. Then more.", "Read e.g. a file."),
        ("Reads v1.2 files (all of them.) More.", "Reads v1.2 files (all of them.)"),
        ("Runs a command\n\nUsage: …", "Runs a command"),
        ("Options:\n- one\n- two", "Options:"),
        ("读取文件。然后返回。", "读取文件。"),
    ],
)
def test_where_a_sentence_ends(text: str, first: str):
    rest = " And so on." * 200
    specs = [tool("read", text + rest)]
    # Room for the first sentence, and for less than any second one.
    budget = count_tool_tokens([tool("read", first + CUT_MARK)], NATIVE)

    assert slim_tools(specs, NATIVE, budget).tools[0].description == first + CUT_MARK


def test_titles_and_examples_go_first():
    schema = {"properties": {"path": {"type": "string", "title": "Path" * 99, "examples": ["x" * 99], "default": "."}}}
    specs = [ToolSpec(name="read", description="Read a file.", parameters=schema)]

    slim = slim_tools(specs, NATIVE, 60)

    assert slim.tools[0].parameters["properties"] == {"path": {"type": "string", "default": "."}}
    assert slim.tools[0].description == "Read a file."
    assert not slim.cut


def test_signatures_that_are_larger_than_the_budget_are_shown_bare():
    specs = [tool(f"tool_{n}", "Do a thing.", text="A text.") for n in range(50)]

    slim = slim_tools(specs, NATIVE, 100)

    assert not slim.fits
    assert slim.tokens > 100
    assert {each.description for each in slim.tools} == {""}


def test_a_whole_description_is_written_as_the_dialect_writes_tools():
    spec = tool("read", "Read a file.", path="Where it is.")

    assert describe_tool(spec, DIALECTS["python"]).startswith("def read(")
    assert describe_tool(spec, NATIVE) == describe_tool(spec, TYPESCRIPT)
    assert "Where it is." in describe_tool(spec, NATIVE)


# The tools of coding agents


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_tools_of_coding_agents_fit(agent: str, dialect: str):
    specs = make_tools(agent)
    assert count_json(specs) == pytest.approx(AGENTS[agent].json_bytes, rel=0.1)

    slim = slim_tools(specs, DIALECTS[dialect], 3_000, beside=[make_help_tool(specs)])

    assert slim.fits
    assert all(each.description for each in slim.tools)
    assert slim.tokens <= 3_000 < count_tool_tokens(specs, DIALECTS[dialect]) or not slim.cut


def test_the_ends_of_sentences_are_found_in_one_pass():
    def find(count: int) -> None:
        for text in ("\n" * count + "x", ". \n" * count + "x", ".)" * count + " x", "1" * count, "a.\n \n" * count):
            shorten_tools([ToolSpec(name="f", description=text, parameters={})])

    find(100)  # what is made at the first use is not counted
    steps = [count_steps(partial(find, count)) for count in (100, 200, 800)]
    assert steps[2] - steps[1] <= 6.5 * (steps[1] - steps[0])


def test_a_description_is_cut_at_a_sentence_a_paragraph_or_an_item():
    def cut(text: str) -> str:
        return shorten_tools([ToolSpec(name="f", description=text, parameters={})])[0].description

    rest = " It is long." * 20
    assert cut(f"Reads e.g. a file.{rest}") == "Reads e.g. a file.…"
    assert cut(f"Reads a file\n \nThe path{rest}") == "Reads a file…"
    assert cut(f"Reads one of:\n  - a file{rest}") == "Reads one of:…"
    assert cut(f"Reads (fast).{rest}") == "Reads (fast).…"
    assert cut(f"読む。{rest}") == "読む。…"
