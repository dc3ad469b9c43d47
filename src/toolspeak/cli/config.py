"""`toolspeak config`: the settings and their origins; with `--model`, a model, its endpoint, its dialect, and why."""

import json
import sys
from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from toolspeak.cli.agent_config import find_chosen_dialect
from toolspeak.cli.format import SafeConsole
from toolspeak.cli.safe_text import escape_line, write_output
from toolspeak.models import EmbeddedModel, HttpModel, Model
from toolspeak.models.model import GUESS_CURE, choose_model_dialect
from toolspeak.run import portal
from toolspeak.run.inputs import find_dialect
from toolspeak.run.model_lookup import find_model
from toolspeak.settings import SettingRow, Settings, cache_folder, user_file
from toolspeak.settings.files import log_path
from toolspeak.settings.values import UNTRUSTED


def print_report(report: "SettingsReport | ModelExplanation", *, as_json: bool) -> None:
    """Print a report: as JSON, as a table in a terminal, or as lines."""
    console = SafeConsole()
    if as_json:
        write_output(report.format_json() + "\n")
    elif console.is_terminal:
        console.print(report.render_table())
    else:
        sys.stdout.write(report.format_lines() + "\n")


class SettingsReport:
    """The settings and their origins."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def format_json(self) -> str:
        """Format the settings as a JSON object, with values that a program can use: null for what is not set."""
        settings = self._settings
        data: dict[str, object] = {
            name: {"value": value, "origin": settings.origin(name)} for name, value in settings.values()
        }
        if settings.ignored:
            data["ignored"] = [
                {"file": each.where, "reason": each.reason, "settings": dict(each.values)} for each in settings.ignored
            ]
        return json.dumps(data, indent=2, ensure_ascii=False)

    def format_lines(self) -> str:
        """Format the settings for a pipe: one line each, with tabs between the columns."""
        rows = (*self._settings.rows(), *ignored_rows(self._settings))
        return "\n".join("\t".join(map(escape_line, row)) for row in rows)

    def render_table(self) -> RenderableType:
        """Lay out the settings as a table for a terminal, followed by the folders."""
        table = render_rows(self._settings.rows())
        for row in ignored_rows(self._settings):
            table.add_row(*(Text(escape_line(cell), "yellow") for cell in row))
        path = user_file()
        note = "" if path.exists() else " (does not exist)"
        files = (
            f"your file: {escape_line(str(path))}{note}\n"
            f"the log: {escape_line(str(log_path()))}\n"
            f"the cache: {escape_line(str(cache_folder()))}"
        )
        return Group(table, Text(""), Text(files, style="dim"))


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


class ModelExplanation:
    """A model as `toolspeak run --model NAME` would use it: what was chosen, and why.

    The server of an unknown model is asked for its abilities, as before a run.

    Attributes:
        choice: The dialect, and why it was chosen.
        rows: What was chosen, each with its origin. The key itself is never among them.
    """

    def __init__(self, name: str, settings: Settings) -> None:
        model = find_model(name, configured=settings)
        self.choice = find_chosen_dialect(None, name, settings) or portal.call(choose_model_dialect(model))
        find_dialect(self.choice.name, model)  # a dialect of the settings may not exist
        self._has_key = model.endpoint.key is not None if isinstance(model, HttpModel) else None
        reason = self.choice.reason
        self.rows = [
            SettingRow("model", model.name, "the option --model"),
            *_describe_endpoint(model, settings),
            SettingRow(
                "dialect", self.choice.name, f"{reason}, a guess; {GUESS_CURE}" if self.choice.is_guess else reason
            ),
        ]

    def format_json(self) -> str:
        """Format it as a JSON object, as `toolspeak config --json`; the value of `key` is whether the key is set."""
        rows: dict[str, dict[str, object]] = {
            row.setting: {"value": row.value, "origin": row.origin} for row in self.rows
        }
        rows["dialect"]["is_guess"] = self.choice.is_guess
        if self._has_key is not None:
            rows["key"]["value"] = self._has_key
        return json.dumps(rows, indent=2, ensure_ascii=False)

    def format_lines(self) -> str:
        """Format it for a pipe: one line for each row, with tabs between the columns."""
        return "\n".join("\t".join(map(escape_line, row)) for row in self.rows)

    def render_table(self) -> RenderableType:
        """Lay it out as a table for a terminal."""
        return render_rows(self.rows)


def _describe_endpoint(model: Model, settings: Settings) -> list[SettingRow]:
    if isinstance(model, HttpModel):
        endpoint = model.endpoint
        variable = f"the environment variable {endpoint.key_variable}" if endpoint.key_variable else "none is needed"
        return [
            SettingRow("endpoint", endpoint.base_url, endpoint.origin),
            SettingRow("api", endpoint.api, endpoint.origin),
            SettingRow("key", "set" if endpoint.key else "not set", variable),
        ]
    if isinstance(model, EmbeddedModel):
        adapter = model.adapter.name if model.adapter else "none"
        return [
            SettingRow("endpoint", str(model.weights), "a process on this machine"),
            SettingRow("adapter", adapter, f"the setting local.adapter ({settings.origin('local.adapter')})"),
        ]
    return []
