"""A run goes on from any of its facts: it ends the same, repeats no finished call, and no `once` call at all."""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tests.cases import each_case
from toolspeak.loop.words import EFFECT_UNKNOWN
from toolspeak.run import Agent, Outcome
from toolspeak.testing import FakeClock, ScriptedModel, ScriptedReply, breaks, calls, says
from toolspeak.tools import Context, Happened, Tool, tool
from toolspeak.values.codec import dump_facts, load_facts
from toolspeak.values.errors import ProviderError, RunPaused, UsageError
from toolspeak.values.events import ApprovalNeeded, CallReady, Fact, Guided, RunResumed, ToolFinished, ToolStarted
from toolspeak.values.limits import Limits
from toolspeak.values.messages import ToolCall

from . import pausing
from .playing import FACES, check, play, run_coroutine, sendable, start, summarize

MADE: Counter[tuple[str, str]] = Counter()
"""How often each function was really entered."""


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    MADE.clear()
    return None


def entered(name: str, what: str) -> str:
    MADE[name, what] += 1
    if what.startswith("bad"):
        raise ValueError(what)
    return f"{name} {what}"


@tool(effect="read")
async def read(what: str) -> str:
    "Read."
    return entered("read", what)


@tool(effect="idempotent")
async def put(what: str) -> str:
    "Put."
    return entered("put", what)


async def send(what: str) -> str:
    "Send: once."
    return entered("send", what)


@tool(sequential=True)
async def alone(what: str) -> str:
    "Alone: once."
    return entered("alone", what)


@tool(approve=True)
async def pay(what: str) -> str:
    "Pay: once, and only if allowed."
    return entered("pay", what)


@tool(approve=True, effect="read")
async def peek(what: str) -> str:
    "Peek, if allowed."
    return entered("peek", what)


TOOLS = [read, put, send, alone, pay, peek]
EFFECTS = {"final_answer": "idempotent", **{each.name: each.spec.effect for each in map(tool, TOOLS)}}


class Answer(BaseModel):
    words: list[str]


def made(*which: str) -> list[tuple[str, dict[str, Any]]]:
    return [(each.split()[0], {"what": each.split(maxsplit=1)[1]}) for each in which]


def allowed(call: Any) -> bool | str:
    return True if "no" not in call.arguments["what"] else "not this one"


RUNS: dict[str, tuple[list[ScriptedReply], dict[str, Any]]] = {
    "an answer": ([says("Hello.")], {}),
    "reads that start early": (
        [calls(*made("read a", "read b", "read bad c"), text="So:"), calls(*made("read d")), says("Done.")],
        {},
    ),
    "everything at once": (
        [
            calls(*made("read a", "send b", "put c", "alone d", "send e", "read f", "send bad g")),
            calls(*made("send h")),
            says("Done."),
        ],
        {},
    ),
    "with approval": (
        [calls(*made("read a", "pay b", "pay no", "peek c", "send d")), calls(*made("peek e")), says("Done.")],
        {"approve": allowed},
    ),
    "references": (
        [says('```python\na = read("a")\nb = send(a)\nput(b)\npay("x" + a)\n```'), says("Done.")],
        {"dialect": "python", "approve": allowed},
    ),
    "as many calls as there may be": (
        [calls(*made("read a", "read b", "put c", "send d")), says("Done.")],
        {"limits": Limits(calls=4)},
    ),
    "more calls than there may be": (
        [calls(*made("read a", "read b", "put c", "send d")), says("Never.")],
        {"limits": Limits(calls=3)},
    ),
    "one at a time": ([calls(*made("read a", "send b")), says("Done.")], {"parallel_tool_calls": False}),
    "one at a time, in text": (
        [calls(*made("read a", "send b")), says("Done.")],
        {"parallel_tool_calls": False, "dialect": "json"},
    ),
    "two at a time": (
        [calls(*made("read a", "read b", "send c", "send d", "put e")), says("Done.")],
        {"limits": Limits(concurrent=2)},
    ),
    "a demand": ([says("No."), calls(*made("send a")), says("Done.")], {"tool_choice": ["send"]}),
    "a demand that is never met": ([says("No.")] * 3, {"tool_choice": ["send"]}),
    "a message that was cut": ([calls(*made("read a", "send b"), finish="length")], {}),
    "a typed answer": (
        [calls(*made("read a", "send b")), says("It is c."), calls(("final_answer", {"words": ["c"]}))],
        {"output": Answer},
    ),
}


