"""Sentences by hand, right and wrong ones, in four languages: what the checker of answers says of them."""

import pytest

from tests.cases import each_case
from toolspeak.lab.claims import Claims, find_false_claim, parse_claims
from toolspeak.lab.questions import Question, Suite
from toolspeak.lab.suites import _build_suite  # pyright: ignore[reportPrivateUsage] (it takes lines, not a file)
from toolspeak.lab.trials import RecordedAnswer, Trial
from toolspeak.values.errors import UsageError
from toolspeak.values.messages import user

COLD = ["cold", "kält", "froid", "frí"]
WARM = ["warm", "wärm", "chaud", "cálid"]
OSLO = Claims(
    things={"Oslo": [-3.5], "Paris|París": [11.0]}, free=[14.5], units=["°C"], winner=["Oslo"], more=COLD, less=WARM
)
THREE = Claims(
    things={"Oslo": [-3.5], "Paris": [11.0], "Dubai": [33.0]}, winner=["Dubai"], more=["warm", "hot"], less=COLD
)
PRICES = Claims(
    things={"Tea": [4.2], "Coffee": [25.0], "Cake": [12.0]}, free=[20, 2, 3], units=["€"], chosen=["Tea", "Cake"]
)
TOTAL = Claims(things={"Tea": [4.2], "Coffee": [25.0], "Cake": [12.5]}, free=[41.7], units=["€"], says=[[41.7]])
PEOPLE = Claims(
    things={"Oslo": [709000], "Bergen": [290000]}, free=[419000], winner=["Oslo"], more=["larg", "big", "größ", "grand"],
    less=["small", "klein", "petit"],
)  # fmt: skip
ORDER = Claims(
    things={"A-1042": ["2026-05-03", "Mia Lund", 45.0], "A-1043": ["2026-04-28", "Tom Reyes", 220.0]},
    says=[["Mia Lund"]],
)
FIRST = Claims(
    things={"A-1042": ["2026-05-03"], "A-1043": ["2026-04-28"]}, winner=["A-1043"], more=["earl", "first", "früh"],
    less=["late", "spät"],
)  # fmt: skip
TIE = Claims(things={"Rome": [18], "Lima": [18]}, tie=True, more=["warm", "wärm"], less=["cold", "kält"])
NONE = Claims(things={"Tea": [4.2], "Cake": [12.0]}, free=[3], none=True)
FAILED = Claims(things={"Oslo": [-3.5], "Paris": []}, failure=True)
LIMIT = Claims(things={"F-07": [-68.9, -80.0]}, free=[-70, 1.1], yes=False)
COUNT = Claims(things={"A-1": ["open"], "A-2": ["open"], "A-3": ["closed"]}, free=[2], says=[[2]])
RANKED = Claims(things={"Oslo": [-3.5], "Paris": [11.0], "Dubai": [33.0]}, order=["Oslo", "Paris", "Dubai"])
MEAN = Claims(things={"Mon": [12], "Tue": [7], "Wed": [30]}, free=[49, 16.333333, 3], says=[[16.333333]])

ROUNDED = Claims(things={"V-3": [-19.5], "V-8": [-21.55]}, free=[-41.05, 2, -20.52], says=[[-20.52]])

