"""How much of a prompt is new in each turn of a coding agent: `python bench/prefixes.py [AGENT …]` prints a table.

Each agent is run as it is installed (`make test-clients` installs them), through the gateway, on a server that plays a
script of twelve turns: the agent writes files, edits, runs and reads them. Its requests are recorded. Then it is run
again in the same folder, for the first turn of another conversation. Each recorded request is rendered three times: as
the gateway arranges it; as it was sent; and with all messages of the system moved to the top, which templates with one
system message need if nothing is arranged. The chat template and the tokenizer are those of the embedded model
(`toolspeak pull`); it answers nothing here. The tokens that a server reads anew are those behind the longest prefix
that a prompt has in common with the one before it. The arranged prompt of each turn must begin with the one before.
"""

import json
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Sequence
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.clients import transcripts
from tests.clients.text_server import TextServer, write_call, write_calls
from tests.gateway.hosting import hosted

from toolspeak.dialects import PYTHON
from toolspeak.gateway import ServedModel, app
from toolspeak.gateway.passthrough import arrange
from toolspeak.models import EmbeddedModel, Endpoint, HttpModel
from toolspeak.models.local import LocalServer
from toolspeak.models.weights import QWEN_CODER
from toolspeak.models.weights_download import find_weights
from toolspeak.settings import cache_folder
from toolspeak.values.messages import Message
from toolspeak.wire.api import WIRES
from toolspeak.wire.chat_request import ChatRequest

TURNS = 12
TASKS = ("Write some programs, change them and run them.", "Which programs are there?")
DIALECT = PYTHON
PROGRAM = "".join(f'print("line {number}")\n' for number in range(40))


class Agent(NamedTuple):
    """A coding agent: how it is run, and its tools as the names of tools and of their arguments."""

    run: Callable[[transcripts.Folders, str, str], Any]
    write: tuple[str, str, str]
    edit: tuple[str, str, str, str]
    shell: tuple[str, str]
    read: tuple[str, str]
    extra: dict[str, dict[str, str]]  # what else a tool must be given, by the name of the tool


AGENTS = {
    "claude": Agent(
        transcripts.run_claude_code,
        ("Write", "file_path", "content"),
        ("Edit", "file_path", "old_string", "new_string"),
        ("Bash", "command"),
        ("Read", "file_path"),
        {},
    ),
    "opencode": Agent(
        transcripts.run_opencode,
        ("write", "filePath", "content"),
        ("edit", "filePath", "oldString", "newString"),
        ("bash", "command"),
        ("read", "filePath"),
        {"bash": {"description": "Run it"}},
    ),
    "gemini": Agent(
        transcripts.run_gemini_cli,
        ("write_file", "file_path", "content"),
        ("replace", "file_path", "old_string", "new_string"),
        ("run_shell_command", "command"),
        ("read_file", "file_path"),
        {"replace": {"instruction": "Change a line."}},
    ),
}


def write_turns(agent: Agent, folder: Path) -> list[str]:
    """Return what the model writes: in each turn a text and a call, and at last a text."""
    turns: list[str] = []

    def call(names: Sequence[str], *values: str) -> None:
        tool, *arguments = names
        given = {**dict(zip(arguments, values, strict=True)), **agent.extra.get(tool, {})}
        turns.append(write_calls(DIALECT.name, write_call(DIALECT.name, tool, **given), text=f"Now {tool}."))

    for number in range(TURNS):
        path = str(folder / f"program_{number}.py")
        call(agent.write, path, PROGRAM)
        call(agent.edit, path, "line 7", "a better line 7")
        call(agent.shell, f"sed -i 's/line 3/line three/' {path} && python3 {path}")
        call(agent.read, path)
    return [*turns[: TURNS - 1], "All done."]


