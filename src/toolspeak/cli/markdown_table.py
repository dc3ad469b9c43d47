"""Tables of markdown: lines that begin with `|`, of which the second separates the header from the rows.

The widths of the columns depend on every row, so a table is drawn when its last line has arrived.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from io import StringIO
from typing import Literal, TypeAlias

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

Justify: TypeAlias = Literal["left", "center", "right"]

TABLE_START = re.compile(r"[ \t]*\|")

MAX_TABLE_LINES = 500
"""A longer table is drawn in parts, of which only the first has a header."""

MIN_COLUMN_CELLS = 6
"""A table with less room for each column is not drawn."""

_SEPARATOR = re.compile(r"[ \t]*:?-+:?[ \t]*")
_UNESCAPED_PIPE = re.compile(r"(?<!\\)\|")


def draw_table(
    lines: Sequence[str], width: int, render_inline: Callable[[str], list[tuple[str, str]]]
) -> "list[list[tuple[str, str]]] | None":
    """Draw a table as lines of texts with their styles; None if the lines are no table or do not fit the width.

    Args:
        lines: The lines of the markdown.
        width: The width of the window.
        render_inline: Renders the markup in a cell as texts with their styles.
    """
    rows = [_split_cells(line) for line in lines]
    if len(rows) < 2 or len(rows[0]) != len(rows[1]) or not all(map(_SEPARATOR.fullmatch, rows[1])):
        return None
    if width < len(rows[0]) * MIN_COLUMN_CELLS:
        return None
    table = Table(box=box.MINIMAL, show_edge=False, pad_edge=False, header_style="bold")
    for title, separator in zip(rows[0], rows[1], strict=True):
        table.add_column(_assemble(render_inline(title)), justify=_read_justify(separator), overflow="fold")
    for row in rows[2:]:
        padded = [*row, *[""] * len(rows[0])][: len(rows[0])]
        table.add_row(*(_assemble(render_inline(cell)) for cell in padded))
    return list(_render(table, width))


def _split_cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    cells = _UNESCAPED_PIPE.split(inner)
    if not cells[-1].strip() and len(cells) > 1:  # the pipe at the end of the line
        cells.pop()
    return [cell.strip().replace("\\|", "|") for cell in cells]


def _read_justify(separator: str) -> Justify:
    separator = separator.strip()
    if separator.endswith(":"):
        return "center" if separator.startswith(":") else "right"
    return "left"


def _assemble(spans: list[tuple[str, str]]) -> Text:
    text = Text()
    for content, style in spans:
        text.append(content, style)
    return text


def _render(table: Table, width: int) -> Iterator[list[tuple[str, str]]]:
    console = Console(file=StringIO(), width=width, color_system=None, markup=False, emoji=False, highlight=False)
    for line in console.render_lines(table, pad=False):
        spans = [(segment.text, str(segment.style or "")) for segment in line]
        while spans and not spans[-1][0].strip():
            spans.pop()
        if spans:
            spans[-1] = (spans[-1][0].rstrip(), spans[-1][1])
        yield [(text, "" if style == "none" else style) for text, style in spans]
