"""Whether a text names a short id, or holds it by chance.

A short id is a number of up to three digits, a number like a year, or a letter. Texts are full of them: "2. Answer it",
"2 pm", "2 files". So a short id must be named:

- after a word of the tool's or the parameter's name, "file 2" for `delete_file(file_id)`, or of a thing like it;
- after a word for an id, "the id is 2", "no. 2", "#2", unless another thing has it, "ticket number 2";
- in quotes, or as the whole text, "2, please";
- in data under such a key, `"id": 2`. Data without any id may be ids themselves: `["7", "8"]`, `{"plans": "7"}`.

An amount needs no name. A text is an id unless its parameter is named like a quantity, and a number is an id if its
parameter is named like one. In a doubtful case an id is not named: then a person is asked.
"""

import re
from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

LOOKBACK_CHARS = 90
"""The characters before a short id in which its name is looked for."""

LOOKAHEAD_CHARS = 30
"""The characters after it that tell a count, a time or the number of a step from an id."""

MAX_ID_HITS = 500
"""Hits of a short id in one text that are looked at; behind them, it counts as not named."""

QUOTES = "'\"`“”„‘’«»"

_SHORT_ID = re.compile(r"\d{1,3}|(?:19|20)\d\d|[^\W\d_]")
_ITEM = re.compile(r"\d+|[^\W\d_]")
_TOKEN = re.compile(rf"\bn[or]\.|[^\W\d_]+|\d+|\n|[^\w\s*{QUOTES}]")
_HUMP = re.compile(r"(?<=[a-z\d])(?=[A-Z])")
_ID_KEY = re.compile(r"(?:I[Dd]|id(?<![^\W_]id))s?[\"']? ?[:=]")
_STEP_START = re.compile(r"(?:^|[\n!?:;,(*•-]|(?<!\bn[or])\.) {0,3}$", re.IGNORECASE)

_THINGS = [  # things that have ids: the words for one of them are on one line
    {"file", "document", "doc", "attachment", "datei", "dokument", "anhang", "fichier"},
    {"mail", "email", "message", "draft", "nachricht"},
    {"event", "appointment", "meeting", "termin"},
    {"ticket", "issue", "task", "todo", "case", "item", "entry", "note", "aufgabe", "vorgang"},
    {"order", "booking", "bestellung", "auftrag"},
    {"invoice", "bill", "rechnung"},
    {"payment", "transaction", "transfer", "zahlung"},
    {"user", "customer", "client", "contact", "account", "kunde", "nutzer", "konto"},
]
_ID_WORDS = frozenset("id ids no no. nr nr. num number nummer key ref code kennung numéro numero número".split())
_QUANTITIES = frozenset("amount count date day hour level month of page price quantity size time total year".split())
_NO_NAMES = frozenset("add all cancel create delete find for from get list pay read remove send set the with".split())
_LINKS = frozenset(": = [ is are was be should called named ist sind lautet soll sein namens".split())
_JOINS = frozenset(", ; & and or und oder et y".split())
_ANSWER = _JOINS.union(". ! ? # ( ) yes no please the ja nein bitte die".split())
_ENDS = frozenset(  # what may follow an id; a count has a noun behind it, a time and a measure have a unit
    "\n . , ; : ! ? ) ] } - – — & and as at but for from has if in is must now on or please should then to too was "
    "with an auf aus bitte dann et für hat ist mit muss oder soll und wenn y zu".split(" ")
)
_PLURALS = ("s", "e", "n", "es", "en")


def counts_things(tool: str) -> bool:
    """Whether the result of a tool is a quantity, by the tool's name."""
    return not _QUANTITIES.isdisjoint(_split_words(tool))


def is_named(texts: Iterable[str], value: Any, tool: str, place: str) -> bool:
    """Whether texts that hold a value name it for a place in a call. What is no short id needs no name."""
    written = str(value).strip().removesuffix(".0")
    if not _SHORT_ID.fullmatch(written) or not _takes_id(place, is_text=isinstance(value, str)):
        return True
    names = _list_names(tool, place)
    return any(_names_id(text, written, names, is_text=isinstance(value, str)) for text in texts)


def _takes_id(place: str, *, is_text: bool) -> bool:
    """Whether a value at a place of a call is an id, and no quantity."""
    words = [word for word in _split_words(place.rpartition(".")[2]) if word.isalpha()]
    deciding = words if "of" in words else words[-1:]  # `number_of_pages` is a quantity, `page_number` is none
    return _QUANTITIES.isdisjoint(deciding) if is_text else not _ID_WORDS.isdisjoint(deciding)


def _list_names(tool: str, place: str) -> set[str]:
    """Return the words for what an id at a place of a call belongs to: for anything, if no name says it."""
    words = {word.removesuffix("s") for word in _split_words(f"{tool} {place}") if len(word) > 2}
    words -= _ID_WORDS | _NO_NAMES
    return words.union(*(thing for thing in _THINGS if not words or not words.isdisjoint(thing)))


