"""Codex, unmodified, through the gateway on a model that knows no tools: it writes a file, edits it and runs it.

`npm install --prefix tests/clients` installs Codex; without it the tests are skipped. Codex gets a home of its own, and
reaches nothing but the loopback.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.hosting import gateway, served
from toolspeak.dialects import dialect
from toolspeak.models import Request
from toolspeak.testing import ScriptedModel, ScriptedReply, says

HERE = Path(__file__).parent / "node_modules" / ".bin"
CODEX = shutil.which("codex", path=f"{HERE}{os.pathsep}{os.environ.get('PATH', '')}")

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(CODEX is None, reason="Codex is not installed: npm install --prefix tests/clients"),
]

CREATES = """*** Begin Patch
*** Add File: hello.py
+def greet():
+    print("hi\\tyou")
+
+greet()
*** End Patch"""
EDITS = """*** Begin Patch
*** Update File: hello.py
@@ def greet():
-    print("hi\\tyou")
+    print("bye, `you`")
*** End Patch"""

RUNS = {
    "python": '```python\nexec_command(cmd="python3 hello.py")\n```',
    "typescript": '```ts\nexec_command({cmd: "python3 hello.py"})\n```',
}
WRITES = {
    "python": "```python\nexec_command(cmd=\"printf 'one two' > notes.txt\")\n```",
    "typescript": "```ts\nexec_command({cmd: \"printf 'one two' > notes.txt\"})\n```",
}

CONFIG = """
model = "{model}"
model_provider = "toolspeak"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.toolspeak]
name = "toolspeak"
base_url = "{url}/v1"
wire_api = "responses"
"""


class Scripted:
    """A model that writes given texts, and keeps what it was shown."""

    def __init__(self, texts: list[str], name: str) -> None:
        self.shown: list[str] = []
        self.model = ScriptedModel([self._line(text) for text in texts], dialect=name, chunk=7)

    def _line(self, text: str) -> Any:
        def reply(request: Request) -> ScriptedReply:
            self.shown.append("\n".join(message.text for message in request.shown.messages))
            return says(text)

        return reply


def run_codex(scripted: Scripted, name: str, tmp_path: Path, model: str) -> tuple[Path, list[dict[str, Any]]]:
    """The folder in which Codex worked, and the items that it reports."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    with gateway(served(scripted.model, dialect(name))) as url:
        (home / "config.toml").write_text(CONFIG.format(model=model, url=url))
        nowhere = "http://127.0.0.1:9"  # it asks for updates
        environ = {"HOME": str(home), "CODEX_HOME": str(home), "PATH": os.environ["PATH"], "NO_PROXY": "127.0.0.1"}
        done = subprocess.run(
            [CODEX or "", "exec", "--skip-git-repo-check", "--json", "Do it."],
            cwd=work,
            env={**environ, "HTTPS_PROXY": nowhere, "HTTP_PROXY": nowhere},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return work, [line["item"] for line in lines if line["type"] == "item.completed"]


@pytest.mark.parametrize("name", ["python", "typescript"])
def test_free_form_patches_and_a_command(tmp_path: Path, name: str):
    blocks = [f"I patch.\n\n```apply_patch\n{patch}\n```" for patch in (CREATES, EDITS)]
    scripted = Scripted([*blocks, RUNS[name], "Done."], name)
    # Codex offers the free-form tool only with models that it knows.
    work, items = run_codex(scripted, name, tmp_path, "gpt-5.5")
    assert (work / "hello.py").read_text() == 'def greet():\n    print("bye, `you`")\n\ngreet()\n'
    kinds = [item["type"] for item in items]
    assert kinds == ["agent_message", "file_change", "agent_message", "file_change", "command_execution", "agent_message"]  # fmt: skip
    assert (items[4]["aggregated_output"], items[4]["exit_code"]) == ("bye, `you`\n", 0)
    assert items[5]["text"] == "Done."
    assert "begin_patch hunk+ end_patch" in scripted.shown[0]  # the grammar of a patch
    assert CREATES in scripted.shown[1]
    assert "bye, `you`" in scripted.shown[3]


@pytest.mark.parametrize("name", ["python", "typescript"])
def test_a_model_that_codex_does_not_know(tmp_path: Path, name: str):
    work, items = run_codex(Scripted([WRITES[name], "Done."], name), name, tmp_path, "small")
    assert (work / "notes.txt").read_text() == "one two"
    assert [item["type"] for item in items if item["type"] != "error"] == ["command_execution", "agent_message"]
