"""`SpanFold`: the facts of a run become spans. The same facts give the same spans, live or from a record.

    invoke_agent {agent}            a run, from `RunStarted` or `RunResumed` on
        chat {model}                a message of a model; the only spans with tokens, so that nobody counts them twice
        execute_tool {tool}         a call, while its function runs
            invoke_agent {tool}     the run of an agent that is a tool

A run that is resumed has a span for each time that it was driven. Calls that were refused are events: of the message if
they could not be read or were quoted, of the run if somebody did not allow them. What models, tools and users wrote is
left out unless content is asked for; then a `chat` span has what was new to the model in that turn, not the whole
conversation again.

No span stays open: when a run ends, is resumed or is closed, all spans below it end.
"""

from collections.abc import Iterable

from toolspeak.events import Fact, NestedFact, RunEnded, RunResumed, RunStarted, ToolFinished
from toolspeak.telemetry.run_spans import RunSpans, SpanListener, SpanMaker
from toolspeak.telemetry.spans import TraceSpan

CallPath = tuple[str, ...]
"""The ids of calls that lead to a run or to a call, from the outermost run on."""


def build_spans(facts: Iterable[tuple[Fact, int]], *, content: bool = False, agent: str = "") -> list[TraceSpan]:
    """Return the spans of a run, in the order of their starts. All have an end, also if the facts do not.

    Args:
        facts: The facts, each with its time in nanoseconds since 1970.
        content: Whether spans hold what models, tools and users wrote.
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
    """Turns facts into spans, as they come."""

    def __init__(self, *, content: bool = False, agent: str = "") -> None:
        """Begin without any fact.

        Args:
            content: Whether spans hold what models, tools and users wrote.
            agent: The name of the agent whose run it is.
        """
        self._maker = SpanMaker(has_content=content)
        self._agent = agent
        self._runs: dict[CallPath, RunSpans] = {}

    def listen(self, on_start: SpanListener, on_end: SpanListener | None = None) -> None:
        """From now on, call these functions with each span that begins or has ended."""
        self._maker.on_start, self._maker.on_end = on_start, on_end

    def add(self, fact: Fact, at: int) -> None:
        """Add the next fact, which happened at that time. If the clock was set back meanwhile, it stands still."""
        maker = self._maker
        if not maker.seed:
            maker.seed = fact.run_id if isinstance(fact, RunStarted) else f"at {at}"
        if isinstance(fact, RunResumed):
            self._end_runs()  # at the time of the last fact: nobody knows how long they went on
        maker.now = max(maker.now, at)
        path, own = (fact.path, fact.event) if isinstance(fact, NestedFact) else ((), fact)
        run = self._runs.get(path)
        if run is None or isinstance(own, RunStarted):
            self._drop_runs(path)
            run = self._runs[path] = RunSpans(maker, self._name_agent(path))
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
        """End all spans: no more facts come now. A run that has not ended may still be resumed."""
        self._maker.now = max(self._maker.now, at)
        self._end_runs()

    def forget_spans(self) -> None:
        """Forget all spans, but not what the facts say of the run: somebody else has traced it so far."""
        for run in self._runs.values():
            run.forget_spans()

    def find_call(self, path: CallPath) -> TraceSpan | None:
        """Return the span of a call that runs now, given the ids of the calls that lead to it and its own."""
        outer = self._runs.get(path[:-1]) if path else None
        return None if outer is None else outer.calls.get(path[-1])

    def _name_agent(self, path: CallPath) -> str:
        if not path:
            return self._agent
        outer = self._runs.get(path[:-1])
        return "" if outer is None else outer.name_tool(path[-1])

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
