"""Composes conversations in which a record is chosen from a list.

A result has records; the next call needs values of the right one, or of each that fits. Records are drawn at random,
and what is right is computed from them: the cheapest one, all under a price, the one of exactly this name. Draws in
which two records could be meant are thrown away. `records.py` says what a domain is, and how its records are chosen.
The file has the format of every suite.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from composing.records import (
    HISTORY_KINDS,
    LABEL,
    MAX_DRAWS,
    MAX_RECORDS,
    PHRASES,
    ROLE_NUMBER,
    SUMS,
    Call,
    Choice,
    Chooser,
    Domain,
    Kind,
    NothingDrawnError,
    Record,
    Repeat,
    Spelling,
    Superlative,
    add_paging,
    bare_scope,
    begin,
    end,
    fill,
    join_words,
    load_entries,
    make_history_tool,
    make_id,
    make_near_id,
    make_role_tools,
    say_value,
)
from composing.tables import expect, number_lines, write_lines

ENGLISH: list[Domain] = [each for number in (1, 2, 3) for each in load_entries(Domain, f"selections-english-{number}")]
ABROAD: list[Domain] = [
    each for name in ("german", "french", "spanish") for each in load_entries(Domain, f"selections-{name}")
]
REPEATS: list[Repeat] = load_entries(Repeat, "selections-repeats")

STYLES = ("snake", "camel", "dotted", "prefixed")
SHAPES = ("bare", "wrapped", "nested")
PAGINGS = ("", "", "page", "cursor")

ENGLISH_SETS, ENGLISH_QUESTIONS = 3, 18
ABROAD_SETS, ABROAD_QUESTIONS = 2, 11
REPEAT_SETS, REPEAT_QUESTIONS = 3, 6

EARLIER_SHARE = 0.5
"""How often an exchange that is finished comes before the request; requests about a list that was told come on top."""

NAMED_MISS_SHARE = 0.35
"""How often what is not there is one record that is asked for by its name."""

FOLLOW_SHARE = 0.2
"""How often a request is about a list that was told before."""

OF_WORDS = ("of", "around", "about", "for", "from", "de", "del")
"""The first words of scopes that belong to the noun."""

Turn = dict[str, Any]
Question = dict[str, Any]


def ask_next(turns: list[Turn], calls: Iterable[Call]) -> Question:
    """Make a question whose answer is the next calls."""
    return {"category": "next", "turns": turns, "expected": expect(calls)}


def ask_reply(turns: list[Turn], reply: str, category: str = "answer") -> Question:
    """Make a question whose answer is words."""
    return {"category": category, "turns": turns, "expected": [], "reply": reply}


class SetComposer:
    """Draws the questions about one set of tools of a domain."""

    def __init__(self, domain: Domain, place: int, rng: random.Random) -> None:
        self._rng = rng
        self._domain = domain
        self._spelling = Spelling(STYLES[place % len(STYLES)], domain.key)
        self._shape = rng.choice(SHAPES)
        self._paging = rng.choice(PAGINGS)
        self._chooser = Chooser(domain, rng)
        self._order = rng.sample([domain.ident, LABEL, *self._chooser.fields], len(self._chooser.fields) + 2)
        self._listing = add_paging(domain.listing, self._paging, self._spelling)
        self._role_tools = make_role_tools(domain.role)
        self._history = make_history_tool(domain)
        if domain.role:
            self._order.append(ROLE_NUMBER.format(domain.role))

    def tools(self, spare: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the tools of the set, with some that do not matter."""
        own = [self._listing, self._domain.act, *self._role_tools]
        if self._domain.lang == "en":
            own.append(self._history)
        others = self._rng.sample(self._domain.others, self._rng.randint(0, len(self._domain.others)))
        shown = [self._spelling.tool(each) for each in (*own, *others)]
        names = {each["name"] for each in shown}
        room = self._rng.randint(0, min(3, 8 - len(shown)))
        shown += [each for each in self._rng.sample(spare, room) if each["name"] not in names]
        return self._rng.sample(shown, len(shown))

    # What is shown.

    def _show(self, records: Sequence[Record], scope: str, pages: int = 1, cursor: str | None = None) -> Any:
        key = self._spelling.key
        names = {LABEL: self._domain.label}
        rows = [{key(names.get(name, name)): record[name] for name in self._order} for record in records]
        more = {"page": {"page": 1, "pages": pages}, "cursor": {key("next cursor"): cursor}}.get(self._paging, {})
        scope_key = key(next(iter(self._listing.parameters)))
        rows_key = key(self._domain.plural.lower()) if self._domain.lang == "en" else "items"
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
        act = self._domain.act
        first = next(iter(act.parameters))
        idents = [record[self._domain.ident] for record in records]
        if act.parameters[first]["type"] == "array":
            return [self._spelling.call(act, {first: idents, **extras})]
        return [self._spelling.call(act, {first: ident, **extras}) for ident in idents]

    # What is said.

    def _scope_words(self, scope: str) -> str:
        return self._domain.in_scope.format(scope)

    def _say(self, choice: Choice, scope: str) -> str:
        """Put the words for records and their scope together: `of` and the like stand beside the noun."""
        first = self._domain.in_scope.split()[0]
        is_first = first in OF_WORDS or (self._domain.lang == "en" and self._rng.random() < 0.5)
        return choice.say(self._scope_words(scope), is_scope_first=is_first)

    def _draw_deed(self) -> tuple[str, dict[str, Any]]:
        """Draw what is to be done, with a place for the records, and the values that go with it."""
        domain = self._domain
        extras = {name: self._rng.choice(values) for name, values in domain.extras.items()}
        is_spoken = domain.lang != "en" or self._rng.random() < 0.5
        said = {name: say_value(value, domain.lang) if is_spoken else str(value) for name, value in extras.items()}
        return fill(self._rng.choice(domain.deeds), said), extras

    def _pick(self, name: str) -> str:
        return self._rng.choice(PHRASES[name][self._domain.lang])

    def _value_words(self, best: Superlative, record: Record) -> str:
        return best.value.format(say_value(record[best.name], self._domain.lang, is_price="euro" in best.value))

    # Questions.

    def select(self, kind: Kind) -> Question:
        """Ask for a deed with chosen records; their list is there."""
        records, choice = self._chooser.draw(kind)
        scope = self._rng.choice(self._domain.scopes)
        deed, extras = self._draw_deed()
        calls = self._act_calls(choice.records, extras)
        is_placed = kind == self._chooser.placed
        # A place on the list could mean one among those that were told.
        if not is_placed and self._rng.random() < FOLLOW_SHARE and (told := self._tell(records, scope)):
            request = begin(self._pick("follow_leads").format(deed.format(choice.say())))
            return ask_next([*told, {"user": request}], calls)
        return ask_next(self._ask(self._request(deed, choice, scope, is_placed), records, scope), calls)

    def _request(self, deed: str, choice: Choice, scope: str, is_listed: bool = False) -> str:
        words = self._scope_words(scope)
        is_of = self._domain.in_scope.split()[0] in OF_WORDS
        if is_listed or (choice.is_named and is_of) or self._rng.random() < 0.2:
            those = self._domain.those or f"the {self._domain.plural}"
            lead = self._pick("list_leads")
            return end(begin(lead.format(those=those, scope=words, deed=deed.format(choice.say()))))
        return end(begin(self._pick("deed_leads").format(deed.format(self._say(choice, scope)))))

    def _ask(self, request: str, records: Sequence[Record], scope: str, *paging: Any) -> list[Turn]:
        shown = self._show(records, scope, *paging)
        return [{"user": request}, {"calls": [self._list_call(scope)]}, {"results": [shown]}]

    def across(self) -> Question:
        """Ask for the best of two lists, or for the best of each."""
        first, one = self._chooser.draw(self._chooser.best)
        second, _ = self._chooser.draw(self._chooser.best)
        best, lang = one.best, self._domain.lang
        taken = {record[self._domain.ident] for record in first}
        if best is None or any(record[self._domain.ident] in taken for record in second):
            raise NothingDrawnError
        scopes = self._rng.sample(self._domain.scopes, 2)
        deed, extras = self._draw_deed()
        chosen, third = self._chooser.rank([*first, *second], best), self._chooser.rank(second, best)
        if self._rng.random() < 0.5 and third:
            words = join_words([f"{best.one} {self._scope_words(scope)}" for scope in scopes], lang)
            chosen = [*one.records, *third]
        else:
            words = f"{best.one} {self._scope_words(join_words(scopes, lang, 1))}"
        if not chosen:
            raise NothingDrawnError
        request = end(begin(self._pick("deed_leads").format(deed.format(words))))
        turns = [
            {"user": request},
            {"calls": [self._list_call(scope) for scope in scopes]},
            {"results": [self._show(first, scopes[0]), self._show(second, scopes[1])]},
        ]
        return ask_next(turns, self._act_calls(chosen, extras))

    def turn_page(self) -> Question:
        """Ask for what needs another page of the list."""
        scope, (deed, _) = self._rng.choice(self._domain.scopes), self._draw_deed()
        if not self._paging:
            raise NothingDrawnError
        kind = self._rng.choice(["best", "named", "last"] if self._paging == "page" else ["best", "named"])
        records, choice = self._chooser.draw(
            {"best": self._chooser.best, "named": self._chooser.named, "last": self._chooser.placed}[kind], low=4
        )
        pages = 2
        if kind == "last":
            choice, pages = replace(choice, words=self._domain.last), self._rng.randint(2, 9)
        elif kind == "named":
            # The record is on another page: only near ones are on this one.
            if "{leaves}" in self._domain.named:
                raise NothingDrawnError
            records = [record for record in records if record is not choice.records[0]]
        cursor = make_id("c_%%%%%%", self._rng)
        turns = self._ask(self._request(deed, choice, scope, kind == "last"), records, scope, pages, cursor)
        more = {"page": pages} if self._paging == "page" else {"cursor": cursor}
        return ask_next(turns, [self._list_call(scope, **more)])

    def reach(self) -> Question:
        """Ask to write to somebody whose number is in the record: they are looked up first, then written to."""
        domain, rng = self._domain, self._rng
        if not domain.role:
            raise NothingDrawnError
        records, choice = self._chooser.draw(
            rng.choice([self._chooser.best, self._chooser.best_under, self._chooser.named])
        )
        scope, text = rng.choice(domain.scopes), rng.choice(PHRASES["texts"])
        if choice.is_named and domain.in_scope.split()[0] in OF_WORDS:
            raise NothingDrawnError
        np = self._say(choice, scope)
        request = rng.choice(PHRASES["text_leads"]).format(role=domain.role, np=np, text=text)
        card, send = self._role_tools
        number = ROLE_NUMBER.format(domain.role)
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
        rng = self._rng
        records, choice = self._chooser.draw(rng.choice(self._chooser.list_single_kinds()))
        scope = rng.choice(self._domain.scopes)
        leads = rng.choice(PHRASES["history_leads"])
        lead, kind, (words, limit) = rng.choice(leads), rng.choice(HISTORY_KINDS), rng.choice(PHRASES["limits"])
        said = {key: value for key, value in (("kind", kind), ("limit", limit)) if f"{{{key}}}" in lead}
        request = begin(lead.format(np=self._say(choice, scope), kind=kind, limit=words))
        ident = next(iter(self._history.parameters))
        call = self._spelling.call(self._history, {ident: choice.records[0][self._domain.ident], **said})
        return ask_next(self._ask(request, records, scope), [call])

    def _tell(self, records: list[Record], scope: str) -> list[Turn] | None:
        """Return an exchange in which something of a list is told, if it can be told clearly."""
        told = self.tell_best(records, scope) if self._rng.random() < 0.6 else self.tell_count(records, scope)
        return [*told["turns"], {"reply": told["reply"]}] if told else None

    def tell_best(self, records: list[Record], scope: str) -> Question | None:
        choice = self._chooser.best(records) if self._rng.random() < 0.6 else self._chooser.best_under(records)
        if choice is None or choice.best is None:
            return None
        lang, record = self._domain.lang, choice.records[0]
        np = self._say(choice, scope)
        request = begin(self._pick("which_leads").format(np))
        value = self._value_words(choice.best, record)
        reply = PHRASES["which_reply"][lang].format(
            np=begin(np), label=record[LABEL], ident=record[self._domain.ident], value=value
        )
        return ask_reply(self._ask(request, records, scope), reply)

    def tell_count(self, records: list[Record], scope: str) -> Question | None:
        drawn = self._chooser.draw_condition(records)
        if drawn is None or len(drawn[1]) > 5:
            return None
        domain, (words, found) = self._domain, drawn
        several = self._say(Choice(domain.plural, found, condition=words), scope)
        tail = several.removeprefix(domain.plural + " ")
        lead = self._pick("count_leads")
        turns = self._ask(begin(lead.format(several)), records, scope)
        if not found:
            none = f"{domain.none or f'no {domain.noun}'} {tail}"
            return ask_reply(turns, PHRASES["none_answer"][domain.lang].format(none=none), "empty")
        form = PHRASES["count_reply"][domain.lang][min(len(found), 2) - 1]
        labels = join_words([record[LABEL] for record in found], domain.lang)
        one = f"{domain.noun} {tail}"
        return ask_reply(turns, form.format(one=one, several=several, count=len(found), labels=labels))

    def tell(self) -> Question:
        for _ in range(MAX_DRAWS):
            records = self._chooser.draw_records(2, MAX_RECORDS)
            form = self.tell_best if self._rng.random() < 0.5 else self.tell_count
            found = form(records, self._rng.choice(self._domain.scopes))
            if found and found["category"] == "answer":
                return found
        raise NothingDrawnError

    def finish(self) -> Question:
        """Tell that the deed is done."""
        records, choice = self._chooser.draw(
            self._rng.choice([self._chooser.best, self._chooser.best_under, self._chooser.named])
        )
        scope, (deed, extras) = self._rng.choice(self._domain.scopes), self._draw_deed()
        said = {name: say_value(value, self._domain.lang) for name, value in extras.items()}
        turns = self._ask(self._request(deed, choice, scope), records, scope)
        [call] = self._act_calls(choice.records, extras)
        result = self._rng.choice([{"ok": True}, {"status": "done"}, {"ok": True, "ref": make_id("%%%%%%", self._rng)}])
        turns += [{"calls": [call]}, {"results": [result]}]
        return ask_reply(turns, begin(fill(self._domain.done, {LABEL: choice.records[0][LABEL], **said})))

    def miss(self) -> Question:
        """Ask for a deed with records of which there is none."""
        domain, rng = self._domain, self._rng
        scope, (deed, _) = rng.choice(domain.scopes), self._draw_deed()
        if rng.random() < NAMED_MISS_SHARE and "{leaves}" not in domain.named:
            records = self._chooser.draw_records(3, 7)
            gone = records.pop(rng.randrange(len(records)))
            choice = Choice(domain.named.format(**gone), [], is_named=True)
            labels = join_words([record[LABEL] for record in records], domain.lang)
            reply = begin(self._pick("unknown_reply").format(named=choice.words, labels=labels))
            return ask_reply(self._ask(self._request(deed, choice, scope), records, scope), reply, "empty")
        for _ in range(MAX_DRAWS):
            records = self._chooser.draw_records(2, 7)
            best = rng.choice(self._chooser.bests)
            drawn = self._chooser.draw_condition(records, best.name)
            if drawn is None or drawn[1]:
                continue
            choice = Choice(self._chooser.say_all() if rng.random() < 0.5 else best.one, [], condition=drawn[0])
            if rng.random() < 0.2:
                records = []
            none = self._say(replace(choice, words=domain.none or f"no {domain.noun}"), scope)
            turns = self._ask(self._request(deed, choice, scope), records, scope)
            return ask_reply(turns, self._pick("none_reply").format(none=none), "empty")
        raise NothingDrawnError

    def _draw_earlier(self, question: Question) -> Question:
        """Draw a finished exchange about another list."""
        listed = [call for turn in question["turns"] for call in turn.get("calls", ())]
        for _ in range(MAX_DRAWS):
            earlier = self._rng.choice([self.tell, self.finish])()
            if not any(call in listed for turn in earlier["turns"] for call in turn.get("calls", ())):
                return earlier
        raise NothingDrawnError

    def compose(self, count: int) -> Iterator[Question]:
        """Yield questions, some with a finished exchange before."""
        kinds: list[Callable[[], Question]] = []
        kinds += [partial(self.select, kind) for kind in self._chooser.list_kinds()]
        kinds += [self.across, self.tell, self.tell, self.tell, self.miss, self.miss, self.finish]
        kinds += [self.turn_page] * (2 if self._paging else 0) + [self.reach] * (2 if self._domain.role else 0)
        kinds += [self.look_back] * (2 if self._domain.lang == "en" else 0)
        made = 0
        while made < count:
            for kind in self._rng.sample(kinds, len(kinds))[: count - made]:
                try:
                    question = kind()
                    if sum("user" in turn for turn in question["turns"]) == 1 and self._rng.random() < EARLIER_SHARE:
                        earlier = self._draw_earlier(question)
                        question["turns"] = [*earlier["turns"], {"reply": earlier["reply"]}, *question["turns"]]
                except NothingDrawnError:
                    continue
                made += 1
                yield question


