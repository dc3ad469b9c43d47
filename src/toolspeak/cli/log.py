"""`toolspeak log`: the conversations that the log keeps, listed, searched, shown and deleted."""

import json
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from importlib.machinery import PathFinder
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from toolspeak.cli.agent_config import AgentConfig, CommandOptions
from toolspeak.cli.files import find_log
from toolspeak.cli.format import SafeConsole
from toolspeak.cli.record import CallTimer
from toolspeak.cli.safe_text import escape_line, escape_prose, print_error, write_output
from toolspeak.cli.transcript import Transcript, create_console
from toolspeak.durable.log import ConversationEntry, ConversationStore, StoredFact
from toolspeak.loop import State, initial_state, reduce
from toolspeak.loop.compaction import drop_system
from toolspeak.mcp.config import read_target
from toolspeak.settings.files import find_other_writer
from toolspeak.settings.project_file import compute_fingerprint, find_tool_files
from toolspeak.settings.server_targets import PREFIX as SERVER_PREFIX
from toolspeak.settings.server_targets import anchor_target, is_address, may_hold_key
from toolspeak.values import codec
from toolspeak.values.errors import UsageError
from toolspeak.values.events import (
    Compacted,
    Event,
    Fact,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Message, Thinking
from toolspeak.values.messages import Text as TextPart
from toolspeak.values.messages import system as system_message

if TYPE_CHECKING:
    from toolspeak.durable.log import ConversationEntry, ConversationLock, ConversationStore, RunLink, RunStore

# The tools of a conversation, remembered so that they can be loaded again when it is continued.
#
# Tools are code, and a remembered target must not become other code than the user named. So a file or a folder is
# remembered by its full path and its fingerprint, as the settings of a trusted project are, and is loaded again only if
# it is unchanged and nobody else could have written it. A module is loaded again only from where it is installed. The
# program of an MCP server is started again only in the folder in which it was started, since what it runs may lie
# there, and only if the files that its command line names are unchanged. A target that may hold a key is not
# remembered.


def encode_tools(targets: Sequence[str]) -> list[dict[str, str]]:
    """Return targets that the user named as JSON data: with their full paths and their fingerprints."""
    return [_encode(target) for target in targets]


def select_tools(saved: Sequence[Any], warn: Callable[[str], None]) -> tuple[str, ...]:
    """Return the targets that may be loaded again.

    Args:
        saved: What `encode_tools` returned.
        warn: Called with a sentence about each target that may not.
    """
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
    files = find_tool_files([_make_absolute(target)], target)  # a file may have been made since
    return compute_fingerprint(b"", files) if files else ""


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
        return None if _is_installed(name) else "are gone: no such module is installed"
    elif not Path(name).exists():
        return "are gone"
    try:
        for file in find_tool_files([target], target):
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
    name, function = _split_function(target)
    path = Path(name)
    if "/" in name or path.suffix in (".py", ".json") or path.is_file():
        return f"{path.absolute()}{function}"
    if _is_installed(name):
        return target
    place = Path.cwd().joinpath(*name.split("."))
    for candidate in (place, place.with_suffix(".py"), path.absolute()):
        if candidate.exists():
            return f"{candidate}{function}"
    return target


def _is_installed(name: str) -> bool:
    """Whether a module is found elsewhere than in the working directory, also if it has been imported from there."""
    folders = [folder for folder in sys.path if folder and Path(folder).absolute() != Path.cwd()]
    package = name.partition(".")[0]
    return package in sys.builtin_module_names or PathFinder.find_spec(package, folders) is not None


def _split_function(target: str) -> tuple[str, str]:
    before, colon, after = target.rpartition(":")
    return (before, f":{after}") if colon and after.isidentifier() and len(before) > 1 else (target, "")


# Keeps the runs of `toolspeak run` and `toolspeak chat` in the log, and finds the conversation that `-c` continues.
#
# The log is written in a thread, so that no run waits for the disk or for another process. If writing fails, the run
# goes on without the log. A conversation is locked while a command has it open, so that no other command continues it
# then.
#
# A run that begins with nothing but a prompt begins a conversation, and so does one that shares no message with the run
# before it, as after `/clear` and `/load`.


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
    from toolspeak.durable.log import ConversationLock, ConversationStore

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
            from toolspeak.durable.log import RunStore

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
        from toolspeak.durable.log import RunLink, count_shared

        options = {} if self._config is None else remember_options(self._config)
        is_prompt_alone = sum(message.role != "system" for message in started.messages) <= 1
        if is_prompt_alone or not count_shared(started.messages, self._messages):
            self._conversation = started.run_id
            self._lock_new(store.path, started.run_id)
            return RunLink(conversation=started.run_id, options=options)
        return RunLink(conversation=self._conversation, parent=self._run_id, messages=self._messages, options=options)

    def _lock_new(self, path: Path, conversation: str) -> None:
        from toolspeak.durable.log import ConversationLock

        if self._lock is None:
            self._lock = ConversationLock(path)
        self._lock.acquire(conversation)


SHORT_ID_CHARS = 8
TIME_CHARS = 16
MIN_TITLE_CELLS = 20
EXCERPT_CHARS = 120


def open_log() -> ConversationStore:
    """Open the log.

    Raises:
        UsageError: There is no log, or it cannot be used.
    """
    return ConversationStore(find_log())


def print_conversations(count: int | None, words: Sequence[str], *, as_json: bool) -> None:
    """Print the newest conversations in which all words occur."""
    with open_log() as store:
        entries = store.list_newest(count, words)
        table = _ConversationTable(entries) if sys.stdout.isatty() else None
        width = table.title_cells if table else EXCERPT_CHARS
        titles = [store.find_excerpt(each.id, words[0], width) if words else each.title for each in entries]
    if as_json:
        write_output(json.dumps([_encode_entry(entry) for entry in entries], indent=2, ensure_ascii=False) + "\n")
    elif table:
        table.print(titles)
    else:
        for entry, title in zip(entries, titles, strict=True):
            cells = (entry.id, format_time(entry.updated), entry.model, str(entry.turns), title)
            sys.stdout.write("\t".join(map(escape_line, cells)) + "\n")


def delete_conversations(ids: Sequence[str]) -> None:
    """Delete the conversations whose ids begin so."""
    with open_log() as store:
        found = [store.find(each).id for each in ids]
        count = store.delete(found)
    write_output(f"{_format_count(count)} deleted\n")


def delete_older(date: str, *, yes: bool) -> int:
    """Delete the conversations in which nothing has happened since a day, and return the exit code."""
    try:
        limit = datetime.fromisoformat(date).timestamp()
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"--before takes a day such as 2026-01-31, not {date!r}") from None
    with open_log() as store:
        older = store.list_older(limit)
        if older and not yes:
            if not sys.stdin.isatty():
                raise UsageError(f"this would delete {_format_count(len(older))}; if you mean it, add --yes")
            sys.stdout.write(f"delete {_format_count(len(older))}? [y/N] ")
            sys.stdout.flush()
            if sys.stdin.readline().strip().lower() not in ("y", "yes"):
                return 1
        store.delete(older)
    write_output(f"{_format_count(len(older))} deleted\n")
    return 0


