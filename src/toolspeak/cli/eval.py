"""`toolspeak eval`, `calibrate` and `conformance`: how well models call tools, and readers read calls.

`eval` asks a model the questions of a suite, scores its answers and prints the figures. `calibrate` finds the dialect
in which a model calls best, and saves it. `conformance` prints what readers give for texts whose one right reading is
known.

Figures go to standard output, as a table in a terminal and as lines with tabs elsewhere; progress and messages go to
standard error.
"""

import asyncio
import json
import re
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import aclosing, contextmanager, nullcontext
from pathlib import Path
from typing import TypeAlias

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from toolspeak.cli.embedded import ModelLoader
from toolspeak.cli.format import SafeConsole, format_duration, print_table
from toolspeak.cli.options import ConformanceOptions, EvalOptions
from toolspeak.cli.safe_text import escape_controls, escape_line, write_output
from toolspeak.dialects import DIALECTS, dialect
from toolspeak.lab import summary as tables
from toolspeak.lab.calibration import DialectComparison
from toolspeak.lab.calibration import calibrate as compare_dialects
from toolspeak.lab.conformance import (
    OURS,
    ReaderProcess,
    ReaderReport,
    RecordResult,
    SpokenRecord,
    build_table,
    check_reader,
    encode_report,
    family_of,
    kind_of,
    load_records,
)
from toolspeak.lab.files import (
    DEFAULT_MAX_TOKENS,
    ResultsFile,
    drop_unfinished_line,
    find_template,
    read_answers,
    write_failures,
    write_prompts,
)
from toolspeak.lab.plot import plot
from toolspeak.lab.suites import load_suite
from toolspeak.lab.summary import summarize
from toolspeak.lab.trial_runner import TrialRunner, find_follow_ups, find_unanswered, iterate_series, score
from toolspeak.lab.trials import RecordedAnswer, Trial, TrialResult, make_trials, parse_trial_id
from toolspeak.models import EmbeddedModel, HttpModel, Model
from toolspeak.models.embedded import name_for_calibration
from toolspeak.models.model import reads_figures
from toolspeak.run.model_lookup import find_model
from toolspeak.settings import forget_calibrated_dialect, load_calibrated_dialect, save_calibrated_dialect
from toolspeak.settings.files import read_text
from toolspeak.values.errors import UsageError

ReportAnswer: TypeAlias = Callable[[str, bool], None]
"""Called after each answer with the dialect and whether the answer is right."""

ScoredTrials: TypeAlias = list[tuple[Trial, TrialResult]]

PLAIN_PROGRESS_STEP = 0.05  # the share of the questions after which another plain line is printed


def create_log() -> Console:
    """Create the console for everything but the figures."""
    return SafeConsole(stderr=True, soft_wrap=True)


def load_model(model: Model, log: Console) -> None:
    """Load the embedded model, so that the time this takes is not measured."""
    loader = ModelLoader(model)
    with log.status(f"loading {model.name}") if loader.is_loading else nullcontext():
        loader.wait()
    if report := loader.take_report():
        log.print(report)


@contextmanager
def show_progress(count: int, log: Console) -> Generator[ReportAnswer]:
    """Show a bar with the running score in a terminal, and a line now and then elsewhere; at the end, the score."""
    done = right = 0
    started = time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=log, disable=not log.is_terminal, transient=True) as bar:
        task = bar.add_task("", total=count)

        def report(dialect: str, is_right: bool) -> None:
            nonlocal done, right
            done, right = done + 1, right + is_right
            bar.update(task, completed=done, description=f"{dialect}, {right / done:.0%} right")
            if not log.is_terminal and int(done / count / PLAIN_PROGRESS_STEP) > int(
                (done - 1) / count / PLAIN_PROGRESS_STEP
            ):
                log.print(f"{done} of {count}, {right / done:.0%} right")

        try:
            yield report
        finally:
            bar.stop()
            if done:
                asked = f"{count} question" if done == count else f"{done} of {count} question"
                took = format_duration(time.monotonic() - started)
                plural = "" if count == 1 else "s"
                log.print(f"{asked}{plural}, {100 * right / done:.0f} % right, in {took}", highlight=False)


