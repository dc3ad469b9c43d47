"""SDKs, unmodified, each as a program of its own: tools, an answer in a schema, and both in one request.

A program (`programs/`) has the conversation through the gateway and prints what came of it.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from .installed import find_interpreter, find_marks, run_program
from .text_server import Line, TextServer, serve, write_call, write_calls

pytestmark = pytest.mark.timeout(480)

PROGRAMS = Path(__file__).parent / "programs"

BEFORE = "Let me see."
ANSWER = "Paris has 21 °C, London has 15 °C, and 20 °C are 68 °F."
MADE = [["get_weather", "Paris"], ["get_weather", "London"], ["calculator", "20 * 9 / 5 + 32"]]
RESULTS = ("sunny, 21 °C", "rain, 15 °C", "68.0")
REPORT = {"city": "Paris", "degrees": 21, "words": ["sunny", "dry"]}

COLUMNS = {"schema": "schema", "both": "tools + schema"}


class Client(NamedTuple):
    """A client and one of its APIs: a row of the table.

    Attributes:
        name: Its name for people.
        package: The package that has its version.
        api: The API, for people.
        program: The program in `programs/`, and the argument that chooses the API.
        scenarios: What it can do.
        dialects: The dialects in which its tool conversation is tried: one for clients that take long to start.
    """

    name: str
    package: str
    api: str
    program: tuple[str, str]
    scenarios: tuple[str, ...] = ("tools", "schema", "both")
    dialects: tuple[str, ...] = ("python", "typescript")


CLIENTS = [
    Client("AI SDK `openai-compatible`", "npm:ai", "Chat", ("ai_sdk.mjs", "compatible")),
    Client("AI SDK `openai`", "npm:ai", "Chat", ("ai_sdk.mjs", "chat")),
    Client("AI SDK `openai`", "npm:ai", "Responses", ("ai_sdk.mjs", "responses")),
    Client("AI SDK `anthropic`", "npm:ai", "Messages", ("ai_sdk.mjs", "messages")),
    Client("openai (Node)", "npm:openai", "Chat, `runTools`", ("openai_node.mjs", "chat")),
    Client("openai (Node)", "npm:openai", "Responses", ("openai_node.mjs", "responses")),
    Client("@anthropic-ai/sdk (Node)", "npm:@anthropic-ai/sdk", "Messages, `toolRunner`", ("anthropic_node.mjs", "messages")),
    Client("openai (Python)", "python:openai", "Chat", ("openai_python.py", "chat")),
    Client("openai (Python)", "python:openai", "Responses", ("openai_python.py", "responses")),
    Client("anthropic (Python)", "python:anthropic", "Messages, `tool_runner`", ("anthropic_python.py", "messages")),
    Client("google-genai (Python)", "python:google-genai", "Gemini, automatic calls", ("google_python.py", "gemini")),
    Client("LangGraph", "python:langgraph", "Chat", ("langgraph_python.py", "chat")),
    Client("LangGraph", "python:langgraph", "Responses", ("langgraph_python.py", "responses")),
    Client("litellm", "python:litellm", "Chat", ("litellm_python.py", "chat"), dialects=("python",)),
    Client("litellm", "python:litellm", "Responses", ("litellm_python.py", "responses"), dialects=("python",)),
    Client("litellm", "python:litellm", "Messages", ("litellm_python.py", "messages"), dialects=("python",)),
    Client("instructor", "python:instructor", "Chat, tools mode", ("instructor_python.py", "tools"), ("schema",)),
    Client("instructor", "python:instructor", "Chat, JSON schema mode", ("instructor_python.py", "schema"), ("schema",)),
]  # fmt: skip


def write_answer(dialect: str) -> Callable[[str], str]:
    """Write the report as the model was asked for it: by a call of the gateway or of the client, or in words."""

    def write(shown: str) -> str:
        asked = re.search(r"\b(final_answer|(Partial)?Report)\(", shown)
        if asked:
            return write_calls(dialect, write_call(dialect, asked[1], **REPORT))
        return f"So:\n```json\n{json.dumps(REPORT)}\n```"

    return write


def write_script(scenario: str, dialect: str) -> list[Line]:
    if scenario == "schema":
        return ["It is sunny.", write_answer(dialect)]
    weather = [write_call(dialect, "get_weather", city=city) for city in ("Paris", "London")]
    if scenario == "both":
        return [write_calls(dialect, weather[0], text=BEFORE), "It is sunny.", write_answer(dialect)]
    calculation = write_call(dialect, "calculator", expression="20 * 9 / 5 + 32")

    def answer(shown: str) -> str:
        return ANSWER if all(result in shown for result in RESULTS) else f"The results did not come: {shown}"

    return [write_calls(dialect, *weather, calculation, text=BEFORE), answer]


def cases() -> list[Any]:
    """Every client in every scenario; a tool conversation in two dialects, the rest in one."""
    made: list[Any] = []
    begun: set[str] = set()
    for client in CLIENTS:
        marks = find_marks(client.package)
        for scenario in client.scenarios:
            for mode in ("plain", "streamed"):
                for dialect in client.dialects if scenario == "tools" else ("python",):
                    is_last = client.name not in begun and (scenario, mode) == (client.scenarios[-1], "streamed")
                    smoke = [pytest.mark.smoke] if is_last else []
                    name = f"{client.program[0]}-{client.program[1]}-{scenario}-{mode}-{dialect}"
                    made.append(pytest.param(client, scenario, mode, dialect, id=name, marks=[*marks, *smoke]))
        begun.add(client.name)
    return made


@pytest.mark.parametrize(("client", "scenario", "mode", "dialect"), cases())
def test_conversation(
    client: Client, scenario: str, mode: str, dialect: str, tmp_path: Path, cell: Callable[..., None]
):
    cell(client.name, client.package, client.api, COLUMNS.get(scenario, mode))
    program, api = client.program
    with serve(TextServer(write_script(scenario, dialect)), dialect) as url:
        command = [find_interpreter(client.package), str(PROGRAMS / program), url, api, scenario, mode]
        done = run_program(command, tmp_path, tmp_path, {}, 400)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    if scenario == "tools":
        assert sorted(told["ran"]) == sorted(MADE)
        assert [text.strip() for text in told["text"]] == [BEFORE, ANSWER]
    else:
        assert told["object"] == REPORT
        assert told["ran"] == ([["get_weather", "Paris"]] if scenario == "both" else [])
    if mode == "streamed":
        assert told["pieces"] > 0
