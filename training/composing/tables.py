"""Reads the tables of `tables/`, and writes what is composed of them.

A table is a TOML file. What takes values is written as the `kind` of the function that makes it and its arguments. A
text `$name` stands for the entry `shared.name` of the same file.
"""

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("tables")


def read_table(name: str) -> dict[str, Any]:
    """Return a table with its shared entries filled in."""
    table = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    shared = table.pop("shared", {})

    def fill(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: fill(each) for key, each in value.items()}
        if isinstance(value, list):
            return [fill(each) for each in value]
        is_shared = isinstance(value, str) and value.startswith("$") and value[1:] in shared
        return shared[value[1:]] if is_shared else value

    return fill(table)


def describe_tool(name: str, description: str, properties: Mapping[str, Any], required: list[str]) -> dict[str, Any]:
    """Return the definition of a tool as a suite has it."""
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": description, "parameters": parameters}


def expect(calls: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return calls as a question expects them: for each argument the values that are right."""
    return [{**call, "arguments": {key: [value] for key, value in call["arguments"].items()}} for call in calls]


def write_set(
    name: str, tools: Sequence[dict[str, Any]], questions: Iterable[dict[str, Any]], digits: int = 2
) -> Iterator[dict[str, Any]]:
    """Yield the lines of a set of tools: the tools, then the questions about them with their ids."""
    yield {"toolset": name, "tools": tools}
    for number, question in enumerate(questions, 1):
        yield {"id": f"{name}-{number:0{digits}}", "tools": name, **question}


def write_lines(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    """Write a suite: a line for each set of tools and for each question."""
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
