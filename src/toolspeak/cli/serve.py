"""`toolspeak serve`: starts the gateway with the models of the options or the settings, until Ctrl-C."""

import json
import os
import shlex
import signal
import sys
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from toolspeak.cli.agent_config import find_chosen_dialect
from toolspeak.cli.http_server import LineWriter, listen, log_to_standard_error, read_key, read_origin
from toolspeak.cli.options import explain_missing
from toolspeak.cli.runs import build_worker, log_warnings
from toolspeak.cli.safe_text import escape_controls, write_output
from toolspeak.dialects import dialect
from toolspeak.durable import Runs
from toolspeak.gateway import AccessRules, ServedModel, app
from toolspeak.gateway.app import mounted_app
from toolspeak.gateway.run_routes import run_routes
from toolspeak.gateway.server import build_server, check_exposure, run_server
from toolspeak.models import Model
from toolspeak.models.lookup import CLIENT_HOSTS
from toolspeak.models.model import choose_model_dialect
from toolspeak.run import portal
from toolspeak.run.model_lookup import find_model
from toolspeak.settings import Settings
from toolspeak.telemetry import SpanExporter, SpanSender
from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen

if TYPE_CHECKING:
    from starlette.routing import Route

    from toolspeak.mcp.served_tools import ToolServer

# `toolspeak serve --store`: durable runs over HTTP and, with `--agents`, a worker that drives them in this process.


@contextmanager
def open_run_routes(store: str, agents: str | None, rules: AccessRules) -> Generator[list[Route]]:
    """Open a store, and give the routes of its runs. A worker parks its runs when the context is left.

    Raises:
        StoreUnavailable: The store cannot be used.
        UsageError: The address of the store or the place of the agents is wrong.
    """
    with Runs(store) as runs:
        portal.call(runs.count())  # a store that cannot be used is told now, not to the first client
        routes = run_routes(runs, rules)
        if agents is None:
            yield routes
            return
        log_warnings()
        worker = build_worker(runs, agents)
        with _stop_in_order(), worker:
            yield routes


@contextmanager
def _stop_in_order() -> Generator[None]:
    """Let SIGTERM end the server alone: uvicorn sends it again when it has stopped, and the worker must park first."""
    previous = signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


# The lines that `toolspeak serve` prints for coding agents and SDKs: what to paste, with the address and the model.
#
# A key is never printed: the lines name the environment variable that holds it.


NO_KEY = "none"
"""What clients send where no key is asked for: most of them refuse to start without one."""

GEMINI_SIGN_IN = json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}})
"""What tells Gemini CLI to use the key of the environment: no variable does."""


@frozen
class ServedAddress:
    """Where a gateway is reached, as its clients need to know it.

    Attributes:
        host: The address that it listens on.
        port: The port.
        model: The name of the model to ask for.
        key_env: The environment variable with the key; None if no key is asked for.
    """

    host: str
    port: int
    model: str
    key_env: str | None = None

    @property
    def root(self) -> str:
        """The address without a path, for clients on this machine."""
        host = CLIENT_HOSTS.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def shell_key(self) -> str:
        """The key, as a shell command has it."""
        return f'"${self.key_env}"' if self.key_env else NO_KEY


def format_client_lines(address: ServedAddress) -> str:
    """Return the lines to paste, each client with its name above."""
    blocks = {
        "Claude Code": _claude_code(address),
        "Codex, in ~/.codex/config.toml": _codex(address),
        "opencode, in opencode.json": _opencode(address),
        f"Gemini CLI, with {GEMINI_SIGN_IN} in ~/.gemini/settings.json": _gemini_cli(address),
        "OpenAI's SDKs": f"OPENAI_BASE_URL={address.root}/v1 OPENAI_API_KEY={address.shell_key}",
        "Anthropic's SDKs": f"ANTHROPIC_BASE_URL={address.root} ANTHROPIC_API_KEY={address.shell_key}",
    }
    return "".join(f"\n{name}:\n{_indent(block)}\n" for name, block in blocks.items())


def _claude_code(address: ServedAddress) -> str:
    model = shlex.quote(address.model)
    return (
        f"ANTHROPIC_BASE_URL={address.root} ANTHROPIC_AUTH_TOKEN={address.shell_key} "
        f"ANTHROPIC_MODEL={model} ANTHROPIC_DEFAULT_HAIKU_MODEL={model} claude"
    )


