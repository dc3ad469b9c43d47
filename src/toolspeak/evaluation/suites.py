"""Suites by name: `quick` (our own, in `quick.jsonl`), `bfcl`, or a file of the user's in the form of `quick.jsonl`.

A file has one object a line. A line with `toolset` names tools that many questions share; every other line is a
question:

    {"toolset": "weather", "tools": [{"name": "forecast", "description": "…", "parameters": {…JSON schema…}}]}
    {"id": "oslo", "category": "single", "tools": "weather", "messages": [{"role": "user", "content": "…"}],
     "expected": [{"name": "forecast", "arguments": {"city": ["Oslo"]}, "optional": {"days": [1]}}]}

`tools` is the name of a toolset above, or tools in place; `messages` may be one text, said by the user. An empty
`expected` means that nothing may be called. How values are compared is in `judging.py`, and all of it in docs/eval.md.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, cast

from toolspeak.errors import UsageError
from toolspeak.evaluation.bfcl import CATEGORIES, bfcl
from toolspeak.evaluation.files import rows
from toolspeak.evaluation.judge import judged
from toolspeak.evaluation.records import ExpectedCall, Question, Suite
from toolspeak.messages import Message, Text
from toolspeak.spec import ToolSpec

AGAIN = re.compile(r"#\d+$")
"""How the id of a trial ends in which a question is asked again."""

ROLES = ("system", "user", "assistant")

QUESTION = frozenset({"id", "category", "tools", "messages", "expected"})
EXPECTED = frozenset({"name", "arguments", "optional", "after", "returns"})


def suite(name: str, categories: Sequence[str] = ()) -> Suite:
    """The suite of that name: `quick`, `bfcl`, or the path of a file. Of these categories, if any are given."""
    if name == "bfcl":
        return bfcl(categories or CATEGORIES)
    if name == "quick":
        with as_file(files("toolspeak.evaluation") / "quick.jsonl") as path:
            found = from_file(path, name="quick")
    else:
        path = Path(name)
        if not path.is_file():
            raise UsageError(f"there is no suite {name!r}; write quick, bfcl or the path of a file of questions")
        found = from_file(path)
    return of_categories(found, categories) if categories else found


def of_categories(whole: Suite, categories: Sequence[str]) -> Suite:
    """The questions of a suite that are of these categories."""
    for category in categories:
        if category not in whole.categories:
            raise UsageError(f"{whole.name} has no category {category!r}; it has: {', '.join(whole.categories)}")
    kept = tuple(question for question in whole.questions if question.category in categories)
    return Suite(name=whole.name, questions=kept, judge=whole.judge, expected=whole.expected)


def from_file(path: Path, *, name: str | None = None) -> Suite:
    """A suite from a file; it is called by the file's name."""
    questions = questions_from(rows(path))
    if not questions:
        raise UsageError(f"{path} holds no questions")
    name = name or path.name.removesuffix(".gz").removesuffix(".jsonl").replace("/", "_")
    return Suite(name=name, questions=tuple(questions), judge=judged, expected=in_words)


def in_words(question: Question) -> str:
    """What a question expects, for whoever reads failures."""
    lines = [
        json.dumps({"name": each.name, "arguments": each.arguments, "optional": each.optional}, ensure_ascii=False)
        for each in question.expected
    ]
    return "\n".join(lines) or "no call"


def questions_from(lines: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Question]:
    """The questions of a file, from its lines, each with where it stands."""
    toolsets: dict[str, tuple[ToolSpec, ...]] = {}
    questions: dict[str, Question] = {}
    for where, row in lines:
        if "toolset" in row:
            toolsets[str(row["toolset"])] = _tools(row.get("tools"), where)
            continue
        question = _question(row, toolsets, where)
        if question.id in questions:
            raise UsageError(f"{where}: there is already a question {question.id!r}")
        questions[question.id] = question
    return list(questions.values())


def _question(row: Mapping[str, Any], toolsets: Mapping[str, tuple[ToolSpec, ...]], where: str) -> Question:
    for key in ("id", "category"):
        if not isinstance(row.get(key), str) or not row[key]:
            raise UsageError(f"{where}: a question needs {key!r}, a text")
    if AGAIN.search(row["id"]):
        raise UsageError(f"{where}: an 'id' does not end in '#' and a number: such are those of questions asked again")
    if "/" in row["category"]:
        raise UsageError(f"{where}: a category has no '/' in it")
    _known(row, QUESTION, where)
    tools = row.get("tools")
    if isinstance(tools, str) and tools not in toolsets:
        raise UsageError(f"{where}: there is no toolset {tools!r} above this line")
    specs = toolsets[tools] if isinstance(tools, str) else _tools(tools, where)
    expected = tuple(_expected(each, specs, where) for each in _list(row.get("expected"), "expected", where))
    for place, each in enumerate(expected):
        if any(type(earlier) is not int or not 0 <= earlier < place for earlier in each.after):
            raise UsageError(f"{where}: 'after' names calls by their place, from 0, and only earlier ones")
    return Question(
        id=row["id"],
        category=row["category"],
        messages=_messages(row.get("messages"), where),
        tools=specs,
        expected=expected,
    )


def _messages(said: Any, where: str) -> tuple[Message, ...]:
    if isinstance(said, str):
        said = [{"role": "user", "content": said}]
    messages: list[Message] = []
    for each in _list(said, "messages", where):
        match each:
            case {"role": ("system" | "user" | "assistant") as role, "content": str(text)}:
                messages.append(Message(role=role, parts=(Text(text=text),)))
            case _:
                raise UsageError(f"{where}: a message has a 'role' ({', '.join(ROLES)}) and a 'content', a text")
    if not messages:
        raise UsageError(f"{where}: a question needs 'messages'")
    return tuple(messages)


def _tools(said: Any, where: str) -> tuple[ToolSpec, ...]:
    specs: list[ToolSpec] = []
    for each in _list(said, "tools", where):
        match each:
            case {"name": str(name), "description": str(about), "parameters": dict()}:
                tool = cast("dict[str, Any]", each)
                specs.append(
                    ToolSpec(name=name, description=about, parameters=tool["parameters"], returns=tool.get("returns"))
                )
            case _:
                raise UsageError(f"{where}: a tool has a 'name', a 'description' and 'parameters', a JSON schema")
    return tuple(specs)


def _expected(said: Any, specs: Sequence[ToolSpec], where: str) -> ExpectedCall:
    if not isinstance(said, dict):
        raise UsageError(f"{where}: an expected call is an object")
    call = cast("dict[str, Any]", said)
    _known(call, EXPECTED, where)
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


def _list(said: Any, what: str, where: str) -> list[Any]:
    if not isinstance(said, list):
        raise UsageError(f"{where}: {what!r} is a list")
    return cast("list[Any]", said)


def _known(row: Mapping[str, Any], keys: frozenset[str], where: str) -> None:
    for key in row:
        if key not in keys:
            raise UsageError(f"{where}: {key!r} means nothing here; what does: {', '.join(sorted(keys))}")
