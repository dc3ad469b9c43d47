"""`toolspeak conformance`: what readers of calls give for texts whose one right reading is known."""

import json
import sys
from collections.abc import Sequence

from toolspeak._frozen import frozen
from toolspeak.cli.files import read_text
from toolspeak.cli.safe_text import escape_controls, escape_line, write_output
from toolspeak.cli.table import print_table
from toolspeak.conformance import OURS, ReaderProcess, ReaderReport, RecordResult, SpokenRecord, check_reader
from toolspeak.conformance.records import load_records
from toolspeak.conformance.report import build_table, encode_report, family_of, kind_of
from toolspeak.errors import UsageError

CELLS = "right / wrong / missed / error"


@frozen
class ConformanceOptions:
    """The options of the command.

    Attributes:
        readers: The readers to ask; none for ours.
        records: A file of records; None for those that come with the package.
        timeout_s: How long a reader may take for one text.
        as_json: Whether to print JSON.
        as_markdown: Whether to print tables of Markdown.
        failures: Whether to print the records that were read wrongly.
    """

    readers: tuple[str, ...] = ()
    records: str | None = None
    timeout_s: float = 5.0
    as_json: bool = False
    as_markdown: bool = False
    failures: bool = False


def check(options: ConformanceOptions) -> bool:
    """Ask the readers, print what they gave, and return whether none was wrong or failed to answer."""
    records = _load_records(options.records)
    readers = [ReaderProcess(target, timeout_s=options.timeout_s) for target in options.readers or (OURS,)]
    reports = [check_reader(reader, records) for reader in readers]
    if options.as_json:
        _print_json(reports, len(records), failures=options.failures)
    else:
        _print_tables(reports, as_markdown=options.as_markdown)
        if options.failures:
            _print_failures(reports)
    return not any(each.judgement in ("wrong", "error") for report in reports for each in report.results)


def _load_records(path: str | None) -> list[SpokenRecord]:
    if path is None:
        return load_records()
    try:
        records = load_records(read_text(path).split("\n"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{path} is no file of records: each line is an object with id, tools, text and expected ({error!r})"
        ) from None
    if not records:
        raise UsageError(f"{path} holds no records")
    return records


def _print_json(reports: Sequence[ReaderReport], count: int, *, failures: bool) -> None:
    readers = [encode_report(report) for report in reports]
    if not failures:
        for reader in readers:
            del reader["failures"]
    write_output(json.dumps({"records": count, "readers": readers}, ensure_ascii=False) + "\n")


def _print_tables(reports: Sequence[ReaderReport], *, as_markdown: bool) -> None:
    sys.stdout.write(f"Each cell: {CELLS}.\n")
    for title, group_of in (("family", family_of), ("kind", kind_of)):
        rows = build_table(reports, title, group_of)
        sys.stdout.write("\n")
        if as_markdown:
            rule = ["---", *("---:" for _ in rows[0][1:])]
            write_output("".join(f"| {' | '.join(row)} |\n" for row in (rows[0], rule, *rows[1:])))
        else:
            print_table(rows)


def _print_failures(reports: Sequence[ReaderReport]) -> None:
    for report in reports:
        for result in report.results:
            if result.judgement == "wrong":
                write_output(_format_failure(report.name, result))


def _format_failure(reader: str, result: RecordResult) -> str:
    record = result.record
    text = "".join(f"  │ {escape_controls(line)}\n" for line in record.text.split("\n"))
    return (
        f"\n{escape_line(record.id)} ({escape_line(record.family)}, {escape_line(record.kind)}), wrong: "
        f"{escape_line(reader)}\n{text}"
        f"  expected  {escape_controls(json.dumps(record.expected, ensure_ascii=False))}\n"
        f"  got       {escape_controls(json.dumps(result.got, ensure_ascii=False))}\n"
    )
