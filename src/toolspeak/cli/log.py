"""`toolspeak log`: the conversations that the log keeps, listed, searched, shown and deleted."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from toolspeak import codec
from toolspeak.cli.call_timer import CallTimer
from toolspeak.cli.conversation_log import log_path
from toolspeak.cli.safe_text import SafeConsole, escape_line, escape_prose, write_output
from toolspeak.cli.transcript import Transcript, create_console
from toolspeak.errors import UsageError
from toolspeak.events import Event, Fact, RunStarted, TextDelta, ThinkingDelta, ToolStarted, TurnEnded, TurnStarted
from toolspeak.messages import Text as TextPart
from toolspeak.messages import Thinking
from toolspeak.store import ConversationEntry, ConversationStore, StoredFact

SHORT_ID_CHARS = 8
MIN_TITLE_CHARS = 20
EXCERPT_CHARS = 120


def open_log() -> ConversationStore:
    """Open the log.

    Raises:
        UsageError: There is no log, or it cannot be used.
    """
    path = log_path()
    if not path.exists():
        raise UsageError(f"there is no log yet: {path} does not exist")
    return ConversationStore(path)


def print_conversations(count: int | None, words: Sequence[str], *, as_json: bool) -> None:
    """Print the newest conversations in which all words occur."""
    if not words and not log_path().exists():  # nothing was asked yet, which is no mistake
        write_output("[]\n" if as_json else "")
        return
    with open_log() as store:
        entries = store.list_newest(count, words)
        titles = [store.find_excerpt(each.id, words[0], EXCERPT_CHARS) if words else each.title for each in entries]
    if as_json:
        write_output(json.dumps([_encode_entry(entry) for entry in entries], indent=2, ensure_ascii=False) + "\n")
    elif sys.stdout.isatty():
        _print_table(entries, titles)
    else:
        for entry, title in zip(entries, titles, strict=True):
            cells = (entry.id, _format_time(entry.updated), entry.model, str(entry.turns), title)
            sys.stdout.write("\t".join(map(escape_line, cells)) + "\n")


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
            write_output("".join(_encode_facts(run_id, facts)))
    else:
        _draw(entry, [facts for _, facts in runs])


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


def _print_table(entries: Sequence[ConversationEntry], titles: Sequence[str]) -> None:
    console = SafeConsole()
    models = [escape_line(entry.model) for entry in entries]
    width = min(max(map(cell_len, models), default=0), console.width // 3)
    for entry, model, title in zip(entries, models, titles, strict=True):
        start = f"{entry.id[:SHORT_ID_CHARS]}  {_format_time(entry.updated)}  "
        middle = f"{set_cell_size(model, width)}  {entry.turns:>3}  "
        room = max(MIN_TITLE_CHARS, console.width - cell_len(start) - cell_len(middle))
        line = Text.assemble((start[:SHORT_ID_CHARS], "cyan"), start[SHORT_ID_CHARS:], (middle, "dim"))
        line.append(_cut(escape_line(title), room))
        console.print(line, soft_wrap=True)


def _cut(text: str, cells: int) -> str:
    return text if cell_len(text) <= cells else set_cell_size(text, cells - 1).rstrip() + "…"


def _format_time(seconds: float) -> str:
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


def _encode_facts(run_id: str, facts: Sequence[StoredFact]) -> Iterator[str]:
    """Yield the facts as lines that `toolspeak graph` reads: `t` is in seconds since the first fact of the run."""
    for each in facts:
        line = {"run_id": run_id, "at": each.at, "t": round(each.at - facts[0].at, 6), "fact": codec.encode(each.fact)}
        yield json.dumps(line) + "\n"


# The transcript


def _draw(entry: ConversationEntry, runs: Iterable[Sequence[StoredFact]]) -> None:
    console = create_console(sys.stdout)
    header = f"{entry.id} · {_format_time(entry.created)} · {escape_line(entry.model)}"
    console.print(Text(header, "dim"), soft_wrap=True)
    for facts in runs:
        _draw_run(console, facts)


def _draw_run(console: Console, facts: Sequence[StoredFact]) -> None:
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
