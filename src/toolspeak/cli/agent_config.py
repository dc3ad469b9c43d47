"""Builds an agent from the options of a command and the settings.

A run waits for approvals in its event loop; the user is asked in the main thread, where events are drawn. The
`ApprovalBridge` takes the answer from the one to the other.

The more specific dialect wins, and `find_chosen_dialect` is the one place for that: chat, run, serve and config ask it.
"""

import asyncio
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from toolspeak.cli.options import ApproveChoice, ConversationOptions
from toolspeak.cli.safe_text import reserve_stdout
from toolspeak.mcp.config import ServerApproval, is_server_target
from toolspeak.models import DialectChoice, Sampling
from toolspeak.models.weights import QWEN_CODER
from toolspeak.models.weights_download import find_weights
from toolspeak.run import Agent, Approver, portal
from toolspeak.run.agent_tools import collect_tools, require_tools
from toolspeak.run.model_lookup import find_model, weights_folder
from toolspeak.settings import Settings
from toolspeak.settings.files import exists, is_file
from toolspeak.settings.plugins import list_plugin_names
from toolspeak.settings.resolver import split_function
from toolspeak.tools import Toolbox
from toolspeak.tools.discovery import is_importable, is_installed
from toolspeak.values.errors import UsageError
from toolspeak.values.events import Allow, Doubt
from toolspeak.values.frozen import frozen
from toolspeak.values.limits import Limits
from toolspeak.values.messages import ToolCall
from toolspeak.values.validation import nearest

REFUSED_WITHOUT_USER = "nobody is here to allow it"

UserAnswer: TypeAlias = bool | str | Allow
"""What a user says about a call: yes, no, why not, or yes and that its values are allowed from now on."""


class ApprovalBridge:
    """Takes the user's answers from the thread that draws a run to the event loop that waits for them.

    Args:
        ask_user: Asks the user about a call, with the values that are in doubt. Returns whether it is approved, or the
            reason why it is not.
    """

    def __init__(self, ask_user: Callable[[ToolCall, tuple[Doubt, ...]], UserAnswer]) -> None:
        self._ask_user = ask_user
        self._answers: dict[str, Future[UserAnswer]] = {}

    def clear(self) -> None:
        """Drop all answers before another run starts: its calls may have the ids of earlier ones."""
        self._answers = {}

    async def wait(self, call: ToolCall) -> UserAnswer:
        """Wait for the answer about a call. This is the run's `approve` function."""
        return await asyncio.wrap_future(self._answer(call))

    def ask(self, call: ToolCall, doubts: tuple[Doubt, ...] = ()) -> None:
        """Ask the user about a call. The thread that draws the run calls this when it meets `ApprovalNeeded`."""
        answer = self._ask_user(call, doubts)
        with suppress(InvalidStateError):  # the run no longer waits, for example because its time is up
            self._answer(call).set_result(answer)

    def _answer(self, call: ToolCall) -> "Future[UserAnswer]":
        return self._answers.setdefault(call.id, Future())


def _read_number(read: Callable[[str], Any], low: float, high: float) -> Callable[[str], Any]:
    def check(text: str) -> Any:
        value = read(text)
        if not low <= value <= high or value == math.inf:
            raise ValueError
        return value

    return check


_SAMPLING: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "temperature": ("a number from 0", _read_number(float, 0, math.inf)),
    "max_tokens": ("a whole number, at least 1", _read_number(int, 1, math.inf)),
    "top_p": ("a number from 0 to 1", _read_number(float, 0, 1)),
    "seed": ("a whole number", int),
    "stop": ("a text", str),
}
"""What each option `-o NAME=VALUE` takes, in words, and the function that reads it."""


def parse_sampling(pairs: Iterable[str]) -> Sampling:
    """Return the sampling that `NAME=VALUE` texts describe. The last of several values counts; `stop` takes them all.

    Raises:
        UsageError: An option is unknown, or does not take its value. The error lists the options.
    """
    values: dict[str, Any] = {}
    stop: list[str] = []
    extra: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise UsageError(f"-o takes NAME=VALUE, such as temperature=0, not {pair!r}")
        if name.startswith("extra.") and name != "extra.":
            try:
                extra[name.removeprefix("extra.")] = json.loads(text)
            except (ValueError, RecursionError):  # a text that is not JSON is itself the value
                extra[name.removeprefix("extra.")] = text
        elif name == "stop":
            stop.append(text)
        elif name in _SAMPLING:
            takes, read = _SAMPLING[name]
            try:
                values[name] = read(text)
            except ValueError:
                raise UsageError(f"-o {name} takes {takes}, not {text!r}") from None
        else:
            hint = f"did you mean {similar}? " if (similar := nearest(name, list(_SAMPLING))) else ""
            raise UsageError(
                f"-o {name}: there is no such option; {hint}there are {', '.join(_SAMPLING)}, and extra.NAME for a "
                "field that only your endpoint knows"
            )
    return Sampling(**values, stop=tuple(stop), extra=extra or None)


def discover_targets(*targets: str, approve: ServerApproval = "writes", may_be_empty: bool = False) -> Toolbox:
    """Return the tools of targets that the user named. One may be a module in the working directory.

    `approve` says which calls of MCP servers need an approval, where their file does not say it.

    Raises:
        UsageError: A target has no function that can be a tool, and it is not one that may be empty.
    """
    if not targets:
        return Toolbox([])
    places = [find_named_target(target) for target in targets]
    with reserve_stdout():
        if not may_be_empty:
            for target, place in zip(targets, places, strict=True):
                if not is_server_target(place):
                    require_tools(target, collect_tools([place]).own)
        return collect_tools(places, approve=approve).load()  # what was imported above is not imported again


