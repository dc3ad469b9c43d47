"""`toolspeak tools`, `call`, `parse` and `trace`: tools as a model sees them, calls by hand, and how texts were read.

`toolspeak parse --why` prints a message with marks that say what each part of it was read as, and why:

    prose      │ Sure.
    skipped    │ <tool_call>
    call       │ {'name': "get_weather", "arguments": {"city": "Oslo"}}
               │   ^ syntax
               └ get_weather(city="Oslo"), after the token <tool_call> of hermes, qwen
               └ repaired: syntax errors were repaired
    skipped    │ </tool_call>

The margin says the same as the colours, so nothing is lost where there are none. Parts of blanks alone are left out.
"""

import asyncio
import inspect
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from toolspeak.cli.format import SafeConsole, format_seconds, format_tool_bug
from toolspeak.cli.options import Form
from toolspeak.cli.record import find_time_of_day, read_record
from toolspeak.cli.safe_text import escape_line, join_lines, print_error, write_output
from toolspeak.dialects import (
    DIALECTS,
    JSON,
    Dialect,
    MessageContent,
    MessageSpan,
    dialect,
    explain,
    read,
)
from toolspeak.dialects.explanation_notes import describe_span
from toolspeak.dialects.python_notation import format_call
from toolspeak.dialects.slim_tools import count_tool_tokens, make_help_tool
from toolspeak.dialects.tool_index import Match, ToolIndex
from toolspeak.dialects.tool_selection import ToolSelection, make_find_tool, select_tools
from toolspeak.dialects.word_vectors import load_word_vectors
from toolspeak.reading.emitter import encode_calls
from toolspeak.reading.explanation import encode_explanation
from toolspeak.reading.trace import SpanKind
from toolspeak.settings.files import read_text
from toolspeak.telemetry import TraceSpan, build_spans, names
from toolspeak.telemetry.exchange_spans import build_exchange_spans, is_exchange
from toolspeak.telemetry.exporter import SpanSender
from toolspeak.tools import Tool, Toolbox, discover, output_text, output_value
from toolspeak.tools.results import watch_generator
from toolspeak.values.errors import InvalidArguments, UsageError
from toolspeak.values.messages import user
from toolspeak.values.outcome import is_tool_bug
from toolspeak.values.package import suggest_install
from toolspeak.values.spec import ToolSpec, list_decisive, read_definition, strict_schema
from toolspeak.values.validation import describe
from toolspeak.wire import anthropic_messages, gemini_content, openai_chat, openai_responses

MAX_FOUND_SHOWN, MAX_TWINS_SHOWN = 20, 10
"""Tools, and pairs of tools that are hardly told apart, that `toolspeak tools --find` shows."""


def load_spans(path: str, *, content: bool, agent: str) -> list[TraceSpan]:
    """Return the spans of a recorded run, or of exchanges as `toolspeak serve --show` writes them.

    A record without the time of day is taken to have ended when its file was last changed.

    Raises:
        UsageError: The file cannot be read, or has no facts of a run.
    """
    text = read_text(path)
    if is_exchange(text.partition("\n")[0]):
        try:
            reports = [json.loads(line) for line in text.split("\n") if is_exchange(line)]
            return [span for report in reports for span in build_exchange_spans(report, content=content)]
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise UsageError(f"{path} has a report of an exchange that cannot be read: {error!r}") from None
    facts = read_record(text, path)
    last = max((each.at for each in facts if each.at is not None), default=0.0)
    start = find_time_of_day(text)
    began = Path(path).stat().st_mtime - last if start is None else start
    times: list[int] = []
    for each in facts:  # records count microseconds: a float of today has no more digits
        times.append(times[-1] if each.at is None and times else 1000 * round((began + (each.at or 0.0)) * 1e6))
    spans = build_spans(((each.fact, at) for each, at in zip(facts, times, strict=True)), content=content, agent=agent)
    if not spans:
        raise UsageError(f"{path} does not contain the start of a run: there is nothing to trace")
    return spans


def send_spans(spans: Sequence[TraceSpan], url: str, environment: Mapping[str, str]) -> str:
    """Send spans to a collector, and return what was done, in words."""
    sender = SpanSender(url, environment)
    sender.send(spans)
    traces = list(dict.fromkeys(span.trace_id for span in spans))
    which = f"trace {traces[0]}" if len(traces) == 1 else f"{len(traces)} traces"
    return f"sent {len(spans)} span{'s' * (len(spans) != 1)} of {which} to {sender.shown_url}\n"


