"""Reads the user's messages and answers: from a terminal, with an editor and a history, or from a pipe.

A terminal echoes each key at once, wherever the cursor stands. So what is typed while nobody reads it is held back:
`HeldInput` turns the echo off, and the keys wait in the terminal until `take` reads them. Ctrl-C and Ctrl-Z work as
ever, and whatever ends or stops the program, the terminal first gets its own modes back. Only on POSIX: elsewhere the
terminal echoes, and the next prompt reads what was typed.

A line that was ended with Enter is the next message, and is sent without asking. It is only offered, to be edited and
sent with another Enter, if the user could not know what it follows: an answer that failed or was stopped, a question.
"""

import os
import re
import select
import signal
import sys
import threading
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias, cast

from rich.console import Console
from rich.text import Text

from toolspeak.cli.agent_config import REFUSED_WITHOUT_USER, UserAnswer
from toolspeak.cli.format import format_arguments
from toolspeak.cli.safe_text import escape_line
from toolspeak.settings import cache_folder
from toolspeak.settings.files import create_folder, find_foreign_way
from toolspeak.values.errors import UsageError
from toolspeak.values.events import Allow, Doubt
from toolspeak.values.messages import ToolCall

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import History
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.output import Output

IS_SUPPORTED = sys.platform != "win32"
TerminalModes: TypeAlias = list[Any]  # what `termios.tcgetattr` returns
_LOCAL_MODES, _CONTROL_CHARACTERS = 3, 6  # places in the list of modes
_PASTE_START, _PASTE_END = "\x1b[200~", "\x1b[201~"
_KEY = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?|.", re.DOTALL)


class HeldInput:
    """The keys that are typed at a terminal, given by its file descriptor, while the program does not read them."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._is_holding = False

    @contextmanager
    def hold(self) -> Generator[None]:
        """Turn the echo off within this context, except while the program is stopped by Ctrl-Z."""
        if not IS_SUPPORTED or threading.current_thread() is not threading.main_thread():
            yield
            return
        import termios

        modes: TerminalModes = termios.tcgetattr(self._terminal)

        def stop(number: int, frame: FrameType | None) -> None:
            self._release(modes)
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTSTP)  # the program stops here, and continues here
            signal.signal(signal.SIGTSTP, stop)
            if os.tcgetpgrp(self._terminal) == os.getpgrp():  # a background program may not change the terminal
                self._hold(modes)

        def end(number: int, frame: FrameType | None) -> None:
            self._release(modes)
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        handlers = {signal.SIGTSTP: stop, signal.SIGTERM: end, signal.SIGHUP: end, signal.SIGQUIT: end}
        previous = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        self._hold(modes)
        try:
            yield
        finally:
            self._release(modes)
            for number, handler in previous.items():
                signal.signal(number, handler)

    def take(self) -> str:
        """Return what has been typed and not been read, as text. The caller has the terminal's input for itself."""
        typed = b""
        while IS_SUPPORTED and select.select([self._terminal], [], [], 0)[0]:
            if not (data := os.read(self._terminal, 65536)):
                break
            typed += data
        return typed.decode("utf-8", "replace")

    def mark_pastes(self) -> None:
        """Let the terminal mark what is pasted, which an editor turns off when it ends: its lines are one message."""
        if self._is_holding:
            self._write(b"\x1b[?2004h")

    def _hold(self, modes: TerminalModes) -> None:
        self._set_modes(_without_echo(modes))
        self._is_holding = True
        self.mark_pastes()

    def _release(self, modes: TerminalModes) -> None:
        self._is_holding = False
        self._write(b"\x1b[?2004l")
        self._set_modes(modes)

    def _write(self, sequence: bytes) -> None:
        with suppress(OSError):  # the terminal may be gone, or not be open for writing here
            os.write(self._terminal, sequence)

    def _set_modes(self, modes: TerminalModes) -> None:
        import termios

        with suppress(termios.error):  # the terminal may be gone
            termios.tcsetattr(self._terminal, termios.TCSANOW, modes)


def _without_echo(modes: TerminalModes) -> TerminalModes:
    """Return modes in which keys are neither echoed nor collected to lines. Ctrl-C and Ctrl-Z still send signals."""
    import termios

    quiet = [*modes]
    quiet[_LOCAL_MODES] = modes[_LOCAL_MODES] & ~(termios.ECHO | termios.ICANON) | termios.NOFLSH  # Ctrl-C drops no key
    quiet[_CONTROL_CHARACTERS] = characters = [*modes[_CONTROL_CHARACTERS]]
    characters[termios.VMIN], characters[termios.VTIME] = 1, 0
    return quiet


