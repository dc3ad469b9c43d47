"""Prints the scores of answers, judged by toolspeak's own judge: `python training/scores.py FILE.jsonl.gz…`.

A file may hold answers to the suites `field` and `bfcl`. For each suite a table has a row for each category and a
column for each dialect: the share of right answers, in percent.
"""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from toolspeak.lab.files import read_answers
from toolspeak.lab.suites import load_suite
from toolspeak.lab.trials import Trial, make_trials, parse_trial_id
from toolspeak.values.errors import UsageError

Key = tuple[str, str, str]
"""A suite, a category and a dialect."""


TALK = "talk"
"""The suite of questions whose answers are read by people."""


def judge_answers(path: Path) -> dict[str, tuple[Trial, bool, str]]:
    """Judge the answers of a file; return, for each id, the trial, whether the answer is right, and why not."""
    answers = {answer.id: answer for answer in read_answers(path)}
    suites = [each for each in dict.fromkeys(parse_trial_id(id)[0] for id in answers) if each != TALK]
    dialects = dict.fromkeys(parse_trial_id(each)[2] for each in answers)
    judged: dict[str, tuple[Trial, bool, str]] = {}
    for suite in suites:
        for trial in make_trials(load_suite(suite), dialects):
            if trial.id in answers:
                verdict = trial.judge(answers[trial.id]).verdict
                judged[trial.id] = (trial, verdict.right, verdict.why)
    return judged


def format_tables(judged: Iterable[tuple[Trial, bool, str]]) -> str:
    """Format the scores as Markdown, a table for each suite."""
    counts: dict[Key, list[bool]] = {}
    for trial, is_right, _ in judged:
        counts.setdefault((trial.suite.name, trial.question.category, trial.dialect), []).append(is_right)
    tables: list[str] = []
    for suite in dict.fromkeys(key[0] for key in counts):
        dialects = list(dict.fromkeys(key[2] for key in counts if key[0] == suite))
        categories = list(dict.fromkeys(key[1] for key in counts if key[0] == suite))
        lines = [f"| {suite} | n | {' | '.join(dialects)} |", f"|---|{'---|' * (len(dialects) + 1)}"]
        means: dict[str, list[float]] = {name: [] for name in dialects}
        for category in categories:
            cells: list[str] = []
            for name in dialects:
                found = counts.get((suite, category, name), [])
                share = 100 * sum(found) / len(found) if found else 0.0
                means[name].append(share)
                cells.append(f"{share:.1f}")
            size = len(counts.get((suite, category, dialects[0]), []))
            lines.append(f"| {category} | {size} | {' | '.join(cells)} |")
        mean = " | ".join(f"**{sum(means[name]) / len(means[name]):.1f}**" for name in dialects)
        lines.append(f"| **mean** | | {mean} |")
        tables.append("\n".join(lines))
    return "\n\n".join(tables)


def print_scores(paths: Sequence[Path]) -> None:
    for path in paths:
        print(f"\n## {path.name}\n\n{format_tables(judge_answers(path).values())}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("answers", type=Path, nargs="+", help="files of answers")
    try:
        print_scores(parser.parse_args().answers)
    except UsageError as error:
        parser.exit(
            2, f"{error}; answers to a file of yours are judged by toolspeak eval --suite FILE --answers ANSWERS\n"
        )
