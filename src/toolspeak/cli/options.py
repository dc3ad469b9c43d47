"""The options of commands, each declared once, and what shells complete. Nothing here imports more than typer.

A command with many options has a class of them: a field is an option of the command line, and its value for the work.
`take_options` makes a command of a function that takes such a class. Its `GROUPS` say under which heading of the help
each option stands.

A completion returns the words that fit, with a help text where there is one. Neither may hold anything that a shell
evaluates. Whatever goes wrong, there is nothing to complete: an error would be printed into the line that the user
types.
"""

from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import MISSING, Field, fields
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar, get_args, get_origin

import typer

from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen

T = TypeVar("T")


def take_options(
    options: type[T], *, without: Collection[str] = ()
) -> Callable[[Callable[[T], None]], Callable[..., None]]:
    """Make a command of a function that takes an object of a class. The fields of the class become its parameters.

    A field `tuple[X, ...]` is one that can be repeated. A field without `Annotated` is not for the command line.
    """
    groups: Mapping[str, str] = getattr(options, "GROUPS", {})
    headings = {name: heading for heading, names in groups.items() for name in names.split()}
    order = [*headings]
    declared: list[Field[Any]] = sorted(
        (
            each
            for each in fields(options)  # pyright: ignore[reportArgumentType] (a class made by `frozen`)
            if get_origin(each.type) is Annotated and each.name not in without
        ),
        key=lambda each: order.index(each.name) if each.name in headings else len(order),
    )
    repeatable = {each.name for each in declared if get_origin(get_args(each.type)[0]) is tuple}
    parameters = [
        _make_parameter(each, repeats=each.name in repeatable, heading=headings.get(each.name)) for each in declared
    ]

    def decorate(run: Callable[[T], None]) -> Callable[..., None]:
        @wraps(run)
        def command(**given: Any) -> None:
            run(options(**{name: tuple(each or ()) if name in repeatable else each for name, each in given.items()}))

        command.__annotations__ = {each.name: each.annotation for each in parameters}
        setattr(command, "__signature__", Signature(parameters))  # noqa: B010 (functions have no such attribute)
        return command

    return decorate


def _make_parameter(declared: Field[Any], *, repeats: bool, heading: str | None) -> Parameter:
    kind, about = get_args(declared.type)
    about = copy(about)  # another command may have the option, under another heading
    about.rich_help_panel = heading
    default: Any = Parameter.empty if declared.default is MISSING else declared.default
    if repeats:
        listed: Any = list[get_args(kind)[0]]
        kind, default = (listed, default) if default is Parameter.empty else (listed | None, None)
    return Parameter(declared.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, about])


PACKAGES = {
    "gateway": frozenset({"starlette", "uvicorn"}),
    "mcp": frozenset({"mcp", "mcp_types", "starlette", "uvicorn"}),
    "page": frozenset({"starlette", "uvicorn"}),
}
"""The packages of an extra that are imported by a command first."""


@contextmanager
def explain_missing(what: str, extra: str) -> Generator[None]:
    """Raise `UsageError` where an import fails because an extra is not installed; `what` is what needs it, in words."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in PACKAGES[extra]:
            raise
        raise UsageError(f"{what} needs {error.name}; install it with: pip install 'toolspeak[{extra}]'") from None


Completions: TypeAlias = list[tuple[str, str]]


def _quietly(complete: Callable[[], Completions]) -> Callable[[str], Completions]:
    """Return a completion of what has been typed, which ends with no words when it fails.

    Titles and names come from prompts and files. A word that a shell would not take as it stands is not offered, since
    bash writes it into the command line without quotes; a help text loses what a shell could evaluate.
    """

    def complete_quietly(incomplete: str) -> Completions:
        from toolspeak.cli.safe_text import is_plain_for_shell, simplify_for_shell

        try:
            offered = ((word, text) for word, text in complete() if word.startswith(incomplete))
            return [(word, simplify_for_shell(text)) for word, text in offered if is_plain_for_shell(word)]
        except Exception:
            return []

    return complete_quietly


@_quietly
def complete_model() -> Completions:
    """Complete the name of a model: the embedded one, endpoints of the user's settings, known endpoints."""
    from toolspeak import settings
    from toolspeak.models import SERVERS

    own = settings.load().endpoints.items()
    configured = [(name if endpoint.model else f"{name}:", endpoint.base_url) for name, endpoint in own]
    return [("local", "the embedded model"), *configured, *((f"{name}:", "") for name in SERVERS)]


@_quietly
def complete_template() -> Completions:
    """Complete the name of a template."""
    from toolspeak.cli.files import list_templates

    return [(name, "") for name in list_templates()]


