"""The coding agents, run on a gateway, and what they report: the steps that each printed, in one form.

Each agent gets a home and a folder to work in. It writes, edits and runs a file there by its own tools.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from .installed import find_program, run_program

TASK = "Write hello.py, change it and run it."
SECONDS = 400.0

CODEX_SETTINGS = """
model = "{model}"
model_provider = "toolspeak"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.toolspeak]
name = "toolspeak"
base_url = "{url}/v1"
wire_api = "responses"
"""


KIMI_SETTINGS = """
default_model = "small"

[providers.toolspeak]
type = "{kind}"
base_url = "{url}"
api_key = "none"

[models.small]
provider = "toolspeak"
model = "small"
max_context_size = 131072
"""


class Folders:
    """The home of an agent, and the folder in which it works.

    Attributes:
        done: How the agent ended, and all that it printed.
    """

    done: CompletedProcess[str]

    def __init__(self, parent: Path) -> None:
        self.home, self.work = parent / "home", parent / "work"
        self.home.mkdir()
        self.work.mkdir()

    def run(self, command: list[str], environment: dict[str, str]) -> list[dict[str, Any]]:
        """Run an agent, and return the lines of JSON that it printed."""
        self.done = run_program(command, self.home, self.work, environment, SECONDS)
        assert self.done.returncode == 0, f"{self.done.stdout}\n{self.done.stderr}"
        return [json.loads(line) for line in self.done.stdout.splitlines() if line.startswith("{")]


def run_codex(folders: Folders, url: str, model: str = "small") -> list[tuple[str, ...]]:
    """Return the steps of Codex: texts, changed files, and commands with their output."""
    (folders.home / "config.toml").write_text(CODEX_SETTINGS.format(model=model, url=url))
    command = [find_program("codex"), "exec", "--skip-git-repo-check", "--json", TASK]
    lines = folders.run(command, {"CODEX_HOME": str(folders.home)})
    steps: list[tuple[str, ...]] = []
    for item in (line["item"] for line in lines if line["type"] == "item.completed"):
        if item["type"] == "agent_message":
            steps.append(("text", item["text"]))
        elif item["type"] == "file_change":
            steps.append(("file", *(f"{change['kind']} {Path(change['path']).name}" for change in item["changes"])))
        elif item["type"] == "command_execution":
            steps.append(("command", item["aggregated_output"], str(item["exit_code"])))
        else:  # Codex warns if it does not know the model
            assert item["type"] == "error", item
            assert "metadata" in item["message"], item
    return steps


def run_claude_code(
    folders: Folders, url: str, task: str = TASK, *, options: Sequence[str] = (), allowed: str = "Bash"
) -> list[tuple[str, ...]]:
    """Return the steps of Claude Code: texts, tool calls, and their results."""
    command = [find_program("claude"), "-p", task, "--output-format", "stream-json", "--verbose"]
    environment = {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_AUTH_TOKEN": "none",
        "ANTHROPIC_MODEL": "small",
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": "small",
        "CLAUDE_CONFIG_DIR": str(folders.home),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    command += [*options, "--permission-mode", "acceptEdits", "--allowedTools", allowed]
    lines = folders.run(command, environment)
    assert (lines[-1]["type"], lines[-1]["subtype"], lines[-1]["is_error"]) == ("result", "success", False)
    steps: list[tuple[str, ...]] = []
    for line in lines:
        content = line["message"]["content"] if line["type"] in ("assistant", "user") else []
        for block in content:
            if block["type"] == "tool_result":
                assert not block.get("is_error"), block
                steps.append(("result", _join_texts(block["content"])))
            else:
                steps.append((block["type"], block.get("text") or block["name"]))
    return steps


def _join_texts(content: str | list[dict[str, Any]]) -> str:
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def run_gemini_cli(folders: Folders, url: str, task: str = TASK) -> list[tuple[str, ...]]:
    """Return the steps of Gemini CLI: texts, and tool calls with their output; it prints none for files."""
    (folders.home / ".gemini").mkdir(exist_ok=True)
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    (folders.home / ".gemini" / "settings.json").write_text(json.dumps(settings))
    command = [find_program("gemini"), "-p", task, "-m", "gemini-2.5-flash", "--output-format", "stream-json"]
    environment = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url}
    lines = folders.run([*command, "--approval-mode", "yolo", "--skip-trust"], environment)
    assert (lines[-1]["type"], lines[-1]["status"]) == ("result", "success")
    steps: list[tuple[str, ...]] = []
    names = {line["tool_id"]: line["tool_name"] for line in lines if line["type"] == "tool_use"}
    for line in lines:
        if line["type"] == "tool_result":
            assert line["status"] == "success", line
            steps.append(("tool", names[line["tool_id"]], line.get("output", "")))
        elif line["type"] == "message" and line["role"] == "assistant":
            text = steps.pop()[1] if steps and steps[-1][0] == "text" else ""  # a text is printed in pieces
            steps.append(("text", text + line["content"]))
    return steps


def run_kimi(folders: Folders, url: str, kind: str = "google-genai") -> list[tuple[str, ...]]:
    """Return the steps of Kimi Code: texts, and tool calls with their output. `kind` says which API it uses."""
    base = f"{url}/v1" if kind.startswith("openai") else url
    (folders.home / ".kimi-code").mkdir()
    (folders.home / ".kimi-code" / "config.toml").write_text(KIMI_SETTINGS.format(kind=kind, url=base))
    # It needs a newer Node than the other agents.
    command = [find_program("node"), find_program("kimi"), "-p", TASK, "--output-format", "stream-json"]
    steps: list[tuple[str, ...]] = []
    names: dict[str, str] = {}
    for line in folders.run(command, {}):
        if line["role"] == "assistant":
            steps += [("text", line["content"])] if line.get("content") else []
            names |= {call["id"]: call["function"]["name"] for call in line.get("tool_calls", ())}
        elif line["role"] == "tool":
            steps.append(("tool", names[line["tool_call_id"]], line["content"]))
    return steps


def run_opencode(folders: Folders, url: str, task: str = TASK) -> list[tuple[str, ...]]:
    """Return the steps of opencode: texts, and tool calls with their output."""
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1"},
        "models": {"small": {"name": "small"}},
    }
    settings = {
        "model": "toolspeak/small",
        "small_model": "toolspeak/small",
        "provider": {"toolspeak": provider},
        "permission": {"edit": "allow", "bash": "allow"},
        "autoupdate": False,
        "share": "disabled",
    }
    (folders.work / "opencode.json").write_text(json.dumps(settings))
    switches = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD")
    environment = {f"OPENCODE_DISABLE_{switch}": "1" for switch in switches}
    steps: list[tuple[str, ...]] = []
    for line in folders.run([find_program("opencode"), "run", "--format", "json", task], environment):
        part = line["part"]
        if line["type"] == "text":
            steps.append(("text", part["text"]))
        elif line["type"] == "tool_use":
            assert part["state"]["status"] == "completed", part
            steps.append(("tool", part["tool"], part["state"]["output"]))
    return steps
