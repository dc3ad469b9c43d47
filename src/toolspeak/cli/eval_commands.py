"""The commands `eval` and `calibrate`, with their options. Their work is imported when they are called."""

from pathlib import Path
from typing import Annotated

import typer

from toolspeak.cli.options import DialectsOption, MaxTokensOption, ModelOption, TrustProjectOption


def eval_command(
    suite: Annotated[
        str, typer.Option("--suite", metavar="NAME", help="The questions: quick, bfcl, or a file.")
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
        find=find_model_with_settings(trust_project=trust_project),
    )


def calibrate_command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model, as --model takes it.", show_default=False)],
    minutes: Annotated[float, typer.Option("--minutes", metavar="N", min=0, help="Take about N minutes at most.")] = 12,
    dialect: DialectsOption = "all",
    max_tokens: MaxTokensOption = 256,
    show: Annotated[bool, typer.Option("--show", help="Only print the dialect that is saved for the model.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Only delete the dialect that is saved.")] = False,
    trust_project: TrustProjectOption = False,
) -> None:
    """Find the best dialect for a model and save it.

    Prints how certain the result is. If it is 90 % or more, the model uses this dialect by default from then on.
    """
    from toolspeak.cli.calibrate import calibrate, forget_saved, show_saved
    from toolspeak.cli.settings_loader import find_model_with_settings

    find = find_model_with_settings(trust_project=trust_project)
    if show or forget:
        (forget_saved if forget else show_saved)(model, find=find)
        return
    calibrate(model, minutes=minutes, dialects=dialect, max_tokens=max_tokens, find=find)
