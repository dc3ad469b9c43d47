"""Grammars of answers: calls of the tools on offer in a dialect's notation, or prose and such calls.

A grammar is one description (`expressions.py`), written for servers in two notations: GBNF (`gbnf.py`, llama.cpp) and
the Lark of llguidance (`lark.py`). `values.py` makes rules of the schemas of arguments, `calls.py` the rules of a whole
answer.
"""

from toolspeak.dialects.grammar.calls import NOTATIONS, CallNotation, build_grammar
from toolspeak.dialects.grammar.expressions import Grammar
from toolspeak.dialects.grammar.gbnf import format_gbnf
from toolspeak.dialects.grammar.lark import format_lark

__all__ = ["NOTATIONS", "CallNotation", "Grammar", "build_grammar", "format_gbnf", "format_lark"]