def _codex(address: ServedAddress) -> str:
    lines = [
        f"model = {json.dumps(address.model)}",
        'model_provider = "toolspeak"',
        "",
        "[model_providers.toolspeak]",
        'name = "toolspeak"',
        f'base_url = "{address.root}/v1"',
        'wire_api = "responses"',
    ]
    return "\n".join([*lines, f"env_key = {json.dumps(address.key_env)}"] if address.key_env else lines)


def _opencode(address: ServedAddress) -> str:
    key = f"{{env:{address.key_env}}}" if address.key_env else NO_KEY
    provider: dict[str, Any] = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{address.root}/v1", "apiKey": key},
        "models": {address.model: {}},
    }
    return json.dumps({"model": f"toolspeak/{address.model}", "provider": {"toolspeak": provider}})


def _gemini_cli(address: ServedAddress) -> str:
    model = shlex.quote(address.model)
    return f"GOOGLE_GEMINI_BASE_URL={address.root} GEMINI_API_KEY={address.shell_key} gemini -m {model}"


def _indent(block: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in block.splitlines())


@frozen
class ServeOptions:
    """The options of `toolspeak serve`.

    Attributes:
        models: The names of the models to serve; if there are none, those in the settings.
        dialect: The dialect of every model; None for the best one of each.
        host: The address to listen on.
        port: The port to listen on; 0 for any free port.
        key_env: The environment variable with the key that clients must send.
        mends: How often the model is asked again for a malformed call.
        thinks: Whether an answer may begin inside its reasoning, without an opening tag.
        record: The folder in which the exchanges with the models are recorded.
        replay: The folder with the recordings that answer in the place of the models.
        aliases: Further names for models, each as `NAME=MODEL`.
        origins: The web pages that may send requests, as browsers name them: `https://chat.example`.
        strict: Whether a request is refused if something of it would be left out.
        tool_budget: The most tokens that the tools of a request may take; None for what the settings say.
        show: Whether each exchange is written to standard output, as a line of JSON.
        watch: Whether the last exchanges are kept in memory and served, behind the key.
        otlp: The collector of OpenTelemetry that gets spans of each exchange.
        otlp_content: Whether those spans hold what was asked and answered.
        mcp: Where the functions are that are served to MCP clients, at `/mcp`.
        store: The store whose durable runs are served, at `/runs`.
        agents: Where the agents are with which this process drives the runs of the store; None if others do.
    """

    models: tuple[str, ...] = ()
    dialect: str | None = None
    host: str = "127.0.0.1"
    port: int = 8765
    key_env: str | None = None
    mends: int = 2
    thinks: bool = False
    record: Path | None = None
    replay: Path | None = None
    aliases: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    strict: bool = False
    tool_budget: int | None = None
    show: bool = False
    watch: bool = False
    otlp: str | None = None
    otlp_content: bool = False
    mcp: tuple[str, ...] = ()
    store: str | None = None
    agents: str | None = None


def serve(options: ServeOptions, load_settings: Callable[[], Settings]) -> None:
    """Serve until Ctrl-C. The settings are loaded after the options were checked."""
    key = read_key(options.key_env, os.environ)
    check_exposure(options.host, key)
    if options.record is not None and options.replay is not None:
        raise UsageError(
            "--record and --replay: give one of them; a replayed model sends nothing that could be recorded"
        )
    if options.watch and key is None:
        raise UsageError(
            "--watch serves whole conversations, so it needs a key: set an environment variable to a long secret, "
            "and name it with --key-env"
        )
    if options.agents is not None and options.store is None:
        raise UsageError("--agents drives the runs of a store; name it: --store sqlite:///runs.db")
    if options.otlp_content and options.otlp is None:
        raise UsageError("--otlp-content is about what is sent; say where to: --otlp http://127.0.0.1:4318")
    sender = None if options.otlp is None else SpanSender(options.otlp, os.environ)
    aliases = dict(map(_read_alias, options.aliases))
    rules = AccessRules(
        key=key,
        hosts=AccessRules().hosts | {options.host.lower()},
        origins=frozenset(map(read_origin, options.origins)),
    )
    served = find_served_models(options, load_settings(), key)
    tools = _build_tool_server(options.mcp)
    with listen(options.host, options.port) as listener, ExitStack() as stack:
        lines = stack.enter_context(LineWriter(sys.stdout)) if options.show else None
        tracer = None
        if sender is not None:
            tracer = stack.enter_context(SpanExporter(sender, content=options.otlp_content))
        routes: Sequence[Route] = ()
        if options.store is not None:
            routes = stack.enter_context(open_run_routes(options.store, options.agents, rules))
        mounted = {} if tools is None else {"/mcp": tools}
        application = mounted_app(mounted, rules, routes)
        if served:
            application = app(
                served,
                rules,
                aliases=aliases,
                strict=options.strict,
                on_exchange=lines.write if lines is not None else None,
                watch=options.watch,
                tracer=tracer,
                mounted=mounted,
                routes=routes,
            )
        port = listener.getsockname()[1]
        gateway = build_server(application, host=options.host, port=port)
        log_to_standard_error()
        names = ", ".join(f"{each.name} ({each.dialect.name})" for each in served) or "no model"
        host = f"[{options.host}]" if ":" in options.host else options.host
        how = f", recorded in {options.record}" if options.record else ""
        how = f", replayed from {options.replay}" if options.replay else how
        text = f"http://{host}:{port}/v1 serves {names}{how}; Ctrl-C stops it\n"
        if tools is not None:
            text += f"http://{host}:{port}/mcp serves {', '.join(tools.toolbox.names)} to MCP clients\n"
        if routes:
            driven = f"driven here with {options.agents}" if options.agents else "driven by toolspeak worker"
            text += f"http://{host}:{port}/runs serves durable runs, {driven}\n"
        if served:
            address = ServedAddress(host=options.host, port=port, model=served[0].name, key_env=options.key_env)
            text += format_client_lines(address)
        if options.show:  # standard output is for the exchanges
            sys.stderr.write(escape_controls(text))
        else:
            write_output(text)
            sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            run_server(gateway, listener)


