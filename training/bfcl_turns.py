"""The conversations of BFCL (`multi_turn_base`): what the user asks, the tools, what calls do, and BFCL's own judge.

The package `bfcl-eval` has classes that stand in for file systems, cars, brokers and others, each with a state. Calls
are run on their objects. After each turn of the user, the judge compares the state with the one that the right calls
lead to, and looks for the results of the right calls among all results so far. Its classes need `mpmath`, and nothing
of it needs its other dependencies.

Half of the conversations may be tuned on. The other half is reported.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

from toolspeak.lab.bfcl import convert_function, find_package
from toolspeak.loop import BrokenReference, resolve_references
from toolspeak.tools.schema_function import SchemaChecker
from toolspeak.values.errors import InvalidArguments
from toolspeak.values.messages import ToolCall, ToolResult
from toolspeak.values.spec import ToolSpec

Half = Literal["tuned", "reported"]

ERROR_START = "Error during execution: "
"""What BFCL writes before the text of an error that a function raised."""

Steps = Sequence[Sequence[Sequence[str]]]
"""The calls of a conversation: for each turn of the user, for each message of the model, the calls that were run."""

_checks = count(1)
"""BFCL keeps its objects by a name, so each check needs another."""


@dataclass(frozen=True)
class Script:
    """A conversation, as far as the user's part goes.

    Attributes:
        id: Its name in BFCL.
        requests: What the user says, turn by turn.
        tools: The tools.
        truth: The right calls of each turn, as Python code.
        row: The line of BFCL's file.
    """

    id: str
    requests: tuple[str, ...]
    tools: tuple[ToolSpec, ...]
    truth: tuple[tuple[str, ...], ...]
    row: Mapping[str, Any]


@dataclass(frozen=True)
class Mark:
    """How a conversation went.

    Attributes:
        turns: For each turn of the user, whether state and results were right after it.
        whole: Whether the conversation counts as right in BFCL.
        why: What BFCL says if it does not.
    """

    turns: tuple[bool, ...]
    whole: bool
    why: str = ""


def load_scripts(half: Half) -> list[Script]:
    """Load the conversations of a half, in an order that depends on their ids alone."""
    from bfcl_eval.constants.executable_backend_config import MULTI_TURN_FUNC_DOC_FILE_MAPPING as DOC_FILES

    data = find_package() / "data"
    rows = _read_lines((data / "BFCL_v4_multi_turn_base.json").read_text(encoding="utf-8"))
    truths = _read_lines((data / "possible_answer" / "BFCL_v4_multi_turn_base.json").read_text(encoding="utf-8"))
    right = {row["id"]: row["ground_truth"] for row in truths}
    docs = {
        name: _read_lines((data / "multi_turn_func_doc" / file).read_text(encoding="utf-8"))
        for name, file in DOC_FILES.items()
    }
    rows.sort(key=lambda row: hashlib.sha256(row["id"].encode()).hexdigest())
    middle = len(rows) // 2
    return [
        Script(
            id=row["id"],
            requests=tuple(message["content"] for turn in row["question"] for message in turn),
            tools=_make_tools([doc for name in row["involved_classes"] for doc in docs[name]]),
            truth=tuple(map(tuple, right[row["id"]])),
            row=row,
        )
        for row in (rows[:middle] if half == "tuned" else rows[middle:])
    ]


def _make_tools(functions: Sequence[Mapping[str, Any]]) -> tuple[ToolSpec, ...]:
    """Convert functions to tools. They change one state, so calls run one after the other."""
    converted = [convert_function(function) for function in functions]
    return tuple(
        ToolSpec(name=spec.name, description=spec.description, parameters=spec.parameters, sequential=True)
        for spec in converted
    )


def _read_lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


class World:
    """The objects that the calls of one conversation are run on."""

    def __init__(self, script: Script, name: str) -> None:
        self._script = script
        self._name = f"{name}_{next(_checks)}"
        self._checkers = {spec.name: SchemaChecker(spec.name, spec.parameters) for spec in script.tools}

    def run(self, call: ToolCall, results: Mapping[str, ToolResult]) -> tuple[ToolResult, str | None]:
        """Run a call; return its result, and the call as BFCL writes it, or None if it could not be run."""
        if call.name not in self._checkers:
            return ToolResult(call_id=call.id, error=f"there is no tool {call.name}", ran=False), None
        try:
            resolved = resolve_references(call.arguments, results)
            arguments = self._checkers[call.name].validate(resolved)
        except (InvalidArguments, BrokenReference) as error:
            return ToolResult(call_id=call.id, error=str(error), ran=False), None
        code = f"{call.name}(**{arguments!r})"
        [text] = run_code([code], self._script, self._name)[0]
        if text.startswith(ERROR_START):
            return ToolResult(call_id=call.id, error=text.removeprefix(ERROR_START)), code
        return ToolResult(call_id=call.id, output=_read_output(text)), code


def _read_output(text: str) -> Any:
    """Return what a function returned: most return a dict, which BFCL writes as JSON."""
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, dict) else text


def run_code(codes: Sequence[str], script: Script, name: str) -> tuple[list[str], dict[str, Any]]:
    """Run calls on the objects of a name; return their results as texts, and the objects."""
    from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils import execute_multi_turn_func_call

    row = script.row
    return execute_multi_turn_func_call(list(codes), row["initial_config"], row["involved_classes"], name, script.id)


def judge(script: Script, steps: Steps) -> Mark:
    """Judge a conversation by BFCL's checker. Turns that were not reached are wrong."""
    from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import multi_turn_checker

    turns = judge_turns(script, steps)
    if len(steps) < len(script.truth):
        return Mark(turns=turns, whole=False, why="the conversation was ended before its last turn")
    decoded = [[list(step) for step in turn if step] for turn in steps]
    truth = [list(turn) for turn in script.truth]
    found = multi_turn_checker(decoded, truth, dict(script.row), "multi_turn_base", f"judge_{next(_checks)}")
    if found["valid"] is not all(turns):
        raise AssertionError(f"{script.id}: turn by turn {turns}, and as a whole {found}")
    return Mark(turns=turns, whole=found["valid"], why=str(found.get("error_message", "")))


def judge_turns(script: Script, steps: Steps) -> tuple[bool, ...]:
    """Judge each turn as the checker does, which itself ends with the first that is wrong."""
    from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import response_checker, state_checker

    number = next(_checks)
    marks: list[bool] = []
    outputs: list[str] = []
    for place, truth in enumerate(script.truth):
        codes = [code for step in (steps[place] if place < len(steps) else ()) for code in step]
        texts, objects = run_code(codes, script, f"turns_{number}")
        outputs += texts
        right_texts, right_objects = run_code(truth, script, f"right_{number}")
        is_right = bool(codes) or not truth
        if truth and is_right:
            is_right = state_checker(objects, right_objects)["valid"]
            is_right = is_right and response_checker(outputs, right_texts, place)["valid"]
        marks.append(is_right and place < len(steps))
    return tuple(marks)
