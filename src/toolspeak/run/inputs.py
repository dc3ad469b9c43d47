"""What users pass to an agent, checked and brought into the form that the loop works with.

The dialect of a model of which nothing is known is a guess until the server of the model has been asked. The first
model is asked about when a run begins, another one when a message is passed on to it.

The type of a `Context` says whether deps are needed: `Context[Shop]` in a run without deps is refused before anything
is sent.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypedDict, Union, cast, get_args

from toolspeak.dialects import DIALECTS, Dialect, dialect
from toolspeak.execution.sandbox import SandboxLimits, has_monty
from toolspeak.execution.user_functions import call_function
from toolspeak.loop.compaction import replace_system
from toolspeak.models import DialectChoice, Model, Sampling, find_model_cost, match_dialect
from toolspeak.models.model import (
    GUESS_CURE,
    ask_model_context,
    choose_model_dialect,
    get_dialect_choice,
    must_ask_context,
)
from toolspeak.models.prices import is_price_list_installed
from toolspeak.run.agent_tools import Tools, collect_tools
from toolspeak.run.approvals import Approver, Deps, Summarizer, build_answer
from toolspeak.run.fallback import AnsweringModel
from toolspeak.tools import Context, Tool, Toolbox
from toolspeak.tools.schema_function import NOTE_ATTRIBUTE
from toolspeak.tools.toolbox import explain_unknown_tool
from toolspeak.values.errors import UsageError
from toolspeak.values.events import (
    AUTO,
    Allow,
    ApprovalGiven,
    ApprovalNeeded,
    Compacted,
    Escalation,
    EscalationCause,
    Fact,
    HandedOver,
    NestedFact,
    Provenance,
    RunStarted,
    ToolChoice,
    Usage,
    join_ids,
)
from toolspeak.values.limits import Limits
from toolspeak.values.log import LOG
from toolspeak.values.messages import Message, Part, Text, compose, system, user
from toolspeak.values.origin import Origin, Stretch
from toolspeak.values.package import suggest_install

if TYPE_CHECKING:
    from toolspeak.settings import Settings
    from toolspeak.telemetry import Tracer, Tracing

Choice: TypeAlias = str | Sequence[str] | ToolChoice
"""`"auto"`, `"none"`, `"required"`, the name of a tool, or names of tools that must all be called."""

System: TypeAlias = str | Callable[[Context[Deps]], str | Awaitable[str | None] | None]
"""A system prompt, or a function, sync or async, that is called with the `Context` of each run and returns one."""

ToolChooser: TypeAlias = Callable[[Context[Any], Toolbox], Tools | Awaitable[Tools]]
"""A function, sync or async, that is called with the `Context` of each run and the agent's tools, and returns the tools
of that run."""

TracerOption: TypeAlias = Union["Tracer", None]
"""A tracer or a tracer provider of OpenTelemetry, a `Tracing` with options, or nothing."""


ToolErrorChoice: TypeAlias = Literal["tell", "raise"]
"""What an exception in a tool does: the model is told, or the run ends with it."""


class PlainOptions(TypedDict, Generic[Deps], total=False):
    """The options of `Agent` beside its model, its tools, its deps and the type of its answer; see `Agent`."""

    dialect: str | Dialect
    system: "System[Deps] | None"
    choose_tools: "ToolChooser | None"
    tool_choice: Choice
    parallel_tool_calls: bool
    limits: Limits
    sampling: Sampling
    approve: "Approver[Deps] | None"
    summarize: Summarizer | None
    tool_timeout: float | None
    on_tool_error: "ToolErrorChoice | None"
    tool_budget: int | None
    escalate: str | Sequence[str]
    code: bool | SandboxLimits
    tracer: TracerOption
    settings: "Settings | None"
    provenance: Provenance


class AgentOptions(PlainOptions[Deps], total=False):
    """The options of `Agent` beside its model, its tools and the type of its answer; see `Agent`."""

    deps: Deps | None


def build_choice(choice: Choice, toolbox: Toolbox) -> ToolChoice:
    """Return the tool choice, after checking that the toolbox has every tool that it names."""
    if isinstance(choice, str):
        if choice in ("auto", "none", "required"):
            choice = ToolChoice(mode=choice)
        else:
            choice = ToolChoice(mode="named", names=(choice,))
    elif not isinstance(cast("object", choice), ToolChoice | Sequence):
        raise UsageError(f"tool_choice is 'auto', 'none', 'required', or names of tools, not {_describe(choice)}")
    elif not isinstance(choice, ToolChoice):
        choice = ToolChoice(mode="named", names=tuple(dict.fromkeys(choice)))
    for name in choice.names:
        if name not in toolbox:
            cure = "tool_choice is 'auto', 'none', 'required', or names of tools"
            raise UsageError(f"tool_choice: {explain_unknown_tool(name, toolbox.names)}; {cure}")
    if choice.mode == "required" and not len(toolbox):
        raise UsageError("tool_choice='required', but there are no tools; give some with tools=[…]")
    return AUTO if choice.mode == "named" and not choice.names else choice


def find_dialect(name: str | Dialect, model: Model) -> Dialect:
    """Return the dialect of that name, as it fits the model; for `"auto"`, the best one known for the model.

    For `"auto"` nothing is sent, even if the server could still be asked (`choose_model_dialect`).
    """
    if not isinstance(name, str) and not hasattr(name, "render"):
        raise UsageError(f"dialect is a name, such as 'python', or a dialect object, not {_describe(name)}")
    found = dialect(model.dialect if name == "auto" else name) if isinstance(name, str) else name
    return match_dialect(found, model)


WHOLE_LIMITS = ("calls", "context", "result_tokens")
"""Limits by which lists and texts are cut, so that they must be whole numbers."""


def check_limits(limits: Any) -> Limits:
    """Return the limits if each of them is a number from 0 or None."""
    if not isinstance(limits, Limits):
        raise UsageError(f"limits are Limits(turns=…, calls=…, …), not {limits!r}")
    for each in fields(Limits):
        name, value = each.name, getattr(limits, each.name)
        if value is None or (type(value) is int and value >= 0):
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise UsageError(f"Limits({name}={value!r}): a limit is a number from 0, or None for no limit")
        if name in WHOLE_LIMITS and isinstance(value, float):
            raise UsageError(f"Limits({name}={value!r}): this limit is a whole number, or None for no limit")
    return limits


AGENT_ATTRIBUTE = "__toolspeak_agent__"
"""The attribute of a tool's function that holds the agent that the tool asks or hands the conversation over to."""


