"""Whoever writes: a person at a terminal, with an editor and a history, or lines from somewhere else."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO, cast

from rich.console import Console
from rich.text import Text

from toolspeak.cli.display import call_in_full, visible
from toolspeak.errors import UsageError
from toolspeak.messages import ToolCall
from toolspeak.settings import cache_folder

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.output import Output

LINES_TO_APPROVE = 200
"""Lines of a call that are shown to whoever is asked about it."""


def at_terminal(console: Console) -> bool:
    """Whether a person reads what is drawn, and can answer."""
    return console.is_terminal and not console.is_dumb_terminal and sys.stdin.isatty()


class Writer(Protocol):
    """Whoever writes to the model."""

    def line(self) -> str:
        """What is written next.

        Raises:
            EOFError: There is no more.
            KeyboardInterrupt: Ctrl-C; with something written it only takes that away.
        """
        ...

    def approve(self, call: ToolCall) -> bool | str:
        """Whether a call may run: a yes, a no, or why not."""
        ...


class Lines:
    """Lines from a file or a pipe: nothing is drawn, and nobody can be asked."""

    def __init__(self, source: TextIO, nobody: str) -> None:
        self._source = source
        self._nobody = nobody

    def line(self) -> str:
        """The next line, with those that it goes on with."""
        parts: list[str] = []
        while True:
            text = self._source.readline()
            if not text and not parts:
                raise EOFError
            parts.append(text.rstrip("\n"))
            if not goes_on(parts[-1]) or not text:
                return "\n".join([*(part[:-1] for part in parts[:-1]), parts[-1]])

    def approve(self, call: ToolCall) -> bool | str:
        """A no, with its reason."""
        return self._nobody


def goes_on(text: str) -> bool:
    r"""Whether a line is continued by the next: it ends in one backslash, not in `\\`."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


class Keyboard:
    """A person at a terminal.

    Args:
        console: Where they read.
        words: What can be completed at the beginning of a line.
    """

    def __init__(self, console: Console, words: Iterable[str] = ()) -> None:
        self._console = console
        self._words = tuple(words)
        self._always: set[str] = set()
        self._session: PromptSession[str] | None = None

    def line(self) -> str:
        """What is written next; several lines if they are joined by Alt-Enter or a backslash."""
        from prompt_toolkit.formatted_text import FormattedText

        session = self._session = self._session or self._made()
        prompt = FormattedText([("bold ansibrightblue", "You:"), ("", " ")])
        try:
            return session.prompt(prompt, prompt_continuation=_continued)
        except KeyboardInterrupt:
            if session.default_buffer.text:
                return ""
            raise

    def agrees(self, question: str) -> bool:
        """A yes or a no."""
        try:
            return self._asked(question).strip().lower() in ("y", "yes")
        except (EOFError, KeyboardInterrupt):
            return False

    # Approval

    def approve(self, call: ToolCall) -> bool | str:
        """Ask, until the answer is one. Ctrl-D is a no."""
        if call.name in self._always:
            return True
        self._show(call)
        while True:
            try:
                said = self._asked("allow it? [y]es once, [a]lways, [n]o: ")
            except EOFError:
                return False
            word, _, reason = said.strip().partition(" ")
            match word.lower().rstrip(".,:!"):
                case "y" | "yes" | "once" if not reason:
                    return True
                case "a" | "always" if not reason:
                    self._always.add(call.name)
                    return True
                case "n" | "no":
                    return reason.strip() or self._why_not()
                case _:
                    self._console.print(Text("answer y, a or n; after n you can say why", "dim"))

    def _why_not(self) -> bool | str:
        try:
            return self._asked("why not? (the model is told; Enter to say nothing) ").strip() or False
        except EOFError:
            return False

    def _show(self, call: ToolCall) -> None:
        lines = call_in_full(call).split("\n")
        more = len(lines) - LINES_TO_APPROVE
        self._console.print(Text(f"{visible(call.name)} needs your yes", "bold magenta"))
        for line in lines[:LINES_TO_APPROVE]:
            self._console.print(Text(f"  {line}"), overflow="fold", highlight=False)
        if more > 0:
            self._console.print(Text(f"  … and {more:,} lines more, which are not shown", "bold red"))

    def _asked(self, question: str) -> str:
        from prompt_toolkit import PromptSession

        session: PromptSession[str] = PromptSession(output=self._output())
        return session.prompt(question)

    # The editor

    def _made(self) -> "PromptSession[str]":
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import WordCompleter
        from prompt_toolkit.shortcuts import CompleteStyle

        return PromptSession(
            history=_history(),
            output=self._output(),
            key_bindings=_bindings(),
            multiline=True,  # Enter is bound to what it means in one line
            completer=WordCompleter(list(self._words), sentence=True),
            complete_while_typing=False,
            complete_style=CompleteStyle.READLINE_LIKE,
            reserve_space_for_menu=0,
            enable_suspend=hasattr(os, "fork"),
        )

    def _output(self) -> "Output":
        from prompt_toolkit.output import create_output

        return create_output(cast("TextIO", self._console.file))


def _continued(width: int, line: int, wrapped: int) -> str:
    """What stands before a further line; nothing where the window broke it."""
    return "" if wrapped else "… "


def _history() -> "History":
    """The history of this user, or of this conversation where no file can be had."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    try:
        path = cache_folder() / "history"
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # what one writes to a model is nobody else's
    except (OSError, UsageError):
        return InMemoryHistory()
    return FileHistory(Path(path))


def _bindings() -> "KeyBindings":
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("enter")
    def _(event: "KeyPressEvent") -> None:
        buffer = event.current_buffer
        if goes_on(buffer.document.text_before_cursor):
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _(event: "KeyPressEvent") -> None:
        event.current_buffer.newline(copy_margin=False)

    return keys
