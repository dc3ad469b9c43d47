"""The commands of a conversation: lines that begin with a slash."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Protocol

from rich.console import Console
from rich.text import Text

from toolspeak import codec
from toolspeak.cli.agent import Plan
from toolspeak.cli.display import visible
from toolspeak.cli.tools import listing
from toolspeak.cli.why import explained
from toolspeak.dialects import DIALECTS
from toolspeak.errors import UsageError
from toolspeak.events import Fact
from toolspeak.messages import Message
from toolspeak.messages import system as system_message
from toolspeak.run import Agent
from toolspeak.settings.calibrations import write_atomically
from toolspeak.validation import nearest


class Talk(Protocol):
    """What commands know of a conversation.

    Attributes:
        console: Where it is drawn.
        plan: How it is made.
        agent: Who answers.
        messages: What was said.
        facts: The last run.
    """

    console: Console
    plan: Plan
    agent: Agent
    messages: tuple[Message, ...]
    facts: tuple[Fact, ...]

    def become(self, plan: Plan) -> None:
        """Go on in another way; if it cannot be, everything stays as it is."""
        ...

    def introduce(self) -> None:
        """Say who answers."""
        ...


class Left(Exception):
    """The conversation is over: somebody said so."""


class Command(NamedTuple):
    takes: str
    about: str
    do: Callable[[Talk, str], None]


_COMMAND = re.compile(r"/([a-zA-Z?]*)(?:\s+(.*))?", re.DOTALL)


def command_in(text: str) -> tuple[str, str] | None:
    """The command that a line is, and what is said to it; a path such as `/etc/hosts` is no command."""
    match = _COMMAND.fullmatch(text.strip())
    return None if match is None else (match[1].lower(), (match[2] or "").strip())


def obey(talk: Talk, name: str, said: str) -> None:
    """Do what a command says.

    Raises:
        Left: It was the last.
        UsageError: There is no such command, or it cannot be done.
    """
    command = COMMANDS.get(name)
    if command is None:
        similar = nearest(name, tuple(COMMANDS)) if name else None
        hint = f"did you mean /{similar}? " if similar else ""
        raise UsageError(f"there is no command /{visible(name)}; {hint}/help lists them")
    if said and not command.takes:
        raise UsageError(f"/{name} takes nothing")
    command.do(talk, said)


def _help(talk: Talk, _: str) -> None:
    for name, command in COMMANDS.items():
        head = f"/{name} {command.takes}".strip()
        _tell(talk, Text.assemble((f"{head:<16}", "cyan"), f" {command.about}"))
    _tell(talk, Text("Alt-Enter or a backslash at the end goes on in another line. Ctrl-C stops an answer.", "dim"))


def _tools(talk: Talk, _: str) -> None:
    if len(talk.plan.toolbox):
        talk.console.print(listing(talk.plan.toolbox, "this conversation"), soft_wrap=not talk.console.is_terminal)
    else:
        _tell(talk, Text("there are no tools; start with --tools TARGET", "dim"))


def _model(talk: Talk, said: str) -> None:
    if said:
        talk.become(replace(talk.plan, model=said))
    talk.introduce()


def _dialect(talk: Talk, said: str) -> None:
    if said:
        talk.become(replace(talk.plan, dialect=None if said == "auto" else said))
        talk.introduce()
    else:
        _tell(
            talk, Text(f"{talk.agent.dialect.name} (there are: {', '.join(DIALECTS)}, and auto for the model's best)")
        )


def _system(talk: Talk, said: str) -> None:
    if not said:
        told = next((message.text for message in talk.messages if message.role == "system"), talk.plan.system)
        _tell(talk, Text(visible(told)) if told else Text("nothing is said before everything else", "dim"))
        return
    talk.become(replace(talk.plan, system=said))
    rest = tuple(message for message in talk.messages if message.role != "system")
    talk.messages = (system_message(said), *rest) if rest else ()
    _tell(talk, Text("the model is told this from now on", "dim"))


def _clear(talk: Talk, _: str) -> None:
    talk.messages, talk.facts = (), ()
    _tell(talk, Text("forgotten", "dim"))


def _save(talk: Talk, said: str) -> None:
    path = _path(said, "/save")
    write_atomically(path, codec.dump_messages(talk.messages))
    _tell(talk, Text(f"{_counted(talk.messages)} saved in {path}", "dim"))


def _load(talk: Talk, said: str) -> None:
    path = _path(said, "/load")
    try:
        messages = codec.load_messages(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"cannot read {path}: it is not UTF-8 text") from None
    except UsageError as error:
        raise UsageError(f"{path}, {error}") from None
    talk.messages, talk.facts = messages, ()
    _tell(talk, Text(f"{_counted(messages)} read from {path}", "dim"))


def _why(talk: Talk, _: str) -> None:
    for line in explained(talk.facts):
        _tell(talk, line)


def _quit(talk: Talk, _: str) -> None:
    raise Left


def _path(said: str, command: str) -> Path:
    if not said:
        raise UsageError(f"{command} takes a file, such as {command} talk.jsonl")
    return Path(said).expanduser()


def _counted(messages: tuple[Message, ...]) -> str:
    return f"{len(messages)} message{'' if len(messages) == 1 else 's'}"


def _tell(talk: Talk, text: Text) -> None:
    talk.console.print(text, overflow="fold", soft_wrap=not talk.console.is_terminal, highlight=False)


COMMANDS: dict[str, Command] = {
    "help": Command("", "this", _help),
    "tools": Command("", "what the model may call", _tools),
    "model": Command("[NAME]", "who answers, or somebody else from now on", _model),
    "dialect": Command("[NAME]", "how calls are spoken, or in another way from now on", _dialect),
    "system": Command("[TEXT]", "what the model is told before everything else", _system),
    "clear": Command("", "forget what was said", _clear),
    "save": Command("FILE", "keep what was said in a file", _save),
    "load": Command("FILE", "go on from what was said in a file", _load),
    "why": Command("", "why the calls of the last answer were read so", _why),
    "quit": Command("", "leave (as do quit, exit, Ctrl-D and two empty lines)", _quit),
}
