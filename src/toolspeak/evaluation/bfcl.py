"""Questions of the Berkeley Function-Calling Leaderboard, from the package `bfcl-eval`, judged by its own checker.

The package brings the data and the checker; of its many dependencies neither needs one, but the checker imports a table
of models that does. It is given a stand-in for that table, under a name of its own, so that the package itself stays
as it is for whoever uses it.

What BFCL calls types is nearly Python: it is brought to JSON schema for the model. Before checking, arguments are
coerced by that schema, as they would be before a tool runs, and numbers are made the sort that the checker looks for.
The categories that begin with `live_` are for judging: nothing is tuned on them.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

from toolspeak._frozen import frozen
from toolspeak.coercion import coerce_arguments
from toolspeak.errors import UsageError
from toolspeak.evaluation.records import Question, Suite, Verdict
from toolspeak.messages import Concat, Message, Ref, Role, Text, ToolCall
from toolspeak.spec import ToolSpec

CATEGORIES = ("simple", "multiple", "parallel", "parallel_multiple", "irrelevance")
LIVE = ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple", "live_irrelevance", "live_relevance")
FILES = {"simple": "simple_python"}
"""Categories whose file has another name."""

TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}
"""Types that JSON schema has another word for."""

OWN_KEYS = frozenset({"optional"})
"""Keys of BFCL's that JSON schema does not have."""

GET = "pip install --no-deps bfcl-eval==2026.3.23"

Objects = Sequence[Mapping[str, Any]]

Check = Callable[[Objects, Objects, Objects, str], Verdict]
"""Judges by functions, calls, right answers and the name of a category, all as BFCL has them."""


@frozen
class Record:
    """A question as BFCL has it: its functions, and the answers that are right."""

    functions: Objects
    truth: Objects | None


def bfcl(categories: Sequence[str] = CATEGORIES, *, folder: Path | None = None, checker: Check | None = None) -> Suite:
    """The questions of these categories.

    Args:
        categories: Which ones; those of `CATEGORIES` and of `LIVE` there are.
        folder: Where the data files are; in the package, if nothing is said.
        checker: What checks calls; the package's own, if nothing is said.
    """
    folder = folder or _package() / "data"
    questions: list[Question] = []
    records: dict[tuple[str, str], Record] = {}
    for category in categories:
        if category not in (*CATEGORIES, *LIVE):
            raise UsageError(f"bfcl has no category {category!r}; it has: {', '.join((*CATEGORIES, *LIVE))}")
        truths = {row["id"]: row["ground_truth"] for row in _rows(folder / "possible_answer", category, needed=False)}
        for row in _rows(folder, category):
            questions.append(question_of(row, category))
            records[category, row["id"]] = Record(functions=row["function"], truth=truths.get(row["id"]))

    def judge(question: Question, calls: Sequence[ToolCall]) -> Verdict:
        return judged(question, records[question.category, question.id], calls, checker or package_checker(_package()))

    def expected(question: Question) -> str:
        truth = records[question.category, question.id].truth
        if truth is None:
            return "some call" if question.category.endswith("_relevance") else "no call"
        return "\n".join(json.dumps(call, ensure_ascii=False) for call in truth)

    return Suite(name="bfcl", questions=tuple(questions), judge=judge, expected=expected)


def question_of(row: Mapping[str, Any], category: str) -> Question:
    """A question from a line of a data file. Of several turns only the first is asked."""
    turn: list[dict[str, Any]] = row["question"][0]
    return Question(
        id=row["id"],
        category=category,
        messages=tuple(_message(said["role"], said["content"]) for said in turn),
        tools=tuple(spec_of(function) for function in row["function"]),
    )


def spec_of(function: Mapping[str, Any]) -> ToolSpec:
    """A tool from one of BFCL's functions."""
    return ToolSpec(
        name=function["name"], description=function["description"], parameters=schema_of(function["parameters"])
    )


