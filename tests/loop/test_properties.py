"""Whatever happens in whatever order, the loop asks for nothing twice, never gets stuck, and comes to an end."""

from typing import Any

from hypothesis import given, note
from hypothesis import strategies as st

from toolspeak.loop import BrokenReference, CallState, State, decide, fold, initial_state, reduce, resolve_references
from toolspeak.values.codec import dump_facts, load_facts
from toolspeak.values.events import (
    ApprovalGiven,
    ApprovalNeeded,
    CallMalformed,
    CallQuoted,
    CallReady,
    Escalation,
    Fact,
    Interrupted,
    RunEnded,
    RunResumed,
    SaidInThought,
    ToolChoice,
    ToolFinished,
    ToolStarted,
    ToolSuspended,
    TurnRestarted,
    TurnStarted,
    WaitOver,
)
from toolspeak.values.limits import Limits
from toolspeak.values.messages import Ref, Result, ToolCall

from .folding import SPECS, ended, result, started

NAMES = [*(spec.name for spec in SPECS), "strange"]
BY_NAME = {spec.name: spec for spec in SPECS}

RUNS = st.builds(
    started,
    dialect=st.sampled_from(["native", "json"]),
    parallel=st.booleans(),
    output=st.sampled_from([None, "answer"]),
    has_approver=st.booleans(),
    guided=st.booleans(),
    escalation=st.sampled_from([None, Escalation(causes=("loop", "malformed", "missing"), models=("", "large"))]),
    choice=st.sampled_from(
        [
            ToolChoice(),
            ToolChoice(mode="none"),
            ToolChoice(mode="required"),
            ToolChoice(mode="named", names=("send", "pay")),
        ]
    ),
    limits=st.builds(
        Limits,
        turns=st.sampled_from([1, 3, 6]),
        calls=st.sampled_from([None, 0, 2, 5]),
        repeats=st.sampled_from([None, 1, 3]),
        concurrent=st.integers(1, 4),
    ),
)


