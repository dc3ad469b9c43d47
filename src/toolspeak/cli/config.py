"""`toolspeak config`: the settings and their origins; with `--model`, a model, its endpoint, its dialect, and why.

`toolspeak doctor`: what of this installation works, and what to do about the rest. Its findings are of three kinds. A
fault means that something you asked for cannot work, and makes the exit code 1; a note is something that is absent and
that you may not need. Each has a cure. Nothing is changed, no model is asked, and no key is shown or sent anywhere but
to its own endpoint.
"""

import json
import os
import platform
import re
import sqlite3
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from toolspeak.cli.agent_config import find_chosen_dialect
from toolspeak.cli.format import SafeConsole
from toolspeak.cli.safe_text import escape_line, write_output
from toolspeak.cli.server_options import STORE_VARIABLE
from toolspeak.durable.runs import SQLITE_PREFIX, open_journal
from toolspeak.execution.sandbox import detect_confinement, has_monty
from toolspeak.models import EmbeddedModel, HttpModel, Model
from toolspeak.models.adapters import check_adapter
from toolspeak.models.endpoint import Endpoint
from toolspeak.models.local import choose_threads, count_usable_cores, find_devices
from toolspeak.models.model import GUESS_CURE, choose_model_dialect
from toolspeak.models.transport import NotReached, fetch
from toolspeak.run import portal
from toolspeak.run.inputs import find_dialect
from toolspeak.run.model_lookup import find_model
from toolspeak.settings import SettingRow, Settings, cache_folder, user_file
from toolspeak.settings.files import config_folder, data_folder, log_path
from toolspeak.settings.values import UNTRUSTED
from toolspeak.values.address import hide_secrets
from toolspeak.values.errors import ToolspeakError
from toolspeak.values.package import __version__, suggest_install


def print_report(report: "SettingsReport | ModelExplanation | DoctorReport", *, as_json: bool) -> None:
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


# toolspeak doctor

FindingState: TypeAlias = Literal["ok", "note", "fault"]

STATE_STYLES: Mapping[FindingState, str] = {"ok": "green", "note": "yellow", "fault": "bold red"}

REACH_SECONDS = 10.0
"""How long an endpoint has to answer."""

DEVELOPERS_EXTRAS = frozenset({"clients", "dev", "docs"})
"""Extras for those who work on toolspeak."""

EXTRA_PURPOSES = {
    "cli": "this command",
    "local": "the embedded model",
    "sandbox": "programs that models write",
    "gateway": "toolspeak serve",
    "page": "toolspeak page",
    "otel": "traces",
    "prices": "what answers cost",
    "mcp": "MCP servers and clients",
    "meaning": "finding tools by meaning",
    "cluster": "durable runs on Postgres",
}


class Finding(NamedTuple):
    """What was found of one part.

    Attributes:
        part: The part, in a word or two.
        state: Whether it works (`ok`), is absent and may not be needed (`note`), or cannot work (`fault`).
        words: What was found.
        cure: What to do about it; empty if nothing is to be done.
    """

    part: str
    state: FindingState
    words: str
    cure: str = ""