def draw_spans(spans: Sequence[TraceSpan]) -> str:
    """Draw spans as a tree, each with its time, its tokens and what went wrong."""
    below: dict[str | None, list[TraceSpan]] = {}
    known = {span.id for span in spans}
    for span in spans:
        below.setdefault(span.parent_id if span.parent_id in known else None, []).append(span)
    rows: list[tuple[str, TraceSpan]] = []

    def add(span: TraceSpan, lead: str, branch: str, indent: str) -> None:
        rows.append((f"{lead}{branch}{escape_line(span.name)}", span))
        inner = below.get(span.id, [])
        for number, each in enumerate(inner, 1):
            is_last = number == len(inner)
            add(each, lead + indent, "└─ " if is_last else "├─ ", "   " if is_last else "│  ")

    for root in below.get(None, []):
        add(root, "", "", "")
    width = max(len(text) for text, _ in rows)
    return "".join(f"{text:<{width}}  {_describe(span)}".rstrip() + "\n" for text, span in rows)


def _describe(span: TraceSpan) -> str:
    attributes = span.attributes
    words = [f"{format_seconds(span.seconds or 0.0):>7}"]
    if names.INPUT_TOKENS in attributes:
        words.append(f"{attributes[names.INPUT_TOKENS]} + {attributes[names.OUTPUT_TOKENS]} tokens")
    for event in span.events:
        reason = event.attributes.get(names.REFUSAL) or event.attributes.get(names.REASON)
        name = event.name.removeprefix("toolspeak.").replace("_", " ")
        words.append(f"{name} ({reason})" if reason else name)
    if attributes.get(names.UNFINISHED):
        words.append("unfinished")
    if span.is_error:
        words.append(f"error: {attributes.get('error.type')}")
    return escape_line(", ".join(words))


COLORS: dict[SpanKind, str] = {
    "prose": "",
    "thinking": "cyan",
    "call": "green",
    "malformed": "red",
    "made_up": "magenta",
    "dropped": "yellow",
    "retraction": "cyan",
    "skipped": "dim",
}

MARGIN_CELLS = max(map(len, COLORS)) + 1  # width of the names of kinds in the margin


def _render_span(span: MessageSpan, text: str) -> Iterator[Text]:
    if not text.strip() and span.rule is None:
        return
    color = COLORS[span.kind]
    margin = span.kind.replace("_", " ")
    shown = text.lstrip("\n")
    start = span.start + len(text) - len(shown)
    lines = shown.rstrip("\n").split("\n")
    for number, line in enumerate(lines):
        yield Text.assemble((f"{margin:<{MARGIN_CELLS}}│ ", color), (escape_line(line), color))
        margin = ""
        end = start + len(line)
        is_last = number == len(lines) - 1
        for repair in span.repairs:  # a caret below each repaired place, on a line of its own
            if repair.at is not None and start <= repair.at and (is_last or repair.at <= end):
                column = cell_len(escape_line(line[: repair.at - start]))
                yield Text(f"{'':<{MARGIN_CELLS}}│ {' ' * column}^ {repair.repair}", style="yellow")
        start = end + 1
    for note in describe_span(span):
        yield Text.assemble((f"{'':<{MARGIN_CELLS}}└ ", color), escape_line(note))


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

    Each line of the file is a JSON object; `tools` are those of records that name none.
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
        spans = explanation.spans
        rows = [row for span in spans for row in _render_span(span, explanation.text[span.start : span.end])]
        SafeConsole(soft_wrap=True).print(Group(*(rows or [Text("the text is empty", style="dim")])))


def render_content(content: MessageContent) -> RenderableType:
    """Lay out the calls and the text of a message for a terminal."""
    rows: list[RenderableType] = []
    for call, repair in ((ready.call, ready.repair) for ready in content.calls):
        row = Text.assemble(("call  ", "green"), (f"{escape_line(call.id)}  ", "dim"), escape_line(format_call(call)))
        rows.append(row if repair == "none" else row.append(f"  (repaired: {repair})", style="yellow"))
    for each in content.malformed:
        rows.append(Text.assemble(("malformed  ", "red"), escape_line(f"{each.name or 'a call'}: {each.reason}")))
        if each.hint:
            rows.append(Text(f"           {escape_line(each.hint)}", style="dim"))
    for label, text in (("thinking", content.thinking), ("text", content.text)):
        if text.strip():
            rows.append(Text.assemble((f"{label}  ", "cyan"), join_lines(text)))
    return Group(*(rows or [Text("the text is empty", style="dim")]))


