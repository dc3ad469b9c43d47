"""`Tracing`: spans of runs while they go on, in a tracer of OpenTelemetry (extra `otel`).

The spans are those that `SpanFold` makes of the facts; here they are repeated in the tracer. While a call runs, its
span is the current one, in the thread or task of its function: spans that the function makes are below it. The first
span of a run is below the span that was current when the run began.

A tracer that fails does not end a run: the run goes on without it.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from toolspeak.telemetry.run_spans import CallPath, SpanFold
from toolspeak.telemetry.spans import TraceSpan
from toolspeak.values.errors import UsageError
from toolspeak.values.events import Fact
from toolspeak.values.log import LOG
from toolspeak.values.package import __version__

if TYPE_CHECKING:
    from opentelemetry import trace
    from opentelemetry.context import Context

Tracer: TypeAlias = Union["trace.Tracer", "trace.TracerProvider", "Tracing"]
"""An OpenTelemetry tracer or tracer provider, or one of them with options."""

Recorder: TypeAlias = Callable[[Fact], None]


class Tracing:
    """An OpenTelemetry tracer with options: `Agent(tracer=Tracing(provider, content=True))`.

    Attributes:
        content: Whether spans include the texts of models, tools and users.
        agent: The name of the agent in spans; "" if it has none.
    """

    def __init__(
        self, tracer: "trace.Tracer | trace.TracerProvider", *, content: bool = False, agent: str = ""
    ) -> None:
        """Prepare to trace runs.

        Args:
            tracer: A tracer, or a provider that is asked for one.
            content: Whether spans hold what models, tools and users wrote: prompts, answers, arguments and results.
            agent: The name of the agent in spans.

        Raises:
            UsageError: `tracer` is neither a tracer nor a provider.
        """
        given: Any = tracer
        if hasattr(given, "get_tracer"):
            given = given.get_tracer("toolspeak", __version__)
        if not hasattr(given, "start_span"):
            raise UsageError(
                "tracer is a Tracer or a TracerProvider of OpenTelemetry, such as "
                f"opentelemetry.trace.get_tracer_provider(), not {type(tracer).__name__}"
            )
        self._tracer: trace.Tracer = given
        self.content = content
        self.agent = agent

    def start_span(self, span: TraceSpan, parent: "Context") -> "trace.Span":
        """Start a span in the tracer, below the span of a context."""
        from opentelemetry.trace import SpanKind

        kind = {"internal": SpanKind.INTERNAL, "server": SpanKind.SERVER, "client": SpanKind.CLIENT}[span.kind]
        return self._tracer.start_span(
            span.name, parent, kind, span.attributes, start_time=span.start, record_exception=False
        )

    def export(self, spans: Sequence[TraceSpan]) -> None:
        """Repeat ended spans in the tracer. Each one comes after its parent."""
        from opentelemetry import context
        from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

        contexts: dict[str, Context] = {}
        twins: list[tuple[trace.Span, TraceSpan]] = []
        for span in spans:
            parent = context.get_current()
            if span.parent_id in contexts:
                parent = contexts[span.parent_id]
            elif span.parent_id is not None:  # the span of a client, in another process
                ids = int(span.trace_id, 16), int(span.parent_id, 16)
                remote = SpanContext(*ids, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
                parent = set_span_in_context(NonRecordingSpan(remote), parent)
            twin = self.start_span(span, parent)
            contexts[span.id] = set_span_in_context(twin, parent)
            twins.append((twin, span))
        for twin, span in reversed(twins):
            end_span(twin, span)

    def begin_run(self, facts: Sequence[Fact] = ()) -> "RunTrace":
        """Return what traces a run, given the facts before it was resumed."""
        return RunTrace(self, facts)


def read_tracer(tracer: Tracer | None) -> Tracing | None:
    """Return how to trace, as the option `tracer` says it."""
    return tracer if tracer is None or isinstance(tracer, Tracing) else Tracing(tracer)


def end_span(twin: "trace.Span", span: TraceSpan) -> None:
    """Give the twin of a span in a tracer what is known of the span now, and end it."""
    from opentelemetry.trace import StatusCode

    twin.set_attributes(span.attributes)
    for event in span.events:
        twin.add_event(event.name, event.attributes, event.at)
    if span.is_error:
        twin.set_status(StatusCode.ERROR, span.description or None)
    twin.end(span.end)


def _attach(entered: "Context") -> None:
    from opentelemetry import context

    context.attach(entered)  # never detached: what runs here is the call alone


class RunTrace:
    """The spans of one run in a tracer."""

    def __init__(self, tracing: Tracing, facts: Sequence[Fact]) -> None:
        """Prepare to trace a run; `facts` are those before it was resumed, which have been traced."""
        from opentelemetry import context

        self._tracing = tracing
        self._outside = context.get_current()
        self._twins: dict[str, tuple[trace.Span, Context]] = {}
        self._has_failed = False
        self._fold = SpanFold(content=tracing.content, agent=tracing.agent)
        for fact in facts:
            self._fold.add(fact, 0)
        self._fold.forget_spans()
        self._fold.listen(self._start, self._end)

    def follow(self, record: Recorder | None) -> Recorder:
        """Return a function that records a fact and then traces it."""
        if record is None:
            return self.add

        def record_and_trace(fact: Fact) -> None:
            record(fact)
            self.add(fact)

        return record_and_trace

    def add(self, fact: Fact) -> None:
        """Trace a fact that happens now."""
        self._attempt(partial(self._fold.add, fact, time.time_ns()))

    def close(self) -> None:
        """End all spans: the run has ended, or is put down."""
        self._attempt(partial(self._fold.close, time.time_ns()))

    def enter_call(self, call_id: str) -> None:
        """Make the span of a call the current one, in the context of its function."""
        self.enter_path((call_id,))

    def enter_path(self, path: CallPath) -> None:
        """Make the span of a call of this run, or of an inner one, the current one in the running context."""
        span = self._fold.find_call(path)
        if span is not None and span.id in self._twins:
            self._attempt(partial(_attach, self._twins[span.id][1]))

    def inner(self, call_id: str) -> "InnerTrace":
        """Return what traces the run that a call makes."""
        return InnerTrace(self, (call_id,))

    def _attempt(self, work: Callable[[], None]) -> None:
        if self._has_failed:
            return
        try:
            work()
        except Exception as error:
            self._has_failed = True
            LOG.warning("the tracer failed, and the run goes on without it", exc_info=error)

    def _start(self, span: TraceSpan) -> None:
        from opentelemetry.trace import set_span_in_context

        parent = self._twins[span.parent_id][1] if span.parent_id in self._twins else self._outside
        twin = self._tracing.start_span(span, parent)
        self._twins[span.id] = twin, set_span_in_context(twin, parent)

    def _end(self, span: TraceSpan) -> None:
        if (pair := self._twins.pop(span.id, None)) is not None:
            end_span(pair[0], span)


class InnerTrace:
    """The part of a trace that belongs to an inner run. Its facts are traced as facts of the outer run."""

    def __init__(self, outer: RunTrace, path: CallPath) -> None:
        self._outer = outer
        self._path = path

    def follow(self, record: Recorder | None) -> Recorder | None:
        """Return the recorder of the inner run alone."""
        return record

    def enter_call(self, call_id: str) -> None:
        """Make the span of a call the current one, in the context of its function."""
        self._outer.enter_path((*self._path, call_id))

    def inner(self, call_id: str) -> "InnerTrace":
        """Return what traces the run that a call of the inner run makes."""
        return InnerTrace(self._outer, (*self._path, call_id))

    def close(self) -> None:
        """Do nothing: the outer run ends the spans."""


AnyTrace: TypeAlias = RunTrace | InnerTrace
