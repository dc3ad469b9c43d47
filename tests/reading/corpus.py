"""What the tests of dialects share: records of spoken calls, and strategies for tools, calls and texts."""

import json
from collections.abc import Callable
from functools import wraps
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from tests.cases import RUNS_ALL
from toolspeak.dialects import MessageContent, fold
from toolspeak.reading.emitter import encode_calls
from toolspeak.reading.reader import Reader
from toolspeak.values.events import Event, FinishReason
from toolspeak.values.spec import ToolSpec, read_definition

SPOKEN = Path(__file__).parent / "spoken"


def records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SPOKEN / name).read_text(encoding="utf-8").split("\n") if line]


RECORDS = [*records("given.jsonl"), *records("own.jsonl")]


def at_least(examples: int) -> int:
    """That many in `make test-all`, a fifth of them in `make test`, and more where the profile asks for more."""
    return max(examples if RUNS_ALL else examples // 5, settings.default.max_examples)


def for_each_record(
    given: list[dict[str, Any]], *, size: int = 512
) -> Callable[[Callable[[dict[str, Any]], None]], Callable[..., None]]:
    """Run a test for each record, `size` records in one test: a test for each would cost more than the reading."""
    batches = [given[start : start + size] for start in range(0, len(given), size)]

    def decorate(test: Callable[[dict[str, Any]], None]) -> Callable[..., None]:
        @pytest.mark.parametrize("batch", batches, ids=[f"{each[0]['id']}-{each[-1]['id']}" for each in batches])
        @wraps(test, assigned=("__module__", "__name__", "__qualname__", "__doc__"), updated=())
        def test_batch(batch: list[dict[str, Any]]) -> None:
            failures: list[str] = []
            for record in batch:
                try:
                    test(record)
                except AssertionError as error:
                    failures.append(f"record {record['id']}: {error}")
            assert not failures, "\n\n".join(failures)

        del test_batch.__wrapped__  # pytest would ask for the parameters of the test
        return test_batch

    return decorate


def tools_of(record: dict[str, Any]) -> list[ToolSpec]:
    return [read_definition(tool, record["id"]) for tool in record["tools"]]


def as_record(specs: list[ToolSpec], text: str) -> str:
    """A text as a line for `own.jsonl`; hypothesis prints it for an example that fails. `expected` is left to fill in."""
    tools = [
        {"name": spec.name, "parameters": spec.parameters, **({"raw": spec.raw} if spec.raw else {})} for spec in specs
    ]
    return f"record: {json.dumps({'id': '', 'tools': tools, 'text': text, 'expected': []}, ensure_ascii=False)}"


def read_events(specs: list[ToolSpec], chunks: list[str], finish: FinishReason = "stop", **options: Any) -> list[Event]:
    """The events of a message that arrives in these chunks."""
    reader = Reader(specs, **options)
    return [event for chunk in chunks for event in reader.feed(chunk)] + reader.close(finish)


def read_calls(specs: list[ToolSpec], text: str, finish: FinishReason = "stop") -> list[dict[str, Any]]:
    """The calls of a text, as records write them."""
    return encode_calls(fold(read_events(specs, [text], finish)))["calls"]


def cut(text: str, places: list[int]) -> list[str]:
    """A text in pieces."""
    edges = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[start:end] for start, end in pairwise(edges)]


def comparable(content: MessageContent) -> dict[str, Any]:
    repairs = [ready.repair for ready in content.calls]
    return {**encode_calls(content), "repairs": repairs, "text": content.text, "thinking": content.thinking}


# Texts that look like calls, so that something happens in them.

FRAGMENTS = [
    *'{}[]()"\'`,:;=\\#|*.$&<> \n', "```", "```python\n", "```json\n", "~~~", "<tool_call>", "</tool_call>", "<think>",
    "</think>", '{"name": "', '"arguments": ', "get_weather", "(city=", '"Paris"', "days=3", 'f"{', "${", "for c in ",
    "=> ", "await ", "def ", "if x:\n", "return ", "<|channel|>", "<|message|>", "[TOOL_CALLS]", "[ARGS]", "Action: ",
    "Action Input: ", "Observation:", "//", "/*", "*/", "<function=", "<parameter=", "</parameter>", "\\u12", "é", "“",
    "&quot;", "<|\"|>", "<arg_key>", "1,500", "-.5e", "None", "true", "...", "<!--", "-->", "\r\n", "\u200b", "prose ",
]  # fmt: skip

