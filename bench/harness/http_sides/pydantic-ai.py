from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


def agent(url, model, tool):
    peer = Agent(OpenAIChatModel(model, provider=OpenAIProvider(base_url=url, api_key="key")), tools=[tool])

    async def run(stream):
        if not stream:
            return (await peer.run("Go.")).output
        async with peer.run_stream_events("Go.") as events:
            async for event in events:
                last = event
        return last.result.output

    return run
