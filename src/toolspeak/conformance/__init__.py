"""What a reader of tool calls gives for texts of models whose one right reading is known.

    records ── text, tools ──► a reader, in a process of its own ── calls ──► judged ──► counted

`records.py` has the records, which come with the package (`spoken.jsonl.gz`), and sorts them by family and kind.
`reader_process.py` asks a reader, ours or any other, with a time limit for each text; `child.py` is what runs in its
process, and `ours.py` is our reader as such a function. `judge.py` says whether what a reader gave is right, wrong or
missed, and `report.py` counts.
"""

from toolspeak.conformance.judge import Judgement, RecordResult, judge
from toolspeak.conformance.reader_process import OURS, ReaderProcess
from toolspeak.conformance.records import SpokenRecord, load_records
from toolspeak.conformance.report import ReaderReport, check_reader

__all__ = [
    "OURS",
    "Judgement",
    "ReaderProcess",
    "ReaderReport",
    "RecordResult",
    "SpokenRecord",
    "check_reader",
    "judge",
    "load_records",
]
