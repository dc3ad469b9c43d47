"""Records of a domain: tools that list them and act on one, and the words that choose among them, for `selections.py`.

Names of tools, parameters and fields are written in words (`locker id`); each set of tools spells them in one style.
A phrase that chooses a record is put together of three parts in every language: `the cheapest locker`, `with a socket`,
`in North Hall`. So a condition is a phrase that follows the noun and is the same for one record and for several.

The domains are in `tables/selections-LANGUAGE.toml`, past orders in `tables/selections-repeats.toml`, and the sentences
around their words in `tables/selections-words.toml`. There, a tool is written as `make_tool` takes it, a field as the
name of a function of `MAKERS` and its arguments, a superlative and a condition as the attributes of their classes in
their order, and a change of a past order as a field, a sum such as `+ 2`, and the words for it.
"""

import operator
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Literal

from composing.said.days import list_plain_days
from composing.tables import read_table

Record = dict[str, Any]
Call = dict[str, Any]
Maker = Callable[[random.Random], Any]

PHRASES = read_table("selections-words")

LABEL = "label"
"""The field with the name of a record."""

DIGITS = "0123456789"
POOLS = {"#": DIGITS, "@": "ABCDEFGHKLMNPRSTUVWX", "%": "0123456789abcdef"}
"""What the marks of a pattern of ids stand for."""

MAX_DRAWS = 300
"""How often records are drawn until what is asked has one answer."""

MAX_RECORDS = 12

ROLE_NUMBER = "{} no"
"""The field with the number of who belongs to a record."""

HISTORY_KINDS = ("notes", "changes", "checks")
"""The kinds of entries in the history of a record."""


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
    """Past orders, of which one is made again with one value changed; the README of `training` tells the entries."""

    key: str
    lookup: RecordTool
    asked: Sequence[str]
    ident: str
    pattern: str
    order: RecordTool
    fields: Mapping[str, Maker]
    changes: Sequence[tuple[str, str, str]]
    noise: Mapping[str, Maker]
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


MAKERS = {each.__name__: each for each in (whole, decimal, one_of, day, clock, form)}
SUMS = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def make_fields(given: Mapping[str, Sequence[Any]]) -> dict[str, Maker]:
    return {name: MAKERS[kind](*arguments) for name, (kind, *arguments) in given.items()}


def make_labels(given: Any) -> list[str]:
    """Return names; those of which several begin alike are written as beginnings and ends."""
    return [base + end for base in given["bases"] for end in given["ends"]] if isinstance(given, dict) else given


READERS: dict[str, Callable[[Any], Any]] = {
    "labels": make_labels,
    "bests": lambda rows: [Superlative(*row) for row in rows],
    "conditions": lambda rows: [Condition(*row) for row in rows],
    "others": lambda rows: [make_tool(*row) for row in rows],
    **dict.fromkeys(("fields", "noise"), make_fields),
    **dict.fromkeys(("listing", "act", "lookup", "order"), lambda row: make_tool(*row)),
}
"""What makes something of an entry of a table; other entries are taken as they are."""


def load_entries(made: Callable[..., Any], table: str) -> list[Any]:
    """Load the domains or the repeats of a table."""
    [entries] = read_table(table).values()
    return [made(**{key: READERS.get(key, lambda it: it)(value) for key, value in each.items()}) for each in entries]


def say_value(value: Any, lang: str, *, is_price: bool = False) -> str:
    """Write a value as people of a language do: dates in words, decimals with their sign."""
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return list_plain_days(lang, date.fromisoformat(value))[0]
    if isinstance(value, float):
        text = f"{value:.2f}" if is_price else str(value)
        return text if lang == "en" else text.replace(".", ",")
    return str(value)


