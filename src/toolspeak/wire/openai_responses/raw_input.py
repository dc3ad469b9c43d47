"""The raw text of a custom tool's call, within the JSON of its arguments.

Everywhere but in this API, arguments are JSON: `{"input": "…"}`. Both ways can be gone while the text arrives.
"""

import json
import re

_HEAD = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*"')
"""Everything before the text: an object whose first value is a string."""

MAX_HEAD_CHARS = 1_000
"""Characters in which the text must have begun. If it has not, it is known when the call is ready."""

_WHOLE_CHARACTERS = re.compile(
    r"""(?:
        [^"\\]++
        | \\[^u]
        | \\u(?![dD][89abAB])[0-9a-fA-F]{4}
        | \\u[dD][89abAB]..(?:\\u[dD][c-fC-F]..|(?=[^\\]|\\[^u]|\\u(?![dD][c-fC-F])....))
    )*""",
    re.VERBOSE | re.DOTALL,
)
"""Characters and escapes within a string. The first half of a surrogate pair is whole together with the second."""


def open_arguments(parameter: str) -> str:
    """Return the beginning of arguments whose only value is a text."""
    return f'{{{json.dumps(parameter, ensure_ascii=False)}:"'


def escape_text(text: str) -> str:
    """Return a piece of the text as it is written in JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


CLOSE_ARGUMENTS = '"}'


class RawInputReader:
    """Reads the text out of arguments whose JSON arrives in pieces."""

    def __init__(self) -> None:
        self._unread = ""
        self._in_text = False
        self._ended = False

    def feed(self, piece: str) -> str:
        """Read a piece of the JSON, and return the text that it adds."""
        if self._ended:
            return ""
        self._unread += piece
        if not self._in_text:
            head = _HEAD.match(self._unread)
            if head is None:
                self._ended = len(self._unread) > MAX_HEAD_CHARS
                return ""
            self._in_text, self._unread = True, self._unread[head.end() :]
        whole = _WHOLE_CHARACTERS.match(self._unread)
        end = whole.end() if whole else 0
        try:
            added: str = json.loads(f'"{self._unread[:end]}"', strict=False)
        except ValueError:  # an escape that JSON does not have: the text is known when the call is ready
            self._ended = True
            return ""
        self._unread = self._unread[end:]
        self._ended = self._unread.startswith('"')
        return added
