"""A run that pauses for an approval is saved, loaded, and resumed in every way."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, assert_type

from pydantic import BaseModel

from toolspeak import Agent, ModelError, Outcome, ProviderError, RunPaused, Stream, ToolCall, codec, tool
from toolspeak.testing import ScriptedModel, breaks, calls, says
from toolspeak.values.events import Fact


class Receipt(BaseModel):
    paid: str


@tool(approve=True)
def pay(who: str) -> str:
    """Pay somebody."""
    return f"paid {who}"


agent = Agent(ScriptedModel([calls(("pay", {"who": "Ann"})), says("Ann is paid.")]), tools=[pay])

with TemporaryDirectory() as folder:
    file = Path(folder) / "run.jsonl"
    try:
        agent.run("Pay Ann.")
    except RunPaused as error:
        assert_type(error.calls, tuple[ToolCall, ...])
        assert_type(error.facts, tuple[Fact, ...])
        approvals: dict[str, bool | str] = {call.id: call.name == "pay" for call in error.calls}
        file.write_text(codec.dump_facts(error.facts))
    else:
        raise AssertionError

    facts = codec.load_facts(file.read_text())

assert_type(facts, tuple[Fact, ...])
outcome = agent.resume(facts, approvals=approvals)
assert_type(outcome, Outcome[None])
assert outcome.text == "Ann is paid."

stream = agent.stream_resume(facts, approvals=dict.fromkeys(approvals, False))
assert_type(stream, Stream[Outcome[None]])
assert [event.kind for event in stream][:2] == ["run_resumed", "approval_given"]
assert stream.outcome.calls[0].error == "not run: the user did not allow it"

typed = Agent(ScriptedModel([calls(("pay", {"who": "Ann"})), calls(("final_answer", {"paid": "Ann"}))]), tools=[pay])


async def main() -> None:
    waiting: tuple[Fact, ...] = ()
    try:
        await typed.arun("Pay Ann.", output=Receipt)
    except RunPaused as error:
        waiting = error.facts
        approvals.clear()
        approvals.update({call.id: True for call in error.calls})
    resumed = await typed.aresume(waiting, approvals=approvals, output=Receipt)
    assert_type(resumed, Outcome[Receipt])
    assert resumed.output == Receipt(paid="Ann")
    optional = typed.resume(waiting, approvals=approvals, output=Receipt, output_optional=True)
    assert_type(optional.output, Receipt | None)
    async with typed.astream_resume(waiting, approvals=approvals, output=Receipt) as events:
        async for event in events:
            if event.kind == "tool_finished":
                assert event.result.error is None
    assert_type(events.outcome.output, Receipt)


asyncio.run(main())

# An endpoint that failed

try:
    Agent(ScriptedModel([breaks(ProviderError("down"))])).run("Go.")
except ModelError as error:
    assert_type(error.outcome, Outcome[Any] | None)
    assert error.outcome is not None
    again = Agent(ScriptedModel([says("Here.")])).resume(error.outcome.facts)
    assert again.text == "Here."
