"""Questions of the Berkeley Function-Calling Leaderboard, from the package `bfcl-eval`, judged by its own checker.

The package has the data and the checker. Neither needs any of its many dependencies, but the checker imports a table of
models that does. The checker is loaded under another module name with a stand-in for that table, so that the package
itself is unchanged for other users.

The types of BFCL are nearly those of Python: they are converted to JSON schema for the model. Before the check,
arguments are coerced by that schema, as they would be before a tool runs, and integers are converted to floats where
the checker expects floats. The categories that begin with `live_` are for final measurements: nothing is tuned on them.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, TypeAlias, cast

from toolspeak.lab.questions import Question, Suite, Verdict
from toolspeak.values.coercion import coerce_arguments
from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Concat, Message, Ref, Text, ToolCall
from toolspeak.values.spec import ToolSpec

CATEGORIES = ("simple", "multiple", "parallel", "parallel_multiple", "irrelevance")
LIVE_CATEGORIES = (
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
    "live_irrelevance",
    "live_relevance",
)

FILE_NAMES = {"simple": "simple_python"}
"""The categories whose file has another name."""

JSON_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}
"""The types that have another name in JSON schema."""

INSTALL_COMMAND = "pip install --no-deps bfcl-eval==2026.3.23"

Objects: TypeAlias = Sequence[Mapping[str, Any]]

Checker: TypeAlias = Callable[[Objects, Objects, Objects, str], Verdict]
"""Judges calls by the functions, the calls, the right answers and the category, all in the format of BFCL."""


@frozen
class BfclRecord:
    """What the checker needs of a question: its functions, and the right answers (None where BFCL has none)."""

    functions: Objects
    truth: Objects | None


def load_bfcl(
    categories: Sequence[str] = CATEGORIES, *, folder: Path | None = None, checker: Checker | None = None
) -> Suite:
    """Load the questions of some categories.

    Args:
        categories: The categories, of `CATEGORIES` and `LIVE_CATEGORIES`.
        folder: The folder of the data files; that of the package if None.
        checker: Checks calls; that of the package if None.
    """
    folder = folder or find_package() / "data"
    questions: list[Question] = []
    records: dict[tuple[str, str], BfclRecord] = {}
    for category in categories:
        if category not in (*CATEGORIES, *LIVE_CATEGORIES):
            raise UsageError(f"bfcl has no category {category!r}; it has: {', '.join((*CATEGORIES, *LIVE_CATEGORIES))}")
        truths = {
            row["id"]: row["ground_truth"] for row in _read_rows(folder / "possible_answer", category, needed=False)
        }
        for row in _read_rows(folder, category):
            questions.append(parse_question(row, category))
            records[category, row["id"]] = BfclRecord(functions=row["function"], truth=truths.get(row["id"]))

    def judge(question: Question, calls: Sequence[ToolCall]) -> Verdict:
        record = records[question.category, question.id]
        return judge_record(question, record, calls, checker or load_checker(find_package()))

    def expected(question: Question) -> str:
        truth = records[question.category, question.id].truth
        if truth is None:
            return "some call" if question.category.endswith("_relevance") else "no call"
        return "\n".join(json.dumps(call, ensure_ascii=False) for call in truth)

    return Suite(name="bfcl", questions=tuple(questions), judge=judge, expected=expected)


def parse_question(row: Mapping[str, Any], category: str) -> Question:
    """Parse a line of a data file. Of several turns only the first is taken."""
    turn: list[dict[str, Any]] = row["question"][0]
    return Question(
        id=row["id"],
        category=category,
        messages=tuple(Message(role=each["role"], parts=(Text(text=each["content"]),)) for each in turn),
        tools=tuple(convert_function(function) for function in row["function"]),
    )


def convert_function(function: Mapping[str, Any]) -> ToolSpec:
    """Convert a function of BFCL to a tool."""
    return ToolSpec(
        name=function["name"], description=function["description"], parameters=convert_schema(function["parameters"])
    )


def convert_schema(source: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a schema of BFCL to a JSON schema."""
    schema: dict[str, Any] = {key: value for key, value in source.items() if key != "optional"}  # a key of BFCL alone
    if "type" in schema:
        schema["type"] = JSON_TYPES.get(schema["type"], schema["type"])
    if isinstance(properties := schema.get("properties"), dict):
        schema["properties"] = {
            name: convert_schema(sub) for name, sub in cast("dict[str, dict[str, Any]]", properties).items()
        }
    if isinstance(items := schema.get("items"), dict):
        schema["items"] = convert_schema(cast("dict[str, Any]", items))
    return schema