def _split_words(text: str) -> list[str]:
    """Return the words, numbers and signs of a text, or of a name such as `file_id` or `fileId`."""
    return _TOKEN.findall(_HUMP.sub(" ", text).lower())


def _names_id(text: str, written: str, names: set[str], *, is_text: bool) -> bool:
    """Whether a text gives an id to a thing that has one of these names."""
    sign = written if written.isdecimal() else f"[{written.lower()}{written.upper()}]"  # first, for a fast search
    whole = rf"{sign}(?<![\w$€£¥/\\+\-]{sign})(?<!\d[.:']{sign})(?!\w|[.:/\-]\d| ?[%€$£°])"
    hits = [hit.span() for hit in islice(re.finditer(whole, text), MAX_ID_HITS)]
    if len(text) < LOOKBACK_CHARS and all(_ITEM.fullmatch(each) or each in _ANSWER for each in _split_words(text)):
        return bool(hits)
    is_ids = text.startswith(("[", "{")) and not _ID_KEY.search(text)
    for start, end in hits:
        hit = _read_hit(text, start, end)
        if hit.is_marked or (not hit.is_step() and hit.has_end() and hit.has_name(names)):
            return True
        if is_ids and hit.is_leaf(is_text=is_text):
            return True
    return False


class _Hit(NamedTuple):
    """A number or a letter in a text, with the words and signs before and after it.

    Attributes:
        written: The number or the letter.
        before: What stands before it, the nearest last.
        after: What stands after it, the nearest first.
        is_quoted: Whether quotes are around it.
        begins: Whether it stands where the number of a step may stand.
    """

    written: str
    before: list[str]
    after: list[str]
    is_quoted: bool
    begins: bool

    @property
    def is_value(self) -> bool:
        """Whether it stands where JSON has a value or a key."""
        return self.before[-1] in ":=[,{"

    @property
    def is_marked(self) -> bool:
        """Whether its own signs make it an id: "#2", or quotes in a sentence."""
        return self.before[-1] == "#" or (self.is_quoted and not self.is_value)

    def is_step(self) -> bool:
        """Whether it is the number of a step: "2. Answer it", also in "1. Read the mail 2. Answer it"."""
        sign, following = [*self.after, "\n"][:2]
        if sign not in ".)" or following == "\n":
            return False
        earlier = f"{int(self.written) - 1} {sign}" if self.written.isdecimal() else sign
        return self.begins or earlier in " ".join(self.before)

    def has_end(self) -> bool:
        """Whether what follows is no noun, no unit and no bracket that nothing has opened."""
        following = self.after[0]
        if following == ")":
            return "(" in self.before
        if self.written.isdecimal() or not following.isalpha():
            return following in _ENDS
        return following in _JOINS  # a letter is mostly a word

    def has_name(self, names: set[str]) -> bool:
        """Whether a word for an id, or for a thing with one of these names, stands before it or before its list."""
        thing, label, is_listed = self._find_label()
        if label in _ID_WORDS or label.endswith("nummer"):
            return thing in names or not any(thing in each for each in _THINGS)
        if label in names:
            return True
        return is_listed and any(label.removesuffix(ending) in names for ending in _PLURALS)

    def is_leaf(self, *, is_text: bool) -> bool:
        """Whether it is a value in data, of the type that is looked for and not under the key of a quantity."""
        _, label, _ = self._find_label()
        if not self.is_value or not (self.is_quoted or self.after[0] in ",]}") or label in _QUANTITIES:
            return False
        return self.is_quoted == is_text or not label

    def _find_label(self) -> tuple[str, str, bool]:
        """Return the two words before it, or before its list, and whether there is one: "files 2 and 5"."""
        before, is_listed = self.before, any(map(_ITEM.fullmatch, self.after[1:2])) and self.after[0] in _JOINS
        is_line = before[-1] in "\n-•" and "\n" in before[-2:] and "\n" in self.after[:2]
        joins, first = _JOINS.union("\n-•") if is_line else _JOINS, len(before)
        while first and (before[first - 1] in joins or _ITEM.fullmatch(before[first - 1])):
            first -= 1
        if is_line or any(map(_ITEM.fullmatch, before[first:])):
            before, is_listed = before[:first], True
        while before and before[-1] in _LINKS:
            is_listed = is_listed or before[-1] == "["
            before = before[:-1]
        thing, label = ["", "", *before][-2:]
        return thing, label, is_listed


def _read_hit(text: str, start: int, end: int) -> _Hit:
    before = _split_words(text[max(0, start - LOOKBACK_CHARS) : start])
    after = _split_words(text[end : end + LOOKAHEAD_CHARS])
    is_quoted = {text[start - 1 : start], text[end : end + 1]} <= set(QUOTES)
    begins = _STEP_START.search(text, max(0, start - 5), start) is not None
    return _Hit(text[start:end], before or ["\n"], after or ["\n"], is_quoted, begins)
