"""`ToolIndex`: finds tools by words, with BM25, and by meaning.

A tool is a bag of words: its name, which counts several times, its description, and its parameters with theirs. Names
are split where their parts meet (`getHTTPStatus`, `github__list_issues`). English endings are dropped and words are cut
to their beginnings, so that most inflected forms of a word are one, in any language that writes its words apart. In
scripts that do not, each pair of neighbouring characters is a word.

A message is written in other words than a tool is described in. Function words of English and plain numbers tell
nothing, and would count most by their rarity in descriptions. (Among the tools that other words find, a number may
still tell which one is meant.) A value of a recognizable kind, such as a date or a path, stands for the words by which
parameters that take such values are named, in English as nearly all schemas have them. The words that the best tools
have in common count, too: tools for the same matter are described alike.

A message often asks for several things. So tools are ranked for each of its sentences, too, except for greetings and
thanks. With the vectors of words (`word_vectors.py`), they are also ranked by meaning: by how near the words of a tool
are to those of the message. Rankings are fused by reciprocal rank: what is high in one of them is high in all together,
and no scale of scores has to fit another.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, combinations, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from toolspeak.values.spec import SCHEMA_KEYWORDS, Schema, ToolSpec, map_subschemas

if TYPE_CHECKING:
    from toolspeak.dialects.word_vectors import WordVectors

FUNCTION_WORDS = frozenset(
    """
    a about all also am an and any are as at be been being both but by can could did do does doing done down each every
    few for from get give had has have having he her here him his how i if in into is it its just know let like may me
    might mine more most must my need no not now of off on one only onto or other our out over own please same shall
    she should so some such tell than that the their them then there these they this those through to too under up us
    very want was we were what when where which who whom whose why will with without would yes you your
    s t d ll re ve m don isn doesn
    der das den dem ein eine einen einem einer und oder ist sind ich er sie wir mich mir uns mein meine meinen meinem
    meiner vom zum zur für auf aus bei nach über bitte nicht kein keine auch noch wie wo wer wann welche welcher
    welches kann kannst habe haben hab
    la le les de en un une du et ou sont que qui quel quelle quels quelles je elle nous vous ma mes ce cet cette ces
    dans avec ne pas peux peut
    el los las una unos unas qué cual cuál como cómo dónde cuándo cuánto del por mis su sus lo nos está están tiene
    tengo quiero puedo puedes más esta este esa ese
    gli di della dei delle alla dal nel nella è sono che cosa quale quali quanto mio mia vorrei puoi può più questo
    questa
    o e uma ao qual quais onde você meu minha sua tem tenho quero pode posso não mais
    het een ik jij mijn voor naar niet geen ook kun hoe waar welke deze
    """.split()
)
"""Words, in small letters, that do not tell what a message is about: those of English, of which the last line stands
after an apostrophe, and of six other languages, without those that mean something in English, such as `die`."""

COURTESY_WORDS = FUNCTION_WORDS | frozenset(
    """
    advance afternoon appreciate appreciated dear evening good greetings hello help helping hey hi lot many morning much
    thank thanks alvast bedankt bonjour ciao danke dank gracias grazie guten hallo hola ola im mal merci beaucoup
    mille muchas obrigada obrigado schon tag vielen voraus
    """.split()
)
"""Words, in small letters, of sentences that ask for nothing: greetings and thanks."""

MIN_STEMMED_CHARS = 4
"""Shorter words are kept as they are."""

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_NUMBER = r"\b\d[\d.,]{0,12}\s?"
_CURRENCY = r"euros?|dollars?|pounds?|yen|francs?|usd|eur|gbp|jpy|chf|cad|aud|cny|inr"
_UNIT = (
    r"kg|g|km|cm|mm|m|ml|l|oz|lbs?|ft|mph|°[cf]|miles?|ounces?|grams?|kilos?|cups?|lit(?:re|er)s?|met(?:re|er)s?|feet"
    r"|inch(?:es)?|celsius|fahrenheit"
)
_EXTENSION = r"txt|md|csv|json|pdf|log|db|png|jpe?g|docx?|xlsx?|pptx?|zip|gz|mp[34]|wav|ya?ml|html?|xml|py|js|ts|sql|sh"

VALUE_KINDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (r"[\w-]@[\w-]+\.\w", "email address mail"),
        (r"\bhttps?://\S|\bwww\.\S", "url link address page"),
        (rf"(?<![\w/:])(?:~|\.{{1,2}})?/\w|\w\.(?:{_EXTENSION})\b", "path file"),
        (rf"\b\d{{4}}-\d\d-\d\d\b|\b{_DAY}\s(?:of\s)?{_MONTH}\b|\b{_MONTH}\s{_DAY}\b", "date day"),
        (r"\b(?:today|tonight|tomorrow|yesterday|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b", "date day"),
        (r"\b\d{1,2}:\d\d\b|\b\d{1,2}\s?[ap]m\b", "time"),
        (rf"[$€£¥]\s?\d|{_NUMBER}(?:[€£¥]|(?:{_CURRENCY})\b)", "amount price money currency"),
        (r"\b\d{1,3}(?:\.\d{1,3}){3}\b", "ip address"),
        (r"\d\.\d{3,8},\s*-?\d{1,3}\.\d{3}|\d°?\s(?:north|south)\b", "latitude longitude coordinate"),
        (r"(?<!\w)\+\d[\d ()-]{6,20}\d", "phone number"),
        (r"#[0-9a-f]{6}\b", "color hex"),
        (rf"{_NUMBER}(?:{_UNIT})\b", "unit weight length value"),
    )
)
"""Kinds of values, and words by which parameters that take them are named."""


def is_telling(word: str) -> bool:
    """Whether a word of a message, in small letters, tells something about what the message needs."""
    return word not in FUNCTION_WORDS and not word.isdecimal()


def list_kind_words(message: str) -> Iterator[str]:
    """Yield the words for the kinds of values in a message.

    Examples:
        >>> list(list_kind_words("Is BA 117 on time on 3 March?"))
        ['date', 'day']
    """
    for pattern, words in VALUE_KINDS:
        if pattern.search(message):
            yield from words.split()


def stem(word: str) -> str:
    """Return an English word, in small letters, without the most frequent endings.

    Examples:
        >>> [stem(word) for word in ("cities", "flights", "booking", "booked", "stopping", "price", "status", "les")]
        ['city', 'flight', 'book', 'book', 'stop', 'pric', 'status', 'les']
    """
    if len(word) < MIN_STEMMED_CHARS or not word.isascii():
        return word
    if word.endswith("ies"):
        word = f"{word[:-3]}y"
    elif word.endswith(("sses", "ches", "shes", "xes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= MIN_STEMMED_CHARS - 1:
            word = word[: -len(ending)]
            return word[:-1] if word[-1] == word[-2] and word[-1] not in "lsz" else word
    return word[:-1] if word.endswith("e") and len(word) >= MIN_STEMMED_CHARS else word


def select_telling(words: Iterable[str]) -> list[str]:
    """Return the words that tell something; all of them if none does."""
    listed = list(words)
    return [word for word in listed if is_telling(word)] or listed


STEM_CHARS = 6
"""Characters of a word that count, after its ending was dropped."""

NAME_WEIGHT = 3
"""How often a word of a tool's name counts."""

