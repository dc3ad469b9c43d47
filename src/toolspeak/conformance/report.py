"""Counts what readers made of the records, and lays the counts out."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from toolspeak._frozen import frozen
from toolspeak.conformance.judge import JUDGEMENTS, Judgement, RecordResult, judge
from toolspeak.conformance.reader_process import ReaderProcess
from toolspeak.conformance.records import SpokenRecord

Grouping = Callable[[SpokenRecord], str]


@frozen
class ReaderReport:
    """What one reader made of the records.

    Attributes:
        name: The short name of the reader.
        target: Where the reader is.
        results: A result for each record, in the order of the records.
    """

    name: str
    target: str
    results: tuple[RecordResult, ...]

    def count(self, group_of: Grouping, group: str | None = None) -> Counter[Judgement]:
        """Count the judgements of one group of records, or of all."""
        return Counter(each.judgement for each in self.results if group is None or group_of(each.record) == group)


def check_reader(reader: ReaderProcess, records: Sequence[SpokenRecord]) -> ReaderReport:
    """Ask a reader for the calls of every record, and judge what it gives.

    Raises:
        UsageError: The reader cannot be loaded.
    """
    results: list[RecordResult] = []
    with reader:
        for record in records:
            answer = reader.ask(record)
            if "error" in answer:
                results.append(RecordResult(record=record, judgement="error", error=answer["error"]))
            else:
                results.append(judge(record, answer["calls"]))
    return ReaderReport(name=reader.name, target=reader.target, results=tuple(results))


def build_table(reports: Sequence[ReaderReport], title: str, group_of: Grouping) -> list[list[str]]:
    """Return a heading, a row for each group and one for all, with a column for each reader."""
    records = [each.record for each in reports[0].results]
    sizes = Counter(map(group_of, records))
    rows = [[title, "records", *(report.name for report in reports)]]
    for group in (*sorted(sizes), None):
        size = len(records) if group is None else sizes[group]
        cells = [_format_counts(report.count(group_of, group)) for report in reports]
        rows.append(["all" if group is None else group, str(size), *cells])
    return rows


def _format_counts(counts: Counter[Judgement]) -> str:
    return " / ".join(str(counts[each]) for each in JUDGEMENTS)


def encode_report(report: ReaderReport) -> dict[str, Any]:
    """Return the counts of a reader, and each record that it did not read right, as JSON data."""
    return {
        "name": report.name,
        "target": report.target,
        "all": _encode_counts(report.count(family_of)),
        "families": _encode_groups(report, family_of),
        "kinds": _encode_groups(report, kind_of),
        "failures": [encode_failure(each) for each in report.results if each.judgement != "right"],
    }


def _encode_groups(report: ReaderReport, group_of: Grouping) -> dict[str, dict[str, int]]:
    groups = sorted({group_of(each.record) for each in report.results})
    return {group: _encode_counts(report.count(group_of, group)) for group in groups}


def _encode_counts(counts: Counter[Judgement]) -> dict[str, int]:
    return {each: counts[each] for each in JUDGEMENTS}


def encode_failure(result: RecordResult) -> dict[str, Any]:
    """Return a record that was not read right, with what was expected and what the reader gave, as JSON data."""
    record = result.record
    return {
        "id": record.id,
        "family": record.family,
        "kind": record.kind,
        "judgement": result.judgement,
        "text": record.text,
        "expected": record.expected,
        "got": result.got,
        "error": result.error,
    }


def family_of(record: SpokenRecord) -> str:
    """Return the family of a record."""
    return record.family


def kind_of(record: SpokenRecord) -> str:
    """Return the kind of a record."""
    return record.kind
