"""Contract suites: what a model, a dialect or a store of your own must do, as tests that yours can run.

Derive a class whose name begins with `Test`, and pytest runs the suite:

    class TestMyDialect(DialectContract):
        messages = {"CALL add 1 2": [("add", {"first": 1, "second": 2})]}

        def make_dialect(self) -> Dialect:
            return MyDialect()

Without pytest, `MySuite().run()` does the same. A broken rule is an `AssertionError` that says which one.
"""

import asyncio
import random
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Protocol, cast

from toolspeak.dialects import Dialect, MessageContent, Shown, dialect, fold
from toolspeak.models import Model, Request
from toolspeak.run import Agent, Recorder
from toolspeak.testing.scripted import ScriptedModel, calls, says
from toolspeak.tools import tool
from toolspeak.values.errors import ModelError, RunPaused, UsageError
from toolspeak.values.events import AUTO, Fact, RunStarted, TextDelta, ToolChoice
from toolspeak.values.messages import Call, Message, Result, Text, ToolCall, assistant, system, user
from toolspeak.values.outcome import Outcome
from toolspeak.values.pieces import Answer, Piece
from toolspeak.values.spec import ToolSpec


def require(is_kept: bool, rule: str) -> None:
    """Raise an error with the rule, unless it is kept."""
    if not is_kept:
        raise AssertionError(rule)


class Contract:
    """A suite of tests: the methods whose names begin with `test_`."""

    def run(self) -> list[str]:
        """Run all tests of the suite, and return their names.

        Raises:
            AssertionError: A rule of the contract is broken.
        """
        names = [name for name in dir(type(self)) if name.startswith("test_")]
        for name in names:
            getattr(type(self)(), name)()
        return names


ODD_TEXT = "é 😀 \u2028 \x00 \\ \" ' {} \r\n\tend"
"""A text with characters that files, databases and lines of JSON treat in their own ways."""


class FactStore(Protocol):
    """Keeps the facts of one run, in their order."""

    def record(self, fact: Fact) -> None:
        """Store a fact. The run continues when this returns, so the fact must be durable by then."""
        ...

    def load(self) -> Iterable[Fact]:
        """Return all facts that were recorded, in their order."""
        ...


class StoreContract(Contract):
    """The contract of a store of facts. Derive from it, and write `make_store`."""

    def make_store(self) -> FactStore:
        """Return a new store without facts."""
        raise NotImplementedError("write make_store, which returns a new, empty store")

    def reopen(self, store: FactStore) -> FactStore:
        """Return the store as another process would open it. Without a file, that is the same store."""
        return store

    def test_a_new_store_is_empty(self) -> None:
        """A run begins with no facts of another."""
        require(not list(self.make_store().load()), "a new store has facts already")

    def test_facts_come_back_as_they_were(self) -> None:
        """All facts are there, in their order, and equal to those of the run."""
        store = self.make_store()
        outcome = _run(store.record)
        _compare(self.reopen(store).load(), outcome.facts)

    def test_a_fact_is_safe_when_record_returns(self) -> None:
        """Whatever happens next, a fact that was recorded can be loaded."""
        store = self.make_store()
        for count, fact in enumerate(_run().facts, 1):
            store.record(fact)
            require(len(list(self.reopen(store).load())) == count, f"{fact.kind} is not there after record returned")

    def test_two_stores_do_not_mix(self) -> None:
        """The facts of two runs stay apart."""
        first, second = self.make_store(), self.make_store()
        for store in (first, second):
            outcome = _run(store.record)
            _compare(self.reopen(store).load(), outcome.facts)
        starts = [fact for fact in self.reopen(first).load() if isinstance(fact, RunStarted)]
        require(len(starts) == 1, f"a store of one run has {len(starts)} of them")

    def test_a_run_is_resumed(self) -> None:
        """A run that waits for an approval resumes from the stored facts."""
        store, spent = self.make_store(), list[int]()
        agent = _make_agent(spent)
        with suppress(RunPaused):
            agent.run("Spend 5.", record=store.record)
        store = self.reopen(store)
        facts = list(store.load())
        waiting = [fact.call.id for fact in facts if fact.kind == "approval_needed"]
        require(len(waiting) == 1, "the fact that a call waits for an approval is not in the store")
        outcome = agent.resume(facts, approvals={waiting[0]: True}, record=store.record)
        require(spent == [5], f"the approved call ran {len(spent)} times")
        _compare(self.reopen(store).load(), outcome.facts)