@_quietly
def complete_conversation() -> Completions:
    """Complete the id of one of the last conversations."""
    from toolspeak.cli.files import log_path
    from toolspeak.durable.log import ConversationStore

    path = log_path()
    if not path.exists():
        return []
    with ConversationStore(path) as store:
        return [(entry.id, entry.title[:60]) for entry in store.list_newest(50)]


@_quietly
def complete_sampling() -> Completions:
    """Complete the name of an option of sampling."""
    return [(f"{name}=", "") for name in ("temperature", "max_tokens", "top_p", "seed", "stop")]


class Form(StrEnum):
    """The forms in which `toolspeak tools` prints tools."""

    openai = "openai"
    openai_responses = "openai-responses"
    anthropic = "anthropic"
    gemini = "gemini"
    typescript = "typescript"
    python = "python"
    json = "json"


class ApproveChoice(StrEnum):
    """The values of `--approve`: refuse calls that need approval, ask the user, approve what waits, or approve all."""

    never = "never"
    ask = "ask"
    once = "once"
    always = "always"


TargetArgument = Annotated[
    str,
    typer.Argument(
        metavar="TARGET", help="Where the functions are: module, package.module, file.py, folder/ or module:function."
    ),
]

ToolsOption = Annotated[
    tuple[str, ...],
    typer.Option(
        "--tools",
        metavar="TARGET",
        help="Functions that the model may call: module, file.py, folder/ or module:function. Repeatable.",
    ),
]

PortOption = Annotated[
    int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port to listen on; 0 for any free one.")
]

ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="NAME",
        help="The model: local, openai:NAME, http://…/v1#NAME and so on.",
        autocompletion=complete_model,
    ),
]

DialectOption = Annotated[
    str | None,
    typer.Option(
        "--dialect", metavar="NAME", help="How the model writes its calls: native, json, typescript or python."
    ),
]

DialectsOption = Annotated[
    str, typer.Option("--dialect", metavar="NAMES", help="The dialects to compare, separated by commas, or all.")
]

DebugOption = Annotated[
    bool, typer.Option("--debug", help="Print the log on standard error: requests, turns, and failures of tools.")
]

TrustProjectOption = Annotated[
    bool, typer.Option("--trust-project", help="Let the settings of this project count without asking, for CI.")
]

MaxTokensOption = Annotated[
    int, typer.Option("--max-tokens", metavar="N", min=1, help="Cut each answer after N tokens.")
]

AdapterOption = Annotated[
    str | None,
    typer.Option(
        "--adapter",
        metavar="NAME",
        help="The adapter of the embedded model: built-in, none, or the path of a GGUF file.",
    ),
]

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]

OriginsOption = Annotated[
    tuple[str, ...],
    typer.Option(
        "--allow-origin", metavar="ORIGIN", help="A web page that may send requests: https://HOST. Repeatable."
    ),
]


