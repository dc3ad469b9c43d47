"""`Mentions`: whether a value stands in a text, compared as people mean it and not letter by letter.

A person writes "98,70", "March 3rd 2026" or "DE89 3704 …", and a model passes 98.7, "2026-03-03" and "DE893704…". These
are mentioned. What decides where money goes must not be mentioned by chance, though, so a doubtful case is not found:
whoever asks for a value that is not found asks a person, and that costs a moment.

The rules:

1. A value is found whole. Its ends are ends of words in the text, and what letters, digits and the signs of addresses
   join to one word stays one word: "anna" is not in "joanna", "anna@x.com" or "anna-maria", and "1" is not in "2017".
2. Several words are found in their order and next to each other. Nothing is put together from pieces, except a time of
   a day, whose date and hour may stand apart in one text.
3. Letters are compared without case, spaces as one space, quotes and dashes as one sign each. The compatible forms of
   Unicode (full-width digits, ligatures) are made plain in the text only: a value must be plain, or stand there so.
4. A number is compared by its value, in the notations of people: 1,200.50, 1.200,50, 1 200,50, 1'200.50, 1.2k, "two".
   "1,200" is never 1.2; "1.200" may be both. A currency or a percent sign that the value has must be in the text too.
5. A date is compared by its day, a time by its minute. 03/04/2026 is either day. "March 3rd" without a year is that day
   of any year. "tomorrow" is no date: who writes one for it has computed it.
6. Addresses on the net are the same with and without `https://` and a last slash, account and phone numbers with and
   without their spaces.

The work is linear in the texts, at the speed of `str.find`: from a value come a few literal texts and expressions that
begin with a literal, each is searched for in all texts at once, and what is around a hit says whether it is whole.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal, InvalidOperation
from itertools import groupby
from typing import NamedTuple
from unicodedata import category, normalize

from toolspeak.values.frozen import frozen

Scalar = str | int | float | bool | None

MAX_HITS = 20_000
"""Hits of one form of a value that are looked at; with more, the value counts as not mentioned."""

MAX_SPECIAL_CHARS = 64
"""The length of a value up to which it may be a number, a date or an account; a longer one is plain text."""

MAX_DIGITS = 25
"""The digits of a number that is compared by its value: with more, `Decimal` would round."""

MAX_MONTH_CHARS = 12
"""Characters before a number in which the name of a month is looked for."""

CONTEXT_CHARS = 60
"""The characters that `Mention.words` has before and after a value, about."""


@frozen
class Mention:
    """A place where a value stands.

    Attributes:
        number: Which of the texts, in the order in which they were added, from 0.
        words: The value with the words around it.
    """

    number: int
    words: str


class Mentions:
    """Texts in which values are looked up.

    Examples:
        >>> mentions = Mentions()
        >>> mentions.add("Pay the 98,70 € to Anna, on March 3rd 2026.")
        >>> [mentions.has(value) for value in (98.7, "anna", "2026-03-03", "Joanna", 98)]
        [True, True, True, False, False]
        >>> mentions.find("98.70")
        Mention(number=0, words='Pay the 98,70 € to Anna, on March 3rd 2026.')
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        """Make an index of some texts, to which more can be added."""
        self.texts: list[str] = []
        self._plain = _Folded(_make_plain)
        self._exact = _Folded(_make_exact)
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """Add a text. A value is found in one text, never across two."""
        self.texts.append(text)

    def has(self, value: Scalar) -> bool:
        """Whether a value stands in one of the texts. One without any letter or sign says nothing, and always does."""
        return _is_blank(value) or self._find_hit(value) is not None

    def find(self, value: Scalar) -> Mention | None:
        """Return where a value stands; None if it does not, or says nothing."""
        if _is_blank(value) or (hit := self._find_hit(value)) is None:
            return None
        folded, start, end = hit
        number = folded.find_number(start)
        first = folded.starts[number]
        return Mention(number=number, words=_cut_out(folded.show(self.texts[number]), start - first, end - first))

    def _find_hit(self, value: Scalar) -> "tuple[_Folded, int, int] | None":
        is_plain = not isinstance(value, str) or (value.isascii() and "\\" not in value)
        for folded in (self._plain,) if is_plain else (self._plain, self._exact):
            folded.take(self.texts)
            hits = (hit for form in _list_forms(value) for hit in form.search(folded.text))
            hit = next(hits, None) or (_find_moment(folded, value) if isinstance(value, str) else None)
            if hit is not None:
                return folded, *hit
        return None


