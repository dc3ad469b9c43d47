"""The commands `serve` and `pull`, with their options. Their work is imported when they are called."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from toolspeak.cli.options import (
    AdapterOption,
    AllowOriginOption,
    DialectOption,
    DialectsOption,
    MaxTokensOption,
    ModelOption,
    PortOption,
    TrustProjectOption,
    explain_missing,
)

# The commands `eval`, `calibrate` and `conformance`, with their options. Their work is imported when they run.


def eval_command(
    suite: Annotated[
        str, typer.Option("--suite", metavar="NAME", help="The questions: quick, field, bfcl, or a file.")
    ] = "quick",
    model: ModelOption = None,
    dialect: DialectsOption = "all",
    category: Annotated[
        list[str] | None,
        typer.Option("--category", metavar="NAME", help="Ask only this category. Repeatable."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Ask at most N questions of each category.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="The seed of the random choice for --limit.")] = 0,
    concurrency: Annotated[
        int, typer.Option("--concurrency", metavar="N", min=1, help="Ask N questions at the same time.")
    ] = 1,
    max_tokens: MaxTokensOption = 256,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results",
            metavar="FILE",
            help="Where every answer is written. Questions with an answer there are not asked again.",
        ),
    ] = None,
    failures: Annotated[
        Path | None, typer.Option("--failures", metavar="FILE", help="Write the wrong answers to a file, for reading.")
    ] = None,
    prompts_out: Annotated[
        Path | None,
        typer.Option("--prompts-out", metavar="FILE", help="Only write the prompts, to be answered elsewhere."),
    ] = None,
    template: Annotated[
        str, typer.Option("--template", metavar="NAME", help="The chat template for --prompts-out: qwen2.5 or chatml.")
    ] = "qwen2.5",
    answers: Annotated[
        list[Path] | None,
        typer.Option(
            "--answers",
            metavar="FILE",
            help="Only score answers that were made elsewhere. Repeatable.",
        ),
    ] = None,
    again: Annotated[
        int, typer.Option("--again", metavar="N", min=0, help="Ask again after a malformed call, at most N times.")
    ] = 0,
    adapter: AdapterOption = None,
    trust_project: TrustProjectOption = False,
) -> None:
    """Measure how well a model calls tools in each dialect.

    Prints the share of right answers with the tokens and seconds they took, and draws a picture of it.
    """
    from toolspeak.cli.eval import EvalOptions, evaluate
    from toolspeak.cli.trust import find_model_with_settings

    evaluate(
        EvalOptions(
            suite=suite,
            model=model,
            dialects=dialect,
            categories=tuple(category or ()),
            limit=limit,
            seed=seed,
            results=results,
            prompts_out=prompts_out,
            answers=tuple(answers or ()),
            again=again,
            template=template,
            failures=failures,
            concurrency=concurrency,
            max_tokens=max_tokens,
        ),
        find=find_model_with_settings(trust_project=trust_project, adapter=adapter),
    )


def calibrate_command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model, as --model takes it.", show_default=False)],
    minutes: Annotated[float, typer.Option("--minutes", metavar="N", min=0, help="Take about N minutes at most.")] = 12,
    dialect: DialectsOption = "all",
    max_tokens: MaxTokensOption = 256,
    show: Annotated[bool, typer.Option("--show", help="Only print the dialect that is saved for the model.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Only delete the dialect that is saved.")] = False,
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


def conformance_command(
    reader: Annotated[
        list[str] | None,
        typer.Option(
            "--reader",
            metavar="TARGET",
            help="A reader: module:function or file.py:function, called with (text, tools); toolspeak is ours. "
            "Repeatable.",
        ),
    ] = None,
    records: Annotated[
        str | None,
        typer.Option("--records", metavar="FILE", help="Records of your own: a .jsonl file; else those of toolspeak."),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="S", min=0.01, help="Seconds that a reader may take for one text.")
    ] = 5.0,
    failures: Annotated[
        bool, typer.Option("--failures", help="Show the records that were read wrongly, with what was expected.")
    ] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables in Markdown.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON; with --failures, also each record that was not read right.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if a reader was wrong or gave no answer to a text.")
    ] = False,
) -> None:
    """Compare readers of tool calls on known texts.

    Of each text, the one right reading is known. For each family of models and each kind of text, prints how many texts
    a reader reads right, how many wrong (something would run that was not meant), how many it misses and how many it
    cannot answer. A reader is a function that takes a text and the definitions of the tools, and returns a list of
    {"name": …, "arguments": {…}}.
    """
    from toolspeak.cli.eval import ConformanceOptions, check

    options = ConformanceOptions(
        readers=tuple(reader or ()),
        records=records,
        timeout_s=timeout,
        as_json=as_json,
        as_markdown=as_markdown,
        failures=failures,
    )
    if not check(options) and strict:
        raise typer.Exit(1)


# The commands `local start`, `local stop` and `local status`. Their work is imported when they are called.


local_app = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Keep the embedded model loaded between commands, or end it.",
)


@local_app.command("start")
def start_command(
    model: ModelOption = None,
    minutes: Annotated[
        float | None,
        typer.Option("--minutes", metavar="N", min=0.1, help="End it N minutes after its last use."),
    ] = None,
    adapter: AdapterOption = None,
    trust_project: TrustProjectOption = False,
) -> None:
    """Load the embedded model, and keep it loaded.

    Commands such as toolspeak run find it and need not load it again. It ends by itself when nobody has used it for
    some minutes (the setting local.keep_minutes).
    """
    from toolspeak.cli.pull import start
    from toolspeak.cli.trust import load_settings

    start(model, minutes, load_settings(trust_project=trust_project, adapter=adapter))


@local_app.command("stop")
def stop_command() -> None:
    """End the embedded models that are kept loaded."""
    from toolspeak.cli.pull import stop

    stop()


@local_app.command("status")
def status_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print the status as JSON.")] = False,
) -> None:
    """Show which embedded models are kept loaded, by which process, and until when."""
    from toolspeak.cli.pull import print_status

    print_status(as_json=as_json)


def serve_command(
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="NAME", help="A model to serve. Repeatable."),
    ] = None,
    dialect: DialectOption = None,
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="The address to listen on.")] = "127.0.0.1",
    port: PortOption = 8765,
    key_env: Annotated[
        str | None,
        typer.Option(
            "--key-env", metavar="NAME", help="The environment variable that holds the key clients must send."
        ),
    ] = None,
    mend: Annotated[
        bool, typer.Option("--mend/--no-mend", help="Ask the model again when a call is malformed.")
    ] = True,
    thinks: Annotated[
        bool,
        typer.Option(
            "--thinks",
            help="Answers may begin inside their reasoning, without an opening tag: stream none of it as text.",
        ),
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option(
            "--record", metavar="DIR", help="Record the exchanges with the models in this folder, without keys."
        ),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option("--replay", metavar="DIR", help="Answer from the recordings in this folder, without the models."),
    ] = None,
    alias: Annotated[
        list[str] | None,
        typer.Option("--alias", metavar="NAME=MODEL", help="Another name for a model that is served. Repeatable."),
    ] = None,
    allow_origin: AllowOriginOption = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse requests with fields or tools that would be left out.")
    ] = False,
    tool_budget: Annotated[
        int | None,
        typer.Option(
            "--tool-budget",
            metavar="TOKENS",
            min=1,
            help="Cut the descriptions of tools until all tools together take this many tokens; a model reads the "
            "whole of one with a call of help.",
        ),
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Write each exchange to standard output, as a line of JSON without keys.")
    ] = False,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Keep the last hundred exchanges in memory, served at /exchanges behind the key."),
    ] = False,
    otlp: Annotated[
        str | None,
        typer.Option(
            "--otlp",
            metavar="URL",
            help="Send spans of each exchange to this collector of OpenTelemetry, such as http://127.0.0.1:4318.",
        ),
    ] = None,
    otlp_content: Annotated[
        bool, typer.Option("--otlp-content", help="With --otlp: send what was asked and answered, too, without keys.")
    ] = False,
    mcp: Annotated[
        list[str] | None,
        typer.Option(
            "--mcp",
            metavar="TARGET",
            help="Functions to serve to MCP clients at /mcp: module, file.py, folder/ or module:function. Repeatable.",
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URL",
            help="Serve the durable runs of this store at /runs, and its figures at /metrics.",
        ),
    ] = None,
    agents: Annotated[
        str | None,
        typer.Option("--agents", metavar="APP.py:NAME", help="Drive the runs of the store here, with these agents."),
    ] = None,
    adapter: AdapterOption = None,
    trust_project: TrustProjectOption = False,
) -> None:
    """Serve models to clients of OpenAI's, Anthropic's and Gemini's APIs.

    The clients get native tool calls from every model, whatever its dialect. Without --model, the models in the
    settings are served (see toolspeak config).
    """
    with explain_missing("the gateway", "gateway"):
        from toolspeak.cli.serve import ServeOptions, serve
    from toolspeak.cli.trust import load_settings

    serve(
        ServeOptions(
            models=tuple(model or ()),
            dialect=dialect,
            host=host,
            port=port,
            key_env=key_env,
            mends=2 if mend else 0,
            thinks=thinks,
            record=record,
            replay=replay,
            aliases=tuple(alias or ()),
            origins=tuple(allow_origin or ()),
            strict=strict,
            tool_budget=tool_budget,
            show=show,
            watch=watch,
            otlp=otlp,
            otlp_content=otlp_content,
            mcp=tuple(mcp or ()),
            store=store,
            agents=agents,
        ),
        lambda: load_settings(trust_project=trust_project, adapter=adapter),
    )


def pull_command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model whose weights to download.")] = "local",
) -> None:
    """Download the weights of the embedded model (1.1 GB).

    An interrupted download continues where it stopped. Weights that are there are checked.
    """
    from toolspeak.cli.format import SafeConsole
    from toolspeak.cli.pull import pull_weights

    path = pull_weights(model, SafeConsole(stderr=True, soft_wrap=True))
    sys.stdout.write(f"{path}\n")