def evaluate(options: EvalOptions, *, find: Callable[[str | None], Model] = find_model) -> None:
    """Ask or read answers, score them and print the figures; or only write the prompts."""
    log = create_log()
    template = find_template(options.template)
    if options.prompts_out is not None:
        count = write_prompts(options.prompts_out, _trials_to_write(options, log), template)
        log.print(f"{count} prompt{'s' * (count != 1)} written to {options.prompts_out}")
        return
    if options.answers:
        results, path, title = _score_files(options, log), options.results, options.suite
        if path is not None:
            with ResultsFile(path, overwrite=True) as file:
                for _, result in results:
                    for each in result.series:
                        file.add(each)
    else:
        model = find(options.model)
        path = options.results or _default_results_path(options.suite, model)
        results, title = _ask_model(options, model, path, log), f"{options.suite}, {model.name}"
    first = summarize(result.first for _, result in results)
    again = summarize(result for _, result in results) if options.again else None
    print_table(tables.build_table(first, again))
    if path is not None:
        picture = path.with_name(path.name.removesuffix(".gz").removesuffix(".jsonl") + ".svg")
        picture.write_text(plot(first, title, again), encoding="utf-8")
        log.print(f"every answer is in {path}, and a picture in {picture}")
    if options.failures is not None:
        wrong = [(trial, result) for trial, result in results if not result.verdict.right]
        write_failures(options.failures, wrong, template if options.answers else None)
        log.print(f"{len(wrong)} wrong answers written to {options.failures}")


def parse_dialects(text: str) -> tuple[str, ...]:
    """Parse names of dialects separated by commas; `all` stands for every dialect."""
    if text == "all":
        return tuple(DIALECTS)
    return tuple(dict.fromkeys(dialect(name.strip()).name for name in text.split(",")))


def _trials(options: EvalOptions, model: Model | None = None) -> list[Trial]:
    questions, names = load_suite(options.suite, options.categories), parse_dialects(options.dialects)
    has_figures = options.figures or (model is not None and reads_figures(model))
    return make_trials(questions, names, limit=options.limit, seed=options.seed, figures=has_figures)


def _trials_to_write(options: EvalOptions, log: Console) -> list[Trial]:
    """Return the trials whose prompts are written: all, or with `answers` those that are asked again after these."""
    if not options.answers:
        return _trials(options)
    if not options.again:
        raise UsageError("with --answers, --prompts-out writes the prompts of questions asked again; add --again 1")
    questions, answers = _match_answers(options, log)
    return _unanswered_rounds(questions, answers)


def _score_files(options: EvalOptions, log: Console) -> ScoredTrials:
    questions, answers = _match_answers(options, log)
    if missing := len(_unanswered_rounds(questions, answers)):
        log.print(f"questions asked again that lack an answer: {missing}; --prompts-out writes their prompts")
    return score(questions, answers)


def _unanswered_rounds(questions: Sequence[Sequence[Trial]], answers: Mapping[str, RecordedAnswer]) -> list[Trial]:
    """Return the last round of each question that has no answer yet."""
    return [rounds[-1] for rounds in questions if rounds[-1].id not in answers]


def _match_answers(options: EvalOptions, log: Console) -> tuple[list[list[Trial]], dict[str, RecordedAnswer]]:
    """Return the rounds of each question that has an answer, and the answers in the chosen dialects by their ids.

    Of two answers with one id the later counts.
    """
    unwanted = set(DIALECTS).difference(parse_dialects(options.dialects))
    found = (each for path in options.answers for each in read_answers(path, max_tokens=options.max_tokens))
    answers = {each.id: each for each in found if parse_trial_id(each.id)[2] not in unwanted}
    bfcl_categories = dict.fromkeys(
        parse_trial_id(each)[1] for each in answers if parse_trial_id(each)[0] == options.suite == "bfcl"
    )
    whole = load_suite(options.suite, options.categories or tuple(bfcl_categories))
    trials = make_trials(whole, parse_dialects(options.dialects), figures=options.figures)
    first = [trial for trial in trials if trial.id in answers]
    questions = [list(iterate_series(trial, answers, options.again)) for trial in first]
    _report_mismatches(questions, answers, log)
    if not questions:
        where = " or ".join(map(str, options.answers))
        raise UsageError(f"there is no answer to a question of {whole.name} in {where}")
    return questions, answers


