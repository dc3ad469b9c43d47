"""The examples, each played with a scripted model, print what their docstrings show.

A docstring shows the command behind `$ ` and, below it, everything that the example prints; `…` stands for any text.
With the embedded model the examples are run by `make test-local`.
"""

import importlib.util
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.gateway.hosting import host_app, until
from tests.lab.test_field import find_problems
from tests.pages import is_like
from toolspeak import discover
from toolspeak.durable import Runs
from toolspeak.lab.suites import load_suite
from toolspeak.testing import ScriptedModel, ScriptedReply, calls, says
from toolspeak.values.events import ToolFinished, ToolStarted

EXAMPLES = Path(__file__).parent.parent / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shown_by(module):
    """The output that the docstring of an example shows."""
    shown = re.search(r"^\$ python examples/.*\n([\s\S]+)", module.__doc__, re.M)
    assert shown, "the docstring shows no run of the example"
    return shown[1].rstrip("\n")


PROGRAM = "import math\nprint(math.pi * 7.5**2)\na, b = 0, 1\nfor _ in range(20):\n    a, b = b, a + b\nprint(a)"


def weather_or_capital(request):
    """The first answer to either of two questions: only the one about the weather needs a call."""
    if "capital" in request.shown.messages[-1].text:
        return says("Paris.")
    return calls(("get_weather", {"city": "Tokyo", "unit": "celsius"}))


