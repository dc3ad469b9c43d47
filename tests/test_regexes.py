"""`scripts/regexes.py` finds regular expressions that backtrack over one text in many ways, and no others."""

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import each_case

ROOT = Path(__file__).resolve().parents[1]
SPEC = importlib.util.spec_from_file_location("regexes", ROOT / "scripts" / "regexes.py")
assert SPEC
assert SPEC.loader
regexes = importlib.util.module_from_spec(SPEC)
sys.modules["regexes"] = regexes  # a dataclass looks its module up
SPEC.loader.exec_module(regexes)

DOUBLES, SQUARE, SEARCH = "doubles with each repetition", "grows with the square", regexes.SEARCH_IS_SLOW

SLOW = {
    "nested": (r"(?:\w+)+;", 0, "match", DOUBLES),
    "nested, with a blank": (r"(?:\w+\s?)*;", 0, "match", DOUBLES),
    "alternatives that overlap": (r"(?:ab|\w)*;", 0, "match", DOUBLES),
    "a bounded repeat in an endless one": (r"(?:\w{1,8})*;", 0, "match", DOUBLES),
    "nothing in an endless one": (r"(?:a*b*)*;", 0, "match", DOUBLES),
    "only to the end": (r"(?:\w+)+", 0, "fullmatch", DOUBLES),
    "neighbours": (r"\s*\s*=", 0, "match", SQUARE),
    "neighbours with a word between": (r"^\s*(?:const|let)?\s*(\w+)=", re.M, "match", SQUARE),
    "neighbours of different sets": (r"[\w.]+\w+;", 0, "match", SQUARE),
    "neighbours without case": (r"[a-z]*[A-Z]*;", re.I, "match", SQUARE),
    "any text twice": (r".*,.*;", 0, "match", SQUARE),
    "before the end": (r"[^>\n]*\s*", 0, "fullmatch", SQUARE),
    "in an assertion": (r"a(?=\s*\s*;)", 0, "match", SQUARE),
    "a search": (r"<[^>]*>", 0, "search", SEARCH),
    "a search for blanks at the end": (r"\s+$", 0, "sub", SEARCH),
    "a search for a word and a sign": (r"\w+:", 0, "finditer", SEARCH),
    "a search over lines": (r"^\s*=", re.M, "findall", SEARCH),
    "a search that looks ahead": (r"(?=[a-z_]*\d)[a-z_\d]{20}", 0, "search", SEARCH),
    "a large bound": (r"<[^>]{0,5000}>", 0, "search", SEARCH),
}

SOUND = {
    "possessive": (r"\s*+\s*=", 0, "match"),
    "possessive in an endless one": (r"(?:[^\"\\]++|\\.)*;", 0, "match"),
    "sets that differ": (r"\w+\s*=\s*\d+;", 0, "match"),
    "a sign between": (r"(?:\w+,)*;", 0, "match"),
    "small bounds": (r"\w{1,8}\w{1,8};", 0, "match"),
    "what always matches": (r"\s*\s*", 0, "match"),
    "a search that always matches": (r"\w+", 0, "findall"),
    "a search from where a run begins": (r"(?<!\w)\w++:", 0, "search"),
    "a search from the boundary of a word": (r"\b\w++:", 0, "search"),
    "a search within a line": (r"^[ \t]*+=", re.M, "search"),
    "a search from the beginning": (r"\A\s*+=", 0, "search"),
    "a search that stops at the next": (r"<[^<>]*>", 0, "search"),
    "a loop that has matched": (r"(?:ab)+", 0, "search"),
    "a match": (r"<[^>]*>", 0, "match"),
    "a loop of alternatives": (r"(?:[ \t>]|\d{1,3}[.)])*;", 0, "match"),
}


@each_case("pattern, flags, use, kind", SLOW)
def test_an_expression_that_takes_long_is_found(pattern: str, flags: int, use: str, kind: str):
    findings = regexes.check(pattern, flags, [use])
    assert kind in {finding.kind for finding in findings}
    assert all(finding.pump for finding in findings)


@each_case("pattern, flags, use", SOUND)
def test_an_expression_that_takes_linear_time_is_not_found(pattern: str, flags: int, use: str):
    assert regexes.check(pattern, flags, [use]) == []


FILE = r"""
import re
SIGN = "="
NAME = re.compile(rf"\s*(\w+)\s*\s*{SIGN}")
WHOLE = re.compile(r"[ab]*b")
BY_QUOTE = {quote: re.compile(rf"<{quote}[^>]*>") for quote in "ab"}

def find(text, own):
    pattern = BY_QUOTE["a"] if own else NAME
    re.sub(r"\s+$", "", text)
    re.match(r"\s+", text)
    return pattern.search(text) or all(map(WHOLE.fullmatch, text))
"""


def test_expressions_of_a_file_are_found_with_their_lines_and_the_ways_they_are_used(tmp_path, monkeypatch):
    package = tmp_path / "src" / "sampled_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "sample.py").write_text(FILE)
    monkeypatch.syspath_prepend(str(package.parent))
    tree = ast.parse(FILE)
    uses = regexes.find_uses([tree])
    assert (uses["NAME"], uses["BY_QUOTE"], uses["WHOLE"]) == ({"search"}, {"search"}, {"fullmatch"})
    found = regexes.find_expressions(package / "sample.py", tree, root=tmp_path)
    lines = {each.line: (each.name, each.method, each.pattern) for each in found}
    assert lines == {
        4: ("NAME", "compile", r"\s*(\w+)\s*\s*="),
        5: ("WHOLE", "compile", "[ab]*b"),
        6: ("BY_QUOTE", "compile", f"<{regexes.UNKNOWN}[^>]*>"),
        10: ("", "sub", r"\s+$"),
        11: ("", "match", r"\s+"),
    }
    bad = [
        line for line, (name, method, pattern) in lines.items() if regexes.check(pattern, 0, uses.get(name) or {method})
    ]
    assert bad == [4, 6, 10]


ATOMS = ["a", "b", "[ab]", r"\w", ".", " "]
atoms = st.sampled_from(ATOMS)
patterns = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds("(?:{}{})".format, inner, inner),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("(?:{}){}".format, inner, st.sampled_from(["*", "+", "?", "*+", "{0,3}"])),
    ),
    max_leaves=5,
)


@settings(max_examples=100, deadline=None)
@given(patterns, st.sampled_from(["match", "fullmatch", "search"]))
def test_any_expression_can_be_checked(pattern: str, use: str):
    regexes.check(f"{pattern};", 0, [use])


@pytest.mark.parametrize("name", sorted(regexes.ALLOWED))
def test_what_is_allowed_has_a_reason_and_a_file(name: str):
    assert len(regexes.ALLOWED[name]) > 20
    assert (regexes.PACKAGE / name.partition(":")[0]).is_file()
