"""`toolspeak run`, as a script runs it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from tests.cli.commands import Done, run_command
from tests.cli.terminal import CTRL_C, environment, terminal
from tests.models.server import Act, Server, answers, plays, streams
from toolspeak import codec
from toolspeak.cli.app import app
from toolspeak.cli.format import format_tool_bug
from toolspeak.testing import ScriptedReply, calls, says
from toolspeak.values.errors import UsageError
from toolspeak.values.events import RunEnded, RunStarted

WEATHER = [calls(("weather", {"city": "Oslo"}), ("weather", {"city": "Bergen"})), says("It is **cold** in Oslo.")]
LAUNCH = [calls(("launch", {"rocket": "V2"})), says("Done.")]


def at(server: Server) -> list[str]:
    return ["--model", f"{server.url}/v1#scripted"]


def run(
    folder: Path, server: Server, *arguments: str, stdin: str | None = "", model: str = "", **variables: str
) -> Done:
    chosen = ["--model", model] if model else at(server)
    return run_command("run", *arguments, *chosen, cwd=folder, env=environment(folder, **variables), stdin=stdin)


@pytest.mark.parametrize("dialect", ["native", "python"])
def test_the_answer_goes_to_standard_output_and_the_rest_to_standard_error(folder: Path, server: Server, dialect: str):
    server.plays(plays(WEATHER, dialect))
    done = run(folder, server, "How is Oslo?", "--tools", "sky.py", "--dialect", dialect)
    assert (done.returncode, done.stdout) == (0, "It is **cold** in Oslo.\n")
    assert "\x1b" not in done.stderr
    lines = done.stderr.splitlines()
    assert lines[0] == f"{server.url.removeprefix('http://')}:scripted · {dialect} dialect · 4 tools"
    assert 'tool: weather(city="Oslo")' in lines
    assert 'tool: weather(city="Bergen")' in lines
    assert "asking the sky" in lines  # what a tool prints
    assert any(line.startswith('  weather(city="Oslo") → {"city": "Oslo", "temperature": -3.5}  0.') for line in lines)
    failed = next(index for index, line in enumerate(lines) if line.startswith('  weather(city="Bergen") ✗ KeyError'))
    assert lines[failed + 1] == "toolspeak: weather failed: KeyError: 'Bergen' (sky.py, line 16)"
    assert " written · " not in done.stderr  # what the answer took is for terminals


def test_text_before_a_call_is_not_the_answer(folder: Path, server: Server):
    server.plays(plays([calls(("weather", {"city": "Oslo"}), text="Let me see."), says("Cold.")]))
    done = run(folder, server, "How is Oslo?", "--tools", "sky.py")
    assert done.stdout == "Cold.\n"
    assert "assistant: Let me see.\n" in done.stderr


def test_events_as_json_can_be_read_back(folder: Path, server: Server):
    server.plays(plays(WEATHER, "python"))
    done = run(folder, server, "How is Oslo?", "--tools", "sky.py", "--dialect", "python", "--json")
    assert done.returncode == 0
    assert "asking the sky" in done.stderr
    assert "toolspeak: weather failed: KeyError: 'Bergen' (sky.py, line 16)\n" in done.stderr
    events: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    facts = [codec.decode(event) for event in events if not event["kind"].endswith("_delta")]
    assert isinstance(facts[0], RunStarted)
    assert facts[-1] == RunEnded(reason="answered")
    assert (
        "".join(event["text"] for event in events if event["kind"] == "text_delta").strip() == "It is **cold** in Oslo."
    )
    said = [event for event in events if event["kind"] == "args_delta"]
    assert {event["v"] for event in events} == {codec.FORMAT}
    assert json.loads("".join(each["text"] for each in said if each["call_id"] == said[0]["call_id"])) == {
        "city": "Oslo"
    }


def test_a_bug_that_a_library_raises_is_shown_with_the_line_of_the_tool():
    try:
        json.loads("{")
    except ValueError as error:
        line = format_tool_bug("read", error)
    assert re.fullmatch(
        r"read failed: JSONDecodeError: .*decoder.py, line \d+, called in .*test_run.py, line \d+\)", line
    )


def test_debug_prints_the_log(folder: Path, server: Server):
    server.plays(plays(WEATHER))
    done = run(folder, server, "How is Oslo?", "--tools", "sky.py", "--dialect", "native", "--debug")
    assert (done.returncode, done.stdout) == (0, "It is **cold** in Oslo.\n")
    assert f"DEBUG POST {server.url}/v1/chat/completions: 200 after " in done.stderr
    assert "WARNING tool weather failed" in done.stderr
    assert "TEMPERATURES[city]" in done.stderr
    assert "KeyError: 'Bergen'" in done.stderr


def test_options_reach_the_model(folder: Path, server: Server):
    server.plays(plays([calls(("weather", {"city": "Oslo"})), says("Cold.")]))
    done = run(
        folder, server, "How is Oslo?", "--tools", "sky.py:weather", "--tools", "sky.py:wait", "--system", "Be brief.",
        "--tool-choice", "weather", "--dialect", "native",
    )  # fmt: skip
    assert done.returncode == 0
    body = server.posts[0].body
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How is Oslo?"},
    ]
    assert [tool["function"]["name"] for tool in body["tools"]] == ["weather", "wait"]
    assert body["tool_choice"] == {"type": "function", "function": {"name": "weather"}}


def test_the_first_line_names_the_dialect_that_the_server_supports(folder: Path, server: Server):
    server.plays(plays([says("Cold.")]))
    server.abilities["/props"] = answers(body={"chat_template_caps": {"supports_tools": True}})
    done = run(folder, server, "How is Oslo?", "--tools", "sky.py")
    assert done.returncode == 0
    assert ":scripted · native dialect · 4 tools\n" in done.stderr
    assert len(server.posts[0].body["tools"]) == 4


def test_a_guessed_dialect_is_named_as_one_only_where_it_matters(folder: Path, server: Server):
    server.plays(plays([says("Cold.")]))
    done = run(folder, server, "How is Oslo?")
    assert ":scripted · python dialect · no tools\n" in done.stderr
    done = run(folder, server, "How is Oslo?", "--tools", "sky.py")
    assert (
        "python dialect (a guess for an unknown model; --dialect or toolspeak calibrate settles it) · 4" in done.stderr
    )


def test_the_dialect_of_an_endpoint_wins_over_that_of_all_models(folder: Path, server: Server):
    server.plays(plays([says("Cold.")]))
    own = folder / ".config" / "toolspeak" / "config.toml"
    own.parent.mkdir(parents=True)
    endpoints = [f'[endpoints.{name}]\nbase_url = "{server.url}/v1"\n' for name in ("plain", "own")]
    own.write_text('dialect = "json"\n' + endpoints[0] + endpoints[1] + 'dialect = "typescript"\n')
    for model, arguments, dialect in (
        ("plain:x", [], "json"),
        ("own:x", [], "typescript"),
        ("own:x", ["--dialect", "python"], "python"),
        ("plain:x", ["--dialect", "auto"], "python"),
    ):
        done = run(folder, server, "How is Oslo?", *arguments, model=model)
        assert f"{model} · {dialect} dialect · no tools\n" in done.stderr


def test_options_that_are_left_out_come_from_the_settings(folder: Path, server: Server):
    server.plays(plays(WEATHER, "python"))
    (folder / "toolspeak.toml").write_text('dialect = "python"\ntools = ["./sky.py"]\n[limits]\nturns = 1\n')
    done = run(folder, server, "How is Oslo?", "--trust-project")
    assert done.returncode == 1
    assert "python dialect · 4 tools" in done.stderr
    assert "stopped (limit)" in done.stderr
    assert run(folder, server, "How is Oslo?", "--max-turns", "2", "--trust-project").returncode == 0


def test_a_record_is_for_its_owner_alone(folder: Path, server: Server):
    server.plays(plays([says("Yes.")]))
    assert run(folder, server, "Is it cold?", "--record", "run.jsonl").returncode == 0
    assert (folder / "run.jsonl").stat().st_mode & 0o777 == 0o600


# Where the prompt comes from


@pytest.mark.parametrize("arguments", [[], ["-"]])
def test_the_prompt_can_come_from_standard_input(folder: Path, server: Server, arguments: list[str]):
    server.plays(plays([says("Yes.")]))
    done = run(folder, server, *arguments, stdin="Is it\ncold?\n")
    assert (done.returncode, done.stdout) == (0, "Yes.\n")
    assert server.posts[0].body["messages"][-1]["content"] == "Is it\ncold?"


@pytest.mark.parametrize(
    ("piped", "sent"),
    [
        ("first note\nsecond note\n", "Summarise this.\n\nfirst note\nsecond note"),
        ("  indented\n\n", "Summarise this.\n\n  indented"),
        ("", "Summarise this."),
        ("\n \n", "Summarise this."),
    ],
)
def test_piped_text_follows_the_prompt(folder: Path, server: Server, piped: str, sent: str):
    server.plays(plays([says("Yes.")]))
    assert run(folder, server, "Summarise this.", stdin=piped).returncode == 0
    assert server.posts[0].body["messages"][-1]["content"] == sent


@pytest.mark.slow
def test_the_text_of_a_slow_command_is_waited_for(folder: Path, server: Server):
    server.plays(plays([says("Yes.")]))
    command = [sys.executable, "-m", "toolspeak.cli", "run", "Is it cold?", *at(server)]
    with subprocess.Popen(
        command, cwd=folder, env=environment(folder), stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        assert "waiting for standard input" in process.stderr.readline()
        process.stdin.write("It is -3.\n")
        answer, _ = process.communicate(timeout=60)
    assert (process.returncode, answer) == (0, "Yes.\n")
    assert server.posts[0].body["messages"][-1]["content"] == "Is it cold?\n\nIt is -3."


def test_a_pipe_without_text_is_told(folder: Path, server: Server):
    done = subprocess.run(
        [sys.executable, "-m", "toolspeak.cli", "run", "What is this?", *at(server)],
        cwd=folder, env=environment(folder), capture_output=True, timeout=80, input=b"GIF89a\xff\x00",
    )  # fmt: skip
    assert done.returncode == 2
    assert b"standard input is not UTF-8 text (byte 6)" in done.stderr


# Exit codes


BEGINNING = b'data: {"id": "x", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "It is"}}]}\n\n'


def failing(status: int) -> Act:
    return answers(status, {"error": {"message": "no such key"}})


@pytest.mark.parametrize(
    ("act", "arguments", "code", "message"),
    [
        (plays([says("The rest is", finish="length")]), [], 1, "stopped (length)"),
        (plays([calls(("weather", {"city": "Oslo"}))] * 2), ["--max-turns", "1"], 1, "stopped (limit)"),
        (plays([calls(("weather", {"city": "Oslo"}))] * 9), [], 1, "stopped (loop)"),
        (failing(401), [], 3, "no such key"),
        (streams(BEGINNING, ending="close", framed=False), [], 3, "toolspeak: "),
        (plays(LAUNCH), [], 4, "paused: launch needs approval, and nobody can be asked here; to decide in a terminal: "
         "toolspeak run -c, or toolspeak chat -c; to allow it: toolspeak run -c --approve once (always allows "
         "this call and all that follow)\n"),
        (plays(LAUNCH), ["--approve", "ask", "--no-log"], 4, "run this again with --approve always\n"),
        (plays(LAUNCH), ["--approve", "always"], 0, '→ V2 is flying'),
        (plays(LAUNCH), ["--approve", "never"], 0, "launch was refused: calls of this tool are refused here"),
    ],
)  # fmt: skip
def test_exit_codes(folder: Path, server: Server, act: Act, arguments: list[str], code: int, message: str):
    server.plays(act)
    done = run(folder, server, "Go on.", "--tools", "sky.py", *arguments)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([""], "the prompt is empty"),
        (["-"], "the prompt is empty"),
        (["hi", "--max-turns", "0"], "--max-turns"),
        (["hi", "--dialect", "klingon"], "there is no dialect 'klingon'"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(folder: Path, server: Server, arguments: list[str], message: str):
    done = run(folder, server, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("toolspeak: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert not server.posts


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tool-choice", "nobody"], "tool_choice: there is no tool 'nobody'"),
        (["--tool-choice", ","], "--tool-choice is auto, none, required"),
        (["--tool-choice", "required"], "there are no tools"),
        (["--tools", "nowhere.py"], "there is no file nowhere.py"),
        (["--tools", "sky.py", "--tools", "sky.py"], "two tools are called 'weather'"),
        (["--record", "no/such/folder/x"], "cannot write no/such/folder/x"),
        (["--model", "nobody:x"], "'nobody"),
    ],
)
def test_each_wrong_option_has_its_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
):
    monkeypatch.chdir(folder)
    given = arguments if "--model" in arguments else [*arguments, "--model", "http://127.0.0.1:9/v1#x"]
    with pytest.raises(UsageError, match=re.escape(message)):
        app(["run", "hi", *given], standalone_mode=False)


def test_missing_weights_are_an_error_that_names_toolspeak_pull(folder: Path):
    command = [sys.executable, "-m", "toolspeak.cli", "run", "hi"]
    done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=80)
    assert done.returncode == 2
    assert "toolspeak pull" in done.stderr


def test_an_interrupt_ends_the_run_with_130(folder: Path, server: Server):
    server.plays(plays([ScriptedReply(text="It is c", lingers=80)]))
    command = [sys.executable, "-m", "toolspeak.cli", "run", "hi", "--json", *at(server)]
    env = environment(folder)
    with subprocess.Popen(
        command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as made:
        assert made.stdout
        lines = [made.stdout.readline() for _ in range(3)]
        assert "text_delta" in lines[-1]
        made.send_signal(signal.SIGINT)
        rest = made.stdout.read().splitlines()
        assert made.wait(60) == 130
    assert codec.decode(json.loads(rest[-1])) == RunEnded(reason="cancelled")


def test_a_closed_pipe_is_no_error(folder: Path, server: Server):
    server.plays(plays(WEATHER))
    command = f"{sys.executable} -m toolspeak.cli run hi --tools sky.py --json {' '.join(at(server))} | head -1"
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=80
    )
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr


# In a terminal


def test_in_a_terminal_everything_is_drawn_in_order(folder: Path, server: Server):
    server.plays(plays(WEATHER))
    with terminal(folder, "run", "How is Oslo?", "--tools", "sky.py", *at(server)) as screen:
        assert screen.wait_for_exit() == 0
        lines = screen.text.splitlines()
        calls_shown = [line for line in lines if line.startswith("tool:")]
        assert [line.partition(" ✗ ")[0].partition(" → ")[0] for line in calls_shown] == [
            'tool: weather(city="Oslo")',
            'tool: weather(city="Bergen")',
        ]
        assert lines.count("asking the sky") == 2
        assert lines[-2] == "assistant: It is cold in Oslo."
        assert re.fullmatch(r"\d+ tokens read, \d+ written · \d+\.\d s", lines[-1])
        assert screen.style_of("tool:") == ("green", True)
        assert screen.style_of("assistant:") == ("brown", True)
        assert screen.style_of("cold in") == ("default", True)
        assert screen.style_of("in Oslo") == ("default", False)


@pytest.mark.parametrize(
    ("answer", "message"), [("y", "→ V2 is flying"), ("n too early", "launch was refused: too early")]
)
def test_in_a_terminal_approval_is_asked(folder: Path, server: Server, answer: str, message: str):
    server.plays(plays(LAUNCH))
    with terminal(folder, "run", "Launch it!", "--tools", "sky.py", *at(server)) as screen:
        screen.wait_for("launch needs your approval")
        screen.reply(answer, "allow it? [y]es once, [a]lways, [n]o:")
        assert screen.wait_for_exit() == 0
        assert message in screen.text
        assert "\nassistant: Done.\n" in screen.text


def test_in_a_terminal_ctrl_c_stops_the_run(folder: Path, server: Server):
    server.plays(plays([ScriptedReply(text="It is cold ", lingers=80)]))
    with terminal(folder, "run", "How is Oslo?", *at(server)) as screen:
        screen.wait_for("It is cold")
        screen.type(CTRL_C)
        begun = time.monotonic()
        assert screen.wait_for_exit() == 130
        assert time.monotonic() - begun < 30
        assert screen.text.endswith("assistant: It is cold^C\nstopped")


def test_what_a_tool_returns_cannot_move_the_cursor(folder: Path, server: Server):
    server.plays(plays([calls(("escape", {})), says("a\x1b[2Jb")]))
    with terminal(folder, "run", "Go on.", "--tools", "sky.py", *at(server)) as screen:
        assert screen.wait_for_exit() == 0
        assert "→ \\x1b[2J\\x1b[31mred\\x07 \\u202eright to left" in screen.text
        assert "assistant: a\\x1b[2Jb" in screen.text
        assert "\x1b[2J" not in screen.raw


def test_no_color_is_respected(folder: Path, server: Server):
    server.plays(plays(WEATHER))
    env = environment(folder, NO_COLOR="1")
    with terminal(folder, "run", "How is Oslo?", "--tools", "sky.py", *at(server), env=env) as screen:
        assert screen.wait_for_exit() == 0
        assert screen.style_of("tool:") == ("default", True)


def test_the_environment_of_these_tests_is_clean():
    assert not any(name.startswith("TOOLSPEAK_") for name in environment(Path(os.sep)))
