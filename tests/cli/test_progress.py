"""What commands show while they work, and the line that is left of it."""

import hashlib
import io
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyte
import pytest
from rich.console import Console

from toolspeak.cli.embedded import download
from toolspeak.cli.eval import show_progress
from toolspeak.cli.format import format_duration
from toolspeak.models.weights import Progress, ProgressCallback, Weights
from toolspeak.values.events import ToolProgress

DATA = bytes(2_000_000)
WEIGHTS = Weights(
    name="Small",
    filename="small.gguf",
    size=len(DATA),
    sha256=hashlib.sha256(DATA).hexdigest(),
    repository="some/where",
)


class Shelf:
    """A source that has the file at hand."""

    name = "the shelf"

    def extra_bytes(self, weights: Weights) -> int:
        return 0

    def complete(self, partial: Path, weights: Weights, report: ProgressCallback) -> None:
        partial.write_bytes(DATA)
        for share in (0.5, 1):
            report(Progress(done=int(share * len(DATA)), total=len(DATA), source=self.name))


def written(show: Callable[[Console], object], *, in_terminal: bool) -> list[str]:
    """Return the lines that are written, or those that a terminal shows in the end."""
    file = io.StringIO()
    show(Console(file=file, force_terminal=in_terminal, width=80, legacy_windows=False, _environ={"TERM": "xterm"}))
    if not in_terminal:
        return file.getvalue().splitlines()
    screen = pyte.Screen(80, 24)
    pyte.Stream(screen).feed(file.getvalue().replace("\n", "\r\n"))
    return [line.rstrip() for line in screen.display if line.strip()]


@pytest.mark.parametrize("in_terminal", [True, False])
def test_a_pull_ends_in_one_line(tmp_path: Path, in_terminal: bool):
    lines = written(lambda console: download(WEIGHTS, tmp_path, console, [Shelf()]), in_terminal=in_terminal)
    assert re.fullmatch(r"pulled Small, 2 MB in \d+\.\d s", lines.pop())
    assert lines == ([] if in_terminal else ["Small: 2 MB", " 50% from the shelf", "100% from the shelf"])


@pytest.mark.parametrize("in_terminal", [True, False])
def test_an_evaluation_ends_in_one_line(in_terminal: bool):
    def ask(console: Console) -> None:
        with show_progress(4, console) as report:
            for number in range(4):
                report("json", number != 2)

    lines = written(ask, in_terminal=in_terminal)
    assert re.fullmatch(r"4 questions, 75 % right, in \d+\.\d s", lines.pop())
    assert len(lines) == (0 if in_terminal else 4)


def test_an_evaluation_that_is_stopped_says_how_far_it_came():
    def ask(console: Console) -> None:
        with suppress(KeyboardInterrupt), show_progress(4, console) as report:
            report("json", True)
            raise KeyboardInterrupt

    (line,) = written(ask, in_terminal=True)
    assert line.startswith("1 of 4 questions, 100 % right, in ")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3.14, "3.1 s"), (9.96, "10 s"), (59.7, "1 min 0 s"), (190, "3 min 10 s"), (7500, "2 h 5 min")],
)
def test_durations(seconds: float, text: str):
    assert format_duration(seconds) == text


def test_the_progress_of_a_call_in_words():
    assert ToolProgress(call_id="a", done=3, total=10, text="page 3").summary == "3 of 10, page 3"
    assert ToolProgress(call_id="a", done=0.5).summary == "0.5"