class DoctorReport:
    """What of this installation works, and what to do about the rest."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)

    @property
    def has_faults(self) -> bool:
        """Whether something that was asked for cannot work."""
        return any(each.state == "fault" for each in self.findings)

    def format_json(self) -> str:
        """Format the findings as a JSON list."""
        return json.dumps([each._asdict() for each in self.findings], indent=2, ensure_ascii=False)

    def format_lines(self) -> str:
        """Format the findings for a pipe: one line each, with tabs between the columns."""
        rows = ((each.state, each.part, each.words, each.cure) for each in self.findings)
        return "\n".join("\t".join(map(escape_line, row)).rstrip("\t") for row in rows)

    def render_table(self) -> RenderableType:
        """Lay out the findings as a table for a terminal, with cures below what they cure."""
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(no_wrap=True)
        table.add_column(style="cyan", no_wrap=True)
        table.add_column(overflow="fold")
        for each in self.findings:
            words = Text(escape_line(each.words))
            if each.cure:
                words.append(f"\n→ {escape_line(each.cure)}", style="dim" if each.state == "note" else "")
            table.add_row(Text(each.state, STATE_STYLES[each.state]), each.part, words)
        return table


def examine(name: str | None, settings: Settings, *, offline: bool) -> DoctorReport:
    """Look at all parts. With `offline`, no endpoint and no database is asked.

    Args:
        name: The model to look at; None for the one in the settings.
        settings: The settings that commands would use here.
        offline: Whether to leave the network alone.
    """
    findings = [
        Finding(
            "toolspeak", "ok", f"{__version__}, Python {platform.python_version()}, {platform.platform(terse=True)}"
        ),
        *examine_packages(metadata.requires("toolspeak") or [], _find_version),
        *_examine_settings(settings),
        *examine_model(name or settings.model, settings, offline=offline),
        _examine_sandbox(),
        _examine_store(os.environ.get(STORE_VARIABLE, ""), offline=offline),
        *_examine_folders(),
        _examine_browser(),
        _examine_encoding(sys.stdout.encoding),
    ]
    return DoctorReport(findings)


def _find_version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def examine_packages(required: Sequence[str], find_version: Callable[[str], str | None]) -> Iterator[Finding]:
    """Yield what was found of the packages that toolspeak and its extras need.

    Args:
        required: The requirements in the metadata of toolspeak, such as `rich>=14; extra == 'cli'`.
        find_version: Returns the version of a package, or None if it is not installed.
    """
    lacking: dict[str, list[str]] = {}
    outdated: dict[str, list[str]] = {}
    versions: dict[str, list[str]] = {}
    for requirement in required:
        package, _, marker = requirement.partition(";")
        extra = marker.partition("extra == ")[2].strip(" '\"")
        found = re.match(r"([\w.-]+)(?:\[[^]]*\])?(.*)", package)
        if found is None or extra in DEVELOPERS_EXTRAS:
            continue
        version = find_version(found[1])
        lacking.setdefault(extra, [])
        if version is None:
            lacking[extra].append(found[1])
        elif (lowest := re.search(r">=\s*([\d.]+)", found[2])) and _read_numbers(version) < _read_numbers(lowest[1]):
            outdated.setdefault(extra, []).append(f"{found[1]} {lowest[1]} or later, not {version}")
        versions.setdefault(extra, []).append(f"{found[1]} {version}")
    core = lacking.pop("", []) + outdated.pop("", [])
    cure = "pip install --upgrade toolspeak"
    words = f"needs {', '.join(core)}" if core else ", ".join(versions.get("", []))
    yield Finding("packages", "fault" if core else "ok", words, cure if core else "")
    missing = [extra for extra, packages in lacking.items() if packages]
    if installed := [extra for extra in lacking if extra not in missing and extra not in outdated]:
        yield Finding("extras", "ok", ", ".join(installed))
    if missing:  # in one row: there are many, and nobody needs all of them
        described = ", ".join(f"{extra} ({EXTRA_PURPOSES.get(extra, 'of a plugin')})" for extra in missing)
        cure = suggest_install(*missing) if len(missing) == 1 else f"those that you need: {suggest_install('NAME')}"
        yield Finding("missing", "note", described, cure)
    for extra, packages in outdated.items():
        if extra not in missing:
            yield Finding(extra, "note", f"needs {', '.join(packages)}", suggest_install(extra))


def _read_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _examine_settings(settings: Settings) -> Iterator[Finding]:
    own = user_file()
    yield Finding("settings", "ok", f"{own}{'' if own.exists() else ' (does not exist)'}")
    for each in settings.ignored:
        cure = "to see it and decide: toolspeak trust" if each.reason == UNTRUSTED else f"it is skipped: {each.reason}"
        yield Finding("project", "note", f"{each.where} does not count", cure)


def examine_model(name: str, settings: Settings, *, offline: bool) -> Iterator[Finding]:
    """Yield what was found of a model: whether it can be used, its key, and whether its endpoint answers."""
    try:
        model = find_model(name, configured=settings)
    except ToolspeakError as error:  # it has the cure
        words, _, cure = str(error).partition("; ")
        yield Finding("model", "fault", f"{hide_secrets(name)}: {words}", cure or "choose another one with --model")
        return
    if isinstance(model, EmbeddedModel):
        yield (finding := _examine_embedded(model))
        if finding.state == "ok":
            yield _examine_devices(settings)
    elif isinstance(model, HttpModel):
        yield from _examine_endpoint(model, offline=offline)
    else:
        yield Finding("model", "ok", f"{model.name}, of a plugin")


def _examine_embedded(model: EmbeddedModel) -> Finding:
    if _find_version("xllamacpp") is None:
        return Finding("model", "fault", f"{model.name}: needs xllamacpp", suggest_install("local"))
    try:
        if model.adapter is not None:
            check_adapter(model.adapter)
    except ToolspeakError as error:
        words, _, cure = str(error).partition("; ")
        return Finding("model", "fault", words, cure)
    adapter = f"the adapter {model.adapter.name}" if model.adapter else "no adapter"
    return Finding("model", "ok", f"{model.name}: {model.weights}, {adapter}")


def _examine_devices(settings: Settings) -> Finding:
    """Say what the embedded model computes on: llama.cpp takes a GPU if there is one that its build can use."""
    gpus, processors = find_devices()
    if gpus:
        return Finding("computes on", "ok", ", ".join(gpus))
    if not processors:
        return Finding("computes on", "note", "llama.cpp does not say", "pip install --upgrade 'toolspeak[local]'")
    threads = settings.local.threads or choose_threads(count_usable_cores())
    words = f"{processors[0]}, {threads} thread{'' if threads == 1 else 's'}, no GPU"
    return Finding("computes on", "ok", words)


def _examine_endpoint(model: HttpModel, *, offline: bool) -> Iterator[Finding]:
    endpoint = model.endpoint
    address = hide_secrets(endpoint.base_url)
    if endpoint.lacks_key:
        variable = endpoint.key_variable or "the variable of its key"
        yield Finding("model", "fault", f"{model.name} at {address} needs a key", f"set {variable} to your key")
        return
    key = (
        f"key in {endpoint.key_variable}" if endpoint.key and endpoint.key_variable else "a key" if endpoint.key else ""
    )
    yield Finding("model", "ok", f"{model.name} at {address}" + (f", {key}" if key else ", no key"))
    if offline:
        yield Finding("endpoint", "note", "not asked", "leave out --offline")
    else:
        yield portal.call(_reach(endpoint, address))


async def _reach(endpoint: Endpoint, address: str) -> Finding:
    """Ask an endpoint for its models, the one question that costs nothing everywhere."""
    try:
        listed = await fetch(endpoint, f"{endpoint.base_url.rstrip('/')}/models", None, REACH_SECONDS)
    except NotReached:
        cure = "start its server, or correct the address; behind a proxy, set HTTPS_PROXY"
        return Finding("endpoint", "fault", f"{address} cannot be reached", cure)
    if not listed:
        cure = "if requests fail, look at the key; some servers have no such list"
        return Finding("endpoint", "note", f"{address} is there, and does not list its models", cure)
    return Finding("endpoint", "ok", f"{address} answers")


def _examine_sandbox() -> Finding:
    confinement = detect_confinement()
    modes = ["monty"] if has_monty() else []
    if confinement.is_sufficient:
        modes.append(f"full ({'bubblewrap' if confinement.bubblewrap else 'Landlock and seccomp'})")
    if len(modes) == 2:
        return Finding("sandbox", "ok", ", ".join(modes))
    if not confinement.is_sufficient:
        cure = "full mode needs Linux with Landlock, or bubblewrap: apt install bubblewrap"
    else:
        cure = suggest_install("sandbox")
    return Finding("sandbox", "note", f"{modes[0]} mode only" if modes else "no mode", cure)


def _examine_store(url: str, *, offline: bool) -> Finding:
    if not url:
        return Finding("store", "note", f"{STORE_VARIABLE} is not set", "only durable runs need it: sqlite:///runs.db")
    shown = hide_secrets(url)
    if offline and not url.startswith(SQLITE_PREFIX):
        return Finding("store", "note", f"{shown} was not asked", "leave out --offline")
    try:
        if url.startswith(SQLITE_PREFIX):
            file = Path(url.removeprefix(SQLITE_PREFIX))
            if not file.exists():
                return Finding("store", "note", f"{shown} does not exist", "the first worker or run makes it")
            with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
                connection.execute("SELECT count(*) FROM sqlite_schema")
        else:
            open_journal(url)  # reads the address, and names the extra that is missing
            _connect_to_postgres(url)
    except sqlite3.Error as error:
        return Finding("store", "fault", f"{shown} cannot be read: {error}", "name the file of a store, or a new one")
    except ToolspeakError as error:
        words, _, cure = str(error).partition("; ")
        return Finding("store", "fault", words, cure or "start the database, or correct the address")
    return Finding("store", "ok", f"{shown} can be used")


def _connect_to_postgres(url: str) -> None:
    """Open a connection and close it, without making tables as a worker would. Raises `StoreUnavailable`."""
    from toolspeak.durable.postgres import connect, name_errors

    with name_errors(url):
        connect(url).close()


def _examine_folders() -> Iterator[Finding]:
    for part, folder in (("log", data_folder()), ("cache", cache_folder()), ("own settings", config_folder())):
        nearest_folder = next(each for each in (folder, *folder.parents) if each.is_dir())
        try:
            with tempfile.TemporaryFile(dir=nearest_folder):
                pass
        except OSError as error:
            cure = f"make {nearest_folder} writable, or choose another folder with TOOLSPEAK_…_FOLDER"
            yield Finding(part, "fault", f"{folder} cannot be written: {error.strerror}", cure)


def _examine_browser() -> Finding:
    try:
        webbrowser.get()
    except webbrowser.Error:
        cure = "toolspeak page --no-open prints an address; open it where there is one"
        return Finding("browser", "note", "none was found", cure)
    return Finding("browser", "ok", "toolspeak page can open one")


def _examine_encoding(encoding: str) -> Finding:
    if encoding.lower().replace("-", "") == "utf8":
        return Finding("terminal", "ok", "UTF-8")
    return Finding("terminal", "note", f"{encoding}: other characters are shown as escapes", "set PYTHONUTF8=1")
