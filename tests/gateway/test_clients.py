"""Clients and frameworks as they are: each has the conversation through the gateway, and gets native tool calls.

Some ask by the responses API, too. Behind the gateway is a model that is told of tools in TypeScript and answers in it.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from toolspeak.dialects import TYPESCRIPT
from toolspeak.models import Request
from toolspeak.testing import ScriptedModel, ScriptedReply, calls

from .conversing import ANSWER, BEFORE, MADE, QUESTION, RESULTS, Tools, scripted
from .hosting import gateway, serve_model

slow = pytest.mark.slow  # some of them take seconds to import
both = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
both_apis = pytest.mark.parametrize("api", [pytest.param("chat", marks=slow), "responses"])


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name, value in (
        ("LANGSMITH_TRACING", "false"),
        ("LANGCHAIN_TRACING_V2", "false"),
        ("OPENAI_AGENTS_DISABLE_TRACING", "1"),
        ("HF_HUB_DISABLE_TELEMETRY", "1"),
        ("LLM_USER_PATH", str(tmp_path)),
    ):
        monkeypatch.setenv(name, value)


@both_apis
@both
def test_langchain_agent(url: str, streamed: bool, api: str):
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    tools = Tools()
    options: dict[str, Any] = {"base_url": f"{url}/v1", "api_key": "none", "use_responses_api": api == "responses"}
    model = ChatOpenAI(model="scripted", streaming=streamed, **options)
    agent = create_agent(model, tools=[tools.get_weather, tools.calculator])
    question = {"messages": [{"role": "user", "content": QUESTION}]}
    if streamed:
        pieces = [piece for piece, _ in agent.stream(question, stream_mode="messages") if piece.type != "tool"]
        assert len(pieces) > 10
        assert "".join(piece.text for piece in pieces) == BEFORE + ANSWER
    else:
        _, said, *results, answer = agent.invoke(question)["messages"]
        assert [(call["name"], *call["args"].values()) for call in said.tool_calls] == MADE
        assert [result.tool_call_id for result in results] == [call["id"] for call in said.tool_calls]
        assert (said.text, answer.text) == (BEFORE, ANSWER)
    assert sorted(tools.ran) == sorted(MADE)  # it runs them side by side


@both_apis
@both
def test_pydantic_ai(url: str, streamed: bool, api: str):
    from openai import AsyncOpenAI
    from pydantic_ai import Agent, AgentRunResultEvent
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    tools = Tools()

    async def conversation() -> tuple[str, int]:
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none") as client:
            kind = OpenAIChatModel if api == "chat" else OpenAIResponsesModel
            model = kind("scripted", provider=OpenAIProvider(openai_client=client))
            agent = Agent(model, tools=[tools.get_weather, tools.calculator])
            if not streamed:
                return (await agent.run(QUESTION)).output, 0
            async with agent.run_stream_events(QUESTION) as run:
                events = [event async for event in run]
            assert isinstance(events[-1], AgentRunResultEvent)
            return events[-1].result.output, len(events)

    output, events = asyncio.run(conversation())
    assert output == ANSWER
    assert not streamed or events > 20
    assert sorted(tools.ran) == sorted(MADE)


@both_apis
@both
def test_openai_agents(url: str, streamed: bool, api: str):
    import agents
    from openai import AsyncOpenAI

    tools = Tools()
    kind = agents.OpenAIChatCompletionsModel if api == "chat" else agents.OpenAIResponsesModel

    async def conversation() -> str:
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none") as client:
            agent = agents.Agent(
                name="weather",
                model=kind("scripted", client),
                tools=[agents.function_tool(tools.get_weather), agents.function_tool(tools.calculator)],
            )
            config = agents.RunConfig(tracing_disabled=True)
            if not streamed:
                return (await agents.Runner.run(agent, QUESTION, run_config=config)).final_output
            run = agents.Runner.run_streamed(agent, QUESTION, run_config=config)
            kinds = [event.type async for event in run.stream_events()]
            assert kinds.count("raw_response_event") > 20
            return run.final_output

    assert asyncio.run(conversation()) == ANSWER
    assert sorted(tools.ran) == sorted(MADE)


@pytest.fixture(scope="module")
def smolagents_url() -> Iterator[str]:
    """It tells earlier calls in words of its own, and takes its answer by a call."""

    def final(request: Request) -> ScriptedReply:
        told = "\n".join(message.text for message in request.shown.messages)
        assert all(result in told for result in RESULTS)
        return calls(("final_answer", {"answer": ANSWER}))

    first = scripted()._script[0]
    model = ScriptedModel([first, final, final, final], dialect="typescript", chunk=5)
    with gateway(serve_model(model, TYPESCRIPT)) as address:
        yield address


@slow
@both
def test_smolagents_tool_calling_agent(smolagents_url: str, streamed: bool):
    import smolagents

    tools = Tools()
    model = smolagents.OpenAIServerModel("scripted", api_base=f"{smolagents_url}/v1", api_key="none")
    agent = smolagents.ToolCallingAgent(
        tools=[smolagents.tool(tools.get_weather), smolagents.tool(tools.calculator)],
        model=model,
        stream_outputs=streamed,
        verbosity_level=smolagents.LogLevel.OFF,
    )
    assert agent.run(QUESTION) == ANSWER
    assert sorted(tools.ran) == sorted(MADE)


@slow
@both
def test_simonw_llm(url: str, streamed: bool):
    from llm.default_plugins.openai_models import Chat

    tools = Tools()
    model = Chat("scripted", model_name="scripted", api_base=f"{url}/v1", supports_tools=True, can_stream=True)
    chain = model.chain(QUESTION, tools=[tools.get_weather, tools.calculator], stream=streamed, key="none")
    pieces = list(chain)
    assert "".join(pieces).split() == f"{BEFORE} {ANSWER}".split()
    assert not streamed or len(pieces) > 10
    assert tools.ran == MADE
