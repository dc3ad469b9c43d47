"""`SpanFold`: the facts of a run become spans. The same facts give the same spans, live or from a record.

    invoke_agent {agent}            a run, from `RunStarted` or `RunResumed` on
        chat {model}                a message of a model; the only spans with tokens, so that nobody counts them twice
        execute_tool {tool}         a call, while its function runs
            invoke_agent {tool}     the run of an agent that is a tool

A run that is resumed has a span for each time that it was driven. Calls that were refused are events: of the message if
they could not be read or were quoted, of the run if somebody did not allow them. What models, tools and users wrote is
left out unless content is asked for; then a `chat` span has what was new to the model in that turn, not the whole
conversation again, with arguments as the model wrote them. A function that failed has an event `exception`; its
traceback is in the log and in no fact. No span stays open: when a run ends, is resumed or is closed, all spans below
it end.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from toolspeak.telemetry import names
from toolspeak.telemetry.spans import (
    AttributeValue,
    SpanEvent,
    SpanKind,
    TraceSpan,
    clean_attributes,
    clean_text,
    make_span_id,
    make_trace_id,
)
from toolspeak.values.codec import encode_argument
from toolspeak.values.events import (
    ApprovalGiven,
    ApprovalNeeded,
    CallMalformed,
    CallQuoted,
    CallReady,
    CallStarted,
    Compacted,
    Fact,
    Guided,
    HandedOver,
    Interrupted,
    NestedFact,
    OwnFact,
    RunEnded,
    RunResumed,
    RunStarted,
    SaidInThought,
    ToolFinished,
    ToolStarted,
    ToolSuspended,
    TurnEnded,
    TurnRestarted,
    TurnStarted,
    Usage,
    WaitOver,
)
from toolspeak.values.messages import ToolResult
from toolspeak.values.spec import ToolSpec

SpanListener = Callable[[TraceSpan], None]

_EXCEPTION_NAME = re.compile(r"([A-Za-z_]\w*(?:Error|Exception|Exit|Interrupt))(?::|\Z)")
"""How the error of a call begins if its function raised an exception."""

MAX_NAME_CHARS = 200
"""Characters of the name of a tool. There may be no such tool, and then a model may have written any name."""


class SpanMaker:
    """Begins and ends spans, and calls `on_start` and `on_end` with each."""

    def __init__(self, *, has_content: bool) -> None:
        self.has_content = has_content  # whether spans hold what models, tools and users wrote
        self.seed = ""  # what ids of spans are made of: the id of the run
        self.now = 0
        self.on_start: SpanListener | None = None
        self.on_end: SpanListener | None = None
        self._count = 0

    def start(
        self,
        name: str,
        kind: SpanKind,
        parent: TraceSpan | None,
        attributes: Mapping[str, AttributeValue | None],
        *,
        at: int | None = None,
    ) -> TraceSpan:
        """Begin a span, now or at an earlier time. Attributes without a value are left out."""
        span = TraceSpan(
            id=make_span_id(self.seed, self._count),
            trace_id=make_trace_id(self.seed),
            parent_id=None if parent is None else parent.id,
            name=clean_text(name),
            kind=kind,
            start=self.now if at is None else at,
            attributes=clean_attributes(attributes),
        )
        self._count += 1
        if self.on_start is not None:
            self.on_start(span)
        return span

    def end(self, span: TraceSpan) -> None:
        """End a span now."""
        span.attributes, span.description = clean_attributes(span.attributes), clean_text(span.description)
        span.end = self.now
        if self.on_end is not None:
            self.on_end(span)


class RunSpans:
    """The open spans of one run, and what its facts say."""

    def __init__(self, maker: SpanMaker, agent: str) -> None:
        self._maker = maker
        self.outer_call: TraceSpan | None = None  # the call that the run is a part of, if there is one
        self._agent = agent
        self._started: RunStarted | None = None
        self._tools: dict[str, ToolSpec] = {}
        self._ready: dict[str, CallReady] = {}
        self._malformed: list[CallMalformed] = []  # those of this message
        self._unshown: list[dict[str, Any]] = []  # messages that the model has not been shown
        self._span: TraceSpan | None = None
        self._turn: TraceSpan | None = None
        self._model = ""
        self._last = 0  # when the fact before this one happened
        self.calls: dict[str, TraceSpan] = {}  # those that run, by the ids of the calls

    def add(self, fact: OwnFact) -> None:
        """Add the next fact of the run."""
        match fact:
            case RunStarted():
                self._started, self._model = fact, fact.model
                self._tools = {tool.name: tool for tool in fact.tools}
                shown = fact.messages if self._maker.has_content else ()
                self._unshown = [names.encode_message(each) for each in shown]
                self._start_run({})
            case RunResumed():
                self._start_run({names.RESUMED: True})
            case TurnStarted():
                self._start_turn(fact)
            case TurnRestarted(failed=failed, reason=reason):
                if self._turn is not None:
                    self._turn.fail("restarted", f"{failed} failed: {reason}")
                self._end_turn()
            case CallReady(call=call, repair=repair):
                self._ready[call.id] = fact
                if repair != "none":
                    self._count(names.REPAIRED_CALLS)
            case CallMalformed(name=tool, reason=reason):
                self._malformed.append(fact)
                self._refuse("malformed", tool or "", reason)
            case CallQuoted(call_id=call_id):
                self._refuse("quoted", self.name_tool(call_id))
            case SaidInThought():
                self._malformed.clear()
                self._note(self._turn, "toolspeak.said_in_thought")
            case TurnEnded():
                self._finish_turn(fact)
            case ToolStarted(call_id=call_id):
                self._start_call(call_id)
            case ToolSuspended(call_id=call_id) | WaitOver(call_id=call_id):
                self._note(self._span, f"toolspeak.{fact.kind}", {names.TOOL_NAME: self.name_tool(call_id)})
                if (span := self.calls.pop(call_id, None)) is not None:  # the call has another one after its wait
                    self._maker.end(span)
            case ToolFinished(result=result):
                self._finish_call(result)
            case Compacted():
                self._compact(fact)
            case RunEnded():
                self._end_run(fact)
            case ApprovalNeeded(call=call):
                self._note(self._span, "toolspeak.approval_needed", {names.TOOL_NAME: call.name})
            case ApprovalGiven(call_id=call_id, approved=approved):
                answer = {names.TOOL_NAME: self.name_tool(call_id), "toolspeak.approved": approved}
                self._note(self._span, "toolspeak.approval_given", answer)
            case Guided(cause=cause, step=step):
                self._note(self._span, "toolspeak.guided", {names.REASON: cause, "toolspeak.step": step})
            case HandedOver(agent=agent, tools=tools):
                self._tools = {tool.name: tool for tool in tools}
                self._note(self._span, "toolspeak.handed_over", {names.AGENT_NAME: agent})
                self._agent = agent
            case Interrupted(cause=cause):
                self._note(self._span, "toolspeak.interrupted", {names.REASON: cause})
            case CallStarted():
                pass  # `CallReady` says more
        self._last = self._maker.now

    def name_tool(self, call_id: str) -> str:
        """Return the name of the tool of a call; "" if it is unknown."""
        ready = self._ready.get(call_id)
        return "" if ready is None else ready.call.name[:MAX_NAME_CHARS]

    def forget_spans(self) -> None:
        """Forget the open spans, but not what the facts say."""
        self._span = self._turn = self.outer_call = None
        self.calls.clear()

    def end_unfinished(self) -> None:
        """End all spans, although the facts do not say how they ended."""
        for span in (*self.calls.values(), self._turn, self._span):
            if span is not None:
                span.attributes[names.UNFINISHED] = True
                self._maker.end(span)
        self.forget_spans()

    # The run

    def _start_run(self, more: Mapping[str, AttributeValue]) -> None:
        attributes: dict[str, AttributeValue | None] = {names.OPERATION: "invoke_agent", names.AGENT_NAME: self._agent}
        if (started := self._started) is not None:
            model = names.split_model_name(started.model)
            attributes |= {
                names.PROVIDER: model.provider,
                names.REQUEST_MODEL: model.model,
                names.CONVERSATION_ID: self._maker.seed,
                names.RUN_ID: started.run_id,
                names.DIALECT: started.dialect,
            }
            if self._maker.has_content:
                attributes[names.SYSTEM_INSTRUCTIONS] = names.format_instructions(started.messages)
                attributes[names.TOOL_DEFINITIONS] = names.format_tools(started.tools)
        name = f"invoke_agent {self._agent}".strip()
        self._span = self._maker.start(name, "internal", self.outer_call, {**attributes, **more})

    def _end_run(self, ended: RunEnded) -> None:
        if self._turn is not None:
            self._turn.fail(ended.reason)
            self._end_turn()
        for call_id in tuple(self.calls):
            self.calls[call_id].fail(ended.reason)
            self._maker.end(self.calls.pop(call_id))
        if self._span is None:
            return
        self._span.attributes[names.STOP_REASON] = ended.reason
        if ended.reason != "answered":
            self._span.fail(ended.reason, ended.detail)
        self._maker.end(self._span)
        self._span = None

    def _compact(self, fact: Compacted) -> None:
        counts = {"toolspeak.messages.dropped": fact.dropped, "toolspeak.results.shortened": fact.shortened}
        self._note(self._span, "toolspeak.compacted", counts)
        if fact.usage == Usage() or self._span is None:
            return
        more = {names.PURPOSE: "summary", **names.describe_usage(fact.usage, fact.cost)}
        # The summary was asked for right after the fact before.
        self._maker.end(self._start_chat(more, at=self._last))

    # A turn

    def _start_chat(self, more: Mapping[str, AttributeValue], *, at: int | None = None) -> TraceSpan:
        model = names.split_model_name(self._model)
        attributes: dict[str, AttributeValue | None] = {
            **names.describe_chat(model),
            names.AGENT_NAME: self._agent,
            **more,
        }
        return self._maker.start(f"chat {model.model}", "client", self._span, attributes, at=at)

    def _start_turn(self, fact: TurnStarted) -> None:
        self._end_turn()
        self._malformed.clear()
        if self._span is None:
            return
        self._model = fact.model or self._model
        dialect = fact.dialect or (self._started.dialect if self._started is not None else "")
        more: dict[str, AttributeValue] = {names.TURN: fact.turn, names.DIALECT: dialect}
        if self._maker.has_content:
            more[names.INPUT_MESSAGES] = names.format_json(self._unshown)
            self._unshown = []
        self._turn = self._start_chat(more)

    def _finish_turn(self, fact: TurnEnded) -> None:
        if (turn := self._turn) is None:
            return
        turn.attributes[names.FINISH_REASONS] = (names.FINISHES.get(fact.finish, fact.finish),)
        turn.attributes[names.CALLS] = len(fact.message.calls)
        turn.attributes |= names.describe_usage(fact.usage, fact.cost)
        if fact.finish == "error":
            turn.fail("broke_off", "the message broke off")
        if self._maker.has_content:
            self._add_content(turn, fact)
        self._end_turn()

    def _add_content(self, turn: TraceSpan, fact: TurnEnded) -> None:
        """Give a message its content. Calls have the arguments that the model wrote, also those that cannot run."""
        written = {call.id: self._ready[call.id].written for call in fact.message.calls if call.id in self._ready}
        written |= {each.call_id: each.raw for each in self._malformed}
        output = names.encode_output(fact.message, fact.finish, written)
        turn.attributes[names.OUTPUT_MESSAGES] = names.format_json([output])
        if fact.message.raw is not None and fact.message.calls:
            turn.attributes[names.WRITTEN_TEXT] = fact.message.raw.text
        self._unshown += [names.encode_response(each.call_id, each.reply) for each in self._malformed]

    def _end_turn(self) -> None:
        if self._turn is not None:
            self._maker.end(self._turn)
        self._turn = None

    def _refuse(self, why: str, tool: str, reason: str = "") -> None:
        """Note that a call of a message does not run."""
        self._count(names.REFUSED_CALLS)
        attributes: dict[str, AttributeValue] = {names.REFUSAL: why}
        if tool and why != "malformed":  # there may be no such tool, and then the name is what the model wrote
            attributes[names.TOOL_NAME] = tool
        if self._maker.has_content and reason:
            attributes[names.REASON] = reason
        self._note(self._turn, "toolspeak.call_refused", attributes)

    def _count(self, name: str) -> None:
        if self._turn is not None:
            count = self._turn.attributes.get(name, 0)
            self._turn.attributes[name] = (count if isinstance(count, int) else 0) + 1

    # A call

    def _start_call(self, call_id: str) -> None:
        if self._span is None:
            return
        if call_id in self.calls:  # it was under way when the run was cut
            self._maker.end(self.calls.pop(call_id))
        ready = self._ready.get(call_id)
        tool = self.name_tool(call_id)
        spec = self._tools.get(tool)
        attributes: dict[str, AttributeValue | None] = {
            names.OPERATION: "execute_tool",
            names.TOOL_NAME: tool,
            names.TOOL_TYPE: "function",
            names.TOOL_CALL_ID: call_id,
            names.TOOL_DESCRIPTION: None if spec is None else spec.description.partition("\n")[0],
            names.AGENT_NAME: self._agent,
            names.REPAIR: None if ready is None or ready.repair == "none" else ready.repair,
        }
        if self._maker.has_content and ready is not None:
            attributes[names.TOOL_ARGUMENTS] = names.format_json(encode_argument(ready.call.arguments))
            attributes[names.WRITTEN_ARGUMENTS] = ready.written
        self.calls[call_id] = self._maker.start(f"execute_tool {tool}".strip(), "internal", self._span, attributes)

    def _finish_call(self, result: ToolResult) -> None:
        if self._maker.has_content:
            response = result.output if result.error is None else result.error
            self._unshown.append(names.encode_response(result.call_id, response))
        span = self.calls.pop(result.call_id, None)
        if span is None:
            return
        if result.error is not None:
            kind, message = _split_error(result)
            span.fail(kind, result.error if self._maker.has_content else "")
            if result.ran:  # the message may hold anything that the function was working on
                more = {names.EXCEPTION_MESSAGE: message} if self._maker.has_content else {}
                self._note(span, "exception", {names.EXCEPTION_TYPE: kind, **more})
        if self._maker.has_content:
            said = names.format_json(result.output) if result.error is None else result.error
            span.attributes[names.TOOL_RESULT] = said
        self._maker.end(span)

    # Spans

    def _note(self, span: TraceSpan | None, name: str, attributes: Mapping[str, AttributeValue] | None = None) -> None:
        if span is not None:
            span.events.append(SpanEvent(name=name, at=self._maker.now, attributes=clean_attributes(attributes or {})))


def _split_error(result: ToolResult) -> tuple[str, str]:
    """Return the sort of an error, which is the name of the exception where the error begins with one, and the rest."""
    error = result.error or ""
    if not result.ran:
        return "not_run", error
    found = _EXCEPTION_NAME.match(error)
    return ("tool_error", error) if found is None else (found[1], error[found.end() :].strip())


CallPath = tuple[str, ...]
"""The ids of calls that lead to a run or to a call, from the outermost run on."""


def build_spans(facts: Iterable[tuple[Fact, int]], *, content: bool = False, agent: str = "") -> list[TraceSpan]:
    """Return the spans of a run, in the order of their starts. All have an end, even if the run has not ended.

    Args:
        facts: The facts, each with its time in nanoseconds since 1970.
        content: Whether spans include the texts of models, tools and users.
        agent: The name of the agent.
    """
    spans: list[TraceSpan] = []
    fold = SpanFold(content=content, agent=agent)
    fold.listen(spans.append)
    for fact, at in facts:
        fold.add(fact, at)
    fold.close()
    return spans


class SpanFold:
    """Turns facts into spans, as they arrive. `content` and `agent` are as in `build_spans`."""

    def __init__(self, *, content: bool = False, agent: str = "") -> None:
        self._maker = SpanMaker(has_content=content)
        self._agent = agent
        self._runs: dict[CallPath, RunSpans] = {}

    def listen(self, on_start: SpanListener, on_end: SpanListener | None = None) -> None:
        """Call these functions with each span that starts or ends from now on."""
        self._maker.on_start, self._maker.on_end = on_start, on_end

    def add(self, fact: Fact, at: int) -> None:
        """Add the next fact, with its time. If the clock was set back, the last time is used instead."""
        maker = self._maker
        if not maker.seed:
            maker.seed = fact.run_id if isinstance(fact, RunStarted) else f"at {at}"
        path: CallPath = fact.path if isinstance(fact, NestedFact) else ()
        own = fact.event if isinstance(fact, NestedFact) else fact
        if isinstance(own, RunResumed):
            self._end_runs(path)  # at the time of the last fact: nobody knows how long they went on
        maker.now = max(maker.now, at)
        run = self._runs.get(path)
        if run is None or isinstance(own, RunStarted):
            self._drop_runs(path)
            outer = self._runs.get(path[:-1]) if path else None
            agent = ("" if outer is None else outer.name_tool(path[-1])) if path else self._agent
            run = self._runs[path] = RunSpans(maker, agent)
        if isinstance(own, RunStarted | RunResumed):
            run.outer_call = self.find_call(path)
        elif isinstance(own, ToolFinished):
            self._drop_runs((*path, own.result.call_id))
        elif isinstance(own, RunEnded):
            for call_id in tuple(run.calls):
                self._drop_runs((*path, call_id))
        run.add(own)
        if isinstance(own, RunEnded):
            self._drop_runs(path)

    def close(self, at: int = 0) -> None:
        """End all spans, because no more facts follow for now. A run that has not ended may still be resumed."""
        self._maker.now = max(self._maker.now, at)
        self._end_runs()

    def forget_spans(self) -> None:
        """Forget all spans, but not the state of the run: another process has traced it so far."""
        for run in self._runs.values():
            run.forget_spans()

    def find_call(self, path: CallPath) -> TraceSpan | None:
        """Return the span of a running call, given the ids of the calls that lead to it and its own."""
        outer = self._runs.get(path[:-1]) if path else None
        return None if outer is None else outer.calls.get(path[-1])

    def _end_runs(self, path: CallPath = ()) -> list[CallPath]:
        """End all spans of a run and of those that its calls make, the innermost first; return where they are."""
        ended = sorted((each for each in self._runs if each[: len(path)] == path), key=len, reverse=True)
        for each in ended:
            self._runs[each].end_unfinished()
        return ended

    def _drop_runs(self, path: CallPath) -> None:
        """End a run and those that its calls make, and forget them."""
        for each in self._end_runs(path):
            del self._runs[each]
