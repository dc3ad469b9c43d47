"""The contract suites pass for what toolspeak has itself, and fail for what breaks one of their rules."""

# ruff: noqa: RUF012 (a suite is configured by the attributes of its class)

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.dialects.test_own_dialect import OneLine
from toolspeak import Message, ToolSpec, codec, user
from toolspeak.dialects import JSON, NATIVE, PYTHON, TYPESCRIPT, Dialect, Parser, Shown
from toolspeak.durable.log import RunStore, StoredFact
from toolspeak.models import Model, Request
from toolspeak.testing import DialectContract, FactStore, ModelContract, ScriptedModel, StoreContract, breaks, says
from toolspeak.values.errors import ProviderError
from toolspeak.values.events import AUTO, Event, Fact, FinishReason, RunStarted, TextDelta, ToolChoice
from toolspeak.values.messages import Text
from toolspeak.values.pieces import Answer, Piece

ADDED = [("add", {"first": 1, "second": 2})]


class TestNative(DialectContract):
    def make_dialect(self) -> Dialect:
        return NATIVE


class TestJson(DialectContract):
    messages = {'```json\n[{"name": "add", "arguments": {"first": 1, "second": 2}}]\n```': ADDED}

    def make_dialect(self) -> Dialect:
        return JSON


class TestTypescript(DialectContract):
    messages = {"I add.\n```typescript\nadd({first: 1, second: 2})\n```": ADDED, "No call.": []}

    def make_dialect(self) -> Dialect:
        return TYPESCRIPT


class TestPython(DialectContract):
    messages = {"```python\nadd(first=1, second=2)\nnote(text='x')\n```": [*ADDED, ("note", {"text": "x"})]}
    seed = 7

    def make_dialect(self) -> Dialect:
        return PYTHON


class TestScripted(ModelContract):
    def make_model(self) -> Model:
        return ScriptedModel([says("Hello to you.")], chunk=3)

    def make_failing_model(self) -> Model:
        return ScriptedModel([breaks(ProviderError("overloaded"), text="Hel")])


class FileStore:
    """Facts in a file, one a line."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def record(self, fact: Fact) -> None:
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(codec.dump_facts([fact]))

    def load(self) -> Sequence[Fact]:
        return codec.load_facts(self.path.read_bytes().decode()) if self.path.exists() else ()


class DatabaseStore:
    """Facts in the SQLite file of toolspeak's own log."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run_id = ""

    def record(self, fact: Fact) -> None:
        with RunStore(self.path) as store:
            if isinstance(fact, RunStarted):
                self.run_id = fact.run_id
                store.start(fact, at=0.0)
            else:
                store.append(self.run_id, [StoredFact(fact, 0.0)])

    def load(self) -> Sequence[Fact]:
        with RunStore(self.path) as store:
            return [stored.fact for stored in store.load_facts(self.run_id)] if self.run_id else []


class InFolder(StoreContract):
    """Makes each store in a file of its own."""

    folder: Path
    kind: Any
    count = 0

    @pytest.fixture(autouse=True)
    def use_folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make_store(self) -> FactStore:
        self.count += 1
        return self.kind(self.folder / f"{self.count}")


class TestFileStore(InFolder):
    kind = FileStore

    def reopen(self, store: FactStore) -> FactStore:
        assert isinstance(store, FileStore)
        return FileStore(store.path)


class TestDatabaseStore(InFolder):
    kind = DatabaseStore


# What breaks a rule


class Forgetful(FileStore):
    def record(self, fact: Fact) -> None:
        if fact.kind != "tool_finished":
            super().record(fact)


class TestForgetful(InFolder):
    """Not a suite that passes: each of its tests must fail, but for the empty store."""

    kind = Forgetful

    def run_failing(self, name: str) -> None:
        with pytest.raises(AssertionError):
            getattr(StoreContract, name)(self)

    def test_facts_come_back_as_they_were(self) -> None:
        self.run_failing("test_facts_come_back_as_they_were")

    def test_a_fact_is_safe_when_record_returns(self) -> None:
        self.run_failing("test_a_fact_is_safe_when_record_returns")

    def test_two_stores_do_not_mix(self) -> None:
        self.run_failing("test_two_stores_do_not_mix")

    def test_a_run_is_resumed(self) -> None:
        self.run_failing("test_a_run_is_resumed")


