"""What the loop remembers after given facts: history that can be sent at any time, and what counts."""

from dataclasses import replace
from typing import Any

import pytest

from tests.cases import each_case
from toolspeak.loop import State, initial_state, reduce
from toolspeak.loop.state import make_key
from toolspeak.loop.words import EFFECT_UNKNOWN, WAIT_STOPPED, offer_rest
from toolspeak.values.events import (
    ApprovalGiven,
    ApprovalNeeded,
    CallMalformed,
    Interrupted,
    RunEnded,
    RunResumed,
    SaidInThought,
    ToolChoice,
    ToolSuspended,
    TurnRestarted,
    TurnStarted,
    Usage,
    WaitOver,
)
from toolspeak.values.limits import Limits
from toolspeak.values.messages import Media, Ref, Result, Text, ToolCall

from .folding import SPECS, after, call, ended, ready, result, run, started, turn, wanted

GO = started()


def results(state: State) -> dict[str, str]:
    """What the model sees of each call of the last turn."""
    parts = [part for part in state.history[-1].parts if isinstance(part, Result)]
    return {part.call_id: "".join(each.text for each in part.content if isinstance(each, Text)) for part in parts}


def roles(state: State) -> str:
    return " ".join(message.role for message in state.history)


def test_results_join_the_history_when_the_last_is_there_and_in_call_order():
    state = after(GO, turn("send a", "put b", "read c"), run("a", "b", "c"), result("c", 3), result("a", 1))
    assert roles(state) == "user assistant"
    state = reduce(state, result("b", {"n": 2}))
    assert roles(state) == "user assistant tool"
    assert list(results(state).items()) == [("a", "1"), ("b", '{"n": 2}'), ("c", "3")]
    assert [entry.id for entry in state.finished_calls] == ["a", "b", "c"]


def test_calls_are_in_the_order_of_the_message_though_they_came_in_another():
    facts = [TurnStarted(turn=1), ready("read b"), *run("b"), result("b"), ready("read a"), *run("a"), result("a")]
    state = after(GO, facts, ended(call("read a"), call("read b")))
    assert list(results(state)) == ["a", "b"]


def test_a_call_has_one_result_the_first():
    state = after(GO, turn("send a", "send b"), run("a", "b"), result("a", "first"), result("a", "second"))
    state = reduce(reduce(state, result("b")), result("b", "again"))
    assert results(state) == {"a": "first", "b": "fine"}
    assert roles(state) == "user assistant tool"


def test_what_does_not_concern_this_turn_changes_nothing():
    state = after(GO, turn("send a"), run("a"))
    for fact in (result("x"), ApprovalGiven(call_id="x", approved=True), ApprovalGiven(call_id="x", approved=False)):
        assert replace(reduce(state, fact), turn=state.turn) == state
        assert reduce(state, fact).turn == state.turn


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("x" * 9, offer_rest("xxxxx\n… (cut: 5 of 9 characters are shown)", "result_1")),
        ("x" * 5, "xxxxx"),
        ([1, 2, 3], offer_rest("[1, 2\n… (cut: 5 of 9 characters are shown)", "result_1")),
    ],
)
def test_what_is_shown_is_cut_and_the_result_is_not(output: Any, shown: str):
    state = after(GO, turn("short a"), run("a"), result("a", output))
    assert results(state) == {"a": shown}
    assert state.finished_calls[0].result.output == output


@each_case(
    "limits, context, chars",
    {
        "by default": (Limits(), None, 65_536),
        "of a large context": (Limits(context=200_000), None, 65_536),
        "of a small context": (Limits(context=8_000), None, 8_000),
        "of the model's own context": (Limits(context=8_000), 6_000, 6_000),
        "of a tiny context": (Limits(context=300), None, 4_096),
        "as the run says": (Limits(context=8_000, result_tokens=300), 6_000, 1_200),
        "nothing": (Limits(result_tokens=0), None, 0),
    },
)
def test_a_longer_result_is_shown_in_part_and_kept_whole(limits: Limits, context: int | None, chars: int):
    def show(output: str) -> State:
        calls = turn("read a")
        begun = replace(calls[0], context=context)
        return after(started(limits=limits), begun, calls[1:], run("a"), result("a", output))

    whole, part = show("x" * chars), show("x" * (chars + 1))
    assert (results(whole)["a"], whole.has_recall) == ("x" * chars, False)
    shown = part.history[-1].parts[0]
    assert (part.has_recall, shown.output) == (True, "x" * (chars + 1))
    assert len(shown.content[0].text) < chars // 4 + 400
    assert 'recall("result_1"' in shown.content[0].text