def check_prices(limits: Limits, models: Sequence[Model], tools: Iterable[Tool[..., Any]] = ()) -> None:
    """Refuse a limit of the cost if the price of a model is unknown, or of a model of the agents behind the tools."""
    if limits.cost is None:
        return
    known = [*models, *_list_models(tools, set())]
    unknown = list(dict.fromkeys(model.name for model in known if find_model_cost(model, Usage()) is None))
    if not unknown:
        return
    installing = "" if is_price_list_installed() else f"install the price list ({suggest_install('prices')}), or "
    raise UsageError(
        f"Limits(cost={limits.cost!r}): the price of {', '.join(unknown)} is unknown, so that the limit could not be "
        f"kept; {installing}say what tokens cost: connect(name, at=…, cost=function of the Usage), or a method "
        "cost(usage) of your own model"
    )


def _list_models(tools: Iterable[Tool[..., Any]], seen: set[int]) -> Iterator[Model]:
    """Yield the models of the agents behind these tools, and of those behind their tools, as far as they are known."""
    for each in tools:
        agent: Any = getattr(each.function, AGENT_ATTRIBUTE, None)
        if agent is None or id(agent) in seen:
            continue
        seen.add(id(agent))
        yield from agent.models
        if agent.choose_tools is None:
            yield from _list_models(agent.own_tools, seen)


