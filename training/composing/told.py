"""The subjects of computed answers: what things have a number, how their tools are called, and what results look like.

A `Subject` is an entry of `tables/answers-*.toml`. A `View` is how one set of tools shows it: the names of the tools
and of the field, the shape of a result, the form of numbers in a language; it also says what may be claimed of the
things. `Records` are lists of records with several fields, and `RecordComposer` draws questions about them.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import accumulate
from typing import Any

from composing.selections import Question, Turn, check, retry
from composing.tables import describe_tool, expect, read_table
from composing.talk import capitalise, join_words
from toolspeak.run.output import Output

Value = float | int | str

LANGS = ("en", "de", "fr", "es")
UNIT_NAMES = {"°C": "celsius", "€": "EUR", "$": "USD", "%": "percent"}
CHECKED_UNITS = (["°C"], ["€"], ["kg", "g"])  # others are also left out, or written in many ways
SHAPES = ("bare", "text", "alone", "flat", "flat", "noisy", "noisy", "nested", "deep")
COMMON_POOLS = ("products", "devices", "shops")  # their names are words, which begin a sentence in capitals


@dataclass(frozen=True)
class Words:
    """What is said of a subject in one language."""

    noun: str
    who: str
    more: str
    less: str
    most: str
    least: str
    up: list[str]
    down: list[str]
    ask: list[str]
    tell: str
    is_more: str
    is_less: str
    missing: list[str]
    a_noun: str = ""
    two_more: list[str] = field(default_factory=list)
    two_less: list[str] = field(default_factory=list)
    sum: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Subject:
    """What things have a number, a date or a time: their tools, names and words.

    `small` is a smaller unit and how many of it the unit has; `plain` numbers are written without marks.
    """

    key: str
    names: list[str]
    tools: list[list[str]]
    listing: list[str]
    label: str
    fields: list[str]
    words: dict[str, Words]
    noise: dict[str, str]
    kind: str = "number"
    unit: str = ""
    small: list[Any] = field(default_factory=list)
    low: float = 0
    high: float = 0
    decimals: int = 0
    step: float = 0
    sums: bool = False
    plain: bool = False
    is_common: bool = False

    def draw(self, rng: random.Random, count: int) -> list[Value]:
        """Draw values, near ones and those of both signs among them."""
        if self.kind == "date":
            first = date(2026, rng.randint(1, 11), rng.randint(1, 28))
            return [(first + timedelta(rng.randint(0, rng.choice([9, 60, 200])))).isoformat() for _ in range(count)]
        if self.kind == "time":
            hour = rng.randint(6, 20)
            return [f"{min(23, hour + rng.randint(0, 3)):02}:{rng.randrange(0, 60):02}" for _ in range(count)]
        low, high = self.low, self.high
        if low < 0 < high and rng.random() < 0.5:
            low, high = -min(-low, high), min(-low, high)
        if rng.random() < 0.35:  # values that differ in their last digits
            width = (high - low) / 12
            low = rng.uniform(low, high - width)
            high = low + width
        step = self.step or 10**-self.decimals
        drawn = [round(round(rng.uniform(low, high) / step) * step, self.decimals) for _ in range(count)]
        return [each if self.decimals else int(each) for each in drawn]


@dataclass(frozen=True)
class Records:
    """A list of records of several fields: its tool, and what is asked of it."""

    key: str
    tool: list[str]
    rows: str
    label: str
    names: list[str]
    fields: dict[str, str]
    asks: list[list[str]]
    finds: list[list[str]]
    counts: list[list[str]]
    sums: list[list[str]] = field(default_factory=list)


@dataclass(frozen=True)
class Source:
    """What questions are composed of."""

    subjects: list[Subject]
    records: list[Records]
    questions: dict[str, dict[str, list[str]]]
    errors: list[str]
    sums: dict[str, list[list[Any]]]
    answers: dict[str, dict[str, str]]
    calculators: list[list[str]]
    reports: list[str]


def load_source(names: Sequence[str], side: str) -> Source:
    """Load tables, of which the sentences of one may be those of another."""
    words = read_table("answers-words")
    tables = [read_table(f"answers-{name}") for name in names]
    pools = {name: pool for table in tables for name, pool in table.get("pools", {}).items()}
    pools.setdefault("people", read_table("answers-subjects-1")["pools"]["people"])
    subjects = [_load_subject(each, pools) for table in tables for each in table.get("subject", [])]
    records = [Records(**_fill_pools(each, pools)) for table in tables for each in table.get("record", [])]
    questions = next((table["questions"] for table in tables if "questions" in table), words["questions"])
    sums = next((table["sums"] for table in tables if "sums" in table), words["sums"])
    errors, reports = words["errors"][side], words["reports"][side]
    return Source(subjects, records, questions, errors, sums, words["answers"], words["calculators"], reports)


def _load_subject(entry: Mapping[str, Any], pools: Mapping[str, list[str]]) -> Subject:
    words = {lang: Words(**entry[lang]) for lang in LANGS if lang in entry}
    plain = {key: value for key, value in entry.items() if key not in (*LANGS, "pool")}
    is_common = entry["pool"] in COMMON_POOLS
    return Subject(**plain, words=words, names=pools[entry["pool"]], is_common=is_common)


def _fill_pools(entry: dict[str, Any], pools: Mapping[str, list[str]]) -> dict[str, Any]:
    fields = {
        name: "|".join(pools[each[1:]]) if each.startswith("$") else each for name, each in entry["fields"].items()
    }
    return entry | {"fields": fields}


@dataclass(frozen=True)
class Told:
    """A thing with its value, and what else its result says. `unit` is that in which the value is shown."""

    name: str
    value: Any
    noise: dict[str, Any]
    unit: str


class View:
    """A subject as one set of tools shows it: names of tools and fields, the shape of results, the form of numbers."""

    def __init__(self, subject: Subject, lang: str, rng: random.Random) -> None:
        self.subject, self.lang, self.rng = subject, lang, rng
        self.words = subject.words[lang]
        self.field = rng.choice(subject.fields)
        shapes = SHAPES[3:] if subject.small else SHAPES
        self.shape = rng.choice(shapes)
        self._has_unit = bool(subject.small) or (self.field in ("price", "temperature", "rate") and rng.random() < 0.4)
        self._noise = rng.sample(list(subject.noise), rng.randint(0, len(subject.noise)))
        self._rows_key = rng.choice(["", "items", "results", "data"])
        name, about, self._parameter = rng.choice(subject.tools)
        self.tool_name, self._about = name, about.format(unit=subject.unit)
        self.listing_name, self._listing_about = subject.listing[0], subject.listing[1].format(unit=subject.unit)

    # The tools, and what they return.

    def make_tool(self) -> dict[str, Any]:
        return describe_tool(self.tool_name, self._about, {self._parameter: {"type": "string"}}, [self._parameter])

    def make_listing(self) -> dict[str, Any]:
        return describe_tool(self.listing_name, self._listing_about, {}, [])

    def call(self, name: str) -> dict[str, Any]:
        return {"name": self.tool_name, "arguments": {self._parameter: name}}

    def draw(self, count: int, *, is_mixed: bool = False, names: Sequence[str] = ()) -> list[Told]:
        """Draw things of other names than those."""
        free = [each for each in self.subject.names if each not in names]
        drawn = self.rng.sample(free, count)
        values = self.subject.draw(self.rng, count)
        return [
            self._tell(name, value, is_mixed and bool(self.subject.small) and self.rng.random() < 0.5)
            for name, value in zip(drawn, values, strict=True)
        ]

    def _tell(self, name: str, value: Any, is_small: bool) -> Told:
        noise = {key: draw_field(self.subject.noise[key], self.rng) for key in self._noise}
        return Told(name, value, noise, self.subject.small[0] if is_small else self.subject.unit)

    def shown_value(self, told: Told) -> Any:
        """Return the number that a result has, in the unit of the result."""
        if told.value is None or not self.subject.small or told.unit == self.subject.unit:
            return told.value
        return round(told.value * self.subject.small[1])

    def show(self, told: Told) -> Any:
        """Return the result of the call for one thing."""
        value = self.shown_value(told)
        own = {self.field: value} | ({"unit": UNIT_NAMES.get(told.unit, told.unit)} if self._has_unit else {})
        match self.shape:
            case "text" if value is not None:
                unit = f" {self.subject.unit}" if self.subject.unit else ""
                return f"{told.name}: {self.words.noun if self.lang == 'en' else self.field} {value}{unit}"
            case "bare" if not self._has_unit:
                return value
            case "bare" | "alone":
                return own
            case "flat":
                return {self.subject.label: told.name} | own
            case "noisy":
                return {self.subject.label: told.name} | told.noise | own
            case "nested":
                return {self.subject.label: told.name, "data": own | told.noise}
            case _:
                return {"status": "ok", "result": {self.subject.label: {"name": told.name}, "values": told.noise | own}}

    def show_all(self, things: Sequence[Told]) -> Any:
        """Return the result of the call for all things."""
        unit = {"unit": UNIT_NAMES.get(things[0].unit, things[0].unit)} if self._has_unit and things else {}
        rows = [
            {self.subject.label: each.name} | each.noise | {self.field: self.shown_value(each)} | unit
            for each in things
        ]
        return {self._rows_key: rows} if self._rows_key else rows

    # Words and claims.

    def number(self, value: Any, unit: str | None = None) -> str:
        """Write a value with its unit."""
        unit = self.subject.unit if unit is None else unit
        if isinstance(value, str):
            return value
        written = write_number(
            value, self.lang, self.subject.decimals if isinstance(value, float) else 0, is_plain=self.subject.plain
        )
        if unit == "$" and self.lang == "en":
            return f"${written}"
        return f"{written} {unit}" if unit and (unit != "%" or self.lang != "en") else f"{written}{unit}"

    def amount(self, told: Told) -> str:
        return self.number(self.shown_value(told), told.unit)

    def list_all(self, things: Sequence[Told]) -> str:
        """Write each thing with its value; where units differ, in the smaller one too."""
        parts: list[str] = []
        is_mixed = len({each.unit for each in things}) > 1
        colon = " :" if self.lang == "fr" else ":"
        for each in things:
            more = ""
            if is_mixed and each.unit == self.subject.unit:
                more = f" = {self.number(round(each.value * self.subject.small[1]), self.subject.small[0])}"
            parts.append(f"{each.name}{colon} {self.amount(each)}{more}")
        return ", ".join(parts)

    def claims(self, things: Sequence[Told], **more: Any) -> dict[str, Any]:
        """Return the claims of things, each with all values of its result."""
        owned: dict[str, list[Value]] = {}
        for each in things:
            values: list[Value] = [] if each.value is None else [each.value]
            if self.subject.small and each.value is not None:
                values.append(round(each.value * self.subject.small[1]))
            values += [noise for noise in each.noise.values() if not isinstance(noise, bool)]
            owned[alias(each.name)] = values
        units = [self.subject.unit, *self.subject.small[:1]] if self.subject.unit else []
        return {"things": owned, **({"units": units} if units in CHECKED_UNITS else {}), **more}


def alias(name: str) -> str:
    """Return a name with the name that it has without its article."""
    return f"{name}|{name.removeprefix('the ')}" if name.startswith("the ") else name


def draw_field(form: str, rng: random.Random) -> Any:
    """Draw the value of a field: `int:1:5`, `money:1:5`, `date`, `time`, or one of several words."""
    kind, *limits = form.split(":")
    match kind:
        case "int":
            return rng.randint(int(limits[0]), int(limits[1]))
        case "money":
            return round(rng.randint(int(limits[0]) * 2, int(limits[1]) * 2) / 2, 2)
        case "date":
            return (date(2026, 1, 5) + timedelta(rng.randrange(330))).isoformat()
        case "time":
            return f"{rng.randint(6, 22):02}:{rng.randrange(0, 60, 5):02}"
        case _:
            word = rng.choice(form.split("|"))
            return {"true": True, "false": False}.get(word, word)


def write_number(value: float, lang: str, decimals: int, *, is_plain: bool = False) -> str:
    """Write a number with the marks of a language."""
    written = f"{value:,.{decimals}f}" if abs(value) >= 10_000 and not is_plain else f"{value:.{decimals}f}"
    if lang == "en":
        return written
    thousands = " " if lang == "fr" else "."
    return written.replace(",", "§").replace(".", ",").replace("§", thousands)


class RecordComposer:
    """Draws the questions about one list of records, in English."""

    def __init__(self, source: Source, records: Records, rng: random.Random) -> None:
        self.records, self.rng = records, rng
        self._shape = rng.choice(["bare", "wrapped", "nested"])
        self._order = rng.sample([records.label, *records.fields], len(records.fields) + 1)
        spare = [View(each, "en", rng) for each in rng.sample(source.subjects, rng.choice([0, 1, 2]))]
        name, about = records.tool
        self._tools = [describe_tool(name, about, {}, []), *(each.make_tool() for each in spare)]

    def tools(self) -> list[dict[str, Any]]:
        return self.rng.sample(self._tools, len(self._tools))

    def draw(self) -> tuple[dict[str, dict[str, Any]], dict[str, list[Any]]]:
        """Draw records by their names; return them with what may be claimed of each."""
        names = self.rng.sample(self.records.names, self.rng.randint(3, 7))
        rows = {name: {key: draw_field(form, self.rng) for key, form in self.records.fields.items()} for name in names}
        return rows, {name: [each for each in row.values() if not isinstance(each, bool)] for name, row in rows.items()}

    def turns(self, request: str, rows: Mapping[str, Mapping[str, Any]]) -> list[Turn]:
        shown = [{key: row.get(key, name) for key in self._order} for name, row in rows.items()]
        nested = {"count": len(shown), "data": {self.records.rows: shown}}
        result = {"bare": shown, "wrapped": {self.records.rows: shown}, "nested": nested}[self._shape]
        return [{"user": request}, {"calls": [{"name": self.records.tool[0], "arguments": {}}]}, {"results": [result]}]

    def compose(self) -> Question:
        kinds = [self.make_ask, self.make_ask, self.make_find, self.make_find, self.make_count, self.make_none]
        return retry(self.rng.choice([*kinds, self.make_sum] if self.records.sums else kinds))

    def write(self, value: Any) -> str:
        return (
            write_number(value, "en", 2 if isinstance(value, float) else 0) if isinstance(value, int | float) else value
        )

    def reply(self, turns: list[Turn], reply: str, **claims: Any) -> Question:
        return {"category": "record", "turns": turns, "expected": [], "reply": capitalise(reply), "claims": claims}

    def make_ask(self) -> Question:
        rows, things = self.draw()
        name = self.rng.choice(list(rows))
        request, key, told = self.rng.choice(self.records.asks)
        value = rows[name][key]
        check(not isinstance(value, bool))
        reply = told.format(x=name, v=self.write(value))
        return self.reply(self.turns(request.format(x=name), rows), reply, things=things, says=[[value]])

    def _choose(self, asked: Sequence[Sequence[str]], *, is_found: bool = True) -> tuple[Any, ...]:
        rows, things = self.draw()
        request, key, *more = self.rng.choice(asked)
        if is_found:
            value = self.rng.choice([row[key] for row in rows.values()])
        else:
            value = draw_field(self.records.fields[key], self.rng)
        fitting = [name for name, row in rows.items() if row[key] == value]
        check(bool(fitting) is is_found and len(fitting) < len(rows))
        head = f"{key.replace('_', ' ')} {self.write(value)}"
        return rows, things, fitting, value, head, request.format(v=self.write(value)), *more

    def make_find(self) -> Question:
        rows, things, fitting, value, head, request = self._choose(self.records.finds)
        things = {name: [each for each in values if each != value] for name, values in things.items()}
        reply = f"{head}: {join_words('en', fitting)}."
        return self.reply(self.turns(request, rows), reply, things=things, free=[value, len(fitting)], chosen=fitting)

    def make_none(self) -> Question:
        rows, things, _, value, head, request = self._choose(self.records.finds, is_found=False)
        reply = f"{head}: none of the {len(rows)}."
        return self.reply(self.turns(request, rows), reply, things=things, free=[value, len(rows), 0], none=True)

    def make_count(self) -> Question:
        rows, things, fitting, value, head, request = self._choose(self.records.counts)
        things = {name: [each for each in values if each != value] for name, values in things.items()}
        reply = f"{head}: {join_words('en', fitting)}, so {len(fitting)} of {len(rows)}."
        free = [value, len(fitting), len(rows)]
        return self.reply(self.turns(request, rows), reply, things=things, free=free, says=[[len(fitting)]])

    def make_sum(self) -> Question:
        rows, things, fitting, value, _, request, key = self._choose(self.records.sums)
        check(2 <= len(fitting) <= 4)
        values = [rows[name][key] for name in fitting]
        digits = 2 if isinstance(values[0], float) else 0
        sums = [round(each, 2) for each in accumulate(values)]
        said, write = (
            [write_number(each, "en", digits, is_plain=True) for each in numbers] for numbers in (sums, values)
        )
        steps = "; ".join(f"{said[n - 1]} + {write[n]} = {said[n]}" for n in range(1, len(values)))
        listed = ", ".join(f"{name}: {self.write(rows[name][key])}" for name in fitting)
        things = {name: [each for each in own if each != value] for name, own in things.items()}
        check(not set(sums[1:]) & {each for own in things.values() for each in own})
        reply = f"{listed}. {steps}. Total: {self.write(sums[-1])}."
        free = [value, *sums[1:], len(fitting)]
        return self.reply(self.turns(request, rows), reply, things=things, free=free, says=[[sums[-1]]])


class TypedRecordComposer(RecordComposer):
    """Draws questions about one list of records whose answer is a report: fields of one record, or of all that fit."""

    def __init__(self, source: Source, records: Records, rng: random.Random) -> None:
        from pydantic import create_model  # other questions are composed without it

        super().__init__(source, records, rng)
        self._frames = source.reports
        self._chosen = rng.sample(list(records.fields), rng.randint(2, min(3, len(records.fields))))
        types = {key: type(draw_field(records.fields[key], rng)) for key in records.fields}
        self._is_summary = bool(records.sums) and rng.random() < 0.5
        if self._is_summary:
            number = types[records.sums[0][2]]
            kind = create_model("Summary", names=(list[str], ...), count=(int, ...), total=(number, ...))
        else:
            kind = create_model("Report", **{key: (types.get(key, str), ...) for key in (records.label, *self._chosen)})
        spec = Output(kind).tool.spec
        self._final = {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}

    def tools(self) -> list[dict[str, Any]]:
        return [*super().tools(), self._final]

    def compose(self) -> Question:
        turns, arguments = retry(self._summarise if self._is_summary else self._report)
        call = {"name": self._final["name"], "arguments": arguments}
        return {"category": "typed", "turns": turns, "expected": expect([call])}

    def _report(self) -> tuple[list[Turn], dict[str, Any]]:
        rows, _ = self.draw()
        name = self.rng.choice(list(rows))
        request = self.rng.choice(self._frames).format(x=name, label=self.records.label)
        return self.turns(request, rows), {self.records.label: name} | {key: rows[name][key] for key in self._chosen}

    def _summarise(self) -> tuple[list[Turn], dict[str, Any]]:
        rows, _, fitting, _, _, request, key = self._choose(self.records.sums)
        check(len(fitting) <= 3)
        total = round(sum(rows[name][key] for name in fitting), 2)
        return self.turns(request, rows), {"names": fitting, "count": len(fitting), "total": total}
