"""`toolspeak eval`: asks a model the questions of a suite, scores its answers and prints the figures.

Figures go to standard output, as a table in a terminal and as lines with tabs elsewhere; progress and messages go to
standard error.
"""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TypeAlias

from rich.console import Console

from toolspeak._frozen import frozen
from toolspeak.cli.eval_progress import ReportAnswer, create_log, load_model, show_progress
from toolspeak.cli.table import print_table
from toolspeak.dialects import DIALECTS, dialect
from toolspeak.errors import UsageError
from toolspeak.evaluation import tables
from toolspeak.evaluation.answers import RecordedAnswer, TrialResult
from toolspeak.evaluation.files import (
    DEFAULT_MAX_TOKENS,
    ResultsFile,
    drop_unfinished_line,
    read_answers,
    write_failures,
    write_prompts,
)
from toolspeak.evaluation.follow_ups import find_follow_ups, iterate_series, score
from toolspeak.evaluation.plot import plot
from toolspeak.evaluation.suites import load_suite
from toolspeak.evaluation.summary import Summary, summarize
from toolspeak.evaluation.templates import find_template
from toolspeak.evaluation.trial_runner import TrialRunner, find_unanswered
from toolspeak.evaluation.trials import Trial, make_trials, parse_trial_id
from toolspeak.models import EmbeddedModel, Model
from toolspeak.run.model_lookup import find_model


@frozen
class EvalOptions:
    """The options of `toolspeak eval`.

    Attributes:
        suite: `quick`, `bfcl` or a file of questions.
        model: The model to ask; None for the one in the settings.
        dialects: `all`, or names of dialects separated by commas.
        categories: The categories to ask; empty for all that the suite asks by default.
        limit: The most questions of each category.
        seed: The seed of the random choice when `limit` leaves questions out.
        results: The file to which every answer is written.
        prompts_out: A file to which prompts are written, instead of asking a model.
        answers: Files of answers from elsewhere to score, instead of asking a model.
        again: How often a question is asked again after a malformed call.
        template: The chat template of the prompts in `prompts_out`.
        failures: A file to which wrong answers are written, for reading.
        concurrency: How many questions are asked at the same time.
        max_tokens: The most tokens of an answer.
    """

    suite: str = "quick"
    model: str | None = None
    dialects: str = "all"
    categories: tuple[str, ...] = ()
    limit: int | None = None
    seed: int = 0
    results: Path | None = None
    prompts_out: Path | None = None
    answers: tuple[Path, ...] = ()
    again: int = 0
    template: str = "qwen2.5"
    failures: Path | None = None
    concurrency: int = 1
    max_tokens: int = DEFAULT_MAX_TOKENS


ScoredTrials: TypeAlias = list[tuple[Trial, TrialResult]]


def evaluate(options: EvalOptions, *, find: Callable[[str | None], Model] = find_model) -> None:
    """Ask or read answers, score them and print the figures; or only write the prompts."""
    log = create_log()
    template = find_template(options.template)
    if options.prompts_out is not None:
        count = write_prompts(options.prompts_out, _trials_to_write(options, log), template)
        log.print(f"{count} prompts written to {options.prompts_out}")
        return
    if options.answers:
        results, path, title = _score_files(options, log), options.results, options.suite
        if path is not None:
            _write_results(path, results)
    else:
        model = find(options.model)
        path = options.results or _default_results_path(options.suite, _name_measured(model))
        results, title = _ask_model(options, model, path, log), f"{options.suite}, {model.name}"
    first = summarize(result.first for _, result in results)
    _print_results(first, summarize(result for _, result in results) if options.again else None, path, title, log)
    if options.failures is not None:
        wrong = [(trial, result) for trial, result in results if not result.verdict.right]
        write_failures(options.failures, wrong, template if options.answers else None)
        log.print(f"{len(wrong)} wrong answers written to {options.failures}")


def parse_dialects(text: str) -> tuple[str, ...]:
    """Parse names of dialects separated by commas; `all` stands for every dialect."""
    if text == "all":
        return tuple(DIALECTS)
    return tuple(dict.fromkeys(dialect(name.strip()).name for name in text.split(",")))


def _trials(options: EvalOptions) -> list[Trial]:
    questions = load_suite(options.suite, options.categories)
    return make_trials(questions, parse_dialects(options.dialects), limit=options.limit, seed=options.seed)


# Answers from files


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
        log.print(f"{missing} questions are asked again and lack an answer; --prompts-out writes their prompts")
    return score(questions, answers)


