"""The log: failures of tools with their traceback, turns, requests; never a key, and nothing unless configured."""

import logging
import re
import subprocess
import sys

import pytest

from tests.models.server import plays, serving
from toolspeak import codec
from toolspeak.models import connect
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, breaks, calls, says
from toolspeak.values.errors import ProviderError


def look_up(city: str) -> str:
    "Look a city up."
    return {"Oslo": "cold"}[city]


async def look_up_later(city: str) -> str:
    "Look a city up."
    return look_up(city)


@pytest.mark.parametrize("function", [look_up, look_up_later])
def test_a_failing_tool_leaves_its_traceback(function: object, caplog: pytest.LogCaptureFixture):
    name = getattr(function, "__name__", "")
    script = [calls((name, {"city": "Oslo"}), (name, {"city": "Rome"})), says("Cold.")]
    with caplog.at_level(logging.WARNING, logger="toolspeak"):
        outcome = Agent(ScriptedModel(script, on_tool_error="tell"), [function]).run("How is it?")  # pyright: ignore[reportArgumentType]  # parametrize gives objects
    (record,) = (each for each in caplog.records if each.name == "toolspeak")
    assert record.levelno == logging.WARNING
    assert record.getMessage() == f"tool {name} failed (call {outcome.calls[1].call.id} of run {outcome.run_id})"
    assert 'return {"Oslo": "cold"}[city]' in caplog.text
    assert outcome.calls[0].exception is None
    assert isinstance(outcome.calls[1].exception, KeyError)
    assert outcome.calls[1].exception.__traceback__ is not None
    assert "exception" not in codec.dump_facts(outcome.facts) + codec.dump_messages(outcome.messages)


def test_turns_and_requests_are_logged_without_the_key(caplog: pytest.LogCaptureFixture):
    with serving() as server, caplog.at_level(logging.DEBUG, logger="toolspeak"):
        server.plays(plays([says("Hello.")]))
        model = connect("m", at=f"{server.url}/v1", key="canary-key", headers={"x-other": "canary-header"})
        run_id = Agent(model, dialect="native").run("My canary-prompt.").run_id
        lines = [(record.levelname, record.getMessage()) for record in caplog.records if record.name == "toolspeak"]
        address = f"{server.url}/v1/chat/completions"
    assert lines[0] == ("INFO", f"run {run_id}, turn 1: asking {model.name}, native dialect")
    assert lines[1][0] == "DEBUG"
    assert re.match(rf"POST {re.escape(address)}: 200 after \d+\.\d", lines[1][1])
    assert lines[2] == ("INFO", f"run {run_id}, turn 1: the run has ended (answered)")
    assert "canary" not in caplog.text


def test_nothing_is_printed_unless_logging_is_configured():
    program = (
        "from tests.run.test_log import *\n"
        "script = [calls(('look_up', {'city': 'Rome'})), says('Cold.')]\n"
        "print(Agent(ScriptedModel(script, on_tool_error='tell'), [look_up]).run('How is it?').text)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("Cold.\n", "")


def test_the_reason_of_an_error_that_ends_a_run_is_logged(caplog: pytest.LogCaptureFixture):
    agent = Agent(ScriptedModel([breaks(ProviderError("400: unknown model gpt-9"))]))
    with caplog.at_level(logging.WARNING, logger="toolspeak"), pytest.raises(ProviderError):
        agent.run("Hello?")
    (record,) = (each for each in caplog.records if each.name == "toolspeak")
    assert record.levelno == logging.WARNING
    assert record.getMessage().endswith("the run has ended (error: 400: unknown model gpt-9)")
