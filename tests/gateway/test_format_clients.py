"""SDKs and frameworks that ask for an answer in a format, alone and beside tools, on a model that writes prose first."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import openai
import pytest
from pydantic import BaseModel, Field

from toolspeak.dialects import DIALECTS
from toolspeak.models import Request
from toolspeak.testing import ScriptedModel, ScriptedReply, calls, says

from .conversing import ANTHROPIC_TOOLS, Tools
from .hosting import gateway, serve_model

both = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
spoken = pytest.mark.parametrize("dialect", DIALECTS)

QUESTION = "How is the weather in Paris?"


class Report(BaseModel):
    """A report of the weather."""

    city: str
    degrees: int = Field(ge=-90, le=60)
    words: list[str]


class get_weather(BaseModel):
    """The current weather in a city."""

    city: str


REPORT = Report(city="Paris", degrees=21, words=["sunny", "dry"])
SCHEMA: dict[str, Any] = {**Report.model_json_schema(), "additionalProperties": False}


def give(answer: dict[str, Any]) -> Any:
    """The answer, as the model was asked for it: by a call, or in words."""

    def line(request: Request) -> ScriptedReply:
        is_called = "final_answer" in str(request.shown)
        return calls(("final_answer", answer)) if is_called else says(f"So:\n```json\n{json.dumps(answer)}\n```\n")

    return line


def look_or_tell(request: Request) -> ScriptedReply:
    has_result = "21 °C" in str(request.shown.messages)
    return says("It is sunny, at 21 °C.") if has_result else calls(("get_weather", {"city": "Paris"}), text="I look.")


def reporter() -> ScriptedModel:
    """Calls a tool and then gives a report; says something else before each of them, and is wrong about the degrees."""
    wrong = REPORT.model_dump() | {"degrees": "warm"}
    return ScriptedModel([says("Well..."), look_or_tell, give(wrong), give(REPORT.model_dump())], chunk=5)


@contextmanager
def host(*lines: Any, dialect: str = "typescript") -> Iterator[str]:
    model = ScriptedModel(lines, chunk=5) if lines else reporter()
    with gateway(serve_model(model, DIALECTS[dialect], max_repairs=3)) as url:
        yield url


@spoken
@both
def test_openai_with_tools(dialect: str, streamed: bool):
    tools = Tools()
    with host(dialect=dialect) as url, openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        history: list[Any] = [{"role": "user", "content": QUESTION}]
        asking: dict[str, Any] = {"model": "scripted", "response_format": Report}
        asking["tools"] = [openai.pydantic_function_tool(get_weather)]

        def said() -> Any:
            if not streamed:
                return client.chat.completions.parse(messages=history, **asking).choices[0].message
            with client.chat.completions.stream(messages=history, **asking) as stream:
                texts = [event.delta for event in stream if event.type == "content.delta"]
                message = stream.get_final_completion().choices[0].message
            assert "".join(texts) == (message.content or "")
            return message

        first = said()
        (call,) = first.tool_calls
        assert (first.content or "", call.function.parsed_arguments) == ("", get_weather(city="Paris"))
        result = tools.run("get_weather", json.loads(call.function.arguments))
        history += [
            {"role": "assistant", "tool_calls": [{"id": call.id, "type": "function", "function": call.function.to_dict()}]},
            {"role": "tool", "tool_call_id": call.id, "content": result},
        ]  # fmt: skip
        last = said()
        assert last.parsed == REPORT
        assert last.content == '{"city":"Paris","degrees":21,"words":["sunny","dry"]}'
        assert not last.tool_calls


@both
def test_openai_alone(streamed: bool):
    lines = says("It is sunny."), give(REPORT.model_dump())
    with host(*lines) as url, openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        asking: dict[str, Any] = {"model": "scripted", "messages": [{"role": "user", "content": QUESTION}]}
        if streamed:
            with client.chat.completions.stream(**asking, response_format=Report) as stream:
                partial = [event.parsed for event in stream if event.type == "content.delta"]
                assert stream.get_final_completion().choices[0].message.parsed == REPORT
            assert {"city": "Paris"} in partial
            assert len(partial) > 5
        else:
            assert client.chat.completions.parse(**asking, response_format=Report).choices[0].message.parsed == REPORT
        loose = client.chat.completions.create(**asking, response_format={"type": "json_object"})
        assert json.loads(loose.choices[0].message.content or "") == REPORT.model_dump()


@both
def test_openai_responses_with_tools(streamed: bool):
    with host() as url, openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        asking: dict[str, Any] = {"model": "scripted", "text_format": Report}
        asking["tools"] = [openai.pydantic_function_tool(get_weather)["function"] | {"type": "function"}]

        def said(history: list[Any]) -> Any:
            if not streamed:
                return client.responses.parse(input=history, **asking)
            with client.responses.stream(input=history, **asking) as stream:
                texts = [event.delta for event in stream if event.type == "response.output_text.delta"]
                response = stream.get_final_response()
            assert "".join(texts) == response.output_text
            return response

        history: list[Any] = [{"role": "user", "content": QUESTION}]
        (call,) = said(history).output
        assert (call.type, json.loads(call.arguments)) == ("function_call", {"city": "Paris"})
        asked = {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny, 21 °C"}
        assert said([*history, asked, result]).output_parsed == REPORT


@both
def test_openai_is_refused_in_its_own_form_and_asks_once(streamed: bool):
    asked: list[Request] = []

    def refuse(request: Request) -> ScriptedReply:
        asked.append(request)
        return says("I would rather talk about it.")

    with host(*[refuse] * 9) as url, openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client:
        form: Any = {"type": "json_schema", "json_schema": {"name": "report", "schema": SCHEMA}}
        asking: dict[str, Any] = {"model": "scripted", "messages": [{"role": "user", "content": QUESTION}]}
        with pytest.raises(openai.UnprocessableEntityError, match="the answer is not JSON") as refused:
            client.chat.completions.create(**asking, response_format=form, stream=streamed)
    assert refused.value.code == "json_validate_failed"
    assert len(asked) == 4  # with three repairs


def test_a_stream_that_cannot_go_on_ends_with_an_error_in_both_apis():
    wrong = says('{"city": "Paris", "degrees": 21}')
    asking: dict[str, Any] = {"model": "scripted", "messages": [{"role": "user", "content": QUESTION}], "stream": True}
    lines = [wrong, *[says('{"city": "Rome"}')] * 8]
    with host(*lines) as url:
        got: list[str] = []
        with openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client:
            form: Any = {"type": "json_schema", "json_schema": {"name": "report", "schema": SCHEMA}}
            stream = client.chat.completions.create(**asking, response_format=form)
            with pytest.raises(openai.APIError, match="did not answer as asked"):
                got.extend(chunk.choices[0].delta.content or "" for chunk in stream)
        assert "".join(got) == '{"city":"Paris","degrees":21'
        with anthropic.Anthropic(base_url=url, api_key="none") as other:
            config: Any = {"format": {"type": "json_schema", "schema": SCHEMA}}
            with pytest.raises(anthropic.APIStatusError, match="did not answer as asked"):
                list(other.messages.create(**asking, max_tokens=99, output_config=config))


@spoken
@both
def test_anthropic_with_tools(dialect: str, streamed: bool):
    tools = Tools()
    with host(dialect=dialect) as url, anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client:
        history: list[Any] = [{"role": "user", "content": QUESTION}]
        asking: dict[str, Any] = {"model": "scripted", "max_tokens": 99, "output_format": Report}
        asking["tools"] = ANTHROPIC_TOOLS

        def said() -> Any:
            if not streamed:
                return client.messages.parse(messages=history, **asking)
            with client.messages.stream(messages=history, **asking) as stream:
                texts = [event.text for event in stream if event.type == "text"]
                message = stream.get_final_message()
            assert "".join(texts) == "".join(block.text for block in message.content if block.type == "text")
            return message

        first = said()
        (call,) = first.content
        assert (first.stop_reason, call.name, call.input) == ("tool_use", "get_weather", {"city": "Paris"})
        result = tools.run(call.name, call.input)
        history += [
            {"role": "assistant", "content": [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.input}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": result}]},
        ]  # fmt: skip
        last = said()
        assert (last.stop_reason, last.parsed_output) == ("end_turn", REPORT)
        assert [block.type for block in last.content] == ["text"]


@both
def test_anthropic_alone(streamed: bool):
    lines = says("It is sunny."), give(REPORT.model_dump())
    with host(*lines) as url, anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client:
        asking: dict[str, Any] = {"model": "scripted", "messages": [{"role": "user", "content": QUESTION}]}
        asking["max_tokens"] = 99
        if streamed:
            with client.messages.stream(**asking, output_format=Report) as stream:
                assert len([event for event in stream if event.type == "text"]) > 5
                assert stream.get_final_message().parsed_output == REPORT
        else:
            assert client.messages.parse(**asking, output_format=Report).parsed_output == REPORT
        config: Any = {"format": {"type": "json_schema", "schema": SCHEMA}}
        (block,) = client.messages.create(**asking, output_config=config).content
        assert json.loads(block.text) == REPORT.model_dump()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["json_schema", "json_mode", "function_calling"])
def test_langchain(method: Any):
    from langchain_openai import ChatOpenAI

    by_tool = [calls(("Report", REPORT.model_dump()))] * 2
    lines = by_tool if method == "function_calling" else [says("It is sunny."), give(REPORT.model_dump())]
    with host(*lines) as url:
        model = ChatOpenAI(model="scripted", base_url=f"{url}/v1", api_key="none", max_retries=0)
        assert model.with_structured_output(Report, method=method).invoke(QUESTION) == REPORT


@pytest.mark.slow
def test_langchain_agent_with_tools():
    from langchain.agents import create_agent
    from langchain.agents.structured_output import ProviderStrategy
    from langchain_openai import ChatOpenAI

    tools = Tools()
    with host() as url:
        model = ChatOpenAI(model="scripted", base_url=f"{url}/v1", api_key="none", max_retries=0)
        agent = create_agent(model, tools=[tools.get_weather], response_format=ProviderStrategy(Report))
        result = agent.invoke({"messages": [{"role": "user", "content": QUESTION}]})
    assert result["structured_response"] == REPORT
    assert tools.ran == [("get_weather", "Paris")]


@pytest.mark.slow
@both
def test_openai_agents_with_tools(streamed: bool):
    import agents

    tools = Tools()

    async def conversation(url: str) -> Any:
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            agent = agents.Agent(
                name="weather",
                model=agents.OpenAIChatCompletionsModel("scripted", client),
                tools=[agents.function_tool(tools.get_weather)],
                output_type=Report,
            )
            config = agents.RunConfig(tracing_disabled=True)
            if not streamed:
                return (await agents.Runner.run(agent, QUESTION, run_config=config)).final_output
            run = agents.Runner.run_streamed(agent, QUESTION, run_config=config)
            assert [event.type async for event in run.stream_events()]
            return run.final_output

    with host() as url:
        assert asyncio.run(conversation(url)) == REPORT
    assert tools.ran == [("get_weather", "Paris")]


@pytest.mark.slow
@both
def test_pydantic_ai_with_tools(streamed: bool):
    from pydantic_ai import Agent, NativeOutput
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    tools = Tools()

    async def conversation(url: str) -> Any:
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            model = OpenAIChatModel("scripted", provider=OpenAIProvider(openai_client=client))
            agent = Agent(model, tools=[tools.get_weather], output_type=NativeOutput(Report))
            if not streamed:
                return (await agent.run(QUESTION)).output
            async with agent.run_stream(QUESTION) as run:
                return await run.get_output()

    with host() as url:
        assert asyncio.run(conversation(url)) == REPORT
    assert tools.ran == [("get_weather", "Paris")]
