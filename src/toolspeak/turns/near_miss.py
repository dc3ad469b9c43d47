"""A call of a tool that is not there, written as code, where one was meant that nearly bears its name.

Code that calls what is no tool is code for the user, and stays text. But a message that is nothing but calls, one of
them nearly named like a tool, was meant for us: the model is told the right name.
"""

import re
from collections.abc import Sequence

from toolspeak._frozen import frozen
from toolspeak.validation import nearest

MIN_LIKENESS = 0.7
"""How much alike two names must be, from 0 to 1."""

BLOCK = re.compile(r"\s*```\w*[ \t]*\n(.*?)\n?```\s*", re.DOTALL)
CALL = re.compile(r"(?:(?:const|let|var) )?(?:\w+ *= *)?(?:await )?([A-Za-z_][\w.]{0,99})\(.*\);?")


@frozen
class NearMiss:
    """The name that was said, what was written, and the tool that was meant."""

    said: str
    raw: str
    meant: str


def near_miss(text: str, tools: Sequence[str]) -> NearMiss | None:
    """The first call of a message that is nothing but calls, if it nearly names a tool."""
    block = BLOCK.fullmatch(text)
    lines = [line.strip() for line in block[1].split("\n") if line.strip()] if block else []
    calls = [CALL.fullmatch(line) for line in lines]
    if not calls or not all(calls):
        return None
    for call in calls:
        if call is not None and (meant := nearest(call[1].rpartition(".")[2], tools, likeness=MIN_LIKENESS)):
            return NearMiss(said=call[1], raw=call[0], meant=meant)
    return None
