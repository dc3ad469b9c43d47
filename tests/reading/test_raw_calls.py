"""A raw text in a block with the name of its tool arrives as it was written, whatever it holds and however it is cut."""

import json
import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.cases import each_case, sample
from toolspeak.dialects import JSON, PYTHON, TYPESCRIPT, explain, fold
from toolspeak.dialects.leak_reader import LeakReader
from toolspeak.reading.emitter import is_placeholder
from toolspeak.reading.names import has_raw_form
from toolspeak.reading.reader import Reader
from toolspeak.values.messages import Call, Message, Text, ToolCall
from toolspeak.values.spec import ToolSpec

from .corpus import at_least, comparable, cut, pieces, read_events, soups

PATCH = ToolSpec(
    name="apply_patch",
    description="Apply a patch.",
    parameters={"type": "object", "properties": {"patch": {"type": "string"}}, "required": ["patch"]},
    raw="patch",
)
NOW = ToolSpec(name="now", description="The time.", parameters={"type": "object", "properties": {}})
TOOLS = [PATCH, NOW]
TEXT_DIALECTS = [JSON, TYPESCRIPT, PYTHON]

FRAGMENT = r"""*** Begin Patch
*** Update File: docs/übung – 東京.md
@@ def main() -> "None":
-    print("it's \"quoted\"", 'a\\b', "\u00e9", `tick`)
+    print('''three''', \"""three\""")
 ```python
```python
``
~~~
~~~~text
	```
    ```
``` # not alone
<tool_call>{"name": "now", "arguments": {}}</tool_call>
</think><|im_end|>[TOOL_CALLS]

now()
{"name": "apply_patch", "arguments": {"patch": "…"}}
&lt;b&gt; ${x} %s {y} \n \t \\
 trailing blanks  """
LONG_PATCH = (
    "\n".join(f"{line}{number % 7 or ''}" for number in range(16) for line in FRAGMENT.split("\n")) + "\r\n\n\n"
)


def fence_for(text: str, char: str = "`") -> str:
    longest = max((len(line) for line in text.split("\n") if line and set(line) == {char}), default=0)
    return char * max(3, longest + 1)


def speak(text: str, char: str = "`") -> str:
    fence = fence_for(text, char)
    return f"{fence}apply_patch\n{text}\n{fence}"


def called_texts(events) -> list[str]:
    return [ready.call.arguments["patch"] for ready in fold(events).calls if ready.call.name == "apply_patch"]


def kinds(events) -> list[str]:
    return [event.kind for event in events]


# A long patch


@pytest.mark.parametrize("char", ["`", "~"])
@pytest.mark.parametrize("dialect", TEXT_DIALECTS, ids=lambda dialect: dialect.name)
def test_a_long_patch_arrives_as_it_was_written_in_any_chunks(dialect, char):
    assert LONG_PATCH.count("\n") >= 300
    message = f"I change it.\n{speak(LONG_PATCH, char)}\nDone."
    draw = random.Random(7)
    chunkings = [[message], list(message)]
    chunkings += [cut(message, [draw.randrange(len(message)) for _ in range(count)]) for count in (5, 50, 500)]
    for chunks in chunkings:
        parser = dialect.parser(TOOLS)
        content = fold([event for chunk in chunks for event in parser.feed(chunk)] + parser.close())
        assert [ready.call.arguments for ready in content.calls] == [{"patch": LONG_PATCH}]
        assert (content.text.split(), content.malformed) == (["I", "change", "it.", "Done."], ())
        assert content.calls[0].repair == "none"


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_a_patch_that_is_cut_at_any_line_is_no_call(finish):
    lines = speak(LONG_PATCH).split("\n")
    for count in sample(range(1, len(lines)), 40):
        for end in ("", "\n"):
            content = fold(read_events(TOOLS, ["\n".join(lines[:count]) + end], finish))
            assert content.calls == ()
            assert [malformed.name for malformed in content.malformed] == ["apply_patch"]


def test_a_fence_that_a_limit_cut_off_may_have_gone_on():
    text = "```apply_patch\nsee\n```"
    assert called_texts(read_events(TOOLS, [text])) == ["see"]
    assert called_texts(read_events(TOOLS, [text], "length")) == []
    assert called_texts(read_events(TOOLS, [text + "\n"], "length")) == ["see"]
    assert called_texts(read_events(TOOLS, [text + "python\n```"])) == ["see\n```python"]


# Any text