soups = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=4), max_size=40).map("".join)


@st.composite
def mutations(draw: st.DrawFn) -> str:
    """A spoken call that went wrong: cut, joined with another, or with something put into it."""
    text = draw(st.sampled_from(RECORDS))["text"]
    place = draw(st.integers(0, len(text)))
    match draw(st.integers(0, 3)):
        case 0:
            other = draw(st.sampled_from(RECORDS))["text"]
            return text[:place] + other[draw(st.integers(0, len(other))) :]
        case 1:
            return text[:place] + text[place + draw(st.integers(1, 8)) :]
        case 2:
            return text[:place] + draw(soups) + text[place:]
        case _:
            return text


texts = soups | mutations() | st.text(max_size=200)
offered = st.sampled_from(RECORDS).map(tools_of)
pieces = st.lists(st.integers(0, 10_000), max_size=30)

# Tools and calls of every sort.

words = st.from_regex(r"[a-z][a-z_]{0,8}[a-z]", fullmatch=True)
strings = st.text(st.characters(exclude_categories=("Cs",)), max_size=30) | st.sampled_from(
    [
        "```",
        "</tool_call>",
        "<think>",
        'He said "hi"',
        "It's",
        "a\nb",
        "\\n",
        "${x}",
        "{x}",
        "'''",
        '"""',
        "#",
        "//",
        "null",
    ]
)
scalars = st.none() | st.booleans() | st.integers(-(10**12), 10**12) | strings
floats = st.floats(allow_nan=False, allow_infinity=False)


def json_values(depth: int = 2) -> st.SearchStrategy[Any]:
    leaves = scalars | floats
    if not depth:
        return leaves
    inner = json_values(depth - 1)
    return leaves | st.lists(inner, max_size=3) | st.dictionaries(strings, inner, max_size=3)


TYPED: dict[str, tuple[dict[str, Any], st.SearchStrategy[Any]]] = {
    "string": ({"type": "string"}, strings.filter(lambda text: text.strip() not in ("...", "…", "<...>", "[...]"))),
    "integer": ({"type": "integer"}, st.integers(-(10**15), 10**15)),
    "number": ({"type": "number"}, floats),
    "boolean": ({"type": "boolean"}, st.booleans()),
    "array": ({"type": "array", "items": {"type": "string"}}, st.lists(strings, max_size=4)),
    "object": ({"type": "object"}, st.dictionaries(strings, json_values(), max_size=4)),
    "any": ({}, json_values().filter(lambda value: value is not None and value not in ("...", "…", "<...>", "[...]"))),
    "nullable": ({"type": ["string", "null"]}, st.none() | st.just("text")),
}


@st.composite
def calls(draw: st.DrawFn) -> tuple[list[ToolSpec], list[tuple[str, dict[str, Any]]]]:
    """Some tools, and calls of them with arguments that fit."""
    specs: list[ToolSpec] = []
    kinds: dict[str, dict[str, str]] = {}
    for name in draw(
        st.lists(words.map("tool_{}".format), min_size=1, max_size=3, unique_by=lambda n: n.replace("_", ""))
    ):
        kinds[name] = draw(st.dictionaries(words.map("k_{}".format), st.sampled_from(sorted(TYPED)), max_size=4))
        properties = {key: TYPED[kind][0] for key, kind in kinds[name].items()}
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        specs.append(ToolSpec(name=name, description="A tool.", parameters=schema))
    said = []
    for name in draw(st.lists(st.sampled_from(sorted(kinds)), min_size=1, max_size=4)):
        chosen = draw(st.sets(st.sampled_from(sorted(kinds[name])))) if kinds[name] else set()
        said.append((name, {key: draw(TYPED[kinds[name][key]][1]) for key in sorted(chosen)}))
    return specs, said