def split_messages(keys: str, text: str = "") -> tuple[list[str], str]:
    r"""Return the messages that keys leave in a line editor, each ended by Enter, and the text of the one after them.

    Keys that edit the text before them are followed; arrows and other control keys are passed over. `text` stands in
    the editor before the first key.

    Examples:
        >>> split_messages("And Oslo?\rAnd Rm\x7fome")
        (['And Oslo?'], 'And Rome')
    """
    messages: list[str] = []
    is_pasted = False
    for key in _KEY.findall(keys):
        if key in (_PASTE_START, _PASTE_END):
            is_pasted = key == _PASTE_START
        elif key in ("\x1b\r", "\x1b\n") or (key in "\r\n" and is_pasted):
            text += "\n"
        elif key in "\r\n" and is_continued(text):
            text = f"{text[:-1]}\n"
        elif key in "\r\n":
            messages += [text] if text.strip() else []
            text = ""
        elif key in "\x7f\b":  # Backspace
            text = text[:-1]
        elif key == "\x15":  # Ctrl-U
            text = ""
        elif key.isprintable() or key == "\t":
            text += key
    return messages, text


MAX_APPROVAL_LINES = 200  # of a call that is shown to a user who is to approve it


def is_interactive(console: Console) -> bool:
    """Whether a user sees the console and can type."""
    return console.is_terminal and not console.is_dumb_terminal and sys.stdin.isatty()


class PipedInput:
    """Messages from a file or a pipe, one a line. There is no user to approve calls."""

    def __init__(self, source: TextIO) -> None:
        self._source = source

    def read_message(self) -> str:
        """Return the next line, joined with the lines that continue it. Raises `EOFError` after the last one."""
        parts: list[str] = []
        while True:
            text = self._source.readline()
            if not text and not parts:
                raise EOFError
            parts.append(text.rstrip("\n"))
            if not is_continued(parts[-1]) or not text:
                return "\n".join([*(part[:-1] for part in parts[:-1]), parts[-1]])

    def ask_approval(self, call: ToolCall, doubts: tuple[Doubt, ...] = ()) -> UserAnswer:
        return REFUSED_WITHOUT_USER


