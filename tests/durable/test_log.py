"""The log of runs and conversations, in real files, with real runs and real processes."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolspeak import Agent, tool
from toolspeak.durable.log import ConversationStore, RunLink, RunStore, StoredFact, open_log
from toolspeak.durable.schema import LOG_MIGRATIONS
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.values.errors import RunPaused, UsageError
from toolspeak.values.events import Compacted, Fact, RunStarted
from toolspeak.values.messages import Message, Result, assistant, system, user

LOG_SCHEMA = len(LOG_MIGRATIONS)
SAVED = Path(__file__).parent / "data" / "log_schema_1.sqlite"


def double(x: int) -> dict[str, Any]:
    """Double a number."""
    return {"twice": 2 * x, "pair": [x, x], "ü": None}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "log.sqlite"


def recorder(store: RunStore, link: Callable[[str], RunLink], at: float = 1.0) -> Callable[[Fact], None]:
    """Return a function that stores each fact of one run."""
    run_id = ""

    def record(fact: Fact) -> None:
        nonlocal run_id
        if isinstance(fact, RunStarted):
            run_id = fact.run_id
            store.start(fact, at, link(run_id))
        else:
            store.append(run_id, [StoredFact(fact, at)])

    return record


def hold(store: ConversationStore, agent: Agent, *prompts: str, at: float = 1.0) -> str:
    """Hold a conversation and store it. Return its id."""
    conversation, parent, messages = "", None, tuple[Message, ...]()
    for prompt in prompts:
        before = RunLink(conversation=conversation, parent=parent, messages=messages)

        def link(run_id: str, before: RunLink = before) -> RunLink:
            return before if before.parent else RunLink(conversation=run_id)

        outcome = agent.run(prompt, messages=messages, record=recorder(store, link, at))
        assert isinstance(outcome.facts[0], RunStarted)
        parent, messages = outcome.facts[0].run_id, outcome.messages
        conversation = conversation or parent
    return conversation


def test_a_conversation_goes_on_after_a_call_that_waited_for_an_approval(path: Path):
    careful = tool(approve=True)(double)
    model = ScriptedModel([calls(("double", {"x": 1}), ("double", {"x": 2}))])
    with ConversationStore(path) as store:
        record = recorder(store, lambda run_id: RunLink(conversation=run_id))
        with pytest.raises(RunPaused):
            Agent(model, [careful]).run("Twice 1?", record=record)
        (entry,) = store.list_newest()
        _, messages = store.load_conversation(entry.id)
    asked = [call.id for message in messages for call in message.calls]
    results = [part for message in messages for part in message.parts if isinstance(part, Result)]
    assert [result.call_id for result in results] == asked
    assert all(result.is_error for result in results)


def test_a_run_is_read_back_as_it_was(path: Path):
    model = ScriptedModel([calls(("double", {"x": 21}), text="Let me see \ud83d."), says("42 \x00!")])
    with ConversationStore(path) as store:
        facts: list[Fact] = []
        record = recorder(store, lambda run_id: RunLink(conversation=run_id))
        outcome = Agent(model, [double], system="Be brief.").run(
            "Twice 21?", record=lambda fact: (facts.append(fact), record(fact))[0]
        )
        (entry,) = store.list_newest()
        assert [each.fact for each in store.load_facts(entry.id)] == facts
        assert store.load_messages(entry.id) == outcome.messages
        assert (entry.title, entry.runs, entry.turns) == ("Twice 21?", 1, 2)


def test_a_conversation_is_read_back_and_its_size_is_linear(path: Path):
    count = 40
    with ConversationStore(path) as store:
        agent = Agent(ScriptedModel([says("An answer. " * 20)] * count), [double], system="Be brief.")
        conversation = hold(store, agent, *(f"Question {n}?" for n in range(count)))
        runs = store.list_runs(conversation)
        assert len(runs) == count
        last, messages = store.load_conversation(conversation)
        assert last == runs[-1]
        assert [each.text for each in messages if each.role == "user"] == [f"Question {n}?" for n in range(count)]
        started = store.load_facts(runs[-1])[0].fact
        assert isinstance(started, RunStarted)
        assert started.messages == messages[:-1]
    with closing(sqlite3.connect(path)) as connection, connection:
        sizes = [row[0] for row in connection.execute("SELECT sum(length(data)) FROM ts_facts GROUP BY run_id")]
    assert max(sizes) - min(sizes) < 50  # the last run takes as much as the first


def test_a_new_system_prompt_and_a_failed_run_do_not_break_a_conversation(path: Path):
    model = ScriptedModel([says("One."), says("Two."), says("Three.")])
    with ConversationStore(path) as store:
        first = Agent(model, system="Old.").run("1?", record=recorder(store, first_run))
        parent = run_id_of(first.facts)
        link = RunLink(conversation=parent, parent=parent, messages=first.messages)
        changed = (system("New."), *first.messages[1:])
        second = Agent(model).run("2?", messages=changed, record=recorder(store, lambda _: link, 2))
        assert store.load_conversation(parent) == (run_id_of(second.facts), second.messages)
        link = RunLink(conversation=parent, parent=run_id_of(second.facts), messages=second.messages)
        broken = RunStarted(run_id="broken", model="m", dialect="native", messages=(*second.messages, user("3?")))
        store.start(broken, 3, link)
        last, messages = store.load_conversation(parent)
        assert (last, messages) == ("broken", second.messages)  # the prompt without an answer is left out
        link = RunLink(conversation=parent, parent="broken", messages=broken.messages)
        again = Agent(model).run("3!", messages=messages, record=recorder(store, lambda _: link, 4))
        assert store.load_conversation(parent)[1] == again.messages


def test_a_compaction_is_read_from_the_facts_of_its_own_run(path: Path):
    first, second = Compacted(through=2, dropped=2, summary="One."), Compacted(through=4, dropped=2, summary="One.")
    messages = (user("1?"), assistant("One."))
    with ConversationStore(path) as store:
        started = RunStarted(run_id="a", model="m", dialect="native", messages=messages[:1])
        store.start(started, 1, first_run("a"))
        link = RunLink(conversation="a", parent="a", messages=messages)
        going_on = replace(started, run_id="b", messages=(*messages, user("2?")), compacted=first)
        store.start(going_on, 2, link)
        assert (store.load_compaction("a"), store.load_compaction("b")) == (None, first)
        store.append("b", [StoredFact(second, 3)])
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE ts_facts SET data = '{' WHERE run_id = 'a'")
        assert store.load_compaction("b") == second
        with pytest.raises(UsageError, match="the run c is not in the log"):
            store.load_compaction("c")


def first_run(run_id: str) -> RunLink:
    return RunLink(conversation=run_id)


def run_id_of(facts: tuple[Fact, ...]) -> str:
    assert isinstance(facts[0], RunStarted)
    return facts[0].run_id


# Finding


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["weather"], ["Weather in Oslo"]),
        (["EATH", "grad"], ["Weather in Oslo"]),  # in the prompt and in the answer, inside of words
        (["straße"], ["Die STRASSE"]),
        (["東京"], ["東京の天気は?"]),
        (["天"], ["東京の天気は?"]),
        (["100%", "_"], ["100% of a_b"]),
        (["nothing"], []),
        ([], ["100% of a_b", "東京の天気は?", "Die STRASSE", "Weather in Oslo"]),
    ],
)
def test_words_are_found_wherever_they_stand(path: Path, words: list[str], found: list[str]):
    with ConversationStore(path) as store:
        for at, prompt in enumerate(["Weather in Oslo", "Die STRASSE", "東京の天気は?", "100% of a_b"]):
            hold(store, Agent(ScriptedModel([says("3 Grad.")])), prompt, at=at)
        assert [each.title for each in store.list_newest(words=words)] == found
        assert [each.title for each in store.list_newest(1, words)] == found[:1]


def test_an_excerpt_shows_the_word(path: Path):
    with ConversationStore(path) as store:
        conversation = hold(store, Agent(ScriptedModel([says("x " * 90 + "a Needle\nhere " + "y " * 90)])), "Where?")
        assert store.find_excerpt(conversation, "needle", 30) == "…x x x x a Needle here y y y y…"
        assert store.find_excerpt(conversation, "absent", 30) == ""


def test_an_id_may_be_shortened_while_it_is_unique(path: Path):
    with ConversationStore(path) as store:
        for run_id in ("abc1", "abc2", "abc"):
            store.start(RunStarted(run_id=run_id, model="m", dialect="native", messages=(user("?"),)), 1)
        assert store.find("abc2").id == "abc2"
        assert store.find("abc").id == "abc"
        with pytest.raises(UsageError, match="is the beginning of several ids: "):
            store.find("ab")
        for wrong in ("x", "", "%"):
            with pytest.raises(UsageError, match="there is no conversation"):
                store.find(wrong)


def test_deleted_conversations_leave_no_trace_in_the_file(path: Path):
    with ConversationStore(path) as store:
        secret, kept = (
            hold(store, Agent(ScriptedModel([says(text)])), "What?", at=at)
            for at, text in [(1, "xyzzy-secret"), (5, "kept")]
        )
        assert store.list_older(3) == [secret]
        assert store.delete([secret, "absent"]) == 1
        assert [each.id for each in store.list_newest()] == [kept]
        with pytest.raises(UsageError, match="is not in the log"):
            store.load_facts(secret)
        for file in path.parent.iterdir():
            assert b"xyzzy-secret" not in file.read_bytes()


# The file


def test_the_file_and_its_folder_are_for_their_owner_alone(path: Path):
    path.parent.mkdir(mode=0o755)
    path.touch(mode=0o644)
    with ConversationStore(path) as store:
        hold(store, Agent(ScriptedModel([says("Yes.")])), "Is it?")
        modes = {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        assert modes == {0o600}
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("name", ["log.sqlite", "log.sqlite-wal", "log.sqlite-journal", "."])
def test_a_log_that_another_user_made_is_not_used(reachable: Path, name: str) -> None:
    (reachable / "data").mkdir()
    planted = reachable / "data" / name
    if name != ".":
        planted.touch(0o666)
    os.chown(planted, 41002, 41002)
    with pytest.raises(UsageError, match="belongs to another user"):
        ConversationStore(reachable / "data" / "log.sqlite")


def test_an_annotation_is_kept_and_goes_with_its_conversation(path: Path) -> None:
    with ConversationStore(path) as store:
        conversation = hold(store, Agent(ScriptedModel([says("Hello.")])), "Hi.")
        [run] = store.list_latest_runs(10)
        assert run.annotation == ""
        assert store.annotate(run.run_id, "first")
        assert store.annotate(run.run_id, "second")
        assert not store.annotate("unknown", "nothing")
        assert [each.annotation for each in store.list_latest_runs(10)] == ["second"]
        before = store.load_facts(run.run_id)
        assert store.annotate(run.run_id, "third")
        assert store.load_facts(run.run_id) == before
        store.delete([conversation])
    connection = open_log(path)
    assert connection.execute("SELECT count(*) FROM ts_annotations").fetchone() == (0,)
    connection.close()


def test_a_file_of_schema_1_is_read(path: Path):
    path.parent.mkdir()
    path.write_bytes(SAVED.read_bytes())
    with ConversationStore(path) as store:
        assert [run.annotation for run in store.list_latest_runs(10)] == ["", ""]
        (entry,) = store.list_newest(words=["doubled"])
        assert (entry.title, entry.runs, entry.turns) == ("What is twice 21?", 2, 3)
        assert entry.options == {"model": "local", "tools": ["numbers"]}
        _, messages = store.load_conversation(entry.id)
        assert [each.role for each in messages] == [
            "system",
            "user",
            "assistant",
            "tool",
            "assistant",
            "user",
            "assistant",
        ]
        assert messages[-1].text == "It is 84."


def test_a_file_of_a_newer_schema_is_refused(path: Path):
    ConversationStore(path).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"PRAGMA user_version = {LOG_SCHEMA + 1}")
    with pytest.raises(UsageError, match=rf"log.sqlite was written by a newer toolspeak \(schema {LOG_SCHEMA + 1}; "):
        ConversationStore(path)


def test_a_file_that_is_no_database_is_named(path: Path):
    path.parent.mkdir()
    path.write_text("not a database" * 100)
    with pytest.raises(UsageError, match=r"log.sqlite cannot be used: file is not a database"):
        ConversationStore(path)


def test_a_fact_of_a_newer_format_is_named(path: Path):
    with ConversationStore(path) as store:
        store.start(RunStarted(run_id="r", model="m", dialect="native", messages=(user("?"),)), 1)
        with closing(open_log(path)) as connection:
            connection.execute("UPDATE ts_facts SET data = ?", (json.dumps({"v": 99, "kind": "run_started"}),))
        with pytest.raises(UsageError, match="fact 0 of the run r in the log cannot be read: saved in format 99"):
            store.load_facts("r")


WRITER = """
import sys
from pathlib import Path
from toolspeak.values.events import RunStarted, TurnStarted
from toolspeak.values.messages import user
from toolspeak.durable.log import RunLink, RunStore, StoredFact

path, name, conversation = sys.argv[1:]
with RunStore(Path(path)) as store:
    for number in range(30):
        run_id = f"{name}-{number}"
        started = RunStarted(run_id=run_id, model="m", dialect="native", messages=(user(run_id),))
        store.start(started, number, RunLink(conversation=conversation))
        for turn in range(5):
            store.append(run_id, [StoredFact(TurnStarted(turn=turn), number)])
"""


@pytest.mark.slow
def test_processes_that_write_at_once_lose_nothing(path: Path):
    # The file does not exist yet, so that they also race to create it.
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), f"w{number}", "shared"], stderr=subprocess.PIPE)
        for number in range(3)
    ]
    for writer in writers:
        _, errors = writer.communicate(timeout=300)
        assert (writer.returncode, errors.decode()) == (0, "")
    with ConversationStore(path) as store:
        (entry,) = store.list_newest()
        assert entry.runs == 90
        for run_id in store.list_runs("shared"):
            assert len(store.load_facts(run_id)) == 6
