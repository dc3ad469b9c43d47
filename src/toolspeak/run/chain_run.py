"""`ChainRun`: one run of a chain, step by step."""

import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from toolspeak.errors import ToolError
from toolspeak.events import CallReady, Event, StopReason, ToolFinished, ToolStarted
from toolspeak.execution import Executor
from toolspeak.execution.coroutines import is_pending, resolve_pending
from toolspeak.loop import BrokenReference, resolve_references
from toolspeak.messages import Ref, ToolCall, ToolResult
from toolspeak.outcome import Outcome
from toolspeak.run.agent import Agent
from toolspeak.run.chain_steps import ChainOutcome, Previous, PromptStep, Step, StepResult, ToolStep, TransformStep
from toolspeak.run.inbox import Inbox
from toolspeak.run.run import AgentRun, Run
from toolspeak.tools import output_text, output_value

PLACEHOLDER = re.compile(r"\{(\w+)\}")

PREVIOUS_ID = "previous"
"""The call id under which a reference finds the result of the step before."""

PlannedStep: TypeAlias = tuple[Step, Agent | None]
"""A step, with the agent that takes it if it is the step of a model."""


class ChainRun(Run[ChainOutcome]):
    """A run of a chain."""

    def __init__(self, plan: Sequence[PlannedStep], executor: Executor, values: Mapping[str, Any]) -> None:
        """Prepare a run.

        Args:
            plan: The steps.
            executor: Runs the calls that the chain itself makes.
            values: What stands for `{name}` in templates.
        """
        super().__init__()
        self._plan = plan
        self._executor = executor
        self._values = values
        self._results: list[StepResult] = []
        self._agent_run: AgentRun[Any] | None = None
        self._stopped = False

    async def batches(self) -> AsyncGenerator[list[Event]]:
        """Take the steps one after the other, and yield the events of all of them."""
        self._begin()
        value: Any = ""
        for number, (step, agent) in enumerate(self._plan, 1):
            if self._stopped:
                break
            outcome: Outcome[Any] | None = None
            if isinstance(step, PromptStep):
                value = self._fill(step.template, value)
            elif isinstance(step, TransformStep):
                value = await _transform(step.function, value)
            elif isinstance(step, ToolStep):
                call = self._build_call(step, number, value)
                yield [CallReady(call=call), ToolStarted(call_id=call.id)]
                result = await self._run_call(call)
                yield [ToolFinished(result=result)]
                value = _read_output(result, step, number)
            elif agent is not None:
                # Without an output the chain ends with the stop reason of the model, so nothing is raised here.
                run = agent.prepare(output_text(value), {}, output=step.output, output_optional=True)
                self._agent_run = run
                async for batch in run.batches():
                    yield batch
                outcome = run.outcome
                value = outcome.output if step.output is not None else outcome.text
            self._results.append(StepResult(step=step, value=value, outcome=outcome))
            if outcome is not None and outcome.stop_reason != "answered":
                break
        self._conclude(value)

    def stop(self) -> None:
        """End the run early: the step that is being taken, and all after it."""
        self._stopped = True
        if self._agent_run is not None:
            self._agent_run.stop()

    def _conclude(self, value: Any) -> None:
        last = self._results[-1].outcome if self._results else None
        text = value if isinstance(value, str) else output_text(output_value(value))
        reason: StopReason = last.stop_reason if last else "cancelled" if self._stopped else "answered"
        self._result = ChainOutcome(
            output=value,
            text=text,
            steps=tuple(self._results),
            stop_reason=reason,
            detail=last.detail if last else "",
        )

    def _fill(self, template: str, value: Any) -> str:
        """Replace each `{name}` in a template whose value is known; braces around anything else stay as they are."""
        known = {**self._values, "previous": value}

        def replace(match: re.Match[str]) -> str:
            return output_text(output_value(known[match[1]])) if match[1] in known else match[0]

        return PLACEHOLDER.sub(replace, template)

    def _build_call(self, step: ToolStep, number: int, value: Any) -> ToolCall:
        arguments = {name: self._fill_argument(argument, value) for name, argument in step.arguments.items()}
        return ToolCall(id=f"step_{number}", name=step.name, arguments=arguments)

    def _fill_argument(self, argument: Any, value: Any) -> Any:
        if isinstance(argument, Previous):
            results = {PREVIOUS_ID: ToolResult(call_id=PREVIOUS_ID, output=output_value(value))}
            try:
                return resolve_references(Ref(call=PREVIOUS_ID, path=argument.path), results)
            except BrokenReference as error:
                raise ToolError(f"{argument!r}: {error}") from None
        if argument == "{previous}":  # alone, it is the value and not its text
            return output_value(value)
        if isinstance(argument, str):
            return self._fill(argument, value)
        if isinstance(argument, dict):
            return {key: self._fill_argument(each, value) for key, each in cast("dict[str, Any]", argument).items()}
        if isinstance(argument, list):
            return [self._fill_argument(each, value) for each in cast("list[Any]", argument)]
        return argument

    async def _run_call(self, call: ToolCall) -> ToolResult:
        inbox: Inbox[ToolResult] = Inbox()
        running = self._executor.start(call, {}, 0, inbox.put)
        try:
            return (await inbox.take())[0]
        finally:
            running.cancel()


def _read_output(result: ToolResult, step: ToolStep, number: int) -> Any:
    if result.error is not None:
        raise ToolError(f"step {number} of the chain, {step.name}: {result.error}")
    return result.output


async def _transform(function: Callable[[Any], Any], value: Any) -> Any:
    result = function(value)
    return await resolve_pending(result) if is_pending(result) else result
