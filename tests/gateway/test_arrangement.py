"""Conversations as coding agents send them: one system message, and a beginning that stays."""

from itertools import pairwise
from typing import Any

import pytest

from toolspeak.dialects import JSON, NATIVE, PYTHON, TYPESCRIPT
from toolspeak.gateway import app
from toolspeak.gateway.passthrough import arrange, is_volatile, join_neighbours
from toolspeak.models import Request
from toolspeak.testing import ScriptedModel, says
from toolspeak.values.messages import Call, Media, Message, Result, Text, ToolCall, assistant, find_origin, system, user
from toolspeak.values.origin import Origin
from toolspeak.wire.api import WIRES

from .hosting import ask, serve_model

TOOL = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
NAMES = ("Read", "Edit", "Bash")


def texts(messages: Any) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in messages]


def note(text: str) -> str:
    return f"<system-message>\n{text}\n</system-message>"


RESULTS = Message(role="tool", parts=(Result(call_id="a", content=(Text(text="1"),)),))


@pytest.mark.parametrize(
    ("given", "arranged"),
    [
        ([user("Hi")], [("user", "Hi")]),
        ([system("S"), user("Hi")], [("system", "S"), ("user", "Hi")]),
        ([system("S"), system("T"), user("Hi")], [("system", "S\n\nT"), ("user", "Hi")]),
        ([user("Hi"), system("T")], [("user", f"Hi\n\n{note('T')}")]),
        ([user("Hi"), system("T"), assistant("A")], [("user", f"Hi\n\n{note('T')}"), ("assistant", "A")]),
        (
            [user("Hi"), assistant("A"), system("T"), user("B")],
            [("user", "Hi"), ("assistant", "A"), ("user", f"{note('T')}\n\nB")],
        ),
        ([user("Hi"), assistant("A"), system("T")], [("user", "Hi"), ("assistant", "A"), ("user", note("T"))]),
        ([user("Hi"), system(""), user("B")], [("user", "Hi"), ("user", "B")]),
        ([assistant("A"), system("T"), RESULTS], [("assistant", "A"), ("tool", f"\n\n{note('T')}")]),
        ([RESULTS, system("T"), system("U")], [("tool", f"\n\n{note('T')}\n\n{note('U')}")]),
        ([system("T"), assistant("A")], [("system", "T"), ("assistant", "A")]),
        ([assistant("A"), system("T"), assistant("B")], [("assistant", "A"), ("user", note("T")), ("assistant", "B")]),
    ],
)
def test_later_messages_of_the_system_are_laid_in_where_they_stand(given: Any, arranged: Any):
    assert texts(arrange(given)) == arranged


CALLED = Message(role="assistant", parts=(Call(call=ToolCall(id="a", name="Read", arguments={})),))
IMAGE = Message(role="user", parts=(Media(mime="image/png", data=b"1"),))


@pytest.mark.parametrize(
    ("given", "joined"),
    [
        ([user("A"), user("B"), user("C")], [("user", "A\n\nB\n\nC")]),
        ([user("A"), IMAGE, user("B")], [("user", "AB")]),
        ([assistant("A"), assistant("B"), user("C")], [("assistant", "A\n\nB"), ("user", "C")]),
        ([assistant("A"), CALLED, RESULTS], [("assistant", "A"), ("tool", "")]),
        ([CALLED, assistant("A")], [("assistant", ""), ("assistant", "A")]),
        ([CALLED, RESULTS, user("B")], [("assistant", ""), ("tool", "B")]),
        ([user("A"), assistant("B"), user("C")], [("user", "A"), ("assistant", "B"), ("user", "C")]),
        ([], []),
    ],
)
def test_messages_of_one_role_in_a_row_are_joined(given: Any, joined: Any):
    assert texts(join_neighbours(given, in_text=True)) == joined
    parts = [part for message in given for part in message.parts if not isinstance(part, Text)]
    kept = [part for message in join_neighbours(given, in_text=True) for part in message.parts]
    assert [part for part in kept if not isinstance(part, Text)] == parts


def test_an_api_with_a_role_for_results_keeps_them_apart_from_the_user():
    assert texts(join_neighbours([CALLED, RESULTS, user("B")], in_text=False))[1:] == [("tool", ""), ("user", "B")]


