"""The log of conversations, `-c` and `toolspeak log`, in real processes."""

import json
import os
import shlex
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import Done, run_command
from tests.cli.terminal import CTRL_D, environment, terminal
from tests.models.server import Server, answers, plays
from toolspeak import codec
from toolspeak.cli.record import read_record
from toolspeak.durable.log import ConversationStore
from toolspeak.testing import calls, says
from toolspeak.values.events import RunStarted
from toolspeak.values.messages import user


def toolspeak(folder: Path, *arguments: str, stdin: str = "", cwd: Path | None = None, **variables: str) -> Done:
    """Run a command with `folder` as the home folder."""
    return run_command(*arguments, cwd=cwd or folder, env=environment(folder, **variables), stdin=stdin)


def ask(folder: Path, server: Server, prompt: str, *arguments: str, **variables: str) -> Done:
    done = toolspeak(folder, "run", prompt, "--model", f"{server.url}/v1#scripted", *arguments, **variables)
    assert done.returncode == 0, done.stderr
    return done


def log_file(folder: Path) -> Path:
    return folder / ".local" / "share" / "toolspeak" / "log.sqlite"


def listed(folder: Path) -> list[dict[str, Any]]:
    return json.loads(toolspeak(folder, "log", "--json").stdout)


def sent(server: Server) -> list[Any]:
    return [(each["role"], each["content"]) for each in server.posts[-1].body["messages"]]


WEATHER = [calls(("weather", {"city": "Oslo"})), says("Cold."), says("Because it is north."), says("Yes.")]


# Continuing


def test_a_conversation_is_continued_with_its_model_tools_and_system_prompt(folder: Path, server: Server):
    server.plays(plays(WEATHER))
    ask(folder, server, "How is Oslo?", "--tools", "sky.py:weather", "-s", "Be brief.", "--dialect", "native")
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    done = toolspeak(folder, "run", "Why?", "-c", cwd=elsewhere)
    assert (done.returncode, done.stdout) == (0, "Because it is north.\n")
    assert ":scripted · native dialect · 1 tool · continues 5 messages" in done.stderr
    roles = ["system", "user", "assistant", "tool", "assistant", "user"]
    assert [role for role, _ in sent(server)] == roles
    assert sent(server)[0] == ("system", "Be brief.")
    assert [tool["function"]["name"] for tool in server.posts[-1].body["tools"]] == ["weather"]
    (entry,) = listed(folder)
    assert (entry["title"], entry["prompts"], entry["turns"]) == ("How is Oslo?", 2, 3)
    assert toolspeak(folder, "run", "Sure?", "--conversation", entry["id"][:6]).stdout == "Yes.\n"
    assert len(sent(server)) == 8
    assert listed(folder)[0]["prompts"] == 3


LAUNCH = [calls(("launch", {"rocket": "V2"})), says("It flies."), says("Far away."), says("Yes.")]


def pause(folder: Path, server: Server) -> None:
    """Let a run end with a call that waits for an approval."""
    server.plays(plays(LAUNCH))
    options = ["--tools", "sky.py", "-m", f"{server.url}/v1#scripted", "-s", "Be brief.", "--dialect", "native"]
    done = toolspeak(folder, "run", "Launch!", *options)
    assert done.returncode == 4


def test_a_call_that_waits_is_decided_where_the_conversation_goes_on(folder: Path, server: Server):
    pause(folder, server)
    (entry,) = listed(folder)
    for command, cure in (
        (
            ["run", "Where is it?", "--conversation", entry["id"]],
            f"toolspeak run --conversation {entry['id'][:8]} --app",
        ),
        (["chat", "-c"], "toolspeak run -c --approve once ("),
    ):
        again = toolspeak(folder, *command)
        assert (again.returncode, again.stdout) == (4, "")
        assert "paused: launch needs approval, and nobody can be asked here" in again.stderr
        assert cure in again.stderr
    assert len(server.posts) == 1
    assert "without --no-log" in toolspeak(folder, "run", "-c", "--no-log", "--approve", "always").stderr
    record = folder / "record.jsonl"
    done = toolspeak(folder, "run", "-c", "Where is it?", "--approve", "always", "--record", str(record))
    assert (done.returncode, done.stdout) == (0, "It flies.\nFar away.\n")
    assert 'launch(rocket="V2") → V2 is flying' in done.stderr
    assert [role for role, _ in sent(server)] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert ("tool", "V2 is flying") in sent(server)
    assert [each.fact.kind for each in read_record(record.read_text(), "")].count("run_started") == 2
    assert toolspeak(folder, "run", "Sure?", "-c").stdout == "Yes.\n"  # nothing waits any more
    assert len(sent(server)) == 8
    (entry,) = listed(folder)
    assert (entry["prompts"], entry["turns"]) == (3, 4)


