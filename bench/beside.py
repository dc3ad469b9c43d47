"""One small program through seven libraries: what comes of imperfect answers, and what is installed.

    $ make install-clients && .venv/bin/python bench/beside.py

An endpoint on loopback plays the model, in OpenAI's chat API. Each library gets the same function, in a process of its
own, and the table says what came of it. The libraries are those of the extra `clients`; LiteLLM has an environment of
its own (`.venv-clients`). The tables go to `docs/comparison.md`, between two marks. Run by hand.
"""

import asyncio
import json
import re
import subprocess
import sys
import threading
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import ClassVar

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "comparison.md"
BEGIN, END = "<!-- beside: begin -->", "<!-- beside: end -->"

FENCED = '```json\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n```'
CODE = 'I will look.\n\n```python\nget_weather(city="Paris", days=3)\n```'

CASES = {
    "api": ("the API's own tool call", [("get_weather", '{"city": "Paris", "days": 3}')]),
    "fence": ("the call as JSON in a fence", FENCED),
    "code": ("the call as Python in a fence", CODE),
    "string": ('`"3"` where an int is wanted', [("get_weather", '{"city": "Paris", "days": "3"}')]),
    "name": ("a tool that does not exist", [("getWether", '{"city": "Paris", "days": 3}')]),
    "cut": ("arguments that are cut off", [("get_weather", '{"city": "Paris", "da')]),
    "raises": ("a tool that raises", [("get_weather", '{"city": "Atlantis", "days": 3}')]),
}
"""What the model sends first: a text, or calls of the API with their arguments. Then it answers."""

MADE: list[tuple[str, int]] = []


def get_weather(city: str, days: int = 1) -> str:
    """Get the weather forecast for a city.

    Args:
        city: The name of the city.
        days: How many days ahead.
    """
    MADE.append((city, days))
    if city == "Atlantis":
        raise LookupError("no such city")
    return f"18 degrees in {city}"


