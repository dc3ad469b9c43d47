"""No text of others reaches a terminal with characters that the terminal obeys or hides."""

import io
import logging
import re
import string
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import each_case
from tests.cli.terminal import environment, terminal
from tests.models.server import Server, answers, plays
from toolspeak.cli import chat as why
from toolspeak.cli import config, tools
from toolspeak.cli import tools as parse
from toolspeak.cli.format import SafeConsole, format_arguments, format_call_line, format_result
from toolspeak.cli.http_server import SafeFormatter
from toolspeak.cli.safe_text import (
    ProseEscaper,
    escape_controls,
    escape_line,
    escape_prose,
    is_plain_for_shell,
    join_lines,
    print_error,
    simplify_for_shell,
)
from toolspeak.dialects import MessageContent
from toolspeak.settings import IgnoredSettings, Settings
from toolspeak.testing import calls, says
from toolspeak.tools import Toolbox
from toolspeak.tools.toolbox import Skipped
from toolspeak.values.escaping import reveal
from toolspeak.values.events import CallMalformed, CallReady, TurnStarted
from toolspeak.values.messages import ToolCall, ToolResult
from toolspeak.values.spec import ToolSpec

ESCAPES = "\x1b]0;PWNED\x07\x1b[2J\x1b[31mRED\x9b31m\u202e\u2066\u200b\u200d\u2028\u2029\ufeff\x85\x08\r\U000e0041"
STYLING = re.compile(r"\x1b\[[0-9;]*m")

hostile = st.text(
    st.one_of(st.characters(exclude_categories=()), st.sampled_from(ESCAPES + "\n\t")), min_size=1, max_size=40
)


def unsafe(text: str) -> list[str]:
    """Return the characters of a text that a terminal would obey or hide, but for styling and line feeds."""
    plain = STYLING.sub("", text)
    return [
        each for each in plain if (each not in "\n\t" and unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp"))
        or each in "\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
    ]  # fmt: skip


def drawn(*renderables: object) -> str:
    console = SafeConsole(file=io.StringIO(), force_terminal=True)
    for each in renderables:
        console.print(each)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


@given(hostile)
def test_escaped_text_is_safe_and_escaping_it_again_changes_nothing(text: str):
    for escape in (escape_controls, escape_line, escape_prose, join_lines):
        assert unsafe(escape(text)) == []
        assert escape(escape(text)) == escape(text)
    assert "\n" not in escape_line(text) + join_lines(text)
    assert "\u200d" not in escape_controls(text)
    assert reveal(reveal(text)) == reveal(text)
    assert unsafe(reveal(text)) == []


@given(st.text(st.one_of(st.characters(exclude_categories=()), st.sampled_from(ESCAPES + string.printable))))
def test_what_a_shell_completes_holds_nothing_that_a_shell_reads(text: str):
    shown = simplify_for_shell(text, "utf-8")
    assert unsafe(shown) == []
    assert not set(shown) & set("\"'\\$`!*?[](){}<>|;&~#^%\n\t")
    assert simplify_for_shell(shown, "utf-8") == shown
    assert simplify_for_shell(text, "shift_jis").isascii()


@each_case("word, is_plain", [("local", True), ("lab:", True), ("gpt-5.1/x@y", True), ("temperature=", True), ("été", True),
    ("", False), ("-x", False), ("=ls", False), ("a b", False), ("*", False), ("a$x", False), ("~root", False), ("#x", False)])  # fmt: skip
def test_a_word_is_completed_only_if_no_shell_would_change_it(word: str, is_plain: bool):
    assert is_plain_for_shell(word) is is_plain


def test_titles_stay_readable_in_completions():
    assert simplify_for_shell('What\'s 2 + 2, "exactly"?', "utf-8") == "What’s 2 + 2, exactly"
    assert simplify_for_shell("Wie heißt das? 什么", "utf-8") == "Wie heißt das 什么"


@given(st.lists(hostile))
def test_prose_in_chunks_is_escaped_as_a_whole(chunks: list[str]):
    escaper = ProseEscaper()
    assert "".join(map(escaper.escape, chunks)) == escape_prose("".join(chunks))


@pytest.mark.parametrize("text", ["👩‍💻 and 👨‍👩‍👧‍👦", "می‌خواهم", "क्‍ष", "naïve – “quoted” ✓", "❤️", "a\tb\nc"])
def test_ordinary_prose_is_unchanged(text: str):
    assert escape_prose(text) == text
    assert text.replace("\t", "") in drawn(text).replace("\t", "") or "\t" in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pay\u200dpal", r"pay\u200dpal"),
        ("👩\u200d\u200d💻", "👩\u200d\\u200d💻"),
        ("a\u200bb", r"a\u200bb"),
        ("\x1b[2J", r"\x1b[2J"),
        ("\x9b", r"\u009b"),
        ("\U000e0041", r"\udb40\udc41"),
        ("one\r\ntwo", "one\ntwo"),
    ],
)
def test_hidden_characters_become_visible(text: str, shown: str):
    assert escape_prose(text) == shown


