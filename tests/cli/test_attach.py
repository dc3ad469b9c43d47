"""Attachments on the command line: `-a` of `toolspeak run` and `toolspeak chat`, and `/attach`."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import run_command
from tests.cli.terminal import environment
from tests.models.server import Server, answers, plays
from toolspeak.testing import says

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgoAAAAAAAAAAA=="}}
NOTES = {"type": "text", "text": "File notes.txt:\n\nOslo is cold."}


@pytest.fixture
def desk(folder: Path) -> Path:
    """A folder with an image and a text."""
    (folder / "cat one.png").write_bytes(PNG)
    (folder / "notes.txt").write_text("Oslo is cold.")
    return folder


def toolspeak(
    folder: Path, server: Server, command: str, *arguments: str, stdin: bytes = b"", model: str = "scripted"
) -> tuple[int, str, str]:
    options = ("--model", f"{server.url}/v1#{model}")
    done = run_command(command, *arguments, *options, cwd=folder, env=environment(folder), stdin=stdin)
    return done.returncode, done.stdout, done.stderr


def sent(server: Server, number: int = -1) -> Any:
    return server.posts[number].body["messages"][-1]["content"]


def test_run_sends_files_and_addresses(desk: Path, server: Server):
    server.plays(plays([says("A cat.")]))
    address = "https://example.com/dog.jpg"
    code, out, err = toolspeak(desk, server, "run", "?", "-a", "cat one.png", "-a", "notes.txt", "-a", address)
    assert (code, out) == (0, "A cat.\n"), err
    assert sent(server) == [
        {"type": "text", "text": "?"},
        IMAGE,
        NOTES,
        {"type": "image_url", "image_url": {"url": address}},
    ]


def test_run_attaches_standard_input(desk: Path, server: Server):
    server.plays(plays([says("A cat.")]))
    code, out, err = toolspeak(desk, server, "run", "?", "-a", "-", stdin=PNG)
    assert (code, out) == (0, "A cat.\n"), err
    assert sent(server) == [{"type": "text", "text": "?"}, IMAGE]
    code, _, err = toolspeak(desk, server, "run", "-a", "-", stdin=PNG)
    assert code == 2
    assert err == "toolspeak: standard input is an attachment here, so give the prompt as an argument\n"


def test_what_cannot_be_sent_is_refused_before_the_request(desk: Path, server: Server):
    server.plays(plays([says("A cat.")]))
    code, out, err = toolspeak(desk, server, "run", "?", "-a", "dog.png")
    assert (code, out, err) == (2, "", "toolspeak: -a dog.png: no such file or directory\n")
    code, out, err = toolspeak(desk, server, "run", "?", "-a", "cat one.png", model="gpt-oss-20b")
    assert (code, out) == (2, "")
    assert err.endswith(":gpt-oss-20b takes no images, only text: cat one.png cannot be sent to it\n")
    assert err.count("\n") == 1
    assert server.posts == []


def test_chat_sends_an_attachment_once(desk: Path, server: Server):
    server.plays(plays([says("A cat."), says("Yes.")]))
    text = "/attach\n/attach 'cat one.png'\n/attach dog.png\n/attach\n?\nReally?\n"
    code, out, err = toolspeak(desk, server, "chat", "-a", "notes.txt", stdin=text.encode())
    assert code == 0, err
    assert out.splitlines()[0] == "attached to your next message: notes.txt (text/plain, 13 bytes)"
    assert "attached to your next message: cat one.png (image/png, 16 bytes)\n" in out
    assert "/attach dog.png: no such file or directory\n" in out
    assert out.count("goes with your next message: notes.txt") == 2
    assert sent(server, 0) == [{"type": "text", "text": "?"}, NOTES, IMAGE]
    assert sent(server, 1) == "Really?"


def test_an_attachment_goes_with_the_next_message_if_the_first_got_no_answer(desk: Path, server: Server):
    server.plays(answers(401, {"error": {"message": "no such key"}}), plays([says("A cat.")]))
    _, out, _ = toolspeak(desk, server, "chat", "-a", "cat one.png", stdin=b"?\nWhat is this?\n")
    assert "it was not answered; its attachments go with the next one\n" in out
    assert sent(server) == [{"type": "text", "text": "What is this?"}, IMAGE]


def test_a_chat_with_a_model_of_text_refuses_an_image_at_once(desk: Path, server: Server):
    server.plays(plays([says("Hello.")]))
    text = b"/attach cat one.png\nHello?\n/attach notes.txt\n/clear\n/attach\n"
    code, out, _ = toolspeak(desk, server, "chat", stdin=text, model="gpt-oss-20b")
    assert code == 0
    assert ":gpt-oss-20b takes no images, only text: cat one.png cannot be sent to it\n" in out
    assert out.endswith("nothing is attached; /attach FILE attaches an image, a PDF or a text\n")
    assert sent(server) == "Hello?"
