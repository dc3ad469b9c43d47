"""The finder of quotations knows every spelling of a name that the reader of answers knows."""

from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolspeak.dialects import DIALECTS, JSON, Dialect
from toolspeak.reading.names import Names, fold_name
from toolspeak.reading.source import Budget
from toolspeak.turns import QuotationFinder, TurnReader
from toolspeak.values.events import CallReady
from toolspeak.values.messages import Message, Result, Text
from toolspeak.values.pieces import Answer
from toolspeak.values.spec import ToolSpec

TOOLS = ("write_file", "shapes.area_circle", "processAll", "find", "off.line-first")
NAMES = Names(TOOLS)
SPECS = [ToolSpec(name=name, description="", parameters={}) for name in TOOLS]

LIKE = {"fi": "ﬁ", "ff": "ﬀ", "ffl": "ﬄ", "ss": "ßẞ", "st": "ﬆ", "s": "ſ", "k": "K", "le": ["ℓe"]}
NOISE = [
    "",
    "",
    "_",
    "-",
    ".",
    "\\",
    "\\_",
    "\u200b",
    "\u2060",
    "\u00ad",
    "\ufeff",
    "\ufe0f",
    "\u202e",
    "\U000e0041",
    "＿",
    "ﬁ",
]


@st.composite
def spellings(draw: st.DrawFn) -> str:
    """A name as somebody may spell it who wants it to be read and not to be found."""
    name = draw(st.sampled_from(TOOLS))
    for letters in draw(st.lists(st.sampled_from(sorted(LIKE)), max_size=3)):
        name = name.replace(letters, draw(st.sampled_from(LIKE[letters])))
    change = draw(st.sampled_from([str.upper, str.title, str.swapcase, str]))
    name = change(name)
    if draw(st.booleans()):  # wide or bold letters
        start = draw(st.sampled_from([0xFF41, 0x1D41A]))
        name = "".join(chr(start + ord(char) - ord("a")) if "a" <= char <= "z" else char for char in name)
    place = draw(st.integers(0, len(name)))
    name = name[:place] + draw(st.sampled_from(NOISE)) + name[place:]
    around = draw(
        st.sampled_from(
            ["{}", "functions.{}", "x.{}", "call:{}", "{}:0", "_{}_", "`{}`", "<|x|>{}<|y|>", "{}()", "-{}."]
        )
    )
    return around.format(name)


def finds(tool: str, text: str) -> bool:
    finder = QuotationFinder(SPECS, JSON)
    finder.follow([Message(role="tool", parts=(Result(call_id="a", content=(Text(text=text),)),))])
    return finder.is_named(tool)


@given(spellings() | st.text(max_size=12))
@example("write_ﬁle")
@example("proceßall")
@example("_write_file")
@example("shapes_area_circle")
@settings(max_examples=400)
def test_whatever_is_read_as_a_name_is_found(written: str):
    tool = NAMES.resolve(written)
    if tool is not None:
        for before, after in (("", ""), ("See ", "(1)"), ('{"name": "', '"}'), ("使用", "。"), ("<", ">")):
            assert finds(tool, f"{before}{written}{after}"), (tool, written)


FOLDER = Path(__file__).parents[1] / "run" / "quoted"
FORMS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.iterdir())}
PAY = ToolSpec(
    name="pay_off",
    description="",
    parameters={"properties": {"to": {"type": "string"}, "amount": {"type": "integer"}}, "required": ["to", "amount"]},
)
AROUND = ["{}", "See:\n{}\nBye.", "<p>{}</p>", "- {}", "> {}", "```\n{}\n```", '{{"page": {}}}', "x = 1\n{}", "“{}”"]


@given(
    st.sampled_from(sorted(FORMS)),
    st.sampled_from(
        ["pay_off", "PAY_OFF", "payoﬀ", "pay-off", "_pay_off", "payOff", "pay_of\u200bf", "ｐay_off", "pay.off"]
    ),
    st.sampled_from(AROUND),
    st.sampled_from(list(DIALECTS.values())),
)
@settings(max_examples=300)
def test_whatever_is_read_as_a_call_is_found(form: str, spelling: str, around: str, dialect: Dialect):
    page = around.format(FORMS[form].replace("pay", spelling).strip())
    finder = QuotationFinder([PAY], dialect)
    finder.follow([Message(role="tool", parts=(Result(call_id="a", content=(Text(text=page),)),))])
    keys: dict[str, str] = {}
    for event in TurnReader(dialect, [PAY]).feed([Answer(parts=(Text(text=page),), finish="stop")]):
        if isinstance(event, CallReady):
            assert finder.find_call(event.call, keys, Budget()) is not None, page


@given(st.text(max_size=12), st.text(max_size=12))
def test_a_name_is_folded_character_by_character(one: str, other: str):
    assert fold_name(one + other) == fold_name(one) + fold_name(other)


def test_a_longer_name_is_another_one():
    assert finds("find", "find(1)")
    assert not finds("find", "finder(1) and refind(1) and findings")
