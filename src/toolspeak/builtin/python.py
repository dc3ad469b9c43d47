"""`run_python`: Python that a model wrote, in the sandbox."""

import sys
from typing import Any

from toolspeak.execution.sandbox import CodeResult, SandboxLimits, SandboxMode, detect_confinement, has_monty, run_code
from toolspeak.tools import Tool
from toolspeak.values.errors import ToolError, UsageError

_PURPOSE = (
    "Run Python code. The result is what it prints and the value of its last expression, as in a Python shell. "
    "Every call starts fresh: nothing is kept from the call before."
)
_MODE_DESCRIPTIONS = {
    "monty": (
        "Mode: monty, a part of Python with the modules math, json, re, datetime, time, random, collections, "
        "itertools, functools, decimal, csv, dataclasses, typing, hashlib and base64. Not available: other modules, "
        "packages such as numpy, class inheritance, yield, del, files, network, other programs."
    ),
    "full": (
        "Mode: full, CPython {version} in a confined process, with the whole standard library. Not available: packages "
        "such as numpy or pandas, network, other programs, files other than its own in an empty folder that is removed "
        "afterwards."
    ),
    "auto": (
        "Mode: auto, monty first and CPython {version} in a confined process for what monty lacks; so the whole "
        "standard library. Not available: packages such as numpy or pandas, network, other programs, files other than "
        "its own in an empty folder that is removed afterwards."
    ),
    "none": "Not available on this machine: {missing}.",
}


class PythonTool(Tool[[str], str]):
    """A tool that runs Python in the sandbox.

    Examples:
        >>> PythonTool(mode="full").spec.parameters["required"]
        ['code']
    """

    def __init__(
        self,
        *,
        mode: SandboxMode = "auto",
        limits: SandboxLimits | None = None,
        unsafe_local: bool = False,
        name: str = "run_python",
        approve: bool = False,
    ) -> None:
        """Make the tool.

        Args:
            mode: `"monty"`, `"full"` or `"auto"`; see `toolspeak.execution.sandbox.run_code`.
            limits: What the code of one call may use.
            unsafe_local: In full mode, run code even where it cannot be confined.
            name: The name of the tool.
            approve: Whether each call needs approval.
        """
        if mode not in ("monty", "full", "auto"):
            raise UsageError(f"mode is 'monty', 'full' or 'auto', not {mode!r}")
        limits = limits or SandboxLimits()

        def run_python(code: str) -> str:
            """Run Python code.

            Args:
                code: The code, of one line or many.
            """
            return _format_result(run_code(code, mode=mode, limits=limits, unsafe_local=unsafe_local))

        super().__init__(
            run_python,
            name=name,
            description=_description(mode, limits, unsafe_local),
            effect="read",  # the code has no effect outside the sandbox
            approve=approve,
        )


def _description(mode: SandboxMode, limits: SandboxLimits, unsafe_local: bool) -> str:
    monty, full = has_monty(), detect_confinement().is_sufficient or unsafe_local
    if mode == "auto":
        kind = "auto" if monty and full else "monty" if monty else "full" if full else "none"
    else:
        kind = mode if (monty if mode == "monty" else full) else "none"
    description = _MODE_DESCRIPTIONS[kind].format(
        version=f"{sys.version_info.major}.{sys.version_info.minor}", missing="pip install toolspeak[sandbox]"
    )
    if unsafe_local and kind in ("full", "auto") and not detect_confinement().is_sufficient:
        description = "Mode: full, CPython {}.{}, not confined.".format(*sys.version_info)
    time = f"{limits.seconds:g} second{'s' * (limits.seconds != 1)}"
    allowed = f"A call may take {time} and {limits.memory // 2**20} MB of memory."
    return f"{_PURPOSE} {description} {allowed}"


def _format_result(result: CodeResult) -> str:
    """Return the text that a model reads; an error is raised, with what was printed before it."""
    parts: list[Any] = [result.stdout.rstrip("\n"), result.value, result.error]
    text = "\n".join(part for part in parts if part)
    if result.error is not None:
        raise ToolError(text)
    return text or "(nothing was printed, and the last line has no value: use print)"


run_python = PythonTool()
