"""The commands `chat`, `run`, `log …` and `templates …`. Their work is imported when they are called."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolspeak.cli.options import (
    ConversationOptions,
    JsonOption,
    complete_conversation,
    complete_template,
    option,
    take_options,
)
from toolspeak.values.errors import UsageError

if TYPE_CHECKING:
    from toolspeak.cli.conversations import ContinuedConversation
    from toolspeak.cli.prompt import PromptTemplate
    from toolspeak.settings import Settings
    from toolspeak.values.origin import Stretch

log_app = typer.Typer(rich_markup_mode=None)
templates_app = typer.Typer(rich_markup_mode=None)

CountOption = Annotated[int, option("-n --count N", "Show at most N conversations; 0 for all.", min=0)]


@log_app.callback(invoke_without_command=True)
def log_command(context: typer.Context, count: CountOption = 20, as_json: JsonOption = False) -> None:
    """List, show and search your conversations.

    Without a command, lists the newest ones: the id, the time, the model, the number of the model's answers, and the
    first words. You can shorten an id as long as it stays unique.

    The log is one file that only you can read. To disable the log, set log = false in your settings file, or
    TOOLSPEAK_LOG=off.
    """
    if context.invoked_subcommand is None:
        from toolspeak.cli.log import print_conversations

        print_conversations(count or None, (), as_json=as_json)


@log_app.command("show")
def log_show_command(
    conversation: Annotated[
        str | None,
        typer.Argument(
            metavar="ID", help="The conversation; the last one if left out.", autocompletion=complete_conversation
        ),
    ] = None,
    as_json: Annotated[bool, option("--json", "Print the facts as JSON, one per line.")] = False,
) -> None:
    """Show a conversation."""
    from toolspeak.cli.log import show_conversation

    show_conversation(conversation, as_json=as_json)


@log_app.command("search")
def log_search_command(
    words: Annotated[list[str], typer.Argument(metavar="WORD", help="Words that must all occur.")],
    count: CountOption = 20,
    as_json: JsonOption = False,
) -> None:
    """List the conversations in which all words occur.

    Searches prompts and answers. A word also matches inside a longer one, and case doesn't matter. In a terminal, if
    nothing is found, it lists the conversations with a prompt whose first line comes near in meaning (with the extra
    meaning).
    """
    from toolspeak.cli.log import print_conversations

    found = [word for text in words for word in text.split()]
    if not found:
        raise UsageError("there is no word to search for; write toolspeak log search WORD")
    print_conversations(count or None, found, as_json=as_json)


@log_app.command("delete")
def log_delete_command(
    conversations: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="The conversations.", autocompletion=complete_conversation)
    ] = None,
    before: Annotated[str | None, option("--before DAY", "Delete those that have not changed since this day.")] = None,
    yes: Annotated[bool, option("--yes", "Delete without asking.")] = False,
) -> None:
    """Delete conversations from the log."""
    from toolspeak.cli.log import delete_conversations, delete_older

    if bool(conversations) == (before is not None):
        raise UsageError("name the conversations to delete, or a day with --before")
    if conversations:
        delete_conversations(conversations)
    elif before is not None:
        raise typer.Exit(delete_older(before, yes=yes))


@log_app.command("path")
def log_path_command() -> None:
    """Print the path of the log."""
    from toolspeak.cli.safe_text import write_output
    from toolspeak.settings.files import log_path

    write_output(f"{log_path()}\n")


@templates_app.callback(invoke_without_command=True)
def templates_command(context: typer.Context) -> None:
    """List and show your templates.

    A template is a file NAME.toml in the folder that toolspeak templates path prints. It may have prompt, system,
    model, dialect, tools, options and defaults. In prompt and system, $name stands for a parameter that -p name=value
    sets; in the prompt, $input stands for the prompt of the command.
    """
    if context.invoked_subcommand is None:
        from toolspeak.cli.safe_text import print_error, write_output
        from toolspeak.settings.files import list_templates, templates_folder

        names = list_templates()
        write_output("".join(f"{name}\n" for name in names))
        if not names:
            print_error(f"there are no templates yet; write one: {templates_folder() / 'NAME.toml'}")


@templates_app.command("show")
def templates_show_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The template.", autocompletion=complete_template)],
) -> None:
    """Show a template."""
    from toolspeak.cli.prompt import find_file, load_template
    from toolspeak.cli.safe_text import write_output
    from toolspeak.settings.files import read_text

    load_template(name)  # a wrong one is an error, not a text
    write_output(read_text(find_file(name)))


@templates_app.command("path")
def templates_path_command() -> None:
    """Print the folder of the templates."""
    from toolspeak.cli.safe_text import write_output
    from toolspeak.settings.files import templates_folder

    write_output(f"{templates_folder()}\n")


@take_options(ConversationOptions, without=("prompt", "as_json", "record", "extract"))
def chat_command(options: ConversationOptions) -> None:
    """Chat with a model that can call your functions.

    Options that you leave out come from the settings (see toolspeak config); without a model there either, the
    embedded model answers. In the chat, /help lists the commands. When you continue a conversation, it keeps its
    model, its tools and its system prompt, unless you give new ones.
    """
    from toolspeak.cli.chat import chat
    from toolspeak.cli.prompt import STANDARD_INPUT, load_attachments
    from toolspeak.cli.trust import load_settings

    options, template = _apply_template(options)
    if template is not None and template.prompt is not None:
        raise UsageError(f"the template {template.name} has a prompt, so it is for toolspeak run")
    if STANDARD_INPUT in options.attach:
        raise UsageError("standard input is the conversation here; attach a file instead")
    attachments = load_attachments(options.attach)
    settings = load_settings(trust_project=options.trust_project, adapter=options.adapter)
    log_path = _choose_log(options, settings)
    raise typer.Exit(chat(options, settings, attachments, log_path, _find_continued(options, log_path)))


@take_options(ConversationOptions)
def run_command(options: ConversationOptions) -> None:
    """Answer one prompt with a model that can call your functions.

    The answer goes to standard output. In a terminal, calls and their results go there too; otherwise they go to
    standard error. Options that you leave out come from the settings (see toolspeak config). When you continue a
    conversation, it keeps its model, its tools and its system prompt, unless you give new ones.

    Exit codes: 0 answered; 1 stopped without an answer (a limit, a loop, cut off, refused); 2 wrong usage; 3 the
    endpoint failed; 4 paused, because a call needs approval and there is no terminal to ask in; 130 interrupted.
    After 4, toolspeak run -c and toolspeak chat -c ask about that call in a terminal, and continue; you can leave
    the prompt out then.
    """
    from toolspeak.cli.prompt import STANDARD_INPUT, build_prompt, load_attachments
    from toolspeak.cli.run import run
    from toolspeak.cli.trust import load_settings

    if options.extract and options.as_json:
        raise UsageError("--extract and --json cannot be combined; leave one of them out")
    options, template = _apply_template(options)
    prompt, missing = None, None
    try:
        text = _compose_prompt(options.prompt, template, takes_input=STANDARD_INPUT not in options.attach)
        prompt = build_prompt(text, load_attachments(options.attach))
    except UsageError as error:
        if options.prompt is not None or not (options.continue_last or options.conversation):
            raise
        missing = error
    settings = load_settings(trust_project=options.trust_project, adapter=options.adapter)
    log_path = _choose_log(options, settings)
    continued = _find_continued(options, log_path)
    if missing is not None and not (continued and continued.waiting):  # what waits goes on without a prompt
        raise missing
    raise typer.Exit(run(prompt, options, settings, log_path, continued))


def _apply_template(options: ConversationOptions) -> "tuple[ConversationOptions, PromptTemplate | None]":
    """Return the options, with those of the template where the command has none, and the template."""
    from toolspeak.cli.agent_config import parse_sampling

    if options.debug:
        from toolspeak.cli.http_server import print_log

        print_log()
    template = None
    if options.template is not None:
        from toolspeak.cli.prompt import load_template

        template = load_template(options.template).fill(options.param)
        options = template.apply_to(options)
    elif options.param:
        raise UsageError("-p is for a template; name it with -t")
    parse_sampling(options.sampling)  # what is wrong is said before anything is read
    return options, template


def _compose_prompt(
    argument: str | None, template: "PromptTemplate | None", *, takes_input: bool
) -> "Sequence[Stretch]":
    """Return the prompt: that of the user, put into the prompt of the template, or after it."""
    from toolspeak.cli.prompt import read_prompt

    if template is None or template.prompt is None:
        return read_prompt(argument, takes_input=takes_input)
    if template.takes_input:
        return template.render_prompt(read_prompt(argument, takes_input=takes_input, template=template.name))
    own = "".join(stretch.text for stretch in template.render_prompt())
    return read_prompt(own if argument is None else f"{own}\n\n{argument}", takes_input=takes_input)


def _choose_log(options: ConversationOptions, settings: "Settings") -> Path | None:
    """Return the path of the log; None if the user wants none."""
    if options.no_log or not settings.log:
        return None
    from toolspeak.settings.files import log_path

    return log_path()


def _find_continued(options: ConversationOptions, log_path: Path | None) -> "ContinuedConversation | None":
    if options.conversation is None and not options.continue_last:
        return None
    from toolspeak.cli.conversations import find_conversation

    continued = find_conversation(options.conversation)
    if continued.waiting and log_path is None:
        raise UsageError(
            "a call of this conversation waits for an approval, and the log must know what becomes of it; "
            "continue it with the log (without --no-log)"
        )
    return continued
