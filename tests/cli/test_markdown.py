"""Markdown as it arrives: rendered the same however it is cut, at any width, without losing text."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.cases import each_case
from toolspeak.cli.markdown import (
    MAX_EMPHASIS_CHARS,
    MAX_LINK_CHARS,
    MAX_START_CHARS,
    MAX_TABLE_CHARS,
    Span,
    WrappedMarkdown,
)

MARKED = st.text(st.sampled_from("ab é語 \n\n\t*_`#->~\\0123.)|・、[](!:"), max_size=120)
TABLES = st.lists(st.sampled_from(["|a|b|", "|-|-|", "|:-|-:|", "| 語 |", "b", "", "```", " |[x](y)|"])).map("\n".join)


def render(text: str, width: int = 40, size: int | None = None) -> list[Span]:
    markdown = WrappedMarkdown(width)
    size = size or len(text) or 1
    spans = [span for at in range(0, len(text), size) for span in markdown.feed(text[at : at + size])]
    return [*spans, *markdown.close()]


def characters(spans: list[Span]) -> list[tuple[str, str]]:
    return [(letter, span.style) for span in spans for letter in span.text]


def plain(text: str, width: int = 40) -> str:
    return "".join(span.text for span in render(text, width))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a **b** c", "a b c"),
        ("a __b__ *c* _d_ `e`", "a b c d e"),
        ("**a `b` c**", "a b c"),
        ("``a ` b``", "a ` b"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("snake_case_name and __init__", "snake_case_name and init"),
        ("a * b and *c", "a * b and *c"),
        ("a ` b", "a ` b"),
        (r"\*a\* \d", r"*a* \d"),
        ("# Title\ntext", "Title\ntext"),
        ("#hash", "#hash"),
        ("- a\n* b\n+ c\n  - d", "• a\n• b\n• c\n  • d"),
        ("1. a\n2) b", "1. a\n2) b"),
        ("> a", "│ a"),
        ("---\na", "───\na"),
        ("```py\na  b\n\n  c\n```\nd", "  a  b\n\n    c\nd"),
        ("~~~\n```\n~~~\nd", "  ```\nd"),
        ("```\nnever closed", "  never closed"),
        ("a\r\nb", "a\nb"),
        ("a\n\n\n\nb\n\n", "a\n\n\n\nb"),
        ("**" + "x" * MAX_EMPHASIS_CHARS + "**", "**" + "x" * MAX_EMPHASIS_CHARS + "**"),
        ("|a|b|\n|c|d|", "|a|b|\n|c|d|"),
        ("|x| is positive\nHere.", "|x| is positive\nHere."),
        ("|a|b|\n|-|-:|\n|one|2|\n|**three**|40|\n\nEnd.", "a     │  b\n──────┼───\none   │  2\nthree │ 40\n\nEnd."),
        ("| 名前 | x |\n|---|---|\n| a \\| b |", "名前  │ x\n──────┼──\na | b │"),
        ("```\n|a|\n|-|\n```", "  |a|\n  |-|"),
        ("See [the docs](https://a.org/b_c_d), please", "See the docs (https://a.org/b_c_d), please"),
        ("[https://a.org](https://a.org)", "https://a.org"),
        ('![A **cat**](cat(1).png "Tom")', "A cat (cat(1).png)"),
        ("a[0] and [b] (c) and [d](e", "a[0] and [b] (c) and [d](e"),
        ("Hello! [x](y)!", "Hello! x (y)!"),
        ("・りんご\n・みかん\n•pear", "• りんご\n• みかん\n• pear"),
        ("１．一つ\n2、二つ", "１．一つ\n2、二つ"),
        ("これは*大事*です", "これは大事です"),
    ],
)
def test_markdown_is_rendered(text: str, shown: str):
    assert plain(text, 1000) == shown


def test_styles():
    spans = [span for span in render("# T\n**b** `c` *i*\n```\nx\n```", 1000) if span.text.strip()]
    assert spans == [("T", "bold"), ("b", "bold"), ("c", "cyan"), ("i", "italic"), ("x", "cyan")]


def test_words_are_returned_when_they_end():
    markdown = WrappedMarkdown(40)
    assert "".join(span.text for span in markdown.feed("It is cold in Os")) == "It is cold in"
    assert "".join(span.text for span in markdown.feed("lo")) == ""
    assert "".join(span.text for span in markdown.close()) == " Oslo"


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (9, "one two\nthree\n• four\n  five\n  six"),
        (4, "one\ntwo\nthre\ne\n•\nfour\nfive\nsix"),
        (1, "o\nn\ne\nt\nw\no\nt\nh\nr\ne\ne\n•\nf\no\nu\nr\nf\ni\nv\ne\ns\ni\nx"),
    ],
)
def test_lines_are_broken_between_words(width: int, shown: str):
    text = "\n".join(line.rstrip() for line in plain("one two three\n- four five six", width).split("\n"))
    assert text == shown


@given(MARKED, st.integers(1, 7), st.integers(3, 50))
@example("\\ \t0", 1, 6)
@example("```\na\tb\n```", 1, 20)
@example("[a](b(c)d) [e]", 1, 20)
def test_chunks_make_no_difference(text: str, size: int, width: int):
    assert characters(render(text, width, size)) == characters(render(text, width))


@given(TABLES, st.integers(1, 7), st.integers(1, 50))
def test_chunks_make_no_difference_to_tables(text: str, size: int, width: int):
    assert characters(render(text, width, size)) == characters(render(text, width))


def test_a_table_is_no_wider_than_the_window():
    text = "|name|what it is|\n|-|-|\n|toolspeak|a library that lets any model call functions|"
    assert plain(text, 24).split("\n") == [
        "name      │ what it is",
        "──────────┼─────────────",
        "toolspeak │ a library",
        "          │ that lets",
        "          │ any model",
        "          │ call",
        "          │ functions",
    ]
    assert plain(text, 8).startswith("|name|wh")


@given(MARKED, st.integers(1, 50))
def test_no_text_is_lost(text: str, width: int):
    unmarked = str.maketrans("", "", "*_`#->~\\+•・│─┼|[](): \t\n")
    fences = [line for line in text.split("\n") if line.strip().startswith(("```", "~~~"))]
    if not fences:  # the text after a fence is a language, which is not drawn
        assert plain(text, width).translate(unmarked) == text.translate(unmarked)


@given(st.text(st.sampled_from("ab 語é-"), max_size=80), st.integers(2, 30))
def test_no_line_is_wider_than_the_window(text: str, width: int):
    assert all(cell_len(line) <= width for line in plain(text, width).split("\n"))


ROW = st.sampled_from(
    [
        "a",
        " ",
        "*",
        "**",
        "_",
        "__",
        "`",
        "``",
        "[",
        "](",
        ")",
        "[a](b",
        "(c)",
        ' "',
        "<",
        "!",
        "\\",
        "\n",
        "- ",
        "|",
        "語",
        "\t",
    ]
)


def count_work(text: str, size: int) -> int:
    markdown = WrappedMarkdown(80)
    for place in range(0, len(text), size):
        for _ in markdown.feed(text[place : place + size]):
            pass
    for _ in markdown.close():
        pass
    return markdown.work


@given(
    st.lists(ROW, max_size=3).map("".join),
    st.lists(ROW, min_size=1, max_size=6).map("".join),
    st.sampled_from([1, 7, 10_000]),
)
@example("", "[a](b", 1)
@example("[a](", "(aa", 10_000)
@example("", "*__", 1)
@example("", "|**a** ", 1)
@settings(max_examples=60)
def test_the_work_for_any_text_is_in_proportion_to_its_length(start: str, again: str, size: int):
    texts = [start + again * (count // len(again)) for count in (1_500, 3_000)]
    single, double = (count_work(text, size) for text in texts)
    assert double <= 4 * MAX_EMPHASIS_CHARS * len(texts[1])
    assert double <= 2.2 * single + 3 * MAX_LINK_CHARS


@each_case(
    "text",
    {
        "brackets in an address": "[a](" + "(aa" * 10_000,
        "spaces": " " * 30_000 + "x",
        "a word": "x" * 30_000,
        "wide letters": "漢" * 30_000,
        "letters with accents": "e\u0301" * 15_000,
        "a fence": "```" + "x" * 30_000,
        "a row": "|" + "*a " * 10_000,
        "a rule": "- " * 15_000,
        "marks": "*" * 30_000,
        "ticks": "`" * 30_000 + "a",
    },
)
def test_a_line_of_any_length_is_rendered_in_parts(text: str):
    # What is not linear runs into the time limit of the test.
    assert count_work(text, 3) <= 4 * MAX_EMPHASIS_CHARS * len(text)


def test_a_row_that_is_too_long_for_a_table_is_shown_as_text():
    text = "|a|b|\n|-|-|\n|1|2|\n|" + "x" * MAX_TABLE_CHARS + "|c|\n|d|e|"
    shown = plain(text, 80).split("\n")
    assert shown[:3] == ["a │ b", "──┼──", "1 │ 2"]
    assert shown[3] == "|" + "x" * 79
    assert shown[-1] == "|d|e|"


@each_case("size", [1, 2, 10_000])
def test_a_rule_with_spaces_is_a_rule_however_it_is_cut(size: int):
    assert "".join(span.text for span in render("- - -\na\n* * *", 40, size)) == "───\na\n───"


def test_a_line_whose_kind_shows_too_late_is_plain_text():
    assert plain("-" * MAX_START_CHARS, 1000) == "───"
    assert plain("-" * (MAX_START_CHARS + 1), 1000) == "-" * (MAX_START_CHARS + 1)
