"""A plain Google docstring is read as griffe reads it; any other is left to griffe."""

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolspeak.tools.docstring import ParsedDocstring, parse_sections, read_docstring, read_plain_sections

WORDS = [
    *(
        "one",
        "a: b",
        "(opt)",
        "- item",
        "* x",
        "1. y",
        "Note:",
        "``code``",
        "",
        " ",
        "x (int): z",
        "Args:",
        "é",
        "*args",
    ),
]


def build_line(indent: int, words: list[str]) -> str:
    return " " * indent + " ".join(words)


def build_entry(name: str, kind: str, text: str, more: list[str]) -> str:
    return "\n".join([f"    {name}{kind}: {text}", *(f"        {line}" for line in more)])


def build_section(heading: str, entries: list[str]) -> str:
    return "\n".join([heading, *entries])


def build_docstring(first: str, parts: list[str], gaps: list[str]) -> str:
    return first + "".join(gap + part for gap, part in zip(gaps, parts, strict=False))


LINES = st.builds(build_line, st.sampled_from([0, 4, 4, 8, 8, 6]), st.lists(st.sampled_from(WORDS), max_size=3))
ENTRIES = st.builds(
    build_entry,
    st.sampled_from(["a", "b", "long_name", "*args"]),
    st.sampled_from(["", "", " (int)", " (int, optional)", " (list[str])"]),
    st.sampled_from(["what it is", "a: b", "- item", "of `x`", "1", "x."]),
    st.lists(st.sampled_from(["goes on", "- item", "2. y", "a: b", "word: "]), max_size=2),
)
SECTIONS = st.builds(
    build_section,
    st.sampled_from(["Args:", "Arguments:", "Params:", "Raises:", "Returns:", "Note:", "Parameters:", "Examples:"]),
    st.lists(ENTRIES | LINES, max_size=3),
)
DOCSTRINGS = st.builds(
    build_docstring,
    st.sampled_from(
        ["", "Do it.", "Do it.\n\nMore of it,\nand more.", "Do it:\n", "Do it.\n\n    indented\n\nand not"]
    ),
    st.lists(SECTIONS | LINES, max_size=4),
    st.lists(st.sampled_from(["\n\n", "\n\n", "\n\n", "\n", "\n\n\n"]), min_size=4, max_size=4),
)


@given(DOCSTRINGS)
def test_a_docstring_is_read_as_griffe_reads_it(docstring: str):
    text = inspect.cleandoc(docstring)
    if read_plain_sections(text) is not None:
        assert read_docstring(docstring) == parse_sections(text, "google")


def test_a_plain_docstring_is_plain():
    text = "Look up.\n\nIn two ways.\n\nArgs:\n    x: which\n        of them\n    y (int): how many\n\nRaises:\n    KeyError: no"
    assert read_plain_sections(text) == ("Look up.\n\nIn two ways.", {"x": "which\nof them", "y": "how many"})
    assert read_docstring(text) == ParsedDocstring(
        description="Look up.\n\nIn two ways.", parameters={"x": "which of them", "y": "how many"}
    )


@pytest.mark.parametrize(
    "text",
    [
        "Do it.",
        "Do it.\n\nReturns:\n    int: how many",
        "Do it.\n\nArgs:\n    x: y\n\nNote:\n    Mind it.",
        "Do it.\n\nArgs:\n      x: an odd indent",
        "Do it.\n\nArgs:\n    x: y\n\n        more after a blank line",
        "Do it:\n\nArgs:\n    x: y",
        "Do it.\n\n>>> do()\n\nArgs:\n    x: y",
    ],
)
def test_another_docstring_is_left_to_griffe(text: str):
    assert read_plain_sections(text) is None
