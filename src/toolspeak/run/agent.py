"""`Agent`: a model, its tools, and the loop between them."""

import secrets
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from toolspeak._frozen import frozen
from toolspeak.dialects import Dialect, dialect
from toolspeak.errors import LimitReached, ToolspeakError, UsageError
from toolspeak.events import ApprovalGiven, ApprovalNeeded, Event, Fact, Limits, RunResumed, RunStarted, ToolChoice
from toolspeak.execution import CALL_DEPTH, Executor
from toolspeak.loop import State, begin, reduce
from toolspeak.messages import Message, user
from toolspeak.messages import system as system_message
from toolspeak.models import Model, Sampling
from toolspeak.run import portal
from toolspeak.run.choice import Choice, Tools, choice_of, toolbox_of
from toolspeak.run.driver import Approver, Driver, Recorder, Setup
from toolspeak.run.graph import Drawn, flowchart
from toolspeak.run.model_lookup import find_model
from toolspeak.run.outcome import Outcome, outcome_of
from toolspeak.run.output import NAME, Output
from toolspeak.run.streams import AsyncStream, Run, Stream, played
from toolspeak.tools import Toolbox

TOOL_TIMEOUT = 300.0
"""Seconds after which a call is given up, where its tool says nothing else."""

DEEPEST = 8
"""How deep agents may call agents."""


