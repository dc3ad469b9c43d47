"""`Hub`: the model hub as a source of weights. It continues downloads, and fails fast if the hub cannot be reached."""

import http.client
import os
import queue
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from toolspeak.models.weights.catalogue import Progress, ProgressCallback, SourceFailed, Weights

DEFAULT_ADDRESS = "https://huggingface.co"
CHUNK_BYTES = 1 << 20


class Hub:
    """The model hub, or a mirror of it that `HF_ENDPOINT` names.

    Args:
        environ: The environment; by default the program's.
        connect_timeout: Seconds until the response must have begun, including the lookup of the host's name.
        read_timeout: Seconds without a byte after which the connection counts as dead.
    """

    def __init__(
        self, environ: Mapping[str, str] | None = None, *, connect_timeout: float = 10.0, read_timeout: float = 30.0
    ) -> None:
        address = (os.environ if environ is None else environ).get("HF_ENDPOINT", "").strip() or DEFAULT_ADDRESS
        self.address = address.rstrip("/")
        self._connect_timeout = connect_timeout
        self._read_timeout = read_timeout

    @property
    def name(self) -> str:
        return self.address.partition("://")[2].rpartition("@")[2] or self.address

    def extra_bytes(self, weights: Weights) -> int:
        """Return 0: the bytes go directly into the file."""
        return 0

    def complete(self, partial: Path, weights: Weights, report: ProgressCallback) -> None:
        """Request the bytes that are missing, and append them as they arrive."""
        if not self.address.startswith(("http://", "https://")):
            raise SourceFailed(f"HF_ENDPOINT is {self.address!r}, which is not an http address")
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
