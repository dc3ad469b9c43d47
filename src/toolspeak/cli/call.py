"""`toolspeak call`: one tool, by hand."""

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Awaitable
from typing import Any, cast

from toolspeak.errors import InvalidArguments, UsageError
from toolspeak.tools import Tool, output_text, output_value


def arguments_from(pairs: list[str], text: str | None) -> dict[str, Any]:
    """The arguments of the command line: an object in JSON, and `key=value` pairs, which win.

    A value is a text; the tool's schema says what becomes of it. A key given twice is a list.
    """
    arguments = _object(text)
    given: dict[str, list[str]] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key:
            raise UsageError(f"arguments are written key=value, and {pair!r} is not")
        given.setdefault(key, []).append(value)
    return arguments | {key: values[0] if len(values) == 1 else values for key, values in given.items()}


def _object(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--json is not JSON: {error}") from None
    if not isinstance(arguments, dict):
        raise UsageError(f'--json takes an object, such as \'{{"city": "Oslo"}}\', not {type(arguments).__name__}')
    return cast("dict[str, Any]", arguments)


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result


async def _collected(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


def called(tool: Tool[..., Any], arguments: dict[str, Any]) -> tuple[bool, str]:
    """Whether the call succeeded, and the text that a model would get."""
    try:
        bound = tool.bind(arguments)
    except InvalidArguments as error:
        return False, str(error)
    try:
        result = tool.function(*bound.args, **bound.kwargs)
        if inspect.isawaitable(result):
            result = asyncio.run(_awaited(result))
        elif inspect.isasyncgen(result):
            result = asyncio.run(_collected(result))
    except (Exception, SystemExit) as error:
        return False, f"{type(error).__name__}: {error}"
    return True, output_text(output_value(result))
