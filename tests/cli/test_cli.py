"""`toolspeak tools`, `toolspeak call`, help and wrong usage, each in a process of its own."""

import json
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_group
from typer.testing import CliRunner

from tests.cli.commands import Done, run_command
from toolspeak import InvalidArguments, discover
from toolspeak.cli.app import app, select_commands
from toolspeak.cli.options import ConversationOptions, EvalOptions
from toolspeak.cli.server_options import ServeOptions
from toolspeak.values.spec import strict_schema

TOOLS = '''
"""Tools that talk while they are imported."""
import asyncio
import sys
from dataclasses import dataclass
from enum import Enum
from typing import Annotated

print("imported!")
sys.stderr.write("a warning\\n")


class Unit(Enum):
    CELSIUS = "celsius"
    FAHRENHEIT = "fahrenheit"


@dataclass
class Place:
    name: str
    height: int = 0


def weather(city: str, unit: Unit = Unit.CELSIUS, days: Annotated[int, "How many."] = 1) -> dict:
    """Get the weather.

    Args:
        city: Where.
    """
    print("asking the sky")
    return {"city": city, "unit": unit.name, "days": days}


async def wait(seconds: float) -> str:
    """Wait a little."""
    await asyncio.sleep(seconds)
    return f"waited {seconds}"


def climb(place: Place, tags: list[str] = []) -> str:
    """Climb."""
    return f"{type(place).__name__} {place.name} {place.height} {tags}"


def fail(how: str = "plainly") -> None:
    """Fail."""
    if how == "exit":
        sys.exit("bye")
    raise ValueError("it failed " + how)


def nothing() -> None:
    """Do nothing."""


def odd() -> str:
    """Return half a character."""
    return "half: \\ud83d"


def strange() -> float:
    """Return what JSON has no word for."""
    return float("nan")


def _private(x: int) -> int:
    """Hidden."""
    return x


def unhinted(x):
    """Anything."""
'''

