"""What the words of a message tell about the tools that it needs, apart from what they mean.

- Function words of English and plain numbers tell nothing. They are rare in descriptions of tools, so by their rarity
  alone they would count most. (Among the tools that other words find, a number may still tell which one is meant.)
- A value of a recognizable kind, such as a date or a path, tells that some parameter takes such a value. It stands for
  the words by which such parameters are named, in English as nearly all schemas have them.
"""

import re
from collections.abc import Iterable, Iterator

FUNCTION_WORDS = frozenset(
    """
    a about all also am an and any are as at be been being both but by can could did do does doing done down each every
    few for from get give had has have having he her here him his how i if in into is it its just know let like may me
    might mine more most must my need no not now of off on one only onto or other our out over own please same shall
    she should so some such tell than that the their them then there these they this those through to too under up us
    very want was we were what when where which who whom whose why will with without would yes you your
    s t d ll re ve m don isn doesn
    """.split()
)
"""English words, in small letters, that do not tell what a message is about. The last line: after an apostrophe."""

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
