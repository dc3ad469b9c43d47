from langchain.agents import create_agent
from langchain_core.tools import tool as make_tool
from langchain_openai import ChatOpenAI


def agent(url, model, tool):
    chat = ChatOpenAI(model=model, base_url=url, api_key="key", max_retries=0, use_responses_api=False)
    graph = create_agent(chat, tools=[make_tool(tool, parse_docstring=True)])
    request = {"messages": [{"role": "user", "content": "Go."}]}

    async def run(stream):
        if not stream:
            return (await graph.ainvoke(request))["messages"][-1].content
        text = ""
        async for message, _ in graph.astream(request, stream_mode="messages"):
            text += message.content if message.type == "AIMessageChunk" else ""
        return text

    return run