SCRIPTS = {
    "weather_json": [weather_or_capital, says("It is 25 degrees Celsius in Tokyo.")],
    "weather_calculator": [
        calls(
            ("get_weather", {"city": "Paris"}),
            ("get_weather", {"city": "London"}),
            ("calculator", {"expression": "20 * 9/5 + 32"}),
        ),
        says("It is 18°C in Paris and 12°C in London. 20°C are 68°F."),
    ],
    "math_by_python": [
        ScriptedReply(text=f"```python\n{PROGRAM}\n```"),
        says("The area is 176.71458676442586, and the 20th Fibonacci number is 6765."),
    ],
    "chatbot": [
        calls(("convert_time", {"time": "12:00", "from_city": "Oslo", "to_city": "DUBAI"})),
        says("It is 15:00 in Dubai."),
        calls(("convert_currency", {"amount": 250, "from_currency": "NOK", "to_currency": "USD"})),
        says("250 NOK are 25 US dollars."),
    ],
    "typescript_stream": [
        calls(("getWeather", {"location": "San Francisco"})),
        says("It is sunny in San Francisco."),
    ],
    "research": [
        calls(*(("search_population", {"city": city}) for city in ("Berlin", "Madrid", "Rome"))),
        calls(("add", {"numbers": [3_700_000, 3_300_000, 2_750_000]})),
        says("In Berlin, Madrid and Rome live 9.75 million people."),
    ],
    "chain": [says("A light jacket.")],
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_an_example_prints_what_it_shows(name, capsys):
    module = load(name)
    module.main(ScriptedModel(SCRIPTS[name], dialect="python", name="local"))
    printed = capsys.readouterr().out.rstrip("\n")
    assert is_like(shown_by(module), printed), printed


def test_the_coding_agent_prints_what_it_shows(tmp_path, capsys, monkeypatch):
    (tmp_path / "hello.py").write_text("def hello():\n    return 'hi'\n")
    script = [
        calls(("read_file", {"path": "hello.py"})),
        calls(("edit_file", {"path": "hello.py", "old": "'hi'", "new": "'hello'"})),
        says("The function returns 'hello' now."),
    ]
    module = load("coding_agent")
    monkeypatch.setattr("builtins.input", lambda prompt: print(f"{prompt}y") or "y")
    module.main(tmp_path, "Let the function in hello.py return hello.", ScriptedModel(script, name="local"))
    assert (tmp_path / "hello.py").read_text() == "def hello():\n    return 'hello'\n"
    printed = capsys.readouterr().out.rstrip("\n")
    assert is_like(shown_by(module), printed), printed


def test_the_served_example_says_which_tools_only_read():
    specs = discover(EXAMPLES / "mcp_approval.py").specs
    assert {spec.name: spec.effect for spec in specs} == {"list_notes": "read", "delete_note": "once"}


@pytest.mark.slow
def test_the_agent_with_a_server_prints_what_it_shows(capsys, monkeypatch):
    script = [
        calls(("list_notes", {})),
        calls(("delete_note", {"name": "wages"})),
        says("There are two notes, and both are still there."),
    ]
    module = load("mcp_approval")
    monkeypatch.setattr("builtins.input", lambda prompt: print(f"{prompt}n") or "n")
    module.main(ScriptedModel(script, name="local"))
    printed = capsys.readouterr().out.rstrip("\n")
    assert is_like(shown_by(module), printed), printed


def test_the_workflow_of_tenants_prints_what_it_shows(tmp_path, capsys):
    module = load("tenants")
    module.main(str(tmp_path))
    printed = capsys.readouterr().out.rstrip("\n")
    assert is_like(shown_by(module), printed), printed


PAYMENTS = [
    calls(("list_unpaid", {})),
    calls(("pay", {"number": 1}), ("pay", {"number": 2}), ("pay", {"number": 3})),
    says("Invoice 1 is paid, invoice 2 was not allowed, and there was nothing to pay for invoice 3."),
]


def test_the_invoice_assistant_prints_what_it_shows(capsys, monkeypatch):
    module = load("invoices")
    monkeypatch.setattr("builtins.input", lambda prompt: print(f"{prompt}n") or "n")
    module.main(ScriptedModel(PAYMENTS, name="local"))
    printed = capsys.readouterr().out.rstrip("\n")
    assert is_like(shown_by(module), printed), printed


def test_the_invoice_assistant_pays_what_is_allowed(capsys, monkeypatch):
    monkeypatch.setattr("builtins.input", lambda prompt: "y")
    load("invoices").main(ScriptedModel([calls(("pay", {"numbr": 2})), *PAYMENTS[1:]], name="local"))
    printed = capsys.readouterr().out
    assert "pay({'number': 2}) → paid 480 euros to Roof & Son" in printed
    assert printed.endswith("Still unpaid:\n")


def answer_by_orders(request):
    """An answer that holds what the model was shown last: the orders of the user, and how often the user has asked."""
    asked = sum(message.role == "user" for message in request.shown.messages)
    orders = repr(request.shown.messages[-1])
    return says("Your teapot is on its way." if "teapot" in orders else f"Cups, {asked}.")


def test_the_chat_service_keeps_the_chats_of_users_apart(tmp_path):
    module = load("chat_service")
    ada, bob = ({"authorization": f"Bearer {name}-secret"} for name in ("ada", "bob"))
    for asked in (1, 2):  # the second time in a new process, so to speak
        script = [calls(("list_orders", {})), answer_by_orders] * 2
        application = module.build_app(ScriptedModel(script), str(tmp_path / "chats.db"))
        with host_app(application) as url, httpx.Client(base_url=url, timeout=60) as client:
            question = {"prompt": "Where is my order?"}
            answer = client.post("/chat", json=question, headers=ada)
            assert answer.text in module.__doc__
            if asked == 1:
                assert client.get("/chat", headers=ada).text in module.__doc__
            assert client.post("/chat", json=question, headers=bob).text == f"Cups, {asked}."
            assert "teapot" not in client.get("/chat", headers=bob).text
            assert len(client.get("/chat", headers=bob).json()) == 2 * asked
            assert client.get("/chat").status_code == 401
            assert client.get("/chat", headers={"authorization": "Bearer guessed"}).status_code == 401


def test_the_chat_service_keeps_what_was_said_before_a_user_left(tmp_path):
    model = ScriptedModel([ScriptedReply(text="So far.", lingers=600), says("Welcome back.")])
    ada, path = {"authorization": "Bearer ada-secret"}, str(tmp_path / "chats.db")
    with host_app(load("chat_service").build_app(model, path)) as url, httpx.Client(base_url=url, timeout=60) as client:
        with client.stream("POST", "/chat", json={"prompt": "Hello?"}, headers=ada) as answer:
            assert next(answer.iter_text()) == "So far."
        until(lambda: client.get("/chat", headers=ada).json())
        assert client.post("/chat", json={"prompt": "Again."}, headers=ada).text == "Welcome back."
        shown = [each["text"] for each in client.get("/chat", headers=ada).json()]
    assert shown == ["Hello?", "So far.", "Again.", "Welcome back."]


def start_durable(folder):
    return subprocess.Popen(
        [sys.executable, str(EXAMPLES / "durable.py"), str(folder), "0.3"], stdout=subprocess.PIPE, text=True
    )


def test_the_durable_run_prints_what_it_shows(tmp_path, capsys):
    module = load("durable")
    module.main(tmp_path, seconds=0.0)
    printed = capsys.readouterr().out.rstrip("\n")
    assert is_like(shown_by(module), printed), printed


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes are not killed so on this system")
@pytest.mark.slow
def test_the_durable_run_goes_on_after_its_program_was_killed(tmp_path):
    for ending in (signal.SIGKILL, signal.SIGINT):
        with start_durable(tmp_path) as process:
            printed = [next(line for line in process.stdout if line.startswith("  ship("))]
            while "shipped order 2" not in printed[-1] and ending is signal.SIGINT:
                printed.append(process.stdout.readline())
            process.send_signal(ending)
            rest = process.stdout.read()
        assert (ending is signal.SIGINT) == rest.endswith("stopped: start me again, and the run goes on\n")
    with start_durable(tmp_path) as process:
        printed = process.stdout.read()
    assert process.returncode == 0
    assert printed.endswith(
        "All five orders are shipped.\ndurable.txt: order 1, order 2, order 3, order 4, order 5\n"
    ), printed
    assert "(the run goes on)" in printed
    with Runs(f"sqlite:///{tmp_path}/durable.db") as runs:
        [run] = runs.list_sync()
        facts = runs.handle(run.run_id).facts_sync()
    finished = set()
    for fact in facts:
        if isinstance(fact, ToolStarted):
            assert fact.call_id not in finished
        elif isinstance(fact, ToolFinished):
            finished.add(fact.result.call_id)
    assert len(finished) == 5


DEPOT = EXAMPLES / "depot"
DEPOT_FILES = (DEPOT / "train.jsonl", DEPOT / "measure.jsonl")


def test_the_depot_prints_what_it_shows(capsys):
    module = load("depot/depot")
    module.main()
    printed = capsys.readouterr().out.rstrip("\n")
    assert is_like(shown_by(module), printed), printed


@pytest.mark.parametrize("path", DEPOT_FILES, ids=lambda path: path.stem)
def test_the_questions_of_the_depot_fit_its_functions(path):
    specs = discover(DEPOT / "depot.py").specs
    assert len(specs) == 10
    questions = load_suite(str(path)).questions
    assert all(list(question.tools) == list(specs) for question in questions)
    assert [problem for each in questions for problem in find_problems(each)] == []
    uncalled = [question for question in questions if question.category in ("missing", "none")]
    assert len(uncalled) / len(questions) == pytest.approx(0.25, abs=0.02)


def test_the_depot_is_not_measured_with_what_it_is_trained_on():
    trained, measured = (path.read_text("utf-8").splitlines() for path in DEPOT_FILES)
    assert trained[0] == measured[0], "the two files have different tools"
    for find in (find_requests, find_numbers):
        assert find(trained[1:])
        assert not find(trained[1:]) & find(measured[1:])


def find_requests(lines):
    """What the users of some questions say, without regard to case and spaces."""
    rows = [json.loads(line) for line in lines]
    said = [[turn.get("user", "") for turn in row.get("turns", ())] or [row["messages"]] for row in rows]
    return {" ".join(text.casefold().split()) for texts in said for text in texts if text}


def find_numbers(lines):
    """The numbers of machines and customers in some questions, as the functions take them."""
    return set(re.findall(r"\bM-\d{4}\b|\bK\d{5}\b", "\n".join(lines)))


def test_every_example_is_played():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {
        *SCRIPTS,
        "chat_service",
        "coding_agent",
        "durable",
        "invoices",
        "mcp_approval",
        "tenants",
        "weather",
    }