def test_a_call_whose_tool_is_not_loaded_goes_on_waiting(folder: Path, server: Server):
    pause(folder, server)
    change_code(folder / "sky.py")
    for command in (["run", "-c", "--approve", "always"], ["run", "-c", "--approve", "once"], ["chat", "-c"]):
        done = toolspeak(folder, *command)
        assert (done.returncode, done.stdout) == (4, "")
        assert "paused: what waits needs the tool launch; name it with --tools" in done.stderr
    assert len(server.posts) == 1
    done = toolspeak(folder, "run", "-c", "--approve", "always", "--tools", "sky.py")
    assert (done.returncode, done.stdout) == (0, "It flies.\n")
    assert ("tool", "V2 is flying") in sent(server)


def test_a_call_whose_tool_is_gone_can_be_refused(folder: Path, server: Server):
    pause(folder, server)
    (folder / "sky.py").unlink()
    assert toolspeak(folder, "run", "-c", "--approve", "never").returncode == 0
    assert "there is no tool 'launch'" in str(sent(server)[-1])


@pytest.mark.parametrize("command", ["run", "chat"])
def test_what_waits_is_allowed_once(folder: Path, server: Server, command: str):
    pause(folder, server)
    server.plays(plays([LAUNCH[0], calls(("launch", {"rocket": "V3"})), says("Refused.")]))
    done = toolspeak(folder, command, "-c", "--approve", "once")
    assert ("tool", "V2 is flying") in sent(server)
    assert "V3 is flying" not in done.stdout + done.stderr
    if command == "run":
        assert done.returncode == 4
        assert "paused: launch needs approval" in done.stderr
        assert "once (always allows this call and all that follow)" in done.stderr


def test_a_call_that_waits_is_asked_about_in_a_terminal(folder: Path, server: Server):
    pause(folder, server)
    with terminal(folder, "run", "-c") as screen:
        screen.wait_for("launch needs your approval")
        screen.reply("n too early", "allow it? [y]es once, [a]lways, [n]o:")
        assert screen.wait_for_exit() == 0
        assert "launch was refused: too early" in screen.all_text
    assert "too early" in str(sent(server)[-1])


def test_a_chat_asks_about_a_call_that_waits(folder: Path, server: Server):
    pause(folder, server)
    with terminal(folder, "chat", "-c", "-s", "Be long.") as screen:
        screen.wait_for("launch needs your approval")
        screen.reply("y", "allow it? [y]es once, [a]lways, [n]o:")
        screen.wait_for("It flies.")
        screen.reply("Where is it?")
        screen.wait_for("Far away.")
        screen.reply("/quit")
        assert screen.wait_for_exit() == 0
    assert sent(server)[0] == ("system", "Be long.")
    assert ("tool", "V2 is flying") in sent(server)
    assert listed(folder)[0]["prompts"] == 2


def test_options_that_are_given_anew_win(folder: Path, server: Server):
    server.plays(plays(WEATHER))
    ask(folder, server, "How is Oslo?", "--tools", "sky.py:weather", "-s", "Be brief.")
    ask(folder, server, "Why?", "-c", "-s", "Be long.", "--tools", "sky.py:wait", "--dialect", "native")
    assert sent(server)[0] == ("system", "Be long.")
    assert [tool["function"]["name"] for tool in server.posts[-1].body["tools"]] == ["wait"]
    assert len(listed(folder)) == 1


def test_a_prompt_that_got_no_answer_is_not_sent_again(folder: Path, server: Server):
    server.plays(plays([says("One."), says("Two.")]))
    ask(folder, server, "1?")
    server.plays(answers(401, {"error": {"message": "no such key"}}))
    assert toolspeak(folder, "run", "2?", "-c").returncode == 3
    server.plays(plays([says("One."), says("Two.")]))
    assert toolspeak(folder, "run", "2!", "-c").stdout == "Two.\n"
    assert sent(server) == [("user", "1?"), ("assistant", "One."), ("user", "2!")]
    assert listed(folder)[0]["prompts"] == 3


