"""The commands `eval`, `calibrate` and `conformance`, with their options. Their work is imported when they run."""

from pathlib import Path
from typing import Annotated

import typer

from toolspeak.cli.options import AdapterOption, DialectsOption, MaxTokensOption, ModelOption, TrustProjectOption


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
    from toolspeak.cli.settings_loader import find_model_with_settings

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
    from toolspeak.cli.calibrate import calibrate, forget_saved, show_saved
    from toolspeak.cli.settings_loader import find_model_with_settings

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
    from toolspeak.cli.conformance import ConformanceOptions, check

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
