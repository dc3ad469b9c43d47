"""Asks llama.cpp on this machine what a GPU was asked, and compares: `python training beside-gpu ANSWERS.jsonl.gz`.

`ANSWERS` are those of `python training train` with the adapter that `--adapter` names. Of its questions in `python`,
136 are drawn with the seed of the settings: twelve of each category of `bfcl`, from the sample that is always
answered, four each about ten sets of tools of `field`, and four of each category of `answers`, which follow results.
There the weights have 16 bits, so single answers differ; three in a hundred may be judged differently. Answers of
this machine are kept in a file, and what is in it is not asked again.
"""

import random
from contextlib import aclosing
from pathlib import Path

from files import read_settings
from make_pairs import BFCL_SAMPLE

from toolspeak.lab.files import ResultsFile, read_answers
from toolspeak.lab.suites import load_suite
from toolspeak.lab.trial_runner import TrialRunner, find_unanswered
from toolspeak.lab.trials import Trial, make_trials
from toolspeak.models.adapters import find_adapter
from toolspeak.models.embedded import EmbeddedModel
from toolspeak.values.errors import UsageError

DIALECT = "python"
BFCL_PER_CATEGORY = 12
FIELD_SETS = 10
FIELD_PER_SET = 4
ANSWERS_PER_CATEGORY = 4
MAX_DIFFERENT_SHARE = 0.03


def draw_trials(seed: int) -> list[Trial]:
    """Draw the questions. Those that share their tools stand together, so that the tools are read once."""
    bfcl = load_suite("bfcl")
    sample = make_trials(bfcl, [DIALECT], limit=BFCL_SAMPLE, seed=seed)
    rng = random.Random(seed)
    chosen: set[str] = set()
    for category in bfcl.categories:
        of_category = [each.id for each in sample if each.question.category == category]
        chosen.update(rng.sample(of_category, BFCL_PER_CATEGORY))
    trials = make_trials(load_suite("field"), [DIALECT], figures=True)
    by_tools: dict[tuple[str, ...], list[str]] = {}
    for each in trials:
        by_tools.setdefault(tuple(spec.name for spec in each.question.tools), []).append(each.id)
    for ids in rng.sample([ids for ids in by_tools.values() if len(ids) >= FIELD_PER_SET], FIELD_SETS):
        chosen.update(rng.sample(ids, FIELD_PER_SET))
    told = make_trials(load_suite("answers"), [DIALECT], limit=ANSWERS_PER_CATEGORY, seed=seed, figures=True)
    return [*(each for each in (*sample, *trials) if each.id in chosen), *told]


async def compare_machines(answers: Path, adapter: str, weights: Path, kept: Path) -> bool:
    """Ask the questions that are not answered in the file `kept`; return whether too many are judged differently."""
    used = find_adapter(None if adapter == "none" else adapter, weights)
    if used is None and adapter != "none":
        raise UsageError(f"the adapter {adapter} is for other weights than {weights.name}")
    trials = draw_trials(read_settings()["seed"])
    runner = TrialRunner(EmbeddedModel(weights, dialect=DIALECT, adapter=used))
    waiting = find_unanswered(trials, read_answers(kept) if kept.exists() else [])
    with ResultsFile(kept) as file:
        async with aclosing(runner.run(waiting)) as found:
            async for trial, answer in found:
                file.add(trial.judge(answer))
                print(trial.id, flush=True)
    return print_comparison(trials, kept, answers) > MAX_DIFFERENT_SHARE


def print_comparison(trials: list[Trial], here: Path, there: Path) -> float:
    """Print how the answers of both machines are judged; return the share that is judged differently."""
    ours, theirs = ({answer.id: answer for answer in read_answers(path)} for path in (here, there))
    both = [trial for trial in trials if trial.id in ours and trial.id in theirs]
    other_prompts = [trial.id for trial in both if theirs[trial.id].prompt_hash not in ("", trial.prompt_hash())]
    right_here, right_there, same = 0, 0, 0
    different: list[str] = []
    for trial in both:
        verdicts = [trial.judge(answers[trial.id]).verdict for answers in (ours, theirs)]
        right_here += verdicts[0].right
        right_there += verdicts[1].right
        same += ours[trial.id].text.strip() == theirs[trial.id].text.strip()
        if verdicts[0].right is not verdicts[1].right:
            better = "here" if verdicts[0].right else "there"
            different.append(f"{trial.id}: right {better} only; {verdicts[0].why or verdicts[1].why}")
    print(f"{len(both)} questions were answered on both machines; {len(trials) - len(both)} are missing")
    if other_prompts:
        print(f"{len(other_prompts)} had another prompt there: {', '.join(other_prompts[:3])} …")
    print(f"right here: {right_here}; right there: {right_there}; {same} answers are the same letter by letter")
    print(f"judged differently: {len(different)} (at most {MAX_DIFFERENT_SHARE:.0%} of {len(both)})")
    print("\n".join(different))
    return len(different) / len(both) if both else 1.0