def _run(record: Recorder | None = None) -> Outcome[None]:
    script = [calls(("repeat", {"text": ODD_TEXT}), text=ODD_TEXT), calls(("repeat", {"word": 1})), says(ODD_TEXT)]
    return Agent(ScriptedModel(script), tools=[repeat]).run(ODD_TEXT, record=record)


def repeat(text: str) -> dict[str, Any]:
    """Repeat a text."""
    return {"text": text, "numbers": [1, 2.5, None, True], "$call": text}


def _make_agent(spent: list[int]) -> Agent:
    @tool(approve=True)
    def spend(amount: int) -> str:
        """Spend money."""
        spent.append(amount)
        return "spent"

    return Agent(ScriptedModel([calls(("spend", {"amount": 5})), says("Done.")]), tools=[spend])


def _compare(loaded: Iterable[Fact], facts: Sequence[Fact]) -> None:
    found = list(loaded)
    for number, (one, other) in enumerate(zip(found, facts, strict=False)):
        require(one == other, f"fact {number} was {other!r}, and came back as {one!r}")
    require(len(found) == len(facts), f"{len(facts)} facts were recorded, and {len(found)} came back")


class ModelContract(Contract):
    """The contract of a model. Derive from it, and write `make_model`; each test creates its own model.

    Attributes:
        prompt: The prompt. The model must answer with some text.
    """

    prompt: str = "Say hello."

    def make_model(self) -> Model:
        """Return the model."""
        raise NotImplementedError("write make_model, which returns your model")

    def make_failing_model(self) -> Model | None:
        """Return a model whose endpoint fails, to test how it fails; None to skip that."""
        return None

    def test_it_is_a_model(self) -> None:
        """It has the members of `Model`, and names an existing dialect."""
        model = cast("object", self.make_model())
        if not isinstance(model, Model):
            raise AssertionError(f"a model has name, dialect and ask; {type(model).__name__} lacks some of them")
        name = cast("object", model.name)
        require(isinstance(name, str) and bool(name), f"a model name must be a string, not {name!r}")
        try:
            dialect(model.dialect)
        except UsageError as error:
            raise AssertionError(f"the dialect of the model: {error}") from error

    def test_an_answer_ends_with_its_answer(self) -> None:
        """The last piece is the `Answer`, and the only one, whether the answer is streamed or not."""
        for stream in (True, False):
            pieces = asyncio.run(self._collect(self._request(stream=stream)))
            answers = [piece for piece in pieces if isinstance(piece, Answer)]
            require(bool(answers) and pieces[-1] is answers[-1], "the last piece is no Answer")
            require(len(answers) == 1, f"an answer has one Answer, and this one has {len(answers)}")
            require(bool(_text_of(answers[0])), f"the answer to {self.prompt!r} has no text")

    def test_the_pieces_are_the_answer(self) -> None:
        """The streamed text is the beginning of the `Answer`."""
        pieces = asyncio.run(self._collect(self._request()))
        streamed = "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))
        whole = "".join(_text_of(piece) for piece in pieces if isinstance(piece, Answer))
        require(whole.startswith(streamed), f"the pieces say {streamed!r}, and the Answer says {whole!r}")

    def test_closing_early_leaves_nothing_running(self) -> None:
        """A run that is stopped closes the answer; the model then ends what it has begun."""

        async def close_early() -> list[str]:
            before = asyncio.all_tasks()
            answer = self.make_model().ask(self._request())
            async for _ in answer:
                break
            await answer.aclose()
            await asyncio.sleep(0)
            return [task.get_name() for task in asyncio.all_tasks() - before]

        left = asyncio.run(close_early())
        require(not left, f"after aclose() these tasks still run: {', '.join(sorted(left))}")

    def test_two_answers_at_once(self) -> None:
        """A model serves any number of runs at the same time."""

        async def ask_twice() -> Sequence[list[Piece]]:
            model = self.make_model()
            return await asyncio.gather(*(self._collect(self._request(), model) for _ in range(2)))

        for pieces in asyncio.run(ask_twice()):
            require(isinstance(pieces[-1], Answer), "of two answers at once, one has no Answer")

    def test_it_works_in_one_event_loop_after_another(self) -> None:
        """A model outlives the event loop in which it was first asked."""
        model = self.make_model()
        for _ in range(2):
            pieces = asyncio.run(self._collect(self._request(), model))
            require(isinstance(pieces[-1], Answer), "in a second event loop there is no Answer")

    def test_an_agent_can_use_it(self) -> None:
        """A run with the model ends well, with the text of its answer."""
        outcome = Agent(self.make_model()).run(self.prompt)
        require(outcome.stop_reason == "answered", f"the run ended with {outcome.stop_reason!r}: {outcome.detail}")
        require(bool(outcome.text), "the outcome has no text")

    def test_a_failure_is_a_model_error(self) -> None:
        """An endpoint that fails raises `ModelError`, which a run reports with its outcome."""
        model = self.make_failing_model()
        if model is None:
            return
        for stream in (True, False):
            try:
                asyncio.run(self._collect(self._request(stream=stream), model))
            except ModelError:
                continue
            except Exception as error:
                raise AssertionError(f"a failure is a ModelError, and this one is {error!r}") from error
            raise AssertionError("the endpoint fails, and nothing was raised")

    def _request(self, *, stream: bool = True) -> Request:
        name = self.make_model().dialect
        shown: Shown = dialect(name).render((), [user(self.prompt)])
        return Request(shown=shown, dialect=name, stream=stream)

    async def _collect(self, request: Request, model: Model | None = None) -> list[Piece]:
        answer = (model or self.make_model()).ask(request)
        try:
            return [piece async for batch in answer for piece in batch]
        finally:
            await answer.aclose()


