"""`toolspeak trust`: shows what the settings of a project do, and lets them count; commands load settings here."""

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO, cast

from rich.text import Text

from toolspeak.cli.format import SafeConsole
from toolspeak.cli.safe_text import escape_line, print_error, write_output
from toolspeak.mcp.config import is_server_target
from toolspeak.models import Model
from toolspeak.run.model_lookup import find_model
from toolspeak.settings import Settings, load
from toolspeak.settings.loader import load_with_project
from toolspeak.settings.project_file import (
    BUILT_IN_DIALECTS,
    PROJECT_FILES,
    ProjectFile,
    ProjectSearch,
    check_allowed,
    find_project,
)
from toolspeak.settings.schema import SETTINGS, check_value
from toolspeak.settings.server_targets import ServerEntry
from toolspeak.settings.trust import find_decision, is_named_by_variable, list_decisions, remove_decision, save_decision
from toolspeak.settings.values import UNTRUSTED, format_setting
from toolspeak.values.errors import UsageError

QUESTION = "trust it? [y/N] "


def trust(path: Path, *, yes: bool) -> int:
    """Show the settings of the project at a path, ask whether to trust them, and return the exit code.

    The path is the project's folder, one below it, or its settings file. With `yes`, nobody is asked.
    """
    search = find_project(path)
    project = search.file
    if project is None and search.skipped:
        first = search.skipped[0]
        raise UsageError(f"{first.path} cannot be trusted: {first.reason}")
    if project is None:
        names = " and no ".join((PROJECT_FILES[0], f"{PROJECT_FILES[1]} with [tool.toolspeak]"))
        raise UsageError(f"there is no {names} in {path.resolve()} or above")
    check_allowed(project)
    decision = find_decision(project)
    if decision is not None and decision.is_trusted:
        write_output(f"{project.where} is trusted\n")
        return 0
    own = load()
    if not project.listing.is_complete:
        show_settings(project, own, sys.stdout)
        sys.stdout.flush()
        raise UsageError(
            "trust in it cannot be kept, since it has too many files to notice each change; to trust it for one "
            "command, add --trust-project"
        )
    if yes:
        show_settings(project, own, sys.stdout)
    elif sys.stdin.isatty():
        answer = ask_trust(project, own, sys.stdout)
        if answer is not None:
            save_decision(project, trusted=answer)
        if not answer:
            write_output("not trusted\n")
            return 1
    else:
        show_settings(project, own, sys.stdout)
        sys.stdout.flush()
        raise UsageError("there is no terminal to ask in; if you trust these settings: toolspeak trust --yes")
    save_decision(project, trusted=True)
    write_output(f"{project.where} is trusted from now on, until it or what it runs changes\n")
    return 0


def print_decisions() -> None:
    """Print the projects that were decided on, one a line: the decision and the file."""
    for each in list_decisions():
        is_current = _is_current(each.path, each.fingerprint)
        word = "changed" if not is_current else "trusted" if each.is_trusted else "refused"
        sys.stdout.write(f"{word}\t{escape_line(str(each.path))}\n")


def remove_trust(path: Path) -> None:
    """Forget the decision about the project at a path. Raises `UsageError` if there was none."""
    decision = remove_decision(path)
    if decision is None:
        raise UsageError(f"no project in {path.resolve()} or above was trusted or refused; see toolspeak trust --list")
    write_output(f"{decision.path} is no longer {'trusted' if decision.is_trusted else 'refused'}\n")


def ask_trust(project: ProjectFile, own: Settings, file: TextIO) -> bool | None:
    """Show the settings of a project in a terminal, ask whether to trust them, and return the answer, or None.

    `own` are the settings without the project, to show which endpoints it replaces.
    """
    show_settings(project, own, file)
    file.write(QUESTION)
    file.flush()
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        file.write("\n")
    return answer.strip().lower() in ("y", "yes") if answer else None


def show_settings(project: ProjectFile, own: Settings, file: TextIO) -> None:
    """Print the settings of a project, and what they do if they are trusted."""
    console = SafeConsole(file=file, force_terminal=file.isatty(), soft_wrap=not file.isatty())
    values = load_with_project(ProjectSearch(file=project), trusted=True).values(project.values)
    rows = [(name, format_setting(name, value)) for name, value in values]
    width = max((len(name) for name, _ in rows), default=0)
    console.print(Text(f"{escape_line(project.where)} sets:", "bold"))
    for name, value in rows:
        console.print(Text.assemble((f"  {escape_line(name):<{width}}", "cyan"), f"  {escape_line(value)}"))
    console.print(Text("If you trust it, toolspeak in this folder and below:", "bold"))
    for name, value in project.values.items():
        for effect in _describe_tools(project) if name == "tools" else [_describe_effect(name, value, own)]:
            console.print(Text(f"  - {escape_line(effect)}"))


def _describe_tools(project: ProjectFile) -> Iterator[str]:
    """Yield what the tools of a project run, and where they send, from the list that the loader keeps to."""
    listing = project.listing
    paths = [each for each in project.values["tools"] if not is_server_target(each) and each not in listing.modules]
    if paths:
        yield (
            f"runs the Python code in {', '.join(paths)} when it starts, with what that imports from its folder, and "
            "lets the model call it"
        )
    for name in listing.modules:
        yield f"imports {name}, which is installed, when it starts, and lets the model call it"
    for server in listing.servers:
        yield _describe_server(server)
    yield from listing.notes


