"""The commands within `toolspeak chat`: lines that begin with a slash."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Protocol

from rich.console import Console
from rich.text import Text

from toolspeak import codec
from toolspeak.cli.agent_config import AgentConfig
from toolspeak.cli.attach import describe_attachment, load_attachment
from toolspeak.cli.files import read_text, write_text
from toolspeak.cli.safe_text import escape_controls
from toolspeak.cli.tools import render_tools
from toolspeak.cli.why import explain_calls
from toolspeak.dialects import DIALECTS
from toolspeak.errors import UsageError
from toolspeak.events import Compacted, Fact
from toolspeak.messages import Media, Message
from toolspeak.messages import system as system_message
from toolspeak.run import Agent
from toolspeak.validation import nearest


class ChatState(Protocol):
    """The part of a `ChatSession` that commands read and change; its attributes are described there."""

    console: Console
    config: AgentConfig
    agent: Agent
    messages: tuple[Message, ...]
    compacted: Compacted | None
    facts: tuple[Fact, ...]
    attachments: tuple[Media, ...]

    def attach(self, media: Media) -> None:
        """Send an attachment with the next message."""
        ...

    def reconfigure(self, config: AgentConfig) -> None:
        """Continue with another agent. If it cannot be built, the session stays as it is."""
        ...

    def print_agent(self) -> None:
        """Print the model, the dialect and the number of tools."""
        ...


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
    run: Callable[[ChatState, str], None]


_COMMAND = re.compile(r"/([a-zA-Z?]*)(?:\s+(.*))?", re.DOTALL)


def parse_command(text: str) -> tuple[str, str] | None:
    """Return the name and the argument of a command; None for a message, also if it begins with a path."""
    match = _COMMAND.fullmatch(text.strip())
    return None if match is None else (match[1].lower(), (match[2] or "").strip())


def run_command(chat: ChatState, name: str, argument: str) -> None:
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


def _help(chat: ChatState, _: str) -> None:
    for name, command in COMMANDS.items():
        usage = f"/{name} {command.parameter}".strip()
        _print(chat, Text.assemble((f"{usage:<16}", "cyan"), f" {command.summary}"))
    _print(chat, Text("Alt-Enter or a backslash at the end of a line continues it. Ctrl-C stops an answer.", "dim"))


def _tools(chat: ChatState, _: str) -> None:
    if len(chat.config.toolbox):
        chat.console.print(
            render_tools(chat.config.toolbox, "this conversation"), soft_wrap=not chat.console.is_terminal
        )
    else:
        _print(chat, Text("there are no tools; start with --tools TARGET", "dim"))


def _model(chat: ChatState, name: str) -> None:
    if name:
        chat.reconfigure(replace(chat.config, model=name))
    chat.print_agent()


def _dialect(chat: ChatState, name: str) -> None:
    if name:
        chat.reconfigure(replace(chat.config, dialect=name))
        chat.print_agent()
    else:
        dialects = ", ".join(DIALECTS)
        _print(chat, Text(f"{chat.agent.dialect.name} (there are: {dialects}, and auto for the model's best)"))


def _system(chat: ChatState, prompt: str) -> None:
    if not prompt:
        current = next((message.text for message in chat.messages if message.role == "system"), chat.config.system)
        _print(chat, Text(escape_controls(current)) if current else Text("there is no system prompt", "dim"))
        return
    chat.reconfigure(replace(chat.config, system=prompt))
    rest = tuple(message for message in chat.messages if message.role != "system")
    chat.messages = (system_message(prompt), *rest) if rest else ()
    _print(chat, Text("this is the system prompt from now on", "dim"))


def _clear(chat: ChatState, _: str) -> None:
    chat.messages, chat.compacted, chat.facts, chat.attachments = (), None, (), ()
    _print(chat, Text("the conversation starts anew", "dim"))


def _attach(chat: ChatState, source: str) -> None:
    if source:
        chat.attach(load_attachment(source.strip("'\""), f"/attach {source}"))
        return
    for media in chat.attachments:
        _print(chat, Text(f"goes with your next message: {describe_attachment(media)}"))
    if not chat.attachments:
        _print(chat, Text("nothing is attached; /attach FILE attaches an image, a PDF or a text", "dim"))


def _save(chat: ChatState, file: str) -> None:
    path = _require_path(file, "/save")
    write_text(path, codec.dump_messages(chat.messages))
    _print(chat, Text(f"{_format_count(chat.messages)} saved in {escape_controls(str(path))}", "dim"))


def _load(chat: ChatState, file: str) -> None:
    path = _require_path(file, "/load")
    text = read_text(path)
    try:
        messages = codec.load_messages(text)
    except UsageError as error:
        raise UsageError(f"{path}, {error}") from None
    chat.messages, chat.compacted, chat.facts = messages, None, ()
    _print(chat, Text(f"{_format_count(messages)} read from {escape_controls(str(path))}", "dim"))


def _why(chat: ChatState, _: str) -> None:
    for line in explain_calls(chat.facts):
        _print(chat, line)


def _quit(chat: ChatState, _: str) -> None:
    raise LeaveChat


def _require_path(file: str, command: str) -> Path:
    if not file:
        raise UsageError(f"{command} takes a file, such as {command} talk.jsonl")
    return Path(file).expanduser()


def _format_count(messages: tuple[Message, ...]) -> str:
    return f"{len(messages)} message{'' if len(messages) == 1 else 's'}"


def _print(chat: ChatState, text: Text) -> None:
    is_terminal = chat.console.is_terminal  # elsewhere, lines are neither wrapped nor cut
    overflow = "fold" if is_terminal else "ignore"
    chat.console.print(text, overflow=overflow, soft_wrap=not is_terminal, highlight=False)


COMMANDS: dict[str, SlashCommand] = {
    "help": SlashCommand("", "list the commands", _help),
    "tools": SlashCommand("", "list the tools that the model may call", _tools),
    "model": SlashCommand("[NAME]", "show the model, or use another", _model),
    "dialect": SlashCommand("[NAME]", "show the dialect in which the model calls tools, or use another", _dialect),
    "system": SlashCommand("[TEXT]", "show the system prompt, or set it", _system),
    "attach": SlashCommand("[FILE]", "send a file with the next message, or list those that are sent", _attach),
    "clear": SlashCommand("", "forget the conversation and start anew", _clear),
    "save": SlashCommand("FILE", "save the conversation in a file", _save),
    "load": SlashCommand("FILE", "continue the conversation of a file", _load),
    "why": SlashCommand("", "explain how the calls in the last answer were read", _why),
    "quit": SlashCommand("", "leave (as do quit, exit and Ctrl-D)", _quit),
}
