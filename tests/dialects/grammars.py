"""What the tests of grammars share: whether GBNF is valid, by llguidance, and whether a text matches it, by its rules."""

import json
import re
from collections.abc import Iterator
from functools import cache

from llguidance import LLMatcher, LLTokenizer
from llguidance.gbnf_to_lark import any_to_lark

BYTES = LLTokenizer("byte")
WORD = re.compile(r""" *("(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|[a-z0-9-]+|\{\d+,\d*\}|[()|?*+])""")
COUNTS = {"?": (0, 1), "*": (0, None), "+": (1, None)}


def find_mistakes(grammar: str) -> str:
    """Return what llguidance says against a grammar; "" if nothing."""
    return LLMatcher.validate_grammar(any_to_lark(grammar), BYTES)


def is_derived(grammar: str, text: str) -> bool:
    """Whether the rules give a text, if every split of it is tried, as llama.cpp does."""
    return len(text) in _Derivation(grammar, text).find_ends("root", 0)


class _RuleParser:
    """Reads the expression of one rule: a name, a text, a class, or a tuple with what its parts are in it."""

    def __init__(self, rule: str) -> None:
        self._words = [each[1] for each in WORD.finditer(rule)]
        assert "".join(self._words) == re.sub(r'("(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\])| ', lambda m: m[1] or "", rule)
        self._place = 0

    def parse(self) -> tuple:
        parsed = self._parse_options()
        assert self._place == len(self._words)
        return parsed

    def _parse_options(self) -> tuple:
        options = [self._parse_parts()]
        while self._peek() == "|":
            self._place += 1
            options.append(self._parse_parts())
        return ("one of", *options)

    def _parse_parts(self) -> tuple:
        parts = []
        while (word := self._peek()) not in (None, "|", ")"):
            self._place += 1
            part = word
            if word == "(":
                part = self._parse_options()
                assert self._peek() == ")"
                self._place += 1
            if (count := self._peek() or "") in COUNTS or count.startswith("{"):
                self._place += 1
                least, most = COUNTS.get(count) or (int(each) if each else None for each in count[1:-1].split(","))
                part = ("repeated", part, least, most)
            parts.append(part)
        assert parts
        return ("in order", *parts)

    def _peek(self) -> str | None:
        return self._words[self._place] if self._place < len(self._words) else None


class _Derivation:
    """The places at which each expression can end in one text."""

    def __init__(self, grammar: str, text: str) -> None:
        rules = (line.split(" ::= ", 1) for line in grammar.split("\n"))
        self._rules, self._text = {name: _RuleParser(rule).parse() for name, rule in rules}, text
        self.find_ends = cache(self._find_ends)

    def _find_ends(self, expression: str | tuple, start: int) -> frozenset[int]:
        return frozenset(self._iterate_ends(expression, start))

    def _iterate_ends(self, expression: str | tuple, start: int) -> Iterator[int]:
        match expression:
            case str() if expression[0] == '"':
                text = json.loads(expression)
                yield from [start + len(text)] if self._text.startswith(text, start) else []
            case str() if expression[0] == "[":
                found = re.compile(expression).match(self._text, start)
                yield from [found.end()] if found else []
            case str():
                yield from self.find_ends(self._rules[expression], start)
            case ("one of", *options):
                for option in options:
                    yield from self.find_ends(option, start)
            case ("in order", *parts):
                ends = {start}
                for part in parts:
                    ends = {end for each in ends for end in self.find_ends(part, each)}
                yield from ends
            case (_, item, least, most):
                ends, count, seen = {start}, 0, set[int]()
                while ends and (most is None or count <= most):
                    if count >= least:
                        yield from ends - seen
                        seen |= ends
                    ends = {end for each in ends for end in self.find_ends(item, each)} - (
                        seen if count > least else set()
                    )
                    count += 1
