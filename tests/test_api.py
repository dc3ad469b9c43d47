"""Breaks of public names are found (`scripts/api.py`), however they come about, and only those."""

import importlib.util
import sys
from pathlib import Path

import pytest

from tests.cases import each_case

ROOT = Path(__file__).parent.parent
SPEC = importlib.util.spec_from_file_location("api", ROOT / "scripts" / "api.py")
assert SPEC is not None
assert SPEC.loader is not None
api = importlib.util.module_from_spec(SPEC)
sys.modules["api"] = api
SPEC.loader.exec_module(api)


@pytest.fixture(scope="module")
def today() -> str:
    return api.describe()


def test_today_breaks_nothing_that_is_not_listed(today: str) -> None:
    breaks = api.find_breaks(api.load_released()[0], today)
    assert sorted(api.report(breaks, api.read_allowed(api.ALLOWED.read_text()))) == []


def test_the_same_names_break_nothing(today: str) -> None:
    assert len(api.split_modules(today)["toolspeak"]) > 5000
    assert api.find_breaks(today, today) == {}


PLANTED = {
    "a name that is gone": ("\ndef image(", "\ndef picture(", "toolspeak.image", "removed"),
    "a method that is gone": ("    def as_handoff(", "    def as_hand(", "toolspeak.Agent.as_handoff", "removed"),
    "an attribute that is gone": ("    idempotency_key: ", "    key: ", "toolspeak.Context.idempotency_key", "removed"),
    "a parameter that is renamed": (
        "report_progress(self, done,",
        "report_progress(self, finished,",
        "toolspeak.Context.report_progress",
        "finished",
    ),
    "a parameter that became required": (
        "seconds=0.0, *, minutes",
        "seconds, *, minutes",
        "toolspeak.Context.sleep",
        "",
    ),
    "an option of a run that is gone": (
        "model=..., approve=..., data",
        "model=..., data",
        "toolspeak.Agent.aresume",
        "approve",
    ),
    "a field of a value that is gone": ("turns=10, calls=None", "calls=None", "toolspeak.Limits.__init__", "turns"),
    "a default that changed": ("turns=10, ", "turns=11, ", "toolspeak.Limits.__init__", "turns"),
    "an error that is caught no more": (
        "class RateLimited(ModelError, ",
        "class RateLimited(OutputMissing, ",
        "toolspeak.RateLimited",
        "it is no ModelError any more",
    ),
    "an async function that became another": (
        "    async def arun(self, prompt=None",
        "    arun: object\n    async def other(self, prompt=None",
        "toolspeak.Agent.arun",
        "",
    ),
}


@each_case("before, after, path, words", PLANTED)
def test_a_planted_break_is_caught(before: str, after: str, path: str, words: str, today: str) -> None:
    assert before in today
    breaks = api.find_breaks(today, today.replace(before, after, 1))
    assert path in {each.partition("(")[0] for each in breaks}
    assert words in breaks[path]
    assert list(api.report(breaks, {}))


def test_additions_break_nothing(today: str) -> None:
    more = today.replace("class Context:\n", "class Context:\n    more: object\n", 1)
    more = more.replace("idempotency_key: object", "idempotency_key: object\n    def new(self): ...", 1)
    more = more.replace("depth=3, ", "depth=3, newer=None, ", 1)
    assert more.count("\n") == today.count("\n") + 2
    assert api.find_breaks(today, f"{more}\n# module toolspeak.more\nclass New: ...\n") == {}


def test_what_was_deprecated_in_the_last_release_may_go(today: str) -> None:
    old = today.replace("    def as_handoff(", "    @deprecated\n    def as_handoff(", 1)
    assert api.find_breaks(old, today.replace("    def as_handoff(", "    def as_hand(", 1)) == {}


def test_a_break_that_is_meant_has_a_reason_and_is_real() -> None:
    breaks = {"toolspeak.image": "removed"}
    assert list(api.report(breaks, api.read_allowed("# why\n\ntoolspeak.image: nobody used it\n"))) == []
    with pytest.raises(ValueError, match="has no reason"):
        api.read_allowed("toolspeak.image:\n")
    [line, other] = sorted(api.report(breaks, {"toolspeak.images": "a slip"}))
    assert line == "api-breaks.txt allows toolspeak.images, which does not break; did you mean toolspeak.image?"
    assert other == "toolspeak.image: removed"


def test_deprecated_names_are_marked_in_the_description() -> None:
    from typing_extensions import deprecated

    @deprecated("use other")
    def old(number: int = 1) -> None: ...

    assert api.describe_value("old", old) == ["@deprecated", "def old(number=1): ..."]
