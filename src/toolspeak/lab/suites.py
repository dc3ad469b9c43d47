"""Loads suites by name: `quick` (a draw of `field`), `field`, `field-train`, `answers`, `bfcl`, or a file.

A file has one object a line. A line with `toolset` names tools that many questions share; every other line is a
question:

    {"toolset": "weather", "tools": [{"name": "forecast", "description": "…", "parameters": {…JSON schema…}}]}
    {"id": "oslo", "category": "single", "tools": "weather", "messages": [{"role": "user", "content": "…"}],
     "expected": [{"name": "forecast", "arguments": {"city": ["Oslo"]}, "optional": {"days": [1]}}]}

`tools` is the name of a toolset above, or a list of tools; `messages` may be one text, the message of a user. A
question that continues a conversation with calls has `turns` in place of `messages` (`parse_turns`). An empty
`expected` means that no tool may be called; `reply` may say what a good assistant says then, and `claims` what must be
said (`claims.py`). `judge.py` says how values are compared; docs/guides/measuring.md describes the whole format.

`field` has requests as people write them, over several hundred sets of tools, in the folder `suites/field`, which is
part of the repository and not of the package. Its questions are split by their set of tools, so that no tool that a
model was trained on is used to measure it: `field` has the questions to measure with, `field-train` those to train on.
A set is on the side that the hash of its name says, so a new set never moves another one, and nobody chooses the side.

`answers` has questions whose results are there, judged by what the answer claims; `training/composing/answers.py` wrote
the file `suites/answers.jsonl`.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, cast

from toolspeak.lab.bfcl import CATEGORIES, load_bfcl
from toolspeak.lab.claims import parse_claims
from toolspeak.lab.files import read_rows
from toolspeak.lab.judge import judge_calls
from toolspeak.lab.questions import ExpectedCall, Question, Suite, parse_turns
from toolspeak.values.errors import UsageError
from toolspeak.values.messages import Message, Text
from toolspeak.values.spec import ToolSpec

FIELD_FOLDER = Path(__file__).parents[3] / "suites" / "field"
"""Where a checkout of the repository has the files of the suite."""

ANSWERS_FILE = FIELD_FOLDER.with_name("answers.jsonl")


def is_measured(toolset: str) -> bool:
    """Whether a set of tools is kept for measuring, and not trained on. One in four is."""
    return int(hashlib.sha256(toolset.encode()).hexdigest(), 16) % 4 == 0


def read_field_rows(*, measured: bool, folder: Path = FIELD_FOLDER) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the lines of the side for measuring, or of that for training, each with its place in words."""
    paths = sorted(folder.glob("*.jsonl"))
    if not paths:
        raise UsageError(
            "the suite field is in the repository of toolspeak and not in the package; run this in a checkout, or give "
            "the path of a file of questions"
        )
    for path in paths:
        for where, row in read_rows(path):
            toolset = row.get("toolset", row.get("tools"))
            if not isinstance(toolset, str):
                raise UsageError(f"{where}: a question of the suite field names its toolset")
            if is_measured(toolset) is measured:
                yield where, row


QUESTION_KEYS = frozenset({"id", "category", "tools", "messages", "turns", "expected", "reply", "claims"})
EXPECTED_KEYS = frozenset({"name", "arguments", "optional", "after", "returns"})


def load_suite(name: str, categories: Sequence[str] = ()) -> Suite:
    """Load a suite.

    Args:
        name: `quick`, `field`, `field-train`, `answers`, `bfcl`, or the path of a file.
        categories: The categories to load; if empty, all (of `bfcl`, those of `CATEGORIES`).
    """
    if name == "bfcl":
        return load_bfcl(categories or CATEGORIES)
    if name == "quick":
        with as_file(files("toolspeak.lab") / "quick.jsonl") as path:
            found = read_suite(path, name="quick")
    elif name == "answers":
        if not ANSWERS_FILE.is_file():
            raise UsageError("the suite answers is in the repository of toolspeak and not in the package")
        found = read_suite(ANSWERS_FILE)
    elif name in ("field", "field-train"):
        found = _build_suite(name, parse_questions(read_field_rows(measured=name == "field")))
    else:
        path = Path(name)
        if not path.is_file():
            known = "write quick, field, answers, bfcl or the path of a file of questions"
            raise UsageError(f"there is no suite {name!r}; {known}")
        found = read_suite(path)
    for category in categories:
        if category not in found.categories:
            raise UsageError(f"{found.name} has no category {category!r}; it has: {', '.join(found.categories)}")
    kept = tuple(question for question in found.questions if not categories or question.category in categories)
    return replace(found, questions=kept)


def read_suite(path: Path, *, name: str | None = None) -> Suite:
    """Read a suite from a file; its name is that of the file, unless one is given."""
    questions = parse_questions(read_rows(path))
    if not questions:
        raise UsageError(f"{path} holds no questions")
    return _build_suite(name or path.name.removesuffix(".gz").removesuffix(".jsonl").replace("/", "_"), questions)


def _build_suite(name: str, questions: Sequence[Question]) -> Suite:
    return Suite(name=name, questions=tuple(questions), judge=judge_calls, expected=describe_expected)


def describe_expected(question: Question) -> str:
    """Describe what a question expects, for a report of failures."""
    lines = [
        json.dumps({"name": each.name, "arguments": each.arguments, "optional": each.optional}, ensure_ascii=False)
        for each in question.expected
    ]
    if question.claims is not None:
        lines.append(f"no call, and words such as: {question.reply}")
    return "\n".join(lines) or "no call"


