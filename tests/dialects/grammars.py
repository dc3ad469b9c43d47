"""What the tests of grammars share: whether a text matches one, by llguidance and by the rules themselves."""

import re
from collections.abc import Iterator
from functools import cache

from llguidance import LLMatcher, LLTokenizer
from llguidance.gbnf_to_lark import any_to_lark

from toolspeak.dialects.grammar import (
    MARK,
    CharClass,
    Expression,
    Grammar,
    InOrder,
    OneOf,
    Repetition,
    RuleName,
    Terminal,
    format_gbnf,
    format_lark,
)

BYTES = LLTokenizer("byte")


def find_mistakes(grammar: Grammar) -> list[str]:
    """Return what llguidance says against a grammar in either notation."""
    written = (format_lark(grammar).removeprefix(MARK), any_to_lark(format_gbnf(grammar)))
    return [mistake for each in written if (mistake := LLMatcher.validate_grammar(each, BYTES))]


def is_held(grammar: Grammar, text: str) -> bool:
    """Whether llguidance accepts a text, all of it."""
    matcher = LLMatcher(BYTES, format_lark(grammar).removeprefix(MARK))
    tokens = BYTES.tokenize_str(text)
    return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()


def is_derived(grammar: Grammar, text: str) -> bool:
    """Whether the rules give a text, if every split of it is tried, as llama.cpp does."""
    return len(text) in _Derivation(grammar, text).find_ends(RuleName(name="root"), 0)


class _Derivation:
    """The places at which each expression can end in one text."""

    def __init__(self, grammar: Grammar, text: str) -> None:
        self._rules, self._text = grammar.rules, text
        self.find_ends = cache(self._find_ends)

    def _find_ends(self, expression: Expression, start: int) -> frozenset[int]:
        return frozenset(self._iterate_ends(expression, start))

    def _iterate_ends(self, expression: Expression, start: int) -> Iterator[int]:
        match expression:
            case Terminal(text=text):
                yield from [start + len(text)] if self._text.startswith(text, start) else []
            case CharClass(written=written):
                found = re.compile(written).match(self._text, start)
                yield from [found.end()] if found else []
            case RuleName(name=name):
                yield from self.find_ends(self._rules[name], start)
            case OneOf(options=options):
                for option in options:
                    yield from self.find_ends(option, start)
            case InOrder(parts=parts):
                ends = {start}
                for part in parts:
                    ends = {end for each in ends for end in self.find_ends(part, each)}
                yield from ends
            case Repetition(item=item, least=least, most=most):
                ends, count, seen = {start}, 0, set[int]()
                while ends and (most is None or count <= most):
                    if count >= least:
                        yield from ends - seen
                        seen |= ends
                    ends = {end for each in ends for end in self.find_ends(item, each)} - (
                        seen if count > least else set()
                    )
                    count += 1
