"""The page `docs/clients.md`: which client was tried by which API, and what came of it.

Each test says which cell of the table it fills (the fixture `cell`). A cell is `ok` if all of its tests passed.
"""

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

COLUMNS = ("plain", "streamed", "schema", "tools + schema", "cut stream")

HEAD = """# Clients

We ran every client below through the gateway: unchanged, as installed from npm or PyPI, in a home folder of its own
without a key. The server behind the gateway supports no tools and no response formats, and refuses requests with
either. It writes Python or TypeScript as text.

| column | what the client does |
|---|---|
| plain, streamed | It offers two tools, gets a text and three calls at once, runs them and gets the answer. A coding agent writes a file, edits it and runs it, with its own tools, in two dialects. |
| schema | It requests an answer that fits a JSON schema, plain and streamed. The model writes prose first, and the gateway asks it again. |
| tools + schema | Both in one request: a call, its result, and the answer in the schema, plain and streamed. |
| cut stream | The server dies in the middle of a stream. The client must report that or ask again, and not treat the partial answer as complete. |

`ok`: the conversation went as it should, and the client reported all of it correctly. `–`: the client doesn't support
this, or we didn't try it; the note says which.

"""
TAIL = """
`make test-clients` runs all of it; `make test-clients TABLE=docs/clients.md` writes this page. The versions are those in
`tests/clients/package.json`, `tests/clients/requirements.txt` and `tests/clients/frameworks.txt`.
[Coding agents on your own model](guides/coding-agents.md) explains how to set up each agent.
"""

NOTES = {
    "AI SDK `anthropic`, Messages": "With a model name that it knows.",
    "AI SDK `openai-compatible`, Chat": "With `supportsStructuredOutputs: true`.",
    "AI SDK `openai`, Responses": "Unchanged settings: it refers to stored items.",
    "Claude Code, Messages": "Always streams, and has tools with every request.",
    "Codex, Responses": "Always streams, and has tools with every request. Its free-form patch is a raw block.",
    **{
        f"Kimi Code, {api}": "Always streams, and has tools with every request. Needs Node 22.19."
        for api in ("Chat", "Gemini", "Messages", "Responses")
    },
    "Gemini CLI, Gemini": "Always streams, and has tools with every request.",
    "instructor, Chat, JSON schema mode": "Returns objects; has no tools.",
    "instructor, Chat, tools mode": "Returns objects, with a forced call; has no tools.",
    "litellm, Messages": "With a model name that it knows.",
    "litellm, Responses": "With a model name that it knows. For others it makes up the stream, with all arguments twice.",
    "opencode, Chat": "Always streams, and requests no schema.",
}


FRAMEWORK_NOTE = "Unchanged settings, with a second question."
NOTES |= {
    f"{name}, {api}": FRAMEWORK_NOTE
    for name, api in (
        ("@google/generative-ai", "Gemini"),
        ("@google/genai", "Gemini"),
        *((each, "Responses") for each in ("agents.js", "LangChain.js", "Mastra", "ag2", "Agent Framework", "agno")),
        *((each, "Responses") for each in ("openai-agents", "Semantic Kernel")),
    )
}


class Cell(NamedTuple):
    """A place in the table."""

    client: str
    version: str
    api: str
    column: str


class Table:
    """The outcomes of the tests that fill each cell."""

    def __init__(self) -> None:
        self._outcomes: dict[Cell, list[str]] = defaultdict(list)

    def add(self, cell: Cell, outcome: str) -> None:
        self._outcomes[cell].append(outcome)

    def write(self, path: Path) -> None:
        rows = sorted({cell[:3] for cell in self._outcomes}, key=lambda row: (row[0].lower(), row[2]))
        lines = [
            "| client | version | API | plain | streamed | schema | tools + schema | cut stream | note |",
            f"|{'---|' * 9}",
        ]
        for row in rows:
            cells = [self._cell(Cell(*row, column)) for column in COLUMNS]
            client, version, api = row
            note = NOTES.get(f"{client}, {api}", "" if "–" not in cells else "Not tried with a cut stream.")
            lines.append(f"| {' | '.join([client, version, api, *cells, note])} |")
        path.write_text(HEAD + "\n".join(lines) + "\n" + TAIL)

    def _cell(self, cell: Cell) -> str:
        outcomes = set(self._outcomes.get(cell, ()))
        return "–" if not outcomes else "ok" if outcomes == {"passed"} else "failed"
