"""Prompts, answers and results as JSON Lines; gzipped where the name of the file ends in `.gz`.

A line of prompts has `id`, `prompt`, `shown`, which is the hash of the prompt, and `adapter_file`, the file of the
embedded model's adapter that a run would use. A line of answers has `id` and `text`, and if known `prompt_tokens`,
`answer_tokens`, `finish` and the other fields of the prompt. A line of results is a line of answers with the verdict,
so that results can be scored again as answers. A question with follow-ups has a line for each answer; the verdict of
each is about all answers up to it.

Chat templates turn messages into the prompt text that a model reads. Usually a server applies the template. It is
needed here where answers are made elsewhere, from prompts written to a file. In `native` the conversation of a
follow-up has calls and their results; in the other dialects all is text.
"""

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, Self, TextIO, cast, get_args

from toolspeak.dialects import Shown
from toolspeak.lab.trials import RecordedAnswer, RecordedCall, Trial, TrialResult, encode_calls
from toolspeak.models.adapters import choose_file
from toolspeak.values.errors import UsageError
from toolspeak.values.events import FinishReason
from toolspeak.wire.chat_request import ChatRequest
from toolspeak.wire.openai_chat import request_body, tool_definitions

DEFAULT_SYSTEM = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."

TOOLS_BEFORE = (
    "\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
TOOLS_AFTER = (
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments within "
    '<tool_call></tool_call> XML tags:\n<tool_call>\n{{"name": <function-name>, "arguments": <args-json-object>}}\n'
    "</tool_call>"
)
"""The doubled braces are those of the original template."""


def request_messages(shown: Shown) -> list[dict[str, Any]]:
    """Return the messages as they are sent to a server."""
    return request_body(ChatRequest(model="", messages=shown.messages))["messages"]


def render_qwen(shown: Shown) -> str:
    """Render the template of Qwen2.5 and Qwen2.5-Coder, with the tools in its own form."""
    messages = request_messages(shown)
    system = messages.pop(0)["content"] if messages and messages[0]["role"] == "system" else DEFAULT_SYSTEM
    if shown.tools:
        tools = "".join(f"\n{json.dumps(tool, ensure_ascii=False)}" for tool in tool_definitions(shown.tools))
        system = f"{system}{TOOLS_BEFORE}{tools}{TOOLS_AFTER}"
    return _join_messages([("system", system), *_qwen_messages(messages)])


def _qwen_messages(messages: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield role and text of each message; calls as the model writes them, consecutive results as one user message."""
    for role, each in groupby(messages, key=lambda message: message["role"]):
        if role == "tool":
            results = [f"<tool_response>\n{message['content']}\n</tool_response>" for message in each]
            yield "user", "\n".join(results)
            continue
        for message in each:
            texts: list[str] = [message["content"]] if message["content"] else []
            for function in (call["function"] for call in message.get("tool_calls", ())):
                arguments = json.dumps(json.loads(function["arguments"]), ensure_ascii=False)
                texts.append(f'<tool_call>\n{{"name": "{function["name"]}", "arguments": {arguments}}}\n</tool_call>')
            yield role, "\n".join(texts)


def render_chatml(shown: Shown) -> str:
    """Render ChatML, the template of many small models. It has no form for tools, so `native` cannot use it."""
    if shown.tools:
        raise UsageError("the template chatml has no form for tools; leave out the dialect native")
    return _join_messages([(message.role, message.text) for message in shown.messages])


def _join_messages(messages: list[tuple[str, str]]) -> str:
    joined = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in messages)
    return f"{joined}<|im_start|>assistant\n"


TEMPLATES: dict[str, Callable[[Shown], str]] = {"qwen2.5": render_qwen, "chatml": render_chatml}


def find_template(name: str) -> Callable[[Shown], str]:
    """Return the template of a name."""
    if name in TEMPLATES:
        return TEMPLATES[name]
    raise UsageError(f"there is no template {name!r}; the templates are: {', '.join(TEMPLATES)}")


DEFAULT_MAX_TOKENS = 256
"""The number of tokens at which an answer is cut by default."""

FINISHES: tuple[str, ...] = get_args(FinishReason)


def read_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a file, each with its place in words for error messages."""
    try:
        with _open(path, "rt") as file:
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
    """Write the prompts of trials; return how many there are."""
    return _write(path, (json.dumps(make_prompt(each, template), ensure_ascii=False) + "\n" for each in trials))


def make_prompt(trial: Trial, template: Callable[[Shown], str]) -> dict[str, Any]:
    """Return the line of prompts for a trial."""
    shown = trial.render()
    prompt = {"id": trial.id, "prompt": template(shown), "shown": trial.prompt_hash()}
    return prompt | {"adapter_file": choose_file(shown)}


def read_answers(path: Path, *, max_tokens: int = DEFAULT_MAX_TOKENS) -> list[RecordedAnswer]:
    """Read the answers of a file; of two with the same id the later counts.

    An answer of at least `max_tokens` tokens counts as cut, unless its line says how it ended.
    """
    found: dict[str, RecordedAnswer] = {}
    for where, row in read_rows(path):
        answer = _parse_answer(row, where, max_tokens)
        found[answer.id] = answer
    return list(found.values())


def _parse_answer(row: Mapping[str, Any], where: str, max_tokens: int) -> RecordedAnswer:
    for key in ("id", "text"):
        if not isinstance(row.get(key), str):
            raise UsageError(f"{where} has no {key!r}; an answer is {{'id': …, 'text': …}}")
    tokens = _number(row, "answer_tokens")
    finish = row.get("finish")
    if finish not in FINISHES:
        finish = "length" if tokens is not None and tokens >= max_tokens else "stop"
    seconds = row.get("seconds")
    return RecordedAnswer(
        id=row["id"],
        text=row["text"],
        api_calls=tuple(RecordedCall(name=call["name"], arguments=call["arguments"]) for call in row.get("spoken", ())),
        finish=finish,
        prompt_tokens=_number(row, "prompt_tokens"),
        answer_tokens=tokens,
        seconds=seconds if isinstance(seconds, int | float) else None,
        prompt_hash=str(row.get("shown", "")),
        model=str(row.get("model", "")),
    )


def _number(row: Mapping[str, Any], key: str) -> int | None:
    return row[key] if type(row.get(key)) is int else None


def drop_unfinished_line(path: Path) -> None:
    """Remove a last line without a line end: the program that wrote it was ended in the middle."""
    if path.suffix == ".gz" or not path.exists():
        return
    with path.open("rb+") as file:
        content = file.read()
        file.truncate(content.rfind(b"\n") + 1)


class ResultsFile:
    """Writes results, one a line, each at once: an answer is kept whatever happens next."""

    def __init__(self, path: Path, *, overwrite: bool = False) -> None:
        """Open the file to append to it, or to overwrite it."""
        self._file = _open_for_writing(path, append=not overwrite)

    def add(self, result: TrialResult) -> None:
        self._file.write(json.dumps(build_row(result), ensure_ascii=False) + "\n")
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def build_row(result: TrialResult) -> dict[str, Any]:
    """Return a result as a line of the file."""
    answer = result.answer
    row: dict[str, Any] = {
        "id": answer.id,
        "right": result.verdict.right,
        "why": result.verdict.why,
        "read": encode_calls(result.calls),
        "malformed": list(result.malformed),
        "text": answer.text,
        "spoken": [{"name": call.name, "arguments": call.arguments} for call in answer.api_calls],
        "finish": answer.finish,
        "prompt_tokens": answer.prompt_tokens,
        "answer_tokens": answer.answer_tokens,
        "seconds": answer.seconds,
        "shown": answer.prompt_hash,
        "model": answer.model,
    }
    defaults: dict[str, Any] = {"why": "", "malformed": [], "spoken": [], "seconds": None, "shown": "", "model": ""}
    return {key: value for key, value in row.items() if key not in defaults or value != defaults[key]}


def write_failures(
    path: Path, failed: Iterable[tuple[Trial, TrialResult]], template: Callable[[Shown], str] | None
) -> int:
    """Write wrong answers to a text file for people to read; return how many there are.

    Without a chat template, messages and tools are written as they are sent.
    """
    return _write(path, (_format_failure(trial, result, template) for trial, result in failed))


def _format_failure(trial: Trial, result: TrialResult, template: Callable[[Shown], str] | None) -> str:
    parts = {
        "question": _format_prompt(trial.render()) if template is None else template(trial.render()),
        "answer": "\n".join(
            (result.answer.text, *(f"{call.name}({call.arguments})" for call in result.answer.api_calls))
        ),
        "expected": trial.suite.expected(trial.question),
        "read": "\n".join(_format_calls(result)),
        "why": result.verdict.why,
    }
    body = "\n".join(f"--- {title}\n{text.strip()}" for title, text in parts.items())
    return f"=== {trial.id}\n{body}\n\n"


def _format_calls(result: TrialResult) -> Iterator[str]:
    """Yield what was judged: the calls of all answers. The prompt has the reasons of earlier malformed calls."""
    calls = encode_calls(call for each in result.series for call in each.calls)
    yield from (json.dumps(call, ensure_ascii=False) for call in calls)
    if not calls:
        yield "no call"
    yield from (f"malformed: {reason}" for reason in result.malformed)


def _format_prompt(shown: Shown) -> str:
    lines = [json.dumps(tool, ensure_ascii=False) for tool in tool_definitions(shown.tools)]
    for message in request_messages(shown):
        calls = [call["function"] for call in message.get("tool_calls", ())]
        written = [f"{call['name']}({call['arguments']})" for call in calls]
        lines.append(f"{message['role']}: " + "\n".join(filter(None, (message["content"], *written))))
    return "\n".join(lines)


def _write(path: Path, texts: Iterable[str]) -> int:
    """Write texts one after the other, and return how many there are."""
    with _open_for_writing(path) as file:
        return sum(1 for text in texts if file.write(text))


def _open(path: Path, mode: str) -> TextIO:
    if path.suffix == ".gz":
        return cast("TextIO", gzip.open(path, mode, encoding="utf-8"))
    return cast("TextIO", path.open(mode, encoding="utf-8"))


def _open_for_writing(path: Path, *, append: bool = False) -> TextIO:
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {path.parent}")
    try:
        return _open(path, "at" if append else "wt")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
