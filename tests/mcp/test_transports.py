"""What is kept for a server is bounded: messages are counted before they are parsed, and answers are not piled up."""

import asyncio
import functools
import json
import sys

import anyio
import mcp_types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage

from tests.cases import each_case
from toolspeak import Agent, ToolError
from toolspeak.mcp.config import ServerConfig
from toolspeak.mcp.failure import ServerFailure
from toolspeak.mcp.transports import (
    MAX_MESSAGE_VALUES,
    MAX_WAITING_ANSWERS,
    EventCounter,
    MessageTooLarge,
    bound_streams,
    count_values,
    find_answered_id,
    open_stdio,
)
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.values.errors import ServerFailed

MANY = b"[" + b"[]," * MAX_MESSAGE_VALUES + b"[]]"


@each_case(
    "text, values",
    {
        "commas in a text": (json.dumps({"a": ",[{" * MAX_MESSAGE_VALUES}), 1),
        "a quotation mark in a text": (json.dumps(['"' + ",[{" * MAX_MESSAGE_VALUES, 1]), 2),
        "a backslash at the end of a text": (
            json.dumps(["\\", *[[]] * MAX_MESSAGE_VALUES]),
            2 * MAX_MESSAGE_VALUES + 1,
        ),
        "an object in a list": (json.dumps([{"a": [1, 2]}]), 4),
    },
)
def test_values_are_counted_outside_of_texts(text, values):
    assert count_values(text.encode()) == values


def count_events(chunks):
    counter = EventCounter()
    for chunk in chunks:
        counter.add(chunk)


@given(st.data())
def test_events_are_counted_alike_in_all_chunks(data):
    ends = st.sampled_from([b"\n", b"\r", b"\r\n"])
    lines = [b"data: [", *[b"data: " + b"[]," * 40_000] * 6, b"data: []]", b"", b"id: 1", b""]
    stream = b"".join(line + data.draw(ends) for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=20)))
    with pytest.raises(MessageTooLarge, match="200,000 values"):
        count_events(stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True))


def test_each_event_is_counted_by_itself():
    count_events([b"event: message\r\ndata: " + b"[]," * 50_000 + b"\r", b"\n\r\n: a comment\n"] * 50)
    with pytest.raises(MessageTooLarge, match="16 MB"):
        count_events([b"x" * 100_000] * 200)


@each_case(
    "text, answered",
    {
        "the id comes last": (r'{"result": {"id": 1, "a": "\"id\": 2"}, "error": {}, "id": 7}', 7),
        "the id is a text": (r'{"id": "a\"b", "result": [1, {"id": 3}]}', 'a"b'),
        "a request": ('{"id": 7, "method": "ping", "result": 1}', None),
        "a notification": ('{"method": "ping"}', None),
        "a greeting": ("id: 7, result: 5", None),
        "an answer to nothing": ('{"id": null, "error": {}}', None),
        "a text without an end": ('{"id": 7, "result": "', 7),
    },
)
def test_the_id_of_an_answer_that_cannot_be_read_is_found(text, answered):
    assert find_answered_id(text) == answered


@each_case(
    "name, reason",
    [
        ("surrogate", "unexpected end of hex escape"),
        ("deep", "recursion limit exceeded"),
        ("number", "no message of JSON-RPC"),
    ],
)
def test_an_answer_that_cannot_be_read_is_an_error_at_once(connect, plain, name, reason):
    made = [(name, {}), ("echo", {"text": "alive"})]
    model = ScriptedModel([*(calls(each) for each in made), says("done")])
    first, second = Agent(model, [connect(plain())], tool_timeout=None).run("go").calls
    assert "the MCP server plain answered with something that is no result (" in first.error
    assert reason in first.error
    assert second.output == "alive"


DEEP = functools.reduce(lambda inner, _: [inner], range(900), [])


@each_case(
    "arguments, reason",
    {
        "a lone surrogate": ({"text": "\ud800"}, "half of a surrogate pair"),
        "900 levels": ({"text": "x", "more": DEEP}, "nested too deeply"),
    },
)
def test_arguments_that_cannot_be_sent_are_an_error_at_once(connect, plain, arguments, reason):
    echo = connect(plain(), pinned=False).load()["echo"]
    with pytest.raises(ToolError, match=f"the arguments cannot be sent as JSON: .*{reason}; nothing was sent"):
        asyncio.run(echo(**arguments))
    assert asyncio.run(echo(text="alive")) == "alive"


