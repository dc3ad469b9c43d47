from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)


def agent(url, model, tool):
    client = AsyncOpenAI(base_url=url, api_key="key", max_retries=0)
    peer = Agent(name="bench", model=OpenAIChatCompletionsModel(model, client), tools=[function_tool(tool)])

    async def run(stream):
        if not stream:
            return (await Runner.run(peer, "Go.")).final_output
        result = Runner.run_streamed(peer, "Go.")
        async for _ in result.stream_events():
            pass
        return result.final_output

    return run