class Impatient:
    """Emits each chunk as text of its own, as if the last word were complete."""

    def __init__(self) -> None:
        self.count = 0

    def feed(self, text: str) -> list[Event]:
        self.count += 1
        return [TextDelta(text=f"{text}|")]

    def close(self, finish: FinishReason = "stop") -> list[Event]:
        return []


class Fragile(Impatient):
    def feed(self, text: str) -> list[Event]:
        return [TextDelta(text=text[text.index("add") :])]


class WithParser(OneLine):
    def __init__(self, parser: type[Impatient]) -> None:
        self._parser = parser

    def parser(self, specs: Sequence[ToolSpec], *, prefix: str = "call") -> Parser:
        return self._parser()


class Shifting(OneLine):
    """Writes the choice and the length of the history into its first message."""

    def render(
        self,
        specs: Sequence[ToolSpec],
        history: Sequence[Message],
        *,
        choice: ToolChoice = AUTO,
        parallel: bool = True,
    ) -> Shown:
        first = user(f"{choice.mode} {len(history)}")
        return Shown(messages=(first, *PYTHON.render((), history).messages))


@pytest.mark.parametrize(
    ("broken", "name", "words"),
    [
        (WithParser(Impatient), "chunks_do_not_matter", "is something else"),
        (WithParser(Fragile), "any_text_can_be_read", "makes the parser fail"),
        (WithParser(Impatient), "calls_are_read", "the calls are"),
        (Shifting(), "a_longer_history_begins_with_the_shorter_one", "is not the beginning"),
        (Shifting(), "a_choice_changes_only_the_last_message", "changes more than the last message"),
        (Shifting(), "every_tool_is_shown", "'add' is not in the messages"),
    ],
)
def test_a_dialect_that_breaks_a_rule_fails(broken: Dialect, name: str, words: str):
    class Suite(DialectContract):
        messages = {"add 1 2": ADDED}

        def make_dialect(self) -> Dialect:
            return broken

    with pytest.raises(AssertionError, match=words):
        getattr(Suite(), f"test_{name}")()


class Careless:
    """A model that breaks the rules that it is told to break."""

    name = "careless"
    dialect = "native"

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.tasks: list[asyncio.Task[None]] = []

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        if self.fault == "leaves a task":
            self.tasks.append(asyncio.create_task(asyncio.sleep(60), name="left"))
        if self.fault == "fails":
            raise KeyError("status")
        yield [TextDelta(text="Hello")]
        if self.fault != "has no answer":
            text = "Goodbye" if self.fault == "says something else" else "Hello"
            yield [Answer(parts=(Text(text=text),), finish="stop")]


@pytest.mark.parametrize(
    ("fault", "name", "words"),
    [
        ("leaves a task", "closing_early_leaves_nothing_running", "still run: left"),
        ("has no answer", "an_answer_ends_with_its_answer", "the last piece is no Answer"),
        ("says something else", "the_pieces_are_the_answer", "'Hello', and the Answer says 'Goodbye'"),
        ("fails", "a_failure_is_a_model_error", "KeyError"),
        ("does not fail", "a_failure_is_a_model_error", "nothing was raised"),
    ],
)
def test_a_model_that_breaks_a_rule_fails(fault: str, name: str, words: str):
    class Suite(ModelContract):
        def make_model(self) -> Model:
            return Careless(fault)

        make_failing_model = make_model

    with pytest.raises(AssertionError, match=words):
        getattr(Suite(), f"test_{name}")()


def test_a_suite_runs_without_pytest():
    assert "test_an_agent_can_use_it" in TestScripted().run()
