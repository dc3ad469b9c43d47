"""What reading costs: `python bench/reading.py` prints seconds and microseconds of CPU, and the bars.

Beside it stands the fastest partial JSON parser there is in a library, pydantic's `from_json(allow_partial=…)`, used as
it must be used on a stream: on all text so far, again for every chunk.
"""

import sys
from time import process_time

from pydantic_core import from_json

from toolspeak.dialects.reader import Reader
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


def best(measure, text, times=5):
    return min(measure(text) for _ in range(times))


def main() -> int:
    rows = []
    for title, pattern in (("plain", PLAIN), ("escape-heavy", ESCAPED)):
        small = best(reading, arguments(pattern, 200_000))
        large = best(reading, arguments(pattern, 800_000), times=3)
        rows.append((f"200 kB of {title} arguments, by 4 characters", f"{small:.3f} s", "≤ 0.5 s", small <= 0.5))
        rows.append(
            (f"  four times that text takes, {title}", f"{large / small:.1f} times", "≤ 5 times", large / small <= 5)
        )
    beside = reparsing(arguments(PLAIN, 50_000))
    ours = best(reading, arguments(PLAIN, 50_000))
    rows.append(
        ("50 kB, pydantic's partial parser again and again", f"{beside:.3f} s, {beside / ours:.0f} of ours", "", True)
    )
    prose = best(reading, PARAGRAPHS) / len(chunks(PARAGRAPHS)) * 1e6
    rows.append(("prose, a chunk of 4 characters", f"{prose:.2f} µs", "≤ 3 µs", prose <= 3))
    for title, value, bar, held in rows:
        print(f"{title:52} {value:22} {bar:10} {'' if not bar else 'ok' if held else 'MISSED'}".rstrip())
    return int(not all(held for *_, held in rows))


if __name__ == "__main__":
    sys.exit(main())
