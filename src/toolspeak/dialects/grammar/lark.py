"""Lark, as llguidance reads it: tokens have names in capitals and are regular, rules have names in small letters.

llama.cpp takes a faulty grammar of this kind without a word and then holds the answer to nothing, so each construct
here is one that the tests have validated.
"""

import json
import re

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

MARK = "%llguidance {}\n"
"""The first line of a grammar for llama.cpp, by which it knows that the grammar is not GBNF."""


def format_lark(grammar: Grammar) -> str:
    """Write a grammar, one rule a line, `start` first."""
    others = [name for name in grammar.rules if name != "root"]
    lines = [f"start: {_format_rule(grammar.rules['root'], grammar)}"]
    for name in others:
        rule = grammar.rules[name]
        body = f"/{_format_regex(rule, grammar)}/" if name in grammar.tokens else _format_rule(rule, grammar)
        lines.append(f"{_format_name(name, grammar)}: {body}")
    return MARK + "\n".join(lines)


def _format_name(name: str, grammar: Grammar) -> str:
    plain = name.replace("-", "_")
    return plain.upper() if name in grammar.tokens else plain


def _format_rule(expression: Expression, grammar: Grammar) -> str:
    match expression:
        case Terminal(text=text):
            return json.dumps(text, ensure_ascii=False)
        case CharClass(written=written):
            return f"/{written.replace('/', '[/]')}/"
        case RuleName(name=name):
            return _format_name(name, grammar)
        case InOrder(parts=parts):
            return " ".join(_format_group(part, grammar) for part in parts) or '""'
        case OneOf(options=options):
            return " | ".join(_format_rule(option, grammar) for option in options)
        case Repetition(item=item):
            return f"{_format_group(item, grammar)}{format_count(expression)}"


def _format_group(expression: Expression, grammar: Grammar) -> str:
    is_single = isinstance(expression, Terminal | CharClass | RuleName)
    written = _format_rule(expression, grammar)
    return written if is_single else f"({written})"


def _format_regex(expression: Expression, grammar: Grammar) -> str:
    match expression:
        case Terminal(text=text):
            return "".join({"\n": r"\n", "/": r"\/"}.get(each, re.escape(each)) for each in text)
        case CharClass(written=written):
            return written.replace("/", r"\/")
        case RuleName(name=name):
            return f"({_format_regex(grammar.rules[name], grammar)})"
        case InOrder(parts=parts):
            return "".join(f"({_format_regex(part, grammar)})" for part in parts)
        case OneOf(options=options):
            return "|".join(_format_regex(option, grammar) for option in options)
        case Repetition(item=item):
            return f"({_format_regex(item, grammar)}){format_count(expression)}"
