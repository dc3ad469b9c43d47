"""`Chain`: steps that feed each other, put together one after the other.

    Chain("What is the weather in {city}?").with_tools([get_weather]).llm("local").transform(str.upper).run(city="Oslo")

A chain does not change: every method returns a new one, so that chains can share a beginning. The result of a step is
the `previous` of the next.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolspeak.dialects import Dialect
from toolspeak.errors import UsageError
from toolspeak.execution import Executor
from toolspeak.limits import Limits
from toolspeak.models import Sampling
from toolspeak.run.agent import TOOL_TIMEOUT_SECONDS, Agent
from toolspeak.run.agent_tools import Tools, collect_tools
from toolspeak.run.approvals import Approver
from toolspeak.run.chain_run import ChainRun, PlannedStep
from toolspeak.run.chain_steps import ChainOutcome, LlmStep, PromptStep, Step, ToolStep, TransformStep
from toolspeak.run.graph import GraphStep, draw_flowchart
from toolspeak.run.inputs import Choice, build_choice, check_deps, check_limits
from toolspeak.run.model_lookup import Models
from toolspeak.run.streams import AsyncStream, Stream
from toolspeak.tools import Toolbox

REACT = (
    "Work step by step. Say in a sentence what you need to find out next, call what finds it out, and look at the "
    "result before you go on. When nothing more is needed, give the answer."
)
"""The system prompt of `Chain.agent`."""


class Chain:
    """Steps that feed each other.

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
        self._deps: Any = None

    @classmethod
    def agent(cls, prompt: str, model: Models = None) -> "Chain":
        """Make a chain of a prompt and a model that works step by step, with the tools that it is given."""
        return cls(prompt)._with_step(LlmStep(model=model, react=True))

    def __repr__(self) -> str:
        return f"Chain({' → '.join(step.kind for step in self._steps)})"

    # Options of all steps

    def with_tools(self, tools: Tools) -> "Chain":
        """Add tools, for models and for the chain's own calls."""
        return self._copy(_toolbox=Toolbox([*self._toolbox, *collect_tools(tools).load()]))

    def with_model(self, model: Models) -> "Chain":
        """Set the model of all `llm` steps that name no model."""
        return self._copy(_model=model)

    def system(self, text: str) -> "Chain":
        """Set the system prompt."""
        return self._copy(_system=text)

    def with_max_iterations(self, turns: int) -> "Chain":
        """Set the most turns that a model may take in one step; other limits stay."""
        if turns < 1:
            raise UsageError(f"with_max_iterations takes a number from 1, not {turns!r}")
        return self.with_limits(replace(self._limits, turns=turns))

    def with_limits(self, limits: Limits) -> "Chain":
        """Set all limits of the steps of models."""
        return self._copy(_limits=check_limits(limits))

    def with_deps(self, deps: Any) -> "Chain":
        """Set what tools get in their `Context`."""
        return self._copy(_deps=deps)

    # Steps

    def prompt(self, template: str) -> "Chain":
        """Add a text. `{previous}` stands for the result of the step before, `{name}` for what `run(name=…)` gives."""
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
    ) -> "Chain":
        """Add a model that answers the result of the step before, and may call tools; for the options see `Agent`.

        Of several models, the next one is asked when one is down.

        If the model ends without the `output` it must give, the chain ends there, with the model's stop reason.
        """
        step = LlmStep(
            model=model,
            tool_choice=tool_choice,
            dialect=dialect,
            parallel_tool_calls=parallel_tool_calls,
            output=output,
            approve=approve,
            sampling=sampling,
        )
        return self._with_step(step)

    def tool(self, name: str, /, **arguments: Any) -> "Chain":
        """Add a call of a tool. An argument may be `previous`, a part of it, or text with `{previous}` in it."""
        return self._with_step(ToolStep(name=name, arguments=arguments))

    def transform(self, function: Callable[[Any], Any]) -> "Chain":
        """Add a function, sync or async, that is called with the result of the step before."""
        return self._with_step(TransformStep(function=function))

    # Running

    def run(self, **values: Any) -> ChainOutcome:
        """Take all steps, and wait for the outcome. `values` replace `{name}` in prompts and in text arguments."""
        return self._prepare(values).wait()

    async def arun(self, **values: Any) -> ChainOutcome:
        """Take all steps in the running event loop; see `run`."""
        return await self._prepare(values).finish()

    def stream(self, **values: Any) -> Stream[ChainOutcome]:
        """Take all steps, and iterate over their events as they happen; see `run`."""
        return Stream(self._prepare(values))

    def astream(self, **values: Any) -> AsyncStream[ChainOutcome]:
        """Take all steps, and iterate over their events in the running event loop; see `run`."""
        return AsyncStream(self._prepare(values))

    def graph(self) -> str:
        """Draw the chain as a mermaid flowchart."""
        return draw_flowchart([_draw_step(step, self._toolbox) for step in self._steps])

    # Building

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
        check_deps(self._toolbox, self._deps)
        plan = [self._plan_step(step) for step in self._steps]
        return ChainRun(plan, Executor(self._toolbox, deps=self._deps, timeout=TOOL_TIMEOUT_SECONDS), values)

    def _plan_step(self, step: Step) -> PlannedStep:
        if isinstance(step, ToolStep):
            build_choice(step.name, self._toolbox)  # refuses a tool that is not there
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
            deps=self._deps,
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
