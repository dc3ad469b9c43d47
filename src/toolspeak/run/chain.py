"""`Chain`: steps that feed each other, put together one after the other.

    Chain("What is the weather in {city}?").with_tools([get_weather]).llm("local").transform(str.upper).run(city="Oslo")

A chain does not change: every method gives a new one, so a beginning can be shared. What a step comes to is the
`previous` of the next.
"""

import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias, cast

from toolspeak._frozen import frozen
from toolspeak.dialects import Dialect
from toolspeak.errors import ToolError, UsageError
from toolspeak.events import CallReady, Event, Limits, StopReason, ToolFinished, ToolStarted, Usage
from toolspeak.execution import Executor
from toolspeak.execution.coroutines import is_pending, resolve_pending
from toolspeak.loop import BrokenReference, resolved
from toolspeak.messages import Message, Ref, ToolCall, ToolResult
from toolspeak.models import Model, Sampling
from toolspeak.run import portal
from toolspeak.run.agent import TOOL_TIMEOUT, Agent, AgentRun, RunOptions
from toolspeak.run.choice import Choice, Tools, choice_of, toolbox_of
from toolspeak.run.driver import Approver
from toolspeak.run.graph import Drawn, flowchart
from toolspeak.run.inbox import Inbox
from toolspeak.run.outcome import CallRecord, Outcome
from toolspeak.run.streams import AsyncStream, Run, Stream, played
from toolspeak.tools import Toolbox, output_text, output_value

NAMED = re.compile(r"\{(\w+)\}")
BEFORE = "previous"
"""The id under which references find what the step before came to."""

REACT = (
    "Work step by step. Say in a sentence what you need to find out next, call what finds it out, and look at the "
    "result before you go on. When nothing more is needed, give the answer."
)


class Previous:
    """What the step before came to, or a part of it: `previous`, `previous["temp"]`, `previous["days"][0]`."""

    def __init__(self, *path: str | int) -> None:
        self.path = path

    def __getitem__(self, step: str | int) -> "Previous":
        return Previous(*self.path, step)

    def __iter__(self) -> Iterator[Any]:  # else Python would try previous[0], previous[1], … for ever
        raise TypeError("previous cannot be iterated over: it is known when the chain runs")

    def __repr__(self) -> str:
        return "previous" + "".join(f"[{step!r}]" for step in self.path)


previous = Previous()


# The steps


@frozen
class PromptStep:
    """What is asked next."""

    kind: ClassVar[Literal["prompt"]] = "prompt"
    template: str


@frozen
class LlmStep:
    """A model answers, and calls tools on the way."""

    kind: ClassVar[Literal["llm"]] = "llm"
    model: str | Model | None
    tool_choice: Choice
    dialect: str | Dialect
    parallel_tool_calls: bool
    output: Any
    approve: Approver | None
    sampling: Sampling
    react: bool


@frozen
class ToolStep:
    """A tool is called by hand."""

    kind: ClassVar[Literal["tool"]] = "tool"
    name: str
    arguments: Mapping[str, Any]


@frozen
class TransformStep:
    """A function of yours."""

    kind: ClassVar[Literal["transform"]] = "transform"
    function: Callable[[Any], Any]


Step: TypeAlias = PromptStep | LlmStep | ToolStep | TransformStep


@frozen
class Stepped:
    """What one step came to. A model's step has an outcome of its own."""

    step: Step
    value: Any
    outcome: Outcome | None = None


@frozen
class ChainOutcome:
    """What a chain came to.

    Attributes:
        output: What the last step came to.
        text: The same as text.
        steps: What each step came to.
        stop_reason: `answered`, or why a model stopped early; the steps after it were not taken then.
        detail: The same in words.
    """

    output: Any
    text: str
    steps: tuple[Stepped, ...]
    stop_reason: StopReason = "answered"
    detail: str = ""

    @property
    def calls(self) -> tuple[CallRecord, ...]:
        """The calls that models made."""
        return tuple(made for outcome in self._outcomes for made in outcome.calls)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation of the last model's step."""
        return self._outcomes[-1].messages if self._outcomes else ()

    @property
    def usage(self) -> Usage:
        return sum((outcome.usage for outcome in self._outcomes), Usage())

    @property
    def _outcomes(self) -> tuple[Outcome, ...]:
        return tuple(stepped.outcome for stepped in self.steps if stepped.outcome is not None)