def check_deps(tools: Iterable[Tool[..., Any]], deps: Any) -> None:
    """Refuse a tool that needs deps in its `Context`, if the run has none."""
    needing = None if deps is not None else next((tool for tool in tools if tool.deps_type is not None), None)
    if needing is not None:
        kind = needing.deps_type
        name = kind.__name__ if isinstance(kind, type) and not get_args(kind) else inspect.formatannotation(kind)
        raise UsageError(
            f"{needing.name} takes deps (Context[{name}]), and the run has none; give deps=… to the agent or to the run"
        )


def check_model(model: Any) -> Model:
    """Return the model if it can be asked."""
    if isinstance(model, type) or not isinstance(model, Model):
        raise UsageError(f"model is a name, such as 'openai:gpt-5.1', or a model object, not {_describe(model)}")
    return model


def check_settings(settings: Any) -> "Settings | None":
    """Return the settings if they are settings, or left out."""
    if settings is None:
        return None
    from toolspeak.settings import Settings

    if not isinstance(settings, Settings):
        raise UsageError(f"settings are those of toolspeak.settings.load(…), not {type(settings).__name__}")
    return settings


def check_system(value: Any) -> System | None:
    """Return the system prompt if it is a text, a function that can take the `Context`, or left out."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, type) or not callable(value):
        raise UsageError(f"system must be a string, or a function of the Context returning one, not {_describe(value)}")
    _check_arguments(value, "system", "the Context of the run")
    return cast("System", value)


def check_system_text(value: Any) -> str | None:
    """Return what a `system` function returned, if it is a text or None."""
    if value is not None and not isinstance(value, str):
        raise UsageError(f"the system function returned {_describe(value)}; it must return a text, or None for none")
    return value


async def set_system(value: System | None, messages: tuple[Message, ...], context: Context[Any]) -> tuple[Message, ...]:
    """Return the conversation with what the `system` function of an agent returns, if it has one."""
    if value is None or isinstance(value, str):
        return messages
    return replace_system(messages, check_system_text(await call_function(value, context)))


async def choose_run_tools(chooser: ToolChooser | None, toolbox: Toolbox, context: Context[Any]) -> Toolbox:
    """Return the tools of a run: those of the agent, or what its `choose_tools` function returns."""
    chosen = toolbox if chooser is None else await collect_tools(await call_function(chooser, context, toolbox)).aload()
    check_deps(chosen, context.deps)
    return chosen


def check_chooser(function: Any) -> ToolChooser | None:
    """Return the function that chooses the tools of a run, if it can take the `Context` and the tools."""
    check_callback(function, "choose_tools", "the Context of a run and the agent's tools")
    if function is not None:
        _check_arguments(function, "choose_tools", "the Context of the run", "the agent's tools")
    return function


def _check_arguments(function: Callable[..., Any], name: str, *arguments: str) -> None:
    """Refuse a function that cannot be called with that many arguments."""
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):  # a function in C may have none to read
        return
    try:
        signature.bind(*arguments)
    except TypeError as error:
        raise UsageError(f"{name} is called with {' and '.join(arguments)}: {error}") from None


def check_sampling(sampling: Any) -> Sampling:
    """Return the sampling if each of its settings has the right type."""
    if not isinstance(sampling, Sampling):
        raise UsageError(f"sampling is Sampling(temperature=…, max_tokens=…, …), not {_describe(sampling)}")
    for name, kinds, wanted in _SAMPLING_TYPES:
        value: Any = getattr(sampling, name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, kinds)):
            raise UsageError(f"Sampling({name}={value!r}): {wanted}")
    if not all(isinstance(text, str) for text in cast("tuple[object, ...]", sampling.stop)):
        raise UsageError(f"Sampling(stop={sampling.stop!r}): a tuple of texts")
    return sampling


_SAMPLING_TYPES: tuple[tuple[str, Any, str], ...] = (
    ("max_tokens", int, "a whole number"),
    ("temperature", int | float, "a number"),
    ("top_p", int | float, "a number"),
    ("seed", int, "a whole number"),
    ("stop", (tuple, list), "a tuple of texts"),
    ("extra", Mapping, "a dict of further fields of the request body"),
)


def check_timeout(seconds: Any) -> float | None:
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds <= 0):
        raise UsageError(f"tool_timeout is a number of seconds above 0, or None for no timeout, not {seconds!r}")
    return seconds


def check_tool_budget(tokens: Any) -> int | None:
    if tokens is not None and (isinstance(tokens, bool) or not isinstance(tokens, int) or tokens <= 0):
        raise UsageError(f"tool_budget is a whole number of tokens above 0, or None for no budget, not {tokens!r}")
    return tokens


def build_escalation(causes: Any, models: Sequence[Model]) -> Escalation | None:
    """Return when another model is asked than the first, from names of causes; None if there is none, or no model."""
    names = [name.strip() for name in causes.split(",")] if isinstance(causes, str) else causes
    known = get_args(EscalationCause)
    if not isinstance(names, Sequence) or any(name not in known for name in cast("Sequence[Any]", names) if name):
        raise UsageError(f"escalate is one or several of {', '.join(known)}, as in 'loop,missing', not {causes!r}")
    chosen = tuple(cause for cause in known if cause in names)
    return Escalation(causes=chosen, models=tuple(model.name for model in models)) if chosen and models[1:] else None


def check_code(code: Any) -> bool | SandboxLimits:
    """Return whether a model writes programs, and what a program may use, if programs can be run here."""
    if not isinstance(code, bool | SandboxLimits):
        raise UsageError(f"code is True, False, or SandboxLimits(seconds=…, …) for its programs, not {_describe(code)}")
    if code is not False and not has_monty():
        raise UsageError("code=True runs programs in monty, which is not installed: pip install toolspeak[sandbox]")
    return code


def check_callback(function: Any, name: str, use: str) -> None:
    """Refuse something that is given as a function and cannot be called."""
    if function is not None and not callable(function):
        raise UsageError(f"{name} is a function that is called with {use}, not {_describe(function)}")


def _describe(value: Any) -> str:
    """Describe a wrong value on one line: a short one as it is, another by its type."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    text = repr(value)
    return text if len(text) <= 40 else f"a {type(value).__name__}"


