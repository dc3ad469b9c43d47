"""Agent frameworks in Python, each as its first page shows it: two tools, and then a second question.

No option says that nothing is stored: what a framework refers to by an id must be there.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from weather import FUNCTIONS, TOOLS, Told, api, calculator, get_weather, play, streamed, url

LATER = "Which of the two cities is warmer?"
BASE, KEY, MODEL = f"{url}/v1", "none", "small"


async def agent_framework(told: Told, *questions: str) -> None:
    from agent_framework import Agent
    from agent_framework.openai import OpenAIChatClient

    client = OpenAIChatClient(model=MODEL, api_key=KEY, base_url=BASE)
    agent = Agent(client=client, tools=list(FUNCTIONS.values()))
    session = agent.create_session()
    for question in questions:
        if streamed:
            stream = agent.run(question, stream=True, session=session)
            async for _ in stream:
                told.pieces += 1
            told.add((await stream.get_final_response()).text)
        else:
            told.add((await agent.run(question, session=session)).text)


async def semantic_kernel(told: Told, *questions: str) -> None:
    from openai import AsyncOpenAI
    from semantic_kernel.agents import OpenAIResponsesAgent
    from semantic_kernel.functions import kernel_function

    class Plugin:
        @kernel_function
        def get_weather(self, city: Annotated[str, "The city."]) -> str:
            """The current weather in a city."""
            return get_weather(city)

        @kernel_function
        def calculator(self, expression: Annotated[str, "The expression."]) -> str:
            """The value of an arithmetic expression."""
            return calculator(expression)

    client = AsyncOpenAI(api_key=KEY, base_url=BASE, max_retries=0)
    agent = OpenAIResponsesAgent(ai_model_id=MODEL, client=client, name="weather", plugins=[Plugin()])
    thread = None
    for question in questions:
        if streamed:
            texts: list[str] = []
            async for update in agent.invoke_stream(messages=question, thread=thread):
                texts.append(str(update.message))
                told.pieces += 1
                thread = update.thread
            told.add("".join(texts))
        else:
            response = await agent.get_response(messages=question, thread=thread)
            thread = response.thread
            told.add(str(response.message))


async def agno(told: Told, *questions: str) -> None:
    from agno.agent import Agent
    from agno.db.in_memory import InMemoryDb
    from agno.models.openai import OpenAIResponses

    model = OpenAIResponses(id=MODEL, api_key=KEY, base_url=BASE, max_retries=0)
    agent = Agent(
        model=model, tools=list(FUNCTIONS.values()), db=InMemoryDb(), add_history_to_context=True, telemetry=False
    )
    for question in questions:
        if streamed:
            texts: list[str] = []
            async for event in agent.arun(question, session_id="one", stream=True):
                if event.event == "RunError":
                    raise RuntimeError(event.content)
                if event.event == "RunContent" and event.content is not None:
                    texts.append(str(event.content))
                    told.pieces += 1
            told.add("".join(texts))
        else:
            told.add((await agent.arun(question, session_id="one")).content)


async def ag2(told: Told, *questions: str) -> None:
    from ag2 import Agent
    from ag2.config import OpenAIResponsesConfig

    config = OpenAIResponsesConfig(model=MODEL, api_key=KEY, base_url=BASE, streaming=streamed, max_retries=0)
    agent = Agent("weather", config=config, tools=list(FUNCTIONS.values()))
    reply: Any = None
    for question in questions:
        reply = await (agent.ask(question) if reply is None else reply.ask(question))
        told.pieces += 1
        told.add(reply.body)


async def openai_agents(told: Told, *questions: str) -> None:
    from agents import Agent, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    client = AsyncOpenAI(api_key=KEY, base_url=BASE, max_retries=0)
    model = OpenAIResponsesModel(model=MODEL, openai_client=client)
    agent = Agent(name="weather", model=model, tools=[function_tool(each) for each in FUNCTIONS.values()])
    previous = None
    for question in questions:
        if streamed:
            result: Any = Runner.run_streamed(agent, question, previous_response_id=previous)
            async for _ in result.stream_events():
                told.pieces += 1
        else:
            result = await Runner.run(agent, question, previous_response_id=previous)
        previous = result.last_response_id
        told.add(result.final_output)


FRAMEWORKS: dict[str, Callable[..., Awaitable[None]]] = {
    each.__name__: each for each in (agent_framework, semantic_kernel, agno, ag2, openai_agents)
}

play(
    {
        "tools": lambda told: asyncio.run(FRAMEWORKS[api](told, TOOLS, LATER)),  # type: ignore[arg-type]  # a coroutine
        "cut": lambda told: asyncio.run(FRAMEWORKS[api](told, TOOLS)),  # type: ignore[arg-type]  # a coroutine
    }
)
