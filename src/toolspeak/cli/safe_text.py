r"""Makes text safe to show in a terminal. Every text that is not toolspeak's own passes through here.

Names, results, errors of endpoints and texts of models may hold characters that a terminal obeys instead of showing
them: escape sequences that clear the screen or set its title; characters that reverse the direction of writing;
characters without width, which make two different names look alike. They are replaced by escapes such as `\x1b` and
`\u202e`.

Text that a command writes to a file or a pipe is data for another program, and stays as it is. Standard output is for
the answer of a command alone: what modules, tools and their children print goes elsewhere (`reserve_stdout`).

`format.py` has the console of rich that does the same. It is a module of its own because rich takes longer to import
than all that a command like `serve` needs of this one.
"""

import os
import re
import sys
import unicodedata
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TextIO

from toolspeak.values.escaping import JOINERS, UNSAFE_CHARS, escape_controls, escape_match, reveal

_UNSAFE_IN_PROSE = re.compile(f"[{UNSAFE_CHARS}]|[{JOINERS}]")


def escape_line(text: str) -> str:
    r"""Return the text as one line in which nothing is hidden, with line feeds and tabs as `\n` and `\t`."""
    return reveal(text, keeps_lines=False)


def join_lines(text: str) -> str:
    """Return the text on one line, as errors are printed: line breaks and repeated spaces become one space."""
    return " ".join(escape_controls(text).split())


class ProseEscaper:
    """Escapes prose that arrives in chunks, as `escape_controls` does, but keeps the joiners that writing needs.

    A joiner belongs to the writing (Persian words, Indic letters, emoji of families) where it follows a letter, mark or
    symbol beyond ASCII. After anything else it only hides.
    """

    def __init__(self) -> None:
        self._last = ""  # the last character of the chunk before

    def escape(self, chunk: str) -> str:
        """Return the next chunk with its escapes."""
        text = self._last + chunk
        escaped = _UNSAFE_IN_PROSE.sub(_escape_unless_joined, text)
        start = len(_UNSAFE_IN_PROSE.sub(_escape_unless_joined, self._last))
        self._last = text[-1:]
        return escaped[start:]


def escape_prose(text: str) -> str:
    """Return a whole text of prose as `ProseEscaper` escapes it."""
    return _UNSAFE_IN_PROSE.sub(_escape_unless_joined, text)


def _escape_unless_joined(match: re.Match[str]) -> str:
    if match[0] not in JOINERS:
        return escape_match(match)
    before = match.string[match.start() - 1 : match.start()]
    is_writing = before > "\x7f" and before not in JOINERS and unicodedata.category(before)[0] in "LMS"
    return match[0] if is_writing else escape_match(match)


_PLAIN_IN_SHELLS = re.compile(r"[a-zA-Z0-9_ .,:/@+=-]")


def simplify_for_shell(text: str, encoding: str | None = None) -> str:
    """Return the text with only those characters that mean nothing to a shell; the others become one space.

    What a shell completes passes through the quoting of the shell, of its completion system and of typer's scripts, and
    zsh evaluates it. Escapes for all of them do not add up, so nothing is left that would need one. Characters beyond
    ASCII are kept if the encoding, by default that of standard output, is UTF-8: others may write them with the byte of
    a backslash.
    """
    keeps_others = (encoding or sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    kept = (
        each
        if _PLAIN_IN_SHELLS.match(each) or (keeps_others and each > "\x7f" and unicodedata.category(each)[0] in "LMNPS")
        else " "
        for each in text.replace("'", "’")
    )
    return " ".join("".join(kept).split())


def is_plain_for_shell(word: str) -> bool:
    """Whether a shell takes the text as one word, as it stands, and not as an option."""
    return word[:1].isalnum() and " " not in word and simplify_for_shell(word) == word


def write_output(text: str) -> None:
    """Write the output of a command: safe in a terminal, unchanged to a file or a pipe."""
    sys.stdout.write(escape_prose(text) if sys.stdout.isatty() else text)


def print_error(message: str, *, keeps_lines: bool = False, stream: TextIO | None = None) -> None:
    """Print a message on standard error, or on the stream that it was: as one line, or with its line breaks."""
    text = escape_controls(message) if keeps_lines else join_lines(message)
    (stream or sys.stderr).write(f"toolspeak: {text}\n")


@contextmanager
def reserve_stdout() -> Generator[TextIO]:
    """Redirect everything that is printed to standard error, and yield a file that writes to standard output."""
    sys.stdout.flush()
    original = os.dup(1)
    os.dup2(2, 1)
    answer = open(original, "w", encoding=sys.stdout.encoding, errors="backslashreplace", closefd=False)  # noqa: SIM115 (closed below, where a reader that has gone away is no error)
    try:
        with redirect_stdout(sys.stderr):
            yield answer
        answer.flush()
    finally:
        sys.stderr.flush()
        os.dup2(original, 1)
        with suppress(OSError):  # the reader has gone away; the flush above has raised that error
            answer.close()
        os.close(original)