def build_conversation(system_prompt: System | None, messages: Any, prompt: Any) -> tuple[Message, ...]:
    """Join the system prompt, if it is a text, the messages so far and the prompt into the first messages of a run."""
    if isinstance(messages, str) or not isinstance(messages, Sequence):
        raise UsageError(f"messages is a list of messages, not {_describe(messages)}")
    messages = cast("Sequence[object]", messages)
    conversation: list[Message] = [message for message in messages if isinstance(message, Message)]
    if len(conversation) != len(messages):
        raise UsageError("messages are those of an outcome, or made by toolspeak.user(…) and the like")
    if prompt is not None and not isinstance(prompt, str | Message):
        raise UsageError(f"a prompt must be a string or a message, not {type(prompt).__name__}")
    if isinstance(system_prompt, str) and not any(message.role == "system" for message in conversation):
        conversation.insert(0, system(system_prompt))
    if prompt is not None:
        conversation.append(user(prompt) if isinstance(prompt, str) else prompt)
    if not conversation or conversation[-1].role not in ("user", "tool"):
        raise UsageError("nothing is asked; give a prompt, or messages that end with one of the user's")
    return tuple(conversation)


def show_notes(messages: tuple[Message, ...], tools: Iterable[Tool[..., Any]]) -> tuple[Message, ...]:
    """Return a conversation whose system prompt ends with what the MCP servers of these tools say of themselves."""
    notes: dict[tuple[str, str] | None, None] = {getattr(each.function, NOTE_ATTRIBUTE, None): None for each in tools}
    notes.pop(None, None)
    first = messages[0] if messages and messages[0].role == "system" else Message(role="system", parts=())
    own = tuple(part for part in first.parts if not _is_note(part))
    if not notes and len(own) == len(first.parts):
        return messages
    stretches: list[Stretch] = []
    for server, text in filter(None, notes):
        quoted = "\n".join(f"> {line}" for line in text.split("\n"))
        stretches.append(
            Stretch(f"\n\nThe MCP server {server} says of its tools (notes, no requests):\n", Origin.PROGRAM)
        )
        stretches.append(Stretch(quoted, Origin.FOREIGN_DESCRIPTION))
    parts = (*own, compose(stretches)) if stretches else own
    others = messages[1:] if first is messages[0] else messages
    return (replace(first, parts=parts), *others) if parts else others


