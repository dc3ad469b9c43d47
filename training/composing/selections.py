"""Composes conversations in which a record is chosen from a list.

A result has records; the next call needs values of the right one, or of each that fits. Records are drawn at random,
and what is right is computed from them: the cheapest one, all under a price, the one of exactly this name. Draws in
which two records could be meant are thrown away. `records.py` says what a domain is.

A phrase that chooses a record is put together of three parts in every language: `the cheapest locker`, `with a socket`,
`in North Hall`. So a condition is a phrase that follows the noun and is the same for one record and for several.
"""

import operator
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from composing.records import (
    LABEL,
    PHRASES,
    Call,
    Condition,
    Domain,
    Record,
    Repeat,
    Spelling,
    Superlative,
    load_entries,
    make_id,
    make_near_id,
    make_record,
    say_value,
)
from composing.tables import expect, write_set
from composing.talk import capitalise, join_words

DOMAINS: list[Domain] = load_entries(Domain, "english-1", "english-2", "english-3", "german", "french", "spanish")
REPEATS: list[Repeat] = load_entries(Repeat, "repeats")

STYLES = ("snake", "camel", "dotted", "prefixed")
SHAPES = ("bare", "wrapped", "nested")
PAGINGS = ("", "", "page", "cursor")

ENGLISH_SETS, ENGLISH_QUESTIONS = 3, 18
ABROAD_SETS, ABROAD_QUESTIONS = 2, 11
REPEAT_SETS, REPEAT_QUESTIONS = 3, 6

MAX_DRAWS = 300  # how often records are drawn until what is asked has one answer
MAX_RECORDS = 12

EARLIER_SHARE = 0.5
"""How often an exchange that is finished comes before the request; requests about a list that was told come on top."""

NAMED_MISS_SHARE = 0.35  # how often what is not there is one record that is asked for by its name
FOLLOW_SHARE = 0.2  # how often a request is about a list that was told before
SUMS = {"+": operator.add, "-": operator.sub, "*": operator.mul}  # how a value of a past order is changed

T = TypeVar("T")
Turn = dict[str, Any]
Question = dict[str, Any]


class UnclearError(Exception):
    """What was drawn makes no clear question."""


def check(is_clear: bool) -> None:
    if not is_clear:
        raise UnclearError


def retry(draw: Callable[[], T]) -> T:
    """Draw until something is clear."""
    for _ in range(MAX_DRAWS):
        with suppress(UnclearError):
            return draw()
    raise UnclearError


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


Kind = Callable[[list[Record]], Choice]  # a way to choose


