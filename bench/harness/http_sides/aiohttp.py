"""The least that a program which asks a model can do: it sends the request, returns the answer, and calls nothing."""

import aiohttp


def agent(url, model, tool):
    sessions = []

    async def run(stream):
        if not sessions:
            sessions.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1000)))
        body = {"model": model, "messages": [{"role": "user", "content": "Go."}], "stream": stream}
        headers = {"authorization": "Bearer key"}
        async with sessions[0].post(f"{url}/chat/completions", json=body, headers=headers) as response:
            return await response.text()

    return run