SATURATION, LENGTH_SHARE = 1.2, 0.75
"""The constants `k1` and `b` of BM25: how soon more of a word counts no more, and how much long texts count less."""

KIND_WEIGHT = 0.7
"""How much a word for the kind of a value in a message counts, compared with a word of the message."""

NUMBER_WEIGHT = 0.2
"""How much a number of a message counts, compared with a word, for a tool that has other words of the message."""

RELATED_TOOLS, RELATED_WORDS, RELATED_WEIGHT = 5, 15, 0.5
"""How many of the best tools give words to look for, how many words, and how much these count."""

RANK_OFFSET = 5
"""How little a place in a ranking tells from the next: each place counts `1 / (RANK_OFFSET + place)`."""

SENTENCE_OFFSET = 1
"""The same for the rankings of a message and of its sentences: each of these is about something else."""

MEANING_WEIGHT = 2.0
"""How much a place in the ranking by meaning counts, compared with one in the ranking by words."""

MAX_RANKED_BY_MEANING = 200
"""Tools in the ranking by meaning of a message; by their words, all are ranked that have one of its words."""

FAINT_SHARE = 0.05
"""A tool is in the ranking by meaning only if it is nearer than this share of the nearest one."""

LIKENESS_DIGITS = 4
"""Digits of the likeness of two texts that count."""

