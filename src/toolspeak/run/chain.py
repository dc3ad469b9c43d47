"""`Chain`: steps that feed each other, put together one after the other.

    Chain("What is the weather in {city}?").with_tools([get_weather]).llm("local").transform(str.upper).run(city="Oslo")

A chain does not change: every method returns a new one, so that chains can share a beginning. The result of a step is
the `previous` of the next. `Chain` puts steps together, `ChainRun` takes them.

A result keeps its origin in the prompts that it is filled into: the template is the program's, what `run(name=…)` gives
is the user's, and `{previous}` is what it was before, a tool's or a model's words. So a page that a step has read is
not taken for something that the user has said.
"""

import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, cast

from toolspeak.dialects import Dialect
from toolspeak.execution import Executor
from toolspeak.execution.coroutines import is_pending, resolve_pending
from toolspeak.loop import BrokenReference, Exposure, find_exposure, find_words_origin, resolve_references
from toolspeak.models import Sampling
from toolspeak.run.agent import TOOL_TIMEOUT_SECONDS, Agent
from toolspeak.run.agent_tools import Tools, collect_tools
from toolspeak.run.approvals import Approver
from toolspeak.run.graph import GraphStep, draw_flowchart
from toolspeak.run.inbox import Inbox
from toolspeak.run.inputs import Choice, check_deps, check_limits, check_provenance
from toolspeak.run.model_lookup import Models
from toolspeak.run.run import AgentRun, Run
from toolspeak.run.streams import AsyncStream, Stream
from toolspeak.tools import Toolbox, output_text, output_value
from toolspeak.values.errors import ToolError, UsageError
from toolspeak.values.events import (
    CallReady,
    Event,
    Provenance,
    RunStarted,
    StopReason,
    ToolFinished,
    ToolStarted,
    Usage,
)
from toolspeak.values.frozen import frozen
from toolspeak.values.limits import Limits
from toolspeak.values.messages import Message, Ref, ToolCall, ToolResult, compose
from toolspeak.values.origin import Origin, Stretch, find_weakest
from toolspeak.values.outcome import CallRecord, Outcome


class Previous:
    """The result of the step before, or a part of it: `previous`, `previous["temp"]`, `previous["days"][0]`."""

    def __init__(self, *path: str | int) -> None:
        self.path = path

    def __getitem__(self, step: str | int) -> "Previous":
        return Previous(*self.path, step)

    def __iter__(self) -> Iterator[Any]:  # else Python would try previous[0], previous[1], … for ever
        raise TypeError("previous cannot be iterated over: its value is known when the chain runs")

    def __repr__(self) -> str:
        return "previous" + "".join(f"[{step!r}]" for step in self.path)


previous = Previous()


@frozen
class PromptStep:
    """A text, filled in from a template."""

    kind: ClassVar[Literal["prompt"]] = "prompt"
    template: str


@frozen
class LlmStep:
    """A model answers, and may call tools before it does."""

    kind: ClassVar[Literal["llm"]] = "llm"
    model: Models = None
    tool_choice: Choice = "auto"
    dialect: str | Dialect = "auto"
    parallel_tool_calls: bool = True
    output: Any = None
    approve: Approver | None = None
    sampling: Sampling = Sampling()
    react: bool = False
    provenance: Provenance = "ask"


@frozen
class ToolStep:
    """The chain itself calls a tool."""

    kind: ClassVar[Literal["tool"]] = "tool"
    name: str
    arguments: Mapping[str, Any]


@frozen
class TransformStep:
    """A function of the user's is called with the result of the step before."""

    kind: ClassVar[Literal["transform"]] = "transform"
    function: Callable[[Any], Any]


Step: TypeAlias = PromptStep | LlmStep | ToolStep | TransformStep


@frozen
class StepResult:
    """The result of one step. The step of a model also has the outcome of its run."""

    step: Step
    value: Any
    outcome: Outcome[Any] | None = None


