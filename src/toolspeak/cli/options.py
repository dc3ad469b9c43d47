"""Options that several commands share. Nothing here imports more than typer, so that `toolspeak --help` is fast."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from enum import StrEnum
from functools import wraps
from typing import Annotated, TypeAlias

import typer

from toolspeak.values.errors import UsageError

# What a command says if the extra that it needs is not installed.


PACKAGES = {
    "gateway": frozenset({"starlette", "uvicorn"}),
    "mcp": frozenset({"mcp", "mcp_types", "starlette", "uvicorn"}),
    "page": frozenset({"starlette", "uvicorn"}),
}
"""The packages of an extra that are imported by a command first."""


@contextmanager
def explain_missing(what: str, extra: str) -> Generator[None]:
    """Raise `UsageError` where an import fails because an extra is not installed.

    Args:
        what: What needs the extra, as the error calls it.
        extra: Its name.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in PACKAGES[extra]:
            raise
        raise UsageError(f"{what} needs {error.name}; install it with: pip install 'toolspeak[{extra}]'") from None


# What shells complete: models, templates, conversations and options. Called by the shell's script, never by a command.
#
# Each function returns the words that fit, with a help text where there is one. Whatever goes wrong, there is nothing
# to complete: an error would be printed into the line that the user types.


Completions: TypeAlias = list[tuple[str, str]]

MAX_CONVERSATIONS = 50


def _quietly(complete: Callable[[str], Completions]) -> Callable[[str], Completions]:
    """Return a completion that ends with no words when it fails."""

    @wraps(complete)
    def complete_quietly(incomplete: str) -> Completions:
        try:
            return [each for each in complete(incomplete) if each[0].startswith(incomplete)]
        except Exception:
            return []

    return complete_quietly


@_quietly
def complete_model(incomplete: str) -> Completions:
    """Complete the name of a model: the embedded one, endpoints of the user's settings, known endpoints."""
    from toolspeak import settings
    from toolspeak.models import SERVERS

    configured = settings.load()
    own = [
        (name if endpoint.model else f"{name}:", endpoint.base_url) for name, endpoint in configured.endpoints.items()
    ]
    return [("local", "the embedded model"), *own, *((f"{name}:", "") for name in SERVERS)]


@_quietly
def complete_template(incomplete: str) -> Completions:
    """Complete the name of a template."""
    from toolspeak.cli.files import list_templates

    return [(name, "") for name in list_templates()]


@_quietly
def complete_conversation(incomplete: str) -> Completions:
    """Complete the id of one of the last conversations."""
    from toolspeak.cli.files import log_path
    from toolspeak.cli.safe_text import escape_line
    from toolspeak.durable.log import ConversationStore

    path = log_path()
    if not path.exists():
        return []
    with ConversationStore(path) as store:
        return [(entry.id, escape_line(entry.title[:60])) for entry in store.list_newest(MAX_CONVERSATIONS)]


@_quietly
def complete_sampling(incomplete: str) -> Completions:
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
    """The values of `--approve`: refuse calls that need approval, ask the user, or approve them."""

    never = "never"
    ask = "ask"
    always = "always"


TargetArgument = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="Where the functions are: module, package.module, file.py, folder/ or module:function.",
        show_default=False,
    ),
]

ToolsOption = Annotated[
    list[str] | None,
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
        "--dialect",
        metavar="NAME",
        help="How the model writes its calls: native, json, typescript or python.",
    ),
]

DialectsOption = Annotated[
    str,
    typer.Option("--dialect", metavar="NAMES", help="The dialects to compare, separated by commas, or all."),
]

AttachOption = Annotated[
    list[str] | None,
    typer.Option(
        "--attach",
        "-a",
        metavar="FILE",
        help="An image, a PDF or a text to send along: a path, an address, or - for standard input. Repeatable.",
    ),
]

SystemOption = Annotated[str | None, typer.Option("--system", "-s", metavar="TEXT", help="The system prompt.")]

ContinueOption = Annotated[bool, typer.Option("--continue", "-c", help="Continue the last conversation.")]

ConversationOption = Annotated[
    str | None,
    typer.Option(
        "--conversation",
        metavar="ID",
        help="Continue this conversation (see toolspeak log).",
        autocompletion=complete_conversation,
    ),
]

TemplateOption = Annotated[
    str | None,
    typer.Option(
        "--template",
        "-t",
        metavar="NAME",
        help="Use one of your templates (see toolspeak templates).",
        autocompletion=complete_template,
    ),
]

ParameterOption = Annotated[
    list[str] | None,
    typer.Option("--param", "-p", metavar="NAME=VALUE", help="A parameter of the template. Repeatable."),
]

SamplingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="NAME=VALUE",
        help="temperature, max_tokens, top_p, seed, stop, or extra.NAME for a field of your endpoint. Repeatable.",
        autocompletion=complete_sampling,
    ),
]

NoLogOption = Annotated[bool, typer.Option("--no-log", help="Keep this conversation out of the log.")]

ToolChoiceOption = Annotated[
    str | None,
    typer.Option(
        "--tool-choice",
        metavar="CHOICE",
        help="auto, none, required, or the names of tools that must be called, separated by commas.",
    ),
]

DebugOption = Annotated[
    bool, typer.Option("--debug", help="Print the log on standard error: requests, turns, and failures of tools.")
]

TrustProjectOption = Annotated[
    bool,
    typer.Option("--trust-project", help="Let the settings of this project count without asking, for CI."),
]

MaxTokensOption = Annotated[
    int, typer.Option("--max-tokens", metavar="N", min=1, help="Cut each answer after N tokens.")
]

MaxTurnsOption = Annotated[
    int | None, typer.Option("--max-turns", metavar="N", min=1, help="Stop after N answers of the model to a prompt.")
]

MaxCostOption = Annotated[
    float | None,
    typer.Option("--max-cost", metavar="DOLLARS", min=0, help="Stop when the answers to a prompt have cost so much."),
]

ContextOption = Annotated[
    int | None,
    typer.Option("--context", metavar="TOKENS", min=1, help="Compact conversations that need more tokens."),
]

ToolBudgetOption = Annotated[
    int | None,
    typer.Option(
        "--tool-budget",
        metavar="TOKENS",
        min=1,
        help="The most tokens of tools in a request. The model finds those that do not fit with a call of find_tools.",
    ),
]

CodeOption = Annotated[
    bool | None,
    typer.Option(
        "--code/--no-code",
        help="Let the model write programs that call the functions, in a sandbox.",
    ),
]

AdapterOption = Annotated[
    str | None,
    typer.Option(
        "--adapter",
        metavar="NAME",
        help="The adapter of the embedded model: built-in, none, or the path of a GGUF file.",
        show_default=False,
    ),
]

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]

AllowOriginOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-origin", metavar="ORIGIN", help="A web page that may send requests: https://HOST. Repeatable."
    ),
]

ApproveOption = Annotated[
    ApproveChoice | None,
    typer.Option("--approve", help="Calls that need approval: refuse them, ask you, or approve them all."),
]
