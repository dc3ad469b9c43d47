"""Prose: any text that does not begin a call, for answers in which calls are allowed and not demanded.

A call begins with an opener such as "```python" and a line break. Prose may hold backticks and angle brackets, code in
backticks, and blocks in other languages; what begins like an opener must differ from it somewhere.
"""

import re
from collections.abc import Sequence

from toolspeak._frozen import frozen
from toolspeak.dialects.grammar.expressions import (
    CharClass,
    Expression,
    Repetition,
    RuleName,
    in_order,
    one_of,
    optional,
)

TEXT = RuleName(name="prose-text")
TICKS = RuleName(name="prose-ticks")
FENCE = RuleName(name="prose-fence")
ANGLE = RuleName(name="prose-angle")


@frozen
class Prose:
    """The rule of prose, and its tokens. The token `prose-end` is what may stand at the end of an answer besides."""

    rule: Expression
    tokens: dict[str, Expression]


def build_prose(openers: Sequence[str]) -> Prose:
    """Return what prose is where calls begin with these openers, each of which begins with "```" or "<"."""
    fences = [opener for opener in openers if opener.startswith("```")]
    angles = [opener for opener in openers if opener.startswith("<")]
    starts = ("`" if fences else "") + ("<" if angles else "")
    tokens: dict[str, Expression] = {"prose-text": Repetition(item=_exclude(starts), least=1)}
    marked: list[Expression] = []
    ends: list[str] = []
    behind_ticks: list[Expression] = [TEXT]
    if angles:
        tokens["prose-angle"] = _diverge(angles, "<", starts)
        marked.append(in_order(ANGLE, optional(TEXT)))
        behind_ticks.append(in_order(ANGLE, optional(TEXT)))
        ends.append("<")
    if fences:
        tokens |= {"prose-ticks": one_of("`", "``"), "prose-fence": _diverge(fences, "```", starts)}
        marked += [in_order(TICKS, one_of(*behind_ticks)), in_order(FENCE, optional(TEXT))]
        ends += ["`", "``", "```"]
    rule = in_order(optional(TEXT), Repetition(item=one_of(*marked)))
    return Prose(rule=rule, tokens=tokens | {"prose-end": one_of(*ends)})


def _diverge(openers: Sequence[str], begin: str, starts: str) -> Expression:
    """Return texts that begin as an opener does, with at least `begin`, up to the first character that differs."""
    beginnings = {opener[:length] for opener in openers for length in range(len(begin), len(opener))}
    return one_of(
        *(
            in_order(beginning, _exclude(starts + "".join(_find_next(beginning, openers))))
            for beginning in sorted(beginnings)
        )
    )


def _find_next(beginning: str, openers: Sequence[str]) -> list[str]:
    return sorted({each[len(beginning)] for each in openers if each.startswith(beginning) and each != beginning})


def _exclude(chars: str) -> CharClass:
    """Return the class of all other characters."""
    written = (each if re.fullmatch(r"[A-Za-z0-9_]", each) else f"\\x{ord(each):02x}" for each in dict.fromkeys(chars))
    return CharClass(written=f"[^{''.join(written)}]")
