"""Events come as early as they can be known, and say what happened."""

import json
import subprocess
import sys
import textwrap

import pytest

from toolspeak.dialects import DIALECTS, JSON, fold
from toolspeak.dialects.leak_reader import LeakReader
from toolspeak.reading.reader import Reader
from toolspeak.values.spec import ToolSpec

from .corpus import read_events

WEATHER = ToolSpec(
    name="get_weather",
    description="The weather.",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
NOW = ToolSpec(name="now", description="The time.", parameters={"type": "object", "properties": {}})
TOOLS = [WEATHER, NOW]


def kinds(events):
    return [event.kind for event in events]


def test_prose_goes_out_at_once():
    reader = Reader(TOOLS)
    for piece in ("The weather", " in Paris", " is mild, and", " that is all."):
        assert "".join(event.text for event in reader.feed(piece)).endswith(piece[-5:])


def test_a_word_that_may_begin_a_call_is_held_back_only_until_that_is_decided():
    reader = Reader(TOOLS)
    assert reader.feed("get_wea") == []
    assert "".join(event.text for event in reader.feed("ther is a tool")) == "get_weather is a tool"


def test_a_call_starts_when_its_name_is_known_and_tells_arguments_as_they_close():
    reader = Reader(TOOLS)
    assert kinds(reader.feed('<tool_call>{"name": "get_wea')) == []
    # A quote ends a string only if what follows proves it, so the next key is waited for.
    assert kinds(reader.feed('ther", "arguments": ')) == ["call_started"]
    assert kinds(reader.feed('{"city": "Par')) == []
    [delta] = reader.feed('is", "days": ')
    assert delta.text == '{"city": "Paris"'
    assert [event.text for event in reader.feed('"3"}')] == [', "days": 3']
    # A quote after the last bracket would show that a string ended too early.
    assert reader.feed("}") == []
    end = reader.feed("</tool_call>")
    assert kinds(end) == ["args_delta", "call_ready"]
    assert end[1].call.arguments == {"city": "Paris", "days": 3}


def test_in_code_a_call_is_ready_at_the_end_of_its_statement():
    reader = Reader(TOOLS)
    assert kinds(reader.feed('```python\nget_weather(city="Paris")')) == []
    assert "call_ready" in kinds(reader.feed("\nno"))


def test_a_lone_closing_tag_says_that_all_before_was_reasoning():
    events = read_events(TOOLS, ["Perhaps:\nnow()\nor not.\n</think>\nHello."])
    assert "said_in_thought" in kinds(events)
    content = fold(events)
    assert (content.calls, content.text.strip()) == ((), "Hello.")
    assert "Perhaps" in content.thinking


def test_a_message_that_begins_in_reasoning_is_told_as_reasoning():
    content = fold(read_events(TOOLS, ["I might call now()\n</think>\nHello."], thinking=True))
    assert content.thinking.startswith("I might")
    assert (content.text.strip(), content.calls) == ("Hello.", ())


@pytest.mark.parametrize(
    ("text", "repair"),
    [
        ('{"name": "get_weather", "arguments": {"city": "Paris"}}', "none"),
        ("{'name': 'get_weather', 'arguments': {'city': 'Paris',}}", "syntax"),
        ('{"name": "get_weather", "arguments": {"city": "the "big" one"}}', "quotes"),
        ('{"name": "get_weather", "arguments": {"city": "Paris"}', "closers"),
    ],
)
def test_a_call_says_how_it_was_repaired_and_strict_readers_refuse_repairs(text, repair):
    [ready] = fold(read_events(TOOLS, [text])).calls
    assert ready.repair == repair
    strict = fold(read_events(TOOLS, [text], strict=True))
    assert bool(strict.calls) == (repair == "none")
    assert bool(strict.malformed) == (repair != "none")


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        ('<tool_call>{"name": "book", "arguments": {}}</tool_call>', "book", "there is no tool 'book'"),
        ("```python\nget_weather(city=town)\n```", "get_weather", "the name town is not bound to anything"),
        ("```python\nif rain:\n    now()\n```", "now", "it stands under a condition"),
        ('<tool_call>{"name": "now", "arguments": {"a": </tool_call>', "now", "a value is missing"),
        (
            '<tool_call>{"name": "get_weather", "arguments": {"city": "Par',
            "get_weather",
            "the message ended inside the call",
        ),
    ],
)
def test_what_cannot_be_a_call_is_told_with_a_reason_and_a_hint(text, name, reason):
    content = fold(read_events(TOOLS, [text]))
    assert content.calls == ()
    [malformed] = content.malformed
    assert (malformed.name, malformed.reason) == (name, reason)
    assert malformed.hint


