"""The examples, each played with a scripted model. With the embedded model they are run by `make test-local`."""

import importlib.util
from pathlib import Path

import pytest

from toolspeak.testing import Said, ScriptedModel, calls, says

EXAMPLES = Path(__file__).parent.parent / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PROGRAM = "import math\nprint(math.pi * 7.5**2)\na, b = 0, 1\nfor _ in range(20):\n    a, b = b, a + b\nprint(a)"

PLAYS = {
    "weather_json": (
        [calls(("get_weather", {"city": "Tokyo", "unit": "celsius"})), says("25 degrees Celsius.")],
        ["'temperature': 25", "25 degrees Celsius."],
    ),
    "weather_calculator": (
        [
            calls(
                ("get_weather", {"city": "Paris"}),
                ("get_weather", {"city": "London"}),
                ("calculator", {"expression": "20 * 9/5 + 32"}),
            ),
            says("18, 12, and 68."),
        ],
        ["'celsius': 18", "'celsius': 12", "→ 68.0", "18, 12, and 68."],
    ),
    "math_by_python": (
        [Said(text=f"```python\n{PROGRAM}\n```"), says("176.7 and 6765.")],
        ["176.71458676442586\n6765", "176.7 and 6765."],
    ),
    "chatbot": (
        [
            calls(("convert_time", {"time": "12:00", "from_city": "Oslo", "to_city": "DUBAI"})),
            says("15:00."),
            calls(("convert_currency", {"amount": 250, "from_currency": "NOK", "to_currency": "USD"})),
            says("25 dollars."),
        ],
        ["flowchart TD", "→ 15:00", "→ 25.0", "25 dollars."],
    ),
    "typescript_stream": (
        [calls(("getWeather", {"location": "San Francisco"})), says("Sunny.")],
        ["getWeather", "'weather': 'sunny'", "Sunny."],
    ),
    "research": (
        [
            calls(("search_population", {"city": "Berlin"}), ("search_population", {"city": "Rome"})),
            calls(("add", {"numbers": [3_700_000, 2_750_000]})),
            says("6.45 million."),
        ],
        ["→ 3700000", "→ 6450000.0", "6.45 million. (answered)"],
    ),
    "chain": ([says("A jacket. ")], ["tool: 68.0", "transform: A jacket."]),
}


@pytest.mark.parametrize("name", PLAYS)
def test_an_example(name, capsys):
    script, shown = PLAYS[name]
    last = script[-1]
    if name == "weather_json":  # its second question needs no tool; the script goes by the answers so far
        script = [
            lambda request: says("Paris.") if "capital" in request.shown.messages[-1].text else calls(*CALL),
            last,
        ]
    load(name).main(ScriptedModel(script, dialect="python"))
    printed = capsys.readouterr().out
    for words in shown:
        assert words in printed


CALL = (("get_weather", {"city": "Tokyo", "unit": "celsius"}),)


def test_the_coding_agent(tmp_path, capsys):
    (tmp_path / "hello.py").write_text("def hello():\n    return 'hi'\n")
    edit = {"path": "hello.py", "old": "def hello():", "new": 'def hello():\n    """Say hi."""'}
    script = [calls(("read_file", {"path": "hello.py"})), calls(("edit_file", edit)), says("Done.")]
    load("coding_agent").main(tmp_path, "Add a docstring.", ScriptedModel(script), approve=lambda call: True)
    assert '"""Say hi."""' in (tmp_path / "hello.py").read_text()
    assert "Done." in capsys.readouterr().out


def test_every_example_is_played():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*PLAYS, "coding_agent", "weather"}