NAMES = ["weather", "wait", "climb", "fail", "nothing", "odd", "strange"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("cli")
    (home / "sky.py").write_text(TOOLS)
    (home / "broken.py").write_text("x = 1\ndef broken(:\n")
    (home / "quits.py").write_text("raise SystemExit(3)\n")
    (home / "needs.py").write_text("import no_such_module_at_all\n")
    (home / "pkg").mkdir()
    (home / "pkg" / "__init__.py").touch()
    (home / "pkg" / "inner.py").write_text('def inside(x: int = 1) -> int:\n    """Be inside."""\n    return x\n')
    (home / "empty").mkdir()
    (home / "blank.py").touch()
    (home / "unusable.py").write_text("def pay(sum):\n    'Pay.'\ndef greet(name: str) -> None: ...\n")
    return home


def run(folder: Path, *arguments: str, encoding: str = "utf-8") -> Done:
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONIOENCODING": encoding, "COLUMNS": "200"}
    return run_command(*arguments, cwd=folder, env=env, stdin=None)


def array(done: Done) -> list[Any]:
    assert done.returncode == 0
    tools = json.loads(done.stdout)
    assert isinstance(tools, list)
    return tools


# tools


def test_openai_form_is_a_json_array_and_nothing_else(folder: Path):
    done = run(folder, "tools", "sky.py", "--as", "openai")
    assert "imported!" in done.stderr
    specs = discover(folder / "sky.py").specs
    assert array(done) == [
        {
            "type": "function",
            "function": {"name": spec.name, "description": spec.description, "parameters": spec.parameters},
        }
        for spec in specs
    ]
    weather = array(done)[0]["function"]
    assert weather["parameters"]["properties"] == {
        "city": {"type": "string", "description": "Where."},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
        "days": {"type": "integer", "description": "How many.", "default": 1},
    }


def test_anthropic_form_is_a_json_array_and_nothing_else(folder: Path):
    specs = discover(folder / "sky.py").specs
    assert array(run(folder, "tools", "sky.py", "--as", "anthropic")) == [
        {"name": spec.name, "description": spec.description, "input_schema": spec.parameters} for spec in specs
    ]


@pytest.mark.parametrize(("form", "key"), [("openai", "parameters"), ("anthropic", "input_schema")])
def test_strict_forms_require_every_property(folder: Path, form: str, key: str):
    specs = discover(folder / "sky.py").specs
    shown = [tool.get("function", tool) for tool in array(run(folder, "tools", "sky.py", "--as", form, "--strict"))]
    assert [tool[key] for tool in shown] == [strict_schema(spec.parameters) for spec in specs]
    assert shown[0][key]["required"] == ["city", "unit", "days"]
    assert all(tool.get("strict") is True for tool in shown)


@pytest.mark.parametrize(
    ("target", "names"),
    [
        ("sky", NAMES),
        ("sky.py", NAMES),
        ("./sky.py", NAMES),
        ("pkg", ["inside"]),
        ("pkg/", ["inside"]),
        ("pkg.inner", ["inside"]),
        ("pkg/inner.py", ["inside"]),
        ("pkg.inner:inside", ["inside"]),
        ("sky.py:wait", ["wait"]),
    ],
)
def test_every_kind_of_target(folder: Path, target: str, names: list[str]):
    assert [tool["name"] for tool in array(run(folder, "tools", target, "--as", "anthropic"))] == names


def test_without_a_form_the_tools_are_listed(folder: Path):
    done = run(folder, "tools", "sky.py")
    assert done.returncode == 0
    assert "weather  Get the weather." in done.stdout
    assert 'unit: "celsius" or "fahrenheit" = "celsius"' in done.stdout
    assert "city: string  Where." in done.stdout
    assert "7 tools in sky.py, 3 skipped" in done.stdout


def test_the_list_says_which_tools_need_approval(tmp_path: Path):
    decorators = ("", "@tool(approve=True)\n", "@tool(approve=lambda call: False)\n")
    texts = [f"{each}def t{number}() -> None:\n    'Act.'\n" for number, each in enumerate(decorators)]
    (tmp_path / "acts.py").write_text("from toolspeak import tool\n" + "".join(texts))
    lines = run(tmp_path, "tools", "acts.py").stdout.splitlines()
    assert lines[0::2][:3] == ["t0  Act.", "t1 (needs approval)  Act.", "t2 (may need approval)  Act."]


def test_the_list_says_whose_words_results_are_and_what_is_decisive(tmp_path: Path):
    (tmp_path / "acts.py").write_text(
        "from typing import Annotated\nfrom toolspeak import Free, Key, tool\n"
        "@tool(effect='read', result='foreign')\ndef look(url: str) -> str:\n    'Look.'\n"
        "@tool(result='own')\ndef send(to: str, text: Annotated[str, Free]) -> str:\n    'Send.'\n"
        "@tool(effect='read', result={'id': [Key('to', by='name'), Key('at')], 'owner': 'own'})\n"
        "def seek() -> str:\n    'Seek.'\n"
        "@tool(effect='read', result=Key('to'))\ndef names() -> str:\n    'Name.'\n"
    )
    lines = run(tmp_path, "tools", "acts.py").stdout.splitlines()
    assert lines[:2] == ["look (foreign results)  Look.", "    url: string"]
    assert lines[3:6] == ["send (own results)  Send.", "    to: string (decisive)", "    text: string"]
    assert lines[7::2][:2] == [
        "seek (foreign results, but for id, owner)  Seek.",
        "names (foreign results, but for keys)  Name.",
    ]


def test_what_was_skipped_is_listed_with_its_reason(folder: Path):
    done = run(folder, "tools", "sky.py", "--skipped")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert "_private: private: its name begins with an underscore" in lines
    assert "unhinted: the parameter 'x' has no type hint; write x: str, for example" in lines
    assert "dataclass: imported from dataclasses" in lines
    assert run(folder, "tools", "pkg", "--skipped").stdout.strip() == "nothing was skipped"


# call


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["weather", "city=Oslo"], {"city": "Oslo", "unit": "CELSIUS", "days": 1}),
        (["weather", "city=a=b", "unit=FAHRENHEIT", "days=1,000"], {"city": "a=b", "unit": "FAHRENHEIT", "days": 1000}),
        (["weather", "city=3"], {"city": "3", "unit": "CELSIUS", "days": 1}),
        (["weather", "--json", '{"city": "Oslo", "days": 2}'], {"city": "Oslo", "unit": "CELSIUS", "days": 2}),
        (["weather", "--json", '{"city": "Oslo"}', "city=Bergen"], {"city": "Bergen", "unit": "CELSIUS", "days": 1}),
        (["wait", "seconds=0"], "waited 0.0"),
        (["climb", 'place={"name": "K2", "height": "8,611"}'], "Place K2 8611 []"),
        (["climb", 'place={"name": "K2"}', "tags=a", "tags=b"], "Place K2 0 ['a', 'b']"),
        (["nothing"], None),
        (["nothing", "--json", "{}"], None),
    ],
)
def test_a_call_prints_what_the_model_would_get_and_nothing_else(folder: Path, arguments: list[str], answer: Any):
    done = run(folder, "call", "sky.py", *arguments)
    assert done.returncode == 0
    assert done.stdout == (answer if isinstance(answer, str) else json.dumps(answer)) + "\n"


