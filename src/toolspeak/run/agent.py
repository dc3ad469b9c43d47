"""`Agent`: a model, its tools, and the loop between them."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from toolspeak.dialects import DIALECTS, Dialect
from toolspeak.errors import UsageError
from toolspeak.events import Fact, Limits, RunResumed, RunStarted, ToolChoice
from toolspeak.execution import Executor
from toolspeak.log import LOG
from toolspeak.messages import Message
from toolspeak.models import DialectChoice, Model, Sampling, check_attachments
from toolspeak.models.dialect_choice import GUESS_CURE, choose_model_dialect, get_dialect_choice
from toolspeak.outcome import Outcome
from toolspeak.run.chat import Chat
from toolspeak.run.driver import Approver, Driver
from toolspeak.run.fallback import pair_sampling
from toolspeak.run.graph import GraphStep, draw_flowchart
from toolspeak.run.inputs import (
    Choice,
    Tools,
    build_approvals,
    build_choice,
    build_conversation,
    build_toolbox,
    check_callback,
    check_limits,
    check_prices,
    check_sampling,
    check_system,
    check_timeout,
    find_dialect,
    find_start,
)
from toolspeak.run.model_lookup import find_models
from toolspeak.run.output import Output
from toolspeak.run.resumable import Resumable, ResumeOptions
from toolspeak.run.run import AgentRun
from toolspeak.run.runnable import Prompt, Runnable, RunOptions
from toolspeak.settings import Settings
from toolspeak.tools import Toolbox

TOOL_TIMEOUT_SECONDS = 300.0
"""After how long a call is given up, if its tool has no timeout of its own."""


class Agent(Runnable, Resumable):
    """A model that can call your functions.

    An agent does not change: it may serve any number of runs, at once and from any thread. `run` and `arun` return the
    outcome of a run, `stream` and `astream` its events and then the same outcome.

    Attributes:
        model: The model that is asked first.
        models: All models, in the order in which they are asked.
        dialect: The dialect of the first model; `dialects` are those of all.

    Examples:
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
        model: str | Model | Sequence[str | Model] | None = None,
        tools: Tools = (),
        *,
        dialect: str | Dialect = "auto",
        system: str | None = None,
        tool_choice: Choice = "auto",
        parallel_tool_calls: bool = True,
        limits: Limits = Limits(),  # noqa: B008 (it does not change)
        sampling: Sampling = Sampling(),  # noqa: B008 (it does not change)
        approve: Approver | None = None,
        deps: Any = None,
        tool_timeout: float | None = TOOL_TIMEOUT_SECONDS,
        settings: Settings | None = None,
    ) -> None:
        """Put an agent together.

        Args:
            model: The name of a model, such as `"local"` or `"openai:gpt-5.1"`, or a model object; the configured model
                if left out. Of several, the next one is asked when one is down, cuts its answer or limits its rate.
            tools: Functions, tools, or a module, package, file or folder to discover them in.
            dialect: How the model writes calls: `"native"`, `"json"`, `"typescript"`, `"python"`, a dialect of your
                own, or `"auto"` for the best one known for the model.
            system: The system prompt.
            tool_choice: `"auto"`, `"none"`, `"required"`, the name of a tool, or names that must all be called.
            parallel_tool_calls: Whether the model may make several calls in one message.
            limits: Where a run stops by itself.
            sampling: The temperature, the most tokens of an answer, and the like.
            approve: Called with each call of a tool that needs an approval, and with each call that is quoted from a
                result (`CallQuoted`). Without it, the run pauses at a call that needs an
                approval, and refuses a quoted call.
            deps: What tools get in their `Context`.
            tool_timeout: Seconds after which a call is given up, if its tool has no timeout of its own.
            settings: The settings in which the model's name is looked up, from `toolspeak.settings.load(path)`; by
                default the user's file and the environment. The settings of a project are not read unless named here.
        """
        check_callback(approve, "approve", "a call")
        if settings is not None and not isinstance(cast("object", settings), Settings):
            raise UsageError(f"settings are those of toolspeak.settings.load(…), not {type(settings).__name__}")
        self.models = find_models(model, settings)
        self.model = self.models[0]
        self.toolbox = build_toolbox(tools)
        self._is_dialect_given = dialect != "auto"
        self._dialect = find_dialect(dialect, self.model)
        self._other_dialects = tuple(find_dialect(dialect, each) for each in self.models[1:])
        self.system = check_system(system)
        self.tool_choice = build_choice(tool_choice, self.toolbox)
        self.parallel_tool_calls = parallel_tool_calls
        self.limits = check_limits(limits)
        self.sampling = check_sampling(sampling)
        self.approve = approve
        self.deps = deps
        self.tool_timeout = check_timeout(tool_timeout)

    def __repr__(self) -> str:
        models = ", ".join(f"{model.name}, {used.name}" for model, used in zip(self.models, self.dialects, strict=True))
        return f"Agent({models}, tools: {', '.join(self.toolbox.names) or 'none'})"

    @property
    def dialect(self) -> Dialect:
        """How the model writes calls. For `"auto"`, it may change with the first run, if a server must be asked."""
        return self._dialect if self._is_dialect_given else find_dialect("auto", self.model)

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """The dialects of all models. Only of the first one, a server may be asked for it."""
        return (self.dialect, *self._other_dialects)

    @property
    def dialect_choice(self) -> DialectChoice:
        """The dialect as far as it is known, and why it was chosen. Nothing is sent."""
        if self._is_dialect_given:
            return DialectChoice(name=self._dialect.name, reason="given with the agent")
        return get_dialect_choice(self.model)

    async def choose_dialect(self) -> DialectChoice:
        """Return the dialect of the next run, and why it was chosen.

        With `"auto"`, the server of a model of which nothing is known is asked once whether it supports native tool
        calls. Each run does this before its first request.
        """
        return self.dialect_choice if self._is_dialect_given else await choose_model_dialect(self.model)

    async def _choose_and_log_dialect(self) -> Dialect:
        choice = await self.choose_dialect()
        cure = f"; {GUESS_CURE}" if choice.is_guess else ""
        LOG.info("%s: %s dialect, %s%s", self.model.name, choice.name, choice.reason, cure)
        return find_dialect(choice.name, self.model)

    def _kept_dialect(self, started: RunStarted | None) -> Dialect | None:
        """Return the dialect of an earlier run on the same model, which its continuation keeps; None without one."""
        if self._is_dialect_given:
            return self._dialect
        if started is None or started.model != self.model.name or started.dialect not in DIALECTS:
            return None
        return find_dialect(started.dialect, self.model)

    def chat(self, messages: Sequence[Message] = ()) -> Chat:
        """Begin a conversation, in which each run goes on from the one before."""
        return Chat(self, messages)

    def graph(self) -> str:
        """Draw the agent and its tools as a mermaid flowchart."""
        label = ", else ".join(model.name for model in self.models)
        return draw_flowchart([GraphStep(shape="model", label=label, tools=self.toolbox.names)])

    def prepare(
        self,
        prompt: Prompt,
        options: RunOptions,
        *,
        output: Any = None,
        output_optional: bool = False,
        watched: bool = True,
        on_end: Callable[[Outcome[Any]], None] | None = None,
        earlier: RunStarted | None = None,
    ) -> AgentRun[Any]:
        """Build a run without starting it. `run`, `stream`, conversations and chains then drive it.

        Args:
            prompt: What is asked.
            options: The options of the run.
            output: The type that the answer must have.
            output_optional: Whether the outcome may lack a typed answer.
            watched: Whether somebody takes the events of the run as they happen.
            on_end: Called with the outcome.
            earlier: The start of the run before this one in a conversation, which keeps its dialect.
        """
        _refuse_unknown_options(options, RunOptions)
        check_callback(options.get("record"), "record", "each fact")
        answer = None if output is None else Output(output)
        limits = check_limits(options.get("limits") or self.limits)
        check_prices(limits, self.models)
        toolbox = self._with_answer(answer)
        messages = build_conversation(self.system, options.get("messages", ()), prompt)
        check_attachments(self.model, messages)
        kept = self._kept_dialect(earlier)
        dialect = self.dialect if kept is None else kept
        started = RunStarted(
            run_id=secrets.token_hex(8),
            model=self.model.name,
            dialect=dialect.name,
            in_text=dialect.in_text,
            has_approver=self.approve is not None,
            messages=messages,
            choice=self._first_choice(options.get("tool_choice"), answer),
            parallel=self.parallel_tool_calls,
            limits=limits,
            output=None if answer is None else answer.tool.name,
            tools=toolbox.specs,
        )
        driver = self._build_driver(started.run_id, toolbox, options, watched, kept)
        return AgentRun(driver, [started], answer, output_optional=output_optional, on_end=on_end)

    def prepare_resume(
        self,
        facts: Sequence[Fact],
        options: ResumeOptions,
        *,
        output: Any = None,
        output_optional: bool = False,
        watched: bool = True,
    ) -> AgentRun[Any]:
        """Build, without starting it, a run that continues from saved facts; see `prepare`."""
        _refuse_unknown_options(options, ResumeOptions)
        check_callback(options.get("record"), "record", "each fact")
        answer = None if output is None else Output(output)
        started = find_start(facts, has_output=answer is not None)
        check_prices(started.limits, self.models)
        kept = self._kept_dialect(started)
        driver = self._build_driver(started.run_id, self._with_answer(answer), options, watched, kept, facts)
        first = [RunResumed(), *build_approvals(facts, options.get("approvals") or {})]
        return AgentRun(driver, first, answer, output_optional=output_optional)

    def _with_answer(self, answer: Output | None) -> Toolbox:
        """Return the tools of the agent, and the one that gives the typed answer."""
        return self.toolbox if answer is None else Toolbox([*self.toolbox, answer.tool])

    def _first_choice(self, choice: Choice | None, answer: Output | None) -> ToolChoice:
        """Return the choice for the first message. Without other tools, that message can only be the typed answer."""
        checked = self.tool_choice if choice is None else build_choice(choice, self.toolbox)
        if answer is not None and not len(self.toolbox):
            return ToolChoice(mode="named", names=(answer.tool.name,))
        return checked

    def _build_driver(
        self,
        run_id: str,
        toolbox: Toolbox,
        options: RunOptions | ResumeOptions,
        watched: bool,
        kept_dialect: Dialect | None,
        facts: Sequence[Fact] = (),
    ) -> Driver:
        deps = options.get("deps")
        deps = self.deps if deps is None else deps
        dialects = self.dialects if kept_dialect is None else (kept_dialect, *self._other_dialects)
        return Driver(
            pair_sampling(tuple(zip(self.models, dialects, strict=True)), self.sampling),
            toolbox.specs,
            Executor(toolbox, deps=deps, run_id=run_id, timeout=self.tool_timeout),
            facts=facts,
            stream=watched or self._gains_by_streaming(),
            approve=self.approve,
            record=options.get("record"),
            choose_dialect=self._choose_and_log_dialect if kept_dialect is None else None,
        )

    def _gains_by_streaming(self) -> bool:
        """Whether streaming a message saves time though nobody watches: calls start, or the stream ends, early."""
        ends_early = not self.parallel_tool_calls and any(dialect.in_text for dialect in self.dialects)
        return ends_early or any(spec.effect == "read" for spec in self.toolbox.specs)


def _refuse_unknown_options(options: Mapping[str, Any], known: type[RunOptions] | type[ResumeOptions]) -> None:
    names = known.__annotations__
    for name in options:
        if name not in names:
            raise TypeError(
                f"unexpected keyword argument {name!r}; known are: output, output_optional, {', '.join(names)}"
            )
