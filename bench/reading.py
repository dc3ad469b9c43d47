"""What reading costs: `python bench/reading.py` prints seconds and microseconds of CPU, and the bars.

Beside it stands the fastest partial JSON parser there is in a library, pydantic's `from_json(allow_partial=…)`, used as
it must be used on a stream: on all text so far, again for every chunk. The full form also reads one plain call beside
what others have for calls in text; README.md says how far that is the same. The least of several passes counts:
neighbours on a shared machine only ever add.
"""

import sys
from time import process_time

from environments import versions, versions_here
from figures import Figure, asked, told
from pydantic_core import from_json

from run import US, Job, Row, measured, peers
from toolspeak.reading.reader import Reader
from toolspeak.spec import ToolSpec

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


def chunks(text):
    return [text[start : start + CHUNK] for start in range(0, len(text), CHUNK)]


def arguments(pattern, size):
    return '{"name": "put", "arguments": {"text": "' + pattern * (size // len(pattern)) + '"}}'


def reading(text):
    pieces = chunks(text)
    reader = Reader([PUT])
    start = process_time()
    for piece in pieces:
        reader.feed(piece)
    reader.close()
    return process_time() - start


def reparsing(text):
    pieces = chunks(text)
    start = process_time()
    so_far = ""
    for piece in pieces:
        so_far += piece
        from_json(so_far, allow_partial="trailing-strings")
    return process_time() - start


def main() -> int:
    options = asked("Measure reading.", full=7, short=5, peers=True)
    reps = options.reps

    def best(measure, text):
        return min(measure(text) for _ in range(reps))

    figures = []
    for title, pattern in (("plain", PLAIN), ("escape-heavy", ESCAPED)):
        small, large = (best(reading, arguments(pattern, size)) for size in (200_000, 800_000))
        name = f"200 kB of {title} arguments, by 4 characters"
        figures.append(Figure(title=name, ours=small, bar=0.5, times=reps))
        small, large = small / 200, large / 800
        name = f"1,000 letters of 800,000, {title}"
        grown = {"ours": large, "beside": "a call of 200,000", "theirs": small, "ratio": large / small}
        figures.append(Figure(title=name, **grown, bar=1.25, times=reps))
    ours, beside = (best(measure, arguments(PLAIN, 50_000)) for measure in (reading, reparsing))
    partial = {"ours": ours, "beside": "from_json, again and again", "theirs": beside, "ratio": ours / beside}
    figures.append(Figure(title="50 kB of plain arguments, by 4 characters", **partial, times=reps))
    prose = best(reading, PARAGRAPHS) / len(chunks(PARAGRAPHS))
    figures.append(Figure(title="prose, a chunk of 4 characters", ours=prose, bar=3e-6, times=reps))
    used = versions_here("toolspeak", "pydantic-core")
    if options.peers:
        figures += measured(PEERS, reps)
        used |= versions(peer for peer in peers(PEERS) if peer != US)
    return told(figures, used, options.json)


if __name__ == "__main__":
    sys.exit(main())