def test_what_a_tool_prints_goes_to_standard_error(folder: Path):
    assert "asking the sky" in run(folder, "call", "sky.py", "weather", "city=Oslo").stderr


def test_a_call_of_module_and_function(folder: Path):
    assert run(folder, "call", "pkg.inner:inside", "inside", "x=7").stdout == "7\n"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("weather", {}),
        ("weather", {"city": "Oslo", "unit": "kelvin", "days": "many"}),
        ("weather", {"town": "Oslo"}),
        ("wait", {"seconds": "long"}),
        ("climb", {"place": {"height": "high"}, "tags": [["a"]]}),
        ("nothing", {"x": 1}),
    ],
)
def test_bad_arguments_print_the_very_text_the_model_would_get(folder: Path, name: str, arguments: dict[str, Any]):
    with pytest.raises(InvalidArguments) as caught:
        discover(folder / "sky.py")[name].bind(arguments)
    done = run(folder, "call", "sky.py", name, "--json", json.dumps(arguments))
    assert done.returncode == 1
    assert done.stdout == f"{caught.value}\n"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("how", "text"), [("plainly", "ValueError: it failed plainly"), ("exit", "SystemExit: bye")])
def test_a_tool_that_fails_prints_why_and_exits_with_1(folder: Path, how: str, text: str):
    done = run(folder, "call", "sky.py", "fail", f"how={how}")
    assert (done.returncode, done.stdout) == (1, f"{text}\n")
    assert (f"\ntoolspeak: fail failed: {text} (sky.py, line " in done.stderr) == (how == "plainly")
    assert "Traceback" not in done.stderr


def test_characters_that_the_output_cannot_encode_are_escaped(folder: Path):
    done = run(folder, "call", "sky.py", "odd")
    assert done.returncode == 0
    assert done.stdout == "half: \\ud83d\n"
    assert "Traceback" not in done.stderr
    accented = run(folder, "call", "sky.py", "weather", "city=Tromsø ☃", encoding="ascii")
    assert accented.returncode == 0
    assert accented.stdout == '{"city": "Troms\\xf8 \\u2603", "unit": "CELSIUS", "days": 1}\n'


def test_a_result_of_nan_is_printed(folder: Path):
    assert run(folder, "call", "sky.py", "strange").stdout == "NaN\n"


