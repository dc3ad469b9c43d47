"""Turns: the pieces of one answer become events, ending with the whole message.

`turn_reader.py` reads an answer: its text with the parser of the dialect, and the API's own calls from their pieces
(`native_calls.py`). At the end of an answer without calls, it looks for what was meant as one (`near_miss.py`). Calls
in the text that are copied from a text of foreign origin are reported as quoted (`quotation.py`, which also keeps the
ids of all calls; `searched_text.py` searches one text); the loop then refuses them or waits for an approval. This room
imports `values/`, `reading/`, `dialects/`.

To add: a slip in the arguments of an API's call: `reading/values.py`, which `native_calls.py` falls back to; a place
from which a call may be copied: `_foreign_sources` in `quotation.py`.
"""

from toolspeak.turns.quotation import QuotationFinder
from toolspeak.turns.turn_reader import TurnReader

__all__ = ["QuotationFinder", "TurnReader"]