def change_code(file: Path) -> None:
    file.write_text(file.read_text() + "\n# new")


def let_others_write(file: Path) -> None:
    file.chmod(0o666)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (Path.unlink, "sky.py are gone; name them with --tools to use them"),
        (change_code, "have changed since this conversation used them"),
        (let_others_write, "are not loaded: every user may write to it"),
    ],
)
def test_tools_that_are_not_what_they_were_are_left_out(
    folder: Path, server: Server, change: Callable[[Path], None], message: str
):
    server.plays(plays(WEATHER[1:]))
    ask(folder, server, "How is Oslo?", "--tools", "sky.py")
    change(folder / "sky.py")
    done = toolspeak(folder, "run", "Why?", "-c")
    assert (done.returncode, done.stdout) == (0, "Because it is north.\n")
    assert message in done.stderr
    assert "· no tools ·" in done.stderr


def test_a_module_of_the_old_folder_is_not_looked_for_in_the_new_one(folder: Path, server: Server):
    server.plays(plays(WEATHER[1:]))
    ask(folder, server, "How is Oslo?", "--tools", "sky")
    strange = folder / "strange"
    strange.mkdir()
    (strange / "sky.py").write_text("raise SystemExit('this code must not run')")
    done = toolspeak(folder, "run", "Why?", "-c", cwd=strange)
    assert (done.returncode, done.stdout) == (0, "Because it is north.\n")
    assert "· 4 tools ·" in done.stderr


def test_tools_of_the_settings_are_those_of_the_present_settings(folder: Path, server: Server):
    server.plays(plays(WEATHER[1:]))
    (folder / "toolspeak.toml").write_text('tools = ["./sky.py"]')
    assert "4 tools" in ask(folder, server, "How is Oslo?", "--trust-project").stderr
    done = toolspeak(folder, "run", "Why?", "-c")
    assert "no tools" in done.stderr
    assert "is not trusted" in done.stderr


def test_there_is_nothing_to_continue(folder: Path, server: Server):
    server.plays(plays([says("One.")]))
    ask(folder, server, "1?")
    ask(folder, server, "1?")
    done = toolspeak(folder, "run", "Why?", "--conversation", "zzz")
    assert done.returncode == 2
    assert "there is no conversation 'zzz'; toolspeak log lists them" in done.stderr
    assert toolspeak(folder, "log", "delete", "--before", "2999-01-01", "--yes").returncode == 0
    done = toolspeak(folder, "run", "Why?", "-c")
    assert (done.returncode, done.stderr) == (2, "toolspeak: there is no conversation to continue: the log is empty\n")


def test_a_conversation_that_is_open_elsewhere_is_not_continued(folder: Path, server: Server):
    server.plays(plays([says("One."), says("Two.")]))
    with terminal(folder, "chat", "--model", f"{server.url}/v1#scripted") as screen:
        screen.reply("1?")
        screen.wait_for("One.")
        screen.wait_for_prompt("You:")
        for command in (("run", "2?", "-c"), ("chat", "-c")):
            done = toolspeak(folder, *command)
            assert (done.returncode, done.stdout) == (2, "")
            assert "(1?) is still open in another terminal: end it there, or continue another one with " in done.stderr
        screen.signal(signal.SIGKILL)
        screen.wait_for_exit()
    assert toolspeak(folder, "run", "2?", "-c").stdout == "Two.\n"
    assert len(listed(folder)) == 1


@pytest.mark.slow
def test_a_conversation_can_be_continued_by_one_process_at_a_time(folder: Path, server: Server):
    server.plays(plays([says("One."), says("Two.")]))
    ask(folder, server, "1?")
    with terminal(folder, "chat", "-c") as screen:
        screen.wait_for_prompt("You:")
        assert "is still open in another terminal" in toolspeak(folder, "run", "2?", "-c").stderr
        screen.reply("/clear")
        screen.reply("1?")
        screen.wait_for("One.")
        screen.wait_for_prompt("You:")
        old, new = sorted(listed(folder), key=lambda entry: entry["created"])
        assert toolspeak(folder, "run", "2?", "--conversation", old["id"]).stdout == "Two.\n"
        assert toolspeak(folder, "run", "2?", "--conversation", new["id"]).returncode == 2


