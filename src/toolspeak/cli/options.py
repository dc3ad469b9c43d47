"""What the commands take. Nothing here loads more than typer: `toolspeak --help` need not wait for the library."""

from enum import StrEnum
from typing import Annotated

import typer


class Form(StrEnum):
    """The forms in which tools can be shown."""

    openai = "openai"
    anthropic = "anthropic"
    typescript = "typescript"
    python = "python"
    json = "json"


class Approve(StrEnum):
    """What becomes of calls that need a yes."""

    never = "never"
    ask = "ask"
    always = "always"


Target = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="Where the functions are: module, package.module, file.py, folder/ or module:function.",
        show_default=False,
    ),
]

Tools = Annotated[
    list[str] | None,
    typer.Option("--tools", metavar="TARGET", help="Functions that the model may call. May be given several times."),
]

ModelName = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="Who answers: local, openai:NAME, http://…/v1#NAME and so on."),
]

DialectName = Annotated[
    str | None,
    typer.Option("--dialect", metavar="NAME", help="How calls are spoken: native, json, typescript or python."),
]

System = Annotated[
    str | None, typer.Option("--system", metavar="TEXT", help="What the model is told before everything else.")
]

Choice = Annotated[
    str | None,
    typer.Option(
        "--tool-choice",
        metavar="CHOICE",
        help="auto, none, required, or the tools that must be called, with commas between them.",
    ),
]

MaxTokens = Annotated[
    int, typer.Option("--max-tokens", metavar="N", min=1, help="The most tokens of an answer; what is longer is cut.")
]

MaxTurns = Annotated[
    int | None, typer.Option("--max-turns", metavar="N", min=1, help="The most answers of the model to one prompt.")
]

Approval = Annotated[
    Approve | None,
    typer.Option("--approve", help="Calls that need a yes are refused, asked about or approved."),
]
