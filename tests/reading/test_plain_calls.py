"""Plain calls are read in one step, and to the same tree as by the reader of statements."""

from hypothesis import given
from hypothesis import strategies as st

from toolspeak.reading.code.plain_calls import PlainCallReader
from toolspeak.reading.code.statements import StatementReader
from toolspeak.reading.code.syntax import Statement
from toolspeak.reading.cursor import Cursor
from toolspeak.reading.doubt import run_to_end
from toolspeak.reading.source import Budget, Source

TOOLS = ("get_weather", "f", "print", "for", "match", "not", "lambda")

words = st.text(st.sampled_from("ab ,:;=(){}[]<>`#/$.é"), max_size=12)
broken = st.text(st.sampled_from("ab ,:'\"\\\n\x0b"), max_size=8)
plain_values = words.map(lambda text: f'"{text}"') | st.sampled_from(("0", "3", "1.5", "true", "None", "'it'"))
other_values = broken.map(lambda text: f'"{text}"') | st.sampled_from(
    ("-3", "007", "1.", "1e3", "NaN", "[1]", "{a: 1}", "x", '"a" "b"', "f()", "")
)
plain_keys = st.sampled_from(("city", '"city"', "n", "class", "true", "if"))
other_keys = st.sampled_from(("'city'", "$x", "a-b", "", "3"))


def join_arguments(keys: st.SearchStrategy[str], values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    signs, commas = st.sampled_from((":", ": ", " = ", "=")), st.sampled_from((", ", ","))
    lists = st.lists(st.tuples(keys, values), max_size=3)
    return st.builds(_join_pairs, signs, commas, lists)


def _join_pairs(sign: str, comma: str, pairs: list[tuple[str, str]]) -> str:
    return comma.join(sign.join(pair) for pair in pairs)


def make_calls(
    names: st.SearchStrategy[str], arguments: st.SearchStrategy[str], ends: st.SearchStrategy[str]
) -> st.SearchStrategy[str]:
    starts = st.sampled_from(("", " ", "\n", "\n  ", "\x0b"))
    brackets = st.sampled_from((("({", "})"), ("(", ")"), ("({ ", " })"), ("( ", " )"), ("({", ")")))
    return st.builds(_join_call, starts, names, brackets, arguments, ends)


def _join_call(start: str, name: str, brackets: tuple[str, str], arguments: str, end: str) -> str:
    return start + name + brackets[0] + arguments + brackets[1] + end


plain_ends = st.sampled_from(("\nf()", ";\nf()", "\n\n", "\n"))
other_ends = st.sampled_from(("; f()", "\n.then(x)", "\n  .then(x)", " + 1\n", "```", "", ";", " \n", "\r\n"))
calls = make_calls(st.just("f"), join_arguments(plain_keys, plain_values), plain_ends) | make_calls(
    st.sampled_from((*TOOLS, "unknown", "await f", "x = f")),
    join_arguments(plain_keys | other_keys, plain_values | other_values),
    plain_ends | other_ends,
)


def open_source(text: str) -> Source:
    source = Source(Budget())
    source.feed(text)
    source.ended = True
    return source


def read_plain(text: str, *, python: bool) -> tuple[Statement | None, int]:
    source = open_source(text)
    statement = run_to_end(PlainCallReader(source, TOOLS).read(python=python))
    return statement, source.here


@given(calls, st.booleans())
def test_a_plain_call_is_what_the_reader_of_statements_reads(text: str, python: bool) -> None:
    plain, end = read_plain(text, python=python)
    if plain is None:
        assert end == 0
        return
    source = open_source(text)
    cursor = Cursor(source)
    statements = StatementReader(cursor)
    statements.begin(python=python)
    assert run_to_end(statements.read()) == plain
    assert (source.here, cursor.doubts, cursor.tier) == (end, set(), "none")


def test_the_usual_forms_are_plain() -> None:
    for text in ('f({a: "x", "b": 2})\n', "f(a='x', b = 2.5)\n", "\n  f();\n", "f({ a: true })\ng()"):
        assert read_plain(text, python=False)[0] is not None, text


def test_a_line_is_waited_for_and_not_read_piece_by_piece() -> None:
    source = Source(Budget())
    reading = PlainCallReader(source, TOOLS).read(python=True)
    source.feed("\nf(")
    next(reading)
    assert source.awaited is not None
    source.hold('{a: "x')
    source.feed('"})\n')
    assert run_to_end(reading) is not None
    assert source.text[source.pos :] == "\n"
