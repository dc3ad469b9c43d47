"""GBNF: the notation of grammars in llama.cpp."""

import json

from toolspeak.dialects.grammar.expressions import (
    CharClass,
    Expression,
    Grammar,
    InOrder,
    OneOf,
    Repetition,
    RuleName,
    Terminal,
    format_count,
)


def format_gbnf(grammar: Grammar) -> str:
    """Write a grammar, one rule a line, `root` first."""
    others = [name for name in grammar.rules if name != "root"]
    return "\n".join(f"{name} ::= {_format(grammar.rules[name])}" for name in ("root", *others))


def _format(expression: Expression) -> str:
    match expression:
        case Terminal(text=text):
            return json.dumps(text, ensure_ascii=False)
        case CharClass(written=written):
            return written
        case RuleName(name=name):
            return name
        case InOrder(parts=parts):
            return " ".join(map(_format_part, parts)) or '""'
        case OneOf(options=options):
            return " | ".join(map(_format, options))
        case Repetition():
            return f"{_format_part(expression.item)}{format_count(expression)}"


def _format_part(expression: Expression) -> str:
    is_single = isinstance(expression, Terminal | CharClass | RuleName)
    return _format(expression) if is_single else f"({_format(expression)})"