def _report_mismatches(
    questions: Sequence[Sequence[Trial]], answers: Mapping[str, RecordedAnswer], log: Console
) -> None:
    """Report answers that were given to other prompts, to rounds beyond `--again`, or to no question that is scored."""
    used = {trial.id: trial for rounds in questions for trial in rounds if trial.id in answers}
    if stale := sum(answers[each].prompt_hash not in ("", trial.prompt_hash()) for each, trial in used.items()):
        log.print(f"answers given to other prompts than today's: {stale}")
    rest = answers.keys() - used.keys()
    if not rest:
        return
    later = rest & {trial.id for rounds in questions for trial in iterate_series(rounds[0], answers)}
    if later:
        log.print(f"answers to questions asked again, left out: {len(later)}; a higher --again counts them")
    if passed := len(rest - later):
        log.print(f"answers to no question that is scored, left out: {passed}")


def _default_results_path(suite_name: str, model: Model) -> Path:
    adapter = model.adapter if isinstance(model, EmbeddedModel) else None  # a model with one is measured apart
    measured = f"{model.name}-with-{adapter.path.stem}" if adapter else model.name
    plain = re.sub(r"[^\w.-]+", "-", f"{Path(suite_name).stem}-{measured}").strip("-")
    return Path(f"eval-{plain}.jsonl")


def _ask_model(options: EvalOptions, model: Model, path: Path, log: Console) -> ScoredTrials:
    chosen = due = _trials(options, model)
    kept = {each.id: each for each in _read_kept_answers(path, model)}
    answers: dict[str, RecordedAnswer] = {}
    runner = TrialRunner(model, concurrency=options.concurrency, max_tokens=options.max_tokens)
    for number in range(options.again + 1):
        if number and (due := find_follow_ups(due, answers)):
            log.print(f"questions asked again: {len(due)}")
        missing = find_unanswered(due, kept.values())
        there = {trial.id for trial in due} - {trial.id for trial in missing}
        answers |= {each: kept[each] for each in there}
        if there:
            log.print(f"answers that are in {path} already: {len(there)}")
        if missing:
            load_model(model, log)
            answers |= _ask_round(runner, missing, path, log)
    for name, error in runner.dropped.items():
        log.print(f"{name} was given up: {error}")
    runner.raise_if_unreachable()
    return score([list(iterate_series(trial, answers, options.again)) for trial in chosen], answers)


def _ask_round(runner: TrialRunner, due: Sequence[Trial], path: Path, log: Console) -> dict[str, RecordedAnswer]:
    """Ask all trials of a round, and write each answer to the results as soon as it arrives."""
    answers: dict[str, RecordedAnswer] = {}

    async def ask(report: ReportAnswer) -> None:
        async with aclosing(runner.run(due)) as stream:
            async for trial, answer in stream:
                answers[trial.id] = answer
                result = trial.judge(answer)
                file.add(result)
                report(trial.dialect, result.verdict.right)

    with ResultsFile(path) as file, show_progress(len(due), log) as report:
        asyncio.run(ask(report))
    return answers


