"""`toolspeak doctor`: what it finds, the cures that it names, and that it changes nothing."""

import importlib.util
import io
import json
import os
import socket
import sqlite3
import threading
import tomllib
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each_case
from tests.cli.commands import Done, run_command
from toolspeak.cli.config import DoctorReport, Finding, examine_packages
from toolspeak.cli.format import SafeConsole

SCREEN_LINES = 24
REQUIRED = [
    "pydantic>=2.12",
    "rich>=14; extra == 'cli'",
    "typer>=0.16; extra == 'cli'",
    'psycopg[binary]>=3.2; extra == "cluster"',
    "pytest; extra == 'dev'",
]
ALL_REQUIRED = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def doctor(home: Path, *arguments: str, **variables: str) -> Done:
    left_out = ("TOOLSPEAK_", "XDG_", "OPENAI_", "PYTHON", "LC_", "LANG")
    own = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    env = {**own, "HOME": str(home), "PYTHONIOENCODING": "utf-8", **variables}
    return run_command("doctor", *arguments, cwd=home, env=env, stdin=None, timeout=100)


class ModelList(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'{"data": [{"id": "m"}]}' if self.path == "/v1/models" else b""
        self.send_response(200 if body else 404)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...


@contextmanager
def endpoint() -> Generator[str]:
    """Serve a list of models, and yield the name of one."""
    with ThreadingHTTPServer(("127.0.0.1", 0), ModelList) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1#m"
        finally:
            server.shutdown()
            thread.join()


def find(done: Done, part: str) -> tuple[str, str, str]:
    """Return state, words and cure of a part in what was printed."""
    rows = [[*line.split("\t"), "", ""][:4] for line in done.stdout.splitlines()]
    [(state, _, words, cure)] = [row for row in rows if row[1] == part]
    return state, words, cure


def test_an_endpoint_that_answers_is_fine(tmp_path: Path) -> None:
    with endpoint() as name:
        done = doctor(tmp_path, "--model", name)
    assert (done.returncode, done.stderr) == (0, "")
    assert find(done, "model")[0] == "ok"
    assert find(done, "endpoint")[0] == "ok"
    assert len(done.stdout.splitlines()) <= SCREEN_LINES
    assert list(tmp_path.iterdir()) == []  # nothing was written


def test_an_endpoint_that_is_not_there_is_a_fault_with_a_cure(tmp_path: Path) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # nobody listens
        name = f"http://127.0.0.1:{bound.getsockname()[1]}/v1#m"
        done, offline = doctor(tmp_path, "-m", name), doctor(tmp_path, "-m", name, "--offline")
    assert done.returncode == 1
    state, words, cure = find(done, "endpoint")
    assert (state, cure) == ("fault", "start its server, or correct the address; behind a proxy, set HTTPS_PROXY")
    assert "cannot be reached" in words
    assert offline.returncode == 0
    assert find(offline, "endpoint") == ("note", "not asked", "leave out --offline")


def test_a_key_that_is_missing_is_named_by_its_variable_and_a_key_is_never_shown(tmp_path: Path) -> None:
    done = doctor(tmp_path, "-m", "openai:gpt-5-mini")
    assert done.returncode == 1
    assert find(done, "model")[0] == "fault"
    assert find(done, "model")[2] == "set OPENAI_API_KEY to your key"
    having = doctor(tmp_path, "-m", "openai:gpt-5-mini", "--offline", "--json", OPENAI_API_KEY="sk-very-secret")
    findings: list[dict[str, Any]] = json.loads(having.stdout)
    assert [each["state"] for each in findings if each["part"] == "model"] == ["ok"]
    assert "key in OPENAI_API_KEY" in having.stdout
    assert "very-secret" not in having.stdout


def test_a_model_that_cannot_be_found_is_a_fault_with_the_words_of_its_error(tmp_path: Path) -> None:
    done = doctor(tmp_path, "--offline")  # the embedded model, whose weights are not in this home
    assert done.returncode == 1
    state, words, cure = find(done, "model")
    assert (state, cure) == (
        "fault",
        "get them with toolspeak pull, or name another model, such as openai:NAME or ollama:NAME",
    )
    assert words == "local: the weights of the embedded model are not on this machine"


@pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed")
def test_it_says_what_the_embedded_model_computes_on(tmp_path: Path) -> None:
    weights = tmp_path / "own.gguf"
    weights.write_bytes(b"GGUF")
    done = doctor(tmp_path, "--offline", "-m", f"local:{weights}", TOOLSPEAK_LOCAL_THREADS="1")
    assert find(done, "model")[0] == "ok"
    state, words, _ = find(done, "computes on")
    assert state == "ok"
    assert words.endswith(", 1 thread, no GPU") or "GPU" not in words  # of a machine that has one, its name


def test_a_store_is_looked_at_and_not_changed(tmp_path: Path) -> None:
    name = ("-m", "openai:m", "--offline")
    assert find(doctor(tmp_path, *name, OPENAI_API_KEY="x"), "store")[0] == "note"
    url = f"sqlite:///{tmp_path}/runs.db"
    absent = doctor(tmp_path, *name, OPENAI_API_KEY="x", TOOLSPEAK_STORE=url)
    assert find(absent, "store") == ("note", f"{url} does not exist", "the first worker or run makes it")
    assert not (tmp_path / "runs.db").exists()
    (tmp_path / "runs.db").write_text("no database at all, but a text that is long enough to be read as one" * 9)
    broken = doctor(tmp_path, *name, OPENAI_API_KEY="x", TOOLSPEAK_STORE=url)
    assert (broken.returncode, find(broken, "store")[0]) == (1, "fault")
    (tmp_path / "runs.db").unlink()
    sqlite3.connect(tmp_path / "runs.db").close()
    assert find(doctor(tmp_path, *name, OPENAI_API_KEY="x", TOOLSPEAK_STORE=url), "store")[0] == "ok"


def test_a_database_that_is_not_there_is_a_fault_without_its_password(tmp_path: Path) -> None:
    url = "postgresql://runs:hunter2@127.0.0.1:9/runs"
    done = doctor(tmp_path, "-m", "openai:m", "--offline", OPENAI_API_KEY="x", TOOLSPEAK_STORE=url)
    assert find(done, "store")[0] == "note"
    with endpoint() as name:
        asked = doctor(tmp_path, "-m", name, TOOLSPEAK_STORE=url)
    assert (asked.returncode, find(asked, "store")[0]) == (1, "fault")
    assert "hunter2" not in asked.stdout


def test_settings_of_a_project_that_do_not_count_are_named(tmp_path: Path) -> None:
    (tmp_path / "toolspeak.toml").write_text('model = "openai:m"\n')
    done = doctor(tmp_path, "-m", "openai:m", "--offline", OPENAI_API_KEY="x")
    state, words, cure = find(done, "project")
    assert (state, cure) == ("note", "to see it and decide: toolspeak trust")
    assert words == f"{tmp_path / 'toolspeak.toml'} does not count"


PACKAGES: dict[str, tuple[dict[str, str], list[tuple[str, str, str]]]] = {
    "all": (
        {"pydantic": "2.14.3", "rich": "15.0.0", "typer": "0.16", "psycopg": "3.2.1"},
        [("packages", "ok", ""), ("extras", "ok", "")],
    ),
    "one extra is missing": (
        {"pydantic": "2.12", "rich": "14", "typer": "0.29.0"},
        [("packages", "ok", ""), ("extras", "ok", ""), ("missing", "note", "pip install 'toolspeak[cluster]'")],
    ),
    "several extras are missing": (
        {"pydantic": "2.12", "rich": "14"},
        [("packages", "ok", ""), ("missing", "note", "those that you need: pip install 'toolspeak[NAME]'")],
    ),
    "a package is too old": (
        {"pydantic": "2.9.2", "rich": "14.0.0", "typer": "0.9.4", "psycopg": "3.10"},
        [
            ("packages", "fault", "pip install --upgrade toolspeak"),
            ("extras", "ok", ""),
            ("cli", "note", "pip install 'toolspeak[cli]'"),
        ],
    ),
}


@each_case("versions, expected", PACKAGES)
def test_packages_are_compared_with_what_is_needed(
    versions: dict[str, str], expected: list[tuple[str, str, str]]
) -> None:
    found = list(examine_packages(REQUIRED, versions.get))
    assert [(each.part, each.state, each.cure) for each in found] == expected


def test_an_installation_with_one_extra_fits_on_a_screen_and_has_a_purpose_for_each_of_the_others() -> None:
    extras = ALL_REQUIRED["optional-dependencies"]
    required = [
        *ALL_REQUIRED["dependencies"],
        *(f"{text}; extra == '{name}'" for name in extras for text in extras[name]),
    ]
    there = ("pydantic", "griffelib", "aiohttp", "typer", "rich", "prompt_toolkit")
    packages = list(examine_packages(required, dict.fromkeys(there, "99").get))
    assert [each.part for each in packages] == ["packages", "extras", "missing"]
    assert "meaning (finding tools by meaning)" in packages[2].words
    assert "of a plugin" not in packages[2].words
    others = [
        Finding(part, "fault", f"{part} does not work", f"mend {part}")
        for part in ("toolspeak", "settings", "model", "sandbox", "store", "browser", "terminal")
    ]
    console = SafeConsole(width=80, record=True, file=io.StringIO())
    console.print(DoctorReport([*packages, *others]).render_table())
    assert len(console.export_text().splitlines()) <= SCREEN_LINES


def test_a_terminal_shows_each_cure_below_what_it_cures() -> None:
    report = DoctorReport([Finding("model", "fault", "no key\x1b[2J", "set KEY"), Finding("browser", "ok", "one")])
    console = SafeConsole(width=80, record=True, file=io.StringIO())
    console.print(report.render_table())
    lines = console.export_text().splitlines()
    assert [line.split() for line in lines][1] == ["→", "set", "KEY"]
    assert lines[0].split()[:2] == ["fault", "model"]
    assert "\x1b" not in lines[0]
    assert report.has_faults
