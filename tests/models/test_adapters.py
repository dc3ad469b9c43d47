"""Adapters of the embedded model: which one counts, that it is the right file, and for which requests it is used.

A module stands in for llama.cpp, and a server of the tests answers in its place; `tests/local/` has the real one.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Generator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolspeak.dialects import JSON, NATIVE, PYTHON, TYPESCRIPT, Dialect, Shown
from toolspeak.models import EmbeddedModel, Endpoint, Request, Sampling, warm
from toolspeak.models.adapters import (
    BUILT_IN,
    MANY_TOOLS,
    QWEN_CODER_CALLS,
    Adapter,
    check_adapter,
    find_adapter,
)
from toolspeak.models.embedded import make_endpoint, name_for_calibration
from toolspeak.models.local import ServerOptions, child_options, get_shared_server, start_server, stop_all
from toolspeak.models.warm import WarmOptions, WarmServer, get_warm_server, stop_warm_servers
from toolspeak.models.weights import QWEN_CODER
from toolspeak.settings.files import find_trained_file
from toolspeak.values.errors import UsageError
from toolspeak.values.events import TextDelta, Usage
from toolspeak.values.messages import Call, Message, Result, Text, ToolCall, assistant, system, user
from toolspeak.values.pieces import Answer, Piece
from toolspeak.values.spec import ToolSpec

from .asking import run_within
from .server import Act, Server, answers, streams

MAX_ADAPTER_BYTES = 20_000_000
"""Everybody who installs the extra `local` downloads it."""

HELLO = {"choices": [{"message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}]}

WEATHER = ToolSpec(name="get_weather", description="", parameters={"properties": {"city": {"type": "string"}}})


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.gguf"
    path.write_text("GGUF of a user")
    return path


@pytest.fixture(autouse=True)
def _none_left() -> Generator[None]:
    yield
    stop_all()


# The file


def test_the_adapter_of_the_package_has_its_hash_and_is_small() -> None:
    check_adapter(QWEN_CODER_CALLS)
    assert len(QWEN_CODER_CALLS.paths) == 2
    for path in QWEN_CODER_CALLS.paths:
        assert path.stat().st_size <= MAX_ADAPTER_BYTES


def test_a_changed_adapter_for_results_is_refused_too(tmp_path: Path) -> None:
    changed = tmp_path / "changed.gguf"
    changed.write_bytes(b"GGUF")
    after_results = replace(QWEN_CODER_CALLS.after_results or QWEN_CODER_CALLS, path=changed)
    with pytest.raises(UsageError, match=rf"{changed} is not the file that was published"):
        check_adapter(replace(QWEN_CODER_CALLS, after_results=after_results))


def test_a_changed_file_is_refused_before_anything_starts(weights: Path, tmp_path: Path, command: list[str]) -> None:
    changed = tmp_path / "changed.gguf"
    shutil.copy(QWEN_CODER_CALLS.path, changed)
    with changed.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))
    adapter = replace(QWEN_CODER_CALLS, path=changed)
    told = rf"{changed} is not the file that was published: its SHA-256 is [0-9a-f]{{64}}, not .*--adapter none"
    with pytest.raises(UsageError, match=told):
        start_server(ServerOptions(weights=weights, adapter=adapter), command=command)
    if warm.is_supported:
        with pytest.raises(UsageError, match=told):
            get_warm(weights, tmp_path / "servers", adapter, command)
    assert not Path(f"{weights}.loaded").exists()


def test_a_file_of_the_user_must_be_gguf(weights: Path, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "lora.bin").write_text("PK and more")
    with pytest.raises(UsageError, match=r"lora\.bin is not a GGUF file"):
        start_server(ServerOptions(weights=weights, adapter=Adapter(path=tmp_path / "lora.bin")), command=command)
    with pytest.raises(UsageError, match=r"cannot read the adapter .*gone\.gguf: No such file"):
        start_server(ServerOptions(weights=weights, adapter=Adapter(path=tmp_path / "gone.gguf")), command=command)


# Which adapter


def test_the_setting_names_the_adapter(own: Path) -> None:
    embedded, other = Path(QWEN_CODER.filename), Path("other.gguf")
    assert find_adapter(BUILT_IN, embedded) == QWEN_CODER_CALLS
    assert find_adapter(BUILT_IN, other) is None  # it was trained for other weights
    assert find_adapter(None, embedded) is None
    assert find_adapter(str(own), other) == Adapter(path=own)
    with pytest.raises(UsageError, match=r"there is no file gone\.gguf; give the path of a GGUF file, 'built-in'"):
        find_adapter("gone.gguf", embedded)


def test_an_adapter_that_is_not_installed_is_named_with_its_cure() -> None:
    program = f"""
