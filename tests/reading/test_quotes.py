"""Quotes inside quotes that nobody escaped: what is called is what was meant, or nothing is called."""

import ast
import json
import re
import warnings
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from toolspeak.dialects import fold
from toolspeak.reading.emitter import encode_calls
from toolspeak.values.spec import ToolSpec

from .corpus import as_record, at_least, comparable, cut, pieces, read_events

TEXT: dict[str, Any] = {"type": "string"}
SPECS = [
    ToolSpec(name=name, description="A tool.", parameters={"type": "object", "properties": given, "required": required})
    for name, given, required in [
        ("bash", {"command": TEXT, "n": {"type": "integer"}, "key": {}}, ["command"]),
        ("write", {"path": TEXT, "content": TEXT}, ["path", "content"]),
        ("send", {"to": TEXT, "text": TEXT, "n": {"type": "integer"}}, ["to"]),
        ("tag", {"names": {"type": "array", "items": TEXT}, "text": TEXT}, ["names"]),
    ]
]

FRAGMENTS = [
    *"\"\"\"'''(),:={}[]; \n#+", '"', "'", '", "key": "', "', key='", '", key="', "', n=3)", '", "n": 3}', '"}}', "\"}'", "')",
    '")', '", "text": "', "', text='", '", "content": "', '"]}', "'], '", '", "', "', '", '": ', "it's ", 'say "hi" ', "echo ",
    "print('a')", 'print("a", "b")', "f('x', n=3)", '{"a": {"b": "c"}}', "{'a': 'b'}", "x = 1\n", "ls -la", "&& ", " # ",
    "// ", '"}}\n', "')\n", "'); bash(command='", '"}}, {"name": "bash", "arguments": {"command": "', '"""', "f'{x}' ", "/* ",
    "<b>", "Oslo", "a, b", "n: 3", "n=3", "<!-- ", "if x else ", " + ", "` ", "}}", ")]", "; ", "key: ", ".join(",
]  # fmt: skip

values = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=7).map("".join)
plain = st.sampled_from(["a", "Oslo", "n.txt", "it", "x y"])


@st.composite
def arguments(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A tool with arguments, of which one or two hold quotes."""
    text = draw(values)
    match draw(st.integers(0, 5)):
        case 0:
            return "bash", {"command": text}
        case 1:
            return "bash", {"command": text, "n": draw(st.integers(0, 9))}
        case 2:
            return "write", {"path": draw(plain), "content": text}
        case 3:
            return "send", {"to": draw(plain | values), "text": text}
        case 4:
            return "send", {"to": text, "n": 3, "text": draw(plain)}
        case _:
            return "tag", {"names": [draw(plain), text], "text": draw(plain)}


def write_value(value: Any, quote: str) -> str:
    """A value as a model writes it that escapes nothing."""
    if isinstance(value, str):
        return f"{quote}{value}{quote}"
    if isinstance(value, list):
        return f"[{', '.join(write_value(item, quote) for item in value)}]"
    return str(value)


def write_object(given: dict[str, Any], quote: str, *, bare_keys: bool = False) -> str:
    keys = {key: key if bare_keys else f"{quote}{key}{quote}" for key in given}
    return f"{{{', '.join(f'{keys[key]}: {write_value(value, quote)}' for key, value in given.items())}}}"


def write_json(name: str, given: dict[str, Any], quote: str) -> str:
    return f"{{{quote}name{quote}: {quote}{name}{quote}, {quote}arguments{quote}: {write_object(given, quote)}}}"


def write_encoded(name: str, given: dict[str, Any], quote: str) -> str:
    return f'{{"name": "{name}", "arguments": "{write_object(given, quote)}"}}'


def write_python(name: str, given: dict[str, Any], quote: str) -> str:
    return f"{name}({', '.join(f'{key}={write_value(value, quote)}' for key, value in given.items())})"


def write_typescript(name: str, given: dict[str, Any], quote: str) -> str:
    return f"{name}({write_object(given, quote, bare_keys=True)})"


def write_positional(name: str, given: dict[str, Any], quote: str) -> str:
    return f"{name}({', '.join(write_value(value, quote) for value in given.values())})"


def write_named(name: str, given: dict[str, Any], quote: str) -> str:
    return f"{name}{write_object(given, quote)}"


WRITERS = {
    "json": write_json,
    "encoded": write_encoded,
    "python": write_python,
    "typescript": write_typescript,
    "positional": write_positional,
    "named": write_named,
}
FRAMES = {
    "bare": "{}",
    "label": "Tool call: {}",
    "prose": "{}\nI will report back.",
    "fence": "```\n{}\n```",
    "json": "```json\n{}\n```\nDone.",
    "python": "```python\n{}\n```",
    "ts": "```ts\n{}\n```",
    "tag": "<tool_call>{}</tool_call>",
    "lines": "<tool_call>\n{}\n</tool_call>\n",
    "open": "<|python_tag|>{}",
    "list": "[{}]",
    "tokens": "[TOOL_CALLS] [{}]",
    "code tag": "<code>\n{}\n</code>",
    "assigned": "```python\nx = {}\n```",
    "awaited": "```ts\nconst x = await {};\n```",
    "indented": "```python\ndef main():\n    {}\n\nmain()\n```",
}


NAME = re.compile(r"(?:\w+(?=\{))?")
"""The name before an object of arguments."""


def is_well_formed(text: str) -> bool:
    """Whether the text of a call is well formed as it stands, whole or up to the end of a line: it means what it says."""
    lines = text[NAME.match(text).end() :].split("\n")
    return any(_can_parse("\n".join(lines[: count + 1])) for count in range(len(lines)))


def _can_parse(text: str) -> bool:
    for data in (text, f"[{text}]"):  # a value, or several with commas between them
        try:
            json.loads(data)
        except ValueError:
            continue
        return True
    code = text.split("//")[0].rstrip(" ;")  # a comment of TypeScript
    for each in (text, code):
        try:
            with warnings.catch_warnings(action="ignore"):
                if ast.parse(each).body:
                    return True
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return False


@pytest.mark.parametrize("form", WRITERS)
@settings(max_examples=at_least(150))
@given(arguments(), st.sampled_from('""\''), st.sampled_from(sorted(FRAMES)), pieces)
def test_quotes_that_are_not_escaped_never_make_another_call(form, meant, quote, frame, places):
    name, given = meant
    call = WRITERS[form](name, given, quote)
    if is_well_formed(call) or (form == "encoded" and is_well_formed(write_object(given, quote))):
        return
    text = FRAMES[frame].replace("{}", call)
    note(as_record(SPECS, text))
    content = fold(read_events(SPECS, [text]))
    assert encode_calls(content)["calls"] in ([], [{"name": name, "arguments": given}])
    assert comparable(fold(read_events(SPECS, list(text)))) == comparable(content)
    assert comparable(fold(read_events(SPECS, cut(text, places)))) == comparable(content)


@pytest.mark.parametrize("opener", ["<!--", "/*"])
@pytest.mark.parametrize("frame", ["<tool_call>{}</tool_call>", "```python\n{}\n```", "```ts\n{}\n```"])
def test_a_comment_that_never_ends_hides_no_second_reading(opener, frame):
    text = frame.replace("{}", f'bash("")}}{opener} a, b}}", 1)')
    content = fold(read_events(SPECS, [text]))
    assert encode_calls(content)["calls"] == []
    assert content.malformed
