"""The commands `log …` and `templates …`, with their options. Their work is imported when they are called."""

from typing import Annotated

import typer

from toolspeak.cli.completion import complete_conversation, complete_template
from toolspeak.cli.options import JsonOption
from toolspeak.errors import UsageError

log_app = typer.Typer(rich_markup_mode=None)
templates_app = typer.Typer(rich_markup_mode=None)

CountOption = Annotated[
    int, typer.Option("-n", "--count", metavar="N", min=0, help="Show at most N conversations; 0 for all.")
]


@log_app.callback(invoke_without_command=True)
def log_command(context: typer.Context, count: CountOption = 20, as_json: JsonOption = False) -> None:
    """List, show and search your conversations.

    Without a command, lists the newest ones: the id, the time, the model, the number of the model's answers, and the
    first words. An id may be shortened as long as it is the only one that begins so.

    The log is one file that only you can read. To keep no log, set log = false in your settings file, or
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
            metavar="[ID]", help="The conversation; the last one if left out.", autocompletion=complete_conversation
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON, one a line.")] = False,
) -> None:
    """Show a conversation."""
    from toolspeak.cli.log_transcript import show_conversation

    show_conversation(conversation, as_json=as_json)


@log_app.command("search")
def log_search_command(
    words: Annotated[list[str], typer.Argument(metavar="WORD...", help="Words that all occur in it.")],
    count: CountOption = 20,
    as_json: JsonOption = False,
) -> None:
    """List the conversations in which all words occur.

    Prompts and answers are searched. A word is also found inside of a longer one, in upper and in lower case.
    """
    from toolspeak.cli.log import print_conversations

    found = [word for text in words for word in text.split()]
    if not found:
        raise UsageError("there is no word to search for")
    print_conversations(count or None, found, as_json=as_json)


@log_app.command("delete")
def log_delete_command(
    conversations: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="The conversations.", autocompletion=complete_conversation),
    ] = None,
    before: Annotated[
        str | None,
        typer.Option("--before", metavar="DAY", help="Delete those in which nothing has happened since this day."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
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
    from toolspeak.cli.user_files import log_path

    write_output(f"{log_path()}\n")


@templates_app.callback(invoke_without_command=True)
def templates_command(context: typer.Context) -> None:
    """List and show your templates.

    A template is a file NAME.toml in the folder that toolspeak templates path prints. It may have prompt, system,
    model, dialect, tools, options and defaults. In prompt and system, $name stands for a parameter that -p name=value
    sets; in the prompt, $input stands for the prompt of the command.
    """
    if context.invoked_subcommand is None:
        from toolspeak.cli.safe_text import write_output
        from toolspeak.cli.user_files import list_templates

        write_output("".join(f"{name}\n" for name in list_templates()))


@templates_app.command("show")
def templates_show_command(
    name: Annotated[str, typer.Argument(metavar="NAME", autocompletion=complete_template)],
) -> None:
    """Show a template."""
    from toolspeak.cli.files import read_text
    from toolspeak.cli.safe_text import write_output
    from toolspeak.cli.templates import find_file, load_template

    load_template(name)  # a wrong one is an error, not a text
    write_output(read_text(find_file(name)))


@templates_app.command("path")
def templates_path_command() -> None:
    """Print the folder of the templates."""
    from toolspeak.cli.safe_text import write_output
    from toolspeak.cli.user_files import templates_folder

    write_output(f"{templates_folder()}\n")