def join_words(parts: Sequence[str], lang: str, place: int = 0) -> str:
    """Join parts with `and`, or with `or` if `place` is 1."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {PHRASES['joined'][lang][place]} {parts[-1]}"


def begin(sentence: str) -> str:
    """Write the first letter of a sentence large, unless the sentence begins in lower case on purpose."""
    return sentence if sentence.startswith("hey") else sentence[:1].upper() + sentence[1:]


def end(sentence: str) -> str:
    """Write one full stop where a quoted sentence ends with one already."""
    return sentence.replace('.".', '."').replace("..", ".")


def bare_scope(scope: str) -> str:
    """Return a scope without its article."""
    return re.sub(r"^(the |des |du |de la |de |d')", "", scope)


def fill(words: str, said: Mapping[str, str]) -> str:
    """Fill the named places of a text, and leave the place for the records."""
    for name, value in said.items():
        words = words.replace(f"{{{name}}}", value)
    return words


class NothingDrawnError(Exception):
    """No records were drawn that make a question clear."""


@dataclass(frozen=True)
class Choice:
    """Records that are meant, in the order of the list, and the words for them: `the cheapest locker`."""

    words: str
    records: list[Record]
    best: Superlative | None = None
    condition: str = ""
    is_named: bool = False

    def say(self, scope: str = "", *, is_scope_first: bool = False) -> str:
        """Put the words together."""
        parts = (self.words, scope, self.condition) if is_scope_first else (self.words, self.condition, scope)
        return " ".join(each for each in parts if each)


Kind = Callable[[list[Record]], Choice | None]
"""A way to choose."""


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
        parameters = {"type": "object", "properties": properties, "required": required}
        return {"name": self.name(shown.name), "description": shown.about, "parameters": parameters}

    def call(self, called: RecordTool, arguments: Mapping[str, Any]) -> Call:
        return {"name": self.name(called.name), "arguments": {self.key(key): value for key, value in arguments.items()}}


def draw_records(domain: Domain, names: Sequence[str], count: int, rng: random.Random) -> list[Record]:
    """Draw records, with ids and names that are nearly alike among them."""
    labels = rng.sample(domain.labels, min(count, len(domain.labels)))
    records: list[Record] = []
    taken: set[Any] = set()
    for label in labels:
        made = make_id(domain.pattern, rng)
        while made in taken or (taken and rng.random() < 0.5):
            source = rng.choice(sorted(taken)) if taken else made
            made = make_near_id(source, domain.pattern, rng)
            if made not in taken:
                break
        taken.add(made)
        record = {domain.ident: made, LABEL: label} | {name: domain.fields[name](rng) for name in names}
        if domain.role:
            record[ROLE_NUMBER.format(domain.role)] = make_id("@##-###", rng)
        records.append(record)
    return records


class Chooser:
    """Draws records of a domain, and chooses among them. What would not be clear is not chosen: None is returned."""

    def __init__(self, domain: Domain, rng: random.Random) -> None:
        self._domain = domain
        self._rng = rng
        self.fields = self._draw_fields()
        self.bests = [each for each in domain.bests if each.name in self.fields]
        self._conditions = [each for each in domain.conditions if each.name in self.fields]

    def _draw_fields(self) -> list[str]:
        """Draw which fields the records have, so that a superlative and a condition go together."""
        domain, rng = self._domain, self._rng
        while True:
            count = rng.choice([2, 3, 3] if domain.role else [2, 3, 4])
            names = rng.sample(list(domain.fields), count)
            if "{leaves}" in domain.named and "leaves" not in names:
                continue
            bests = {each.name for each in domain.bests} & set(names)
            conditions = {each.name for each in domain.conditions} & set(names)
            if bests and conditions and len(bests | conditions) > 1:
                return names

    def list_kinds(self) -> list[Kind]:
        """List the ways to choose, those that matter most twice."""
        twice: list[Kind] = [self.best_under, self.fitting]
        once: list[Kind] = [self.best, self.second_best, self.best_other, self.two_best, self.fitting_both]
        return [*twice, *twice, *once, self.named, self.placed]

    def list_single_kinds(self) -> list[Kind]:
        """List the ways to choose one record that may be said with its scope."""
        return [self.best, self.best_under, self.best_other]

    def draw_records(self, low: int, high: int) -> list[Record]:
        return draw_records(self._domain, self.fields, self._rng.randint(low, high), self._rng)

    def draw(self, kind: Kind, low: int = 2) -> tuple[list[Record], Choice]:
        """Draw records until some are chosen clearly."""
        for _ in range(MAX_DRAWS):
            records = self.draw_records(low, MAX_RECORDS)
            choice = kind(records)
            if choice is not None:
                return records, choice
        raise NothingDrawnError

    def say_all(self) -> str:
        """Return the words for all records."""
        domain = self._domain
        return domain.every or self._rng.choice(
            [f"all {domain.plural}", f"every {domain.noun}", f"all the {domain.plural}"]
        )

    def rank(self, records: Sequence[Record], best: Superlative, count: int = 1) -> list[Record] | None:
        """Return the records that come first, in the order of the list, unless the next one is as good."""
        ranked = sorted(records, key=lambda record: record[best.name], reverse=best.pick == "max")
        values = [record[best.name] for record in ranked]
        if len(values) <= count or len(set(values[: count + 1])) <= count:
            return None
        return [record for record in records if any(record is each for each in ranked[:count])]

    def draw_condition(self, records: Sequence[Record], other: str = "") -> tuple[str, list[Record]] | None:
        choices = [each for each in self._conditions if each.name != other]
        if not choices:
            return None
        condition = self._rng.choice(choices)
        value = self._rng.choice(condition.values)
        if condition.relation in ("below", "above") and any(record[condition.name] == value for record in records):
            return None
        words = condition.words.format(say_value(value, self._domain.lang))
        return words, [each for each in records if condition.fits(each, value)]

    def best(self, records: Sequence[Record]) -> Choice | None:
        best = self._rng.choice(self.bests)
        found = self.rank(records, best)
        return Choice(best.one, found, best) if found else None

    def best_under(self, records: Sequence[Record]) -> Choice | None:
        """Choose the best of those that fit a condition, where the best of all does not fit."""
        best = self._rng.choice(self.bests)
        drawn, first = self.draw_condition(records, best.name), self.rank(records, best)
        if drawn is None or first is None or not 2 <= len(drawn[1]) < len(records):
            return None
        found = self.rank(drawn[1], best)
        if not found or found[0] is first[0]:
            return None
        return Choice(best.one, found, best, drawn[0])

    def two_best(self, records: Sequence[Record]) -> Choice | None:
        best = self._rng.choice(self.bests)
        found = self.rank(records, best, 2)
        return Choice(best.two, found) if found else None

    def second_best(self, records: Sequence[Record]) -> Choice | None:
        """Choose the second in rank; only English has a phrase for it that fits every superlative."""
        best = self._rng.choice(self.bests)
        first, both = self.rank(records, best), self.rank(records, best, 2)
        if self._domain.lang != "en" or not first or not both:
            return None
        return Choice(best.one.replace("the ", "the second ", 1), [each for each in both if each is not first[0]])

    def best_other(self, records: Sequence[Record]) -> Choice | None:
        """Choose the best where the best of all is left out by its name."""
        best = self._rng.choice(self.bests)
        first, both = self.rank(records, best), self.rank(records, best, 2)
        if not first or not both or "{leaves}" in self._domain.named:
            return None
        found = [each for each in both if each is not first[0]]
        return Choice(best.one, found, best, PHRASES["other_than"][self._domain.lang].format(first[0][LABEL]))

    def fitting_both(self, records: Sequence[Record]) -> Choice | None:
        """Choose those that fit two conditions, each of which leaves out one that the other does not."""
        one, two = self.draw_condition(records), self.draw_condition(records)
        if one is None or two is None or one[0] == two[0]:
            return None
        found = [each for each in one[1] if any(each is other for other in two[1])]
        if not 1 <= len(found) <= 5 or len(found) in (len(one[1]), len(two[1])):
            return None
        return Choice(self.say_all(), found, condition=join_words([one[0], two[0]], self._domain.lang))

    def fitting(self, records: Sequence[Record]) -> Choice | None:
        drawn = self.draw_condition(records)
        if drawn is None or not 1 <= len(drawn[1]) <= min(5, len(records) - 1):
            return None
        if len(drawn[1]) == 1 and self._rng.random() < 0.7:
            return None
        return Choice(self.say_all(), drawn[1], condition=drawn[0])

    def named(self, records: Sequence[Record]) -> Choice | None:
        """Choose the record of a name, where another name is near."""
        record = self._rng.choice(records)
        near = [each for each in records if each is not record and each[LABEL][:3] == record[LABEL][:3]]
        if "{leaves}" in self._domain.named:
            others = [each for each in records if each is not record]
            if len(others) < 2:
                return None
            others[0]["leaves"], others[1][LABEL] = record["leaves"], record[LABEL]
            if others[1]["leaves"] == record["leaves"]:
                return None
        elif not near and len(records) > 2:
            return None
        return Choice(self._domain.named.format(**record), [record], is_named=True)

    def placed(self, records: Sequence[Record]) -> Choice | None:
        is_second = self._rng.random() < 0.5
        if len(records) < 3:
            return None
        return Choice(self._domain.second if is_second else self._domain.last, [records[1 if is_second else -1]])


def add_paging(listing: RecordTool, paging: str, spelling: Spelling) -> RecordTool:
    """Return a tool that lists records with a parameter for further pages, if there are pages."""
    if not paging:
        return listing
    about = {"type": "integer", "description": "Page of the list, from 1"}
    if paging == "cursor":
        about = {"type": "string", "description": f"`{spelling.key('next cursor')}` of the page before"}
    return replace(listing, parameters={**listing.parameters, paging: about}, optional=frozenset([paging]))


def make_role_tools(role: str) -> list[RecordTool]:
    """Make the tools that look up who belongs to a record and write to them, if somebody does."""
    if not role:
        return []
    number, article = ROLE_NUMBER.format(role), "an" if role[0] in "aeiou" else "a"
    return [
        make_tool(f"{role} card", f"Name and phone of {article} {role}.", f"{number}|string|Number of the {role}"),
        make_tool("deliver text", "Sends a text to a phone.", "phone|string|Phone number", "text|string|What it says"),
    ]


def make_history_tool(domain: Domain) -> RecordTool:
    """Make the tool that shows what happened to a record."""
    kind = "integer" if domain.pattern.startswith("int:") else "string"
    name = domain.noun.lower()
    return make_tool(
        f"{name} history",
        f"Entries on one {name}, newest first.",
        f"{domain.ident}|{kind}|From the list of {domain.plural}",
        f"?kind|{','.join(HISTORY_KINDS)}|Only entries of this kind",
        "?limit|integer|How many entries at most",
    )
