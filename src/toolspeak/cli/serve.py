"""`toolspeak serve`: starts the gateway with the models of the options or the settings, until Ctrl-C.

It prints the lines that users paste for coding agents and SDKs, with the address and the model. A key is never printed:
the lines name the environment variable that holds it. Durable runs are imported only with `--store`.
"""

import json
import os
import shlex
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Any

from toolspeak.cli.agent_config import find_chosen_dialect
from toolspeak.cli.embedded import ModelLoader
from toolspeak.cli.http_server import LineWriter, listen, log, log_to_standard_error, read_access_rules
from toolspeak.cli.options import explain_missing
from toolspeak.cli.safe_text import escape_controls, write_output
from toolspeak.cli.server_options import ServeOptions
from toolspeak.dialects import dialect
from toolspeak.gateway import AccessRules, ServedModel, app
from toolspeak.gateway.app import mounted_app
from toolspeak.gateway.response_store import ResponseStore
from toolspeak.gateway.server import build_server, run_server
from toolspeak.models import HttpModel, Model
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
    from uvicorn import Server

    from toolspeak.mcp.served_tools import ToolServer


@contextmanager
def open_run_routes(store: str, agents: str | None, deps: str | None, rules: AccessRules) -> Generator[list["Route"]]:
    """Open a store, and give the routes of its runs. A worker parks its runs when the context is left."""
    from toolspeak.cli.runs import build_worker, log_warnings
    from toolspeak.durable import Runs
    from toolspeak.gateway.run_routes import run_routes

    with Runs(store) as runs:
        portal.call(runs.count())  # a store that cannot be used is told now, not to the first client
        routes = run_routes(runs, rules)
        if agents is None:
            yield routes
            return
        log_warnings()
        worker = build_worker(runs, agents, deps)
        # SIGTERM ends the server alone: uvicorn sends it again when it has stopped, and the worker must park first.
        previous = signal.signal(signal.SIGTERM, lambda number, frame: None)
        try:
            with worker:
                yield routes
        finally:
            signal.signal(signal.SIGTERM, previous)


@contextmanager
def open_response_store(options: ServeOptions) -> Generator[ResponseStore | None]:
    """Open the store of answers: in memory, or beside the SQLite file of `--store`; none with `--no-store`."""
    if options.no_store:
        yield None
        return
    prefix = "sqlite:///"
    is_file = options.store is not None and options.store.startswith(prefix)
    path = Path(f"{options.store}.responses".removeprefix(prefix)) if is_file else None
    with closing(ResponseStore(path)) as store:
        yield store


NO_KEY = "none"  # what clients send where no key is asked for: most of them refuse to start without one

GEMINI_SIGN_IN = json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}})
"""What tells Gemini CLI to use the key of the environment: no variable does."""


@frozen
class ServedAddress:
    """Where a gateway is reached, as its clients need to know it; without `key_env`, no key is asked for."""

    host: str
    port: int
    model: str
    key_env: str | None = None

    @property
    def root(self) -> str:
        """The address without a path, for clients on this machine."""
        host = CLIENT_HOSTS.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


def format_client_lines(address: ServedAddress) -> str:
    """Return the lines to paste, each client with its name above."""
    root, model = address.root, shlex.quote(address.model)
    key = f'"${address.key_env}"' if address.key_env else NO_KEY
    codex = [
        f"model = {json.dumps(address.model)}",
        'model_provider = "toolspeak"',
        "",
        "[model_providers.toolspeak]",
        'name = "toolspeak"',
        f'base_url = "{root}/v1"',
        'wire_api = "responses"',
        *([f"env_key = {json.dumps(address.key_env)}"] if address.key_env else ()),
    ]
    provider: dict[str, Any] = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{root}/v1", "apiKey": f"{{env:{address.key_env}}}" if address.key_env else NO_KEY},
        "models": {address.model: {}},
    }
    opencode = {"model": f"toolspeak/{address.model}", "provider": {"toolspeak": provider}}
    blocks = {
        "Claude Code": f"ANTHROPIC_BASE_URL={root} ANTHROPIC_AUTH_TOKEN={key} ANTHROPIC_MODEL={model} "
        f"ANTHROPIC_DEFAULT_HAIKU_MODEL={model} claude",
        "Codex, in ~/.codex/config.toml": "\n".join(codex),
        "opencode, in opencode.json": json.dumps(opencode),
        f"Gemini CLI, with {GEMINI_SIGN_IN} in ~/.gemini/settings.json": f"GOOGLE_GEMINI_BASE_URL={root} "
        f"GEMINI_API_KEY={key} gemini -m {model}",
        "OpenAI's SDKs": f"OPENAI_BASE_URL={root}/v1 OPENAI_API_KEY={key}",
        "Anthropic's SDKs": f"ANTHROPIC_BASE_URL={root} ANTHROPIC_API_KEY={key}",
    }
    indented = {name: "\n".join(f"  {line}".rstrip() for line in block.splitlines()) for name, block in blocks.items()}
    return "".join(f"\n{name}:\n{block}\n" for name, block in indented.items())


