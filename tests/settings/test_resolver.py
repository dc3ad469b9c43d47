"""What runs is listed: whatever changes what runs changes the fingerprint, and what does not run does not."""

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cases import each_case
from toolspeak.mcp.config import read_target
from toolspeak.settings.project_file import find_project
from toolspeak.settings.resolver import (
    MAX_FILE_BYTES,
    MAX_FRAGMENTS,
    MAX_NAMES,
    MAX_SEARCHED_BYTES,
    MAX_TOOL_FILES,
    Listing,
    list_code,
)
from toolspeak.tools.discovery import discover_listed

TOOL = 'def go() -> str:\n    """Go."""\n    return "gone"\n'
NOTE_RUN = "import sys\nsys.files_that_ran.append(__file__)\n"

_numbers = itertools.count()


def real(listing: Listing) -> set[str]:
    return {os.path.realpath(path) for path in listing.files}


# Python tools


@st.composite
def python_projects(draw: st.DrawFn) -> tuple[dict[str, str], bool]:
    """Return the texts of files, of which the first imports others that import others, and whether a name is computed.

    The names are of this example alone, since modules stay imported.
    """
    number = next(_numbers)
    folders = ["", f"pack_{number}/", f"space_{number}/", f"pack_{number}/deep/"]
    first = draw(st.sampled_from([each for each in folders if not each.startswith("space_")]))  # from there, not above
    others = draw(st.lists(st.sampled_from(folders), max_size=4))
    places = [f"{folder}m{number}_{index}" for index, folder in enumerate([first, *others])]
    is_computed = False
    files: dict[str, str] = {}
    for index, place in enumerate(places):
        lines: list[str] = []
        for other in draw(st.lists(st.sampled_from(places[index + 1 :]), unique=True)) if places[index + 1 :] else []:
            folder, name = place.rpartition("/")[0], other.replace("/", ".")
            parent, _, leaf = name.rpartition(".")
            ways = [
                f"import {name}",
                f"import {name} as other",
                f"from {parent} import {leaf}" if parent else f"from {leaf} import *",
                f"def later():\n    import {name}\nlater()",
                f"import {name.replace('.', ' . ')}",
                f"import\f{name}",
                f"'from x import ('\nimport {name}\n')'",
                f"try:\n    import {name}\nexcept ImportError:\n    raise",
                f"import importlib\nimportlib.import_module({name!r})",
                f"__import__({name!r})",
                f"import sys, os\nsys.path.append(os.path.dirname(__file__))\nimport {name}",
            ]
            if folder.startswith("pack_") and other.rpartition("/")[0] == folder:
                ways += [
                    f"from . import {leaf}",
                    f"from .{leaf} import *",
                    f"from.{leaf} import *",
                    f"from . import(  # (\n    {leaf}  # )\n)",
                    f"import importlib\nimportlib.import_module('.{leaf}', __package__)",
                ]
            if not folder:
                ways.append(f"import importlib\nimportlib.import_module({name[:3]!r} + {name[3:]!r})")
            lines.append(draw(st.sampled_from(ways)))
            is_computed |= "+ " in lines[-1]
        files[f"{place}.py"] = NOTE_RUN + "\n".join(lines) + f"\n{TOOL}"
    for package in (f"pack_{number}", f"pack_{number}/deep"):
        files[f"{package}/__init__.py"] = NOTE_RUN
    return files, is_computed


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(project=python_projects())
def test_whatever_a_tool_file_runs_is_listed(project: tuple[dict[str, str], bool], tmp_path: Path):
    texts, is_computed = project
    folder = tmp_path / str(next(_numbers))
    decoys = [
        "README.md",
        "data.json",
        "notes/x.txt",
        *([] if is_computed else ["unused.py", "h2.py", "unused/mod.py"]),
    ]
    for name, text in {**texts, **dict.fromkeys(decoys, "x = 1\n")}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)

    def listed() -> Listing:
        return list_code([str(folder / next(iter(texts)))], "here", project=folder)

    sys.files_that_ran = []  # type: ignore[attr-defined]  # shared with the tools
    listing, path = listed(), [*sys.path]
    try:
        discover_listed(str(folder / next(iter(texts))), listing)
    finally:
        sys.path[:] = path
    ran = {os.path.realpath(each) for each in sys.files_that_ran}  # type: ignore[attr-defined]  # see above
    assert ran
    assert ran <= real(listing)
    before = listing.fingerprint()
    for name in [*(str(Path(each).relative_to(folder.resolve())) for each in sorted(ran)), *decoys]:
        text = (folder / name).read_text()
        (folder / name).write_text(f"{text}# changed\n")
        assert (listed().fingerprint() != before) is (name not in decoys), name
        (folder / name).write_text(text)
    assert listed().fingerprint() == before


