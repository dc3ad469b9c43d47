"""`toolspeak parse`: what a model's text means."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from rich.console import Group, RenderableType
from rich.text import Text

from toolspeak.definitions import read_definition
from toolspeak.dialects import DIALECTS, JSON, Dialect, MessageContent, read
from toolspeak.dialects.python_notation import format_call
from toolspeak.errors import UsageError
from toolspeak.messages import ToolCall
from toolspeak.reading.content import encode_calls
from toolspeak.spec import ToolSpec
from toolspeak.tools import discover

NAMES = (*DIALECTS, "code")


def dialect_named(name: str) -> Dialect:
    """The dialect of that name; `code` is either of the two."""
    if name not in NAMES:
        raise UsageError(f"there is no dialect {name!r}; the dialects are: {', '.join(NAMES)}")
    return DIALECTS.get(name, JSON)


def tools_from(target: str | None) -> list[ToolSpec]:
    """Tools from a JSON file, or from wherever functions can be discovered."""
    if target is None:
        raise UsageError("say which tools were on offer: --tools file.py, a module, or a file of JSON schemas")
    if not target.endswith(".json"):
        return list(discover(target).specs)
    data = _json(_read(target), target)
    return [read_definition(item, target) for item in (cast("list[Any]", data) if isinstance(data, list) else [data])]


def text_from(path: str | None) -> str:
    """The text to read: a file, or standard input."""
    return sys.stdin.read() if path is None or path == "-" else _read(path)


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"cannot read {path}: it is not UTF-8 text") from None


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where} is not JSON: {error}") from None


def batch(path: str, tools: str | None) -> Iterator[str]:
    """A line for each record: its id, the calls, and what was malformed. A record without tools is offered `tools`."""
    otherwise = tools_from(tools) if tools is not None else []
    # Split on line feeds alone: a text may hold any other line break that Unicode knows.
    for number, line in enumerate(_read(path).split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        record = _json(line, where)
        if not isinstance(record, dict) or not isinstance(cast("dict[str, Any]", record).get("text"), str):
            raise UsageError(f"{where}: a record is an object with id, tools and text")
        given = cast("dict[str, Any]", record)
        specs = [read_definition(tool, where) for tool in cast("list[Any]", given.get("tools") or [])] or otherwise
        try:
            speaking = dialect_named(given.get("dialect") or "json")
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from None
        found = read(given["text"], specs, dialect=speaking)
        yield json.dumps({"id": given.get("id"), **encode_calls(found)}, ensure_ascii=False)


def listing(found: MessageContent) -> RenderableType:
    """What a text means, for a person."""
    rows: list[RenderableType] = [_call(ready.call, ready.repair) for ready in found.calls]
    for each in found.malformed:
        rows.append(Text.assemble(("malformed  ", "red"), f"{each.name or 'a call'}: {each.reason}"))
        if each.hint:
            rows.append(Text(f"           {each.hint}", style="dim"))
    rows += [_quoted("thinking", text) for text in (found.thinking,) if text.strip()]
    rows += [_quoted("text", text) for text in (found.text,) if text.strip()]
    return Group(*(rows or [Text("nothing was said", style="dim")]))


def _call(call: ToolCall, repair: str) -> Text:
    row = Text.assemble(("call  ", "green"), (f"{call.id}  ", "dim"), format_call(call))
    return row if repair == "none" else row.append(f"  (repaired: {repair})", style="yellow")


def _quoted(label: str, text: str) -> Text:
    return Text.assemble((f"{label}  ", "cyan"), " ".join(text.split()))
