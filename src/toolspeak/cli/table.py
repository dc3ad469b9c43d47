"""Prints a table: with aligned columns in a terminal, as lines with tabs elsewhere."""

import sys
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from toolspeak.cli.console import SafeConsole
from toolspeak.cli.safe_text import escape_line
from toolspeak.evaluation import tables


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print a table, of which the first row is the header and the first column holds names."""
    console, rows = SafeConsole(), [[escape_line(cell) for cell in row] for row in rows]
    if not console.is_terminal:
        sys.stdout.write(tables.format_lines(rows) + "\n")
        return
    table = Table(box=None, header_style="dim", pad_edge=False)
    for number, title in enumerate(rows[0]):
        table.add_column(title, justify="right" if number else "left", style="" if number else "cyan", no_wrap=True)
    for row in rows[1:]:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
