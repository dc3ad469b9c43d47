"""Templates, `-o` and `-x`: what they mean, and that they reach the model."""

import json
from pathlib import Path

import pytest

from tests.cli.commands import Done, run_command
from tests.cli.terminal import environment
from tests.models.server import Server, plays
from toolspeak.cli.agent_config import parse_sampling
from toolspeak.cli.run import extract_code
from toolspeak.models import Sampling
from toolspeak.testing import calls, says
from toolspeak.values.codec import decode
from toolspeak.values.errors import UsageError
from toolspeak.values.events import RunStarted
from toolspeak.values.messages import list_stretches


def run(folder: Path, server: Server, *arguments: str, stdin: str = "") -> Done:
    model = f"{server.url}/v1#scripted"
    return run_command("run", *arguments, "--model", model, cwd=folder, env=environment(folder), stdin=stdin)


def write_template(folder: Path, name: str, text: str) -> None:
    file = folder / ".config" / "toolspeak" / "templates" / f"{name}.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("no code", None),
        ("```\na\n```", "a\n"),
        ("one:\n```js\na\n```\ntwo:\n~~~\nb\n\nc\n~~~\nend", "b\n\nc\n"),
        ("````\n```\ninner\n```\n````", "```\ninner\n```\n"),
        ("- item\n  ```py\n  if x:\n      y\n  ```", "if x:\n    y\n"),
        ("cut off:\n```\na\nb", "a\nb\n"),
        ("```not a fence``` in a line", None),
        ("```\n```", ""),
    ],
)
def test_the_last_code_block_is_found(text: str, code: str | None):
    assert extract_code(text) == code


def test_options_of_sampling_are_read():
    pairs = ["temperature=0", "max_tokens=5", "top_p=0.5", "seed=-1", "stop=a=b", "stop=c", "extra.k=[1]", "extra.t=x"]
    assert parse_sampling(pairs) == Sampling(
        temperature=0, max_tokens=5, top_p=0.5, seed=-1, stop=("a=b", "c"), extra={"k": [1], "t": "x"}
    )


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (
            "temprature=0",
            r"-o temprature: there is no such option; did you mean temperature\? there are temperature, max",
        ),
        ("temperature=warm", "-o temperature takes a number from 0, not 'warm'"),
        ("temperature=nan", "-o temperature takes a number from 0"),
        ("top_p=2", "-o top_p takes a number from 0 to 1"),
        ("max_tokens=0", "-o max_tokens takes a whole number, at least 1"),
        ("seed", "-o takes NAME=VALUE, such as temperature=0, not 'seed'"),
    ],
)
def test_wrong_options_of_sampling_are_refused(pair: str, message: str):
    with pytest.raises(UsageError, match=message):
        parse_sampling([pair])


def test_only_the_code_is_printed_and_options_reach_the_model(folder: Path, server: Server):
    server.plays(plays([says("Here:\n```python\nprint(1)\n```\nEnjoy.")]))
    done = run(folder, server, "Write code", "-x", "-o", "temperature=0", "-o", "extra.top_k=3")
    assert (done.returncode, done.stdout) == (0, "print(1)\n")
    body = server.posts[-1].body
    assert (body["temperature"], body["top_k"]) == (0, 3)


MANY_TOOLS = "".join(
    f"def report_{number}(year: int) -> str:\n    'Write the report number {number}. It lists a year.'\n    return 'r'\n"
    for number in range(60)
)


def name_tools(server: Server) -> list[str]:
    return [tool["function"]["name"] for tool in server.posts[0].body["tools"]]


def test_a_budget_of_tools_reaches_the_agent(folder: Path, server: Server):
    (folder / "many.py").write_text(MANY_TOOLS)
    server.plays(plays([calls(("find_tools", {"query": "report_59"})), says("Found.")]))
    done = run(folder, server, "Hi", "--tools", "many.py", "--tool-budget", "300", "--dialect", "native")
    assert (done.returncode, done.stdout) == (0, "Found.\n"), done.stderr
    assert name_tools(server)[-2:] == ["help", "find_tools"]
    assert len(name_tools(server)) < 20


def test_programs_call_the_functions(folder: Path, server: Server):
    pytest.importorskip("pydantic_monty", reason="code mode needs pydantic-monty")
    program = "print([weather(city=city) for city in ('Oslo', 'Rome')])"
    server.plays(plays([calls(("run_program", {"code": program})), says("Both are fine.")]))
    done = run(folder, server, "Hi", "--tools", "sky.py:weather", "--code", "--dialect", "native")
    assert (done.returncode, done.stdout) == (0, "Both are fine.\n"), done.stderr
    assert name_tools(server) == ["run_program"]
    assert "Oslo" in server.posts[1].body["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("options", "offered"),
    [
        ((), ["run_program"]),
        (("--no-code",), ["help", "find_tools"]),
        (("--no-code", "--tool-budget", "9000"), ["report_58", "report_59"]),
    ],
)
def test_settings_have_a_budget_and_programs(
    folder: Path, server: Server, options: tuple[str, ...], offered: list[str]
):
    pytest.importorskip("pydantic_monty", reason="code mode needs pydantic-monty")
    (folder / "many.py").write_text(MANY_TOOLS)
    settings = folder / ".config" / "toolspeak" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("tool_budget = 300\ncode = true\n")
    server.plays(plays([says("Hello.")]))
    done = run(folder, server, "Hi", "--tools", "many.py", "--dialect", "native", *options)
    assert (done.returncode, done.stdout) == (0, "Hello.\n"), done.stderr
    assert name_tools(server)[-2:] == offered


