"""`toolspeak parse`: the tool calls in a model's text."""

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any, cast

from rich.console import Group, RenderableType
from rich.text import Text

from toolspeak.cli.console import SafeConsole
from toolspeak.cli.explanation import render_explanation
from toolspeak.cli.files import read_text
from toolspeak.cli.safe_text import escape_line, join_lines, write_output
from toolspeak.definitions import read_definition
from toolspeak.dialects import DIALECTS, JSON, Dialect, MessageContent, explain, read
from toolspeak.dialects.python_notation import format_call
from toolspeak.errors import UsageError
from toolspeak.messages import ToolCall
from toolspeak.reading.content import encode_calls
from toolspeak.reading.explanation import encode_explanation
from toolspeak.spec import ToolSpec
from toolspeak.tools import discover

DIALECT_NAMES = (*DIALECTS, "code")


def find_dialect(name: str) -> Dialect:
    """Return the dialect of a name. `code` is read as `json`, in which code of either language is read as well."""
    if name not in DIALECT_NAMES:
        raise UsageError(f"there is no dialect {name!r}; the dialects are: {', '.join(DIALECT_NAMES)}")
    return DIALECTS.get(name, JSON)


def load_tools(target: str | None) -> list[ToolSpec]:
    """Return the tools in a JSON file of schemas, or those discovered in a target."""
    if target is None:
        raise UsageError(
            "--tools is missing: name the tools that the model had, in file.py, a module or a file of JSON schemas"
        )
    if not target.endswith(".json"):
        return list(discover(target).specs)
    data = _parse_json(read_text(target), target)
    return [read_definition(item, target) for item in (cast("list[Any]", data) if isinstance(data, list) else [data])]


def read_input(path: str | None) -> str:
    """Return the text of a file, or standard input if the path is missing or `-`."""
    return sys.stdin.read() if path is None or path == "-" else read_text(path)


def _parse_json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where} is not JSON: {error}") from None


def read_batch(path: str, tools: str | None) -> Iterator[str]:
    """Read a file of records, and yield a line of JSON for each: its id, its calls and its malformed calls.

    Args:
        path: The file, with a JSON object on each line.
        tools: The tools of records that name none.
    """
    default_tools = load_tools(tools) if tools is not None else []
    # Split at line feeds alone: a text may contain any other line break that Unicode knows.
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        record = _parse_json(line, where)
        if not isinstance(record, dict) or not isinstance(cast("dict[str, Any]", record).get("text"), str):
            raise UsageError(f"{where}: a record is an object with id, tools and text")
        given = cast("dict[str, Any]", record)
        specs = [read_definition(tool, where) for tool in cast("list[Any]", given.get("tools") or [])] or default_tools
        try:
            dialect = find_dialect(given.get("dialect") or "json")
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from None
        content = read(given["text"], specs, dialect=dialect)
        yield json.dumps({"id": given.get("id"), **encode_calls(content)}, ensure_ascii=False)


def print_explanation(text: str, specs: Sequence[ToolSpec], *, as_json: bool) -> None:
    """Print a text with marks that say how it was read, or the same as JSON."""
    explanation = explain(text, specs)
    if as_json:
        write_output(json.dumps(encode_explanation(explanation), ensure_ascii=False) + "\n")
    else:
        SafeConsole(soft_wrap=True).print(render_explanation(explanation))


def render_content(content: MessageContent) -> RenderableType:
    """Lay out the calls and the text of a message for a terminal."""
    rows: list[RenderableType] = [_format_call_row(ready.call, ready.repair) for ready in content.calls]
    for each in content.malformed:
        rows.append(Text.assemble(("malformed  ", "red"), escape_line(f"{each.name or 'a call'}: {each.reason}")))
        if each.hint:
            rows.append(Text(f"           {escape_line(each.hint)}", style="dim"))
    rows += [_format_text_row("thinking", text) for text in (content.thinking,) if text.strip()]
    rows += [_format_text_row("text", text) for text in (content.text,) if text.strip()]
    return Group(*(rows or [Text("the text is empty", style="dim")]))


def _format_call_row(call: ToolCall, repair: str) -> Text:
    row = Text.assemble(("call  ", "green"), (f"{escape_line(call.id)}  ", "dim"), escape_line(format_call(call)))
    return row if repair == "none" else row.append(f"  (repaired: {repair})", style="yellow")


def _format_text_row(label: str, text: str) -> Text:
    return Text.assemble((f"{label}  ", "cyan"), join_lines(text))
