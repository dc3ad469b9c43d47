"""`RequestEncoder`: writes the requests to one model as JSON.

Where an API writes each message of a conversation by itself, a request is put together from texts: the JSON around the
messages, which stays the same as long as tools and settings do, and the JSON of each message, which is written once in
a run (`SentMessages`). The result is the same as if the whole body were written at once.
"""

import json
from collections.abc import Callable
from operator import is_
from typing import Any, NamedTuple

from toolspeak.messages import Message
from toolspeak.models.endpoint import Endpoint
from toolspeak.models.model import Request
from toolspeak.models.sent_messages import SentMessages
from toolspeak.models.token_shield import break_in_messages
from toolspeak.reading.control_tokens import may_hold_tokens
from toolspeak.wire.api import CLIENT_WIRES
from toolspeak.wire.chat_request import ChatRequest

_REPLACED_BY_EXTRA = frozenset({"model", "messages"})
"""Fields that are not where they are searched for, if `extra` replaces them."""


class EncodedRequest(NamedTuple):
    """A request as it is sent.

    Attributes:
        path: Its path behind the base address.
        body: Its body.
        is_broken: Whether control tokens in it were broken.
    """

    path: str
    body: bytes
    is_broken: bool


class _Frame(NamedTuple):
    """A request without its messages.

    Attributes:
        settings: The values that it was made from. They never change, so a request with the same has the same frame.
        extra: The further fields that were put into it, as JSON.
        path: Its path behind the base address.
        head: The JSON before the messages.
        tail: The JSON behind them.
    """

    settings: tuple[object, ...]
    extra: str
    path: str
    head: str
    tail: str


class RequestEncoder:
    """Writes the requests to one model."""

    def __init__(self, endpoint: Endpoint, model: str) -> None:
        self._endpoint = endpoint
        self._model = model
        self._wire = CLIENT_WIRES[endpoint.api]
        self._vendor = endpoint.vendor or self._wire.VENDOR
        self._frame: _Frame | None = None  # of the last request
        self._write = self._build_writer()

    def encode(self, request: Request) -> EncodedRequest:
        """Return a request as it is sent."""
        extra = {**self._endpoint.extra, **(request.sampling.extra or {})}
        path, text = self._encode_in_parts(request, extra) or self._encode_at_once(request, extra)
        if self._endpoint.reads_control_tokens and may_hold_tokens(text):
            body = self._build_body(self._build_request(request, extra))
            field = next(name for name in ("messages", "input", "contents") if name in body)
            messages = break_in_messages(body[field])
            if messages != body[field]:
                return EncodedRequest(path, json.dumps({**body, field: messages}).encode(), is_broken=True)
        return EncodedRequest(path, text.encode(), is_broken=False)

    def _encode_at_once(self, request: Request, extra: dict[str, Any]) -> tuple[str, str]:
        chat_request = self._build_request(request, extra)
        return self._wire.request_path(chat_request), json.dumps(self._build_body(chat_request))

    def _encode_in_parts(self, request: Request, extra: dict[str, Any]) -> tuple[str, str] | None:
        """Return path and text of a request, put together from parts; None if it must be written at once."""
        if self._write is None or not _REPLACED_BY_EXTRA.isdisjoint(extra):
            return None
        shown = request.shown
        added = json.dumps(extra) if extra else ""  # fields that a program may change between two requests
        settings = (*shown.tools, shown.choice, shown.parallel, shown.constraint, request.stream, request.sampling)
        frame = self._frame
        if frame is None or not _are_identical(frame.settings, settings) or frame.extra != added:
            frame = self._frame = self._build_frame(request, extra, settings, added)
        sent = request.sent if request.sent is not None else SentMessages()
        texts = filter(None, sent.write(shown.messages, self._write))  # some answers are not sent back
        return frame.path, f"{frame.head}{', '.join(texts)}{frame.tail}"

    def _build_frame(self, request: Request, extra: dict[str, Any], settings: tuple[object, ...], added: str) -> _Frame:
        chat_request = self._build_request(request, extra, messages=())
        # In a text of JSON every quote is escaped, so this is the field itself. It is the first of that name: the model
        # stands before it.
        head, empty, tail = json.dumps(self._build_body(chat_request)).partition('"messages": []')
        return _Frame(settings, added, self._wire.request_path(chat_request), head + empty[:-1], empty[-1:] + tail)

    def _build_writer(self) -> Callable[[Message], str] | None:
        """Return the function that writes one message; None if the API does not write each message by itself."""
        encode, quirks, vendor = self._wire.encode_message, self._endpoint.quirks, self._vendor
        return None if encode is None else lambda message: encode(message, quirks, vendor)

    def _build_body(self, request: ChatRequest) -> dict[str, Any]:
        quirks, rules = self._endpoint.quirks, self._endpoint.rules
        return self._wire.request_body(request, quirks=quirks, rules=rules, vendor=self._vendor)

    def _build_request(
        self, request: Request, extra: dict[str, Any], messages: tuple[Message, ...] | None = None
    ) -> ChatRequest:
        """Return a request for the API, with other messages if they are given."""
        shown, sampling, constraint = request.shown, request.sampling, request.shown.constraint
        return ChatRequest(
            model=self._model,
            messages=shown.messages if messages is None else messages,
            tools=shown.tools,
            choice=shown.choice,
            parallel=shown.parallel,
            stream=request.stream,
            include_usage=True,
            max_tokens=sampling.max_tokens,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            seed=sampling.seed,
            stop=sampling.stop,
            json_schema=constraint.json_schema if constraint else None,
            grammar=constraint.grammar if constraint else None,
            extra=extra or None,
        )


def _are_identical(some: tuple[object, ...], others: tuple[object, ...]) -> bool:
    """Whether these are the same objects. Equal ones may be written differently, as 1 and 1.0 are."""
    return len(some) == len(others) and all(map(is_, some, others))