def _build_tool_server(targets: tuple[str, ...]) -> "ToolServer | None":
    if not targets:
        return None
    with explain_missing("MCP", "mcp"):
        from toolspeak.cli.mcp import build_tool_server

    return build_tool_server(targets)


def find_served_models(options: ServeOptions, settings: Settings, key: str | None = None) -> list[ServedModel]:
    """Find the models of the options; without any, the settings' model and each of their endpoints that names one.

    Args:
        options: The options.
        settings: The settings.
        key: The key that clients must send, which is not recorded.
    """
    find = _make_finder(options, settings, key)
    if options.models:
        found = {name: find(name) for name in options.models}
    else:
        names = [name for name, endpoint in settings.endpoints.items() if endpoint.model]
        found = {name: find(name) for name in names}
        try:
            found.setdefault(settings.model, find(settings.model))
        except UsageError:  # the weights of the embedded model are missing, which matters only if it was chosen
            if (not found and options.store is None) or settings.origin("model") != "default":
                raise
    short_names = _shorten_names(list(found))
    return [
        ServedModel(
            name=short_names[name],
            model=model,
            dialect=dialect(_choose_dialect(options, name, model, settings)),
            max_repairs=options.mends,
            thinks=options.thinks,
            tool_budget=settings.tool_budget if options.tool_budget is None else options.tool_budget,
        )
        for name, model in found.items()
    ]


def _make_finder(options: ServeOptions, settings: Settings, key: str | None) -> Callable[[str], Model]:
    """Return the function that finds a model by its name, recorded or replayed if the options say so."""
    secrets = frozenset({key} if key else ())

    def find(name: str) -> Model:
        return find_model(name, configured=settings)

    if options.record is not None:
        from toolspeak.models.cassettes import FolderWriter, record_model

        writer = FolderWriter(options.record)
        return lambda name: record_model(find(name), writer, secrets=secrets)
    if options.replay is not None:
        from toolspeak.models.cassettes import TapePlayer, load_folder, replay_named_model

        cure = f"record it: toolspeak serve --record {options.replay}"
        player = TapePlayer(load_folder(options.replay), str(options.replay), repeats=True, cure=cure)
        return lambda name: replay_named_model(name, find, player, secrets=secrets)
    return find


def _choose_dialect(options: ServeOptions, name: str, model: Model, settings: Settings) -> str:
    chosen = find_chosen_dialect(options.dialect, name, settings)
    return (chosen or portal.call(choose_model_dialect(model))).name


def _shorten_names(names: Sequence[str]) -> dict[str, str]:
    """Return the names under which models are served: one that is given by an address has the name in that address."""
    short = {name: name.partition("#")[2] or name if "://" in name else name for name in names}
    counts = Counter(short.values())
    return {name: each if counts[each] == 1 else name for name, each in short.items()}


def _read_alias(text: str) -> tuple[str, str]:
    alias, equals, name = text.partition("=")
    if not (alias and equals and name):
        raise UsageError(f"--alias {text}: write NAME=MODEL, such as gpt-4o=local")
    return alias, name
