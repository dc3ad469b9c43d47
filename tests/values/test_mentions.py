"""A value is mentioned where people would say so, and nowhere else."""

from datetime import date
from decimal import Decimal
from time import thread_time

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.cases import each_case
from toolspeak.values.mentions import Mentions, Scalar

FOUND: list[tuple[str, Scalar]] = [
    # words
    ("Write to Anna about the invoice.", "anna"),
    ("Write to anna about it", "Anna"),
    ("Anna's birthday", "Anna"),
    ("ask “Anna”, then Bob", "Anna"),
    ("ask @anna in #general", "anna"),
    ("ask @anna in #general", "#general"),
    ("ask Emma\nJohnson  today", "Emma Johnson"),
    ("the title is 'Team  Sync'", "Team Sync"),
    ("Say hello to Anna", "Hello to Anna!"),
    ("Caf\u00e9 de Flore", "Cafe\u0301 de Flore"),
    ("Cafe\u0301 de Flore", "caf\u00e9"),
    ("the \ufb01le \uff11\uff12", "file 12"),
    ("the \ufb01le", "the \ufb01le"),
    ("Anna’s list – new", "anna's list - new"),
    ("ΟΔΟΣ", "οδος"),
    ('{"name":"Emma Johnson","id":24}', "Emma Johnson"),
    ("User(name='Anna', id=24)", "Anna"),
    (r'{"text": "Dear all,\nAnna said \"no\""}', "Anna"),
    (r'{"text": "Dear all,\nAnna said \"no\""}', 'Anna said "no"'),
    ("请给张伟转100元", "张伟"),
    ("请给张伟转100元", 100),
    ("안나에게 보내", "안나"),
    # numbers
    ("pay 98,70 please", 98.7),
    ("pay 98,70 please", "98.70"),
    ("pay 98.7", "98,70"),
    ("1.000,50 EUR", 1000.5),
    ("1,000.50", 1000.5),
    ("1 000,50", 1000.5),
    ("1'000.50", 1000.5),
    ("$1,200", 1200),
    ("$1,200", "1200"),
    ("$1,200", "1,200.00"),
    ("$1,200", "$1200"),
    ("1200 USD", "$1,200"),
    ("1,234,567", 1234567),
    ("1.234.567", 1234567),
    ("1.200", 1200),
    ("1.200", 1.2),
    ("it costs 100.", 100),
    ("100", 100.0),
    ("100.00", 100),
    ("-5 degrees", -5),
    ("ids: 7,24,31", 24),
    ("[7,24,31]", 31),
    ("id=24, next", 24),
    ("id:24", 24),
    ("a 3-star hotel", 3),
    ("file 13 in June", "13"),
    ("$5/month", 5),
    ("100€", 100),
    ("EUR100", 100),
    ("30min", 30),
    ("5%", 5),
    ("5%", "5 %"),
    ("by 5 percent", 0.05),
    ("12.5%", 0.125),
    (".5 of it", 0.5),
    ("0,125 l", 0.125),
    ("10k", 10_000),
    ("1.5 million", 1_500_000),
    ("2 Mio", 2_000_000),
    ("for two people", 2),
    ("twenty-one guests", 21),
    # dates and times
    ("March 3rd 2026", "2026-03-03"),
    ("March 3, 2026", "2026-03-03"),
    ("3 March 2026", "2026-03-03"),
    ("the 3rd of March, 2026", "2026-03-03"),
    ("3. März 2026", "2026-03-03"),
    ("Mar 3 2026", "2026-03-03"),
    ("2026-03-03", "March 3rd, 2026"),
    ("2026/3/3", "2026-03-03"),
    ("3.3.2026", "2026-03-03"),
    ("03/04/2026", "2026-04-03"),
    ("03/04/2026", "2026-03-04"),
    ("20260303", "2026-03-03"),
    ("on May 15th", "2024-05-15"),
    ("2026-03-03T10:00:00", "2026-03-03"),
    ("at 15:00", "15:00"),
    ("at 3pm", "15:00"),
    ("at 3 p.m.", "15:00"),
    ("at 9:30 am", "09:30"),
    ("from 10:00-11:30", "11:30"),
    ("at noon", "12:00"),
    ("um 15.30 Uhr", "15:30"),
    ("on 2024-05-15 from 10:00 to 11:00", "2024-05-15 11:00"),
    ("2024-05-15 10:00", "2024-05-15T10:00:00"),
    ("May 15th 2024, at 3 pm", "2024-05-15 15:00"),
    # addresses
    ("write to Anna.Lee@Example.com.", "anna.lee@example.com"),
    ("Anna <anna@example.com>, Bob", "anna@example.com"),
    ("mailto:anna@example.com", "anna@example.com"),
    ("see https://example.com/a/", "example.com/a"),
    ("see example.com/a", "https://example.com/a/"),
    ("see www.example.com!", "http://www.example.com"),
    ("read /etc/hosts", "/etc/hosts"),
    ("report.pdf, please", "report.pdf"),
    ("DE89 3704 0044 0532 0130 00", "DE89370400440532013000"),
    ("to DE89370400440532013000.", "DE89 3704 0044 0532 0130 00"),
    ("+49 170 123-4567", "+491701234567"),
    ("0049 170 1234567", "+49 170 1234567"),
    ("(0170) 1234567", "01701234567"),
    ("4111 1111 1111 1111", "4111111111111111"),
    # the rest
    ('{"done": true}', True),
    ("say yes", True),
    ("null", None),
    ("anything", " "),
]