def agent_of(script: list[ScriptedReply], options: dict[str, Any]) -> tuple[Agent, dict[str, Any]]:
    given = {key: value for key, value in options.items() if key != "output"}
    return Agent(ScriptedModel(script, chunk=6, on_tool_error="tell"), TOOLS, **given), {
        "output": options.get("output")
    }


def keys(facts: Sequence[Fact], kind: type[ToolStarted] | type[ToolFinished]) -> set[tuple[str, str]]:
    """The calls that have been started, or have ended; by what they are, not by their ids."""
    said = {fact.call.id: fact.call for fact in facts if isinstance(fact, CallReady)}
    ids = [
        fact.call_id if isinstance(fact, ToolStarted) else fact.result.call_id
        for fact in facts
        if isinstance(fact, kind)
    ]
    return {(said[each].name, json.dumps(said[each].arguments, default=repr)) for each in ids}


def count_calls(outcome: Outcome, before: Outcome) -> Counter[tuple[str, str]]:
    """How often each call was really made, named as `keys` names them."""
    named = {}
    for fact in (*before.facts, *outcome.facts):
        if isinstance(fact, CallReady):
            named.setdefault(fact.call.id, (fact.call.name, json.dumps(fact.call.arguments, default=repr)))
    plain = {
        (each.name, each.arguments["what"]): named[each.call.id] for each in before.calls if "what" in each.arguments
    }
    return Counter({plain[key]: times for key, times in MADE.items()})


@pytest.mark.parametrize("name", RUNS)
def test_a_run_goes_on_from_every_fact(name: str):
    agent, options = agent_of(*RUNS[name])
    first = play(agent, "astream", **options)
    for place in range(1, len(first.facts) + 1):
        facts = load_facts(dump_facts(first.facts[:place]))
        MADE.clear()
        again = run_coroutine(agent.aresume(facts, **options)) if place % 2 else agent.resume(facts, **options)
        sendable(again.messages, agent.toolbox)
        assert again.facts[: place + 1] == (*facts, RunResumed())
        times = count_calls(again, first)
        finished, started = keys(facts, ToolFinished), keys(facts, ToolStarted)
        assert max(times.values(), default=0) <= 1
        assert not {key for key in times if key in finished}, "a finished call was made again"
        assert not {key for key in times if key in started and EFFECTS[key[0]] == "once"}, "a call was made twice"
        in_flight = {key for key in started - finished if EFFECTS[key[0]] == "once"}
        ended_the_same(again, first, in_flight)


def ended_the_same(again: Outcome, first: Outcome, in_flight: set[tuple[str, str]]) -> None:
    assert (again.text, again.stop_reason, again.output) == (first.text, first.stop_reason, first.output)
    assert [(each.name) for each in again.calls] == [(each.name) for each in first.calls]
    unknown = {each.name for each in again.calls if each.error == EFFECT_UNKNOWN}
    assert unknown == {name for name, _ in in_flight}
    if not in_flight:
        assert summarize(again) == summarize(first)
        assert [message.parts for message in again.messages] == [message.parts for message in first.messages]


