"""Measuring: how well a model calls in each dialect, and what it takes.

    suite ── trials ──► what a model is shown ──► answers ── read, judged ──► results ──► figures

A suite has questions and a judge (`suites.py`, `judging.py`, `bfcl.py`). A trial is a question in a dialect
(`trials.py`), and may be asked again as the loop would (`conversation.py`, `rounds.py`). Answers come from a model
(`asking.py`) or were made elsewhere from prompts that were written out (`templates.py`, `files.py`). `summary.py`
counts, `tables.py` and `plot.py` lay out what was counted.
"""