class Agent:
    """A model that can call your functions.

    It does not change: it may serve any number of runs, at once and from any thread. A run is played in one of four
    ways that come to the same: `run` and `arun` give the outcome, `stream` and `astream` the events on the way to it.

    Example:
        >>> from toolspeak.testing import ScriptedModel, calls, says
        >>> def double(x: int) -> int:
        ...     "Double a number."
        ...     return 2 * x
        >>> model = ScriptedModel([calls(("double", {"x": 21})), says("It is 42.")])
        >>> outcome = Agent(model, tools=[double]).run("What is twice 21?")
        >>> outcome.text, outcome.calls[0].output
        ('It is 42.', 42)
    """

    def __init__(
        self,
        model: str | Model | None = None,
        tools: Tools = (),
        *,
        dialect: "str | Dialect" = "auto",
        system: str | None = None,
        tool_choice: Choice = "auto",
        parallel_tool_calls: bool = True,
        limits: Limits = Limits(),  # noqa: B008 (it does not change)
        sampling: Sampling = Sampling(),  # noqa: B008 (it does not change)
        approve: Approver | None = None,
        deps: Any = None,
        tool_timeout: float | None = TOOL_TIMEOUT,
    ) -> None:
        """Put an agent together.

        Args:
            model: The name of a model, such as `"local"` or `"openai:gpt-5.1"`, or a model object; the configured one
                if none is given.
            tools: Functions, tools, or a module, package or file to discover them in.
            dialect: How calls are spoken: `"native"`, `"json"`, `"typescript"`, `"python"`, or the best for the model.
            system: What the model is told before everything else.
            tool_choice: `"auto"`, `"none"`, `"required"`, the name of a tool, or names that must all be called.
            parallel_tool_calls: Whether the model may make several calls in one message.
            limits: Where a run stops by itself.
            sampling: How answers are drawn.
            approve: Who is asked about calls of tools that need a yes. Without it such a run pauses.
            deps: What tools get in their `Context`.
            tool_timeout: Seconds after which a call is given up, where its tool says nothing else.
        """
        if approve is not None and not callable(approve):
            raise UsageError(f"approve is a function that is asked about a call, not {approve!r}")
        self.model = find_model(model) if model is None or isinstance(model, str) else model
        self.toolbox = toolbox_of(tools)
        self.dialect = _dialect(dialect, self.model)
        self.system = system
        self.tool_choice = choice_of(tool_choice, self.toolbox)
        self.parallel_tool_calls = parallel_tool_calls
        self.limits = _checked(limits)
        self.sampling = sampling
        self.approve = approve
        self.deps = deps
        self.tool_timeout = tool_timeout

    def __repr__(self) -> str:
        return f"Agent({self.model.name}, {self.dialect.name}, tools: {', '.join(self.toolbox.names) or 'none'})"

    # The four faces

    def run(
        self,
        prompt: str | Message | None = None,
        *,
        messages: Sequence[Message] = (),
        output: Any = None,
        tool_choice: Choice | None = None,
        limits: Limits | None = None,
        deps: Any = None,
        record: Recorder | None = None,
    ) -> Outcome:
        """Ask, and wait for the answer.

        Args:
            prompt: What is asked.
            messages: The conversation so far, as an earlier outcome has it.
            output: The type that the answer must have; `outcome.output` is an object of it.
            tool_choice: Which tools may or must be called, instead of the agent's own choice.
            limits: Where this run stops, instead of the agent's own limits.
            deps: What tools get in their `Context`, instead of the agent's own.
            record: Gets each fact before it is acted upon.

        Returns:
            What the run came to. A run that stops early, at a limit say, has an outcome like any other.

        Raises:
            ModelError: The endpoint failed; `error.outcome` has all there was until then.
            RunPaused: A call needs a yes and there is nobody to ask.
        """
        brief = RunOptions(
            output=output,
            tool_choice=tool_choice,
            limits=limits,
            deps=deps,
            record=record,
            stream=self.gains_by_streaming,
        )
        return portal.call(played(self.play(prompt, messages, brief)))

    async def arun(
        self,
        prompt: str | Message | None = None,
        *,
        messages: Sequence[Message] = (),
        output: Any = None,
        tool_choice: Choice | None = None,
        limits: Limits | None = None,
        deps: Any = None,
        record: Recorder | None = None,
    ) -> Outcome:
        """`run`, in the running event loop."""
        brief = RunOptions(
            output=output,
            tool_choice=tool_choice,
            limits=limits,
            deps=deps,
            record=record,
            stream=self.gains_by_streaming,
        )
        return await played(self.play(prompt, messages, brief))

    def stream(
        self,
        prompt: str | Message | None = None,
        *,
        messages: Sequence[Message] = (),
        output: Any = None,
        tool_choice: Choice | None = None,
        limits: Limits | None = None,
        deps: Any = None,
        record: Recorder | None = None,
    ) -> Stream[Outcome]:
        """`run`, with all events as they happen; the outcome is `stream.outcome` at the end."""
        brief = RunOptions(output=output, tool_choice=tool_choice, limits=limits, deps=deps, record=record)
        return Stream(self.play(prompt, messages, brief))

    def astream(
        self,
        prompt: str | Message | None = None,
        *,
        messages: Sequence[Message] = (),
        output: Any = None,
        tool_choice: Choice | None = None,
        limits: Limits | None = None,
        deps: Any = None,
        record: Recorder | None = None,
    ) -> AsyncStream[Outcome]:
        """`stream`, in the running event loop."""
        brief = RunOptions(output=output, tool_choice=tool_choice, limits=limits, deps=deps, record=record)
        return AsyncStream(self.play(prompt, messages, brief))

    def resume(
        self,
        facts: Sequence[Fact],
        *,
        approvals: Mapping[str, bool | str] | None = None,
        output: Any = None,
        deps: Any = None,
        record: Recorder | None = None,
    ) -> Outcome:
        """Go on with a run from its facts: one that paused, broke off, or was going on in a process that is no more.

        Args:
            facts: The facts, as `RunPaused`, an outcome or a recorder has them.
            approvals: For each call that waits, by its id: yes, no, or a text that says why not.
            output: The type of the answer, if the run was started with one.
            deps: What tools get in their `Context`.
            record: Gets each new fact before it is acted upon.
        """
        return portal.call(self.aresume(facts, approvals=approvals, output=output, deps=deps, record=record))

    async def aresume(
        self,
        facts: Sequence[Fact],
        *,
        approvals: Mapping[str, bool | str] | None = None,
        output: Any = None,
        deps: Any = None,
        record: Recorder | None = None,
    ) -> Outcome:
        """`resume`, in the running event loop."""
        brief = RunOptions(output=output, deps=deps, record=record, stream=self.gains_by_streaming)
        return await played(self._resumed(facts, approvals or {}, brief))

    def chat(self, messages: Sequence[Message] = ()) -> "Chat":
        """A conversation that remembers."""
        return Chat(self, messages)

    def graph(self) -> str:
        """A drawing of the agent, in mermaid."""
        return flowchart([Drawn(shape="model", label=self.model.name, tools=self.toolbox.names)])

    # How a run is set up

    @property
    def gains_by_streaming(self) -> bool:
        """Whether there is something to gain from hearing a message as it is said, though nobody watches."""
        closes = not self.parallel_tool_calls and self.dialect.in_text
        return closes or any(spec.effect == "read" for spec in self.toolbox.specs)

    def play(
        self,
        prompt: str | Message | None,
        messages: Sequence[Message],
        brief: "RunOptions",
        then: "Callable[[Outcome], None] | None" = None,
    ) -> "AgentRun":
        """A run, not yet begun: what the four faces, conversations and chains play."""
        output = None if brief.output is None else Output(brief.output)
        toolbox = output.toolbox(self.toolbox) if output else self.toolbox
        started = RunStarted(
            run_id=secrets.token_hex(8),
            model=self.model.name,
            dialect=self.dialect.name,
            in_text=self.dialect.in_text,
            messages=_conversation(self.system, messages, prompt),
            choice=self._first_choice(brief, output),
            parallel=self.parallel_tool_calls,
            limits=_checked(brief.limits or self.limits),
            output=NAME if output else None,
            tools=toolbox.specs,
        )
        return AgentRun(self._driver(started.run_id, toolbox, brief), [started], output, then)

    def _first_choice(self, brief: "RunOptions", output: Output | None) -> ToolChoice:
        choice = self.tool_choice if brief.tool_choice is None else choice_of(brief.tool_choice, self.toolbox)
        if output is not None and not len(self.toolbox):
            return ToolChoice(mode="named", names=(NAME,))
        return choice

    def _resumed(self, facts: Sequence[Fact], approvals: Mapping[str, bool | str], brief: "RunOptions") -> "AgentRun":
        started = next((fact for fact in facts if isinstance(fact, RunStarted)), None)
        if started is None:
            raise UsageError("these facts hold no beginning of a run; give all of them, from RunStarted on")
        if started.output and brief.output is None:
            raise UsageError("the run was started with output=…; resume it with the same")
        output = None if brief.output is None else Output(brief.output)
        toolbox = output.toolbox(self.toolbox) if output else self.toolbox
        driver = self._driver(started.run_id, toolbox, brief, facts)
        return AgentRun(driver, [RunResumed(), *_answers(facts, approvals)], output)

    def _driver(self, run_id: str, toolbox: Toolbox, brief: "RunOptions", facts: Sequence[Fact] = ()) -> Driver:
        deps = self.deps if brief.deps is None else brief.deps
        setup = Setup(
            model=self.model,
            dialect=self.dialect,
            executor=Executor(toolbox, deps=deps, run_id=run_id, timeout=self.tool_timeout),
            sampling=self.sampling,
            stream=brief.stream,
            approve=self.approve,
            record=brief.record,
        )
        state: State = begin(toolbox.specs)
        for fact in facts:
            state = reduce(state, fact)
        return Driver(setup, state, facts)