def test_ids_are_told_once_and_begin_as_asked():
    events = read_events(TOOLS, ["```python\nnow()\nnow()\n```"], prefix="t3")
    assert [event.call.id for event in events if event.kind == "call_ready"] == ["t3_1", "t3_2"]


def test_after_a_made_up_result_nothing_is_called():
    text = "```python\nnow()\n```\nOutput:\nnoon\n```python\nget_weather(city='Paris')\n```"
    assert [ready.call.name for ready in fold(read_events(TOOLS, [text])).calls] == ["now"]


# What a server leaked


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("Sure.\n<|python_tag|>now()", 1),
        ('Sure. <tool_call>{"name": "now", "arguments": {}}</tool_call>', 1),
        ('{"name": "now", "arguments": {}}', 1),
        ("```python\nnow()\n```", 1),
        ("For example:\n```python\nnow()\n```", 0),
        ('A call looks so:\n{"name": "now", "arguments": {}}', 0),
        ('{"name": "now", "arguments": {}}\nis how a call looks.', 0),
        ("now()\nwill tell you.", 0),
        ("await now()", 1),
        ("commentary to=functions.now <|message|>{}<|call|>", 1),
        ("Sure thing.\nto=functions.now <|message|>{}<|call|>", 1),
        ("Sure thing.\n \u200bto=functions.now <|message|>{}<|call|>", 1),
        ("Sure thing, it goes to=functions.now {}", 0),
        ("Sure thing, `<tool_call>` announces a call.", 0),
        ("Sure thing, and\n```\n<tool_call>now()</tool_call>\n```\nis a call.", 0),
    ],
)
def test_of_leaked_calls_only_tokens_or_a_message_of_nothing_else_count(text, calls):
    for chunks in ([text], list(text)):
        reader = LeakReader(TOOLS)
        content = fold([event for chunk in chunks for event in reader.feed(chunk)] + reader.close())
        assert len(content.calls) == calls
        if not calls:
            assert content.text == text


# The first word


@pytest.mark.parametrize("parser", [DIALECTS["typescript"].parser, LeakReader])
@pytest.mark.parametrize(
    ("chunks", "shown"),
    [
        (["The", " weather"], ["The", " weather"]),
        (["\n Hel", "lo", " there"], ["\n Hel", "lo", " there"]),
        (["Wie"], ["Wie"]),
        (["Hello."], ["Hello."]),
        (["Hello", ".", " So"], ["Hello", ".", " So"]),
        (["天气", "很好"], ["天气", "很好"]),
        (["I", " see"], ["", "I see"]),
        (["the", " weather"], ["", "the weather"]),
        (["Get", " it"], ["", "Get it"]),  # get_weather
        (["Now", "here"], ["", "Nowhere"]),  # now
        (["Functions", " of"], ["", "Functions of"]),  # a namespace
        (["Promise", " me"], ["", "Promise me"]),  # Promise.all([now()])
        (["GET", " it"], ["", "GET it"]),
    ],
)
def test_a_first_word_is_shown_at_once_unless_a_call_may_begin_with_it(parser, chunks, shown):
    reader = parser(TOOLS)
    assert ["".join(event.text for event in reader.feed(chunk)) for chunk in chunks] == shown
    assert reader.close() == []


@pytest.mark.parametrize("parser", [DIALECTS["typescript"].parser, LeakReader])
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Result = now()", "Result"),
        ("Weather.now()", "Weather."),
        (" Result = now()\n", " Result"),
        ("result = now()", ""),
        ("Tools.now()", ""),
        ("Now()", ""),
        ("Promise.all([now()])", ""),
    ],
)
def test_a_call_that_follows_the_first_word_after_all_is_read(parser, text, shown):
    for chunks in ([text], list(text), text.partition("=")):
        reader = parser(TOOLS)
        content = fold([event for chunk in chunks for event in reader.feed(chunk)] + reader.close())
        assert [ready.call.name for ready in content.calls] == ["now"]
        assert content.text.rstrip("\n") == shown


def test_every_text_dialect_reads_every_form():
    for name in ("json", "typescript", "python"):
        parser = DIALECTS[name].parser(TOOLS)
        events = parser.feed('<tool_call>{"name": "now", "arguments": {}}</tool_call>\n```ts\nawait now();\n```')
        assert len(fold(events + parser.close()).calls) == 2
    assert JSON.name == "json"