NOT_FOUND: list[tuple[str, Scalar]] = [
    # pieces of words
    ("Write to Joanna", "anna"),
    ("Write to Annabel", "anna"),
    ("Anna-Maria", "Anna"),
    ("anna_smith", "anna"),
    ("O'Brien", "Brien"),
    ("anna@example.com", "anna"),
    ("anna@example.com", "example.com"),
    ("report.pdf", "report"),
    ("अन्ना", "अन"),
    ("张伟", "伟"),
    # words that do not stand together
    ("Emma and Bob Johnson", "Emma Johnson"),
    ("Johnson Emma", "Emma Johnson"),
    ("send it to mark, with a black.com pen", "mark@black.com"),
    ("US 133 and 000", "US133000"),
    ("1 2 3 4 5 6 7", "1234567"),
    # addresses that go on
    ("joanna@example.com", "anna@example.com"),
    ("mary.anna@example.com", "anna@example.com"),
    ("anna@example.com.evil.org", "anna@example.com"),
    ("anna@example.community", "anna@example.com"),
    ("example.com/evil", "example.com"),
    ("https://example.com/", "https://example.com/evil"),
    ("evil-example.com", "example.com"),
    ("https://example.com", "http://example.com"),
    ("../etc/hosts", "/etc/hosts"),
    ("/etc/hosts", "hosts"),
    ("DE89 3704 0044 0532 0130 00", "DE8937040044053201300"),
    ("DE89 3704 0044 0532 0130 00 1", "DE893704004405320130001"),
    ("+49 170 1234567", "+39 170 1234567"),
    ("170 1234567", "+49 170 1234567"),
    # letters that only look alike
    ("anna@example.com", "аnna@example.com"),
    ("file", "\ufb01le"),
    ("strasse.de", "straße.de"),
    ("anna", "an\u200bna"),
    # numbers
    ("in 2017", 1),
    ("in 2017", 17),
    ("in 2017", "1"),
    ("v1", 1),
    ("1.5", 1),
    ("1.5", 5),
    ("1,200", 1),
    ("1,200", 200),
    ("1,200", 1.2),
    ("1,200", 1200.5),
    ("1,000", 1),
    ("98,70", 98),
    ("98,70", 987),
    ("-5", 5),
    ("5", -5),
    ("3-5 people", 5),
    ("10:30", 10),
    ("2026-03-03", 3),
    ("on June 13", "13"),
    ("on June 13, at ten", 13),
    ("the 13 of June", 13),
    ("13. Juni", 13),
    ("2026-03-03", 2026),
    ("https://example.com/24", 24),
    ("2 million", 2),
    ("10k", 10),
    ("5", "5%"),
    ("5", 0.05),
    ("1200 EUR", "$1200"),
    ("1200", "$1200"),
    ("123", "0123"),
    ("0123", 123),
    ("this one", 1),
    ("two hundred", 2),
    ("twenty two", 2),
    ("twenty-one", 20),
    ("100", 1e400),
    # dates and times
    ("tomorrow", "2026-03-04"),
    ("on Friday", "2026-03-06"),
    ("March 3rd 2026", "2025-03-03"),
    ("March 3rd 2026", "2026-03-04"),
    ("March 30 2026", "2026-03-03"),
    ("13.3.2026", "2026-03-03"),
    ("3 pm", "03:00"),
    ("3:30 pm", "03:30"),
    ("at 10", "10:00"),
    ("10:30:45", "10:30"),
    ("on 2024-05-15", "2024-05-15 11:00"),
    ("at 11:00", "2024-05-15 11:00"),
    # the rest
    ("untrue", True),
    ("", "anna"),
    ("say yes", None),
]


@each_case("text, value", FOUND)
def test_a_value_is_found_as_people_mean_it(text: str, value: Scalar):
    mentions = Mentions(["something else", text])
    assert mentions.has(value)
    if not isinstance(value, str) or value.strip():
        mention = mentions.find(value)
        assert mention is not None
        assert mention.number == 1


