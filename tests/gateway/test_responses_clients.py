"""Frameworks that ask the gateway by the responses API: each has the conversation, on a model that writes TypeScript."""

import asyncio
from typing import Any

import pytest

from .conversing import ANSWER, BEFORE, MADE, QUESTION, Tools

both = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
        monkeypatch.setenv(name, "false")
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")


@both
def test_openai_agents(url: str, streamed: bool):
    import agents
    from openai import AsyncOpenAI

    tools = Tools()

    async def conversation() -> str:
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none") as client:
            agent = agents.Agent(
                name="weather",
                model=agents.OpenAIResponsesModel("scripted", client),
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


@both
def test_pydantic_ai(url: str, streamed: bool):
    from openai import AsyncOpenAI
    from pydantic_ai import Agent, AgentRunResultEvent
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    tools = Tools()

    async def conversation() -> str:
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none") as client:
            model = OpenAIResponsesModel("scripted", provider=OpenAIProvider(openai_client=client))
            agent = Agent(model, tools=[tools.get_weather, tools.calculator])
            if not streamed:
                return (await agent.run(QUESTION)).output
            async with agent.run_stream_events(QUESTION) as run:
                events = [event async for event in run]
            assert isinstance(events[-1], AgentRunResultEvent)
            return events[-1].result.output

    assert asyncio.run(conversation()) == ANSWER
    assert sorted(tools.ran) == sorted(MADE)


@both
def test_langchain_agent(url: str, streamed: bool):
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    tools = Tools()
    options: dict[str, Any] = {"base_url": f"{url}/v1", "api_key": "none", "use_responses_api": True}
    model = ChatOpenAI(model="scripted", streaming=streamed, **options)
    agent = create_agent(model, tools=[tools.get_weather, tools.calculator])
    question = {"messages": [{"role": "user", "content": QUESTION}]}
    if streamed:
        pieces = [piece for piece, _ in agent.stream(question, stream_mode="messages") if piece.type != "tool"]
        assert "".join(piece.text for piece in pieces) == BEFORE + ANSWER
    else:
        _, said, *_, answer = agent.invoke(question)["messages"]
        assert [(call["name"], *call["args"].values()) for call in said.tool_calls] == MADE
        assert (said.text, answer.text) == (BEFORE, ANSWER)
    assert sorted(tools.ran) == sorted(MADE)
