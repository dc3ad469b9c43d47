"""The progress of `toolspeak eval` and `toolspeak calibrate`, on standard error. It ends in one line."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from typing import TypeAlias

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from toolspeak.cli.console import SafeConsole
from toolspeak.cli.format import format_duration
from toolspeak.cli.model_loader import ModelLoader
from toolspeak.models import Model

ReportAnswer: TypeAlias = Callable[[str, bool], None]
"""Called after each answer with the dialect and whether the answer is right."""

PLAIN_PROGRESS_STEP = 0.05
"""The share of the questions after which another plain line is printed."""


def create_log() -> Console:
    """Create the console for everything but the figures."""
    return SafeConsole(stderr=True, soft_wrap=True)


def load_model(model: Model, log: Console) -> None:
    """Load the embedded model, so that the time this takes is not measured."""
    loader = ModelLoader(model)
    with log.status(f"loading {model.name}") if loader.is_loading else nullcontext():
        loader.wait()
    if loader.report:
        log.print(loader.report, highlight=False)


@contextmanager
def show_progress(count: int, log: Console) -> Generator[ReportAnswer]:
    """Show a bar with the running score in a terminal, and a line now and then elsewhere; at the end, the score."""
    done = right = 0
    started = time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=log, disable=not log.is_terminal, transient=True) as bar:
        task = bar.add_task("", total=count)

        def report(dialect: str, is_right: bool) -> None:
            nonlocal done, right
            done, right = done + 1, right + is_right
            bar.update(task, completed=done, description=f"{dialect}, {right / done:.0%} right")
            if not log.is_terminal and int(done / count / PLAIN_PROGRESS_STEP) > int(
                (done - 1) / count / PLAIN_PROGRESS_STEP
            ):
                log.print(f"{done} of {count}, {right / done:.0%} right")

        try:
            yield report
        finally:
            bar.stop()
            if done:
                log.print(describe_score(done, count, right, time.monotonic() - started), highlight=False)


def describe_score(done: int, count: int, right: int, seconds: float) -> str:
    """Describe how many questions were asked, how many answers were right, and how long it took."""
    asked = f"{count}" if done == count else f"{done} of {count}"
    return (
        f"{asked} question{'' if count == 1 else 's'}, {100 * right / done:.0f} % right, in {format_duration(seconds)}"
    )
