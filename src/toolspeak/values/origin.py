"""Where a text came from: `Origin`, and texts that are put together from several origins.

A model is shown one text after the other and cannot tell who wrote which. The program can, as long as it does not
forget. So every part of a message has an origin, and the origin stays with the words wherever they are moved: through
the `{previous}` of a chain, the prompt of an agent that is a tool, a hand-over, a compaction, `recall`, a program, a
saved file. What relies on it asks for the origin and never for the role of a message.

The rules:

1. A part that says nothing has the origin that its role implies (`messages.find_origin`): a message of the user holds
   the user's words, a system prompt those of the program, an answer those of the model, a result is foreign. So a file
   that was saved before there were origins still loads, and means the same.
2. Words keep the origin of their source when they are copied. A text that is put together from several sources has
   spans (`messages.compose`); what is sent to an endpoint is the text alone, so that no origin changes a request.
3. What a function makes of a text (a transform, a template of the user's own function) has the weakest of the origins
   that went into it (`find_weakest`). A model that was shown something foreign may repeat it: where its words become
   the prompt of another model, they are those of an influenced model.
4. Only the user, the program and toolspeak itself can ask for something (`is_trusted`). What anybody else may have
   written is foreign (`is_foreign`): it is data, and a call that stands in it is a quotation.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from toolspeak.values.frozen import frozen


class Origin(StrEnum):
    """Who wrote a text, from the strongest to the weakest.

    Attributes:
        USER: The user.
        PROGRAM: The program: system prompts, templates, docstrings.
        LOOP: toolspeak itself, in its notes to a model. They may ask for something, but no value comes from them.
        OWN_RESULT: A tool whose results are the user's or the program's own data (`ToolSpec.result`).
        MODEL: A model, as its answer or as what it wrote for another model.
        INFLUENCED_MODEL: A model that was shown something foreign, as what it wrote for another model.
        ATTACHMENT: A file that the user attached: given by the user, but not written as a request.
        FOREIGN_RESULT: A tool whose results anybody may have written. This is the default for results: one of which
            nobody has said whose words it is (`Result.origin` is None) is foreign, too. But only one that says so is a
            reason to ask where values come from (`loop/provenance.py`).
        FOREIGN_DESCRIPTION: The description or the schema of a tool that was not written with its function: that of an
            MCP server, of a client of the gateway, or a text that was passed as `description`.
    """

    USER = "user"
    PROGRAM = "program"
    LOOP = "loop"
    OWN_RESULT = "own_result"
    MODEL = "model"
    INFLUENCED_MODEL = "influenced_model"
    ATTACHMENT = "attachment"
    FOREIGN_RESULT = "foreign_result"
    FOREIGN_DESCRIPTION = "foreign_description"

    @property
    def is_trusted(self) -> bool:
        """Whether what stands there may be a request: the user or the program wrote it."""
        return self in _TRUSTED

    @property
    def is_foreign(self) -> bool:
        """Whether somebody may have written it whom neither the user nor the program knows."""
        return self in _FOREIGN


_TRUSTED = frozenset({Origin.USER, Origin.PROGRAM, Origin.LOOP})
_FOREIGN = frozenset({Origin.INFLUENCED_MODEL, Origin.ATTACHMENT, Origin.FOREIGN_RESULT, Origin.FOREIGN_DESCRIPTION})


_STRENGTH = {origin: place for place, origin in enumerate(Origin)}


def find_weakest(origins: Iterable[Origin]) -> Origin:
    """Return the weakest of some origins; that of the program if there are none.

    Examples:
        >>> find_weakest([Origin.USER, Origin.FOREIGN_RESULT, Origin.MODEL])
        <Origin.FOREIGN_RESULT: 'foreign_result'>
    """
    return max(origins, key=_STRENGTH.__getitem__, default=Origin.PROGRAM)


@frozen
class Span:
    """The origin of the characters of a text from `start` to before `end`."""

    start: int
    end: int
    origin: Origin


class Stretch(NamedTuple):
    """A piece of text with its origin."""

    text: str
    origin: Origin


def split_spans(text: str, origin: Origin, spans: Sequence[Span]) -> list[Stretch]:
    """Return a text as its stretches, in order. What no span covers has the origin that is given for the whole.

    Where spans overlap, the first one counts. The last span ends with the text. If it does not, the text was changed
    without its spans (a secret was hidden in it, say), and all of it has the weakest of their origins.

    Examples:
        >>> stretches = split_spans("Read: hello", Origin.PROGRAM, [Span(start=6, end=11, origin=Origin.MODEL)])
        >>> [(text, origin.value) for text, origin in stretches]
        [('Read: ', 'program'), ('hello', 'model')]
    """
    stretches: list[Stretch] = []
    place = 0
    spans = sorted(spans, key=lambda span: span.start)
    if spans and spans[-1].end != len(text):
        return [Stretch(text, find_weakest([origin, *(span.origin for span in spans)]))]
    for span in spans:
        start, end = max(span.start, place), min(span.end, len(text))
        if end <= start:
            continue
        if start > place:
            stretches.append(Stretch(text[place:start], origin))
        stretches.append(Stretch(text[start:end], span.origin))
        place = end
    if place < len(text):
        stretches.append(Stretch(text[place:], origin))
    return stretches


def join_stretches(stretches: Iterable[Stretch]) -> tuple[str, Origin | None, tuple[Span, ...]]:
    """Return the text of some stretches, the origin of all of it if there is one only, and else its spans."""
    texts: list[str] = []
    spans: list[Span] = []
    length = 0
    for text, origin in stretches:
        if not text:
            continue
        start, length = length, length + len(text)
        texts.append(text)
        if spans and spans[-1].origin == origin:
            start = spans.pop().start
        spans.append(Span(start=start, end=length, origin=origin))
    if len(spans) == 1:
        return "".join(texts), spans[0].origin, ()
    return "".join(texts), None, tuple(spans)
