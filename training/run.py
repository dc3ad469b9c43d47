"""Trains adapters and measures them, in one command: `python training/run.py MODEL.gguf FOLDER --runs NAME,NAME`.

The steps are: pairs of prompts and answers (`make_pairs.py`), for each of these trainings of `settings.toml` an adapter
(`train.py`), or the mean of others, and its GGUF file (`lora.py`), answers to the prompts that measure it
(`answer.py`), and the scores of all answers (`scores.py`). The first and the last step need toolspeak, the others a GPU
with torch, transformers, accelerate and gguf. If they are on different machines, run `make_pairs.py` on the one, copy
FOLDER, run this with `--only-train`, copy FOLDER back, and run `scores.py`. Pairs in FOLDER are not made again.
"""

import argparse
import gzip
import json
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from answer import answer_all, load_model
from lora import Adapter, average, read_gguf, write_gguf
from own_answers import MAX_OWN_TOKENS, choose_own, use_own
from train import train

SETTINGS = Path(__file__).with_name("settings.toml")


class Log:
    """Prints lines and keeps them in a file, with the seconds since the start."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._began = time.time()

    def __call__(self, line: str) -> None:
        line = f"{time.time() - self._began:6.0f}  {line}"
        print(line, flush=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def is_measured(prompt: dict[str, Any], settings: dict[str, Any]) -> bool:
    """Whether a training is measured with a prompt: by its part, and by the dialect that its id names."""
    return prompt["part"] in settings["measured"] and prompt["id"].split("/")[2] in settings["dialects"]


def write_own(model: Any, tokenizer: Any, folder: Path, options: dict[str, Any]) -> dict[str, str]:
    """Have the model answer the prompts without tools, unless it has; return the good answers."""
    prompts, path = list(read_rows(folder / "own_prompts.jsonl.gz")), folder / "own.jsonl.gz"
    if prompts and not path.exists():
        answer_all(model, tokenizer, prompts, path, **{**options, "max_tokens": MAX_OWN_TOKENS})
    own = choose_own(read_rows(path)) if prompts else {}
    options["report"](f"{len(own)} of {len(prompts)} own answers are good")
    return own


def run_all(gguf: Path, folder: Path, names: Sequence[str]) -> None:
    """Run trainings, one after the other. What is in the folder from an earlier time is not done again."""
    settings = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))
    log = Log(folder / "log.txt")
    tokenizer, model = load_model(gguf)
    log(f"the model is loaded, on {model.device}")
    groups = list(read_rows(folder / "pairs.jsonl.gz"))
    prompts = list(read_rows(folder / "prompts.jsonl.gz"))
    options = {**settings["answers"], "report": log}
    own = write_own(model, tokenizer, folder, options)
    for name in names:
        chosen = {**settings["defaults"], **settings["runs"][name]}
        answers_path = folder / f"{name}.jsonl.gz"
        answered = {row["id"] for row in read_rows(answers_path)} if answers_path.exists() else set[str]()
        asked = [row for row in prompts if is_measured(row, chosen) and row["id"] not in answered]
        if not chosen["rank"]:
            answer_all(model, tokenizer, asked, answers_path, **options)
            continue
        adapter = Adapter(model, chosen["layers"], rank=chosen["rank"], alpha=chosen["alpha"], seed=settings["seed"])
        adapter_path = folder / f"{chosen['adapter'] or name}.gguf"
        named = {"architecture": model.config.model_type, "name": f"toolspeak {name}"}
        if not adapter_path.exists() and chosen["average"]:
            parts = [folder / f"{each}.gguf" for each in chosen["average"]]
            share = average(parts, adapter_path, alpha=chosen["alpha"], **named)
            log(f"{name}: {share:.1%} of the mean of {', '.join(chosen['average'])}")
        if adapter_path.exists():
            read_gguf(adapter_path, adapter)
        else:
            log(f"training {name}: {json.dumps(chosen)}")
            if chosen["begin"]:
                read_gguf(folder / f"{chosen['begin']}.gguf", adapter)
            used = use_own(groups, own if chosen["own"] else {})
            train(model, adapter, tokenizer, used, chosen, seed=settings["seed"] + chosen["order"], report=log)
            write_gguf(adapter_path, adapter, **named)
        with adapter.merged():
            answer_all(model, tokenizer, asked, answers_path, **options)
        adapter.remove()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gguf", type=Path, help="the weights of the model")
    parser.add_argument("folder", type=Path, help="where everything is written")
    parser.add_argument("--runs", required=True, help="trainings of settings.toml, with commas")
    parser.add_argument("--only-train", action="store_true", help="train and answer, but compute no scores")
    options = parser.parse_args()
    names = [name.strip() for name in options.runs.split(",")]
    known = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))["runs"]
    if unknown := [name for name in names if name not in known]:
        parser.error(f"there is no training {', '.join(unknown)} in {SETTINGS.name}; there are {', '.join(known)}")
    if not options.gguf.is_file():
        parser.error(f"there is no file {options.gguf}")
    has_pairs = (options.folder / "pairs.jsonl.gz").is_file()
    if options.only_train and not has_pairs:
        parser.error(f"{options.folder} has no pairs.jsonl.gz: make_pairs.py writes it")
    if not has_pairs:
        from make_pairs import make_all

        make_all(options.folder)
    run_all(options.gguf, options.folder, names)
    if not options.only_train:
        from scores import print_scores

        print_scores([options.folder / f"{name}.jsonl.gz" for name in names])


if __name__ == "__main__":
    main()
