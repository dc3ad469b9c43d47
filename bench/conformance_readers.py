"""Other libraries as readers for `toolspeak conformance`: each function takes a text and tools, and returns calls.

None of these libraries was written for this contract. Those that repair or complete JSON are told where the JSON is, as
their users do: from the first bracket that may open a call (`find_json`). All get the same shapes of calls
(`find_calls`), so what differs is how each library reads the JSON.
"""

import json
import re
from typing import Any

NAME_KEYS = ("name", "tool", "tool_name", "function", "function_name", "action")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "params", "input", "action_input")

THINKING = re.compile(r"<think>.*?</think>|^.*</think>", re.S)


def find_json(text: str) -> str | None:
    """The part of a text from its first brace or bracket to its last closing one, or to its end if none closes."""
    text = THINKING.sub("", text)
    first = text.find("{")
    if first < 0:
        return None
    if text[:first].rstrip().endswith("["):
        first = text.rindex("[", 0, first)
    last = max(text.rfind("}"), text.rfind("]"))
    return text[first : last + 1] if last > first else text[first:]


def find_calls(value: Any, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls in a value: an object with a name and arguments, a list of them, or a wrapper around them."""
    if isinstance(value, list):
        return [call for item in value for call in find_calls(item, tools)]
    if not isinstance(value, dict):
        return []
    for key in ("tool_calls", "tool_call", "function_call", "function"):
        if isinstance(value.get(key), dict | list):
            return find_calls(value[key], tools)
    key = next((key for key in NAME_KEYS if isinstance(value.get(key), str)), None)
    if key is None or value[key] not in [tool["name"] for tool in tools]:
        return []
    beside = {other: item for other, item in value.items() if other != key}
    arguments = next((value[each] for each in ARGUMENT_KEYS if each in value), beside)
    return [{"name": value[key], "arguments": arguments}]


def strict_json(text: str, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`json.loads` of the standard library."""
    found = find_json(text)
    return find_calls(json.loads(found), tools) if found else []


def json_repair(text: str, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """json_repair, which mends broken JSON."""
    from json_repair import loads

    found = find_json(text)
    return find_calls(loads(found), tools) if found else []


def partial_json_parser(text: str, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """partial-json-parser, which completes JSON that is cut off."""
    from partial_json_parser import loads

    found = find_json(text)
    return find_calls(loads(found), tools) if found else []


def partialjson(text: str, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """partialjson, which completes JSON that is cut off."""
    from partialjson import JSONParser

    found = find_json(text)
    return find_calls(JSONParser(strict=False).parse(found), tools) if found else []


def jiter(text: str, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """jiter in its partial mode, the parser of pydantic and of OpenAI's client."""
    from jiter import from_json

    found = find_json(text)
    return find_calls(from_json(found.encode(), partial_mode=True), tools) if found else []


def smolagents(text: str, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The parser of smolagents for models that write their call as text: one JSON object with name and arguments."""
    from smolagents.models import get_tool_call_from_text

    if "{" not in text:
        return []  # it raises where there is no object; an agent takes that as a message without a call
    call = get_tool_call_from_text(text, "name", "arguments").function
    return [{"name": call.name, "arguments": call.arguments}]
