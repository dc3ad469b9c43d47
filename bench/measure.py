"""One measurement in one environment: `python -I measure.py PEER WHAT` prints seconds of CPU.

Every measurement has a process to itself. Nothing is imported up here that an import could then have for free.
"""

import sys
from time import process_time

WARM_UP = 20
WARM = 200
MANY = 1_000
CALLS = 5_000

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

BOOK = '''
def book{n}(stay: Stay, note: str = "") -> str:
    """Book a room.

    Args:
        stay: who comes, and when
        note: a word to the house
    """
    return ""
'''


def searches(count):
    """Functions of eight parameters, each an object of its own."""
    from typing import Literal

    return [defined(SEARCH, f"find_rooms{n}", n, Literal=Literal) for n in range(count)]


def unmet_searches(count):
    """The same, where five of the eight types are those of no other function."""
    from typing import Annotated, Literal

    from pydantic import Field

    names = {"Annotated": Annotated, "Literal": Literal, "Field": Field}
    return [defined(UNMET, f"find_rooms{n}", n, **names) for n in range(count)]


def bookings(stays):
    """One function for each type of stay."""
    return [defined(BOOK, f"book{n}", n, Stay=stay) for n, stay in enumerate(stays)]


def defined(source, name, n, **names):
    exec(source.replace("{n}", str(n)), names)
    return names[name]


def spent(work):
    start = process_time()
    work()
    return process_time() - start


# What can be asked of a peer that makes tools. `schema` makes a tool of a function and gives its JSON schema.


def cold(schema):
    (function,) = searches(1)
    return spent(lambda: schema(function))


def warm(schema, functions=None):
    functions = functions or searches(WARM_UP + WARM)
    for function in functions[:WARM_UP]:
        schema(function)
    return many(schema, functions[WARM_UP:]) / WARM


def many(schema, functions):
    return spent(lambda: [schema(function) for function in functions])


def call(check):
    for _ in range(WARM_UP):
        check(ARGUMENTS)
    return spent(lambda: [check(ARGUMENTS) for _ in range(CALLS)]) / CALLS


# The peers.


def toolspeak_schema(function):
    from toolspeak import Tool

    return Tool(function).spec


def toolspeak(what):
    match what:
        case "import":
            return spent(lambda: __import__("toolspeak"))
        case "import asyncio":
            return spent(lambda: __import__("asyncio"))
        case "from nothing":
            return cold(toolspeak_schema)

    from toolspeak import Tool

    match what:
        case "cold":
            return cold(toolspeak_schema)
        case "warm":
            return warm(toolspeak_schema)
        case "unmet":
            return warm(toolspeak_schema, unmet_searches(WARM_UP + WARM))
        case "many":
            return many(toolspeak_schema, searches(MANY))
        case "many models":
            return many(toolspeak_schema, bookings(models(MANY)))
        case "many dataclasses":
            return many(toolspeak_schema, bookings(dataclasses(MANY)))
        case "call":
            return call(Tool(searches(1)[0]).bind)


def pydantic_ai_schema(function):
    from pydantic_ai import Tool

    return Tool(function).tool_def.parameters_json_schema


def pydantic_ai(what):
    if what == "from nothing":
        return cold(pydantic_ai_schema)

    from pydantic_ai import Tool

    match what:
        case "cold":
            return cold(pydantic_ai_schema)
        case "warm":
            return warm(pydantic_ai_schema)
        case "unmet":
            return warm(pydantic_ai_schema, unmet_searches(WARM_UP + WARM))
        case "call":
            return call(Tool(searches(1)[0]).function_schema.validator.validate_python)


def smolagents(what):
    def load():
        from smolagents import OpenAIModel, ToolCallingAgent, tool  # noqa: F401 (importing is what is measured)

    return spent(load)


# The types of a thousand different tools.


def models(count):
    from datetime import date

    from pydantic import create_model

    return [
        create_model(f"Stay{n}", guest=(str, ...), arrival=(date, ...), nights=(int, 1), wishes=(list[str], []))
        for n in range(count)
    ]


def dataclasses(count):
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


PEERS = {"toolspeak": toolspeak, "pydantic-ai": pydantic_ai, "smolagents": smolagents}

if __name__ == "__main__":
    peer, what = sys.argv[1:]
    print(PEERS[peer](what))
