"""`import toolspeak` has no side effect, and loads nothing that is not asked for."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import toolspeak

HEAVY = ["pydantic", "pydantic_core", "griffe", "typer", "rich", "asyncio", "dataclasses", "logging", "inspect", "json"]


def run(code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh Python, in an empty folder that is also its home."""
    env = {"HOME": str(cwd), "TMPDIR": str(cwd), "PATH": os.environ.get("PATH", ""), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=80, check=True)


def report(code: str, cwd: Path) -> Any:
    return json.loads(run(code, cwd).stdout)


def test_importing_prints_nothing_and_writes_no_file(tmp_path: Path):
    done = run("import toolspeak", tmp_path)
    assert (done.stdout, done.stderr) == ("", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("first", ["toolspeak", "toolspeak.tools", "toolspeak.values.codec", "toolspeak.cli.app"])
def test_importing_configures_no_logging(tmp_path: Path, first: str):
    code = (
        f"import logging, json\nlevel = logging.root.level\nimport {first}\n"
        "ours = [name for name in logging.root.manager.loggerDict if name.startswith('toolspeak')]\n"
        "print(json.dumps([len(logging.root.handlers), logging.root.level == level, ours]))"
    )
    assert report(code, tmp_path) == [0, True, []]


def test_importing_loads_nothing_heavy(tmp_path: Path):
    code = (
        "import sys\nbefore = set(sys.modules)\nimport toolspeak\nnew = sorted(set(sys.modules) - before)\n"
        "import json; print(json.dumps(new))"
    )
    loaded = report(code, tmp_path)
    assert "toolspeak" in loaded
    assert not {name.partition(".")[0] for name in loaded} & set(HEAVY)
    assert [name for name in loaded if name.startswith("toolspeak.")] == [
        "toolspeak.values",
        "toolspeak.values.package",
    ]


def test_the_nouns_need_no_pydantic(tmp_path: Path):
    code = (
        "import toolspeak.values.codec, toolspeak.values.coercion, toolspeak.values.validation, toolspeak.values.events, toolspeak.values.spec\n"
        "import sys, json; print(json.dumps(sorted(name for name in sys.modules if '.' not in name)))"
    )
    assert not set(report(code, tmp_path)) & {"pydantic", "pydantic_core", "griffe", "typer", "rich"}


def test_every_public_name_is_there():
    assert len(toolspeak.__all__) == len(set(toolspeak.__all__))
    assert dir(toolspeak) == sorted(toolspeak.__all__)
    for name in toolspeak.__all__:
        assert getattr(toolspeak, name) is getattr(toolspeak, name)


def test_a_name_that_is_not_public_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'toolspeak' has no attribute 'nothing'"):
        toolspeak.nothing  # noqa: B018 (reading the name is the test)


def test_star_gives_every_public_name(tmp_path: Path):
    code = "from toolspeak import *\nimport json; print(json.dumps(sorted(name for name in globals())))"
    assert set(toolspeak.__all__) <= set(report(code, tmp_path))


def test_a_run_without_a_tracer_loads_nothing_for_traces(tmp_path: Path):
    code = (
        "from toolspeak import Agent\nfrom toolspeak.testing import ScriptedModel\nAgent(ScriptedModel(['Yes.'])).run('?')\n"
        "import sys, json; print(json.dumps([name for name in sys.modules if 'telemetry' in name]))"
    )
    assert report(code, tmp_path) == []


DEFINE_AGENT = """
from toolspeak import Agent, connect
def double(x: int) -> int:
    "Double a number."
    return 2 * x
Agent(connect("model", at="http://127.0.0.1:1/v1", key="key", dialect="native"), tools=[double])
"""


def test_an_agent_is_defined_without_what_only_a_run_or_other_models_need(tmp_path: Path):
    code = f"{DEFINE_AGENT}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    loaded = set(report(code, tmp_path))
    later = (
        *("aiohttp", "pydantic", "griffe", "tomllib", "html", "ctypes", "decimal", "sqlite3", "importlib.metadata"),
        *("toolspeak.reading.reader", "toolspeak.turns", "toolspeak.run.driver", "toolspeak.run.chain"),
        *("toolspeak.dialects.grammar", "toolspeak.dialects.tool_index", "toolspeak.tools.discovery"),
        *("toolspeak.mcp", "toolspeak.settings.loader", "toolspeak.execution.sandbox.full"),
        *("toolspeak.models.embedded", "toolspeak.models.transport"),
        *("toolspeak.wire.anthropic_messages", "toolspeak.wire.openai_responses", "toolspeak.wire.gemini_content"),
    )
    assert "toolspeak.run.agent" in loaded
    assert [name for name in later if name in loaded] == []
