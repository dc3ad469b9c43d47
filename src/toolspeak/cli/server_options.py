"""The options of commands that serve: `serve`, `mcp serve`, `page`, and of `runs start`. See `options.py`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from toolspeak.cli.options import (
    AdapterOption,
    ApproveChoice,
    DialectOption,
    JsonOption,
    OriginsOption,
    PortOption,
    ToolsOption,
    TrustProjectOption,
    complete_model,
)
from toolspeak.values.frozen import frozen


@frozen
class ServeOptions:
    """The options of `toolspeak serve`."""

    GROUPS: ClassVar[Mapping[str, str]] = {
        "Models": "models aliases dialect adapter mend thinks one_call tool_budget strict no_store",
        "Endpoints": "retries timeout",
        "Address and access": "host port key_env origins",
        "Recording and watching": "record replay show watch otlp otlp_content",
        "Functions and durable runs": "mcp store agents deps",
    }

    models: Annotated[
        tuple[str, ...], typer.Option("--model", metavar="NAME", help="A model to serve. Repeatable.")
    ] = ()
    dialect: DialectOption = None
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="The address to listen on.")] = "127.0.0.1"
    port: PortOption = 8765
    key_env: Annotated[
        str | None,
        typer.Option(
            "--key-env", metavar="NAME", help="The environment variable that holds the key clients must send."
        ),
    ] = None
    retries: Annotated[
        int,
        typer.Option(
            "--retries",
            metavar="N",
            min=0,
            help="How often to retry a failed request to an endpoint. Clients retry on top of that.",
        ),
    ] = 1
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout", metavar="SECONDS", min=0.001, help="Give up on an endpoint that sends nothing for this long."
        ),
    ] = 300.0
    no_store: Annotated[
        bool,
        typer.Option("--no-store", help="Store no answers of the Responses API; clients send whole conversations."),
    ] = False
    mend: Annotated[bool, typer.Option("--mend/--no-mend", help="Ask the model again when a call is malformed.")] = True
    thinks: Annotated[
        bool,
        typer.Option(
            "--thinks",
            help="Answers may begin inside their reasoning, without an opening tag: don't stream it as text.",
        ),
    ] = False
    one_call: Annotated[
        bool,
        typer.Option(
            "--one-call", help="Pass on only the first call of an answer, for agents that run all calls at once."
        ),
    ] = False
    record: Annotated[
        Path | None,
        typer.Option(
            "--record", metavar="DIR", help="Record the exchanges with the models in this folder, without keys."
        ),
    ] = None
    replay: Annotated[
        Path | None,
        typer.Option("--replay", metavar="DIR", help="Answer from the recordings in this folder, without the models."),
    ] = None
    aliases: Annotated[
        tuple[str, ...],
        typer.Option("--alias", metavar="NAME=MODEL", help="Another name for a model that is served. Repeatable."),
    ] = ()
    origins: OriginsOption = ()
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse requests with fields or tools that would be left out.")
    ] = False
    tool_budget: Annotated[
        int | None,
        typer.Option(
            "--tool-budget",
            metavar="TOKENS",
            min=1,
            help="Cut the descriptions of tools until all tools together take this many tokens; a model reads the "
            "whole of one with a call of help.",
        ),
    ] = None
    show: Annotated[
        bool, typer.Option("--show", help="Write each exchange to standard output, as a line of JSON without keys.")
    ] = False
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Keep the last hundred exchanges in memory, served at /exchanges behind the key."),
    ] = False
    otlp: Annotated[
        str | None,
        typer.Option(
            "--otlp",
            metavar="URL",
            help="Send spans of each exchange to this OpenTelemetry collector, such as http://127.0.0.1:4318.",
        ),
    ] = None
    otlp_content: Annotated[
        bool, typer.Option("--otlp-content", help="With --otlp: send prompts and answers, too, without keys.")
    ] = False
    mcp: Annotated[
        tuple[str, ...],
        typer.Option(
            "--mcp",
            metavar="TARGET",
            help="Functions to serve to MCP clients at /mcp: module, file.py, folder/ or module:function. Repeatable.",
        ),
    ] = ()
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URL",
            help="Serve the durable runs of this store at /runs, and its metrics at /metrics; beside an SQLite file, "
            "keep answers of the Responses API.",
        ),
    ] = None
    agents: Annotated[
        str | None,
        typer.Option("--agents", metavar="APP.py:NAME", help="Execute the runs of the store here, with these agents."),
    ] = None
    deps: Annotated[
        str | None,
        typer.Option("--deps", metavar="APP.py:NAME", help="With --agents: the function that creates deps for a run."),
    ] = None
    adapter: AdapterOption = None
    trust_project: TrustProjectOption = False


@frozen
class McpServeOptions:
    """The options of `toolspeak mcp serve`."""

    targets: Annotated[
        tuple[str, ...],
        typer.Argument(
            metavar="TARGET",
            help="Where the functions are: module, package.module, file.py, folder/ or module:function.",
        ),
    ]
    http: Annotated[
        str | None,
        typer.Option(
            "--http", metavar="HOST:PORT", help="Serve over HTTP, at http://HOST:PORT/mcp; port 0 for any free one."
        ),
    ] = None
    key_env: Annotated[
        str | None,
        typer.Option(
            "--key-env", metavar="NAME", help="The environment variable that holds the key HTTP clients must send."
        ),
    ] = None
    origins: OriginsOption = ()
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="The name of the server; that of the first target if left out."),
    ] = None
    approve: Annotated[
        ApproveChoice,
        typer.Option(
            "--approve",
            help="Calls that need approval: ask the client's user if the client can, approve or refuse.",
        ),
    ] = ApproveChoice.ask
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=0.001,
            help="Give up on a call, if its tool has no timeout.",
        ),
    ] = None


STORE_VARIABLE = "TOOLSPEAK_STORE"

StoreOption = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="URL",
        envvar=STORE_VARIABLE,
        help="The store of the runs: sqlite:///FILE or postgresql://USER@HOST/DATABASE.",
    ),
]


@frozen
class StartOptions:
    """The options of `toolspeak runs start`; see `Runs.start`."""

    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The name of the agent in the workers.")]
    store: StoreOption
    prompt: Annotated[str | None, typer.Argument(metavar="PROMPT", help="The prompt; - for standard input.")] = None
    key: Annotated[
        str,
        typer.Option("--key", metavar="KEY", help="A second start with this key returns the same run."),
    ] = ""
    priority: Annotated[int, typer.Option("--priority", metavar="N", help="Runs with a higher priority go first.")] = 0
    lane: Annotated[str, typer.Option("--lane", metavar="NAME", help="The lane of the run.")] = ""
    concurrency: Annotated[
        int | None,
        typer.Option("--concurrency", metavar="N", min=1, help="With --lane: execute this many runs at once."),
    ] = None
    delay: Annotated[str, typer.Option("--delay", metavar="TIME", help="Start after a time: 90s, 15m, 2h or 1d.")] = ""
    deadline: Annotated[
        float | None, typer.Option("--deadline", metavar="SECONDS", min=0, help="End the run after this many seconds.")
    ] = None
    chat: Annotated[str, typer.Option("--chat", metavar="NAME", help="The conversation that the run continues.")] = ""
    webhook: Annotated[
        str, typer.Option("--webhook", metavar="URL", help="Send the end of the run to this address, signed.")
    ] = ""
    data: Annotated[
        tuple[str, ...],
        typer.Option("--data", metavar="NAME=VALUE", help="Data for deps, rules and runs list. Repeatable."),
    ] = ()
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Show the run live.")] = False
    as_json: JsonOption = False


@frozen
class PageOptions:
    """The options of `toolspeak page`."""

    target: Annotated[
        Path | None,
        typer.Argument(metavar="FILE_OR_FOLDER", help="A file of toolspeak run --record, or a folder of such files."),
    ] = None
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URL",
            envvar=STORE_VARIABLE,
            help="Show the durable runs of this store, live, with buttons for approvals.",
        ),
    ] = None
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            metavar="GATEWAY",
            help="Show the exchanges of a gateway that runs with --watch; its key is read from --key-env.",
        ),
    ] = None
    key_env: Annotated[
        str | None,
        typer.Option("--key-env", metavar="NAME", help="The environment variable that holds the key of the gateway."),
    ] = None
    tools: ToolsOption = ()
    models: Annotated[
        tuple[str, ...],
        typer.Option(
            "--model",
            "-m",
            metavar="NAME",
            help="Ask this model in the playground: local, openai:NAME, http://…/v1#NAME and so on. Repeatable.",
            autocompletion=complete_model,
        ),
    ] = ()
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep",
            metavar="FOLDER",
            help="Keep the runs of the playground in this folder instead of your data folder.",
        ),
    ] = None
    chat: Annotated[bool, typer.Option("--chat", help="Open a chat; it is logged, unless log = false.")] = False
    export: Annotated[
        Path | None,
        typer.Option(
            "--export",
            metavar="FILE",
            help="Write the run as one HTML file that needs nothing else, and serve nothing. Keys are left out.",
        ),
    ] = None
    redact: Annotated[
        tuple[str, ...],
        typer.Option(
            "--redact", metavar="FIELD", help="Leave this field of arguments and results out of the file. Repeatable."
        ),
    ] = ()
    port: PortOption = 0
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser, or only print its address.")
    ] = True