def test_a_chat_is_kept_and_continued_in_a_terminal(folder: Path, server: Server):
    server.plays(plays([says("One."), says("Two."), says("Three.")]))
    with terminal(folder, "chat", "--model", f"{server.url}/v1#scripted") as screen:
        screen.wait_for_prompt("You:")
        screen.reply("1?")
        screen.wait_for("One.")
        screen.wait_for_prompt("You:")
        screen.reply("2?")
        screen.wait_for("Two.")
        screen.wait_for_prompt("You:")
        screen.type(CTRL_D)
        assert screen.wait_for_exit() == 0
    with terminal(folder, "chat", "-c") as screen:
        screen.wait_for("(4 messages): 1?")
        screen.wait_for_prompt("You:")
        screen.reply("3?")
        screen.wait_for("Three.")
        screen.wait_for_prompt("You:")
        screen.type(CTRL_D)
        assert screen.wait_for_exit() == 0
    assert [text for _, text in sent(server)] == ["1?", "One.", "2?", "Two.", "3?"]
    (entry,) = listed(folder)
    assert entry["prompts"] == 3


def test_clear_begins_another_conversation(folder: Path, server: Server):
    server.plays(plays([says("One."), says("Two.")]))
    model = f"{server.url}/v1#scripted"
    assert toolspeak(folder, "chat", "--model", model, stdin="1?\n2?\n/clear\n1?\n2?\n").returncode == 0
    assert [entry["prompts"] for entry in listed(folder)] == [2, 2]


# The list


def test_the_list_has_the_newest_first_and_can_be_searched(folder: Path, server: Server):
    server.plays(plays([says("Kalt. 東京は寒い。")]))
    for prompt in ("Wie ist Oslo?", "Wie\tist\n\x1b[31mRom?", "Und Bern?"):
        ask(folder, server, prompt)
    lines = toolspeak(folder, "log").stdout.splitlines()
    assert [line.split("\t")[-1] for line in lines] == ["Und Bern?", "Wie ist \\x1b[31mRom?", "Wie ist Oslo?"]
    first = lines[0].split("\t")
    assert (first[2], first[3]) == (f"{server.url.removeprefix('http://')}:scripted", "1")
    assert len(toolspeak(folder, "log", "-n", "1").stdout.splitlines()) == 1
    found = toolspeak(folder, "log", "search", "wie KALT").stdout.splitlines()
    assert len(found) == 2
    assert "Oslo" in toolspeak(folder, "log", "search", "osl", "京").stdout
    assert toolspeak(folder, "log", "search", "Madrid").stdout == ""
    assert [each["title"] for each in json.loads(toolspeak(folder, "log", "search", "bern", "--json").stdout)] == [
        "Und Bern?"
    ]


def test_the_list_fits_a_terminal(folder: Path, server: Server):
    server.plays(plays([says("Cold.")]))
    ask(folder, server, "How is Oslo " + "very " * 40 + "today?")
    with terminal(folder, "log", columns=100) as screen:
        assert screen.wait_for_exit() == 0
        headings, line = screen.text.splitlines()
        assert headings.split() == ["id", "time", "model", "answers", "first", "words"]
        assert line.startswith(listed(folder)[0]["id"][:8])
        assert line[headings.index("first words") :].startswith("How is Oslo very")
        assert line.endswith("…")


def test_the_list_is_wrapped_between_words_in_a_narrow_terminal(folder: Path, server: Server):
    server.plays(plays([says("Cold.")]))
    ask(folder, server, "Which of the cities that you know is the coldest one, and why is it so cold there in winter?")
    with terminal(folder, "log", columns=60) as screen:
        assert screen.wait_for_exit() == 0
        headings, last, line, *text = screen.text.splitlines()
        assert (headings.split(), last) == (["id", "time", "model", "answers"], "  first words")
        assert line.index("1", headings.index("answers")) == len(headings) - 1
        assert text == [
            "  Which of the cities that you know is the coldest one, and",
            "  why is it so cold there in winter?",
        ]
    with terminal(folder, "log", "show", columns=60) as screen:
        assert screen.wait_for_exit() == 0
        assert "You: Which of the cities that you know is the coldest one,\nand why" in screen.text