class Chain:
    """Steps that feed each other.

    Example:
        >>> from toolspeak.testing import ScriptedModel, says
        >>> def get_weather(city: str) -> dict[str, int]:
        ...     "The weather in a city."
        ...     return {"temp": 21}
        >>> model = ScriptedModel([says("Warm.")])
        >>> chain = Chain().with_tools([get_weather]).tool("get_weather", city="Rome")
        >>> chain.prompt("Is {previous} warm?").llm(model).transform(str.upper).run().text
        'WARM.'
    """

    def __init__(self, prompt: str = "") -> None:
        self._steps: tuple[Step, ...] = (PromptStep(template=prompt),) if prompt else ()
        self._toolbox = Toolbox()
        self._system: str | None = None
        self._model: str | Model | None = None
        self._limits = Limits()
        self._deps: Any = None

    @classmethod
    def agent(cls, prompt: str, model: str | Model | None = None) -> "Chain":
        """A chain of one step: a model that works step by step, with the tools that it is given."""
        return cls(prompt)._with_step(_llm(model, react=True))

    def __repr__(self) -> str:
        return f"Chain({' → '.join(step.kind for step in self._steps)})"

    # What holds for all steps

    def with_tools(self, tools: Tools) -> "Chain":
        """More tools, for models and for calls by hand."""
        return self._changed(_toolbox=Toolbox([*self._toolbox, *toolbox_of(tools)]))

    def with_model(self, model: str | Model) -> "Chain":
        """The model of all steps that name none."""
        return self._changed(_model=model)

    def system(self, text: str) -> "Chain":
        """What models are told before everything else."""
        return self._changed(_system=text)

    def with_max_iterations(self, turns: int) -> "Chain":
        """The most turns that a model may take in one step."""
        if turns < 1:
            raise UsageError(f"with_max_iterations takes a number from 1, not {turns!r}")
        return self.with_limits(Limits(turns=turns))

    def with_limits(self, limits: Limits) -> "Chain":
        """Where a model's step stops by itself."""
        return self._changed(_limits=limits)

    def with_deps(self, deps: Any) -> "Chain":
        """What tools get in their `Context`."""
        return self._changed(_deps=deps)

    # Steps

    def prompt(self, template: str) -> "Chain":
        """What is asked next. `{previous}` is what the step before came to; `{name}` what `run(name=…)` says."""
        return self._with_step(PromptStep(template=template))

    def llm(
        self,
        model: str | Model | None = None,
        *,
        tool_choice: Choice = "auto",
        dialect: str | Dialect = "auto",
        parallel_tool_calls: bool = True,
        output: Any = None,
        approve: Approver | None = None,
        sampling: Sampling = Sampling(),  # noqa: B008 (it does not change)
    ) -> "Chain":
        """A model answers what the step before came to, and may call tools; see `Agent` for what is said here."""
        step = _llm(model, tool_choice, dialect, parallel_tool_calls, output, approve, sampling)
        return self._with_step(step)

    def tool(self, name: str, /, **arguments: Any) -> "Chain":
        """Call a tool by hand. An argument may be `previous`, a part of it, or text with `{previous}` in it."""
        return self._with_step(ToolStep(name=name, arguments=arguments))

    def transform(self, function: Callable[[Any], Any]) -> "Chain":
        """A function of yours, sync or async, that gets what the step before came to."""
        return self._with_step(TransformStep(function=function))

    # The four faces

    def run(self, **values: Any) -> ChainOutcome:
        """Take all steps. `values` stand for `{name}` in prompts and in the text of arguments."""
        return portal.call(self.arun(**values))

    async def arun(self, **values: Any) -> ChainOutcome:
        """`run`, in the running event loop."""
        return await played(self._play(values))

    def stream(self, **values: Any) -> Stream[ChainOutcome]:
        """`run`, with the events of all steps as they happen."""
        return Stream(self._play(values))

    def astream(self, **values: Any) -> AsyncStream[ChainOutcome]:
        """`stream`, in the running event loop."""
        return AsyncStream(self._play(values))

    def graph(self) -> str:
        """A drawing of the chain, in mermaid."""
        return flowchart([_drawn(step, self._toolbox) for step in self._steps])

    # Putting together

    def _with_step(self, step: Step) -> "Chain":
        return self._changed(_steps=(*self._steps, step))

    def _changed(self, **changes: Any) -> "Chain":
        new = Chain()
        for name, value in {**vars(self), **changes}.items():
            setattr(new, name, value)
        return new

    def _play(self, values: Mapping[str, Any]) -> "_ChainRun":
        if not self._steps:
            raise UsageError("the chain has no steps; add some: .prompt(…), .llm(…), .tool(…), .transform(…)")
        plans = [self._plan(step) for step in self._steps]
        return _ChainRun(plans, Executor(self._toolbox, deps=self._deps, timeout=TOOL_TIMEOUT), values)

    def _plan(self, step: Step) -> "tuple[Step, Agent | None]":
        """A step, checked before any is taken; a model's with its agent."""
        if isinstance(step, ToolStep):
            choice_of(step.name, self._toolbox)
        if not isinstance(step, LlmStep):
            return step, None
        model = step.model or self._model
        system = "\n\n".join(filter(None, (self._system, REACT if step.react else None))) or None
        agent = Agent(
            model,
            self._toolbox,
            dialect=step.dialect,
            system=system,
            tool_choice=step.tool_choice,
            parallel_tool_calls=step.parallel_tool_calls,
            limits=self._limits,
            sampling=step.sampling,
            approve=step.approve,
            deps=self._deps,
        )
        return step, agent


