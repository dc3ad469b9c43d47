"""Judges an answer in words by the facts in it: what it claims must be in the results or follow from them.

`Claims` has what a program knows of the right answer; a line of a suite gives it as `claims`:

    {"things": {"Oslo": [-3.5], "Paris": [11.0]}, "free": [14.5], "units": ["°C"],
     "winner": ["Oslo"], "more": ["cold"], "less": ["warm"]}

Three things are checked, in English, German, French and Spanish:

- Every number, date, time and known text is one of the values: one of the thing that the sentence gives it to, or a
  free one, which follows from the results or stands in the question.
- Who is said to be more or less is right, and no number has the unit of something else.
- The claim that was asked for is there.

A number belongs to the name that follows it with a preposition ("-3.5 °C in Oslo"), or else to the name before it;
as many numbers as names belong to them in their order. Where a sentence can be read in two ways, it is right if one of
them is. Nobody is asked for a form: which of the things are named, and in which words, is free.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen

Value: TypeAlias = float | int | str


@frozen
class Claims:
    """What the answer to a question may and must claim.

    Attributes:
        things: The values of each thing by its name, other names after `|`. The first value is the one that things are
            compared by.
        free: Values that may be claimed of anything: sums, differences, counts, what the question says.
        units: The units that the numbers have; empty if any unit may be given.
        winner: The names of the things that are the most, as the question asks; `more` and `less` have the beginnings
            of the words for that and for its opposite.
        more: See `winner`.
        less: See `winner`.
        chosen: The names of all things that fit; no other may be named as fitting.
        order: The names of all things in their order.
        says: Of each of these lists, one value must be said.
        yes: Whether the answer is yes, or no.
        tie: Whether things are equal.
        none: Whether nothing fits.
        failure: Whether the answer must say that something is not known or failed.
    """

    things: Mapping[str, Sequence[Value]]
    free: Sequence[Value] = ()
    units: Sequence[str] = ()
    winner: Sequence[str] = ()
    more: Sequence[str] = ()
    less: Sequence[str] = ()
    chosen: Sequence[str] = ()
    order: Sequence[str] = ()
    says: Sequence[Sequence[Value]] = ()
    yes: bool | None = None
    tie: bool = False
    none: bool = False
    failure: bool = False


def parse_claims(value: Any, where: str) -> Claims:
    """Parse the claims of a question."""
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    known = set(Claims.__annotations__)
    if not isinstance(fields.get("things"), dict) or not fields.keys() <= known:
        raise UsageError(f"{where}: 'claims' has 'things', values by names, and else only {', '.join(sorted(known))}")
    claims = Claims(**fields)
    named = {*claims.winner, *claims.chosen, *claims.order}
    if lost := named - {main_name(each) for each in claims.things}:
        raise UsageError(f"{where}: 'claims' names {', '.join(sorted(lost))}, which is none of its things")
    return claims


def main_name(names: str) -> str:
    """Return the first of the names of a thing."""
    return names.partition("|")[0]


DERIVED_DECIMALS = 2
"""Decimals of a derived value that does not come out even; it may be said with more of them."""

MAX_ANSWER_CHARS = 8_000
"""Longer answers are not judged: the expressions below take time that grows with the square of a text."""


def find_false_claim(text: str, claims: Claims) -> str:
    """Return in words what is wrong in an answer, or missing from it; empty if it is right."""
    if len(text) > MAX_ANSWER_CHARS:
        return f"the answer has more than {MAX_ANSWER_CHARS:,} characters"
    plain = re.sub(r"[*_`]+|^[ \t]*\d+[.)]\s", "", text.replace("−", "-").replace("–", "-"), flags=re.MULTILINE)
    plain = re.sub(r"[\u00a0\u202f]", " ", plain).strip()
    if not plain:
        return "nothing was said"
    reader = _Reader(plain, claims)
    checks = (
        reader.find_foreign_value,
        reader.find_wrong_owner,
        reader.find_wrong_winner,
        reader.find_wrong_choice,
        reader.find_missing,
    )
    return next((why for check in checks if (why := check())), "")


UNITS = {
    "°C": "°c|celsius|degrees celsius|grad celsius",
    "°F": "°f|fahrenheit|degrees fahrenheit|grad fahrenheit",
    "€": "€|eur|euros?",
    "$": r"\$|usd|dollars?|dólares",
    "£": "£|gbp|pounds?",
    "CHF": "chf|francs?|franken",
    "%": "%|percent|prozent|pour cent|por ciento",
    "kg": "kg|kilos?|kilograms?|kilogramm",
    "g": "g|grams?|gramm|grammes|gramos",
    "km": "km|kilomet(?:er|re)s?|kilomètres?|kilómetros?",
    "km/h": "km/h|kmh|kph",
    "m": "m|met(?:er|re)s?|mètres?|metros?",
    "cm": "cm|centimet(?:er|re)s?|zentimeter",
    "mm": "mm|millimet(?:er|re)s?|millimeter",
    "min": "min|minutes?|minuten?|minutos?",
    "h": "h|hours?|stunden?|heures?|horas?",
    "s": "s|seconds?|sekunden?|secondes?|segundos?",
    "ms": "ms|milliseconds?",
    "L": "l|lit(?:er|re)s?|litros?",
    "MB": "mb|megabytes?",
    "GB": "gb|gigabytes?",
    "kWh": "kwh",
    "W": "w|watts?",
}
"""The words for each unit. One that is not known is taken for any other word."""

_UNIT = re.compile("|".join(rf"(?P<u{n}>{words})(?!\w|/h)" for n, words in enumerate(UNITS.values())))
_MONTHS = (
    "january jan januar januari janvier enero ene",
    "february feb februar février febrero",
    "march mar märz mars marzo",
    "april apr avril abril abr",
    "may mai mayo",
    "june jun juni juin junio",
    "july jul juli juillet julio",
    "august aug août agosto ago",
    "september sep sept septembre septiembre",
    "october oct oktober okt octobre octubre",
    "november nov novembre noviembre",
    "december dec dezember dez décembre diciembre dic",
)
_MONTH_NUMBERS = {word: number for number, words in enumerate(_MONTHS, 1) for word in words.split()}
_MONTH = f"(?P<{{}}>{'|'.join(sorted(_MONTH_NUMBERS, key=len, reverse=True))})\\.?"
_TIME_OR_DATE = (
    r"(?P<iso>\d{4}-\d\d-\d\d)(?!\d)",
    rf"(?P<day1>\d{{1,2}})(?:st|nd|rd|th|er|\.)?(?: (?:of|de))? {_MONTH.format('month1')}"
    r"(?:,? (?:de )?(?P<year1>\d{4}))?(?!\w)",
    rf"{_MONTH.format('month2')} (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?:,? (?P<year2>\d{{4}}))?(?![\w:])",
    r"(?P<dmy>\d{1,2}[./]\d{1,2}[./]\d{4})",
    r"(?P<hour>\d{1,2})(?::|h)(?P<minute>\d\d)(?!\d)",
)
_NUMBER = (
    r"(?:(?P<sign>-|(?:minus|moins|menos) )(?P<gap> ?))?"
    r"(?P<digits>\d+(?:[.,' ]\d{3}(?!\d))+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)"
    r"(?P<large> (?:thousand|tausend|mille|mil|millions?|millionen|millones)\b)?"
    r"(?P<below>[^.,;]{0,20}(?:below zero|below freezing|unter null|au-dessous de zéro|sous zéro|bajo cero))?"
)
_DATE_OR_NUMBER = re.compile("|".join(rf"(?<![\w.]){each}" for each in (*_TIME_OR_DATE, _NUMBER)))
_WORDS = (
    "zero null zéro cero",
    "one eins ein eine einen un une uno una",
    "two zwei deux dos both beide",
    "three drei trois tres",
    "four vier quatre cuatro",
    "five fünf cinq cinco",
    "six sechs seis",
    "seven sieben sept siete",
    "eight acht huit ocho",
    "nine neun neuf nueve",
    "ten zehn dix diez",
    "eleven elf onze once",
    "twelve zwölf douze doce",
)
_NUMBER_WORDS = {word: number for number, words in enumerate(_WORDS) for word in words.split()}

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_BEFORE_NAME = re.compile(
    r"(?: ?(?!(?:and|und|et|y|than|als|que|but|while|is|ist|est|es)\b)[\w°%€$£/-]+\.?){0,4}?"
    r" ?(?:\(| (?:in|at|on|for|of|from|by|to|has|im|am|auf|bei|für|von|aus|an|à|au|aux|en|pour|chez|de|du|d'|sur|para|"
    r"del|con) )(?:the |der |die |das |dem |den |la |le |les |l'|el |los |las )?"
)
"""What stands between a number and the name that follows and owns it."""

_AGAINST = re.compile(
    r"against|compared|versus|\bvs\b|\bthan\b|while|gegen|verglichen|\bals\b|contre|comparé|frente|comparad|\bque\b"
)
_OPERATOR = re.compile(r" ?[\w°%€$£]*\)? ?(?:[+=/×*]|- \d)")
_CLAUSE_END = re.compile(
    r"[.!?]\s|[;:\n]|,? \b(?:so|therefore|thus|hence|but|while|whereas|also|daher|deshalb|somit|aber|während|donc|mais|"
    r"tandis que|alors que|así que|por lo tanto|por tanto|pero|mientras|making|which means)\b|, (?:and|und|et|y) "
)
_CONCLUSION = re.compile(r"(?<=[.!?])\s+|\n+|[;]|,? \b(?:so|therefore|thus|also|daher|donc|así que)\b")
_THAN = re.compile(r"\b(?:than|als|que|de|du|to)\b|qu'|d'")
_PLACE = re.compile(
    r" (?:in|at|on|for|im|am|auf|bei|für|à|au|en|chez|pour|sur|para) "
    r"(?:the |der |die |das |dem |den |la |le |les |l'|el )?"
)
_NOT = re.compile(
    r"\b(?:not|neither|nor|nicht|kein\w*|weder|pas|ni|aucun\w*|ningun\w*|tampoco|cannot)\b|n't\b|\bno\b(?!,)"
)
_TIE = re.compile(
    r"\b(?:same|equal\w*|equivalent|both|ties?|tied|identical\w*|no difference|gleich\w*|beide\w*|ebenso|genauso|"
    r"identisch\w*|mêmes?|éga\w*|autant|aussi|identiques?|ex æquo|igual\w*|mism[oa]s?|amb[oa]s|empat\w*|idéntic\w*)\b|"
    r"\bas \w+ as\b|\btan \w+ como\b"
)
_NONE = re.compile(
    r"\b(?:none|no|not|nothing|nobody|no one|neither|kein\w*|nichts|niemand|weder|nicht|aucun\w*|rien|personne|"
    r"ningun\w*|ningún|nada|nadie)\b|n't\b|\bpas\b"
)
_FAILURE = re.compile(
    r"\b(?:not|no|nothing|cannot|unable|fail\w*|errors?|unavailable|unknown|missing|without|down|timed out|denied|"
    r"refused|invalid|nicht|nichts|rien|nada|kein\w*|konnte\w*|fehl\w*|leider|unbekannt\w*|ohne|pas|impossible|erreur|échou\w*|échec|aucun\w*|indisponible|"
    r"inconnu\w*|introuvable|falló|fallo|fallado|imposible|ningun\w*|ningún|desconoc\w*|sin)\b|n't\b|\bne\b|\bn'"
)
_YES_NO = re.compile(
    r"(?:^|[.;:,!]\s+|\b(?:so|also|donc|así que|therefore) )(?:(?P<yes>yes|ja|oui|sí)|(?P<no>no|nein|non))"
    r"(?=\s*[,.:;!-]|\s*$)"
)
_LARGE = {"thousand": 1e3, "tausend": 1e3, "mille": 1e3, "mil": 1e3}


@frozen
class _Token:
    """A name, a number or another value in an answer, with the values that it may mean."""

    start: int
    end: int
    name: str = ""
    values: tuple[Value, ...] = ()


class _Reader:
    """Finds names and values in an answer, and what is claimed of them. All texts are in small letters."""

    def __init__(self, text: str, claims: Claims) -> None:
        self._text = text.casefold()
        self._claims = claims
        self._owned = {main_name(names): tuple(values) for names, values in claims.things.items()}
        self._names = {
            alias.casefold(): main_name(names) for names in claims.things for alias in names.split("|") if alias
        }
        self._tokens = sorted(self._scan(), key=lambda token: token.start)

    # What is said.

    def _scan(self) -> Iterable[_Token]:
        """Yield names and known texts, then dates, times and numbers in what is left."""
        values = (*self._owned.values(), self._claims.free)
        texts = {each.casefold(): each for known in values for each in known if isinstance(each, str)}
        words = sorted({*self._names, *texts}, key=len, reverse=True)
        known = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words)) or '(?!)'})(?!\w)")
        rest = self._text
        for found in known.finditer(self._text):
            start, end, word = found.start(), found.end(), found[0]
            rest = f"{rest[:start]}{'¤' * (end - start)}{rest[end:]}"
            name, value = self._names.get(word, ""), texts.get(word)
            yield _Token(start=start, end=end, name=name, values=() if name or value is None else (value,))
        for found in _DATE_OR_NUMBER.finditer(rest):
            yield _Token(start=found.start(), end=found.end(), values=tuple(_read_values(found)))

    def _owners(self, token: _Token) -> set[str]:
        """Return the names of the things that have a value."""
        return {name for name, values in self._owned.items() if any(_is_same(token, each) for each in values)}

    def _is_free(self, token: _Token) -> bool:
        return any(_is_same(token, each, is_derived=True) for each in self._claims.free)

    # What is wrong.

    def find_foreign_value(self) -> str:
        for token in self._tokens:
            if token.values and not self._is_free(token) and not self._owners(token):
                return f"{self._quote(token)} is not in the results"
        if not self._claims.units:
            return ""
        for token in self._tokens:
            if token.values and isinstance(token.values[0], int | float):
                after = _UNIT.match(self._text, token.end + (self._text[token.end : token.end + 1] == " "))
                if after and (unit := list(UNITS)[int((after.lastgroup or "u0")[1:])]) not in self._claims.units:
                    return f"{self._quote(token)} is not in {unit}"
        return ""

    def find_wrong_owner(self) -> str:
        """Return which value is said of the wrong thing."""
        carried: list[_Token] = []
        for start, end in _split(_SENTENCE_END, self._text):
            inside = [token for token in self._tokens if start <= token.start < end]
            tokens = [token for token in inside if token.name or not self._is_free(token)]
            for place, token in enumerate(tokens):
                if token.values and not (possible := self._possible_owners(tokens, place, carried)) & self._owners(
                    token
                ):
                    return f"{self._quote(token)} is not that of {' or '.join(sorted(possible))}"
            if named := [token for token in tokens if token.name]:
                carried = named[-1:]
        return ""

    def _possible_owners(self, tokens: Sequence[_Token], place: int, carried: Sequence[_Token]) -> set[str]:
        """Return the names of the things that a sentence may say a value of."""
        everybody = set(self._owned)
        if self._is_reckoned(tokens[place]):
            return everybody
        if self._is_followed(tokens, place):
            return {tokens[place + 1].name}
        first = place  # of the values after the names
        while first and not tokens[first - 1].name:
            first -= 1
        begin = first
        while begin and tokens[begin - 1].name:
            begin -= 1
        run = tokens[begin:first]
        if not run:
            return {token.name for token in carried} if carried and not any(each.name for each in tokens) else everybody
        between = self._text[tokens[place - 1].end : tokens[place].start]
        if _AGAINST.search(between) and place > first:
            return everybody
        last = place + 1
        while last < len(tokens) and not tokens[last].name:
            last += 1
        values = [each for each in range(first, last) if not self._is_followed(tokens, each)]
        names = list(dict.fromkeys(token.name for token in run))
        if len(values) == len(names):
            return {names[values.index(place)]}
        return set(names)

    def _is_reckoned(self, token: _Token) -> bool:
        """Whether a number is part of a sum that is written out."""
        before, after = self._text[: token.start].rstrip(), self._text[token.end : token.end + 12]
        return before.endswith(("+", "=", "/", "×", "*", " -")) or _OPERATOR.match(after) is not None

    def _is_followed(self, tokens: Sequence[_Token], place: int) -> bool:
        """Whether the name of its thing follows a value."""
        if place + 1 == len(tokens) or not tokens[place + 1].name:
            return False
        return _BEFORE_NAME.fullmatch(self._text, tokens[place].end, tokens[place + 1].start) is not None

    def find_wrong_winner(self) -> str:
        """Return who is wrongly said to be the most, or that nobody is said to be it."""
        claims = self._claims
        if not claims.winner and not (claims.tie and claims.more):
            return ""
        said: list[str] = []
        for words, is_more in ((claims.more, True), (claims.less, False)):
            pattern = re.compile("|".join(rf"(?<!\w){re.escape(word.casefold())}\w*" for word in words) or r"(?!)")
            for found in pattern.finditer(self._text):
                if any(token.name and token.start <= found.start() < token.end for token in self._tokens):
                    continue
                subject, other, is_denied = self._find_subject(found.start(), found.end())
                if not subject:
                    continue
                if is_denied:
                    if is_more and subject in claims.winner and not claims.tie:
                        return f"{subject} is denied to be {found[0]}"
                    continue
                if claims.tie and not claims.winner:
                    if not _TIE.search(self._clause(found.start())[2]):
                        return f"{subject} is said to be {found[0]}, and they are equal"
                    continue
                if other and other != subject:
                    if not self._is_more(subject, other, is_more):
                        return f"{subject} is said to be {found[0]} than {other}"
                elif (subject in claims.winner) is not is_more and (
                    is_more or len(self._owned) == len(claims.winner) + 1
                ):
                    return f"{subject} is said to be {found[0]}"
                if (subject in claims.winner) is is_more and (is_more or len(self._owned) == 2):
                    said.append(subject)
        if claims.tie or said or claims.yes is not None:
            return ""
        *_, last = [each for each in self._conclusions() if each] or [set[str]()]
        named = {token.name for token in self._tokens if token.name}
        is_first = bool(self._tokens) and self._tokens[0].name in claims.winner and bool(_AGAINST.search(self._text))
        if named and (named <= set(claims.winner) or last <= set(claims.winner) or is_first):
            return ""
        return f"{' and '.join(claims.winner)} is not said to be {claims.more[0] if claims.more else 'it'}"

    def _is_more(self, subject: str, other: str, is_more: bool) -> bool:
        """Whether one thing comes before the other, by the first values of things; true where that cannot be told."""
        best = next((self._owned[name][0] for name in self._claims.winner if self._owned[name]), None)
        rest = [values[0] for name, values in self._owned.items() if values and name not in self._claims.winner]
        one, two = self._owned[subject][:1], self._owned[other][:1]
        if best is None or not rest or not one or not two or len({type(best) is str, type(one[0]) is str}) > 1:
            return True
        is_large_first = cast("Any", best) > cast("Any", rest[0])
        is_larger = cast("Any", one[0]) > cast("Any", two[0])
        return one[0] != two[0] and is_larger == (is_large_first == is_more)

    def _clause(self, place: int) -> tuple[int, int, str]:
        start, end = next(each for each in _split(_CLAUSE_END, self._text) if each[0] <= place <= each[1])
        return start, end, self._text[start:end]

    def _find_subject(self, start: int, end: int) -> tuple[str, str, bool]:
        """Return who is said to be more by a word, than whom, and whether that is denied."""
        first, last, _ = self._clause(start)
        before = [token for token in self._tokens if token.name and first <= token.start and token.end <= start]
        after = [token for token in self._tokens if token.name and end <= token.start and token.end <= last]
        subject = before[-1] if before else None
        other = None
        if after:
            gap = self._text[end : after[0].start]
            if _PLACE.fullmatch(gap):
                subject, after = after[0], after[1:]
                gap = self._text[subject.end : after[0].start] if after else ""
            if after and _THAN.search(gap) and (before or subject):
                other = after[0]
            elif subject is None and after:
                subject = after[-1] if _THAN.search(gap) and len(after) > 1 else after[0]
        if subject is None and self._text[last : last + 1] == ":":
            subject = next((token for token in self._tokens if token.name and token.start >= last), None)
        if subject is None:
            return "", "", False
        is_denied = _NOT.search(self._text, min(subject.end, start) if subject in before else first, start) is not None
        return subject.name, other.name if other else "", is_denied

    def _conclusions(self) -> list[set[str]]:
        """Return the names in each part of the answer."""
        parts = _split(_CONCLUSION, self._text)
        return [{t.name for t in self._tokens if t.name and start <= t.start < end} for start, end in parts]

    def find_wrong_choice(self) -> str:
        """Return why the things that are said to fit are not those that do, or not in their order."""
        claims = self._claims
        if claims.order:
            for start, end in [*_split(_SENTENCE_END, self._text), (0, len(self._text))]:
                inside = [t.name for t in self._tokens if t.name in claims.order and start <= t.start < end]
                if list(dict.fromkeys(inside)) == list(claims.order):
                    return ""
            return f"the order is not {', '.join(claims.order)}"
        if not claims.chosen:
            return ""
        *_, last = [each for each in self._conclusions() if each] or [set[str]()]
        kept: set[str] = set()
        for start, end in _split(re.compile(r"[,;.:]\s|\n|\bbut\b|\baber\b|\bmais\b|\bpero\b"), self._text):
            if not _NOT.search(self._text, start, end):
                kept |= {t.name for t in self._tokens if t.name and start <= t.start < end}
        if set(claims.chosen) in (last, kept):
            return ""
        return f"those that fit are {', '.join(claims.chosen)}, and {', '.join(sorted(last)) or 'nothing'} was named"

    def find_missing(self) -> str:
        """Return which claim is missing or contradicted."""
        claims, text = self._claims, self._text
        for values in claims.says:
            spoken = [_NUMBER_WORDS[word] for word in re.findall(r"\w+", text) if word in _NUMBER_WORDS]
            named = [each for each in values if isinstance(each, str) and each.casefold() in text]
            tokens = [token for token in self._tokens if any(_is_same(token, each, is_derived=True) for each in values)]
            if not named and not tokens and not set(values) & set(spoken):
                return f"{' or '.join(map(str, values))} is not said"
        if claims.yes is not None:
            found = [each["yes"] is not None for each in _YES_NO.finditer(text)]
            is_yes = found[0] if found else not _NOT.search(text)
            if is_yes is not claims.yes or len(set(found)) > 1:
                return f"the answer is {'yes' if claims.yes else 'no'}"
        if claims.tie and not _TIE.search(text):
            return "it is not said that they are equal"
        if claims.none and not _NONE.search(text):
            return "it is not said that there is none"
        if claims.failure and not _FAILURE.search(re.sub(r"^(?:no|nein|non), ", "", text)):  # the rest must tell it
            return "it is not said that something is not known"
        return ""

    def _quote(self, token: _Token) -> str:
        return self._text[token.start : token.end].strip()


def _split(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    """Return where the parts of a text begin and end."""
    ends = [found.span() for found in pattern.finditer(text)]
    starts = [0, *(end for _, end in ends)]
    return list(zip(starts, [*(start for start, _ in ends), len(text)], strict=True))


def _read_values(found: re.Match[str]) -> Iterable[Value]:
    """Yield what a date, a time or a number may mean: `1.500` is 1500 in one language and 1.5 in another."""
    if found["iso"]:
        yield found["iso"]
    elif found["dmy"]:
        day, month, year = re.split(r"[./]", found["dmy"])
        yield f"{year}-{int(month):02}-{int(day):02}"
        yield f"{year}-{int(day):02}-{int(month):02}"
    elif found["hour"]:
        yield f"{int(found['hour']):02}:{found['minute']}"
    elif found["month1"] or found["month2"]:
        n = 1 if found["month1"] else 2
        yield f"{found[f'year{n}'] or ''}-{_MONTH_NUMBERS[found[f'month{n}']]:02}-{int(found[f'day{n}']):02}"
    else:
        digits, large = found["digits"], (found["large"] or "").strip()
        factor = _LARGE.get(large, 1e6) if large else 1
        plain = [digits.replace(",", "").replace(" ", "").replace("'", "")]
        if re.fullmatch(r"\d+(?:[. ]\d{3})*(?:,\d+)?", digits):
            plain.append(digits.replace(".", "").replace(" ", "").replace(",", "."))
        is_open = bool(found["gap"]) and found["sign"] == "-"  # a dash before a number may be no sign
        is_negative = bool(found["sign"]) or bool(found["below"])
        for each in dict.fromkeys(plain):
            if each.count(".") < 2:
                value = float(each) * factor
                yield -value if is_negative else value
                if is_open:
                    yield value


def _is_same(token: _Token, value: Value, *, is_derived: bool = False) -> bool:
    """Whether a token means a value: a number may be rounded, a derived one to whole numbers and without its sign."""
    if isinstance(value, str):
        clean = value[:10] if re.match(r"\d{4}-\d\d-\d\d", value) else value
        return any(
            isinstance(each, str) and (each in (value, clean) or (each[0] == "-" and clean.endswith(each)))
            for each in token.values
        )
    for each in token.values:
        if isinstance(each, str) or isinstance(value, bool):
            continue
        decimals = len(f"{each:.6f}".rstrip("0").partition(".")[2])
        is_rounded = decimals > 0 or (is_derived and abs(value) >= 20)
        is_precise = (
            is_derived and decimals > DERIVED_DECIMALS and len(f"{value:g}".partition(".")[2]) == DERIVED_DECIMALS
        )
        near = 0.5 * 10 ** -(DERIVED_DECIMALS if is_precise else decimals) + 1e-9 if is_rounded else 1e-9
        if abs(each - value) <= near or (is_derived and abs(abs(each) - abs(value)) <= near):
            return True
    return False
