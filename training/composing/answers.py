"""Composes questions whose results are there, and whose answer is computed from them.

Values of things are drawn at random, given out by tools one by one or as a list, and asked about: which is more, what
is the sum, which are above a limit, what does the record say. A program knows the answer, and what may be claimed in
other words (`claims`, see `toolspeak.lab.claims`). All answers have one form, which a small model can follow: each
thing with its number, as the results have them, then what follows from them.

Some questions want a typed answer: the call that gives it is made by toolspeak's own code. A few are not to be answered
yet, since a result is missing: there the next call is right.

`compose` writes what is trained on. `compose_kept` writes the suite `answers`, of other tools, names and sentences.
"""

import random
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import Any, Literal

from composing.selections import Question, Turn, UnclearError, check, retry
from composing.tables import describe_tool, expect, write_set
from composing.talk import capitalise, join_words, lower_first
from composing.told import RecordComposer, Source, Subject, Told, TypedRecordComposer, View, load_source, write_number
from toolspeak.loop.words import demand_output
from toolspeak.run.output import NAME, Output

TABLES = ("subjects-1", "subjects-2", "records")
ENGLISH_SETS, ENGLISH_QUESTIONS = 6, 26
ABROAD_SETS, ABROAD_QUESTIONS = 2, 16
TYPED_SETS, TYPED_QUESTIONS = 4, 12
RECORD_SETS, RECORD_QUESTIONS = 6, 14
TIE_SHARE = 0.08
MAX_ROWS = 6

KINDS = {
    "two": 30, "whether": 10, "several": 10, "all_best": 9, "difference": 6, "total": 8, "average": 4, "order": 5,
    "limit": 9, "count": 5, "over": 5, "each": 4, "plain": 6, "no_field": 3, "no_value": 2, "error": 6, "empty": 1,
    "next_call": 3, "again": 6, "both": 5, "reckoned": 12,
}  # fmt: skip
"""How often each kind of question is drawn."""

Typed = tuple[list[Turn], list[Told], dict[str, Any]]  # a request with its results, the things, and the typed answer

RECKONING = frozenset({"difference", "total", "average"})
NUMBERS_ONLY = RECKONING | {"limit", "count", "over", "order"}
CALCULATOR_SHARE = 0.3  # the share of the sets of tools that have one


