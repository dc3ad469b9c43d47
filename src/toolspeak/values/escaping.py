r"""Escapes for characters that do not show what they are.

Some characters are obeyed or hidden instead of shown: escape sequences that clear the screen of a terminal; characters
that reverse the direction of writing; characters without width, which make two different texts look alike. They are
replaced by escapes such as `\x1b` and `\u202e`.

- `escape_controls` is for whatever is shown: names, errors, results.
- `reveal` is for what a person reads to decide something: the arguments of a call that needs an approval, the settings
  of a project that is not trusted yet, the tools of a server that have changed. There nothing may be hidden at all, and
  blanks that look like a space are shown, too. What ordinary writing needs is kept where writing needs it: joiners in
  Persian and Hindi, emoji of several characters, accents.
"""

import re
import unicodedata

UNSAFE_CHARS = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters except tab and line feed
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # directions of writing
    r"\u2028\u2029"  # line breaks that only some programs know
    r"\xad\u034f\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff0-\ufffb"  # no width
    r"\u115f\u1160\u17b4\u17b5\u3164\uffa0"  # letters without a shape
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"  # no width, other planes
    r"\ud800-\udfff"  # halves of characters
)
"""The characters, as ranges of a class in a regular expression."""

JOINERS = "\u200c\u200d"
"""Characters without width that some writing needs, and that hide something anywhere else."""

_UNSAFE = re.compile(f"[{UNSAFE_CHARS}{JOINERS}]")
_NAMED = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def escape_controls(text: str) -> str:
    r"""Return the text with escapes such as `\x1b` for what is obeyed or hidden. Lines and tabs are kept."""
    return _UNSAFE.sub(escape_match, text)


def escape_match(match: re.Match[str]) -> str:
    r"""Return the escape of the character that was found."""
    # The line feed after a carriage return is kept; without one, it would let text overwrite the line.
    return "" if match[0] == "\r" else _escape(match[0])


def _escape(letter: str) -> str:
    if letter in _NAMED:
        return _NAMED[letter]
    code = ord(letter)
    if code < 0x20:
        return f"\\x{code:02x}"
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)  # the form that JSON has
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


MAX_MARKS = 6  # accents and the like on one letter; no writing needs more, and a pile of them covers other lines

_FLAGS = (  # of England, Scotland and Wales: the emoji that are written with invisible letters
    "\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
    "|\U000e0077\U000e006c\U000e0073)\U000e007f"
)
_SHAPELESS_LETTERS = "\u115f\u1160\u3164\uffa0\U00013441\U00013442"
_DOUBTFUL = re.compile(rf"{_FLAGS}|[^\x20-\x7e\w\n\t]|[{_SHAPELESS_LETTERS}]")
_DOUBTFUL_IN_LINE = re.compile(rf"{_FLAGS}|[^\x20-\x7e\w]|[{_SHAPELESS_LETTERS}]")

_BLANK_SYMBOLS = "\u2800\ufffc\U0001d159\U00016fe4"
_SIGNS_AROUND_DIGITS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
"""Characters that Unicode counts among the invisible ones, and that have a shape."""

_EMOJI_BESIDE_SYMBOLS = "\u203c\u2049\u2139\u3030"
_JOINING = re.compile(r"[\u0600-\u109f\u1780-\u18af\u1900-\u1cff\ua800-\ua8ff\ua980-\ua9df\U00010a00-\U00011fff]")
"""Characters of writings that have joiners: Arabic, those of India, and their neighbours."""

_WIDE = re.compile(r"[\u3001-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff01-\uff60\U00020000-\U0003fffd]")


def reveal(text: str, *, keeps_lines: bool = True) -> str:
    r"""Return a text in which a person sees everything, for a decision: all that is hidden becomes an escape.

    Args:
        text: The text.
        keeps_lines: Whether line feeds and tabs stay; otherwise they become `\n` and `\t`.
    """
    pieces: list[str] = []
    done = 0  # where the last escaped character ended
    marks, marks_end = 0, -1
    for found in (_DOUBTFUL if keeps_lines else _DOUBTFUL_IN_LINE).finditer(text):
        place, letter = found.span()[0], found[0]
        before = text[place - 1 : place] if place > done else ""
        if len(letter) > 1:
            continue
        if unicodedata.category(letter)[0] == "M":
            marks, marks_end = (marks + 1 if marks_end == place else 1), place + 1
        if marks <= MAX_MARKS or marks_end != place + 1:
            following = text[place + 1 : place + 2]
            if _is_shown(letter, before, text[place - 2 : place - 1] if place > done + 1 else "", following):
                continue
        pieces += text[done:place], _escape(letter)
        done = place + 1
    return "".join((*pieces, text[done:]))


def _is_shown(letter: str, before: str, earlier: str, after: str) -> bool:
    """Whether a person sees a character that is neither a letter nor a digit, or sees what it does to its neighbours.

    Args:
        letter: The character.
        before: The character before it; empty if that is none or was escaped.
        earlier: The character before that one, likewise.
        after: The character after it.
    """
    if letter in JOINERS:
        if _JOINING.match(before) and unicodedata.category(before)[0] in "LM":
            return True
        symbol = earlier if before == "\ufe0f" else before
        return letter == "\u200d" and _is_emoji(symbol) and _is_emoji(after)
    if letter in "\ufe0e\ufe0f":  # as text, as an emoji
        return _is_emoji(before) or (after == "\u20e3" and before in "0123456789#*" and before != "")
    if "\u180b" <= letter <= "\u180f":  # forms of Mongolian letters
        return letter != "\u180e" and "\u1820" <= before <= "\u18aa"
    if letter == "\u3000":
        return _WIDE.match(before) is not None or _WIDE.match(after) is not None
    if letter in _SHAPELESS_LETTERS or letter in _BLANK_SYMBOLS or _UNSAFE.match(letter):
        return False
    if "\ufe00" <= letter <= "\ufe0d" or "\U000e0100" <= letter <= "\U000e01ef":  # variants, one for each byte
        return False
    match unicodedata.category(letter):
        case "Mn" | "Mc" | "Me":
            return before != "" and (before in JOINERS or unicodedata.category(before)[0] in "LMNS")
        case "Cf":
            return letter in _SIGNS_AROUND_DIGITS
        case "Cn":  # emoji and Chinese characters of a later version of Unicode
            return "\U0001f000" <= letter <= "\U0001faff" or "\U00020000" <= letter <= "\U0003fffd"
        case category:
            return category[0] in "PS"


def _is_emoji(letter: str) -> bool:
    if letter <= "\x7f" or letter in _BLANK_SYMBOLS:
        return False
    is_later = "\U0001f000" <= letter <= "\U0001faff"
    return is_later or letter in _EMOJI_BESIDE_SYMBOLS or unicodedata.category(letter)[0] == "S"
