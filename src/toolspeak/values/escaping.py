r"""Escapes for characters that do not show what they are.

Some characters are obeyed or hidden instead of shown: escape sequences that clear the screen of a terminal; characters
that reverse the direction of writing; characters without width, which make two different texts look alike. In whatever
a person reads to decide something, they are replaced by escapes such as `\x1b` and `\u202e`.
"""

import re

UNSAFE_CHARS = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters except tab and line feed
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # directions of writing
    r"\u2028\u2029"  # line breaks that only some programs know
    r"\xad\u034f\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb"  # no width
    r"\u115f\u1160\u17b4\u17b5\u3164\uffa0"  # letters without a shape
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"  # no width, beyond the usual planes
    r"\ud800-\udfff"  # halves of characters
)
"""The characters, as ranges of a class in a regular expression."""

JOINERS = "\u200c\u200d"
"""Characters without width that some writing needs, and that hide something anywhere else."""

_UNSAFE = re.compile(f"[{UNSAFE_CHARS}{JOINERS}]")


def escape_controls(text: str) -> str:
    r"""Return the text with escapes such as `\x1b` for what is obeyed or hidden. Lines and tabs are kept."""
    return _UNSAFE.sub(escape_match, text)


def escape_match(match: re.Match[str]) -> str:
    r"""Return the escape of the character that was found."""
    letter = match[0]
    if letter == "\r":  # the line feed after it is kept; without one, it would let text overwrite the line
        return ""
    if letter in "\t\n":
        return "\\t" if letter == "\t" else "\\n"
    code = ord(letter)
    if code < 0x20:
        return f"\\x{code:02x}"
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)  # the form that JSON has
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
