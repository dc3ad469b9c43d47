"""An agent on OpenAI's responses API: raw texts as custom tools, and reasoning that goes back."""

import pytest

from toolspeak import Agent, tool
from toolspeak.models import resolve_model
from toolspeak.testing import calls, says
from toolspeak.values.messages import Thinking

from .asking import Plain, at
from .recorded import COMPLETED, DONE, NOTE, events, item
from .server import Server, plays, streams

PATCH = "\n".join(["*** Begin Patch", *(f'+{number}\t"a" \\n 🙂' for number in range(300)), "*** End Patch"])


@pytest.mark.parametrize("manner", ["streamed", "plain"])
def test_a_raw_text_is_a_custom_tool(server: Server, manner: str):
    patches: list[str] = []

    @tool(raw="patch")
    def edit(patch: str) -> str:
        "Changes files."
        patches.append(patch)
        return "Success."

    server.plays(plays([calls(("edit", {"input": PATCH})), says("Done.")]))
    model = at(server, "openai-responses")
    outcome = Agent(model if manner == "streamed" else Plain(model), [edit], dialect="native").run("Change it.")
    assert (outcome.text, patches) == ("Done.", [PATCH])
    first, second = server.posts
    assert [each["type"] for each in first.body["tools"]] == ["custom"]
    _, call, result = second.body["input"]
    assert (call["type"], call["name"], call["input"]) == ("custom_tool_call", "edit", PATCH)
    assert (result["type"], result["call_id"], result["output"]) == ("custom_tool_call_output", call["call_id"], "Success.")  # fmt: skip


def test_encrypted_reasoning_goes_back_to_its_endpoint(server: Server):
    async def note(text: str) -> str:
        "Note something."
        return text

    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2ln"}
    call = {**NOTE, "id": "fc_1", "arguments": '{"text":"x"}'}
    server.plays(streams(events(item("done", 0, **reasoning), item("done", 1, **call), COMPLETED)), streams(DONE["openai-responses"]))  # fmt: skip
    outcome = Agent(at(server, "openai-responses"), [note], dialect="native").run("Go on.")
    assert outcome.text == "Fertig."
    _, thought, called, result = server.posts[1].body["input"]
    assert (thought, called) == (reasoning, {**call, "arguments": '{"text":"x"}'})
    assert (result["type"], result["output"]) == ("function_call_output", "x")
    (kept,) = (part for message in outcome.messages for part in message.parts if isinstance(part, Thinking))
    assert kept.extra is not None
    for post in server.posts:
        assert (post.body["store"], post.body["include"]) == (False, ["reasoning.encrypted_content"])


def test_the_name_of_a_model():
    model = resolve_model("openai-responses:gpt-5.1", environ={"OPENAI_API_KEY": "sk-o"})
    assert (model.endpoint.api, model.endpoint.base_url, model.dialect) == ("openai-responses", "https://api.openai.com/v1", "native")  # fmt: skip
    assert model.endpoint.key == "sk-o"
    assert resolve_model("openai:gpt-5.1", environ={}).endpoint.api == "openai"
