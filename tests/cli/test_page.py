"""`toolspeak page` as a command: its address, its end, and what it refuses."""

import http.client
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.commands import run_command
from tests.page.recorded import record_run


def ask(address: str, path: str, **headers: str) -> tuple[int, str, bytes]:
    """Send a request; return the status, the cookie that is set, and the body."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.getheader("set-cookie", ""), response.read()
    finally:
        connection.close()


def test_the_command_prints_an_address_that_opens_the_page_once_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    record_run(tmp_path / "run.jsonl")
    command = [sys.executable, "-m", "toolspeak.cli", "page", str(tmp_path / "run.jsonl"), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/open\?token=[\w-]{43}", address)
        opening = address[address.index("/open") :]
        status, cookie, _ = ask(address, opening)
        assert status == 200
        assert ask(address, opening)[0] == 403
        status, _, body = ask(address, "/api/runs", cookie=cookie.partition(";")[0])
        assert status == 200
        assert b"How is the weather in Paris?" in body
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert errors == ""
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.jsonl"], "there is no file or folder nowhere.jsonl"),
        (["--url", "http://127.0.0.1:9"], "--url needs the key of the gateway"),
        (["--url", "nonsense", "--key-env", "KEY"], "write the address of a gateway"),
        (["--key-env", "KEY"], "give its address with --url"),
        (["--keep", "runs"], "open it with --tools or --model"),
        (["run.jsonl", "--export", "run.html", "--keep", "runs"], "--export writes the run of a file"),
        (["--store", "nonsense"], "nonsense"),
        (["--store", "sqlite:///misspelt.db"], "there is no store sqlite:///misspelt.db"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_words(tmp_path: Path, arguments: list[str], words: str) -> None:
    done = run_command("page", "--no-open", *arguments, cwd=tmp_path, env={**os.environ, "KEY": "a secret"})
    assert done.returncode == 2
    assert words in done.stderr


def test_the_page_is_served_without_what_only_other_commands_and_later_requests_need() -> None:
    script = (
        "import sys, toolspeak.cli.page, toolspeak.page.app, toolspeak.page.app\n"
        "import toolspeak.page.record_files\n"
        "slow = {'rich', 'pydantic', 'prompt_toolkit', 'aiohttp', 'sqlite3', 'toolspeak.dialects', 'toolspeak.loop'}\n"
        "print(*sorted(slow & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