def test_a_chat_takes_a_budget_and_programs(folder: Path, server: Server):
    pytest.importorskip("pydantic_monty", reason="code mode needs pydantic-monty")
    (folder / "many.py").write_text(MANY_TOOLS)
    server.plays(plays([says("Hello.")]))
    options = ["--tools", "many.py", "--tool-budget", "300", "--code", "--dialect", "native"]
    model = f"{server.url}/v1#scripted"
    done = run_command("chat", *options, "--model", model, cwd=folder, env=environment(folder), stdin="Hi\n")
    assert done.returncode == 0, done.stderr
    [offered] = server.posts[0].body["tools"]
    assert "def find_tools(" in offered["function"]["description"]
    assert "def report_59(" not in offered["function"]["description"]


def test_an_answer_without_code_is_printed_whole(folder: Path, server: Server):
    server.plays(plays([says("I cannot.")]))
    done = run(folder, server, "Write code", "-x")
    assert (done.returncode, done.stdout) == (0, "I cannot.\n")
    assert "the answer has no code block, so all of it is printed" in done.stderr


def test_of_an_answer_that_was_cut_no_code_is_printed(folder: Path, server: Server):
    server.plays(plays([says("Here:\n```python\nprint(1", finish="length")]))
    done = run(folder, server, "Write code", "-x")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("so no code is printed; it begins:\nHere:\n```python\nprint(1\n")


def test_templates_are_listed_and_without_any_the_folder_is_named(folder: Path):
    none = run_command("templates", cwd=folder, env=environment(folder))
    assert (none.returncode, none.stdout) == (0, "")
    assert str(folder / ".config" / "toolspeak" / "templates" / "NAME.toml") in none.stderr
    write_template(folder, "review", 'prompt = "Review: $input"')
    some = run_command("templates", cwd=folder, env=environment(folder))
    assert (some.stdout, some.stderr) == ("review\n", "")


def test_a_template_brings_its_prompt_and_its_options(folder: Path, server: Server):
    write_template(
        folder,
        "review",
        'system = "You review $language."\nprompt = "Review for $$5:\\n$input"\ntools = ["../../../sky.py:weather"]\n'
        'dialect = "native"\n[options]\ntemperature = 0\nextra.top_k = 3\n[defaults]\nlanguage = "Python"\n',
    )
    server.plays(plays([says("Fine.")]))
    done = run(folder, server, "-t", "review", "-p", "language=Rust $input", stdin="fn main() {}")
    assert (done.returncode, done.stdout) == (0, "Fine.\n"), done.stderr
    body = server.posts[-1].body
    assert body["messages"] == [
        {"role": "system", "content": "You review Rust $input."},
        {"role": "user", "content": "Review for $5:\nfn main() {}"},
    ]
    assert (body["temperature"], body["top_k"]) == (0, 3)
    assert [tool["function"]["name"] for tool in body["tools"]] == ["weather"]


@pytest.mark.parametrize(
    ("arguments", "origins"),
    [
        (["Summarise this."], [("Summarise this.\n\n", "user"), ("a page", "attachment")]),
        (["-t", "review"], [("Review:\n", "user"), ("a page", "attachment"), ("\nNow.", "user")]),
        (["-"], [("a page", "user")]),
    ],
)
def test_piped_text_beside_a_prompt_is_not_what_the_user_has_written(
    folder: Path, server: Server, arguments: list[str], origins: list[tuple[str, str]]
):
    write_template(folder, "review", 'prompt = "Review:\\n$input\\nNow."')
    server.plays(plays([says("Yes.")]))
    done = run(folder, server, *arguments, "--json", stdin="a page\n")
    started = decode(next(data for data in map(json.loads, done.stdout.splitlines()) if data["kind"] == "run_started"))
    assert isinstance(started, RunStarted)
    assert [(text, origin.value) for text, origin in list_stretches(started.messages[-1])] == origins


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-t", "absent"], "there is no template 'absent'; there are: needy, open, wrong"),
        (["-t", "../config"], "there is no template '../config'"),
        (["-t", "needy"], "the template needy needs who; write -p who=…"),
        (["-t", "needy", "-p", "x=1"], "the template needy has no parameter 'x'; its parameters: who"),
        (["-t", "wrong"], "a template has no 'sistem'; did you mean system?"),
        (["-t", "open"], "the template open needs input; give it as the prompt, or pipe it into the command"),
        (["-t", "open", " "], "the template open needs input; "),
        (["-p", "x=1"], "-p is for a template; name it with -t"),
    ],
)
def test_wrong_templates_are_refused(folder: Path, server: Server, arguments: list[str], message: str):
    write_template(folder, "needy", 'prompt = "Greet $who."')
    write_template(folder, "open", 'prompt = "Review this: $input"')
    write_template(folder, "wrong", 'sistem = "x"')
    done = run(folder, server, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert server.posts == []
