"""Measuring how well a model calls tools in each dialect, and at what cost.

    suite ── trials ──► prompts ──► answers ── read and judged ──► results ──► figures

A suite has questions and a judge (`questions.py`, `suites.py`, `judge.py`, `bfcl.py`). A trial is one question in one
dialect (`trials.py`); where a call is malformed it has a follow-up, as in the loop (`conversation.py`,
`follow_ups.py`). Answers come from a model (`trial_runner.py`), or were made elsewhere from prompts that were written
to a file (`templates.py`, `files.py`). `summary.py` counts, `tables.py` and `plot.py` show the figures, and
`calibration.py` finds the best dialect for a model.
"""
