"""What is worked out from results, and where it is shown."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each_case
from toolspeak.dialects import PYTHON
from toolspeak.values.messages import Call, Message, Result, Text, ToolCall, user

SHOWING = replace(PYTHON, figures=True)


def results_of(*pairs: tuple[dict[str, Any], Any], tool: str = "look") -> list[Message]:
    """Return calls of a tool with these arguments, and their results."""
    calls = [
        ToolCall(id=f"{tool}_{place}", name=tool, arguments=arguments) for place, (arguments, _) in enumerate(pairs)
    ]
    texts = [value if isinstance(value, str) else json.dumps(value) for _, value in pairs]
    answers = [Result(call_id=call.id, content=(Text(text=text),)) for call, text in zip(calls, texts, strict=True)]
    asked = Message(role="assistant", parts=tuple(Call(call=call) for call in calls))
    return [asked, Message(role="tool", parts=tuple(answers))]


def work_out(*history: Message) -> list[list[str]]:
    """Return the lines that were worked out after each message with results."""
    shown = SHOWING.render((), [user("Which?"), *history]).messages
    texts = [message.text for message in shown if message.text.startswith("Results")]
    return [text.partition("Worked out:\n")[2].splitlines() for text in texts]


SHIPS = [
    {"ship": "Tern", "tonnes": 411, "cargo": "timber", "arrives": "2026-01-09"},
    {"ship": "Vega", "tonnes": 5934, "cargo": "steel", "arrives": "2026-10-19"},
    {"ship": "Skua", "tonnes": 3811, "cargo": "steel", "arrives": "2026-06-06"},
]


@each_case(
    "pairs, lines",
    {
        "numbers": (
            [({"city": "Paris"}, {"celsius": 11.0}), ({"city": "Oslo"}, {"celsius": -3.5})],
            ["celsius: lowest Oslo (-3.5) < highest Paris (11.0); difference 14.5, sum 7.5, mean 3.75"],
        ),
        "equal numbers": (
            [({"city": "Paris"}, 4), ({"city": "Oslo"}, 4)],
            ["result: Paris (4) = Oslo (4); difference 0, sum 8, mean 4"],
        ),
        "texts of one form": (
            [({"home": "Old Dairy"}, "Old Dairy: rent 1055 €"), ({"home": "Elm 2"}, "Elm 2: rent 1875 €")],
            ["result: lowest Old Dairy (1055) < highest Elm 2 (1875); difference 820, sum 2930, mean 1465"],
        ),
        "times": (
            [({"ship": "Tern"}, {"at": {"sails": "16:38"}}), ({"ship": "Skua"}, {"at": {"sails": "17:23"}})],
            ["sails: earliest Tern (16:38) < latest Skua (17:23); difference 45 min"],
        ),
        "records": (
            [({}, {"ships": SHIPS})],
            [
                "tonnes: lowest Tern (411) < Skua (3811) < highest Vega (5934); sum 10156, mean 3385.33",
                "arrives: earliest Tern (2026-01-09) < Skua (2026-06-06) < latest Vega (2026-10-19)",
                "tonnes by cargo: timber 411 (1), steel 9745 (2)",
            ],
        ),
        "many records": (
            [
                (
                    {},
                    [
                        {"car": name, "price": price, "barcode": 7}
                        for name, price in zip("abcdef", [3, 9, 4, 9, 5, 6], strict=True)
                    ],
                )
            ],
            ["price: lowest a (3) < … < highest b (9) = d (9); sum 36, mean 6"],
        ),
        "units that differ": ([({"a": "x"}, {"w": 2, "unit": "kg"}), ({"a": "y"}, {"w": 900, "unit": "g"})], []),
        "texts with numbers that are too long": ([({"a": "x"}, f"{'7' * 5_000} kg"), ({"a": "y"}, "7 kg")], []),
        "texts of two forms": ([({"a": "x"}, "2 kg"), ({"a": "y"}, "900 g")], []),
        "calls that differ in two arguments": ([({"a": "x", "b": 1}, 2), ({"a": "y", "b": 2}, 3)], []),
        "ids, and numbers as long as ids": (
            [({"a": "x"}, {"order_id": 3, "n": 10**15}), ({"a": "y"}, {"order_id": 4, "n": 10**16})],
            [],
        ),
        "days that are none": ([({"a": "x"}, "2026-02-30"), ({"a": "y"}, "2026-02-31")], []),
        "numbers that are none": ([({"a": "x"}, '{"n": 1e400, "m": NaN}'), ({"a": "y"}, {"n": 7, "m": 3})], []),
        "results that are deep, which are texts": (
            [({"a": name}, '{"a":' * 900 + "1" + "}" * 900) for name in "xy"],
            ["result: x (1) = y (1); difference 0, sum 2, mean 1"],
        ),
        "one result": ([({"a": "x"}, {"n": 3})], []),
    },
)
def test_what_follows_from_results_is_worked_out(pairs, lines):
    assert work_out(*results_of(*pairs)) == [lines]


def test_results_are_compared_across_the_messages_of_a_turn_and_told_once():
    first, second = results_of(({"city": "Oslo"}, 1)), results_of(({"city": "Rome"}, 2), tool="look")
    ids = replace(second[1].parts[0], call_id="b"), replace(second[0].parts[0].call, id="b")
    second = [Message(role="assistant", parts=(Call(call=ids[1]),)), Message(role="tool", parts=(ids[0],))]
    line = "result: lowest Oslo (1) < highest Rome (2); difference 1, sum 3, mean 1.5"
    assert work_out(*first, *second) == [[], [line]]
    assert work_out(*first, user("And Rome?"), *second) == [[], []]


def test_an_error_is_not_compared():
    asked, answered = results_of(({"city": "Oslo"}, 1), ({"city": "Rome"}, 2))
    failed = Message(role="tool", parts=(answered.parts[0], replace(answered.parts[1], is_error=True)))
    assert work_out(asked, failed) == [[]]


def test_a_dialect_shows_figures_only_if_it_is_told_to():
    history = [user("Which?"), *results_of(({"city": "Oslo"}, 1), ({"city": "Rome"}, 2))]
    assert "Worked out" not in PYTHON.render((), history).messages[-1].text


def test_what_a_call_left_behind_is_not_compared():
    baskets = ({"sku": "tea"}, {"total": 4}), ({"sku": "rice"}, {"total": 6}), ({"sku": "oil"}, {"total": 15})
    assert work_out(*results_of(*baskets)) == [[]]


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(["2026-01-01", "07:30"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)


@given(st.lists(st.tuples(st.text(max_size=5), JSON_VALUES), min_size=2, max_size=4))
def test_no_result_breaks_it(pairs):
    history = results_of(*(({"name": name}, value) for name, value in pairs))
    for lines in work_out(*history):
        assert len(lines) <= 6
    whole = SHOWING.render((), [user("Which?"), *history]).messages
    assert SHOWING.render((), [user("Which?"), *history, user("And?")]).messages[: len(whole)] == whole
