"""The suite `field` is sound: what it expects fits its tools, and its two sides share no set of tools."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolspeak.lab.questions import Question
from toolspeak.lab.suites import FIELD_FOLDER, is_measured, load_suite, read_field_rows
from toolspeak.values.errors import UsageError
from toolspeak.values.validation import is_valid

FILES = sorted(FIELD_FOLDER.glob("*.jsonl"))
CATEGORIES = set("single parallel several nested messy none missing answer next error empty follow talk".split())
UNCALLED = {"none", "missing", "answer", "empty", "talk"}
"""The categories in which nothing is called."""


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def test_each_set_of_tools_is_on_one_side():
    measured, trained = (
        {row["toolset"] for _, row in read_field_rows(measured=side) if "toolset" in row} for side in (True, False)
    )
    assert not measured & trained
    assert len(measured | trained) == sum("toolset" in row for path in FILES for row in rows(path))
    assert 0.2 < len(measured) / len(measured | trained) < 0.3


def test_the_side_of_a_set_does_not_change():
    assert [name for name in ("a_bank_core", "e_ferry", "g_weather", "b_files", "f_maps") if is_measured(name)] == [
        "a_bank_core",
        "g_weather",
        "b_files",
        "f_maps",
    ]


@pytest.mark.parametrize("name", ["field", "field-train"])
def test_all_categories_are_on_both_sides(name: str):
    suite = load_suite(name)
    assert set(suite.categories) == CATEGORIES
    assert load_suite(name, ["talk"]).categories == ("talk",)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_expected_fits_the_tools(path: Path):
    suite = load_suite(str(path))
    assert [problem for each in suite.questions for problem in find_problems(each)] == []


def find_problems(asked: Question) -> list[str]:
    found: list[str] = []
    if not asked.expected and not asked.reply:
        found.append(f"{asked.id}: nothing is expected, and there is no reply")
    if asked.expected and asked.category in UNCALLED:
        found.append(f"{asked.id}: a call is expected in the category {asked.category}")
    schemas = {spec.name: spec.parameters for spec in asked.tools}
    for call in asked.expected:
        schema = schemas[call.name]
        missing = set(schema.get("required", ())) - set(call.arguments)
        found += [f"{asked.id}: {call.name} needs {key}" for key in sorted(missing)]
        for key, values in (*call.arguments.items(), *call.optional.items()):
            found += [
                f"{asked.id}: {key} cannot be {value!r}"
                for value in values
                if not is_valid(value, schema["properties"][key], schema)
            ]
    return found


def test_without_its_files_it_is_told_where_they_are(tmp_path: Path):
    with pytest.raises(UsageError, match="the suite field is in the repository of toolspeak and not in the package"):
        list(read_field_rows(measured=True, folder=tmp_path))


def test_a_question_must_name_its_toolset(tmp_path: Path):
    (tmp_path / "own.jsonl").write_text('{"id": "a", "tools": []}\n')
    with pytest.raises(UsageError, match=r"own\.jsonl, line 1: a question of the suite field names its toolset"):
        list(read_field_rows(measured=True, folder=tmp_path))