LINES = st.sampled_from(["```", "````", "~~~", " ```", "``` ", "```x", "``", "", "\r", "`", "\\", '"', "now()"])
raw_texts = (
    st.lists(LINES | st.text(max_size=5), max_size=12).map("\n".join)
    | st.lists(LINES, max_size=12).map("\r\n".join)
    | soups
    | st.text(max_size=60)
).filter(lambda text: not is_placeholder(text, "patch"))


@pytest.mark.parametrize("dialect", TEXT_DIALECTS, ids=lambda dialect: dialect.name)
@settings(max_examples=at_least(500))
@given(raw_texts, raw_texts, pieces)
@example("", "\n", [])
@example("```", "\r", [])
@example("a\n```\n", "\r\n", [])
def test_any_text_survives_being_shown_in_the_history_and_read(dialect, one, other, places):
    said = [
        ToolCall(id="call_1", name="apply_patch", arguments={"patch": one}),
        ToolCall(id="call_2", name="now", arguments={}),
        ToolCall(id="call_3", name="apply_patch", arguments={"patch": other}),
    ]
    message = Message(role="assistant", parts=(Text(text="So:"), *(Call(call=call) for call in said)))
    shown = dialect.render(TOOLS, [message]).messages[-1].text
    assert shown.count("apply_patch\n") >= 2
    parser = dialect.parser(TOOLS)
    content = fold([event for chunk in cut(shown, places) for event in parser.feed(chunk)] + parser.close())
    assert [ready.call for ready in content.calls] == said
    assert content.text.strip() == "So:"
    assert {ready.repair for ready in content.calls} == {"none"}


@settings(max_examples=at_least(500))
@given(
    st.lists(
        st.sampled_from(["```apply_patch", "~~~~apply_patch", "\n", "\r\n", "\r", "`", "```", "~~~", "~~~~", " ", "x"])
        | soups,
        max_size=25,
    ).map("".join),
    pieces,
)
def test_any_chunking_of_blocks_gives_the_same(text, places):
    whole = comparable(fold(read_events(TOOLS, [text])))
    assert comparable(fold(read_events(TOOLS, cut(text, places)))) == whole
    assert comparable(fold(read_events(TOOLS, list(text)))) == whole
    said: dict[str, str] = {}
    for event in read_events(TOOLS, cut(text, places)):
        if event.kind == "args_delta":
            said[event.call_id] = said.get(event.call_id, "") + event.text
        elif event.kind == "call_ready":
            assert json.loads(said[event.call.id]) == event.call.arguments


# Where a block opens and ends


@each_case(
    "text, expected",
    {
        "plain": ("```apply_patch\na\n```\n", ["a"]),
        "no line at all": ("```apply_patch\n```", [""]),
        "one blank line": ("```apply_patch\n\n```", [""]),
        "two blank lines": ("```apply_patch\n\n\n```", ["\n"]),
        "blanks around the label": ("``` apply_patch \na\n```", ["a"]),
        "a longer fence closes": ("```apply_patch\na\n`````\n", ["a"]),
        "a shorter fence is text": ("````apply_patch\n```\n````", ["```"]),
        "an indented fence is text": ("```apply_patch\n ```\n```", [" ```"]),
        "a fence with a blank after it is text": ("```apply_patch\n``` \n```", ["``` "]),
        "other marks are text": ("```apply_patch\n~~~\n```", ["~~~"]),
        "tildes": ("~~~apply_patch\n```\n~~~", ["```"]),
        "the message has CRLF": ("```apply_patch\r\na\r\nb\r\n```\r\n", ["a\r\nb"]),
        "the text has CRLF": ("```apply_patch\na\r\nb\r\n```\n", ["a\r\nb\r"]),
        "two blocks": ("```apply_patch\na\n```\n\n```apply_patch\nb\n```", ["a", "b"]),
        "after a label": ("Patch: ```apply_patch\na\n```", ["a"]),
        "within a tag": ("<tool_call>\n```apply_patch\n{}\n```\n</tool_call>", ["{}"]),
        "an object is a text too": ("```apply_patch\n{}\n```", ["{}"]),
        "a variant of the name": ("```Apply-Patch\na\n```", ["a"]),
        "never closed": ("```apply_patch\na\n", []),
        "only the label": ("```apply_patch", []),
        "a placeholder": ("```apply_patch\n...\n```", []),
        "more on the line of the fence": ("```apply_patch file=a\nb\n```", []),
        "inline code": ("```apply_patch``` is a tool.", []),
        "quotes are no fence": ("'''apply_patch\na\n'''", []),
        "within a block of text": ("````markdown\n```apply_patch\na\n```\n````", []),
        "in reasoning": ("<think>\n```apply_patch\na\n```\n</think>", []),
        "another label": ("```diff\na\n```", []),
        "as JSON": ('{"name": "apply_patch", "arguments": {"patch": "a"}}', ["a"]),
        "as Python": ('```python\napply_patch(patch="a")\n```', ["a"]),
        "as TypeScript": ('```typescript\napply_patch({patch: "a"});\n```', ["a"]),
    },
)
def test_where_a_block_opens_and_ends(text, expected):
    for chunks in ([text], list(text)):
        assert called_texts(read_events(TOOLS, chunks)) == expected


