"""`Run`: one run, which happens once, gives its events in batches, and has an outcome when it has ended.

`Agent.prepare` builds a run. Then either somebody waits for its outcome (`wait`, `finish`) or takes its events
(`streams.py`); both drive the same `batches`. The outcome is built from the state in which the run ended.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

from toolspeak.execution import CALL_DEPTH
from toolspeak.loop import BrokenReference, State, resolve_references
from toolspeak.run import portal
from toolspeak.run.output import Output
from toolspeak.values.errors import LimitReached, OutputMissing, RunPaused, ToolspeakError, UsageError
from toolspeak.values.events import Event, Fact, Interrupted
from toolspeak.values.messages import ToolCall, ToolResult
from toolspeak.values.outcome import CallRecord, Outcome

if TYPE_CHECKING:
    from toolspeak.run.driver import Driver
    from toolspeak.run.partial_answer import PartialAnswer

NO_EXCEPTIONS: Mapping[str, BaseException] = MappingProxyType({})


def build_outcome(
    state: State, facts: tuple[Fact, ...], output: Any = None, exceptions: Mapping[str, BaseException] = NO_EXCEPTIONS
) -> Outcome[Any]:
    """Build the outcome of a run that has ended; `exceptions` are those of failed calls, by the ids of the calls."""
    results = {call.id: call.result for call in state.finished_calls if call.result is not None}
    calls = tuple(
        CallRecord(
            call=_resolve(call.call, results) if call.depends_on else call.call,
            result=call.result,
            exception=exceptions.get(call.id),
        )
        for call in state.finished_calls
        if call.call and call.result  # others could not be read
    )
    texts = [message.text for message in state.history[state.turn.history_start :] if message.role == "assistant"]
    return Outcome(
        text=texts[0] if state.turn.number and texts else "",
        calls=calls,
        messages=state.history,
        facts=facts,
        usage=state.usage,
        cost=state.cost,
        stop_reason=state.ended.reason if state.ended else "error",
        detail=state.ended.detail if state.ended else "",
        output=output,
        agent=state.speaker.agent if state.speaker else "",
        run_id=state.run_id,
        compacted=state.compacted,
    )


def find_output(state: State, tool: str) -> ToolResult | None:
    """Return the last successful result of the tool that gives the typed answer; None if there is no such result."""
    results = [call.result for call in state.finished_calls if call.key.tool == tool]
    return next((result for result in reversed(results) if result is not None and result.error is None), None)


def _resolve(call: ToolCall, results: dict[str, ToolResult]) -> ToolCall:
    """Return a call with each reference to a result replaced by its value, as far as there is one."""
    try:
        return ToolCall(id=call.id, name=call.name, arguments=resolve_references(call.arguments, results))
    except BrokenReference:
        return call


O = TypeVar("O")  # noqa: E741 (an outcome)
T = TypeVar("T")

MAX_AGENT_DEPTH = 8
"""How deeply agents may call agents."""

CANCELLED = Interrupted(cause="cancelled")

Beginning: TypeAlias = "Callable[[], Awaitable[tuple[Driver, Sequence[Fact]]]]"
"""A function that builds the driver of a run, and the facts that the run begins with."""


class Run(ABC, Generic[O]):
    """A run of an agent or of a chain."""

    def __init__(self) -> None:
        self._result: O | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._begun = False

    @abstractmethod
    def batches(self) -> AsyncGenerator[list[Event]]:
        """Drive the run to its end and yield its events in batches."""

    @abstractmethod
    def stop(self) -> None:
        """End the run early. Call it in the event loop of the run; `cancel` works from anywhere."""

    def follow_answer(self) -> "PartialAnswer | None":
        """Return what follows the typed answer through the events of the run; None if the answer has no type."""
        return None

    @property
    def outcome(self) -> O:
        """The outcome; an error before the run has ended."""
        if self._result is None:
            raise UsageError("the run has no outcome yet; consume all of its events first")
        return self._result

    async def finish(self) -> O:
        """Drive the run to its end in the running event loop and return the outcome."""
        async for _ in self.batches():
            pass
        return self.outcome

    def wait(self) -> O:
        """Drive the run to its end in the event loop of another thread and return the outcome."""
        return portal.call(self.finish())

    def cancel(self) -> None:
        """End the run early. Safe from any thread, and before the run has begun."""
        if self._loop is None:
            self.stop()
            return
        with suppress(RuntimeError):  # the loop has been closed, and the run with it
            self._loop.call_soon_threadsafe(self.stop)

    def _begin(self) -> None:
        """Refuse to run twice, and note the event loop that `cancel` must reach."""
        if self._begun:
            raise UsageError("a run happens once; start another to go through it again")
        self._begun = True
        self._loop = asyncio.get_running_loop()


class AgentRun(Run[Outcome[T]]):
    """A run of an agent.

    Attributes:
        hold: Returns what is entered when the run begins and left when it has ended or paused.
    """

    def __init__(
        self,
        begin: Beginning,
        output: Output | None = None,
        output_optional: bool = False,
        *,
        facts: Sequence[Fact] = (),
        on_end: Callable[[Outcome[Any]], None] | None = None,
    ) -> None:
        """Prepare a run, whose driver `begin` builds when the run begins; for the others see `RunSetup`."""
        super().__init__()
        self._build = begin
        self._driver: Driver | None = None
        self._stopped = False
        self._is_parking = False
        self._output = output
        self._earlier_facts = facts
        self._output_optional = output_optional
        self._output_missing = False
        self._on_end = on_end
        self._paused = False
        self.hold: Callable[[], AbstractContextManager[None]] = nullcontext

    async def batches(self) -> AsyncGenerator[list[Event]]:
        """Drive the run to its end and yield its events in batches."""
        self._begin()
        if CALL_DEPTH.get() >= MAX_AGENT_DEPTH:
            raise LimitReached(
                f"agents call agents {MAX_AGENT_DEPTH} deep, which has no end; let a tool answer by itself"
            )
        with self.hold():
            began = asyncio.get_running_loop().time()
            driver, first = await self._build()
            self._driver = driver
            if self._stopped:
                driver.interrupt(CANCELLED)
            if self._is_parking:
                driver.park()
            events = driver.batches(first, began)
            try:
                async for batch in events:
                    yield batch
            except RunPaused:
                self._paused = True
                raise
            finally:
                try:
                    await events.aclose()
                    self._conclude(driver)
                finally:
                    if driver.trace is not None:
                        driver.trace.close()
        if (error := driver.error) is not None:
            if isinstance(error, ToolspeakError):
                error.outcome = self._result
            raise error

    def park(self) -> None:
        """Put the run down when nothing is under way: `batches` raises `RunParked` then. Call it in its event loop."""
        self._is_parking = True
        if self._driver is not None:
            self._driver.park()

    def interrupt(self, fact: Interrupted) -> bool:
        """End the run for a reason, in its event loop; return False if it has not begun."""
        if self._driver is not None:
            self._driver.interrupt(fact)
        return self._driver is not None

    def stop(self) -> None:
        """End the run early."""
        self._stopped = True
        if self._driver is not None:
            self._driver.interrupt(CANCELLED)

    @property
    def failed_by_fault(self) -> bool:
        """Whether the run ended with an error of the program: of a function of the user's, or a `UsageError`."""
        return self._driver is not None and self._driver.error_is_fault

    def follow_answer(self) -> "PartialAnswer | None":
        """Return what follows the typed answer through the events of the run; None if the answer has no type."""
        if self._output is None:
            return None
        from toolspeak.run.partial_answer import PartialAnswer  # with pydantic, which only typed answers need

        return PartialAnswer(self._output, self._earlier_facts)

    @property
    def outcome(self) -> Outcome[T]:
        """The outcome; an error before the run has ended, or if the run ended without the output it must have."""
        if self._paused:
            raise UsageError(
                "the run is paused, and has no outcome before it is resumed; RunPaused has the calls that wait for an "
                "approval and the facts for agent.resume(facts, approvals={…})"
            )
        outcome = super().outcome
        if self._output_missing and not self._output_optional:
            raise OutputMissing(cast("Outcome[None]", outcome))
        return outcome

    def _conclude(self, driver: "Driver") -> None:
        state = driver.state
        if state.ended is None:
            return
        value: Any = None
        if self._output is not None:
            result = find_output(state, self._output.tool.name)
            self._output_missing = result is None
            value = None if result is None else self._output.load(result.output)
        self._result = build_outcome(state, tuple(driver.facts), value, driver.speaker.executor.exceptions)
        if self._on_end is not None:
            self._on_end(self._result)
