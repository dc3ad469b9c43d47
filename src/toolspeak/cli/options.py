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
from toolspeak.values.package import suggest_install

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
        raise UsageError(f"{what} needs {error.name}; install it with: {suggest_install(extra)}") from None


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
    from toolspeak.settings.files import list_templates

    return [(name, "") for name in list_templates()]


@_quietly
def complete_conversation() -> Completions:
    """Complete the id of one of the last conversations."""
    from toolspeak.durable.log import ConversationStore
    from toolspeak.settings.files import log_path

    path = log_path()
    if not path.exists():
        return []
    with ConversationStore(path) as store:
        return [(entry.id, entry.title[:60]) for entry in store.list_newest(50)]


@_quietly
def complete_sampling() -> Completions:
    """Complete the name of an option of sampling."""
    return [(f"{name}=", "") for name in ("temperature", "max_tokens", "top_p", "seed", "stop")]


def option(form: str, help: str, **more: Any) -> Any:
    """Declare an option, such as `--model -m NAME`: its names, and what stands for its value if it takes one."""
    words = form.split()
    metavar = None if words[-1].startswith("-") else words.pop()
    return typer.Option(*words, metavar=metavar, help=help, **more)


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
    option(
        "--tools TARGET", "Functions that the model may call: module, file.py, folder/ or module:function. Repeatable."
    ),
]

PortOption = Annotated[int, option("--port N", "The port to listen on; 0 for any free one.", min=0, max=65535)]

ModelOption = Annotated[
    str | None,
    option(
        "--model -m NAME", "The model: local, openai:NAME, http://…/v1#NAME and so on.", autocompletion=complete_model
    ),
]

DialectOption = Annotated[
    str | None, option("--dialect NAME", "How the model writes its calls: native, json, typescript or python.")
]

DialectsOption = Annotated[str, option("--dialect NAMES", "The dialects to compare, separated by commas, or all.")]

DebugOption = Annotated[
    bool, option("--debug", "Print the log on standard error: requests, turns, and failures of tools.")
]

TrustProjectOption = Annotated[
    bool, option("--trust-project", "Trust the settings of this project for this command, without asking.")
]

MaxTokensOption = Annotated[int, option("--max-tokens N", "Cut each answer after N tokens.", min=1)]

AdapterOption = Annotated[
    str | None,
    option("--adapter NAME", "The adapter of the embedded model: built-in, none, or the path of a GGUF file."),
]

JsonOption = Annotated[bool, option("--json", "Print JSON.")]