@pytest.mark.parametrize(
    ("text", "reason", "hint"),
    [
        ("```apply_patch\na", "the message ended inside the call", "closing fence on a line of its own"),
        ("```apply_patch\n…\n```", "it holds a placeholder instead of a value", "the real text"),
        (
            "~~~apply_patch x\na\n~~~",
            "the line of its fence holds more than the name of the tool",
            "Write ~~~apply_patch alone on its line",
        ),
    ],
)
def test_what_is_no_call_is_told_with_a_reason_and_a_hint(text, reason, hint):
    content = fold(read_events(TOOLS, [text]))
    [malformed] = content.malformed
    assert (malformed.name, malformed.reason, content.calls) == ("apply_patch", reason, ())
    assert hint in malformed.hint


def test_a_variant_of_the_name_is_a_repair():
    text = "```ApplyPatch\na\n```"
    assert [ready.repair for ready in fold(read_events(TOOLS, [text])).calls] == ["shape"]
    assert fold(read_events(TOOLS, [text], strict=True)).calls == ()
    assert len(fold(read_events(TOOLS, ["```apply_patch\na\n```"], strict=True)).calls) == 1


@pytest.mark.parametrize("text", ["```now\na\n```", "```apply_patch\nnow()\n```"])
def test_a_block_with_the_name_of_another_tool_is_text(text):
    plain = ToolSpec(name=PATCH.name, description="", parameters=PATCH.parameters)
    content = fold(read_events([plain, NOW], [text]))
    assert (content.calls, content.malformed, content.text) == ((), (), text)


def test_a_language_is_no_name_for_a_block():
    python = ToolSpec(name="python", description="", parameters=PATCH.parameters, raw="patch")
    assert has_raw_form(PATCH)
    assert not has_raw_form(python)
    content = fold(read_events([python, NOW], ["```python\nnow()\n```"]))
    assert [ready.call.name for ready in content.calls] == ["now"]


# As it arrives


def test_a_call_starts_with_its_label_and_its_text_goes_out_at_once():
    reader = Reader(TOOLS)
    assert reader.feed("Here:\n")[-1].kind == "text_delta"
    assert kinds(reader.feed("```apply_pat")) == []
    assert kinds(reader.feed("ch")) == []
    assert kinds(reader.feed("\n")) == ["call_started", "args_delta"]
    assert [event.text for event in reader.feed('one "t')] == ['one \\"t']
    assert [event.text for event in reader.feed("wo\n")] == ["wo"]
    assert reader.feed("``") == []
    assert "".join(event.text for event in reader.feed("` no")) == "\\n``` no"
    assert reader.feed("\n```") == []
    assert kinds(reader.feed("\n")) == ["args_delta", "call_ready", "text_delta"]


def test_after_a_made_up_result_no_block_is_a_call():
    text = "```python\nnow()\n```\n```output\nnoon\n```\n```apply_patch\na\n```"
    assert [ready.call.name for ready in fold(read_events(TOOLS, [text])).calls] == ["now"]


@pytest.mark.parametrize(("text", "calls"), [(speak("a\n~~~\nb"), 1), (f"For example:\n{speak('a')}", 0)])
def test_of_leaked_blocks_only_a_message_of_nothing_else_counts(text, calls):
    for chunks in ([text], list(text)):
        reader = LeakReader(TOOLS)
        content = fold([event for chunk in chunks for event in reader.feed(chunk)] + reader.close())
        assert len(content.calls) == calls
        assert content.text == ("" if calls else text)


def test_the_whole_block_is_explained_as_the_call():
    text = "So:\n```apply_patch\na\n```\n```ApplyPatch\nb\n```\nand\n~~~apply_patch x\nc\n~~~\nend"
    spans = explain(text, TOOLS).spans
    told = [
        (span.kind, text[span.start : span.end], span.rule) for span in spans if span.rule or span.kind == "skipped"
    ]
    assert told == [
        ("call", "```apply_patch\na\n```", "fence"),
        ("call", "```ApplyPatch\nb\n```", "fence"),
        ("malformed", "~~~apply_patch x\n", "fence"),
        ("skipped", "c\n~~~", None),
    ]