def test_a_search_shows_the_word_in_a_terminal(folder: Path, server: Server):
    server.plays(plays([says("x " * 200 + "a needle " + "y " * 200)]))
    ask(folder, server, "How is Oslo?")
    with terminal(folder, "log", "search", "needle", columns=100) as screen:
        assert screen.wait_for_exit() == 0
        headings, line = screen.text.splitlines()
        assert headings.endswith("answers  found")
        assert "x a needle y" in line
        assert line.endswith("…")


def test_a_search_without_a_hit_lists_in_a_terminal_what_comes_near_in_meaning(folder: Path, server: Server):
    server.plays(plays([says("Done.")]))
    for prompt in ("How do I cook lentil soup?", "Book a table for four", "Play some jazz"):
        ask(folder, server, prompt)
    with terminal(folder, "log", "search", "Rezept", columns=100) as screen:
        assert screen.wait_for_exit() == 0
        note, _, *lines = screen.text.splitlines()
        assert note == "no conversation has this word; these come near in meaning:"
        assert [line.partition("  1  ")[2] for line in lines] == ["How do I cook lentil soup?"]
    with terminal(folder, "log", "search", "quantum", "physics", columns=100) as screen:
        assert screen.wait_for_exit() == 0
        assert screen.text.splitlines() == ["no conversation has all of these words"]
    assert toolspeak(folder, "log", "search", "Rezept").stdout == ""
    assert json.loads(toolspeak(folder, "log", "search", "Rezept", "--json").stdout) == []


@pytest.mark.parametrize(
    "command",
    ["log", "log --json", "log search x", "log show", "log show abc", "log delete abc", "run Why? -c", "chat -c"],
)
def test_without_a_log_every_command_says_the_same(folder: Path, command: str):
    done = toolspeak(folder, *command.split())
    assert (done.returncode, done.stdout) == (2, "")
    where = log_file(folder)
    assert done.stderr == (
        f"toolspeak: there is no log yet; toolspeak run and chat write it to {where}, unless log = false\n"
    )
    assert not where.parent.exists()


def test_a_turn_without_an_answer_is_not_counted(folder: Path, server: Server):
    server.plays(answers(401, {"error": {"message": "no such key"}}))
    assert toolspeak(folder, "run", "1?", "--model", f"{server.url}/v1#scripted").returncode == 3
    server.plays(plays([says("One.")]))
    assert toolspeak(folder, "run", "1?", "-c").returncode == 0
    assert [(entry["prompts"], entry["turns"]) for entry in listed(folder)] == [(1, 1), (1, 0)]


# One conversation


def test_a_conversation_is_shown_as_it_was(folder: Path, server: Server):
    server.plays(plays([calls(("escape", {}), text="Let me see."), says("It is **red**.\x1b[2J")]))
    ask(folder, server, "What is\nthat?", "--tools", "sky.py")
    lines = toolspeak(folder, "log", "show").stdout.splitlines()
    assert lines[1:5] == ["You: What is", "that?", "assistant: Let me see.", "tool: escape()"]
    assert "→ \\x1b[2J\\x1b[31mred\\u0007 \\u202eright to left" in lines[5].replace("\\x07", "\\u0007")
    assert lines[6] == "assistant: It is **red**.\\x1b[2J"
    assert len(lines) == 7


def test_the_facts_of_a_conversation_can_be_read_and_drawn(folder: Path, server: Server):
    server.plays(plays(WEATHER))
    ask(folder, server, "How is Oslo?", "--tools", "sky.py:weather")
    (entry,) = listed(folder)
    printed = toolspeak(folder, "log", "show", entry["id"], "--json").stdout
    rows = [json.loads(line) for line in printed.splitlines()]
    assert isinstance(codec.decode(rows[0]["fact"]), RunStarted)
    assert {row["run_id"] for row in rows} == {entry["id"]}
    (folder / "run.jsonl").write_text(printed)
    assert "weather" in toolspeak(folder, "graph", "run.jsonl").stdout


def test_conversations_are_deleted(folder: Path, server: Server):
    server.plays(plays([says("Yes.")]))
    for prompt in ("1?", "2?", "3?"):
        ask(folder, server, prompt)
    ids = [entry["id"] for entry in listed(folder)]
    assert toolspeak(folder, "log", "delete", ids[0], ids[1][:10]).stdout == "2 conversations deleted\n"
    assert [entry["title"] for entry in listed(folder)] == ["1?"]
    assert toolspeak(folder, "log", "delete", "--before", "2001-01-01", "--yes").stdout == "0 conversations deleted\n"
    done = toolspeak(folder, "log", "delete", "--before", "2999-01-01")
    assert (done.returncode, "if you mean it, add --yes" in done.stderr) == (2, True)
    assert toolspeak(folder, "log", "delete", "--before", "2999-01-01", "--yes").stdout == "1 conversation deleted\n"
    assert listed(folder) == []
    assert toolspeak(folder, "log", "delete").returncode == 2
    assert toolspeak(folder, "log", "delete", "--before", "soon").returncode == 2


