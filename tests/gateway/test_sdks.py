"""The official SDKs, unmodified: the conversation streamed and plain, on a model in the process and behind real HTTP."""

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest

from toolspeak.dialects import TYPESCRIPT
from toolspeak.models import connect

from .conversing import ANSWER, ANTHROPIC_TOOLS, BEFORE, MADE, OPENAI_TOOLS, QUESTION, Tools, scripted
from .hosting import gateway, serve_model

both = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])


@pytest.fixture(scope="module", params=["in the process", "openai", "anthropic"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The gateway before a model in the process, or before one behind HTTP in either API.

    The server behind HTTP knows no tools: it is asked without any, and what the model says is what it answers.
    """
    if request.param == "in the process":
        with gateway(serve_model(scripted(), TYPESCRIPT)) as address:
            yield address
        return
    with gateway(serve_model(scripted(), TYPESCRIPT)) as upstream:
        there = connect("scripted", at=f"{upstream}/v1", api=request.param, key="none")
        with gateway(serve_model(there, TYPESCRIPT)) as address:
            yield address


@both
def test_openai(url: str, streamed: bool):
    tools = Tools()
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:

        def said(history: list[Any]) -> Any:
            asks: dict[str, Any] = {"model": "scripted", "messages": history, "tools": OPENAI_TOOLS, "max_tokens": 500}
            if not streamed:
                return client.chat.completions.create(**asks).choices[0]
            with client.chat.completions.stream(**asks, stream_options={"include_usage": True}) as stream:
                assert [event.type for event in stream].count("chunk") > 2
                completion = stream.get_final_completion()
                assert completion.usage is not None
                return completion.choices[0]

        history: list[Any] = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
        first = said(history)
        assert (first.finish_reason, first.message.content) == ("tool_calls", BEFORE)
        history.append(first.message.to_dict())
        for call in first.message.tool_calls:
            output = tools.run(call.function.name, json.loads(call.function.arguments))
            history.append({"role": "tool", "tool_call_id": call.id, "content": output})
        last = said(history)
        assert (last.finish_reason, last.message.content) == ("stop", ANSWER)
        assert not last.message.tool_calls
    assert tools.ran == MADE
    assert len({call.id for call in first.message.tool_calls}) == 3


@both
def test_anthropic(url: str, streamed: bool):
    tools = Tools()
    with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client:

        def said(history: list[Any]) -> Any:
            asks: dict[str, Any] = {"model": "scripted", "messages": history, "tools": ANTHROPIC_TOOLS}
            asks |= {"system": "Be brief.", "max_tokens": 500}
            if not streamed:
                return client.messages.create(**asks)
            with client.messages.stream(**asks) as stream:
                assert [event.type for event in stream].count("content_block_delta") >= 1
                return stream.get_final_message()

        history: list[Any] = [{"role": "user", "content": QUESTION}]
        first = said(history)
        text, *made = first.content
        assert (first.stop_reason, text.text) == ("tool_use", BEFORE)
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": tools.run(call.name, call.input)}
            for call in made
        ]
        history += [first.to_param(), {"role": "user", "content": results[::-1]}]  # in any order
        last = said(history)
        assert (last.stop_reason, [block.text for block in last.content]) == ("end_turn", [ANSWER])
    assert tools.ran == MADE


def test_they_list_the_models(url: str):
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client:
        assert [each.id for each in client.models.list()] == ["scripted"]
    with anthropic.Anthropic(base_url=url, api_key="none") as other:
        assert [each.id for each in other.models.list()] == ["scripted"]


def test_they_are_told_what_is_wrong(url: str):
    asks: dict[str, Any] = {"model": "scripted", "messages": [{"role": "user", "content": "Hi"}]}
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client:
        with pytest.raises(openai.BadRequestError, match="at most 4 answers") as refused:
            client.chat.completions.create(**asks, n=5)
        assert (refused.value.param, refused.value.code) == ("n", "unsupported_value")
        assert (refused.value.request_id or "").startswith("req_")
        with pytest.raises(openai.NotFoundError, match="/v1/chat/completions"):
            client.embeddings.create(model="scripted", input="Hi")
    with anthropic.Anthropic(base_url=url, api_key="none") as other:
        with pytest.raises(anthropic.BadRequestError, match="temperature: must be from 0 to 1") as wrong:
            other.messages.create(**asks, max_tokens=5, extra_body={"temperature": 2})
        assert (wrong.value.request_id or "").startswith("req_")