class SetComposer:
    """Draws the questions about one set of tools."""

    def __init__(
        self, source: Source, subject: Subject, lang: str, rng: random.Random, *, has_calculator: bool = False
    ) -> None:
        self.source, self.rng, self.lang = source, rng, lang
        self.view = View(subject, lang, rng)
        others = [each for each in source.subjects if lang in each.words and each.key != subject.key]
        others = [each for each in others if each.names is not subject.names and not each.small]
        self.partner = View(rng.choice(others), lang, rng)
        self._spare = [View(each, lang, rng) for each in rng.sample(others, rng.choice([0, 0, 1, 2]))]
        self._asked = source.questions[lang]
        self._calculator = rng.choice(source.calculators) if has_calculator else None
        self._answers = source.answers[lang]

    def tools(self) -> list[dict[str, Any]]:
        made = [self.view.make_tool(), self.view.make_listing(), self.partner.make_tool()]
        made += [each.make_tool() for each in self._spare]
        if self._calculator:
            name, about, parameter = self._calculator
            made.append(describe_tool(name, about, {parameter: {"type": "string"}}, [parameter]))
        unique = {each["name"]: each for each in made}
        return self.rng.sample(list(unique.values()), len(unique))

    def compose(self, kind: str) -> Question:
        """Draw a question of a kind until it is clear."""
        return retry(lambda: getattr(self, f"make_{kind}")())

    def can(self, kind: str) -> bool:
        """Whether such a question has one answer here: with a calculator, a sum may be left to it."""
        subject = self.view.subject
        if (kind in RECKONING and self._calculator) or (kind == "reckoned" and not self._calculator):
            return False
        if kind == "total":
            return subject.sums
        return subject.kind == "number" or kind not in NUMBERS_ONLY

    # How questions and answers are put together.

    def ask(self, name: str, things: Sequence[Told] = (), **more: str) -> str:
        names = [each.name for each in things]
        words = self.view.words
        values = {
            "who": lower_first(words.who), "who_small": lower_first(words.who), "Who": capitalise(words.who),
            "noun": words.noun, "Noun": capitalise(words.noun), "a_noun": words.a_noun,
            "list": join_words(self.lang, names), "or_list": join_words(self.lang, names, "or"),
        } | more  # fmt: skip
        if len(names) > 1:
            values |= {"a": names[0], "b": names[1]}
        values["x"] = more.get("x", names[0] if names else "")
        sentence = self.rng.choice(self._asked.get(name, [name])).format(**values)
        return sentence if self.rng.random() < 0.12 else self.begin(sentence)

    def ask_which(self, things: Sequence[Told], two: str, several: str) -> str:
        """Ask which of two or several is the most."""
        return self.ask("two", things, rel=two) if len(things) == 2 else self.ask("several", things, rel=several)

    def ask_one(self, thing: Told) -> str:
        return self.ask(self.rng.choice(self.view.words.ask), [thing])

    def finish(self, things: Sequence[Told], conclusion: str, fitting: Sequence[Told] | None = None) -> str:
        """Write all things, and what follows."""
        so = self._answers["so"]
        ending = self.begin(conclusion) if so.startswith(".") else conclusion
        return f"{self.list_all(things, fitting)}{so}{ending}."

    def list_all(self, things: Sequence[Told], fitting: Sequence[Told] | None = None) -> str:
        """Write all things, with a capital where the first name is no name but words, each marked if it fits."""
        listed = self.view.list_all(things)
        if fitting is not None:
            marks = [self.say("fits" if each in fitting else "fits_not") for each in things]
            listed = ", ".join(
                f"{self.view.list_all([each])} ({mark})" for each, mark in zip(things, marks, strict=True)
            )
        return capitalise(listed) if self.view.subject.is_common else listed

    def begin(self, sentence: str) -> str:
        """Write the first letter large, unless it is that of a name, which stays as it is."""
        is_name = any(sentence.startswith(name) for name in self.view.subject.names)
        return sentence if is_name and not self.view.subject.is_common else capitalise(sentence)

    def say(self, name: str, **values: Any) -> str:
        return self._answers[name].format(**values)

    def turns(self, request: str, things: Sequence[Told]) -> list[Turn]:
        """Return a request, calls for each thing and their results: all at once, or one after the other."""
        calls, results = [self.view.call(each.name) for each in things], [self.view.show(each) for each in things]
        if len(things) > 1 and self.rng.random() < 0.25:
            pairs = [({"calls": [call]}, {"results": [result]}) for call, result in zip(calls, results, strict=True)]
            return [{"user": request}, *chain.from_iterable(pairs)]
        return [{"user": request}, {"calls": calls}, {"results": results}]

    def list_turns(self, request: str, things: Sequence[Told]) -> list[Turn]:
        call = {"name": self.view.listing_name, "arguments": {}}
        return [{"user": request}, {"calls": [call]}, {"results": [self.view.show_all(things)]}]

    def reply(self, category: str, turns: list[Turn], reply: str, claims: dict[str, Any]) -> Question:
        """Return a question, unless a derived number is by chance that of a thing."""
        derived = {abs(each) for each in claims.get("free", ()) if not isinstance(each, str)}
        owned = {abs(each) for values in claims["things"].values() for each in values if not isinstance(each, str)}
        check(not derived & owned)
        return {"category": category, "turns": turns, "expected": [], "reply": reply, "claims": claims}

    def shuffle(self, things: list[Told]) -> list[Told]:
        """Return things in the order in which they are looked up, mostly that of the question."""
        return things if self.rng.random() < 0.65 else self.rng.sample(things, len(things))

    def pick_side(self) -> tuple[bool, str, str]:
        """Return whether the most is asked for, and the words for that of two and of several."""
        is_more = self.rng.random() < 0.5
        words = self.view.words
        return is_more, words.more if is_more else words.less, words.most if is_more else words.least

    def find_best(self, things: Sequence[Told], is_more: bool) -> Told:
        ranked = sorted(things, key=lambda each: each.value, reverse=is_more)
        check(ranked[0].value != ranked[1].value)
        return ranked[0]

    def side(self, is_more: bool) -> dict[str, list[str]]:
        up, down = self.view.words.up, self.view.words.down
        return {"more": up, "less": down} if is_more else {"more": down, "less": up}

    # The kinds of questions.

    def draw_two(self) -> list[Told]:
        things = self.view.draw(2, is_mixed=True)
        if self.rng.random() < TIE_SHARE:
            things[1] = Told(things[1].name, things[0].value, things[1].noise, things[0].unit)
        return things

    def make_two(self) -> Question:
        things = self.draw_two()
        is_more, relation, _ = self.pick_side()
        own = self.view.words.two_more if is_more else self.view.words.two_less
        if own and self.rng.random() < 0.5:
            request = self.ask(self.rng.choice(own), things)
        else:
            request = self.ask("two", things, rel=relation)
        return self.answer_two(request, things, is_more, relation)

    def compose_both_orders(self) -> list[Question]:
        """Return a comparison of two asked and looked up in both orders."""

        def attempt() -> list[Question]:
            things = self.draw_two()
            is_more, relation, _ = self.pick_side()
            own = self.view.words.two_more if is_more else self.view.words.two_less
            frame = self.rng.choice([*own, self.rng.choice(self._asked["two"])])
            orders = [things, things[::-1]]
            if self.rng.random() < 0.25:
                return [self.answer_whether(each, is_more, relation) for each in orders]
            return [self.answer_two(self.ask(frame, each, rel=relation), each, is_more, relation) for each in orders]

        return retry(attempt)

    def answer_two(self, request: str, things: list[Told], is_more: bool, relation: str) -> Question:
        looked_up = self.shuffle(things)
        turns = self.turns(request, looked_up)
        if things[0].value == things[1].value:
            claims = self.view.claims(things, tie=True, free=[2], **self.side(is_more))
            return self.reply("compare", turns, self.finish(looked_up, self.say("tie")), claims)
        best = self.find_best(things, is_more)
        difference = [] if isinstance(best.value, str) else [self.gap(things)]
        claims = self.view.claims(things, winner=[best.name], free=difference, **self.side(is_more))
        return self.reply("compare", turns, self.finish(looked_up, f"{best.name} {relation}"), claims)

    def gap(self, things: Sequence[Told]) -> float:
        gap = round(abs(things[0].value - things[1].value), self.view.subject.decimals)
        return gap if self.view.subject.decimals else int(gap)

    def make_whether(self) -> Question:
        is_more, relation, _ = self.pick_side()
        return self.answer_whether(self.draw_two(), is_more, relation)

    def answer_whether(self, things: list[Told], is_more: bool, relation: str) -> Question:
        request = self.ask(self.view.words.is_more if is_more else self.view.words.is_less, things)
        looked_up = self.shuffle(things)
        turns = self.turns(request, looked_up)
        if things[0].value == things[1].value:
            claims = self.view.claims(things, tie=True, yes=False, free=[2], **self.side(is_more))
            return self.reply("compare", turns, self.finish(looked_up, self.say("tie_no")), claims)
        best = self.find_best(things, is_more)
        is_yes = best is things[0]
        claim = self.say("yes" if is_yes else "no", claim=f"{best.name} {relation}")
        difference = [] if isinstance(best.value, str) else [self.gap(things)]
        claims = self.view.claims(things, winner=[best.name], yes=is_yes, free=difference, **self.side(is_more))
        return self.reply("compare", turns, self.finish(looked_up, claim), claims)

    def make_several(self) -> Question:
        things = self.view.draw(self.rng.choice([3, 3, 4, 5, 6]), is_mixed=True)
        is_more, _, relation = self.pick_side()
        request = self.ask("several", things, rel=relation)
        looked_up = self.shuffle(things)
        return self.answer_best(self.turns(request, looked_up), looked_up, is_more, relation)

    def answer_best(self, turns: list[Turn], things: list[Told], is_more: bool, relation: str) -> Question:
        if self.rng.random() < TIE_SHARE / 2:
            check(self.view.subject.kind == "number")
            ranked = sorted(things, key=lambda each: each.value, reverse=is_more)
            check(ranked[0].value == ranked[1].value and ranked[1].value != ranked[2].value)
            tied = [each.name for each in things if each.value == ranked[0].value]
            claims = self.view.claims(things, chosen=tied, free=[len(things)])
            return self.reply(
                "rank", turns, self.finish(things, self.say("tie_all", list=join_words(self.lang, tied))), claims
            )
        best = self.find_best(things, is_more)
        claims = self.view.claims(things, winner=[best.name], free=[len(things)], **self.side(is_more))
        return self.reply("rank", turns, self.finish(things, f"{best.name} {relation}"), claims)

    def make_all_best(self) -> Question:
        things = self.view.draw(self.rng.randint(3, MAX_ROWS))
        is_more, _, relation = self.pick_side()
        return self.answer_best(self.list_turns(self.ask("all_most", rel=relation), things), things, is_more, relation)

    def make_difference(self) -> Question:
        things = self.view.draw(2)
        gap = self.gap(things)
        check(gap > 0)
        looked_up = self.shuffle(things)
        reply = f"{self.list_all(looked_up)}. {self.say('difference', v=self.view.number(gap))}"
        claims = self.view.claims(things, says=[[gap]], free=[gap], **self.side(True))
        return self.reply("reckon", self.turns(self.ask("difference", things), looked_up), reply, claims)

    def draw_addends(self) -> tuple[list[Told], bool]:
        """Return things to add up, and whether they come as a list."""
        is_list = self.rng.random() < 0.4
        return self.view.draw(self.rng.choice([3, 4, 5] if is_list else [2, 2, 3, 3, 4])), is_list

    def add_up(self, things: Sequence[Told]) -> tuple[list[Any], str]:
        """Return the sums after each thing, and the steps in words."""
        digits = self.view.subject.decimals
        values = [each.value for each in things]
        sums = [round(each, digits) for each in accumulate(values)]
        write = [write_number(each, self.lang, digits, is_plain=True) for each in values]
        said = [write_number(each, self.lang, digits, is_plain=True) for each in sums]
        steps = [
            f"{said[n - 1]} {'-' if values[n] < 0 else '+'} {write[n].removeprefix('-')} = {said[n]}"
            for n in range(1, len(values))
        ]
        return sums[1:], "; ".join(steps)

    def make_total(self) -> Question:
        things, is_list = self.draw_addends()
        sums, steps = self.add_up(things)
        own = self.view.words.sum
        check(is_list or bool(own))
        request = self.ask("all_sum") if is_list else self.ask(self.rng.choice(own), things)
        turns = self.list_turns(request, things) if is_list else self.turns(request, things)
        reply = f"{self.list_all(things)}. {steps}. {self.say('total', v=self.view.number(sums[-1]))}"
        claims = self.view.claims(things, says=[[sums[-1]]], free=[*sums, len(things)])
        return self.reply("reckon", turns, reply, claims)

    def make_average(self) -> Question:
        things, is_list = self.draw_addends()
        sums, steps = self.add_up(things)
        mean = round(sums[-1] / len(things), 2)
        digits = 2 if self.view.subject.decimals == 2 else len(f"{mean:g}".partition(".")[2])
        written = write_number(mean, self.lang, digits, is_plain=True)
        total = write_number(sums[-1], self.lang, self.view.subject.decimals, is_plain=True)
        request = self.ask("all_average") if is_list else self.ask("average", things)
        turns = self.list_turns(request, things) if is_list else self.turns(request, things)
        unit = self.view.number(0.0).removeprefix(write_number(0.0, self.lang, self.view.subject.decimals))
        last = f"${written}" if self.view.subject.unit == "$" and self.lang == "en" else f"{written}{unit}"
        steps = f"{steps}; {total} / {len(things)} = {written}"
        reply = f"{self.list_all(things)}. {steps}. {self.say('average', v=last)}"
        claims = self.view.claims(things, says=[[mean]], free=[*sums, len(things), mean])
        return self.reply("reckon", turns, reply, claims)

    def make_order(self) -> Question:
        things = self.view.draw(self.rng.choice([3, 3, 4, 5]), is_mixed=False)
        check(len({each.value for each in things}) == len(things))
        is_down = self.rng.random() < 0.5
        name = "order_down" if is_down else "order_up"
        ranked = sorted(things, key=lambda each: each.value, reverse=is_down)
        listed = ", ".join(f"{each.name} ({self.view.amount(each)})" for each in ranked)
        claims = self.view.claims(things, order=[each.name for each in ranked])
        turns = self.turns(self.ask(name, things), self.shuffle(things))
        return self.reply("rank", turns, self.say(name, list=listed), claims)

    def draw_limit(self, things: Sequence[Told]) -> Any:
        """Draw a limit between the values of things, or beyond them, that is a round number."""
        values = sorted(each.value for each in things)
        low, high = (
            (values[0], values[-1]) if self.rng.random() < 0.8 else (self.view.subject.low, self.view.subject.high)
        )
        size = max(abs(low), abs(high), 1)
        grain = 10 ** max(0, len(str(int(size))) - 2) * self.rng.choice([1, 5])
        limit = round(self.rng.uniform(low, high) / grain) * grain
        check(limit not in values and (limit != 0 or self.view.subject.low < 0))
        return limit

    def make_limit(self) -> Question:
        is_list = self.rng.random() < 0.5
        things = (
            self.view.draw(self.rng.randint(3, MAX_ROWS)) if is_list else self.view.draw(self.rng.choice([2, 3, 3, 4]))
        )
        limit, is_above = self.draw_limit(things), self.rng.random() < 0.5
        v, name = self.view.number(limit), "above" if is_above else "below"
        fitting = [each for each in things if (each.value > limit) is is_above]
        request = self.ask(f"all_{name}", v=v) if is_list else self.ask(name, things, v=v)
        turns = self.list_turns(request, things) if is_list else self.turns(request, things)
        free = [limit, len(things)]
        if not fitting:
            claims = self.view.claims(things, none=True, free=[*free, 0])
            reply = self.finish(things, self.say(f"none_{name}", v=v), fitting)
            return self.reply("filter", turns, reply, claims)
        names = [each.name for each in fitting]
        reply = f"{self.list_all(things, fitting)}. {self.say(name, v=v, list=join_words(self.lang, names))}"
        return self.reply("filter", turns, reply, self.view.claims(things, chosen=names, free=[*free, len(names)]))

    def make_count(self) -> Question:
        is_list = self.rng.random() < 0.5
        things = (
            self.view.draw(self.rng.randint(3, MAX_ROWS)) if is_list else self.view.draw(self.rng.choice([3, 4, 5]))
        )
        limit, is_above = self.draw_limit(things), self.rng.random() < 0.5
        v, name = self.view.number(limit), "above" if is_above else "below"
        fitting = [each for each in things if (each.value > limit) is is_above]
        names = [each.name for each in fitting]
        check(bool(names))
        request = self.ask(f"all_count_{name}", v=v) if is_list else self.ask(f"count_{name}", things, v=v)
        turns = self.list_turns(request, things) if is_list else self.turns(request, things)
        said = self.say(
            "count" if is_above else "count_below", v=v, list=join_words(self.lang, names), n=len(names), of=len(things)
        )
        claims = self.view.claims(things, says=[[len(names)]], free=[limit, len(names), len(things)])
        return self.reply("filter", turns, f"{self.list_all(things, fitting)}. {said}", claims)

    def make_over(self) -> Question:
        [thing] = self.view.draw(1)
        limit, is_above = self.draw_limit([thing, *self.view.draw(1, names=[thing.name])]), self.rng.random() < 0.5
        check(limit != thing.value)
        name, v = "above" if is_above else "below", self.view.number(limit)
        is_yes = (thing.value > limit) is is_above
        said = self.say(f"is_{name}" if is_yes else f"is_not_{name}", v=v)
        gap = [round(abs(thing.value - limit), 2)]
        claims = self.view.claims([thing], yes=is_yes, free=[limit, *gap])
        return self.reply(
            "filter", self.turns(self.ask(f"is_{name}", [thing], v=v), [thing]), self.finish([thing], said), claims
        )

    def make_each(self) -> Question:
        things = self.view.draw(self.rng.choice([2, 2, 3, 4]))
        claims = self.view.claims(things, says=[[each.value] for each in things])
        looked_up = self.shuffle(things)
        turns = self.turns(self.ask("each", things), looked_up)
        return self.reply("plain", turns, f"{self.list_all(looked_up)}.", claims)

    def tell(self, thing: Told, view: View | None = None) -> str:
        view = view or self.view
        said = view.words.tell.format(x=thing.name, v=view.amount(thing))
        return said if said.startswith(thing.name) and not view.subject.is_common else capitalise(said)

    def make_plain(self) -> Question:
        [thing] = self.view.draw(1, is_mixed=True)
        turns = self.turns(self.ask_one(thing), [thing])
        shown = self.view.shown_value(thing)
        return self.reply("plain", turns, self.tell(thing), self.view.claims([thing], says=[[shown, thing.value]]))

    def make_no_field(self) -> Question:
        [thing] = self.view.draw(1)
        missing = self.rng.choice(self.view.words.missing)
        check(
            self.view.shape in ("alone", "flat", "noisy", "nested", "deep")
            and missing.lower() not in " ".join(thing.noise)
        )
        turns = self.turns(self.ask("missing", [thing], missing=missing, Missing=capitalise(missing)), [thing])
        said = self.say("no_field", x=thing.name, missing=missing, noun=self.view.words.noun, v=self.view.amount(thing))
        return self.reply("unknown", turns, self.begin(said), self.view.claims([thing], failure=True))

    def make_no_value(self) -> Question:
        check(self.view.shape not in ("bare", "alone"))
        [drawn] = self.view.draw(1)
        thing = Told(drawn.name, None, drawn.noise, drawn.unit)
        turns = self.turns(self.ask_one(thing), [thing])
        said = self.say("no_value", x=thing.name, noun=self.view.words.noun)
        return self.reply("unknown", turns, self.begin(said), self.view.claims([thing], failure=True))

    def make_error(self) -> Question:
        count = self.rng.choice([1, 2, 2, 3])
        things = self.view.draw(count)
        _, relation, most = self.pick_side()
        failed = self.rng.choice(things)
        turns = self.turns(self.ask_which(things, relation, most) if count > 1 else self.ask_one(things[0]), things)
        error = self.rng.choice(self.source.errors).format(x=failed.name)
        places = [(turn["results"], n) for turn in turns for n in range(len(turn.get("results", ())))]
        results, place = places[things.index(failed)]
        results[place] = {"error": error} if self.rng.random() < 0.7 else {"status": "error", "message": error}
        rest = [each for each in things if each is not failed]
        said = self.say("error", x=failed.name, noun=self.view.words.noun, error=error)
        if rest:
            unsure = self.say("unsure", who=lower_first(self.view.words.who), rel=relation if count == 2 else most)
            said = f"{self.list_all(rest)}. {said} {unsure}"
        numbers = re.findall(r"\d+(?::\d+)?", error.replace(failed.name, ""))
        known = [*rest, Told(failed.name, None, {}, failed.unit)]
        free = [each if ":" in each else int(each) for each in numbers]
        return self.reply("unknown", turns, said, self.view.claims(known, failure=True, free=free))

    def make_empty(self) -> Question:
        _, _, relation = self.pick_side()
        turns = self.list_turns(self.ask("all_most", rel=relation), [])
        return self.reply("unknown", turns, self.say("empty"), {"things": {}, "free": [0], "none": True})

    def make_next_call(self) -> Question:
        things = self.view.draw(self.rng.choice([2, 2, 3]))
        _, relation, most = self.pick_side()
        request = self.ask_which(things, relation, most)
        known = self.rng.randint(1, len(things) - 1)
        missing = [self.view.call(each.name) for each in things[known:]]
        return {"category": "next", "turns": self.turns(request, things[:known]), "expected": expect(missing)}

    def make_again(self) -> Question:
        """Make a question about results of earlier turns, or after one more."""
        things = self.view.draw(self.rng.choice([2, 3]))
        is_more, two, several = self.pick_side()
        before = self.turns(self.ask("each", things), things)
        before.append({"reply": f"{self.list_all(things)}."})
        if self.rng.random() < 0.5:
            [more] = self.view.draw(1, names=[each.name for each in things])
            after = self.turns(self.ask("and_x", [more]), [more])
            if self.rng.random() < 0.5:
                claims = self.view.claims([*things, more], says=[[more.value]])
                return self.reply("again", [*before, *after], self.tell(more), claims)
            before += [*after, {"reply": self.tell(more)}]
            things = [*things, more]
        relation = two if len(things) == 2 else several
        best = self.find_best(things, is_more)
        claims = self.view.claims(things, winner=[best.name], free=[len(things)], **self.side(is_more))
        turns = [*before, {"user": self.ask("of_all", rel=relation)}]
        return self.reply("again", turns, self.finish(things, f"{best.name} {relation}"), claims)

    def make_reckoned(self) -> Question:
        """Make a request for one or two things, and for a sum, which a tool works out."""
        things = self.view.draw(self.rng.choice([1, 2]))
        asked, low, high, factor, divisor, addend, said = self.rng.choice(self.source.sums[self.lang])
        number = self.rng.randint(low, high)
        rest = f" * {factor}" * (factor != 1) + f" / {divisor}" * (divisor != 1) + f" + {addend}" * (addend != 0)
        result = round(number * factor / divisor + addend, 2)
        name, _, parameter = self._calculator
        request = self.ask("each", things) if len(things) > 1 else self.ask_one(things[0])
        request = self.rng.choice(self._asked["also"]).format(one=request, two=asked.format(n=number))
        last = {"name": name, "arguments": {parameter: f"{number}{rest}"}}
        calls = [*(self.view.call(each.name) for each in things), last]
        results = [*(self.view.show(each) for each in things), result]
        written = write_number(result, self.lang, len(f"{result:g}".partition(".")[2]), is_plain=True)
        first = f"{self.list_all(things)}." if len(things) > 1 else self.tell(things[0])
        claims = self.view.claims(things, says=[[result], *([each.value] for each in things)])
        claims |= {"free": [number, result, factor, divisor, addend]}
        claims.pop("units", None)
        reply = f"{first} {said.format(n=number, v=written)}"
        return self.reply("plain", [{"user": request}, {"calls": calls}, {"results": results}], reply, claims)

    def make_both(self) -> Question:
        """Make a request for two things of which different tools know."""
        [one], [two] = self.view.draw(1), self.partner.draw(1)
        check(self.view.tool_name != self.partner.tool_name and one.name != two.name)
        first = self.rng.choice(self.view.words.ask).format(x=one.name)
        second = self.rng.choice(self.partner.words.ask).format(x=two.name)
        request = self.rng.choice(self._asked["also"]).format(one=capitalise(first), two=lower_first(second))
        calls, results = (
            [self.view.call(one.name), self.partner.call(two.name)],
            [self.view.show(one), self.partner.show(two)],
        )
        claims = self.view.claims([one], says=[[one.value], [two.value]])
        claims["things"] |= self.partner.claims([two])["things"]
        claims.pop("units", None)
        reply = f"{self.tell(one)} {self.tell(two, self.partner)}"
        return self.reply("plain", [{"user": request}, {"calls": calls}, {"results": results}], reply, claims)


