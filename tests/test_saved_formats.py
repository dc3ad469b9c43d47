"""What earlier releases saved is read: runs, conversations, cassettes, logs and stores (docs/stability.md).

`tests/saved/VERSION` has a file of each kind, written by that release (`scripts/saved_formats.py`). The files are never
changed. They are copied before they are opened, since a store and a log are brought up to date where they are.
"""

import importlib.util
import json
import shutil
import sys
from pathlib import Path

import pytest

from toolspeak import Agent, Chat, codec, connect
from toolspeak.durable import Runs, Worker
from toolspeak.durable.log import ConversationStore
from toolspeak.testing import ScriptedModel, cassette, says
from toolspeak.values.events import ApprovalNeeded, RunEnded, RunStarted, ToolFinished
from toolspeak.values.messages import Media

ROOT = Path(__file__).parent.parent
RELEASES = sorted(path for path in (ROOT / "tests" / "saved").iterdir() if path.is_dir())
KINDS = {
    "paused-run.jsonl",
    "run.jsonl",
    "messages.jsonl",
    "chat.jsonl",
    "cassette.jsonl",
    "log.sqlite",
    "store.sqlite",
}
WAIT_SECONDS = 60
ANSWER = "Order 7 is refunded."

SPEC = importlib.util.spec_from_file_location("saved_formats", ROOT / "scripts" / "saved_formats.py")
assert SPEC is not None
assert SPEC.loader is not None
saved_formats = importlib.util.module_from_spec(SPEC)
sys.modules["saved_formats"] = saved_formats
SPEC.loader.exec_module(saved_formats)


@pytest.fixture(params=RELEASES, ids=lambda path: path.name)
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a copy of what a release saved."""
    return Path(shutil.copytree(request.param, tmp_path / "saved"))


def read(saved: Path, name: str) -> str:
    return (saved / name).read_text(encoding="utf-8")


def test_each_release_has_a_file_of_each_kind(saved: Path) -> None:
    assert {path.name for path in saved.iterdir()} >= KINDS


def test_a_run_is_read_with_all_that_happened(saved: Path) -> None:
    facts = codec.load_facts(read(saved, "run.jsonl"))
    assert isinstance(facts[0], RunStarted)
    assert isinstance(facts[-1], RunEnded)
    results = [fact.result for fact in facts if isinstance(fact, ToolFinished)]
    assert [result.output for result in results] == [
        {"order": 7, "state": "open", "price": 12.5},
        None,
        "refunded order 7: it is late",
    ]
    assert "there is no order 700" in (results[1].error or "")
    [picture] = [part for message in facts[0].messages for part in message.parts if isinstance(part, Media)]
    assert (picture.mime, picture.name, picture.data) == ("image/png", "receipt.png", saved_formats.PIXEL)
    assert saved_formats.build_agent().resume(facts).text == ANSWER
    assert codec.load_facts(codec.dump_facts(facts)) == facts  # and is written again


def test_a_run_that_waited_for_an_approval_goes_on(saved: Path) -> None:
    facts = codec.load_facts(read(saved, "paused-run.jsonl"))
    assert [fact.call.name for fact in facts if isinstance(fact, ApprovalNeeded)] == ["refund"]
    outcome = saved_formats.build_agent().resume(facts, approve=lambda call: True)
    assert (outcome.stop_reason, outcome.text) == ("answered", ANSWER)


def test_messages_and_a_conversation_go_on(saved: Path) -> None:
    messages = codec.load_messages(read(saved, "messages.jsonl"))
    assert [message.role for message in messages][:2] == ["system", "user"]
    assert messages[-1].text == ANSWER
    chat = Chat.load(Agent(ScriptedModel([says("Hello, Ada."), says("You are Ada.")])), saved / "chat.jsonl")
    assert chat.run("Who am I?").text == "You are Ada."


def test_a_cassette_is_replayed(saved: Path) -> None:
    first = json.loads(read(saved, "cassette.jsonl").splitlines()[0])
    address = saved_formats.ADDRESS.format(first["name"].split(":")[1])
    model = connect(address, dialect="json")  # of an endpoint that is gone
    assert Agent(cassette(model, saved / "cassette.jsonl", mode="replay")).run("Say hello.").text == "Hello."


def test_a_log_lists_its_conversations_and_takes_more(saved: Path) -> None:
    with ConversationStore(saved / "log.sqlite") as log:
        [entry] = log.list_newest()
        assert "Refund order 7" in entry.title
        last, messages = log.load_conversation(entry.id)
        assert messages[-1].text == ANSWER
        assert log.has_ended(last)
        assert log.list_newest(words=("refund",)) == [entry]


def test_a_store_has_its_runs_and_a_worker_goes_on_with_them(saved: Path) -> None:
    with Runs(f"sqlite:///{saved}/store.sqlite") as runs, Worker(runs, {"support": saved_formats.build_agent()}):
        ended, waiting = (runs.start_sync("support", "Refund order 7.", key=key) for key in ("ended", "waits"))
        assert (ended.is_new, waiting.is_new) == (False, False)
        assert (ended.status_sync(), waiting.status_sync()) == ("done", "paused")
        assert ended.outcome_sync().text == ANSWER
        [call] = waiting.waiting_sync()
        waiting.approve_sync(call.call.id)
        assert waiting.outcome_sync(timeout=WAIT_SECONDS).text == ANSWER
        assert runs.start_sync("support", "Refund order 7.", key="newer").is_new


def test_what_is_saved_today_has_the_same_kinds(tmp_path: Path) -> None:
    saved_formats.save_all(tmp_path / "today")
    assert {path.name for path in (tmp_path / "today").iterdir()} >= KINDS
    with pytest.raises(FileExistsError):  # what a release saved is never changed
        saved_formats.save_all(tmp_path / "today")