RIGHT: dict[str, tuple[Claims, str]] = {
    "more decimals than a rounded mean": (ROUNDED, "-19.5 - 21.55 = -41.05; -41.05 / 2 = -20.525. Average: -20.525."),
    "each, then who": (OSLO, "Oslo: -3.5 °C, Paris: 11.0 °C, so it is colder in Oslo."),
    "who, then each": (OSLO, "Oslo is colder: -3.5 °C, against 11 °C in Paris."),
    "the number first": (OSLO, "It is colder in Oslo, with -3.5 °C in Oslo and 11.0 °C in Paris."),
    "in their order": (OSLO, "Oslo and Paris have −3.5 °C and 11.0 °C, respectively, so Oslo is colder."),
    "the difference": (OSLO, "Oslo is 14.5 degrees colder than Paris (-3.5 °C against 11.0 °C)."),
    "the opposite": (OSLO, "Paris is warmer: 11.0 °C compared to -3.5 °C in Oslo."),
    "below zero": (OSLO, "In Oslo it is colder: 3.5 °C below zero."),
    "between both": (OSLO, "Between Oslo and Paris, it is colder in Oslo."),
    "only the name": (OSLO, "Oslo."),
    "the name with both": (OSLO, "Oslo, at -3.5 °C versus 11.0 °C in Paris."),
    "German": (OSLO, "Oslo: -3,5 °C, Paris: 11,0 °C. In Oslo ist es kälter."),
    "German, denied": (OSLO, "In Paris ist es nicht kälter: dort sind es 11 Grad, in Oslo minus 3,5. Oslo ist kälter."),
    "French": (OSLO, "Oslo : -3,5 °C, Paris : 11,0 °C, donc il fait plus froid à Oslo."),
    "Spanish": (OSLO, "Oslo: -3,5 °C, París: 11,0 °C, así que hace más frío en Oslo."),
    "of three": (THREE, "Oslo: -3.5, Paris: 11.0, Dubai: 33.0, so Dubai is the warmest."),
    "of three, a pair": (THREE, "Dubai is the warmest at 33.0. Paris is warmer than Oslo."),
    "of three, at the end": (THREE, "The hottest city is Dubai."),
    "those that fit": (PRICES, "Tea: 4.20 €, Coffee: 25.00 €, Cake: 12.00 €. Under 20 €: Tea and Cake."),
    "those that fit, and not": (PRICES, "Tea (4.20 €) and cake (12 €) cost less than 20 €, coffee does not."),
    "those that fit, as a list": (PRICES, "These are under 20 €:\n1. Tea: 4.20 €\n2. Cake: 12.00 €"),
    "a sum": (TOTAL, "Tea: 4.20 €, Coffee: 25.00 €, Cake: 12.50 €; 4.20 + 25.00 + 12.50 = 41.70 €."),
    "a sum, French": (TOTAL, "En tout, cela fait 41,70 €."),
    "thousands": (PEOPLE, "Oslo: 709,000, Bergen: 290,000, so Oslo is larger."),
    "thousands, German": (PEOPLE, "Oslo: 709.000, Bergen: 290.000. Oslo ist größer."),
    "thousands, French": (PEOPLE, "Oslo est plus grande : 709 000 habitants, contre 290 000 à Bergen."),
    "people live there": (PEOPLE, "709,000 people live in Oslo and 290,000 in Bergen. Oslo is bigger."),
    "a record": (ORDER, "A-1042 was placed by Mia Lund on 3 May 2026, for 45.00."),
    "a record, American": (ORDER, "Order A-1042 is from Mia Lund (May 3, 2026)."),
    "a record, German": (ORDER, "A-1042 ist von Mia Lund, vom 3. Mai 2026."),
    "a record, Spanish": (ORDER, "A-1042 es de Mia Lund, del 3 de mayo de 2026."),
    "dates": (FIRST, "A-1042: 2026-05-03, A-1043: 2026-04-28, so A-1043 came first."),
    "equal": (TIE, "Rome: 18, Lima: 18, so both are equally warm."),
    "equal, German": (TIE, "Rome: 18, Lima: 18. Beide sind gleich warm."),
    "none": (NONE, "Tea: 4.20, Cake: 12.00, so none of them costs less than 3."),
    "none, French": (NONE, "Aucun ne coûte moins de 3."),
    "failed": (FAILED, "Oslo: -3.5. The value of Paris could not be read, so I can't compare them."),
    "failed, Spanish": (FAILED, "No se pudo obtener el dato de Paris."),
    "failed, answered with no": (FAILED, "No, the value of Paris is not known."),
    "failed, in one word": (FAILED, "No."),
    "no": (LIMIT, "F-07: -68.9 °C, so no, it is not at -70 °C or below."),
    "no, first": (LIMIT, "No. F-07 is at -68.9 °C, which is 1.1 degrees too warm."),
    "no, without the word": (LIMIT, "F-07 is at -68.9 and doesn't stay below -70."),
    "a count": (COUNT, "Open: A-1, A-2. That is 2."),
    "a count in words": (COUNT, "Two are open: A-1 and A-2."),
    "in order": (RANKED, "From coldest to warmest: Oslo (-3.5), Paris (11.0), Dubai (33.0)."),
    "a mean": (MEAN, "(12 + 7 + 30) / 3 = 49 / 3 = 16.3"),
}