# Wrong input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tools", "no_such_module"], "'no_such_module' is no module, Python file, folder or entry-point group"),
        (["tools", "no_such_file.py"], "there is no file no_such_file.py"),
        (["tools", "no/such/folder/"], "is no module, Python file, folder or entry-point group"),
        (["tools", "empty/"], "there is no Python file in the folder empty"),
        (["tools", "sky.py:nobody"], "has no function 'nobody'"),
        (["tools", "sky.py:unhinted"], "cannot be a tool: the parameter 'x' has no type hint"),
        (
            ["tools", "unusable.py"],
            "unusable.py has no function that can be a tool. Skipped: pay (the parameter 'sum' has "
            "no type hint; write sum: str, for example), greet (it has no docstring to tell a model what it does)",
        ),
        (["run", "Hello?", "--tools", "sky.py", "--tools", "unusable.py"], "unusable.py has no function that can be"),
        (["tools", "blank.py"], "blank.py has no functions; a tool is a function with type hints and a docstring"),
        (["tools", "broken.py"], "broken.py, line 2"),
        (["tools", "broken"], "broken.py, line 2"),
        (["tools", "needs.py"], "No module named 'no_such_module_at_all'"),
        (["tools", "quits.py"], "SystemExit: 3"),
        (["tools", "."], "broken.py"),
        (["tools", "x" * 5000], "is no module"),
        (["tools", "sky.py", "--as", "klingon"], "klingon"),
        (["tools", "sky.py", "--as"], "--as"),
        (["tools", "sky.py", "--no-such-option"], "--no-such-option"),
        (["tools", "sky.py", "extra"], "extra"),
        (["tools"], "TARGET"),
        (["no-such-command"], "no-such-command"),
        (["--no-such-option"], "--no-such-option"),
        (["call"], "TARGET"),
        (["call", "sky.py"], "NAME"),
        (["call", "sky.py", "wether"], "there is no tool 'wether'; did you mean weather?"),
        (["call", "sky.py", "weather", "Oslo"], "arguments are written key=value, and 'Oslo' is not"),
        (["call", "sky.py", "weather", "=Oslo"], "arguments are written key=value"),
        (["call", "sky.py", "weather", '{"city": "Oslo"}'], "is not; a JSON object is the value of --json"),
        (
            ["run", "Hello.", "--approve", "maybe"],
            "'--approve': 'maybe' is not one of 'never', 'ask', 'once', 'always'",
        ),
        (["call", "sky.py", "weather", "--json", "{broken"], "--json is not JSON"),
        (["call", "sky.py", "weather", "--json", "[1]"], "--json takes an object"),
        (["call", "sky.py", "weather", "--json", ""], "--json is not JSON"),
        (["call", "sky.py", "weather", "--json"], "--json"),
        (["call", "broken.py", "weather"], "broken.py, line 2"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(folder: Path, arguments: list[str], message: str):
    done = run(folder, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if line not in ("imported!", "a warning", "asking the sky")]
    assert len(lines) == 1
    assert lines[0].startswith("toolspeak: ")
    assert message in lines[0]


@pytest.mark.parametrize("arguments", [[], ["--help"], ["tools", "--help"], ["call", "--help"]])
def test_help_is_printed_without_an_error(folder: Path, arguments: list[str]):
    done = run(folder, *arguments)
    assert done.returncode == 0
    assert "Usage:" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("command", "headings", "excerpt"),
    [
        ([], ["Options", "Conversations", "Tools", "Runs", "Models", "Settings"], "  log        List, show and"),
        (["run"], ["Arguments", "Model", "Tools", "Prompt", "Conversation", "Limits", "Output", "Other options"],
         "Limits:\n  --max-turns N"),
        (["serve"], ["Models", "Endpoints", "Address and access", "Recording and watching",
                     "Functions and durable runs", "Other options"], "Models:\n  --model NAME"),
        (["log"], ["Options", "Commands"], "  search  List the conversations"),
    ],
)  # fmt: skip
def test_help_has_its_commands_and_options_under_headings(command: list[str], headings: list[str], excerpt: str):
    text = CliRunner().invoke(app, [*command, "--help"]).output
    assert [line[:-1] for line in text.splitlines() if line.endswith(":") and line[0] != " "] == headings
    assert excerpt in text


@pytest.mark.parametrize(
    ("command", "usage", "argument"),
    [
        (["tools"], "tools [OPTIONS] TARGET", "TARGET  Where the functions are"),
        (["call"], "call [OPTIONS] TARGET NAME [KEY=VALUE]...", "KEY=VALUE  Arguments of the call."),
        (["log", "show"], "log show [OPTIONS] [ID]", "ID  The conversation; the last one if left out."),
        (["log", "search"], "log search [OPTIONS] WORD...", "WORD  Words that must all occur."),
        (["log", "delete"], "log delete [OPTIONS] [ID]...", "ID  The conversations."),
        (["runs", "approve"], "runs approve [OPTIONS] RUN [CALL]", "CALL  The id of the call"),
        (["templates", "show"], "templates show [OPTIONS] NAME", "NAME  The template."),
    ],
)
def test_help_names_arguments_plainly(command: list[str], usage: str, argument: str):
    text = CliRunner().invoke(app, [*command, "--help"], prog_name="toolspeak").output
    assert text.startswith(f"Usage: toolspeak {usage}\n")
    assert f"\n  {argument}" in text


