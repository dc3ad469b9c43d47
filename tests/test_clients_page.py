"""The page of clients shows the versions that the tests install, and no failure.

`make test-clients TABLE=docs/clients.md` writes the page.
"""

import json
from pathlib import Path

from tests.cases import each_case

ROOT = Path(__file__).parent.parent
CLIENTS = ROOT / "tests" / "clients"


def read_rows() -> list[list[str]]:
    lines = (ROOT / "docs" / "clients.md").read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("| client |"))
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines[start + 2 :] if line.startswith("|")
    ]


def read_pins() -> dict[str, str]:
    """Return the pinned version of every package; those of npm begin with `npm:`."""
    pins: dict[str, str] = {}
    for path in (ROOT / "constraints.txt", CLIENTS / "requirements.txt", CLIENTS / "frameworks.txt"):
        pinned = (line.partition("==") for line in path.read_text().splitlines() if "==" in line)
        for name, _, version in pinned:
            pins.setdefault(name.lower(), version)
    npm = json.loads((CLIENTS / "package.json").read_text())
    listed = npm["dependencies"] | npm["optionalDependencies"]
    return pins | {f"npm:{name}": version for name, version in listed.items()}


PACKAGES = {
    "@anthropic-ai/sdk (Node)": "npm:@anthropic-ai/sdk",
    "@google/genai": "npm:@google/genai",
    "@google/generative-ai": "npm:@google/generative-ai",
    "ag2": "ag2",
    "Agent Framework": "agent-framework-openai",
    "agents.js": "npm:@openai/agents",
    "agno": "agno",
    "Kimi Code": "npm:@moonshot-ai/kimi-code",
    "LangChain.js": "npm:@langchain/openai",
    "Mastra": "npm:@mastra/core",
    "openai-agents": "openai-agents",
    "Semantic Kernel": "semantic-kernel",
    "AI SDK `anthropic`": "npm:ai",
    "AI SDK `openai-compatible`": "npm:ai",
    "AI SDK `openai`": "npm:ai",
    "anthropic (Python)": "anthropic",
    "Claude Code": "npm:@anthropic-ai/claude-code",
    "Codex": "npm:@openai/codex",
    "Gemini CLI": "npm:@google/gemini-cli",
    "google-genai (Python)": "google-genai",
    "instructor": "instructor",
    "LangGraph": "langgraph",
    "litellm": "litellm",
    "openai (Node)": "npm:openai",
    "openai (Python)": "openai",
    "opencode": "npm:opencode-ai",
}


def test_every_client_is_on_the_page():
    assert {row[0] for row in read_rows()} == set(PACKAGES)


@each_case("row", read_rows(), ids=lambda row: f"{row[0]}-{row[2]}")
def test_versions_are_those_that_are_installed(row: list[str]):
    assert row[1] == read_pins()[PACKAGES[row[0]]]


@each_case("row", read_rows(), ids=lambda row: f"{row[0]}-{row[2]}")
def test_every_cell_is_ok_or_has_its_reason(row: list[str]):
    *cells, note = row[3:]
    assert set(cells) <= {"ok", "–"}
    assert "–" not in cells or note
