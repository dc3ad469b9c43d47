"""Conversations of several turns, with calls that are run: `python training play MODEL.gguf FOLDER`.

The conversations are BFCL's (`multi_turn_base`). The package `bfcl-eval` has classes that stand in for file systems,
cars, brokers and others, on whose objects calls are run. After each turn of the user, its judge compares the state with
the one that the right calls lead to, and looks for the results of the right calls among all results so far. Half of the
conversations may be tuned on; the other half is reported. With `--half worlds` they are those of the worlds that are
not trained on (`worlds/kept.py`), which a `Script` of their own runs and judges.

The model answers all conversations at the same time. Each is led by toolspeak's own loop: its dialects render the
prompt, its readers read the calls, its rules say what a model is told about a call that failed and when a run ends. A
turn of the user is a run. If the model still calls after `MAX_STEPS` messages, the conversation is wrong, as in BFCL.

`FOLDER/multi-turn-NAME.jsonl.gz`, or `worlds-NAME.jsonl.gz`, then has a line for each conversation, for each run NAME
of `settings.toml` that was asked for, which `python training score FILES` judges.
"""

import argparse
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any, Literal

from files import find_adapters, read_rows, read_settings, write_rows
from worlds.engine import Error, write_code
from worlds.groups import draw_kept

from toolspeak.dialects import Dialect, dialect
from toolspeak.dialects.text import show_figures
from toolspeak.lab.bfcl import convert_function, find_package
from toolspeak.lab.files import render_qwen
from toolspeak.lab.trials import RecordedAnswer, take_answer
from toolspeak.loop import (
    AskModel,
    BrokenReference,
    Finish,
    Guide,
    RunTools,
    decide,
    initial_state,
    reduce,
    resolve_references,
)
from toolspeak.models.adapters import choose_file
from toolspeak.tools.schema_function import SchemaChecker
from toolspeak.values.errors import InvalidArguments
from toolspeak.values.events import RunEnded, RunStarted, StopReason, ToolFinished, ToolStarted
from toolspeak.values.limits import Limits
from toolspeak.values.messages import ToolCall, ToolResult, user
from toolspeak.values.spec import ToolSpec

MAX_STEPS = 12  # the most messages of the model in one turn of the user
MAX_WIDTH = 8_192  # the most tokens of a conversation

Half = Literal["tuned", "reported", "worlds"]

ERROR_START = "Error during execution: "  # what BFCL writes before the text of an error that a function raised

Steps = Sequence[Sequence[Sequence[str]]]
"""The calls of a conversation: for each turn of the user, for each message of the model, the calls that were run."""

_checks = count(1)  # BFCL keeps its objects by a name, so each check needs another


@dataclass(frozen=True)
class Script:
    """A conversation as BFCL's line `row` has it: the user's requests and the right calls, in Python, by turn."""

    id: str
    requests: tuple[str, ...]
    tools: tuple[ToolSpec, ...]
    truth: tuple[tuple[str, ...], ...]
    row: Mapping[str, Any]

    def tools_at(self, _: int) -> tuple[ToolSpec, ...]:
        """Return the tools that are there in a turn: always the same."""
        return self.tools

    def start(self) -> Callable[[str, dict[str, Any]], Any]:
        """Return a function that runs calls on objects of its own, and returns a result, or an `Error`."""
        name = f"play_{next(_checks)}"

        def run(tool: str, arguments: dict[str, Any]) -> Any:
            [text] = run_code([write_code(tool, arguments)], self, name)[0]
            if text.startswith(ERROR_START):
                return Error(text.removeprefix(ERROR_START))
            try:  # most functions return a dict, which BFCL writes as JSON
                found = json.loads(text)
            except ValueError:
                found = None
            return found if isinstance(found, dict) else text

        return run

    def judge(self, steps: Steps) -> list[bool]:
        """Say of each turn whether it is right."""
        return judge(self, steps)


def load_scripts(half: Half) -> Sequence[Any]:
    """Load the conversations of a half, in an order that depends on their ids alone, or those of the kept worlds."""
    if half == "worlds":
        return draw_kept()
    from bfcl_eval.constants.executable_backend_config import MULTI_TURN_FUNC_DOC_FILE_MAPPING as DOC_FILES

    data = find_package() / "data"
    rows = _read_lines(data / "BFCL_v4_multi_turn_base.json")
    truths = _read_lines(data / "possible_answer" / "BFCL_v4_multi_turn_base.json")
    right = {row["id"]: row["ground_truth"] for row in truths}
    docs = {name: _read_lines(data / "multi_turn_func_doc" / file) for name, file in DOC_FILES.items()}
    tools = {name: list(map(convert_function, functions)) for name, functions in docs.items()}
    rows.sort(key=lambda row: hashlib.sha256(row["id"].encode()).hexdigest())
    middle = len(rows) // 2
    return [
        Script(
            id=row["id"],
            requests=tuple(message["content"] for turn in row["question"] for message in turn),
            # They change one state, so calls run one after the other.
            tools=tuple(replace(each, sequential=True) for name in row["involved_classes"] for each in tools[name]),
            truth=tuple(map(tuple, right[row["id"]])),
            row=row,
        )
        for row in (rows[:middle] if half == "tuned" else rows[middle:])
    ]


