"""Loads the embedded model in the background."""

import threading
import time

from toolspeak.cli.format import format_duration
from toolspeak.models import EmbeddedModel, Model
from toolspeak.models.warm import WarmServer


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

    @property
    def report(self) -> str | None:
        """A line that says how long loading took; None if nothing was loaded."""
        return self._report

    def take_report(self) -> str | None:
        """Return the report at the first call, and None at the next ones."""
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


def format_idle(seconds: float) -> str:
    """Return for how long a warm server is kept, in words."""
    minutes = seconds / 60
    return f"for {minutes:g} minute{'' if minutes == 1 else 's'} after its last use"
