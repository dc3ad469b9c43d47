"""`toolspeak log`: the conversations that the log keeps, listed, searched, shown and deleted."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from toolspeak.cli.conversations import find_entry
from toolspeak.cli.format import SafeConsole
from toolspeak.cli.record import CallTimer
from toolspeak.cli.safe_text import escape_line, escape_prose, write_output
from toolspeak.cli.transcript import Transcript, create_console
from toolspeak.durable.log import ConversationEntry, ConversationStore, StoredFact
from toolspeak.settings.files import find_log
from toolspeak.values import codec, events
from toolspeak.values.errors import UsageError
from toolspeak.values.messages import Text as TextPart
from toolspeak.values.messages import Thinking

SHORT_ID_CHARS, TIME_CHARS, EXCERPT_CHARS = 8, 16, 120
MIN_TITLE_CELLS, MAX_TITLE_LINES = 20, 3

MAX_COMPARED_PROMPTS = 5_000
"""The newest prompts that are compared with words that no conversation has."""

NEAR_SHARE = 0.5
"""How near a prompt must be, compared with the nearest one, to be listed."""


def print_conversations(count: int | None, words: Sequence[str], *, as_json: bool) -> None:
    """Print the newest conversations in which all words occur.

    In a terminal, if there are none, print those with a prompt that comes near in meaning.
    """
    near: dict[str, str] = {}
    with ConversationStore(find_log()) as store:
        entries = store.list_newest(count, words)
        if words and not entries and not as_json and sys.stdout.isatty():
            near = _find_near(store, " ".join(words), count)
            entries = [store.find(each) for each in near]
            what = "all of these words" if len(words) > 1 else "this word"
            sys.stdout.write(f"no conversation has {what}{'; these come near in meaning:' if near else ''}\n")
        table = _make_table(entries, "found" if words else "first words") if sys.stdout.isatty() else None
        width = table.title_cells if table else EXCERPT_CHARS
        excerpts = {each.id: store.find_excerpt(each.id, words[0], width) for each in entries} if words else {}
    titles = [near.get(each.id) or excerpts.get(each.id, each.title) for each in entries]
    if as_json:
        write_output(json.dumps([_encode_entry(entry) for entry in entries], indent=2, ensure_ascii=False) + "\n")
    elif table:
        table.print(titles)
    else:
        for entry, title in zip(entries, titles, strict=True):
            cells = (entry.id, format_time(entry.updated), entry.model, str(entry.turns), title)
            sys.stdout.write("\t".join(map(escape_line, cells)) + "\n")


def _find_near(store: ConversationStore, query: str, count: int | None) -> dict[str, str]:
    """Return conversations with a prompt near to a query, by their ids with that prompt, the nearest first."""
    from toolspeak.dialects.tool_index import MIN_LIKENESS  # imported with the first search that finds nothing
    from toolspeak.dialects.word_vectors import load_word_vectors

    vectors, runs = None, store.list_latest_runs(MAX_COMPARED_PROMPTS)
    with suppress(UsageError):  # the vectors are those of another release
        vectors = load_word_vectors()
    if vectors is None or not runs:
        return {}
    [likeness] = vectors.index([[(run.title, 1)] for run in runs]).measure([query])
    ranked = sorted(zip(likeness.tolist(), runs, strict=True), key=lambda each: -each[0])
    near = [run for share, run in ranked if share >= max(MIN_LIKENESS, NEAR_SHARE * ranked[0][0])]
    found: dict[str, str] = {}
    for run in near:
        found.setdefault(run.conversation, run.title)
    return dict(list(found.items())[:count])


def _make_table(entries: Sequence[ConversationEntry], what: str) -> "RowList":
    headings = ("id", "time", "model", "answers", what)
    return RowList(
        headings,
        [
            [
                Text(entry.id[:SHORT_ID_CHARS], "cyan"),
                Text(format_time(entry.updated)),
                Text(escape_line(entry.model), "dim"),
                Text(str(entry.turns).rjust(len("answers")), "dim"),
            ]
            for entry in entries
        ],
    )


def delete_conversations(ids: Sequence[str]) -> None:
    """Delete the conversations whose ids begin so."""
    with ConversationStore(find_log()) as store:
        found = [store.find(each).id for each in ids]
        count = store.delete(found)
    write_output(f"{_format_count(count)} deleted\n")


def delete_older(date: str, *, yes: bool) -> int:
    """Delete the conversations in which nothing has happened since a day, and return the exit code."""
    try:
        limit = datetime.fromisoformat(date).timestamp()
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"--before takes a day such as 2026-01-31, not {date!r}") from None
    with ConversationStore(find_log()) as store:
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


class RowList:
    """Rows for a terminal: cells in columns under headings, and behind them a text that is cut to the rest of the line.

    Where less than `MIN_TITLE_CELLS` are left, columns go on in a second line, and the text is wrapped below them.

    Attributes:
        title_cells: The width that is left for texts.
    """

    def __init__(self, headings: Sequence[str], rows: Sequence[Sequence[Text]]) -> None:
        self._console = SafeConsole()
        self._headings = headings
        self._rows = rows
        width, self._indent = self._console.width, Text("  ")
        most = max(width // 3, TIME_CHARS, *(row[0].cell_len for row in rows)) if rows else 0
        columns = zip(*([Text(each) for each in headings[:-1]], *rows), strict=True)
        self._cells = [min(max(each.cell_len for each in column), most) for column in columns]
        self._breaks: set[int] = set()  # the columns that begin a line
        column = 0
        for number, cells in enumerate(self._cells):
            if number and column + cells > width:
                self._breaks.add(number)
                column = len(self._indent)
            column += cells + 2
        self._is_below = width - column < MIN_TITLE_CELLS
        self.title_cells = width - (len(self._indent) if self._is_below else column)

    def print(self, titles: Sequence[str]) -> None:
        """Print the headings and the rows, with these texts; nothing if there are no rows."""
        if self._rows:
            self._print_row([Text(each) for each in self._headings[:-1]], self._headings[-1], "dim")
        for row, title in zip(self._rows, titles, strict=True):
            self._print_row(row, title)

    def _print_row(self, row: Sequence[Text], title: str, style: str = "") -> None:
        line = Text(style=style)
        for number, (cell, cells) in enumerate(zip(row, self._cells, strict=True)):
            fitted = cell.copy()
            fitted.truncate(cells, overflow="ellipsis", pad=True)
            line.append("\n  " if number in self._breaks else "  " if number else "").append_text(fitted)
        if self._is_below:
            shown = Text(cut_title(escape_line(title), MAX_TITLE_LINES * self.title_cells), style)
            for each in shown.wrap(self._console, self.title_cells):
                each.rstrip()
                line.append("\n").append_text(self._indent).append_text(each)
        else:
            line.append("  ").append(cut_title(escape_line(title), self.title_cells))
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


def show_conversation(id_start: str | None, *, as_json: bool) -> None:
    """Print a conversation as the terminal showed it, or its facts as JSON Lines; without an id, the last one."""
    with ConversationStore(find_log()) as store:
        entry = find_entry(store, id_start, "the log is empty")
        runs = [(run_id, store.load_facts(run_id)) for run_id in store.list_runs(entry.id)]
    if as_json:
        for run_id, facts in runs:
            write_output("".join(encode_timed_facts(run_id, facts)))
        return
    console = create_console(sys.stdout)
    header = f"{entry.id} · {format_time(entry.created)} · {escape_line(entry.model)}"
    console.print(Text(header, "dim"), soft_wrap=not console.is_terminal)
    for _, facts in runs:
        draw_run(console, facts)


def encode_timed_facts(run_id: str, facts: Sequence[StoredFact]) -> Iterator[str]:
    """Yield the facts as lines that `toolspeak graph` reads: `t` is in seconds since the first fact of the run."""
    for each in facts:
        line = {"run_id": run_id, "at": each.at, "t": round(each.at - facts[0].at, 6), "fact": codec.encode(each.fact)}
        yield json.dumps(line) + "\n"


def draw_run(console: Console, facts: Sequence[StoredFact]) -> None:
    """Draw the prompt and the events of a run."""
    at = 0.0
    timer = CallTimer(lambda: at)
    for each in facts:
        at = each.at
        timer.record(each.fact)
    transcript = Transcript(console, timer)
    started = facts[0].fact
    if isinstance(started, events.RunStarted):
        prompt = next((each.text for each in reversed(started.messages) if each.role == "user"), "")
        console.print(Text.assemble(("You:", "bold"), f" {escape_prose(prompt)}"), soft_wrap=not console.is_terminal)
    for event in replay([each.fact for each in facts]):
        transcript.show(event)
        transcript.explain_error(event)
    transcript.end_line()


def replay(facts: Sequence[events.Fact]) -> Iterator[events.Event]:
    """Yield the facts of a run with the texts of its messages, which were deltas when the run happened.

    Starts are left out: they only show that something is waited for.
    """
    for index, fact in enumerate(facts):
        if isinstance(fact, events.TurnStarted):
            yield from _replay_texts(facts[index + 1 :])
        elif not isinstance(fact, events.ToolStarted):
            yield fact


def _replay_texts(facts: Sequence[events.Fact]) -> Iterator[events.Event]:
    """Yield the texts of the message that ends next, unless another one begins before."""
    ended = next((fact for fact in facts if isinstance(fact, events.TurnEnded | events.TurnStarted)), None)
    if not isinstance(ended, events.TurnEnded):
        return
    for part in ended.message.parts:
        if isinstance(part, Thinking):
            yield events.ThinkingDelta(text=part.text)
        elif isinstance(part, TextPart):
            yield events.TextDelta(text=part.text)
