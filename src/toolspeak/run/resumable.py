"""The methods that resume a run, with their types: as in `runnable.py`, with facts instead of a prompt."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, Literal, TypedDict, Unpack, overload

from toolspeak.events import Fact
from toolspeak.limits import Limits
from toolspeak.outcome import Outcome
from toolspeak.run.callbacks import Recorder
from toolspeak.run.run import AgentRun
from toolspeak.run.runnable import T, T_co
from toolspeak.run.streams import AsyncStream, Stream


class ResumeOptions(TypedDict, total=False):
    """The options with which a run is resumed. Its tool choice is among its facts, and so are its limits.

    Attributes:
        approvals: For each call that waits, by its id: True, False, or a text that says why not.
        deps: What tools get in their `Context`, instead of the agent's own.
        record: Called with each new fact before the run acts on it.
        limits: Where the run stops from here on, instead of its own limits; what it has used so far is counted. A run
            that stopped at one of its limits goes on if these allow it. Inner runs that are under way keep theirs.
    """

    approvals: Mapping[str, bool | str] | None
    deps: Any
    record: Recorder | None
    limits: Limits | None


class Resumable(ABC, Generic[T_co]):
    """Something that goes on with a run from its facts."""

    @abstractmethod
    def prepare_resume(
        self,
        facts: Sequence[Fact],
        options: ResumeOptions,
        *,
        output: Any = None,
        output_optional: bool = False,
        watched: bool = True,
    ) -> AgentRun[Any]:
        """Build a run that goes on from the facts and has not begun; see `Runnable.prepare`."""

    @overload
    def resume(
        self,
        facts: Sequence[Fact],
        *,
        output: None = None,
        output_optional: Literal[False] = False,
        **options: Unpack[ResumeOptions],
    ) -> Outcome[T_co]: ...
    @overload
    def resume(
        self, facts: Sequence[Fact], *, output: None = None, output_optional: bool, **options: Unpack[ResumeOptions]
    ) -> Outcome[T_co | None]: ...
    @overload
    def resume(
        self,
        facts: Sequence[Fact],
        *,
        output: type[T],
        output_optional: Literal[False] = False,
        **options: Unpack[ResumeOptions],
    ) -> Outcome[T]: ...
    @overload
    def resume(
        self, facts: Sequence[Fact], *, output: type[T], output_optional: bool, **options: Unpack[ResumeOptions]
    ) -> Outcome[T | None]: ...
    @overload
    def resume(
        self, facts: Sequence[Fact], *, output: Any, output_optional: bool = False, **options: Unpack[ResumeOptions]
    ) -> Outcome[Any]: ...
    def resume(
        self,
        facts: Sequence[Fact],
        *,
        output: Any = None,
        output_optional: bool = False,
        **options: Unpack[ResumeOptions],
    ) -> Outcome[Any]:
        """Go on with a run from its facts, and wait for the answer.

        The run may have paused, may have failed, or may have been cut off with the process it ran in.

        Args:
            facts: The facts, as `RunPaused`, an outcome or a recorder has them.
            output: The type of the answer, if the run was started with another than the agent's own.
            output_optional: Let `outcome.output` be None, instead of raising `OutputMissing`, if the run ends early.
            **options: `approvals`, `deps`, `record` and `limits`; see `ResumeOptions`.
        """
        run = self.prepare_resume(facts, options, output=output, output_optional=output_optional, watched=False)
        return run.wait()

    @overload
    async def aresume(
        self,
        facts: Sequence[Fact],
        *,
        output: None = None,
        output_optional: Literal[False] = False,
        **options: Unpack[ResumeOptions],
    ) -> Outcome[T_co]: ...
    @overload
    async def aresume(
        self, facts: Sequence[Fact], *, output: None = None, output_optional: bool, **options: Unpack[ResumeOptions]
    ) -> Outcome[T_co | None]: ...
    @overload
    async def aresume(
        self,
        facts: Sequence[Fact],
        *,
        output: type[T],
        output_optional: Literal[False] = False,
        **options: Unpack[ResumeOptions],
    ) -> Outcome[T]: ...
    @overload
    async def aresume(
        self, facts: Sequence[Fact], *, output: type[T], output_optional: bool, **options: Unpack[ResumeOptions]
    ) -> Outcome[T | None]: ...
    @overload
    async def aresume(
        self, facts: Sequence[Fact], *, output: Any, output_optional: bool = False, **options: Unpack[ResumeOptions]
    ) -> Outcome[Any]: ...
    async def aresume(
        self,
        facts: Sequence[Fact],
        *,
        output: Any = None,
        output_optional: bool = False,
        **options: Unpack[ResumeOptions],
    ) -> Outcome[Any]:
        """Go on with a run, and wait for the answer in the running event loop; see `resume`."""
        run = self.prepare_resume(facts, options, output=output, output_optional=output_optional, watched=False)
        return await run.finish()

    @overload
    def stream_resume(
        self,
        facts: Sequence[Fact],
        *,
        output: None = None,
        output_optional: Literal[False] = False,
        **options: Unpack[ResumeOptions],
    ) -> Stream[Outcome[T_co]]: ...
    @overload
    def stream_resume(
        self, facts: Sequence[Fact], *, output: None = None, output_optional: bool, **options: Unpack[ResumeOptions]
    ) -> Stream[Outcome[T_co | None]]: ...
    @overload
    def stream_resume(
        self,
        facts: Sequence[Fact],
        *,
        output: type[T],
        output_optional: Literal[False] = False,
        **options: Unpack[ResumeOptions],
    ) -> Stream[Outcome[T]]: ...
    @overload
    def stream_resume(
        self, facts: Sequence[Fact], *, output: type[T], output_optional: bool, **options: Unpack[ResumeOptions]
    ) -> Stream[Outcome[T | None]]: ...
    @overload
    def stream_resume(
        self, facts: Sequence[Fact], *, output: Any, output_optional: bool = False, **options: Unpack[ResumeOptions]
    ) -> Stream[Outcome[Any]]: ...
    def stream_resume(
        self,
        facts: Sequence[Fact],
        *,
        output: Any = None,
        output_optional: bool = False,
        **options: Unpack[ResumeOptions],
    ) -> Stream[Outcome[Any]]:
        """Go on with a run, and iterate over its new events; `stream.outcome` is there at the end. See `resume`."""
        return Stream(self.prepare_resume(facts, options, output=output, output_optional=output_optional))

    @overload
    def astream_resume(
        self,
        facts: Sequence[Fact],
        *,
        output: None = None,
        output_optional: Literal[False] = False,
        **options: Unpack[ResumeOptions],
    ) -> AsyncStream[Outcome[T_co]]: ...
    @overload
    def astream_resume(
        self, facts: Sequence[Fact], *, output: None = None, output_optional: bool, **options: Unpack[ResumeOptions]
    ) -> AsyncStream[Outcome[T_co | None]]: ...
    @overload
    def astream_resume(
        self,
        facts: Sequence[Fact],
        *,
        output: type[T],
        output_optional: Literal[False] = False,
        **options: Unpack[ResumeOptions],
    ) -> AsyncStream[Outcome[T]]: ...
    @overload
    def astream_resume(
        self, facts: Sequence[Fact], *, output: type[T], output_optional: bool, **options: Unpack[ResumeOptions]
    ) -> AsyncStream[Outcome[T | None]]: ...
    @overload
    def astream_resume(
        self, facts: Sequence[Fact], *, output: Any, output_optional: bool = False, **options: Unpack[ResumeOptions]
    ) -> AsyncStream[Outcome[Any]]: ...
    def astream_resume(
        self,
        facts: Sequence[Fact],
        *,
        output: Any = None,
        output_optional: bool = False,
        **options: Unpack[ResumeOptions],
    ) -> AsyncStream[Outcome[Any]]:
        """Go on with a run, and iterate over its new events in the running event loop; see `stream_resume`."""
        return AsyncStream(self.prepare_resume(facts, options, output=output, output_optional=output_optional))
