"""Builds an agent from the options of a command and the settings."""

from dataclasses import replace

from toolspeak._frozen import frozen
from toolspeak.cli.approval import ApprovalBridge, build_approver
from toolspeak.cli.options import ApproveChoice
from toolspeak.cli.targets import discover_configured, discover_targets
from toolspeak.errors import UsageError
from toolspeak.limits import Limits
from toolspeak.models import DialectChoice, Sampling
from toolspeak.models.weights import QWEN_CODER, find_weights
from toolspeak.run import Agent, portal
from toolspeak.run.model_lookup import find_model, weights_folder
from toolspeak.settings import Settings
from toolspeak.tools import Toolbox


@frozen
class CommandOptions:
    """The options of `toolspeak chat` and `toolspeak run`. An option that is None is taken from the settings.

    Attributes:
        tools: Targets that the user named.
        remembered_tools: Targets of the conversation that is continued, for the case that the user named none.
        sampling: How the tokens of answers are chosen.
        tool_budget: The most tokens of tools in a request.
        code: Whether the model writes programs that call the tools.
    """

    tools: tuple[str, ...] = ()
    model: str | None = None
    dialect: str | None = None
    system: str | None = None
    tool_choice: str | None = None
    tool_budget: int | None = None
    code: bool | None = None
    max_turns: int | None = None
    max_cost: float | None = None
    context: int | None = None
    approve: ApproveChoice | None = None
    remembered_tools: tuple[str, ...] | None = None
    sampling: Sampling = Sampling()


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
        agent = Agent(
            find_model(self.model, configured=self.settings, keep_warm=True),
            self.toolbox,
            dialect=self._choose_dialect(),
            system=self.system,
            tool_choice=self.tool_choice,
            limits=self.limits,
            approve=build_approver(self.approve, approvals),
            sampling=self.sampling,
            tool_budget=self.tool_budget,
            code=self.code,
        )
        if agent.dialect_choice.is_guess:
            portal.call(agent.choose_dialect())
        return agent

    def _choose_dialect(self) -> str:
        chosen = find_chosen_dialect(self.dialect, self.model, self.settings)
        return chosen.name if chosen else "auto"

    @property
    def is_missing_weights(self) -> bool:
        """Whether the model is the embedded one and its weights are not on this machine."""
        return self.model == "local" and find_weights(QWEN_CODER, weights_folder()) is None


def _restrict(limits: Limits, options: CommandOptions) -> Limits:
    """Return the limits of the settings, with those that the options of the command replace."""
    return replace(
        limits,
        turns=limits.turns if options.max_turns is None else options.max_turns,
        cost=limits.cost if options.max_cost is None else options.max_cost,
        context=limits.context if options.context is None else options.context,
    )


def resolve_config(options: CommandOptions, settings: Settings) -> AgentConfig:
    """Merge the options of a command with the settings."""
    return AgentConfig(
        model=options.model or settings.model,
        dialect=options.dialect,
        system=options.system,
        tool_choice=_parse_tool_choice(options.tool_choice),
        limits=_restrict(settings.limits, options),
        approve=options.approve or ApproveChoice(settings.approve),
        toolbox=_discover_tools(options, settings),
        settings=settings,
        targets=options.tools or options.remembered_tools or (),
        sampling=options.sampling,
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


def _discover_tools(options: CommandOptions, settings: Settings) -> Toolbox:
    if options.tools:
        return discover_targets(*options.tools)
    return discover_configured(settings.tools if options.remembered_tools is None else options.remembered_tools)


def _parse_tool_choice(text: str | None) -> str | tuple[str, ...]:
    if text is None or text in ("auto", "none", "required"):
        return text or "auto"
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise UsageError("--tool-choice is auto, none, required, or names of tools separated by commas")
    return names