def test_words_of_the_user_behind_results_stay_his():
    joined = join_neighbours([CALLED, RESULTS, user("B")], in_text=True)[1]
    assert [find_origin(part, joined.role) for part in joined.parts if isinstance(part, Text)] == [Origin.USER] * 2


@pytest.mark.parametrize("dialect", [TYPESCRIPT, PYTHON, JSON])
def test_a_model_of_text_never_sees_two_messages_of_one_role_in_a_row(dialect: Any):
    call = {"id": "a", "type": "function", "function": {"name": "Read", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "one"},
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": "three"},
        {"role": "assistant", "content": "four", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "five"},
        {"role": "user", "content": "six"},
        {"role": "user", "content": "seven"},
    ]
    model = ScriptedModel([says("Fine.")] * 4)
    tools = [{"type": "function", "function": {"name": "Read", "parameters": TOOL}}]
    reply = ask(app([serve_model(model, dialect)]), {"model": "m", "messages": messages, "tools": tools})
    assert reply.status == 200
    shown = model.requests[0].shown.messages
    assert [message.role for message in shown] == ["system", "user", "assistant", "user"]
    assert shown[1].text == "one\n\ntwo"
    assert shown[2].text.startswith("three\n\nfour\n")
    assert shown[3].text.endswith("→ five\n\nsix\n\nseven")


@pytest.mark.parametrize(
    ("given", "stays", "first"),
    [
        ("x-anthropic-billing-header: cc_version=2.1; cch=a1b2;\nYou are an agent.", "You are an agent.", "Hi"),
        ("Current date: 2026-11-15\n\nYou are an agent.", "You are an agent.", f"{note('Current date: 2026-11-15')}\n\nHi"),
        ("You are an agent.\nCurrent date: 2026-11-15", "You are an agent.\nCurrent date: 2026-11-15", "Hi"),
        ("Current date: 2026-11-15", "Current date: 2026-11-15", "Hi"),
    ],
)  # fmt: skip
def test_what_changes_between_conversations_stands_behind_what_stays(given: str, stays: str, first: str):
    assert texts(arrange([system(given), user("Hi")])) == [("system", stays), ("user", first)]


@pytest.mark.parametrize(
    "line",
    [
        "Current date: 2026-11-15",
        "Today is Sunday, November 15, 2026.",
        "Today's date is 15 November 2026",
        "Time: 21:30:27",
        "Session ID: 8f14e45f-ceea-467f-a8f9-1c2d3e4f5a6b",
        "session=ses_01h2xcejqtf2nbrexx3vqjhp41",
    ],
)
def test_lines_that_change(line: str):
    assert is_volatile(line)


@pytest.mark.parametrize(
    "line",
    [
        "You are an agent.",
        "You are a helpful assistant. The current date is 2026-11-15.",
        "Knowledge cutoff: 2024-06",
        "Rules: answer in one line",
        "# Tone: be brief",
        f"Note: {'x' * 200} 2026-11-15",
        "",
    ],
)
def test_lines_that_stay(line: str):
    assert not is_volatile(line)


# Twelve turns, shaped as those of two coding agents


def claude_turns() -> list[dict[str, Any]]:
    """Requests in Anthropic's API: blocks in the system prompt, reminders of the system between results."""
    tools = [{"name": name, "description": f"{name} a file.", "input_schema": TOOL} for name in NAMES]
    requests: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": "Mend the test."}]}]
    for turn in range(12):
        prompt = [
            {"type": "text", "text": f"x-anthropic-billing-header: cc_version=2.1.0; cch={turn:05x};"},
            {"type": "text", "text": "You are a coding agent.", "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": "Use the tools. Be brief."},
        ]
        requests.append({"model": "m", "max_tokens": 9, "system": prompt, "tools": tools, "messages": list(messages)})
        call = {"type": "tool_use", "id": f"toolu_{turn}", "name": NAMES[turn % 3], "input": {"path": f"f{turn}.py"}}
        thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
        messages.append({"role": "assistant", "content": [thought, {"type": "text", "text": "I look."}, call]})
        result = {"type": "tool_result", "tool_use_id": f"toolu_{turn}", "content": f"line {turn}\nanother line"}
        messages.append({"role": "user", "content": [result]})
        if turn % 3 == 0:
            messages.append({"role": "system", "content": f"The file f{turn}.py was changed by the user."})
        if turn % 4 == 3:
            messages.append({"role": "assistant", "content": "Done with that."})
            messages.append({"role": "system", "content": [{"type": "text", "text": "The plan is approved."}]})
            messages.append({"role": "user", "content": "Go on."})
    return requests


