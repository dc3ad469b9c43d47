"""One measurement in one environment: `python -I measure.py PEER WHAT` prints seconds of CPU.

Every measurement has a process to itself. Only `sys` and `time` are imported at the top: any other module imported here
would make a measured import cheaper.
"""

import sys
from time import process_time

WARM_UP = 20
WARM_SCHEMAS = 200
MANY_TOOLS = 1_000
CALLS = 5_000
READINGS = 50
PIECE_CHARS = 4

SEARCH = '''
def find_rooms{n}(
    city: str,
    arrival: str,
    departure: str,
    guests: int = 2,
    board: Literal["none", "breakfast", "half"] = "breakfast",
    most_per_night: float | None = None,
    must_have: list[str] | None = None,
    pets: bool = False,
) -> str:
    """Look for free hotel rooms in a city.

    Args:
        city: name of the city, in English
        arrival: first night, as YYYY-MM-DD
        departure: morning of leaving, as YYYY-MM-DD
        guests: how many people will stay
        board: meals that are included
        most_per_night: highest price of one night, in euros
        must_have: equipment without which a room is of no use
        pets: whether an animal comes along
    """
    return ""
'''

UNMET = SEARCH.replace("city: str", "city: Annotated[str, Field(max_length={n} + 99)]")
UNMET = UNMET.replace("guests: int", "guests: Annotated[int, Field(le={n} + 9)]")
UNMET = UNMET.replace('"half"]', '"half", "plan {n}"]')
UNMET = UNMET.replace("float | None", "Annotated[float, Field(lt={n} + 500)] | None")
UNMET = UNMET.replace("list[str] | None", 'list[Literal["desk", "bath {n}"]] | None')

ARGUMENTS = {
    "city": "Bergen",
    "arrival": "2030-05-04",
    "departure": "2030-05-09",
    "guests": 3,
    "board": "half",
    "most_per_night": 140.0,
    "must_have": ["kitchen", "desk"],
    "pets": True,
}

URL = "http://127.0.0.1:1/v1"
"""An address at which nothing listens, for agents that are not run."""

PROSE = "There are a few houses by the harbour that might do; I look for rooms in the week that you named. " * 4

BOOK = '''
def book{n}(stay: Stay, note: str = "") -> str:
    """Book a room.

    Args:
        stay: who comes, and when
        note: a word to the house
    """
    return ""
'''


def define_searches(count):
    """Define functions of eight parameters, each an object of its own."""
    from typing import Literal

    return [define(SEARCH, f"find_rooms{n}", n, Literal=Literal) for n in range(count)]


def define_unmet_searches(count):
    """Define the same functions, with five of the eight types used by no other function."""
    from typing import Annotated, Literal

    from pydantic import Field

    names = {"Annotated": Annotated, "Literal": Literal, "Field": Field}
    return [define(UNMET, f"find_rooms{n}", n, **names) for n in range(count)]


def define_bookings(stays):
    """Define one function for each type of stay."""
    return [define(BOOK, f"book{n}", n, Stay=stay) for n, stay in enumerate(stays)]


def define(source, name, n, **names):
    exec(source.replace("{n}", str(n)), names)
    return names[name]


def cpu_seconds(work):
    start = process_time()
    work()
    return process_time() - start


# The measurements of a peer that makes tools. `schema` makes a tool of a function and returns its JSON schema.


def time_cold(schema):
    (function,) = define_searches(1)
    return cpu_seconds(lambda: schema(function))


def time_warm(schema, functions=None):
    functions = functions or define_searches(WARM_UP + WARM_SCHEMAS)
    for function in functions[:WARM_UP]:
        schema(function)
    return time_many(schema, functions[WARM_UP:]) / WARM_SCHEMAS


def time_many(schema, functions):
    return cpu_seconds(lambda: [schema(function) for function in functions])


def time_call(check):
    for _ in range(WARM_UP):
        check(ARGUMENTS)
    return cpu_seconds(lambda: [check(ARGUMENTS) for _ in range(CALLS)]) / CALLS


def written_call():
    """Return a call as models write it without instructions: JSON in a fence."""
    import json

    return "```json\n" + json.dumps({"name": "find_rooms0", "arguments": ARGUMENTS}, indent=2) + "\n```"


def split_pieces(text):
    return [text[start : start + PIECE_CHARS] for start in range(0, len(text), PIECE_CHARS)]


def time_read(find, text):
    """Time `find`, which returns the arguments of the one call in a text."""
    if find(text) != ARGUMENTS:
        raise SystemExit("the call was not found")
    return cpu_seconds(lambda: [find(text) for _ in range(READINGS)]) / READINGS


# The peers.


def toolspeak_schema(function):
    from toolspeak import Tool

    return Tool(function).spec


def toolspeak_agent(function):
    from toolspeak import Agent
    from toolspeak.models import connect

    return Agent(connect("model", at=URL, key="key", dialect="native"), tools=[function])


