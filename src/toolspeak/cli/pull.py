"""`toolspeak pull`: downloads the weights of the embedded model, with a bar in a terminal and plain lines elsewhere.

Either ends in one line, which says what was downloaded and how long it took.
"""

import time
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.progress import Progress as ProgressBar

from toolspeak.cli.format import format_duration
from toolspeak.errors import UsageError
from toolspeak.models.weights import CATALOGUE, Progress, Weights, is_intact, pull
from toolspeak.models.weights.catalogue import ProgressCallback, WeightsSource
from toolspeak.settings import cache_folder
from toolspeak.validation import nearest

PLAIN_PROGRESS_STEP = 0.1
"""The share of the file after which another plain line is printed."""


def find_in_catalogue(model: str) -> Weights:
    """Return the entry of the catalogue for a model.

    Raises:
        UsageError: The catalogue has no such model.
    """
    if model in CATALOGUE:
        return CATALOGUE[model]
    known = ", ".join(CATALOGUE)
    if model.startswith("local:"):
        raise UsageError(f"{model} names a file of yours: there is nothing to pull. What can be pulled: {known}")
    if ":" in model:
        raise UsageError(f"{model} is served by its endpoint: there is nothing to pull. What can be pulled: {known}")
    hint = f"; did you mean {similar}?" if (similar := nearest(model, CATALOGUE)) else "."
    raise UsageError(f"there are no weights for {model!r}{hint} What can be pulled: {known}")


def pull_weights(model: str, console: Console) -> Path:
    """Download the weights of a model, or check those that are there, and return their path."""
    weights, folder = find_in_catalogue(model), cache_folder() / "models"
    path = folder / weights.filename
    if path.is_file():
        if not console.is_terminal:
            console.print(f"{weights.name} is on this machine; checking the file")
        with console.status(f"checking {weights.name}"):
            intact = is_intact(weights, path)
        if intact:
            console.print(f"{weights.name} is on this machine, and intact", style="dim")
            return path
        console.print("the file is damaged; pulling it again", style="yellow")
        path.unlink()
    return download(weights, folder, console)


def download(weights: Weights, folder: Path, console: Console, sources: Sequence[WeightsSource] | None = None) -> Path:
    """Download weights, show the progress, and return the path of the file.

    Args:
        weights: The weights.
        folder: The folder for the file.
        console: Where the progress is shown.
        sources: The sources to try, in order; by default those of `pull`.
    """
    started = time.monotonic()
    with _show_progress(weights, console) as report:
        path = pull(weights, folder, on_progress=report, sources=sources)
    duration = format_duration(time.monotonic() - started)
    console.print(f"pulled {weights.name}, {format_megabytes(weights)} in {duration}", highlight=False)
    return path


def format_megabytes(weights: Weights) -> str:
    """Format the size of weights."""
    return f"{weights.size / 1e6:,.0f} MB"


def _show_progress(weights: Weights, console: Console) -> AbstractContextManager[ProgressCallback]:
    return _show_bar(weights, console) if console.is_terminal else _show_lines(weights, console)


@contextmanager
def _show_bar(weights: Weights, console: Console) -> Generator[ProgressCallback]:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with ProgressBar(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(f"pulling {weights.name}", total=weights.size)

        def report(progress: Progress) -> None:
            bar.update(task, completed=progress.done, description=f"from {progress.source}")

        yield report


@contextmanager
def _show_lines(weights: Weights, console: Console) -> Generator[ProgressCallback]:
    last_step: tuple[str, int] | None = None
    console.print(f"{weights.name}: {format_megabytes(weights)}")

    def report(progress: Progress) -> None:
        nonlocal last_step
        step = (progress.source, int(progress.done / progress.total / PLAIN_PROGRESS_STEP))
        if step != last_step:
            last_step = step
            console.print(f"{progress.done / progress.total:4.0%} from {progress.source}")

    yield report