def schema_of(said: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON schema from one of BFCL's."""
    schema: dict[str, Any] = {key: value for key, value in said.items() if key not in OWN_KEYS}
    if "type" in schema:
        schema["type"] = TYPES.get(schema["type"], schema["type"])
    if isinstance(properties := schema.get("properties"), dict):
        schema["properties"] = {
            name: schema_of(sub) for name, sub in cast("dict[str, dict[str, Any]]", properties).items()
        }
    if isinstance(items := schema.get("items"), dict):
        schema["items"] = schema_of(cast("dict[str, Any]", items))
    return schema


def judged(question: Question, record: Record, calls: Sequence[ToolCall], check: Check) -> Verdict:
    """Whether calls are right by the record."""
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
        output.append({call.name: numbered(plain(coerced), functions[call.name]["parameters"])})
    return check(record.functions, output, record.truth, FILES.get(question.category, question.category))


def numbered(value: Any, said: Any) -> Any:
    """A value whose numbers are floats where BFCL says so: an integer there counts as one."""
    if not isinstance(said, dict):
        return value
    schema = cast("dict[str, Any]", said)
    if type(value) is int and schema.get("type") == "float":
        return float(value)
    if isinstance(value, dict):
        properties = schema.get("properties")
        of = cast("dict[str, Any]", properties) if isinstance(properties, dict) else {}
        return {key: numbered(item, of.get(key)) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [numbered(item, schema.get("items")) for item in cast("list[Any]", value)]
    return value


def plain(value: Any) -> Any:
    """A value without references: BFCL's functions return nothing that could be referred to, so these are wrong."""
    match value:
        case Ref(call=call, path=path):
            return f"the result of {call}{''.join(f'[{step!r}]' for step in path)}"
        case Concat(parts=parts):
            return "".join(str(plain(part)) for part in parts)
        case dict():
            return {key: plain(item) for key, item in cast("dict[str, Any]", value).items()}
        case list():
            return [plain(item) for item in cast("list[Any]", value)]
        case _:
            return value


@cache
def package_checker(package: Path) -> Check:
    """The checker of the package that lies there."""
    checker, python = _loaded(package)

    def check(functions: Objects, calls: Objects, truth: Objects, category: str) -> Verdict:
        try:
            found: dict[str, Any] = checker.ast_checker(functions, calls, truth, python, category, "any")
        except Exception as error:  # it trusts the sort of values, and models send any
            return Verdict(right=False, why=f"the checker cannot take it: {type(error).__name__}: {error}")
        if found["valid"]:
            return Verdict(right=True)
        return Verdict(right=False, why=" ".join(map(str, found["error"])) or str(found.get("error_type")))

    return check


def _loaded(package: Path) -> tuple[Any, Any]:
    """The checker's module, loaded with a stand-in for the table of models; and its word for Python."""
    table = "bfcl_eval.constants.model_config"
    stand_in = ModuleType(table)
    stand_in.__dict__["MODEL_CONFIG_MAPPING"] = {"any": SimpleNamespace(underscore_to_dot=False)}
    place = package / "eval_checker" / "ast_eval" / "ast_checker.py"
    spec = spec_from_file_location("_toolspeak_bfcl_checker", place)
    if spec is None or spec.loader is None or not place.is_file():
        raise UsageError(f"this version of bfcl-eval keeps its checker elsewhere; get another: {GET}")
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


def _package() -> Path:
    found = find_spec("bfcl_eval")
    if found is None or found.origin is None:
        raise UsageError(f"the suite bfcl needs the package bfcl-eval; get it (no more is needed of it): {GET}")
    return Path(found.origin).parent


def _rows(folder: Path, category: str, *, needed: bool = True) -> list[dict[str, Any]]:
    found = sorted(folder.glob(f"BFCL_v[0-9]_{FILES.get(category, category)}.json"))
    if not found:
        if needed:
            raise UsageError(f"this version of bfcl-eval has no questions of {category!r}; get another: {GET}")
        return []
    return [json.loads(line) for line in found[-1].read_text(encoding="utf-8").splitlines() if line.strip()]


def _message(role: Role, text: str) -> Message:
    return Message(role=role, parts=(Text(text=text),))