class Chooser:
    """Draws records of a domain, and chooses among them, unless it would not be clear which are meant."""

    def __init__(self, domain: Domain, rng: random.Random) -> None:
        self.domain = domain
        self.rng = rng
        self.fields = self._draw_fields()
        self.bests = [each for each in domain.bests if each.name in self.fields]
        self.conditions = [each for each in domain.conditions if each.name in self.fields]

    def _draw_fields(self) -> list[str]:
        """Draw which fields the records have, so that a superlative and a condition go together."""
        domain, rng = self.domain, self.rng
        while True:
            count = rng.choice([2, 3, 3] if domain.role else [2, 3, 4])
            names = rng.sample(list(domain.fields), count)
            if domain.is_named_by_time and "leaves" not in names:
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

    def draw_records(self, low: int, high: int) -> list[Record]:
        """Draw records, with ids and names that are nearly alike among them."""
        domain, rng, count = self.domain, self.rng, self.rng.randint(low, high)
        records: list[Record] = []
        taken: set[Any] = set()
        for label in rng.sample(domain.labels, min(count, len(domain.labels))):
            made = make_id(domain.pattern, rng)
            while made in taken or (taken and rng.random() < 0.5):
                made = make_near_id(rng.choice(sorted(taken)), domain.pattern, rng)
                if made not in taken:
                    break
            taken.add(made)
            fields = {name: domain.fields[name] for name in self.fields}
            record = {domain.ident: made, LABEL: label} | make_record(fields, rng)
            if domain.role:
                record[domain.role_number] = make_id("@##-###", rng)
            records.append(record)
        return records

    def draw(self, kind: Kind, low: int = 2) -> tuple[list[Record], Choice]:
        """Draw records until some are chosen clearly."""

        def attempt() -> tuple[list[Record], Choice]:
            records = self.draw_records(low, MAX_RECORDS)
            return records, kind(records)

        return retry(attempt)

    def say_all(self) -> str:
        """Return the words for all records."""
        noun, plural = self.domain.noun, self.domain.plural
        return self.domain.every or self.rng.choice([f"all {plural}", f"every {noun}", f"all the {plural}"])

    def rank(self, records: Sequence[Record], best: Superlative, count: int = 1) -> list[Record]:
        """Return the records that come first, in the order of the list, unless the next one is as good."""
        ranked = sorted(records, key=lambda record: record[best.name], reverse=best.pick == "max")
        values = [record[best.name] for record in ranked]
        check(len(values) > count and len(set(values[: count + 1])) > count)
        return [record for record in records if any(record is each for each in ranked[:count])]

    def draw_condition(self, other: str = "") -> tuple[Condition, Any]:
        """Draw a condition on another field than that, and a value for it."""
        choices = [each for each in self.conditions if each.name != other]
        check(bool(choices))
        condition = self.rng.choice(choices)
        return condition, self.rng.choice(condition.values)

    def fit(self, records: Sequence[Record], condition: Condition, value: Any) -> tuple[str, list[Record]]:
        """Return the words of a condition, and the records that fit it, unless one is just at its limit."""
        is_limit = condition.relation in ("below", "above")
        check(not (is_limit and any(record[condition.name] == value for record in records)))
        words = condition.words.format(say_value(value, self.domain.lang))
        return words, [each for each in records if condition.fits(each, value)]

    def best(self, records: Sequence[Record]) -> Choice:
        best = self.rng.choice(self.bests)
        return Choice(best.one, self.rank(records, best), best)

    def best_under(self, records: Sequence[Record]) -> Choice:
        """Choose the best of those that fit a condition, where the best of all does not fit."""
        best = self.rng.choice(self.bests)
        words, fitting = self.fit(records, *self.draw_condition(best.name))
        [first], [found] = self.rank(records, best), self.rank(fitting, best)
        check(len(fitting) < len(records) and found is not first)
        return Choice(best.one, [found], best, words)

    def two_best(self, records: Sequence[Record]) -> Choice:
        best = self.rng.choice(self.bests)
        return Choice(best.two, self.rank(records, best, 2))

    def second_best(self, records: Sequence[Record]) -> Choice:
        """Choose the second in rank; only English has a phrase for it that fits every superlative."""
        best = self.rng.choice(self.bests)
        check(self.domain.lang == "en")
        [first] = self.rank(records, best)
        second = [each for each in self.rank(records, best, 2) if each is not first]
        return Choice(best.one.replace("the ", "the second ", 1), second)

    def best_other(self, records: Sequence[Record]) -> Choice:
        """Choose the best where the best of all is left out by its name."""
        best = self.rng.choice(self.bests)
        check(not self.domain.is_named_by_time)
        [first] = self.rank(records, best)
        second = [each for each in self.rank(records, best, 2) if each is not first]
        return Choice(best.one, second, best, PHRASES["other_than"][self.domain.lang].format(first[LABEL]))

    def fitting_both(self, records: Sequence[Record]) -> Choice:
        """Choose those that fit two conditions, each of which leaves out one that the other does not."""
        drawn = [self.draw_condition(), self.draw_condition()]
        (words, one), (more, two) = (self.fit(records, *each) for each in drawn)
        found = [each for each in one if any(each is other for other in two)]
        check(words != more and 1 <= len(found) <= 5 and len(found) not in (len(one), len(two)))
        return Choice(self.say_all(), found, condition=join_words(self.domain.lang, [words, more]))

    def fitting(self, records: Sequence[Record]) -> Choice:
        words, found = self.fit(records, *self.draw_condition())
        check(1 <= len(found) <= min(5, len(records) - 1))
        check(len(found) > 1 or self.rng.random() >= 0.7)
        return Choice(self.say_all(), found, condition=words)

    def named(self, records: Sequence[Record]) -> Choice:
        """Choose the record of a name, where another name is near."""
        record = self.rng.choice(records)
        others = [each for each in records if each is not record]
        if self.domain.is_named_by_time:
            check(len(others) > 1)
            others[0]["leaves"], others[1][LABEL] = record["leaves"], record[LABEL]
            check(others[1]["leaves"] != record["leaves"])
        else:
            check(len(records) < 3 or any(each[LABEL][:3] == record[LABEL][:3] for each in others))
        return Choice(self.domain.named.format(**record), [record], is_named=True)

    def placed(self, records: Sequence[Record]) -> Choice:
        is_second = self.rng.random() < 0.5
        check(len(records) > 2)
        return Choice(self.domain.second if is_second else self.domain.last, [records[1 if is_second else -1]])


