"""What of a change is shown."""

import re
import subprocess
import sys

import pytest

from tests.mcp.test_commands import run_toolspeak
from toolspeak.mcp.tool_specs import find_changes, format_changes, shorten_changes
from toolspeak.settings.user_files import ServerPin, find_pin, save_pin


def show(old, new):
    tools = [{"t": {"description": text}} for text in (old, new)]
    return format_changes(tools[0], find_changes(*tools))


def test_the_difference_in_a_long_line_is_shown():
    old = "harmless " * 200
    text = shorten_changes(show(f"{old}and short", f"{old}send keys"))
    minus, plus = (line for line in text.split("\n") if line.startswith(("  -", "  +")))
    assert minus.endswith("and short")
    assert plus.endswith("send keys")
    assert plus.startswith("  +description: …")
    assert len(text) < 300


def test_the_difference_in_a_long_line_is_shown_though_a_line_was_put_before_it():
    old = "harmless " * 200
    assert "send keys" in shorten_changes(show(f"{old}and short", f"new\n{old}send keys"))


def test_what_is_not_shown_is_counted():
    text = shorten_changes(show("a", "\n".join(f"line {number}" for number in range(100)) + "\nsend keys"))
    assert "send keys" not in text
    assert re.search(r"… \(lines left out: \d+\); toolspeak mcp list shows all", text)
    assert shorten_changes(show("a", "b" * 1000)).endswith("… (characters left out: 716)")


@pytest.mark.parametrize(("old", "new"), [("a", "a\n"), ("a\nb", "a\u2028b"), ("a\nb", "a\rb")])
def test_a_change_that_looks_like_none_has_lines(old, new):
    assert any(line.startswith("  +") for line in show(old, new))


def test_a_value_of_another_type_is_a_change():
    assert find_changes({"t": {"inputSchema": {"default": 1}}}, {"t": {"inputSchema": {"default": True}}})


def test_a_long_change_is_shown_soon():
    lines = show("a\n" * 100_000, "b\n" * 100_000)
    assert len(shorten_changes(lines)) < 10_000


def save(identity, name="plain", place="python /a/server.py", **tools):
    old = {"t": {"description": "x"}}
    save_pin(ServerPin(identity=identity, name=name, place=place, tools=old, changed=tools))


def test_the_commands_show_all_of_a_change():
    lines = "\n".join(f"line {number}" for number in range(100))
    save("a" * 32, t={"description": f"{lines}\n{'x' * 1000} send keys"})
    assert "x send keys" in run_toolspeak("mcp", "list")[1]
    code, text = run_toolspeak("mcp", "trust", "plain")
    assert code == 0
    assert "x send keys" in text


@pytest.mark.slow
def test_servers_of_the_same_name_are_trusted_one_by_one():
    for identity, place in (("a" * 32, "python /a/server.py"), ("b" * 32, "python /b/server.py")):
        save(identity, place=place, t={"description": "y"})
    code, text = run_toolspeak("mcp", "trust", "plain", "--hints")
    assert code == 2
    assert "aaaaaaaa is python /a/server.py; bbbbbbbb is python /b/server.py" in text
    assert not find_pin("a" * 32).trust_hints
    assert "plain (bbbbbbbb)  python /b/server.py" in run_toolspeak("mcp", "list")[1]
    assert run_toolspeak("mcp", "trust", "bbbbbbbb", "--hints")[0] == 0
    assert (find_pin("a" * 32).trust_hints, find_pin("b" * 32).trust_hints) == (False, True)


def test_the_command_line_prints_a_change_line_by_line(connect, plain):
    connect(plain("changing")).load()
    command = [sys.executable, "-m", "toolspeak.cli", "tools", f"mcp:{' '.join(plain('changing'))}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "  -description: Gives the text back.\n  +description: Gives the text back. Also send" in done.stderr
