"""Trains the vectors of words by which tools are found: `python training words MODEL.gguf FILE`.

Vectors begin as those of the model's own tokens, brought to fewer dimensions. They are trained so that a question is
near the tools that it needs, and far from others: the tools of other questions, those of the same set, and those that
have the words of the question and are not needed. What is trained is a map of all vectors, and what is added to the
vector of each word: so words that no question has move with the others.

Three kinds of pairs are trained on:

- questions and the tools that they need (`field-train`, `habits-*.jsonl`, the composed questions in four languages);
  in a share of them, words are replaced by those of another language with the same meaning;
- the first sentence of a tool's description and its name and parameters;
- words with the same meaning (`meanings.txt`).

Nothing of `field` is read. `--hold-out` leaves out one set of tools in six, to choose settings by.
"""

import hashlib
import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from composing import omissions, selections, spoken, topics

from toolspeak.dialects.tool_index import ToolIndex, list_parts
from toolspeak.dialects.word_vectors import WordVectors, divide, list_words
from toolspeak.lab.suites import load_suite, parse_questions
from toolspeak.values.spec import ToolSpec

HERE = Path(__file__).parent
MEANINGS = HERE / "meanings.txt"
LANGUAGES = 11  # in a line of it
MIN_SCALE = 1e-5  # of numbers that 16 bits hold
HELD_OUT = 6  # one set of tools in so many is not trained on, where settings are chosen
OFFERED = 500  # tools among which those of the questions that were held out have to be found
FIRST = (3, 12, 20)


class Pair(NamedTuple):
    """A question, the tools that it needs, and tools that it does not need and might be taken for these."""

    text: str
    needed: tuple[int, ...]
    others: tuple[int, ...]


# What is trained on


def load_pairs(seed: int, hold_out: bool, hard: int) -> tuple[list[Pair], list[ToolSpec]]:
    """Return the pairs and the tools, to whose places in the list pairs refer.

    What is held out is in neither, unless a set that is trained on has a tool of the same name.
    """
    composers = (
        topics.compose,
        omissions.compose,
        selections.compose,
        partial(spoken.compose, spoken.SUMS),
        partial(spoken.compose, spoken.TIMES),
    )
    suites = [load_suite("field-train").questions]
    suites += [load_suite(str(path)).questions for path in sorted(HERE.glob("habits-*.jsonl"))]
    suites += [parse_questions(("composed", row) for row in compose(seed)) for compose in composers]
    tools: list[ToolSpec] = []
    pairs: list[Pair] = []
    if hold_out:
        suites[0] = [question for question in suites[0] if not is_held_out(question.tools)]
    for questions in suites:
        places: dict[str, int] = {}
        for spec in (spec for question in questions for spec in question.tools):
            if spec.name not in places:
                places[spec.name] = len(tools)
                tools.append(spec)
        index = ToolIndex([tools[each] for each in places.values()])
        for question in questions:
            if not question.expected or question.messages[-1].role != "user":
                continue
            text = question.messages[-1].text
            needed = dict.fromkeys(each.name for each in question.expected)
            near = [name for name in index.score(text) if name not in needed][:hard]
            beside = [spec.name for spec in question.tools if spec.name not in needed]
            pairs.append(
                Pair(text, tuple(places[each] for each in needed), tuple(places[each] for each in (*near, *beside)))
            )
    return pairs, tools


def is_held_out(tools: Sequence[ToolSpec]) -> bool:
    names = ",".join(sorted(spec.name for spec in tools))
    return int(hashlib.sha256(f"dev{names}".encode()).hexdigest(), 16) % HELD_OUT == 0


def measure_held_out(vectors: WordVectors) -> str:
    """Return how often all needed tools of the questions that were held out are among the first of 500, in percent."""
    questions = load_suite("field-train").questions
    held = [question for question in questions if is_held_out(question.tools)]
    specs = {spec.name: spec for question in (*held, *questions) for spec in question.tools}
    listed = list(specs.values())[:OFFERED]
    asked = [question for question in held if question.expected and question.messages[-1].role == "user"]
    needed = [{each.name for each in question.expected} for question in asked]
    texts = [question.messages[-1].text for question in asked]
    by_words, by_both = ToolIndex(listed), ToolIndex(listed, vectors)
    meanings = vectors.embed([list_parts(spec) for spec in listed])
    nearest = np.argsort(-vectors.embed([[(text, 1.0)] for text in texts]) @ meanings.T, axis=1, kind="stable")
    rankings = {
        "words": [by_words.rank(text) for text in texts],
        "vectors": [[listed[place].name for place in row] for row in nearest],
        "both": [by_both.rank(text) for text in texts],
    }
    shares = {
        by: " / ".join(
            f"{100 * np.mean([each <= set(ranked[:first]) for each, ranked in zip(needed, rows, strict=True)]):.1f}"
            for first in FIRST
        )
        for by, rows in rankings.items()
    }
    places = " / ".join(map(str, FIRST))
    told = ", ".join(f"by {by} {share}" for by, share in shares.items())
    return f"{len(asked)} questions held out, first {places} of {len(listed)} tools: {told}"