from pathlib import Path
from toolspeak.models.adapters import find_adapter
assert find_adapter("built-in", Path("other.gguf")) is None
find_adapter("built-in", Path({QWEN_CODER.filename!r}))
"""
    environment = {"PYTHONPATH": str(Path(__file__).parents[2] / "src")}  # the library alone, without other packages
    done = subprocess.run([sys.executable, "-S", "-c", program], env=environment, capture_output=True, text=True)
    assert "the adapter of the embedded model, qwen2.5-coder-1.5b-calls.gguf, is not installed" in done.stderr
    assert "pip install 'toolspeak[local]', or go without it: --adapter none" in done.stderr


def test_every_trained_file_belongs_to_the_distribution_that_the_extra_local_needs() -> None:
    folder = QWEN_CODER_CALLS.path.parent
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert "toolspeak-trained>=4.0,<5" in project["optional-dependencies"]["local"]
    assert find_trained_file("other") == folder / "other"
    files = {path.name for path in folder.iterdir() if path.suffix != ".py" and path.is_file()}
    page = (Path(__file__).parents[2] / "packages" / "toolspeak-trained" / "README.md").read_text()
    assert files
    assert {name for name in files if f"`{name}`" not in page} == set()


def test_what_was_measured_with_an_adapter_counts_with_that_adapter_only(own: Path) -> None:
    adapters = (None, QWEN_CODER_CALLS, Adapter(path=own))
    assert len({name_for_calibration(Path("w.gguf"), each) for each in adapters}) == 3


# The server


def test_a_server_has_the_adapter_but_does_not_use_it_by_itself(weights: Path, own: Path, command: list[str]) -> None:
    start_server(ServerOptions(weights=weights, adapter=Adapter(path=own)), command=command).stop()
    assert json.loads(Path(f"{weights}.loaded").read_text()) == [[str(own), 0.0]]
    both = Adapter(path=own, after_results=Adapter(path=own))
    start_server(ServerOptions(weights=weights, adapter=both), command=command).stop()
    assert json.loads(Path(f"{weights}.loaded").read_text()) == [[str(own), 0.0]] * 2
    start_server(ServerOptions(weights=weights), command=command).stop()
    assert json.loads(Path(f"{weights}.loaded").read_text()) == []


@pytest.mark.parametrize(("slots", "files", "places"), [(1, 1, 1), (1, 2, 2), (4, 2, 4)])
def test_each_file_has_a_place_of_the_server(own: Path, slots: int, files: int, places: int) -> None:
    adapter = Adapter(path=own, after_results=Adapter(path=own) if files == 2 else None)
    told = child_options(ServerOptions(weights=own, slots=slots, adapter=adapter), "key")
    assert told["slots"] == places
    assert (told["cache_mib"] == 0) is (files == 2)  # llama.cpp would go on from what the other file has read


def test_models_with_another_adapter_have_another_server(weights: Path, own: Path, command: list[str]) -> None:
    without = get_shared_server(ServerOptions(weights=weights), command=command)
    having = get_shared_server(ServerOptions(weights=weights, adapter=Adapter(path=own)), command=command)
    assert having.pid != without.pid
    assert get_shared_server(ServerOptions(weights=weights, adapter=Adapter(path=own)), command=command) is having


@pytest.mark.skipif(not warm.is_supported, reason="there are no warm servers on Windows")
def test_a_warm_server_is_that_of_one_adapter_as_it_was_trained(
    weights: Path, own: Path, tmp_path: Path, command: list[str]
) -> None:
    folder = tmp_path / "servers"
    try:
        without = get_warm(weights, folder, None, command)
        first = get_warm(weights, folder, Adapter(path=own), command)
        again = get_warm(weights, folder, Adapter(path=own), command)
        own.write_text("GGUF of a user, trained anew")
        anew = get_warm(weights, folder, Adapter(path=own), command)
        assert again.pid == first.pid
        assert len({without.pid, first.pid, anew.pid}) == 3
    finally:
        stop_warm_servers(folder)


def get_warm(weights: Path, folder: Path, adapter: Adapter | None, command: list[str]) -> WarmServer:
    return get_warm_server(
        ServerOptions(weights=weights, context=512, slots=1, adapter=adapter),
        WarmOptions(folder=folder),
        command=command,
    )


# Requests


class ModelAtServer(EmbeddedModel):
    """An embedded model whose process is a server of the tests."""

    def __init__(self, server: Server, adapter: Adapter | None, slots: int = 1) -> None:
        super().__init__(Path("some.gguf"), adapter=adapter, slots=slots)
        self._url = f"{server.url}/v1"

    async def find_endpoint(self) -> Endpoint:
        return make_endpoint(self._url, None)


def ask(server: Server, adapter: Adapter | None, request: Request, slots: int = 1) -> dict[str, Any]:
    """Return the body of a request that was sent."""
    server.plays(answers(body=HELLO))

    async def exhaust() -> None:
        async for _ in ModelAtServer(server, adapter, slots).ask(replace(request, stream=False)):
            pass

    run_within(exhaust())
    return server.posts[-1].body


TALK = (user("Hello."),)


@pytest.mark.parametrize("dialect", [PYTHON, TYPESCRIPT, JSON, NATIVE], ids=lambda each: each.name)
def test_the_adapter_is_used_where_tools_are_shown(server: Server, dialect: Dialect) -> None:
    shows = ask(server, QWEN_CODER_CALLS, Request(shown=dialect.render([WEATHER], TALK)))
    plain = ask(server, QWEN_CODER_CALLS, Request(shown=dialect.render([], TALK)))
    assert shows["lora"] == [{"id": 0, "scale": 1.0}]
    assert plain["lora"] == [{"id": 0, "scale": 0.0}]
    assert "cache_prompt" not in shows | plain


@pytest.mark.parametrize("dialect", [PYTHON, TYPESCRIPT, JSON, NATIVE], ids=lambda each: each.name)
def test_after_results_the_adapter_for_results_is_used(server: Server, own: Path, dialect: Dialect) -> None:
    call = Call(call=ToolCall(id="1", name="get_weather", arguments={"city": "Oslo"}))
    result = Result(call_id="1", content=(Text(text="4 °C"),))
    calling = (*TALK, Message(role="assistant", parts=(call,)))
    after = Request(shown=dialect.render([WEATHER], (*calling, Message(role="tool", parts=(result,)))))
    failed = Message(role="tool", parts=(replace(result, is_error=True),))
    assert ask(server, QWEN_CODER_CALLS, after)["lora"] == [{"id": 1, "scale": 1.0}]
    failing = Request(shown=dialect.render([WEATHER], (*calling, failed)))
    assert ask(server, QWEN_CODER_CALLS, failing)["lora"] == [{"id": 0, "scale": 1.0}]
    told = (*calling, Message(role="tool", parts=(result,)), assistant("4 °C."))
    asking_again = Request(shown=dialect.render([WEATHER], (*told, user("And Rome?"))))
    assert ask(server, QWEN_CODER_CALLS, asking_again)["lora"] == [{"id": 0, "scale": 1.0}]
    with_own = ask(server, Adapter(path=own), after)
    assert with_own["lora"] == [{"id": 0, "scale": 1.0}]
    assert "id_slot" not in with_own  # its server keeps earlier conversations, and a place that is named may be busy
    assert ask(server, QWEN_CODER_CALLS, after)["id_slot"] == 1
    shared = ask(server, QWEN_CODER_CALLS, after, slots=2)
    assert shared["lora"] == [{"id": 1, "scale": 1.0}]
    assert "id_slot" not in shared


@pytest.mark.parametrize("dialect", [PYTHON, NATIVE], ids=lambda each: each.name)
def test_with_many_tools_the_second_file_answers_everything(server: Server, own: Path, dialect: Dialect) -> None:
    tools = [replace(WEATHER, name=f"tool_{number}") for number in range(MANY_TOOLS)]
    many, fewer = (Request(shown=dialect.render(shown, TALK)) for shown in (tools, tools[1:]))
    assert ask(server, QWEN_CODER_CALLS, many)["lora"] == [{"id": 1, "scale": 1.0}]
    assert ask(server, QWEN_CODER_CALLS, fewer)["lora"] == [{"id": 0, "scale": 1.0}]
    assert ask(server, Adapter(path=own), many)["lora"] == [{"id": 0, "scale": 1.0}]


# Looking closer at the tools that are called

FEW = PYTHON.render([WEATHER], TALK)
FOUND = '```python\nget_weather(city="Oslo")\n```'


def list_some(answer: str) -> Shown | None:
    """Stand for a list of some of many tools: those of an answer with a call are looked at closer."""
    return FEW if answer == FOUND else None


SOME = Request(shown=replace(PYTHON.render([replace(WEATHER, name="get_tides"), WEATHER], TALK), closer=list_some))


def stream_text(*texts: str) -> Act:
    """Answer with a text in pieces; the tokens are 100, and as many more as there are pieces."""
    deltas = [{"choices": [{"index": 0, "delta": {"role": "assistant", "content": text}}]} for text in texts]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    usage = {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": len(texts)}}
    lines = [f"data: {json.dumps(each)}\n\n".encode() for each in (*deltas, end, usage)]
    return streams(*lines, b"data: [DONE]\n\n")


def stream_pieces(server: Server, adapter: Adapter | None, *acts: Act) -> list[Piece]:
    server.plays(*acts)

    async def collect() -> list[Piece]:
        return [piece async for pieces in ModelAtServer(server, adapter, 1).ask(SOME) for piece in pieces]

    return run_within(collect())


def join(pieces: Sequence[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))


def test_what_an_answer_calls_of_many_tools_is_looked_at_closer(server: Server) -> None:
    pieces = stream_pieces(server, QWEN_CODER_CALLS, stream_text("```", FOUND[3:]), stream_text("It has ", "no tides."))

    first, second = (post.body for post in server.posts)
    assert (first["lora"], first["id_slot"]) == ([{"id": 1, "scale": 1.0}], 1)
    assert (second["lora"], second["id_slot"]) == ([{"id": 0, "scale": 1.0}], 0)
    assert "get_tides" not in str(second["messages"])
    assert join(pieces) == "It has no tides."
    assert isinstance(pieces[-1], Answer)
    assert pieces[-1].usage == Usage(input_tokens=200, output_tokens=4)


@pytest.mark.parametrize("texts", [("It is ", "cold."), ("```python\nfind_tools(", 'query="tides")\n```')])
def test_another_answer_is_passed_on(server: Server, texts: tuple[str, ...]) -> None:
    pieces = stream_pieces(server, QWEN_CODER_CALLS, stream_text(*texts))

    assert len(server.posts) == 1
    assert join(pieces) == "".join(texts)
    assert isinstance(pieces[-1], Answer)
    assert pieces[-1].usage == Usage(input_tokens=100, output_tokens=2)


STARTED = [b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"It is "}}]}\n\n']


def test_words_arrive_while_they_are_written(server: Server) -> None:
    server.plays(streams(*STARTED, ending="silence"))

    async def read_first() -> str:
        async with aclosing(ModelAtServer(server, QWEN_CODER_CALLS, 1).ask(SOME)) as answer:
            return join(await anext(answer))

    assert run_within(read_first()) == "It is "


def test_an_answer_that_was_cut_stands(server: Server) -> None:
    body = {"choices": [{"message": {"role": "assistant", "content": FOUND}, "finish_reason": "length"}]}
    server.plays(answers(body=body))

    async def collect() -> list[Piece]:
        model = ModelAtServer(server, QWEN_CODER_CALLS, 1)
        return [piece async for pieces in model.ask(replace(SOME, stream=False)) for piece in pieces]

    assert isinstance(answer := run_within(collect())[-1], Answer)
    assert answer.parts == (Text(text=FOUND),)
    assert len(server.posts) == 1


@pytest.mark.parametrize("is_own", [True, False])
def test_a_model_without_the_built_in_adapter_does_not_look_closer(server: Server, own: Path, *, is_own: bool) -> None:
    pieces = stream_pieces(server, Adapter(path=own) if is_own else None, stream_text(FOUND))

    assert len(server.posts) == 1
    assert join(pieces) == FOUND


def test_without_an_adapter_nothing_is_said_of_it(server: Server) -> None:
    assert "lora" not in ask(server, None, Request(shown=PYTHON.render([WEATHER], TALK)))


def test_what_the_user_sends_counts(server: Server) -> None:
    half = [{"id": 0, "scale": 0.5}]
    request = Request(shown=PYTHON.render([WEATHER], TALK), sampling=Sampling(extra={"lora": half}))
    assert ask(server, QWEN_CODER_CALLS, request)["lora"] == half


@pytest.mark.parametrize(
    ("history", "is_read_anew"),
    [
        ((system("Be brief."), user("Hello.")), True),  # another conversation may have begun so, with the adapter
        ((system("Be brief."), user("Hello."), assistant("Hi."), user("Bye.")), False),  # this one has, without it
        ((user("Hello."),), False),
    ],
)
def test_a_plain_conversation_takes_no_state_that_was_computed_with_the_adapter(
    server: Server, history: tuple[Message, ...], is_read_anew: bool
) -> None:
    body = ask(server, QWEN_CODER_CALLS, Request(shown=PYTHON.render([], history)))
    assert (body.get("cache_prompt") is False) == is_read_anew
    shows = ask(server, QWEN_CODER_CALLS, Request(shown=PYTHON.render([WEATHER], history)))
    assert "cache_prompt" not in shows