@pytest.mark.parametrize("name", ["reads that start early", "as many calls as there may be", "with approval"])
def test_a_run_that_was_resumed_goes_on_from_every_fact(name: str):
    agent, options = agent_of(*RUNS[name])
    first = play(agent, "stream", **options)
    for place in range(1, len(first.facts), 3):
        second = agent.resume(first.facts[:place], **options)
        for later in range(place + 1, len(second.facts) + 1, 2):
            facts = second.facts[:later]
            MADE.clear()
            again = agent.resume(facts, **options)
            finished = keys(facts, ToolFinished)
            assert not {key for key in count_calls(again, first) if key in finished}, "a finished call was made again"
            sendable(again.messages, agent.toolbox)
            assert (again.text, again.stop_reason) == (first.text, first.stop_reason)


def test_a_loop_is_counted_across_resuming():
    agent, _ = agent_of([calls(*made("read a"))] * 6, {})
    first = agent.run("Go.")
    for place in range(1, len(first.facts) + 1):
        again = agent.resume(first.facts[:place])
        assert (again.stop_reason, len(again.calls)) == ("loop", 5)
        assert [fact.step for fact in again.facts if isinstance(fact, Guided)] == ["told", "withheld", "words"]
        assert [message.parts for message in again.messages] == [message.parts for message in first.messages]


def test_a_call_in_flight_that_must_not_be_repeated_is_told_as_unknown():
    agent, _ = agent_of([calls(*made("send a", "put b")), says("Done.")], {})
    facts = agent.run("Go.").facts
    started = max(place for place, fact in enumerate(facts) if isinstance(fact, ToolStarted))
    MADE.clear()
    outcome = agent.resume(facts[: started + 1])
    assert outcome.calls[0].error == EFFECT_UNKNOWN
    assert outcome.calls[1].output == "put b"
    assert MADE == {("put", "b"): 1}


def find_nothing(call: ToolCall) -> bool:
    return False


async def find_payment(call: ToolCall, context: Context[None]) -> Happened:
    return Happened(f"{context.idempotency_key} paid {call.arguments['amount']}")


def raise_error(call: ToolCall) -> None:
    raise ConnectionError("the bank is closed")


@each_case(
    "reconcile, output, made",
    {
        "it happened": (find_payment, "r/{id} paid 7", 0),
        "it did not": (find_nothing, "paid 7 now", 1),
        "nobody knows": (lambda _: None, None, 0),
        "the function fails": (raise_error, None, 0),
        "the function returns something else": (lambda _: "yes", None, 0),
    },
)
@pytest.mark.parametrize("is_async", [False, True])
def test_a_call_in_flight_is_reconciled(reconcile: Any, output: str | None, made: int, is_async: bool):
    times: list[int] = []

    def pay(amount: int) -> str:
        """Pay."""
        times.append(amount)
        return f"paid {amount} now"

    async def pay_later(amount: int) -> str:
        """Pay."""
        return pay(amount)

    wallet = Tool(pay_later if is_async else pay, name="pay", effect="once", approve=True, reconcile=reconcile)
    agent = Agent(ScriptedModel([calls(("pay", {"amount": 7})), says("Done.")]), [wallet], approve=lambda _: True)
    facts = agent.run("Go.").facts
    started = next(place for place, fact in enumerate(facts) if isinstance(fact, ToolStarted))
    times.clear()
    outcome = agent.resume(facts[: started + 1])
    for _ in range(2):  # and a run that is cut off again after that
        call = outcome.calls[0]
        expected = None if output is None else output.replace("r/{id}", f"{outcome.run_id}/{call.call.id}")
        assert (call.output, call.error) == (expected, EFFECT_UNKNOWN if output is None else None)
        assert len(times) == made
        assert outcome.text == "Done."
        times.clear()
        started = max(place for place, fact in enumerate(outcome.facts) if isinstance(fact, ToolStarted))
        outcome = agent.resume(outcome.facts[: started + 1])


def test_only_calls_that_must_not_be_repeated_are_reconciled():
    with pytest.raises(UsageError, match="reconcile is for effect='once'"):
        Tool(find_nothing, effect="read", reconcile=find_nothing)
    with pytest.raises(UsageError, match="reconcile is a function of a call"):
        Tool(find_nothing, reconcile="yes")  # type: ignore[arg-type]  # wrong on purpose


