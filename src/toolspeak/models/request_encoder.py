"""`RequestEncoder`: writes the requests to one model as JSON.

Where an API writes each message of a conversation by itself, a request is put together from texts: the JSON around the
messages, which stays the same as long as tools and settings do, and the JSON of each message, which is written once in
a run (`SentMessages`). The result is the same as if the whole body were written at once.

Control tokens in messages are kept from a server that would read them as such, and restored in its answer. Everything
but system messages is broken: user messages, results, documents, and answers that are sent back. System messages are
the program's own. The rest of the package never sees the broken form: the request is broken when it is written, and the
pieces of the answer are restored before they are read (`PieceRestorer`). So the arguments of a call are the true text,
byte for byte, and files that a model edits stay whole. Which tokens there are is in `reading/control_tokens.py`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import is_
from typing import Any, NamedTuple, cast

from toolspeak.models.endpoint import Endpoint
from toolspeak.models.model import Request, SentMessages
from toolspeak.reading.control_tokens import BREAKER, TokenRestorer, break_tokens, may_hold_tokens, restore_tokens
from toolspeak.values.events import TextDelta, ThinkingDelta
from toolspeak.values.messages import Message, Part, Text, Thinking
from toolspeak.values.pieces import Answer, ApiCall, CallPiece, Piece
from toolspeak.wire.api import CLIENT_WIRES
from toolspeak.wire.chat_request import ChatRequest


class EncodedRequest(NamedTuple):
    """A request as it is sent."""

    path: str  # behind the base address
    body: bytes
    is_broken: bool  # whether control tokens in it were broken


class _Frame(NamedTuple):
    """A request without its messages."""

    settings: tuple[object, ...]  # it was made from them; they never change, so the same ones give the same frame
    extra: str  # the further fields that were put into it, as JSON
    path: str  # behind the base address
    head: str  # the JSON before the messages
    tail: str  # the JSON behind them


class RequestEncoder:
    """Writes the requests to one model."""

    def __init__(self, endpoint: Endpoint, model: str) -> None:
        self._endpoint = endpoint
        self._model = model
        self._wire = CLIENT_WIRES[endpoint.api]
        self._vendor = endpoint.vendor or self._wire.VENDOR
        self._frame: _Frame | None = None  # of the last request
        encode, quirks, vendor = self._wire.encode_message, endpoint.quirks, self._vendor
        # None if the API does not write each message by itself.
        self._write: Callable[[Message], str] | None = encode and (lambda message: encode(message, quirks, vendor))

    def encode(self, request: Request) -> EncodedRequest:
        """Return a request as it is sent."""
        extra = {**self._endpoint.extra, **(request.sampling.extra or {})}
        if (encoded := self._encode_in_parts(request, extra)) is None:
            chat_request = self._build_request(request, extra)
            encoded = self._wire.request_path(chat_request), json.dumps(self._build_body(chat_request))
        path, text = encoded
        if self._endpoint.reads_control_tokens and may_hold_tokens(text):
            body = self._build_body(self._build_request(request, extra))
            field = next(name for name in ("messages", "input", "contents") if name in body)
            messages = _break_in_messages(body[field])
            if messages != body[field]:
                return EncodedRequest(path, json.dumps({**body, field: messages}).encode(), is_broken=True)
        return EncodedRequest(path, text.encode(), is_broken=False)

    def _encode_in_parts(self, request: Request, extra: dict[str, Any]) -> tuple[str, str] | None:
        """Return path and text of a request, put together from parts; None if it must be written at once."""
        if self._write is None or "model" in extra or "messages" in extra:  # they would not be where they are searched
            return None
        shown = request.shown
        added = json.dumps(extra) if extra else ""  # fields that a program may change between two requests
        settings = (*shown.tools, shown.choice, shown.parallel, shown.constraint, request.stream, request.sampling)
        frame = self._frame
        # The same objects: equal ones may be written differently, as 1 and 1.0 are.
        is_same = frame and len(frame.settings) == len(settings) and all(map(is_, frame.settings, settings))
        if frame is None or not is_same or frame.extra != added:
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


def _break_in_messages(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the messages of a request body with the control tokens in them broken, except in system messages."""
    own = ("system", "developer")
    return [message if message.get("role") in own else _map_texts(message, break_tokens) for message in messages]


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return JSON data with each text in it changed, keys included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {change(key): _map_texts(each, change) for key, each in items}
    if isinstance(value, list):
        return [_map_texts(each, change) for each in cast("list[Any]", value)]
    return value


class PieceRestorer:
    """Restores the control tokens in the pieces of one answer.

    The arguments of the API's own calls are held back until the `Answer`: they are JSON text, in which a server may
    write any character as an escape, so that only complete arguments can be restored.
    """

    def __init__(self) -> None:
        self._text = TokenRestorer()
        self._thinking = TokenRestorer()

    def feed(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Return the pieces with the tokens in them restored."""
        restored = [self._restore(piece) for piece in pieces]
        return [piece for piece in restored if not isinstance(piece, TextDelta | ThinkingDelta) or piece.text]

    def close(self) -> list[Piece]:
        """Return the rest of an answer that was cut, and so has no `Answer`."""
        thinking, text = self._thinking.close(), self._text.close()
        return [*([ThinkingDelta(text=thinking)] if thinking else []), *([TextDelta(text=text)] if text else [])]

    def _restore(self, piece: Piece) -> Piece:
        match piece:
            case TextDelta(text=text):
                return TextDelta(text=self._text.feed(text))
            case ThinkingDelta(text=text):
                return ThinkingDelta(text=self._thinking.feed(text))
            case CallPiece():
                return replace(piece, arguments="")
            case Answer(parts=parts):
                self._text, self._thinking = TokenRestorer(), TokenRestorer()  # a whole answer repeats the deltas
                return replace(piece, parts=_restore_parts(parts))


def _restore_parts(parts: Sequence[Part | ApiCall]) -> tuple[Part | ApiCall, ...]:
    """Restore the parts of a whole answer. All texts are read as one, as they are when they arrive in deltas."""
    restored = list(parts)
    for kind in (Text, Thinking):
        restorer = TokenRestorer()
        places = [place for place, part in enumerate(parts) if isinstance(part, kind)]
        for place in places:
            part = cast("Text | Thinking", parts[place])
            rest = restorer.close if place == places[-1] else str
            restored[place] = replace(part, text=restorer.feed(part.text) + rest())
    for place, part in enumerate(parts):
        if isinstance(part, ApiCall):
            restored[place] = replace(part, arguments=_restore_arguments(part.arguments))
    return tuple(restored)


def _restore_arguments(text: str) -> str:
    """Return the JSON text of arguments with the tokens in its strings restored."""
    if BREAKER not in text and f"\\u{ord(BREAKER):04x}" not in text:
        return text
    try:
        return json.dumps(_map_texts(json.loads(text), restore_tokens), ensure_ascii=False)
    except (ValueError, RecursionError):  # not quite JSON: it is repaired later
        return restore_tokens(text)
