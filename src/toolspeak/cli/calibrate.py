"""`toolspeak calibrate`: finds the dialect in which a model calls best, and saves it.

The standings go to standard output, progress and messages to standard error.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from toolspeak.cli.eval import parse_dialects
from toolspeak.cli.eval_progress import ReportAnswer, create_log, load_model, show_progress
from toolspeak.cli.safe_text import write_output
from toolspeak.cli.table import print_table
from toolspeak.errors import UsageError
from toolspeak.evaluation import tables
from toolspeak.evaluation.answers import TrialResult
from toolspeak.evaluation.calibration import DialectComparison
from toolspeak.evaluation.calibration import calibrate as compare_dialects
from toolspeak.evaluation.files import DEFAULT_MAX_TOKENS
from toolspeak.evaluation.questions import Suite
from toolspeak.evaluation.suites import load_suite
from toolspeak.evaluation.trial_runner import TrialRunner
from toolspeak.evaluation.trials import Trial
from toolspeak.models import EmbeddedModel, HttpModel, Model
from toolspeak.models.embedded import name_for_calibration
from toolspeak.run.model_lookup import find_model
from toolspeak.settings import forget_calibrated_dialect, load_calibrated_dialect, save_calibrated_dialect

MIN_SAVED_CONFIDENCE = 0.9
"""A dialect whose lead is less certain is not saved: the next measurement might have another winner."""


def calibrate(
    name: str,
    *,
    minutes: float,
    dialects: str = "all",
    max_tokens: int = DEFAULT_MAX_TOKENS,
    find: Callable[[str | None], Model] = find_model,
    environ: Mapping[str, str] | None = None,
) -> None:
    """Find the best dialect for a model, print how certain the result is, and save it if it is certain enough.

    Args:
        name: The model's name.
        minutes: About how long this may take.
        dialects: `all`, or names of dialects separated by commas.
        max_tokens: The most tokens of one answer.
        find: Finds a model by its name.
        environ: The environment variables that name the config folder; by default those of this process.
    """
    log, model = create_log(), find(name)
    endpoint, model_name = _calibration_key(model)
    questions = load_suite("quick")
    names = parse_dialects(dialects)
    log.print(f"asking {model.name} in {', '.join(names)}, for {minutes:g} minutes at most")
    runner = TrialRunner(model, max_tokens=max_tokens)
    load_model(model, log)
    with show_progress(len(names) * len(questions.questions), log) as report:
        comparison = asyncio.run(_compare(runner, questions, names, minutes * 60, report))
    for dialect, error in runner.dropped.items():
        log.print(f"{dialect} was given up: {error}")
    print_table(build_standings(comparison))
    winner = comparison.ranking[0]
    write_output(f"{describe_winner(comparison)}\n")
    lead = comparison.smallest_lead
    if lead is None or lead.confidence < MIN_SAVED_CONFIDENCE:
        log.print(f"nothing is saved below {MIN_SAVED_CONFIDENCE:.0%} certainty; more --minutes may decide it")
        return
    path = save_calibrated_dialect(endpoint, model_name, winner, environ=environ)
    log.print(f"saved in {path}: dialect='auto' is {winner} for {model.name} from now on")


def show_saved(
    name: str, *, find: Callable[[str | None], Model] = find_model, environ: Mapping[str, str] | None = None
) -> None:
    """Print the dialect that is saved for a model."""
    model = find(name)
    saved = load_calibrated_dialect(*_calibration_key(model), environ=environ)
    write_output(f"{model.name}: {saved or 'no dialect is saved'}\n")


def forget_saved(
    name: str, *, find: Callable[[str | None], Model] = find_model, environ: Mapping[str, str] | None = None
) -> None:
    """Delete the dialect that is saved for a model."""
    model = find(name)
    was_saved = forget_calibrated_dialect(*_calibration_key(model), environ=environ)
    write_output(f"{model.name}: {'the saved dialect is forgotten' if was_saved else 'no dialect was saved'}\n")


async def _compare(
    runner: TrialRunner, questions: Suite, dialects: Sequence[str], seconds: float, report: ReportAnswer
) -> DialectComparison:
    def on_result(trial: Trial, result: TrialResult) -> None:
        report(trial.dialect, result.verdict.right)

    return await compare_dialects(runner, questions, dialects, seconds=seconds, on_result=on_result)


def _calibration_key(model: Model) -> tuple[str, str]:
    """Return the endpoint and the model name under which a model's dialect is saved."""
    match model:
        case EmbeddedModel():
            return "local", name_for_calibration(model.weights, model.adapter)
        case HttpModel():
            return model.endpoint.base_url, model.model
        case _:
            raise UsageError(f"{model.name} cannot be found again by its name, so no dialect can be saved for it")


def build_standings(comparison: DialectComparison) -> list[list[str]]:
    """Build the table of the dialects with their scores and costs, the best first."""
    rows = [["dialect", "percent right", "questions", "prompt tokens", "answer tokens", "seconds"]]
    for name in comparison.ranking:
        tally = comparison.tally(name)
        costs = [(tally.prompt_tokens, 0), (tally.answer_tokens, 0), (tally.seconds, 1)]
        cells = ["" if value is None else f"{value:.{digits}f}" for value, digits in costs]
        rows.append([name, tables.format_share(tally), str(tally.count), *cells])
    return rows


def describe_winner(comparison: DialectComparison) -> str:
    """Return a sentence that names the best dialect and how certain the result is."""
    winner, lead = comparison.ranking[0], comparison.smallest_lead
    tally = comparison.tally(winner)
    low, high = round(100 * tally.interval.low), round(100 * tally.interval.high)
    result = f"{winner} is best: {round(100 * tally.share)} percent right (95 % certain: {low} to {high})"
    if lead is None:
        return f"{result}; no other dialect was asked."
    return (
        f"{result}. That it is better than {lead.other} is {lead.confidence:.0%} sure: of the questions that both were "
        f"asked, it alone was right in {lead.better}, and {lead.other} alone in {lead.worse}."
    )
