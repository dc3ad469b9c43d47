"""The commands `chat` and `run`, with their options. Their work is imported when they are called."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolspeak.cli.options import (
    AdapterOption,
    ApproveChoice,
    ApproveOption,
    AttachOption,
    CodeOption,
    ContextOption,
    ContinueOption,
    ConversationOption,
    DebugOption,
    DialectOption,
    MaxCostOption,
    MaxTurnsOption,
    ModelOption,
    NoLogOption,
    ParameterOption,
    SamplingOption,
    SystemOption,
    TemplateOption,
    ToolBudgetOption,
    ToolChoiceOption,
    ToolsOption,
    TrustProjectOption,
)
from toolspeak.errors import UsageError

if TYPE_CHECKING:
    from toolspeak.cli.agent_config import CommandOptions
    from toolspeak.cli.conversation_log import ContinuedConversation
    from toolspeak.cli.templates import PromptTemplate
    from toolspeak.settings import Settings


def chat_command(
    tools: ToolsOption = None,
    model: ModelOption = None,
    dialect: DialectOption = None,
    adapter: AdapterOption = None,
    system: SystemOption = None,
    tool_choice: ToolChoiceOption = None,
    tool_budget: ToolBudgetOption = None,
    code: CodeOption = None,
    max_turns: MaxTurnsOption = None,
    max_cost: MaxCostOption = None,
    context: ContextOption = None,
    approve: ApproveOption = None,
    option: SamplingOption = None,
    attach: AttachOption = None,
    continue_last: ContinueOption = False,
    conversation: ConversationOption = None,
    template: TemplateOption = None,
    param: ParameterOption = None,
    no_log: NoLogOption = False,
    debug: DebugOption = False,
    trust_project: TrustProjectOption = False,
) -> None:
    """Chat with a model that can call your functions.

    Options that are left out come from the settings (see toolspeak config). If these name no model either, the
    embedded one is used. In the chat, /help lists the commands. A conversation that is continued keeps its model, its
    tools and its system prompt, unless they are given anew.
    """
    from toolspeak.cli.attach import STANDARD_INPUT, load_attachments
    from toolspeak.cli.chat import chat
    from toolspeak.cli.settings_loader import load_settings

    if debug:
        _print_log()
    chosen = _load_template(template, param)
    if chosen is not None and chosen.prompt is not None:
        raise UsageError(f"the template {chosen.name} has a prompt, so it is for toolspeak run")
    if STANDARD_INPUT in (sources := attach or []):
        raise UsageError("standard input is the conversation here; attach a file instead")
    attachments = load_attachments(sources)
    options = _build_options(
        chosen,
        tools=tools,
        model=model,
        dialect=dialect,
        system=system,
        tool_choice=tool_choice,
        tool_budget=tool_budget,
        code=code,
        max_turns=max_turns,
        max_cost=max_cost,
        context=context,
        approve=approve,
        option=option,
    )
    settings = load_settings(trust_project=trust_project, adapter=adapter)
    raise typer.Exit(
        chat(
            options,
            settings,
            attachments=attachments,
            log_path=_choose_log(settings, no_log=no_log),
            continued=_find_continued(conversation, continue_last=continue_last),
        )
    )


def run_command(
    prompt: Annotated[
        str | None,
        typer.Argument(
            metavar="PROMPT", help="The prompt. Piped text follows it, or is the prompt if this is - or left out."
        ),
    ] = None,
    tools: ToolsOption = None,
    model: ModelOption = None,
    dialect: DialectOption = None,
    adapter: AdapterOption = None,
    system: SystemOption = None,
    tool_choice: ToolChoiceOption = None,
    tool_budget: ToolBudgetOption = None,
    code: CodeOption = None,
    max_turns: MaxTurnsOption = None,
    max_cost: MaxCostOption = None,
    context: ContextOption = None,
    approve: ApproveOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the events of the run as JSON, one a line.")] = False,
    record: Annotated[
        Path | None, typer.Option("--record", metavar="FILE", help="Record the run in a file, for toolspeak graph.")
    ] = None,
    option: SamplingOption = None,
    attach: AttachOption = None,
    extract: Annotated[
        bool, typer.Option("--extract", "-x", help="Print the last code block of the answer, and nothing else.")
    ] = False,
    continue_last: ContinueOption = False,
    conversation: ConversationOption = None,
    template: TemplateOption = None,
    param: ParameterOption = None,
    no_log: NoLogOption = False,
    debug: DebugOption = False,
    trust_project: TrustProjectOption = False,
) -> None:
    """Answer one prompt with a model that can call your functions.

    The answer goes to standard output. Calls and their results go with it in a terminal, and to standard error
    otherwise. Options that are left out come from the settings (see toolspeak config). A conversation that is continued
    keeps its model, its tools and its system prompt, unless they are given anew.

    Exit codes: 0 answered; 1 stopped without an answer (a limit, a loop, cut off, refused); 2 wrong usage; 3 the
    endpoint failed; 4 paused, because a call needs approval and there is no terminal to ask in; 130 interrupted.
    """
    from toolspeak.cli.attach import STANDARD_INPUT, load_attachments
    from toolspeak.cli.run import RunOutput
    from toolspeak.cli.run import run as run_once
    from toolspeak.cli.settings_loader import load_settings
    from toolspeak.messages import user

    if extract and as_json:
        raise UsageError("--extract and --json do not go together")
    if debug:
        _print_log()
    chosen = _load_template(template, param)
    options = _build_options(
        chosen,
        tools=tools,
        model=model,
        dialect=dialect,
        system=system,
        tool_choice=tool_choice,
        tool_budget=tool_budget,
        code=code,
        max_turns=max_turns,
        max_cost=max_cost,
        context=context,
        approve=approve,
        option=option,
    )
    sources = attach or []
    text = _compose_prompt(prompt, chosen, takes_input=STANDARD_INPUT not in sources)
    attachments = load_attachments(sources)
    settings = load_settings(trust_project=trust_project, adapter=adapter)
    log = _choose_log(settings, no_log=no_log)
    raise typer.Exit(
        run_once(
            user(text, *attachments) if attachments else text,
            options,
            settings,
            RunOutput(as_json=as_json, extract=extract, record=record, log=log),
            _find_continued(conversation, continue_last=continue_last),
        )
    )


def _print_log() -> None:
    from toolspeak.cli.debug import print_log

    print_log()


def _load_template(name: str | None, parameters: list[str] | None) -> "PromptTemplate | None":
    if name is None:
        if parameters:
            raise UsageError("-p is for a template; name it with -t")
        return None
    from toolspeak.cli.templates import load_template

    return load_template(name).fill(parameters or ())


def _build_options(
    template: "PromptTemplate | None",
    *,
    tools: list[str] | None,
    model: str | None,
    dialect: str | None,
    system: str | None,
    tool_choice: str | None,
    tool_budget: int | None,
    code: bool | None,
    max_turns: int | None,
    max_cost: float | None,
    context: int | None,
    approve: ApproveChoice | None,
    option: list[str] | None,
) -> "CommandOptions":
    """Return the options of a command, with those of the template where the command has none."""
    from toolspeak.cli.agent_config import CommandOptions
    from toolspeak.cli.sampling_options import parse_sampling

    options = CommandOptions(
        tools=tuple(tools or ()),
        model=model,
        dialect=dialect,
        system=system,
        tool_choice=tool_choice,
        tool_budget=tool_budget,
        code=code,
        max_turns=max_turns,
        max_cost=max_cost,
        context=context,
        approve=approve,
        sampling=parse_sampling([*(template.options if template else ()), *(option or ())]),
    )
    return template.apply_to(options) if template else options


def _compose_prompt(argument: str | None, template: "PromptTemplate | None", *, takes_input: bool) -> str:
    """Return the prompt: that of the user, put into the prompt of the template, or after it."""
    from toolspeak.cli.prompt import read_prompt

    if template is None or template.prompt is None:
        return read_prompt(argument, takes_input=takes_input)
    if template.takes_input:
        return template.render_prompt(read_prompt(argument, takes_input=takes_input, template=template.name))
    own = template.render_prompt("")
    return read_prompt(own if argument is None else f"{own}\n\n{argument}", takes_input=takes_input)


def _choose_log(settings: "Settings", *, no_log: bool) -> Path | None:
    """Return the path of the log; None if the user wants none."""
    if no_log or not settings.log:
        return None
    from toolspeak.cli.user_files import log_path

    return log_path()


def _find_continued(conversation: str | None, *, continue_last: bool) -> "ContinuedConversation | None":
    if conversation is None and not continue_last:
        return None
    from toolspeak.cli.conversation_log import find_conversation

    return find_conversation(conversation)
