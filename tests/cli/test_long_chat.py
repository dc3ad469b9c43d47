"""`toolspeak chat` in a small context: one line says what was taken away, and `-c` goes on with what is left."""

import re
from pathlib import Path

from tests.cli.commands import run_command
from tests.cli.terminal import environment
from tests.models.server import Server, plays
from tests.models.small_context import Sent, SmallContext
from toolspeak.testing import ScriptedReply, calls, says

from .test_chat import piped


def answer(sent: Sent) -> ScriptedReply:
    if sent.is_summary:
        return says("The user counts.")
    if sent.messages[-1].role == "user" and "first" in sent.messages[-1].text:
        return calls(("recall", {"handle": "round_1"}))
    if sent.messages[-1].role == "tool":
        return says("It was one.")
    return says("Go on. " * 40)


def test_a_chat_is_compacted_and_continued(folder: Path, server: Server):
    endpoint = SmallContext(answer, context=1500)
    server.plays(endpoint)
    text = "".join(
        f"{word}{' and' * 40}\n" for word in ("one", "two", "three", "four", "five", "six", "seven", "eight")
    )
    done = piped(folder, server, text, "--context", "1500", "--dialect", "native")
    assert re.search(r"^\(\d+ messages summarized, to fit the context\)$", done.stdout, re.MULTILINE)
    assert endpoint.refused == 0

    before = endpoint.turns[-1]
    command = ("run", "-c", "--context", "1500", "What was first?")
    again = run_command(*command, cwd=folder, env=environment(folder), stdin=None)
    assert again.stdout.strip() == "It was one."
    assert endpoint.refused == 0
    continued = [sent for sent in endpoint.turns if sent.messages[-1].text.endswith("What was first?")]
    assert continued[0].tools == ("recall",)
    assert continued[0].messages[0].text == before.messages[0].text  # the summary, and not all messages


def test_the_setting_counts_without_the_option(folder: Path, server: Server):
    (folder / "toolspeak.toml").write_text("limits.context = 300\n", encoding="utf-8")
    server.plays(plays([says("never asked")]))
    done = piped(folder, server, "word " * 600 + "\n", "--dialect", "native", "--trust-project")
    assert "stopped (limit): the context has 300 tokens" in done.stdout
    assert not server.posts