def parse_questions(lines: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Question]:
    """Parse the lines of a file, each with its place in words."""
    toolsets: dict[str, tuple[ToolSpec, ...]] = {}
    questions: dict[str, Question] = {}
    for where, row in lines:
        if "toolset" in row:
            toolsets[str(row["toolset"])] = _parse_tools(row.get("tools"), where)
            continue
        question = _parse_question(row, toolsets, where)
        if question.id in questions:
            raise UsageError(f"{where}: there is already a question {question.id!r}")
        questions[question.id] = question
    return list(questions.values())


def _parse_question(row: Mapping[str, Any], toolsets: Mapping[str, tuple[ToolSpec, ...]], where: str) -> Question:
    for key in ("id", "category"):
        if not isinstance(row.get(key), str) or not row[key]:
            raise UsageError(f"{where}: a question needs {key!r}, a text")
    if re.search(r"#\d+$", row["id"]):
        raise UsageError(f"{where}: an 'id' does not end in '#' and a number: such are those of questions asked again")
    if "/" in row["category"]:
        raise UsageError(f"{where}: a category has no '/' in it")
    _check_keys(row, QUESTION_KEYS, where)
    tools = row.get("tools")
    if isinstance(tools, str) and tools not in toolsets:
        raise UsageError(f"{where}: there is no toolset {tools!r} above this line")
    specs = toolsets[tools] if isinstance(tools, str) else _parse_tools(tools, where)
    expected = tuple(
        _parse_expected(each, specs, where) for each in _check_list(row.get("expected"), "expected", where)
    )
    for place, each in enumerate(expected):
        if any(type(earlier) is not int or not 0 <= earlier < place for earlier in each.after):
            raise UsageError(f"{where}: 'after' names calls by their place, from 0, and only earlier ones")
    if "turns" in row and "messages" in row:
        raise UsageError(f"{where}: a question has 'messages' or 'turns', not both")
    if "turns" in row:
        messages = parse_turns(_check_list(row["turns"], "turns", where), specs, where)
    else:
        messages = _parse_messages(row.get("messages"), where)
    reply = row.get("reply", "")
    if not isinstance(reply, str):
        raise UsageError(f"{where}: 'reply' is a text")
    if reply and row.get("expected"):
        raise UsageError(f"{where}: a question has a 'reply' only where nothing is 'expected'")
    if row.get("claims") is not None and row.get("expected"):
        raise UsageError(f"{where}: a question has 'claims' only where nothing is 'expected'")
    return Question(
        id=row["id"],
        category=row["category"],
        messages=messages,
        tools=specs,
        expected=expected,
        reply=reply,
        claims=None if row.get("claims") is None else parse_claims(row["claims"], where),
    )


def _parse_messages(value: Any, where: str) -> tuple[Message, ...]:
    if isinstance(value, str):
        value = [{"role": "user", "content": value}]
    messages: list[Message] = []
    for each in _check_list(value, "messages", where):
        match each:
            case {"role": ("system" | "user" | "assistant") as role, "content": str(text)}:
                messages.append(Message(role=role, parts=(Text(text=text),)))
            case _:
                raise UsageError(f"{where}: a message has a 'role' (system, user, assistant) and a 'content', a text")
    if not messages:
        raise UsageError(f"{where}: a question needs 'messages'")
    return tuple(messages)


def _parse_tools(value: Any, where: str) -> tuple[ToolSpec, ...]:
    specs: list[ToolSpec] = []
    for each in _check_list(value, "tools", where):
        match each:
            case {"name": str(name), "description": str(about), "parameters": dict()}:
                tool = cast("dict[str, Any]", each)
                specs.append(
                    ToolSpec(name=name, description=about, parameters=tool["parameters"], returns=tool.get("returns"))
                )
            case _:
                raise UsageError(f"{where}: a tool has a 'name', a 'description' and 'parameters', a JSON schema")
    return tuple(specs)


def _parse_expected(value: Any, specs: Sequence[ToolSpec], where: str) -> ExpectedCall:
    if not isinstance(value, dict):
        raise UsageError(f"{where}: an expected call is an object")
    call = cast("dict[str, Any]", value)
    _check_keys(call, EXPECTED_KEYS, where)
    spec = next((spec for spec in specs if spec.name == call.get("name")), None)
    if spec is None:
        raise UsageError(f"{where}: {call.get('name')!r} is expected, and is none of the tools")
    for part in ("arguments", "optional"):
        for key, values in call.get(part, {}).items():
            if key not in spec.parameters.get("properties", {}):
                raise UsageError(f"{where}: {spec.name} has no argument {key!r}")
            if not isinstance(values, list) or not values:
                raise UsageError(f"{where}: {part} of {spec.name}: {key!r} is a list of the values that are right")
    return ExpectedCall(
        name=spec.name,
        arguments=call.get("arguments", {}),
        optional=call.get("optional", {}),
        after=tuple(call.get("after", ())),
        returns=call.get("returns"),
    )


def _check_list(value: Any, key: str, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise UsageError(f"{where}: {key!r} is a list")
    return cast("list[Any]", value)


def _check_keys(row: Mapping[str, Any], keys: frozenset[str], where: str) -> None:
    for key in row:
        if key not in keys:
            raise UsageError(f"{where}: {key!r} means nothing here; what does: {', '.join(sorted(keys))}")
