"""`toolspeak config --model NAME`: a model, its endpoint and its dialect, and why each was chosen."""

import json

from rich.console import RenderableType

from toolspeak.cli.agent_config import find_chosen_dialect
from toolspeak.cli.config import render_rows
from toolspeak.cli.safe_text import escape_line
from toolspeak.models import DialectChoice, EmbeddedModel, HttpModel, Model
from toolspeak.models.dialect_choice import GUESS_CURE, choose_model_dialect
from toolspeak.run import portal
from toolspeak.run.inputs import find_dialect
from toolspeak.run.model_lookup import find_model
from toolspeak.settings import SettingRow, Settings


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
        self.rows = [
            SettingRow("model", model.name, "the option --model"),
            *_describe_endpoint(model, settings),
            SettingRow("dialect", self.choice.name, _describe_reason(self.choice)),
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


def _describe_reason(choice: DialectChoice) -> str:
    return f"{choice.reason}, a guess; {GUESS_CURE}" if choice.is_guess else choice.reason
