"""Everything that README and the guides show is run and compared. The rules for pages are in `pages.py`."""

import ast
import doctest
import importlib
import importlib.util
import json
import os
import pkgutil
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Generator
from dataclasses import fields
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest
import typer.main

import toolspeak
from tests.cases import each_case
from tests.pages import (
    PAGES,
    ROOT,
    Command,
    Program,
    WrongPage,
    is_like,
    read_blocks,
    read_commands,
    read_programs,
    run_program,
)
from tests.wire.ollama_server import write_answer, write_stream
from toolspeak import settings
from toolspeak.cli.app import app
from toolspeak.values.events import NestedDelta, NestedFact, OwnDelta, OwnFact, Usage
from toolspeak.values.messages import Message, Text

PROGRAMS = [program for page in PAGES for program in read_programs(page)]
COMMANDS = [command for page in PAGES for command in read_commands(page)]
SETTINGS = [(page, block) for page in PAGES for block in read_blocks(page) if block.language == "toml"]
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
MODULES = [
    info.name
    for info in pkgutil.walk_packages(toolspeak.__path__, "toolspeak.")
    if "        >>> " in Path(importlib.util.find_spec(info.name).origin).read_text(encoding="utf-8")
]

CLI = typer.main.get_command(app)
WITHOUT_MODEL = {"tools", "call", "parse", "graph"}
"""Commands that need no model, and so can be run here."""


ASK_OLLAMA = {ROOT / "README.md", ROOT / "docs/index.md", ROOT / "docs/coming-from.md"}
"""Pages whose programs name a model of Ollama, and ask it."""

MAX_COLUMNS = 88
"""How wide code may be, so that it fits the column of the site."""