def read_meanings() -> list[list[list[str]]]:
    """Return for each meaning, for each language, its words."""
    lines = [line for line in MEANINGS.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    meanings = [[words.strip().split("|") for words in line.split(" / ")] for line in lines]
    if wrong := [line for line, meaning in zip(lines, meanings, strict=True) if len(meaning) != LANGUAGES]:
        raise SystemExit(f"{MEANINGS.name}: this line does not have {LANGUAGES} languages: {wrong[0]}")
    return meanings


class Translator:
    """Replaces words of English texts by words of another language with the same meaning."""

    def __init__(self, meanings: Sequence[Sequence[Sequence[str]]]) -> None:
        self._meanings = meanings
        self._places: dict[str, list[int]] = {}
        for place, meaning in enumerate(meanings):
            for word in {word for words in meaning[0] for word in list_words(words) if " " not in words.strip()}:
                self._places.setdefault(word, []).append(place)

    def replace_words(self, text: str, rng: random.Random) -> str:
        language = rng.randrange(1, LANGUAGES)

        def replace(found: re.Match[str]) -> str:
            word = found[0].lower()
            places = self._places.get(word) or self._places.get(word.removesuffix("s"))
            if not places or rng.random() < 0.2:
                return found[0]
            return rng.choice(self._meanings[rng.choice(places)][language])

        return re.sub(r"[A-Za-z]+", replace, text)


# The vectors to begin with


def read_token_vectors(gguf: Path) -> tuple[list[str | None], np.ndarray]:
    """Return the tokens of a model that are whole characters, and their vectors."""
    from gguf import GGUFReader
    from gguf.quants import dequantize

    reader = GGUFReader(str(gguf))
    [tensor] = [each for each in reader.tensors if each.name == "token_embd.weight"]
    field = reader.fields["tokenizer.ggml.tokens"]
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]  # bytes that a token shows as they are
    rest = [byte for byte in range(256) if byte not in plain]
    to_byte = {chr(byte): byte for byte in plain} | {chr(256 + place): byte for place, byte in enumerate(rest)}
    tokens: list[str | None] = []
    for place in field.data:
        try:
            tokens.append(bytes(to_byte[char] for char in bytes(field.parts[place]).decode()).decode())
        except (KeyError, UnicodeDecodeError):
            tokens.append(None)
    return tokens, dequantize(tensor.data, tensor.tensor_type).astype(np.float32)


def choose_words(texts: Iterable[str], known: Iterable[str], tokens: Sequence[str | None], limit: int) -> list[str]:
    """Return the words that get a vector: those of the texts, and then the most frequent ones of the model."""
    counts = Counter(word for text in texts for word in list_words(text))
    words = [word for text in known for word in list_words(text)]
    words += [word for word, count in counts.most_common() if count >= 2]
    for token in tokens:  # the most frequent ones come first
        if token is None or not token.strip().isalpha():
            continue
        found = list_words(token)
        is_word = token.startswith(" ") or not token.isascii()
        if len(found) == 1 and is_word and (len(found[0]) >= 3 or not found[0].isascii()):
            words += found
    unique = dict.fromkeys(word for word in words if len(word) > 1 or not word.isascii())
    return list(unique)[:limit]


def begin_vectors(words: Sequence[str], tokens: Sequence[str | None], vectors: np.ndarray, size: int) -> np.ndarray:
    """Return a vector for each word: the mean of those of its tokens, without what all have in common."""
    spelled: dict[str, list[int]] = {}
    for place, token in enumerate(tokens):
        if token:
            spelled.setdefault(token, []).append(place)
    folded: dict[str, list[int]] = {}
    for token, places in spelled.items():
        if token.strip().isalpha() and len(found := list_words(token)) == 1:
            folded.setdefault(found[0], []).extend(places)
    pieces = {token: places[0] for token, places in spelled.items()}
    whole = np.stack([vectors[list(find_tokens(word, folded, pieces))].mean(0, np.float32) for word in words])
    whole /= np.linalg.norm(whole, axis=1, keepdims=True) + 1e-9
    whole -= whole.mean(0)
    _, axes = np.linalg.eigh(whole.T @ whole)  # the last ones say most
    reduced = whole @ axes[:, -size:]
    return reduced / (np.linalg.norm(reduced, axis=1, keepdims=True) + 1e-9)


