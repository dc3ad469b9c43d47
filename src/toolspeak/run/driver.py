"""The driver: performs the actions that the loop decides on, and turns what happens into facts.

Everything that happens outside arrives in one inbox: pieces from the model, results from tools, approvals, the
deadline, a cancellation. Each fact is recorded, folded and acted upon before the next one is handled; only a call that
is quoted waits for its `CallQuoted`.

When a run ends, even by a cancellation from outside, its facts are completed first, so that every call has a result.
A pause is no end and completes nothing. Then calls and tasks are cancelled; a thread that does not return is not waited
for.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from toolspeak.execution import CANCEL_GRACE_SECONDS
from toolspeak.execution.outcome import format_error
from toolspeak.execution.user_functions import needs_approval
from toolspeak.loop import (
    Action,
    AskApproval,
    AskModel,
    CancelTools,
    Finish,
    Guide,
    RefuseCalls,
    RunTools,
    State,
    StopStream,
    Suspend,
    decide,
    fold,
    initial_state,
)
from toolspeak.models import find_model_cost
from toolspeak.models.model import find_model_context
from toolspeak.run.approvals import (
    Recorder,
    UnansweredCalls,
    build_questions,
    collect_approvals,
    withdraw_approvals,
)
from toolspeak.run.barrier import CommitBarrier, Durability, ModelUnavailable, RunParked
from toolspeak.run.calling_run import Speaker
from toolspeak.run.compaction import count_recalled_chars, find_context, needs_summary
from toolspeak.run.deadline import schedule_deadline
from toolspeak.run.fallback import OUTAGES, find_call_ids, prepare_fallback, receive_message, report_reuse
from toolspeak.run.inbox import CALL_FACTS, DELTAS, FallbackReady, Inbox, ModelFailed, PiecesArrived, RulesAsked
from toolspeak.run.running_calls import RunningCalls
from toolspeak.run.turn_request import build_reader, render_request
from toolspeak.tools import Context
from toolspeak.turns import TurnReader
from toolspeak.values.errors import ToolError
from toolspeak.values.events import (
    BY_RULE,
    ApprovalGiven,
    CallQuoted,
    CallReady,
    Compacted,
    Event,
    Fact,
    HandedOver,
    Interrupted,
    NestedDelta,
    NestedFact,
    RunEnded,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    TurnRestarted,
    TurnStarted,
)
from toolspeak.values.log import LOG, log_end
from toolspeak.values.messages import Message, ToolCall

if TYPE_CHECKING:
    from toolspeak.telemetry.tracing import AnyTrace


class RunTasks:
    """Keeps the tasks of a run until they are done, so that all of them can be stopped when the run ends."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task in the running event loop."""
        task = asyncio.get_running_loop().create_task(work)
        # Tasks that are done are dropped here, and not by a callback of each, which is another round of the event loop.
        self._tasks = [each for each in self._tasks if not each.done()]
        self._tasks.append(task)
        return task

    async def stop(self, others: Iterable[asyncio.Task[Any]]) -> None:
        """Cancel all tasks, and wait a while until they and the others, which are cancelled already, have ended."""
        for task in self._tasks:
            task.cancel()
        if left := [task for task in (*self._tasks, *others) if not task.done()]:
            await asyncio.wait(left, timeout=2 * CANCEL_GRACE_SECONDS)


