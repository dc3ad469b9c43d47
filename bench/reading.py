"""What reading costs: `python bench/reading.py` prints seconds and microseconds of CPU, and the bars.

It is compared with the fastest partial JSON parser in a library, pydantic's `from_json(allow_partial=…)`, used as it
must be used on a stream: on all text so far, again for every chunk. The full form also compares the reading of one
plain call with what other libraries have for calls in text; README.md says how far that is the same work. The least of
several passes counts, since other work on the machine only ever adds time; in a row with a ratio, the sides take turns
and medians count.
"""

import sys
from functools import partial
from time import process_time

from harness.comparison import US, Job, Row, measure_rows, peers_of
from harness.environments import versions_here, versions_of
from harness.figures import Figure, compare, measure_in_turn
from harness.report import parse_options, report
from pydantic_core import from_json

from toolspeak.reading.reader import Reader
from toolspeak.values.spec import ToolSpec

CHUNK = 4
PUT = ToolSpec(
    name="put",
    description="Store a text.",
    parameters={"type": "object", "properties": {"text": {"type": "string"}}, "additionalProperties": False},
)
PLAIN = "some words that a file may hold, "
ESCAPED = 'a\\n\\"b\\u00e9\\\\'
PROSE = "The train to Bergen leaves in the morning and takes most of the day, which is a pity only if it rains. "
PARAGRAPHS = (PROSE * 5 + "\n\n") * 60

PEERS = (
    Row("a call after prose, the whole text", Job(US, "read"), Job(US, "read by hand"), "re and json", None),
    Row("a call after prose, the whole text", Job(US, "read"), Job("smolagents", "read"), "smolagents", None),
    Row(
        "a call alone, by 4 characters",
        Job(US, "read in pieces"),
        Job("langchain", "read in pieces"),
        "langchain",
        None,
    ),
)


def split_chunks(text):
    return [text[start : start + CHUNK] for start in range(0, len(text), CHUNK)]


def build_call(pattern, size):
    return '{"name": "put", "arguments": {"text": "' + pattern * (size // len(pattern)) + '"}}'


def time_reader(text):
    """Return the CPU seconds of our reader for a text."""
    pieces = split_chunks(text)
    reader = Reader([PUT])
    start = process_time()
    for piece in pieces:
        reader.feed(piece)
    reader.close()
    return process_time() - start


def time_reparsing(text):
    """Return the CPU seconds of parsing the whole text so far again for every chunk."""
    pieces = split_chunks(text)
    start = process_time()
    so_far = ""
    for piece in pieces:
        so_far += piece
        from_json(so_far, allow_partial="trailing-strings")
    return process_time() - start


def main() -> int:
    options = parse_options("Measure reading.", full=11, short=7, peers=True)
    reps = options.reps

    figures = []
    for title, pattern in (("plain", PLAIN), ("escape-heavy", ESCAPED)):
        sides = {size: partial(time_reader, build_call(pattern, size * 1000)) for size in (200, 800)}
        taken = measure_in_turn(sides, reps)
        name = f"200 kB of {title} arguments, by 4 characters"
        figures.append(Figure(title=name, ours=min(each[200] for each in taken), bar=0.5, times=reps))
        pairs = [(each[800] / 800, each[200] / 200) for each in taken]
        figures.append(compare(f"1,000 letters of 800,000, {title}", pairs, "a call of 200,000", 1.25))
    call = build_call(PLAIN, 50_000)
    taken = measure_in_turn({"ours": partial(time_reader, call), "beside": partial(time_reparsing, call)}, reps)
    pairs = [(each["ours"], each["beside"]) for each in taken]
    figures.append(compare("50 kB of plain arguments, by 4 characters", pairs, "from_json, again and again", None))
    prose = min(time_reader(PARAGRAPHS) for _ in range(reps)) / len(split_chunks(PARAGRAPHS))
    figures.append(Figure(title="prose, a chunk of 4 characters", ours=prose, bar=3e-6, times=reps))
    used = versions_here("toolspeak", "pydantic-core")
    if options.peers:
        figures += measure_rows(PEERS, reps)
        used |= versions_of(peer for peer in peers_of(PEERS) if peer != US)
    return report(figures, used, options.json)


if __name__ == "__main__":
    sys.exit(main())