# Servers: real programs, whose scripts note that they ran

SCRIPT = """
with open({noted!r}, "a") as file:
    file.write(__file__ + "\\n")
"""


def servers(draw: Callable[[st.SearchStrategy[Any]], Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the entry of a server, and the scripts that there must be for it."""
    name = draw(st.sampled_from(["server", "my_server"]))
    python, folder = sys.executable, draw(st.sampled_from(["", "sub/"]))
    quote = draw(st.sampled_from(["", "'"]))
    forms: list[tuple[dict[str, Any], list[str]]] = [
        ({"command": python, "args": [f"{folder}{name}.py"]}, [f"{folder}{name}.py"]),
        ({"command": python, "args": ["-u", "-B", f"./{folder}{name}.py", "x"]}, [f"{folder}{name}.py"]),
        ({"command": python, "args": ["-X", "utf8", f"{folder}{name}"]}, [f"{folder}{name}/__main__.py"]),
        ({"command": python, "args": ["-m", name]}, [f"{name}.py"]),
        ({"command": python, "args": ["-um", name]}, [f"{name}/__init__.py", f"{name}/__main__.py"]),
        ({"command": python, "args": [f"-m{name}"], "cwd": "sub"}, [f"sub/{name}.py"]),
        ({"command": python, "args": ["-c", f"import {name}"]}, [f"{name}.py"]),
        ({"command": "sh", "args": ["-c", f"{python} {quote}{folder}{name}.py{quote} x"]}, [f"{folder}{name}.py"]),
        ({"command": "sh", "args": ["-c", f"cd sub; x={name}; exec {python} $x.py"]}, [f"sub/{name}.py"]),
        ({"command": "sh", "args": ["start"]}, ["start", f"{name}.py"]),
        ({"command": "./start"}, ["start", f"{name}.py"]),
        ({"command": "env", "args": ["X=1", python, f"{name}.py"]}, [f"{name}.py"]),
        ({"command": python, "args": ["${NO_SUCH_VARIABLE:-" + f"{folder}{name}.py" + "}"]}, [f"{folder}{name}.py"]),
        ({"command": python, "args": [f"{name}.py"], "cwd": "${NO_SUCH_VARIABLE:-sub}"}, [f"sub/{name}.py"]),
        (
            {"command": python, "args": ["-c", ""], "env": {"PYTHONPATH": "sub"}},
            ["sub/sitecustomize.py"],
        ),
        (
            {"command": python, "args": ["-m", "json.tool", "--help"], "env": {"PYTHONPATH": "${NO_SUCH:-./sub}:/x"}},
            ["sub/sitecustomize.py"],
        ),
        ({"command": "sh", "args": ["-c", "."], "env": {"ENV": "./start"}}, []),
    ]  # fmt: skip
    return draw(st.sampled_from(forms))


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data())
def test_whatever_a_server_runs_of_the_project_is_listed(data: st.DataObject, tmp_path: Path):
    entry, scripts = servers(data.draw)
    folder, noted = tmp_path / str(next(_numbers)), tmp_path / f"{next(_numbers)}.txt"
    noted.touch()
    imports_helper = data.draw(st.booleans()) and any(each.endswith(".py") for each in scripts)
    (folder / "sub").mkdir(parents=True)
    for script in scripts:
        path = folder / script
        path.parent.mkdir(parents=True, exist_ok=True)
        if script == "start":
            path.write_text(f"#!/bin/sh\nexec {sys.executable} {scripts[-1]}\n")
            path.chmod(0o755)
            continue
        text = SCRIPT.format(noted=str(noted))
        path.write_text(f"{text}import helper_of_it\n" if imports_helper else text)
        if imports_helper:
            for place in (path.parent, folder, folder / "sub"):
                (place / "helper_of_it.py").write_text(text)
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"s": entry}}))
    listing = list_code([str(folder / "mcp.json")], "here", project=folder)
    config = read_target(str(folder / "mcp.json"))[0].expand({})
    start = Path(config.cwd or "")
    program = str(start / config.command[0]) if config.command[0].startswith(".") else config.command[0]
    env = {"PATH": os.environ["PATH"], **config.env}
    subprocess.run([program, *config.command[1:]], cwd=start, env=env, capture_output=True, timeout=60, check=False)
    ran = {os.path.realpath(start / each) for each in noted.read_text().splitlines()}
    assert ran or not scripts
    assert ran <= real(listing)
    before = listing.fingerprint()
    for file in sorted(ran):
        text = Path(file).read_text()
        Path(file).write_text(f"{text}# changed\n")
        assert list_code([str(folder / "mcp.json")], "here", project=folder).fingerprint() != before, file
        Path(file).write_text(text)


# What counts, and what does not


def fingerprint_of(folder: Path, *targets: str) -> str:
    return list_code([str(folder / each) for each in targets], "here", project=folder).fingerprint()


def write_files(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x = 1\n")


def write_server(folder: Path, **entry: Any) -> None:
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"s": entry}}))


@each_case(
    "target, files, changed, counts",
    {
        "package with a hyphen": ("box", ["box/a.py", "box/more-tools/__init__.py"], "box/more-tools/__init__.py", True),
        "package of a tool file": ("pkg/t.py", ["pkg/__init__.py", "pkg/t.py"], "pkg/__init__.py", True),
        "package above the package": ("a/b/t.py", ["a/__init__.py", "a/b/__init__.py", "a/b/t.py"], "a/__init__.py", True),
        "file of the same folder": ("t.py", ["t.py"], "other.py", False),
        "optional module of a library": ("t.py", ["t.py"], "h2.py", False),
        "folder that no package holds": ("box", ["box/a.py"], "box/data/x.py", False),
        "compiled file, which is not believed": ("t.py", ["t.py"], "__pycache__/t.cpython-311.pyc", False),
        "missing file": ("t.py", [], "t.py", True),
    },
)  # fmt: skip
def test_files_of_python_tools(tmp_path: Path, target: str, files: list[str], changed: str, counts: bool):
    folder = tmp_path / str(next(_numbers))
    folder.mkdir()
    write_files(folder, *files)
    before = fingerprint_of(folder, target)
    write_files(folder, changed)
    (folder / changed).write_text("x = 2\n")
    assert (fingerprint_of(folder, target) != before) is counts


@each_case(
    "entry, changed, counts",
    {
        "package runner: readme": ({"command": "npx", "args": ["-y", "some-server", "."]}, "README.md", False),
        "package runner: registry": ({"command": "npx", "args": ["-y", "some-server"]}, ".npmrc", True),
        "package runner: local package": (
            {"command": "npx", "args": ["@a/some-server@1.0"]}, "node_modules/@a/some-server/index.js", True,
        ),
        "package runner: local program": ({"command": "npx", "args": ["some-server"]}, "node_modules/.bin/some-server", True),
        "package runner: named file": ({"command": "uvx", "args": ["x", "--config=c.toml"]}, "c.toml", True),
        "container": ({"command": "docker", "args": ["run", "-i", "image"]}, "compose.yaml", False),
        "composed containers": ({"command": "docker", "args": ["compose", "up"]}, "compose.yaml", True),
        "python: readme": ({"command": "python", "args": ["server.py"]}, "README.md", False),
        "python: shadows a module": ({"command": "python", "args": ["server.py"]}, "json.py", True),
        "python: another folder": ({"command": "python", "args": ["sub/server.py"]}, "other/json.py", True),
        "python: data": ({"command": "python", "args": ["server.py", "./bin"]}, "bin/data.csv", False),
        "python: in what looks installed": ({"command": "python", "args": ["server.py"]}, ".lib/x.py", True),
        "python: in the folder of compiled files": ({"command": "python", "args": ["s.py"]}, "__pycache__/x.py", True),
        "python: compiled file without source": ({"command": "python", "args": ["s.py"]}, "__pycache__/x.pyc", True),
        "python: start file of an environment": ({"command": "python", "args": ["s.py"]}, "v/x.pth", True),
        "python: program without a suffix": ({"command": "python", "args": ["s.py"]}, "bin/program", True),
        "package runner: local package by path": ({"command": "npx", "args": ["./bin"]}, "bin/main.anything", True),
        "package runner: this folder": ({"command": "uvx", "args": ["--from", ".", "x"]}, "main.anything", True),
        "package runner: local file": ({"command": "npx", "args": ["-y", "tsx", "server.ts"]}, "helper.anything", True),
        "package runner: folder of data": ({"command": "npx", "args": ["-y", "files", "./bin"]}, "bin/data.csv", False),
        "container: mounted folder": ({"command": "docker", "args": ["run", "-v", "./bin:/a", "i"]}, "bin/a.any", True),
        "python: installed module": ({"command": "python", "args": ["-m", "installed"]}, "json.py", True),
        "node: script": ({"command": "node", "args": ["server.js"]}, "lib/helper.js", True),
        "node: readme": ({"command": "node", "args": ["server.js"]}, "README.md", False),
        "node: option": ({"command": "node", "args": ["-r", "./x", "server.js"]}, "x.anything", True),
        "shell": ({"command": "bash", "args": ["-c", "source $(echo a)b"]}, "ab", True),
        "task runner": ({"command": "make", "args": ["serve"]}, "Makefile", True),
        "shell elsewhere": ({"command": "bash", "args": ["-c", "x"], "cwd": "/"}, "ab", False),
        "own program that is called npx": ({"command": "./npx", "args": ["x"]}, "hidden.txt", True),
        "own folder on the PATH": ({"command": "npx", "args": ["x"], "env": {"PATH": "bin:/usr/bin"}}, "bin/npx", True),
        "variable that loads code": ({"command": "npx", "args": ["x"], "env": {"NODE_OPTIONS": "-r ./x.js"}}, "x.js", True),
        "switched off": ({"command": "make", "disabled": True}, "Makefile", False),
        "address": ({"url": "https://example.com/mcp"}, "x.py", False),
    },
)  # fmt: skip
def test_files_of_servers(tmp_path: Path, entry: dict[str, Any], changed: str, counts: bool):
    folder = tmp_path / str(next(_numbers))
    (folder / "bin").mkdir(parents=True)
    write_files(folder, "server.ts", "v/pyvenv.cfg")
    write_server(folder, **entry)
    before = fingerprint_of(folder, "mcp.json")
    write_files(folder, changed)
    if "." not in Path(changed).name:
        (folder / changed).chmod(0o755)
    assert (fingerprint_of(folder, "mcp.json") != before) is counts


def test_a_link_counts_with_what_it_means(tmp_path: Path):
    write_files(tmp_path, "one/t.py", "two/t.py")
    for folder in ("one", "two"):
        (tmp_path / "t.py").unlink(missing_ok=True)
        (tmp_path / "t.py").symlink_to(tmp_path / folder / "t.py")
        listing = list_code([str(tmp_path / "t.py")], "here", project=tmp_path)
        if folder == "one":
            before = listing.fingerprint()
    assert listing.fingerprint() != before  # the content is the same, the modules beside it are others


def test_a_folder_that_a_link_means_counts(tmp_path: Path):
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    write_files(elsewhere, "x.py")
    project.mkdir()
    (project / "lib").symlink_to(elsewhere)
    (project / "loop").symlink_to(project)
    write_server(project, command="python", args=["lib/server.py"])
    before = fingerprint_of(project, "mcp.json")
    write_files(elsewhere, "json.py")
    assert fingerprint_of(project, "mcp.json") != before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_no_file_is_waited_for(tmp_path: Path):
    write_server(tmp_path, command="make", args=["pipe"])
    for name in ("pipe", "other.json", "t.py"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "endless").symlink_to("/dev/zero")
    listing = list_code([str(tmp_path / name) for name in ("mcp.json", "other.json", "t.py")], "here", project=tmp_path)
    assert listing.notes


def test_the_work_is_bounded(tmp_path: Path):
    """Large files are not read, large sources not searched, and of too many words or folders a decision is not kept."""
    (tmp_path / "t.py").write_text("import helper\n" + "x = 1\n" * (MAX_SEARCHED_BYTES // 6))
    with (tmp_path / "weights.bin").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    write_files(tmp_path, "other.py")
    write_server(tmp_path, command="make", args=["weights.bin"])
    listing = list_code([str(tmp_path / "t.py"), str(tmp_path / "mcp.json")], "here", project=tmp_path)
    assert listing.files[tmp_path / "weights.bin"] == "unread"
    assert tmp_path / "other.py" in listing.named  # the large source may import anything beside it
    os.utime(tmp_path / "weights.bin")
    assert fingerprint_of(tmp_path, "t.py", "mcp.json") != listing.fingerprint()
    write_server(tmp_path, command="make", args=["x "] * (MAX_FRAGMENTS + 1))
    assert not list_code([str(tmp_path / "mcp.json")], "here", project=tmp_path).is_complete


@each_case(
    "source",
    {
        "lists in lists": "# from a import (\n" * 2000,
        "lists in a line": "from a import (#" * 2000,
        "many names": f"from .a import {','.join(map('n{}'.format, range(MAX_NAMES)))}",
    },
)
def test_imports_that_are_longer_than_their_source_count_as_any_import(tmp_path: Path, source: str):
    """Reading each list of names to its end would take a time that grows with the square of the source."""
    write_files(tmp_path, "other.py")
    (tmp_path / "t.py").write_text(source)
    assert tmp_path / "other.py" in list_code([str(tmp_path / "t.py")], "here", project=tmp_path).named


def test_weights_count_when_they_are_replaced(tmp_path: Path):
    (tmp_path / "toolspeak.toml").write_text('model = "local:w.gguf"\nlocal.adapter = "a.gguf"')
    write_files(tmp_path, "w.gguf", "a.gguf")
    for name in ("w.gguf", "a.gguf"):
        before = find_project(tmp_path, {}).file
        (tmp_path / name).write_text("x = 2\n")
        after = find_project(tmp_path, {}).file
        assert before is not None
        assert after is not None
        assert before.fingerprint != after.fingerprint


def test_of_many_files_it_is_noticed_that_they_were_written(tmp_path: Path):
    write_server(tmp_path, command="make", args=["serve"])
    for number in range(MAX_TOOL_FILES + 10):
        (tmp_path / f"f{number:05}").touch()
    listing = list_code([str(tmp_path / "mcp.json")], "here", project=tmp_path)
    assert (len(listing.files), listing.is_complete) == (MAX_TOOL_FILES, True)
    (tmp_path / f"f{MAX_TOOL_FILES + 9:05}").write_text("x")
    assert fingerprint_of(tmp_path, "mcp.json") != listing.fingerprint()


def test_nothing_is_run_and_no_value_of_a_variable_is_kept(tmp_path: Path):
    write_server(tmp_path, command="sh", args=["-c", "touch ran", "${A_KEY}"], env={"X": "${A_KEY}"})
    listing = list_code([str(tmp_path / "mcp.json")], "here", project=tmp_path, environ={"A_KEY": "hush"})
    assert not (tmp_path / "ran").exists()
    assert "hush" not in repr(listing)
    assert listing.servers[0].variables == ("A_KEY",)
