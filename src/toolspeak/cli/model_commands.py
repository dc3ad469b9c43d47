"""The commands `eval`, `calibrate`, `conformance`, `local …`, `serve` and `pull`.

Their work is imported when they are called.
"""

import sys
from typing import Annotated

import typer

from toolspeak.cli.options import (
    AdapterOption,
    ConformanceOptions,
    DialectsOption,
    EvalOptions,
    MaxTokensOption,
    ModelOption,
    TrustProjectOption,
    explain_missing,
    option,
    take_options,
)
from toolspeak.cli.server_options import ServeOptions


@take_options(EvalOptions)
def eval_command(options: EvalOptions) -> None:
    """Measure how well a model calls tools in each dialect.

    Prints the share of right answers with the tokens and seconds they took, and draws a chart.
    """
    from toolspeak.cli.eval import evaluate
    from toolspeak.cli.trust import find_model_with_settings

    evaluate(options, find=find_model_with_settings(trust_project=options.trust_project, adapter=options.adapter))


def calibrate_command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model, as for --model.")],
    minutes: Annotated[float, option("--minutes N", "Take about N minutes at most.", min=0)] = 12,
    dialect: DialectsOption = "all",
    max_tokens: MaxTokensOption = 256,
    show: Annotated[bool, option("--show", "Only print the saved dialect of the model.")] = False,
    forget: Annotated[bool, option("--forget", "Only delete the saved dialect.")] = False,
    adapter: AdapterOption = None,
    trust_project: TrustProjectOption = False,
) -> None:
    """Find the best dialect for a model and save it.

    Prints how certain the result is. If it is 90 % or more, the model uses this dialect by default from then on.
    """
    from toolspeak.cli.eval import calibrate, forget_saved, show_saved
    from toolspeak.cli.trust import find_model_with_settings

    find = find_model_with_settings(trust_project=trust_project, adapter=adapter)
    if show or forget:
        (forget_saved if forget else show_saved)(model, find=find)
        return
    calibrate(model, minutes=minutes, dialects=dialect, max_tokens=max_tokens, find=find)


@take_options(ConformanceOptions)
def conformance_command(options: ConformanceOptions) -> None:
    """Test parsers of tool calls on texts with known calls.

    For each family of models and each kind of text, prints how many texts a parser ("reader") gets right, how many
    wrong (something would run that was not intended), how many it misses and how many it cannot answer. A reader is a
    function that takes a text and the definitions of the tools, and returns a list of {"name": …, "arguments": {…}}.
    """
    from toolspeak.cli.eval import check

    if not check(options) and options.strict:
        raise typer.Exit(1)


local_app = typer.Typer(
    rich_markup_mode=None, no_args_is_help=True, help="Keep the embedded model loaded between commands, or unload it."
)


@local_app.command("start")
def start_command(
    model: ModelOption = None,
    minutes: Annotated[float | None, option("--minutes N", "Unload it N minutes after its last use.", min=0.1)] = None,
    adapter: AdapterOption = None,
    trust_project: TrustProjectOption = False,
) -> None:
    """Load the embedded model, and keep it loaded.

    Commands such as toolspeak run then don't have to load it again. After some minutes without use it is unloaded
    (the setting local.keep_minutes).
    """
    from toolspeak.cli.embedded import start
    from toolspeak.cli.trust import load_settings

    start(model, minutes, load_settings(trust_project=trust_project, adapter=adapter))


@local_app.command("stop")
def stop_command() -> None:
    """Unload the embedded models that are kept loaded."""
    from toolspeak.cli.embedded import stop

    stop()


@local_app.command("status")
def status_command(as_json: Annotated[bool, option("--json", "Print the status as JSON.")] = False) -> None:
    """Show which embedded models are kept loaded, by which process, and until when."""
    from toolspeak.cli.embedded import print_status

    print_status(as_json=as_json)


@take_options(ServeOptions)
def serve_command(options: ServeOptions) -> None:
    """Serve models to clients of OpenAI's, Anthropic's and Gemini's APIs.

    The clients get native tool calls from every model, whatever its dialect. Without --model, the models in the
    settings are served (see toolspeak config).
    """
    with explain_missing("the gateway", "gateway"):
        from toolspeak.cli.serve import serve
    from toolspeak.cli.trust import load_settings

    serve(options, lambda: load_settings(trust_project=options.trust_project, adapter=options.adapter))


def pull_command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model whose weights to download.")] = "local",
) -> None:
    """Download the weights of the embedded model (1.1 GB).

    An interrupted download continues where it stopped. Existing weights are checked.
    """
    from toolspeak.cli.embedded import pull_weights
    from toolspeak.cli.format import SafeConsole

    path = pull_weights(model, SafeConsole(stderr=True, soft_wrap=True))
    sys.stdout.write(f"{path}\n")
