"""Pieces: the answer of an endpoint before it is read, the same for every API.

A wire makes pieces of the bytes that arrive: text and reasoning (as deltas), pieces of the API's own calls, and at the
end one `Answer` with all parts in order. Nothing is interpreted yet: the arguments of a call are still text, and a text
may contain calls.
"""

from typing import ClassVar, Literal, TypeAlias

from toolspeak.values.events import FinishReason, TextDelta, ThinkingDelta, Usage
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Extra, Part


@frozen
class CallPiece:
    """A piece of a call that the API itself marks as one.

    Attributes:
        index: The number of the call in the message; pieces of several calls may be interleaved.
        id: The id of the call, once the API has sent it.
        name: The name of the tool, once the API has sent it.
        arguments: More of the JSON text of the arguments.
    """

    kind: ClassVar[Literal["call_piece"]] = "call_piece"
    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@frozen
class ApiCall:
    """A whole call as the API sent it: the arguments are text, which may not even be JSON."""

    kind: ClassVar[Literal["api_call"]] = "api_call"
    index: int
    id: str
    name: str
    arguments: str
    extra: Extra | None = None


@frozen
class Answer:
    """The end of a message, with all its parts in order.

    `usage` is None if the endpoint did not send it. `stop_text` is the stop text of the request that ended the message,
    if one did and the endpoint says which.
    """

    kind: ClassVar[Literal["answer"]] = "answer"
    parts: tuple[Part | ApiCall, ...]
    finish: FinishReason
    usage: Usage | None = None
    stop_text: str = ""


Piece: TypeAlias = TextDelta | ThinkingDelta | CallPiece | Answer
