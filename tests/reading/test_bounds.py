"""Reading stays linear in the text: what is computed, what is given to calls, and what is read twice."""

import inspect
import json
import sys
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import pytest
from hypothesis import example, given, note, settings
from hypothesis import strategies as st

from tests.cases import RUNS_ALL, each_case, sample
from tests.growth import count_calls
from toolspeak.dialects import fold
from toolspeak.dialects.leak_reader import LeakReader
from toolspeak.reading.forms import TOKENS
from toolspeak.reading.reader import Reader
from toolspeak.reading.source import FREE_REWOUND_CHARS, MIN_UNITS, REWOUND_PER_CHAR, UNITS_PER_CHAR, Budget
from toolspeak.values.codec import encode_argument
from toolspeak.values.events import Event
from toolspeak.values.spec import ToolSpec

from .corpus import FRAGMENTS, at_least, offered, read_events, texts

T = TypeVar("T")

WEATHER = ToolSpec(
    name="get_weather",
    description="The weather.",
    parameters={"type": "object", "properties": {"city": {}, "n": {"type": "integer"}, "o": {"type": "object"}}},
)

MAX_ESCAPE_CHARS = 6
"""Characters that JSON writes for one character of a text: `\\u0000`."""


def units_for(text: str) -> int:
    return MIN_UNITS + UNITS_PER_CHAR * len(text)


def argument_chars(events: list[Event]) -> int:
    calls = fold(events).calls
    return sum(len(json.dumps(encode_argument(ready.call.arguments), ensure_ascii=False)) for ready in calls)


def event_chars(events: list[Event]) -> int:
    keys = ("text", "raw", "reason", "hint", "name")
    return sum(len(getattr(event, key, None) or "") for event in events for key in keys)


# What is computed

DOUBLING = {
    "text": ("x='a'", "x=x+x"),
    "text of a result": ("x=get_weather(city='a')\nx=x+'!'", "x=x+x"),
    "formatted text": ("x='a'", "x=f'{x}{x}'"),
    "formatted results": ("x=get_weather(city='a')", "x=f'{x}{x}'"),
    "template": ("let x='a';", "x=`${x}${x}`;"),
    "join": ("x='a'", "x=''.join([x,x])"),
    "joined with itself": ("x='ab'", "x=x.join([x,x])"),
    "list": ("x=['a']", "x=x+x"),
    "unpacked list": ("x=['a']", "x=[*x,*x]"),
    "gathered list": ("x=['a']", "x=asyncio.gather(x,x)"),
    "nested list": ("x=['a']", "x=[x,x]"),
    "nested dict": ("x={'a':1}", "x={'a':x,'b':x}"),
    "appended list": ("x=['a']", "x.append(x)"),
    "updated dict": ("x={'a':1}", "x['b']=x"),
    "zipped lists": ("x=['a']", "x=zip(x+x,x+x)"),
    "enumerated list": ("x=['a']", "x=enumerate(x+x)"),
    "items": ("x={'a':'b'}", "x={'a':x.items(),'b':x.items()}"),
    "text of a list": ("x='a'", "x=json.dumps([x,x])"),
    "shared list as text": ("x=['a']\ny=''", "x=[x,x]\ny=json.dumps(x)"),
    "upper case": ("x='ß'", "x=(x+x).upper()"),
    "square": ("x=9", "x=x*x"),
    "square in text": ("x=9\ny='a'", "x=x*x\ny=y+str(x)"),
    "sum": ("x=1", "x+=x"),
    "power": ("x=9", "x=x**16"),
    "path of a result": ("x=get_weather(city='a')", "x=x['a']"),
    "comprehension": ("x=['a']", "x=[x for a in x+x]"),
    "replace": ("x='a'", "x=x.replace('a','aa')"),
    "repeated text": ("x='a'*10", "x=x*10"),
    "repeated list": ("x=['a']", "x=x*10"),
    "calls of closures": ("const f = (x) => [x,x];\nlet x='a';", "x=f(x);"),
    "functions of functions": ("def f(x): return x+x\nx='a'", "x=f(f(x))"),
}