def _unanswered_rounds(questions: Sequence[Sequence[Trial]], answers: Mapping[str, RecordedAnswer]) -> list[Trial]:
    """Return the last round of each question that has no answer yet."""
    return [rounds[-1] for rounds in questions if rounds[-1].id not in answers]


def _match_answers(options: EvalOptions, log: Console) -> tuple[list[list[Trial]], dict[str, RecordedAnswer]]:
    """Return the rounds of each question that has an answer, and the answers by the ids of their rounds."""
    answers = _read_answer_files(options)
    bfcl_categories = dict.fromkeys(
        parse_trial_id(each)[1] for each in answers if parse_trial_id(each)[0] == options.suite == "bfcl"
    )
    whole = load_suite(options.suite, options.categories or tuple(bfcl_categories))
    first = [trial for trial in make_trials(whole, parse_dialects(options.dialects)) if trial.id in answers]
    questions = [list(iterate_series(trial, answers, options.again)) for trial in first]
    _report_mismatches(questions, answers, log)
    if not questions:
        where = " or ".join(map(str, options.answers))
        raise UsageError(f"there is no answer to a question of {whole.name} in {where}")
    return questions, answers


def _read_answer_files(options: EvalOptions) -> dict[str, RecordedAnswer]:
    """Read the answers of all files in the chosen dialects, by id. Of two answers with one id the later counts."""
    unwanted = set(DIALECTS).difference(parse_dialects(options.dialects))
    found = (each for path in options.answers for each in read_answers(path, max_tokens=options.max_tokens))
    return {each.id: each for each in found if parse_trial_id(each.id)[2] not in unwanted}


def _report_mismatches(
    questions: Sequence[Sequence[Trial]], answers: Mapping[str, RecordedAnswer], log: Console
) -> None:
    """Report answers that were given to other prompts, to rounds beyond `--again`, or to no question that is scored."""
    used = {trial.id: trial for rounds in questions for trial in rounds if trial.id in answers}
    if stale := sum(answers[each].prompt_hash not in ("", trial.prompt_hash()) for each, trial in used.items()):
        log.print(f"{stale} answers were given to other prompts than today's")
    rest = answers.keys() - used.keys()
    if not rest:
        return
    later = rest & {trial.id for rounds in questions for trial in iterate_series(rounds[0], answers)}
    if later:
        log.print(f"{len(later)} answers to questions asked again were left out; a higher --again counts them")
    if passed := len(rest - later):
        log.print(f"{passed} answers belong to no question that is scored and were left out")


def _write_results(path: Path, results: ScoredTrials) -> None:
    with ResultsFile(path, overwrite=True) as file:
        for _, result in results:
            for each in result.series:
                file.add(each)


# Answers from a model


def _default_results_path(suite_name: str, model: str) -> Path:
    plain = re.sub(r"[^\w.-]+", "-", f"{Path(suite_name).stem}-{model}").strip("-")
    return Path(f"eval-{plain}.jsonl")


def _name_measured(model: Model) -> str:
    """Return the name of a model, with that of its adapter if it has one: they are measured apart."""
    adapter = model.adapter if isinstance(model, EmbeddedModel) else None
    return f"{model.name}-with-{adapter.path.stem}" if adapter else model.name


def _ask_model(options: EvalOptions, model: Model, path: Path, log: Console) -> ScoredTrials:
    chosen = due = _trials(options)
    kept = {each.id: each for each in _read_kept_answers(path, model)}
    answers: dict[str, RecordedAnswer] = {}
    runner = TrialRunner(model, concurrency=options.concurrency, max_tokens=options.max_tokens)
    for number in range(options.again + 1):
        if number and (due := find_follow_ups(due, answers)):
            log.print(f"{len(due)} questions are asked again")
        missing = find_unanswered(due, kept.values())
        there = {trial.id for trial in due} - {trial.id for trial in missing}
        answers |= {each: kept[each] for each in there}
        if there:
            log.print(f"{len(there)} answers are in {path} already")
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
            raise UsageError(f"{path} holds answers of {answer.model or 'another model'}; give another --results")
    return kept


# Results


def _print_results(first: Summary, again: Summary | None, path: Path | None, title: str, log: Console) -> None:
    print_table(tables.build_table(first, again))
    if path is not None:
        picture = path.with_name(path.name.removesuffix(".gz").removesuffix(".jsonl") + ".svg")
        picture.write_text(plot(first, title, again), encoding="utf-8")
        log.print(f"every answer is in {path}, and a picture in {picture}")