MIN_LIKENESS = 0.15
"""A tool that shares no word with a query fits it if its meaning is so near, where about 1 is the same."""

TWIN_SHARE = 0.8
"""Two tools are hardly told apart if they share so much of all their words, and their names tell no difference."""

MAX_KEPT_STEMS = 8_192
"""Stems that are kept, since descriptions of tools have few different words."""

MAX_QUERY_CHARS = 8_000
"""Characters of a message that are looked at: its first and last ones."""

MAX_SENTENCES = 12
"""Sentences of a message that are ranked on their own."""

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^\W\d_]+", re.UNICODE)
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_SENTENCE_END = re.compile(r"(?<![.!?;])[.!?;]++\s++|[。！？；\n]+")


def split_words(text: str) -> Iterator[str]:
    """Yield the words of a text in the form in which they are compared.

    Examples:
        >>> list(split_words("getHTTPStatus of the orders_v2"))
        ['get', 'http', 'status', 'of', 'the', 'order', 'v', '2']
        >>> list(split_words("погода 天气预报"))
        ['погода', '天气', '气预', '预报']
    """
    return chain.from_iterable(map(_list_stems, _WORD.findall(text)))


def _split_whole_words(text: str) -> Iterator[str]:
    return chain.from_iterable(map(_divide_unspaced, _WORD.findall(text)))


@lru_cache(maxsize=MAX_KEPT_STEMS)
def _list_stems(written: str) -> tuple[str, ...]:
    return tuple(map(_cut_stem, _divide_unspaced(written)))


def _divide_unspaced(written: str) -> Iterator[str]:
    """Yield a word in small letters, and pairs of characters where a script does not divide its words."""
    word = written.casefold()
    place = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > place:
            yield word[place : run.start()]
        chars = run[0]
        yield from (chars,) if len(chars) == 1 else map("".join, pairwise(chars))
        place = run.end()
    if len(word) > place:
        yield word[place:]


@lru_cache(maxsize=MAX_KEPT_STEMS)
def _cut_stem(word: str) -> str:
    return stem(word)[:STEM_CHARS]


class Match(NamedTuple):
    """How well a tool fits a message, and why.

    Attributes:
        name: The tool.
        words: The words of the message that the tool has, in the form in which they are compared, the rarest first.
        word_place: Its place in the ranking by words, from 1 on; None if it has none of the words.
        likeness: How near its words are to those of the message, about 1 for the same; None without the vectors of
            words.
        meaning_place: Its place in the ranking by meaning, from 1 on; None without the vectors of words.
    """

    name: str
    words: tuple[str, ...]
    word_place: int | None
    likeness: float | None
    meaning_place: int | None