def test_a_run_that_broke_off_goes_on_when_the_model_is_back():
    broken = [calls(*made("send a")), breaks(ProviderError("down"), text="I was")]
    with pytest.raises(ProviderError) as raised:
        Agent(ScriptedModel(broken, chunk=2), TOOLS).run("Go.")
    facts = raised.value.outcome.facts
    outcome = Agent(ScriptedModel([broken[0], says("I was about to say: done.")]), TOOLS).resume(facts)
    assert (outcome.text, outcome.stop_reason) == ("I was about to say: done.", "answered")
    assert MADE == {("send", "a"): 1}
    assert [message.role for message in outcome.messages] == ["user", "assistant", "tool", "assistant"]


def test_a_run_that_has_ended_stays_as_it_is():
    agent, _ = agent_of([calls(*made("send a")), says("Done.")], {})
    first = agent.run("Go.")
    MADE.clear()
    assert summarize(agent.resume(first.facts)) == summarize(first)
    assert not MADE


def test_a_read_that_was_cancelled_with_its_message_is_made_again():
    script = [calls(*made("read a", "read b"), pauses=(0, 0.3), lingers=5), says("Done.")]
    agent = Agent(ScriptedModel(script), TOOLS)
    stream = agent.stream("Go.")
    for event in stream:
        if isinstance(event, ToolStarted):
            stream.cancel()
    first = check(stream.outcome)
    assert first.stop_reason == "cancelled"
    quick = Agent(ScriptedModel([calls(*made("read a", "read b")), says("Done.")]), TOOLS)
    again = quick.resume(first.facts)
    assert [each.error for each in again.calls] == [None, None]


@pytest.mark.parametrize(
    ("facts", "approvals", "told"),
    [
        ([], {}, "no beginning of a run"),
        ("paused", {"nobody": True}, "no call 'nobody' waits"),
        ("ended", {"call_1_1": True}, "no call 'call_1_1' waits"),
    ],
)
def test_what_cannot_be_resumed_is_told(facts: Any, approvals: dict[str, bool], told: str):
    agent = Agent(ScriptedModel([calls(*made("pay a")), says("Done.")]), TOOLS, dialect="json")
    if facts:
        with pytest.raises(RunPaused) as paused:
            agent.run("Go.")
        facts = paused.value.facts
        if told.count("call_1_1"):
            facts = agent.resume(facts, approvals={"call_1_1": False}).facts
    with pytest.raises(UsageError, match=told):
        agent.resume(facts, approvals=approvals)


def test_a_run_with_a_typed_answer_is_resumed_with_its_type():
    agent = Agent(ScriptedModel([calls(("final_answer", {"words": ["a"]}))]))
    facts = agent.run("Go.", output=Answer).facts
    with pytest.raises(UsageError, match="output"):
        agent.resume(facts)


def test_a_run_without_a_typed_answer_is_resumed_without_a_type():
    agent = Agent(ScriptedModel([says("Done.")]))
    with pytest.raises(UsageError, match="started without output"):
        agent.resume(agent.run("Go.").facts, output=Answer)


@pytest.mark.parametrize("face", ["resume", "aresume", "stream_resume", "astream_resume"])
def test_all_ways_to_resume_come_to_the_same(face: str):
    agent, options = agent_of(*RUNS["a typed answer"])
    facts = agent.run("Go.", **options).facts[:6]
    recorded: list[Fact] = []
    options["record"] = recorded.append

    async def take_all() -> Outcome[Answer]:
        async with agent.astream_resume(facts, **options) as events:
            new = [event async for event in events]
        assert [event for event in new if not event.kind.endswith("_delta")] == recorded
        return events.outcome

    match face:
        case "resume":
            outcome = agent.resume(facts, **options)
        case "aresume":
            outcome = run_coroutine(agent.aresume(facts, **options))
        case "stream_resume":
            with agent.stream_resume(facts, **options) as events:
                new = list(events)
            assert [event for event in new if not event.kind.endswith("_delta")] == recorded
            outcome = events.outcome
        case _:
            outcome = run_coroutine(take_all())
    assert outcome.facts == (*facts, *recorded)
    assert recorded[0] == RunResumed()
    assert outcome.output == Answer(words=["c"])


