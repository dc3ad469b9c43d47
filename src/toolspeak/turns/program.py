"""Programs that stand where a call of the tool that runs programs was meant.

Given a tool that runs Python, small models do not call the tool: they write the program in a fenced block. If a message
without calls ends with such a block, the block is the argument that the tool was to get. An answer that goes on in
words after its code is an explanation of code, and no call.
"""

from collections.abc import Iterable

from toolspeak.messages import ToolCall
from toolspeak.reading.fences import find_fenced_blocks
from toolspeak.spec import ToolSpec

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
