"""Turns: the pieces of one answer become events, ending with the whole message.

`turn_reader.py` reads an answer: its text with the parser of the dialect, and the API's own calls from their pieces
(`native_calls.py`). At the end of an answer without calls, it looks for a program that was meant as a call
(`program.py`) and for calls of a tool whose name is misspelt (`near_miss.py`). Calls in the text that are copied from a
result are reported as quoted (`quotation.py`).
"""

from toolspeak.turns.quotation import QuotationFinder
from toolspeak.turns.turn_reader import TurnReader

__all__ = ["QuotationFinder", "TurnReader"]
