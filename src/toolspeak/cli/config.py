"""`toolspeak config`: the settings that hold, and where each came from."""

import json

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from toolspeak.settings import Settings, cache_folder, user_file


def as_json(settings: Settings) -> str:
    """The settings for a program."""
    rows = {row.setting: {"value": row.value, "origin": row.origin} for row in settings.shown()}
    return json.dumps(rows, indent=2, ensure_ascii=False)


def as_lines(settings: Settings) -> str:
    """The settings where nobody looks: a line each, with tabs between."""
    return "\n".join("\t".join(row) for row in settings.shown())


def listing(settings: Settings) -> RenderableType:
    """The settings for a person."""
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column("setting", style="cyan", no_wrap=True)
    table.add_column("value", overflow="fold")
    table.add_column("from", style="dim", overflow="fold")
    for row in settings.shown():
        table.add_row(*(Text(cell) for cell in row))
    return Group(table, Text(""), _folders())


def _folders() -> Text:
    path = user_file()
    there = "" if path.exists() else " (not there)"
    return Text(f"your file: {path}{there}\nthe cache: {cache_folder()}", style="dim")