class TypedComposer(SetComposer):
    """Draws questions about one set of tools whose answer has a type; the call that gives it is `final_answer`."""

    def __init__(self, source: Source, subject: Subject, lang: str, rng: random.Random, place: int) -> None:
        from pydantic import create_model  # other questions are composed without it

        super().__init__(source, subject, lang, rng)
        kinds = [self._best, self._pair, self._truth, self._text]
        if subject.kind == "number":
            kinds += [self._all, self._value, self._report]
        if subject.sums:
            kinds.append(self._sum)
        self._kind = kinds[place % len(kinds)]
        number: type = str if subject.kind != "number" else float if subject.decimals else int
        field_name, label = self.view.field, subject.label
        row = create_model("Row", **{label: (str, ...), field_name: (number, ...)})
        types: dict[str, Any] = {
            "_best": row,
            "_pair": create_model("Comparison", first=(str, ...), second=(str, ...), winner=(str, ...)),
            "_truth": rng.choice([bool, Literal["yes", "no"]]),
            "_text": str,
            "_all": list[row],
            "_value": number,
            "_report": create_model("Report", highest=(str, ...), lowest=(str, ...), difference=(number, ...)),
            "_sum": create_model("Total", count=(int, ...), total=(number, ...)),
        }
        self._type = types[self._kind.__name__]
        spec = Output(self._type).tool.spec
        self._final = {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}

    def tools(self) -> list[dict[str, Any]]:
        return [*super().tools(), self._final]

    def compose_typed(self) -> Question:
        return retry(self._draw)

    def _draw(self) -> Question:
        turns, things, arguments = self._kind()
        chance = self.rng.random()
        if chance < 0.25 and turns[1].get("calls"):  # the results are not there yet
            calls = turns[1]["calls"]
            check(len(calls) == len(things) or calls[0]["name"] == self.view.listing_name)
            return {"category": "first", "turns": turns[:1], "expected": expect(calls)}
        if chance < 0.35:  # it was answered in words, and is asked for the call
            turns = [*turns, {"reply": f"{self.list_all(things)}."}, {"user": demand_output(NAME)}]
        call = {"name": NAME, "arguments": arguments}
        return {"category": "typed", "turns": turns, "expected": expect([call])}

    def _things(self) -> list[Told]:
        return self.view.draw(self.rng.choice([2, 2, 3, 4]))

    def _best_of(self, is_list: bool) -> tuple[list[Turn], list[Told], Told]:
        things = self.view.draw(self.rng.randint(3, MAX_ROWS)) if is_list else self._things()
        is_more, two, several = self.pick_side()
        best = self.find_best(things, is_more)
        if is_list:
            return self.list_turns(self.ask("all_most", rel=several), things), things, best
        return self.turns(self.ask_which(things, two, several), things), things, best

    def _best(self) -> Typed:
        turns, things, best = self._best_of(self.rng.random() < 0.4)
        return turns, things, {self.view.subject.label: best.name, self.view.field: best.value}

    def _text(self) -> Typed:
        turns, things, best = self._best_of(self.rng.random() < 0.4)
        return turns, things, {"answer": best.name}

    def _pair(self) -> Typed:
        things = self.view.draw(2)
        is_more, relation, _ = self.pick_side()
        best = self.find_best(things, is_more)
        turns = self.turns(self.ask("two", things, rel=relation), things)
        return turns, things, {"first": things[0].name, "second": things[1].name, "winner": best.name}

    def _truth(self) -> Typed:
        things = self.view.draw(2)
        is_more, _, _ = self.pick_side()
        is_yes = self.find_best(things, is_more) is things[0]
        request = self.ask(self.view.words.is_more if is_more else self.view.words.is_less, things)
        return (
            self.turns(request, things),
            things,
            {"answer": is_yes if self._type is bool else "yes" if is_yes else "no"},
        )

    def _all(self) -> Typed:
        things = self._things()
        rows = [{self.view.subject.label: each.name, self.view.field: each.value} for each in things]
        return self.turns(self.ask("each", things), things), things, {"answer": rows}

    def _value(self) -> Typed:
        if self.rng.random() < 0.5:
            things = self.view.draw(1)
            return (
                self.turns(self.ask_one(things[0]), things),
                things,
                {"answer": things[0].value},
            )
        things = self.view.draw(2)
        gap = self.gap(things)
        check(gap > 0)
        return self.turns(self.ask("difference", things), things), things, {"answer": gap}

    def _report(self) -> Typed:
        things = self._things()
        high, low = self.find_best(things, True), self.find_best(things, False)
        gap = self.gap([high, low])
        return (
            self.turns(self.ask("each", things), things),
            things,
            {"highest": high.name, "lowest": low.name, "difference": gap},
        )

    def _sum(self) -> Typed:
        things, is_list = self.draw_addends()
        own = self.view.words.sum
        check(is_list or bool(own))
        sums, _ = self.add_up(things)
        request = self.ask("all_sum") if is_list else self.ask(self.rng.choice(own), things)
        turns = self.list_turns(request, things) if is_list else self.turns(request, things)
        return turns, things, {"count": len(things), "total": sums[-1]}