@frozen
class ConversationOptions:
    """The options of `toolspeak chat` and `toolspeak run`. One that is None is taken from the settings.

    Attributes:
        remembered_tools: Targets of the conversation that is continued, for the case that the user named none.
    """

    GROUPS: ClassVar[Mapping[str, str]] = {
        "Model": "model dialect adapter system sampling",
        "Tools": "tools tool_choice tool_budget code approve",
        "Prompt": "attach template param",
        "Conversation": "continue_last conversation no_log",
        "Limits": "max_turns max_cost context",
        "Output": "as_json extract record debug",
    }

    prompt: Annotated[
        str | None,
        typer.Argument(
            metavar="PROMPT", help="The prompt. Piped text follows it, or is the prompt if this is - or left out."
        ),
    ] = None
    tools: ToolsOption = ()
    model: ModelOption = None
    dialect: DialectOption = None
    adapter: AdapterOption = None
    system: Annotated[str | None, typer.Option("--system", "-s", metavar="TEXT", help="The system prompt.")] = None
    tool_choice: Annotated[
        str | None,
        typer.Option(
            "--tool-choice",
            metavar="CHOICE",
            help="auto, none, required, or the names of tools that must be called, separated by commas.",
        ),
    ] = None
    tool_budget: Annotated[
        int | None,
        typer.Option(
            "--tool-budget",
            metavar="TOKENS",
            min=1,
            help="The most tokens of tools in a request. The model finds the others with a call of find_tools.",
        ),
    ] = None
    code: Annotated[
        bool | None,
        typer.Option("--code/--no-code", help="Let the model write programs that call the functions, in a sandbox."),
    ] = None
    max_turns: Annotated[
        int | None,
        typer.Option("--max-turns", metavar="N", min=1, help="Stop after N answers of the model to a prompt."),
    ] = None
    max_cost: Annotated[
        float | None,
        typer.Option(
            "--max-cost", metavar="DOLLARS", min=0, help="Stop when the answers to a prompt have cost so much."
        ),
    ] = None
    context: Annotated[
        int | None,
        typer.Option("--context", metavar="TOKENS", min=1, help="Compact conversations that need more tokens."),
    ] = None
    approve: Annotated[
        ApproveChoice | None,
        typer.Option("--approve", help="Calls that need approval: refuse, ask you, allow what waits, or allow all."),
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print the events of the run as JSON, one a line.")] = False
    record: Annotated[
        Path | None, typer.Option("--record", metavar="FILE", help="Record the run in a file, for toolspeak graph.")
    ] = None
    sampling: Annotated[
        tuple[str, ...],
        typer.Option(
            "--option",
            "-o",
            metavar="NAME=VALUE",
            help="temperature, max_tokens, top_p, seed, stop, or extra.NAME for a field of your endpoint. Repeatable.",
            autocompletion=complete_sampling,
        ),
    ] = ()
    attach: Annotated[
        tuple[str, ...],
        typer.Option(
            "--attach",
            "-a",
            metavar="FILE",
            help="An image, a PDF or a text to send along: a path, an address, or - for standard input. Repeatable.",
        ),
    ] = ()
    extract: Annotated[
        bool, typer.Option("--extract", "-x", help="Print the last code block of the answer, and nothing else.")
    ] = False
    continue_last: Annotated[bool, typer.Option("--continue", "-c", help="Continue the last conversation.")] = False
    conversation: Annotated[
        str | None,
        typer.Option(
            "--conversation",
            metavar="ID",
            help="Continue this conversation (see toolspeak log).",
            autocompletion=complete_conversation,
        ),
    ] = None
    template: Annotated[
        str | None,
        typer.Option(
            "--template",
            "-t",
            metavar="NAME",
            help="Use one of your templates (see toolspeak templates).",
            autocompletion=complete_template,
        ),
    ] = None
    param: Annotated[
        tuple[str, ...],
        typer.Option("--param", "-p", metavar="NAME=VALUE", help="A parameter of the template. Repeatable."),
    ] = ()
    no_log: Annotated[bool, typer.Option("--no-log", help="Keep this conversation out of the log.")] = False
    debug: DebugOption = False
    trust_project: TrustProjectOption = False
    remembered_tools: tuple[str, ...] | None = None


@frozen
class EvalOptions:
    """The options of `toolspeak eval`."""

    GROUPS: ClassVar[Mapping[str, str]] = {
        "Model": "model dialects adapter max_tokens again concurrency",
        "Questions": "suite categories limit seed",
        "Answers": "results failures prompts_out template answers",
    }

    suite: Annotated[
        str, typer.Option("--suite", metavar="NAME", help="The questions: quick, field, answers, bfcl, or a file.")
    ] = "quick"
    model: ModelOption = None
    dialects: DialectsOption = "all"
    categories: Annotated[
        tuple[str, ...], typer.Option("--category", metavar="NAME", help="Ask only this category. Repeatable.")
    ] = ()
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Ask at most N questions of each category.")
    ] = None
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="The seed of the random choice for --limit.")] = 0
    concurrency: Annotated[
        int, typer.Option("--concurrency", metavar="N", min=1, help="Ask N questions at the same time.")
    ] = 1
    max_tokens: MaxTokensOption = 256
    results: Annotated[
        Path | None,
        typer.Option(
            "--results",
            metavar="FILE",
            help="Where every answer is written. Questions with an answer there are not asked again.",
        ),
    ] = None
    failures: Annotated[
        Path | None, typer.Option("--failures", metavar="FILE", help="Write the wrong answers to a file, for reading.")
    ] = None
    prompts_out: Annotated[
        Path | None,
        typer.Option("--prompts-out", metavar="FILE", help="Only write the prompts, to be answered elsewhere."),
    ] = None
    template: Annotated[
        str, typer.Option("--template", metavar="NAME", help="The chat template for --prompts-out: qwen2.5 or chatml.")
    ] = "qwen2.5"
    answers: Annotated[
        tuple[Path, ...],
        typer.Option("--answers", metavar="FILE", help="Only score answers that were made elsewhere. Repeatable."),
    ] = ()
    again: Annotated[
        int, typer.Option("--again", metavar="N", min=0, help="Ask again after a malformed call, at most N times.")
    ] = 0
    adapter: AdapterOption = None
    trust_project: TrustProjectOption = False


