"""`toolspeak chat`, through a real pseudo-terminal and through a pipe."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminal import BACKSPACE, CTRL_C, CTRL_D, ENTER, ESCAPE, LEFT, UP, Terminal, environment, terminal
from tests.models.server import Server, answers, plays
from toolspeak import codec
from toolspeak.messages import Message
from toolspeak.testing import ScriptedReply, calls, says

ALLOW = "allow it? [y]es once, [a]lways, [n]o:"


@contextmanager
def chatting(folder: Path, server: Server, *arguments: str, **options: Any) -> Iterator[Terminal]:
    with terminal(folder, "chat", "--model", f"{server.url}/v1#scripted", *arguments, **options) as screen:
        screen.asks("You:")
        yield screen


def piped(folder: Path, server: Server, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "toolspeak.cli", "chat", "--model", f"{server.url}/v1#scripted", *arguments]
    env = environment(folder)
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=25, input=text)


def asked(server: Server, number: int = -1) -> list[str]:
    """What the model was shown of the conversation."""
    return [message["content"] for message in server.posts[number].body["messages"]]


# In a terminal


def test_a_conversation(folder: Path, server: Server):
    script = [
        calls(("weather", {"city": "Oslo"})),
        says("It is **cold** in Oslo."),
        says("Paris is\n\n- warm\n- `far`"),
    ]
    server.plays(plays(script, "python"))
    with chatting(folder, server, "--tools", "sky.py", "--dialect", "python") as screen:
        assert screen.text.splitlines()[0].endswith(":scripted · python dialect · 4 tools")
        screen.says("How is Oslo?")
        screen.until("It is cold in Oslo.")
        screen.says("And Paris?")
        screen.until("• far")
        screen.says("/why")
        screen.until("nothing was called in the last answer")
        lines = screen.text.splitlines()
        asking = lines.index("You: How is Oslo?")
        assert lines[asking + 1 : asking + 3] == ['tool: weather(city="Oslo")', "asking the sky"]
        assert '→ {"city": "Oslo", "temperature": -3.5}  0.' in lines[asking + 3]
        assert lines[asking + 4] == "assistant: It is cold in Oslo."
        said = lines.index("assistant: Paris is")
        assert lines[said : said + 4] == ["assistant: Paris is", "", "• warm", "• far"]
        assert screen.style_of("You:")[1]
        assert screen.style_of("assistant:") == ("brown", True)
        assert screen.style_of("tool:") == ("green", True)
        assert screen.style_of("cold in") == ("default", True)
        screen.types(CTRL_D)
        assert screen.ends() == 0
    assert asked(server)[-2:] == ["It is **cold** in Oslo.", "And Paris?"]


def test_why_a_call_was_read_so(folder: Path, server: Server):
    text = "I look.\n<tool_call>{'name': 'weather', 'arguments': {'city': 'Oslo'}}</tool_call>"
    server.plays(plays([says(text), says("Cold."), says('<tool_call>{"name": "launch", "arg'), says("Well.")]))
    with chatting(folder, server, "--tools", "sky.py", "--dialect", "json") as screen:
        screen.says("How is Oslo?")
        screen.until("Cold.")
        screen.says("/why")
        screen.until("repair: syntax (slips of syntax were mended)")
        assert "turn 1, json dialect" in screen.text
        assert "│ <tool_call>{'name': 'weather'" in screen.text
        assert 'call weather(city="Oslo")' in screen.text
        screen.says("Again!")
        screen.until("a call could not be read: the message ended inside the call")
        screen.until("Well.")
        screen.says("/why")
        screen.until("not a call without a name: the message ended inside the call")


def test_lines_are_edited_and_remembered(folder: Path, server: Server):
    server.plays(plays([says("one."), says("two."), says("three.")]))
    with chatting(folder, server) as screen:
        screen.types(f"hallo{LEFT}{LEFT}{LEFT}{LEFT}{BACKSPACE}j")
        screen.until("You: jallo")
        screen.types(ENTER)
        screen.until("one.")
        screen.asks("You:")
        screen.types(f"first{ESCAPE}{ENTER}second\\{ENTER}third")
        screen.until("… third")
        screen.types(ENTER)
        screen.until("two.")
        assert asked(server)[-1] == "first\nsecond\nthird"
        screen.says("quit")
        assert screen.ends() == 0
    kept = folder / ".cache" / "toolspeak" / "history"
    assert "+jallo" in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0
    with chatting(folder, server) as screen:
        screen.types(UP * 5)  # two of them within the entry of three lines
        screen.until("You: jallo")


def test_ctrl_c_stops_the_answer_and_not_the_program(folder: Path, server: Server):
    server.plays(plays([ScriptedReply(text="It is cold, and", lingers=20), says("Fine.")], "native"))
    with chatting(folder, server, "--dialect", "native") as screen:
        screen.says("How is Oslo?")
        screen.until("assistant: It is cold")
        begun = time.monotonic()
        screen.types(CTRL_C)
        screen.until("stopped")
        screen.asks("You:")
        assert time.monotonic() - begun < 10
        screen.says("Go on.")
        screen.until("Fine.")
        assert asked(server) == ["How is Oslo?", "It is cold, and", "Go on."]
        screen.asks("You:")
        screen.types("half a th")
        screen.until("half a th")
        screen.types(CTRL_C)
        screen.asks("You:")
        assert "leaves" not in screen.text.splitlines()[-2]
        screen.types(CTRL_C)
        screen.until("Ctrl-D or /quit leaves")
        screen.asks("You:")
        screen.says("/quit")
        assert screen.ends() == 0


def test_ctrl_c_while_a_tool_runs(folder: Path, server: Server):
    server.plays(plays([calls(("wait", {"seconds": 25})), says("Fine.")]))
    with chatting(folder, server, "--tools", "sky.py") as screen:
        screen.says("Wait!")
        screen.until("running wait, ")
        screen.types(CTRL_C)
        screen.until("stopped")
        assert "running" not in screen.text
        screen.says("Well?")
        screen.until("Fine.")


def test_approval_is_asked_in_the_conversation(folder: Path, server: Server):
    def launch(name: str) -> ScriptedReply:
        return calls(("launch", {"rocket": name, "plan": "up\n  then down"}))

    server.plays(
        plays([launch("A"), says("1."), launch("B"), says("2."), launch("C"), says("3."), launch("D"), says("4.")])
    )
    with chatting(folder, server, "--tools", "sky.py") as screen:
        screen.says("A!")
        screen.until("launch needs your yes")
        screen.asks(ALLOW)
        lines = screen.text.splitlines()
        assert lines[-5:-1] == ["  rocket: A", "  plan:", "    up", "      then down"]
        screen.types("perhaps" + ENTER)
        screen.until("answer y, a or n")
        screen.says("no", ALLOW)
        screen.says("it rains", "why not? (the model is told; Enter to say nothing)")
        screen.until("launch was refused: it rains")
        screen.says("B!")
        screen.says("y", ALLOW)
        screen.until("→ B is flying")
        screen.says("C!")
        screen.says("always", ALLOW)
        screen.until("→ C is flying")
        screen.says("D!")
        screen.until("→ D is flying")
        screen.until("assistant: 4.")


def test_a_yes_is_for_one_call(folder: Path, server: Server):
    server.plays(plays([calls(("launch", {"rocket": "A"})), says("1.")]))
    with chatting(folder, server, "--tools", "sky.py") as screen:
        screen.says("A!")
        screen.says("y", ALLOW)
        screen.until("→ A is flying")
        screen.says("/clear")
        screen.says("A!")
        screen.asks(ALLOW)  # though the call has the name, the arguments and the id of the other


def test_ctrl_c_instead_of_an_approval_stops_the_run(folder: Path, server: Server):
    server.plays(plays([calls(("launch", {"rocket": "A"})), says("Fine.")]))
    with chatting(folder, server, "--tools", "sky.py") as screen:
        screen.says("A!")
        screen.asks(ALLOW)
        screen.types(CTRL_C)
        screen.until("stopped")
        screen.says("Well?")
        screen.until("Fine.")
        assert "flying" not in screen.text


def test_a_narrow_window_loses_nothing(folder: Path, server: Server):
    long = "A **rather long** answer, with Donaudampfschifffahrtsgesellschaftskapitän and https://example.com/a/b/c/d.\n\n- one two three four five six"
    server.plays(
        plays([calls(("weather", {"city": "Oslo"})), says(long), calls(("launch", {"rocket": "A"})), says("Up.")])
    )
    with chatting(folder, server, "--tools", "sky.py", columns=20, lines=60) as screen:
        screen.says("How is Oslo?")
        screen.until("six")
        screen.asks("You:")
        lines = screen.text.splitlines()
        begin = next(number for number, line in enumerate(lines) if line.startswith("assistant:"))
        assert lines[begin : begin + 11] == [
            "assistant: A rather", "long answer, with", "Donaudampfschifffahr", "tsgesellschaftskapit", "än and",
            "https://example.com/", "a/b/c/d.", "", "• one two three four", "  five six", "",
        ]  # fmt: skip
        assert 'tool: weather(city="Oslo")' in "".join(lines)
        screen.types("Fly!" + ENTER)
        screen.until("needs your")
        screen.until("[n]o:")
        screen.types("y" + ENTER)
        screen.until("Up.")


def test_save_and_load(folder: Path, server: Server):
    server.plays(plays([calls(("weather", {"city": "Oslo"})), says("Cold."), says("Once.")]))
    with chatting(folder, server, "--tools", "sky.py") as screen:
        screen.says("How is Oslo?")
        screen.until("Cold.")
        screen.says("/save talk.jsonl")
        screen.until("4 messages saved in talk.jsonl")
        screen.says("/clear")
        screen.until("forgotten")
        screen.says("/load talk.jsonl")
        screen.until("4 messages read from talk.jsonl")
        screen.says("How often did I ask?")
        screen.until("Once.")
    messages = codec.load_messages((folder / "talk.jsonl").read_text())
    assert all(isinstance(message, Message) for message in messages)
    assert [message.role for message in messages if isinstance(message, Message)] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert len(server.posts[-1].body["messages"]) == len(messages) + 2  # the tools are told before, the question after
    assert [path.name for path in folder.iterdir() if path.name.startswith(".talk")] == []


def test_the_model_the_dialect_and_the_system_prompt_can_change(folder: Path, server: Server):
    server.plays(plays([says("one."), says("two.")]))
    with chatting(folder, server, "--system", "Be brief.") as screen:
        screen.says("Hello.")
        screen.until("one.")
        screen.says("/dialect")
        screen.until("python (there are: native, json, typescript, python, and auto")
        screen.says("/dialect native")
        screen.until(":scripted · native dialect · no tools")
        screen.says(f"/model {server.url}/v1#other")
        screen.until(":other · native dialect · no tools")
        screen.says("/system Be long.")
        screen.until("told this from now on")
        screen.says("/model nobody:x")
        screen.until("'nobody")
        screen.says("/dialect klingon")
        screen.until("there is no dialect 'klingon'")
        screen.says("Again.")
        screen.until("two.")
        assert asked(server) == ["Be long.", "Hello.", "one.", "Again."]
        assert server.posts[-1].body["model"] == "other"


@pytest.mark.parametrize("leaving", [["/quit", ENTER], ["exit", ENTER], [ENTER, ENTER], [CTRL_D]])
def test_ways_to_leave(folder: Path, server: Server, leaving: list[str]):
    with chatting(folder, server) as screen:
        for key in leaving:
            screen.types(key)
        assert screen.ends() == 0
        assert "Traceback" not in screen.text


def test_weights_that_are_missing_are_offered(folder: Path):
    with terminal(folder, "chat") as screen:
        screen.until("toolspeak pull")
        screen.says("n", "pull them now? [y]es, [n]o:")
        assert screen.ends() == 1


# Through a pipe


def test_a_pipe_gets_plain_lines(folder: Path, server: Server):
    server.plays(plays([calls(("weather", {"city": "Oslo"})), says("It is **cold**\nin Oslo."), says("two.")]))
    done = piped(folder, server, "How is\\\nOslo?\n/nonsense\nAgain.\n", "--tools", "sky.py")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout + done.stderr
    assert "You:" not in done.stdout
    lines = done.stdout.splitlines()
    assert lines[0].endswith(":scripted · python dialect · 4 tools")
    assert 'tool: weather(city="Oslo")' in lines
    assert lines[-4:] == [
        "assistant: It is **cold**",
        "in Oslo.",
        "there is no command /nonsense; /help lists them",
        "assistant: two.",
    ]
    assert asked(server)[1] == "How is\nOslo?"


def test_commands_through_a_pipe(folder: Path, server: Server):
    server.plays(plays([says("one.")]))
    (folder / "broken.jsonl").write_text("{}\n")
    text = "/help\n/tools\n/model\n/system\n/sav x\n/save\n/load nowhere\n/load broken.jsonl\n/why\n/clear now\n/etc/hosts is what?\n/quit\nno more\n"
    done = piped(folder, server, text, "--tools", "sky.py")
    assert done.returncode == 0
    told = [
        "/save FILE       keep what was said in a file",
        "4 tools in this conversation",
        "nothing is said before everything else",
        "there is no command /sav; did you mean /save? /help lists them",
        "/save takes a file, such as /save talk.jsonl",
        "cannot read nowhere: No such file or directory",
        "broken.jsonl, line 1: saved in version None",
        "nothing was called in the last answer",
        "/clear takes nothing",
        "assistant: one.",
    ]
    for line in told:
        assert line in done.stdout
    assert len(server.posts) == 1


def test_through_a_pipe_nobody_can_allow_a_call(folder: Path, server: Server):
    server.plays(plays([calls(("launch", {"rocket": "A"})), says("Well."), says("Yes what?")]))
    done = piped(folder, server, "A!\ny\n\n\nno more\n", "--tools", "sky.py")
    assert done.returncode == 0
    assert "launch was refused: nobody is here to allow it" in done.stdout
    assert "flying" not in done.stdout


def test_an_endpoint_that_fails_is_told_and_the_conversation_goes_on(folder: Path, server: Server):
    server.plays(answers(401, {"error": {"message": "no such key"}}), plays([says("one.")]))
    done = piped(folder, server, "Hello?\nHello!\n")
    assert done.returncode == 0
    assert "no such key" in done.stdout
    assert done.stdout.endswith("assistant: one.\n")
    assert asked(server)[-1] == "Hello!"
    assert "Hello?" not in asked(server)
