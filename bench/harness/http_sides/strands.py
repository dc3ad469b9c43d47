from openai import AsyncOpenAI
from strands import Agent
from strands import tool as make_tool
from strands.models.openai import OpenAIModel


def agent(url, model, tool):
    client = AsyncOpenAI(base_url=url, api_key="key", max_retries=0)  # its own client would connect for each request
    peer = Agent(model=OpenAIModel(client=client, model_id=model), tools=[make_tool(tool)], callback_handler=None)

    async def run(stream):  # its requests are streamed either way
        peer.messages.clear()  # it would go on with the conversation
        if not stream:
            return str(await peer.invoke_async("Go.")).strip()
        async for event in peer.stream_async("Go."):
            last = event
        return str(last["result"]).strip()

    return run
