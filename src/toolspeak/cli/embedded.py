"""The embedded model: `toolspeak pull` downloads its weights, `toolspeak local` keeps it loaded, commands load it.

The progress of a download is a bar in a terminal and plain lines elsewhere. Either ends in one line, which says what
was downloaded and how long it took.
"""

import json
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.progress import Progress as ProgressBar

from toolspeak.cli.format import SafeConsole, format_duration, format_seconds
from toolspeak.cli.safe_text import write_output
from toolspeak.models import EmbeddedModel, Model
from toolspeak.models.warm import WarmServer, WarmStatus, is_supported, list_warm_servers, stop_warm_servers
from toolspeak.models.weights import CATALOGUE, Progress, ProgressCallback, Weights, WeightsSource, is_intact
from toolspeak.models.weights_download import pull
from toolspeak.run.model_lookup import find_model, warm_folder
from toolspeak.settings import LocalSettings, Settings, cache_folder
from toolspeak.values.errors import UsageError
from toolspeak.values.validation import nearest


class ModelLoader:
    """Loads the embedded model in a thread, from the moment it is created. Other models need no loading.

    An error while loading is raised by `wait`.
    """

    def __init__(self, model: Model) -> None:
        self._done = threading.Event()
        self._error: BaseException | None = None
        self._report: str | None = None
        if isinstance(model, EmbeddedModel) and not model.is_ready:
            threading.Thread(target=self._load, args=(model,), daemon=True).start()
        else:
            self._done.set()

    @property
    def is_loading(self) -> bool:
        """Whether `wait` would have to wait."""
        return not self._done.is_set()

    @property
    def has_failed(self) -> bool:
        """Whether loading ended with an error."""
        return self._error is not None

    def wait(self) -> None:
        """Return when the model is loaded."""
        self._done.wait()
        if self._error is not None:
            raise self._error

    def take_report(self) -> str | None:
        """Return a line that says how long loading took, once; None if nothing was loaded."""
        report, self._report = self._report, None
        return report

    def _load(self, model: EmbeddedModel) -> None:
        started = time.monotonic()
        try:
            server = model.load()
            if server.was_started:
                self._report = f"loaded {model.name} in {format_duration(time.monotonic() - started)}"
                if isinstance(server, WarmServer):
                    self._report += f"; it stays loaded {format_idle(server.idle_seconds)}: toolspeak local stop"
        except BaseException as error:
            self._error = error
        finally:
            self._done.set()


def report_reading(model: Model, report: Callable[[int, int], None]) -> None:
    """Let the embedded model report how many tokens of a prompt it has read, and of how many. Others do not say it."""
    if isinstance(model, EmbeddedModel):
        model.on_prompt_read = report


def format_idle(seconds: float) -> str:
    """Return for how long a warm server is kept, in words."""
    minutes = seconds / 60
    return f"for {minutes:g} minute{'' if minutes == 1 else 's'} after its last use"


def start(model: str | None, minutes: float | None, settings: Settings) -> None:
    """Load a model in a warm server, unless one runs, and print its line of the status."""
    _require_support()
    keep = minutes or settings.local.keep_minutes or LocalSettings().keep_minutes
    settings = replace(settings, local=replace(settings.local, keep_minutes=keep))
    name = model or (settings.model if settings.model.startswith("local") else "local")
    found = find_model(name, configured=settings, keep_warm=True)
    if not isinstance(found, EmbeddedModel):
        raise UsageError(f"{name} is not an embedded model; only local and local:FILE.gguf can be kept loaded")
    console = SafeConsole(stderr=True, soft_wrap=True)
    with console.status(f"loading {name}") if console.is_terminal else nullcontext():
        server = found.load()
    if isinstance(server, WarmServer):
        state = "is loaded" if server.was_started else "was loaded already"
        write_output(f"{name} {state}, and stays loaded {format_idle(server.idle_seconds)} (process {server.pid})\n")


def stop() -> None:
    """End all warm servers."""
    _require_support()
    stopped = stop_warm_servers(warm_folder())
    for each in stopped:
        write_output(f"ended {each.weights.name} (process {each.pid})\n")
    if not stopped:
        sys.stdout.write("no embedded model is kept loaded\n")


def print_status(*, as_json: bool) -> None:
    """Print a line, or an element of a JSON list, for each warm server."""
    _require_support()
    servers = list_warm_servers(warm_folder())
    if as_json:
        write_output(json.dumps([_encode(each) for each in servers], indent=2) + "\n")
        return
    for each in servers:
        left = max(0.0, each.ends_after - each.idle_seconds)
        idle = f"idle for {format_seconds(each.idle_seconds)}, ends in {format_seconds(left)}"
        phase = idle if each.phase == "idle" else each.phase
        write_output(f"{each.weights.name}: process {each.pid}, {phase}\n")
    if not servers:
        sys.stdout.write("no embedded model is kept loaded; start one with: toolspeak local start\n")


def _encode(status: WarmStatus) -> dict[str, object]:
    return {
        "weights": str(status.weights),
        "pid": status.pid,
        "phase": status.phase,
        "idle_seconds": round(status.idle_seconds, 1),
        "ends_after_seconds": status.ends_after,
        "started": status.started,
    }


def _require_support() -> None:
    if not is_supported:
        raise UsageError("on Windows the embedded model cannot be kept loaded: each command loads it")


PLAIN_PROGRESS_STEP = 0.1  # the share of the file after which another plain line is printed


def find_in_catalogue(model: str) -> Weights:
    """Return the entry of the catalogue for a model. Raises `UsageError` if it has none."""
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
    """Download weights into a folder, show the progress, and return the path. The sources are tried in order."""
    started = time.monotonic()
    with (_show_bar if console.is_terminal else _show_lines)(weights, console) as report:
        path = pull(weights, folder, on_progress=report, sources=sources)
    duration = format_duration(time.monotonic() - started)
    console.print(f"pulled {weights.name}, {format_megabytes(weights)} in {duration}", highlight=False)
    return path


def format_megabytes(weights: Weights) -> str:
    """Format the size of weights."""
    return f"{weights.size / 1e6:,.0f} MB"


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