def test_an_answer_of_many_values_is_refused(connect, plain):
    model = ScriptedModel([calls(("values", {})), calls(("echo", {"text": "back"})), says("done")])
    first, second = Agent(model, [connect(plain())]).run("go").calls
    assert "it sent a message of more than 200,000 values" in first.error
    assert second.output == "back"


def test_a_list_of_tools_with_many_values_is_refused(connect, plain):
    with pytest.raises(ServerFailed, match="describes its tools in more than 500,000 values"):
        connect(plain("pages")).load()


def test_reports_of_progress_have_a_rate(connect, plain):
    seen = []
    tools = connect(plain(), on_progress=lambda *values: seen.append(values))
    assert Agent(ScriptedModel([calls(("reports", {})), says("done")]), [tools]).run("go").calls[0].output == "done"
    assert 1_000 <= len(seen) < 5_000
    assert {len(message) for *_, message in seen} == {1_000}


def test_requests_are_read_only_as_long_as_their_answers_are_taken():
    async def flood():
        to_session, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, from_session = anyio.create_memory_object_stream[SessionMessage](0)
        reader, writer = bound_streams((incoming, outgoing), ServerFailure(), 60)
        sent = answered = most = 0

        async def send_pings():
            nonlocal sent
            for number in range(2_000):
                await to_session.send(SessionMessage(mcp_types.JSONRPCRequest(jsonrpc="2.0", id=number, method="ping")))
                sent += 1
            to_session.close()

        async def answer(number):
            nonlocal answered
            await writer.send(SessionMessage(mcp_types.JSONRPCResponse(jsonrpc="2.0", id=number, result={})))
            answered += 1

        async def answer_all():
            nonlocal most
            async with asyncio.TaskGroup() as group:
                async for item in reader:
                    group.create_task(answer(item.message.id))
                    most = max(most, writer.waiting)

        tasks = [asyncio.create_task(send_pings()), asyncio.create_task(answer_all())]
        before = -1
        while sent != before or not sent:  # until nothing moves any more
            before = sent
            for _ in range(50):
                await asyncio.sleep(0)
        held = sent
        async with asyncio.timeout(60):
            while answered < 2_000:
                await from_session.receive()
                await asyncio.sleep(0)
            await asyncio.gather(*tasks)
        for stream in (to_session, incoming, outgoing, from_session):
            stream.close()
        return held, most

    held, most = asyncio.run(flood())
    assert held <= MAX_WAITING_ANSWERS + 5
    assert most <= MAX_WAITING_ANSWERS + 5


def test_long_requests_and_what_nobody_listens_to_are_dropped():
    async def read():
        to_session, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](10)
        outgoing, from_session = anyio.create_memory_object_stream[SessionMessage](0)
        reader, _ = bound_streams((incoming, outgoing), ServerFailure(), 60)
        for message in (
            mcp_types.JSONRPCRequest(jsonrpc="2.0", id="x" * 200_000, method="ping"),
            mcp_types.JSONRPCRequest(jsonrpc="2.0", id=1, method="sampling", params={"a": "x" * 200_000}),
            mcp_types.JSONRPCNotification(jsonrpc="2.0", method="notifications/message", params={"data": "x"}),
            mcp_types.JSONRPCRequest(jsonrpc="2.0", id=2, method="ping"),
        ):
            await to_session.send(SessionMessage(message))
        to_session.close()
        kept = [item.message.id async for item in reader]
        for stream in (incoming, outgoing, from_session):
            stream.close()
        return kept

    assert asyncio.run(read()) == [2]


def test_a_server_that_reads_nothing_is_ended():
    async def write():
        failure = ServerFailure()
        config = ServerConfig(name="deaf", command=(sys.executable, "-S", "-c", "import time; time.sleep(1000)"))
        async with open_stdio(config, failure, write_timeout=0.1) as (reader, writer):
            big = {"text": "x" * 1_000_000}  # more than a pipe holds
            message = mcp_types.JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/call", params=big)
            await writer.send(SessionMessage(message))
            with pytest.raises(anyio.EndOfStream):
                async with asyncio.timeout(60):
                    await reader.receive()
        return failure

    failure = asyncio.run(write())
    assert failure.is_over
    assert failure.reason == "it did not read what it was sent for 0.1 s"