@frozen
class ChainOutcome:
    """The result of a chain.

    Attributes:
        output: The result of the last step.
        text: The output as text.
        steps: The result of each step.
        stop_reason: `answered`, or why a model stopped early; the steps after that model did not run.
        detail: Details of the stop reason.
    """

    output: Any
    text: str
    steps: tuple[StepResult, ...]
    stop_reason: StopReason = "answered"
    detail: str = ""

    def __str__(self) -> str:
        return (
            self.text
            if self.stop_reason == "answered"
            else f"{self.text}\n[{self.stop_reason}: {self.detail}]".lstrip()
        )

    @property
    def calls(self) -> tuple[CallRecord, ...]:
        """The calls that models made."""
        return tuple(call for outcome in self._outcomes for call in outcome.calls)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation of the last `llm` step."""
        return self._outcomes[-1].messages if self._outcomes else ()

    @property
    def usage(self) -> Usage:
        """Tokens of all steps."""
        return sum((outcome.usage for outcome in self._outcomes), Usage())

    @property
    def cost(self) -> float | None:
        """The cost of all steps in US dollars; None if the price of one of them is unknown."""
        costs = [outcome.cost for outcome in self._outcomes]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None

    @property
    def _outcomes(self) -> tuple[Outcome[Any], ...]:
        return tuple(result.outcome for result in self.steps if result.outcome is not None)


PLACEHOLDER = re.compile(r"\{(\w+)\}")

PREVIOUS_ID = "previous"
"""The call id under which a reference finds the result of the step before."""

PlannedStep: TypeAlias = tuple[Step, Agent | None]
"""A step, with the agent that takes it if it is the step of a model."""


class StepValue(NamedTuple):
    """What a step resulted in.

    Attributes:
        value: The value.
        origin: Where it came from; of a prompt that was filled in, the weakest origin in it.
        stretches: The stretches of such a prompt.
    """

    value: Any
    origin: Origin
    stretches: tuple[Stretch, ...] = ()

    def write(self) -> Sequence[Stretch]:
        """Return the value as the text that a model is shown."""
        return self.stretches or (Stretch(output_text(output_value(self.value)), self.origin),)


class ChainRun(Run[ChainOutcome]):
    """A run of a chain."""

    def __init__(self, plan: Sequence[PlannedStep], executor: Executor, values: Mapping[str, Any]) -> None:
        """Prepare a run. `executor` runs the calls that the chain itself makes; `values` replace `{name}`."""
        super().__init__()
        self._plan = plan
        self._executor = executor
        self._values = values
        self._results: list[StepResult] = []
        self._agent_run: AgentRun[Any] | None = None
        self._stopped = False
        self._exposed = False  # whether anything was shown that is declared as foreign
        self._background: list[Message] = []  # of earlier steps

    async def batches(self) -> AsyncGenerator[list[Event]]:
        """Take the steps one after the other, and yield the events of all of them."""
        self._begin()
        current = StepValue("", Origin.PROGRAM)
        for number, (step, agent) in enumerate(self._plan, 1):
            if self._stopped:
                break
            outcome: Outcome[Any] | None = None
            if isinstance(step, PromptStep):
                current = self._fill(step.template, current)
            elif isinstance(step, TransformStep):
                result = step.function(current.value)
                current = StepValue(await resolve_pending(result) if is_pending(result) else result, current.origin)
            elif isinstance(step, ToolStep):
                arguments = {name: self._fill_argument(each, current) for name, each in step.arguments.items()}
                call = ToolCall(id=f"step_{number}", name=step.name, arguments=arguments)
                yield [CallReady(call=call), ToolStarted(call_id=call.id)]
                finished = await self._run_call(call)
                yield [ToolFinished(result=finished)]
                if finished.error is not None:
                    raise ToolError(f"step {number} of the chain, {step.name}: {finished.error}")
                owner = self._executor.toolbox[step.name].spec.result
                self._exposed = self._exposed or owner == "foreign"
                current = StepValue(finished.output, Origin.OWN_RESULT if owner == "own" else Origin.FOREIGN_RESULT)
            elif agent is not None:
                # Without an output the chain ends with the stop reason of the model, so nothing is raised here.
                prompt = Message(role="user", parts=(compose(current.write()),))
                run = agent.prepare(
                    prompt,
                    {},
                    output=step.output,
                    output_optional=True,
                    exposed=self._exposed,
                    background=tuple(self._background),
                )
                self._agent_run = run
                async for batch in run.batches():
                    yield batch
                outcome = run.outcome
                started = next(fact for fact in outcome.facts if isinstance(fact, RunStarted))
                origin = find_words_origin(outcome.messages, started.tools)
                self._exposed = self._exposed or find_exposure(outcome.messages) is Exposure.FOREIGN
                self._background += outcome.messages
                current = StepValue(outcome.output if step.output is not None else outcome.text, origin)
            self._results.append(StepResult(step=step, value=current.value, outcome=outcome))
            if outcome is not None and outcome.stop_reason != "answered":
                break
        last, value = self._results[-1].outcome if self._results else None, current.value
        self._result = ChainOutcome(
            output=value,
            text=value if isinstance(value, str) else output_text(output_value(value)),
            steps=tuple(self._results),
            stop_reason=last.stop_reason if last else "cancelled" if self._stopped else "answered",
            detail=last.detail if last else "",
        )

    def stop(self) -> None:
        """End the run early: the step that is being taken, and all after it."""
        self._stopped = True
        if self._agent_run is not None:
            self._agent_run.stop()

    def _fill(self, template: str, previous: "StepValue") -> "StepValue":
        """Replace each `{name}` in a template whose value is known; braces around anything else stay as they are."""
        known = {name: StepValue(value, Origin.USER) for name, value in self._values.items()}
        known[PREVIOUS_ID] = previous
        filled: list[Stretch] = []
        place = 0
        for match in PLACEHOLDER.finditer(template):
            if match[1] in known:
                filled.append(Stretch(template[place : match.start()], Origin.PROGRAM))
                filled += known[match[1]].write()
                place = match.end()
        filled.append(Stretch(template[place:], Origin.PROGRAM))
        used = [each.origin for each in filled if each.text]
        return StepValue("".join([each.text for each in filled]), find_weakest(used), tuple(filled))

    def _fill_argument(self, argument: Any, previous: "StepValue") -> Any:
        if isinstance(argument, Previous):
            results = {PREVIOUS_ID: ToolResult(call_id=PREVIOUS_ID, output=output_value(previous.value))}
            try:
                return resolve_references(Ref(call=PREVIOUS_ID, path=argument.path), results)
            except BrokenReference as error:
                raise ToolError(f"{argument!r}: {error}") from None
        if argument == "{previous}":  # alone, it is the value and not its text
            return output_value(previous.value)
        if isinstance(argument, str):
            return self._fill(argument, previous).value
        if isinstance(argument, dict):
            return {key: self._fill_argument(each, previous) for key, each in cast("dict[str, Any]", argument).items()}
        if isinstance(argument, list):
            return [self._fill_argument(each, previous) for each in cast("list[Any]", argument)]
        return argument

    async def _run_call(self, call: ToolCall) -> ToolResult:
        inbox: Inbox[ToolResult] = Inbox()
        running = self._executor.start(call, {}, 0, inbox.put)
        try:
            return (await inbox.take())[0]
        finally:
            running.cancel()


REACT = (
    "Work step by step. Say in a sentence what you need to find out next, call what finds it out, and look at the "
    "result before you go on. When nothing more is needed, give the answer."
)
"""The system prompt of `Chain.agent`."""


class Chain:
    """A sequence of steps, each of which gets the result of the previous one.

    Examples:
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
        self._model: Models = None
        self._limits = Limits()

    @classmethod
    def agent(cls, prompt: str, model: Models = None) -> "Chain":
        """Create a chain of a prompt and a model with these tools."""
        return cls(prompt)._with_step(LlmStep(model=model, react=True))

    def __repr__(self) -> str:
        return f"Chain({' → '.join(step.kind for step in self._steps)})"

    def with_tools(self, tools: Tools) -> "Chain":
        """Add tools, for models and for the `tool` steps of the chain."""
        return self._copy(_toolbox=Toolbox([*self._toolbox, *collect_tools(tools).load()]))

    def with_model(self, model: Models) -> "Chain":
        """Set the model of all `llm` steps that name no model."""
        return self._copy(_model=model)

    def system(self, text: str) -> "Chain":
        """Set the system prompt."""
        return self._copy(_system=text)

    def with_max_iterations(self, turns: int) -> "Chain":
        """Set the maximum number of turns of a model in one step; other limits stay."""
        if turns < 1:
            raise UsageError(f"with_max_iterations takes a number from 1, not {turns!r}")
        return self.with_limits(replace(self._limits, turns=turns))

    def with_limits(self, limits: Limits) -> "Chain":
        """Set all limits of `llm` steps."""
        return self._copy(_limits=check_limits(limits))

    def prompt(self, template: str) -> "Chain":
        """Add a prompt. `{previous}` stands for the previous result, `{name}` for the value in `run(name=…)`."""
        return self._with_step(PromptStep(template=template))

    def llm(
        self,
        model: Models = None,
        *,
        tool_choice: Choice = "auto",
        dialect: str | Dialect = "auto",
        parallel_tool_calls: bool = True,
        output: Any = None,
        approve: Approver | None = None,
        sampling: Sampling = Sampling(),  # noqa: B008 (it does not change)
        provenance: Provenance = "ask",
    ) -> "Chain":
        """Add a model that answers the previous result, and may call tools; for the options see `Agent`.

        In a list of models, the next one is asked when one is down.

        If the model ends without its required `output`, the chain ends there, with the model's stop reason.
        """
        step = LlmStep(
            model=model,
            tool_choice=tool_choice,
            dialect=dialect,
            parallel_tool_calls=parallel_tool_calls,
            output=output,
            approve=approve,
            sampling=sampling,
            provenance=check_provenance(provenance),
        )
        return self._with_step(step)

    def tool(self, name: str, /, **arguments: Any) -> "Chain":
        """Add a call of a tool. An argument may be `previous`, a part of it, or a string with `{previous}` in it."""
        return self._with_step(ToolStep(name=name, arguments=arguments))

    def transform(self, function: Callable[[Any], Any]) -> "Chain":
        """Add a function, sync or async, that is called with the previous result."""
        return self._with_step(TransformStep(function=function))

    def run(self, **values: Any) -> ChainOutcome:
        """Run all steps, and wait for the outcome. `values` replace `{name}` in prompts and in string arguments."""
        return self._prepare(values).wait()

    async def arun(self, **values: Any) -> ChainOutcome:
        """Run all steps in the running event loop; see `run`."""
        return await self._prepare(values).finish()

    def stream(self, **values: Any) -> Stream[ChainOutcome]:
        """Run all steps, and iterate over their events as they happen; see `run`."""
        return Stream(self._prepare(values))

    def astream(self, **values: Any) -> AsyncStream[ChainOutcome]:
        """Run all steps, and iterate over their events in the running event loop; see `run`."""
        return AsyncStream(self._prepare(values))

    def graph(self) -> str:
        """Draw the chain as a mermaid flowchart."""
        return draw_flowchart([_draw_step(step, self._toolbox) for step in self._steps])

    def _with_step(self, step: Step) -> "Chain":
        return self._copy(_steps=(*self._steps, step))

    def _copy(self, **changes: Any) -> "Chain":
        new = Chain()
        for name, value in {**vars(self), **changes}.items():
            setattr(new, name, value)
        return new

    def _prepare(self, values: Mapping[str, Any]) -> ChainRun:
        """Build a run that has not begun. All steps are checked before any is taken."""
        if not self._steps:
            raise UsageError("the chain has no steps; add some: .prompt(…), .llm(…), .tool(…), .transform(…)")
        check_deps(self._toolbox, None)
        plan = [self._plan_step(step) for step in self._steps]
        return ChainRun(plan, Executor(self._toolbox, timeout=TOOL_TIMEOUT_SECONDS), values)

    def _plan_step(self, step: Step) -> PlannedStep:
        if isinstance(step, ToolStep):
            _ = self._toolbox[step.name]  # refuses a tool that is not there
        if not isinstance(step, LlmStep):
            return step, None
        agent = Agent(
            self._model if step.model is None else step.model,
            self._toolbox,
            dialect=step.dialect,
            system="\n\n".join(filter(None, (self._system, REACT if step.react else None))) or None,
            tool_choice=step.tool_choice,
            parallel_tool_calls=step.parallel_tool_calls,
            limits=self._limits,
            sampling=step.sampling,
            approve=step.approve,
            provenance=step.provenance,
        )
        return step, agent


def _draw_step(step: Step, toolbox: Toolbox) -> GraphStep:
    match step:
        case PromptStep(template=template):
            return GraphStep(shape="prompt", label=template)
        case LlmStep(model=model):
            models = model if isinstance(model, Sequence) and not isinstance(model, str) else [model]
            names = [each if isinstance(each, str) else each.name if each else "model" for each in models]
            return GraphStep(shape="model", label=", else ".join(names), tools=toolbox.names)
        case ToolStep(name=name):
            return GraphStep(shape="tool", label=name)
        case TransformStep(function=function):
            return GraphStep(shape="function", label=getattr(function, "__name__", "transform"))
