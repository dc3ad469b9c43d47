"""How tools are shown to a model, and how its calls are understood.

    specs, history ── render ──► what the model is shown
    text, as it arrives ── parser ──► events

Showing: `dialect.py` is the contract, `text.py` the dialects told in a prompt (`json_form.py`, `typescript_form.py`,
`python_form.py`; the prompts are in `prompts/`), `native.py` the API's own.

Reading, one reader for every form, from the message down to the letter: `reader.py`, `calls.py`, `meaning.py`,
`code.py`, `values.py`, `strings.py`, `source.py`. ARCHITECTURE.md has the map.
"""

from collections.abc import Sequence

from toolspeak.dialects.dialect import Constraint, Dialect, Parser, Shown
from toolspeak.dialects.native import NATIVE
from toolspeak.dialects.text import JSON, PYTHON, TYPESCRIPT
from toolspeak.errors import UsageError
from toolspeak.events import FinishReason
from toolspeak.reading.content import MessageContent, fold
from toolspeak.spec import ToolSpec

DIALECTS: dict[str, Dialect] = {each.name: each for each in (NATIVE, JSON, TYPESCRIPT, PYTHON)}

__all__ = [
    "DIALECTS",
    "JSON",
    "NATIVE",
    "PYTHON",
    "TYPESCRIPT",
    "Constraint",
    "Dialect",
    "MessageContent",
    "Parser",
    "Shown",
    "dialect",
    "fold",
    "read",
]


def read(
    text: str, specs: Sequence[ToolSpec], *, dialect: Dialect = JSON, finish: FinishReason = "stop"
) -> MessageContent:
    r"""What a whole message means.

    Example:
        >>> spec = ToolSpec(name="now", description="The time.", parameters={"type": "object", "properties": {}})
        >>> read("Let me see.\n```python\nnow()\n```", [spec]).calls[0].call.name
        'now'
    """
    parser = dialect.parser(specs)
    return fold([*parser.feed(text), *parser.close(finish)])


def dialect(name: str) -> Dialect:
    """The dialect of that name."""
    if name in DIALECTS:
        return DIALECTS[name]
    raise UsageError(f"there is no dialect {name!r}; the dialects are: {', '.join(DIALECTS)}")
