"""Adapters (LoRA): small files that llama.cpp adds to the weights of a model while it computes.

The built-in adapter was trained for the weights that `toolspeak pull` downloads (`training/`). It teaches when to call,
when not to, and with which values. It is used only for requests that show tools, so that the model talks as before
where there are none. What follows results of calls, and everything with many tools, is answered with another one, which
teaches what results say and what to call next: one adapter for both forgets some of the first task while it learns the
second. llama.cpp forgets what it has read when the adapter changes, so each has a place of the server for itself.

Files that training made are in a distribution of their own, `toolspeak-trained` (`packages/toolspeak-trained`), which
the extra `local` needs: the adapter has twenty times the size of everything else, and most users never load it. The
hash of each file is here, so a distribution with other files is refused and not used unnoticed. A new file: put it
beside the adapter, raise the version of the distribution, and find it with `find_trained_file` (`settings/files.py`).
"""

import hashlib
from pathlib import Path

from toolspeak.dialects.dialect import Shown
from toolspeak.models.weights import QWEN_CODER
from toolspeak.settings.files import find_trained_file
from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen
from toolspeak.values.package import suggest_install

BUILT_IN = "built-in"
"""The value of the setting `local.adapter` that stands for the adapter of `toolspeak-trained`."""


@frozen
class Adapter:
    """An adapter for weights.

    Attributes:
        path: The GGUF file.
        sha256: The hash that the file must have; None for a file of the user.
        after_results: The adapter that is used in its place where `choose_file` says so, above all after results; None
            for itself.
        reads_figures: Whether it teaches to read what is worked out from results (`toolspeak.dialects.figures`). Models
            that were not taught that compare worse with it.
    """

    path: Path
    sha256: str | None = None
    after_results: "Adapter | None" = None
    reads_figures: bool = False

    @property
    def name(self) -> str:
        """Its name in the output of commands."""
        return BUILT_IN if self == QWEN_CODER_CALLS else str(self.path)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Its files, in the order in which a server numbers them."""
        return (self.path, *(() if self.after_results is None else self.after_results.paths))


QWEN_CODER_CALLS = Adapter(
    path=find_trained_file("qwen2.5-coder-1.5b-calls.gguf"),
    sha256="e6d35b689f09491bd0c6e91a960904212cf56a99ec1c674b5d88b0c722a1bc35",
    after_results=Adapter(
        path=find_trained_file("qwen2.5-coder-1.5b-results.gguf"),
        sha256="e8dd88affca1574550469c3f5a10879f88eabaae1833bb76ab563d4e4ab84c44",
    ),
    reads_figures=True,
)
"""The adapter for `QWEN_CODER`."""


MANY_TOOLS = 8
"""From so many tools on, the second file of an adapter answers everything."""


def choose_file(shown: Shown) -> int:
    """Return the number of the file that answers, of an adapter that has two.

    That is 1 after results, with many tools, and where tools were left out of a list; and 0 otherwise. The first file
    is better at single questions with few tools, the second at work of many steps (`training/results.md`).
    """
    has_many = shown.tool_count >= MANY_TOOLS or shown.closer is not None
    return int(shown.has_tools and (shown.follows_results or has_many))


def find_adapter(setting: str | None, weights: Path) -> Adapter | None:
    """Return the adapter for a file of weights that a setting names: `built-in`, the path of a GGUF file, or None.

    The built-in adapter fits one model: for other weights, there is none. Raises `UsageError` if the setting names a
    file that does not exist, or the built-in adapter is not installed.
    """
    if setting is None:
        return None
    if setting == BUILT_IN:
        return _require_installed(QWEN_CODER_CALLS) if weights.name == QWEN_CODER.filename else None
    path = Path(setting).expanduser()
    if not path.is_file():
        raise UsageError(
            f"local.adapter: there is no file {setting}; give the path of a GGUF file, {BUILT_IN!r} or 'none'"
        )
    return Adapter(path=path.resolve())


def _require_installed(adapter: Adapter) -> Adapter:
    for path in adapter.paths:
        if not path.is_file():
            raise UsageError(
                f"the adapter of the embedded model, {path.name}, is not installed; get it with: "
                f'{suggest_install("local")}, or go without it: --adapter none, or local.adapter = "none"'
            )
    return adapter


def check_adapter(adapter: Adapter) -> None:
    """Raise `UsageError` if the file of an adapter cannot be read, is not GGUF, or does not have its hash."""
    try:
        with adapter.path.open("rb") as file:
            magic = file.read(4)
            file.seek(0)
            digest = None if adapter.sha256 is None else hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"cannot read the adapter {adapter.path}: {error.strerror}") from None
    if digest != adapter.sha256:
        raise UsageError(
            f"the adapter {adapter.path} is not the file that was published: its SHA-256 is {digest}, not "
            f'{adapter.sha256}; install toolspeak again, or go without it: --adapter none, or local.adapter = "none"'
        )
    if magic != b"GGUF":
        raise UsageError(f"the adapter {adapter.path} is not a GGUF file, the only format that llama.cpp reads")
    if adapter.after_results is not None:
        check_adapter(adapter.after_results)