class Endpoint(BaseHTTPRequestHandler):
    """Plays a case: `/v1/CASE/…` is answered with the case, and from the second request on with an answer."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[dict[str, int]] = {}

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = self.path.split("/")[1]
        self.seen[name] = self.seen.get(name, 0) + 1
        offered = [tool["function"]["name"] for tool in body.get("tools") or ()]
        if self.seen[name] == 1:
            wrote = CASES[name.split("-")[-1]][1]
        else:  # smolagents wants its answer as a call
            wrote = [("final_answer", '{"answer": "18 degrees"}')] if "final_answer" in offered else "18 degrees"
        message = {"role": "assistant", "content": wrote if isinstance(wrote, str) else None}
        if not isinstance(wrote, str):
            message["tool_calls"] = [
                {"id": f"call_{n}", "type": "function", "function": {"name": tool, "arguments": arguments}}
                for n, (tool, arguments) in enumerate(wrote)
            ]
        reason = "stop" if isinstance(wrote, str) else "tool_calls"
        answer = {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def run_toolspeak(url: str, dialect: str = "native") -> object:
    from toolspeak import Agent, connect

    return Agent(connect("model", at=url), tools=[get_weather], dialect=dialect).run("How is the weather?").text


def run_pydantic_ai(url: str) -> object:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("model", provider=OpenAIProvider(base_url=url, api_key="key"))
    return Agent(model, tools=[get_weather]).run_sync("How is the weather?").output


def run_openai_agents(url: str) -> object:
    from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel("model", AsyncOpenAI(base_url=url, api_key="key", max_retries=0))
    agent = Agent(name="a", model=model, tools=[function_tool(get_weather)])
    return asyncio.run(Runner.run(agent, "How is the weather?")).final_output


def run_smolagents(url: str) -> object:
    from smolagents import OpenAIServerModel, ToolCallingAgent, tool

    model = OpenAIServerModel("model", api_base=url, api_key="key")
    return ToolCallingAgent([tool(get_weather)], model, max_steps=3, verbosity_level=0).run("How is the weather?")


def run_smolagents_code(url: str) -> object:
    from smolagents import CodeAgent, OpenAIServerModel, tool

    model = OpenAIServerModel("model", api_base=url, api_key="key")
    agent = CodeAgent(
        [tool(get_weather)], model, max_steps=1, verbosity_level=0, code_block_tags="markdown"
    )  # one step: the endpoint's answer is no program
    return agent.run("How is the weather?")


def run_langchain(url: str) -> object:
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model="model", base_url=url, api_key="key", max_retries=0)
    state = create_agent(model, [get_weather]).invoke({"messages": [("user", "How is the weather?")]})
    return state["messages"][-1].content


def run_llm(url: str) -> object:
    import os
    import tempfile

    os.environ["LLM_USER_PATH"] = tempfile.mkdtemp()
    import llm
    from llm.default_plugins.openai_models import Chat

    peer = Chat("model", key="key", model_name="model", api_base=url, supports_tools=True)
    return peer.chain("How is the weather?", tools=[llm.Tool.function(get_weather)], stream=False, key="key").text()


def run_litellm(url: str) -> object:
    import litellm

    parameters = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    }
    function = {"name": "get_weather", "description": "Get the weather.", "parameters": parameters}
    asked = [{"role": "user", "content": "How is the weather?"}]
    tools = [{"type": "function", "function": function}]
    message = litellm.completion("openai/model", asked, api_base=url, api_key="key", tools=tools).choices[0].message
    for call in message.tool_calls or ():  # the loop is the caller's
        if call.function.name == "get_weather":
            get_weather(**json.loads(call.function.arguments))
    return message.content or "18 degrees"


LIBRARIES = {
    "toolspeak": (run_toolspeak, ["toolspeak"]),
    "pydantic-ai": (run_pydantic_ai, ["pydantic-ai-slim[openai]"]),
    "openai-agents": (run_openai_agents, ["openai-agents"]),
    "langchain": (run_langchain, ["langchain", "langchain-openai"]),
    "smolagents": (run_smolagents, ["smolagents[openai]"]),
    "llm": (run_llm, ["llm"]),
    "litellm": (run_litellm, ["litellm"]),
}
SIDES = LIBRARIES | {
    "smolagents-code": (run_smolagents_code, []),
    "toolspeak-python": (lambda url: run_toolspeak(url, "python"), []),
}
OTHER_WAYS = {"smolagents": ("`CodeAgent`", "smolagents-code"), "toolspeak": ("`python` dialect", "toolspeak-python")}
"""Where a library has another way for code, that way is tried, too."""


def play(library: str, case: str, port: int) -> str:
    """Run one case in a process of its own, and say what came of it."""
    inside = ROOT / (".venv-clients" if library == "litellm" else ".venv") / "bin" / "python"
    url = f"http://127.0.0.1:{port}/{library}-{case}/v1"
    done = subprocess.run(
        [inside, __file__, "--side", library, url], capture_output=True, text=True, timeout=300, check=False
    )
    found = re.search(r"^SIDE (.*)$", done.stdout, re.M)
    if not found:
        raise SystemExit(f"{library}, {case}:\n{done.stdout}\n{done.stderr}")
    made, error = json.loads(found[1])
    if case != "raises" and made == [["Paris", 3]]:
        return "called"
    if error:
        return f"raises `{error}`"
    if made and case != "raises":
        city, days = made[0]
        return f"called with `{days!r}`" if city == "Paris" else f"called with `{city}`"
    if library == "litellm":
        return "no call" if case in ("fence", "code") else "left to you"
    return "the model is told" if Endpoint.seen[f"{library}-{case}"] > 1 else "no call"


def side(library: str, url: str) -> None:
    """Run a library here, and print what it called and what it raised."""
    error = ""
    try:
        SIDES[library][0](url)
    except Exception as raised:
        error = type(raised).__name__
    print("\nSIDE " + json.dumps([MADE, error]))


def measure_install(requirements: list[str], folders: list[str]) -> tuple[int, float]:
    """Return how many packages a requirement brings, itself included, and their megabytes on the disk."""
    from packaging.requirements import Requirement

    def normal(name: str) -> str:
        return re.sub(r"[-_.]+", "-", name).lower()

    installed: dict[str, Distribution] = {}
    for each in distributions(path=folders):
        installed.setdefault(normal(each.metadata["Name"]), each)
    wanted = [Requirement(each) for each in requirements]
    seen: set[tuple[str, str]] = set()
    while wanted:
        need = wanted.pop()
        for extra in ("", *need.extras):
            if (normal(need.name), extra) in seen or normal(need.name) not in installed:
                continue
            seen.add((normal(need.name), extra))
            more = (Requirement(text) for text in installed[normal(need.name)].requires or ())
            wanted += [each for each in more if not each.marker or each.marker.evaluate({"extra": extra})]
    names = {name for name, _ in seen}
    files = (
        Path(str(each.locate_file(path))) for name in names for each in [installed[name]] for path in each.files or ()
    )
    size = sum(path.stat().st_size for path in files if path.suffix != ".pyc" and path.is_file())
    if "toolspeak" in names:  # it is installed in place
        size += sum(
            path.stat().st_size for path in (ROOT / "src").rglob("*") if path.is_file() and path.suffix != ".pyc"
        )
    return len(names), size / 1e6


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    rows = ["| the model sends | " + " | ".join(LIBRARIES) + " |", "|---|" + "---|" * len(LIBRARIES)]
    for case, (title, _) in CASES.items():
        cells: list[str] = []
        for library in LIBRARIES:
            cell = play(library, case, port)
            if case == "code" and library in OTHER_WAYS:
                way, other = OTHER_WAYS[library]
                cell = f"{cell}; {way}: {play(other, case, port)}"
            cells.append(cell)
            print(f"{library}, {case}: {cell}", file=sys.stderr)
        rows.append(f"| {title} | " + " | ".join(cells) + " |")
    folders = [
        str(next((ROOT / name / "lib").glob("python*")) / "site-packages") for name in (".venv", ".venv-clients")
    ]
    sizes = ["| | packages | MB | version |", "|---|---:|---:|---|"]
    for library, (_, requirements) in LIBRARIES.items():
        count, size = measure_install(requirements, folders if library != "litellm" else folders[::-1])
        main_package = re.split(r"\[", requirements[0])[0]
        found = {each.metadata["Name"].lower(): each.version for each in distributions(path=folders)}
        sizes.append(f"| {', '.join(requirements)} | {count} | {size:.0f} | {found[main_package]} |")
    server.shutdown()
    text = PAGE.read_text(encoding="utf-8")
    start, stop = text.index(BEGIN) + len(BEGIN), text.index(END)
    made = f"\n\nRun on {date.today()}.\n\n" + "\n".join(rows) + "\n\n" + "\n".join(sizes) + "\n\n"
    PAGE.write_text(text[:start] + made + text[stop:], encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--side"]:
        side(*sys.argv[2:])
    else:
        main()
