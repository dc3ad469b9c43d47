"""Compares readers on the records of spoken calls: `python bench/conformance.py` writes the tables of the page."""

import re
from importlib.metadata import version
from pathlib import Path

from toolspeak.lab.conformance import (
    OURS,
    PACKED_RECORDS,
    ReaderProcess,
    build_table,
    check_reader,
    family_of,
    kind_of,
    load_records,
)

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "conformance.md"
READERS = ROOT / "bench" / "conformance_readers.py"
LIBRARIES = {
    "json_repair": "json_repair",
    "partial_json_parser": "partial-json-parser",
    "partialjson": "partialjson",
    "jiter": "jiter",
    "smolagents": "smolagents",
}
"""The functions in `conformance_readers.py`, each with the name of its distribution."""

TABLES = re.compile(r"(?<=<!-- tables -->\n).*(?=<!-- end of tables -->)", re.S)
SIZE = re.compile(r"[\d,]+ texts, \d+ kB")


def format_markdown(rows: list[list[str]]) -> str:
    rule = ["---", *("---:" for _ in rows[0][1:])]
    return "".join(f"| {' | '.join(row)} |\n" for row in (rows[0], rule, *rows[1:]))


def main() -> None:
    records = load_records()
    targets = (OURS, *(f"{READERS}:{name}" for name in LIBRARIES))
    reports = [check_reader(ReaderProcess(target), records) for target in targets]
    versions = ", ".join(f"{name} {version(name)}" for name in LIBRARIES.values())
    tables = [f"{len(records):,} records; {versions}.\n"]
    tables += [format_markdown(build_table(reports, *by)) for by in (("kind", kind_of), ("family", family_of))]
    page = PAGE.read_text(encoding="utf-8")
    body = "\n" + "\n".join(tables) + "\n"
    page = TABLES.sub(lambda _: body, page)
    page = SIZE.sub(f"{len(records):,} texts, {round(PACKED_RECORDS.stat().st_size / 1000)} kB", page)
    PAGE.write_text(page, encoding="utf-8")
    print(tables[1])


if __name__ == "__main__":
    main()
