"""`toolspeak config`: the settings and their origins."""

import json

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from toolspeak.settings import Settings, cache_folder, user_file


def format_json(settings: Settings) -> str:
    """Format the settings as a JSON object."""
    rows = {row.setting: {"value": row.value, "origin": row.origin} for row in settings.rows()}
    return json.dumps(rows, indent=2, ensure_ascii=False)


def format_lines(settings: Settings) -> str:
    """Format the settings for a pipe: one line each, with tabs between the columns."""
    return "\n".join("\t".join(row) for row in settings.rows())


def render_table(settings: Settings) -> RenderableType:
    """Lay out the settings as a table for a terminal, followed by the folders."""
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column("setting", style="cyan", no_wrap=True)
    table.add_column("value", overflow="fold")
    table.add_column("from", style="dim", overflow="fold")
    for row in settings.rows():
        table.add_row(*(Text(cell) for cell in row))
    return Group(table, Text(""), _describe_files())


def _describe_files() -> Text:
    path = user_file()
    note = "" if path.exists() else " (does not exist)"
    return Text(f"your file: {path}{note}\nthe cache: {cache_folder()}", style="dim")