def parse_arguments(pairs: list[str], json_text: str | None) -> dict[str, Any]:
    """Parse the arguments of the command line: a JSON object, overridden by `key=value` pairs.

    The value of a pair is a text, which the tool's schema converts. A key given twice makes a list.
    """
    arguments: Any = {} if json_text is None else _parse_json(json_text, "--json")
    if not isinstance(arguments, dict):
        raise UsageError(f'--json takes an object, such as \'{{"city": "Oslo"}}\', not {type(arguments).__name__}')
    given: dict[str, list[str]] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            cure = "; a JSON object is the value of --json" if pair.lstrip().startswith("{") else ""
            raise UsageError(f"arguments are written key=value, and {pair!r} is not{cure}")
        given.setdefault(key, []).append(value)
    named = {key: values[0] if len(values) == 1 else values for key, values in given.items()}
    return cast("dict[str, Any]", arguments) | named


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
        raised: list[Exception] = []
        text = output_text(output_value(watch_generator(result, raised)))
        if raised:
            raise raised[0]
    except (Exception, SystemExit) as error:
        if is_tool_bug(error):
            print_error(format_tool_bug(tool.name, error))
        return False, f"{type(error).__name__}: {error}"
    return True, text


async def _await(result: Awaitable[Any]) -> Any:
    return await result


