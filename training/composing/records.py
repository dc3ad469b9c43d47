"""Records of a domain: tools that list them and act on one, and the words that choose among them, for `selections.py`.

Names of tools, parameters and fields are written in words (`locker id`); each set of tools spells them in one style.

The domains are in `tables/selections-LANGUAGE.toml`, past orders in `tables/selections-repeats.toml`, and the sentences
around their words in `tables/selections-words.toml`. There, a tool is written as `make_tool` takes it, a field as a
name of `MAKERS` and its arguments, a superlative and a condition as the attributes of their classes in their order, and
a change of a past order as a field, a sum such as `+ 2`, and the words for it.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Literal

from composing.tables import describe_tool, read_table
from composing.talk import list_plain_days

Record = dict[str, Any]
Call = dict[str, Any]

PHRASES = read_table("selections-words")
LABEL = "label"  # the field with the name of a record
DIGITS = "0123456789"
POOLS = {"#": DIGITS, "@": "ABCDEFGHKLMNPRSTUVWX", "%": "0123456789abcdef"}
"""What the marks of a pattern of ids stand for."""

OF_WORDS = ("of", "around", "about", "for", "from", "de", "del")  # the first words of scopes that belong to the noun


@dataclass(frozen=True)
class RecordTool:
    """A tool, with its names in words, its description and the schemas of its parameters."""

    name: str
    about: str
    parameters: Mapping[str, dict[str, Any]]
    optional: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Superlative:
    """The largest or smallest value of a field: the words for the record, for the first two, and for the value."""

    name: str
    pick: Literal["max", "min"]
    one: str
    two: str
    value: str


@dataclass(frozen=True)
class Condition:
    """A condition on a field: how it stands to one of some values, and the phrase after the noun."""

    name: str
    relation: Literal["is", "is not", "below", "above"]
    values: Sequence[Any]
    words: str

    def fits(self, record: Record, value: Any) -> bool:
        own = record[self.name]
        if self.relation in ("is", "is not"):
            return (own == value) == (self.relation == "is")
        return own < value if self.relation == "below" else own > value


@dataclass(frozen=True)
class Domain:
    """Records of one kind, with their tools and their words; the README of `training` tells what each entry is."""

    key: str
    noun: str
    plural: str
    listing: RecordTool
    in_scope: str
    scopes: Sequence[str]
    ident: str
    pattern: str
    label: str
    labels: Sequence[str]
    fields: Mapping[str, Sequence[Any]]
    bests: Sequence[Superlative]
    conditions: Sequence[Condition]
    named: str
    act: RecordTool
    deeds: Sequence[str]
    done: str
    extras: Mapping[str, Sequence[Any]] = field(default_factory=dict[str, Sequence[Any]])
    others: Sequence[RecordTool] = ()
    role: str = ""
    those: str = ""
    none: str = ""
    every: str = ""
    second: str = "the second one on the list"
    last: str = "the last one on the list"
    lang: str = "en"

    @property
    def is_of(self) -> bool:
        """Whether the words for a scope belong to the noun."""
        return self.in_scope.split()[0] in OF_WORDS

    @property
    def is_named_by_time(self) -> bool:
        """Whether a record is named by when it leaves and by its label, so that a label alone is not clear."""
        return "{leaves}" in self.named

    @property
    def role_number(self) -> str:
        """Return the field with the number of who belongs to a record."""
        return f"{self.role} no"

    def make_tools(self, name: str) -> list[RecordTool]:
        """Make tools that many domains have: `role` to find who belongs to a record and to write to them, `history`."""
        words = {"role": self.role, "article": "an" if self.role[:1] in "aeiou" else "a", "number": self.role_number}
        words |= {"name": self.noun.lower(), "ident": self.ident, "plural": self.plural}
        words["kind"] = "integer" if self.pattern.startswith("int:") else "string"
        return [make_tool(*(each.format(**words) for each in tool)) for tool in PHRASES["tools"][name]]


@dataclass(frozen=True)
class Repeat:
    """Past orders, of which one is made again with one value changed; the README of `training` tells the entries."""

    key: str
    lookup: RecordTool
    asked: Sequence[str]
    ident: str
    pattern: str
    order: RecordTool
    fields: Mapping[str, Sequence[Any]]
    changes: Sequence[tuple[str, str, str]]
    noise: Mapping[str, Sequence[Any]]
    requests: Sequence[str]
    others: Sequence[RecordTool] = ()
    lang: str = "en"


def make_tool(name: str, about: str, *parameters: str) -> RecordTool:
    """Return a tool; a parameter is written `name|type|description`, and `?` before the name makes it optional."""
    schemas: dict[str, dict[str, Any]] = {}
    optional: set[str] = set()
    for each in parameters:
        key, kind, words = each.split("|")
        if key.startswith("?"):
            key = key[1:]
            optional.add(key)
        schema: dict[str, Any] = {"type": kind, "description": words}
        if kind.startswith("["):
            schema = {"type": "array", "items": {"type": kind.strip("[]")}, "description": words}
        elif "," in kind:
            schema = {"type": "string", "enum": kind.split(","), "description": words}
        schemas[key] = schema
    return RecordTool(name, about, schemas, frozenset(optional))


MAKERS: dict[str, Callable[..., Any]] = {
    "whole": lambda rng, low, high, step=1: rng.randrange(low, high + 1, step),
    "decimal": lambda rng, low, high, places=1: round(rng.uniform(low, high), places) + 0.0,  # no -0.0
    "one_of": lambda rng, *values: rng.choice(values),
    "day": lambda rng, year=2026, first=1, last=12: f"{year}-{rng.randint(first, last):02}-{rng.randint(1, 28):02}",
    "clock": lambda rng, first=6, last=21: f"{rng.randint(first, last):02}:{rng.randrange(0, 60):02}",
    "form": lambda rng, pattern: make_id(pattern, rng),
}
"""What draws the values of fields."""


def make_record(fields: Mapping[str, Sequence[Any]], rng: random.Random) -> Record:
    return {name: MAKERS[kind](rng, *arguments) for name, (kind, *arguments) in fields.items()}


def make_id(pattern: str, rng: random.Random) -> Any:
    """Make an id; a number does not begin with a zero."""
    is_number = pattern.startswith("int:")
    made = "".join(rng.choice(POOLS[each]) if each in POOLS else each for each in pattern.removeprefix("int:"))
    return int(rng.choice(DIGITS[1:]) + made[1:]) if is_number else made


def make_near_id(made: Any, pattern: str, rng: random.Random) -> Any:
    """Make an id that differs from another in one place."""
    shape, text = pattern.removeprefix("int:"), str(made)
    places = [place for place, each in enumerate(shape) if each in POOLS and place > 0]
    if not places:
        return make_id(pattern, rng)
    place = rng.choice(places)
    text = text[:place] + rng.choice(POOLS[shape[place]]) + text[place + 1 :]
    return int(text) if pattern.startswith("int:") else text


READERS: dict[str, Callable[[Any], Any]] = {
    # Names of which several begin alike are written as beginnings and ends.
    "labels": lambda it: [base + end for base in it["bases"] for end in it["ends"]] if isinstance(it, dict) else it,
    "bests": lambda rows: [Superlative(*row) for row in rows],
    "conditions": lambda rows: [Condition(*row) for row in rows],
    "others": lambda rows: [make_tool(*row) for row in rows],
    **dict.fromkeys(("listing", "act", "lookup", "order"), lambda row: make_tool(*row)),
}
"""What makes something of an entry of a table; other entries are taken as they are."""


def load_entries(made: Callable[..., Any], *tables: str) -> list[Any]:
    """Load the domains or the repeats of tables."""
    entries = [each for table in tables for rows in read_table(f"selections-{table}").values() for each in rows]
    return [made(**{key: READERS.get(key, lambda it: it)(value) for key, value in each.items()}) for each in entries]


def say_value(value: Any, lang: str, *, is_price: bool = False) -> str:
    """Write a value as people of a language do: dates in words, decimals with their sign."""
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return list_plain_days(lang, date.fromisoformat(value))[0]
    if isinstance(value, float):
        text = f"{value:.2f}" if is_price else str(value)
        return text if lang == "en" else text.replace(".", ",")
    return str(value)


class Spelling:
    """How a set of tools spells the names of tools, parameters and fields."""

    def __init__(self, style: str, prefix: str) -> None:
        self._style = style
        self._prefix = prefix

    def key(self, words: str) -> str:
        first, *rest = words.split()
        return first + "".join(map(str.capitalize, rest)) if self._style == "camel" else "_".join((first, *rest))

    def name(self, words: str) -> str:
        joint = {"dotted": ".", "prefixed": "_"}.get(self._style)
        return f"{self._prefix}{joint}{self.key(words)}" if joint else self.key(words)

    def tool(self, shown: RecordTool) -> dict[str, Any]:
        properties = {self.key(name): schema for name, schema in shown.parameters.items()}
        required = [self.key(name) for name in shown.parameters if name not in shown.optional]
        return describe_tool(self.name(shown.name), shown.about, properties, required)

    def call(self, called: RecordTool, arguments: Mapping[str, Any]) -> Call:
        return {"name": self.name(called.name), "arguments": {self.key(key): value for key, value in arguments.items()}}

    def add_paging(self, listing: RecordTool, paging: str) -> RecordTool:
        """Return a tool that lists records with a parameter for further pages, if there are pages."""
        if not paging:
            return listing
        about = {"type": "integer", "description": "Page of the list, from 1"}
        if paging == "cursor":
            about = {"type": "string", "description": f"`{self.key('next cursor')}` of the page before"}
        return replace(listing, parameters={**listing.parameters, paging: about}, optional=frozenset([paging]))
