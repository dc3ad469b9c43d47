"""Uses an installed toolspeak as a newcomer would, from an empty folder: `python scripts/smoke.py [--embedded]`.

`scripts/release.py` runs it with the Python of each fresh environment into which it installed the wheel. It needs
nothing but the standard library and toolspeak, so that it finds what the wheel lacks. A part that fails is printed with
its reason, and the exit status is 1. Servers listen on the loopback only and are ended.

With `--embedded`, the embedded model answers the question of the demo; its weights must be on the machine.
"""

import http.client
import importlib.metadata
import json
import os
import queue
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

WAIT_SECONDS = 300  # for a machine that does other things, too
COMPUTE_SECONDS = 1800  # for the embedded model, which takes twenty seconds on two quiet cores

TOOLS = '''"""Tools of the smoke suite."""


def get_weather(city: str) -> dict[str, object]:
    """Get the current weather for a given city.

    Args:
        city: The name of the city.
    """
    return {"city": city, "celsius": 18}
'''

CALL_IN_JSON = '{"name": "get_weather", "arguments": {"city": "Paris"}}'


def run_toolspeak(*words: str, seconds: float = WAIT_SECONDS) -> str:
    """Run the command and return what it prints. Raises if it fails."""
    program = Path(sys.executable).with_name("toolspeak.exe" if os.name == "nt" else "toolspeak")
    done = subprocess.run(
        [str(program), *words], capture_output=True, text=True, encoding="utf-8", timeout=seconds, check=False
    )
    if done.returncode != 0:
        raise AssertionError(f"toolspeak {' '.join(words)} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def expect(condition: object, what: str) -> None:
    """Raise an error that says what was expected, unless the condition is true."""
    if not condition:
        raise AssertionError(what)


@contextmanager
def start_server(*words: str) -> Generator[str]:
    """Run a command of toolspeak that serves until it is ended, and yield the address that it prints."""
    command = [sys.executable, "-P", "-m", "toolspeak.cli", *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
    ) as process:
        try:
            lines: queue.SimpleQueue[str] = queue.SimpleQueue()
            threading.Thread(target=_read_lines, args=(process.stdout, lines), daemon=True).start()
            printed = ""
            while (found := re.search(r"http://127\.0\.0\.1:\d+(/open\S+)?", printed)) is None:
                line = lines.get(timeout=WAIT_SECONDS)
                expect(line, f"{' '.join(words)} ended without an address: {printed}")
                printed += line
            yield found[0]
        finally:
            process.terminate()
            process.wait(WAIT_SECONDS)


def _read_lines(stream: IO[str] | None, lines: "queue.SimpleQueue[str]") -> None:
    for line in stream or ():
        lines.put(line)
    lines.put("")


def ask(address: str, path: str, body: object = None, **headers: str) -> tuple[int, str, str]:
    """Send a request; return the status, the cookie that is set, and the text of the answer."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=WAIT_SECONDS)
    try:
        if body is None:
            connection.request("GET", path, headers=headers)
        else:
            connection.request("POST", path, json.dumps(body), {"content-type": "application/json", **headers})
        response = connection.getresponse()
        return response.status, response.getheader("set-cookie", "").partition(";")[0], response.read().decode()
    finally:
        connection.close()


class Upstream(BaseHTTPRequestHandler):
    """A model server that knows no tools: it writes a call as text, and then answers."""

    def do_POST(self) -> None:
        """Answer a request of the chat API of OpenAI."""
        length = int(self.headers.get("content-length", 0))
        asked = self.rfile.read(length).decode()
        content = "18 degrees." if '"celsius' in asked or "celsius\\\\" in asked else CALL_IN_JSON
        choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        self._send({"id": "1", "object": "chat.completion", "created": 1, "model": "plain", "choices": [choice]})

    def do_GET(self) -> None:
        """List the one model."""
        self._send({"object": "list", "data": [{"id": "plain", "object": "model"}]})

    def _send(self, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@contextmanager
def serve_model() -> Generator[str]:
    """Serve a model that has no tool calls of its own, and yield its name for `--model`."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1#plain"
        finally:
            server.shutdown()


# The parts


def check_package() -> None:
    """The package that is imported is the installed one, with its version and its type marker."""
    import toolspeak

    folder = Path(toolspeak.__file__ or "").parent
    expect("site-packages" in folder.parts, f"toolspeak was imported from {folder}, not from an installed package")
    version = importlib.metadata.version("toolspeak")
    expect(toolspeak.__version__ == version, f"{toolspeak.__version__} is not {version}")
    expect((folder / "py.typed").is_file(), "py.typed is missing")


def check_command_line() -> None:
    """The command prints its version, shows tools, calls one, reads a text and knows its state."""
    import toolspeak

    expect(run_toolspeak("--version") == f"toolspeak {toolspeak.__version__}\n", "the version is another one")
    expect("get_weather" in run_toolspeak("tools", "smoke_tools.py"), "the tool is not listed")
    expect('"celsius": 18' in run_toolspeak("call", "smoke_tools.py", "get_weather", "city=Oslo"), "no result")
    expect("toolspeak" in run_toolspeak("doctor", "--offline"), "doctor says nothing")


def check_run() -> None:
    """An agent with a scripted model calls a function, and its facts are saved and loaded."""
    from toolspeak import Agent, codec
    from toolspeak.testing import ScriptedModel, calls, says

    model = ScriptedModel([calls(("double", {"number": "21"})), says("42.")])

    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    outcome = Agent(model, [double]).run("Double 21.")
    expect((outcome.text, outcome.calls[0].output) == ("42.", 42), f"the run gave {outcome}")
    facts = tuple(outcome.facts)
    expect(codec.load_facts(codec.dump_facts(facts)) == facts, "the facts changed when they were saved")


def check_gateway() -> None:
    """A client of OpenAI's API gets a native call from a model that wrote it as text."""
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tool = {"type": "function", "function": {"name": "get_weather", "parameters": parameters}}
    body = {"model": "plain", "messages": [{"role": "user", "content": "Weather in Paris?"}], "tools": [tool]}
    with (
        serve_model() as model,
        start_server("serve", "--model", model, "--dialect", "json", "--port", "0") as address,
    ):
        status, _, text = ask(address, "/v1/chat/completions", body)
    expect(status == 200, f"the gateway answered {status}: {text}")
    [call] = json.loads(text)["choices"][0]["message"]["tool_calls"]
    expect(json.loads(call["function"]["arguments"]) == {"city": "Paris"}, f"the call is {call}")


def check_run_over_http() -> None:
    """`toolspeak run` asks a model over HTTP, which calls a function of a file; the run is recorded."""
    with serve_model() as model:
        question = ["run", "Weather in Paris?", "--model", model, "--dialect", "json", "--tools", "smoke_tools.py"]
        printed = run_toolspeak(*question, "--record", "run.jsonl")
    expect("18 degrees." in printed, f"the answer is {printed!r}")
    expect(Path("run.jsonl").stat().st_size > 0, "nothing was recorded")


def check_page() -> None:
    """The page shows a recorded run, with its own scripts and styles."""
    with start_server("page", "run.jsonl", "--no-open") as address:
        status, cookie, _ = ask(address, address[address.index("/open") :])
        expect(status == 200, f"the page answered {status}")
        status, _, html = ask(address, "/", cookie=cookie)
        expect(status == 200 and "<script" in html, f"the page is {html[:200]!r}")
        for path in re.findall(r'(?:src|href)="(/[^"]+\.(?:js|css))"', html):
            expect(ask(address, path, cookie=cookie)[0] == 200, f"{path} is missing")
        expect("Weather in Paris?" in ask(address, "/api/runs", cookie=cookie)[2], "the run is not listed")


def check_mcp() -> None:
    """Functions are served to an MCP client, which is toolspeak too."""
    command = f"mcp:{shlex.join([sys.executable, '-P', '-m', 'toolspeak.cli', 'mcp', 'serve', 'smoke_tools.py'])}"
    expect("get_weather" in run_toolspeak("tools", command), "the tool of the server is not listed")
    expect('"celsius": 18' in run_toolspeak("call", command, "get_weather", "city=Oslo"), "the server gave no result")


def check_durable() -> None:
    """A durable run in SQLite ends in one worker, and its facts are found by another process."""
    from toolspeak import Agent
    from toolspeak.durable import Runs, Worker
    from toolspeak.testing import ScriptedModel, says

    with Runs("sqlite:///runs.db") as runs, Worker(runs, {"greeter": Agent(ScriptedModel([says("Hello.")]))}):
        outcome = runs.start_sync("greeter", "Greet me.").outcome_sync(timeout=WAIT_SECONDS)
    expect(outcome.text == "Hello.", f"the run gave {outcome}")
    expect("greeter" in run_toolspeak("runs", "list", "--store", "sqlite:///runs.db"), "the run is not listed")


def check_trained_files() -> None:
    """The adapter of the embedded model and the vectors of words are whole, and llama.cpp can be imported."""
    import xllamacpp  # noqa: F401  # pyright: ignore[reportMissingTypeStubs, reportUnusedImport] (only whether it is there)

    from toolspeak.dialects.word_vectors import load_word_vectors
    from toolspeak.models.adapters import QWEN_CODER_CALLS, check_adapter

    expect("site-packages" in QWEN_CODER_CALLS.path.parts, f"the adapter is {QWEN_CODER_CALLS.path}")
    check_adapter(QWEN_CODER_CALLS)
    expect(load_word_vectors() is not None, "tools are not ranked by meaning")


def check_embedded() -> None:
    """The embedded model answers the question of the demo with the weather of a tool."""
    os.environ["TOOLSPEAK_LOCAL_KEEP_MINUTES"] = "none"  # leave no server behind
    question = ("run", "What's the weather like in Paris?", "--model", "local", "--tools", "smoke_tools.py")
    printed = run_toolspeak(*question, seconds=COMPUTE_SECONDS)
    expect("18" in printed, f"the answer is {printed!r}")


PARTS: dict[str, Callable[[], None]] = {
    "package": check_package,
    "command line": check_command_line,
    "scripted run": check_run,
    "run over HTTP": check_run_over_http,
    "gateway": check_gateway,
    "page": check_page,
    "MCP": check_mcp,
    "durable, SQLite": check_durable,
    "trained files": check_trained_files,
}


def main(arguments: list[str]) -> int:
    """Run the parts in an empty folder and print a line for each; return the exit status."""
    parts = {**PARTS, "embedded demo": check_embedded} if "--embedded" in arguments else PARTS
    failed = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home = Path.cwd()
        os.chdir(folder)
        os.environ |= {"TOOLSPEAK_CONFIG_FOLDER": f"{folder}/config", "TOOLSPEAK_DATA_FOLDER": f"{folder}/data"}
        Path("smoke_tools.py").write_text(TOOLS, encoding="utf-8")
        for name, check in parts.items():
            started = time.monotonic()
            try:
                check()
            except BaseException as error:  # whatever it is, it is the result of this part
                failed += 1
                last = traceback.extract_tb(error.__traceback__)[-1]
                print(f"  failed  {name}: {type(error).__name__}: {error} (line {last.lineno} of {last.filename})")
            else:
                print(f"  passed  {name}  {time.monotonic() - started:.1f} s", flush=True)
        os.chdir(home)  # Windows does not remove a folder that a process is in
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
