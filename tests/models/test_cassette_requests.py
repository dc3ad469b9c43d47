"""How a cassette finds the answer to a request: what is compared, and what a miss shows."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from toolspeak.dialects import NATIVE
from toolspeak.models import Request
from toolspeak.models.cassettes import Exchange, TapePlayer, TapeWriter, load_tape
from toolspeak.run import Agent
from toolspeak.testing import cassette
from toolspeak.values.attachments import image
from toolspeak.values.errors import ReplayMiss
from toolspeak.values.messages import user

from .asking import at, run_within
from .recorded import delta, events
from .server import Server, streams
from .taping import SAID, ask, gone, record


def test_a_miss_shows_the_difference(server: Server, tmp_path: Path):
    file = record(tmp_path, server, "How warm is it in Oslo?", "What is 6 * 7?")
    with pytest.raises(ReplayMiss) as caught:
        ask(cassette(gone(at(server)), file), "How warm is it in Rome?")
    text = str(caught.value)
    assert f"{file} has no request like this one (2 recorded, 2 not yet used)" in text
    assert "The nearest is request 1:\n--- recorded\n+++ sent" in text
    assert re.search(r'^- +"content": "How warm is it in Oslo\?"', text, re.MULTILINE)
    assert re.search(r'^\+ +"content": "How warm is it in Rome\?"', text, re.MULTILINE)
    assert "mode='record'" in text
    with pytest.raises(ReplayMiss, match="no request like this"):
        Agent(cassette(gone(at(server)), file)).run("How warm is it in Rome?")


def test_a_long_difference_is_short(server: Server, tmp_path: Path):
    long = "All work and no play. " * 200
    file = record(tmp_path, server, f"{long}One.{long}")
    with pytest.raises(ReplayMiss) as caught:
        ask(cassette(gone(at(server)), file), f"{long}Two.{long}")
    assert "One." in str(caught.value)
    assert "Two." in str(caught.value)
    assert len(str(caught.value)) < 2_000


def test_each_answer_is_used_once_in_order(server: Server, tmp_path: Path):
    server.plays(*(streams(events(delta(content=each), delta("stop"), "[DONE]")) for each in "12"))
    file = tmp_path / "run.jsonl"
    model = cassette(at(server), file)
    assert [ask(model, "Count."), ask(model, "Count.")] == ["1", "2"]
    model = cassette(gone(at(server)), file)
    assert [ask(model, "Count."), ask(model, "Count.")] == ["1", "2"]
    with pytest.raises(ReplayMiss, match="this request was recorded 2 times, and is sent once more"):
        ask(model, "Count.")


def conversation(call_id: str, text: str = "18 degrees") -> list[Any]:
    return [
        {"role": "user", "content": "How warm?"},
        {"role": "assistant", "tool_calls": [{"id": call_id, "type": "function", "function": {"name": "t"}}]},
        {"role": "tool", "tool_call_id": call_id, "content": text},
    ]


def take(player: TapePlayer, messages: Any, **more: Any) -> Any:
    return player.take("/chat/completions", {"model": "m", "messages": messages, **more})


def tape(tmp_path: Path, messages: Any, at: datetime | None = None, **more: Any) -> TapePlayer:
    file = tmp_path / "tape.jsonl"
    body = {"model": "m", "messages": messages, **more}
    when = at or datetime.now(UTC)
    TapeWriter(file).add_exchange(Exchange(at=when, path="/chat/completions", body=body, status=200))
    return TapePlayer(load_tape(file), "tape")


def test_ids_are_compared_by_their_places(tmp_path: Path):
    assert take(tape(tmp_path, conversation("call_a1b2")), conversation("toolu_zz"))
    mixed = conversation("toolu_zz")
    mixed[2]["tool_call_id"] = "toolu_other"
    with pytest.raises(ReplayMiss, match="id 2"):
        take(tape(tmp_path, conversation("call_a1b2")), mixed)
    one, other = "0b1f7f56-3e0c-4c3a-9d5e-0a1b2c3d4e5f", "11111111-2222-3333-4444-555555555555"
    assert take(tape(tmp_path, conversation("c", f"order {one}")), conversation("c", f"order {other}"))


def test_names_are_no_ids(tmp_path: Path):
    def named(name: str) -> Any:
        return [{"role": "assistant", "tool_calls": [{"function": {"name": name}}], "content": f"I use {name}."}]

    for one, other in (("call_customer_support", "call_customer_service"), ("msg_send_v2_all1", "msg_send_v2_all2")):
        assert take(tape(tmp_path, named(one)), named(one))
        with pytest.raises(ReplayMiss, match=other):
            take(tape(tmp_path, named(one)), named(other))


def test_ids_in_arguments_are_a_part_of_the_question(tmp_path: Path):
    def called(order: str) -> Any:
        return [{"role": "assistant", "content": [{"type": "tool_use", "id": "x", "input": {"id": order}}]}]

    assert take(tape(tmp_path, called("7")), called("7"))
    with pytest.raises(ReplayMiss):
        take(tape(tmp_path, called("7")), called("8"))


@pytest.mark.parametrize(
    "form", ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M", "%A, %B %d, %Y", "%d %B %Y", "%B %d, %Y at %H:%M"]
)
def test_todays_date_is_not_compared(tmp_path: Path, form: str):
    then = datetime(2024, 2, 29, 13, 5, 7, tzinfo=UTC)
    player = tape(tmp_path, conversation("c", f"It is {then.strftime(form)}."), at=then)
    assert take(player, conversation("c", f"It is {datetime.now().strftime(form)}."))


def test_other_dates_are_compared(tmp_path: Path):
    then = datetime(2024, 2, 29, tzinfo=UTC)
    player = tape(tmp_path, conversation("c", "born 1990-05-01"), at=then)
    with pytest.raises(ReplayMiss, match="1990-05-01"):
        take(player, conversation("c", "born 1990-05-02"))
    assert take(player, conversation("c", "born 1990-05-01"))


def test_cache_keys_are_not_compared(tmp_path: Path):
    player = tape(tmp_path, conversation("c"), prompt_cache_key="a", user="me")
    assert take(player, conversation("c"), prompt_cache_key="b")
    with pytest.raises(ReplayMiss, match="temperature"):
        take(tape(tmp_path, conversation("c")), conversation("c"), temperature=0.5)


def test_attachments_are_compared_by_their_content(server: Server, tmp_path: Path):
    server.plays(streams(SAID))
    pictures = [image(b"\x89PNG\r\n\x1a\n" + bytes([each]) * 100_000) for each in (1, 2)]

    async def show(model: Any, picture: Any) -> Any:
        shown = NATIVE.render((), [user("What is this?", picture)])
        return [piece async for pieces in model.ask(Request(shown=shown)) for piece in pieces][-1]

    file = tmp_path / "run.jsonl"
    recorded = run_within(show(cassette(at(server), file), pictures[0]))
    assert file.stat().st_size < 5_000
    assert run_within(show(cassette(gone(at(server)), file), pictures[0])) == recorded
    with pytest.raises(ReplayMiss, match="sha256"):
        run_within(show(cassette(gone(at(server)), file), pictures[1]))
