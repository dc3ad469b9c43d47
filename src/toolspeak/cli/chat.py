"""`toolspeak chat`: a conversation at a terminal or through a pipe, and the commands in it that begin with a slash.

To add a command within the conversation: a function and its row in `COMMANDS`.
"""

import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from toolspeak.cli.agent_config import AgentConfig, ApprovalBridge, UserAnswer, resolve_config
from toolspeak.cli.conversations import ContinuedConversation, ConversationLog, replace_system
from toolspeak.cli.embedded import ModelLoader, pull_weights, report_reading
from toolspeak.cli.format import describe_agent, format_call_line, format_cost, format_totals
from toolspeak.cli.options import ApproveChoice, ConversationOptions
from toolspeak.cli.prompt import describe_attachment, load_attachment
from toolspeak.cli.record import CallTimer
from toolspeak.cli.run import ConversationSoFar, report_missing_tools, report_pause, run_live
from toolspeak.cli.safe_text import escape_controls, escape_line, join_lines, reserve_stdout
from toolspeak.cli.tools import render_tools
from toolspeak.cli.transcript import Transcript, create_console
from toolspeak.cli.user_input import PipedInput, TerminalInput, is_interactive
from toolspeak.dialects import DIALECTS
from toolspeak.dialects.explanation_notes import REPAIRS
from toolspeak.models import check_attachments
from toolspeak.run import Outcome
from toolspeak.run.approvals import find_doubted
from toolspeak.run.chat import extend_conversation
from toolspeak.settings import Settings
from toolspeak.settings.files import read_text, write_text
from toolspeak.values import codec, events
from toolspeak.values.errors import ModelError, ToolsChanged, UsageError
from toolspeak.values.events import Doubt
from toolspeak.values.messages import Media, Message, ToolCall, user
from toolspeak.values.messages import system as system_message
from toolspeak.values.validation import nearest


def explain_calls(facts: Sequence[events.Fact]) -> list[Text]:
    """Return the lines of `/why`: for each turn with calls, the text of the model and the calls read from it."""
    dialect = next((fact.dialect for fact in facts if isinstance(fact, events.RunStarted)), "")
    lines = [line for turn in _split_turns(facts) for line in _explain_turn(turn, dialect)]
    return lines or [Text("there was no call in the last answer", "dim")]


def _split_turns(facts: Sequence[events.Fact]) -> Iterator[list[events.Fact]]:
    turn: list[events.Fact] = []
    for fact in facts:
        if isinstance(fact, events.TurnStarted) and turn:
            yield turn
            turn = []
        turn.append(fact)
    yield turn


def _explain_turn(facts: list[events.Fact], dialect: str) -> Iterator[Text]:
    calls = [fact for fact in facts if isinstance(fact, events.CallReady | events.CallMalformed)]
    if not calls:
        return
    started = next((fact for fact in facts if isinstance(fact, events.TurnStarted)), events.TurnStarted(turn=0))
    yield Text(f"turn {started.turn}, {escape_controls(started.dialect or dialect)} dialect", "bold")
    message = next((fact.message for fact in facts if isinstance(fact, events.TurnEnded)), None)
    if message is not None and message.raw is not None:
        yield Text("  the model wrote:")
        yield from (Text(f"  │ {line}", "cyan") for line in escape_controls(message.raw.text).split("\n"))
    else:
        yield Text("  the calls came through the endpoint's own tool calling, not as text", "dim")
    for fact in calls:
        yield from _explain_call(fact)
    if any(isinstance(fact, events.TurnRestarted) for fact in facts):
        yield Text("  the message broke off, and its calls do not count", "dim")
    if any(isinstance(fact, events.SaidInThought) for fact in facts):
        yield Text("  what stands before the end of the reasoning does not count", "dim")


def _explain_call(fact: events.CallReady | events.CallMalformed) -> Iterator[Text]:
    if isinstance(fact, events.CallReady):
        yield Text.assemble(("  call ", "green"), format_call_line(fact.call))
        yield Text(f"    repair: {fact.repair} ({REPAIRS[fact.repair]})", "dim")
        return
    yield Text.assemble(("  malformed ", "yellow"), escape_controls(f"{fact.name or 'a call'}: {fact.reason}"))
    if fact.hint:
        yield Text(f"    hint to the model: {escape_controls(fact.hint)}", "dim")
    yield from (Text(f"    │ {line}", "cyan") for line in escape_controls(fact.raw).split("\n"))