def toolspeak(what):
    match what:
        case "import":
            return cpu_seconds(lambda: __import__("toolspeak"))
        case "import asyncio":
            return cpu_seconds(lambda: __import__("asyncio"))
        case "from nothing":
            return time_cold(toolspeak_schema)
        case "agent":
            return time_cold(toolspeak_agent)

    from toolspeak import Tool

    match what:
        case "cold":
            return time_cold(toolspeak_schema)
        case "warm":
            return time_warm(toolspeak_schema)
        case "unmet":
            return time_warm(toolspeak_schema, define_unmet_searches(WARM_UP + WARM_SCHEMAS))
        case "many":
            return time_many(toolspeak_schema, define_searches(MANY_TOOLS))
        case "many models":
            return time_many(toolspeak_schema, define_bookings(make_models(MANY_TOOLS)))
        case "many dataclasses":
            return time_many(toolspeak_schema, define_bookings(make_dataclasses(MANY_TOOLS)))
        case "call":
            return time_call(Tool(define_searches(1)[0]).bind)
        case "read":
            return time_read(toolspeak_finder(), [PROSE + "\n\n" + written_call()])
        case "read in pieces":
            return time_read(toolspeak_finder(), split_pieces(written_call()))
        case "read by hand":
            return time_read(find_by_hand, PROSE + "\n\n" + written_call())


def toolspeak_finder():
    from toolspeak import Tool
    from toolspeak.reading.reader import Reader

    specs = [Tool(define_searches(1)[0]).spec]

    def find(chunks):
        reader = Reader(specs)
        events = [event for chunk in chunks for event in reader.feed(chunk)]
        (arguments,) = [event.call.arguments for event in (*events, *reader.close()) if event.kind == "call_ready"]
        return arguments

    return find


def find_by_hand(text):
    import json
    import re

    return json.loads(re.search(r"```json\n(.*?)\n```", text, re.DOTALL)[1])["arguments"]


def pydantic_ai_schema(function):
    from pydantic_ai import Tool

    return Tool(function).tool_def.parameters_json_schema


def pydantic_ai_agent(function):
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=URL, api_key="key")
    return Agent(OpenAIChatModel("model", provider=provider), tools=[function])


def pydantic_ai(what):
    if what == "from nothing":
        return time_cold(pydantic_ai_schema)
    if what == "agent":
        return time_cold(pydantic_ai_agent)

    from pydantic_ai import Tool

    match what:
        case "cold":
            return time_cold(pydantic_ai_schema)
        case "warm":
            return time_warm(pydantic_ai_schema)
        case "unmet":
            return time_warm(pydantic_ai_schema, define_unmet_searches(WARM_UP + WARM_SCHEMAS))
        case "call":
            return time_call(Tool(define_searches(1)[0]).function_schema.validator.validate_python)


def langchain_schema(function):
    from langchain_core.tools import tool
    from langchain_core.utils.function_calling import convert_to_openai_tool

    return convert_to_openai_tool(tool(function, parse_docstring=True))


def langchain_agent(function):
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    return create_agent(ChatOpenAI(model="model", base_url=URL, api_key="key"), tools=[tool(function)])


def langchain(what):
    if what == "from nothing":
        return time_cold(langchain_schema)
    if what == "agent":
        return time_cold(langchain_agent)

    from langchain_core.output_parsers import JsonOutputParser
    from langchain_core.tools import tool  # noqa: F401 (so that it is loaded)

    match what:
        case "cold":
            return time_cold(langchain_schema)
        case "warm":
            return time_warm(langchain_schema)
        case "unmet":
            return time_warm(langchain_schema, define_unmet_searches(WARM_UP + WARM_SCHEMAS))
        case "read in pieces":
            return time_read(
                lambda chunks: [*JsonOutputParser().transform(iter(chunks))][-1]["arguments"],
                split_pieces(written_call()),
            )


def openai_agents(what):
    def define(function):
        from agents import Agent, OpenAIChatCompletionsModel, function_tool
        from openai import AsyncOpenAI

        model = OpenAIChatCompletionsModel("model", AsyncOpenAI(base_url=URL, api_key="key"))
        return Agent(name="bench", model=model, tools=[function_tool(function)])

    return time_cold(define)


def strands(what):
    def define(function):
        from strands import Agent, tool
        from strands.models.openai import OpenAIModel

        model = OpenAIModel(client_args={"base_url": URL, "api_key": "key"}, model_id="model")
        return Agent(model=model, tools=[tool(function)], callback_handler=None)

    return time_cold(define)


def smolagents(what):
    if what == "read":
        from smolagents.models import get_tool_call_from_text

        return time_read(
            lambda text: get_tool_call_from_text(text, "name", "arguments").function.arguments,
            PROSE + "\n\n" + written_call(),
        )

    def load():
        from smolagents import OpenAIModel, ToolCallingAgent, tool  # noqa: F401 (importing is what is measured)

    return cpu_seconds(load)


# The types of a thousand different tools.


def make_models(count):
    from datetime import date

    from pydantic import create_model

    return [
        create_model(f"Stay{n}", guest=(str, ...), arrival=(date, ...), nights=(int, 1), wishes=(list[str], []))
        for n in range(count)
    ]


def make_dataclasses(count):
    from dataclasses import field, make_dataclass
    from datetime import date

    return [
        make_dataclass(
            f"Stay{n}",
            [
                ("guest", str),
                ("arrival", date),
                ("nights", int, 1),
                ("wishes", list[str], field(default_factory=list)),
            ],
        )
        for n in range(count)
    ]


PEERS = {
    "toolspeak": toolspeak,
    "pydantic-ai": pydantic_ai,
    "langchain": langchain,
    "openai-agents": openai_agents,
    "smolagents": smolagents,
    "strands": strands,
}

if __name__ == "__main__":
    peer, what = sys.argv[1:]
    print(PEERS[peer](what))
