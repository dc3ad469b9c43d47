"""What a domain of records is: tools that list them and act on one, and the words that choose among them.

Names of tools, parameters and fields are written in words (`locker id`); each set of tools spells them in one style.
A phrase that chooses a record is put together of three parts in every language: `the cheapest locker`, `with a socket`,
`in North Hall`. So a condition is a phrase that follows the noun and is the same for one record and for several.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Record = dict[str, Any]
Maker = Callable[[random.Random], Any]

LABEL = "label"
"""The field with the name of a record."""

DIGITS, LETTERS, HEX_DIGITS = "0123456789", "ABCDEFGHKLMNPRSTUVWX", "0123456789abcdef"


@dataclass(frozen=True)
class RecordTool:
    """A tool, with its names in words.

    Attributes:
        name: The name, in words.
        about: The description.
        parameters: For each parameter its schema.
        optional: The parameters that are not required.
    """

    name: str
    about: str
    parameters: Mapping[str, dict[str, Any]]
    optional: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Superlative:
    """A way to choose the record with the largest or smallest value.

    Attributes:
        name: The field.
        pick: Whether the largest or the smallest is meant.
        one: The words for the record.
        two: The words for the two that come first.
        value: What is told of the value in a reply, with a place for it.
    """

    name: str
    pick: Literal["max", "min"]
    one: str
    two: str
    value: str


@dataclass(frozen=True)
class Condition:
    """A condition on a field.

    Attributes:
        name: The field.
        relation: How the value of the field stands to the other one.
        values: The values to compare with, of which one is drawn.
        words: The phrase after the noun, with a place for the value.
    """

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
    """Records of one kind, with their tools and their words.

    Attributes:
        key: The name of the domain, and the prefix of its tools where they have one.
        noun, plural, those, none, every: As in `locker`, `lockers`, `the lockers`, `no locker`, `all lockers`.
        listing: The tool that lists the records; its first parameter is the scope.
        in_scope: The words for a scope, with a place for its value.
        scopes: The values of the scope.
        ident: The field with the id; the first parameter of `act` takes it.
        pattern: The form of an id: `#` is a digit, `@` a letter, `%` a hexadecimal one; `int:` before it: a number.
        label: The name of the field that names a record.
        labels: The names, near ones among them.
        fields: The other fields.
        bests, conditions: The ways to choose.
        named: The words for one record, with places for fields, of which the label is `label`.
        act: The tool that does something with one record, or with several if its first parameter takes an array.
        deeds: The words for what is to be done, with a place `{}` for the records.
        extras: The values for the other parameters of `act`, which `deeds` have places for.
        done: What is replied when it is done.
        others: More tools.
        role: Who belongs to a record: the record has a number for them, which another tool looks up.
        second, last: The words for one on the list.
        lang: The language of the words.
    """

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
    fields: Mapping[str, Maker]
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


@dataclass(frozen=True)
class Repeat:
    """Past orders, of which one is made again with one value changed.

    Attributes:
        key: The name of the domain, and the prefix of its tools where they have one.
        lookup: The tool that finds the past orders of somebody or of a number.
        asked: What is looked up: the words and the value.
        ident, pattern: The field with the id of an order, and its form.
        order: The tool that orders; each of its parameters is a field of a past order.
        fields: The fields that are copied.
        changes: The field that is changed, how, and the words for it.
        noise: Fields of a past order that are not ordered, a date `when` among them.
        requests: The requests, with places for what is looked up and for the change.
        others: More tools.
        lang: The language of the words.
    """

    key: str
    lookup: RecordTool
    asked: Sequence[str]
    ident: str
    pattern: str
    order: RecordTool
    fields: Mapping[str, Maker]
    changes: Sequence[tuple[str, Callable[[Any], Any], str]]
    noise: Mapping[str, Maker]
    requests: Sequence[str]
    others: Sequence[RecordTool] = ()
    lang: str = "en"


def tool(name: str, about: str, *parameters: str) -> RecordTool:
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


def whole(low: int, high: int, step: int = 1) -> Maker:
    return lambda rng: rng.randrange(low, high + 1, step)


def decimal(low: float, high: float, places: int = 1) -> Maker:
    return lambda rng: round(rng.uniform(low, high), places) + 0.0  # no -0.0


def one_of(*values: Any) -> Maker:
    return lambda rng: rng.choice(values)


def day(year: int = 2026, first: int = 1, last: int = 12) -> Maker:
    return lambda rng: f"{year}-{rng.randint(first, last):02}-{rng.randint(1, 28):02}"


def clock(first: int = 6, last: int = 21) -> Maker:
    return lambda rng: f"{rng.randint(first, last):02}:{rng.randrange(0, 60):02}"


def form(pattern: str) -> Maker:
    return lambda rng: make_id(pattern, rng)


def twins(bases: Sequence[str], ends: Sequence[str]) -> tuple[str, ...]:
    """Return names of which several begin alike."""
    return tuple(base + end for base in bases for end in ends)


def most(name: str, adjective: str, noun: str, plural: str, value: str) -> Superlative:
    """Return the superlative for the largest value, in English."""
    return Superlative(name, "max", f"the {adjective} {noun}", f"the two {adjective} {plural}", value)


def least(name: str, adjective: str, noun: str, plural: str, value: str) -> Superlative:
    """Return the superlative for the smallest value, in English."""
    return Superlative(name, "min", f"the {adjective} {noun}", f"the two {adjective} {plural}", value)


def make_id(pattern: str, rng: random.Random) -> Any:
    """Make an id; a number does not begin with a zero."""
    is_number = pattern.startswith("int:")
    pools = {"#": DIGITS, "@": LETTERS, "%": HEX_DIGITS}
    made = "".join(rng.choice(pools[each]) if each in pools else each for each in pattern.removeprefix("int:"))
    return int(rng.choice(DIGITS[1:]) + made[1:]) if is_number else made


def make_near_id(made: Any, pattern: str, rng: random.Random) -> Any:
    """Make an id that differs from another in one place."""
    shape, text = pattern.removeprefix("int:"), str(made)
    pools = {"#": DIGITS, "@": LETTERS, "%": HEX_DIGITS}
    places = [place for place, each in enumerate(shape) if each in pools and place > 0]
    if not places:
        return make_id(pattern, rng)
    place = rng.choice(places)
    text = text[:place] + rng.choice(pools[shape[place]]) + text[place + 1 :]
    return int(text) if pattern.startswith("int:") else text