class LeaveChat(Exception):
    """The user leaves the conversation."""


class SlashCommand(NamedTuple):
    """A command within a conversation.

    Attributes:
        parameter: The name of its argument for `/help`, in brackets if it is optional, empty if it takes none.
        summary: What it does, for `/help`.
        run: The function that does it, with the argument as a text.
    """

    parameter: str
    summary: str
    run: Callable[["ChatSession", str], None]


def parse_command(text: str) -> tuple[str, str] | None:
    """Return the name and the argument of a command; None for a message, also if it begins with a path."""
    match = re.fullmatch(r"/([a-zA-Z?]*)(?:\s++(.*))?", text.strip(), re.DOTALL)
    return None if match is None else (match[1].lower(), (match[2] or "").strip())


def run_command(chat: "ChatSession", name: str, argument: str) -> None:
    """Run a command.

    Raises:
        LeaveChat: The command was `/quit`.
        UsageError: There is no such command, or it failed.
    """
    command = COMMANDS.get(name)
    if command is None:
        similar = nearest(name, tuple(COMMANDS)) if name else None
        hint = f"did you mean /{similar}? " if similar else ""
        raise UsageError(f"there is no command /{escape_controls(name)}; {hint}/help lists them")
    if argument and not command.parameter:
        raise UsageError(f"/{name} takes no argument")
    command.run(chat, argument)


def _help(chat: "ChatSession", _: str) -> None:
    for name, command in COMMANDS.items():
        usage = f"/{name} {command.parameter}".strip()
        chat.print(Text.assemble((f"{usage:<16}", "cyan"), f" {command.summary}"))
    chat.print("Alt-Enter or a backslash at the end of a line continues it. Ctrl-C stops an answer.", "dim")


def _tools(chat: "ChatSession", _: str) -> None:
    if len(chat.config.toolbox):
        chat.console.print(
            render_tools(chat.config.toolbox, "this conversation"), soft_wrap=not chat.console.is_terminal
        )
    else:
        chat.print("there are no tools; start with --tools TARGET", "dim")


def _model(chat: "ChatSession", name: str) -> None:
    if name:
        chat.reconfigure(replace(chat.config, model=name))
    chat.print_agent()


def _dialect(chat: "ChatSession", name: str) -> None:
    if name:
        chat.reconfigure(replace(chat.config, dialect=name))
        chat.print_agent()
    else:
        dialects = ", ".join(DIALECTS)
        chat.print(f"{chat.agent.dialect.name} (there are: {dialects}, and auto for the model's best)")


def _system(chat: "ChatSession", prompt: str) -> None:
    if not prompt:
        current = next((message.text for message in chat.messages if message.role == "system"), chat.config.system)
        chat.print(escape_controls(current) if current else Text("there is no system prompt", "dim"))
        return
    chat.reconfigure(replace(chat.config, system=prompt))
    rest = tuple(message for message in chat.messages if message.role != "system")
    chat.messages = (system_message(prompt), *rest) if rest else ()
    chat.print("this is the system prompt from now on", "dim")


def _clear(chat: "ChatSession", _: str) -> None:
    chat.messages, chat.compacted, chat.facts, chat.attachments = (), None, (), ()
    chat.print("the conversation starts anew", "dim")


def _attach(chat: "ChatSession", source: str) -> None:
    if source:
        chat.attach(load_attachment(source.strip("'\""), f"/attach {source}"))
        return
    for media in chat.attachments:
        chat.print(f"goes with your next message: {describe_attachment(media)}")
    if not chat.attachments:
        chat.print("nothing is attached; /attach FILE attaches an image, a PDF or a text", "dim")


def _save(chat: "ChatSession", file: str) -> None:
    path = _require_path(file, "/save")
    write_text(path, codec.dump_messages(chat.messages))
    chat.print(f"{_format_count(chat.messages)} saved in {escape_controls(str(path))}", "dim")


def _load(chat: "ChatSession", file: str) -> None:
    path = _require_path(file, "/load")
    text = read_text(path)
    try:
        messages = codec.load_messages(text)
    except UsageError as error:
        raise UsageError(f"{path}, {error}") from None
    chat.messages, chat.compacted, chat.facts = messages, None, ()
    chat.print(f"{_format_count(messages)} read from {escape_controls(str(path))}", "dim")


