"""Facts and requests as the texts that a journal stores, and back.

- A fact is stored as `codec` writes it. One that is long is stored as a blob, which its row refers to.
- The messages of a chat are not repeated: `RunStarted` is stored without those that the conversation had before, and
  with their number (`inherited`).
- A request is what `Runs.start` was given: the prompt, the messages, and the options that can be stored.

Data is read by the types of its fields, as in `codec`; nothing stored is ever executed.
"""

import hashlib
import json
import secrets
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce as fold
from typing import Any, NamedTuple, TypeAlias, cast
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from toolspeak.durable.journal import JournalSession, RetryRefused
from toolspeak.durable.log import StoredFact, split_inherited, split_system
from toolspeak.durable.rows import ID_CHARS, FactRow, NewRun, RunRow, make_run_id, name_shared_lane
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
from toolspeak.values.validation import nearest

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


def find_fork(run: RunRow, facts: Sequence[Fact], turns: int | None, *, is_asked: bool) -> "StartOptions":
    """Return the options of a run that goes on after the first turns of another one; None: after all complete ones.

    Raises:
        UsageError: There are fewer turns, or the model has answered there and nothing is said next.
    """
    starts = [number for number, fact in enumerate(facts) if isinstance(fact, TurnStarted)]
    state = fold_facts(facts)
    is_complete = not state.turn.is_open and all(call.result is not None for call in state.turn.calls.values())
    complete = len(starts) if is_complete else len(starts) - 1
    kept = complete if turns is None else turns
    if not 0 <= kept <= complete:
        raise UsageError(f"run {run.run_id} has {complete} complete turns; turns= says how many of them are kept")
    if kept < len(starts):
        state = fold_facts(facts[: starts[kept]])
    if not is_asked and state.history and state.history[-1].role == "assistant":
        raise UsageError("the model has answered there; say what comes next, or keep fewer turns")
    return {"messages": state.history, "compacted": state.compacted, "data": run.data}


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


MAX_PRIORITY = 2**31 - 1
"""The highest priority of a run, and the lowest one below zero: what every database stores."""

MAX_DEADLINE_SECONDS = 10_000_000_000
"""The latest deadline of a run, in seconds from its start."""

MAX_CONCURRENCY = 1_000_000


class StartOptions(RunOptions, total=False):
    """How a run is started, besides what is asked.

    `messages`, `tool_choice`, `limits`, `compacted` and `data` are those of `RunOptions`. `data` is stored: `deps=`
    functions find it in `RunRow.data`, tools and rules in `Context.data`, and `Runs.list` filters by it.

    Attributes:
        key: A name for this request. A second start with the same key gives the run of the first; if that ended with an
            error, it goes on, as by `RunHandle.retry`.
        priority: Runs with a higher one are driven first.
        lane: The lane whose limits hold for the run.
        concurrency: How many runs with this `lane` and this limit go on at once. Such a lane need not be defined.
        delay: Seconds from now before which the run does not begin.
        deadline: Seconds from now after which the run is ended, whoever drives it then.
        chat: The conversation that the run goes on with; its runs happen one after the other.
        webhook: The address to which the end of the run is sent.
    """

    key: str
    priority: int
    lane: str
    concurrency: int | None
    delay: float
    deadline: float | None
    chat: str
    webhook: str


_START_NAMES = StartOptions.__annotations__.keys() - RunOptions.__annotations__.keys()


def build_run(agent: str, prompt: Prompt, options: StartOptions) -> NewRun:
    """Return the run that is to be stored. Raises `UsageError` if an argument cannot be used or stored."""
    key, lane, chat = options.get("key", ""), options.get("lane", ""), options.get("chat", "")
    priority, deadline, delay = options.get("priority", 0), options.get("deadline"), options.get("delay", 0.0)
    concurrency, webhook = options.get("concurrency"), options.get("webhook", "")
    if not isinstance(cast("object", prompt), str | Message | None):
        raise UsageError(f"a prompt must be a string or a message, not {type(prompt).__name__}")
    if abs(priority) > MAX_PRIORITY:
        raise UsageError(f"a priority is a whole number from {-MAX_PRIORITY} to {MAX_PRIORITY}")
    if concurrency is not None:
        if not lane or not 1 <= concurrency <= MAX_CONCURRENCY:
            raise UsageError("concurrency= is a number from 1 on, and needs lane=, the name that the runs share")
        lane = name_shared_lane(lane, concurrency)
    if webhook and not (urlsplit(webhook).scheme in ("https", "http") and urlsplit(webhook).hostname):
        raise UsageError("webhook= is the address to which the end of a run is sent: https://HOST/PATH")
    known = StartOptions.__annotations__
    for name in options.keys() - {*known, "output"}:  # `encode_request` says where the type of the answer is
        likely = nearest(name, known, likeness=0.7)
        meant = f"did you mean {likely}?" if likely else f"there are {', '.join(known)}"
        raise UsageError(f"there is no option {name!r}; {meant}")
    stored = {name: value for name, value in options.items() if name not in _START_NAMES}
    request = encode_request(prompt, cast("RunOptions", stored))
    return NewRun(
        run_id=make_run_id(f"key {key}") if key else secrets.token_hex(ID_CHARS // 2),
        agent=agent,
        request=request,
        request_digest=hashlib.sha256(json.dumps([agent, request, chat]).encode()).hexdigest(),
        key=key,
        priority=priority,
        lane=lane,
        chat=chat,
        deadline_ms=read_seconds("deadline", deadline),
        delay_ms=read_seconds("delay", delay) or 0,
        labels=build_labels(options.get("data")),
        webhook=webhook,
    )


def read_seconds(name: str, seconds: float | None) -> int | None:
    """Return seconds from now in milliseconds."""
    if seconds is not None and not 0 <= seconds <= MAX_DEADLINE_SECONDS:
        raise UsageError(f"a {name} is a number of seconds from now, {MAX_DEADLINE_SECONDS} at most")
    return None if seconds is None else round(seconds * 1000)


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