class Ollama(BaseHTTPRequestHandler):
    """Plays gemma3 on a server of Ollama: it has no tool support, and writes its call as Python."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/api/show":
            self.send(json.dumps({"capabilities": ["completion"], "model_info": {}}).encode())
            return
        assert self.path == "/api/chat"
        assert "tools" not in body, "a server without tool support refuses them"
        asked = body["messages"][-1]["content"]
        said = "It is 18 degrees in Paris." if "18" in asked else '```python\nget_weather(city="Paris")\n```'
        message, usage = Message(role="assistant", parts=(Text(text=said),)), Usage(input_tokens=9, output_tokens=9)
        if body["stream"]:
            self.send(write_stream(message, "stop", usage, 7), "application/x-ndjson")
        else:
            self.send(json.dumps(write_answer(message, "stop", usage)).encode())

    def do_GET(self):
        self.send(b'{"models": []}')

    def send(self, body: bytes, kind: str = "application/json"):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object):
        pass


@pytest.fixture(scope="module")
def ollama() -> Generator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Ollama)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_does_what_its_page_shows(program: Program, monkeypatch: pytest.MonkeyPatch, ollama: str):
    monkeypatch.chdir(ROOT)  # paths in pages start there
    if program.page in ASK_OLLAMA:
        monkeypatch.setenv("OLLAMA_HOST", ollama)
    run_program(program)


@each_case("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_fits_the_column(page: Path):
    wide = [
        f"{page.name}:{block.line + number}"
        for block in read_blocks(page)
        for number, line in enumerate(block.text.splitlines())
        if len(line) > MAX_COLUMNS
    ]
    assert wide == []


@pytest.mark.slow  # five frameworks are imported, in a process of their own
def test_programs_of_other_libraries_import_what_exists():
    blocks = [block for block in read_blocks(ROOT / "docs/coming-from.md") if block.language == "py"]
    nodes = [node for block in blocks for node in ast.parse(block.text).body if isinstance(node, ast.ImportFrom)]
    assert len(nodes) == len(blocks) == 5
    program = "\n".join(map(ast.unparse, nodes))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr


def test_the_charts_are_those_of_the_tables():
    spec = importlib.util.spec_from_file_location("draw_charts", ROOT / "scripts/draw_charts.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look a class's module up here
    spec.loader.exec_module(module)
    stale = [name for name, draw in module.CHARTS.items() if (module.IMAGES / f"{name}.svg").read_text() != draw()]
    assert stale == [], "run scripts/draw_charts.py"


def test_the_moving_picture_is_that_of_its_recording():
    spec = importlib.util.spec_from_file_location("record_demo", ROOT / "scripts/record_demo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    recording = json.loads(module.RECORDING.read_text())
    assert recording["server_alone"]["tool_calls"] == []
    assert [call["output"] for call in recording["toolspeak"]["calls"]] == [
        {"city": "Paris", "celsius": 18},
        {"city": "London", "celsius": 12},
        68.0,
    ]
    assert module.PICTURE.read_text() == module.draw(recording), "run scripts/record_demo.py --draw"


@each_case("guide", GUIDES, ids=lambda guide: guide.name)
def test_a_guide_begins_with_a_program_or_with_commands(guide: Path):
    first = read_blocks(guide)[0]
    assert first.section == ""
    assert first.language in ("python", "console")


def split_words(command: Command) -> list[str]:
    """Split a command as a shell does; it may be continued on further lines."""
    return shlex.split(command.text.replace("\\\n", ""), comments=True)


def subcommand(command: Command) -> tuple[str, list[str]] | None:
    """The command of toolspeak in a line, with its arguments; None if another program is run."""
    words = split_words(command)
    if "toolspeak" not in words:
        return None
    name, *arguments = words[words.index("toolspeak") + 1 :]
    end = next((place for place, word in enumerate(arguments) if word in ("|", ">", "&&")), len(arguments))
    return name, arguments[:end]


@each_case("command", COMMANDS, ids=lambda command: command.name)
def test_a_command_line_is_right(command: Command):
    words = split_words(command)
    if called := subcommand(command):
        name, arguments = called
        if name.startswith("--"):
            assert name in {option for each in CLI.params for option in each.opts}
            return
        CLI.commands[name].make_context(name, arguments)  # raises for an option that does not exist
    elif words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.M)


RUN_HERE = [each for each in COMMANDS if (called := subcommand(each)) and called[0] in WITHOUT_MODEL]


@pytest.mark.slow  # each command is a process
@pytest.mark.parametrize("command", RUN_HERE, ids=lambda command: command.name)
def test_a_command_prints_what_its_page_shows(command: Command, tmp_path: Path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    program = tmp_path / "bin" / "toolspeak"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m toolspeak.cli "$@"\n')
    program.chmod(0o755)
    environment = {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "HOME": str(tmp_path),
        "PYTHONIOENCODING": "utf-8",
    }
    done = subprocess.run(
        ["sh", "-c", command.text], cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    printed = done.stdout + done.stderr
    if command.output:
        assert is_like(command.output, printed.strip("\n")), f"{command.page}:{command.line}: it prints\n{printed}"
    else:
        assert done.returncode == 0, printed


@each_case("page, block", SETTINGS, ids=lambda each: each[0].name)
def test_shown_settings_are_accepted(page: Path, block, tmp_path: Path):
    (tmp_path / "toolspeak.toml").write_text(block.text, encoding="utf-8")
    settings.load(tmp_path, environ={"HOME": str(tmp_path)})


@each_case("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_options_exist(page: Path):
    commands = [CLI, *CLI.commands.values()]
    commands += [each for group in CLI.commands.values() for each in getattr(group, "commands", {}).values()]
    known = {name for command in commands for each in command.params for name in (*each.opts, *each.secondary_opts)}
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M))
    named = {word for span in spans if span.startswith(("--", "toolspeak ")) for word in re.findall(r"--[a-z-]+", span)}
    assert named <= known | {"--help", "--version"}


@each_case("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path):
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_reference_has_every_public_name():
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
    names: set[str] = set()
    for shown in re.findall(r"^::: (\S+)", pages, re.M):
        module, _, name = shown.rpartition(".")
        found = getattr(importlib.import_module(module), name)
        names |= vars(found).keys() if isinstance(found, ModuleType) else {name}
    assert [name for name in toolspeak.__all__ if name not in names] == ["__version__"]


@each_case("name", MODULES)
def test_the_examples_in_docstrings_are_right(name: str):
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried
    assert failed == 0


# The comparison itself: a page with a planted mistake must be refused.

WRONG = {
    "a text": "x = \"b\"\nx  # -> 'a'",
    "a value below": "[1, 2][:]\n# -> [1, 3]",
    "printed output": "print(1)\n# -> 2",
    "an exception": 'int("x")\n# -> ValueError: no',
    "an exception that does not happen": "int(1)\n# -> ValueError: no",
    "a value without its mark": "len('ab')  # 2",
    "a value that is not shown": "x = 1\nx",
    "a value that is not shown but described": "x = 1\nx  # the number",
    "an object without its mark": "list('ab')\n# ['a', 'b']",
    "a value inside of a block": "for x in [1]:\n    x + 1  # -> 3",
    "output that is not shown": "print(1)",
    "elision of something else": "'abc'[:]  # -> 'x…c'",
}
RIGHT = {
    "a text": "x = \"b\"  # prose, and no value\nx  # -> 'b'",
    "printed lines": "print('a\\n b')\n# -> a\n# ->  b",
    "output in a block": "for x in range(2):\n    print(x)\n```\n\n```text\n0\n1",
    "an exception": "int('x')\n# -> ValueError: invalid literal for int() …: 'x'",
    "elision": "'abc'[:]  # -> 'a…c'",
}


def page_of(body: str, folder: Path) -> Path:
    path = folder / "page.md"
    path.write_text(f"# A page\n\n```python\n{body}\n```\n", encoding="utf-8")
    return path


@each_case("body", WRONG)
def test_a_wrong_page_is_refused(body: str, tmp_path: Path):
    (program,) = read_programs(page_of(body, tmp_path))
    with pytest.raises(WrongPage):
        run_program(program)


@each_case("body", RIGHT)
def test_a_right_page_is_accepted(body: str, tmp_path: Path):
    (program,) = read_programs(page_of(body, tmp_path))
    run_program(program)


def test_the_table_of_events_has_every_event_with_its_fields():
    page = (ROOT / "docs/guides/streaming.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| `")][
        1:
    ]
    table = {kind: set(re.findall(r"`(\w+)`", row[3])) for row in rows for kind in re.findall(r"`(\w+)`", row[0])}
    events = [*get_args(OwnDelta), *get_args(OwnFact), NestedDelta, NestedFact]
    assert table == {event.kind: {field.name for field in fields(event)} for event in events}