@each_case("text, value", NOT_FOUND)
def test_a_value_is_not_found_by_its_pieces(text: str, value: Scalar):
    mentions = Mentions([text])
    assert not mentions.has(value)
    assert mentions.find(value) is None


def test_a_date_and_an_hour_of_two_texts_are_no_mention():
    assert not Mentions(["on 2024-05-15", "at 11:00"]).has("2024-05-15 11:00")


def test_a_value_is_not_put_together_from_two_texts():
    assert not Mentions(["Emma", "Johnson"]).has("Emma Johnson")


def test_a_mention_shows_the_words_around_the_value():
    before, after = "word " * 50, " more" * 50
    [mention] = [Mentions(["", f"{before}\n pay  ANNA today {after}"]).find("anna")]
    assert mention is not None
    assert mention.number == 1
    assert "pay ANNA today more" in mention.words
    assert mention.words.startswith("…word")
    assert mention.words.endswith("more…")
    assert len(mention.words) < 150


def test_a_mention_in_a_text_without_blanks_is_cut():
    mention = Mentions(["[" + "1," * 1000 + '"anna"' + ",2" * 1000 + "]"]).find("anna")
    assert mention is not None
    assert '"anna"' in mention.words
    assert len(mention.words) < 150


words = st.text(
    st.characters(categories=("Lu", "Ll", "Nd", "Po", "Pd", "Sc"), include_characters="@/"), min_size=1, max_size=8
)
texts = st.lists(words, min_size=1, max_size=12).map(" ".join)


@given(st.lists(words, min_size=1, max_size=12), st.data())
def test_a_value_that_is_cut_out_between_blanks_is_found(said: list[str], data: st.DataObject):
    start = data.draw(st.integers(0, len(said) - 1))
    end = data.draw(st.integers(start + 1, len(said)))
    value = " ".join(said[start:end])
    assert Mentions(["  ".join(said)]).has(value)
    assert Mentions(["\n".join(said).upper()]).has(value.upper())


@given(st.lists(texts, max_size=4), st.lists(texts, max_size=4), st.one_of(words, texts, st.integers(), st.floats()))
def test_more_text_never_loses_a_mention(before: list[str], after: list[str], value: Scalar):
    mentions = Mentions(before)
    known = mentions.find(value)
    for text in after:
        mentions.add(text)
    assert known is None or mentions.has(value)
    assert Mentions([*after, *before]).has(value) == mentions.has(value)


@given(st.text(max_size=40), st.one_of(st.text(max_size=12), st.integers(), st.floats(), st.booleans(), st.none()))
def test_any_text_and_value_can_be_looked_up(text: str, value: Scalar):
    mentions = Mentions([text])
    assert mentions.has(value) or mentions.find(value) is None


@given(st.decimals(min_value=0, max_value=10**9, places=2))
def test_a_number_is_found_in_the_notations_of_people(number: Decimal):
    english = f"{number:,}"
    german = english.replace(",", "_").replace(".", ",").replace("_", ".")
    for written in (english, german, english.replace(",", "'"), german.replace(".", " "), f"{number}"):
        assert Mentions([f"pay {written} now"]).has(float(number)), written


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_number_is_not_found_in_another(one: int, two: int):
    assume(one != two)
    assert not Mentions([f"pay {one:,} now, or {one}"]).has(two)


@given(
    st.dates(),
    st.sampled_from(["{0:%Y-%m-%d}", "{0.day}.{0.month}.{0:%Y}", "{0:%B} {0.day}, {0:%Y}", "{0.day} {0:%b} {0:%Y}"]),
)
def test_a_date_is_found_in_the_notations_of_people(day: date, notation: str):
    assert Mentions([f"on {notation.format(day)}."]).has(day.isoformat())


HARD = {
    "digits": "1" * 300_000,
    "numbers": "98 1,98 98.1 " * 25_000,
    "words": "anna.b anna-anna joanna " * 12_000,
    "one word": "anna" * 75_000,
    "blanks": " " * 300_000 + "anna.",
    "points": "anna" + "." * 300_000 + "anna",
    "days": "2026-03-031 3.3.20266 march 3rd2026 " * 8_000,
    "escapes": r"\n\"" * 75_000,
    "accents": "é\u0301" * 150_000,
}


@each_case("name", list(HARD))
def test_looking_up_takes_a_time_that_is_linear_in_the_text(name: str):
    values = ["anna anna anna", "2026-03-03", "2026-03-03 10:00", 98, 111, 0.5, "+49 1111 111111", "b ab ab ab a"]

    def measure(text: str) -> float:
        start = thread_time()
        mentions = Mentions([text])
        for value in values:
            mentions.has(value)
        return thread_time() - start

    assert measure(HARD[name] * 2) < 5