def _describe_server(server: ServerEntry) -> str:
    name = "" if server.home is None else f", as the MCP server {server.name}"
    variables = [f"your environment variable {each}" for each in server.variables]
    if server.command:
        folder = server.find_start_folder(os.environ) or "the working directory"
        given = [f"{each}={value}" for each, value in server.env.items()] + variables
        effect = f"starts a program with your rights in {folder}{name}: {shlex.join(server.command)}"
    else:
        given = [*(f"the header {each}" for each in server.headers), *variables]
        effect = f"sends what the model passes to tools to {server.url}{name}"
    hints = "; believes it when it says that a tool only reads" if server.options.get("trustHints") is True else ""
    approve: Any = server.options.get("approve")
    if isinstance(approve, list):
        hints += f"; asks you only before calls of {', '.join(map(str, cast('list[object]', approve))) or 'no tool'}"
    if approve is False or server.unasked:
        hints += f"; asks nobody before calls of {'any tool' if approve is False else ', '.join(server.unasked or ())}"
    return f"{effect}{', with ' if given else ''}{', '.join(given)}{hints}"


def _describe_effect(name: str, value: Any, own: Settings) -> str:
    if name == "model":
        return f"sends your prompts and the results of tools to {value}, unless you name another model"
    if name == "approve":
        asked = "asks you about" if value == "ask" else "refuses"
        return f"{asked} calls that need approval (yours: {own.approve})"
    if name == "log":
        keeps = "keeps" if value else "does not keep"
        return f"{keeps} conversations in your log (yours: {'on' if own.log else 'off'})"
    if name == "dialect" and value not in BUILT_IN_DIALECTS:
        return f"imports the installed package that offers the dialect {value}, in which models call tools"
    if name == "dialect":
        return f"lets models call tools in the dialect {value}"
    if name.startswith("endpoints."):
        return _describe_endpoint(name.removeprefix("endpoints."), value, own)
    if name.startswith("limits."):
        current = getattr(own.limits, name.removeprefix("limits."))
        shown, old = ("none" if each is None else f"{each:g}" for each in (value, current))
        return f"sets {name} to {shown} (yours: {old})"
    return f"sets {name} to {value}, which the embedded model uses"


def _describe_endpoint(name: str, table: dict[str, Any], own: Settings) -> str:
    key = f", with the key in the environment variable {table['key_env']}" if "key_env" in table else ""
    instead = f", instead of your own endpoint {name}" if name in own.endpoints else ""
    return f"sends what you ask {name}:MODEL to {table['base_url']}{key}{instead}"


def _is_current(path: Path, fingerprint: str) -> bool:
    try:
        file = find_project(path).file if path.is_file() else None
    except UsageError:
        return False
    return file is not None and file.fingerprint == fingerprint


def load_settings(*, trust_project: bool = False, quiet: bool = False, adapter: str | None = None) -> Settings:
    """Load the settings, with those of the project in the working directory as far as the user trusts it.

    In a terminal, the user is asked once about a project that was not decided on, and a line on standard error names
    the settings that do not count.

    Args:
        trust_project: Trust the project without asking.
        quiet: Neither ask nor print.
        adapter: The value of the option `--adapter`, which counts instead of the setting `local.adapter`.
    """
    loaded = _load_trusted(trust_project=trust_project, quiet=quiet)
    if adapter is None:
        return loaded
    value = check_value(SETTINGS["local.adapter"], "--adapter", adapter, "the command line")
    origins = {**loaded.origins, "local.adapter": "the option --adapter"}
    return replace(loaded, local=replace(loaded.local, adapter=value), origins=origins)


def _load_trusted(*, trust_project: bool, quiet: bool) -> Settings:
    search = find_project(Path.cwd())
    trusted = trust_project or (search.file is not None and _is_trusted(search.file))
    loaded = load_with_project(search, trusted=trusted)
    if quiet:
        return loaded
    if search.file is not None and _can_be_asked(search.file, loaded) and _ask(search.file, loaded):
        loaded = load_with_project(search, trusted=True)
    for each in loaded.ignored:
        names = ", ".join(name for name, _ in each.rows)
        print_error(
            f"{each.where} is not trusted, so this was ignored: {names}; to see it and decide: toolspeak trust"
            if each.reason == UNTRUSTED
            else f"{each.where} was skipped: {each.reason}"
        )
    return loaded


def find_model_with_settings(*, trust_project: bool, adapter: str | None = None) -> Callable[[str | None], Model]:
    """Return a function that finds a model by its name, and loads the settings when it is called."""

    def find(name: str | None) -> Model:
        if name is not None and name.startswith(("http://", "https://")):  # an address needs no settings
            return find_model(name)
        return find_model(name, configured=load_settings(trust_project=trust_project, adapter=adapter))

    return find


def _is_trusted(project: ProjectFile) -> bool:
    if is_named_by_variable(project, os.environ):
        return True
    decision = find_decision(project)
    return decision is not None and decision.is_trusted


def _can_be_asked(project: ProjectFile, loaded: Settings) -> bool:
    """Whether to ask the user about a project: something was ignored, nothing was decided, and somebody is there."""
    if not any(each.reason == UNTRUSTED for each in loaded.ignored) or find_decision(project) is not None:
        return False
    try:
        check_allowed(project)
    except UsageError:  # trust would not make it count
        return False
    return sys.stdin.isatty() and sys.stderr.isatty()


def _ask(project: ProjectFile, loaded: Settings) -> bool:
    answer = ask_trust(project, loaded, sys.stderr)
    if answer is not None:
        with suppress(UsageError):  # an answer that cannot be saved still holds for this command
            save_decision(project, trusted=answer)
    return answer is True