OriginsOption = Annotated[
    tuple[str, ...], option("--allow-origin ORIGIN", "A web page that may send requests: https://HOST. Repeatable.")
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
    system: Annotated[str | None, option("--system -s TEXT", "The system prompt.")] = None
    tool_choice: Annotated[
        str | None,
        option(
            "--tool-choice CHOICE",
            "auto, none, required, or the names of tools that must be called, separated by commas.",
        ),
    ] = None
    tool_budget: Annotated[
        int | None,
        option(
            "--tool-budget TOKENS",
            "The most tokens that tools may take in a request. The model finds the others with find_tools.",
            min=1,
        ),
    ] = None
    code: Annotated[
        bool | None, option("--code/--no-code", "Let the model write programs that call the functions, in a sandbox.")
    ] = None
    max_turns: Annotated[int | None, option("--max-turns N", "Stop after N turns of the model per prompt.", min=1)] = (
        None
    )
    max_cost: Annotated[
        float | None, option("--max-cost DOLLARS", "Stop when the answers to a prompt have cost this much.", min=0)
    ] = None
    context: Annotated[
        int | None, option("--context TOKENS", "Compact conversations that take more tokens.", min=1)
    ] = None
    approve: Annotated[
        ApproveChoice | None,
        typer.Option(
            "--approve", help="Calls that need approval: refuse, ask you, allow the waiting ones, or allow all."
        ),
    ] = None
    as_json: Annotated[bool, option("--json", "Print the events of the run as JSON, one per line.")] = False
    record: Annotated[Path | None, option("--record FILE", "Record the run in a file, for toolspeak page.")] = None
    sampling: Annotated[
        tuple[str, ...],
        option(
            "--option -o NAME=VALUE",
            "temperature, max_tokens, top_p, seed, stop, or extra.NAME for a field of your endpoint. Repeatable.",
            autocompletion=complete_sampling,
        ),
    ] = ()
    attach: Annotated[
        tuple[str, ...],
        option(
            "--attach -a FILE",
            "An image, PDF or text file to attach: a path, an address, or - for standard input. Repeatable.",
        ),
    ] = ()
    extract: Annotated[bool, option("--extract -x", "Print only the last code block of the answer.")] = False
    continue_last: Annotated[bool, option("--continue -c", "Continue the last conversation.")] = False
    conversation: Annotated[
        str | None,
        option(
            "--conversation ID", "Continue this conversation (see toolspeak log).", autocompletion=complete_conversation
        ),
    ] = None
    template: Annotated[
        str | None,
        option(
            "--template -t NAME",
            "Use one of your templates (see toolspeak templates).",
            autocompletion=complete_template,
        ),
    ] = None
    param: Annotated[tuple[str, ...], option("--param -p NAME=VALUE", "A parameter of the template. Repeatable.")] = ()
    no_log: Annotated[bool, option("--no-log", "Keep this conversation out of the log.")] = False
    debug: DebugOption = False
    trust_project: TrustProjectOption = False
    remembered_tools: tuple[str, ...] | None = None


@frozen
class EvalOptions:
    """The options of `toolspeak eval`."""

    GROUPS: ClassVar[Mapping[str, str]] = {
        "Model": "model dialects adapter max_tokens again concurrency",
        "Questions": "suite categories limit seed",
        "Answers": "results failures prompts_out template answers figures",
    }

    suite: Annotated[str, option("--suite NAME", "The questions: quick, field, answers, bfcl, or a file.")] = "quick"
    model: ModelOption = None
    dialects: DialectsOption = "all"
    categories: Annotated[tuple[str, ...], option("--category NAME", "Ask only this category. Repeatable.")] = ()
    limit: Annotated[int | None, option("--limit N", "Ask at most N questions of each category.", min=1)] = None
    seed: Annotated[int, option("--seed S", "The seed of the random choice for --limit.")] = 0
    concurrency: Annotated[int, option("--concurrency N", "Ask N questions at the same time.", min=1)] = 1
    max_tokens: MaxTokensOption = 256
    results: Annotated[
        Path | None,
        option("--results FILE", "The file for all answers. Questions with an answer there are not asked again."),
    ] = None
    failures: Annotated[Path | None, option("--failures FILE", "Write the wrong answers to a file.")] = None
    prompts_out: Annotated[
        Path | None, option("--prompts-out FILE", "Only write the prompts, to be answered elsewhere.")
    ] = None
    template: Annotated[str, option("--template NAME", "The chat template for --prompts-out: qwen2.5 or chatml.")] = (
        "qwen2.5"
    )
    answers: Annotated[
        tuple[Path, ...], option("--answers FILE", "Only score answers that were made elsewhere. Repeatable.")
    ] = ()
    figures: Annotated[bool, option("--figures", "Show what is worked out from results: order, sums, means.")] = False
    again: Annotated[int, option("--again N", "Ask again after a malformed call, at most N times.", min=0)] = 0
    adapter: AdapterOption = None
    trust_project: TrustProjectOption = False


@frozen
class ConformanceOptions:
    """The options of `toolspeak conformance`."""

    readers: Annotated[
        tuple[str, ...],
        option(
            "--reader TARGET",
            "A reader: module:function or file.py:function, called with (text, tools); toolspeak is ours. Repeatable.",
        ),
    ] = ()
    records: Annotated[
        str | None, option("--records FILE", "Your own records, a .jsonl file, instead of toolspeak's.")
    ] = None
    timeout_s: Annotated[float, option("--timeout S", "Seconds that a reader may take for one text.", min=0.01)] = 5.0
    failures: Annotated[
        bool, option("--failures", "Show the records that a reader got wrong, with the expected calls.")
    ] = False
    as_markdown: Annotated[bool, option("--markdown", "Print the tables in Markdown.")] = False
    as_json: Annotated[
        bool, option("--json", "Print JSON; with --failures, also each record that a reader got wrong.")
    ] = False
    strict: Annotated[bool, option("--strict", "Exit with 1 if a reader was wrong or gave no answer to a text.")] = (
        False
    )
