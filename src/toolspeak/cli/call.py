"""`toolspeak call`: one call of a tool, by hand."""

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Awaitable
from typing import Any, cast

from toolspeak.errors import InvalidArguments, UsageError
from toolspeak.tools import Tool, output_text, output_value


def parse_arguments(pairs: list[str], json_text: str | None) -> dict[str, Any]:
    """Parse the arguments of the command line: a JSON object, overridden by `key=value` pairs.

    The value of a pair is a text, which the tool's schema converts. A key given twice makes a list.
    """
    arguments = _parse_object(json_text)
    given: dict[str, list[str]] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"arguments are written key=value, and {pair!r} is not")
        given.setdefault(key, []).append(value)
    return arguments | {key: values[0] if len(values) == 1 else values for key, values in given.items()}


def _parse_object(json_text: str | None) -> dict[str, Any]:
    if json_text is None:
        return {}
    try:
        arguments = json.loads(json_text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--json is not JSON: {error}") from None
    if not isinstance(arguments, dict):
        raise UsageError(f'--json takes an object, such as \'{{"city": "Oslo"}}\', not {type(arguments).__name__}')
    return cast("dict[str, Any]", arguments)


def call_tool(tool: Tool[..., Any], arguments: dict[str, Any]) -> tuple[bool, str]:
    """Call a tool. Return whether the call succeeded, and the text that a model would get."""
    try:
        bound = tool.bind(arguments)
    except InvalidArguments as error:
        return False, str(error)
    try:
        result = tool.function(*bound.args, **bound.kwargs)
        if inspect.isawaitable(result):
            result = asyncio.run(_await(result))
        elif inspect.isasyncgen(result):
            result = asyncio.run(_collect(result))
    except (Exception, SystemExit) as error:
        return False, f"{type(error).__name__}: {error}"
    return True, output_text(output_value(result))


async def _await(result: Awaitable[Any]) -> Any:
    return await result


async def _collect(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]
