"""`toolspeak chat`: a conversation at a terminal or through a pipe."""

import sys
from contextlib import nullcontext
from pathlib import Path

from rich.console import Console
from rich.text import Text

from toolspeak.cli.agent_config import AgentConfig, CommandOptions, resolve_config
from toolspeak.cli.approval import ApprovalBridge
from toolspeak.cli.attach import describe_attachment
from toolspeak.cli.call_timer import CallTimer
from toolspeak.cli.conversation_log import ContinuedConversation, ConversationLog
from toolspeak.cli.format import describe_agent, format_cost
from toolspeak.cli.live_run import run_live
from toolspeak.cli.model_loader import ModelLoader
from toolspeak.cli.safe_text import escape_controls, escape_line, join_lines
from toolspeak.cli.slash_commands import COMMANDS, LeaveChat, parse_command, run_command
from toolspeak.cli.stdout import reserve_stdout
from toolspeak.cli.transcript import Transcript, create_console
from toolspeak.cli.user_input import PipedInput, TerminalInput, UserInput, is_interactive
from toolspeak.errors import ModelError, ToolsChanged, UsageError
from toolspeak.events import Compacted, Fact
from toolspeak.messages import Media, Message, ToolCall, user
from toolspeak.models import check_attachments
from toolspeak.run import Outcome
from toolspeak.run.chat import extend_conversation
from toolspeak.settings import Settings


def chat(
    options: CommandOptions,
    settings: Settings,
    *,
    attachments: tuple[Media, ...] = (),
    log_path: Path | None = None,
    continued: ContinuedConversation | None = None,
) -> int:
    """Hold a conversation until the user leaves, and return the exit code.

    Args:
        options: The options of the command.
        settings: The settings.
        attachments: What is sent with the first message.
        log_path: The log that keeps the conversation; None to keep it in none.
        continued: The conversation that goes on.
    """
    config = resolve_config(continued.apply_to(options) if continued else options, settings)
    with reserve_stdout() as answer:
        console = create_console(answer)
        user_input = _create_input(console)
        if config.is_missing_weights and isinstance(user_input, TerminalInput) and not _offer_pull(user_input, console):
            return 1
        hold_typed = user_input.hold_typed() if isinstance(user_input, TerminalInput) else nullcontext()
        with hold_typed, ConversationLog(log_path, continued) as log:
            session = ChatSession(config, user_input, console, log)
            if continued is not None:
                session.continue_conversation(continued, options.system)
            for media in attachments:
                session.attach(media)
            session.run()
    return 0


def _create_input(console: Console) -> UserInput:
    if is_interactive(console):
        return TerminalInput(console, [f"/{name}" for name in COMMANDS])
    return PipedInput(sys.stdin)


def _offer_pull(user_input: TerminalInput, console: Console) -> bool:
    """Offer to download the missing weights, and return whether they are there now."""
    console.print(Text("the weights of the embedded model are not on this machine; toolspeak pull gets them (1.1 GB)"))
    if not user_input.confirm("pull them now? [y]es, [n]o: "):
        return False
    from toolspeak.cli.pull import pull_weights

    pull_weights("local", console)
    return True


