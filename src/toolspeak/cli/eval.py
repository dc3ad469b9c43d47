"""`toolspeak eval` and `toolspeak calibrate`: questions asked, answers scored, figures shown.

Figures go to standard output, as a table in a terminal and as lines with tabs elsewhere; all that is told on the way
goes to standard error.
"""

import asyncio
import re
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from toolspeak._frozen import frozen
from toolspeak.dialects import DIALECTS, dialect
from toolspeak.errors import UsageError
from toolspeak.evaluation import tables
from toolspeak.evaluation.answers import RecordedAnswer, TrialResult
from toolspeak.evaluation.calibration import DialectComparison
from toolspeak.evaluation.calibration import calibrate as compare_dialects
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
from toolspeak.evaluation.questions import Suite
from toolspeak.evaluation.suites import load_suite
from toolspeak.evaluation.summary import Summary, summarize
from toolspeak.evaluation.templates import find_template
from toolspeak.evaluation.trial_runner import TrialRunner, find_unanswered
from toolspeak.evaluation.trials import Trial, make_trials, parse_trial_id
from toolspeak.models import EmbeddedModel, HttpModel, Model
from toolspeak.run.model_lookup import find_model
from toolspeak.settings import remember_dialect

Report = Callable[[str, bool], None]
"""Told after each answer: the dialect, and whether it was right."""

STEP = 0.05
"""The share of the questions after which a plain line is due."""