def draw_questions(composer: SetComposer, count: int, rng: random.Random) -> Iterator[Question]:
    kinds = {kind: weight for kind, weight in KINDS.items() if composer.can(kind)}
    made = 0
    while made < count:
        [kind] = rng.choices(list(kinds), list(kinds.values()))
        try:
            yield composer.compose(kind)
        except UnclearError:
            continue  # this set has no clear question of the kind
        made += 1


def compose(seed: int) -> Iterator[dict[str, Any]]:
    """Yield the lines of the suite that is trained on."""
    source = load_source(TABLES, "train")
    rng = random.Random(seed)
    for subject in source.subjects:
        for lang in subject.words:
            sets, count = (ENGLISH_SETS, ENGLISH_QUESTIONS) if lang == "en" else (ABROAD_SETS, ABROAD_QUESTIONS)
            for place in range(sets):
                composer = SetComposer(source, subject, lang, rng, has_calculator=rng.random() < CALCULATOR_SHARE)
                questions = draw_questions(composer, count, rng)
                yield from write_set(f"ans-{subject.key}-{lang}-{place + 1}", composer.tools(), questions)
            for place in range(TYPED_SETS if lang == "en" else 1):
                typed = TypedComposer(source, subject, lang, rng, rng.randrange(100) + place)
                questions = (typed.compose_typed() for _ in range(TYPED_QUESTIONS))
                yield from write_set(f"ans-{subject.key}-{lang}-typed-{place + 1}", typed.tools(), questions)
    for records in source.records:
        for place in range(RECORD_SETS):
            for kind, name in ((RecordComposer, "told"), (TypedRecordComposer, "typed")):
                chooser = kind(source, records, rng)
                questions = (chooser.compose() for _ in range(RECORD_QUESTIONS))
                yield from write_set(f"ans-{records.key}-{name}-{place + 1}", chooser.tools(), questions)