def serve(options: ServeOptions, load_settings: Callable[[], Settings]) -> None:
    """Serve until Ctrl-C. The settings are loaded after the options were checked."""
    rules = read_access_rules(options.host, options.key_env, options.origins)
    if options.record is not None and options.replay is not None:
        raise UsageError(
            "--record and --replay: give one of them; a replayed model sends nothing that could be recorded"
        )
    if options.watch and rules.key is None:
        raise UsageError(
            "--watch serves whole conversations, so it needs a key: set an environment variable to a long secret, "
            "and name it with --key-env"
        )
    if options.agents is not None and options.store is None:
        raise UsageError("--agents drives the runs of a store; name it: --store sqlite:///runs.db")
    if options.deps is not None and options.agents is None:
        raise UsageError("--deps makes what the tools of agents get; name these: --agents APP.py:NAME")
    if options.otlp_content and options.otlp is None:
        raise UsageError("--otlp-content is about what is sent; say where to: --otlp http://127.0.0.1:4318")
    sender = None if options.otlp is None else SpanSender(options.otlp, os.environ)
    aliases: dict[str, str] = {}
    for each in options.aliases:
        alias, _, name = each.partition("=")
        if not (alias and name):
            raise UsageError(f"--alias {each}: write NAME=MODEL, such as gpt-4o=local")
        aliases[alias] = name
    settings = load_settings()
    served = find_served_models(options, settings, rules.key)
    tools: ToolServer | None = None
    if options.mcp:
        with explain_missing("MCP", "mcp"):
            from toolspeak.cli.mcp import build_tool_server

        tools = build_tool_server(options.mcp)
    with listen(options.host, options.port) as listener, ExitStack() as stack:
        lines = stack.enter_context(LineWriter(sys.stdout)) if options.show else None
        tracer = None
        if sender is not None:
            tracer = stack.enter_context(SpanExporter(sender, content=options.otlp_content))
        routes: Sequence[Route] = ()
        if options.store is not None:
            routes = stack.enter_context(open_run_routes(options.store, options.agents, options.deps, rules))
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
                store=stack.enter_context(open_response_store(options)),
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

        def announce() -> None:
            if options.show:  # standard output is for the exchanges
                sys.stderr.write(escape_controls(text))
            else:
                write_output(text)
                sys.stdout.flush()

        # A default model beside configured endpoints was not asked for: it is loaded with its first request.
        is_chosen = bool(options.models) or len(served) == 1 or settings.origin("model") != "default"
        loaded = [each.model for each in served if is_chosen]
        run_when_loaded(loaded, gateway, listener, announce, f"http://{host}:{port}/ready")


def run_when_loaded(
    models: Sequence[Model], server: "Server", listener: socket, announce: Callable[[], None], ready_url: str
) -> None:
    """Serve until the server is stopped, and call `announce` when the models are loaded.

    While they are loaded, the server answers already, at `/ready` for example. If one cannot be loaded, the server is
    stopped and the error is raised.
    """
    loaders = [ModelLoader(model) for model in models]
    errors: list[BaseException] = []

    def wait() -> None:
        try:
            for loader in loaders:
                loader.wait()
                if report := loader.take_report():
                    log.info("%s", report)
            announce()
        except BaseException as error:
            errors.append(error)
            server.should_exit = True

    if any(loader.is_loading for loader in loaders):
        names = ", ".join(model.name for model, loader in zip(models, loaders, strict=True) if loader.is_loading)
        log.info("loading %s; %s tells when it is loaded", names, ready_url)
        threading.Thread(target=wait, name="toolspeak-loading", daemon=True).start()
    else:
        wait()
    with suppress(KeyboardInterrupt):
        run_server(server, listener)
    if errors:
        raise errors[0]


def find_served_models(options: ServeOptions, settings: Settings, key: str | None = None) -> list[ServedModel]:
    """Find the models of the options; without any, the settings' model and each of their endpoints that names one.

    The key, which clients must send, is not recorded.
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
    # A model that is given by an address is served under the name in that address, unless two have the same.
    short = {name: name.partition("#")[2] or name if "://" in name else name for name in found}
    counts = Counter(short.values())
    return [
        ServedModel(
            name=short[name] if counts[short[name]] == 1 else name,
            model=model,
            dialect=dialect(
                (find_chosen_dialect(options.dialect, name, settings) or portal.call(choose_model_dialect(model))).name
            ),
            max_repairs=2 if options.mend else 0,
            one_call=options.one_call,
            thinks=options.thinks,
            tool_budget=settings.tool_budget if options.tool_budget is None else options.tool_budget,
        )
        for name, model in found.items()
    ]


def _make_finder(options: ServeOptions, settings: Settings, key: str | None) -> Callable[[str], Model]:
    """Return the function that finds a model by its name, recorded or replayed if the options say so."""
    secrets = frozenset({key} if key else ())

    def find(name: str) -> Model:
        found = find_model(name, configured=settings)
        if isinstance(found, HttpModel):
            given = found.endpoint.retry
            total = None if given.total_timeout is None else max(given.total_timeout, options.timeout)
            retry = replace(given, attempts=1 + options.retries, read_timeout=options.timeout, total_timeout=total)
            found.endpoint = replace(found.endpoint, retry=retry)
        return found

    if options.record is not None:
        from toolspeak.models.cassettes import FolderWriter, record_model

        writer = FolderWriter(options.record)
        return lambda name: record_model(find(name), writer, secrets=secrets)
    if options.replay is not None:
        from toolspeak.models.cassettes import TapePlayer, load_folder, replay_named_model

        cure = f"record it: toolspeak serve --record {shlex.quote(str(options.replay))}"
        player = TapePlayer(load_folder(options.replay), str(options.replay), repeats=True, cure=cure)
        return lambda name: replay_named_model(name, find, player, secrets=secrets)
    return find
