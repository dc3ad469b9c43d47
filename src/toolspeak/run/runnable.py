"""The methods that start a run, with their types. All of them build a run and differ only in who drives it where.

`run` and `stream` drive the run in the event loop of another thread, `arun` and `astream` in the running one; the four
that resume a run take its facts instead of a prompt. Each has five overloads: the type of `outcome.output` follows from
`output` and `output_optional`, and without `output` from the agent. The type of `deps` is that of the agent.

`BaseAgent` is an agent as those modules see it that make runs of one: chats, agents as tools, hand-overs, programs.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypedDict, Unpack, overload

from toolspeak.execution.sandbox import SandboxLimits
from toolspeak.models import Model
from toolspeak.run.agent_tools import AgentTools
from toolspeak.run.approvals import Approver, Deps, Recorder
from toolspeak.run.barrier import Durability
from toolspeak.run.calling_run import CallingRun, OuterCall, Speaker
from toolspeak.run.inputs import Choice, System, ToolChooser
from toolspeak.run.model_lookup import Models
from toolspeak.run.run import AgentRun
from toolspeak.run.streams import AsyncStream, Stream
from toolspeak.tools import Context, Toolbox
from toolspeak.values.events import Allow, Compacted, Escalation, Fact, HandedOver, Provenance, RunStarted
from toolspeak.values.limits import Limits
from toolspeak.values.messages import Message
from toolspeak.values.outcome import Outcome

if TYPE_CHECKING:
    from typing_extensions import TypeForm, TypeVar  # type checkers know it; it need not be installed

    T_co = TypeVar("T_co", covariant=True, default=None)
    T = TypeVar("T")
    D = TypeVar("D", default=Any)
    OutputType: TypeAlias = TypeForm[T]
    """A class, or another type such as `Literal["a", "b"]` or `City | None`."""
else:
    from typing import TypeVar

    T_co = TypeVar("T_co", covariant=True)
    T = TypeVar("T")
    D = TypeVar("D")
    OutputType = type

Prompt: TypeAlias = str | Message | None
Facts: TypeAlias = Sequence[Fact]


class RunOptions(TypedDict, Generic[Deps], total=False):
    """The options of one run.

    Attributes:
        messages: The conversation so far, as an earlier outcome has it.
        tool_choice: Which tools may or must be called, instead of the agent's own choice.
        limits: The limits of this run, instead of the agent's own.
        deps: The object for tools in their `Context`, instead of the agent's own.
        record: Called with each fact before the run acts on it.
        compacted: How an earlier run compacted `messages`, as its outcome has it.
        model: The model of this run, in one of the forms of `Agent`, instead of the agent's own.
        approve: The function that decides about calls that need approval, instead of the agent's own; with None, the
            run pauses.
        data: Data for tools and `approve` functions in `Context.data`: the tenant, the user who asks.
    """

    messages: Sequence[Message]
    tool_choice: Choice | None
    limits: Limits | None
    deps: Deps | None
    record: Recorder | None
    compacted: Compacted | None
    model: Models
    approve: "Approver[Deps] | None"
    data: Mapping[str, Any] | None


class ResumeOptions(TypedDict, Generic[Deps], total=False):
    """The options of a resumed run. Its tool choice and its limits are among its facts.

    Attributes:
        approvals: The decision for each waiting call, by its id: True, False, a reason for refusing, or
            `Allow(remember=True)` to allow its values in doubt for the rest of the conversation.
        deps: The object for tools in their `Context`, instead of the agent's own.
        record: Called with each new fact before the run acts on it.
        limits: The limits of the run from here on, instead of its own; what it has used so far counts. A run that
            stopped at a limit continues if these allow it. Inner runs that are in progress keep theirs.
        model: The model that continues, in one of the forms of `Agent`, instead of the agent's own.
        approve: The function that decides about calls that need approval, instead of the agent's own; with None, the
            run pauses.
        data: Data for tools and `approve` functions in `Context.data`: the tenant, the user who asks.
    """

    approvals: Mapping[str, bool | str | Allow] | None
    deps: Deps | None
    record: Recorder | None
    limits: Limits | None
    model: Models
    approve: "Approver[Deps] | None"
    data: Mapping[str, Any] | None


class Run(RunOptions[Deps], total=False):
    """The options of a run whose outcome has the output."""

    output_optional: Literal[False]


class MayRun(RunOptions[Deps], total=False):
    """The options of a run whose outcome may lack the output."""

    output_optional: bool


class Resume(ResumeOptions[Deps], total=False):
    """The options to resume a run whose outcome has the output."""

    output_optional: Literal[False]


class MayResume(ResumeOptions[Deps], total=False):
    """The options to resume a run whose outcome may lack the output."""

    output_optional: bool


class RunSetup(TypedDict, total=False):
    """How a run is built, beside the options of the user.

    Attributes:
        output: The type that the answer must have; None for the agent's own.
        output_optional: Whether the outcome may lack a typed answer.
        watched: Whether somebody takes the events of the run as they happen; True if it is left out.
        on_end: Called with the outcome.
        outer: The call of another run that this run is a part of.
        earlier: The start of the run before this one in a conversation, which keeps its dialect.
        durability: What makes the run durable.
        exposed: Whether a model whose words the prompt holds was shown a result that is declared as foreign.
        background: Messages that explain values, beside those of the run.
    """

    output: Any
    output_optional: bool
    watched: bool
    on_end: Callable[[Outcome[Any]], None]
    outer: OuterCall
    earlier: RunStarted | None
    durability: Durability | None
    exposed: bool
    background: tuple[Message, ...]


if TYPE_CHECKING:

    class TypedRunnable(Generic[T_co, Deps]):
        """What is typed by the answers, and by the deps if they are given."""

else:

    class TypedRunnable:
        __class_getitem__ = classmethod(GenericAlias)  # with one type or two: defaults are for type checkers alone


class Runnable(TypedRunnable[T_co, Deps], ABC):
    """Something that answers prompts: an agent, or a conversation with one.

    `T_co` is the type of its answers, and `Deps` that of the deps of its runs.
    """

    @abstractmethod
    def prepare(self, prompt: Prompt, options: RunOptions, **setup: Unpack[RunSetup]) -> AgentRun[Any]:
        """Build a run without starting it."""

    @abstractmethod
    def prepare_resume(self, facts: Facts, options: ResumeOptions, **setup: Unpack[RunSetup]) -> AgentRun[Any]:
        """Build a run that goes on from the facts, without starting it."""

    @overload
    def run(self, prompt: Prompt = None, *, output: None = None, **options: Unpack[Run[Deps]]) -> Outcome[T_co]: ...
    @overload
    def run(
        self, prompt: Prompt = None, *, output: None = None, **options: Unpack[MayRun[Deps]]
    ) -> Outcome[T_co | None]: ...
    @overload
    def run(self, prompt: Prompt = None, *, output: OutputType[T], **options: Unpack[Run[Deps]]) -> Outcome[T]: ...
    @overload
    def run(
        self, prompt: Prompt = None, *, output: OutputType[T], **options: Unpack[MayRun[Deps]]
    ) -> Outcome[T | None]: ...
    @overload
    def run(self, prompt: Prompt = None, *, output: Any, **options: Unpack[MayRun[Deps]]) -> Outcome[Any]: ...
    def run(self, prompt: Prompt = None, *, output: Any = None, **options: Unpack[MayRun[Deps]]) -> Outcome[Any]:
        """Run the agent with a prompt, and wait for the outcome.

        Args:
            prompt: The prompt.
            output: The type that the answer must have, instead of the agent's own; `outcome.output` is an object of
                that type.
            **options: `messages`, `tool_choice`, `limits`, `deps`, `model` and so on; see `RunOptions`. With
                `output_optional=True`, `outcome.output` is None, instead of raising `OutputMissing`, if the run ends
                early.

        Returns:
            The outcome. A run that stops early, at a limit for example, has an outcome like any other.

        Raises:
            ModelError: The endpoint failed; `error.outcome` has the run up to that point.
            RunPaused: A call needs approval, and the agent has no `approve` function.
            OutputMissing: The run ended without the typed output; `error.outcome` has the run.
        """
        return self._prepare(prompt, output, options, watched=False).wait()

    @overload
    async def arun(
        self, prompt: Prompt = None, *, output: None = None, **options: Unpack[Run[Deps]]
    ) -> Outcome[T_co]: ...
    @overload
    async def arun(
        self, prompt: Prompt = None, *, output: None = None, **options: Unpack[MayRun[Deps]]
    ) -> Outcome[T_co | None]: ...
    @overload
    async def arun(
        self, prompt: Prompt = None, *, output: OutputType[T], **options: Unpack[Run[Deps]]
    ) -> Outcome[T]: ...
    @overload
    async def arun(
        self, prompt: Prompt = None, *, output: OutputType[T], **options: Unpack[MayRun[Deps]]
    ) -> Outcome[T | None]: ...
    @overload
    async def arun(self, prompt: Prompt = None, *, output: Any, **options: Unpack[MayRun[Deps]]) -> Outcome[Any]: ...
    async def arun(self, prompt: Prompt = None, *, output: Any = None, **options: Unpack[MayRun[Deps]]) -> Outcome[Any]:
        """Run the agent in the running event loop; see `run`."""
        return await self._prepare(prompt, output, options, watched=False).finish()

    @overload
    def stream(
        self, prompt: Prompt = None, *, output: None = None, **options: Unpack[Run[Deps]]
    ) -> Stream[Outcome[T_co]]: ...
    @overload
    def stream(
        self, prompt: Prompt = None, *, output: None = None, **options: Unpack[MayRun[Deps]]
    ) -> Stream[Outcome[T_co | None]]: ...
    @overload
    def stream(
        self, prompt: Prompt = None, *, output: OutputType[T], **options: Unpack[Run[Deps]]
    ) -> Stream[Outcome[T]]: ...
    @overload
    def stream(
        self, prompt: Prompt = None, *, output: OutputType[T], **options: Unpack[MayRun[Deps]]
    ) -> Stream[Outcome[T | None]]: ...
    @overload
    def stream(
        self, prompt: Prompt = None, *, output: Any, **options: Unpack[MayRun[Deps]]
    ) -> Stream[Outcome[Any]]: ...
    def stream(
        self, prompt: Prompt = None, *, output: Any = None, **options: Unpack[MayRun[Deps]]
    ) -> Stream[Outcome[Any]]:
        """Run the agent, and iterate over its events as they happen; then use `stream.outcome`. See `run`."""
        return Stream(self._prepare(prompt, output, options, watched=True))

    @overload
    def astream(
        self, prompt: Prompt = None, *, output: None = None, **options: Unpack[Run[Deps]]
    ) -> AsyncStream[Outcome[T_co]]: ...
    @overload
    def astream(
        self, prompt: Prompt = None, *, output: None = None, **options: Unpack[MayRun[Deps]]
    ) -> AsyncStream[Outcome[T_co | None]]: ...
    @overload
    def astream(
        self, prompt: Prompt = None, *, output: OutputType[T], **options: Unpack[Run[Deps]]
    ) -> AsyncStream[Outcome[T]]: ...
    @overload
    def astream(
        self, prompt: Prompt = None, *, output: OutputType[T], **options: Unpack[MayRun[Deps]]
    ) -> AsyncStream[Outcome[T | None]]: ...
    @overload
    def astream(
        self, prompt: Prompt = None, *, output: Any, **options: Unpack[MayRun[Deps]]
    ) -> AsyncStream[Outcome[Any]]: ...
    def astream(
        self, prompt: Prompt = None, *, output: Any = None, **options: Unpack[MayRun[Deps]]
    ) -> AsyncStream[Outcome[Any]]:
        """Run the agent, and iterate over its events in the running event loop; see `stream`."""
        return AsyncStream(self._prepare(prompt, output, options, watched=True))

    @overload
    def resume(self, facts: Facts, *, output: None = None, **options: Unpack[Resume[Deps]]) -> Outcome[T_co]: ...
    @overload
    def resume(
        self, facts: Facts, *, output: None = None, **options: Unpack[MayResume[Deps]]
    ) -> Outcome[T_co | None]: ...
    @overload
    def resume(self, facts: Facts, *, output: OutputType[T], **options: Unpack[Resume[Deps]]) -> Outcome[T]: ...
    @overload
    def resume(
        self, facts: Facts, *, output: OutputType[T], **options: Unpack[MayResume[Deps]]
    ) -> Outcome[T | None]: ...
    @overload
    def resume(self, facts: Facts, *, output: Any, **options: Unpack[MayResume[Deps]]) -> Outcome[Any]: ...
    def resume(self, facts: Facts, *, output: Any = None, **options: Unpack[MayResume[Deps]]) -> Outcome[Any]:
        """Resume a run from its facts, and wait for the outcome.

        The run may have paused or failed, or its process may have died.

        Args:
            facts: The facts, as `RunPaused`, an outcome or a recorder has them.
            output: The type of the answer, if the run was started with another than the agent's own.
            **options: `approvals`, `deps`, `record` and `limits`; see `ResumeOptions`, and `run`.
        """
        return self._prepare_resume(facts, output, options, watched=False).wait()

    @overload
    async def aresume(self, facts: Facts, *, output: None = None, **options: Unpack[Resume[Deps]]) -> Outcome[T_co]: ...
    @overload
    async def aresume(
        self, facts: Facts, *, output: None = None, **options: Unpack[MayResume[Deps]]
    ) -> Outcome[T_co | None]: ...
    @overload
    async def aresume(self, facts: Facts, *, output: OutputType[T], **options: Unpack[Resume[Deps]]) -> Outcome[T]: ...
    @overload
    async def aresume(
        self, facts: Facts, *, output: OutputType[T], **options: Unpack[MayResume[Deps]]
    ) -> Outcome[T | None]: ...
    @overload
    async def aresume(self, facts: Facts, *, output: Any, **options: Unpack[MayResume[Deps]]) -> Outcome[Any]: ...
    async def aresume(self, facts: Facts, *, output: Any = None, **options: Unpack[MayResume[Deps]]) -> Outcome[Any]:
        """Resume a run in the running event loop; see `resume`."""
        return await self._prepare_resume(facts, output, options, watched=False).finish()

    @overload
    def stream_resume(
        self, facts: Facts, *, output: None = None, **options: Unpack[Resume[Deps]]
    ) -> Stream[Outcome[T_co]]: ...
    @overload
    def stream_resume(
        self, facts: Facts, *, output: None = None, **options: Unpack[MayResume[Deps]]
    ) -> Stream[Outcome[T_co | None]]: ...
    @overload
    def stream_resume(
        self, facts: Facts, *, output: OutputType[T], **options: Unpack[Resume[Deps]]
    ) -> Stream[Outcome[T]]: ...
    @overload
    def stream_resume(
        self, facts: Facts, *, output: OutputType[T], **options: Unpack[MayResume[Deps]]
    ) -> Stream[Outcome[T | None]]: ...
    @overload
    def stream_resume(
        self, facts: Facts, *, output: Any, **options: Unpack[MayResume[Deps]]
    ) -> Stream[Outcome[Any]]: ...
    def stream_resume(
        self, facts: Facts, *, output: Any = None, **options: Unpack[MayResume[Deps]]
    ) -> Stream[Outcome[Any]]:
        """Resume a run, and iterate over its new events; then use `stream.outcome`. See `resume`."""
        return Stream(self._prepare_resume(facts, output, options, watched=True))

    @overload
    def astream_resume(
        self, facts: Facts, *, output: None = None, **options: Unpack[Resume[Deps]]
    ) -> AsyncStream[Outcome[T_co]]: ...
    @overload
    def astream_resume(
        self, facts: Facts, *, output: None = None, **options: Unpack[MayResume[Deps]]
    ) -> AsyncStream[Outcome[T_co | None]]: ...
    @overload
    def astream_resume(
        self, facts: Facts, *, output: OutputType[T], **options: Unpack[Resume[Deps]]
    ) -> AsyncStream[Outcome[T]]: ...
    @overload
    def astream_resume(
        self, facts: Facts, *, output: OutputType[T], **options: Unpack[MayResume[Deps]]
    ) -> AsyncStream[Outcome[T | None]]: ...
    @overload
    def astream_resume(
        self, facts: Facts, *, output: Any, **options: Unpack[MayResume[Deps]]
    ) -> AsyncStream[Outcome[Any]]: ...
    def astream_resume(
        self, facts: Facts, *, output: Any = None, **options: Unpack[MayResume[Deps]]
    ) -> AsyncStream[Outcome[Any]]:
        """Resume a run, and iterate over its new events in the running event loop; see `stream_resume`."""
        return AsyncStream(self._prepare_resume(facts, output, options, watched=True))

    def _prepare(self, prompt: Prompt, output: Any, options: MayRun, *, watched: bool) -> AgentRun[Any]:
        optional = options.pop("output_optional", False)
        return self.prepare(prompt, options, output=output, output_optional=optional, watched=watched)

    def _prepare_resume(self, facts: Facts, output: Any, options: MayResume, *, watched: bool) -> AgentRun[Any]:
        optional = options.pop("output_optional", False)
        return self.prepare_resume(facts, options, output=output, output_optional=optional, watched=watched)


class BaseAgent(Runnable[T_co, Deps]):
    """An agent: its models, its tools and its options; see `Agent`."""

    models: tuple[Model, ...]
    model: Model
    output: Any
    system: System | None
    choose_tools: ToolChooser | None
    tool_choice: Choice
    parallel_tool_calls: bool
    limits: Limits
    deps: Any
    tool_timeout: float | None
    tool_budget: int | None
    provenance: Provenance
    escalation: Escalation | None
    code: bool | SandboxLimits
    _tools: AgentTools

    @abstractmethod
    async def build_speaker(self, context: Context[Any], run: CallingRun, handed: HandedOver | None = None) -> Speaker:
        """Build what lets this agent go on with the conversation of a run.

        Args:
            context: The context of the call that hands the conversation over.
            run: The run.
            handed: What was recorded when the conversation was handed over, if the run is resumed.
        """

    @property
    def toolbox(self) -> Toolbox:
        """All tools. MCP servers among them that have not started are started, and this waits until they have."""
        return self._tools.load()

    @property
    def own_tools(self) -> Toolbox:
        """The tools that are not those of MCP servers."""
        return self._tools.own

    @property
    def _fixed_tools(self) -> Toolbox | None:
        """The tools of every run; None if only a run can tell them."""
        return None if self.choose_tools else self._tools.loaded

    def graph(self) -> str:
        """Draw the models and the tools as a mermaid flowchart."""
        from toolspeak.run.graph import GraphStep, draw_flowchart

        label = ", else ".join(model.name for model in self.models)
        return draw_flowchart([GraphStep(shape="model", label=label, tools=self.toolbox.names)])
