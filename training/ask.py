"""Answers prompts with a model, and an adapter if one is given: `python training/ask.py MODEL.gguf PROMPTS ANSWERS`.

`PROMPTS` is a file that `toolspeak eval --prompts-out` wrote; `toolspeak eval --answers ANSWERS` judges the answers.
What is answered in `ANSWERS` already is not asked again.
"""

import argparse
import tomllib
from contextlib import nullcontext
from pathlib import Path

from answer import answer_all, load_model
from lora import Adapter, read_gguf

from run import SETTINGS, read_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gguf", type=Path, help="the weights of the model")
    parser.add_argument("prompts", type=Path)
    parser.add_argument("answers", type=Path)
    parser.add_argument("--adapter", type=Path, help="the GGUF file of an adapter with the defaults of settings.toml")
    options = parser.parse_args()
    settings = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))
    answered = {row["id"] for row in read_rows(options.answers)} if options.answers.exists() else set[str]()
    prompts = [row for row in read_rows(options.prompts) if row["id"] not in answered]
    tokenizer, model = load_model(options.gguf)
    adapter = None
    if options.adapter:
        chosen = settings["defaults"]
        adapter = Adapter(model, chosen["layers"], rank=chosen["rank"], alpha=chosen["alpha"], seed=settings["seed"])
        read_gguf(options.adapter, adapter)
    with adapter.merged() if adapter else nullcontext():
        answer_all(model, tokenizer, prompts, options.answers, **settings["answers"], report=print)


if __name__ == "__main__":
    main()
