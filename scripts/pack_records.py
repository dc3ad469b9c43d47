"""Packs the records of spoken calls into `toolspeak-trained`: `python scripts/pack_records.py`.

The records in `tests/reading/spoken/` are the source. The distribution has the same lines, compressed, for
`toolspeak conformance`. Run this after a record was added or changed; a test fails until it has been run.
"""

import gzip
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SPOKEN = ROOT / "tests" / "reading" / "spoken"
PACKED = ROOT / "packages" / "toolspeak-trained" / "src" / "toolspeak_trained" / "spoken.jsonl.gz"


def join_records() -> bytes:
    """Return all records of the tests, one a line."""
    return b"".join((SPOKEN / f"{name}.jsonl").read_bytes() for name in ("given", "own", "missed"))


def main() -> None:
    """Write the packed file, the same bytes for the same records."""
    records = join_records()
    PACKED.write_bytes(gzip.compress(records, mtime=0))
    count = records.count(b"\n")
    print(f"{PACKED.relative_to(ROOT)}: {count} records, {len(records):,} bytes as {PACKED.stat().st_size:,}")


if __name__ == "__main__":
    sys.exit(main())
