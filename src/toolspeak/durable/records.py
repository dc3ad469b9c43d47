"""Facts and requests as the texts that a journal stores, and back.

- A fact is stored as `codec` writes it. One that is long is stored as a blob, which its row refers to.
- The messages of a chat are not repeated: `RunStarted` is stored without those that the conversation had before, and
  with their number (`inherited`).
- A request is what `Runs.start` was given: the prompt, the messages, and the options that can be stored.

Data is read by the types of its fields, as in `codec`; nothing stored is ever executed.
"""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce as fold
from typing import Any, NamedTuple, TypeAlias, cast
from weakref import WeakKeyDictionary

from toolspeak.durable.journal import JournalSession, RetryRefused
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
    ToolSuspended,
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
        elif isinstance(event, ToolFinished | ToolSuspended):  # a call that waits has come as far as its wait
            call = (path, event.call_id if isinstance(event, ToolSuspended) else event.result.call_id)
            self._running.discard(call)
            if isinstance(event, ToolSuspended) or event.result.ran:
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

STORABLE_OPTIONS = ("messages", "tool_choice", "limits", "compacted", "data")

MAX_KEPT_CHARS = 32_000_000
"""How many characters of stored facts the conversations stand for that a session keeps."""

MAX_LABEL_CHARS = 200
"""Runs are found by names and values of their data that are no longer."""


class EncodedFacts(NamedTuple):
    """Facts as texts, and the blobs that they refer to."""

    texts: list[str]
    blobs: dict[str, str]


class Conversation(NamedTuple):
    """The messages with which the next run of a chat begins, and what the model is still shown of them."""

    messages: tuple[Message, ...] = ()
    compacted: Compacted | None = None
    started: RunStarted | None = None


class KeptConversations:
    """The conversations after runs that a session has loaded, as far as there is room.

    A run that has ended never changes. Its key may start it again after it was pruned, so the time of its start counts.
    """

    def __init__(self) -> None:
        self._entries: OrderedDict[tuple[str, int], tuple[Conversation, int]] = OrderedDict()
        self._chars = 0

    def find(self, run: RunRow) -> tuple[Conversation, int] | None:
        """Return the conversation after a run, with the characters of its stored facts; None if it is not kept."""
        key = (run.run_id, run.created)
        if key in self._entries:
            self._entries.move_to_end(key)
        return self._entries.get(key)

    def add(self, run: RunRow, conversation: Conversation, chars: int) -> None:
        """Keep the conversation after a run, and drop those that were not used for longest."""
        if run.status != "done" or chars > MAX_KEPT_CHARS:
            return
        self._entries[run.run_id, run.created] = conversation, chars
        self._chars += chars
        while self._chars > MAX_KEPT_CHARS:
            self._chars -= self._entries.popitem(last=False)[1][1]


_KEPT: WeakKeyDictionary[JournalSession, KeptConversations] = WeakKeyDictionary()


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
    return _decode_text(session, run, _read_text(session, run, row), before)


def _read_text(session: JournalSession, run: RunRow, row: FactRow) -> str:
    """Return the text of a stored fact, which may be a blob."""
    if '"blob": ' not in row.data[:200] or (name := json.loads(row.data).get("blob")) is None:
        return row.data
    text = session.read_blob(run.run_id, name)
    if text is None:
        raise UsageError(f"fact {row.seq} of run {run.run_id} refers to a text that is not in the store")
    return text


def _decode_text(session: JournalSession, run: RunRow, text: str, before: Conversation | None) -> Fact:
    data: dict[str, Any] = json.loads(text)
    inherited = data.pop("inherited", 0)
    fact = codec.decode(data)
    if isinstance(fact, Message):
        raise UsageError(f"a fact of run {run.run_id} is a message")
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


