"""The methods that start a run, with their types. All of them build a run and differ only in who drives it where.

`run` and `stream` drive the run in the event loop of another thread, `arun` and `astream` in the running one. Each has
five overloads: the type of `outcome.output` follows from `output` and `output_optional`, and without `output` from the
agent.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypedDict, Unpack, overload

from toolspeak.run.approvals import Recorder
from toolspeak.run.inputs import Choice
from toolspeak.run.run import AgentRun
from toolspeak.run.streams import AsyncStream, Stream
from toolspeak.values.events import Compacted, Fact
from toolspeak.values.limits import Limits
from toolspeak.values.messages import Message
from toolspeak.values.outcome import Outcome

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # type checkers know it; it need not be installed

    T_co = TypeVar("T_co", covariant=True, default=None)
else:
    from typing import TypeVar

    T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")

Prompt: TypeAlias = str | Message | None


class RunOptions(TypedDict, total=False):
    """The options of one run.

    Attributes:
        messages: The conversation so far, as an earlier outcome has it.
        tool_choice: Which tools may or must be called, instead of the agent's own choice.
        limits: Where this run stops, instead of the agent's own limits.
        deps: What tools get in their `Context`, instead of the agent's own.
        record: Called with each fact before the run acts on it.
        compacted: What an earlier run left of `messages` for the model, as its outcome has it.
    """

    messages: Sequence[Message]
    tool_choice: Choice | None
    limits: Limits | None
    deps: Any
    record: Recorder | None
    compacted: Compacted | None


class Runnable(ABC, Generic[T_co]):
    """Something that answers prompts: an agent, or a conversation with one. `T_co` is the type of its answers."""

    @abstractmethod
    def prepare(
        self,
        prompt: Prompt,
        options: RunOptions,
        *,
        output: Any = None,
        output_optional: bool = False,
        watched: bool = True,
    ) -> AgentRun[Any]:
        """Build a run without starting it.

        Args:
            prompt: What is asked.
            options: The options of the run.
            output: The type that the answer must have; None for the agent's own.
            output_optional: Whether the outcome may lack a typed answer.
            watched: Whether somebody takes the events of the run as they happen.
        """

    @overload
    def run(
        self,
        prompt: Prompt = None,
        *,
        output: None = None,
        output_optional: Literal[False] = False,
        **options: Unpack[RunOptions],
    ) -> Outcome[T_co]: ...
    @overload
    def run(
        self, prompt: Prompt = None, *, output: None = None, output_optional: bool, **options: Unpack[RunOptions]
    ) -> Outcome[T_co | None]: ...
    @overload
    def run(
        self,
        prompt: Prompt = None,
        *,
        output: type[T],
        output_optional: Literal[False] = False,
        **options: Unpack[RunOptions],
    ) -> Outcome[T]: ...
    @overload
    def run(
        self, prompt: Prompt = None, *, output: type[T], output_optional: bool, **options: Unpack[RunOptions]
    ) -> Outcome[T | None]: ...
    @overload
    def run(
        self, prompt: Prompt = None, *, output: Any, output_optional: bool = False, **options: Unpack[RunOptions]
    ) -> Outcome[Any]: ...
    def run(
        self,
        prompt: Prompt = None,
        *,
        output: Any = None,
        output_optional: bool = False,
        **options: Unpack[RunOptions],
    ) -> Outcome[Any]:
        """Ask, and wait for the answer.

        Args:
            prompt: What is asked.
            output: The type that the answer must have, instead of the agent's own; `outcome.output` is an object of
                that type.
            output_optional: Let `outcome.output` be None, instead of raising `OutputMissing`, if the run ends early.
            **options: `messages`, `tool_choice`, `limits`, `deps` and `record`; see `RunOptions`.

        Returns:
            The outcome. A run that stops early, at a limit for example, has an outcome like any other.

        Raises:
            ModelError: The endpoint failed; `error.outcome` has the run until then.
            RunPaused: A call needs an approval, and the agent has no `approve` function.
            OutputMissing: The run ended without the typed output; `error.outcome` has the run.
        """
        return self.prepare(prompt, options, output=output, output_optional=output_optional, watched=False).wait()

    @overload
    async def arun(
        self,
        prompt: Prompt = None,
        *,
        output: None = None,
        output_optional: Literal[False] = False,
        **options: Unpack[RunOptions],
    ) -> Outcome[T_co]: ...
    @overload
    async def arun(
        self, prompt: Prompt = None, *, output: None = None, output_optional: bool, **options: Unpack[RunOptions]
    ) -> Outcome[T_co | None]: ...
    @overload
    async def arun(
        self,
        prompt: Prompt = None,
        *,
        output: type[T],
        output_optional: Literal[False] = False,
        **options: Unpack[RunOptions],
    ) -> Outcome[T]: ...
    @overload
    async def arun(
        self, prompt: Prompt = None, *, output: type[T], output_optional: bool, **options: Unpack[RunOptions]
    ) -> Outcome[T | None]: ...
    @overload
    async def arun(
        self, prompt: Prompt = None, *, output: Any, output_optional: bool = False, **options: Unpack[RunOptions]
    ) -> Outcome[Any]: ...
    async def arun(
        self,
        prompt: Prompt = None,
        *,
        output: Any = None,
        output_optional: bool = False,
        **options: Unpack[RunOptions],
    ) -> Outcome[Any]:
        """Ask, and wait for the answer in the running event loop; see `run`."""
        run = self.prepare(prompt, options, output=output, output_optional=output_optional, watched=False)
        return await run.finish()

    @overload
    def stream(
        self,
        prompt: Prompt = None,
        *,
        output: None = None,
        output_optional: Literal[False] = False,
        **options: Unpack[RunOptions],
    ) -> Stream[Outcome[T_co]]: ...
    @overload
    def stream(
        self, prompt: Prompt = None, *, output: None = None, output_optional: bool, **options: Unpack[RunOptions]
    ) -> Stream[Outcome[T_co | None]]: ...
    @overload
    def stream(
        self,
        prompt: Prompt = None,
        *,
        output: type[T],
        output_optional: Literal[False] = False,
        **options: Unpack[RunOptions],
    ) -> Stream[Outcome[T]]: ...
    @overload
    def stream(
        self, prompt: Prompt = None, *, output: type[T], output_optional: bool, **options: Unpack[RunOptions]
    ) -> Stream[Outcome[T | None]]: ...
    @overload
    def stream(
        self, prompt: Prompt = None, *, output: Any, output_optional: bool = False, **options: Unpack[RunOptions]
    ) -> Stream[Outcome[Any]]: ...
    def stream(
        self,
        prompt: Prompt = None,
        *,
        output: Any = None,
        output_optional: bool = False,
        **options: Unpack[RunOptions],
    ) -> Stream[Outcome[Any]]:
        """Ask, and iterate over the events as they happen; `stream.outcome` is there at the end. See `run`."""
        return Stream(self.prepare(prompt, options, output=output, output_optional=output_optional))

    @overload
    def astream(
        self,
        prompt: Prompt = None,
        *,
        output: None = None,
        output_optional: Literal[False] = False,
        **options: Unpack[RunOptions],
    ) -> AsyncStream[Outcome[T_co]]: ...
    @overload
    def astream(
        self, prompt: Prompt = None, *, output: None = None, output_optional: bool, **options: Unpack[RunOptions]
    ) -> AsyncStream[Outcome[T_co | None]]: ...
    @overload
    def astream(
        self,
        prompt: Prompt = None,
        *,
        output: type[T],
        output_optional: Literal[False] = False,
        **options: Unpack[RunOptions],
    ) -> AsyncStream[Outcome[T]]: ...
    @overload
    def astream(
        self, prompt: Prompt = None, *, output: type[T], output_optional: bool, **options: Unpack[RunOptions]
    ) -> AsyncStream[Outcome[T | None]]: ...
    @overload
    def astream(
        self, prompt: Prompt = None, *, output: Any, output_optional: bool = False, **options: Unpack[RunOptions]
    ) -> AsyncStream[Outcome[Any]]: ...
    def astream(
        self,
        prompt: Prompt = None,
        *,
        output: Any = None,
        output_optional: bool = False,
        **options: Unpack[RunOptions],
    ) -> AsyncStream[Outcome[Any]]:
        """Ask, and iterate over the events in the running event loop; see `stream`."""
        return AsyncStream(self.prepare(prompt, options, output=output, output_optional=output_optional))


# The methods that resume a run, with their types: as in `runnable.py`, with facts instead of a prompt.


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