def _why(chat: "ChatSession", _: str) -> None:
    for line in explain_calls(chat.facts):
        chat.print(line)


def _quit(chat: "ChatSession", _: str) -> None:
    raise LeaveChat


def _require_path(file: str, command: str) -> Path:
    if not file:
        raise UsageError(f"{command} takes a file, such as {command} talk.jsonl")
    return Path(file).expanduser()


def _format_count(messages: tuple[Message, ...]) -> str:
    return f"{len(messages)} message{'' if len(messages) == 1 else 's'}"


COMMANDS: dict[str, SlashCommand] = {
    "help": SlashCommand("", "list the commands", _help),
    "tools": SlashCommand("", "list the tools that the model may call", _tools),
    "model": SlashCommand("[NAME]", "show the model, or use another", _model),
    "dialect": SlashCommand("[NAME]", "show the dialect in which the model calls tools, or use another", _dialect),
    "system": SlashCommand("[TEXT]", "show the system prompt, or set it", _system),
    "attach": SlashCommand("[FILE]", "send a file with the next message, or list the attached files", _attach),
    "clear": SlashCommand("", "forget the conversation and start anew", _clear),
    "save": SlashCommand("FILE", "save the conversation in a file", _save),
    "load": SlashCommand("FILE", "continue the conversation of a file", _load),
    "why": SlashCommand("", "explain how the calls in the last answer were read", _why),
    "quit": SlashCommand("", "leave (as do quit, exit and Ctrl-D)", _quit),
}


def chat(
    options: ConversationOptions,
    settings: Settings,
    attachments: tuple[Media, ...],
    log_path: Path | None,
    continued: ContinuedConversation | None,
) -> int:
    """Hold a conversation until the user leaves, and return the exit code.

    The attachments are sent with the first message. Without a path, no log keeps the conversation.
    """
    config = resolve_config(continued.apply_to(options) if continued else options, settings)
    with reserve_stdout() as answer:
        console = create_console(answer)
        is_terminal = is_interactive(console)
        if continued is not None and continued.waiting:
            if config.approve is not ApproveChoice.never and (missing := continued.find_missing_tools(config.toolbox)):
                return report_missing_tools(missing)
            if config.approve is ApproveChoice.ask and not (is_terminal or continued.find_allowed(options)):
                return report_pause(continued.waiting_calls, continued.option, find_doubted(continued.waiting))
        user_input = TerminalInput(console, [f"/{name}" for name in COMMANDS]) if is_terminal else PipedInput(sys.stdin)
        if config.is_missing_weights and isinstance(user_input, TerminalInput) and not _offer_pull(user_input, console):
            return 1
        hold_typed = user_input.hold_typed() if isinstance(user_input, TerminalInput) else nullcontext()
        with hold_typed, ConversationLog(log_path, continued) as log:
            session = ChatSession(config, user_input, console, log)
            if continued is not None:
                session.continue_conversation(continued, options)
            for media in attachments:
                session.attach(media)
            session.run()
    return 0