class ToolIndex:
    """Tools that can be found by words and, with the vectors of words, by meaning.

    Examples:
        >>> specs = [
        ...     ToolSpec(name="get_weather", description="The weather in a city.", parameters={}),
        ...     ToolSpec(name="sendMail", description="Send a message to somebody.", parameters={}),
        ... ]
        >>> ToolIndex(specs).rank("Mail Anna that I am late")
        ['sendMail']
    """

    def __init__(self, specs: Sequence[ToolSpec], vectors: "WordVectors | None" = None) -> None:
        self._names = [spec.name for spec in specs]
        parts = [list_parts(spec) for spec in specs]
        self._meanings = None if vectors is None else vectors.index(parts)
        bags = [Counter(_list_words(each)) for each in parts]
        self._words = [tuple(bag) for bag in bags]
        sizes = [bag.total() for bag in bags]
        mean = sum(sizes) / len(sizes) if sizes and any(sizes) else 1.0
        self._weights: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        for place, bag in enumerate(bags):
            norm = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * sizes[place] / mean)
            weights = {count: (place, count * (SATURATION + 1) / (count + norm)) for count in set(bag.values())}
            for word, count in bag.items():
                self._weights[word].append(weights[count])

    def score(self, query: str) -> dict[str, float]:
        """Return how well each tool fits a query, by name, the best first; those that do not are left out.

        By words alone, the scores are sums of weights. With the vectors of words, each is the share of the best one of
        these sums, and what the meaning adds.
        """
        scores = self._add_number_scores(query, self._add_scores(_list_query_words(query)))
        likeness = self._measure_likeness([query])
        if likeness is not None and self._names:
            best = max(scores.values(), default=0.0) or 1.0
            scores = {place: score / best for place, score in scores.items()}
            for place, near in enumerate(likeness[0]):
                if near >= MIN_LIKENESS:
                    scores[place] = scores.get(place, 0.0) + near
        return {self._names[place]: scores[place] for place in _sort(scores)}

    def rank(self, message: str) -> list[str]:
        """Return the names of the tools that a message may be about, the likeliest ones first."""
        return list(self.weigh(message))

    def weigh(self, message: str) -> dict[str, float]:
        """Return the tools in the order of `rank`, each with how high it is in the rankings, the best one with 1.

        Where words and meaning agree on the first places, what follows weighs little; where they do not, much.
        """
        queries = _list_queries(message)
        by_words = self._rank_by_words(queries)
        by_meaning = self._rank_by_meaning(queries)
        weights = _sum_reciprocal_ranks([(by_words, 1.0), (by_meaning, MEANING_WEIGHT)], RANK_OFFSET)
        best = max(weights.values(), default=1.0)
        return {self._names[place]: weights[place] / best for place in _sort(weights)}

    def explain(self, message: str) -> list[Match]:
        """Return the tools in the order of `rank`, each with what put it there."""
        queries = _list_queries(message)
        word_places = {self._names[each]: place for place, each in enumerate(self._rank_by_words(queries), 1)}
        meaning_places = {self._names[each]: place for place, each in enumerate(self._rank_by_meaning(queries), 1)}
        likeness = self._measure_likeness([message])
        nearness = {} if likeness is None else dict(zip(self._names, likeness[0], strict=True))
        asked = sorted(_list_query_words(message), key=lambda word: (-self._find_rarity(word), word))
        words = dict(zip(self._names, map(frozenset, self._words), strict=True))
        return [
            Match(
                name=name,
                words=tuple(word for word in asked if word in words[name]),
                word_place=word_places.get(name),
                likeness=nearness.get(name),
                meaning_place=meaning_places.get(name),
            )
            for name in self.rank(message)
        ]

    def find_twins(self) -> list[tuple[str, str]]:
        """Return pairs of tools that hardly anything tells apart.

        They share nearly all words, not both names have a word that the other tool lacks, and no number differs.
        """
        bags = [frozenset(words) - FUNCTION_WORDS for words in self._words]
        named = [frozenset(split_words(name)) - FUNCTION_WORDS for name in self._names]
        numbers = [frozenset(filter(str.isdecimal, bag)) for bag in bags]
        return [
            (self._names[first], self._names[second])
            for first, second in combinations(range(len(bags)), 2)
            if len(bags[first] & bags[second]) >= TWIN_SHARE * len(bags[first] | bags[second])
            and numbers[first] == numbers[second]
            and not (named[first] - bags[second] and named[second] - bags[first])
        ]

    def _rank_by_words(self, queries: Sequence[str]) -> list[int]:
        return _fuse([(self._rank_query(query), 1.0) for query in queries], SENTENCE_OFFSET)

    def _rank_by_meaning(self, queries: Sequence[str]) -> list[int]:
        """Return the places of the tools that are nearest to the queries; none without vectors."""
        likeness = self._measure_likeness(queries)
        if likeness is None:
            return []
        least = [FAINT_SHARE * max(row, default=0.0) for row in likeness]
        near = [
            {place: each for place, each in enumerate(row) if each > low}
            for row, low in zip(likeness, least, strict=True)
        ]
        ranked = [(_sort(each)[:MAX_RANKED_BY_MEANING], 1.0) for each in near]
        return _fuse(ranked, SENTENCE_OFFSET)[:MAX_RANKED_BY_MEANING]

    def _measure_likeness(self, queries: Sequence[str]) -> list[list[float]] | None:
        """Return for each query how near each tool is to its meaning; None without the vectors of words."""
        if self._meanings is None:
            return None
        # Rounded, since sums of the same numbers differ in the last digits between machines, and places in a matrix.
        return self._meanings.measure(queries).round(LIKENESS_DIGITS).tolist()

    def _rank_query(self, query: str) -> list[int]:
        kinds = dict.fromkeys(map(_cut_stem, list_kind_words(query)), KIND_WEIGHT)
        scores = self._add_number_scores(query, self._add_scores({**kinds, **_list_query_words(query)}))
        related = self._add_scores(self._find_related_words(scores))
        places = {*scores, *related}
        return _sort({place: scores.get(place, 0.0) + related.get(place, 0.0) for place in places})

    def _add_scores(self, words: Mapping[str, float]) -> dict[int, float]:
        """Return the scores of the tools that have some of these words, each of which counts as much as is said."""
        scores: dict[int, float] = {}
        for word, importance in words.items():
            rarity = self._find_rarity(word) * importance
            for place, weight in self._weights.get(word, ()):
                scores[place] = scores.get(place, 0.0) + rarity * weight
        return scores

    def _add_number_scores(self, query: str, scores: Mapping[int, float]) -> dict[int, float]:
        """Add what the numbers of a query tell: not what it is about, but which of the tools that are about it."""
        numbers = dict.fromkeys(filter(str.isdecimal, _split_whole_words(query)), NUMBER_WEIGHT)
        more = self._add_scores({_cut_stem(number): weight for number, weight in numbers.items()})
        return {place: score + more.get(place, 0.0) for place, score in scores.items()}

    def _find_rarity(self, word: str) -> float:
        count = len(self._weights.get(word, ()))
        return math.log(1 + (len(self._names) - count + 0.5) / (count + 0.5))

    def _find_related_words(self, scores: Mapping[int, float]) -> dict[str, float]:
        """Return the words of the best tools by which these differ most from the others."""
        best = _sort(scores)[:RELATED_TOOLS]
        shares: dict[str, float] = {}
        for place in best:
            for word in filter(is_telling, self._words[place]):
                shares[word] = shares.get(word, 0.0) + scores[place] / scores[best[0]] / RELATED_TOOLS
        chosen = sorted(shares, key=lambda word: (-shares[word] * self._find_rarity(word), word))[:RELATED_WORDS]
        return {word: RELATED_WEIGHT * shares[word] for word in chosen}


