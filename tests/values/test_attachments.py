"""Images and files that are sent with a message: from paths, bytes and addresses."""

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from toolspeak import Agent, Media, UsageError, codec, connect, file, image, user
from toolspeak.models import EmbeddedModel
from toolspeak.testing import ScriptedModel, says
from toolspeak.values.attachments import MAX_ATTACHMENT_BYTES
from toolspeak.values.messages import Message
from toolspeak.wire.api import WIRES, ServedApiName
from toolspeak.wire.chat_request import ChatRequest

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
PDF = b"%PDF-1.7\n\xe2\xe3"


def test_the_content_decides_the_type_and_then_the_name(tmp_path: Path):
    contents = {
        "photo.jpg": (PNG, "image/png"),
        "report": (PDF, "application/pdf"),
        "photo.webp": (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
        "call.ts": (b"const a = 1;", "text/plain"),
        "table.csv": (b"a,b\n", "text/csv"),
        "empty.txt": (b"", "text/plain"),
        "drawing.svg": (b"<svg/>", "image/svg+xml"),
        "data.json": (b"{}", "text/plain"),
        "archive.zip": (b"PK\x03\x04\xff\xff", "application/zip"),
        "thing": (b"\xff\x00\x80", "application/octet-stream"),
    }
    for name, (content, mime) in contents.items():
        (tmp_path / name).write_bytes(content)
        assert file(tmp_path / name) == Media(mime=mime, data=content, name=name)
        assert file(str(tmp_path / name)).mime == mime


def test_texts_become_utf_8(tmp_path: Path):
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        (tmp_path / "notes.txt").write_bytes("Grüße".encode(encoding))
        assert file(tmp_path / "notes.txt").data == "Grüße".encode()
    (tmp_path / "notes.txt").write_bytes("Grüße".encode("latin-1"))
    with pytest.raises(UsageError, match=r"^notes.txt is not text in UTF-8 or UTF-16; convert it before$"):
        file(tmp_path / "notes.txt")


def test_bytes_and_addresses():
    assert image(PNG) == Media(mime="image/png", data=PNG)
    assert image(b"\0", mime="image/x-icon").mime == "image/x-icon"
    assert file(b"Oslo", name="cities.csv") == Media(mime="text/csv", data=b"Oslo", name="cities.csv")
    cat = "https://example.com/cat%20one.png?size=2"
    assert image(cat) == Media(mime="image/png", url=cat, name="cat one.png")
    assert image("https://example.com/42").mime == "image/*"
    assert file("http://example.com/y.pdf").mime == "application/pdf"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("missing.png", "image('missing.png'): no such file or directory"),
        (".", "image('.'): is a directory"),
        ("a\0b", "image('a\\x00b'): embedded null byte"),
        (b"Hello", "these bytes are no image (text/plain); use file(…)"),
        (b"\xff\x00", "these bytes are no image (application/octet-stream); give its type with mime=…"),
        ("https://example.com/y.pdf", "y.pdf is no image (application/pdf); use file(…)"),
        (5, "image(…) takes a path, an address or bytes, not int"),
        (bytes(MAX_ATTACHMENT_BYTES + 1), "the attachment is too large, with 32.0 MB: an attachment has 32 MB at most"),
    ],
)
def test_what_cannot_be_attached_is_an_error_at_the_call(source: Any, message: str):
    with pytest.raises(UsageError) as raised:
        image(source)
    assert str(raised.value) == message


def test_a_large_file_is_not_read_whole(tmp_path: Path):
    with (tmp_path / "film.mp4").open("wb") as large:
        large.truncate(48_200_000_000)  # it takes no space
    with pytest.raises(UsageError, match=r"^film.mp4 is too large, with 48,200.0 MB: "):
        file(tmp_path / "film.mp4")


def test_a_pipe_can_be_attached(tmp_path: Path):
    read, write = os.pipe()
    os.write(write, b"Oslo")
    os.close(write)
    assert file(f"/dev/fd/{read}", name="cities.txt").data == b"Oslo"
    os.close(read)