@pytest.mark.slow
@each_case("form, rounds", sample([(form, rounds) for form in DOUBLING for rounds in (400, 16, 64)], len(DOUBLING)))
def test_a_value_that_doubles_with_each_line_is_refused_before_it_is_built(form, rounds):
    first, again = DOUBLING[form]
    text = "```py\n" + first + "\n" + f"{again}\n" * rounds + "get_weather(city=x)\n```"
    budget = Budget()
    events = read_events([WEATHER], [text], budget=budget)
    assert argument_chars(events) <= MAX_ESCAPE_CHARS * units_for(text)
    assert event_chars(events) <= MAX_ESCAPE_CHARS * units_for(text)
    assert budget.steps <= units_for(text)
    understood = fold(events)
    assert understood.calls or understood.malformed
    assert all(malformed.reason and malformed.hint for malformed in understood.malformed)


def test_a_value_that_is_too_large_is_refused_with_the_reason():
    text = "```py\nx='a'\n" + "x=x+x\n" * 30 + "get_weather(city=x)\nget_weather(city='Oslo')\n```"
    understood = fold(read_events([WEATHER], [text]))
    [malformed] = understood.malformed
    assert (malformed.name, malformed.reason) == ("get_weather", "the value that it computes is too large")
    assert malformed.hint
    assert [ready.call.arguments for ready in understood.calls] == [{"city": "Oslo"}]


def test_the_arguments_of_all_calls_are_bounded_together():
    text = "```py\nx='a'\n" + "x=x+x\n" * 16 + "get_weather(city=x)\n" * 50 + "```"
    understood = fold(read_events([WEATHER], [text]))
    assert 1 <= len(understood.calls) < 50
    assert {malformed.reason for malformed in understood.malformed} == {
        "the arguments of all calls together are too large"
    }


def test_a_refused_call_does_not_repeat_long_code_without_end():
    loop = "for a in range(100):\n  for b in range(15):\n    get_weather(city=town)\n"
    text = "```py\nif True:\n  x = '" + "a" * 20_000 + "'\n  " + loop.replace("\n", "\n  ") + "\n```"
    assert event_chars(read_events([WEATHER], [text])) <= 2 * units_for(text)


@pytest.mark.parametrize(
    "code",
    [
        "x = " + "[" * 20 + "a" + "".join(f" for a{n} in range(100)]" for n in range(20)),
        "for a in range(100):\n  x = [[b for b in range(100)] for c in range(100)]\n",
        "for a in range(100):\n  for b in range(15):\n    if y:\n" + "      f(1, 2, 3)\n" * 200,
        "for a in range(100):\n  (lambda x: x)(a)\n" * 10,
        "".join(f"a{n} = {n}\n" for n in range(1_500)) + "for a in range(100):\n  [b for b in range(2)]\n",
    ],
    ids=["nested comprehensions", "comprehensions in a loop", "skipped code in a loop", "closures", "many names"],
)
def test_loops_take_steps_that_are_linear_in_the_code(code):
    text = f"```py\n{code}\nget_weather(city='Oslo')\n```"
    budget = Budget()
    read_events([WEATHER], [text], budget=budget)
    assert budget.steps <= units_for(text) + len(text)


def test_names_that_are_forgotten_do_not_renew_the_budget():
    again = "```py\nx='a'\n" + "x=x+x\n" * 17 + "get_weather(city=x)\n```\n</think>\n"
    budget = Budget()
    events = read_events([WEATHER], [again * 20], budget=budget)
    assert argument_chars(events) <= budget.emitted <= units_for(again * 20)


@settings(max_examples=at_least(500))
@given(offered, texts)
@example([WEATHER], "```py\nx='a'\n" + "x=x+x\n" * 40 + "get_weather(city=x)\n```")
def test_the_arguments_of_any_text_are_linear_in_it(specs, text):
    events = read_events(specs, [text])
    assert argument_chars(events) <= MAX_ESCAPE_CHARS * units_for(text)
    assert event_chars(events) <= MAX_ESCAPE_CHARS * units_for(text)