class _Folded:
    """All texts in the form in which they are compared, as one text with a line for each: a search is a single one."""

    def __init__(self, show: Callable[[str], str]) -> None:
        self.show = show  # brings a text into that form, but for its case
        self.text = ""
        self.starts: list[int] = []

    def take(self, texts: list[str]) -> None:
        """Add those of the texts that are new."""
        if len(texts) == len(self.starts):
            return
        lines: list[str] = []
        length = len(self.text)
        for text in texts[len(self.starts) :]:
            lines.append(self.show(text).lower().replace("ς", "σ"))
            self.starts.append(length)
            length += len(lines[-1]) + 1
        self.text = "".join([self.text, *(f"{line}\n" for line in lines)])

    def find_number(self, place: int) -> int:
        """Return the number of the text that a place belongs to."""
        return bisect_right(self.starts, place) - 1


def _find_moment(folded: _Folded, value: str) -> tuple[int, int] | None:
    """Return where the date of a day and a time stands, if the time stands in the same text."""
    if (moment := _read_moment(value)) is None:
        return None
    days, time = moment
    hits = (hit for form in _list_time_forms(*time) for hit in form.search(folded.text))
    numbers = {folded.find_number(start) for start, _ in hits}
    if not numbers:
        return None
    dates = (hit for day in days for form in _list_date_forms(*day) for hit in form.search(folded.text))
    return next((hit for hit in dates if folded.find_number(hit[0]) in numbers), None)


