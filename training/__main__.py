"""Trains adapters for the embedded model, and measures them: `python training COMMAND`.

`pairs`, `kept`, `score` and `beside-gpu` need toolspeak; `words` toolspeak, torch and its teacher; `train`, `ask` and
`play` a GPU with torch, transformers, accelerate and gguf. If they are on different
machines, copy the folder from the one to the other: what is in it already is not done again. The answers that `train`
writes are judged by `toolspeak eval --answers`.
"""

import argparse
import asyncio
import sys
from pathlib import Path

from files import SETTINGS, find_answered, read_rows, read_settings


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("training", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    pairs = commands.add_parser("pairs", help="write what a model is trained on and measured with")
    train = commands.add_parser("train", help="train adapters, and answer the prompts that measure them")
    ask = commands.add_parser("ask", help="answer prompts of toolspeak eval --prompts-out")
    play = commands.add_parser(
        "play", help="have the model answer conversations of several turns: BFCL's, or those of the kept worlds"
    )
    score = commands.add_parser("score", help="judge conversations that were played")
    beside = commands.add_parser("beside-gpu", help="ask llama.cpp here what a GPU was asked, and compare")
    words = commands.add_parser("words", help="train the vectors of words by which tools are found; minutes on a CPU")
    kept = commands.add_parser("kept", help="compose the suite answers, which is not trained on")
    for each in (train, ask, play):
        each.add_argument("gguf", type=Path, help="the weights of the model")
    for each in (pairs, train, play):
        each.add_argument("folder", type=Path, help="where everything is written")
    for each in (play, score):
        each.add_argument("--half", choices=("tuned", "reported", "worlds"), default="reported")
    pairs.add_argument("--questions", type=Path, help="train on the questions of this file alone")
    pairs.add_argument("--epochs", help="only what is trained on in these epochs, with commas; writing all takes long")
    pairs.add_argument("--seed", type=int, help="draw with another seed than that of settings.toml: other questions")
    pairs.add_argument("--measure", type=Path, help="with --questions: measure with the questions of this file")
    train.add_argument("--runs", required=True, help="trainings of settings.toml, with commas")
    ask.add_argument("prompts", type=Path)
    ask.add_argument("answers", type=Path, help="what is answered there already is not asked again")
    ask.add_argument("--adapter", type=Path, help="the GGUF file of an adapter with the defaults of settings.toml")
    play.add_argument("--runs", default="base,mixed", help="runs of settings.toml, with commas")
    play.add_argument("--dialects", default="python,typescript")
    play.add_argument("--limit", type=int, help="only so many conversations, the first of the half")
    play.add_argument("--width", type=int, default=8_192, help="the most tokens of a conversation")
    words.add_argument("teacher", type=Path, help="the folder with the package of the teacher (word_vectors.py)")
    words.add_argument("file", type=Path, help="where they are written: word_vectors.bin of packages/toolspeak-trained")
    words.add_argument("--hold-out", action="store_true", help="leave out one set of tools in six, and measure with it")
    kept.add_argument("file", type=Path, help="where it is written: suites/answers.jsonl")
    score.add_argument("files", type=Path, nargs="+")
    beside.add_argument("answers", type=Path, help="the answers of the GPU")
    beside.add_argument("--adapter", required=True, help="built-in, none, or the GGUF file of an adapter")
    beside.add_argument("--weights", type=Path, required=True, help="the GGUF file of the model")
    beside.add_argument("--kept", type=Path, default=Path("training/out/beside-gpu.jsonl"), help="llama.cpp's answers")
    return parser


def main() -> None:
    parser = build_parser()
    options = parser.parse_args()
    if "gguf" in options and not options.gguf.is_file():
        parser.error(f"there is no file {options.gguf}")
    if "runs" in options:
        options.runs, known = [name.strip() for name in options.runs.split(",")], read_settings()["runs"]
        if unknown := [name for name in options.runs if name not in known]:
            parser.error(f"there is no training {', '.join(unknown)} in {SETTINGS.name}; there are {', '.join(known)}")
    # Each command needs other packages, so each imports its own.
    match options.command:
        case "pairs":
            from make_pairs import UsageError, make_all, make_yours

            if (options.questions is None) != (options.measure is None):
                parser.error("--questions and --measure go together: one file to train on, another one to measure with")
            try:
                if options.questions:
                    make_yours(options.folder, options.questions, options.measure)
                else:
                    epochs = [int(each) for each in (options.epochs or "").split(",") if each]
                    make_all(options.folder, epochs, options.seed)
            except UsageError as error:
                parser.error(str(error))
        case "train":
            if not (options.folder / "pairs.jsonl.gz").is_file():
                parser.error(
                    f"{options.folder} has no pairs.jsonl.gz: python training pairs {options.folder} writes it"
                )
            from run import run_all

            run_all(options.gguf, options.folder, options.runs)
        case "ask":
            from answer import answer_all, load_model
            from lora import use_adapters

            settings, answered = read_settings(), find_answered(options.answers)
            prompts = [row for row in read_rows(options.prompts) if row["id"] not in answered]
            tokenizer, model = load_model(options.gguf)
            with use_adapters(model, [options.adapter] if options.adapter else [], settings["defaults"]):
                answer_all(model, tokenizer, prompts, options.answers, **settings["answers"], report=print)
        case "play":
            from multi_turn import play_runs

            play_runs(options)
        case "kept":
            from composing.answers import compose_kept
            from composing.tables import write_lines

            write_lines(options.file, compose_kept(read_settings()["seed"]))
        case "words":
            from word_vectors import train_words

            train_words(options.teacher, options.file, read_settings(), hold_out=options.hold_out)
        case "score":
            from multi_turn import print_scores

            print_scores(options.files, options.half)
        case _:
            from beside_gpu import compare_machines

            sys.exit(asyncio.run(compare_machines(options.answers, options.adapter, options.weights, options.kept)))


if __name__ == "__main__":
    main()