async def _collect(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


def render_budget_costs(specs: tuple[ToolSpec, ...], budget: int, prompt: str) -> RenderableType:
    """Lay out, for each dialect, the tokens of tools without and with a budget, and what is cut and left out.

    If not all tools fit, they are picked by the prompt.
    """
    lines: list[RenderableType] = [
        Text(f"{'dialect':<12}{'tokens':>8}{'budget':>8}{'whole':>8}{'cut':>6}{'left out':>10}")
    ]
    notes: list[RenderableType] = []
    for name, shown in DIALECTS.items():
        helper, finder = make_help_tool(specs), make_find_tool(specs)
        selection = select_tools(specs, shown, budget, [user(prompt)], help_tool=helper, find_tool=finder)
        whole = count_tool_tokens(specs, shown)
        cut, left_out = len(selection.cut), len(selection.left_out)
        kept = len(selection.listed) - cut
        lines.append(Text(f"{name:<12}{whole:>8}{selection.tokens:>8}{kept:>8}{cut:>6}{left_out:>10}"))
        notes.append(_describe_cuts(name, selection))
    return Group(*lines, Text(""), *notes)


def _describe_cuts(name: str, selection: ToolSelection) -> Text:
    """Return which tools are cut, and which are shown at all if some are left out."""
    if selection.find is not None:
        shown = ", ".join(spec.name for spec in selection.listed)
        return Text(escape_line(f"{name}: shown are {shown}; the model finds the others with {selection.find.name}"))
    if selection.cut:
        cut = ", ".join(spec.name for spec in selection.listed if spec.name in selection.cut)
        return Text(escape_line(f"{name}: the descriptions of {cut} are cut"))
    return Text(f"{name}: everything is shown whole")


def render_found(specs: Sequence[ToolSpec], query: str) -> RenderableType:
    """Lay out the tools that fit some words, with what put each there, and those that are nearly alike."""
    vectors = load_word_vectors()
    index = ToolIndex(specs, vectors)
    matches = index.explain(query)[:MAX_FOUND_SHOWN]
    width = max((len(match.name) for match in matches), default=0)
    lines = [Text(escape_line(f"{place:>3}  {_describe_match(each, width)}")) for place, each in enumerate(matches, 1)]
    if not matches:
        lines.append(Text("no tool has any of these words, or comes near in meaning"))
    if vectors is None:
        lines.append(Text(f"ranked by words alone; to rank by meaning, too: {suggest_install('meaning')}"))
    twins = index.find_twins()
    for first, second in twins[:MAX_TWINS_SHOWN]:
        lines.append(
            Text(escape_line(f"warning: hardly a word tells {first} and {second} apart; describe what only one does"))
        )
    if len(twins) > MAX_TWINS_SHOWN:
        lines.append(Text(f"warning: more pairs of tools like these: {len(twins) - MAX_TWINS_SHOWN}"))
    return Group(*lines)


def _describe_match(match: Match, width: int) -> str:
    reasons: list[str] = []
    if match.word_place is not None:
        shared = f": {', '.join(match.words)}" if match.words else ", which the best tools have in common"
        reasons.append(f"words, place {match.word_place}{shared}")
    if match.likeness is not None and match.meaning_place is not None:
        reasons.append(f"meaning, place {match.meaning_place}: {match.likeness:.2f}")
    return f"{match.name:<{width}}  {'; '.join(reasons)}"


def as_form(box: Toolbox, form: Form, *, strict: bool) -> str:
    """Return what a model is sent of the tools: the definitions for an API, or the prompt of a dialect."""
    match form:
        case Form.openai:
            definitions = openai_chat.tool_definitions(box.specs, strict=strict)
        case Form.openai_responses:
            definitions = openai_responses.tool_definitions(box.specs, strict=strict)
        case Form.anthropic:
            definitions = anthropic_messages.tool_definitions(box.specs, strict=strict)
        case Form.gemini:
            definitions = gemini_content.tool_definitions(box.specs, strict=strict)
        case Form.typescript | Form.python | Form.json:
            specs = [replace(each, parameters=strict_schema(each.parameters)) if strict else each for each in box.specs]
            return "\n".join(message.text for message in dialect(form.value).render(specs, ()).messages)
    return json.dumps(definitions, indent=2, ensure_ascii=False)


def render_tools(box: Toolbox, target: str) -> RenderableType:
    """Lay out the tools for a terminal: a line for each tool and for each of its parameters."""
    # Where no tool says anything of this, nothing is ever asked.
    shows_provenance = any(spec.result or spec.free or spec.decisive for spec in box.specs)
    lines: list[RenderableType] = [
        _render_tool(tool.spec, has_rule=tool.approval_rule is not None, shows_provenance=shows_provenance)
        for tool in box
    ]
    count = len(box)
    end = f"{count} tool{'' if count == 1 else 's'} in {escape_line(target)}"
    if box.skipped:
        end += f", {len(box.skipped)} skipped (--skipped says why)"
    return Group(*lines, Text(end, style="dim"))


def render_costs(box: Toolbox) -> RenderableType:
    """Lay out about how many tokens a model is shown for the tools, in each dialect."""
    names = ("native", "json", "typescript", "python")
    costs = [f"{name} {count_tool_tokens(box.specs, dialect(name)):,}" for name in names]
    return Text(f"about this many tokens: {', '.join(costs)}", style="dim")


def _render_tool(spec: ToolSpec, *, has_rule: bool, shows_provenance: bool) -> RenderableType:
    head = Text(escape_line(spec.name), "bold cyan")
    if spec.approve:
        head.append(" (may need approval)" if has_rule else " (needs approval)", "not bold magenta")
    if spec.result:
        labelled = escape_line(", ".join(dict.fromkeys(field.path or "keys" for field in spec.fields)))
        head.append(f" ({spec.result} results{f', but for {labelled}' if labelled else ''})", "not bold magenta")
    if about := escape_line(spec.description.split("\n")[0]):
        head = Text.assemble(head, "  ", about)
    required, decisive = spec.parameters.get("required", ()), list_decisive(spec) if shows_provenance else ()
    rows: list[Text] = []
    for name, schema in spec.parameters["properties"].items():
        allowed = escape_line(describe(schema, spec.parameters))
        default = "" if name in required else f" = {json.dumps(schema.get('default'), ensure_ascii=False)}"
        row = Text.assemble((escape_line(name), "green"), ": ", (allowed, "yellow"), (escape_line(default), "dim"))
        if name in decisive:
            row.append(" (decisive)", "magenta")
        if about := schema.get("description"):
            row.append(f"  {escape_line(about.splitlines()[0])}")
        rows.append(row)
    return Group(head, *(Text("    ").append_text(row) for row in rows), Text(""))


def render_skipped(box: Toolbox) -> RenderableType:
    """Lay out what was left out of a toolbox, and why."""
    if not box.skipped:
        return Text("nothing was skipped", style="dim")
    return Group(
        *(Text.assemble((escape_line(each.name), "bold"), ": ", escape_line(each.reason)) for each in box.skipped)
    )
