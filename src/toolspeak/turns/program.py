"""A program where a call of the tool that runs programs was meant.

Given a tool that runs Python, small models do not call it: they write the program, in a block. If a message is such a
block and nothing else is called in it, the block is what the tool was to be given. Nothing is taken from an answer that
goes on in words after its code: that is talk about code.
"""

import re
from collections.abc import Iterable

from toolspeak.messages import ToolCall
from toolspeak.spec import ToolSpec

PARAMETERS = frozenset({"code", "python_code", "source", "program", "script"})

LEAD_IN = 300
"""Letters that may stand before the block."""

BLOCK = re.compile(r"```(?:python|py|python3)[ \t]*\n(.*?)\n?```", re.DOTALL | re.IGNORECASE)


def program_call(text: str, specs: Iterable[ToolSpec], call_id: str) -> ToolCall | None:
    """The call that a message without any means, if it is a program and there is one tool to run it."""
    runners = [(spec, name) for spec in specs if (name := _runs(spec)) is not None]
    blocks = list(BLOCK.finditer(text))
    if len(runners) != 1 or not blocks or text[blocks[-1].end() :].strip() or blocks[0].start() > LEAD_IN:
        return None
    spec, parameter = runners[0]
    program = "\n\n".join(block[1] for block in blocks)
    return ToolCall(id=call_id, name=spec.name, arguments={parameter: program}) if program.strip() else None


def _runs(spec: ToolSpec) -> str | None:
    """The parameter that takes a Python program, if the tool has one and needs nothing else."""
    if "python" not in f"{spec.name} {spec.description}".lower():
        return None
    required = list(spec.parameters.get("required", ()))
    return required[0] if len(required) == 1 and required[0] in PARAMETERS else None