def test_a_fence_that_was_opened_in_the_text_is_closed_in_it():
    content = fold(read_events(TOOLS, ["```js\nconst city = 'Oslo';\nget_weather({city})\n```\nDone."]))
    assert len(content.calls) == 1
    assert content.text.count("```") == 2
    assert fold(read_events(TOOLS, ["```js\nnow()\n```\nDone."])).text.strip() == "Done."


def test_no_call_starts_that_is_neither_ready_nor_malformed_in_the_end():
    events = read_events(TOOLS, ['Here:\n```json\n{"name": "now", "description": "The time."}\n```\nok'])
    assert kinds(events) == ["text_delta"] * len(events)
    assert fold(events).text.count("```") == 2


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "get_weather", "arguments": {"city": "Paris",}}',
        '{"name": "get_weather", /* so */ "arguments": {"city": "Paris"}}',
        '{"name": "get_weather", "arguments": {"city": "Paris", "days": +5}}',
        '{"name": "get_weather", "arguments": {"city": "Par\nis"}}',
        '{"name": "getWeather", "arguments": {"city": "Paris"}}',
    ],
)
def test_every_departure_from_json_is_a_repair(text):
    assert fold(read_events(TOOLS, [text])).calls[0].repair != "none"
    assert fold(read_events(TOOLS, [text], strict=True)).calls == ()


NEW_FAMILY = """
    import json, sys
    from importlib.util import find_spec, module_from_spec
    from pathlib import Path

    spec = find_spec("toolspeak.reading.forms")
    family = 'TokenFamily(name="new", openers=("§CALL§",), closers=("§END§",), results=("§SEEN§",))'
    source = Path(spec.origin).read_text(encoding="utf-8").replace("FAMILIES = (", f"FAMILIES = ({family},")
    forms = sys.modules[spec.name] = module_from_spec(spec)
    exec(source, forms.__dict__)

    from toolspeak.reading.emitter import fold
    from toolspeak.reading.reader import Reader
    from toolspeak.values.spec import ToolSpec

    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    specs = [ToolSpec(name="get_weather", description="The weather.", parameters=parameters)]
    read = []
    for text in json.load(sys.stdin):
        reader = Reader(specs)
        events = [event for char in text for event in reader.feed(char)] + reader.close()
        content = fold(events)
        read.append([content.text.strip(), [ready.call.arguments for ready in content.calls]])
    print(json.dumps(read))
"""


def test_a_new_model_family_needs_nothing_but_its_tokens():
    call = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
    texts = {
        f"§CALL§{call}§END§": ["", [{"city": "Oslo"}]],
        f"I will look. §call§ {call} §end§ Done.": ["I will look.  Done.", [{"city": "Oslo"}]],
        f"§CALL§{call}§END§\n§CALL§get_weather(city='Rome')\n§END§": ["", [{"city": "Oslo"}, {"city": "Rome"}]],
        "See § 12 for more.": ["See § 12 for more.", []],
    }
    command = [sys.executable, "-c", textwrap.dedent(NEW_FAMILY)]
    done = subprocess.run(command, input=json.dumps(list(texts)), capture_output=True, text=True, check=True)
    assert dict(zip(texts, json.loads(done.stdout), strict=True)) == texts


QUOTED_HEADERS = [
    'Write "<|start|>assistant to=now<|message|>{}" to ask.',
    "Write `<|start|>assistant to=now<|message|>{}` to ask.",
    "Write\n<|start|>assistant to=now<|message|>{}\nto ask.",
    'Write "<|channel|>commentary to=functions.now<|message|>{}" to ask.',
    "Hello.<|start|>assistant to=now<|message|>{}",
]


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("text", QUOTED_HEADERS)
def test_a_header_in_text_for_the_user_is_shown(text: str, size: int):
    answer = f"<|start|>assistant to=user<|message|>{text}<|eot|>"
    content = fold(read_events(TOOLS, [answer[place : place + size] for place in range(0, len(answer), size)]))
    assert (content.text, content.calls) == (text, ())
    ended = f"<|start|>assistant to=user<|message|>{text}<|end|><|start|>assistant to=now<|message|>{{}}<|call|>"
    assert [ready.call.name for ready in fold(read_events(TOOLS, [ended])).calls] == ["now"]


def test_reasoning_ends_at_a_header_that_is_not_quoted():
    start = "<|channel|>analysis<|message|>I could send"
    header = "<|start|>assistant to=now<|message|>{}"
    quoted = fold(read_events(TOOLS, [f'{start} "{header}" now.<|end|>']))
    assert (quoted.calls, quoted.thinking) == ((), f'I could send "{header}" now.')
    assert len(fold(read_events(TOOLS, [f"{start} it.{header}<|call|>"])).calls) == 1
