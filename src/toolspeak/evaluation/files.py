"""Prompts, answers and results as JSON Lines; gzipped where the name of the file ends in `.gz`.

A line of prompts has `id`, `prompt` and `shown`. A line of answers has `id` and `text`, and as far as known
`prompt_tokens`, `answer_tokens`, `finish` and what else was in the line of the prompt. A line of results is a line of
answers with the verdict on it, so results can be scored again as answers. A question that was asked again has a line
for each answer; the verdict of each is on all answers up to it.
"""

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO, cast, get_args

from toolspeak.dialects import Shown
from toolspeak.errors import UsageError
from toolspeak.evaluation.records import RecordedAnswer, RecordedCall, TrialResult
from toolspeak.evaluation.templates import as_sent
from toolspeak.evaluation.trials import Trial, as_json
from toolspeak.events import FinishReason
from toolspeak.wire.openai_chat import tool_definitions

MOST_TOKENS = 256
"""Tokens at which an answer is cut, unless something else is said."""

FINISHES: tuple[str, ...] = get_args(FinishReason)


def rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a file, each with where it stands, in words."""
    try:
        with _opened(path, "rt") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                where = f"{path}, line {number}"
                try:
                    row: Any = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise UsageError(f"{where} is not JSON: {error}") from None
                if not isinstance(row, dict):
                    raise UsageError(f"{where} is not an object")
                yield where, cast("dict[str, Any]", row)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


def write_prompts(path: Path, trials: Iterable[Trial], template: Callable[[Shown], str]) -> int:
    """Write the prompts of trials; how many there are."""
    count = 0
    with _written(path) as file:
        for trial in trials:
            row = {"id": trial.id, "prompt": template(trial.shown()), "shown": trial.mark()}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def read_answers(path: Path, *, most_tokens: int = MOST_TOKENS) -> list[RecordedAnswer]:
    """The answers of a file. Of two with one id the later holds. One of `most_tokens` was cut, if it says nothing."""
    found: dict[str, RecordedAnswer] = {}
    for where, row in rows(path):
        answered = _answered(row, where, most_tokens)
        found[answered.id] = answered
    return list(found.values())


def _answered(row: Mapping[str, Any], where: str, most_tokens: int) -> RecordedAnswer:
    for key in ("id", "text"):
        if not isinstance(row.get(key), str):
            raise UsageError(f"{where} has no {key!r}; an answer is {{'id': …, 'text': …}}")
    tokens = _number(row, "answer_tokens")
    finish = row.get("finish")
    if finish not in FINISHES:
        finish = "length" if tokens is not None and tokens >= most_tokens else "stop"
    seconds = row.get("seconds")
    return RecordedAnswer(
        id=row["id"],
        text=row["text"],
        spoken=tuple(RecordedCall(name=call["name"], arguments=call["arguments"]) for call in row.get("spoken", ())),
        finish=finish,
        prompt_tokens=_number(row, "prompt_tokens"),
        answer_tokens=tokens,
        seconds=seconds if isinstance(seconds, int | float) else None,
        shown=str(row.get("shown", "")),
        model=str(row.get("model", "")),
    )


def _number(row: Mapping[str, Any], key: str) -> int | None:
    return row[key] if type(row.get(key)) is int else None


def cut_unfinished(path: Path) -> None:
    """Cut off a last line that was not finished: whoever wrote it was ended in the middle."""
    if path.suffix == ".gz" or not path.exists():
        return
    with path.open("rb+") as file:
        written = file.read()
        file.truncate(written.rfind(b"\n") + 1)


class ResultsFile:
    """Results, one a line, each written as soon as it is there: what was answered is kept, whatever happens next."""

    def __init__(self, path: Path, *, anew: bool = False) -> None:
        """Open the file to add to it, or to write it anew."""
        self._file = _written(path, add=not anew)

    def add(self, result: TrialResult) -> None:
        self._file.write(json.dumps(result_row(result), ensure_ascii=False) + "\n")
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def result_row(result: TrialResult) -> dict[str, Any]:
    """A result as a line of the file."""
    answered = result.answered
    row: dict[str, Any] = {
        "id": answered.id,
        "right": result.verdict.right,
        "why": result.verdict.why,
        "read": as_json(result.calls),
        "malformed": list(result.malformed),
        "text": answered.text,
        "spoken": [{"name": call.name, "arguments": call.arguments} for call in answered.spoken],
        "finish": answered.finish,
        "prompt_tokens": answered.prompt_tokens,
        "answer_tokens": answered.answer_tokens,
        "seconds": answered.seconds,
        "shown": answered.shown,
        "model": answered.model,
    }
    needless: dict[str, Any] = {"why": "", "malformed": [], "spoken": [], "seconds": None, "shown": "", "model": ""}
    return {key: value for key, value in row.items() if key not in needless or value != needless[key]}


def write_failures(
    path: Path, failed: Iterable[tuple[Trial, TrialResult]], template: Callable[[Shown], str] | None
) -> int:
    """Write what went wrong, to be read by a person; how much there is.

    Args:
        path: Where to.
        failed: The wrong answers.
        template: How the prompt is laid out; messages and tools are written as they are shown if None.
    """
    count = 0
    with _written(path) as file:
        for trial, result in failed:
            file.write(_failure(trial, result, template))
            count += 1
    return count


def _failure(trial: Trial, result: TrialResult, template: Callable[[Shown], str] | None) -> str:
    parts = {
        "question": _said(trial.shown()) if template is None else template(trial.shown()),
        "answer": "\n".join(
            (result.answered.text, *(f"{call.name}({call.arguments})" for call in result.answered.spoken))
        ),
        "expected": trial.suite.expected(trial.question),
        "read": "\n".join(_read(result)),
        "why": result.verdict.why,
    }
    body = "\n".join(f"--- {title}\n{text.strip()}" for title, text in parts.items())
    return f"=== {trial.id}\n{body}\n\n"


def _read(result: TrialResult) -> Iterator[str]:
    """What was judged: the calls of all answers. Why earlier ones were malformed, the question says."""
    calls = as_json(call for each in result.series for call in each.calls)
    yield from (json.dumps(call, ensure_ascii=False) for call in calls)
    if not calls:
        yield "no call"
    yield from (f"malformed: {reason}" for reason in result.malformed)


def _said(shown: Shown) -> str:
    lines = [json.dumps(tool, ensure_ascii=False) for tool in tool_definitions(shown.tools)]
    for message in as_sent(shown):
        calls = [call["function"] for call in message.get("tool_calls", ())]
        spoken = [f"{call['name']}({call['arguments']})" for call in calls]
        lines.append(f"{message['role']}: " + "\n".join(filter(None, (message["content"], *spoken))))
    return "\n".join(lines)


def _opened(path: Path, mode: str) -> TextIO:
    if path.suffix == ".gz":
        return cast("TextIO", gzip.open(path, mode, encoding="utf-8"))
    return cast("TextIO", path.open(mode, encoding="utf-8"))


def _written(path: Path, *, add: bool = False) -> TextIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _opened(path, "at" if add else "wt")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
