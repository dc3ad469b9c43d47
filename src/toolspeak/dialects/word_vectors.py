"""`WordVectors`: what texts mean, as vectors, so that tools are found by other words and in other languages.

Each word of a vocabulary has a vector, and the vector of a text is the mean of those of its words: a lookup, and no
network. A word that is not in the vocabulary is divided into the longest ones that are, from the left, so that
compounds and inflected forms are found (`wettervorhersage` is `wetter` and `vorhersage`); scripts without spaces are
divided the same way. How much a word counts is the length of its vector.

The file was made by `training/word_vectors.py`, from the token vectors of the embedded model and the questions that its
adapter was trained on. It holds a line of JSON with its sizes, the words, a scale for each, and the vectors in 8 bits.
It is larger than the library, so it is in the distribution `toolspeak-trained`.

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
from typing import TYPE_CHECKING

from toolspeak.settings.files import find_trained_file
from toolspeak.values.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

WORD_VECTORS = find_trained_file("word_vectors.bin")
SHA256 = "58111a332a828b9f022931dfa74cdc95e94f63930288b5851447e55c3239bbfb"
"""The file with the vectors, and the hash that it must have."""

MIN_PIECE_CHARS = 4
"""Characters of a part of a word, in a script that divides its words."""

MAX_WORD_CHARS = 40
"""Characters of a word that are looked at."""

MAX_KEPT_WORDS = 8_192
"""Words whose places in the vocabulary are kept."""

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]++(?![^\x00-\x7f])|[^\W\d_]+", re.UNICODE)
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def list_words(text: str) -> list[str]:
    """Return the words of a text in small letters without accents; names are split where their parts meet.

    Examples:
        >>> list_words("getHTTPStatus: Où est l'hôtel_2?")
        ['get', 'http', 'status', 'ou', 'est', 'l', 'hotel']
    """
    return [fold(found[0]) for found in _WORD.finditer(unicodedata.normalize("NFC", text))]


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

        head, _, rest = data.partition(b"\n")
        sizes = json.loads(head)
        count, dimensions = sizes["words"], sizes["dimensions"]
        text, _, numbers = rest.partition(b"\n\n")
        self._vocabulary = {word: place for place, word in enumerate(text.decode().split("\n"))}
        self._scales = np.frombuffer(numbers, "<f2", count).astype(np.float32)
        self._vectors = np.frombuffer(numbers, np.int8, count * dimensions, 2 * count).reshape(count, dimensions)
        self._places: dict[str, tuple[int, ...]] = {}

    def embed(self, texts: Sequence[Sequence[tuple[str, float]]]) -> "Vectors":
        """Return a vector of length one for each text; a text is made of parts, each with its share.

        A text without a known word has a vector of zeros.
        """
        import numpy as np

        found = np.zeros((len(texts), self._vectors.shape[1]), np.float32)
        for row, parts in enumerate(texts):
            places: list[int] = []
            shares: list[float] = []
            for text, share in parts:
                if words := self._find_places(text):
                    places += words
                    shares += [share / len(words)] * len(words)
            if places:
                weights = np.array(shares, np.float32) * self._scales[places]
                found[row] = weights @ self._vectors[places].astype(np.float32)
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return found / np.maximum(lengths, 1e-9)

    def _find_places(self, text: str) -> list[int]:
        places: list[int] = []
        for word in list_words(text):
            known = self._places.get(word)
            if known is None:
                if len(self._places) >= MAX_KEPT_WORDS:
                    self._places.clear()
                known = self._places[word] = tuple(divide(word, self._vocabulary))
            places += known
        return places


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