# The file


def test_the_log_is_for_its_owner_alone_and_holds_no_keys(folder: Path, server: Server):
    server.plays(plays([says("Yes.")]))
    (folder / ".config" / "toolspeak").mkdir(parents=True)
    (folder / ".config" / "toolspeak" / "config.toml").write_text(
        f'[endpoints.own]\nbase_url = "{server.url}/v1"\nkey_env = "OWN_KEY"\n'
    )
    done = toolspeak(folder, "run", "Is it?", "--model", "own:scripted", OWN_KEY="sk-very-secret")
    assert done.returncode == 0
    assert server.posts[-1].headers["authorization"] == "Bearer sk-very-secret"
    path = log_file(folder)
    assert toolspeak(folder, "log", "path").stdout == f"{path}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    for file in path.parent.iterdir():
        assert b"sk-very-secret" not in file.read_bytes()


@pytest.mark.parametrize("how", ["setting", "variable", "option"])
def test_the_log_can_be_turned_off(folder: Path, server: Server, how: str):
    server.plays(plays([says("Yes.")]))
    if how == "setting":
        (folder / ".config" / "toolspeak").mkdir(parents=True)
        (folder / ".config" / "toolspeak" / "config.toml").write_text("log = false")
    variables = {"TOOLSPEAK_LOG": "off"} if how == "variable" else {}
    ask(folder, server, "Is it?", *(["--no-log"] if how == "option" else []), **variables)
    assert not log_file(folder).parent.exists()


def test_a_log_that_cannot_be_written_does_not_stop_the_run(folder: Path, server: Server):
    server.plays(plays([says("Yes.")]))
    log_file(folder).parent.mkdir(parents=True)
    log_file(folder).write_text("no database" * 1000)
    done = ask(folder, server, "Is it?")
    assert done.stdout == "Yes.\n"
    assert "toolspeak: the conversation is not in the log: " in done.stderr
    assert "log.sqlite cannot be used: file is not a database" in done.stderr


def test_a_log_of_a_newer_version_is_refused_in_words(folder: Path, server: Server):
    server.plays(plays([says("Yes.")]))
    ask(folder, server, "Is it?")
    with closing(sqlite3.connect(log_file(folder))) as connection, connection:
        connection.execute("PRAGMA user_version = 99")
    done = toolspeak(folder, "log")
    assert done.returncode == 2
    assert "was written by a newer toolspeak (schema 99; this one reads 2): upgrade toolspeak" in done.stderr


