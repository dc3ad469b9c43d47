"""From the command line and the settings to an agent."""

import threading
from dataclasses import replace

from toolspeak._frozen import frozen
from toolspeak.cli.approval import Desk, approver
from toolspeak.cli.options import Approve
from toolspeak.cli.stdout import found
from toolspeak.errors import UsageError
from toolspeak.events import Limits
from toolspeak.models import EmbeddedModel, Model
from toolspeak.models.weights import QWEN_CODER, find_weights
from toolspeak.run import Agent
from toolspeak.run.model_lookup import find_model, weights_folder
from toolspeak.settings import Settings
from toolspeak.tools import Toolbox


@frozen
class AgentOptions:
    """What the command line says of a run. What is None is left to the settings."""

    tools: tuple[str, ...] = ()
    model: str | None = None
    dialect: str | None = None
    system: str | None = None
    tool_choice: str | None = None
    max_turns: int | None = None
    approve: Approve | None = None


@frozen
class Plan:
    """How runs are to be made: wishes and settings together. It does not change; `/model` and the like make another."""

    model: str
    dialect: str | None
    system: str | None
    tool_choice: str | tuple[str, ...]
    limits: Limits
    approve: Approve
    toolbox: Toolbox
    configured: Settings

    def agent(self, desk: Desk | None) -> Agent:
        """The agent of this plan."""
        return Agent(
            find_model(self.model, configured=self.configured),
            self.toolbox,
            dialect=self.dialect or "auto",
            system=self.system,
            tool_choice=self.tool_choice,
            limits=self.limits,
            approve=approver(self.approve, desk),
        )

    @property
    def lacks_weights(self) -> bool:
        """Whether the embedded model is asked for and its weights are not on this machine."""
        return self.model == "local" and find_weights(QWEN_CODER, weights_folder()) is None


def planned(wishes: AgentOptions, configured: Settings) -> Plan:
    """What the command line wishes, and the settings where it says nothing."""
    limits = configured.limits
    return Plan(
        model=wishes.model or configured.model,
        dialect=wishes.dialect or configured.dialect,
        system=wishes.system,
        tool_choice=_choice(wishes.tool_choice),
        limits=limits if wishes.max_turns is None else replace(limits, turns=wishes.max_turns),
        approve=wishes.approve or Approve(configured.approve),
        toolbox=found(*(wishes.tools or configured.tools)),
        configured=configured,
    )


def _choice(said: str | None) -> str | tuple[str, ...]:
    if said is None or said in ("auto", "none", "required"):
        return said or "auto"
    names = tuple(name.strip() for name in said.split(",") if name.strip())
    if not names:
        raise UsageError("--tool-choice is auto, none, required, or names of tools with commas between them")
    return names


class Loading:
    """The embedded model, being made ready while others do something else. For any other model there is nothing to do.

    What fails is told to whoever waits.
    """

    def __init__(self, model: Model) -> None:
        self._ended = threading.Event()
        self._error: BaseException | None = None
        if isinstance(model, EmbeddedModel) and not model.is_ready:
            threading.Thread(target=self._load, args=(model,), daemon=True).start()
        else:
            self._ended.set()

    @property
    def under_way(self) -> bool:
        """Whether it would have to be waited for."""
        return not self._ended.is_set()

    @property
    def failed(self) -> bool:
        """Whether it has come to nothing."""
        return self._error is not None

    def wait(self) -> None:
        """Come back when the model can be asked."""
        self._ended.wait()
        if self._error is not None:
            raise self._error

    def _load(self, model: EmbeddedModel) -> None:
        try:
            model.load()
        except BaseException as error:
            self._error = error
        finally:
            self._ended.set()
