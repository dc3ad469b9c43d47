"""`toolspeak local`: the embedded model, kept loaded between commands."""

import json
import sys
from dataclasses import replace

from toolspeak.cli.console import SafeConsole
from toolspeak.cli.format import format_seconds
from toolspeak.cli.model_loader import format_idle
from toolspeak.cli.safe_text import write_output
from toolspeak.errors import UsageError
from toolspeak.models import EmbeddedModel
from toolspeak.models.warm import WarmServer, WarmStatus, is_supported, list_warm_servers, stop_warm_servers
from toolspeak.run.model_lookup import find_model, warm_folder
from toolspeak.settings import LocalSettings, Settings


def start(model: str | None, minutes: float | None, settings: Settings) -> None:
    """Load a model in a warm server, unless one runs, and print its line of the status."""
    _require_support()
    keep = minutes or settings.local.keep_minutes or LocalSettings().keep_minutes
    settings = replace(settings, local=replace(settings.local, keep_minutes=keep))
    name = model or (settings.model if settings.model.startswith("local") else "local")
    found = find_model(name, configured=settings, keep_warm=True)
    if not isinstance(found, EmbeddedModel):
        raise UsageError(f"{name} is not an embedded model; only local and local:FILE.gguf can be kept loaded")
    console = SafeConsole(stderr=True, soft_wrap=True)
    if console.is_terminal:
        with console.status(f"loading {name}"):
            server = found.load()
    else:
        server = found.load()
    if isinstance(server, WarmServer):
        state = "is loaded" if server.was_started else "was loaded already"
        write_output(f"{name} {state}, and stays loaded {format_idle(server.idle_seconds)} (process {server.pid})\n")


def stop() -> None:
    """End all warm servers."""
    _require_support()
    stopped = stop_warm_servers(warm_folder())
    for each in stopped:
        write_output(f"ended {each.weights.name} (process {each.pid})\n")
    if not stopped:
        sys.stdout.write("no embedded model is kept loaded\n")


def print_status(*, as_json: bool) -> None:
    """Print a line, or an element of a JSON list, for each warm server."""
    _require_support()
    servers = list_warm_servers(warm_folder())
    if as_json:
        write_output(json.dumps([_encode(each) for each in servers], indent=2) + "\n")
        return
    for each in servers:
        write_output(f"{each.weights.name}: process {each.pid}, {_describe_phase(each)}\n")
    if not servers:
        sys.stdout.write("no embedded model is kept loaded; start one with: toolspeak local start\n")


def _describe_phase(status: WarmStatus) -> str:
    if status.phase != "idle":
        return status.phase
    left = max(0.0, status.ends_after - status.idle_seconds)
    return f"idle for {format_seconds(status.idle_seconds)}, ends in {format_seconds(left)}"


def _encode(status: WarmStatus) -> dict[str, object]:
    return {
        "weights": str(status.weights),
        "pid": status.pid,
        "phase": status.phase,
        "idle_seconds": round(status.idle_seconds, 1),
        "ends_after_seconds": status.ends_after,
        "started": status.started,
    }


def _require_support() -> None:
    if not is_supported:
        raise UsageError("on Windows the embedded model cannot be kept loaded: each command loads it")
