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
    option,
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

    models: Annotated[tuple[str, ...], option("--model NAME", "A model to serve. Repeatable.")] = ()
    dialect: DialectOption = None
    host: Annotated[str, option("--host HOST", "The address to listen on.")] = "127.0.0.1"
    port: PortOption = 8765
    key_env: Annotated[
        str | None, option("--key-env NAME", "The environment variable that holds the key clients must send.")
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
        float, option("--timeout SECONDS", "Give up on an endpoint that sends nothing for this long.", min=0.001)
    ] = 300.0
    no_store: Annotated[
        bool, option("--no-store", "Store no answers of the Responses API; clients send whole conversations.")
    ] = False
    mend: Annotated[bool, option("--mend/--no-mend", "Ask the model again when a call is malformed.")] = True
    thinks: Annotated[
        bool,
        option(
            "--thinks", "Answers may begin inside their reasoning, without an opening tag: don't stream it as text."
        ),
    ] = False
    one_call: Annotated[
        bool, option("--one-call", "Pass on only the first call of an answer, for agents that run all calls at once.")
    ] = False
    record: Annotated[
        Path | None, option("--record DIR", "Record the exchanges with the models in this folder, without keys.")
    ] = None
    replay: Annotated[
        Path | None, option("--replay DIR", "Answer from the recordings in this folder, without the models.")
    ] = None
    aliases: Annotated[
        tuple[str, ...], option("--alias NAME=MODEL", "Another name for a model that is served. Repeatable.")
    ] = ()
    origins: OriginsOption = ()
    strict: Annotated[bool, option("--strict", "Refuse requests with fields or tools that would be left out.")] = False
    tool_budget: Annotated[
        int | None,
        option(
            "--tool-budget TOKENS",
            "Cut the descriptions of tools until all tools together take this many tokens; a model reads the "
            "whole of one with a call of help.",
            min=1,
        ),
    ] = None
    show: Annotated[
        bool, option("--show", "Write each exchange to standard output, as a line of JSON without keys.")
    ] = False
    watch: Annotated[
        bool, option("--watch", "Keep the last hundred exchanges in memory, served at /exchanges behind the key.")
    ] = False
    otlp: Annotated[
        str | None,
        option(
            "--otlp URL", "Send spans of each exchange to this OpenTelemetry collector, such as http://127.0.0.1:4318."
        ),
    ] = None
    otlp_content: Annotated[
        bool, option("--otlp-content", "With --otlp: send prompts and answers, too, without keys.")
    ] = False
    mcp: Annotated[
        tuple[str, ...],
        option(
            "--mcp TARGET",
            "Functions to serve to MCP clients at /mcp: module, file.py, folder/ or module:function. Repeatable.",
        ),
    ] = ()
    store: Annotated[
        str | None,
        option(
            "--store URL",
            "Serve the durable runs of this store at /runs, and its metrics at /metrics; beside an SQLite file, "
            "keep answers of the Responses API.",
        ),
    ] = None
    agents: Annotated[
        str | None, option("--agents APP.py:NAME", "Execute the runs of the store here, with these agents.")
    ] = None
    deps: Annotated[
        str | None, option("--deps APP.py:NAME", "With --agents: the function that creates deps for a run.")
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
        str | None, option("--http HOST:PORT", "Serve over HTTP, at http://HOST:PORT/mcp; port 0 for any free one.")
    ] = None
    key_env: Annotated[
        str | None, option("--key-env NAME", "The environment variable that holds the key HTTP clients must send.")
    ] = None
    origins: OriginsOption = ()
    name: Annotated[
        str | None, option("--name NAME", "The name of the server; that of the first target if left out.")
    ] = None
    approve: Annotated[
        ApproveChoice,
        typer.Option(
            "--approve",
            help="Calls that need approval: ask the client's user if the client can, approve or refuse.",
        ),
    ] = ApproveChoice.ask
    timeout: Annotated[
        float | None, option("--timeout SECONDS", "Give up on a call, if its tool has no timeout.", min=0.001)
    ] = None


STORE_VARIABLE = "TOOLSPEAK_STORE"

StoreOption = Annotated[
    str,
    option(
        "--store URL",
        "The store of the runs: sqlite:///FILE or postgresql://USER@HOST/DATABASE.",
        envvar=STORE_VARIABLE,
    ),
]


@frozen
class StartOptions:
    """The options of `toolspeak runs start`; see `Runs.start`."""

    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The name of the agent in the workers.")]
    store: StoreOption
    prompt: Annotated[str | None, typer.Argument(metavar="PROMPT", help="The prompt; - for standard input.")] = None
    key: Annotated[str, option("--key KEY", "A second start with this key returns the same run.")] = ""
    priority: Annotated[int, option("--priority N", "Runs with a higher priority go first.")] = 0
    lane: Annotated[str, option("--lane NAME", "The lane of the run.")] = ""
    concurrency: Annotated[
        int | None, option("--concurrency N", "With --lane: execute this many runs at once.", min=1)
    ] = None
    delay: Annotated[str, option("--delay TIME", "Start after a time: 90s, 15m, 2h or 1d.")] = ""
    deadline: Annotated[float | None, option("--deadline SECONDS", "End the run after this many seconds.", min=0)] = (
        None
    )
    chat: Annotated[str, option("--chat NAME", "The conversation that the run continues.")] = ""
    webhook: Annotated[str, option("--webhook URL", "Send the end of the run to this address, signed.")] = ""
    data: Annotated[
        tuple[str, ...], option("--data NAME=VALUE", "Data for deps, rules and runs list. Repeatable.")
    ] = ()
    follow: Annotated[bool, option("--follow -f", "Show the run live.")] = False
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
        option(
            "--store URL",
            "Show the durable runs of this store, live, with buttons for approvals.",
            envvar=STORE_VARIABLE,
        ),
    ] = None
    url: Annotated[
        str | None,
        option(
            "--url GATEWAY", "Show the exchanges of a gateway that runs with --watch; its key is read from --key-env."
        ),
    ] = None
    key_env: Annotated[
        str | None, option("--key-env NAME", "The environment variable that holds the key of the gateway.")
    ] = None
    tools: ToolsOption = ()
    models: Annotated[
        tuple[str, ...],
        option(
            "--model -m NAME",
            "Ask this model in the playground: local, openai:NAME, http://…/v1#NAME and so on. Repeatable.",
            autocompletion=complete_model,
        ),
    ] = ()
    keep: Annotated[
        Path | None,
        option("--keep FOLDER", "Keep the runs of the playground in this folder instead of your data folder."),
    ] = None
    chat: Annotated[bool, option("--chat", "Open a chat; it is logged, unless log = false.")] = False
    export: Annotated[
        Path | None,
        option(
            "--export FILE",
            "Write the run as one HTML file that needs nothing else, and serve nothing. Keys are left out.",
        ),
    ] = None
    redact: Annotated[
        tuple[str, ...],
        option("--redact FIELD", "Leave this field of arguments and results out of the file. Repeatable."),
    ] = ()
    port: PortOption = 0
    open_browser: Annotated[
        bool, option("--open/--no-open", "Open the page in the browser, or only print its address.")
    ] = True