class Driver:
    """Drives one run.

    Attributes:
        state: The state of the run.
        facts: The run so far.
        error: The error that ended the run, if one did.
        error_is_fault: Whether that error is one of the program, which ends the runs around this one too.
        speaker: The agent that speaks now.
        successors: The agents to which the conversation is handed over, by the id of the call.
        barrier: Holds back what new facts announce until they are committed.
        trace: The spans of the run, if it is traced.
    """

    def __init__(
        self,
        speaker: Speaker,
        *,
        facts: Sequence[Fact] = (),
        background: tuple[Message, ...] = (),
        watched: bool = True,
        record: Recorder | None = None,
        publish: Callable[[Event], None] | None = None,
        durability: Durability | None = None,
        trace: "AnyTrace | None" = None,
    ) -> None:
        """Fold the facts so far, if the run is resumed.

        Args:
            speaker: The agent that begins.
            facts: The run so far.
            background: Messages that explain values, beside those of the run.
            watched: Whether `batches` yields the events.
            record: Called with each new fact.
            publish: Called with each new event, after it was recorded and before the run acts on it.
            durability: Commits each new fact before the run acts on it, if the run is durable.
            trace: The spans of the run, if it is traced.
        """
        self.state: State = initial_state(speaker.toolbox.specs, background)
        for fact in facts:
            fold(self.state, fact)
        self.facts: list[Fact] = list(facts)
        self.error: BaseException | None = None
        self.error_is_fault = False
        self.speaker, self.trace = speaker, trace
        self.successors: dict[str, Speaker] = {}
        self._handed_over: HandedOver | None = None  # to the agent that speaks now
        self._record, self._publish, self._durability = record, publish, durability
        self._inbox: Inbox[Fact | PiecesArrived | ModelFailed | FallbackReady | RulesAsked] = Inbox()
        self._events: list[Event] = []
        self._reader: TurnReader | None = None
        self._request_count = 0
        self._discarded_ids: set[str] = set()  # of calls in messages that broke off: they may still be running
        self._tasks = RunTasks()
        self._receiving: asyncio.Task[None] | None = None
        self._stream_stopped = self._is_parking = self._is_choosing = False
        self._unanswered = UnansweredCalls()
        self._outage: ModelUnavailable | None = None
        self._waiting_ids: set[str] = set()  # of calls whose inner runs were put down
        self._in_question: set[str] = set()  # calls about which a rule of their tool was asked
        self._needs_somebody: set[str] = set()  # those about which the rule said that somebody must be asked
        self.barrier = CommitBarrier(durability)
        listeners = (watched and self._events.append, durability is not None and self.barrier.add, publish)
        self._listeners = [listener for listener in listeners if listener]
        self._calls = RunningCalls(self, self._inbox.put)

    async def batches(self, first: Sequence[Fact], began: float) -> AsyncGenerator[list[Event]]:
        """Drive the run from its first new facts to its end; yield its events, in order, if somebody watches it.

        The deadline of the run is counted from `began` on, by the clock of the event loop.
        """
        deadline = schedule_deadline((*self.facts, *first), began, self._inbox.put, self._durability)
        try:
            for fact in (*first, *(() if self._durability is None else self._durability.news)):
                self._fold(fact)
            if self.state.interruption is None:  # else the agents to which the run was handed over may be unknown
                self._follow_speaker()
                if self._durability is not None:
                    withdraw_approvals(self.state, self.facts, self.speaker.toolbox)
            self._act()
            while True:
                if self._durability is not None:
                    await self.barrier.flush()
                if self._events:
                    events = self._events.copy()
                    self._events.clear()
                    yield events
                if self.state.ended is not None:
                    return
                if self._unanswered.has_paused(self.state.turn):
                    raise self._unanswered.build_pause(self.facts)
                turn = self.state.turn
                if self._outage is not None and self._waiting_ids.issuperset(turn.running_ids):
                    raise self._outage
                is_busy = turn.is_open or turn.running_ids or turn.abandoned_ids or self.speaker.compactor.is_busy
                if self._is_parking and not is_busy:
                    raise RunParked
                for item in await self._inbox.take():
                    self._handle(item)
        finally:
            if deadline is not None:
                deadline.cancel()
            try:
                if self._durability is None or self._publish is not None:  # else somebody goes on from the facts
                    self._complete_facts()
            finally:
                self._calls.cancel_all()
                await self._tasks.stop(self.speaker.executor.tasks)

    def interrupt(self, fact: Interrupted) -> None:
        """End the run early, for this reason. Call it in the event loop of the run."""
        self._inbox.put(fact)

    def park(self) -> None:
        """Start nothing more, and raise `RunParked` when what is under way has ended."""
        self._is_parking = True
        self._inbox.wake()

    # Facts

    def _fold(self, fact: Fact) -> bool:
        """Record a fact and fold it; return whether facts of its kind change the state."""
        if self._record is not None:
            self._record(fact)
        self.facts.append(fact)
        for listener in self._listeners:
            listener(fact)
        return fold(self.state, fact)

    def _pass_on(self, delta: Event) -> None:
        for listener in self._listeners:
            listener(delta)

    def _handle(self, item: Fact | PiecesArrived | ModelFailed | FallbackReady | RulesAsked) -> None:
        if self.state.ended is not None:  # the item arrived together with the one that ended the run
            return
        if isinstance(item, PiecesArrived):
            if self._reader is not None and self._is_open(item.request):
                self._emit(self._reader.feed(item.pieces))
        elif isinstance(item, ModelFailed):
            if self._is_open(item.request):
                self._handle_failure(item.error)
        elif isinstance(item, RulesAsked):
            self._act()
        elif isinstance(item, FallbackReady):
            if self._is_open(item.request) and self.state.interruption is None:
                self._apply(item.restarted)
        else:
            self._apply(item)
        if self._stream_stopped and self.state.turn.is_open and self._reader is not None:
            # End the message with what has arrived of it.
            self._emit(self._reader.close("closed" if self.state.interruption is None else "error"))

    def _is_open(self, request: int) -> bool:
        """Whether the answer to that request is still arriving; pieces that come later are dropped."""
        return self.state.turn.is_open and self._request_count == request

    def _handle_failure(self, error: Exception) -> None:
        """Discard the message that broke off and let another model be asked, or end the run if none is left."""
        is_interrupted = self.state.interruption is not None
        restarted = None if is_interrupted else self.speaker.models.pass_on(error, self.state)
        if restarted is None:
            self.error = error if is_interrupted else self.speaker.models.build_error()
            if self._durability is not None and not is_interrupted and isinstance(error, OUTAGES):
                self._put_down_turn(self.error)
                return
            self._apply(Interrupted(cause="endpoint", detail=str(self.error)))
            return
        self._discarded_ids |= find_call_ids(self.facts)
        if self.speaker.models.current.choose_dialect is None:
            self._apply(restarted)
        else:
            self._tasks.start(prepare_fallback(self.speaker.models, restarted, self._request_count, self._inbox.put))

    def _put_down_turn(self, error: Exception) -> None:
        """Discard the message that broke off, and put a durable run down: a model may answer it later."""
        name, turn = self.speaker.models.current.model.name, self.state.turn.number
        self._fold(TurnRestarted(turn=turn, failed=name, reason=str(error), model=name))
        self._outage, self._is_parking, self.error = ModelUnavailable(error), True, None

    def _emit(self, events: list[Event]) -> None:
        """Pass deltas on, and apply facts."""
        for event in events:
            if isinstance(event, DELTAS):
                self._pass_on(event)
            elif isinstance(event, CALL_FACTS):
                self._take_call(event)
            else:
                self._apply(self._add_cost(event) if isinstance(event, TurnEnded) else event)

    def _take_call(self, event: CallReady | CallQuoted) -> None:
        if isinstance(event, CallReady) and self._reader is not None and event.call.id in self._reader.quoted_ids:
            self._fold(event)  # `CallQuoted` comes next, and the call must not start before it
            return
        self._apply(event)
        for fact in report_reuse(self.state, event):
            self._fold(fact)

    def _add_cost(self, ended: TurnEnded) -> TurnEnded:
        """Return the end of a message with its cost. The model that wrote it works, so the run stays with it."""
        self.speaker.models.note_answer()
        self.speaker.compactor.note_usage(self.speaker.models.current, ended.usage)
        cost = find_model_cost(self.speaker.models.current.model, ended.usage)
        return ended if cost == ended.cost else replace(ended, cost=cost)

    def _apply(self, fact: Fact) -> None:
        """Fold a fact, and act if it changed the state."""
        specs = self.state.specs
        if self._fold(fact):
            if isinstance(fact, Compacted):
                self.speaker.compactor.is_busy = False
            if self.state.specs is not specs:
                self.speaker.quotations.clear()  # they know the tools, to which `recall` was added
            self._act()

    # Actions

    def _act(self) -> None:
        """Perform what `decide` returns. The facts that this makes call for nothing more, unless they are applied."""
        for action in decide(self.state):
            if not (self._is_parking and isinstance(action, AskModel | RunTools)):
                self._perform(action)

    def _perform(self, action: Action) -> None:
        match action:
            case AskModel():
                self._ask_model(action)
            case StopStream():
                self._stream_stopped = True
                self.barrier.drop("")
                if self._receiving is not None:
                    self._receiving.cancel()
            case RunTools(calls=calls):
                for call in calls:
                    self._fold(ToolStarted(call_id=call.id))
                in_doubt = [call.id for call in calls if self.state.turn.calls[call.id].in_doubt]
                self._calls.start(calls, self.state.results, self.state.turn.number, in_doubt)
            case CancelTools(call_ids=call_ids):
                for call_id in call_ids:
                    self._unanswered.inside.pop(call_id, None)
                    self._calls.cancel(call_id)
            case AskApproval():
                self._ask_approval(action)
            case RefuseCalls(facts=facts):
                for fact in facts:
                    self._fold(fact)
                self._act()
            case Guide(fact=fact):
                LOG.info("run %s, turn %s: %s", self.state.run_id, self.state.turn.number, fact.summary)
                self._apply(fact)
            case Suspend():
                self._unanswered.is_suspended = True
            case Finish(reason=reason, detail=detail):
                log_end(reason, detail, f"run {self.state.run_id}, turn {self.state.turn.number}")
                self._fold(RunEnded(reason=reason, detail=detail))

    def _ask_model(self, action: AskModel) -> None:
        self._follow_speaker()
        if self.state.guidance is not None:
            guidance = self.state.next_guidance
            if self.speaker.models.turn_to("" if guidance is None else guidance.model, self.state.history):
                if not self._is_choosing:
                    self._is_choosing = True
                    self._tasks.start(self._ask_in_chosen_dialect(action))
                return
        self._request_message(action)

    async def _ask_in_chosen_dialect(self, action: AskModel) -> None:
        """Ask the server of a model for its dialect, and then the model for a message, unless the run has ended."""
        await self.speaker.models.try_dialect()
        self._is_choosing = False
        if self.state.ended is None and self.state.interruption is None and not self._is_parking:
            self._request_message(action)
            self._inbox.wake()

    def _request_message(self, action: AskModel) -> None:
        if self._must_compact(action):
            return
        model, dialect, sampling, _ = self.speaker.models.current
        LOG.info("run %s, turn %s: asking %s, %s dialect", self.state.run_id, action.turn, model.name, dialect.name)
        in_text, context = dialect.in_text, find_model_context(model, sampling)
        self._fold(
            TurnStarted(turn=action.turn, model=model.name, dialect=dialect.name, in_text=in_text, context=context)
        )
        shown = render_request(self.state, dialect, action)
        self._reader = build_reader(self.state, dialect, action, self.speaker.quotations, self._discarded_ids)
        self._stream_stopped = False
        self._request_count = number = self._request_count + 1
        request = self.speaker.models.build_request(shown, stream=self.speaker.streams)

        def launch() -> None:
            self._receiving = self._tasks.start(receive_message(model, request, number, self._inbox.put))

        self.barrier.launch("", launch)

    def _must_compact(self, action: AskModel) -> bool:
        """Compact the conversation if the request would be too long. Whether the request must wait for that."""
        if self.speaker.compactor.is_busy:
            return True
        planned = self.speaker.compactor.plan(self.state, self.speaker.models.current, action)
        if planned is None:
            return False
        if isinstance(planned, str):
            self._apply(Interrupted(cause="context", detail=planned))
        elif needs_summary(planned):

            async def write_summary() -> None:
                current = self.speaker.models.current
                self._inbox.put(await self.speaker.compactor.write_summary(self.state, planned, current))

            self.speaker.compactor.is_busy = True
            self._tasks.start(self._end_on_failure(write_summary, "the summary"))
        else:
            self._apply(planned)
        return True

    # Approval

    def _ask_approval(self, action: AskApproval) -> None:
        calls = action.calls
        ruled = [call for call in calls if self._has_rule(call) and call.id not in self._needs_somebody]
        if ruled:
            if new := [call for call in calls if call.id not in self._in_question]:
                self._in_question |= {call.id for call in new}
                self._tasks.start(self._end_on_failure(partial(self._ask_rules, new), "the approval"))
        else:
            self._ask_somebody(action)

    def _has_rule(self, call: ToolCall) -> bool:
        """Whether the tool of a call says by a function if somebody must be asked.

        A call that is quoted or has a value in doubt needs an approval whatever that function says.
        """
        toolbox, turn = self.speaker.toolbox, self.state.turn
        has_rule = call.name in toolbox and toolbox[call.name].approval_rule is not None
        return has_rule and not turn.calls[call.id].is_quoted and not turn.doubts.get(call.id)

    async def _ask_rules(self, calls: Sequence[ToolCall]) -> None:
        """Let the calls run that need no approval by the rules of their tools, and ask somebody about the others."""
        for call in calls:
            answer: ApprovalGiven | None = None
            if self._has_rule(call):
                try:
                    if not await needs_approval(self.speaker.toolbox[call.name], call, self._build_context(call.id)):
                        answer = ApprovalGiven(call_id=call.id, approved=True, by=BY_RULE)
                except ToolError as error:  # meant for the model, as in the function of the tool
                    answer = ApprovalGiven(call_id=call.id, approved=False, reason=str(error), by=BY_RULE)
            if answer is None:
                self._needs_somebody.add(call.id)
            else:
                self._inbox.put(answer)
        self._inbox.put(RulesAsked())  # somebody is asked when the calls that may run have ended

    def _ask_somebody(self, action: AskApproval) -> None:
        calls, toolbox = action.calls, None if self._durability is None else self.speaker.toolbox
        for fact in build_questions(calls, action.doubts, toolbox):
            self._fold(fact)
        if self.speaker.approve is None:
            self._unanswered.calls = calls
        else:
            approve, put = self.speaker.approve, self._inbox.put
            entries, specs = self.state.turn.calls, self.state.specs
            is_plain = {each.id for each in calls if not entries[each.id].is_quoted and not specs[each.name].approve}
            only_doubted = action.doubts.keys() & is_plain
            approvals = partial(collect_approvals, calls, approve, self._build_context, put, only_doubted)
            self._tasks.start(self._end_on_failure(approvals, "the approval"))

    def _build_context(self, call_id: str) -> Context[Any]:
        context = self.speaker.executor.build_context(call_id, self.state.turn.number)
        doubts = self.state.turn.doubts.get(call_id)
        return replace(context, doubts=doubts) if doubts else context

    async def _end_on_failure(self, work: Callable[[], Awaitable[None]], name: str) -> None:
        """Do work that a function of the user's takes part in. If it fails, the run ends with that exception."""
        try:
            await work()
        except BaseException as error:  # the function may exit the program: the caller of the run gets the exception
            if isinstance(error, Exception):
                LOG.warning("run %s: %s failed, which ends the run", self.state.run_id, name, exc_info=error)
            self.end_with_fault(error, f"{name} failed: {format_error(error)}")

    def end_with_fault(self, error: BaseException, detail: str) -> None:
        """End the run with an error of the program around it: no model can do anything about it.

        The run is cancelled if the program itself ends: by Ctrl-C or `sys.exit`.
        """
        if self.state.ended is None:
            self.error, self.error_is_fault = error, True
            cause = "endpoint" if isinstance(error, Exception) else "cancelled"
            self._inbox.put(Interrupted(cause=cause, detail=detail))

    # Handing over

    @property
    def recalled_chars(self) -> int:
        """The most characters that one call of `recall` returns."""
        tokens = None if self.state.run is None else self.state.run.limits.result_tokens
        return count_recalled_chars(find_context(self.state, self.speaker.models.current), tokens)

    def hand_over(self, fact: HandedOver, speaker: Speaker) -> None:
        """Record that another agent goes on after this turn."""
        self.successors[fact.call_id] = speaker
        if self.state.successor is None and self.state.ended is None:
            self._fold(fact)
            self._inbox.wake()

    def _follow_speaker(self) -> None:
        """Let the agent speak to which the state was handed over; its executor gets what the one before knows."""
        handed = self.state.speaker
        if handed is not None and handed is not self._handed_over:
            before, self.speaker = self.speaker, self.successors[handed.call_id]
            self.speaker.executor.exceptions.update(before.executor.exceptions)
            self.speaker.executor.tasks.update(before.executor.tasks)
            self._handed_over = handed

    # What calls of this run tell; inner runs are those of agents that they ask

    def take_event(self, event: NestedDelta | NestedFact | ToolProgress) -> None:
        """Make an event of a call one of this run. A fact is recorded before the inner run of the call acts on it."""
        if self.state.ended is not None or self._unanswered.is_pausing:
            return
        if isinstance(event, NestedFact):
            self._fold(event)
        else:
            self._pass_on(event)
        self._inbox.wake()

    def pause_inside(self, call_id: str, calls: tuple[ToolCall, ...]) -> None:
        """Note that the inner run of a call waits: for somebody to allow `calls`, or, if there are none, for a time."""
        self._unanswered.inside[call_id] = calls
        self._inbox.wake()

    def put_down_inside(self, call_id: str, outage: ModelUnavailable) -> None:
        """Note that no model answers the inner run of a call: put this run down when its other calls have ended."""
        self._outage, self._is_parking = outage, True
        self._waiting_ids.add(call_id)
        self._inbox.wake()

    # The end

    def _complete_facts(self) -> None:
        """Bring the run to its end, without waiting for anything, if the caller has stopped driving it."""
        if self.state.run is None or self.state.ended is not None or self._unanswered.is_pausing or self._outage:
            return
        self._handle(Interrupted(cause="cancelled", detail="the caller left before the run had ended"))
        while self.state.ended is None and (items := self._inbox.take_now()):
            for item in items:
                self._handle(item)
