"""Outputs used as if they had another type."""

from pydantic import BaseModel

from toolspeak import Agent, Outcome, Stream
from toolspeak.testing import ScriptedModel


class Answer(BaseModel):
    city: str


agent = Agent(ScriptedModel([]))


async def main() -> None:
    outcome = agent.run("Which city?", output=Answer)
    outcome.output.town  # error:
    number: int = outcome.output  # error:
    agent.run("Which city?").output.city  # error:
    agent.run("Which city?", output=Answer, output_optional=True).output.city  # error:
    text: str = (await agent.arun("Which city?", output=Answer)).output  # error:
    agent.stream("Which city?", output=Answer).outcome.output.town  # error:
    agent.astream("Which city?", output=Answer).outcome.output.town  # error:
    agent.chat().run("Which city?", output=Answer).output.town  # error:
    agent.resume([], output=Answer).output.town  # error:
    (await agent.aresume([], output=Answer)).output.town  # error:
    agent.stream_resume([], output=Answer).outcome.output.town  # error:
    stream = agent.stream("Which city?", output=Answer)
    numbers: Stream[Outcome[int]] = stream  # error:
    outcome.output = Answer(city="Oslo")  # error:
    print(number, text, numbers)