def test_ordinary_code_is_far_from_the_bound():
    lines = "".join(f"page += '<p>Line {n} of the page that is written here.</p>\\n'\n" for n in range(300))
    text = f"```py\npage = ''\n{lines}get_weather(city=page)\n```"
    [ready] = fold(read_events([WEATHER], [text])).calls
    assert ready.call.arguments["city"].count("\n") == 300


# Nothing but our own errors

DIGITS = "9" * 5_000


@each_case(
    "code",
    [
        "x=9\n" + "x=x*x\n" * 16 + "get_weather(city=x)",
        "x=9\n" + "x=x*x\n" * 16 + "get_weather(city=f'{x}')",
        "get_weather(city=9**9**9)",
        "get_weather(city=1<<10**10)",
        "get_weather(city=(-8)**0.5)",
        "get_weather(city=1e308*10)",
        "get_weather(city=0**-1)",
        f"get_weather(city={DIGITS})",
        f"get_weather(city=0x{DIGITS})",
        f"get_weather(city=-0x{DIGITS})",
        f"get_weather(city=int('{DIGITS}'))",
        f"get_weather(city=float('{DIGITS}'))",
        f"get_weather(city=${DIGITS})",
        f"get_weather(city=f'{{{'9' * 4_000}:.2f}}')",
        f"get_weather(city={'9' * 4_300}+1)",
        f"for a in enumerate([1], {'9' * 4_300}):\n  get_weather(city=a)\nget_weather()",
        f"for a in range({'9' * 40}):\n  get_weather(city=a)",
        "x=[1]\n" + "x=[x]\n" * 1_500 + "get_weather(city=x)",
        "x=[1]\n" + "x=[x]\n" * 1_500 + "get_weather(city=json.dumps(x))",
    ],
)
def test_no_number_and_no_nesting_makes_a_reader_raise(code):
    for text in (f"```py\n{code}\n```", code):
        understood = fold(read_events([WEATHER], [text]))
        json.dumps([encode_argument(ready.call.arguments) for ready in understood.calls], allow_nan=False)
    assert fold(read_events([WEATHER], [f"```py\n{code}\n```"])).malformed or "get_weather()" in code


@pytest.mark.parametrize("number", [f"0x{'f' * 5_000}", f"-0b{'1' * 20_000}", DIGITS])
def test_a_number_in_data_has_no_more_digits_than_can_be_written(number):
    text = f'<tool_call>{{"name": "get_weather", "arguments": {{"n": {number}}}}}</tool_call>'
    understood = fold(read_events([WEATHER], [text]))
    assert not understood.calls
    assert understood.malformed[0].reason == "a number has too many digits"


# What is read twice

REPEATED = [
    *"`\"'[{(<|:#>~*",
    " ", "\n", "```\n", "```py\n", "```json\n{", "'''\n", "<tool_call>", "<tool_call>{", "<tool_call>[", "<tool_call>'{",
    "<tool_call>/*", "<tool_call>get_weather(", "<tool_call>get_weather /*", "<tool_call>f</tool_call>/*", "</tool_call>",
    "<think>", "</think>", "<|python_tag|>", "[TOOL_CALLS]", "[TOOL_CALLS]get_weather[ARGS]{", "<!--", "/*\n",
    '{"name":', '{"name": "get_weather", "arguments": {', '{"name": "get_weather", "arguments": {}}\n', '{"a": ', "[1,",
    "{\n", "[\n", '"{\n', "({\n", "- {\n", "1. {\n", "x: {\n", "a: [1,\n", "Tool call: `a\n", ">>>a(\n", ">>>a\n",
    "call = {\n", "let x = (\n", "let x = '\n", "await f(\n", "print('\n", "get_weather(\n", "get_weather('\n",
    "get_weather{\n", "get_weather /*\n", "get_weather ", "a.", "Hi. {", "Hi. {a b\n", "Action: get_weather\n",
    "Action: get_weather[\n", "Action: get_weather\nAction Input: {\n", "<get_weather>", "<get_weather><city>", "<a ",
    "<function=get_weather>", "<function=get_weather><parameter=city>", "</parameter> a", "&lt;tool_call&gt;", "&quot;",
    "<|channel|>", "<|channel|>commentary to=functions.get_weather<|message|>{", "functools[\n", "[get_weather(\n",
]  # fmt: skip
IN_CODE = [
    "(", "[", "x='\n", "f('a,\n", "def f(\n", "if (\n", "for (\n", "for (a of b) ", "try:\n f()\n", "class A:\n", "a,",
    "x\n\n\n\n", ")\n", "1 2\n", "f( ) f() [\n", "'a' ", "x = a or (\n", "x: '\n", "f'{", "`${", '"""', "a.", "-", "not ",
    "lambda:", "()=>", "A<", "/", "x = {\n", "async (", "for await (",
]  # fmt: skip


