"""Draws records of a domain and chooses among them by what is said of them: for `selections.py`."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from composing.records.domain import (
    LABEL,
    Condition,
    Domain,
    Record,
    RecordTool,
    Superlative,
    make_id,
    make_near_id,
    tool,
)
from composing.records.words import OTHER_THAN, join_words, say_value

MAX_DRAWS = 300
"""How often records are drawn until what is asked has one answer."""

MAX_RECORDS = 12

ROLE_NUMBER = "{} no"
"""The field with the number of who belongs to a record."""

HISTORY_KINDS = ("notes", "changes", "checks")
"""The kinds of entries in the history of a record."""

Call = dict[str, Any]


class NothingDrawnError(Exception):
    """No records were drawn that make a question clear."""


@dataclass(frozen=True)
class Choice:
    """Records that are meant, and the words for them.

    Attributes:
        words: The words for the records, such as `the cheapest locker`.
        records: The records, in the order of the list.
        best: The superlative, if one was used.
        condition: The words for the condition, if there is one.
        is_named: Whether the record is called by its name.
    """

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
        return (
            first + "".join(each.capitalize() for each in rest) if self._style == "camel" else "_".join(words.split())
        )

    def name(self, words: str) -> str:
        match self._style:
            case "dotted":
                return f"{self._prefix}.{'_'.join(words.split())}"
            case "prefixed":
                return f"{self._prefix}_{'_'.join(words.split())}"
            case _:
                return self.key(words)

    def tool(self, shown: RecordTool) -> dict[str, Any]:
        properties = {self.key(name): schema for name, schema in shown.parameters.items()}
        required = [self.key(name) for name in shown.parameters if name not in shown.optional]
        parameters = {"type": "object", "properties": properties, "required": required}
        return {"name": self.name(shown.name), "description": shown.about, "parameters": parameters}

    def call(self, called: RecordTool, arguments: Mapping[str, Any]) -> Call:
        return {"name": self.name(called.name), "arguments": {self.key(key): value for key, value in arguments.items()}}


def expect(calls: Sequence[Call]) -> list[Call]:
    return [{**call, "arguments": {key: [value] for key, value in call["arguments"].items()}} for call in calls]


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
        return [
            *twice,
            *twice,
            self.best,
            self.second_best,
            self.best_other,
            self.two_best,
            self.fitting_both,
            self.named,
            self.placed,
        ]

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

    def _say_condition(self, condition: Condition, value: Any) -> str:
        return condition.words.format(say_value(value, self._domain.lang))

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
        return self._say_condition(condition, value), [each for each in records if condition.fits(each, value)]

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
        return Choice(best.one, found, best, OTHER_THAN[self._domain.lang].format(first[0][LABEL]))

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
    abouts = {
        "page": {"type": "integer", "description": "Page of the list, from 1"},
        "cursor": {"type": "string", "description": f"`{spelling.key('next cursor')}` of the page before"},
    }
    added = {paging: abouts[paging]}
    return replace(listing, parameters={**listing.parameters, **added}, optional=frozenset(added))


def make_role_tools(role: str) -> list[RecordTool]:
    """Make the tools that look up who belongs to a record and write to them, if somebody does."""
    if not role:
        return []
    number, article = ROLE_NUMBER.format(role), "an" if role[0] in "aeiou" else "a"
    return [
        tool(f"{role} card", f"Name and phone of {article} {role}.", f"{number}|string|Number of the {role}"),
        tool("deliver text", "Sends a text to a phone.", "phone|string|Phone number", "text|string|What it says"),
    ]


def make_history_tool(domain: Domain) -> RecordTool:
    """Make the tool that shows what happened to a record."""
    kind = "integer" if domain.pattern.startswith("int:") else "string"
    name = domain.noun.lower()
    return tool(
        f"{name} history",
        f"Entries on one {name}, newest first.",
        f"{domain.ident}|{kind}|From the list of {domain.plural}",
        f"?kind|{','.join(HISTORY_KINDS)}|Only entries of this kind",
        "?limit|integer|How many entries at most",
    )
