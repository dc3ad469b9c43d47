import os
import tempfile

os.environ.setdefault("LLM_USER_PATH", tempfile.mkdtemp())  # it keeps keys and plugins there

import llm
from llm.default_plugins.openai_models import AsyncChat


def agent(url, model, tool):
    peer = AsyncChat(model, key="key", model_name=model, api_base=url, supports_tools=True)
    tools = [llm.Tool.function(tool)]

    async def run(stream):
        chain = peer.chain("Go.", tools=tools, stream=stream, key="key")
        return "".join([text async for text in chain]) if stream else await chain.text()

    return run