def _text_of(answer: Answer) -> str:
    return "".join(part.text for part in answer.parts if isinstance(part, Text))


ADD = ToolSpec(
    name="add",
    description="Add two numbers.",
    parameters={
        "type": "object",
        "properties": {"first": {"type": "integer"}, "second": {"type": "integer"}},
        "required": ["first", "second"],
    },
)
NOTE = ToolSpec(
    name="note",
    description="Keep a text.",
    parameters={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)
TOOLS = (ADD, NOTE)
"""The tools that dialects are tried with."""

FRAGMENTS = (
    *("add", "note", "(", ")", "{", "}", "[", "]", '"', "'", ":", ",", "\n", "\n\n", " ", "\\", "```", "```json\n"),
    *"first second text 1 2.5 - null <tool_call> </tool_call> <think> </think> é 😀".split(),
)
"""What random texts are made of."""

RANDOM_TEXTS = 50
CUTS = 10


class DialectContract(Contract):
    """The contract of a dialect. Derive from it, and write `make_dialect` and `messages`.

    Attributes:
        messages: Texts that a model may write in your dialect, each with the calls in it, of the tools `add(first,
            second)` and `note(text)`. A dialect that leaves calls to the API needs none.
        seed: Chooses the random texts and the places where texts are cut.
    """

    messages: Mapping[str, Sequence[tuple[str, Mapping[str, Any]]]] = MappingProxyType({})
    seed: int = 0

    def make_dialect(self) -> Dialect:
        """Return the dialect."""
        raise NotImplementedError("write make_dialect, which returns your dialect")

    def test_the_name_stays_the_same(self) -> None:
        """Runs record the name, and messages keep their text under it."""
        name = cast("object", self.make_dialect().name)
        require(isinstance(name, str) and bool(name.strip()), f"the name of a dialect is a text, not {name!r}")
        require(self.make_dialect().name == name, "the name of a dialect does not change")

    def test_every_tool_is_shown(self) -> None:
        """A model can only call tools that it is shown."""
        dialect = self.make_dialect()
        shown = dialect.render(TOOLS, [user("What is 1 + 2?")])
        text = "\n".join(message.text for message in shown.messages)
        for spec in TOOLS:
            is_shown = spec.name in text if dialect.in_text else spec in shown.tools
            place = "in the messages" if dialect.in_text else "among the tools of Shown"
            require(is_shown, f"the tool {spec.name!r} is not {place}")
        require(not (dialect.in_text and shown.tools), "a dialect with in_text leaves Shown.tools empty")

    def test_the_conversation_is_shown(self) -> None:
        """The user's messages, the system prompt and results reach the model."""
        shown = self.make_dialect().render(TOOLS, HISTORY)
        text = "\n".join(_all_text(shown))
        for words in ("Be brief.", "What is 1 + 2?", "The sum is three.", "Keep that."):
            require(words in text, f"the model is not shown {words!r}, which is in the history")
        require("three: 3" in text, "the model is not shown the result of its call")

    def test_a_longer_history_begins_with_the_shorter_one(self) -> None:
        """Servers cache a conversation as long as its beginning does not change."""
        dialect = self.make_dialect()
        whole = dialect.render(TOOLS, HISTORY).messages
        for length in (2, 4):
            part = dialect.render(TOOLS, HISTORY[:length]).messages
            require(
                whole[: len(part)] == part,
                f"what is shown for the first {length} messages is not the beginning of what is shown for all",
            )

    def test_a_choice_changes_only_the_last_message(self) -> None:
        """Text that differs from turn to turn comes last, so that servers can cache the rest."""
        dialect = self.make_dialect()
        usual = dialect.render(TOOLS, HISTORY, choice=AUTO).messages
        for choice in (ToolChoice(mode="required"), ToolChoice(mode="named", names=("add",))):
            shown = dialect.render(TOOLS, HISTORY, choice=choice, parallel=False).messages
            require(
                shown[: len(usual) - 1] == usual[:-1], f"the choice {choice.mode!r} changes more than the last message"
            )

    def test_calls_are_read(self) -> None:
        """The calls in your messages are those that you expect."""
        dialect = self.make_dialect()
        require(bool(self.messages) or not dialect.in_text, "give messages = {text: [(tool, arguments), …]}")
        for text, expected in self.messages.items():
            content = _read(dialect, [text])
            calls = [(ready.call.name, ready.call.arguments) for ready in content.calls]
            require(
                calls == [(name, dict(arguments)) for name, arguments in expected], f"in {text!r} the calls are {calls}"
            )

    def test_chunks_do_not_matter(self) -> None:
        """However a text is cut, its events fold into the same content."""
        dialect, chance = self.make_dialect(), random.Random(self.seed)  # noqa: S311 (no secret)
        for text in (*self.messages, *_random_texts(chance)):
            whole = _read(dialect, [text])
            require(_read(dialect, list(text)) == whole, f"read character by character, {text!r} is something else")
            for _ in range(CUTS):
                chunks = _cut(text, chance)
                require(_read(dialect, chunks) == whole, f"cut into {chunks}, {text!r} is something else")

    def test_any_text_can_be_read(self) -> None:
        """A parser never fails: a model may write anything, and its message may be cut anywhere."""
        dialect, chance = self.make_dialect(), random.Random(self.seed + 1)  # noqa: S311 (no secret)
        for text in _random_texts(chance):
            for finish in ("stop", "length"):
                parser = dialect.parser(TOOLS)
                try:
                    fold([*parser.feed(text), *parser.close(finish)])
                except Exception as error:
                    raise AssertionError(f"the text {text!r} makes the parser fail: {error!r}") from error

    def test_ids_begin_with_the_prefix_and_differ(self) -> None:
        """A result finds its call by the id, which must differ from turn to turn."""
        dialect = self.make_dialect()
        for text in self.messages:
            parser = dialect.parser(TOOLS, prefix="turn7")
            content = fold([*parser.feed(text), *parser.close("stop")])
            ids = [*(ready.call.id for ready in content.calls), *(each.call_id for each in content.malformed)]
            require(len(set(ids)) == len(ids), f"two calls in {text!r} have the same id: {ids}")
            require(all(each.startswith("turn7") for each in ids), f"ids do not begin with the prefix: {ids}")


HISTORY = (
    system("Be brief."),
    user("What is 1 + 2?"),
    Message(role="assistant", parts=(Call(call=ToolCall(id="a", name="add", arguments={"first": 1, "second": 2})),)),
    Message(role="tool", parts=(Result(call_id="a", content=(Text(text="three: 3"),)),)),
    assistant("The sum is three."),
    user("Keep that."),
)
"""A conversation with a call. The model is asked after its second, fourth and last message."""


def _all_text(shown: Shown) -> Iterable[str]:
    for message in shown.messages:
        for part in message.parts:
            if isinstance(part, Text):
                yield part.text
            elif isinstance(part, Result):
                yield from (each.text for each in part.content if isinstance(each, Text))


def _read(dialect: Dialect, chunks: Sequence[str]) -> MessageContent:
    parser = dialect.parser(TOOLS)
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return fold([*events, *parser.close("stop")])


def _random_texts(chance: random.Random) -> list[str]:
    return ["".join(chance.choices(FRAGMENTS, k=chance.randint(1, 20))) for _ in range(RANDOM_TEXTS)]


def _cut(text: str, chance: random.Random) -> list[str]:
    places = sorted(chance.sample(range(len(text) + 1), k=min(3, len(text))))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
