"""The model hub, over HTTP: goes on where an earlier pull was cut, and gives up fast where there is no way to it."""

import http.client
import os
import queue
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from toolspeak.models.weights.catalogue import Progress, Report, SourceFailed, Weights

HUB = "https://huggingface.co"
CHUNK = 1 << 20


class Hub:
    """The model hub, or a mirror of it that `HF_ENDPOINT` names.

    Args:
        environ: The environment to look into, by default the program's.
        connect: Seconds until the hub must have begun to answer, looking up its name included.
        silence: Seconds for which it may send nothing.
    """

    def __init__(
        self, environ: Mapping[str, str] | None = None, *, connect: float = 10.0, silence: float = 30.0
    ) -> None:
        address = (os.environ if environ is None else environ).get("HF_ENDPOINT", "").strip() or HUB
        self.address = address.rstrip("/")
        self._connect = connect
        self._silence = silence

    @property
    def name(self) -> str:
        return self.address.partition("://")[2].rpartition("@")[2] or self.address

    def room(self, weights: Weights) -> int:
        """Nothing: what arrives goes into the file."""
        return 0

    def extend(self, partial: Path, weights: Weights, report: Report) -> None:
        """Ask for what is missing, and append it as it arrives."""
        if not self.address.startswith(("http://", "https://")):
            raise SourceFailed(f"HF_ENDPOINT is {self.address!r}, which is no http address")
        url = f"{self.address}/{weights.repository}/resolve/main/{weights.filename}"
        with partial.open("ab") as file:
            if (kept := file.tell()) == weights.size:
                return
            with self._opened(url, kept) as answer:
                done = _start(answer, kept, weights)
                file.truncate(done)
                while done < weights.size:
                    report(Progress(done=done, total=weights.size, source=self.name))
                    chunk = _next(answer, min(CHUNK, weights.size - done))
                    if not chunk:
                        raise SourceFailed(f"it stopped after {done} of {weights.size} bytes")
                    file.write(chunk)
                    done += len(chunk)
        report(Progress(done=done, total=weights.size, source=self.name))

    def _opened(self, url: str, done: int) -> http.client.HTTPResponse:
        # In a thread: looking up a name cannot be given a time limit, and offline it may take half a minute.
        request = urllib.request.Request(url, headers={"User-Agent": "toolspeak"})  # noqa: S310 (the scheme is checked)
        if done:
            request.add_header("Range", f"bytes={done}-")
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        given_up = threading.Event()

        def ask() -> None:
            try:
                answer = urllib.request.urlopen(request, timeout=self._silence)  # noqa: S310 (the scheme is checked)
            except Exception as error:
                answers.put(error)
                return
            answers.put(answer)
            if given_up.is_set():
                answer.close()

        threading.Thread(target=ask, name="toolspeak-hub", daemon=True).start()
        try:
            answer = answers.get(timeout=self._connect)
        except queue.Empty:
            given_up.set()
            raise SourceFailed(f"it did not answer within {self._connect:g} seconds") from None
        if isinstance(answer, (OSError, http.client.HTTPException)):
            raise SourceFailed(_words(answer)) from None
        if isinstance(answer, Exception):
            raise answer
        return cast("http.client.HTTPResponse", answer)


def _start(answer: http.client.HTTPResponse, asked: int, weights: Weights) -> int:
    """Where in the file the answer begins. What is not this file is known by its size, before a byte is kept."""
    if answer.status == 206:
        span, _, total = (answer.headers.get("Content-Range") or "").removeprefix("bytes ").partition("/")
        first = span.partition("-")[0]
        if first != str(asked) or total not in ("*", str(weights.size)):
            raise SourceFailed(f"it offers bytes {span} of {total}, and {asked}- of {weights.size} were asked for")
        return asked
    length = answer.headers.get("Content-Length")
    if length is not None and length != str(weights.size):
        raise SourceFailed(f"it offers a file of {length} bytes, and the weights have {weights.size}")
    return 0


def _next(answer: http.client.HTTPResponse, size: int) -> bytes:
    try:
        return answer.read1(size)
    except (OSError, http.client.HTTPException) as error:
        raise SourceFailed(_words(error)) from None


def _words(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        return f"it answered {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        reason = error.reason
        return f"it cannot be reached ({reason.strerror or reason if isinstance(reason, OSError) else reason})"
    return f"the connection broke ({error or type(error).__name__})"