def is_continued(line: str) -> bool:
    r"""Whether the next line continues this one: it ends in an odd number of backslashes."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


class TerminalInput:
    """Messages that a user types at a terminal. Tab completes `completions` at the beginning of a line."""

    def __init__(self, console: Console, completions: Iterable[str] = ()) -> None:
        self._console = console
        self._completions = tuple(completions)
        self._always_approved: set[str] = set()
        self._session: PromptSession[str] | None = None
        self._held_input = HeldInput(sys.stdin.fileno())
        self._queue: list[str] = []  # messages that were typed, to be sent as they are
        self._begun = ""  # what was typed after them, to be edited
        self._is_offered = False  # whether what is typed further is to be edited with it

    def hold_typed(self) -> AbstractContextManager[None]:
        """Hold back what is typed while nothing is asked. `read_message` returns it."""
        return self._held_input.hold()

    def read_message(self) -> str:
        """Return the next message; Alt-Enter or a backslash at the end of a line continues it on another.

        A message that was typed and ended with Enter since the last one is returned at once. What was typed after it
        stands there already: the user may edit it, and sends it with Enter. Ctrl-C clears a line with text; on an empty
        one it raises `KeyboardInterrupt`, and Ctrl-D raises `EOFError`.
        """
        from prompt_toolkit.formatted_text import FormattedText

        session = self._session = self._session or self._create_editor()
        prompt = FormattedText([("bold ansibrightblue", "You:"), ("", " ")])
        self._keep_typed(session.input)
        is_queued = bool(self._queue)
        if is_queued:
            text = self._queue.pop(0)
        else:
            text, self._begun, self._is_offered = self._begun, "", False
        try:
            return session.prompt(
                prompt,
                prompt_continuation=lambda width, line, wrapped: "" if wrapped else "… ",  # wrapped by the window
                default=text,
                accept_default=is_queued,
            )
        except KeyboardInterrupt:
            if session.default_buffer.text:
                return ""
            raise
        finally:
            self._held_input.mark_pastes()

    def offer_typed(self) -> None:
        """Let the user edit what has been typed so far, as the beginning of one message, instead of sending it."""
        if self._session is not None:
            self._keep_typed(self._session.input)
        self._begun = "\n".join(filter(None, [*self._queue, self._begun]))
        self._queue, self._is_offered = [], bool(self._begun)

    def confirm(self, question: str) -> bool:
        """Ask a question and return whether the answer is yes."""
        try:
            return self._ask(question).strip().lower() in ("y", "yes")
        except (EOFError, KeyboardInterrupt):
            return False

    def ask_approval(self, call: ToolCall, doubts: tuple[Doubt, ...] = ()) -> UserAnswer:
        """Show the call and ask until the user answers; return a reason why it is refused. Ctrl-D refuses it, too.

        Values in doubt are asked about even if calls of the tool are always allowed.
        """
        if call.name in self._always_approved and not doubts:
            return True
        lines = format_arguments(call).split("\n")
        hidden = len(lines) - MAX_APPROVAL_LINES
        self._console.print(Text(f"{escape_line(call.name)} needs your approval", "bold magenta"))
        for line in lines[:MAX_APPROVAL_LINES]:
            self._console.print(Text(f"  {line}"), overflow="fold", highlight=False)
        if hidden > 0:
            self._console.print(Text(f"  … and {hidden:,} more line{'s' * (hidden != 1)}, not shown", "bold red"))
        for each in doubts:
            self._console.print(Text(f"  ! {each.summary}", "bold red"), overflow="fold", highlight=False)
        more = "[v]alues from now on, too" if doubts else "[a]lways"
        while True:
            try:
                answer = self._ask(f"allow it? [y]es once, {more}, [n]o: ")
            except EOFError:
                return False
            word, _, reason = answer.strip().partition(" ")
            match word.lower().rstrip(".,:!"):
                case "y" | "yes" | "once" if not reason:
                    return True
                case "v" | "values" if doubts and not reason:
                    return Allow(remember=True)
                case "a" | "always" if not doubts and not reason:
                    self._always_approved.add(call.name)
                    return True
                case "n" | "no":
                    return reason.strip() or self._ask_reason()
                case _:
                    letters = "y, v or n" if doubts else "y, a or n"
                    self._console.print(Text(f"answer {letters}; a reason may follow n", "dim"))

    def _ask_reason(self) -> bool | str:
        try:
            return self._ask("why not? (the model is told; Enter to say nothing) ").strip() or False
        except EOFError:
            return False

    def _ask(self, question: str) -> str:
        from prompt_toolkit import PromptSession

        session: PromptSession[str] = PromptSession(output=self._create_output())
        self._keep_typed(session.input)  # it was not typed as an answer to this question
        self.offer_typed()
        try:
            return session.prompt(question)
        finally:
            self._held_input.mark_pastes()

    def _keep_typed(self, source: "Input") -> None:
        """Add what was typed since the last question to the messages that are sent next."""
        from prompt_toolkit.input.typeahead import get_typeahead
        from prompt_toolkit.keys import Keys

        unread = "".join(  # keys that came together with the last Enter
            f"{_PASTE_START}{key.data}{_PASTE_END}" if key.key == Keys.BracketedPaste else key.data
            for key in get_typeahead(source)
        )
        keys = unread + self._held_input.take()
        if self._is_offered:
            messages, begun = split_messages(keys)
            self._begun = "\n".join(filter(None, [self._begun, *messages, begun]))
        else:
            messages, self._begun = split_messages(keys, self._begun)
            self._queue += messages

    def _create_editor(self) -> "PromptSession[str]":
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import WordCompleter
        from prompt_toolkit.shortcuts import CompleteStyle

        return PromptSession(
            history=_open_history(),
            output=self._create_output(),
            key_bindings=_create_key_bindings(),
            multiline=True,  # the key bindings make Enter end the message, as in a single line
            completer=WordCompleter(list(self._completions), sentence=True),
            complete_while_typing=False,
            complete_style=CompleteStyle.READLINE_LIKE,
            reserve_space_for_menu=0,
            enable_suspend=hasattr(os, "fork"),
        )

    def _create_output(self) -> "Output":
        from prompt_toolkit.output import create_output

        return create_output(cast("TextIO", self._console.file))


def _open_history() -> "History":
    """Open the user's history file, or a history in memory if the file cannot be opened or another user could read it.

    Several users may share a cache folder: what one types must not go to a file or a link that another made.
    """
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    try:
        path = cache_folder() / "history"
        create_folder(path.parent)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_NONBLOCK", 0), 0o600))  # messages are private
        if path.is_symlink() or find_foreign_way(path) is not None:
            return InMemoryHistory()
    except (OSError, UsageError):
        return InMemoryHistory()
    return FileHistory(Path(path))


def _create_key_bindings() -> "KeyBindings":
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("enter")
    def _(event: "KeyPressEvent") -> None:
        buffer = event.current_buffer
        if is_continued(buffer.document.text_before_cursor):
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _(event: "KeyPressEvent") -> None:
        event.current_buffer.newline(copy_margin=False)

    return keys
