"""`toolspeak log show`: a conversation of the log, as the terminal showed it."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.text import Text

from toolspeak import codec
from toolspeak.cli.call_timer import CallTimer
from toolspeak.cli.log import format_time, open_log
from toolspeak.cli.safe_text import escape_line, escape_prose, write_output
from toolspeak.cli.transcript import Transcript, create_console
from toolspeak.errors import UsageError
from toolspeak.events import Event, Fact, RunStarted, TextDelta, ThinkingDelta, ToolStarted, TurnEnded, TurnStarted
from toolspeak.messages import Text as TextPart
from toolspeak.messages import Thinking
from toolspeak.store import ConversationEntry, StoredFact


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
