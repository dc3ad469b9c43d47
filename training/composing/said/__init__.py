"""Words for values, and the kinds of parameters that are drawn with them. Who imports this has all kinds for tables."""

from composing.said import amounts, counts, stays
from composing.said.slots import Slot, Tool, load_tools

__all__ = ["Slot", "Tool", "amounts", "counts", "load_tools", "stays"]