def judge_record(question: Question, record: BfclRecord, calls: Sequence[ToolCall], check: Checker) -> Verdict:
    """Judge whether calls are right by the record of a question."""
    if record.truth is None:
        wanted = question.category.endswith("_relevance")
        why = "nothing was called" if wanted else "something was called"
        return Verdict(right=True) if bool(calls) is wanted else Verdict(right=False, why=why)
    if not calls:
        return Verdict(right=False, why="nothing was called")
    functions = {function["name"]: function for function in record.functions}
    schemas = {spec.name: spec.parameters for spec in question.tools}
    output: list[dict[str, Any]] = []
    for call in calls:
        coerced = coerce_arguments(call.arguments, schemas[call.name])
        output.append({call.name: convert_numbers(replace_references(coerced), functions[call.name]["parameters"])})
    return check(record.functions, output, record.truth, FILE_NAMES.get(question.category, question.category))


def convert_numbers(value: Any, source: Any) -> Any:
    """Convert integers to floats where the schema of BFCL says float: an integer there is right too."""
    if not isinstance(source, dict):
        return value
    schema = cast("dict[str, Any]", source)
    if type(value) is int and schema.get("type") == "float":
        return float(value)
    if isinstance(value, dict):
        properties = schema.get("properties")
        of = cast("dict[str, Any]", properties) if isinstance(properties, dict) else {}
        return {key: convert_numbers(item, of.get(key)) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [convert_numbers(item, schema.get("items")) for item in cast("list[Any]", value)]
    return value


def replace_references(value: Any) -> Any:
    """Replace references by a text: BFCL's functions return nothing that could be referred to, so they are wrong."""
    match value:
        case Ref(call=call, path=path):
            return f"the result of {call}{''.join(f'[{step!r}]' for step in path)}"
        case Concat(parts=parts):
            return "".join(str(replace_references(part)) for part in parts)
        case dict():
            return {key: replace_references(item) for key, item in cast("dict[str, Any]", value).items()}
        case list():
            return [replace_references(item) for item in cast("list[Any]", value)]
        case _:
            return value


@cache
def load_checker(package: Path) -> Checker:
    """Load the checker of the package in this folder."""
    checker, python = _load_checker_module(package)

    def check(functions: Objects, calls: Objects, truth: Objects, category: str) -> Verdict:
        try:
            found: dict[str, Any] = checker.ast_checker(functions, calls, truth, python, category, "any")
        except Exception as error:  # the checker trusts the types of values, and models send any type
            return Verdict(right=False, why=f"the checker cannot take it: {type(error).__name__}: {error}")
        if found["valid"]:
            return Verdict(right=True)
        return Verdict(right=False, why=" ".join(map(str, found["error"])) or str(found.get("error_type")))

    return check


def _load_checker_module(package: Path) -> tuple[Any, Any]:
    """Load the checker's module with a stand-in for the table of models; return it and its constant for Python."""
    table = "bfcl_eval.constants.model_config"
    stand_in = ModuleType(table)
    stand_in.__dict__["MODEL_CONFIG_MAPPING"] = {"any": SimpleNamespace(underscore_to_dot=False)}
    path = package / "eval_checker" / "ast_eval" / "ast_checker.py"
    spec = spec_from_file_location("_toolspeak_bfcl_checker", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UsageError(f"this version of bfcl-eval keeps its checker elsewhere; get another: {INSTALL_COMMAND}")
    before = sys.modules.get(table)
    sys.modules[table] = stand_in
    try:
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        if before is None:
            del sys.modules[table]
        else:
            sys.modules[table] = before
    loaded: Any = module
    return loaded, loaded.Language.PYTHON


def find_package() -> Path:
    """Return the folder of the package `bfcl-eval`."""
    found = find_spec("bfcl_eval")
    if found is None or found.origin is None:
        raise UsageError(
            f"the suite bfcl needs the package bfcl-eval; install it (without its dependencies): {INSTALL_COMMAND}"
        )
    return Path(found.origin).parent


def _read_rows(folder: Path, category: str, *, needed: bool = True) -> list[dict[str, Any]]:
    found = sorted(folder.glob(f"BFCL_v[0-9]_{FILE_NAMES.get(category, category)}.json"))
    if not found and needed:
        raise UsageError(f"this version of bfcl-eval has no questions of {category!r}; get another: {INSTALL_COMMAND}")
    if not found:
        return []
    return [json.loads(line) for line in found[-1].read_text(encoding="utf-8").splitlines() if line.strip()]