class ChatSession:
    """A conversation with an agent: reads messages, runs the agent or a slash command, and draws the answers.

    Attributes:
        console: Where the conversation is drawn.
        config: The configuration of the agent.
        agent: The agent that answers.
        messages: The conversation so far.
        compacted: What the model is still shown of it; None if it is shown the whole.
        facts: The facts of the last run.
        attachments: What is sent with the next message.
    """

    def __init__(self, config: AgentConfig, user_input: UserInput, console: Console, log: ConversationLog) -> None:
        self.console = console
        self._log = log
        self.messages: tuple[Message, ...] = ()
        self.compacted: Compacted | None = None
        self.facts: tuple[Fact, ...] = ()
        self.attachments: tuple[Media, ...] = ()
        self._user_input = user_input
        self._approvals = ApprovalBridge(self._ask_approval)
        self._transcript = Transcript(console, CallTimer())
        self.config = config
        self.agent = config.build_agent(self._approvals)
        self._loader = ModelLoader(self.agent.model)
        self._cost = 0.0

    def reconfigure(self, config: AgentConfig) -> None:
        """Continue with another agent. If it cannot be built, the session stays as it is."""
        agent = config.build_agent(self._approvals)
        self.config, self.agent = config, agent
        self._loader = ModelLoader(agent.model)

    def continue_conversation(self, continued: ContinuedConversation, system: str | None) -> None:
        """Go on with a conversation of the log, with another system prompt if one was given."""
        self.messages, self.compacted = continued.messages_with(system), continued.compacted
        count = len(self.messages)
        self._print(f"continues {continued.id[:8]} ({count} messages): {escape_line(continued.title)}", "dim")

    def attach(self, media: Media) -> None:
        """Send an attachment with the next message."""
        check_attachments(self.agent.model, [user("", media)])
        self.attachments = (*self.attachments, media)
        self._print(f"attached to your next message: {describe_attachment(media)}", "dim")

    def run(self) -> None:
        """Read and answer messages until the user leaves."""
        self.print_agent()
        if isinstance(self._user_input, TerminalInput):
            self._print("/help lists commands, Ctrl-D leaves", "dim")
        while True:
            try:
                text = self._user_input.read_message()
            except EOFError:
                return
            except KeyboardInterrupt:
                if not isinstance(self._user_input, TerminalInput):
                    raise
                self._print("Ctrl-D or /quit leaves", "dim")
                continue
            if text.strip().lower() in ("quit", "exit"):
                return
            try:
                if text.strip():
                    self._handle(text)
            except LeaveChat:
                return

    def _handle(self, text: str) -> None:
        """Run a slash command, or answer a message; errors are printed, and the session continues."""
        try:
            if command := parse_command(text):
                run_command(self, *command)
            else:
                self._answer(text)
        except ToolsChanged as error:  # the difference is read line by line
            self._print(escape_controls(str(error)), "red")
        except (UsageError, ModelError) as error:
            self._print(join_lines(str(error)), "red")
        except KeyboardInterrupt:
            self._print("stopped", "yellow")

    def _answer(self, prompt: str) -> None:
        timer = CallTimer()
        self._log.remember(self.config)
        self._transcript = transcript = Transcript(self.console, timer)

        def record(fact: Fact) -> None:
            timer.record(fact)
            self._log.record(fact)

        try:
            self._wait_for_model()
            with transcript.capture_prints():
                outcome = run_live(
                    self.agent,
                    user(prompt, *self.attachments),
                    transcript.show,
                    messages=self.messages,
                    compacted=self.compacted,
                    approvals=self._approvals,
                    record=record,
                )
        except ModelError as error:
            self._keep(error.outcome)
            raise
        finally:
            transcript.end_line()
        self._keep(outcome)
        if isinstance(self._user_input, TerminalInput):
            self._print_cost(outcome.cost)
            self.console.print()

    def _print_cost(self, cost: float | None) -> None:
        """Print what the last answer and all answers so far have cost, if that is known and not nothing."""
        self._cost += cost or 0.0
        if cost:
            total = f", all answers {format_cost(self._cost)}" if self._cost > cost else ""
            self._print(f"cost: {format_cost(cost)}{total}", "dim")

    def _wait_for_model(self) -> None:
        if self._loader.has_failed:
            self._loader = ModelLoader(self.agent.model)
        if self._loader.is_loading:
            self._transcript.show_wait(f"loading {self.agent.model.name}")
        self._loader.wait()
        if report := self._loader.take_report():
            self._transcript.write_line(report, "dim")

    def _keep(self, outcome: Outcome[None] | None) -> None:
        """Keep the messages of a run that was answered for the next one, and say so if they are dropped."""
        if outcome is None:
            return
        self.facts = outcome.facts
        self.messages, dropped = extend_conversation(self.messages, outcome)
        if not dropped:
            self.attachments, self.compacted = (), outcome.compacted
        else:
            calls = sum(len(message.calls) for message in dropped)
            after = f", nor {calls} call{'' if calls == 1 else 's'} after it" if calls else ""
            again = "; its attachments go with the next one" if self.attachments else ""
            self._print(f"your message is not kept{after}: it was not answered{again}", "dim")

    def _ask_approval(self, call: ToolCall) -> bool | str:
        self._transcript.end_line()
        return self._user_input.ask_approval(call)

    def print_agent(self) -> None:
        """Print the model, the dialect and the number of tools."""
        self._print(describe_agent(self.agent) + (" · loading" if self._loader.is_loading else ""), "dim")

    def _print(self, text: str, style: str) -> None:
        is_terminal = self.console.is_terminal  # elsewhere, lines are neither wrapped nor cut
        self.console.print(Text(text, style), overflow="fold" if is_terminal else "ignore", soft_wrap=not is_terminal)