class _Form(NamedTuple):
    """A way in which a value may be written.

    Attributes:
        pattern: The text itself, or an expression that begins with some characters of it.
        is_whole: Whether the characters from a place to another are not a piece of something longer.
        words: Words of which the text has one if it has the form; without any, there is nothing to look for first.
    """

    pattern: str | re.Pattern[str]
    is_whole: Callable[[str, int, int], bool]
    words: tuple[str, ...] = ()

    def search(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where the form stands, from the first to before the last character."""
        pattern = self.pattern
        if self.words and not any((word.isascii() or not text.isascii()) and word in text for word in self.words):
            return
        hits = (
            _find_all(text, pattern) if isinstance(pattern, str) else (each.span() for each in pattern.finditer(text))
        )
        for _, (start, end) in zip(range(MAX_HITS), hits, strict=False):
            if self.is_whole(text, start, end):
                yield start, end


_WORD_REST = re.compile(r"\w++")


def _find_all(text: str, literal: str) -> Iterator[tuple[int, int]]:
    """Yield where a literal stands, but only once in a word that it begins with: it could not be whole there twice."""
    begins_word = _is_word(literal[0]) and not _is_unspaced(literal[0])
    place = text.find(literal)
    while place >= 0:
        yield place, place + len(literal)
        rest = _WORD_REST.match(text, place) if begins_word else None
        place = text.find(literal, rest.end() if rest else place + 1)


# Texts made comparable

_ASCII_SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f"
_SAME_SIGNS = {"‘’‚‛′ʼ": "'", "“”„‟″": '"', "‐‑‒–—―−": "-"}
_ESCAPES = {r"\n": " ", r"\t": " ", r"\r": " ", r"\"": '"', r"\/": "/", r"\'": "'"}
"""How the text of a value may be escaped where it stands in JSON or in the `repr` of an object."""


def _make_plain(text: str) -> str:
    """Return a text as it is compared with most values, but for its case."""
    plain = text if text.isascii() else _replace_signs(normalize("NFKC", text))
    if "\\" in plain:
        for escape, char in _ESCAPES.items():
            plain = plain.replace(escape, char)
    return _join_spaces(plain)


def _make_exact(text: str) -> str:
    """Return a text as it is compared with a value whose own characters are not plain."""
    return _join_spaces(text if text.isascii() else _replace_signs(normalize("NFC", text)))


def _replace_signs(text: str) -> str:
    for signs, sign in _SAME_SIGNS.items():
        for each in signs:
            text = text.replace(each, sign)
    return text


def _join_spaces(text: str) -> str:
    """Return a text in which a single blank stands for all white space. In ASCII this is faster than `split`."""
    if not text.isascii():
        return " ".join(text.split())
    for space in _ASCII_SPACES:
        text = text.replace(space, " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return text.strip(" ")


def _is_blank(value: Scalar) -> bool:
    return isinstance(value, str) and not value.strip()


def _cut_out(text: str, start: int, end: int) -> str:
    """Return a piece of a text with the words around it."""
    first, last = max(0, start - CONTEXT_CHARS), min(len(text), end + CONTEXT_CHARS)
    if first and (blank := text.find(" ", first, start)) >= 0:
        first = blank + 1
    if last < len(text) and (blank := text.rfind(" ", end, last)) >= 0:
        last = blank
    return f"{'…' if first else ''}{text[first:last]}{'…' if last < len(text) else ''}"


# Where words end

_JOINING = ".@-+&?#/\\~"
"""The signs that make one word of what they stand between: `anna@x.com`, `report.pdf`, `/etc/hosts`."""

_JOINED_ON = re.compile(r"[.@\-+&?#/\\~]{1,3}+\w")
_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x30FF),  # Kana
    (0x3400, 0x9FFF),  # Han
    (0xAC00, 0xD7AF),  # Hangul: it has spaces, but particles stand right behind a name
    (0x20000, 0x3FFFF),  # Han
)
"""Scripts in which no space ends a word: a name is found inside of what looks like a long word."""


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_" or (char > "\x7f" and category(char)[0] == "M")


def _is_unspaced(char: str) -> bool:
    return char >= "\u0e00" and any(first <= ord(char) <= last for first, last in _UNSPACED)


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether a piece of a text is a word, or several, and no piece of a longer one."""
    if end - start == 1 and _is_unspaced(text[start]):  # a sign is found by itself, not in a longer name
        return not any(_is_word(each) for each in text[max(0, start - 1) : start] + text[end : end + 1])
    return not _is_joined_before(text, start) and not _is_joined_after(text, end)


def _is_joined_before(text: str, start: int) -> bool:
    before = text[start - 1 : start]
    if not before or before in " \n":
        return False
    first = text[start]
    if _is_word(before):
        return (_is_word(first) or first in _JOINING) and not (_is_unspaced(before) or _is_unspaced(first))
    if before in "/\\~":
        return not text.endswith(("http://", "https://"), max(0, start - 8), start)
    if before in _JOINING or before == "'":
        if first in _JOINING:
            return True
        while start and text[start - 1] == before:
            start -= 1
        return start > 0 and _is_word(text[start - 1])
    return before == ":" and first.isdigit() and text[start - 2 : start - 1].isdigit()


def _is_joined_after(text: str, end: int) -> bool:
    after = text[end : end + 1]
    if not after or after in " \n":
        return False
    last = text[end - 1]
    if _is_word(after):
        return (_is_word(last) or last in _JOINING) and not (_is_unspaced(after) or _is_unspaced(last))
    if after in _JOINING:
        return _JOINED_ON.match(text, end) is not None
    return after == ":" and last.isdigit() and text[end + 1 : end + 2].isdigit()


# The forms of a value

_SCHEME = re.compile(r"https?://")


def _list_forms(value: Scalar) -> Iterator[_Form]:
    """Yield the ways in which a value may be written, the likeliest first."""
    if value is None or isinstance(value, bool):
        names = {True: ("true", "yes"), False: ("false", "no"), None: ("null", "none")}[value]
        yield from (_Form(name, _stands_alone) for name in names)
    elif isinstance(value, int | float):
        yield from _list_number_forms(_read_decimal(value))
    else:
        yield from _list_text_forms(value)


def _list_text_forms(value: str) -> Iterator[_Form]:
    text = _make_exact(value).lower().replace("ς", "σ")
    yield _Form(text, _is_whole_number if text.isdecimal() else _stands_alone)
    bare = text.rstrip(".!?,;:")
    if bare != text and bare and _is_word(bare[-1]):
        yield _Form(bare, _stands_alone)
    scheme = found.group() if (found := _SCHEME.match(text)) else ""
    if (address := text.removeprefix(scheme).rstrip("/")) not in ("", text):
        yield _Form(address, _has_scheme(scheme))
    if len(text) > MAX_SPECIAL_CHARS:
        return
    days = list(_read_dates(text))
    for day in days:
        yield from _list_date_forms(*day)
    if (time := _read_time(text)) is not None:
        yield from _list_time_forms(*time)
    if days or time:
        return
    yield from _list_written_number_forms(text)
    yield from _list_account_forms(text)


def _has_scheme(scheme: str) -> Callable[[str, int, int], bool]:
    """Return the check of an address without its scheme: in the text it has the same one or none."""

    def is_whole(text: str, start: int, end: int) -> bool:
        other = "http://" if scheme == "https://" else "https://"
        return _stands_alone(text, start, end) and not (scheme and text.endswith(other, max(0, start - 8), start))

    return is_whole


# Accounts and phones

_ACCOUNT = re.compile(r"[a-z]{2}\d{2}[a-z0-9]{11,30}")
_DIGITS = re.compile(r"\+?\d{7,19}")
_NO_FORMAT = str.maketrans("", "", " ()-/")


def _list_account_forms(text: str) -> Iterator[_Form]:
    """Yield the forms of an IBAN in groups of four, and of a number of a phone, a card or an account."""
    compact = text.translate(_NO_FORMAT)
    if _ACCOUNT.fullmatch(compact):
        groups = [compact[place : place + 4] for place in range(0, len(compact), 4)]
        yield _Form(re.compile("[ -]?".join(groups)), _stands_alone)
    elif _DIGITS.fullmatch(compact):
        has_plus = compact.startswith("+")
        digits = compact.removeprefix("+")
        pattern = re.compile("[ ().\\-/]{0,2}".join(digits))
        yield _Form(pattern, _is_international if has_plus else _is_phone)


def _is_phone(text: str, start: int, end: int) -> bool:
    if text[start - 1 : start] == "(":
        start -= 1
    groups = re.split(r"\D+", text[start:end].strip("("))
    has_groups = len(groups) * 2 <= sum(map(len, groups))  # "1 2 3" are three numbers
    return has_groups and _stands_alone(text, start, end)


def _is_international(text: str, start: int, end: int) -> bool:
    if text[start - 1 : start] == "+":
        return _is_phone(text, start - 1, end)
    return text[max(0, start - 2) : start] == "00" and _is_phone(text, start - 2, end)


# Numbers

_CURRENCIES = {"$": "usd", "€": "eur", "£": "gbp", "¥": "jpy", "₹": "inr"}
_CURRENCY_CODES = frozenset("usd eur gbp jpy inr chf cny aud cad nzd sek nok dkk pln czk brl mxn krw sgd hkd".split())
_UNITS = frozenset("km cm mm kg g mg l ml kb mb gb tb h hr hrs min mins s sec ms px x pt".split())
_PERCENT = re.compile(r" ?(?:%|percent\b|per cent\b|prozent\b)")
_MULTIPLIERS = {
    1_000: "k|thousand|tsd",
    1_000_000: "m|mio|mn|million|millions",
    1_000_000_000: "b|bn|mrd|billion|billions",
}
_MULTIPLIED = re.compile(rf" ?(?:{'|'.join(_MULTIPLIERS.values())})\b")
_WRITTEN = re.compile(
    r"(?P<sign>[+-]?)(?P<before>[$€£¥₹]|[a-z]{3} )? ?(?P<digits>[0-9][0-9.,'_ ]*+)(?P<after>[$€£¥₹%]|percent|[a-z]{3})?"
)
_GROUPED = re.compile(r"\d{1,3}(?:([.,'_ ])\d{3})(?:\1\d{3})*+")
_LETTERS = re.compile(r"[a-z]++")
_LIST = re.compile(r"\d++(?:,\d++){2,}+")
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_LARGER = frozenset([*_ONES, "hundred", "thousand", "million", "billion", "dozen", "third", "thirds", "quarters"])


def _read_decimal(value: float | str) -> Decimal | None:
    """Return a number exactly as it is written in Python; None if it has none, or too many digits."""
    try:
        number = Decimal(value if isinstance(value, str) else repr(value))
    except (InvalidOperation, ValueError):  # a number in Python has no more digits than can be written
        return None
    if not number.is_finite() or abs(number.adjusted()) > MAX_DIGITS or len(number.as_tuple().digits) > MAX_DIGITS:
        return None
    return number


def _list_number_forms(number: Decimal | None) -> Iterator[_Form]:
    if number is None:
        return
    yield _Form(re.compile(_write_pattern(number)), _is_whole_number)
    if 0 < abs(number) < 1:
        yield _Form(re.compile(rf"{_write_pattern(number * 100)}{_PERCENT.pattern}"), _has_free_start)
        yield _Form(
            re.compile(rf"{'-' if number < 0 else ''}\.{f'{abs(number):f}'[2:].rstrip('0')}0*+"), _is_whole_number
        )
    for factor, names in _MULTIPLIERS.items():
        if number >= factor:
            yield _Form(re.compile(rf"{_write_pattern(number / factor)} ?(?:{names})\b"), _has_free_start)
    if words := _write_number_words(number):
        yield _Form(words, _is_whole_number_word)


def _write_number_words(number: Decimal) -> str:
    """Return a number below 100 in words. "one" is left out: it is a pronoun more often than a number."""
    if number != number.to_integral_value() or not 0 <= number < 100 or number == 1:
        return ""
    tens, ones = divmod(int(number), 10)
    if number < 20:
        return _ONES[int(number)]
    return f"{_TENS[tens - 2]}-{_ONES[ones]}" if ones else _TENS[tens - 2]


def _is_whole_number_word(text: str, start: int, end: int) -> bool:
    """Whether a number in words is no part of a larger one, such as "two" in "two hundred"."""
    after = _LETTERS.match(text, end + 1)
    before = text[max(0, start - 10) : start].rpartition(" ")[0].rpartition(" ")[2]
    is_alone = before not in _TENS and (after is None or after.group() not in _LARGER)
    return is_alone and _stands_alone(text, start, end)


def _write_pattern(number: Decimal) -> str:
    """Return the expression of a number in all its notations. It begins with the first digits as a literal."""
    whole, _, fraction = f"{abs(number):f}".partition(".")
    fraction = fraction.rstrip("0")
    groups = [whole[: len(whole) % 3], *(whole[place : place + 3] for place in range(len(whole) % 3, len(whole), 3))]
    first, *rest = [group for group in groups if group]
    if not fraction:
        points = dict.fromkeys((",", ".", "[.,]"), r"(?:{}0{{1,2}}(?!\d))?")
    else:
        # Three digits after a comma are thousands, unless there are digits enough before it or none.
        is_short = len(whole) <= 3 and whole != "0"
        zeros = rf"(?!0{{{3 - len(fraction)}}}(?!\d))0*+" if is_short and len(fraction) < 3 else "0*+"
        comma = "" if is_short and len(fraction) == 3 else rf"|,{fraction}{zeros}"
        points = {
            ",": rf",{fraction}0*+",
            ".": rf"\.{fraction}0*+",
            "[.,]": rf"(?:\.{fraction}0*+{comma})",
        }
    ends = {mark: form.format(mark.replace(".", r"\.")) if not fraction else form for mark, form in points.items()}
    forms = ["".join(rest) + ends["[.,]"]]
    if rest:
        marks = {",": ".", r"\.": ",", "'": "[.,]", " ": "[.,]", "_": "."}
        forms += [separator + separator.join(rest) + ends[point] for separator, point in marks.items()]
    sign = "-" if number < 0 else ""
    return f"{sign}{first}(?:{'|'.join(forms)})"


def _list_written_number_forms(text: str) -> Iterator[_Form]:
    """Yield the forms of a text that is a number, perhaps with its currency or as a percentage."""
    match = _WRITTEN.fullmatch(text)
    if match is None:
        return
    mark = (match["before"] or match["after"] or "").strip()
    is_percent = mark in ("%", "percent")
    currency = _CURRENCIES.get(mark, mark)
    if mark and not is_percent and currency not in _CURRENCY_CODES:
        return
    for digits in _list_readings(match["digits"].strip()):
        number = _read_decimal(("-" if match["sign"] == "-" else "") + digits)
        if number is None:
            continue
        if is_percent:
            yield _Form(re.compile(_write_pattern(number) + _PERCENT.pattern), _has_free_start)
        elif mark:
            for form in _list_number_forms(number):
                yield form._replace(is_whole=_has_currency(currency, form.is_whole))
        else:
            yield from _list_number_forms(number)


def _list_readings(digits: str) -> list[str]:
    """Return the numbers, as Python writes them, that digits with separators can stand for."""
    if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
        return []  # the zeros of a key or of a phone number count
    if digits.isdigit():
        return [digits]
    head, point, tail = digits.rpartition("," if digits.rfind(",") > digits.rfind(".") else ".")
    readings: list[str] = []
    if _GROUPED.fullmatch(digits) and not digits.startswith("0"):
        readings.append(re.sub(r"\D", "", digits))
    is_thousands = point == "," and len(tail) == 3 and readings
    if point and tail.isdigit() and not is_thousands and (head.isdigit() or _GROUPED.fullmatch(head)):
        whole = re.sub(r"\D", "", head)
        if point not in head:
            readings.append(f"{whole}.{tail}")
    return readings


def _is_whole_number(text: str, start: int, end: int) -> bool:
    if not _has_free_start(text, start, end) or _is_day(text, start, end):
        return False
    after, following = text[end : end + 1], text[end + 1 : end + 2]
    if not after or _MULTIPLIED.match(text, end):
        return not after
    if after == "," and following.isdigit():
        return _is_listed(text, start, end)
    if after in ".:/-'" and following.isdigit():
        return False
    if not _is_word(after) or _is_unspaced(after):
        return not (after in "@\\" and _is_word(following))
    letters = _LETTERS.match(text, end)
    is_unit = letters is not None and (letters.group() in _UNITS or letters.group() in _CURRENCY_CODES)
    return is_unit and letters is not None and not _is_word(text[letters.end() : letters.end() + 1] or " ")


def _is_day(text: str, start: int, end: int) -> bool:
    """Whether a number is the day of a date: the 13 of "June 13" and "13. June" is not the number 13."""
    if not text[start:end].isdecimal() or end - start > 2:
        return False
    before = text[max(0, start - MAX_MONTH_CHARS) : start].rstrip(" .").rpartition(" ")[2]
    after = _DAY_OF.match(text, end)
    return before in _MONTH_OF or (after is not None and after[1] in _MONTH_OF)


def _has_free_start(text: str, start: int, end: int) -> bool:
    """Whether a number begins where it seems to."""
    before, earlier = text[start - 1 : start], text[max(0, start - 2) : start - 1] if start else ""
    if not before or before in " \n":
        return True
    if before == "," and earlier.isdigit():
        return _is_listed(text, start, end)
    if before in "./\\~" or (before == "-" and text[start].isdigit()) or (before in "'@+:" and earlier.isdigit()):
        return False
    if not _is_word(before) or _is_unspaced(before):
        return not (before in _JOINING and earlier and _is_word(earlier))
    is_code = text[max(0, start - 3) : start] in _CURRENCY_CODES
    return is_code and not _is_word(text[start - 4 : start - 3] or " ")


def _is_listed(text: str, start: int, end: int) -> bool:
    """Whether a number is an item of a list such as "7,24,31", which is no number with commas."""
    first = start
    while first > max(0, start - MAX_SPECIAL_CHARS) and (text[first - 1].isdigit() or text[first - 1] == ","):
        first -= 1
    if (first and _is_word(text[first - 1])) or not text[start:end].isdigit():
        return False
    whole = _LIST.match(text, first, end + MAX_SPECIAL_CHARS)
    return whole is not None and whole.end() >= end and not _GROUPED.fullmatch(whole.group())


def _has_currency(code: str, is_whole: Callable[[str, int, int], bool]) -> Callable[[str, int, int], bool]:
    """Return the check of a number that has its currency before or after it."""
    names = [code, *(sign for sign, each in _CURRENCIES.items() if each == code)]

    def check(text: str, start: int, end: int) -> bool:
        before, after = text[max(0, start - 5) : start].strip(), text[end : end + 5].strip()
        return is_whole(text, start, end) and (before.endswith(tuple(names)) or after.startswith(tuple(names)))

    return check


# Dates and times

_MONTHS = [
    names.split("|")
    for names in (
        "january|jan|januar|janvier|enero|gennaio",
        "february|feb|februar|février|febrero|febbraio",
        "march|mar|märz|mars|marzo",
        "april|apr|avril|abril|aprile",
        "may|mai|mayo|maggio",
        "june|jun|juni|juin|junio|giugno",
        "july|jul|juli|juillet|julio|luglio",
        "august|aug|août|agosto",
        "september|sep|sept|septembre|septiembre|settembre",
        "october|oct|oktober|okt|octobre|octubre|ottobre",
        "november|nov|novembre|noviembre",
        "december|dec|dezember|dez|décembre|diciembre|dicembre",
    )
]
_MONTH_OF = {name: number for number, names in enumerate(_MONTHS, 1) for name in names}
_YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})")
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})")
_MONTH_FIRST = re.compile(r"([^\W\d_]{3,10})\.? (?:the )?(\d{1,2})(?:st|nd|rd|th)?,? (\d{4})")
_DAY_FIRST = re.compile(r"(\d{1,2})(?:st|nd|rd|th|\.)? (?:of |de )?([^\W\d_]{3,10})\.?,? (?:of |de )?(\d{4})")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::00)? ?([ap])?\.?(?(3)m\.?)")
_HOUR = re.compile(r"(\d{1,2}) ?([ap])\.?m\.?")
_MOMENT = re.compile(r"(.{6,30}?)(?: at |, |t| )(\d{1,2}(?::\d{2}){1,2}(?: ?[ap]m)?)")
_DAY_OF = re.compile(r"\.? (?:of |de )?([^\W\d_]{3,10})")
_HALF_OF_DAY = re.compile(r" ?([ap])\.?m\b")