# Formats


class _ConversationTable:
    """A line of the terminal for each conversation.

    Attributes:
        title_cells: The width that is left for titles.
    """

    def __init__(self, entries: Sequence[ConversationEntry]) -> None:
        self._console = SafeConsole()
        self._rows = [(entry, escape_line(entry.model), str(entry.turns)) for entry in entries]
        self._model_cells = min(max((cell_len(row[1]) for row in self._rows), default=0), self._console.width // 3)
        self._turns_cells = max((len(row[2]) for row in self._rows), default=0)
        others = SHORT_ID_CHARS + 2 + TIME_CHARS + 2 + self._model_cells + 2 + self._turns_cells + 2
        self.title_cells = max(MIN_TITLE_CELLS, self._console.width - others)

    def print(self, titles: Sequence[str]) -> None:
        """Print the lines, with these titles."""
        for (entry, model, turns), title in zip(self._rows, titles, strict=True):
            line = Text.assemble((entry.id[:SHORT_ID_CHARS], "cyan"), f"  {format_time(entry.updated)}  ")
            line.append(f"{set_cell_size(model, self._model_cells)}  {turns:>{self._turns_cells}}  ", "dim")
            line.append(cut_title(escape_line(title), self.title_cells))
            self._console.print(line, soft_wrap=True)


def cut_title(text: str, cells: int) -> str:
    """Return a text that is not wider than so many cells of the terminal."""
    return text if cell_len(text) <= cells else set_cell_size(text, cells - 1).rstrip() + "…"


def format_time(seconds: float) -> str:
    """Format a time as the user's clock showed it."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def _format_count(count: int) -> str:
    return f"{count} conversation{'' if count == 1 else 's'}"


def _encode_entry(entry: ConversationEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "created": entry.created,
        "updated": entry.updated,
        "model": entry.model,
        "title": entry.title,
        "prompts": entry.runs,
        "turns": entry.turns,
    }


# `toolspeak log show`: a conversation of the log, as the terminal showed it.


def show_conversation(id_start: str | None, *, as_json: bool) -> None:
    """Print a conversation as the terminal showed it, or its facts as JSON Lines; without an id, the last one."""
    with open_log() as store:
        if id_start is None:
            newest = store.list_newest(1)
            if not newest:
                raise UsageError("the log is empty")
            entry = newest[0]
        else:
            entry = store.find(id_start)
        runs = [(run_id, store.load_facts(run_id)) for run_id in store.list_runs(entry.id)]
    if as_json:
        for run_id, facts in runs:
            write_output("".join(encode_timed_facts(run_id, facts)))
    else:
        _draw(entry, [facts for _, facts in runs])


def encode_timed_facts(run_id: str, facts: Sequence[StoredFact]) -> Iterator[str]:
    """Yield the facts as lines that `toolspeak graph` reads: `t` is in seconds since the first fact of the run."""
    for each in facts:
        line = {"run_id": run_id, "at": each.at, "t": round(each.at - facts[0].at, 6), "fact": codec.encode(each.fact)}
        yield json.dumps(line) + "\n"


def _draw(entry: ConversationEntry, runs: Iterable[Sequence[StoredFact]]) -> None:
    console = create_console(sys.stdout)
    header = f"{entry.id} · {format_time(entry.created)} · {escape_line(entry.model)}"
    console.print(Text(header, "dim"), soft_wrap=True)
    for facts in runs:
        draw_run(console, facts)


def draw_run(console: Console, facts: Sequence[StoredFact]) -> None:
    """Draw the prompt and the events of a run."""
    at = 0.0
    timer = CallTimer(lambda: at)
    for each in facts:
        at = each.at
        timer.record(each.fact)
    transcript = Transcript(console, timer)
    started = facts[0].fact
    if isinstance(started, RunStarted):
        prompt = next((each.text for each in reversed(started.messages) if each.role == "user"), "")
        console.print(Text.assemble(("You:", "bold"), f" {escape_prose(prompt)}"), soft_wrap=True)
    for event in replay([each.fact for each in facts]):
        transcript.show(event)
    transcript.end_line()


def replay(facts: Sequence[Fact]) -> Iterator[Event]:
    """Yield the facts of a run with the texts of its messages, which were deltas when the run happened.

    Starts are left out: they only show that something is waited for.
    """
    for index, fact in enumerate(facts):
        if isinstance(fact, TurnStarted):
            yield from _replay_texts(facts[index + 1 :])
        elif not isinstance(fact, ToolStarted):
            yield fact


def _replay_texts(facts: Sequence[Fact]) -> Iterator[Event]:
    """Yield the texts of the message that ends next, unless another one begins before."""
    ended = next((fact for fact in facts if isinstance(fact, TurnEnded | TurnStarted)), None)
    if not isinstance(ended, TurnEnded):
        return
    for part in ended.message.parts:
        if isinstance(part, Thinking):
            yield ThinkingDelta(text=part.text)
        elif isinstance(part, TextPart):
            yield TextDelta(text=part.text)
