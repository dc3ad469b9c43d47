"""The commands `chat` and `run`, with their options. Their work is imported when they are called."""

from pathlib import Path
from typing import Annotated

import typer

from toolspeak.cli.options import (
    ApproveOption,
    DialectOption,
    MaxTurnsOption,
    ModelOption,
    SystemOption,
    ToolChoiceOption,
    ToolsOption,
    TrustProjectOption,
)


def chat_command(
    tools: ToolsOption = None,
    model: ModelOption = None,
    dialect: DialectOption = None,
    system: SystemOption = None,
    tool_choice: ToolChoiceOption = None,
    max_turns: MaxTurnsOption = None,
    approve: ApproveOption = None,
    trust_project: TrustProjectOption = False,
) -> None:
    """Chat with a model that can call your functions.

    Options that are left out come from the settings (see toolspeak config). If these name no model either, the
    embedded one is used. In the chat, /help lists the commands.
    """
    from toolspeak.cli.agent_config import AgentOptions
    from toolspeak.cli.chat import chat
    from toolspeak.cli.settings_loader import load_settings

    options = AgentOptions(
        tools=tuple(tools or ()),
        model=model,
        dialect=dialect,
        system=system,
        tool_choice=tool_choice,
        max_turns=max_turns,
        approve=approve,
    )
    raise typer.Exit(chat(options, load_settings(trust_project=trust_project)))


def run_command(
    prompt: Annotated[
        str | None,
        typer.Argument(metavar="PROMPT", help="The prompt; - or none reads it from standard input."),
    ] = None,
    tools: ToolsOption = None,
    model: ModelOption = None,
    dialect: DialectOption = None,
    system: SystemOption = None,
    tool_choice: ToolChoiceOption = None,
    max_turns: MaxTurnsOption = None,
    approve: ApproveOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the events of the run as JSON, one a line.")] = False,
    record: Annotated[
        Path | None, typer.Option("--record", metavar="FILE", help="Record the run in a file, for toolspeak graph.")
    ] = None,
    trust_project: TrustProjectOption = False,
) -> None:
    """Answer one prompt with a model that can call your functions.

    The answer goes to standard output. Calls and their results go with it in a terminal, and to standard error
    otherwise. Options that are left out come from the settings (see toolspeak config).

    Exit codes: 0 answered; 1 stopped without an answer (a limit, a loop, cut off, refused); 2 wrong usage; 3 the
    endpoint failed; 4 paused, because a call needs approval and there is no terminal to ask in; 130 interrupted.
    """
    from toolspeak.cli.agent_config import AgentOptions
    from toolspeak.cli.run import read_prompt
    from toolspeak.cli.run import run as run_once
    from toolspeak.cli.settings_loader import load_settings

    options = AgentOptions(
        tools=tuple(tools or ()),
        model=model,
        dialect=dialect,
        system=system,
        tool_choice=tool_choice,
        max_turns=max_turns,
        approve=approve,
    )
    text = read_prompt(prompt)
    settings = load_settings(trust_project=trust_project)
    raise typer.Exit(run_once(text, options, settings, as_json=as_json, record=record))
