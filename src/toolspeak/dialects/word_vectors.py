"""`WordVectors`: what words mean, as vectors, so that tools are found by other words and in other languages.

Each word of a vocabulary has a vector, and a number that says how much it counts: a lookup, and no network. A word that
is not in the vocabulary is divided into the longest ones that are, from the left, so that compounds and inflected forms
are found (`wettervorhersage` is `wetter` and `vorhersage`); scripts without spaces are divided the same way.
`MeaningIndex` compares a query with texts word by word, and as a whole.

The file was made by `training/word_vectors.py`, from the vectors that a sentence encoder of 16 languages gives for
single words, and the questions that the adapter of the embedded model was trained on. It holds a line of JSON with its
sizes, the words, how much each counts, and the vectors in 4 bits a number. It is larger than the library, so it is in
the distribution `toolspeak-trained`.

numpy does the arithmetic. The extra `meaning` brings both; without one of them `load_word_vectors` returns None, and
tools are ranked by their words alone.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from toolspeak.settings.files import find_trained_file
from toolspeak.values.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

WORD_VECTORS = find_trained_file("word_vectors.bin")
SHA256 = "096832e3d0f2598ef5023864f1f799876b41744d5f431585d16e35a7829416e1"
"""The file with the vectors, and the hash that it must have."""

MIN_PIECE_CHARS = 4
"""Characters of a part of a word, in a script that divides its words."""

MAX_WORD_CHARS = 40
"""Characters of a word that are looked at."""

MAX_KEPT_WORDS = 8_192
"""Words whose places in the vocabulary are kept."""

FAR = 0.2
"""The cosine of two words from which on they have something to do with each other."""

SUM_SHARE = 0.6
"""How much the likeness of sums of vectors counts, compared with that of single words."""

LONG_WORDS, COVERED_SHARE = 25, 2.0
"""The words of a message from which on it counts how much of a text it has, and how much that counts at most."""

SATURATION, LENGTH_SHARE = 1.2, 0.75
"""The constants `k1` and `b` of BM25: how soon more of a word counts no more, and how much long texts count less."""

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]++(?![^\x00-\x7f])|[^\W\d_]+", re.UNICODE)
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def list_words(text: str) -> list[str]:
    """Return the words of a text in small letters without accents; names are split where their parts meet.

    Examples:
        >>> list_words("getHTTPStatus: Où est l'hôtel_2?")
        ['get', 'http', 'status', 'ou', 'est', 'l', 'hotel']
    """
    return [fold(word) for word in match_words(text)]


def match_words(text: str) -> list[str]:
    """Return the words of a text as they are written."""
    return _WORD.findall(unicodedata.normalize("NFC", text))


@lru_cache(maxsize=MAX_KEPT_WORDS)
def fold(word: str) -> str:
    """Return a word in small letters and without accents."""
    small = word[:MAX_WORD_CHARS].casefold()
    if small.isascii():
        return small
    parts = unicodedata.normalize("NFKD", small)
    return unicodedata.normalize("NFC", "".join(char for char in parts if unicodedata.category(char) != "Mn"))


def divide(word: str, vocabulary: Mapping[str, int]) -> Iterator[int]:
    """Yield the places of a word, or of its longest parts, in a vocabulary."""
    if (place := vocabulary.get(word)) is not None:
        yield place
        return
    least = 1 if _UNSPACED.search(word) else MIN_PIECE_CHARS
    start = 0
    while len(word) - start >= least:
        for end in range(len(word), start + least - 1, -1):
            if (place := vocabulary.get(word[start:end])) is not None:
                yield place
                start = end
                break
        else:
            start += 1


class WordVectors:
    """The vectors of words."""

    def __init__(self, data: bytes) -> None:
        import numpy as np

        first, end = data.index(b"\n") + 1, data.index(b"\n\n")
        sizes = json.loads(data[:first])
        count, dimensions = sizes["words"], sizes["dimensions"]
        self._vocabulary = {word: place for place, word in enumerate(data[first:end].decode().split("\n"))}
        self._weights = np.frombuffer(data, "<f2", count, end + 2).astype(np.float32)
        self._numbers = np.frombuffer(data, np.uint8, -1, end + 2 + 2 * count).reshape(count, dimensions // 2)
        self._places: dict[str, tuple[int, ...]] = {}

    def index(self, texts: Sequence[Sequence[tuple[str, int]]]) -> "MeaningIndex":
        """Return texts so that they can be found; each is made of parts with how often the words of a part count."""
        return MeaningIndex(self, texts)

    def find_places(self, text: str) -> list[int]:
        """Return the places of the words of a text in the vocabulary; unknown words are divided into known ones."""
        places: list[int] = []
        for word in match_words(text):
            known = self._places.get(word)
            if known is None:
                if len(self._places) >= MAX_KEPT_WORDS:
                    self._places.clear()
                known = self._places[word] = tuple(divide(fold(word), self._vocabulary))
            places += known
        return places

    def take(self, places: "Sequence[int] | NDArray[np.int64]") -> "tuple[Vectors, Vectors]":
        """Return the vectors of words, of length one, and how much each word counts."""
        import numpy as np

        numbers = self._numbers[places]
        rows = np.concatenate((numbers & 15, numbers >> 4), axis=1).astype(np.float32) - 7.5
        return rows / np.linalg.norm(rows, axis=1, keepdims=True), self._weights[places]


class MeaningIndex:
    """Texts that are found by meaning.

    A text is as near to a query as several measures say together. In the first, each word of the query looks for the
    word of the text that is nearest to it. In the second, the vectors of all words are summed up, and the sums
    compared. How much a word counts is learned, and depends on how few of the texts have something near it, as in BM25.

    A long message mostly asks for several things, so that a text that is needed explains few of its words. Then it
    counts, too, how much of the text the message has: each word of the text looks for the nearest word of the query.
    """

    def __init__(self, vectors: WordVectors, texts: Sequence[Sequence[tuple[str, int]]]) -> None:
        import numpy as np

        self._vectors = vectors
        words: list[int] = []
        spans: list[tuple[int, int, int]] = []  # for each part its text, how often its words count, and their number
        for number, parts in enumerate(texts):
            before = len(words)
            for text, count in parts:
                places = vectors.find_places(text)
                words += places
                spans.append((number, count, len(places)))
            if len(words) == before:  # each text has a word; this one counts nothing
                words.append(0)
                spans.append((number, 0, 1))
        owners, times, lengths = np.repeat(
            np.array(spans, np.int64).reshape(-1, 3).T, [row[2] for row in spans], axis=1
        )
        step = max(words, default=0) + 1
        pairs, rows = np.unique(owners * step + np.array(words, np.int64), return_inverse=True)  # of texts and words
        self._starts = np.searchsorted(pairs, np.arange(len(texts)) * step)
        known, self._places = np.unique(pairs % step, return_inverse=True)
        self._known, weights = vectors.take(known)
        weights = weights * measure_rarity(np.bincount(self._places), len(texts))
        counts = np.bincount(rows, times).astype(np.float32)
        sizes = np.add.reduceat(counts, self._starts)
        norms = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * sizes / max(float(sizes.sum()) / max(len(texts), 1), 1))
        self._counts = counts * (SATURATION + 1) / (counts + norms[pairs // step])
        # How much of a text a word is: each part of the same count has the same share, whatever its length.
        shares = weights[self._places] * np.bincount(rows, times / lengths).astype(np.float32)
        self._shares = shares / np.maximum(np.add.reduceat(shares, self._starts), 1e-9)[pairs // step]
        summed = weights[self._places] * self._counts
        self._sums = np.empty((len(texts), self._known.shape[1]), np.float32)
        for row, (start, end) in enumerate(pairwise([*self._starts.tolist(), len(pairs)])):
            self._sums[row] = summed[start:end] @ self._known[self._places[start:end]]
        self._sums /= np.maximum(np.linalg.norm(self._sums, axis=1, keepdims=True), 1e-9)

    def measure(self, queries: Sequence[str]) -> "Vectors":
        """Return for each query how near each text is to it: 0 for not at all, 1 or more for all of its words.

        The queries are a message or parts of it; how long it is tells the longest one.
        """
        import numpy as np

        found = np.zeros((len(queries), len(self._starts)), np.float32)
        asked = [list(dict.fromkeys(self._vectors.find_places(query))) for query in queries]
        words = sorted({place for places in asked for place in places})
        if not words or not len(self._starts):
            return found
        vectors, weights = self._vectors.take(words)
        nearness = np.maximum((vectors @ self._known.T - FAR) / (1 - FAR), 0)
        scores = np.empty((len(words), len(self._starts)), np.float32)
        for row, near in enumerate(nearness):
            spread = near[self._places]
            nearest = np.maximum.reduceat(spread, self._starts)
            weights[row] *= measure_rarity(nearest.sum(), len(self._starts))
            scores[row] = weights[row] * np.maximum.reduceat(spread * self._counts, self._starts)
        rows = {place: row for row, place in enumerate(words)}
        covered_share = COVERED_SHARE * max(0.0, 1 - LONG_WORDS / max(map(len, asked)))
        for number, places in enumerate(asked):
            if chosen := [rows[place] for place in places]:
                total = weights[chosen] @ vectors[chosen]
                likeness = self._sums @ (total / max(float(np.linalg.norm(total)), 1e-9))
                share = scores[chosen].sum(axis=0) / max(float(weights[chosen].sum()), 1e-9)
                found[number] = (share + SUM_SHARE * likeness) / (1 + SUM_SHARE)
                if covered_share:
                    covered = np.add.reduceat(nearness[chosen].max(axis=0)[self._places] * self._shares, self._starts)
                    found[number] = (found[number] + covered_share * covered) / (1 + covered_share)
        return found


def measure_rarity(having: Any, count: int) -> Any:
    """Return how much a word counts that so many of the texts have, as in BM25; also for an array of words."""
    import numpy as np

    return np.log(1 + (count - having + 0.5) / (having + 0.5))


@cache
def load_word_vectors() -> WordVectors | None:
    """Return the vectors of words, or None if numpy or the file is not installed."""
    try:
        import_module("numpy")
        data = WORD_VECTORS.read_bytes()
    except (ImportError, FileNotFoundError):
        return None
    if (digest := hashlib.sha256(data).hexdigest()) != SHA256:
        raise UsageError(
            f"{WORD_VECTORS} is not the file that was published: its SHA-256 is {digest}, not {SHA256}; install "
            "toolspeak-trained anew"
        )
    return WordVectors(data)