WRONG: dict[str, tuple[Claims, str, str]] = {
    "the numbers swapped": (OSLO, "Paris is colder: -3.5 °C, against 11.0 °C in Oslo.", "is not that of"),
    "who is wrong": (OSLO, "Oslo: -3.5 °C, Paris: 11.0 °C, so Paris is colder.", "Paris is said to be cold"),
    "who is wrong, in": (OSLO, "It is colder in Paris.", "Paris is said to be cold"),
    "who is wrong, than": (OSLO, "Paris is colder than Oslo.", "than Oslo"),
    "the opposite is wrong": (OSLO, "Oslo is warmer.", "Oslo is said to be warm"),
    "an invented number": (OSLO, "Oslo is colder: -4.5 °C.", "-4.5 is not in the results"),
    "a lost sign": (OSLO, "Oslo is colder: 3.5 °C.", "3.5 is not in the results"),
    "another unit": (OSLO, "Oslo is colder: -3.5 °F.", "is not in °F"),
    "no conclusion": (OSLO, "Paris: 11.0 °C, Oslo: -3.5 °C.", "is not said to be"),
    "the order swapped": (OSLO, "Oslo and Paris have 11.0 °C and -3.5 °C, so Oslo is colder.", "is not that of"),
    "swapped after": (OSLO, "Oslo is colder, with 11.0 °C in Oslo and -3.5 °C in Paris.", "is not that of"),
    "German, swapped": (OSLO, "Paris: -3,5 °C, Oslo: 11,0 °C. In Paris ist es kälter.", "is not that of"),
    "German, wrong": (OSLO, "Oslo: -3,5 °C, Paris: 11,0 °C. In Paris ist es kälter.", "Paris is said to be"),
    "French, wrong": (OSLO, "Oslo : -3,5 °C, Paris : 11,0 °C, donc il fait plus froid à Paris.", "Paris is said to be"),
    "Spanish, wrong": (OSLO, "Oslo: -3,5 °C, París: 11,0 °C, así que hace más frío en París.", "Paris is said to be"),
    "of three": (THREE, "Paris is the warmest with 11.0.", "Paris is said to be"),
    "of three, a pair": (THREE, "Dubai is the hottest. Oslo is warmer than Paris.", "than Paris"),
    "one too many": (PRICES, "Tea, Coffee and Cake cost less than 20 €.", "those that fit"),
    "one too few": (PRICES, "Tea costs less than 20 €.", "those that fit"),
    "a wrong sum": (TOTAL, "4.20 + 25.00 + 12.50 = 42.70 €.", "42.70 is not in the results"),
    "no sum": (TOTAL, "Tea: 4.20 €, Coffee: 25.00 €, Cake: 12.50 €.", "41.7 is not said"),
    "thousands": (PEOPLE, "Bergen is larger: 709,000 against 290,000 in Oslo.", "is not that of"),
    "thousands, French": (PEOPLE, "Bergen est plus grande : 290 000 habitants.", "bergen is said|Bergen is said"),
    "another record": (ORDER, "A-1042 was placed by Tom Reyes.", "is not that of"),
    "another amount": (ORDER, "A-1042 is from Mia Lund, for 220.", "is not that of"),
    "a wrong date": (ORDER, "A-1042 is from Mia Lund, of 4 May 2026.", "is not in the results"),
    "dates": (FIRST, "A-1042: 2026-05-03, A-1043: 2026-04-28, so A-1042 came first.", "A-1042 is said to be"),
    "not equal": (TIE, "Rome is warmer.", "equal"),
    "equal, unsaid": (TIE, "Rome: 18, Lima: 18.", "equal"),
    "none": (NONE, "Tea costs less than 3.", "there is none"),
    "failed": (FAILED, "Oslo: -3.5, Paris: 11.0.", "11.0 is not in the results"),
    "failed, unsaid": (FAILED, "Oslo is at -3.5.", "something is not known"),
    "failed, made up": (FAILED, "No, Paris is lost.", "something is not known"),
    "yes": (LIMIT, "Yes, F-07 is at -68.9 °C.", "the answer is no"),
    "a count": (COUNT, "3 are open.", "3 is not in the results"),
    "in order": (RANKED, "Oslo (-3.5), Dubai (33.0), Paris (11.0).", "the order is not"),
    "a mean": (MEAN, "The mean is 17.3.", "17.3 is not in the results"),
    "nothing": (OSLO, " ", "nothing was said"),
}


@each_case("claims, text", RIGHT)
def test_right_sentences(claims: Claims, text: str):
    assert find_false_claim(text, claims) == ""


@each_case("claims, text, why", WRONG)
def test_wrong_sentences(claims: Claims, text: str, why: str):
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(find_false_claim(text, claims))


def test_an_answer_in_words_is_judged_by_its_claims():
    question = Question(id="q", category="compare", messages=(user("Which is colder?"),), tools=(), claims=OSLO)
    trial = Trial(suite=_suite(question), question=question, dialect="python")
    assert trial.judge(RecordedAnswer(id="", text="Oslo is colder.")).verdict.right
    assert trial.judge(RecordedAnswer(id="", text="Paris is colder.")).verdict.why == "Paris is said to be colder"


def _suite(question: Question) -> Suite:
    return _build_suite("hand", [question])


@each_case("value", [[], {"free": []}, {"things": {}, "winer": []}, {"things": {"Oslo": [1]}, "winner": ["Paris"]}])
def test_claims_that_mean_nothing_are_refused(value: object):
    with pytest.raises(UsageError, match="line 1: 'claims'"):
        parse_claims(value, "line 1")
