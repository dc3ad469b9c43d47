"""The Python tool: what a model is told of it, and what it gets from it."""

from typing import Any

import pytest

from toolspeak.builtin.python import PythonTool, run_python
from toolspeak.execution.sandbox import SandboxLimits, detect_confinement, has_monty
from toolspeak.tools import discover
from toolspeak.values.errors import ToolError, UsageError

needs_both = pytest.mark.skipif(
    not (has_monty() and detect_confinement().is_sufficient),
    reason="needs pydantic-monty and a machine that can confine a process",
)


def test_it_is_discovered_and_its_maker_is_not():
    found = discover("toolspeak.builtin.python")
    assert found.names == ("run_python",)
    assert found["run_python"] is run_python
    assert run_python.spec.effect == "read"
    assert not run_python.spec.approve
    assert run_python.spec.parameters["required"] == ["code"]


@needs_both
@pytest.mark.parametrize("mode", ["monty", "full", "auto"])
def test_the_description_says_the_mode_and_what_is_missing(mode: Any):
    described = PythonTool(mode=mode, limits=SandboxLimits(seconds=2)).spec.description
    assert f"Mode: {mode}" in described
    assert "Not available: " in described
    assert "network" in described
    assert "2 seconds" in described


@needs_both
def test_the_seeds_scenario():
    code = "import math\nprint(math.pi * 7.5 ** 2)\na, b = 0, 1\nfor _ in range(20):\n    a, b = b, a + b\nprint(a)"
    assert run_python(code) == "176.71458676442586\n6765"
    assert run_python(**run_python.bind({"code": code}).kwargs) == "176.71458676442586\n6765"


@needs_both
def test_prints_come_before_the_value_and_silence_is_explained():
    assert run_python("print('a')\n1 + 1") == "a\n2"
    assert run_python("x = 1") == "(nothing was printed, and the last line has no value: use print)"


@needs_both
def test_what_goes_wrong_is_an_error_with_what_was_printed():
    with pytest.raises(ToolError, match=r"(?s)^before\nTraceback.*ValueError: oh no$"):
        run_python("print('before')\nraise ValueError('oh no')")
    with pytest.raises(ToolError, match=r"No module named 'numpy'$"):
        run_python("import numpy")


def test_a_wrong_mode_is_refused_at_once():
    mode: Any = "fast"
    with pytest.raises(UsageError, match="mode is 'monty', 'full' or 'auto', not 'fast'"):
        PythonTool(mode=mode)