QUOTAS = {"rank": 36, "reckon": 30, "filter": 36, "plain": 12, "unknown": 20, "again": 10}
CATEGORY_KINDS = {
    "rank": ("several", "several", "all_best", "order"),
    "reckon": ("difference", "total", "average"),
    "filter": ("limit", "limit", "count", "over"),
    "plain": ("each", "plain", "both", "reckoned"),
    "unknown": ("error", "error", "no_field", "no_value"),
    "again": ("again",),
}
KEPT_PAIRS, KEPT_RECORDS, KEPT_TYPED = 54, 12, 16
"""How many comparisons of two, asked in both orders, questions about each list, and typed answers the suite has."""


def compose_kept(seed: int) -> Iterator[dict[str, Any]]:
    """Yield the lines of the suite `answers`: 300 questions of other tools, names and sentences."""
    source = load_source(("kept",), "kept")
    rng = random.Random(seed)
    views = [(each, lang) for each in source.subjects for lang in each.words for _ in range(3 if lang == "en" else 1)]
    views = rng.sample(views, len(views))
    bag = [category for category, count in QUOTAS.items() for _ in range(count)]
    rng.shuffle(bag)
    for place, (subject, lang) in enumerate(views):
        left = len(views) - place
        pairs = KEPT_PAIRS * (place + 1) // len(views) - KEPT_PAIRS * place // len(views)
        composer = SetComposer(source, subject, lang, rng, has_calculator=rng.random() < CALCULATOR_SHARE)
        questions = [each for _ in range(pairs) for each in composer.compose_both_orders()]
        drawn = [bag.pop() for _ in range(-(-len(bag) // left))]
        while drawn:
            kinds = [each for each in CATEGORY_KINDS[drawn[-1]] if composer.can(each)]
            try:
                questions.append(composer.compose(rng.choice(kinds or ["several"])))
                drawn.pop()
            except UnclearError:
                continue
        yield from write_set(f"kept-{subject.key}-{lang}-{place + 1}", composer.tools(), questions)
    for records in source.records:
        for kind, name, count in ((RecordComposer, "told", KEPT_RECORDS), (TypedRecordComposer, "typed", 4)):
            chooser = kind(source, records, rng)
            questions = [chooser.compose() for _ in range(count)]
            yield from write_set(f"kept-{records.key}-{name}", chooser.tools(), questions)
    for place in range(KEPT_TYPED):
        subject = source.subjects[place % len(source.subjects)]
        typed = TypedComposer(source, subject, rng.choice(list(subject.words)), rng, place)
        question = next(each for _ in range(99) if (each := typed.compose_typed())["category"] == "typed")
        yield from write_set(f"kept-typed-{place + 1}", typed.tools(), [question])
