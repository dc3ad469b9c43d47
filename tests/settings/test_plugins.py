"""Packages add dialects, endpoints and toolboxes by entry points; each test installs one and uses it in a new process."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.pages import ROOT
from toolspeak.dialects import DIALECTS
from toolspeak.models import SERVERS
from toolspeak.settings.project_file import BUILT_IN_DIALECTS

EXAMPLE = ROOT / "examples" / "plugin"


def install(site: Path, name: str, modules: dict[str, str], points: dict[str, dict[str, str]]) -> None:
    """Put into a folder what `pip install` would: the modules, and the metadata with the entry points."""
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    sections = (
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in each.items()) for group, each in points.items()
    )
    (info / "entry_points.txt").write_text("\n".join(sections))
    for module, text in modules.items():
        (site / f"{module}.py").write_text(text)


def install_example(site: Path) -> None:
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    install(site, project["name"], {}, project["entry-points"])
    shutil.copytree(EXAMPLE / "src", site, dirs_exist_ok=True)


def use(site: Path, code: str) -> Any:
    """Run code in a new Python that finds the packages of a folder, and return what it puts into `result`."""
    source = str(ROOT / "src")
    env = {"HOME": str(site), "PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join((str(site), source))}
    program = f"import json, sys\nfrom toolspeak import *\nresult = None\n{code}\nprint(json.dumps(result))"
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, cwd=site, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return tmp_path / "site"


def test_the_example_is_installed_and_used(site: Path):
    install_example(site)
    code = """
agent = Agent("echo:small", tools="words")
plain = agent.run("Hello there.")
called = agent.run("```python\\ncount_words(text='one two')\\n```", limits=Limits(turns=1))
started = plain.facts[0]
result = [plain.text, started.model, started.dialect, agent.toolbox.names, [each.output for each in called.calls]]
result.append(plain.messages[-1].role)
"""
    text, model, dialect, tools, outputs, role = use(site, code)
    assert (text, model, dialect, tools) == ("Hello there.", "echo:small", "one-line", ["count_words"])
    assert (outputs, role) == ([2], "assistant")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("hatchling") is None, reason="hatchling, which builds the example, is not installed")
@pytest.mark.skipif(find_spec("pip") is None, reason="pip, which installs the example, is not installed")
def test_the_example_is_built_and_installed_by_pip(site: Path, tmp_path: Path):
    source = shutil.copytree(EXAMPLE, tmp_path / "plugin")  # what a build leaves behind stays out of the repository
    options = ["--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(site), str(source)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=80, check=False)
    assert done.returncode == 0, done.stderr
    code = """
agent = Agent("echo:small", tools="words")
result = [agent.run("Hello there.").text, agent.dialect.name, agent.toolbox.names]
"""
    assert use(site, code) == ["Hello there.", "one-line", ["count_words"]]


def test_the_example_keeps_the_contracts(site: Path):
    install_example(site)
    code = """
from toolspeak.testing import DialectContract, ModelContract
from toolspeak.dialects import dialect
class Dialect(DialectContract):
    messages = {"```python\\nadd(first=1, second=2)\\n```": [("add", {"first": 1, "second": 2})]}
    def make_dialect(self): return dialect("one-line")
class Endpoint(ModelContract):
    def make_model(self): return Agent("echo:small").model
result = [name for suite in (Dialect(), Endpoint()) for name in suite.run()]
"""
    assert len(use(site, code)) > 5


def test_nothing_is_imported_before_a_name_is_used(site: Path):
    install_example(site)
    code = """
import toolspeak.run, toolspeak.dialects, toolspeak.tools
from toolspeak.testing import ScriptedModel
Agent(ScriptedModel(["Hello."]), dialect="json").run("Hello?")
Agent("openai:any", dialect="python")
before = "toolspeak_example_plugin" in sys.modules
toolspeak.dialects.dialect("one-line")
result = [before, "toolspeak_example_plugin" in sys.modules]
"""
    assert use(site, code) == [False, True]


def test_names_of_toolspeak_win(site: Path):
    points = {
        "toolspeak.dialects": {"json": "thief:DIALECT"},
        "toolspeak.endpoints": {"openai": "thief:connect", "local": "thief:connect"},
        "toolspeak.toolboxes": {"json": "thief:TOOLS"},
    }
    install(site, "thief", {"thief": "raise RuntimeError('imported')"}, points)
    code = """
from toolspeak.dialects import dialect
result = [dialect("json").name, Agent("openai:any").model.name, len(discover("json"))]
"""
    assert use(site, code)[:2] == ["json", "openai:any"]


BROKEN = {
    "refuses": ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
    "exits": ("raise SystemExit(3)", "SystemExit: 3"),
    "lacks": ("", "AttributeError"),
    "is_a_number": ("X = 5", "it is not a"),
    "gives_a_number": ("def X(name): return 5", "it returned no model, but an object of type int"),
    "fails": ("def X(name): return {}[name]", "it failed for the model 'x': KeyError: 'x'"),
}


def test_a_broken_plugin_is_named_with_its_package(site: Path):
    for name, (module, _) in BROKEN.items():
        points = {
            f"toolspeak.{group}": {f"{group}-{name}": f"{name}:X"} for group in ("dialects", "endpoints", "toolboxes")
        }
        install(site, f"acme-{name}", {name: module}, points)
    code = f"""
from toolspeak.dialects import dialect
result = {{}}
for name in {list(BROKEN)}:
    for use in (lambda: dialect("dialects-" + name), lambda: Agent(f"endpoints-{{name}}:x"), lambda: discover("toolboxes-" + name)):
        try:
            use()
        except UsageError as error:
            result.setdefault(name, []).append(str(error))
"""
    told = use(site, code)
    for name, (_, words) in BROKEN.items():
        assert len(told[name]) == 3, told[name]
        assert all(f"the package acme-{name}" in each and "uninstall" in each for each in told[name])
        assert any(words in each for each in told[name]), told[name]


def test_two_packages_with_one_name_are_refused(site: Path):
    for name in ("first", "second"):
        install(site, name, {name: "X = 1"}, {"toolspeak.dialects": {"same": f"{name}:X"}})
    code = (
        "from toolspeak.dialects import dialect\ntry: dialect('same')\nexcept UsageError as error: result = str(error)"
    )
    told = use(site, code)
    assert "first and second" in told


def test_errors_list_what_is_offered(site: Path):
    install_example(site)
    code = """
def fail(use):
    try:
        use()
    except UsageError as error:
        return str(error)
uses = lambda: Agent("openai:x", dialect="two-lines"), lambda: Agent("ecko:x"), lambda: discover("wrods-x")
result = [fail(use) for use in uses]
"""
    dialect, endpoint, toolbox = use(site, code)
    assert "one-line" in dialect
    assert "did you mean echo:x?" in endpoint
    assert "words" in toolbox


def test_a_project_without_trust_names_built_in_dialects_only():
    assert set(DIALECTS) | {"auto"} == BUILT_IN_DIALECTS
    assert "echo" not in SERVERS
