"""Agent frameworks and SDKs in their default mode: tools, a second question in the same conversation, and a cut stream.

The programs (`programs/frameworks.py`, `programs/frameworks.mjs`) set no option about what is stored. In the second
question, most of them refer to the first answer by its id.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from .installed import find_interpreter, find_marks, run_program
from .test_sdks import ANSWER, BEFORE, MADE, PROGRAMS, RESULTS
from .text_server import Line, TextServer, serve, write_call, write_calls

pytestmark = pytest.mark.timeout(480)

LATER = "Paris is."
CUT = "The weather in Paris is about to be told when the server dies."


class Framework(NamedTuple):
    """A framework: a row of the table. `argument` chooses it in its program."""

    name: str
    package: str
    api: str
    argument: str

    @property
    def program(self) -> str:
        return "frameworks.mjs" if self.package.startswith("npm:") else "frameworks.py"


FRAMEWORKS = [
    Framework("@google/generative-ai", "npm:@google/generative-ai", "Gemini", "generative"),
    Framework("@google/genai", "npm:@google/genai", "Gemini", "genai"),
    Framework("agents.js", "npm:@openai/agents", "Responses", "agents"),
    Framework("LangChain.js", "npm:@langchain/openai", "Responses", "langchain"),
    Framework("Mastra", "npm:@mastra/core", "Responses", "mastra"),
    Framework("ag2", "python:ag2", "Responses", "ag2"),
    Framework("Agent Framework", "python:agent-framework-openai", "Responses", "agent_framework"),
    Framework("agno", "python:agno", "Responses", "agno"),
    Framework("openai-agents", "python:openai-agents", "Responses", "openai_agents"),
    Framework("Semantic Kernel", "python:semantic-kernel", "Responses", "semantic_kernel"),
]


def write_script(dialect: str) -> list[Line]:
    def call(shown: str) -> str:
        """Call the tools by the names that they are shown with: some frameworks put another before each."""
        names = {name: re.findall(rf"\b(\w*{name})\(", shown)[0] for name in ("get_weather", "calculator")}
        weather = [write_call(dialect, names["get_weather"], city=city) for city in ("Paris", "London")]
        calculation = write_call(dialect, names["calculator"], expression="20 * 9 / 5 + 32")
        return write_calls(dialect, *weather, calculation, text=BEFORE)

    def write(shown: str) -> str:
        """Answer by what was shown: how often a framework repeats what is stored already is its own affair."""
        has_results = all(result in shown for result in RESULTS)
        if ANSWER in shown:
            return LATER if has_results else f"The results were forgotten: {shown}"
        return ANSWER if has_results else call(shown)

    return [write] * 8


def cases(*modes: str) -> list[Any]:
    made: list[Any] = []
    for each in FRAMEWORKS:
        for mode in modes:
            smoke = [pytest.mark.smoke] if mode == "streamed" else []
            made.append(
                pytest.param(each, mode, id=f"{each.argument}-{mode}", marks=[*find_marks(each.package), *smoke])
            )
    return made


def run(framework: Framework, url: str, scenario: str, mode: str, folder: Path) -> Any:
    command = [
        find_interpreter(framework.package),
        str(PROGRAMS / framework.program),
        url,
        framework.argument,
        scenario,
        mode,
    ]
    return run_program(command, folder, folder, {}, 400)


@pytest.mark.parametrize(("framework", "mode"), cases("plain", "streamed"))
def test_a_conversation(framework: Framework, mode: str, tmp_path: Path, cell: Callable[..., None]):
    cell(framework.name, framework.package, framework.api, mode)
    with serve(TextServer(write_script("python")), "python") as url:
        done = run(framework, url, "tools", mode, tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert sorted(told["ran"]) == sorted(MADE)
    first, second = told["text"]
    assert first.removeprefix(BEFORE).strip() == ANSWER  # some return all texts of the turns
    assert second == LATER


@pytest.mark.parametrize(("framework", "mode"), cases("cut"))
def test_a_stream_that_is_cut_is_reported(framework: Framework, mode: str, tmp_path: Path, cell: Callable[..., None]):
    cell(framework.name, framework.package, framework.api, "cut stream")
    with serve(TextServer([CUT] * 99, cuts=99), "python") as url:
        done = run(framework, url, "cut", "streamed", tmp_path)
    assert done.returncode != 0, done.stdout
    assert re.search("ended the connection in the middle of an answer|Failed to parse stream", done.stderr), done.stderr
