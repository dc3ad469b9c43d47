"""`toolspeak chat`: a conversation at a terminal, or with whatever writes lines."""

import sys

from rich.console import Console
from rich.text import Text

from toolspeak.cli.agent import AgentOptions, Loading, Plan, planned
from toolspeak.cli.approval import NOBODY, Desk
from toolspeak.cli.clock import Clock
from toolspeak.cli.console import Transcript, console_on
from toolspeak.cli.display import introduction, visible
from toolspeak.cli.input import Keyboard, Lines, Writer, at_terminal
from toolspeak.cli.live_run import play
from toolspeak.cli.slash_commands import COMMANDS, Left, command_in, obey
from toolspeak.cli.stdout import answer_alone
from toolspeak.errors import ModelError, UsageError
from toolspeak.events import Fact
from toolspeak.messages import Message, ToolCall
from toolspeak.run import Outcome
from toolspeak.settings import settings


def chat(wishes: AgentOptions) -> int:
    """Talk until somebody leaves."""
    plan = planned(wishes, settings())
    with answer_alone() as answer:
        console = console_on(answer)
        writer = _writer(console)
        if plan.lacks_weights and isinstance(writer, Keyboard) and not _pulled(writer, console):
            return 1
        Conversation(plan, writer, console).talk()
    return 0


def _writer(console: Console) -> Writer:
    if at_terminal(console):
        return Keyboard(console, [f"/{name}" for name in COMMANDS])
    return Lines(sys.stdin, NOBODY)


def _pulled(keyboard: Keyboard, console: Console) -> bool:
    """Whether the weights that were missing are there now."""
    console.print(Text("the weights of the embedded model are not on this machine; toolspeak pull gets them (1.1 GB)"))
    if not keyboard.agrees("pull them now? [y]es, [n]o: "):
        return False
    from toolspeak.cli.pull import pulled

    pulled("local", console)
    return True


class Conversation:
    """What was said, who answers, and the loop between the two."""

    def __init__(self, plan: Plan, writer: Writer, console: Console) -> None:
        self.console = console
        self.messages: tuple[Message, ...] = ()
        self.facts: tuple[Fact, ...] = ()
        self._writer = writer
        self._desk = Desk(self._approved)
        self._transcript = Transcript(console, Clock())
        self.plan = plan
        self.agent = plan.agent(self._desk)
        self._loading = Loading(self.agent.model)

    def become(self, plan: Plan) -> None:
        """Go on in another way; if it cannot be, everything stays as it is."""
        agent = plan.agent(self._desk)
        self.plan, self.agent = plan, agent
        self._loading = Loading(agent.model)

    def talk(self) -> None:
        """Answer until somebody leaves."""
        self.introduce()
        if isinstance(self._writer, Keyboard):
            self._say("/help lists commands, Ctrl-D leaves", "dim")
        empty = 0
        while True:
            try:
                text = self._writer.line()
            except EOFError:
                return
            except KeyboardInterrupt:
                if not isinstance(self._writer, Keyboard):
                    raise
                self._say("Ctrl-D or /quit leaves", "dim")
                continue
            empty = 0 if text.strip() else empty + 1
            if empty == 2 or text.strip().lower() in ("quit", "exit"):
                return
            try:
                if text.strip():
                    self._heard(text)
            except Left:
                return

    def _heard(self, text: str) -> None:
        try:
            if command := command_in(text):
                obey(self, *command)
            else:
                self._answer(text)
        except (UsageError, ModelError) as error:
            self._say(" ".join(visible(str(error)).split()), "red")
        except KeyboardInterrupt:
            self._say("stopped", "yellow")

    def _answer(self, text: str) -> None:
        clock = Clock()
        self._transcript = transcript = Transcript(self.console, clock)
        try:
            self._load()
            with transcript.with_prints():
                outcome = play(
                    self.agent, text, transcript.show, messages=self.messages, desk=self._desk, record=clock.note
                )
        except ModelError as error:
            self._remember(error.outcome)
            raise
        finally:
            transcript.pause()
        self._remember(outcome)
        if isinstance(self._writer, Keyboard):
            self.console.print()

    def _load(self) -> None:
        if self._loading.failed:
            self._loading = Loading(self.agent.model)
        if self._loading.under_way:
            self._transcript.wait_for(f"loading {self.agent.model.name}")
        self._loading.wait()

    def _remember(self, outcome: Outcome[None] | None) -> None:
        if outcome is None:
            return
        self.facts = outcome.facts
        # A prompt that nothing was said to, as the endpoint failed, will be asked again.
        if outcome.stop_reason != "error" or outcome.messages[-1].role != "user":
            self.messages = outcome.messages

    def _approved(self, call: ToolCall) -> bool | str:
        self._transcript.pause()
        return self._writer.approve(call)

    def introduce(self) -> None:
        """Say who answers."""
        self._say(introduction(self.agent) + (" · loading" if self._loading.under_way else ""), "dim")

    def _say(self, text: str, style: str) -> None:
        self.console.print(Text(text, style), overflow="fold", soft_wrap=not self.console.is_terminal)