@pytest.mark.slow
def test_commands_at_the_same_time_are_all_kept(folder: Path, server: Server):
    server.plays(plays([says("Yes.")]))
    threads = [threading.Thread(target=ask, args=(folder, server, f"{number}?")) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(entry["title"] for entry in listed(folder)) == ["0?", "1?", "2?", "3?"]


# Completion

PROGRAM = "import sys; sys.argv[0] = 'toolspeak'; from toolspeak.cli.__main__ import main; main()"


def complete(folder: Path, line: str) -> list[str]:
    env = environment(folder) | {
        "_TOOLSPEAK_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=folder, env=env, capture_output=True, text=True, timeout=80
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_shells_complete_commands_models_templates_and_conversations(folder: Path, server: Server):
    server.plays(plays([says("Yes.")]))
    ask(folder, server, "Is it?")
    templates = folder / ".config" / "toolspeak" / "templates"
    templates.mkdir(parents=True)
    (templates / "brief.toml").write_text('system = "Be brief."')
    (templates.parent / "config.toml").write_text('[endpoints.lab]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "x"')
    assert complete(folder, "toolspeak te") == ["templates"]
    assert complete(folder, "toolspeak run --model l")[0] == "local"
    assert "lab" in complete(folder, "toolspeak run -m l")
    assert complete(folder, "toolspeak run -t b") == ["brief"]
    (entry,) = listed(folder)
    assert complete(folder, "toolspeak log show " + entry["id"][:2]) == [entry["id"]]
    assert complete(folder, "toolspeak run -o temp") == ["temperature="]


RUN_AS_ZSH = """
_files() { :; }
_arguments() {  # as that of zsh, which evaluates the words between the parentheses
    inner=${1#*\\(\\(}
    inner=${inner%\\)\\)*}
    eval "words_found=( $inner )"
    printf '%s\\n' "${words_found[@]}"
}
eval $(env _TOOLSPEAK_COMPLETE=complete_zsh _TYPER_COMPLETE_ARGS="$LINE" toolspeak)
"""
RUN_AS_BASH = """
eval "$(toolspeak --show-completion bash)"
COMP_WORDS=($LINE "")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_toolspeak_completion toolspeak
printf '%s\\n' "${COMPREPLY[@]}"
"""
RUN_AS_FISH = """
toolspeak --show-completion fish | source
complete -C "$LINE"
"""
SHELLS = {
    "bash": ("bash", ("--norc",), RUN_AS_BASH),
    "the scripts for zsh in bash": ("bash", ("--norc",), RUN_AS_ZSH),
    "zsh": ("zsh", ("-f",), RUN_AS_ZSH),
    "fish": ("fish", ("--no-config",), RUN_AS_FISH),
}


def complete_in_shell(folder: Path, shell: str, line: str) -> str:
    """Return what a real shell takes from the completion of a line; its words, one a line."""
    name, options, script = SHELLS[shell]
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"there is no {name}: apt install {name}")
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    starter = programs / "toolspeak"
    starter.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c {shlex.quote(PROGRAM)} "$@"\n')
    starter.chmod(0o755)
    env = environment(folder) | {"LINE": line, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    env["PATH"] = f"{programs}{os.pathsep}{env['PATH']}"
    done = subprocess.run(
        [program, *options, "-c", script], cwd=folder, env=env, capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout


HOSTILE_STARTS = (
    "$(touch mark)", r"\$(touch mark)", r"\\$(touch mark)", "`touch mark`", r"\`touch mark`", '"; touch mark; "', r"\"",
    "'; touch mark; '", r"\'; touch mark; '", "''$(touch mark)''", '""$(touch mark)""', "))'; touch mark; : '((",
    "))$(touch mark)((", "${x:=$(touch mark)}", "$[$(touch mark)]", "<(touch mark)", "=(touch mark)", "*(e:'touch mark':)",
    "[bold]$(touch mark)[/bold]", r"[x]\[/x]$(touch mark)", "a\n$(touch mark)", "a\n; touch mark\n", "a;touch mark&",
    "(touch mark)", "~(touch mark)", "!touch", "%(?.$(touch mark).)", "$'\\x24(touch mark)'",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS)
def test_no_shell_evaluates_the_title_of_a_conversation_or_the_name_of_a_template(folder: Path, shell: str):
    with ConversationStore(log_file(folder)) as store:
        for number, start in enumerate(HOSTILE_STARTS):
            message = user(f"{start} is what a stranger wrote")
            started = RunStarted(run_id=f"run{number:02}", model="m", dialect="native", messages=(message,))
            store.start(started, number)
    templates = folder / ".config" / "toolspeak" / "templates"
    templates.mkdir(parents=True)
    hostile = [each for each in HOSTILE_STARTS if "/" not in each]
    for name in ("brief", "*", "m?rk", "--json", "two words", "{a,b}", "~root", "#x", *hostile):
        (templates / f"{name}.toml").write_text("")
    shown = complete_in_shell(folder, shell, "toolspeak log show ")
    assert all(f"run{number:02}" in shown for number in range(len(HOSTILE_STARTS)))
    assert complete_in_shell(folder, shell, "toolspeak run -t ").split() == ["brief"]
    assert not (folder / "mark").exists()


def test_the_script_for_a_shell_is_printed(folder: Path):
    done = toolspeak(folder, "--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert done.returncode == 0
    assert "_COMPLETE=complete_bash" in done.stdout


def test_the_start_of_a_run_does_not_import_sqlite(folder: Path):
    program = (
        "import sys\nimport toolspeak.cli.app, toolspeak.cli.run, toolspeak.cli.trust\n"
        "print('sqlite3' in sys.modules, 'toolspeak.durable' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], env=os.environ, capture_output=True, text=True, timeout=80)
    assert done.stdout == "False False\n"
