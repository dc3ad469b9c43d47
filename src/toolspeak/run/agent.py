"""`Agent`: a model, its tools, and the loop between them."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Unpack, cast, overload

from toolspeak.dialects import Dialect
from toolspeak.execution import Executor
from toolspeak.execution.sandbox import SandboxLimits
from toolspeak.models import DialectChoice, Sampling, check_attachments
from toolspeak.models.model import make_run_id, reads_figures
from toolspeak.models.request_size import TokenRates
from toolspeak.run.agent_tools import Tools, collect_tools
from toolspeak.run.approvals import Approver, Deps, Summarizer
from toolspeak.run.calling_run import CallingRun, Speaker
from toolspeak.run.chat import Chat
from toolspeak.run.code_mode import offer_tools
from toolspeak.run.deadline import find_limits, refuse_late_start, wait_within
from toolspeak.run.fallback import ModelRotation, gains_by_streaming
from toolspeak.run.handoffs import Handoff, restore_handoffs
from toolspeak.run.inputs import (
    AgentModels,
    AgentOptions,
    Choice,
    PlainOptions,
    System,
    ToolChooser,
    ToolErrorChoice,
    TracerOption,
    build_approvals,
    build_choice,
    build_conversation,
    build_escalation,
    check_callback,
    check_chooser,
    check_code,
    check_compaction,
    check_deps,
    check_limits,
    check_options,
    check_prices,
    check_provenance,
    check_sampling,
    check_system,
    check_timeout,
    check_tool_budget,
    check_tool_error_choice,
    check_tracer,
    choose_run_tools,
    find_start,
    set_system,
    show_notes,
)
from toolspeak.run.model_lookup import Models, find_models
from toolspeak.run.output import Output, add_answer, build_first_choice
from toolspeak.run.run import AgentRun
from toolspeak.run.runnable import BaseAgent, D, Facts, OutputType, Prompt, ResumeOptions, RunOptions, RunSetup, T, T_co
from toolspeak.run.search_tools import name_search_tools
from toolspeak.run.sub_agents import SUB_AGENT_TIMEOUT_SECONDS, begin_trace, build_agent_tool
from toolspeak.tools import Context, Tool, Toolbox
from toolspeak.tools.function_tool import ApprovalRule
from toolspeak.values.events import AUTO, Compacted, Fact, HandedOver, Provenance, RunResumed, RunStarted, ToolChoice
from toolspeak.values.limits import Limits
from toolspeak.values.messages import Message
from toolspeak.values.spec import Effect

if TYPE_CHECKING:
    from toolspeak.run.driver import Driver
    from toolspeak.settings import Settings

TOOL_TIMEOUT_SECONDS = 300.0
"""After how long a call is given up, if its tool has no timeout of its own."""

_overrides: "ContextVar[Mapping[Agent[Any], Agent[Any]]]" = ContextVar("_overrides", default={})  # noqa: B039 (never changed)
"""The agents that run instead of others, inside `Agent.override`."""


class AgentChanges(AgentOptions[Deps], total=False):
    """What `Agent.replace` and `Agent.override` can change: all that `Agent` takes but the type of the answer."""

    model: Models
    tools: Tools


class Agent(BaseAgent[T_co, Deps]):
    """A model that can call your functions. The runs of an `Agent[Answer]` have an `Answer` as output,
    and those of an `Agent[Answer, Shop]` take a `Shop` as deps.

    An agent does not change: it may serve any number of runs, at once and from any thread. `run` and `arun` return the
    outcome of a run; `stream` and `astream` yield its events, and then have the same outcome.

    Attributes:
        model: The model that is asked first; `models` are all models, in the order in which they are asked.
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

    # With deps, their type is that of the agent's own; without, each run may have others.
    @overload
    def __init__(
        self: "Agent[None, D]",
        model: Models = None,
        tools: Tools = (),
        *,
        output: None = None,
        deps: D,
        **options: Unpack[PlainOptions[D]],
    ) -> None: ...
    @overload
    def __init__(
        self: "Agent[T, D]",
        model: Models = None,
        tools: Tools = (),
        *,
        output: OutputType[T],
        deps: D,
        **options: Unpack[PlainOptions[D]],
    ) -> None: ...
    @overload
    def __init__(
        self: "Agent[None, Any]",
        model: Models = None,
        tools: Tools = (),
        *,
        output: None = None,
        **options: Unpack[PlainOptions[Any]],
    ) -> None: ...
    @overload
    def __init__(
        self: "Agent[T, Any]",
        model: Models = None,
        tools: Tools = (),
        *,
        output: OutputType[T],
        **options: Unpack[PlainOptions[Any]],
    ) -> None: ...
    @overload
    def __init__(
        self: "Agent[Any, Any]",
        model: Models = None,
        tools: Tools = (),
        *,
        output: Any,
        **options: Unpack[AgentOptions[Any]],
    ) -> None: ...
    def __init__(
        self,
        model: Models = None,
        tools: Tools = (),
        *,
        output: Any = None,
        dialect: str | Dialect = "auto",
        system: System | None = None,
        choose_tools: ToolChooser | None = None,
        tool_choice: Choice = "auto",
        parallel_tool_calls: bool = True,
        limits: Limits = Limits(),  # noqa: B008 (it does not change)
        sampling: Sampling = Sampling(),  # noqa: B008 (it does not change)
        approve: Approver | None = None,
        summarize: Summarizer | None = None,
        deps: Any = None,
        tool_timeout: float | None = TOOL_TIMEOUT_SECONDS,
        on_tool_error: ToolErrorChoice | None = None,
        tool_budget: int | None = None,
        escalate: str | Sequence[str] = (),
        code: bool | SandboxLimits = False,
        tracer: TracerOption = None,
        settings: "Settings | None" = None,
        provenance: Provenance = "ask",
    ) -> None:
        """Create an agent.

        Args:
            model: The name of a model, such as `"local"` or `"openai:gpt-5.1"`, or a model object; the configured model
                if left out. With a list, the agent asks the next one when one is down, breaks off or is rate-limited.
            tools: Functions, tools, a module, package, file or folder to discover them in, or MCP servers, such as
                `"mcp:npx some-server"`, `"mcp:https://host/mcp"`, `"mcp.json"` or `mcp.tools(…)`.
            output: The type of the agent's answers: a pydantic model, a dataclass, or another type that pydantic
                validates. `run(output=…)` sets another type for one run.
            dialect: How the model writes calls: `"native"`, `"json"`, `"typescript"`, `"python"`, your own dialect, or
                `"auto"` for the best one known for the model.
            system: The system prompt, or a function of the `Context` that returns it and is called when a run starts.
                A string is used if the conversation has no system prompt yet; the result of a function replaces it.
            choose_tools: Chooses the tools of each run: a function of the `Context` and of the agent's tools that
                returns the tools to offer. It is called when a run starts, and again when the run is resumed.
            tool_choice: `"auto"`, `"none"`, `"required"`, the name of a tool, or names that must all be called.
            parallel_tool_calls: Whether the model may make several calls in one message.
            limits: The limits of a run.
            sampling: Temperature, maximum tokens and other sampling options.
            approve: A function that decides about calls that need approval, and about calls that are quoted from a
                result (`CallQuoted`). Without it, the run pauses at a call that needs approval, and refuses a quoted
                call.
            summarize: A function that summarizes the messages that are dropped from a conversation longer than
                `Limits.context`. Without it, the model writes the summary.
            deps: An object for tools, in their `Context`.
            tool_timeout: Seconds before a call times out, if its tool has no timeout of its own.
            on_tool_error: What happens after an exception in a tool, other than a `ToolError`: `"tell"` tells the
                model, and the run continues; `"raise"` ends the run with it. By default the model object decides: a
                `ScriptedModel` raises, all others tell.
            tool_budget: The most tokens that tools may take in a request. Descriptions are shortened to fit; if that is
                not enough, the model is shown the tools that the prompt may be about, and can search for the others.
            escalate: When to ask the next of several models for a message although the first one answers: `"loop"`
                (it repeats itself), `"malformed"` (its calls cannot run), `"missing"` (a required call is missing), or
                several of them: `"loop,malformed,missing"`. After that message, the first model continues.
            code: Whether the model writes programs that call the tools as functions, or the limits of these programs.
            tracer: An OpenTelemetry tracer or tracer provider, which gets the spans of each run, or `Tracing(…)`.
            settings: The settings in which the model's name is looked up, from `toolspeak.settings.load(path)`; by
                default the user's file and the environment. Settings of a project are read only if you pass them here.
            provenance: What happens to a call with a decisive value from an untrusted source, after the model was shown
                a result that is declared as foreign: `"ask"` asks `approve` and pauses without it, `"refuse"` tells
                the model, `"off"` runs the call. See `tool(result=…, decisive=…)`.
        """
        check_callback(approve, "approve", "a call")
        check_callback(summarize, "summarize", "messages")
        self.models = find_models(model, settings)
        self.model, self.system = self.models[0], check_system(system)
        self._tools, self.choose_tools = collect_tools(tools), check_chooser(choose_tools)
        self.output, self._answer = output, None if output is None else Output(output)
        self._dialects = AgentModels(self.models, dialect)
        self.tool_choice: Choice = tool_choice
        if (fixed := self._fixed_tools) is not None:
            self.tool_choice = build_choice(tool_choice, fixed)
        self.parallel_tool_calls = parallel_tool_calls
        self.limits, self.sampling = check_limits(limits), check_sampling(sampling)
        self.approve, self.summarize, self.deps = approve, summarize, deps
        self._token_rates = TokenRates()
        self.tool_timeout, self.tool_budget = check_timeout(tool_timeout), check_tool_budget(tool_budget)
        self.escalation = build_escalation(escalate, self.models)
        self.code, self.tracing = check_code(code), check_tracer(tracer)
        self.on_tool_error = check_tool_error_choice(on_tool_error, self.model)
        self.provenance = check_provenance(provenance)
        self._given: dict[str, Any] = {
            "model": self.models,
            "tools": self._tools,
            "output": output,
            "dialect": dialect,
            "system": system,
            "choose_tools": choose_tools,
            "tool_choice": tool_choice,
            "parallel_tool_calls": parallel_tool_calls,
            "limits": limits,
            "sampling": sampling,
            "approve": approve,
            "summarize": summarize,
            "deps": deps,
            "tool_timeout": tool_timeout,
            "on_tool_error": on_tool_error,
            "tool_budget": tool_budget,
            "escalate": escalate,
            "code": code,
            "tracer": tracer,
            "settings": settings,
            "provenance": provenance,
        }

    def __repr__(self) -> str:
        models = ", ".join(f"{model.name}, {used.name}" for model, used in zip(self.models, self.dialects, strict=True))
        return f"Agent({models}, tools: {', '.join((self._tools.loaded or self.own_tools).names) or 'none'})"

    @property
    def dialect(self) -> Dialect:
        """The dialect of the first model. With `"auto"`, the first run may change it by asking a server."""
        return self._dialects.dialects[0]

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """The dialects of all models; with `"auto"`, as far as they are known."""
        return self._dialects.dialects

    @property
    def dialect_choice(self) -> DialectChoice:
        """The dialect as far as it is known, and why it was chosen. Nothing is sent."""
        return self._dialects.choice

    async def choose_dialect(self) -> DialectChoice:
        """Return the dialect of the next run, and why it was chosen.

        With `"auto"`, if nothing is known about a model, its server is asked once whether it supports native tool
        calls. Each run does this before its first request, and before the first request to another of its models.
        """
        return await self._dialects.choose()

    def replace(self, **changes: Unpack[AgentChanges[Deps]]) -> "Agent[T_co, Deps]":
        """Return a copy of this agent with these changes. MCP servers that have started are shared.

        Examples:
            >>> from toolspeak.testing import ScriptedModel, says
            >>> agent = Agent(ScriptedModel([says("Hello.")]), system="Be short.")
            >>> agent.replace(model=ScriptedModel([says("Hi.")])).run("Greet me.").text
            'Hi.'
        """
        options: dict[str, Any] = {**self._given, **changes}
        return cast("Agent[T_co, Deps]", Agent(**options))

    @contextmanager
    def override(self, **changes: Unpack[AgentChanges[Deps]]) -> "Generator[Agent[T_co, Deps]]":
        """Change this agent inside the `with` block, as `replace(**changes)` would.

        Use it in tests of programs that keep an agent in a module. Runs, threads and tasks that started before are not
        affected.

        Examples:
            >>> from toolspeak.testing import ScriptedModel, says
            >>> agent = Agent("openai:gpt-5.1")
            >>> with agent.override(model=ScriptedModel([says("Hi.")])):
            ...     agent.run("Greet me.").text
            'Hi.'
        """
        other = self.replace(**changes)
        token = _overrides.set({**_overrides.get(), self: other})
        try:
            yield other
        finally:
            _overrides.reset(token)

    def chat(self, messages: Sequence[Message] = (), *, compacted: Compacted | None = None) -> Chat[T_co, Deps]:
        """Start a conversation, in which each run continues from the previous one."""
        return Chat(self, messages, compacted)

    def as_tool(
        self,
        name: str,
        description: str = "",
        *,
        prompt: Callable[..., Any] | None = None,
        effect: Effect = "idempotent",
        approve: bool | ApprovalRule = False,
        timeout: float | None = SUB_AGENT_TIMEOUT_SECONDS,
    ) -> Tool[..., Any]:
        """Return the agent as a tool for other agents: its argument is a prompt, and its result is the answer.

        The events of the agent's run are also events of the run that calls the tool, as `NestedDelta` and `NestedFact`,
        and its tokens and cost are counted there. `Limits.depth` limits how deeply such agents may be nested.

        Args:
            name: The name of the tool.
            description: What the tool is for, for the model that may call it.
            prompt: A function whose parameters become those of the tool, and which returns the prompt; without it, the
                tool has one parameter, `prompt`.
            effect: What a call does, as for `tool`. An interrupted call continues from the facts of the inner run,
                whose own calls keep their effects; with `"once"` it is given up instead.
            approve: Whether calls need approval.
            timeout: Seconds before a call times out.

        Examples:
            >>> from toolspeak.testing import ScriptedModel, calls, says
            >>> expert = Agent(ScriptedModel([says("About 709,000.")]))
            >>> question = calls(("expert", {"prompt": "People in Oslo?"}))
            >>> model = ScriptedModel([question, says("709,000 people.")])
            >>> agent = Agent(model, [expert.as_tool("expert", "Knows cities.")])
            >>> outcome = agent.run("How large is Oslo?")
            >>> outcome.calls[0].output, outcome.text
            ('About 709,000.', '709,000 people.')
        """
        return build_agent_tool(self, name, description, prompt=prompt, effect=effect, approve=approve, timeout=timeout)

    def as_handoff(self, name: str, description: str = "", *, approve: bool | ApprovalRule = False) -> Tool[..., Any]:
        """Return a tool with which another agent hands its conversation over to this agent.

        This agent uses its own models, system prompt and tools. The limits and the type of the answer stay
        those of the run. `outcome.agent` is `name` if this agent gave the answer.

        Args:
            name: The name of the tool.
            description: When to hand over, for the model that may call the tool.
            approve: Whether a handoff needs approval.

        Examples:
            >>> from toolspeak.testing import ScriptedModel, calls, says
            >>> clerk = ScriptedModel([says(""), says("You paid twice.")])
            >>> billing = Agent(clerk, system="You know the invoices.")
            >>> handoff = billing.as_handoff("billing", "For invoices.")
            >>> desk = Agent(ScriptedModel([calls(("billing", {}))]), [handoff])
            >>> outcome = desk.run("Why is my bill so high?")
            >>> outcome.text, outcome.agent
            ('You paid twice.', 'billing')
        """
        return Tool(Handoff(self, name), name=name, description=description, effect="idempotent", approve=approve)

    async def build_speaker(self, context: Context[Any], run: CallingRun, handed: HandedOver | None = None) -> Speaker:
        """Build what lets this agent continue the conversation of a run."""
        if (other := _overrides.get().get(self)) is not None:
            return await other.build_speaker(context, run, handed)
        started, state = run.state.run, run.state
        if started is not None:
            check_prices(started.limits, self.models)
        check_attachments(self.model, state.history)
        answer = [run.speaker.toolbox[started.output]] if started is not None and started.output else []
        deps = self.deps if context.deps is None else context.deps
        own_context = Context(deps=deps, run_id=context.run_id, data=context.data)
        tools = await choose_run_tools(self.choose_tools, await self._tools.aload(), own_context)
        dialect = await self._dialects.choose_first(handed)
        toolbox = Toolbox([*offer_tools(self, tools, state.history, handed), *answer])
        executor = self._make_executor(toolbox, deps, context.run_id, context.data)
        speaker = self._make_speaker(executor, dialect, self.approve, run.speaker.streams)
        speaker.approve = speaker.approve or run.speaker.approve
        return speaker

    def prepare(self, prompt: Prompt, options: RunOptions, **setup: Unpack[RunSetup]) -> AgentRun[Any]:
        """Build a run without starting it. `run`, `stream`, conversations and chains then drive it.

        Arguments are checked here. The dialect of an unknown model and the functions `system` and `choose_tools` are
        evaluated when the run starts, within `Limits.seconds`.
        """
        check_options(options, RunOptions)
        if (other := self._find_other(options)) is not None:
            return other.prepare(prompt, {**options, "model": None}, **setup)
        answer, fixed = self._find_answer(setup), self._fixed_tools
        durability, outer = setup.get("durability"), setup.get("outer")
        messages = build_conversation(self.system, options.get("messages", ()), prompt)
        compacted = check_compaction(options.get("compacted"), messages)
        check_attachments(self.model, messages)
        limits = check_limits(given) if (given := options.get("limits")) else self.limits
        check_prices(limits, self.models, () if self.choose_tools else self.own_tools)
        if fixed is not None:
            check_deps(fixed, self._find_deps(options))
            self._first_choice(options, fixed, answer)
        run_id = make_run_id(self.model) if durability is None else durability.run_id

        async def ask_before_start() -> tuple[Toolbox, Dialect, tuple[Message, ...]]:
            if fixed is not None and not callable(self.system):
                return fixed, await self._dialects.choose_first(setup.get("earlier")), messages
            context = self._make_context(run_id, options)
            toolbox = await choose_run_tools(self.choose_tools, await self._tools.aload(), context)
            dialect = await self._dialects.choose_first(setup.get("earlier"))
            return toolbox, dialect, await set_system(self.system, messages, context)

        async def begin() -> "tuple[Driver, Sequence[Fact]]":
            asked, ended = await wait_within(limits, ask_before_start(), None, durability)
            toolbox, dialect, opening = asked or (fixed or self.own_tools, self.dialect, messages)
            opening = show_notes(opening, toolbox)
            has_tools = ended is None or fixed is not None
            offered = add_answer(offer_tools(self, toolbox, opening), answer)
            started = RunStarted(
                run_id=run_id,
                model=self.model.name,
                dialect=dialect.name,
                in_text=dialect.in_text,
                has_approver=self._find_approver(options, setup) is not None,
                messages=opening,
                choice=self._first_choice(options, offered if self.code else toolbox, answer) if has_tools else AUTO,
                parallel=self.parallel_tool_calls,
                limits=limits,
                output=None if answer is None else answer.tool.name,
                tools=offered.specs,
                compacted=compacted,
                tool_budget=None if self.code else self.tool_budget,
                search_tools=() if self.tool_budget is None else name_search_tools(offered),
                guided=True,
                escalation=self.escalation,
                provenance=self.provenance,
                exposed=setup.get("exposed", False) or (outer is not None and outer.is_exposed),
                figures=reads_figures(self.model) or getattr(dialect, "figures", False),
            )
            driver = self._build_driver(run_id, offered, dialect, options, setup)
            return driver, [started] if ended is None else [started, ended]

        return AgentRun(begin, answer, setup.get("output_optional", False), on_end=setup.get("on_end"))

    def prepare_resume(self, facts: Facts, options: ResumeOptions, **setup: Unpack[RunSetup]) -> AgentRun[Any]:
        """Build, without starting it, a run that continues from saved facts; see `prepare`."""
        check_options(options, ResumeOptions)
        if (other := self._find_other(options)) is not None:
            return other.prepare_resume(facts, {**options, "model": None}, **setup)
        answer, durability = self._find_answer(setup), setup.get("durability")
        started = find_start(facts, has_output=answer is not None)
        limits = check_limits(options.get("limits") or find_limits(facts))
        check_prices(limits, self.models, () if self.choose_tools else self.own_tools)
        if (fixed := self._fixed_tools) is not None:
            check_deps(fixed, self._find_deps(options))
        refuse_late_start(facts, asks=fixed is None or callable(self.system))
        first = [RunResumed(limits=options.get("limits")), *build_approvals(facts, options.get("approvals") or {})]

        def build(tools: Toolbox, dialect: Dialect) -> "Driver":
            toolbox = add_answer(offer_tools(self, tools, started.messages, started), answer)
            return self._build_driver(started.run_id, toolbox, dialect, options, setup, facts)

        async def ask_before_start() -> "Driver | None":
            context = self._make_context(started.run_id, options)
            tools = await choose_run_tools(self.choose_tools, await self._tools.aload(), context)
            driver = build(tools, await self._dialects.choose_first(started))
            await restore_handoffs(driver, facts, context)
            return driver

        async def begin() -> "tuple[Driver, Sequence[Fact]]":
            driver, ended = await wait_within(limits, ask_before_start(), None, durability)
            if driver is None:
                driver = build(fixed or self.own_tools, self.dialect)
            return driver, first if ended is None else [*first, ended]

        return AgentRun(begin, answer, setup.get("output_optional", False), facts=facts, on_end=setup.get("on_end"))

    def _find_other(self, options: RunOptions | ResumeOptions) -> "Agent[T_co, Deps] | None":
        """Return the agent that runs instead of this one: where it is overridden, or with the model of a run."""
        other, model = _overrides.get().get(self), options.get("model")
        return other if model is None else (other or self).replace(model=model)

    def _find_answer(self, setup: RunSetup) -> Output | None:
        """Return the typed answer of a run: the one that the run was given, or the agent's own."""
        return self._answer if (output := setup.get("output")) is None else Output(output)

    def _find_approver(self, options: RunOptions | ResumeOptions, setup: RunSetup) -> Approver | None:
        if "approve" in options:  # None, too: then the run pauses
            return options["approve"]
        outer = setup.get("outer")
        return outer.approve if self.approve is None and outer is not None else self.approve

    def _find_deps(self, options: RunOptions | ResumeOptions) -> Any:
        return self.deps if (deps := options.get("deps")) is None else deps

    def _make_context(self, run_id: str, options: RunOptions | ResumeOptions) -> Context[Any]:
        return Context(deps=self._find_deps(options), run_id=run_id, data=options.get("data") or {})

    def _first_choice(self, options: RunOptions, toolbox: Toolbox, answer: Output | None) -> ToolChoice:
        choice = options.get("tool_choice")
        return build_first_choice(self.tool_choice if choice is None else choice, toolbox, answer)

    def _build_driver(
        self,
        run_id: str,
        toolbox: Toolbox,
        dialect: Dialect,
        options: RunOptions | ResumeOptions,
        setup: RunSetup,
        facts: Facts = (),
    ) -> "Driver":
        from toolspeak.run.driver import Driver  # imported with the first run

        outer, watched = setup.get("outer"), setup.get("watched", True)
        trace, approve = begin_trace(self.tracing, outer, facts), self._find_approver(options, setup)
        executor = self._make_executor(toolbox, self._find_deps(options), run_id, options.get("data"))
        return Driver(
            self._make_speaker(executor, dialect, approve, watched),
            facts=facts,
            background=setup.get("background", ()) if outer is None else outer.background,
            watched=watched,
            record=options.get("record") if trace is None else trace.follow(options.get("record")),
            publish=None if outer is None else outer.publish,
            durability=setup.get("durability") if outer is None else outer.durability,
            trace=trace,
        )

    def _make_executor(self, toolbox: Toolbox, deps: Any, run_id: str, data: Mapping[str, Any] | None) -> Executor:
        from toolspeak.run.search_tools import OWN_TOOLS  # imported with the first run

        return Executor(toolbox, OWN_TOOLS, deps=deps, run_id=run_id, data=data, timeout=self.tool_timeout)

    def _make_speaker(self, executor: Executor, dialect: Dialect, approve: Approver | None, watched: bool) -> Speaker:
        from toolspeak.run.compaction import Compactor  # imported with the first run, as all that reads its answers

        models, specs = self._dialects.pair(dialect, self.sampling), executor.toolbox.specs
        gains = gains_by_streaming(specs, [each.dialect for each in models], parallel=self.parallel_tool_calls)
        return Speaker(
            ModelRotation(models),
            executor,
            Compactor(self._token_rates, self.summarize),
            approve,
            streams=watched or gains,
            raises_tool_errors=self.on_tool_error == "raise",
        )