def test_a_stream_that_resumes_can_be_cancelled():
    facts = Agent(ScriptedModel([says("a long answer")])).run("Go.").facts[:1]
    lingering = ScriptedReply(text="a long answer", lingers=60)
    with Agent(ScriptedModel([lingering], chunk=1)).stream_resume(facts) as stream:
        for event in stream:
            if event.kind == "text_delta":
                stream.cancel()
    assert stream.outcome.stop_reason == "cancelled"


# Pausing


def test_a_paused_run_goes_on_in_another_process(tmp_path: Path):
    with pytest.raises(RunPaused) as paused:
        pausing.agent(tmp_path / "made.txt").run("Pay both.")
    assert [call.arguments for call in paused.value.calls] == [{"who": "Ann"}, {"who": "Bob"}, {"who": "3 people"}]
    assert "Ann" not in (tmp_path / "made.txt").read_text()
    (tmp_path / "run.jsonl").write_text(dump_facts(paused.value.facts))
    ann, bob, _ = [call.id for call in paused.value.calls]
    answers = {ann: True, bob: "he owes us", paused.value.calls[2].id: True}
    done = subprocess.run(
        [sys.executable, "-m", "tests.run.pausing", str(tmp_path), json.dumps(answers)],
        capture_output=True,
        text=True,
        timeout=80,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["text"] == "Ann is paid."
    assert told["calls"] == [
        ["count", 3, None],
        ["pay", "paid Ann", None],
        ["pay", None, "not run: the user did not allow it: he owes us"],
        ["pay", "paid 3 people", None],
    ]
    assert sorted((tmp_path / "made.txt").read_text().split()) == ["3", "Ann", "count", "people"]
    assert done.stderr == ""


def test_a_run_pauses_again_for_what_was_not_answered(tmp_path: Path):
    agent = pausing.agent(tmp_path / "made.txt")
    with pytest.raises(RunPaused) as paused:
        agent.run("Pay both.")
    first, *others = paused.value.calls
    with pytest.raises(RunPaused) as again:
        agent.resume(paused.value.facts, approvals={first.id: True})
    assert again.value.calls == tuple(others)
    assert (tmp_path / "made.txt").read_text().split("\n") == ["count", "Ann", ""]
    outcome = agent.resume(again.value.facts, approvals={each.id: False for each in others})
    assert outcome.text == "Ann is paid."
    asked = [fact for fact in outcome.facts if isinstance(fact, ApprovalNeeded)]
    assert len(asked) == 5


# With other limits

THREE_READS = [*(calls(("read", {"what": what})) for what in "abc"), says("Read.")]

STOPPED: dict[str, tuple[Sequence[ScriptedReply], Limits]] = {
    "turns": (THREE_READS, Limits(turns=2)),
    "calls": (THREE_READS, Limits(calls=1)),
    "tokens": (
        [*THREE_READS[:1], ScriptedReply(text="x" * 400, calls=THREE_READS[1].calls), says("Read.")],
        Limits(tokens=50),
    ),
    "repeats": ([*[calls(("read", {"what": "a"}))] * 4, says("Read.")], Limits(repeats=2)),
}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("name", STOPPED)
def test_a_run_that_stopped_at_a_limit_goes_on_with_a_larger_one(name: str, face: str):
    script, limits = STOPPED[name]
    agent = Agent(ScriptedModel(script), TOOLS, limits=limits)
    stopped = agent.run("Read.")
    assert stopped.stop_reason in ("limit", "loop")
    assert agent.resume(stopped.facts).stop_reason == stopped.stop_reason
    facts = load_facts(dump_facts(stopped.facts))
    outcome = start(agent, face, facts, resumes=True, limits=Limits(turns=20, repeats=9))
    assert (outcome.stop_reason, outcome.text) == ("answered", "Read.")
    sendable(outcome.messages)
    assert load_facts(dump_facts(outcome.facts)) == outcome.facts


def test_a_conversation_takes_limits_too():
    chat = Agent(ScriptedModel(THREE_READS), TOOLS).chat()
    stopped = chat.run("Read.", limits=Limits(turns=1))
    again = chat.agent.chat()
    assert again.resume(stopped.facts, limits=Limits()).text == "Read."
    assert len(again.messages) == 8


def test_new_limits_are_kept_when_the_run_is_resumed_again():
    agent = Agent(ScriptedModel(THREE_READS), TOOLS)
    stopped = agent.run("Read.", limits=Limits(turns=1))
    later = agent.resume(stopped.facts, limits=Limits(turns=2))
    assert (later.stop_reason, later.detail) == ("limit", "the run may take 2 turns, and the model is not done")
    cut = later.facts[: [fact.kind for fact in later.facts].index("run_resumed") + 2]
    assert agent.resume(cut).detail == later.detail
    assert agent.resume(later.facts, limits=Limits(turns=2)).detail == later.detail


def test_a_smaller_limit_holds_from_the_resuming_on():
    agent = Agent(ScriptedModel(THREE_READS), TOOLS)
    facts = agent.run("Read.").facts
    cut = facts[: [fact.kind for fact in facts].index("tool_finished") + 1]
    outcome = agent.resume(cut, limits=Limits(turns=1))
    assert (outcome.stop_reason, MADE["read", "b"]) == ("limit", 1)


def test_a_new_limit_of_seconds_is_the_deadline():
    async def hang() -> None:
        "Hang."
        await asyncio.sleep(3600)

    agent = Agent(ScriptedModel([calls(("hang", {})), says("Done.")]), [tool(hang, effect="read")])
    facts: list[Fact] = []
    outcome = FakeClock().run(agent.arun("Go.", limits=Limits(seconds=0.1), record=facts.append))
    assert outcome.stop_reason == "limit"
    cut = facts[: [fact.kind for fact in facts].index("tool_started") + 1]
    outcome = FakeClock().run(agent.aresume(cut, limits=Limits(seconds=0.2)))
    assert outcome.detail == "the run may take 0.2 s, and the time is over"


@pytest.mark.parametrize("limits", [3, Limits(turns=-1)])
def test_wrong_limits_are_refused(limits: Any):
    agent = Agent(ScriptedModel(THREE_READS), TOOLS)
    with pytest.raises(UsageError, match=r"limits are Limits\(|a limit is a number from 0"):
        agent.resume(agent.run("Read.").facts, limits=limits)


# Wrong answers


@pytest.mark.parametrize("answer", [1, None, []])
def test_an_approval_is_yes_no_or_a_reason(answer: Any):
    agent = Agent(ScriptedModel([calls(("pay", {"what": "Ann"})), says("Paid.")]), TOOLS)
    with pytest.raises(RunPaused) as paused:
        agent.run("Pay.")
    with pytest.raises(UsageError, match=r"approvals: .* the answer is True, False, a text that says why not"):
        agent.resume(paused.value.facts, approvals={paused.value.calls[0].id: answer})
    assert not MADE


def test_the_stream_of_a_paused_run_says_that_the_run_is_paused():
    agent = Agent(ScriptedModel([calls(("pay", {"what": "Ann"})), says("Paid.")]), TOOLS)
    stream = agent.stream("Pay.")
    with pytest.raises(RunPaused):
        list(stream)
    with pytest.raises(UsageError, match="the run is paused, and has no outcome before it is resumed"):
        _ = stream.outcome
