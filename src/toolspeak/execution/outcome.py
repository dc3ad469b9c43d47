"""How a call of a function ended, as a value: nothing that the function raises can end anything else.

`CallOutcome` is about one call of a function. The outcome of a whole run is `toolspeak.Outcome`.
"""

from typing import Any, NamedTuple, TypeAlias, cast

from toolspeak.tools import output_value
from toolspeak.tools.results import PLAIN_TYPES
from toolspeak.values.errors import ToolError
from toolspeak.values.messages import Media, ToolResult

MAX_ERROR_CHARS = 4_000
"""How many characters of an error's text a model is shown."""


class Returned(NamedTuple):
    """The function returned this value."""

    value: Any


class Raised(NamedTuple):
    """The function raised this error; `SystemExit` and `KeyboardInterrupt` are errors like others here."""

    error: BaseException


CallOutcome: TypeAlias = Returned | Raised


def make_result(call_id: str, value: Any) -> ToolResult:
    """Convert what a function returned into the result of its call. This never raises, whatever was returned."""
    try:
        rest, media = _split_media(value)
        return ToolResult(call_id=call_id, output=output_value(rest), media=media)
    except BaseException as error:  # a hostile __repr__ may raise anything at all, SystemExit included
        return ToolResult(call_id=call_id, error=f"its result cannot be shown: {format_error(error)}")


def format_error(error: BaseException) -> str:
    """Format an exception for a model: its type and its text; of a `ToolError` the text alone."""
    name = type(error).__name__
    try:
        text = str(error)
    except BaseException:
        text = "(which cannot be shown)"
    text = text if len(text) <= MAX_ERROR_CHARS else f"{text[:MAX_ERROR_CHARS]}…"
    if isinstance(error, ToolError) and text:
        return text
    return f"{name}: {text}" if text else name


def _split_media(value: Any) -> tuple[Any, tuple[Media, ...]]:
    """Split a returned value into its data and its media, such as images."""
    if type(value) in PLAIN_TYPES:
        return value, ()
    if isinstance(value, Media):
        return None, (value,)
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        media = tuple(item for item in items if isinstance(item, Media))
        if media:
            rest = [item for item in items if not isinstance(item, Media)]
            return (None if not rest else rest[0] if len(rest) == 1 else rest), media
    return cast("Any", value), ()
