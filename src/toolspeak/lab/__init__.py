"""Measuring: how well a model calls tools in each dialect and at what cost, and what any reader makes of spoken calls.

    suite ── trials ──► prompts ──► answers ── read and judged ──► results ──► figures

A suite has questions and a judge (`questions.py`, `suites.py`, `judge.py`, `bfcl.py`); `claims.py` judges the words of
an answer by the facts in them. A trial is one question in one dialect (`trials.py`); where a call is malformed it has a
follow-up, as in the loop. Answers come from a model (`trial_runner.py`), or were made elsewhere from prompts that were
written to a file (`files.py`). `summary.py` counts and lays out tables, `plot.py` draws, and `calibration.py` finds the
best dialect for a model.

`conformance.py` has the records of spoken calls, and judges what readers give for them; a reader runs in a process of
its own (`reader_child.py`), so a run ends whatever it does.

The room imports the loop, the dialects, the models and what is below them; the command line (`cli/eval.py`) imports the
room. Start with `trials.py`.

To add …

- a question: a line in `suites/field/`, then `python scripts/draw_quick.py`, which draws `quick.jsonl` from it. How a
  turn of a conversation is written: `parse_turns` in `questions.py`; a key of a line: `suites.py`; how values are
  compared: `judge.py`.
- a chat template: `TEMPLATES` in `files.py`.
- a record of a spoken call: `tests/reading/spoken/own.jsonl`, then `python scripts/pack_records.py`, which packs
  it into `packages/toolspeak-trained`; a kind of record: `KINDS` in `conformance.py`.
- a figure: `Tally` and `build_table` in `summary.py`.
- another library beside ours: `bench/conformance_readers.py`.
"""
