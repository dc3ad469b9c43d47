"""What the log keeps of `toolspeak run` and `toolspeak chat`, and the conversation that `-c` continues.

The database is imported when the first fact is written: the start of a run does not wait for that.

The log is written in a thread, so that no run waits for the disk or for another process. If writing fails, the run goes
on without the log. A conversation is locked while a command has it open, so that no other command continues it then. A
run that begins with nothing but a prompt begins a conversation, and so does one that shares no message with the run
before it, as after `/clear` and `/load`.

A conversation remembers its tools, to load them again when it is continued. Tools are code, and a remembered target
must not become other code than the user named. So a file or a folder is remembered by its full path and its
fingerprint, as the settings of a trusted project are, and is loaded again only if it is unchanged and nobody else could
have written it. A module is loaded again only from where it is installed. The program of an MCP server is started again
only in the folder in which it was started, since what it runs may lie there, and only if the files that its command
line names are unchanged. A target that may hold a key is not remembered.
"""

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce as fold
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from toolspeak.cli.agent_config import AgentConfig, find_named_target
from toolspeak.cli.options import ApproveChoice, ConversationOptions
from toolspeak.cli.safe_text import escape_line, print_error
from toolspeak.loop import State, initial_state, reduce
from toolspeak.loop.compaction import drop_system
from toolspeak.mcp.config import read_target
from toolspeak.settings.files import find_log, find_other_writer
from toolspeak.settings.resolver import list_code, split_function
from toolspeak.settings.server_targets import PREFIX as SERVER_PREFIX
from toolspeak.settings.server_targets import anchor_target, is_address, may_hold_key
from toolspeak.tools import Toolbox
from toolspeak.tools.discovery import is_installed
from toolspeak.values.errors import UsageError
from toolspeak.values.events import Compacted, Fact, RunStarted
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Message, ToolCall
from toolspeak.values.messages import system as system_message

if TYPE_CHECKING:
    from toolspeak.durable.log import ConversationEntry, ConversationLock, ConversationStore, RunLink, RunStore


def encode_tools(targets: Sequence[str]) -> list[dict[str, str]]:
    """Return targets that the user named as JSON data: with their full paths and their fingerprints."""
    return [_encode(target) for target in targets]


def select_tools(saved: Sequence[Any], warn: Callable[[str], None]) -> tuple[str, ...]:
    """Return the targets that may be loaded again. `warn` is called with a sentence about each that may not."""
    selected: list[str] = []
    for each in saved:
        if not isinstance(each, dict):
            continue
        fields = cast("dict[str, Any]", each)
        target = str(fields.get("target", ""))
        reason = _find_objection(target, fields)
        if reason is None:
            selected.append(target)
        else:
            warn(f"the tools in {target} {reason}; name them with --tools to use them")
    return tuple(selected)


def _encode(target: str) -> dict[str, str]:
    folder = Path.cwd()
    if target.startswith(SERVER_PREFIX) and may_hold_key(target, folder):
        return {"target": f"{SERVER_PREFIX}{read_target(target)[0].place}", "omitted": "key"}
    absolute = _make_absolute(target)
    try:
        encoded = {"target": absolute, "fingerprint": _compute(absolute)}
    except UsageError:  # too many files to tell later whether one of them has changed
        encoded = {"target": absolute, "fingerprint": "unknown"}
    return encoded | {"folder": str(folder)} if _is_command(absolute) else encoded


def _compute(target: str) -> str:
    listing = list_code([_make_absolute(target)], target)  # a file may have been made since
    return listing.fingerprint() if listing.files else ""


def _is_command(target: str) -> bool:
    """Whether a target is the command line of an MCP server."""
    return target.startswith(SERVER_PREFIX) and not is_address(target.removeprefix(SERVER_PREFIX).strip())


def _find_objection(target: str, saved: Mapping[str, Any]) -> str | None:
    """Return why a target is not loaded again, in words; None if it is."""
    if saved.get("omitted") is not None:
        return "are not loaded: they were named with what may be a key, and keys are not remembered"
    name = _split_function(target)[0]
    if _is_command(target):
        if saved.get("folder") != str(Path.cwd()):
            return f"are not loaded: they were used in the folder {saved.get('folder', '(unknown)')}"
    elif target.startswith(SERVER_PREFIX):  # an address: what it offers is pinned
        return None
    elif not Path(name).is_absolute():
        return None if is_installed(name.partition(".")[0]) else "are gone: no such module is installed"
    elif not Path(name).exists():
        return "are gone"
    try:
        for file in list_code([target], target).named:
            if (reason := find_other_writer(file)) is not None:
                return f"are not loaded: {reason}"
        is_same = _compute(target) == saved.get("fingerprint")
    except UsageError as error:
        return f"are not loaded: {error}"
    return None if is_same else "have changed since this conversation used them"


def _make_absolute(target: str) -> str:
    """Return a target with its full path. A module that only the working directory has becomes that file or folder."""
    if target.startswith(SERVER_PREFIX):
        return anchor_target(target, Path.cwd())
    name, function = _split_function(find_named_target(target))
    path = Path(name)
    is_path = "/" in name or path.suffix in (".py", ".json") or path.is_file()
    return f"{path.absolute() if is_path else name}{function}"


