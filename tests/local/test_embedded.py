"""The embedded model with its real weights: what the seeds show, in substance. Run by `make test-local`."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.terminal import environment, terminal

from toolspeak import Agent, tool
from toolspeak.builtin.python import run_python
from toolspeak.models.weights import QWEN_CODER
from toolspeak.settings import cache_folder
from toolspeak.testing import ScriptedModel, calls

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WEATHER = load("weather_calculator")
WEATHER_QUESTION = "What's the weather like in Paris and London? Also convert 20C to Fahrenheit."


@pytest.mark.parametrize("dialect", [pytest.param("python", marks=pytest.mark.long), "typescript"])
def test_the_weather_question_makes_the_three_right_calls(dialect):
    agent = Agent("local", tools=[WEATHER.get_weather, WEATHER.calculator], dialect=dialect)
    outcome = agent.run(WEATHER_QUESTION)
    made = [(each.name, each.output) for each in outcome.calls]
    assert made == [
        ("get_weather", {"city": "Paris", "celsius": 18}),
        ("get_weather", {"city": "London", "celsius": 12}),
        ("calculator", 68.0),
    ]
    assert all(number in outcome.text for number in ("18", "12", "68"))
    assert outcome.stop_reason == "answered"


def test_the_capital_of_france_needs_no_call():
    agent = Agent("local", tools=[WEATHER.get_weather, WEATHER.calculator])
    outcome = agent.run("What is the capital of France?")
    assert outcome.calls == ()
    assert "Paris" in outcome.text


@pytest.mark.long
def test_maths_is_done_by_python_in_the_sandbox():
    outcome = Agent("local", tools=[run_python]).run(load("math_by_python").QUESTION)
    printed = "\n".join(str(made.output) for made in outcome.calls)
    assert "176.71458676442586" in printed
    assert "6765" in printed
    assert "6765" in outcome.text


@pytest.mark.long
def test_the_chatbot_converts_times_and_money():
    module = load("chatbot")
    chat = Agent("local", tools=[module.convert_time, module.convert_currency]).chat()
    assert [made.output for made in chat.run(module.QUESTIONS[0]).calls] == ["15:00"]
    assert [made.output for made in chat.run(module.QUESTIONS[1]).calls] == [25.0]


@pytest.mark.long
def test_a_larger_model_is_asked_where_the_embedded_one_repeats_itself():
    @tool(effect="read")
    def order_status(order: int) -> str:
        "Look up the status of an order."
        return "unknown, look it up again"

    @tool(effect="read")
    def search_archive(words: str) -> str:
        "Search the archive of old orders."
        return "order 7: delivered on 3 May"

    larger = ScriptedModel([calls(("search_archive", {"words": "7"}))] * 6, name="larger")
    agent = Agent(["local", larger], tools=[order_status, search_archive], escalate="loop,malformed,missing")
    outcome = agent.run("Look up order 7 until its status is known. What is it?")
    assert [fact.summary for fact in outcome.guidance] == [
        "the model repeated order_status and was told so",
        "the model repeated order_status and larger is asked for the next message",
    ]
    assert "3 May" in outcome.text
    assert outcome.stop_reason == "answered"
    assert outcome.models["larger"].messages == 1
    assert outcome.models["local"].usage.output_tokens > 0


def test_a_typed_answer():
    outcome = Agent("local").run("How many days has a week? Answer with the number.", output=int)
    assert outcome.output == 7


def test_the_command_of_the_readme_answers_right(tmp_path):
    question = "Which is colder now, Oslo or Paris?"
    assert question in (EXAMPLES.parent / "README.md").read_text()
    done = subprocess.run(
        [sys.executable, "-m", "toolspeak.cli", "run", question, "--tools", str(EXAMPLES / "weather.py"), "--no-log"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "-3.5" in done.stderr
    assert "11.0" in done.stderr
    assert re.search(r"Oslo[^.]*-3.5.*Paris[^.]*11.*\bOslo is colder", done.stdout)  # the sentence is right, too
    assert "reading the prompt" not in done.stdout + done.stderr  # that is for terminals


def test_a_terminal_shows_how_much_of_the_prompt_is_read(tmp_path):
    weights = cache_folder() / "models" / QWEN_CODER.filename
    # Another file by its name, and a process and prompts of its own: nothing was read before.
    env = environment(tmp_path, TOOLSPEAK_LOCAL_KEEP_MINUTES="none", TOOLSPEAK_LOCAL_THREADS="1")
    arguments = ("run", "Hello.", "-m", f"local:{weights}", "--tools", str(EXAMPLES / "chatbot.py"), "--no-log")
    with terminal(tmp_path, *arguments, env=env) as screen:
        assert screen.wait_for_exit(280) == 0
    shown = [(int(done), int(total)) for done, total in re.findall(r"reading the prompt, (\d+) of (\d+) ", screen.raw)]
    assert len({done for done, _ in shown}) >= 2
    assert all(0 <= done < total for done, total in shown)
    assert screen.raw.rindex("reading the prompt") < screen.raw.rindex("assistant")


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        pytest.param("typescript_stream", ["getWeather", "sunny"], marks=pytest.mark.long),
        pytest.param("weather_json", ["get_weather"], marks=pytest.mark.long),
        ("chain", ["68.0", "transform: "]),
        pytest.param("research", ["3700000", "3300000", "2750000", "(answered)"], marks=pytest.mark.long),
    ],
)
def test_an_example_does_what_it_shows(capsys, name, parts):
    load(name).main("local")
    printed = capsys.readouterr().out
    assert [part for part in parts if part not in printed] == [], printed