class World:
    """Everything outside of the loop: does what it asks for, in its own time, and lets other things happen."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.state = initial_state(SPECS)
        self.facts: list[Fact] = []
        self.listening = self.is_put_down = False
        self.running: dict[str, ToolCall] = {}
        self.asked: list[str] = []
        self.said: list[ToolCall] = []
        self.entered: list[str] = []
        self.quoted: set[str] = set()
        self.count = 0
        self.fact(data.draw(RUNS))

    def fact(self, fact: Fact) -> None:
        note(repr(fact))
        self.facts.append(fact)
        self.state = reduce(self.state, fact)
        self.is_put_down = False
        self.do()

    def do(self) -> None:
        """What the loop wants, until it wants nothing new."""
        before: State | None = None
        while before is not self.state:
            before = self.state
            actions = decide(before)
            assert decide(before) == actions
            for action in actions:
                self.perform(action)

    def fold(self, fact: Fact) -> None:
        note(repr(fact))
        self.facts.append(fact)
        self.state = reduce(self.state, fact)

    def perform(self, action: Any) -> None:
        match action.kind:
            case "ask_model":
                assert not self.listening
                assert self.running.keys() <= set(self.state.turn.abandoned_ids)
                sendable(self.state)
                self.listening, self.said = True, []
                guidance = self.state.next_guidance
                self.fold(TurnStarted(turn=action.turn, model="" if guidance is None else guidance.model))
            case "stop_stream":
                assert self.listening
            case "run_tools":
                for call in action.calls:
                    self.start(call)
            case "cancel_tools":
                assert set(action.call_ids) <= self.running.keys()
            case "ask_approval":
                assert not self.running
                for call in action.calls:
                    assert call.id in self.quoted or BY_NAME[call.name].approve
                    self.asked.append(call.id)
                    self.fold(ApprovalNeeded(call=call))
            case "guide":
                assert not self.listening
                self.fold(action.fact)
                sendable(self.state)
            case "suspend":
                assert not (self.listening)
                assert not (self.running)
                assert not (self.asked)
                assert self.suspended
                self.is_put_down = True
            case _:
                assert not self.listening
                assert not self.running
                sendable(self.state)
                self.fold(RunEnded(reason=action.reason, detail=action.detail))

    @property
    def suspended(self) -> list[CallState]:
        return [each for each in self.state.turn.calls.values() if each.stage == "suspended"]

    def leads_nowhere(self, call: ToolCall) -> bool:
        """Whether it refers to what is not there: such a call is started only to say so, and is never made."""
        try:
            resolve_references(call.arguments, self.state.results)
        except BrokenReference:
            return True
        return False

    def start(self, call: ToolCall) -> None:
        spec = BY_NAME.get(call.name)
        assert call.id not in self.running
        allowed = {fact.call_id for fact in self.facts if isinstance(fact, ApprovalGiven) and fact.approved}
        if spec is None or spec.effect != "read":
            assert not self.listening, "only what changes nothing may start early"
        if spec is not None and spec.effect == "once":
            assert call.id not in self.entered, "it must not be made twice"
        if call.id in self.quoted or (spec is not None and spec.approve):
            assert call.id in allowed or self.leads_nowhere(call), "nobody agreed"
        if spec is not None and spec.sequential:
            assert not self.running, "it must be alone"
        alone = [each for each in self.running.values() if each.name in BY_NAME and BY_NAME[each.name].sequential]
        assert not alone, "nothing may run beside it"
        self.running[call.id] = call
        assert self.state.run is not None
        assert len(self.running) <= self.state.run.limits.concurrent
        self.entered.append(call.id)
        self.fold(ToolStarted(call_id=call.id))

    # What may happen

    def happens_at_random(self, count: int) -> None:
        """So many things that may happen, or fewer if the run ends before."""
        for _ in range(count):
            if self.state.ended is not None:
                break
            self.happens(calmly=False)

    def happens(self, *, calmly: bool) -> None:
        """One thing that may happen now; calmly: one that brings the run nearer to its end."""
        choices = []
        if self.listening:
            choices += (
                [self.message_ends] if calmly or len(self.said) > 5 else [self.says, self.says, self.message_ends]
            )
            if not calmly:
                choices.append(self.was_thought)
                if self.state.interruption is None:
                    choices.append(self.restarted)
        if self.running:
            choices.append(self.tool_ends)
            if not calmly:
                choices.append(self.tool_waits)
        if self.asked:
            choices.append(self.somebody_answers)
        assert choices or self.is_put_down, "nothing is under way, and the loop wants nothing: it is stuck"
        if self.suspended and (self.is_put_down or not calmly):
            choices.append(self.wait_is_over)
        if not calmly:
            choices += [self.interrupted, self.resumed]
        self.data.draw(st.sampled_from(choices))()

    def says(self) -> None:
        self.count += 1
        call_id = f"c{self.count}"
        if self.data.draw(st.integers(0, 5)) == 0:
            self.said.append(ToolCall(id=call_id, name="unknown", arguments={}))
            self.fact(CallMalformed(call_id=call_id, name=None, raw=call_id, reason="bad"))
            return
        earlier = [each.id for each in self.said]
        x = self.data.draw(st.sampled_from([1, 2, *(Ref(call=each) for each in earlier)]))
        call = ToolCall(id=call_id, name=self.data.draw(st.sampled_from(NAMES)), arguments={"x": x})
        self.said.append(call)
        if self.data.draw(st.integers(0, 4)) == 0:
            self.quoted.add(call_id)
            self.fold(CallReady(call=call))
            self.fact(CallQuoted(call_id=call_id, result_id="c0", tool="read"))
            return
        self.fact(CallReady(call=call))

    def was_thought(self) -> None:
        self.said = []
        self.fact(SaidInThought())

    def restarted(self) -> None:
        self.listening = False
        self.fact(TurnRestarted(turn=self.state.turn.number, failed="a", reason="gone", model="b"))

    def message_ends(self) -> None:
        self.listening = False
        finish = (
            "error"
            if self.state.interruption
            else self.data.draw(st.sampled_from(["stop", "closed", "length", "error"]))
        )
        thought = (ToolCall(id="thought", name="read", arguments={"x": 1}),)
        thought_calls = () if self.said else self.data.draw(st.sampled_from([(), thought]))
        text = self.data.draw(st.sampled_from(["", "Hi."]))
        self.fact(ended(*self.said, text=text, finish=finish, thought_calls=thought_calls))

    def tool_ends(self) -> None:
        call_id = self.data.draw(st.sampled_from(sorted(self.running)))
        del self.running[call_id]
        how = self.data.draw(st.sampled_from([{}, {"error": "oh"}, {"error": "bad arguments", "ran": False}]))
        self.fact(result(call_id, **how) if not how else result(call_id, None, **how))

    def tool_waits(self) -> None:
        call_id = self.data.draw(st.sampled_from(sorted(self.running)))
        del self.running[call_id]
        self.entered.remove(call_id)  # it may be made again: it was not cut off
        known = self.state.turn.calls.get(call_id)
        number = 1 if known is None else len(known.waits) + 1
        self.fact(ToolSuspended(call_id=call_id, number=number, signal="paid"))

    def wait_is_over(self) -> None:
        """Another process goes on, and knows that a wait is over."""
        waits = self.data.draw(st.sampled_from(self.suspended))
        self.resume()
        self.fact(WaitOver(call_id=waits.id, number=len(waits.waits) + 1, signal="paid", came=True))

    def somebody_answers(self) -> None:
        self.fact(ApprovalGiven(call_id=self.asked.pop(0), approved=self.data.draw(st.booleans())))

    def interrupted(self) -> None:
        self.fact(Interrupted(cause=self.data.draw(st.sampled_from(["cancelled", "deadline", "endpoint"]))))

    def resumed(self) -> None:
        """Another process goes on."""
        self.resume()
        self.do()

    def resume(self) -> None:
        """The process is gone: what was under way is not any more, and the facts are read back."""
        self.listening, self.running, self.asked = False, {}, []
        self.state = initial_state(SPECS)
        for fact in load_facts(dump_facts(self.facts)):
            self.state = reduce(self.state, fact)
        self.fold(RunResumed())
        self.is_put_down = False


def sendable(state: State) -> None:
    called: list[str] = []
    seen: set[str] = set()
    for message in state.history:
        results = [part.call_id for part in message.parts if isinstance(part, Result)]
        assert results == called
        called = [call.id for call in message.calls]
        assert not seen.intersection(called)
        seen.update(called)
    assert not called


@given(st.data())
def test_whatever_happens(data: st.DataObject):
    world = World(data)
    world.happens_at_random(data.draw(st.integers(0, 30)))
    for _ in range(200):
        if world.state.ended is not None:
            break
        world.happens(calmly=True)
    assert world.state.ended is not None, "it comes to an end"
    assert decide(world.state) == ()
    sendable(world.state)
    again = initial_state(SPECS)
    for fact in world.facts:
        again = reduce(again, fact)
    assert again == world.state, "the facts are all there is"
    started_ids = [fact.call_id for fact in world.facts if isinstance(fact, ToolStarted)]
    finished = [fact.result.call_id for fact in world.facts if isinstance(fact, ToolFinished)]
    assert set(finished) <= set(started_ids)


@given(st.data())
def test_a_state_that_is_folded_in_place_is_the_one_that_reduce_returns(data: st.DataObject):
    world = World(data)
    world.happens_at_random(data.draw(st.integers(0, 30)))
    state, folded = initial_state(SPECS), initial_state(SPECS)
    for fact in world.facts:
        before = repr(state)
        after = reduce(state, fact)
        assert repr(state) == before, "`reduce` changes nothing"
        fold(folded, fact)
        assert folded == after
        assert decide(folded) == decide(after)
        state = after