def pair_with_sizes(texts: list[str]) -> list[tuple[str, int]]:
    """Each text with two sizes of chunks; in `make test`, with one of them in turn."""
    sizes = (7, 1_000_000)
    pairs = [(text, sizes[(place + other) % 2]) for place, text in enumerate(texts) for other in (0, 1)]
    return pairs if RUNS_ALL else pairs[::2]


def check_linear(text: str, size: int = 1_000_000) -> list[Event]:
    """Check that the work of reading a text in chunks of a size is linear in the text, as its budget has counted it.

    Returns:
        The events.
    """
    budget = Budget()
    chunks = [text[start : start + size] for start in range(0, len(text), size)]
    events = read_events([WEATHER], chunks, budget=budget)
    assert budget.rewound <= FREE_REWOUND_CHARS + (REWOUND_PER_CHAR + 4) * len(text)
    assert budget.copied <= FREE_REWOUND_CHARS + COPIED_PER_CHAR * len(text)
    assert budget.steps <= units_for(text)
    assert event_chars(events) <= MIN_UNITS + 100 * len(text)
    return events


COPIED_PER_CHAR = 400
"""Characters that are moved for a character, at most: for one that arrives alone, within the distance of looking ahead."""


@each_case("again, size", sample(pair_with_sizes(REPEATED), 60))
def test_repeated_beginnings_are_read_in_linear_time(again, size):
    check_linear(again * (10_000 // len(again)), size)


@pytest.mark.slow
@each_case("again, size", sample(pair_with_sizes(IN_CODE), 24))
def test_repeated_beginnings_in_code_are_read_in_linear_time(again, size):
    check_linear("```py\n" + again * (10_000 // len(again)), size)
    check_linear("```ts\nx = " + again * (10_000 // len(again)), size)


@each_case(
    "opening",
    [
        "<tool_call><function=get_weather><parameter=city>a</parameter>",
        "```ts\nx = f()\n",
        '{"name": "get_weather", "arguments": {"city": "a"',
        "A",
        "```py\n",
    ],
)
def test_blanks_that_arrive_alone_are_not_looked_over_again_and_again(opening):
    check_linear(opening + " \n" * 2_000, 1)


# One budget for the message, whatever is nested in it

DOUBTFUL = "[" + '" ' * 30 + '","1'
"""A value that can be read in very many ways: every quote may end a string."""

HOLDING_VALUES = {
    "function": "<tool_call>\n<function=get_weather>\n<parameter=o>\n{}\n</parameter>\n</function>\n</tool_call>\n",
    "invoke": '<function_calls>\n<invoke name="get_weather">\n<parameter name="o">{}</parameter>\n</invoke>\n</function_calls>\n',
    "arg_key": "<tool_call>get_weather\n<arg_key>o</arg_key>\n<arg_value>{}</arg_value>\n</tool_call>\n",
    "dsml": '<｜DSML｜invoke name="get_weather"><｜DSML｜parameter name="o" string="false">{}</｜DSML｜parameter></｜DSML｜invoke>\n',
    "section": '<|open|>call tool="get_weather"<|sep|><|open|>argument key="o" type="object"<|sep|>{}<|close|>argument<|sep|>'
    "<|close|>call<|sep|>\n",
    "element": ']<]minimax[>[<invoke name="get_weather">]<]minimax[>[<o>{}]<]minimax[>[</o>]<]minimax[>[</invoke>\n',
    "object": '<tool_call>{{"name": "get_weather", "arguments": {{"o": {}}}}}</tool_call>\n',
    "named": '[TOOL_CALLS]get_weather[ARGS]{{"o": {}}}\n',
    "code": "```py\nget_weather(o={})\n```\n",
    "line": "get_weather(o={})\n",
    "react": 'Action: get_weather\nAction Input: {{"o": {}}}\n',
    "harmony": '<|start|>assistant to=functions.get_weather<|message|>{{"o": {}}}<|call|>\n',
}
"""Forms of a call, with a place for the value of its argument."""


@pytest.mark.slow
@each_case("form, count", [(form, count) for form in HOLDING_VALUES for count in (1, 20)])
def test_values_that_can_be_read_in_many_ways_share_the_budget_of_the_message(form, count):
    again = HOLDING_VALUES[form].format(DOUBTFUL)
    check_linear(again * count, 7 if count == 1 else 1_000_000)


@each_case("outer, inner", sample([(outer, inner) for outer in HOLDING_VALUES for inner in HOLDING_VALUES], 24))
def test_forms_within_forms_share_the_budget_of_the_message(outer, inner):
    text = HOLDING_VALUES[outer].format(HOLDING_VALUES[inner].format(DOUBTFUL).strip())
    check_linear(text * 4)


def test_calls_before_the_budget_is_spent_stay_and_words_after_it_are_shown():
    first = '{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    understood = fold(check_linear(first + HOLDING_VALUES["function"].format(DOUBTFUL) * 60 + "The end."))
    assert [ready.call.arguments for ready in understood.calls] == [{"city": "Oslo"}]
    assert understood.text.endswith("The end.")
    assert all(malformed.reason and malformed.hint for malformed in understood.malformed)


@each_case(
    "label, again",
    [("python", "get_weather(city='1');"), ("ts", "get_weather({city: '1'}); "), ("", "get_weather(city='1');")],
)
def test_many_calls_on_one_line_are_read_once(label, again):
    text = f"```{label}\n{again * 500}\n```\n" if label else again * 500
    budget = Budget()
    understood = fold(read_events([WEATHER], [text], budget=budget))
    assert len(understood.calls) == 500
    assert budget.rewound <= 5 * len(text)
    check_linear(text)


def test_a_line_that_cannot_be_read_to_its_end_takes_linear_work():
    check_linear("```py\n" + "get_weather(city='1');" * 500 + "get_weather('\n```\n")


def test_conditions_within_conditions_share_the_budget_of_the_message():
    check_linear("```ts\n" + "if (() => { " * 300 + "x" + "}) {}" * 300 + "\nget_weather({city: 'Oslo'})\n```")


CHOICES = ToolSpec(
    name="choose",
    description="Choose.",
    parameters={"type": "object", "properties": {"x": {"anyOf": [{"const": f"c{each}"} for each in range(1000)]}}},
)


@each_case(
    "call",
    [
        'choose({"x": "C 1"})\n',
        '<tool_call>{"name": "choose", "arguments": {"x": "C 1"}}</tool_call>\n',
        "<tool_call><function=choose><parameter=x>'c999' </parameter></function></tool_call>\n",
    ],
)
def test_the_arguments_of_all_calls_share_the_steps_of_coercion(call: str):
    few, many = (count_calls(partial(read_events, [CHOICES], [call * count])) for count in (5, 100))
    assert many <= 10 * few  # all alternatives are tried for the first calls only
    assert len(fold(read_events([CHOICES], [call * 100])).calls) == 100


# Any message: fragments of all forms, repeated, nested and mixed

FORMS = st.sampled_from(list(HOLDING_VALUES.values()))
OPENINGS = st.sampled_from(
    [
        *(
            "",
            "Look: ",
            "```py\n",
            "```ts\nx = ",
            "```json\n",
            "<code>\n",
            "<tool_call>",
            "<think>",
            "[",
            "{",
            "/* ",
            "<!-- ",
        ),
        *("get_weather(", "get_weather(city='", "[get_weather(city='a'), ", "Action: get_weather\nAction Input: "),
        '{"name": "get_weather", "arguments": {"city": "',
        "<tool_call><function=get_weather><parameter=city>",
        "<tool_call>get_weather<arg_key>city</arg_key><arg_value>",
    ]
)
fragments = st.sampled_from(
    [*REPEATED, *IN_CODE, *FRAGMENTS, *TOKENS, DOUBTFUL, "get_weather(city='a'); ", "x = x + x\n"]
)


def repeat(text: str, size: int) -> str:
    return text * max(1, size // max(len(text), 1))


compositions = st.recursive(
    fragments,
    lambda inner: st.one_of(
        st.builds(repeat, inner, st.integers(1, 200)),
        st.builds(lambda form, text: form.format(text), FORMS, inner),
        st.lists(inner, min_size=2, max_size=4).map("".join),
    ),
    max_leaves=8,
)

CALLS_PER_CHAR = {1: 800, 7: 400, 1_000_000: 400}
"""Functions that are called for a character at most, by the size of the chunks. One character alone may begin a token."""

FREE_CHARS = 1_000
"""What may be read again in any case: little here, so that all other work shows."""


def check_counted(dialect: str, text: str, size: int) -> None:
    """Check that the work of reading a text in a dialect is linear in it: what the budget counts, and what is called."""
    budget = Budget(FREE_CHARS)
    reader = (LeakReader if dialect == "native" else Reader)([WEATHER], budget=budget)
    chunks = [text[start : start + size] for start in range(0, len(text), size)]

    def read() -> None:
        for chunk in chunks:
            reader.feed(chunk)
        reader.close()

    calls = count_calls(read)
    chars = FREE_CHARS + len(text)
    readers = 2 if dialect == "native" else 1
    assert budget.rewound <= (REWOUND_PER_CHAR + 4) * readers * chars
    assert budget.copied <= COPIED_PER_CHAR * readers * chars
    assert budget.steps <= units_for(text) * readers
    assert calls <= CALLS_PER_CHAR[size] * readers * chars + 10 * budget.steps


@settings(max_examples=at_least(300), deadline=None)
@given(
    OPENINGS,
    compositions,
    st.sampled_from([100, 600]),
    compositions,
    st.sampled_from([1, 7, 1_000_000]),
    st.sampled_from(["json", "native"]),  # the text dialects read with one class
)
@example("```py\n", "get_weather(city='a'); ", 2_000, "", 1_000_000, "json")
@example("", HOLDING_VALUES["function"].format(DOUBTFUL), 1_000, "", 1_000_000, "json")
@example("[get_weather(city='a'), ", "`${", 2_000, "", 7, "json")
def test_reading_any_message_takes_work_that_is_linear_in_it(opening, again, chars, tail, size, dialect):
    for repeated in (chars, 2 * chars):
        text = opening + repeat(again, repeated)[: 2 * repeated] + tail[:chars]
        note(repr(text))
        check_counted(dialect, text, size)


# A reading that is broken off loses nothing


def call_deeply(depth: int, work: Callable[[], T]) -> T:
    return call_deeply(depth - 1, work) if depth else work()


def read_with_little_stack(text: str, size: int) -> list[Event]:
    """The events of a text for whose brackets the stack of the interpreter is too small."""
    chunks = [text[start : start + size] for start in range(0, len(text), size)]
    frames = len(inspect.stack())
    return call_deeply(sys.getrecursionlimit() - frames - 150, lambda: read_events([WEATHER], chunks))


DEEP = "[" * 90 + "1" + "]" * 90


@each_case(
    "text, calls, shown",
    {
        "words": (f"Look: it is\n{DEEP}\nThe end.", 0, f"Look: it is\n{DEEP}\nThe end."),
        "a call that began": (f'{{"name": "get_weather", "arguments": {{"o": {DEEP}}}}}\nThe end.', 0, "\nThe end."),
        "calls before": (f"get_weather(city='Oslo')\n{DEEP}\nThe end.", 1, f"{DEEP}\nThe end."),
        "a list of calls": (f"[get_weather(city='Oslo'), get_weather(o={DEEP})]\nThe end.", 0, "The end."),
    },
)
def test_a_text_that_is_nested_beyond_the_stack_is_shown(text, calls, shown):
    for size in (7, 1_000_000):
        understood = fold(read_with_little_stack(text, size))
        assert len(understood.calls) == calls
        assert understood.text.endswith(shown)