@frozen
class ConformanceOptions:
    """The options of `toolspeak conformance`."""

    readers: Annotated[
        tuple[str, ...],
        typer.Option(
            "--reader",
            metavar="TARGET",
            help="A reader: module:function or file.py:function, called with (text, tools); toolspeak is ours. "
            "Repeatable.",
        ),
    ] = ()
    records: Annotated[
        str | None,
        typer.Option("--records", metavar="FILE", help="Records of your own: a .jsonl file; else those of toolspeak."),
    ] = None
    timeout_s: Annotated[
        float, typer.Option("--timeout", metavar="S", min=0.01, help="Seconds that a reader may take for one text.")
    ] = 5.0
    failures: Annotated[
        bool, typer.Option("--failures", help="Show the records that were read wrongly, with what was expected.")
    ] = False
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables in Markdown.")] = False
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON; with --failures, also each record that was not read right.")
    ] = False
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if a reader was wrong or gave no answer to a text.")
    ] = False


@frozen
class ServeOptions:
    """The options of `toolspeak serve`."""

    GROUPS: ClassVar[Mapping[str, str]] = {
        "Models": "models aliases dialect adapter mend thinks tool_budget strict",
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
    mend: Annotated[bool, typer.Option("--mend/--no-mend", help="Ask the model again when a call is malformed.")] = True
    thinks: Annotated[
        bool,
        typer.Option(
            "--thinks",
            help="Answers may begin inside their reasoning, without an opening tag: stream none of it as text.",
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
            help="Send spans of each exchange to this collector of OpenTelemetry, such as http://127.0.0.1:4318.",
        ),
    ] = None
    otlp_content: Annotated[
        bool, typer.Option("--otlp-content", help="With --otlp: send what was asked and answered, too, without keys.")
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
            "--store", metavar="URL", help="Serve the durable runs of this store at /runs, and its figures at /metrics."
        ),
    ] = None
    agents: Annotated[
        str | None,
        typer.Option("--agents", metavar="APP.py:NAME", help="Drive the runs of the store here, with these agents."),
    ] = None
    deps: Annotated[
        str | None,
        typer.Option("--deps", metavar="APP.py:NAME", help="With --agents: the function that makes deps for a run."),
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
        typer.Option("--name", metavar="NAME", help="The name of the server; without it, that of the first target."),
    ] = None
    approve: Annotated[
        ApproveChoice,
        typer.Option(
            "--approve",
            help="Calls of tools that need approval: ask the client's user where the client can, approve or refuse.",
        ),
    ] = ApproveChoice.ask
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout", metavar="SECONDS", min=0.001, help="Give up a call of a tool without a timeout of its own."
        ),
    ] = None


STORE_VARIABLE = "TOOLSPEAK_STORE"

StoreOption = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="URL",
        envvar=STORE_VARIABLE,
        help="Where the runs are kept: sqlite:///FILE or postgresql://USER@HOST/DATABASE.",
    ),
]


@frozen
class StartOptions:
    """The options of `toolspeak runs start`; see `Runs.start`."""

    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The name under which workers know the agent.")]
    store: StoreOption
    prompt: Annotated[str | None, typer.Argument(metavar="[PROMPT]", help="What is asked; - for standard input.")] = (
        None
    )
    key: Annotated[
        str, typer.Option("--key", metavar="KEY", help="A name for this request: a second start gives the same run.")
    ] = ""
    priority: Annotated[int, typer.Option("--priority", metavar="N", help="Higher ones are driven first.")] = 0
    lane: Annotated[str, typer.Option("--lane", metavar="NAME", help="The lane whose limits hold for the run.")] = ""
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", metavar="N", min=1, help="With --lane: so many such runs at once.")
    ] = None
    delay: Annotated[str, typer.Option("--delay", metavar="TIME", help="Begin after a while: 90s, 15m, 2h or 1d.")] = ""
    deadline: Annotated[
        float | None, typer.Option("--deadline", metavar="SECONDS", min=0, help="End the run so many seconds from now.")
    ] = None
    chat: Annotated[str, typer.Option("--chat", metavar="NAME", help="The conversation that the run goes on with.")] = (
        ""
    )
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
        typer.Argument(metavar="[FILE_OR_FOLDER]", help="A file of toolspeak run --record, or a folder of such files."),
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
            help="Keep the runs of the playground in this folder instead of the folder for your data.",
        ),
    ] = None
    chat: Annotated[bool, typer.Option("--chat", help="Open a chat; your log keeps it, unless log = false.")] = False
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
