"""Trains adapters and answers the prompts that measure them, one training after the other: `python training train`.

For each of the trainings of `settings.toml` that are asked for, this makes an adapter (`train.py`), or the mean of
others, and its GGUF file (`lora.py`), answers the prompts that measure it (`answer.py`), and plays the conversations
that `played` names (`multi_turn.py`).
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from answer import answer_all, load_model
from files import find_adapters, find_answered, read_rows, read_settings
from lora import Adapter, average, read_gguf, use_adapters, write_gguf
from own_answers import MAX_OWN_TOKENS, choose_own, use_own
from train import train


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
    settings, log = read_settings(), Log(folder / "log.txt")
    tokenizer, model = load_model(gguf)
    log(f"the model is loaded, on {model.device}")
    groups = list(read_rows(folder / "pairs.jsonl.gz"))
    prompts = list(read_rows(folder / "prompts.jsonl.gz"))
    options = {**settings["answers"], "report": log}
    own = write_own(model, tokenizer, folder, options)
    for name in names:
        chosen, answers_path = settings["runs"][name], folder / f"{name}.jsonl.gz"
        answered = find_answered(answers_path)
        measured = [row for row in prompts if row["part"] in chosen["measured"]]
        spoken = [row for row in measured if row["id"].split("/")[2] in chosen["dialects"]]  # an id names its dialect
        asked = [row for row in spoken if row["id"] not in answered]
        paths = find_adapters(folder, name, chosen)
        if paths and not paths[0].exists():
            named = {"alpha": chosen["alpha"], "architecture": model.config.model_type, "name": f"toolspeak {name}"}
            if chosen["average"]:
                share = average([folder / f"{each}.gguf" for each in chosen["average"]], paths[0], **named)
                log(f"{name}: {share:.1%} of the mean of {', '.join(chosen['average'])}")
            else:
                log(f"training {name}: {json.dumps(chosen)}")
                adapter = Adapter(model, chosen, seed=settings["seed"])
                if chosen["begin"]:
                    read_gguf(folder / f"{chosen['begin']}.gguf", adapter)
                used = use_own(groups, own if chosen["own"] else {})
                train(model, adapter, tokenizer, used, chosen, seed=settings["seed"] + chosen["order"], report=log)
                write_gguf(paths[0], adapter.matrices(), **named)
                adapter.remove()
        with use_adapters(model, paths, chosen) as use:
            for number in (0, 1):
                following = [row for row in asked if row["adapter_file"] == number]
                use(number)
                answer_all(model, tokenizer, following, answers_path, **options)
            for half in chosen["played"]:
                from multi_turn import make_conversations, name_file, play_with  # needs the source of toolspeak

                if not (path := name_file(folder, half, name)).exists():
                    conversations = make_conversations(half, ["python"], figures=chosen["figures"])
                    play_with(model, tokenizer, conversations, path, use=use, **settings["answers"])
                    log(f"{name}: conversations were played, in {path.name}")
