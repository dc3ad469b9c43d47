"""Facts and requests as the texts that a journal stores, and back.

- A fact is stored as `codec` writes it. One that is long is stored as a blob, which its row refers to.
- The messages of a chat are not repeated: `RunStarted` is stored without those that the conversation had before, and
  with their number (`inherited`).
- A request is what `Runs.start` was given: the prompt, the messages, and the options that can be stored.

Data is read by the types of its fields, as in `codec`; nothing stored is ever executed.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce as fold
from typing import Any, NamedTuple, TypeAlias, cast

from toolspeak.durable.journal import JournalSession
from toolspeak.durable.log import StoredFact, split_inherited, split_system
from toolspeak.durable.rows import FactRow, RunRow
from toolspeak.loop import State, initial_state, reduce
from toolspeak.run.chat import extend_conversation
from toolspeak.run.run import build_outcome
from toolspeak.run.runnable import Prompt, RunOptions
from toolspeak.values import codec
from toolspeak.values.errors import UsageError
from toolspeak.values.events import (
    Compacted,
    Fact,
    NestedFact,
    RunResumed,
    RunStarted,
    ToolChoice,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from toolspeak.values.messages import Message

MESSAGES_WITHOUT_BLAME = 3
"""After how many messages calls are no longer to blame that were cut off before these and have no result."""

CallPlace: TypeAlias = tuple[tuple[str, ...], str]
"""The calls around a call, from the outermost on, and its id."""


def unwrap(fact: Fact) -> tuple[tuple[str, ...], Fact]:
    """Return the calls that lead to the run of a fact, none for the outermost run, and what happened there."""
    return (fact.path, fact.event) if isinstance(fact, NestedFact) else ((), fact)


class RunProgress:
    """Follows the facts of a run, and says which bring it further, so that earlier deaths of its workers count no more.

    A message that is still arriving when its worker dies is asked for again, with all that happened during it. So the
    end of a message brings the run further, and a result only if no message is open: neither in its own run nor in a
    run around that one.

    If a worker died during calls, each of them may be to blame, and the next messages may ask for the same again. So
    nothing brings the run further until each of these calls has a result, or until so many messages have ended since
    that the run has plainly left them behind: a `once` call that was cut off never gets a result. A result of another
    call shows nothing: it may have been beside the guilty one.

    Args:
        earlier: The facts that other workers wrote before.
    """

    def __init__(self, earlier: Iterable[Fact] = ()) -> None:
        self._open_paths: set[tuple[str, ...]] = set()  # of the runs whose message is arriving; () is the outermost
        self._running: set[CallPlace] = set()
        self._suspects: set[CallPlace] = set()  # were running when a worker died, and have no result
        self._messages = 0  # that have ended since then
        self.add(earlier)
        self._resume()  # whatever was under way has stopped

    def add(self, facts: Iterable[Fact]) -> bool:
        """Follow the next facts, and return whether one of them brings the run further."""
        found = [self._add(fact) for fact in facts]
        return any(found)

    def _add(self, fact: Fact) -> bool:
        path, event = unwrap(fact)
        if isinstance(event, RunResumed) and not path:
            self._resume()
        elif isinstance(event, TurnStarted):
            self._open_paths.add(path)
        elif isinstance(event, ToolStarted):
            self._running.add((path, event.call_id))
        elif isinstance(event, TurnEnded):
            self._open_paths.discard(path)
            return self._counts(path) and self._has_left_suspects()
        elif isinstance(event, ToolFinished):
            call = (path, event.result.call_id)
            self._running.discard(call)
            if event.result.ran:
                self._suspects.discard(call)
            return self._counts(path) and not self._suspects
        return False

    def _resume(self) -> None:
        """Begin as another worker does: no message arrives, and no call is running."""
        self._open_paths.clear()
        if self._running:
            self._suspects |= self._running
            self._running.clear()
            self._messages = 0

    def _counts(self, path: tuple[str, ...]) -> bool:
        """Whether no message is open, in the run of this path or around it."""
        return not any(path[:length] in self._open_paths for length in range(len(path) + 1))

    def _has_left_suspects(self) -> bool:
        """Whether no call is to blame any more, now that another message has ended."""
        self._messages += 1
        if self._messages >= MESSAGES_WITHOUT_BLAME:
            self._suspects.clear()
        return not self._suspects


SPILL_CHARS = 16_384
"""Facts whose text is longer are stored as blobs."""

STORABLE_OPTIONS = ("messages", "tool_choice", "limits", "compacted")


class EncodedFacts(NamedTuple):
    """Facts as texts, and the blobs that they refer to."""

    texts: list[str]
    blobs: dict[str, str]


class Conversation(NamedTuple):
    """The messages with which the next run of a chat begins, and what the model is still shown of them."""

    messages: tuple[Message, ...] = ()
    compacted: Compacted | None = None
    started: RunStarted | None = None


def encode_facts(facts: Iterable[Fact], before: Sequence[Message] = ()) -> EncodedFacts:
    """Return facts as texts.

    Args:
        facts: The facts.
        before: The messages that the chat of the run had before it.
    """
    texts: list[str] = []
    blobs: dict[str, str] = {}
    for fact in facts:
        extra: dict[str, Any] = {}
        if isinstance(fact, RunStarted) and before:
            extra["inherited"], own = split_inherited(fact.messages, tuple(before))
            fact = replace(fact, messages=own)
        text = json.dumps({**codec.encode(fact), **extra})
        if len(text) > SPILL_CHARS:
            name = hashlib.sha256(text.encode()).hexdigest()
            blobs[name] = text
            text = json.dumps({"v": codec.FORMAT, "kind": fact.kind, "blob": name})
        texts.append(text)
    return EncodedFacts(texts, blobs)


def decode_fact(session: JournalSession, run: RunRow, row: FactRow, before: Conversation | None = None) -> Fact:
    """Return a stored fact.

    Args:
        session: A session of the journal that has it.
        run: Its run.
        row: The fact as it is stored.
        before: The conversation before the run; it is loaded if it is needed and not given.

    Raises:
        UsageError: The fact cannot be read.
    """
    data: dict[str, Any] = json.loads(row.data)
    if (name := data.get("blob")) is not None:
        text = session.read_blob(run.run_id, name)
        if text is None:
            raise UsageError(f"fact {row.seq} of run {run.run_id} refers to a text that is not in the store")
        data = json.loads(text)
    inherited = data.pop("inherited", 0)
    fact = codec.decode(data)
    if isinstance(fact, Message):
        raise UsageError(f"fact {row.seq} of run {run.run_id} is a message")
    if not isinstance(fact, RunStarted) or not inherited:
        return fact
    earlier = split_system((before or load_conversation(session, run.parent)).messages)[1]
    system, own = split_system(fact.messages)
    return replace(fact, messages=(*system, *earlier[:inherited], *own))


def load_facts(session: JournalSession, run: RunRow) -> list[Fact]:
    """Return the facts of a run so far."""
    return [decode_fact(session, run, row) for row in session.read_facts(run.run_id)]


def load_timed_facts(session: JournalSession, run: RunRow) -> list[StoredFact]:
    """Return the facts of a run so far, with the time at which each was stored."""
    rows = session.read_facts(run.run_id)
    return [StoredFact(fact=decode_fact(session, run, row), at=row.at / 1000) for row in rows]


def fold_facts(facts: Sequence[Fact]) -> State:
    """Return the state of a run, without the program that ran it."""
    started = next((fact for fact in facts if isinstance(fact, RunStarted)), None)
    return fold(reduce, facts, initial_state(() if started is None else started.tools))


def load_conversation(session: JournalSession, run_id: str) -> Conversation:
    """Return the conversation of a chat after a run of it. A run that was not answered is no part of it."""
    chain: list[RunRow] = []
    while run_id and (run := session.read_run(run_id)) is not None:
        chain.append(run)
        run_id = run.parent
    conversation = Conversation()
    for run in reversed(chain):
        facts = [decode_fact(session, run, row, conversation) for row in session.read_facts(run.run_id)]
        state = fold_facts(facts)
        if state.run is None:
            continue
        outcome = build_outcome(state, tuple(facts))
        messages, dropped = extend_conversation(conversation.messages, outcome)
        if not dropped:
            conversation = Conversation(messages, outcome.compacted, state.run)
    return conversation


# Requests


def encode_request(prompt: Prompt, options: RunOptions) -> str:
    """Return what a run is asked as JSON text.

    Raises:
        UsageError: An option cannot be stored.
    """
    if unstored := [name for name in options if name not in STORABLE_OPTIONS and options[name] is not None]:
        raise UsageError(
            f"{', '.join(unstored)}: only data is stored with a durable run; the worker makes deps "
            "(Worker(deps=…)), and its agent has the type of the answer"
        )
    limits, compacted = options.get("limits"), options.get("compacted")
    choice = options.get("tool_choice")
    if isinstance(choice, ToolChoice):
        choice = choice.mode if choice.mode != "named" else list(choice.names)
    data = {
        "prompt": codec.encode(prompt) if isinstance(prompt, Message) else prompt,
        "messages": [codec.encode(each) for each in options.get("messages", ())],
        "tool_choice": list(choice) if choice is not None and not isinstance(choice, str) else choice,
        "limits": None if limits is None else codec.encode(RunResumed(limits=limits)),
        "compacted": None if compacted is None else codec.encode(compacted),
    }
    return json.dumps(data, sort_keys=True)


def decode_request(text: str, conversation: Conversation) -> tuple[Prompt, RunOptions]:
    """Return the prompt and the options of a stored request that goes on with a conversation."""
    data: dict[str, Any] = json.loads(text)
    stored = data["prompt"]
    prompt: Prompt = cast("Message", codec.decode(stored)) if isinstance(stored, dict) else stored
    messages = tuple(cast("Message", codec.decode(each)) for each in data["messages"])
    options: RunOptions = {"messages": (*conversation.messages, *messages), "tool_choice": data["tool_choice"]}
    compacted = data["compacted"]
    options["compacted"] = conversation.compacted if compacted is None else cast("Compacted", codec.decode(compacted))
    limits = data["limits"]
    options["limits"] = None if limits is None else cast("RunResumed", codec.decode(limits)).limits
    return prompt, options