def _read_kept_answers(path: Path, model: Model) -> list[RecordedAnswer]:
    """Read the answers of an earlier evaluation, which are not asked again. Answers of another model are refused."""
    if not path.exists():
        return []
    drop_unfinished_line(path)
    kept = read_answers(path)
    for answer in kept:
        if answer.model != model.name:
            other = answer.model or "another model"
            raise UsageError(f"{path} has answers of {other}; choose another file with --results")
    return kept


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

    `minutes` is about how long this may take; `environ` has the variables that name the config folder.
    """
    log, model = create_log(), find(name)
    endpoint, model_name = _calibration_key(model)
    questions = load_suite("quick")
    names = parse_dialects(dialects)
    log.print(f"asking {model.name} in {', '.join(names)}, for {minutes:g} minute{'s' * (minutes != 1)} at most")
    runner = TrialRunner(model, max_tokens=max_tokens)
    load_model(model, log)
    with show_progress(len(names) * len(questions.questions), log) as report:

        def on_result(trial: Trial, result: TrialResult) -> None:
            report(trial.dialect, result.verdict.right)

        comparison = asyncio.run(compare_dialects(runner, questions, names, seconds=minutes * 60, on_result=on_result))
    for name, error in runner.dropped.items():
        log.print(f"{name} was given up: {error}")
    rows = [["dialect", "percent right", "questions", "prompt tokens", "answer tokens", "seconds"]]
    for each in comparison.ranking:
        tally = comparison.tally(each)
        costs = [(tally.prompt_tokens, 0), (tally.answer_tokens, 0), (tally.seconds, 1)]
        cells = ["" if value is None else f"{value:.{digits}f}" for value, digits in costs]
        rows.append([each, tables.format_share(tally), str(tally.count), *cells])
    print_table(rows)
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


def _calibration_key(model: Model) -> tuple[str, str]:
    """Return the endpoint and the model name under which a model's dialect is saved."""
    match model:
        case EmbeddedModel():
            return "local", name_for_calibration(model.weights, model.adapter)
        case HttpModel():
            return model.endpoint.base_url, model.model
        case _:
            raise UsageError(f"{model.name} cannot be found again by its name, so no dialect can be saved for it")


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


def check(options: ConformanceOptions) -> bool:
    """Ask the readers, print what they gave, and return whether none was wrong or failed to answer."""
    records = _load_records(options.records)
    readers = [ReaderProcess(target, timeout_s=options.timeout_s) for target in options.readers or (OURS,)]
    reports = [check_reader(reader, records) for reader in readers]
    if options.as_json:
        encoded = [encode_report(report) for report in reports]
        if not options.failures:
            for each in encoded:
                del each["failures"]
        write_output(json.dumps({"records": len(records), "readers": encoded}, ensure_ascii=False) + "\n")
    else:
        _print_tables(reports, as_markdown=options.as_markdown)
        for report in reports if options.failures else ():
            for result in report.results:
                if result.judgement == "wrong":
                    write_output(_format_failure(report.name, result))
    return not any(each.judgement in ("wrong", "error") for report in reports for each in report.results)


def _load_records(path: str | None) -> list[SpokenRecord]:
    if path is None:
        return load_records()
    try:
        records = load_records(read_text(path).split("\n"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{path} is not a file of records: each line is an object with id, tools, text and expected ({error!r})"
        ) from None
    if not records:
        raise UsageError(f"{path} has no records")
    return records


def _print_tables(reports: Sequence[ReaderReport], *, as_markdown: bool) -> None:
    sys.stdout.write("Each cell: right / wrong / missed / error.\n")
    for title, group_of in (("family", family_of), ("kind", kind_of)):
        rows = build_table(reports, title, group_of)
        sys.stdout.write("\n")
        if as_markdown:
            rule = ["---", *("---:" for _ in rows[0][1:])]
            write_output("".join(f"| {' | '.join(row)} |\n" for row in (rows[0], rule, *rows[1:])))
        else:
            print_table(rows)


def _format_failure(reader: str, result: RecordResult) -> str:
    record = result.record
    text = "".join(f"  │ {escape_controls(line)}\n" for line in record.text.split("\n"))
    return (
        f"\n{escape_line(record.id)} ({escape_line(record.family)}, {escape_line(record.kind)}), wrong: "
        f"{escape_line(reader)}\n{text}"
        f"  expected  {escape_controls(json.dumps(record.expected, ensure_ascii=False))}\n"
        f"  got       {escape_controls(json.dumps(result.got, ensure_ascii=False))}\n"
    )