def test_a_part_is_numbered_by_all_results_and_compared_without_its_number():
    big = "x" * 100_000
    first = [*turn("read a", "read b"), *run("a", "b"), result("a", 1), result("b", big)]
    state = after(GO, first, turn("read c", number=2), run("c"), result("c", big))
    assert 'recall("result_3"' in results(state)["c"]
    assert state.finished_calls[1].shown_text == state.finished_calls[2].shown_text


def test_media_stand_beside_or_for_the_text():
    picture = Media(mime="image/png", data=b"x")
    alone = after(GO, turn("send a"), run("a"), result("a", None, media=(picture,)))
    beside = after(GO, turn("send a"), run("a"), result("a", "a cat", media=(picture,)))
    assert alone.history[-1].parts[0].content == (picture,)
    assert beside.history[-1].parts[0].content == (Text(text="a cat"), picture)


def test_bad_grammar_gets_a_result_like_any_call():
    bad = CallMalformed(call_id="m", name=None, raw="f(", reason="it is not closed", hint="Close it.")
    state = after(
        GO, TurnStarted(turn=1), bad, ready("send a"), ended(call("unknown m"), call("send a")), run("a"), result("a")
    )
    assert results(state) == {"m": "it is not closed. Close it.", "a": "fine"}
    assert state.history[-1].parts[0].is_error


NOT_RUN: dict[str, tuple[list[Any], dict[str, str]]] = {
    "cut": (turn("send a", "send b", finish="length"), {"a": "cut off", "b": "cut off"}),
    "refused": (turn("send a", finish="refused"), {"a": "refused"}),
    "broken": (turn("send a", finish="error"), {"a": "broke off"}),
    "stopped": ([*turn("send a", "pay b"), Interrupted(cause="cancelled")], {"a": "was stopped", "b": "was stopped"}),
    "denied": (
        [*turn("pay a"), ApprovalNeeded(call=call("pay a")), ApprovalGiven(call_id="a", approved=False, reason="dear")],
        {"a": "did not allow it: dear"},
    ),
}


@pytest.mark.parametrize("case", NOT_RUN)
def test_what_was_not_run_says_why(case: str):
    facts, told = NOT_RUN[case]
    state = after(GO, facts)
    assert results(state).keys() == told.keys()
    assert all(words in results(state)[call_id] for call_id, words in told.items())
    assert all(entry.result is not None and not entry.result.ran for entry in state.finished_calls)


def test_one_at_a_time():
    state = after(started(parallel=False), turn("send a", "send b", "send c"), run("a"), result("a"))
    shown = results(state)
    assert shown.pop("a") == "fine"
    assert all("only one call" in each for each in shown.values())


def test_one_at_a_time_and_the_first_was_none():
    bad = CallMalformed(call_id="m", name=None, raw="f(", reason="bad")
    state = after(
        started(parallel=False, limits=Limits(calls=0)),
        TurnStarted(turn=1),
        bad,
        ready("send a"),
        ended(call("x m"), call("send a")),
    )
    assert "only one call" in results(state)["a"]
    assert not state.turn.exceeds_call_limit


def test_what_was_thought_is_forgotten():
    state = after(GO, TurnStarted(turn=1), ready("read a"), run("a"), SaidInThought(), ended(text="Hi."), result("a"))
    assert roles(state) == "user assistant"
    assert (state.finished_calls, state.turn.abandoned_ids) == ((), ())


def test_a_demand_that_is_not_met_is_put_into_words():
    choice = ToolChoice(mode="named", names=("send", "put"))
    assert "without calling send and put" in after(started(choice=choice), turn(text="No.")).history[-1].text
    assert "one is needed" in after(started(choice=ToolChoice(mode="required")), turn()).history[-1].text


def test_usage_adds_up():
    first = ended(call("send a"), usage=Usage(input_tokens=3, output_tokens=1))
    state = after(GO, TurnStarted(turn=1), ready("send a"), first, run("a"), result("a"))
    state = reduce(reduce(state, TurnStarted(turn=2)), ended(text="Hi.", usage=Usage(output_tokens=2, estimated=True)))
    assert state.usage == Usage(input_tokens=3, output_tokens=3, estimated=True)


# Going on


def test_a_message_that_broke_off_is_as_if_it_had_not_been_said():
    broken = ended(call("read a"), call("send b"), text="I", finish="error", cost=0.0)
    before = after(started(choice=ToolChoice(mode="named", names=("read", "send"))))
    state = after(before.run, TurnStarted(turn=1), ready("read a"), run("a"), ready("send b"), broken, result("a", 1))
    assert roles(state) == "user assistant tool"
    again = reduce(reduce(state, RunEnded(reason="error")), RunResumed())
    same = replace(again, reusable_results={}, started_calls=0, turn=before.turn, specs=before.specs)
    assert same == before
    assert (again.started_calls, len(again.reusable_results)) == (1, 1)


