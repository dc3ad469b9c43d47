"""`toolspeak pull`: the weights of the embedded model, with a bar in a terminal and plain lines elsewhere."""

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.progress import Progress as Bars

from toolspeak.errors import UsageError
from toolspeak.models.weights import CATALOGUE, Progress, Weights, find_weights, is_intact, pull
from toolspeak.models.weights.catalogue import ProgressCallback
from toolspeak.settings import cache_folder
from toolspeak.validation import nearest

STEP = 0.1
"""The share of the file after which a plain line is due."""


def weights_named(model: str) -> Weights:
    """What is pulled for a model."""
    if model in CATALOGUE:
        return CATALOGUE[model]
    known = ", ".join(CATALOGUE)
    if model.startswith("local:"):
        raise UsageError(f"{model} names a file of yours: there is nothing to pull. What can be pulled: {known}")
    if ":" in model:
        raise UsageError(f"{model} is served by its endpoint: there is nothing to pull. What can be pulled: {known}")
    hint = f"; did you mean {similar}?" if (similar := nearest(model, CATALOGUE)) else "."
    raise UsageError(f"there are no weights for {model!r}{hint} What can be pulled: {known}")


def pulled(model: str, console: Console) -> Path:
    """Get the weights of a model and tell how far it is; if they are there, look whether they still are right."""
    weights, folder = weights_named(model), cache_folder() / "models"
    if (path := find_weights(weights, folder)) is not None:
        console.print(f"{weights.name} is there; checking it", style="dim")
        if is_intact(weights, path):
            return path
        console.print("it is damaged, and pulled again", style="yellow")
        path.unlink()
    with _telling(weights, console) as report:
        return pull(weights, folder, on_progress=report)


def _telling(weights: Weights, console: Console) -> AbstractContextManager[ProgressCallback]:
    return _bar(weights, console) if console.is_terminal else _lines(weights, console)


@contextmanager
def _bar(weights: Weights, console: Console) -> Generator[ProgressCallback]:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    console.print(weights.name)
    with Bars(*columns, TimeRemainingColumn(), console=console) as bars:
        task = bars.add_task("", total=weights.size)

        def report(progress: Progress) -> None:
            bars.update(task, completed=progress.done, description=f"from {progress.source}")

        yield report


@contextmanager
def _lines(weights: Weights, console: Console) -> Generator[ProgressCallback]:
    told: tuple[str, int] | None = None
    console.print(f"{weights.name}: {weights.size / 1e6:,.0f} MB")

    def report(progress: Progress) -> None:
        nonlocal told
        step = (progress.source, int(progress.done / progress.total / STEP))
        if step != told:
            told = step
            console.print(f"{progress.done / progress.total:4.0%} from {progress.source}")

    yield report