_Day = tuple[int, int, int]


def _read_dates(text: str) -> Iterator[_Day]:
    """Yield the days, as year, month and day, that a text may stand for."""
    found: list[_Day] = []
    if match := _YEAR_FIRST.fullmatch(text):
        found = [(int(match[1]), int(match[3]), int(match[4]))]
    elif match := _YEAR_LAST.fullmatch(text):
        one, two, year = int(match[1]), int(match[3]), int(match[4])
        found = [(year, two, one), (year, one, two)] if match[2] == "/" else [(year, two, one)]
    elif match := _MONTH_FIRST.fullmatch(text):
        found = [(int(match[3]), _MONTH_OF.get(match[1], 0), int(match[2]))]
    elif match := _DAY_FIRST.fullmatch(text):
        found = [(int(match[3]), _MONTH_OF.get(match[2], 0), int(match[1]))]
    yield from dict.fromkeys(day for day in found if 1 <= day[1] <= 12 and 1 <= day[2] <= 31)


def _read_time(text: str) -> tuple[int, int] | None:
    if match := _CLOCK.fullmatch(text):
        hour, minute, half = int(match[1]), int(match[2]), match[3]
    elif match := _HOUR.fullmatch(text):
        hour, minute, half = int(match[1]), 0, match[2]
    else:
        return None
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return (hour, minute) if hour < 24 and minute < 60 else None


