"""`ToolIndex`: finds tools by words, with BM25.

A tool is a bag of words: its name, which counts several times, its description, and its parameters with theirs. Names
are split where their parts meet (`getHTTPStatus`, `github__list_issues`). Words are cut to their beginnings, so that
most inflected forms of a word are one, in any language that writes its words apart. In scripts that do not, each pair
of neighbouring characters is a word.

A message often asks for several things. So each of its sentences is ranked too, and the rankings take turns.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import Any, cast

from toolspeak.spec import Schema, ToolSpec, map_subschemas

STEM_CHARS = 6
"""Characters of a word that count."""

NAME_WEIGHT = 3
"""How often a word of a tool's name counts."""

SATURATION, LENGTH_SHARE = 1.2, 0.75
"""The constants `k1` and `b` of BM25: how soon more of a word counts no more, and how much long texts count less."""

MAX_QUERY_CHARS = 8_000
"""Characters of a message that are looked at: its first and last ones."""

MAX_SENTENCES = 12
"""Sentences of a message that are ranked on their own."""

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^\W\d_]+", re.UNICODE)
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_SENTENCE_END = re.compile(r"[.!?;]+\s+|[。！？；\n]+")


def split_words(text: str) -> Iterator[str]:
    """Yield the words of a text in the form in which they are compared.

    Examples:
        >>> list(split_words("getHTTPStatus of the orders_v2"))
        ['get', 'http', 'status', 'of', 'the', 'orders', 'v', '2']
        >>> list(split_words("погода 天气预报"))
        ['погода', '天气', '气预', '预报']
    """
    for found in _WORD.finditer(text):
        word = found[0]
        place = 0
        for run in _UNSPACED.finditer(word):
            yield from _cut_stem(word[place : run.start()])
            chars = run[0]
            yield from (chars,) if len(chars) == 1 else map("".join, pairwise(chars))
            place = run.end()
        yield from _cut_stem(word[place:])


def _cut_stem(word: str) -> Iterator[str]:
    folded = word.casefold()
    if folded:
        yield folded[:STEM_CHARS]


class ToolIndex:
    """Tools that can be found by words.

    Examples:
        >>> specs = [
        ...     ToolSpec(name="get_weather", description="The weather in a city.", parameters={}),
        ...     ToolSpec(name="sendMail", description="Send a message to somebody.", parameters={}),
        ... ]
        >>> ToolIndex(specs).rank("Mail Anna that I am late")
        ['sendMail']
    """

    def __init__(self, specs: Sequence[ToolSpec]) -> None:
        self._names = [spec.name for spec in specs]
        bags = [Counter(_list_words(spec)) for spec in specs]
        sizes = [bag.total() for bag in bags]
        mean = sum(sizes) / len(sizes) if sizes and any(sizes) else 1.0
        self._weights: dict[str, list[tuple[int, float]]] = {}
        for place, bag in enumerate(bags):
            norm = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * sizes[place] / mean)
            for word, count in bag.items():
                weight = count * (SATURATION + 1) / (count + norm)
                self._weights.setdefault(word, []).append((place, weight))

    def score(self, query: str) -> dict[str, float]:
        """Return how well each tool fits a query, by name; tools that share no word with it are left out."""
        scores: dict[int, float] = {}
        total = len(self._names)
        for word in dict.fromkeys(split_words(query)):
            found = self._weights.get(word, ())
            rarity = math.log(1 + (total - len(found) + 0.5) / (len(found) + 0.5))
            for place, weight in found:
                scores[place] = scores.get(place, 0.0) + rarity * weight
        ordered = sorted(scores, key=lambda place: (-scores[place], place))
        return {self._names[place]: scores[place] for place in ordered}

    def rank(self, message: str) -> list[str]:
        """Return the names of the tools that a message may be about, the likeliest ones first."""
        if len(message) > MAX_QUERY_CHARS:
            message = f"{message[: MAX_QUERY_CHARS // 2]}\n{message[-MAX_QUERY_CHARS // 2 :]}"
        sentences = [each for each in _SENTENCE_END.split(message) if each.strip()]
        queries = [message, *sentences[:MAX_SENTENCES]] if len(sentences) > 1 else [message]
        rounds = zip_longest(*(self.score(query) for query in queries))
        return list(dict.fromkeys(name for names in rounds for name in names if name is not None))


def _list_words(spec: ToolSpec) -> Iterator[str]:
    for word in split_words(spec.name):
        yield from (word,) * NAME_WEIGHT
    for text in (spec.description, *_list_texts(spec.parameters)):
        yield from split_words(text)


def _list_texts(schema: Schema) -> Iterable[str]:
    """Return the names of parameters, their descriptions and choices, and those of all that is inside of them."""
    found: list[str] = []

    def look(each: Schema) -> Schema:
        if isinstance(properties := each.get("properties"), dict):
            found.extend(map(str, cast("dict[str, Any]", properties)))
        if isinstance(about := each.get("description"), str):
            found.append(about)
        if isinstance(choices := each.get("enum"), list):
            found.extend(choice for choice in cast("list[Any]", choices) if isinstance(choice, str))
        map_subschemas(each, look)
        return each

    look(schema)
    return found