def _offer_pull(user_input: TerminalInput, console: Console) -> bool:
    """Offer to download the missing weights, and return whether they are there now."""
    console.print(Text("the weights of the embedded model are not on this machine; toolspeak pull gets them (1.1 GB)"))
    if not user_input.confirm("pull them now? [y]es, [n]o: "):
        return False
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

    def __init__(
        self, config: AgentConfig, user_input: PipedInput | TerminalInput, console: Console, log: ConversationLog
    ) -> None:
        self.console = console
        self._log = log
        self.messages: tuple[Message, ...] = ()
        self.compacted: events.Compacted | None = None
        self.facts: tuple[events.Fact, ...] = ()
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

    def continue_conversation(self, continued: ContinuedConversation, options: ConversationOptions) -> None:
        """Go on with a conversation of the log, with another system prompt if one was given."""
        self.messages, self.compacted = continued.messages, continued.compacted
        count = _format_count(self.messages)
        self.print(f"continues {continued.id[:8]} ({count}): {escape_line(continued.title)}", "dim")
        if continued.waiting and isinstance(started := continued.waiting[0], events.RunStarted):
            self.messages, self.compacted = started.messages[:-1], started.compacted  # those before its prompt
            self._guard(lambda: self._answer(None, continued.waiting, continued.find_allowed(options)))
        self.messages = replace_system(self.messages, options.system)

    def attach(self, media: Media) -> None:
        """Send an attachment with the next message."""
        check_attachments(self.agent.model, [user("", media)])
        self.attachments = (*self.attachments, media)
        self.print(f"attached to your next message: {describe_attachment(media)}", "dim")

    def run(self) -> None:
        """Read and answer messages until the user leaves."""
        self.print_agent()
        if isinstance(self._user_input, TerminalInput):
            self.print("/help lists commands, Ctrl-D leaves", "dim")
        while True:
            try:
                text = self._user_input.read_message()
            except EOFError:
                return
            except KeyboardInterrupt:
                if not isinstance(self._user_input, TerminalInput):
                    raise
                self.print("Ctrl-D or /quit leaves", "dim")
                continue
            if text.strip().lower() in ("quit", "exit"):
                return
            try:
                if text.strip():
                    self._handle(text)
            except LeaveChat:
                return

    def _handle(self, text: str) -> None:
        """Run a slash command, or answer a message."""
        if command := parse_command(text):
            self._guard(lambda: run_command(self, *command))
        else:
            self._guard(lambda: self._answer(user(text, *self.attachments)))

    def _guard(self, work: Callable[[], None]) -> None:
        """Do some work; errors are printed, and the session continues."""
        try:
            work()
            return
        except ToolsChanged as error:  # the difference is read line by line
            self.print(escape_controls(str(error)), "red")
        except (UsageError, ModelError) as error:
            self.print(join_lines(str(error)), "red")
        except KeyboardInterrupt:
            self.print("stopped", "yellow")
        self._offer_typed()

    def _offer_typed(self) -> None:
        """Let the user look at what was typed ahead before it is sent: something else came than was expected."""
        if isinstance(self._user_input, TerminalInput):
            self._user_input.offer_typed()

    def _answer(
        self, prompt: Message | None, waiting: tuple[events.Fact, ...] = (), allowed: tuple[str, ...] = ()
    ) -> None:
        """Answer a message, or go on with a run that waits for an approval."""
        timer = CallTimer()
        self._log.remember(self.config)
        self._transcript = transcript = Transcript(self.console, timer)

        def record(fact: events.Fact) -> None:
            timer.record(fact)
            self._log.record(fact)

        try:
            self._wait_for_model()
            report_reading(self.agent.model, transcript.show_reading)
            started = time.monotonic()
            with transcript.capture_prints():
                outcome = run_live(
                    self.agent,
                    prompt,
                    transcript.show,
                    before=ConversationSoFar(self.messages, self.compacted, waiting, allowed),
                    approvals=self._approvals,
                    record=record,
                    report=transcript.write_error,
                )
        except ModelError as error:
            self._keep(error.outcome)
            raise
        finally:
            transcript.end_line()
        self._keep(outcome)
        if isinstance(self._user_input, TerminalInput):
            before, self._cost = self._cost, self._cost + (outcome.cost or 0.0)
            if outcome.stop_reason == "cancelled":
                self._offer_typed()
            else:
                total = f", all answers {format_cost(self._cost)}" if outcome.cost and before else ""
                self.print(format_totals(outcome, time.monotonic() - started) + total, "dim")
            self.console.print()

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
            self.print(f"your message is not kept{after}: it was not answered{again}", "dim")

    def _ask_approval(self, call: ToolCall, doubts: tuple[Doubt, ...]) -> UserAnswer:
        self._transcript.end_line()
        return self._user_input.ask_approval(call, doubts)

    def print_agent(self) -> None:
        """Print the model, the dialect and the number of tools."""
        self.print(describe_agent(self.agent) + (" · loading" if self._loader.is_loading else ""), "dim")

    def print(self, text: str | Text, style: str = "") -> None:
        """Print a line. In a terminal it is wrapped; elsewhere it is neither wrapped nor cut."""
        line, is_terminal = Text(text, style) if isinstance(text, str) else text, self.console.is_terminal
        self.console.print(line, overflow="fold" if is_terminal else "ignore", soft_wrap=not is_terminal)