class _ChainRun(Run[ChainOutcome]):
    """A run of a chain."""

    def __init__(
        self, plans: "Sequence[tuple[Step, Agent | None]]", executor: Executor, values: Mapping[str, Any]
    ) -> None:
        super().__init__()
        self._plans = plans
        self._executor = executor
        self._values = values
        self._taken: list[Stepped] = []
        self._playing: AgentRun | None = None
        self._stopped = False

    async def play(self) -> AsyncGenerator[list[Event]]:
        """Take the steps, one after the other."""
        value: Any = ""
        for number, (step, agent) in enumerate(self._plans, 1):
            if self._stopped:
                break
            outcome: Outcome | None = None
            if isinstance(step, PromptStep):
                value = self._filled(step.template, value)
            elif isinstance(step, TransformStep):
                value = await _transformed(step.function, value)
            elif isinstance(step, ToolStep):
                call = self._call(step, number, value)
                yield [CallReady(call=call), ToolStarted(call_id=call.id)]
                result = await self._result(call, value)
                yield [ToolFinished(result=result)]
                value = _output(result, step, number)
            elif agent is not None:
                self._playing = agent.play(output_text(value), (), RunOptions(output=step.output))
                async for batch in self._playing.batches():
                    yield batch
                outcome = self._playing.ended
                value = outcome.output if step.output is not None else outcome.text
            self._taken.append(Stepped(step=step, value=value, outcome=outcome))
            if outcome is not None and outcome.stop_reason != "answered":
                break
        self._conclude(value)

    def stop(self) -> None:
        """End it early: the step that is being taken, and all after it."""
        self._stopped = True
        if self._playing is not None:
            self._playing.stop()

    def _conclude(self, value: Any) -> None:
        last = self._taken[-1].outcome if self._taken else None
        text = value if isinstance(value, str) else output_text(output_value(value))
        reason: StopReason = last.stop_reason if last else "cancelled" if self._stopped else "answered"
        self.outcome = ChainOutcome(
            output=value,
            text=text,
            steps=tuple(self._taken),
            stop_reason=reason,
            detail=last.detail if last else "",
        )

    def _filled(self, template: str, value: Any) -> str:
        """The template with what it names in its place; braces around anything else stay as they are."""
        known = {**self._values, BEFORE: value}

        def named(match: re.Match[str]) -> str:
            return output_text(output_value(known[match[1]])) if match[1] in known else match[0]

        return NAMED.sub(named, template)

    def _call(self, step: ToolStep, number: int, value: Any) -> ToolCall:
        arguments = {name: self._argument(each, value) for name, each in step.arguments.items()}
        return ToolCall(id=f"step_{number}", name=step.name, arguments=arguments)

    def _argument(self, argument: Any, value: Any) -> Any:
        if isinstance(argument, Previous):
            results = {BEFORE: ToolResult(call_id=BEFORE, output=output_value(value))}
            try:
                return resolved(Ref(call=BEFORE, path=argument.path), results)
            except BrokenReference as error:
                raise ToolError(f"{argument!r}: {error}") from None
        if argument == "{previous}":  # alone, it is the value and not its text
            return output_value(value)
        if isinstance(argument, str):
            return self._filled(argument, value)
        if isinstance(argument, dict):
            return {key: self._argument(each, value) for key, each in cast("dict[str, Any]", argument).items()}
        if isinstance(argument, list):
            return [self._argument(each, value) for each in cast("list[Any]", argument)]
        return argument

    async def _result(self, call: ToolCall, value: Any) -> ToolResult:
        done: Inbox[ToolResult] = Inbox()
        running = self._executor.start(call, {}, 0, done.put)
        try:
            return (await done.take())[0]
        finally:
            running.cancel()


def _llm(
    model: str | Model | None,
    tool_choice: Choice = "auto",
    dialect: str | Dialect = "auto",
    parallel_tool_calls: bool = True,
    output: Any = None,
    approve: Approver | None = None,
    sampling: Sampling | None = None,
    react: bool = False,
) -> LlmStep:
    return LlmStep(
        model=model,
        tool_choice=tool_choice,
        dialect=dialect,
        parallel_tool_calls=parallel_tool_calls,
        output=output,
        approve=approve,
        sampling=sampling or Sampling(),
        react=react,
    )


def _output(result: ToolResult, step: ToolStep, number: int) -> Any:
    if result.error is not None:
        raise ToolError(f"step {number} of the chain, {step.name}: {result.error}")
    return result.output


async def _transformed(function: Callable[[Any], Any], value: Any) -> Any:
    result = function(value)
    return await resolve_pending(result) if is_pending(result) else result


def _drawn(step: Step, toolbox: Toolbox) -> Drawn:
    match step:
        case PromptStep(template=template):
            return Drawn(shape="prompt", label=template)
        case LlmStep(model=model):
            name = model if isinstance(model, str) else model.name if model else "model"
            return Drawn(shape="model", label=name, tools=toolbox.names)
        case ToolStep(name=name):
            return Drawn(shape="tool", label=name)
        case TransformStep(function=function):
            return Drawn(shape="function", label=getattr(function, "__name__", "transform"))