@frozen
class Options:
    """What `eval` was told.

    Attributes:
        suite: `quick`, `bfcl` or a file of questions.
        model: Who is asked; the configured model if None.
        dialects: `all`, or names with commas between them.
        categories: The categories that are asked; those of the suite if none.
        limit: Questions of each category.
        seed: Which of them are drawn.
        results: Where every answer is kept.
        prompts_out: Where prompts are written instead of being asked.
        answers: Files of answers that were made elsewhere.
        again: How often a question is asked again after an answer with a malformed call.
        template: The chat template of prompts.
        failures: Where wrong answers are written, to be read.
        concurrency: Questions that are asked at the same time.
        max_tokens: Tokens at which an answer is cut.
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


Scored = list[tuple[Trial, TrialResult]]


def evaluate(options: Options, *, find: Callable[[str | None], Model] = find_model) -> None:
    """Ask, score and show, or write out what is to be asked elsewhere."""
    told = _told()
    template = find_template(options.template)
    if options.prompts_out is not None:
        count = write_prompts(options.prompts_out, _to_be_asked(options, told), template)
        told.print(f"{count} prompts written to {options.prompts_out}")
        return
    if options.answers:
        found, path, title = _made_elsewhere(options, told), options.results, options.suite
        if path is not None:
            _keep(path, found)
    else:
        model = find(options.model)
        path = options.results or _own_results(options.suite, model.name)
        found, title = _asked(options, model, path, told), f"{options.suite}, {model.name}"
    first = summarize(result.first for _, result in found)
    _show(first, summarize(result for _, result in found) if options.again else None, path, title, told)
    if options.failures is not None:
        wrong = [(trial, result) for trial, result in found if not result.verdict.right]
        write_failures(options.failures, wrong, template if options.answers else None)
        told.print(f"{len(wrong)} wrong answers written to {options.failures}")


def dialects_named(said: str) -> tuple[str, ...]:
    """The dialects of a list with commas; `all` is every one."""
    if said == "all":
        return tuple(DIALECTS)
    return tuple(dict.fromkeys(dialect(name.strip()).name for name in said.split(",")))


def _trials(options: Options) -> list[Trial]:
    questions = load_suite(options.suite, options.categories)
    return make_trials(questions, dialects_named(options.dialects), limit=options.limit, seed=options.seed)


# Answers made elsewhere


def _to_be_asked(options: Options, told: Console) -> list[Trial]:
    """The questions; where answers are given, those that are asked again after these."""
    if not options.answers:
        return _trials(options)
    if not options.again:
        raise UsageError("with --answers, --prompts-out writes the prompts of questions asked again; add --again 1")
    questions, answers = _collected(options, told)
    return _open(questions, answers)


def _made_elsewhere(options: Options, told: Console) -> Scored:
    questions, answers = _collected(options, told)
    if missing := len(_open(questions, answers)):
        told.print(f"{missing} questions are asked again and lack an answer; --prompts-out writes their prompts")
    return score(questions, answers)


def _open(questions: Sequence[Sequence[Trial]], answers: Mapping[str, RecordedAnswer]) -> list[Trial]:
    """Where an answer is missing. A question ends with the round that has none."""
    return [rounds[-1] for rounds in questions if rounds[-1].id not in answers]


def _collected(options: Options, told: Console) -> tuple[list[list[Trial]], dict[str, RecordedAnswer]]:
    """The rounds of each question that has an answer, and the answers."""
    answers = _read(options)
    of_bfcl = dict.fromkeys(
        parse_trial_id(each)[1] for each in answers if parse_trial_id(each)[0] == options.suite == "bfcl"
    )
    whole = load_suite(options.suite, options.categories or tuple(of_bfcl))
    first = [trial for trial in make_trials(whole, dialects_named(options.dialects)) if trial.id in answers]
    questions = [list(iterate_series(trial, answers, options.again)) for trial in first]
    _tell_doubts(questions, answers, told)
    if not questions:
        where = " or ".join(map(str, options.answers))
        raise UsageError(f"there is no answer to a question of {whole.name} in {where}")
    return questions, answers


def _read(options: Options) -> dict[str, RecordedAnswer]:
    """The answers of all files in the dialects that are wanted. Of two with one id the later holds."""
    unwanted = set(DIALECTS).difference(dialects_named(options.dialects))
    found = (each for path in options.answers for each in read_answers(path, max_tokens=options.max_tokens))
    return {each.id: each for each in found if parse_trial_id(each.id)[2] not in unwanted}


def _tell_doubts(questions: Sequence[Sequence[Trial]], answers: Mapping[str, RecordedAnswer], told: Console) -> None:
    """Tell which answers are not what they seem: to other prompts, to further rounds, to nothing at all."""
    used = {trial.id: trial for rounds in questions for trial in rounds if trial.id in answers}
    if stale := sum(answers[each].prompt_hash not in ("", trial.prompt_hash()) for each, trial in used.items()):
        told.print(f"{stale} answers were given to other prompts than today's")
    rest = answers.keys() - used.keys()
    if not rest:
        return
    later = rest & {trial.id for rounds in questions for trial in iterate_series(rounds[0], answers)}
    if later:
        told.print(f"{len(later)} answers to questions asked again were left out; a higher --again counts them")
    if passed := len(rest - later):
        told.print(f"{passed} answers are to no question of these and were passed over")


def _keep(path: Path, found: Scored) -> None:
    with ResultsFile(path, overwrite=True) as file:
        for _, result in found:
            for each in result.series:
                file.add(each)


# Asking


def _own_results(suite_name: str, model: str) -> Path:
    plain = re.sub(r"[^\w.-]+", "-", f"{Path(suite_name).stem}-{model}").strip("-")
    return Path(f"eval-{plain}.jsonl")


def _asked(options: Options, model: Model, path: Path, told: Console) -> Scored:
    chosen = due = _trials(options)
    kept = {each.id: each for each in _kept(path, model)}
    answers: dict[str, RecordedAnswer] = {}
    runner = TrialRunner(model, concurrency=options.concurrency, max_tokens=options.max_tokens)
    for number in range(options.again + 1):
        if number and (due := find_follow_ups(due, answers)):
            told.print(f"{len(due)} questions are asked again")
        missing = find_unanswered(due, kept.values())
        there = {trial.id for trial in due} - {trial.id for trial in missing}
        answers |= {each: kept[each] for each in there}
        if there:
            told.print(f"{len(there)} answers are in {path} already")
        if missing:
            _load(model, told)
            answers |= _round(runner, missing, path, told)
    for name, error in runner.dropped.items():
        told.print(f"{name} was given up: {error}")
    runner.raise_if_unreachable()
    return score([list(iterate_series(trial, answers, options.again)) for trial in chosen], answers)


def _round(runner: TrialRunner, due: Sequence[Trial], path: Path, told: Console) -> dict[str, RecordedAnswer]:
    """Ask them all, and keep each answer as soon as it is there."""
    answers: dict[str, RecordedAnswer] = {}

    async def ask(report: Report) -> None:
        async with aclosing(runner.run(due)) as answering:
            async for trial, answered in answering:
                answers[trial.id] = answered
                result = trial.judge(answered)
                file.add(result)
                report(trial.dialect, result.verdict.right)

    with ResultsFile(path) as file, _progress(len(due), told) as report:
        asyncio.run(ask(report))
    return answers


def _load(model: Model, told: Console) -> None:
    """Have the embedded model loaded before the clock runs."""
    if isinstance(model, EmbeddedModel) and not model.is_ready:
        with told.status("loading the model"):
            model.load()


def _kept(path: Path, model: Model) -> list[RecordedAnswer]:
    """The answers of an earlier run, which go on being good. Those of another model are not mixed with them."""
    if not path.exists():
        return []
    drop_unfinished_line(path)
    kept = read_answers(path)
    for answered in kept:
        if answered.model != model.name:
            raise UsageError(f"{path} holds answers of {answered.model or 'somebody else'}; give another --results")
    return kept


@contextmanager
def _progress(count: int, told: Console) -> Generator[Report]:
    """A bar with the running score in a terminal, and a line now and then elsewhere."""
    done = right = 0
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=told, disable=not told.is_terminal) as bars:
        task = bars.add_task("", total=count)

        def report(name: str, was_right: bool) -> None:
            nonlocal done, right
            done, right = done + 1, right + was_right
            bars.update(task, completed=done, description=f"{name}, {right / done:.0%} right")
            if not told.is_terminal and int(done / count / STEP) > int((done - 1) / count / STEP):
                told.print(f"{done} of {count}, {right / done:.0%} right")

        yield report


# Showing


def _told() -> Console:
    return Console(stderr=True, highlight=False, soft_wrap=True)


def _show(first: Summary, again: Summary | None, path: Path | None, title: str, told: Console) -> None:
    _print(tables.build_table(first, again))
    if path is not None:
        picture = path.with_name(path.name.removesuffix(".gz").removesuffix(".jsonl") + ".svg")
        picture.write_text(plot(first, title, again), encoding="utf-8")
        told.print(f"every answer is in {path}, and a picture in {picture}")


def _print(rows: Sequence[Sequence[str]]) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        sys.stdout.write(tables.format_lines(rows) + "\n")
        return
    table = Table(box=None, header_style="dim", pad_edge=False)
    for number, title in enumerate(rows[0]):
        table.add_column(title, justify="right" if number else "left", style="" if number else "cyan", no_wrap=True)
    for row in rows[1:]:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


# Calibrating


def calibrate(
    name: str,
    *,
    minutes: float,
    dialects: str = "all",
    max_tokens: int = DEFAULT_MAX_TOKENS,
    find: Callable[[str | None], Model] = find_model,
    environ: Mapping[str, str] | None = None,
) -> None:
    """Find the dialect that is best for a model, show how sure that is, and remember it."""
    told, model = _told(), find(name)
    endpoint, known_as = _remembered_as(model)
    questions = load_suite("quick")
    names = dialects_named(dialects)
    told.print(f"asking {model.name} in {', '.join(names)}, for {minutes:g} minutes at most")
    runner = TrialRunner(model, max_tokens=max_tokens)
    _load(model, told)
    with _progress(len(names) * len(questions.questions), told) as report:
        contest = asyncio.run(_contest(runner, questions, names, minutes * 60, report))
    for lost, error in runner.dropped.items():
        told.print(f"{lost} was given up: {error}")
    _print(standings(contest))
    winner = contest.ranking[0]
    path = remember_dialect(endpoint, known_as, winner, environ=environ)
    sys.stdout.write(f"{verdict(contest)}\n")
    told.print(f"remembered in {path}: dialect='auto' is {winner} for {model.name} from now on")


async def _contest(
    runner: TrialRunner, questions: Suite, names: Sequence[str], seconds: float, report: Report
) -> DialectComparison:
    def on_result(trial: Trial, result: TrialResult) -> None:
        report(trial.dialect, result.verdict.right)

    return await compare_dialects(runner, questions, names, seconds=seconds, on_result=on_result)


def _remembered_as(model: Model) -> tuple[str, str]:
    """The endpoint and the name under which the dialect of a model is remembered."""
    match model:
        case EmbeddedModel():
            return "local", model.weights.name
        case HttpModel():
            return model.endpoint.base_url, model.model
        case _:
            raise UsageError(f"{model.name} is no model that could be found again by its name")


def standings(contest: DialectComparison) -> list[list[str]]:
    """How the dialects stand, the best first."""
    rows = [["dialect", "percent right", "questions", "prompt tokens", "answer tokens", "seconds"]]
    for name in contest.ranking:
        tally = contest.tally(name)
        costs = [(tally.prompt_tokens, 0), (tally.answer_tokens, 0), (tally.seconds, 1)]
        told = ["" if value is None else f"{value:.{digits}f}" for value, digits in costs]
        rows.append([name, tables.format_share(tally), str(tally.count), *told])
    return rows


def verdict(contest: DialectComparison) -> str:
    """Who won, and how sure that is, in words."""
    winner, lead = contest.ranking[0], contest.smallest_lead
    tally = contest.tally(winner)
    low, high = round(100 * tally.interval.low), round(100 * tally.interval.high)
    said = f"{winner} is best: {round(100 * tally.share)} percent right (95 % certain: {low} to {high})"
    if lead is None:
        return f"{said}; nothing else was asked."
    return (
        f"{said}. That it is better than {lead.other} is {lead.confidence:.0%} sure: of the questions that both were "
        f"asked, it alone was right in {lead.better}, and {lead.other} alone in {lead.worse}."
    )
