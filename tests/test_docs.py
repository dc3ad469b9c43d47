"""Every example in the docs is run, and gives what it says."""

import ast
import doctest
import importlib
import importlib.util
import pkgutil
import re
from pathlib import Path

import pytest

import toolspeak

ROOT = Path(__file__).parent.parent
BLOCKS = re.findall(r"```python\n(.*?)```\n", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
MODULES = [
    info.name
    for info in pkgutil.walk_packages(toolspeak.__path__, "toolspeak.")
    if "        >>> " in Path(importlib.util.find_spec(info.name).origin).read_text(encoding="utf-8")
]


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_readme_says_what_happens(block: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(ROOT)  # its paths are relative to the project
    names: dict[str, object] = {}
    for node in ast.parse(block).body:
        code = ast.unparse(node)
        told = said_after(block, node)
        if not isinstance(node, ast.Expr) or not told:
            exec(code, names)
        elif re.match(r"[\w.]+Error|[\w.]+InvalidArguments: ", told):
            with pytest.raises(Exception, match=re.escape(told.split(": ", 1)[1])):
                eval(code, names)
        elif told[0] in "{[(":
            assert repr(eval(code, names)) == told
        else:
            eval(code, names)


def said_after(block: str, node: ast.stmt) -> str:
    """The comment on the lines after a statement, or behind it."""
    lines = block.split("\n")
    behind = lines[(node.end_lineno or 0) - 1][node.end_col_offset or 0 :]
    if "# " in behind:
        return behind.split("# ", 1)[1]
    told = []
    for line in lines[node.end_lineno or 0 :]:
        if not line.startswith("# "):
            break
        told.append(line[2:])
    return "\n".join(told)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_docstrings_are_right(name: str):
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried
    assert failed == 0