def _read_moment(value: str) -> tuple[list[_Day], tuple[int, int]] | None:
    """Return the days and the time that a text stands for which has both."""
    if len(value) > MAX_SPECIAL_CHARS or (match := _MOMENT.fullmatch(_make_exact(value).lower())) is None:
        return None
    days, time = list(_read_dates(match[1])), _read_time(match[2])
    return (days, time) if days and time else None


def _list_date_forms(year: int, month: int, day: int) -> Iterator[_Form]:
    names = _MONTHS[month - 1]
    years = rf"(?:{year}|{year % 100:02})(?!\d)"
    end = rf"(?:,? (?:of |de )?{year}\b|(?!,? (?:of |de )?\d{{4}}\b))(?!\d)"
    starts = {start: list(group) for start, group in groupby(sorted(names, reverse=True), key=lambda name: name[:3])}
    forms: list[tuple[str, Iterable[str]]] = [
        (rf"{year}(?:([-/.])0?{month}\1(?:0?{day})|{month:02}{day:02})(?!\d)", [str(year)]),
        (rf"{day}([-/.])0?{month}\1{years}", []),
        (rf"{month}/0?{day}/{years}", ["/"]),
        (rf"{day}(?:st|nd|rd|th|\.)?(?: of| de|-)? ?(?:{'|'.join(sorted(names, reverse=True))})\b\.?{end}", starts),
    ]
    for start, group in starts.items():
        rest = "|".join(name[3:] for name in group)
        forms.append((rf"{start}(?:{rest})\.? (?:the )?0?{day}(?:st|nd|rd|th)?(?![\w:]){end}", [start]))
    for pattern, words in forms:
        yield _Form(re.compile(pattern), _is_whole_date, tuple(words))