def _read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def run_code(codes: Sequence[str], script: Script, name: str) -> tuple[list[str], dict[str, Any]]:
    """Run calls on the objects of a name; return their results as texts, and the objects."""
    from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils import execute_multi_turn_func_call

    row = script.row
    return execute_multi_turn_func_call(list(codes), row["initial_config"], row["involved_classes"], name, script.id)


def judge(script: Script, steps: Steps) -> list[bool]:
    """Judge each turn as BFCL's checker does, which itself ends with the first that is wrong.

    A conversation is right if all of its turns are, as the checker says too. Turns that were not reached are wrong.
    """
    from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_checker as checker

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
            is_right = checker.state_checker(objects, right_objects)["valid"]
            is_right = is_right and checker.response_checker(outputs, right_texts, place)["valid"]
        marks.append(is_right and place < len(steps))
    if len(steps) == len(script.truth):
        decoded, truths = [[list(step) for step in turn if step] for turn in steps], list(map(list, script.truth))
        found = checker.multi_turn_checker(decoded, truths, dict(script.row), "multi_turn_base", f"judge_{number}")
        if found["valid"] is not all(marks):
            raise AssertionError(f"{script.id}: turn by turn {marks}, and as a whole {found}")
    return marks


class Conversation:
    """A conversation in one dialect, led by toolspeak's loop.

    `prompt` is to be answered next; None when the conversation has ended. `adapter_file` is the number of the file that
    answers it, of an adapter that has two. `steps` has the calls that were run, by turn of the user and message of the
    model. `shown_in` is another form of the dialect, to render it in.
    """

    def __init__(self, script: Any, dialect_name: str, shown_in: Dialect | None = None) -> None:
        self.script = script
        self.dialect = dialect_name
        self._shown_in = shown_in or dialect(dialect_name)
        self.prompt: str | None = None
        self.adapter_file = 0
        self.steps: list[list[list[str]]] = []
        self.answers: list[list[str]] = []
        self.ends: list[StopReason] = []
        self.tools: Sequence[ToolSpec] = script.tools_at(0)
        self._run_call = script.start()
        self._state = initial_state(self.tools)
        self._begin_turn()

    @property
    def id(self) -> str:
        return f"{self.dialect}/{self.script.id}"

    def take(self, text: str, is_cut: bool = False) -> None:
        """Take an answer, and go on until the model is to be asked again."""
        answer = RecordedAnswer(id=self.id, text=text, finish="length" if is_cut else "stop")
        self._state = take_answer(self._state, self.dialect, answer)
        self.answers[-1].append(text)
        self.steps[-1].append([])
        self._go_on()

    def end(self, reason: StopReason) -> None:
        """End the conversation: its last turn has ended, or its prompt is too long."""
        self.ends.append(reason)
        self.prompt = None

    def to_row(self) -> dict[str, Any]:
        return {"id": self.id, "steps": self.steps, "ends": self.ends, "answers": self.answers}

    def _begin_turn(self) -> None:
        request = self.script.requests[len(self.steps)]
        self.tools = self.script.tools_at(len(self.steps))
        self._checkers = {spec.name: SchemaChecker(spec.name, spec.parameters) for spec in self.tools}
        started = RunStarted(
            run_id="",
            model="",
            dialect=self.dialect,
            messages=(*self._state.history, user(request)),
            limits=Limits(turns=MAX_STEPS),
            in_text=dialect(self.dialect).in_text,
            guided=True,
        )
        self._state = reduce(initial_state(self.tools), started)
        self.steps.append([])
        self.answers.append([])
        self._go_on()

    def _go_on(self) -> None:
        """Do what the loop wants until it wants an answer of the model, or the conversation has ended."""
        while True:
            match decide(self._state):
                case [AskModel() as ask]:
                    shown = self._shown_in.render(
                        self.tools, self._state.shown_history, choice=ask.choice, parallel=ask.parallel
                    )
                    self.prompt, self.adapter_file = render_qwen(shown), choose_file(shown)
                    return
                case [RunTools() as run]:
                    for call in run.calls:
                        self._state = reduce(self._state, ToolStarted(call_id=call.id))
                        self._state = reduce(self._state, ToolFinished(result=self._run(call)))
                case [Guide(fact=fact)]:
                    self._state = reduce(self._state, fact)
                case [Finish(reason=reason, detail=detail)]:
                    self._state = reduce(self._state, RunEnded(reason=reason, detail=detail))
                    self.end(reason)
                    if reason != "limit" and len(self.steps) < len(self.script.requests):
                        self._begin_turn()
                    return
                case actions:
                    raise TypeError(f"{self.id}: {actions} is not expected here")

    def _run(self, call: ToolCall) -> ToolResult:
        """Run a call, unless its arguments are refused."""
        if call.name not in self._checkers:
            return ToolResult(call_id=call.id, error=f"there is no tool {call.name}", ran=False)
        try:
            arguments = self._checkers[call.name].validate(resolve_references(call.arguments, self._state.results))
        except (InvalidArguments, BrokenReference) as error:
            return ToolResult(call_id=call.id, error=str(error), ran=False)
        self.steps[-1][-1].append(write_code(call.name, arguments))
        found = self._run_call(call.name, arguments)
        if isinstance(found, Error):
            return ToolResult(call_id=call.id, error=str(found))
        return ToolResult(call_id=call.id, output=found)


