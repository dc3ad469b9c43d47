"""The records of spoken calls: what models write, the tools that they had, and the calls that were meant.

`spoken.jsonl.gz` is packed from the records of the tests by `scripts/pack_records.py`; a test fails if the two differ.
A record may name its `family` and its `kind`. Where it does not, the family follows from the text, and the kind from
the calls that were meant and from the word in brackets with which the note of the record begins.
"""

import gzip
import json
import re
from collections.abc import Iterable
from importlib.resources import files
from typing import Any, cast

from toolspeak._frozen import frozen
from toolspeak.definitions import read_definition
from toolspeak.reading.forms import FAMILIES
from toolspeak.spec import ToolSpec

PACKED_NAME = "spoken.jsonl.gz"

REFERENCES_KIND, DECOYS_KIND, OTHER_KIND = "references", "decoys", "calls"

KINDS: dict[str, tuple[str, ...]] = {
    "forms": (
        "family", "family one", "family two", "other form", "mix", "combo", "react", "tags", "label", "line", "fence",
    ),
    "arguments": (
        "args", "arguments", "argument shape", "shape", "str", "strings", "escapes", "crlf", "invisible",
        "syntax slip", "comments",
    ),
    "names": ("name", "callee"),
    "programs": ("structure", "flow", "data flow", "loop", "bind", "arith", "wrap", "scope", "cond", "plan"),
    "reasoning": ("reasoning", "think"),
    "made-up results": ("fabricated result", "result"),
    "cut off": ("truncation", "cut"),
    "missing tokens": ("missing opener", "missing closer"),
    DECOYS_KIND: ("decoy",),
}  # fmt: skip
"""The kinds of records, each with the words in brackets that stand for it in notes."""

KIND_BY_WORD = {word: kind for kind, words in KINDS.items() for word in words}

NOTE_WORD = re.compile(r"\[([^\]]*)\]")
FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.M)
REACT = re.compile(r"\bAction[ _]Input\b", re.I)
REFERENCE_KEYS = frozenset({"$call", "$concat"})

FAMILY_TOKENS = sorted(
    ((token.lower(), family.name) for family in FAMILIES for token in (*family.openers, *family.headers)),
    key=lambda pair: -len(pair[0]),
)


@frozen
class SpokenRecord:
    """A text of a model, and the calls that were meant.

    Attributes:
        id: The name of the record.
        family: The form of its calls: the tokens of a model family, code, plain JSON and so on.
        kind: What the record tries.
        tools: The definitions of the tools on offer, as JSON data.
        specs: The same tools.
        text: The text.
        expected: The calls that were meant, as JSON data.
        note: What is odd about the text.
    """

    id: str
    family: str
    kind: str
    tools: list[dict[str, Any]]
    specs: tuple[ToolSpec, ...]
    text: str
    expected: list[dict[str, Any]]
    note: str = ""


def load_records(lines: Iterable[str] | None = None) -> list[SpokenRecord]:
    """Return records.

    Args:
        lines: A record of JSON on each line; without them, the records that come with the package.
    """
    lines = _packed_lines() if lines is None else lines
    return [build_record(json.loads(line)) for line in lines if line.strip()]


def _packed_lines() -> list[str]:
    packed = (files("toolspeak.conformance") / PACKED_NAME).read_bytes()
    return gzip.decompress(packed).decode("utf-8").split("\n")


def build_record(data: dict[str, Any]) -> SpokenRecord:
    """Build a record from its JSON data, and name its family and kind where the data do not."""
    return SpokenRecord(
        id=data["id"],
        family=data.get("family") or find_family(data["text"], is_code=data.get("dialect") == "code"),
        kind=data.get("kind") or find_kind(data.get("note", ""), data["expected"]),
        tools=data["tools"],
        specs=tuple(read_definition(tool, data["id"]) for tool in data["tools"]),
        text=data["text"],
        expected=data["expected"],
        note=data.get("note", ""),
    )


def find_family(text: str, *, is_code: bool) -> str:
    """Return the family of a text: that of its first token, or else what surrounds its calls."""
    has_fence = FENCE.search(text) is not None
    if is_code:
        return "code in a fence" if has_fence else "code without a fence"
    lower = text.lower()
    found = [(place, name) for token, name in FAMILY_TOKENS if (place := lower.find(token)) >= 0]
    if found:
        return min(found, key=lambda pair: pair[0])[1]
    if REACT.search(text):
        return "ReAct"
    if has_fence:
        return "JSON in a fence"
    return "JSON without a fence" if "{" in text else "prose, other tags"


def find_kind(note: str, expected: list[dict[str, Any]]) -> str:
    """Return the kind of a record by its note, and by whether its calls need results of each other."""
    if has_reference(expected):
        return REFERENCES_KIND
    word = NOTE_WORD.match(note)
    return KIND_BY_WORD.get(word[1].lower() if word else "", OTHER_KIND if expected else DECOYS_KIND)


def has_reference(value: Any) -> bool:
    """Whether a value of JSON holds a reference to the result of a call."""
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value)
        return not REFERENCE_KEYS.isdisjoint(items) or any(map(has_reference, items.values()))
    return isinstance(value, list) and any(map(has_reference, cast("list[Any]", value)))
