"""`toolspeak config`: the settings and their origins."""

import json
from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from toolspeak.cli.safe_text import escape_line
from toolspeak.settings import SettingRow, Settings, cache_folder, user_file
from toolspeak.settings.values import UNTRUSTED


def format_json(settings: Settings) -> str:
    """Format the settings as a JSON object."""
    rows: dict[str, object] = {row.setting: {"value": row.value, "origin": row.origin} for row in settings.rows()}
    if settings.ignored:
        rows["ignored"] = [
            {"file": each.where, "reason": each.reason, "settings": dict(each.rows)} for each in settings.ignored
        ]
    return json.dumps(rows, indent=2, ensure_ascii=False)


def format_lines(settings: Settings) -> str:
    """Format the settings for a pipe: one line each, with tabs between the columns."""
    return "\n".join("\t".join(map(escape_line, row)) for row in (*settings.rows(), *ignored_rows(settings)))


def render_table(settings: Settings) -> RenderableType:
    """Lay out the settings as a table for a terminal, followed by the folders."""
    table = render_rows(settings.rows())
    for row in ignored_rows(settings):
        table.add_row(*(Text(escape_line(cell), "yellow") for cell in row))
    return Group(table, Text(""), _describe_files())


def render_rows(rows: Iterable[SettingRow]) -> Table:
    """Lay out rows as a table for a terminal."""
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column("setting", style="cyan", no_wrap=True)
    table.add_column("value", overflow="fold")
    table.add_column("from", style="dim", overflow="fold")
    for row in rows:
        table.add_row(*(Text(escape_line(cell)) for cell in row))
    return table


def ignored_rows(settings: Settings) -> list[SettingRow]:
    """Return a row for each setting of a project that does not count, with the reason as its origin."""
    rows: list[SettingRow] = []
    for each in settings.ignored:
        if each.reason == UNTRUSTED:
            origin = f"{each.where}, which is not trusted; to see it and decide: toolspeak trust"
            rows += [SettingRow(f"{name} (ignored)", value, origin) for name, value in each.rows]
        else:
            rows.append(SettingRow("(a skipped file)", each.where, each.reason))
    return rows


def _describe_files() -> Text:
    path = user_file()
    note = "" if path.exists() else " (does not exist)"
    return Text(
        f"your file: {escape_line(str(path))}{note}\nthe cache: {escape_line(str(cache_folder()))}", style="dim"
    )