Answer = Callable[[Sequence[str]], Sequence[tuple[str, bool] | None]]
"""Answers prompts, and says of each answer whether it was cut; None for a prompt that is too long."""


def play_all(
    conversations: Iterable[Conversation], answer: Answer, use: Callable[[int], None] = lambda _: None
) -> Iterator[Conversation]:
    """Play conversations to their end; yield each when it has ended.

    `use` is called before prompts are answered, with the number of the file of the adapter that answers them.
    """
    going_on = [each for each in conversations if each.prompt is not None]
    while going_on:
        by_file = [[each for each in going_on if each.adapter_file == file] for file in (0, 1)]
        for file, asked in enumerate(by_file):
            use(file)
            for each, answered in zip(asked, answer([each.prompt or "" for each in asked]), strict=True):
                if answered is None:
                    each.end("limit")
                else:
                    each.take(*answered)
        yield from (each for each in going_on if each.prompt is None)
        going_on = [each for each in going_on if each.prompt is not None]


def make_conversations(
    half: Half, dialects: Sequence[str], limit: int | None = None, *, figures: bool = False
) -> list[Conversation]:
    """Make the conversations of a half; with figures, they show what is worked out from results."""
    shown_in = {name: show_figures(dialect(name)) if figures else dialect(name) for name in dialects}
    return [Conversation(script, *each) for script in load_scripts(half)[:limit] for each in shown_in.items()]


def play_runs(options: argparse.Namespace) -> None:
    """Play the conversations with each of the adapters, and without one."""
    from answer import load_model
    from lora import use_adapters

    settings = read_settings()
    tokenizer, model = load_model(options.gguf)
    bounds = {"width": options.width, **settings["answers"]}
    for name in options.runs:
        chosen = settings["runs"][name]
        with use_adapters(model, find_adapters(options.folder, name, chosen), chosen) as use:
            conversations = make_conversations(
                options.half, options.dialects.split(","), options.limit, figures=chosen["figures"]
            )
            path = name_file(options.folder, options.half, name)
            play_with(model, tokenizer, conversations, path, use=use, **bounds)
        print(f"{name}: {len(conversations)} conversations have ended", flush=True)


def play_with(
    model: Any,
    tokenizer: Any,
    conversations: Sequence[Conversation],
    path: Path,
    *,
    use: Callable[[int], None] = lambda _: None,
    width: int = MAX_WIDTH,
    **batches: int,
) -> None:
    """Play conversations with a model, and write them to a file. `use` changes its adapter, as `play_all` says."""
    from answer import answer_prompts

    part = path.with_suffix(".part")  # a file that was cut is not taken for all conversations
    ended = play_all(conversations, partial(answer_prompts, model, tokenizer, width=width, **batches), use)
    write_rows(part, (each.to_row() for each in ended))
    part.replace(path)


def name_file(folder: Path, half: Half, run: str) -> Path:
    """Return the file of the conversations that were played with a run."""
    return folder / f"{'worlds' if half == 'worlds' else 'multi-turn'}-{run}.jsonl.gz"


def print_scores(paths: Sequence[Path], half: Half) -> None:
    """Print a table: the conversations and the turns that are right, in percent, for each file and dialect."""
    scripts = {script.id: script for script in load_scripts(half)}
    print("| run | dialect | conversations | right | turns | right | the first turn | ended at the limit |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for path in paths:
        by_dialect: dict[str, list[tuple[Any, dict[str, Any]]]] = {}
        for row in read_rows(path):
            name, _, script_id = row["id"].partition("/")
            by_dialect.setdefault(name, []).append((scripts[script_id], row))
        for name, rows in by_dialect.items():
            marks = [script.judge(row["steps"]) for script, row in rows]
            limited = sum("limit" in row["ends"] for _, row in rows)
            turns, whole, first = list(chain(*marks)), list(map(all, marks)), [each[0] for each in marks]
            right, right_turns, right_first = (f"{100 * sum(each) / len(each):.1f}" for each in (whole, turns, first))
            cells = [len(marks), right, len(turns), right_turns, right_first, limited]
            run = path.name.removeprefix("multi-turn-").removeprefix("worlds-").removesuffix(".jsonl.gz")
            print(f"| {run} | {name} | {' | '.join(map(str, cells))} |")
