"""`AnswerStream`: the answer to one request over HTTP while it arrives. It is imported with the first request."""

import asyncio
from collections.abc import Sequence

from toolspeak.models import transport
from toolspeak.models.answer_reader import AnswerReader
from toolspeak.models.endpoint import Endpoint
from toolspeak.models.request_encoder import PieceRestorer
from toolspeak.models.sender import HttpResponse, RequestDeadline
from toolspeak.values.errors import ModelError, RateLimited
from toolspeak.values.pieces import Piece

TRAILER_TIMEOUT_SECONDS = 2.0
"""How long to wait, after the end of an answer, for its token counts and for the end of the response."""


class AnswerStream:
    """Reads a response to its end. No async generator: it would cost more than all that is done here."""

    def __init__(
        self,
        endpoint: Endpoint,
        response: HttpResponse,
        reader: AnswerReader,
        deadline: RequestDeadline,
        restorer: PieceRestorer | None,
    ) -> None:
        """Begin to read.

        Args:
            endpoint: The endpoint that answers.
            response: Its response, which `close` releases.
            reader: Reads the bytes of the response.
            deadline: When the request is given up. It watches the response.
            restorer: Restores control tokens that were broken in the request; None if there were none.
        """
        self._endpoint = endpoint
        self._response = response
        self._content = response.content
        self._reader = reader
        self._deadline = deadline
        self._restorer = restorer
        self._trailer_timer: asyncio.TimerHandle | None = None
        self._has_ended = False
        self._broken: BaseException | None = None

    async def next_pieces(self) -> Sequence[Piece]:
        """Return the next pieces when they have arrived, and none at the end.

        Raises:
            ModelError: The endpoint reported an error, or the answer was cut.
            RequestFailed: The same, and nothing of the answer has arrived.
        """
        reader, content = self._reader, self._content
        pieces: Sequence[Piece] = ()
        try:
            while not self._has_ended and reader.failure is None and (chunk := await content.readany()):
                was_complete = reader.ended
                pieces = reader.feed(chunk)
                if pieces and self._restorer is not None:
                    pieces = self._restorer.feed(pieces)
                if content.at_eof():
                    continue  # the next read returns at once, and the end of the answer is returned with the pieces
                if reader.ended and not was_complete:
                    self._start_trailer_timer()
                if pieces:
                    return pieces
        except transport.CONNECTION_ERRORS as error:
            self._broken = error
        if not self._has_ended:
            pieces = [*pieces, *self._end()]
        if not pieces:
            self._raise_failure()
        return pieces

    def _end(self) -> Sequence[Piece]:
        self._has_ended = True
        self._cancel_timers()
        pieces, restorer = self._reader.close(), self._restorer
        return pieces if restorer is None else [*restorer.feed(pieces), *restorer.close()]

    def _raise_failure(self) -> None:
        reader, broken = self._reader, self._broken
        if reader.failure is not None:
            raise self._build_error(reader.failure)
        if not reader.ended:
            late = self._deadline.has_passed
            raise transport.build_interruption(self._endpoint, broken, started=reader.started, late=late) from broken

    def _build_error(self, error: ModelError) -> Exception:
        """Return the exception for an error in the answer, without the original as its cause: that may hold the key."""
        endpoint = self._endpoint
        named = error.with_message(f"{endpoint.label}: {endpoint.redact(str(error))}")
        is_retried = isinstance(error, RateLimited) and not self._reader.started
        return transport.RequestFailed(named) if is_retried else named

    def _start_trailer_timer(self) -> None:
        loop = asyncio.get_running_loop()
        self._trailer_timer = loop.call_later(TRAILER_TIMEOUT_SECONDS, self._response.close)

    def _cancel_timers(self) -> None:
        self._deadline.stop()
        if self._trailer_timer is not None:
            self._trailer_timer.cancel()

    def close(self) -> None:
        """Give the connection back, or close it if the answer has not ended."""
        self._cancel_timers()
        transport.release(self._response)