def record_conversation(
    agent: Agent, folders: transcripts.Folders, task: str, turns: Sequence[str]
) -> list[ChatRequest]:
    """Run an agent through the gateway, and return its requests, without those for a title and the like."""
    reports: list[dict[str, Any]] = []
    server = TextServer(turns, tool=agent.read[1])
    with hosted(server.app()) as upstream:
        model = HttpModel(Endpoint(name="text", base_url=f"{upstream}/v1"), "text")
        served = ServedModel(name="small", model=model, dialect=DIALECT)
        with hosted(app([served], on_exchange=lambda line: reports.append(json.loads(line)))) as url:
            agent.run(folders, url, task)
    sent = [WIRES[each["api"]].read_request(each["request"], *find_path(each)) for each in reports]
    requests = [request for request in sent if request.tools]
    assert len(requests) == len(turns), f"{len(requests)} requests for {len(turns)} turns"
    return requests


def find_path(report: dict[str, Any]) -> tuple[str, ...]:
    """Return the path, for the API that has the model in it."""
    return (report["path"],) if report["api"] == "gemini" else ()


def hoist(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return messages with those of the system at the top."""
    return tuple(sorted(messages, key=lambda message: message.role != "system"))


FORMS: dict[str, Callable[[Sequence[Message]], Sequence[Message]]] = {
    "arranged": arrange,
    "as sent": tuple,
    "hoisted": hoist,
}


class Tokenizer:
    """The chat template and the tokenizer of a running model."""

    def __init__(self, server: LocalServer) -> None:
        self._root = server.base_url.removesuffix("/v1")
        self._headers = {"authorization": f"Bearer {server.key}", "content-type": "application/json"}

    def tokenize(self, messages: Sequence[Message], request: ChatRequest) -> list[int]:
        """Return the tokens of a request with these messages."""
        shown = DIALECT.render(request.tools, messages, choice=request.choice, parallel=request.parallel)
        body = WIRES["openai"].request_body(ChatRequest(model="m", messages=shown.messages))
        prompt = self._post("/apply-template", {"messages": body["messages"]})["prompt"]
        return self._post("/tokenize", {"content": prompt, "parse_special": True})["tokens"]

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(self._root + path, json.dumps(body).encode(), self._headers)
        with urllib.request.urlopen(request) as response:
            return json.load(response)


def count_anew(before: list[int], after: list[int]) -> int:
    same = takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))
    return len(after) - sum(1 for _ in same)


def measure(tokenizer: Tokenizer, name: str, agent: Agent) -> bool:
    """Print the rows of an agent; return whether each arranged prompt begins with the one before it."""
    with tempfile.TemporaryDirectory() as folder:
        folders = transcripts.Folders(Path(folder))
        requests = record_conversation(agent, folders, TASKS[0], write_turns(agent, folders.work))
        requests += record_conversation(agent, folders, TASKS[1], ["All done."])
    held = True
    for form, change in FORMS.items():
        prompts = [tokenizer.tokenize(change(each.messages), each) for each in requests]
        *turns, other = prompts
        anew = [len(turns[0]), *(count_anew(before, after) for before, after in pairwise(turns))]
        first = count_anew(turns[-1], other)
        cells = [name, form, str(len(turns[-1])), *map(str, anew), str(sum(anew)), f"{first} of {len(other)}"]
        print(f"| {' | '.join(cells)} |", flush=True)
        if form == "arranged":
            held = all(before[:-4] == after[: len(before) - 4] for before, after in pairwise(turns))
    return held


def main() -> int:
    weights = find_weights(QWEN_CODER, cache_folder() / "models")
    if weights is None:
        sys.exit("the weights are not here: toolspeak pull")
    running = EmbeddedModel(weights, context=512).load()
    assert isinstance(running, LocalServer)
    try:
        columns = ["agent", "messages", "last prompt", *map(str, range(1, TURNS + 1)), "sum", "next conversation"]
        print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
        names = sys.argv[1:] or list(AGENTS)
        held = [measure(Tokenizer(running), name, AGENTS[name]) for name in names]
    finally:
        running.stop()
    return int(not all(held))


if __name__ == "__main__":
    sys.exit(main())
