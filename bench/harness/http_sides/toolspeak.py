from toolspeak import Agent
from toolspeak.models import connect


def agent(url, model, tool):
    ours = Agent(connect(model, at=url, key="key", dialect="native"), tools=[tool])

    async def run(stream):
        if not stream:
            return (await ours.arun("Go.")).text
        events = ours.astream("Go.")
        async for _ in events:
            pass
        return events.outcome.text

    return run