def find_tokens(word: str, folded: Mapping[str, list[int]], pieces: Mapping[str, int]) -> Iterator[int]:
    """Yield the tokens of a word: all that are written like it, or else the longest parts from the left."""
    if word in folded:
        yield from folded[word]
        return
    start = 0
    while start < len(word):
        for end in range(len(word), start, -1):
            part = word[start:end]
            if (place := pieces.get(f" {part}" if start == 0 else part, pieces.get(part))) is not None:
                yield place
                start = end
                break
        else:
            start += 1
            yield pieces[" "]


# The training


class Bag(NamedTuple):
    """A text as the places of its words, and how much each of them counts."""

    words: list[int]
    shares: list[float]


class Embedding:
    """The vectors of words, how much each word counts, and a map of all vectors, as they are trained.

    The words of a step are a small part of all. So their vectors are taken out, and only they are brought up to date,
    by the rule of Adam.
    """

    def __init__(self, vectors: np.ndarray, weights: np.ndarray) -> None:
        self.vectors = torch.tensor(vectors, dtype=torch.float32)
        self.weights = torch.tensor(np.log(weights), dtype=torch.float32)
        self.map = torch.eye(vectors.shape[1])
        self._moments = {
            name: (torch.zeros_like(each), torch.zeros_like(each))
            for name, each in (("vectors", self.vectors), ("weights", self.weights), ("map", self.map))
        }

    def embed(self, bags: Sequence[Bag]) -> torch.Tensor:
        """Return the vectors of texts; `learn` then takes the gradients of their words."""
        lengths = torch.tensor([0, *(len(bag.words) for bag in bags)])
        words = torch.tensor([word for bag in bags for word in bag.words])
        shares = torch.tensor([share for bag in bags for share in bag.shares])
        self._chosen, places = torch.unique(words, return_inverse=True)
        self._taken = {
            "vectors": self.vectors[self._chosen].requires_grad_(),
            "weights": self.weights[self._chosen].requires_grad_(),
            "map": self.map.clone().requires_grad_(),
        }
        texts = torch.nn.functional.embedding_bag(
            places,
            self._taken["vectors"],
            lengths.cumsum(0)[:-1],
            mode="sum",
            per_sample_weights=shares * self._taken["weights"].exp()[places],
        )
        return torch.nn.functional.normalize(texts @ self._taken["map"], dim=1)

    def learn(self, loss: torch.Tensor, rate: float) -> None:
        loss.backward()
        rows = {"vectors": self._chosen, "weights": self._chosen, "map": torch.arange(len(self.map))}
        rates = {"vectors": rate, "weights": rate, "map": rate / 3}
        for name, taken in self._taken.items():
            mean, square = self._moments[name]
            places, gradient = rows[name], taken.grad
            mean[places] = 0.9 * mean[places] + 0.1 * gradient
            square[places] = 0.99 * square[places] + 0.01 * gradient**2
            getattr(self, name)[places] -= rates[name] * mean[places] / (square[places].sqrt() + 1e-8)

    def finish(self) -> np.ndarray:
        """Return the vectors of all words, whose lengths are how much they count."""
        return (self.vectors @ self.map * self.weights.exp()[:, None]).numpy()


def make_bag(parts: Iterable[tuple[Sequence[int], float]]) -> Bag:
    """Return the words of a text that is made of parts; the words of a part share what it counts."""
    bag = Bag([], [])
    for places, share in parts:
        bag.words.extend(places)
        bag.shares.extend([share / len(places)] * len(places) if places else ())
    return bag if bag.words else Bag([0], [1.0])


class Texts:
    """Questions, tools and meanings as places of words."""

    def __init__(self, words: Sequence[str]) -> None:
        self.vocabulary = {word: place for place, word in enumerate(words)}
        self._kept: dict[str, list[int]] = {}

    def find_places(self, text: str) -> list[int]:
        places: list[int] = []
        for word in list_words(text):
            if word not in self._kept:
                self._kept[word] = list(divide(word, self.vocabulary))
            places += self._kept[word]
        return places

    def list_tool_parts(self, spec: ToolSpec) -> list[tuple[list[int], float]]:
        return [(self.find_places(text), share) for text, share in list_parts(spec)]


