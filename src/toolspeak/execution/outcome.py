"""What came of running a function: a value in either case, so that nothing it does can end anything else."""

from typing import Any, NamedTuple, TypeAlias, cast

from toolspeak.errors import ToolError
from toolspeak.messages import Media, ToolResult
from toolspeak.tools import output_value

LONGEST = 4_000
"""Characters of an error that a model is shown."""


class Returned(NamedTuple):
    value: Any


class Raised(NamedTuple):
    error: BaseException


CallOutcome: TypeAlias = Returned | Raised


def result_of(call_id: str, outcome: CallOutcome) -> ToolResult:
    """The outcome as the loop knows it. Whatever was returned or raised, this does not raise."""
    try:
        if isinstance(outcome, Raised):
            return ToolResult(call_id=call_id, error=error_text(outcome.error))
        rest, media = _parted(outcome.value)
        return ToolResult(call_id=call_id, output=output_value(rest), media=media)
    except BaseException as error:  # a hostile __repr__ may raise anything at all, SystemExit included
        return ToolResult(call_id=call_id, error=f"its result cannot be shown: {error_text(error)}")


def error_text(error: BaseException) -> str:
    """An exception in one line for the model: its sort and what it says."""
    sort = type(error).__name__
    try:
        said = str(error)
    except BaseException:
        said = "(which cannot be shown)"
    said = said if len(said) <= LONGEST else f"{said[:LONGEST]}…"
    if isinstance(error, ToolError) and said:
        return said
    return f"{sort}: {said}" if said else sort


def _parted(value: Any) -> tuple[Any, tuple[Media, ...]]:
    """Images and the like go beside the value."""
    if isinstance(value, Media):
        return None, (value,)
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        media = tuple(item for item in items if isinstance(item, Media))
        if media:
            rest = [item for item in items if not isinstance(item, Media)]
            return (None if not rest else rest[0] if len(rest) == 1 else rest), media
    return cast("Any", value), ()