def opencode_turns() -> list[dict[str, Any]]:
    """Requests in OpenAI's API: two system messages, and several calls in a turn."""
    tools = [{"type": "function", "function": {"name": name, "parameters": TOOL}} for name in NAMES]
    requests: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are a coding agent."},
        {"role": "system", "content": "<env>\nfolder: /work\ndate: 2026-11-15\n</env>"},
        {"role": "user", "content": "Mend the test."},
    ]
    for turn in range(12):
        requests.append({"model": "m", "tools": tools, "messages": list(messages)})
        calls = [
            {"id": f"c{turn}_{each}", "type": "function", "function": {"name": name, "arguments": '{"path": "a"}'}}
            for each, name in enumerate(NAMES[: 1 + turn % 3])
        ]
        messages.append({"role": "assistant", "content": "I look.", "tool_calls": calls})
        messages += [{"role": "tool", "tool_call_id": call["id"], "content": "x\n" * 300} for call in calls]
        if turn % 5 == 2:
            messages.append({"role": "system", "content": f"{turn} turns are used."})
    return requests


def prompts(requests: list[dict[str, Any]], path: str, dialect: Any) -> list[list[str]]:
    """What the model is shown in each turn: the messages of its API, as a template would write them."""
    model = ScriptedModel([says("Hello.")] * 20)
    application = app([serve_model(model, dialect)])
    for request in requests:
        reply = ask(application, request, path=path)
        assert reply.status == 200, reply.body
    return [render_request(each) for each in model.requests]


def render_request(request: Request) -> list[str]:
    from toolspeak.wire.chat_request import ChatRequest

    shown = request.shown
    body = WIRES["openai"].request_body(ChatRequest(model="m", messages=shown.messages, tools=shown.tools))
    return [repr(body.get("tools")), *map(repr, body["messages"])]


AGENTS = {"claude": (claude_turns, "/v1/messages"), "opencode": (opencode_turns, "/v1/chat/completions")}


@pytest.mark.parametrize("dialect", [TYPESCRIPT, PYTHON, JSON, NATIVE], ids=lambda each: each.name)
@pytest.mark.parametrize("agent", AGENTS)
def test_the_prompt_of_each_turn_is_the_beginning_of_the_next(agent: str, dialect: Any):
    turns, path = AGENTS[agent]
    shown = prompts(turns(), path, dialect)
    assert len(shown) == 12
    for before, after in pairwise(shown):
        assert after[: len(before)] == before
        assert len(after) > len(before)
    roles = [each[10:16] for each in shown[-1][1:]]
    assert roles.count("system") == 1
    assert "system" in roles[0]
    assert "billing" not in "".join(shown[-1])


def test_two_conversations_share_their_beginning_whatever_the_day():
    def first(day: int) -> list[str]:
        request = opencode_turns()[0]
        prompt = {"role": "system", "content": f"Current date: 2026-11-{day}\nYou are a coding agent."}
        request["messages"] = [prompt, *request["messages"][1:]]
        return prompts([request], "/v1/chat/completions", TYPESCRIPT)[0]

    one, other = first(15), first(16)
    assert one[:2] == other[:2]
    assert one != other


def test_many_lines_and_many_messages_of_the_system_are_arranged():
    billing, blank = "x-anthropic-billing-header: a\n\n" * 50_000, "\n" * 300_000
    (first, _) = arrange([system(f"{billing}Be kind."), user("Hi")])
    assert first.text == "Be kind."
    (first, second) = arrange([system(f"{blank}Today is 2024-05-06\nBe kind."), user("Hi")])
    assert (first.text, "Today is 2024-05-06" in second.text) == ("Be kind.", True)
    (only,) = arrange([user("Hi"), *(system(str(number)) for number in range(5_000))])
    assert len(only.parts) == 2
    assert only.text.count("<system-message>") == 5_000