def _list_queries(message: str) -> list[str]:
    """Return a message and its sentences, if there are several, without those that ask for nothing."""
    if len(message) > MAX_QUERY_CHARS:
        message = f"{message[: MAX_QUERY_CHARS // 2]}\n{message[-MAX_QUERY_CHARS // 2 :]}"
    sentences = [each for each in _SENTENCE_END.split(message) if each.strip()]
    asking = [each for each in sentences if not COURTESY_WORDS.issuperset(_split_whole_words(each))]
    if asking and len(asking) < len(sentences):
        message = "\n".join(asking)
    return [message, *asking[:MAX_SENTENCES]] if len(asking) > 1 else [message]


def _fuse(rankings: Sequence[tuple[Sequence[int], float]], offset: float) -> list[int]:
    """Return the places of tools by the sum of their reciprocal ranks; each ranking has how much it counts."""
    return _sort(_sum_reciprocal_ranks(rankings, offset))


def _sum_reciprocal_ranks(rankings: Sequence[tuple[Sequence[int], float]], offset: float) -> dict[int, float]:
    scores: dict[int, float] = {}
    for ranking, weight in rankings:
        for rank, place in enumerate(ranking, 1):
            scores[place] = scores.get(place, 0.0) + weight / (offset + rank)
    return scores


def _sort(scores: Mapping[int, float]) -> list[int]:
    return sorted(scores, key=lambda place: (-scores[place], place))


def _list_query_words(query: str) -> dict[str, float]:
    return dict.fromkeys(map(_cut_stem, select_telling(_split_whole_words(query))), 1.0)


def list_parts(spec: ToolSpec) -> list[tuple[str, int]]:
    """Return the texts of a tool, each with how often its words count: its name, description and parameters."""
    return [(spec.name, NAME_WEIGHT), (spec.description, 1), (" ".join(_list_texts(spec.parameters)), 1)]


def _list_words(parts: Iterable[tuple[str, int]]) -> Iterator[str]:
    return chain.from_iterable([*split_words(text)] * count for text, count in parts)


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
        if not SCHEMA_KEYWORDS.isdisjoint(each):  # most have nothing inside
            map_subschemas(each, look)
        return each

    look(schema)
    return found