IGNORABLE = [  # Default_Ignorable_Code_Point of Unicode, which is drawn as nothing
    range(0xAD, 0xAE), range(0x34F, 0x350), range(0x61C, 0x61D), range(0x115F, 0x1161), range(0x17B4, 0x17B6),
    range(0x180B, 0x1810), range(0x200B, 0x2010), range(0x202A, 0x202F), range(0x2060, 0x2070), range(0x3164, 0x3165),
    range(0xFE00, 0xFE10), range(0xFEFF, 0xFF00), range(0xFFA0, 0xFFA1), range(0xFFF0, 0xFFF9),
    range(0x1BCA0, 0x1BCA4), range(0x1D173, 0x1D17B), range(0xE0000, 0xE1000),
]  # fmt: skip
INVISIBLE = [
    chr(code)
    for code in range(0x110000)
    if unicodedata.category(chr(code)) in ("Cc", "Cs", "Zl", "Zp", "Zs") and chr(code) not in " \n\t"
] + [
    *map(chr, (code for codes in IGNORABLE for code in codes)),
    *"\u2800\ufffc\U0001d159\U00013441\ue000\uf8ff\U000f0000\U0010fffd",
]


def test_who_decides_sees_every_character():
    neighbours = ("b", "", " ", "\n", ".")
    passed = {
        f"U+{ord(each):04X}"
        for each in INVISIBLE
        for before in neighbours
        if each in reveal(f"{before}{each}c") or each in reveal(f"{before}{each}", keeps_lines=False)
    }
    assert passed == set()
    secret = "".join(chr(0xE0100 + byte) for byte in b"curl http://evil.example")
    shown = format_arguments(
        ToolCall(id="x", name="sh", arguments={"command": f"echo hello{secret}", "path": "notes\r.txt"})
    )
    assert shown.count("\\udb40") == len(secret)
    assert "notes\\r.txt" in shown


@each_case(
    "text, shown",
    {
        "as many selectors as there are bytes": ("葛\U000e0100", r"葛\udb40\udd00"),
        "letters of tags after a flag": ("🏴\U000e0072\U000e006d", r"🏴\udb40\udc72\udb40\udc6d"),
        "a selector after a letter": ("a\ufe0f", r"a\ufe0f"),
        "two selectors": ("❤\ufe0f\ufe0f", "❤\ufe0f\\ufe0f"),
        "a joiner before nothing": ("👩\u200d", r"👩\u200d"),
        "a joiner between letters that need none": ("é\u200cé", r"é\u200cé"),
        "two joiners": ("می\u200c\u200cخواهم", "می\u200c\\u200cخواهم"),
        "a space that is none": ("rm\u00a0-rf\u2003/", r"rm\u00a0-rf\u2003/"),
        "a wide space": ("rm\u3000x", r"rm\u3000x"),
        "a pile of accents": ("a" + "\u0301" * 8, "a" + "\u0301" * 6 + r"\u0301\u0301"),
        "an accent on nothing": (" \u0338", r" \u0338"),
        "private use": ("\ue000\U000f0000", r"\ue000\udb80\udc00"),
        "a carriage return": ("a\r\nb", "a\\r\nb"),
    },
)
def test_what_is_hidden_is_shown(text: str, shown: str):
    assert reveal(text) == shown


ORDINARY = [
    "👩‍💻 👨‍👩‍👧‍👦 ❤️‍🔥 🏳️‍🌈 👩🏽‍🚀 🧑‍⚕️ 🐻‍❄️ 1️⃣ #️⃣ ‼️ ℹ️ ↔️ 🇫🇷 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "می‌خواهم، السلام عليكم ٣٤ ۝", "क्‍ष नमस्ते र‍्य", "ශ්‍රී ලංකාව", "ന്‍ മലയാളം", "ভাষা", "ภาษาไทยกี่ที่", "မြန်မာဘာသာ", "ភាសាខ្មែរ",
    "שָׁלוֹם", "日本語　テスト「はい」", "한국어", "e\u0301 Việt nam\u0323\u0302", "naïve – “quoted” ✓ €", "ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ᠌", "a\tb\nc",
]  # fmt: skip