def test_what_was_found_out_is_kept_for_when_the_message_comes_again():
    said = [TurnStarted(turn=1), ready("read a"), ready("read b", 1), *run("a", "b"), result("a", "known")]
    state = after(GO, said, RunResumed(), TurnStarted(turn=1), ready("read c"), RunResumed())
    assert state.started_calls == 1
    state = after(
        GO,
        said,
        RunResumed(),
        TurnStarted(turn=1),
        ready("read c", 2),
        RunResumed(),
        TurnStarted(turn=1),
        ready("read d"),
    )
    assert state.turn.calls["d"].result.output == "known"
    assert reduce(state, ended(call("read d"))).reusable_results == {}


def test_what_was_cancelled_with_the_run_is_not_kept():
    halted = Interrupted(cause="cancelled")
    said = [TurnStarted(turn=1), ready("read a"), *run("a"), halted, ended(call("read a"), finish="error")]
    state = after(GO, said, result("a", None, error="cancelled"), RunEnded(reason="cancelled"), RunResumed())
    assert (dict(state.reusable_results), state.started_calls, state.interruption, state.ended) == ({}, 0, None, None)


@pytest.mark.parametrize("cause", ["cancelled", "deadline"])
def test_a_run_that_was_interrupted_before_the_model_was_asked_again_asks_again(cause: Any):
    halted = [Interrupted(cause=cause), RunEnded(reason="cancelled"), RunResumed()]
    unmet = after(started(output="answer"), turn(text="It is 42."), halted)
    assert wanted(unmet) == ["ask 2 named answer"]
    assert wanted(after(GO, turn(), halted)) == ["ask 2"]  # after an empty message
    assert wanted(after(GO, turn(text="It is 42."), halted)) == ["finish answered"]
    discarded = TurnRestarted(turn=2, failed="m", reason="down", model="n")
    restarted = after(GO, turn("read a"), run("a"), result("a"), TurnStarted(turn=2), discarded, halted)
    assert wanted(restarted) == ["ask 2"]


def test_an_unknown_outcome_is_told():
    state = after(GO, turn("send a"), run("a"), RunResumed())
    assert results(state) == {"a": EFFECT_UNKNOWN}
    assert state.started_calls == 1


def test_a_call_that_waited_when_the_run_was_stopped_says_so():
    facts = [started(), *turn("send a"), *run("a"), ToolSuspended(call_id="a", number=1), Interrupted(cause="deadline")]
    assert results(after(facts)) == {"a": WAIT_STOPPED}


def test_a_call_keeps_the_values_of_its_waits():
    over = [WaitOver(call_id="a", number=number, signal="paid", came=True, value={"n": number}) for number in (1, 2)]
    facts: list[Any] = [started(), *turn("put a")]
    for each in over:
        facts += [*run("a"), ToolSuspended(call_id="a", number=each.number, signal="paid"), RunResumed(), each]
    state = after(facts, *run("a"), RunResumed())
    assert state.turn.calls["a"].waits == tuple(over)
    assert state.started_calls == 0


def test_the_tools_are_no_facts():
    facts = [GO, *turn("send a"), *run("a")]
    state = initial_state([each for each in SPECS if each.name != "send"])
    for fact in facts:
        state = reduce(state, fact)
    assert results(reduce(state, RunResumed())) == {"a": EFFECT_UNKNOWN}


def test_references_are_to_calls_of_the_same_turn():
    state = after(GO, turn("send a"), run("a"), result("a", 1), TurnStarted(turn=2), ready("send b", Ref(call="a")))
    assert state.results == {}
    assert state.turn.calls["b"].depends_on == ("a",)


def test_what_ran_when_its_message_was_cut_is_not_run_again():
    cut = [TurnStarted(turn=1), ready("read a"), *run("a"), ended(call("read a"), finish="length")]
    state = after(GO, cut, RunResumed())
    assert "cut off" in results(state)["a"]


def test_calls_are_the_same_whatever_the_order_of_their_keys():
    def key(arguments: Any) -> Any:
        return make_key(ToolCall(id="call_1", name="f", arguments=arguments))

    assert key({"a": 1, "b": {"x": 1, "y": [{"p": 1, "q": 2}]}}) == key(
        {"b": {"y": [{"q": 2, "p": 1}], "x": 1}, "a": 1}
    )
    assert key({"a": 1}) != key({"a": "1"})
    assert key({"a": Ref(call="call_1")}) != key({"a": Ref(call="call_2")})