def find_named_target(target: str) -> str:
    """Return a target that the user named; of a module that only the working directory has, that file or folder.

    The working directory is never on Python's path: a file there must not take the place of a module that toolspeak,
    or a library, imports. For the same reason, what an installed package offers under the name comes first.
    """
    if is_server_target(target):
        return target
    split = split_function(target)
    name, function = (split[0], f":{split[1]}") if split else (target, "")
    if "/" in name or Path(name).suffix == ".py" or _is_offered(name):
        return target
    place = Path.cwd().joinpath(*name.split("."))
    file = place.with_name(f"{place.name}.py")
    candidates = (place, file) if is_file(place / "__init__.py") else (file, place, Path.cwd() / name)
    return next((f"{candidate}{function}" for candidate in candidates if exists(candidate)), target)


def _is_offered(name: str) -> bool:
    """Whether a name is that of an installed module, or that a package offers tools under; nothing is imported."""
    if is_installed(name.partition(".")[0]):
        return True
    from importlib.metadata import entry_points  # imported with the first target that is no module

    return bool(entry_points(group=name)) or name in list_plugin_names("toolspeak.toolboxes")


def discover_configured(settings: Settings, targets: Sequence[str] | None = None) -> Toolbox:
    """Return the tools of targets in the settings: files and folders by their paths, and installed modules.

    `targets` are those that a conversation remembers, instead of those of the settings.

    Raises:
        UsageError: A target is the name of a folder in the working directory, which the settings do not mean.
    """
    listing = settings.listing if targets is None else None
    if listing is not None:
        listing.check_unchanged()
    for target in (named := settings.tools if targets is None else targets):
        name = target.partition(":")[0]
        if is_server_target(target):
            continue
        if not Path(target).is_absolute() and Path(name).is_dir() and not is_importable(name):
            raise UsageError(f"{target!r} in the settings is not an installed module; write a folder as {name}/")
    with reserve_stdout():
        return collect_tools(named, listing, "writes").load()


@frozen
class AgentConfig:
    """The configuration of an agent. Commands such as `/model` replace it by a changed copy.

    Attributes:
        dialect: The dialect that the user named for this conversation; None to take that of the settings.
        targets: Where the tools come from, if the user named it; empty if the settings did.
    """

    model: str
    dialect: str | None
    system: str | None
    tool_choice: str | tuple[str, ...]
    limits: Limits
    approve: ApproveChoice
    toolbox: Toolbox
    settings: Settings
    targets: tuple[str, ...] = ()
    sampling: Sampling = Sampling()
    tool_budget: int | None = None
    code: bool = False

    def build_agent(self, approvals: ApprovalBridge | None) -> Agent:
        """Build the agent. Without `approvals`, a run pauses when a call needs approval by the user.

        The server of an unknown model is asked for its abilities, so that the dialect of the agent is the one that its
        runs will have.
        """
        chosen = find_chosen_dialect(self.dialect, self.model, self.settings)
        agent = Agent(
            find_model(self.model, configured=self.settings, keep_warm=True),
            self.toolbox,
            dialect=chosen.name if chosen else "auto",
            system=self.system,
            tool_choice=self.tool_choice,
            limits=self.limits,
            approve=self._choose_approver(approvals),
            sampling=self.sampling,
            tool_budget=self.tool_budget,
            code=self.code,
        )
        if agent.dialect_choice.is_guess:
            portal.call(agent.choose_dialect())
        return agent

    def _choose_approver(self, approvals: ApprovalBridge | None) -> Approver | None:
        if self.approve == ApproveChoice.always:
            return lambda call: True
        if self.approve == ApproveChoice.never:
            return lambda call: "calls of this tool are refused here, by the settings or by --approve never"
        return approvals.wait if approvals is not None else None

    @property
    def is_missing_weights(self) -> bool:
        """Whether the model is the embedded one and its weights are not on this machine."""
        return self.model == "local" and find_weights(QWEN_CODER, weights_folder()) is None


def resolve_config(options: ConversationOptions, settings: Settings) -> AgentConfig:
    """Merge the options of a command with the settings."""
    given = {"turns": options.max_turns, "cost": options.max_cost, "context": options.context}
    remembered, approve = options.remembered_tools, options.approve or ApproveChoice(settings.approve)
    return AgentConfig(
        model=options.model or settings.model,
        dialect=options.dialect,
        system=options.system,
        tool_choice=_parse_tool_choice(options.tool_choice),
        limits=replace(settings.limits, **{name: each for name, each in given.items() if each is not None}),
        approve=ApproveChoice.ask if approve is ApproveChoice.once else approve,  # what waits is allowed elsewhere
        toolbox=discover_targets(*options.tools) if options.tools else discover_configured(settings, remembered),
        settings=settings,
        targets=options.tools or remembered or (),
        sampling=parse_sampling(options.sampling),
        tool_budget=settings.tool_budget if options.tool_budget is None else options.tool_budget,
        code=settings.code if options.code is None else options.code,
    )


def find_chosen_dialect(option: str | None, model: str, settings: Settings) -> DialectChoice | None:
    """Return the dialect that the user chose; None if it is left to the model.

    The more specific choice wins: the option, then the setting of the model's endpoint, which the model knows itself,
    then the setting for all models.
    """
    if option:
        return DialectChoice(name=option, reason="the option --dialect")
    endpoint = settings.endpoints.get(model.partition(":")[0])
    if settings.dialect and not (endpoint and endpoint.dialect):
        return DialectChoice(name=settings.dialect, reason=f"the setting dialect ({settings.origin('dialect')})")
    return None


def _parse_tool_choice(text: str | None) -> str | tuple[str, ...]:
    if text is None or text in ("auto", "none", "required"):
        return text or "auto"
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise UsageError("--tool-choice is auto, none, required, or names of tools separated by commas")
    return names
