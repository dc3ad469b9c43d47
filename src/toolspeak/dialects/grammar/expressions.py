"""What a grammar consists of, independent of the notation in which a server takes it.

Two rules let the same description work for parsers that try every split of a text and for lexers that take the longest
token, without going back:

- A rule among the `tokens` of a grammar is a token: it refers to no rules that are not tokens themselves.
- No token is a beginning of a text that another token, allowed at the same place, needs whole.
"""

from collections.abc import Mapping
from typing import TypeAlias

from toolspeak._frozen import frozen


@frozen
class Terminal:
    """A text, as it is."""

    text: str


@frozen
class CharClass:
    r"""One character of a class, which is written alike in GBNF and in regular expressions, such as `[^"\\]`."""

    written: str


@frozen
class RuleName:
    """What the rule of that name describes."""

    name: str


@frozen
class InOrder:
    """All parts, one after the other; without any, the empty text."""

    parts: tuple["Expression", ...]


@frozen
class OneOf:
    """One of the options."""

    options: tuple["Expression", ...]


@frozen
class Repetition:
    """An expression, repeated.

    Attributes:
        item: What is repeated.
        least: The fewest repetitions.
        most: The most repetitions; None for any number.
    """

    item: "Expression"
    least: int = 0
    most: int | None = None


Expression: TypeAlias = Terminal | CharClass | RuleName | InOrder | OneOf | Repetition

NOTHING = InOrder(parts=())


@frozen
class Grammar:
    """The rules of an answer, by their names: words of `a-z`, digits and hyphens. The answer is the rule `root`.

    Attributes:
        rules: The expression of each rule.
        tokens: The names of the rules that are tokens.
    """

    rules: Mapping[str, Expression]
    tokens: frozenset[str]


def in_order(*parts: Expression | str) -> Expression:
    """Return the parts one after the other. A text stands for its terminal."""
    wrapped = tuple(Terminal(text=part) if isinstance(part, str) else part for part in parts if part != NOTHING)
    return wrapped[0] if len(wrapped) == 1 else InOrder(parts=wrapped)


def one_of(*options: Expression | str) -> Expression:
    """Return the choice among the options, each of them once. A text stands for its terminal."""
    wrapped = dict.fromkeys(Terminal(text=each) if isinstance(each, str) else each for each in options)
    return next(iter(wrapped)) if len(wrapped) == 1 else OneOf(options=tuple(wrapped))


def optional(item: Expression | str) -> Expression:
    """Return an expression that may be left out."""
    return Repetition(item=in_order(item), most=1)


def separated(item: Expression, separator: Expression | str, *, least: int = 0, most: int | None = None) -> Expression:
    """Return an expression that is repeated with a separator between."""
    if most is not None and most < 1:
        return NOTHING
    rest = Repetition(
        item=in_order(separator, item), least=max(0, least - 1), most=None if most is None else max(most, least) - 1
    )
    whole = in_order(item, rest)
    return whole if least else optional(whole)


def format_count(repetition: Repetition) -> str:
    """Write how often something is repeated, as GBNF and regular expressions have it."""
    least, most = repetition.least, repetition.most
    short: dict[tuple[int, int | None], str] = {(0, 1): "?", (0, None): "*", (1, None): "+"}
    return short.get((least, most)) or f"{{{least},{'' if most is None else most}}}"
