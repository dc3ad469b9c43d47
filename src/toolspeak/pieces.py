"""What an endpoint says, before it is understood: the seam between an API and the reading of an answer.

A wire turns what arrives into pieces: text and reasoning (as deltas), pieces of the API's own calls, and at the end one
`Answer` with all parts in their order. Nothing here has been understood: the arguments of a call are still text, and a
text may hold calls that nobody has looked for.
"""

from typing import ClassVar, Literal, TypeAlias

from toolspeak._frozen import frozen
from toolspeak.events import FinishReason, TextDelta, ThinkingDelta, Usage
from toolspeak.messages import Extra, Part


@frozen
class CallPiece:
    """A piece of a call that the API itself marks as one.

    Attributes:
        index: Which call of the message it belongs to; calls may be interleaved.
        id: Its id, once the API has said it.
        name: The tool, once the API has said it.
        arguments: More of the JSON text of its arguments.
    """

    kind: ClassVar[Literal["call_piece"]] = "call_piece"
    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@frozen
class ApiCall:
    """A whole call as the API gave it: its arguments are text and may not be JSON at all."""

    kind: ClassVar[Literal["spoken_call"]] = "spoken_call"
    index: int
    id: str
    name: str
    arguments: str
    extra: Extra | None = None


@frozen
class Answer:
    """The end of a message, and all of it: its parts in order, how it ended, and what it took.

    `usage` is None where the endpoint said nothing of it.
    """

    kind: ClassVar[Literal["answer"]] = "answer"
    parts: tuple[Part | ApiCall, ...]
    finish: FinishReason
    usage: Usage | None = None


Piece: TypeAlias = TextDelta | ThinkingDelta | CallPiece | Answer