@frozen
class RunOptions:
    """What one run is told beside what is asked."""

    output: Any = None
    tool_choice: Choice | None = None
    limits: Limits | None = None
    deps: Any = None
    record: Recorder | None = None
    stream: bool = True


class AgentRun(Run[Outcome]):
    """A run of an agent."""

    def __init__(
        self,
        driver: Driver,
        first: Sequence[Fact],
        output: Output | None,
        then: Callable[[Outcome], None] | None = None,
    ) -> None:
        super().__init__()
        self._then = then
        self._driver = driver
        self._first = first
        self._output = output

    async def play(self) -> AsyncGenerator[list[Event]]:
        """Drive it."""
        if CALL_DEPTH.get() >= DEEPEST:
            raise LimitReached(f"agents call agents {DEEPEST} deep, which has no end; let a tool answer by itself")
        events = self._driver.batches(self._first)
        try:
            async for batch in events:
                yield batch
        finally:
            await events.aclose()
            self._conclude()
        if (error := self._driver.error) is not None:
            if isinstance(error, ToolspeakError):
                error.outcome = self.outcome
            raise error

    def stop(self) -> None:
        """End it early."""
        self._driver.cancel()

    def _conclude(self) -> None:
        state = self._driver.state
        if state.ended is None:
            return
        given = [
            each.result for each in state.done if each.key[0] == NAME and each.result and each.result.error is None
        ]
        value = self._output.value(given[-1].output) if self._output and given and given[-1] else None
        self.outcome = outcome_of(state, tuple(self._driver.facts), value)
        if self._then is not None:
            self._then(self.outcome)


