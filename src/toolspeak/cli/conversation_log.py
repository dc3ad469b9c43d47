"""Keeps the runs of `toolspeak run` and `toolspeak chat` in the log, and finds the conversation that `-c` continues.

The log is written in a thread, so that no run waits for the disk or for another process. If writing fails, the run goes
on without the log. A conversation is locked while a command has it open, so that no other command continues it then.

A run that begins with nothing but a prompt begins a conversation, and so does one that shares no message with the run
before it, as after `/clear` and `/load`.
"""

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from toolspeak._frozen import frozen
from toolspeak.cli.agent_config import AgentConfig, CommandOptions
from toolspeak.cli.remembered_tools import encode_tools, select_tools
from toolspeak.cli.safe_text import escape_line, print_error
from toolspeak.cli.user_files import find_log
from toolspeak.errors import UsageError
from toolspeak.events import Compacted, Fact, RunStarted
from toolspeak.loop import State, initial_state, reduce
from toolspeak.loop.rounds import drop_system
from toolspeak.messages import Message
from toolspeak.messages import system as system_message

if TYPE_CHECKING:
    from toolspeak.store import ConversationEntry, ConversationLock, ConversationStore, RunLink, RunStore


@frozen
class ContinuedConversation:
    """A conversation in the log that goes on.

    Attributes:
        id: Its id.
        title: The beginning of its first prompt.
        run_id: Its last run.
        messages: Its messages, without a last prompt that got no answer.
        options: The options that were remembered with it, as `remember_options` returns them.
        lock: The lock of this process on it.
        compacted: What the model was still shown of the messages; None if it was shown the whole.
    """

    id: str
    title: str
    run_id: str
    messages: tuple[Message, ...]
    options: dict[str, Any]
    lock: "ConversationLock"
    compacted: Compacted | None = None

    def apply_to(self, options: CommandOptions) -> CommandOptions:
        """Return the options of a command with those of the conversation where the command has none.

        A line on standard error names each remembered target of tools that is not loaded again, and why.
        """
        tools: list[Any] | None = self.options.get("tools")
        remembered = None if options.tools or tools is None else select_tools(tools, warn=print_error)
        return replace(
            options,
            model=options.model or self.options.get("model"),
            dialect=options.dialect or self.options.get("dialect"),
            remembered_tools=remembered,
        )

    def messages_with(self, system: str | None) -> tuple[Message, ...]:
        """Return the messages, with another system prompt if one was given."""
        if system is None:
            return self.messages
        return (system_message(system), *drop_system(self.messages))


def find_conversation(id_start: str | None) -> ContinuedConversation:
    """Return the conversation whose id begins so; without an id, the last one.

    Raises:
        UsageError: There is no such conversation, another process has it open, or it cannot be read.
    """
    from toolspeak.store import ConversationLock, ConversationStore

    path = find_log()
    with ConversationStore(path) as store:
        entry = _find_entry(store, id_start)
        lock = ConversationLock(path)
        try:
            if not lock.acquire(entry.id):  # before the messages are read: those of another process may follow them
                raise UsageError(
                    f"the conversation {entry.id[:8]} ({escape_line(entry.title)}) is still open in another terminal: "
                    "end it there, or continue another one with --conversation ID (toolspeak log lists them)"
                )
            run_id, messages = store.load_conversation(entry.id)
            compacted = store.load_compaction(run_id)
        except BaseException:
            lock.close()
            raise
    return ContinuedConversation(
        id=entry.id,
        title=entry.title,
        run_id=run_id,
        messages=messages,
        options=entry.options,
        lock=lock,
        compacted=compacted,
    )


def _find_entry(store: "ConversationStore", id_start: str | None) -> "ConversationEntry":
    if id_start is not None:
        return store.find(id_start)
    newest = store.list_newest(1)
    if not newest:
        raise UsageError("there is no conversation to continue: the log is empty")
    return newest[0]


def remember_options(config: AgentConfig) -> dict[str, Any]:
    """Return what a conversation remembers of its configuration. Tools that the settings name are not remembered."""
    options: dict[str, Any] = {"model": config.model}
    if config.dialect is not None:
        options["dialect"] = config.dialect
    if config.targets:
        options["tools"] = encode_tools(config.targets)
    return options


class ConversationLog:
    """Writes the facts of runs to the log, in a thread.

    Args:
        path: The file; None to write nothing.
        continued: The conversation that the first run continues.
        now: Returns the time in seconds since 1970.
    """

    def __init__(
        self, path: Path | None, continued: ContinuedConversation | None = None, now: Callable[[], float] = time.time
    ) -> None:
        self._path = path
        self._now = now
        self._queue: queue.SimpleQueue[tuple[Fact, float] | None] = queue.SimpleQueue()
        self._config: AgentConfig | None = None
        self._conversation = continued.id if continued else ""
        self._run_id = continued.run_id if continued else ""
        self._messages = continued.messages if continued else ()
        self._lock = continued.lock if continued else None
        self._state: State | None = None
        self._failure: str | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait until everything is written, and print why something could not be."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
        if self._lock is not None:
            self._lock.close()
        if self._failure is not None:
            print_error(f"the conversation is not in the log: {self._failure}")

    def remember(self, config: AgentConfig) -> None:
        """Take note of the configuration of the next run."""
        self._config = config

    def record(self, fact: Fact) -> None:
        """Write a fact, soon."""
        if self._path is None:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, args=(self._path,), daemon=True)
            self._thread.start()
        self._queue.put((fact, self._now()))

    # In the thread

    def _write_all(self, path: Path) -> None:
        try:
            from toolspeak.store import RunStore

            with RunStore(path) as store:
                while (item := self._queue.get()) is not None:
                    self._write(store, *item)
        except UsageError as error:
            self._failure = str(error)

    def _write(self, store: "RunStore", fact: Fact, at: float) -> None:
        from toolspeak.store import StoredFact

        if isinstance(fact, RunStarted):
            store.start(fact, at, self._link(store, fact))
            self._run_id, self._state = fact.run_id, initial_state(fact.tools)
        else:
            store.append(self._run_id, [StoredFact(fact, at)])
        if self._state is not None:
            self._state = reduce(self._state, fact)
            self._messages = self._state.history

    def _link(self, store: "RunStore", started: RunStarted) -> "RunLink":
        from toolspeak.store import RunLink, count_shared

        options = {} if self._config is None else remember_options(self._config)
        is_prompt_alone = sum(message.role != "system" for message in started.messages) <= 1
        if is_prompt_alone or not count_shared(started.messages, self._messages):
            self._conversation = started.run_id
            self._lock_new(store.path, started.run_id)
            return RunLink(conversation=started.run_id, options=options)
        return RunLink(conversation=self._conversation, parent=self._run_id, messages=self._messages, options=options)

    def _lock_new(self, path: Path, conversation: str) -> None:
        from toolspeak.store import ConversationLock

        if self._lock is None:
            self._lock = ConversationLock(path)
        self._lock.acquire(conversation)