def _is_note(part: Part) -> bool:
    return isinstance(part, Text) and any(span.origin is Origin.FOREIGN_DESCRIPTION for span in part.spans)


def check_compaction(compacted: Any, messages: Sequence[Message]) -> Compacted | None:
    """Return the compaction of an earlier run if it can be one of these messages."""
    if compacted is None:
        return None
    if not isinstance(compacted, Compacted):
        raise UsageError(f"compacted is that of an outcome, not {_describe(compacted)}")
    count = sum(message.role != "system" for message in messages)
    if compacted.dropped >= count:
        raise UsageError(
            f"compacted belongs to other messages: it drops {compacted.dropped} of them, and only {count} are given"
        )
    return compacted


def find_start(facts: Sequence[Fact], has_output: bool) -> RunStarted:
    """Return the fact that a saved run begins with, if the run can be resumed with or without an output type."""
    given = cast("object", facts)
    if isinstance(given, str | bytes):
        raise UsageError("a run is resumed from its facts, not from text; load them first: codec.load_facts(text)")
    if not isinstance(given, Sequence):
        raise UsageError(f"a run is resumed from its facts, such as outcome.facts, not from {type(given).__name__}")
    started = next((fact for fact in facts if isinstance(fact, RunStarted)), None)
    if started is None:
        raise UsageError("these facts hold no beginning of a run; give all of them, from RunStarted on")
    if started.output and not has_output:
        raise UsageError("the run was started with output=…; resume it with the same type")
    if has_output and not started.output:
        raise UsageError("the run was started without output=…; resume it without one")
    return started


def build_approvals(facts: Sequence[Fact], approvals: Mapping[str, bool | str | Allow]) -> list[Fact]:
    """Turn the answers of the user into facts, one for each call that waits for an approval."""
    waiting: dict[str, tuple[str, ...]] = {}  # the path to each call's run, by the id in the outermost run
    for fact in facts:
        path, event = (fact.path, fact.event) if isinstance(fact, NestedFact) else ((), fact)
        if isinstance(event, ApprovalNeeded):
            waiting[join_ids(path, event.call.id)] = path
        elif isinstance(event, ApprovalGiven):
            waiting.pop(join_ids(path, event.call_id), None)
    answers: list[Fact] = []
    if not isinstance(cast("object", approvals), Mapping):
        raise UsageError(f"approvals is a dict of answers by the ids of calls, not {_describe(approvals)}")
    for call_id, answer in approvals.items():
        if call_id not in waiting:
            raise UsageError(f"no call {call_id!r} waits for an approval; waiting: {', '.join(waiting) or 'none'}")
        path = waiting[call_id]
        own_id = call_id.removeprefix(join_ids(path, "")) if path else call_id
        given = build_answer(own_id, answer, f"approvals: {call_id!r} is")
        answers.append(NestedFact(path=path, event=given) if path else given)
    return answers


def check_options(options: Mapping[str, Any], known: type) -> None:
    """Refuse options that a run does not have, with a `TypeError`, and a recorder that cannot be called."""
    names = known.__annotations__
    if unknown := [name for name in options if name not in names]:
        raise TypeError(
            f"unexpected keyword argument {unknown[0]!r}; known are: output, output_optional, {', '.join(names)}"
        )
    check_callback(options.get("record"), "record", "each fact")
    check_callback(options.get("approve"), "approve", "a call")