class Chat:
    """A conversation that remembers: each run goes on from the messages of the one before.

    Attributes:
        agent: Who answers.
        messages: The conversation so far.
    """

    def __init__(self, agent: Agent, messages: Sequence[Message] = ()) -> None:
        self.agent = agent
        self.messages = tuple(messages)

    def run(self, prompt: str | Message, *, output: Any = None, tool_choice: Choice | None = None) -> Outcome:
        """Ask, and wait for the answer."""
        return portal.call(self.arun(prompt, output=output, tool_choice=tool_choice))

    async def arun(self, prompt: str | Message, *, output: Any = None, tool_choice: Choice | None = None) -> Outcome:
        """`run`, in the running event loop."""
        brief = RunOptions(output=output, tool_choice=tool_choice, stream=self.agent.gains_by_streaming)
        return await played(self._play(prompt, brief))

    def stream(
        self, prompt: str | Message, *, output: Any = None, tool_choice: Choice | None = None
    ) -> Stream[Outcome]:
        """`run`, with all events as they happen."""
        return Stream(self._play(prompt, RunOptions(output=output, tool_choice=tool_choice)))

    def astream(
        self, prompt: str | Message, *, output: Any = None, tool_choice: Choice | None = None
    ) -> AsyncStream[Outcome]:
        """`stream`, in the running event loop."""
        return AsyncStream(self._play(prompt, RunOptions(output=output, tool_choice=tool_choice)))

    def _play(self, prompt: str | Message, brief: RunOptions) -> Run[Outcome]:
        return self.agent.play(prompt, self.messages, brief, self._remember)

    def _remember(self, outcome: Outcome) -> None:
        self.messages = outcome.messages


def _dialect(said: "str | Dialect", model: Model) -> Dialect:
    if not isinstance(said, str):
        return said
    return dialect(model.dialect if said == "auto" else said)


def _checked(limits: Any) -> Limits:
    """Limits, or what is wrong with what was given for them."""
    if not isinstance(limits, Limits):
        raise UsageError(f"limits are Limits(turns=…, calls=…, …), not {limits!r}")
    for name in ("turns", "calls", "tokens", "seconds", "repeats", "concurrent"):
        value = getattr(limits, name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or value < 0):
            raise UsageError(f"Limits({name}={value!r}): a limit is a number from 0, or None for none")
    return limits


def _conversation(system: str | None, messages: Any, prompt: Any) -> tuple[Message, ...]:
    begun: list[Message] = [message for message in messages if isinstance(message, Message)]
    if len(begun) != len(messages):
        raise UsageError("messages are those of an outcome, or made by toolspeak.messages: user(…) and the like")
    if prompt is not None and not isinstance(prompt, str | Message):
        raise UsageError(f"a prompt is text or a message, not {type(prompt).__name__}")
    if system is not None and not any(message.role == "system" for message in begun):
        begun.insert(0, system_message(system))
    if prompt is not None:
        begun.append(user(prompt) if isinstance(prompt, str) else prompt)
    if not begun or begun[-1].role not in ("user", "tool"):
        raise UsageError("nothing is asked; give a prompt, or messages that end with one of the user's")
    return tuple(begun)


def _answers(facts: Sequence[Fact], approvals: Mapping[str, bool | str]) -> list[Fact]:
    """The answers to what is waiting."""
    asked = [fact.call.id for fact in facts if isinstance(fact, ApprovalNeeded)]
    answered = {fact.call_id for fact in facts if isinstance(fact, ApprovalGiven)}
    waiting = [call_id for call_id in dict.fromkeys(asked) if call_id not in answered]
    answers: list[Fact] = []
    for call_id, answer in approvals.items():
        if call_id not in waiting:
            raise UsageError(f"no call {call_id!r} waits for an approval; waiting: {', '.join(waiting) or 'none'}")
        reason = answer if isinstance(answer, str) else ""
        answers.append(ApprovalGiven(call_id=call_id, approved=answer is True, reason=reason))
    return answers