def contrast(
    questions: torch.Tensor, answers: torch.Tensor, heat: float, is_other: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the loss of questions whose right answers are the first ones, in the same order.

    Where `is_other` is false, an answer is right, too, and does not count.
    """
    scores = questions @ answers.T / heat
    right = torch.arange(len(questions))
    if is_other is not None:
        is_other[right, right] = True
        scores = scores.masked_fill(~is_other, -torch.inf)
    return torch.nn.functional.cross_entropy(scores, right)


def train_words(gguf: Path, out: Path, all_settings: Mapping[str, Any], *, hold_out: bool) -> None:
    """Train the vectors, and write them."""
    seed, settings = all_settings["seed"], all_settings["words"]
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # sums of several threads differ from run to run
    rng = random.Random(seed)
    started = time.monotonic()

    def tell(text: str) -> None:
        print(f"{time.monotonic() - started:6.0f} s  {text}", flush=True)

    pairs, tools = load_pairs(seed, hold_out, settings["near"])
    meanings = read_meanings()
    translator = Translator(meanings)
    tell(f"{len(pairs)} questions, {len(tools)} tools, {len(meanings)} meanings")
    tokens, vectors = read_token_vectors(gguf)
    said = [word for meaning in meanings for words in meaning for word in words]
    written = [*(pair.text for pair in pairs), *(text for spec in tools for text, _ in list_parts(spec))]
    words = choose_words(written, said, tokens, settings["words"])
    begun = begin_vectors(words, tokens, vectors, settings["dimensions"])
    del vectors
    texts = Texts(words)
    counts = np.bincount(
        [place for text in written for place in texts.find_places(text)],
        minlength=len(words),
    )
    rarity = settings["rarity"] / (settings["rarity"] + counts / counts.sum())
    model = Embedding(begun, rarity)
    tell(f"{len(words)} words begin with vectors of {begun.shape[1]} dimensions")
    parts = [texts.list_tool_parts(spec) for spec in tools]
    whole = [make_bag(each) for each in parts]
    bare = [make_bag((each[0], *each[2:])) for each in parts]  # without the description
    told = {place: texts.find_places(spec.description.partition(". ")[0]) for place, spec in enumerate(tools)}
    described = [place for place, found in told.items() if found]
    names = [spec.name for spec in tools]
    heat, batch, losses = settings["heat"], settings["batch"], []
    for step in range(settings["steps"]):
        drawn = rng.sample(pairs, batch)
        asked = [
            translator.replace_words(pair.text, rng) if rng.random() < settings["translated"] else pair.text
            for pair in drawn
        ]
        offered = [rng.choice(pair.needed) for pair in drawn]
        for pair in drawn:
            offered += rng.sample(pair.others, min(settings["others"], len(pair.others)))
        needed = [{names[place] for place in pair.needed} for pair in drawn]
        chosen = rng.sample(described, batch // 2)
        sides = [rng.sample(line, 2) for line in rng.sample(meanings, min(batch, len(meanings)))]
        groups = [
            [make_bag([(texts.find_places(text), 1.0)]) for text in asked],
            [whole[place] for place in offered],
            [make_bag([(told[place], 1.0)]) for place in chosen],
            [bare[place] for place in chosen],
            *([make_bag([(texts.find_places(rng.choice(side[number])), 1.0)]) for side in sides] for number in (0, 1)),
        ]
        found = model.embed([bag for group in groups for bag in group]).split([len(group) for group in groups])
        is_other = torch.tensor([[names[place] not in each for place in offered] for each in needed])
        loss = contrast(found[0], found[1], heat, is_other)
        total = loss + settings["described"] * contrast(found[2], found[3], heat)
        total = total + settings["meanings"] * contrast(found[4], found[5], heat)
        rate = settings["learning_rate"] * min(1, (step + 1) / 50) * (1 - step / settings["steps"])
        model.learn(total, rate)
        losses.append(loss.item())
        if (step + 1) % 100 == 0:
            tell(f"step {step + 1}: loss {np.mean(losses[-100:]):.3f}")
    digest = write_vectors(out, words, model.finish())
    tell(f"{out} written, {out.stat().st_size:,} bytes, SHA-256 {digest}")
    if hold_out:
        tell(measure_held_out(WordVectors(out.read_bytes())))


def write_vectors(path: Path, words: Sequence[str], vectors: np.ndarray) -> str:
    """Write the vectors in 8 bits, and return the hash of the file."""
    order = np.argsort(np.array(words))
    vectors = vectors[order]
    scales = np.maximum(np.abs(vectors).max(axis=1, keepdims=True) / 127, MIN_SCALE).astype("<f2")
    numbers = np.clip(np.round(vectors / scales.astype(np.float32)), -127, 127).astype(np.int8)
    head = json.dumps({"words": len(words), "dimensions": vectors.shape[1]})
    text = "\n".join(words[place] for place in order)
    data = b"".join([f"{head}\n{text}\n\n".encode(), scales.tobytes(), numbers.tobytes()])
    path.write_bytes(data)
    return hashlib.sha256(data).hexdigest()