def test_a_message_with_attachments_is_saved_and_read():
    message = user("What is this?", image(PNG), file(b"Oslo", name="cities.txt"))
    assert [part.kind for part in message.parts] == ["text", "media", "media"]
    assert message.text == "What is this?"
    assert codec.load_messages(codec.dump_messages([message])) == (message,)
    wrong: Any = "cat.png"
    with pytest.raises(UsageError, match=r"takes attachments from image\(…\) and file\(…\), not str"):
        user("What is this?", wrong)


def written(api: ServedApiName, message: Message) -> list[dict[str, Any]]:
    return WIRES[api].request_body(ChatRequest(model="m", messages=(message,)))["messages"][0]["content"]


MIXED = user(
    "?", image(PNG), file(PDF, name="y.pdf"), file(b"Oslo", name="a.txt"), image("https://example.com/cat.png")
)


def test_openai_gets_names_and_addresses():
    assert written("openai", MIXED)[1:] == [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(PNG).decode()}"}},
        {
            "type": "file",
            "file": {
                "filename": "y.pdf",
                "file_data": f"data:application/pdf;base64,{base64.b64encode(PDF).decode()}",
            },
        },
        {"type": "text", "text": "File a.txt:\n\nOslo"},
        {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}},
    ]


def test_anthropic_gets_names_and_addresses():
    encoded = base64.b64encode(PDF).decode()
    assert written("anthropic", MIXED)[2:] == [
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": encoded},
            "title": "y.pdf",
        },
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "Oslo"},
            "title": "a.txt",
        },
        {"type": "image", "source": {"type": "url", "url": "https://example.com/cat.png"}},
    ]


@pytest.mark.parametrize("api", [api for api in WIRES if api != "gemini"])  # that API has no names for documents
def test_a_server_reads_the_name_of_a_document(api: ServedApiName):
    message = user("?", file(PDF, name="y.pdf"))
    body = WIRES[api].request_body(ChatRequest(model="m", messages=(message,), max_tokens=9))
    assert WIRES[api].read_request(body).messages == (message,)


TEXT = file(b"Oslo", name="a.txt")


@pytest.mark.parametrize(
    ("model", "media", "problem"),
    [
        ("openai:gpt-3.5-turbo", image(PNG), "openai:gpt-3.5-turbo takes no images, only text"),
        ("deepseek:deepseek-chat", file(PDF, name="y.pdf"), "takes no PDF documents, only text: y.pdf cannot be sent"),
        ("deepseek:deepseek-chat", TEXT, None),
        ("openai:gpt-5.1", image(PNG), None),
        ("openai:gpt-5.1", image("https://example.com/cat.png"), None),
        (
            "openai:gpt-5.1",
            file("https://example.com/y.pdf"),
            "takes no PDF documents by address; pass the file itself",
        ),
        ("anthropic:claude-sonnet-4-5", file("https://example.com/y.pdf"), None),
        ("anthropic:claude-sonnet-4-5", file("https://example.com/a.txt"), "takes no text files by address"),
        ("anthropic:claude-sonnet-4-5", file(b"ID3\x04"), "takes no sounds of the type audio/mpeg"),
        ("http://127.0.0.1:9/v1#mine", image(PNG), None),
    ],
)
def test_an_endpoint_says_what_it_does_not_take_before_the_request(model: str, media: Media, problem: str | None):
    agent = Agent(connect(model, key="none"))
    if problem is None:
        agent.prepare(user("?", media), {})
        return
    with pytest.raises(UsageError) as raised:
        agent.run(user("?", media))
    assert problem in str(raised.value)
    assert str(raised.value).startswith(f"{model} ")


def test_the_embedded_model_takes_text_only(tmp_path: Path):
    agent = Agent(EmbeddedModel(tmp_path / "vision.gguf", name="local"))
    with pytest.raises(UsageError, match=r"^local takes no images, only text$"):
        agent.run("And now?", messages=[user("?", image(PNG))])
    agent.prepare(user("?", TEXT), {})


def test_a_model_of_ones_own_is_given_everything():
    model = ScriptedModel([says("A cat.")])
    assert Agent(model).run(user("What is this?", image(PNG))).text == "A cat."
    assert model.requests[0].shown.messages[-1].parts[-1] == image(PNG)
