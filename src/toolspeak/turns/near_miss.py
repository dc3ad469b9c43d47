"""Calls of a tool that does not exist, where a tool with a similar name does.

Code that calls no tool is code for the user and stays text. But a message that is one block of calls and nothing else,
one of them named almost like a tool, was meant as a call: the model is told the right name. So is a message that is one
block with a raw text, labelled almost like a tool that takes one.
"""

import re
from collections.abc import Collection, Sequence

from toolspeak._frozen import frozen
from toolspeak.reading.fences import find_fenced_blocks
from toolspeak.validation import nearest

MIN_LIKENESS = 0.7
"""How much alike two names must be, from 0 to 1."""

CALL_LINE = re.compile(r"(?:(?:const|let|var) )?(?:\w+ *= *)?(?:await )?([A-Za-z_][\w.]{0,99})\(.*\);?")

RAW_BLOCK = re.compile(r"(`{3,}|~{3,})[ \t]*([\w.$:/-]{1,100})[ \t]*\r?\n(?:.*\n)?\1", re.DOTALL)
SEVERAL_WORDS = re.compile(r"\w[_.:/-]\w|[a-z][A-Z]")
"""A label of several words is not that of a language, whose name may be similar by chance."""


@frozen
class NearMiss:
    """A call of a tool that does not exist.

    Attributes:
        name: The name that the model wrote.
        raw: The whole call as the model wrote it.
        tool: The tool with the most similar name.
    """

    name: str
    raw: str
    tool: str


def find_near_miss(text: str, tools: Sequence[str], raw_tools: Collection[str] = ()) -> NearMiss | None:
    """Return the first call with nearly the name of a tool, if the text is one fenced block of calls only.

    Args:
        text: The text of the message.
        tools: The names of all tools.
        raw_tools: The names of the tools that are called by a block with their name.
    """
    block = RAW_BLOCK.fullmatch(text.strip()) if raw_tools else None
    if block and SEVERAL_WORDS.search(block[2]) and (tool := nearest(block[2], list(raw_tools), likeness=MIN_LIKENESS)):
        return NearMiss(name=block[2], raw=block[0], tool=tool)
    blocks = find_fenced_blocks(text)
    if len(blocks) != 1 or text[: blocks[0].start].strip() or text[blocks[0].end :].strip():
        return None
    calls = [CALL_LINE.fullmatch(line.strip()) for line in blocks[0].content.split("\n") if line.strip()]
    if not all(calls):
        return None
    for call in calls:
        if call is not None and (tool := nearest(call[1].rpartition(".")[2], tools, likeness=MIN_LIKENESS)):
            return NearMiss(name=call[1], raw=call[0], tool=tool)
    return None