def compose_repeats(repeat: Repeat, spelling: Spelling, count: int, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield questions in which a past order is made again with one value changed."""
    for _ in range(count):
        orders: list[Record] = []
        while len({each["when"] for each in orders}) < rng.choice([1, 2, 3, 4]):
            drawn = {name: maker(rng) for name, maker in (*repeat.fields.items(), *repeat.noise.items())}
            made = (
                make_near_id(orders[0][repeat.ident], repeat.pattern, rng) if orders else make_id(repeat.pattern, rng)
            )
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


def compose_all(seed: int) -> Iterator[dict[str, Any]]:
    """Yield the lines of the suite: sets of tools, each followed by its questions."""
    rng = random.Random(seed)
    spare = [Spelling("snake", each.key).tool(other) for each in (*ENGLISH, *ABROAD) for other in each.others]
    for domain in (*ENGLISH, *ABROAD):
        is_english = domain.lang == "en"
        first = rng.randrange(len(STYLES))
        for place in range(ENGLISH_SETS if is_english else ABROAD_SETS):
            composer = SetComposer(domain, first + place, rng)
            name = f"selection-{domain.key}-{place + 1}"
            yield {"toolset": name, "tools": composer.tools(spare)}
            yield from number_lines(name, composer.compose(ENGLISH_QUESTIONS if is_english else ABROAD_QUESTIONS))
    for repeat in REPEATS:
        for place in range(REPEAT_SETS):
            spelling = Spelling(STYLES[place % len(STYLES)], repeat.key)
            name = f"selection-{repeat.key}-{place + 1}"
            tools = [spelling.tool(each) for each in (repeat.lookup, repeat.order, *repeat.others)]
            yield {"toolset": name, "tools": rng.sample(tools, len(tools))}
            yield from number_lines(name, compose_repeats(repeat, spelling, REPEAT_QUESTIONS, rng))


def write_selections(path: Path, seed: int) -> None:
    write_lines(path, compose_all(seed))