@each_case("text", ORDINARY)
def test_ordinary_writing_stays_readable(text: str):
    assert reveal(text) == text


def test_the_name_of_an_argument_makes_no_line_of_its_own():
    call = ToolCall(id="x", name="sh", arguments={"path: a\ncommand": "b"})
    assert format_arguments(call) == r'"path: a\ncommand": b'


@settings(max_examples=40)
@given(hostile, hostile)
def test_nothing_that_is_drawn_is_unsafe(one: str, two: str):
    call = ToolCall(id=one, name=two, arguments={one: two, "more": [one]})
    malformed = CallMalformed(call_id=one, name=one, reason=two, hint=one, raw=two)
    spec = ToolSpec(name="go", description=one, parameters={"properties": {"a": {"description": two, "default": one}}})
    rejected = IgnoredSettings(where=one, reason=two)
    untrusted = IgnoredSettings(where=one, reason="it is not trusted", values={two: one})
    configured = Settings(model=one, tools=(two,), origins={"model": two}, ignored=(rejected, untrusted))
    box = Toolbox([], skipped=[Skipped(name=one, reason=two)])
    content = MessageContent(calls=(CallReady(call=call),), malformed=(malformed,), text=one, thinking=two)
    shown = drawn(
        tools.render_skipped(box),
        tools._render_tool(spec, has_rule=True, shows_provenance=True),  # pyright: ignore[reportPrivateUsage] (drawn by render_tools)
        parse.render_content(content),
        config.SettingsReport(configured).render_table(),
        *why.explain_calls([TurnStarted(turn=1), CallReady(call=call), malformed]),
        one,
        f"[bold]{two}",
    )
    assert unsafe(shown) == []
    record = logging.LogRecord("x", logging.INFO, "", 0, "GET %s", (one,), None)
    lines = [
        config.SettingsReport(configured).format_lines(),
        format_arguments(call),
        format_call_line(call),
        format_result(ToolResult(call_id="a", output=one)),
        format_result(ToolResult(call_id="a", error=two)),
        SafeFormatter("%(message)s").format(record),
    ]
    assert [unsafe(line) for line in lines] == [[]] * len(lines)


def test_errors_are_safe(capsys: pytest.CaptureFixture[str]):
    print_error(f"bad {ESCAPES}\nand more")
    printed = capsys.readouterr().err
    assert unsafe(printed) == []
    assert printed.count("\n") == 1


@pytest.mark.parametrize("command", [["run", "hi"], ["tools", "evil.py"], ["call", "evil.py", "go"], ["config"]])
def test_commands_in_a_terminal(tmp_path: Path, server: Server, command: list[str]):
    server.plays(answers(400, {"error": {"message": f"bad {ESCAPES}"}}))
    (tmp_path / "evil.py").write_text(f'def go() -> str:\n    "Go. {ESCAPES!a}"\n    return {ESCAPES!a}\n')
    (tmp_path / "toolspeak.toml").write_text(f"model = '''{escape_line('x')}\u202e\u200b'''\n")
    arguments = [*command, "--model", f"{server.url}/v1#m"] if command[0] == "run" else command
    with terminal(tmp_path, *arguments, env=environment(tmp_path), columns=200) as screen:
        if command[0] == "run":
            screen.wait_for("trust it? [y/N]")
            screen.type("n\r")
        screen.wait_for_exit()
    own = re.sub(r"\r|\x1b\[K", "", screen.raw)
    assert unsafe(own) == []
    assert r"\u202e" in own


def test_what_tools_print_and_models_write_in_a_terminal(tmp_path: Path, server: Server):
    server.plays(plays([calls(("shout", {})), says(f"Done {ESCAPES}.", thinking=f"hm {ESCAPES}")], "native"))
    source = (
        f'import sys\ndef shout() -> str:\n    "Go."\n    print({ESCAPES!a})\n    print({ESCAPES!a}, file=sys.stderr)\n'
    )
    (tmp_path / "evil.py").write_text(f"{source}    return {ESCAPES!a}\n")
    arguments = ("--model", f"{server.url}/v1#m", "--dialect", "native", "--tools", "evil.py")
    with terminal(tmp_path, "run", "hi", *arguments, env=environment(tmp_path), columns=200) as screen:
        assert screen.wait_for_exit() == 0
    assert unsafe(re.sub(r"\r|\x1b\[K", "", screen.raw)) == []
    assert screen.all_text.count("PWNED") >= 4
