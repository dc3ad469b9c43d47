"""Loads the embedded model in the background."""

import threading

from toolspeak.models import EmbeddedModel, Model


class ModelLoader:
    """Loads the embedded model in a thread, from the moment it is created. Other models need no loading.

    An error while loading is raised by `wait`.
    """

    def __init__(self, model: Model) -> None:
        self._done = threading.Event()
        self._error: BaseException | None = None
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

    def _load(self, model: EmbeddedModel) -> None:
        try:
            model.load()
        except BaseException as error:
            self._error = error
        finally:
            self._done.set()