def begin(sentence: str) -> str:
    """Write the first letter large, unless it is small on purpose, and one full stop where a quotation has one too."""
    sentence = sentence.replace('.".', '."').replace("..", ".")
    return sentence if sentence.startswith("hey") else capitalise(sentence)


def bare_scope(scope: str) -> str:
    """Return a scope without its article."""
    return re.sub(r"^(the |des |du |de la |de |d')", "", scope)


def fill(words: str, said: Mapping[str, str]) -> str:
    """Fill the named places of a text, and leave the place for the records."""
    for name, value in said.items():
        words = words.replace(f"{{{name}}}", value)
    return words


def ask_next(turns: list[Turn], calls: Iterable[Call]) -> Question:
    """Make a question whose answer is the next calls."""
    return {"category": "next", "turns": turns, "expected": expect(calls)}


def ask_reply(turns: list[Turn], reply: str, category: str = "answer") -> Question:
    """Make a question whose answer is words."""
    return {"category": category, "turns": turns, "expected": [], "reply": reply}


class SetComposer(Chooser):
    """Draws the questions about one set of tools of a domain."""

    def __init__(self, domain: Domain, place: int, rng: random.Random) -> None:
        self._spelling = Spelling(STYLES[place % len(STYLES)], domain.key)
        self._shape = rng.choice(SHAPES)
        self._paging = rng.choice(PAGINGS)
        super().__init__(domain, rng)
        self._order = rng.sample([domain.ident, LABEL, *self.fields], len(self.fields) + 2)
        self._listing = self._spelling.add_paging(domain.listing, self._paging)
        self._role_tools = domain.make_tools("role") if domain.role else []
        [self._history] = domain.make_tools("history")
        if domain.role:
            self._order.append(domain.role_number)

    def tools(self, spare: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the tools of the set, with some that do not matter."""
        own = [self._listing, self.domain.act, *self._role_tools]
        own += [self._history] if self.domain.lang == "en" else []
        others = self.rng.sample(self.domain.others, self.rng.randint(0, len(self.domain.others)))
        shown = [self._spelling.tool(each) for each in (*own, *others)]
        names = {each["name"] for each in shown}
        room = self.rng.randint(0, min(3, 8 - len(shown)))
        shown += [each for each in self.rng.sample(spare, room) if each["name"] not in names]
        return self.rng.sample(shown, len(shown))

    # What is shown.

    def _show(self, records: Sequence[Record], scope: str, pages: int = 1, cursor: str | None = None) -> Any:
        key = self._spelling.key
        names = {LABEL: self.domain.label}
        rows = [{key(names.get(name, name)): record[name] for name in self._order} for record in records]
        more = {"page": {"page": 1, "pages": pages}, "cursor": {key("next cursor"): cursor}}.get(self._paging, {})
        scope_key = key(next(iter(self._listing.parameters)))
        rows_key = key(self.domain.plural.lower()) if self.domain.lang == "en" else "items"
        match self._shape:
            case "bare" if not more:
                return rows
            case "nested":
                return {scope_key: bare_scope(scope), **more, "data": {"count": len(rows), rows_key: rows}}
            case _:
                return {**more, rows_key: rows}

    def _list_call(self, scope: str, **more: Any) -> Call:
        name = next(iter(self._listing.parameters))
        return self._spelling.call(self._listing, {name: bare_scope(scope), **more})

    def _act_calls(self, records: Sequence[Record], extras: Mapping[str, Any]) -> list[Call]:
        act = self.domain.act
        first = next(iter(act.parameters))
        idents = [record[self.domain.ident] for record in records]
        if act.parameters[first]["type"] == "array":
            return [self._spelling.call(act, {first: idents, **extras})]
        return [self._spelling.call(act, {first: ident, **extras}) for ident in idents]

    # What is said.

    def _say(self, choice: Choice, scope: str) -> str:
        """Put the words for records and their scope together: `of` and the like stand beside the noun."""
        is_first = self.domain.is_of or (self.domain.lang == "en" and self.rng.random() < 0.5)
        return choice.say(self.domain.in_scope.format(scope), is_scope_first=is_first)

    def _draw_deed(self) -> tuple[str, dict[str, Any]]:
        """Draw what is to be done, with a place for the records, and the values that go with it."""
        domain = self.domain
        extras = {name: self.rng.choice(values) for name, values in domain.extras.items()}
        is_spoken = domain.lang != "en" or self.rng.random() < 0.5
        said = {name: say_value(value, domain.lang) if is_spoken else str(value) for name, value in extras.items()}
        return fill(self.rng.choice(domain.deeds), said), extras

    def _pick(self, name: str) -> str:
        return self.rng.choice(PHRASES[name][self.domain.lang])

    # Questions.

    def select(self, kind: Kind) -> Question:
        """Ask for a deed with chosen records; their list is there."""
        records, choice = self.draw(kind)
        scope = self.rng.choice(self.domain.scopes)
        deed, extras = self._draw_deed()
        calls = self._act_calls(choice.records, extras)
        is_placed = kind == self.placed
        # A place on the list could mean one among those that were told.
        if not is_placed and self.rng.random() < FOLLOW_SHARE:
            with suppress(UnclearError):
                told = (self.tell_best if self.rng.random() < 0.6 else self.tell_count)(records, scope)
                request = begin(self._pick("follow_leads").format(deed.format(choice.say())))
                return ask_next([*told["turns"], {"reply": told["reply"]}, {"user": request}], calls)
        return ask_next(self._ask(self._request(deed, choice, scope, is_placed), records, scope), calls)

    def _request(self, deed: str, choice: Choice, scope: str, is_listed: bool = False) -> str:
        words = self.domain.in_scope.format(scope)
        if is_listed or (choice.is_named and self.domain.is_of) or self.rng.random() < 0.2:
            those = self.domain.those or f"the {self.domain.plural}"
            lead = self._pick("list_leads")
            return begin(lead.format(those=those, scope=words, deed=deed.format(choice.say())))
        return begin(self._pick("deed_leads").format(deed.format(self._say(choice, scope))))

    def _ask(self, request: str, records: Sequence[Record], scope: str, *paging: Any) -> list[Turn]:
        shown = self._show(records, scope, *paging)
        return [{"user": request}, {"calls": [self._list_call(scope)]}, {"results": [shown]}]

    def across(self) -> Question:
        """Ask for the best of two lists, or for the best of each."""
        first, one = self.draw(self.best)
        second, _ = self.draw(self.best)
        best, lang = one.best, self.domain.lang
        taken = {record[self.domain.ident] for record in first}
        check(not any(record[self.domain.ident] in taken for record in second))
        scopes = self.rng.sample(self.domain.scopes, 2)
        deed, extras = self._draw_deed()
        words = f"{best.one} {self.domain.in_scope.format(join_words(lang, scopes, 'or'))}"
        chosen: list[Record] = []
        if self.rng.random() < 0.5:
            with suppress(UnclearError):
                chosen = [*one.records, *self.rank(second, best)]
                words = join_words(lang, [f"{best.one} {self.domain.in_scope.format(scope)}" for scope in scopes])
        chosen = chosen or self.rank([*first, *second], best)
        request = begin(self._pick("deed_leads").format(deed.format(words)))
        turns = [
            {"user": request},
            {"calls": [self._list_call(scope) for scope in scopes]},
            {"results": [self._show(first, scopes[0]), self._show(second, scopes[1])]},
        ]
        return ask_next(turns, self._act_calls(chosen, extras))

    def turn_page(self) -> Question:
        """Ask for what needs another page of the list."""
        scope, (deed, _) = self.rng.choice(self.domain.scopes), self._draw_deed()
        check(bool(self._paging))
        kind = self.rng.choice(["best", "named", "last"] if self._paging == "page" else ["best", "named"])
        records, choice = self.draw({"best": self.best, "named": self.named, "last": self.placed}[kind], low=4)
        pages = 2
        if kind == "last":
            choice, pages = replace(choice, words=self.domain.last), self.rng.randint(2, 9)
        elif kind == "named":
            # The record is on another page: only near ones are on this one.
            check(not self.domain.is_named_by_time)
            records = [record for record in records if record is not choice.records[0]]
        cursor = make_id("c_%%%%%%", self.rng)
        turns = self._ask(self._request(deed, choice, scope, kind == "last"), records, scope, pages, cursor)
        more = {"page": pages} if self._paging == "page" else {"cursor": cursor}
        return ask_next(turns, [self._list_call(scope, **more)])

    def reach(self) -> Question:
        """Ask to write to somebody whose number is in the record: they are looked up first, then written to."""
        domain, rng = self.domain, self.rng
        check(bool(domain.role))
        records, choice = self.draw(rng.choice([self.best, self.best_under, self.named]))
        scope, text = rng.choice(domain.scopes), rng.choice(PHRASES["texts"])
        check(not (choice.is_named and domain.is_of))
        np = self._say(choice, scope)
        request = rng.choice(PHRASES["text_leads"]).format(role=domain.role, np=np, text=text)
        card, send = self._role_tools
        number = domain.role_number
        look_up = self._spelling.call(card, {number: choice.records[0][number]})
        turns = self._ask(request, records, scope)
        if rng.random() < 0.6:
            return ask_next(turns, [look_up])
        name, phone = rng.choice(PHRASES["names"]), make_id("+44 7### ######", rng)
        found = {self._spelling.key(number): choice.records[0][number], "name": name, "phone": phone}
        call = self._spelling.call(send, {"phone": phone, "text": text})
        turns += [{"calls": [look_up]}, {"results": [found]}]
        if rng.random() < 0.7:
            return ask_next(turns, [call])
        turns += [{"calls": [call]}, {"results": [{"sent": True, "to": phone}]}]
        label = choice.records[0][LABEL]
        return ask_reply(turns, f'I texted {name}, the {domain.role} of {label}, at {phone}: "{text}"')

    def look_back(self) -> Question:
        """Ask for the history of a record; what is said of its entries is given, and nothing else."""
        choose = self.rng.choice
        records, choice = self.draw(choose([self.best, self.best_under, self.best_other]))
        scope, leads = choose(self.domain.scopes), choose(PHRASES["history_leads"])
        lead, kind, (words, limit) = choose(leads), choose(PHRASES["history_kinds"]), choose(PHRASES["limits"])
        said = {key: value for key, value in (("kind", kind), ("limit", limit)) if f"{{{key}}}" in lead}
        request = begin(lead.format(np=self._say(choice, scope), kind=kind, limit=words))
        ident = next(iter(self._history.parameters))
        call = self._spelling.call(self._history, {ident: choice.records[0][self.domain.ident], **said})
        return ask_next(self._ask(request, records, scope), [call])

    def tell_best(self, records: list[Record], scope: str) -> Question:
        choice = self.best(records) if self.rng.random() < 0.6 else self.best_under(records)
        lang, record, best = self.domain.lang, choice.records[0], choice.best
        np = self._say(choice, scope)
        request = begin(self._pick("which_leads").format(np))
        value = best.value.format(say_value(record[best.name], lang, is_price="euro" in best.value))
        said = {"np": begin(np), "label": record[LABEL], "ident": record[self.domain.ident], "value": value}
        return ask_reply(self._ask(request, records, scope), PHRASES["which_reply"][lang].format(**said))

    def tell_count(self, records: list[Record], scope: str) -> Question:
        domain, (words, found) = self.domain, self.fit(records, *self.draw_condition())
        check(len(found) <= 5)
        several = self._say(Choice(domain.plural, found, condition=words), scope)
        tail = several.removeprefix(domain.plural + " ")
        turns = self._ask(begin(self._pick("count_leads").format(several)), records, scope)
        if not found:
            none = f"{domain.none or f'no {domain.noun}'} {tail}"
            return ask_reply(turns, PHRASES["none_answer"][domain.lang].format(none=none), "empty")
        form = PHRASES["count_reply"][domain.lang][min(len(found), 2) - 1]
        labels = join_words(domain.lang, [record[LABEL] for record in found])
        one = f"{domain.noun} {tail}"
        return ask_reply(turns, form.format(one=one, several=several, count=len(found), labels=labels))

    def tell(self) -> Question:
        def attempt() -> Question:
            records = self.draw_records(2, MAX_RECORDS)
            form = self.tell_best if self.rng.random() < 0.5 else self.tell_count
            found = form(records, self.rng.choice(self.domain.scopes))
            check(found["category"] == "answer")
            return found

        return retry(attempt)

    def finish(self) -> Question:
        """Tell that the deed is done."""
        records, choice = self.draw(self.rng.choice([self.best, self.best_under, self.named]))
        scope, (deed, extras) = self.rng.choice(self.domain.scopes), self._draw_deed()
        said = {name: say_value(value, self.domain.lang) for name, value in extras.items()}
        turns = self._ask(self._request(deed, choice, scope), records, scope)
        [call] = self._act_calls(choice.records, extras)
        result = self.rng.choice([{"ok": True}, {"status": "done"}, {"ok": True, "ref": make_id("%%%%%%", self.rng)}])
        turns += [{"calls": [call]}, {"results": [result]}]
        return ask_reply(turns, begin(fill(self.domain.done, {LABEL: choice.records[0][LABEL], **said})))

    def miss(self) -> Question:
        """Ask for a deed with records of which there is none."""
        domain, rng = self.domain, self.rng
        scope, (deed, _) = rng.choice(domain.scopes), self._draw_deed()
        if rng.random() < NAMED_MISS_SHARE and not domain.is_named_by_time:
            records = self.draw_records(3, 7)
            gone = records.pop(rng.randrange(len(records)))
            choice = Choice(domain.named.format(**gone), [], is_named=True)
            labels = join_words(domain.lang, [record[LABEL] for record in records])
            reply = begin(self._pick("unknown_reply").format(named=choice.words, labels=labels))
            return ask_reply(self._ask(self._request(deed, choice, scope), records, scope), reply, "empty")

        def attempt() -> tuple[list[Record], Superlative, str]:
            records, best = self.draw_records(2, 7), rng.choice(self.bests)
            words, found = self.fit(records, *self.draw_condition(best.name))
            check(not found)
            return records, best, words

        records, best, words = retry(attempt)
        choice = Choice(self.say_all() if rng.random() < 0.5 else best.one, [], condition=words)
        records = [] if rng.random() < 0.2 else records
        none = self._say(replace(choice, words=domain.none or f"no {domain.noun}"), scope)
        turns = self._ask(self._request(deed, choice, scope), records, scope)
        return ask_reply(turns, self._pick("none_reply").format(none=none), "empty")

    def _draw_earlier(self, question: Question) -> Question:
        """Draw a finished exchange about another list."""
        listed = [call for turn in question["turns"] for call in turn.get("calls", ())]

        def attempt() -> Question:
            earlier = self.rng.choice([self.tell, self.finish])()
            check(not any(call in listed for turn in earlier["turns"] for call in turn.get("calls", ())))
            return earlier

        return retry(attempt)

    def compose(self, count: int) -> Iterator[Question]:
        """Yield questions, some with a finished exchange before."""
        kinds: list[Callable[[], Question]] = [partial(self.select, kind) for kind in self.list_kinds()]
        kinds += [self.across, self.tell, self.tell, self.tell, self.miss, self.miss, self.finish]
        kinds += [self.turn_page] * (2 if self._paging else 0) + [self.reach] * (2 if self.domain.role else 0)
        kinds += [self.look_back] * (2 if self.domain.lang == "en" else 0)
        made = 0
        while made < count:
            for kind in self.rng.sample(kinds, len(kinds))[: count - made]:
                try:
                    question = kind()
                    if sum("user" in turn for turn in question["turns"]) == 1 and self.rng.random() < EARLIER_SHARE:
                        earlier = self._draw_earlier(question)
                        question["turns"] = [*earlier["turns"], {"reply": earlier["reply"]}, *question["turns"]]
                except UnclearError:
                    continue
                made += 1
                yield question


def compose_repeats(repeat: Repeat, spelling: Spelling, count: int, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield questions in which a past order is made again with one value changed."""
    for _ in range(count):
        orders: list[Record] = []
        while len({each["when"] for each in orders}) < rng.choice([1, 2, 3, 4]):
            drawn = make_record({**repeat.fields, **repeat.noise}, rng)
            pattern = repeat.pattern
            made = make_near_id(orders[0][repeat.ident], pattern, rng) if orders else make_id(pattern, rng)
            if not any(each["when"] == drawn["when"] or each[repeat.ident] == made for each in orders):
                orders.append({repeat.ident: made, **drawn})
        order = rng.sample(list(orders[0]), len(orders[0]))
        is_numbered = repeat.lang == "en" and rng.random() < 0.3
        chosen = rng.choice(orders) if is_numbered else max(orders, key=lambda each: each["when"])
        lead = rng.choice(PHRASES["number_leads"] if is_numbered else repeat.requests)
        who, (name, change, words) = rng.choice(repeat.asked), rng.choice(repeat.changes)
        changed = SUMS[change[0]](chosen[name], int(change[2:]))
        arguments = {key: chosen[key] for key in repeat.order.parameters} | {name: changed}
        rows = [{spelling.key(key): each[key] for key in order} for each in orders]
        result = rng.choice([rows, {"found": len(rows), "rows": rows}])
        turns = [
            {"user": lead.format(who=who, change=words, ident=repeat.ident, number=chosen[repeat.ident])},
            {"calls": [spelling.call(repeat.lookup, {next(iter(repeat.lookup.parameters)): who})]},
            {"results": [result]},
        ]
        yield ask_next(turns, [spelling.call(repeat.order, arguments)])


def compose(seed: int, domains: Sequence[Domain] = DOMAINS) -> Iterator[dict[str, Any]]:
    """Yield the lines of the suite: sets of tools, each followed by its questions."""
    rng = random.Random(seed)
    spare = [Spelling("snake", each.key).tool(other) for each in domains for other in each.others]
    for domain in domains:
        is_english = domain.lang == "en"
        first = rng.randrange(len(STYLES))
        for place in range(ENGLISH_SETS if is_english else ABROAD_SETS):
            composer = SetComposer(domain, first + place, rng)
            name = f"selection-{domain.key}-{place + 1}"
            count = ENGLISH_QUESTIONS if is_english else ABROAD_QUESTIONS
            yield from write_set(name, composer.tools(spare), composer.compose(count))
    for repeat in REPEATS:
        for place in range(REPEAT_SETS):
            spelling = Spelling(STYLES[place % len(STYLES)], repeat.key)
            name = f"selection-{repeat.key}-{place + 1}"
            tools = [spelling.tool(each) for each in (repeat.lookup, repeat.order, *repeat.others)]
            questions = compose_repeats(repeat, spelling, REPEAT_QUESTIONS, rng)
            yield from write_set(name, rng.sample(tools, len(tools)), questions)