def check_provenance(choice: Provenance) -> Provenance:
    """Return what happens to calls with values that nobody explains who may."""
    if choice not in ("ask", "refuse", "off"):
        raise UsageError(f"provenance is 'ask', 'refuse' or 'off', not {choice!r}")
    return choice


def check_tool_error_choice(choice: ToolErrorChoice | None, model: Model) -> ToolErrorChoice:
    """Return what an exception in a tool does: as chosen, or as the model object says."""
    if choice not in (None, "tell", "raise"):
        raise UsageError(f"on_tool_error is 'tell' or 'raise', not {choice!r}")
    return choice or getattr(model, "on_tool_error", "tell")


def check_tracer(tracer: TracerOption) -> "Tracing | None":
    """Return how runs are traced; None if they are not. Raises `UsageError` if `tracer` is something else."""
    if tracer is None:
        return None
    from toolspeak.telemetry.tracing import read_tracer

    return read_tracer(tracer)


class AgentModels:
    """The models of an agent, in the order in which they are asked, and their dialects.

    Attributes:
        models: The models.
        given: The dialect that was given with the agent for all models; None stands for `"auto"`.
    """

    def __init__(self, models: tuple[Model, ...], dialect: str | Dialect) -> None:
        self.models = models
        matched = tuple(find_dialect(dialect, model) for model in models)  # refuses a name that is unknown
        self.given = None if dialect == "auto" else matched

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """The dialects of all models, as far as they are known. Nothing is sent."""
        return self.given or tuple(find_dialect("auto", model) for model in self.models)

    @property
    def choice(self) -> DialectChoice:
        """The dialect of the first model as far as it is known, and why it was chosen. Nothing is sent."""
        if self.given is not None:
            return DialectChoice(name=self.given[0].name, reason="given with the agent")
        return get_dialect_choice(self.models[0])

    async def choose(self) -> DialectChoice:
        """Return the dialect of the first model, after asking its server if the dialect would be a guess."""
        return self.choice if self.given is not None else await choose_model_dialect(self.models[0])

    async def choose_first(self, earlier: RunStarted | HandedOver | None) -> Dialect:
        """Return the dialect in which the first model is asked; that of an earlier run stays."""
        first = self.models[0]
        await ask_model_context(first)
        if self.given is not None:
            return self.given[0]
        if earlier is not None and earlier.model == first.name and earlier.dialect in DIALECTS:
            return find_dialect(earlier.dialect, first)
        return await _choose_dialect(first)

    def pair(self, first: Dialect, sampling: Sampling) -> tuple[AnsweringModel, ...]:
        """Return the models as a run asks them, the first one in the dialect that was chosen for it."""
        if len(self.models) == 1:
            return (AnsweringModel(self.models[0], first, sampling),)
        plain = replace(sampling, extra=None)  # fields that only one endpoint knows are for the first model alone
        others = zip(self.models[1:], self.dialects[1:], strict=True)
        return (
            AnsweringModel(self.models[0], first, sampling),
            *(AnsweringModel(model, dialect, plain, self._defer_choice(model, dialect)) for model, dialect in others),
        )

    def _defer_choice(self, model: Model, dialect: Dialect) -> Callable[[], Awaitable[Dialect]] | None:
        """Return the function that asks the server of a model about it; None if nothing need be asked."""
        is_guess = self.given is None and get_dialect_choice(model).is_guess
        if not is_guess and not must_ask_context(model):
            return None

        async def ask_server() -> Dialect:
            await ask_model_context(model)
            return await _choose_dialect(model) if is_guess else dialect

        return ask_server


async def _choose_dialect(model: Model) -> Dialect:
    """Return the dialect of a model, after asking its server if the dialect would be a guess, and log the choice."""
    choice = await choose_model_dialect(model)
    cure = f"; {GUESS_CURE}" if choice.is_guess else ""
    LOG.info("%s: %s dialect, %s%s", model.name, choice.name, choice.reason, cure)
    return find_dialect(choice.name, model)