def retry_run(session: JournalSession, run: RunRow, deadline_ms: int | None = None) -> RunRow:
    """Queue a run again that has ended without an answer; it goes on from its facts, and repeats no finished call.

    If its model was never asked, it begins anew: its facts may lack what its agent would have begun with.

    Raises:
        RetryRefused: It has not ended, was answered, or cannot go on from where it ended.
    """
    anew = False
    if run.status == "done" and run.stop_reason != "answered":
        facts = load_facts(session, run)
        anew = not any(isinstance(fact, TurnStarted) for fact in facts)
        state = fold_facts([*facts, RunResumed()])
        if state.ended is not None and not anew:
            raise RetryRefused(
                f"run {run.run_id} ended with {run.stop_reason} ({state.ended.detail}), and would do so again; start "
                "another run, with other limits"
            )
    return session.retry(run.run_id, deadline_ms=deadline_ms, anew=anew)


def load_conversation(session: JournalSession, run_id: str) -> Conversation:
    """Return the conversation of a chat after a run of it. A run that was not answered is no part of it.

    What a session has loaded is kept, so that the next run of a chat loads only the one before it.
    """
    kept = _KEPT.setdefault(session, KeptConversations())
    chain: list[RunRow] = []
    conversation, chars = Conversation(), 0
    while run_id and (run := session.read_run(run_id)) is not None:
        if (found := kept.find(run)) is not None:
            conversation, chars = found
            break
        chain.append(run)
        run_id = run.parent
    for run in reversed(chain):
        texts = [_read_text(session, run, row) for row in session.read_facts(run.run_id)]
        facts = [_decode_text(session, run, text, conversation) for text in texts]
        chars += sum(map(len, texts))
        conversation = _extend(conversation, facts)
        kept.add(run, conversation, chars)
    return conversation


def _extend(conversation: Conversation, facts: Sequence[Fact]) -> Conversation:
    """Return a conversation after a run with these facts."""
    state = fold_facts(facts)
    if state.run is None:
        return conversation
    outcome = build_outcome(state, tuple(facts))
    messages, dropped = extend_conversation(conversation.messages, outcome)
    return conversation if dropped else Conversation(messages, outcome.compacted, state.run)


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
    if given := options.get("data"):  # a request without data is stored as earlier releases store it
        data["data"] = _check_data(given)
    return json.dumps(data, sort_keys=True)


def _check_data(data: Any) -> dict[str, Any]:
    if not isinstance(data, Mapping) or not all(isinstance(name, str) for name in cast("Mapping[object, Any]", data)):
        raise UsageError("data= of a run is a dict whose names are texts: data={'tenant': 'acme'}")
    try:
        given = dict(cast("Mapping[str, Any]", data))
        json.dumps(given, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"data= of a durable run is stored as JSON, and cannot be ({error}); give ids and texts, and let the "
            "worker make objects of them (Worker(deps=…))"
        ) from None
    return given


def build_labels(data: Mapping[str, Any] | None) -> tuple[tuple[str, str], ...]:
    """Return the part of a run's data by which runs are found: short texts, numbers and booleans under short names."""
    made = ((name, _make_label(value)) for name, value in (data or {}).items())
    return tuple((name, value) for name, value in made if value is not None and _make_label(name) is not None)


def build_filter(data: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the labels of runs that have this data. A number is found by its text, too.

    Raises:
        UsageError: Runs cannot be found by one of the values.
    """
    labels = build_labels(data)
    if wrong := sorted(data.keys() - {name for name, _ in labels}):
        raise UsageError(
            f"runs cannot be found by {wrong[0]!r}: give a text of at most {MAX_LABEL_CHARS} printable characters, a "
            "number or a boolean"
        )
    return labels


def _make_label(value: object) -> str | None:
    text = value if isinstance(value, str) else json.dumps(value) if isinstance(value, bool | int | float) else None
    return text if text is not None and len(text) <= MAX_LABEL_CHARS and text.isprintable() else None


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
    options["data"] = data.get("data")
    return prompt, options
