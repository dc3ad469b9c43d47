"""What an answer without a call may have meant as one: a program, or a call of a tool whose name is misspelt.

Given a tool that runs Python, small models do not call the tool: they write the program in a fenced block. If a message
without calls ends with such a block, the block is the argument that the tool was to get. An answer that goes on in
words after its code is an explanation of code, and no call.

Code that calls no tool is code for the user and stays text. But a message that is one block of calls and nothing else,
one of them named almost like a tool, was meant as a call: the model is told the right name. So is a message that is one
block with a raw text, labelled almost like a tool that takes one.
"""

import re
from collections.abc import Collection, Iterable, Sequence

from toolspeak.reading.fences import find_fenced_blocks
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import ToolCall
from toolspeak.values.spec import ToolSpec
from toolspeak.values.validation import nearest

PROGRAM_PARAMETERS = frozenset({"code", "python_code", "source", "program", "script"})
"""Names that the parameter for the program may have."""

PYTHON_LABELS = frozenset({"python", "py", "python3"})

MAX_LEAD_IN_CHARS = 300
"""Characters that may stand before the first block."""


def read_program_call(text: str, specs: Iterable[ToolSpec], call_id: str) -> ToolCall | None:
    """Return the call that a message without calls stands for when the message is only a program.

    Args:
        text: The text of the message.
        specs: The tools on offer. Exactly one of them must run Python programs.
        call_id: The id for the call.
    """
    runners = [(spec, parameter) for spec in specs if (parameter := _program_parameter(spec)) is not None]
    if len(runners) != 1:
        return None
    blocks = [block for block in find_fenced_blocks(text) if block.label in PYTHON_LABELS]
    if not blocks or text[blocks[-1].end :].strip() or blocks[0].start > MAX_LEAD_IN_CHARS:
        return None
    spec, parameter = runners[0]
    program = "\n\n".join(block.content for block in blocks)
    return ToolCall(id=call_id, name=spec.name, arguments={parameter: program}) if program.strip() else None


def _program_parameter(spec: ToolSpec) -> str | None:
    """Return the parameter that takes a Python program, if the tool has one and requires no other."""
    if "python" not in f"{spec.name} {spec.description}".lower():
        return None
    required = list(spec.parameters.get("required", ()))
    return required[0] if len(required) == 1 and required[0] in PROGRAM_PARAMETERS else None


MIN_LIKENESS = 0.7
"""How much alike two names must be, from 0 to 1."""

CALL_LINE = re.compile(r"(?:(?:const|let|var) )?(?:\w+ *= *)?(?:await )?(?:print\()?([A-Za-z_][\w.]{0,99})\(.*\);?")
INNER_LINE_END = re.compile(r"(?<=[(\[{,])[ \t\r]*+\n|\n[ \t]*+(?=[)\]}])")
"""The end of a line in the middle of a call."""

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
    lines = INNER_LINE_END.sub("", blocks[0].content).split("\n")
    calls = [CALL_LINE.fullmatch(line.strip()) for line in lines if line.strip()]
    if not all(calls):
        return None
    for call in filter(None, calls):
        for name in dict.fromkeys((call[1], call[1].rpartition(".")[2])):
            if tool := nearest(name, tools, likeness=MIN_LIKENESS):
                return NearMiss(name=call[1], raw=call[0], tool=tool)
    return None