def _is_whole_date(text: str, start: int, end: int) -> bool:
    if text[start - 1 : start] == "0":
        start -= 1
    before, earlier = text[start - 1 : start] if start else "", text[start - 2 : start - 1] if start > 1 else ""
    if before and (_is_word(before) or (before in "-/.,:" and earlier.isalnum())) and not _is_unspaced(before):
        return False
    after, following = text[end : end + 1], text[end + 1 : end + 2]
    if after == "t" and following.isdigit():
        return True
    if after and _is_word(after) and not _is_unspaced(after):
        return False
    return not (after and after in "-/.:" and following.isalnum())


def _list_time_forms(hour: int, minute: int) -> Iterator[_Form]:
    half, short = "ap"[hour >= 12], hour % 12 or 12
    yield _Form(re.compile(rf"{hour}:{minute:02}(?::00)?(?![:\d])"), _is_whole_time(None))
    minutes = rf"[:.]{minute:02}" if minute else r"(?:[:.]00)?"
    yield _Form(re.compile(rf"{short}{minutes} ?{half}\.?m\b"), _is_whole_time(half))
    yield _Form(re.compile(rf"{hour}[:.]{minute:02} ?(?:uhr|h)\b"), _is_whole_time(half))
    if minute == 0:
        yield _Form(re.compile(rf"{hour} ?(?:uhr|h)\b"), _is_whole_time(half))
    if (hour, minute) in ((12, 0), (0, 0)):
        yield _Form("noon" if hour else "midnight", _stands_alone)


def _is_whole_time(half: str | None) -> Callable[[str, int, int], bool]:
    """Return the check of a time of which it is known, or not (None), whether it is before noon."""

    def check(text: str, start: int, end: int) -> bool:
        hour = int(text[start : start + 2].rstrip(":.")) if half is None else 0
        if text[start - 1 : start] == "0":
            start -= 1
        before, earlier = text[start - 1 : start] if start else "", text[start - 2 : start - 1] if start > 1 else ""
        is_free = not before or (before == "t" and earlier.isdigit()) or _is_unspaced(before)
        if not is_free and (_is_word(before) or (before in ".:/" and earlier.isdigit())):
            return False
        said = _HALF_OF_DAY.match(text, end) if half is None else None
        return said is None or said[1] == "ap"[hour >= 12]

    return check