@pytest.mark.parametrize("options", [ConversationOptions, EvalOptions, ServeOptions])
def test_each_option_of_a_command_with_headings_has_one(options: Any):
    named = [name for names in options.GROUPS.values() for name in names.split()]
    declared = {each.name for each in fields(options)} - {"prompt", "trust_project", "remembered_tools"}
    assert sorted(named) == sorted(declared)


def test_a_generator_that_raises_is_a_call_that_failed(folder: Path):
    (folder / "rows.py").write_text(
        'def rows() -> list[int]:\n    "List rows."\n    yield 1\n    raise ValueError("cut")\n'
    )
    done = run(folder, "call", "rows.py", "rows")
    assert (done.returncode, done.stdout) == (1, "ValueError: cut\n")
    assert "rows failed: ValueError: cut" in done.stderr


def test_the_installed_command_works(folder: Path):
    command = Path(sys.executable).with_name("toolspeak")
    done = subprocess.run([command, "call", "pkg", "inside"], cwd=folder, capture_output=True, text=True, timeout=80)
    assert (done.returncode, done.stdout) == (0, "1\n")


def test_the_cost_of_tools_and_what_a_budget_cuts(folder: Path):
    tools = [f'def thing_{n}(place: str) -> str:\n    """Does the thing number {n}."""\n' for n in range(30)]
    (folder / "things.py").write_text("\n".join([*tools, 'def mail(to: str) -> str:\n    """Send a mail."""\n']))

    whole = run(folder, "tools", "things.py", "--tool-budget", "9000")
    picked = run(folder, "tools", "things.py", "--tool-budget", "400", "--prompt", "Send Anna a mail.")

    assert whole.returncode == picked.returncode == 0
    head, *rows = [line.split() for line in whole.stdout.splitlines()[:5]]
    assert head == ["dialect", "tokens", "budget", "whole", "cut", "left", "out"]
    assert [row[0] for row in rows] == ["native", "json", "typescript", "python"]
    assert all(row[1] == row[2] and row[3:] == ["31", "0", "0"] for row in rows)
    assert "python: everything is shown whole" in whole.stdout
    cut = [line.split() for line in picked.stdout.splitlines()[1:5]]
    assert all(int(row[2]) <= 400 < int(row[1]) for row in cut)
    found = [
        line for line in picked.stdout.splitlines() if line.endswith("; the model finds the others with find_tools")
    ]
    assert len(found) == 4
    assert all(": shown are mail;" in line for line in found)


def test_how_tools_rank_for_a_request_and_which_are_nearly_alike(folder: Path):
    about = '"""Send a mail to somebody."""'
    (folder / "mails.py").write_text(
        f'def get_weather(city: str) -> str:\n    """The weather in a city."""\n\n'
        f"def send_mail(to: str) -> str:\n    {about}\n\ndef do_send_mail(to: str) -> str:\n    {about}\n"
    )

    found = run(folder, "tools", "mails.py", "--find", "Wie wird das Wetter?")
    by_words = run(folder, "tools", "mails.py", "--find", "a mail to Anna")

    assert found.returncode == by_words.returncode == 0
    first = found.stdout.splitlines()[0].split()
    assert first[:3] == ["1", "get_weather", "meaning,"]
    assert "words, place 1: mail; meaning, place " in by_words.stdout.splitlines()[0]
    assert "warning: hardly a word tells send_mail and do_send_mail apart; describe what only one does" in found.stdout


@pytest.mark.parametrize(
    "words",
    [[], ["--help"], ["chat", "--help"], ["runs", "--help"], ["runs", "list", "--help"], ["chta"], ["mcp", "x"]],
)
def test_help_and_errors_are_the_same_if_only_named_commands_are_built(words: list[str]):
    whole, selected = (CliRunner().invoke(each, words) for each in (app, select_commands(words)))
    assert (selected.exit_code, selected.output) == (whole.exit_code, whole.output)


def test_a_command_that_is_not_named_is_listed_without_its_parameters():
    whole, selected = get_group(app), get_group(select_commands(["runs", "list"]))
    assert list(selected.commands) == list(whole.commands)
    assert len(selected.commands["chat"].params) < len(whole.commands["chat"].params)
    assert get_group(select_commands(["chat"])).commands["chat"].params[0].name == whole.commands["chat"].params[0].name


def test_a_shell_that_completes_words_knows_all_commands(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("_TOOLSPEAK_COMPLETE", "complete_bash")
    assert select_commands([]) is app