def _split_function(target: str) -> tuple[str, str]:
    split = split_function(target)
    return (target, "") if split is None else (split[0], f":{split[1]}")


@frozen
class ContinuedConversation:
    """A conversation in the log that goes on.

    Attributes:
        title: The beginning of its first prompt.
        run_id: Its last run.
        messages: Its messages, without a last prompt that got no answer.
        options: The options that were remembered with it, as `remember_options` returns them.
        compacted: What the model was still shown of the messages; None if it was shown the whole.
        waiting: The facts of its last run, if a call of that run waits for an approval.
        waiting_calls: The calls that wait, with the ids by which the outermost run knows them.
        option: The option of a command that continues it.
    """

    id: str
    title: str
    run_id: str
    messages: tuple[Message, ...]
    options: dict[str, Any]
    lock: "ConversationLock"
    compacted: Compacted | None = None
    waiting: tuple[Fact, ...] = ()
    waiting_calls: tuple[ToolCall, ...] = ()
    option: str = "-c"

    def find_missing_tools(self, toolbox: Toolbox) -> list[str]:
        """Return the names of the tools that the calls that wait need, and that are not loaded.

        The tools of inner runs, and of an agent that took the conversation over, were not offered at the start.
        """
        started = next(iter(self.waiting), None)
        offered = {spec.name for spec in started.tools} if isinstance(started, RunStarted) else set[str]()
        needed = dict.fromkeys(call.name for call in self.waiting_calls)
        return [name for name in needed if name in offered and name not in toolbox]

    def find_allowed(self, options: ConversationOptions) -> tuple[str, ...]:
        """Return the ids of the calls that wait and that a command allows with `--approve once`."""
        return tuple(call.id for call in self.waiting_calls) if options.approve is ApproveChoice.once else ()

    def apply_to(self, options: ConversationOptions) -> ConversationOptions:
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


def replace_system(messages: tuple[Message, ...], system: str | None) -> tuple[Message, ...]:
    """Return the messages of a conversation, with another system prompt if one was given."""
    return messages if system is None else (system_message(system), *drop_system(messages))


def find_conversation(id_start: str | None) -> ContinuedConversation:
    """Return the conversation whose id begins so; without an id, the last one.

    Raises:
        UsageError: There is no such conversation, another process has it open, or it cannot be read.
    """
    from toolspeak.durable.approvals import find_waiting
    from toolspeak.durable.log import ConversationLock, ConversationStore

    path = find_log()
    with ConversationStore(path) as store:
        entry = find_entry(store, id_start, "there is no conversation to continue: the log is empty")
        lock = ConversationLock(path)
        try:
            if not lock.acquire(entry.id):  # before the messages are read: those of another process may follow them
                raise UsageError(
                    f"the conversation {entry.id[:8]} ({escape_line(entry.title)}) is still open in another terminal: "
                    "end it there, or continue another one with --conversation ID (toolspeak log lists them)"
                )
            run_id, messages = store.load_conversation(entry.id)
            compacted = store.load_compaction(run_id)
            facts = () if store.has_ended(run_id) else tuple(each.fact for each in store.load_facts(run_id))
            waiting_calls = tuple(replace(each.call, id=id) for id, each in find_waiting(facts).items())
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
        waiting=facts if waiting_calls else (),
        waiting_calls=waiting_calls,
        option="-c" if id_start is None else f"--conversation {entry.id[:8]}",
    )


def find_entry(store: "ConversationStore", id_start: str | None, none: str) -> "ConversationEntry":
    """Return the conversation whose id begins so; without an id, the last one. `none` says that there is none."""
    if id_start is not None:
        return store.find(id_start)
    newest = store.list_newest(1)
    if not newest:
        raise UsageError(none)
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
    """Writes the facts of runs to the log, in a thread. The first run goes on with `continued`."""

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
        if continued and isinstance(started := next(iter(continued.waiting), None), RunStarted):
            self._state = fold(reduce, continued.waiting, initial_state(started.tools))  # the run goes on
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
        from toolspeak.durable.log import RunStore

        try:
            with RunStore(path) as store:
                while (item := self._queue.get()) is not None:
                    self._write(store, *item)
        except UsageError as error:
            self._failure = str(error)

    def _write(self, store: "RunStore", fact: Fact, at: float) -> None:
        from toolspeak.durable.log import StoredFact

        if isinstance(fact, RunStarted):
            store.start(fact, at, self._link(store, fact))
            self._run_id, self._state = fact.run_id, initial_state(fact.tools)
        else:
            store.append(self._run_id, [StoredFact(fact, at)])
        if self._state is not None:
            self._state = reduce(self._state, fact)
            self._messages = self._state.history

    def _link(self, store: "RunStore", started: RunStarted) -> "RunLink":
        from toolspeak.durable.log import ConversationLock, RunLink, count_shared

        options = {} if self._config is None else remember_options(self._config)
        is_prompt_alone = sum(message.role != "system" for message in started.messages) <= 1
        if is_prompt_alone or not count_shared(started.messages, self._messages):
            self._conversation = started.run_id
            if self._lock is None:
                self._lock = ConversationLock(store.path)
            self._lock.acquire(started.run_id)
            return RunLink(conversation=started.run_id, options=options)
        return RunLink(conversation=self._conversation, parent=self._run_id, messages=self._messages, options=options)
