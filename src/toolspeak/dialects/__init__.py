"""Dialects: how tools are shown to a model, and how the calls in its text are read.

    specs, history ── render ──► what the model is shown
    text, as it arrives ── parser ──► events

`dialect.py` is the contract: start there. `native.py` leaves tools and calls to the API; `leak_reader.py` reads calls
that its server should have recognised. `text.py` holds the three dialects that describe tools in the prompt. It puts
together a prompt (`prompts/`), a way to write tools and calls (`json_notation.py`, `typescript_notation.py`,
`python_notation.py`, with what these share in `notation.py`), and what a server can hold forced calls to
(`grammar.py`). The reading itself is done in `toolspeak.reading`: one reader for every form of call, whichever dialect
was asked for.

Under a budget of tokens, `tool_selection.py` says which of many tools a model is shown, and where; `slim_tools.py` cuts
their descriptions, and `tool_index.py` ranks them, by words and by the meaning that `word_vectors.py` knows.
`explanation_notes.py` has words for how a call was read, and `figures.py` works out what follows from results.

This room imports `values/`, `reading/` and, of `settings/`, `plugins.py` and `files.py`. What reads answers is imported
with the first answer.

To add:

- words of a prompt: `prompts/`;
- a dialect: a class with the four members of `Dialect`, in `DIALECTS` here, or an entry point `toolspeak.dialects`;
- a way in which a raw text is written: `json_notation.py`, and read: `reading/raw_calls.py`;
- how a schema restricts values in a grammar: `ValueRules` in `grammar.py`;
- what is cut from a description, and in which order: `slim_tools.py`; a kind of value that tells which parameter takes
  it, a word that tells nothing: `tool_index.py` (`bench/many_tools.py` measures it).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolspeak.dialects.dialect import Constraint, Dialect, Parser, Shown
from toolspeak.dialects.native import NATIVE
from toolspeak.dialects.text import JSON, PYTHON, TYPESCRIPT
from toolspeak.reading.emitter import MessageContent, fold
from toolspeak.settings.plugins import Plugin, find_plugin, list_plugin_names
from toolspeak.values.errors import UsageError
from toolspeak.values.events import FinishReason
from toolspeak.values.package import export_lazily
from toolspeak.values.spec import ToolSpec

if TYPE_CHECKING:
    from toolspeak.reading.explanation import Explanation, explain
    from toolspeak.reading.trace import MessageSpan, Refusal, RepairPlace
else:  # what reads answers is imported with the first answer
    __getattr__ = export_lazily(
        "toolspeak.reading", explanation=("Explanation", "explain"), trace=("MessageSpan", "Refusal", "RepairPlace")
    )

DIALECTS: dict[str, Dialect] = {each.name: each for each in (NATIVE, JSON, TYPESCRIPT, PYTHON)}
"""The dialects of toolspeak, by name."""

__all__ = [
    "DIALECTS",
    "JSON",
    "NATIVE",
    "PYTHON",
    "TYPESCRIPT",
    "Constraint",
    "Dialect",
    "Explanation",
    "MessageContent",
    "MessageSpan",
    "Parser",
    "Refusal",
    "RepairPlace",
    "Shown",
    "dialect",
    "explain",
    "fold",
    "read",
]


def read(
    text: str, specs: Sequence[ToolSpec], *, dialect: Dialect = JSON, finish: FinishReason = "stop"
) -> MessageContent:
    r"""Parse a whole message.

    Args:
        text: The text of the message.
        specs: The tools on offer.
        dialect: The dialect whose parser is used.
        finish: How the message ended. A call that is cut off at the end is completed only if the message ended well.

    Examples:
        >>> schema = {"type": "object", "properties": {}}
        >>> spec = ToolSpec(name="now", description="The time.", parameters=schema)
        >>> read("Let me see.\n```python\nnow()\n```", [spec]).calls[0].call.name
        'now'
    """
    parser = dialect.parser(specs)
    return fold([*parser.feed(text), *parser.close(finish)])


def dialect(name: str) -> Dialect:
    """Return the dialect of that name: one of `DIALECTS`, or one that an installed package offers.

    Raises:
        UsageError: There is no such dialect, or its package is broken.
    """
    if name in DIALECTS:
        return DIALECTS[name]
    if plugin := find_plugin("toolspeak.dialects", name):
        return _check_plugin(plugin)
    names = (*DIALECTS, *list_plugin_names("toolspeak.dialects"))
    raise UsageError(f"there is no dialect {name!r}; the dialects are: {', '.join(names)}")


def _check_plugin(plugin: Plugin) -> Dialect:
    found = plugin.load()
    missing = [member for member in ("name", "in_text", "render", "parser") if not hasattr(found, member)]
    if isinstance(found, type) or missing:
        raise plugin.refuse("it is not a dialect object" + (f" (it has no {', '.join(missing)})" if missing else ""))
    if found.name != plugin.name:  # runs record the name of the dialect, and it is looked up by that name
        raise plugin.refuse(f"the dialect is called {found.name!r}")
    return found
