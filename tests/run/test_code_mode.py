"""Code mode: programs of a model call tools, and their calls are checked, approved, limited and recorded as any."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from itertools import takewhile
from typing import Any

import pytest

from tests.cases import each_case
from toolspeak import Agent, Limits, RunPaused, UsageError, codec, tool
from toolspeak.dialects.tool_selection import FIND_DESCRIPTION
from toolspeak.execution.sandbox import SandboxLimits
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.tools import Context
from toolspeak.values.events import Fact, NestedFact, ToolFinished, ToolStarted
from toolspeak.values.messages import Media, ToolCall
from toolspeak.values.outcome import Outcome

from .playing import SkippedClock

pytest.importorskip("pydantic_monty", reason="code mode needs pydantic-monty")

SUM = """
total = 0
for number in range(1, 41):
    total += get_order(number=number)["total"]
print(total)
"""


def get_order(number: int) -> dict[str, float]:
    """Return an order."""
    if number == 13:
        raise ValueError("no order 13")
    return {"number": number, "total": number * 2.0}


def answer_program(program: str, *tools: Any, **options: Any) -> Outcome[None]:
    model = ScriptedModel([calls(("run_program", {"code": program})), says("Done.")])
    options.setdefault("code", True)
    return Agent(model, [get_order, *tools], **options).run("Go.")


def list_inner(facts: Any, kind: type[Any]) -> list[Any]:
    return [fact.event for fact in facts if isinstance(fact, NestedFact) and isinstance(fact.event, kind)]


def test_a_loop_over_many_calls_takes_two_turns():
    code = SUM.replace("range(1, 41)", "[n for n in range(1, 41) if n != 13]")

    outcome = answer_program(code)

    assert outcome.calls[0].output == str(float(sum(2 * n for n in range(1, 41) if n != 13)))
    assert sum(fact.kind == "turn_started" for fact in outcome.facts) == 2
    assert len(list_inner(outcome.facts, ToolFinished)) == 39


@pytest.mark.parametrize("dialect", ["native", "json", "typescript", "python"])
def test_the_model_is_shown_functions_in_every_dialect(dialect: str):
    model = ScriptedModel([calls(("run_program", {"code": "get_order(2)"})), says("Done.")], dialect=dialect)

    outcome = Agent(model, [get_order], code=True).run("Go.")

    request = model.requests[0].shown
    shown = "\n".join([*(each.description for each in request.tools), *(each.text for each in request.messages)])
    assert "def get_order(*, number: int)" in shown
    assert outcome.calls[0].output == "{'number': 2, 'total': 4.0}"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("get_order(number='2')['total']", "4.0"),  # coerced as any argument
        ("get_order(2)['total']", "4.0"),
        ("try:\n    get_order(13)\nexcept RuntimeError as error:\n    print(error)", "ValueError: no order 13"),
        ("try:\n    get_order(nr=1)\nexcept RuntimeError:\n    print('no')", "no"),
        ("x = [get_order(n)['total'] for n in (1, 2)]", "(nothing was printed"),
        ("def f(n):\n    return get_order(n)['total']\nf(3) + f(4)", "14.0"),
    ],
)
def test_what_a_program_gives(code: str, expected: str):
    assert str(answer_program(code).calls[0].output).startswith(expected)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("get_order(nr=1)", "nr: no such key; did you mean number?"),
        ("get_order(1, 2, 3)", "get_order() has too many arguments: 3; it takes 1"),
        ("get_order(1, number=2)", "TypeError: get_order() got multiple values for argument 'number'"),
        ("get_order(13)", "ValueError: no order 13"),
        ("get_orders(1)", "name 'get_orders' is not defined"),
        ("1 / 0", "ZeroDivisionError"),
        ("for", "SyntaxError"),
        ("open('/etc/passwd').read()", "Error"),
        ("import socket", "Error"),
        ("async def f():\n    return await get_order(1)\nimport asyncio\nasyncio.run(f())", "TypeError"),
    ],
)
def test_why_a_program_fails(code: str, reason: str):
    outcome = answer_program(code)

    assert reason in str(outcome.calls[0].error)
    assert outcome.text == "Done."


LAUGHS = "x = 'ha'\nfor _ in range(12): x = [x] * 100\n"
TUPLES = "x = ('ha',)\nfor _ in range(4): x = (x,) * 100\n"


@each_case(
    "code",
    {
        "one long text": "keep('x' * 300_000)",
        "many texts": "for _ in range(30): keep('x' * 10_000)",
        "many numbers": "keep(list(range(20_000)))",
        "a name": "keep(**{'x' * 300_000: 1})",
        "calls that fail": "for _ in range(30):\n    try: keep('x' * 10_000, 2, 3)\n    except TypeError: pass",
        "results": "for _ in range(30): grow()",
        "errors": "for _ in range(30):\n    try: grow(fails=True)\n    except RuntimeError: pass",
        "media": "for _ in range(30): draw()",
        "one list many times": f"{LAUGHS}keep(x)",
        "in a dict": f"{LAUGHS}keep({{'a': x}})",
        "one tuple many times, as a key": f"{TUPLES}keep({{x: 1}})",
        "in a set": f"{TUPLES}keep({{x}})",
        "in a frozenset, by name": f"{TUPLES}keep(value=frozenset([x]))",
        "in a named tuple": f"{TUPLES}from collections import namedtuple\nkeep({{namedtuple('N', 'a')(x)}})",
        "large integers": "keep([2**14_000] * 100)",
        "long names of time zones": "import datetime as d\nkeep([d.timezone(d.timedelta(0), 'x' * 10_000)] * 30)",
        "a list that holds itself": "x = []\nx += [x, x]\nkeep(x)",
        "in evaluated code": f"{TUPLES}eval('keep({{x}})')",
        "with other builtins": f"{TUPLES}type = len = isinstance = zip = lambda *args: {{x}}\nkeep({{x}})",
    },
)
def test_what_a_program_and_its_functions_pass_to_each_other_is_limited(code: str):
    def grow(fails: bool = False) -> str:
        """Return a long text."""
        if fails:
            raise ValueError("x" * 10_000)
        return "x" * 10_000

    def draw() -> Media:
        """Return an image."""
        return Media(mime="image/png", data=b"x" * 10_000)

    outcome = answer_program(code, keep, grow, draw, code=SandboxLimits(transfer=200_000))

    assert "passed more than 200000 bytes to each other" in str(outcome.calls[0].error)
    assert len(list_inner(outcome.facts, ToolFinished)) <= 20
    assert sum(len(str(codec.encode(fact))) for fact in outcome.facts) < 2_000_000


ENDLESS = "x = ('ha',)\nfor _ in range(12): x = (x,) * 100\n"
COMMON_HASH = "[n * (2**61 - 1) for n in range(300_000)]"
HOST = """
import json, resource, sys
from tests.run.test_code_mode import answer_program, keep
from toolspeak.execution.sandbox import SandboxLimits, run_monty
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
for code in json.load(sys.stdin):
    limits = SandboxLimits(transfer=200_000)
    call = answer_program(code, keep, code=limits).calls[0]
    print(json.dumps([call.error, run_monty(code.replace("keep", ""), limits).value]))
"""


@pytest.mark.skipif(os.name != "posix", reason="needs limits of memory as Unix has them")
def test_a_value_that_would_take_for_ever_to_hash_does_not_stop_the_host():
    values = [f"{ENDLESS}keep({{x: 1}})", f"{ENDLESS}keep([{{x}}])", f"{ENDLESS}keep(frozenset([x]))"]
    values += [f"keep(set({COMMON_HASH}))", f"keep(dict.fromkeys({COMMON_HASH}))"]
    done = subprocess.run(
        [sys.executable, "-c", HOST], input=json.dumps(values), capture_output=True, text=True, timeout=80, check=True
    )

    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(outcomes) == len(values)
    for error, shown in outcomes:
        assert "passed more than 200000 bytes to each other" in error
        assert len(shown) == 10_001


@each_case(
    "code",
    {
        "call": f"{TUPLES}__host(None, [{{x}}], [], False)",
        "bind": f"{TUPLES}__bind({{x}})(1)",
        "build": f"{TUPLES}__bridge(*[None] * 9, __host)",
        "name": f"{TUPLES}hosts({{x}})",
        "method": f"{TUPLES}open({{x}})",
    },
)
def test_a_program_passes_nothing_to_the_host_but_by_its_functions(code: str):
    outcome = answer_program(code, keep)

    assert "Error: " in str(outcome.calls[0].error)
    assert not list_inner(outcome.facts, ToolStarted)


def test_a_program_that_is_resumed_may_pass_as_much_as_before():
    code = "for _ in range(9):\n    hold('x' * 10_000)\nhold(1)"
    hold = tool(keep, name="hold", effect="read")
    facts = answer_program(code, hold, code=SandboxLimits(transfer=200_000)).facts
    agent = Agent(ScriptedModel([says("Done.")] * 2), [get_order, hold], code=SandboxLimits(transfer=200_000))

    outcome = agent.resume(cut(facts, 9))

    assert outcome.calls[0].output == "1"


NEST = "x = {}\nfor _ in range({}): x = [x]\nkeep(x)"


def keep(value: object = None, numbers: list[float] | None = None) -> object:
    """Keep a value."""
    return value


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("keep(float('nan'))", "nan is no number of JSON"),
        ("keep([{'a': -float('inf')}])", "-inf is no number of JSON"),
        ("keep(numbers='[1e999]')", "inf is no number of JSON"),
        ("keep(b'\\xff')", "bytes that are not text in UTF-8; pass text, such as data.hex()"),
        ("keep(10**5000)", "an integer has too many digits"),
        ("keep({10**5000: 1})", "an integer has too many digits"),
        ("keep({frozenset([1]): 1})", "a frozenset is no key of a dict in JSON"),
        ("keep([1, iter([])])", "<list_iterator object at 0x"),
        ("keep({1: 'a', '1': 'b'})", "two keys of a dict are '1' in JSON"),
        (NEST.format(1, 100), "lists and dicts are nested more than 100 deep"),
        (NEST.format(1, 500), "lists and dicts are nested more than 100 deep"),
    ],
)
def test_arguments_that_a_call_would_lose_are_an_error_in_the_program(code: str, reason: str):
    caught = f"try:\n    {code.splitlines()[-1]}\nexcept TypeError as error:\n    print(error)"
    program = "\n".join([*code.splitlines()[:-1], caught])

    outcome = answer_program(program, keep)

    assert str(outcome.calls[0].output).startswith(f"keep() cannot take these arguments: {reason}")
    assert not list_inner(outcome.facts, ToolStarted)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (NEST.format(1, 99) + " == x", "True"),
        ("keep(10**4000) == 10**4000", "True"),
        ("keep({1: (2, 3), 'b': b'text'})", "{'1': [2, 3], 'b': 'text'}"),
        ("import datetime\nkeep([datetime.date(2026, 1, 2)])", "['2026-01-02']"),
        ("keep(ValueError('lost'))", "'lost'"),
        ("keep({(1, (2, 'a')): {3}, None: range(4)})", "{'1,2,a': [3], 'None': 'range(0, 4)'}"),
        (
            "from collections import namedtuple, deque\nkeep([namedtuple('N', 'a b')(1, 2), deque([3])])",
            "[[1, 2], [3]]",
        ),
    ],
)
def test_arguments_get_their_form_in_json(code: str, expected: str):
    assert answer_program(code, keep).calls[0].output == expected


@pytest.mark.parametrize(
    ("code", "seconds", "reason"),
    [
        ("while True: pass", 0.3, "TimeoutError"),
        ("while True: print('x' * 1000)", 3, "stopped: it printed more than 10000 characters"),
        ("def f(): return f()\nf()", 30, "RecursionError"),
        ("x = 'x'\nwhile True: x += x", 30, "MemoryError"),
    ],
)
def test_a_program_that_never_ends_is_stopped(code: str, seconds: float, reason: str):
    outcome = answer_program(code, code=SandboxLimits(seconds=seconds, memory=4 * 2**20))

    assert reason in str(outcome.calls[0].error)


def test_a_program_that_calls_for_ever_is_stopped_by_the_limit_of_calls():
    made: list[int] = []

    def poll() -> str:
        """Ask again."""
        made.append(1)
        return "not yet"

    outcome = answer_program("while True: poll()", poll, limits=Limits(calls=10))

    assert len(made) == 9  # and the call of the program
    assert "was stopped (limit)" in str(outcome.calls[0].error)


def test_calls_of_earlier_programs_count():
    made: list[int] = []

    def poll() -> str:
        """Ask again."""
        made.append(1)
        return "not yet"

    programs = [calls(("run_program", {"code": "for _ in range(4): poll()"}))] * 3
    model = ScriptedModel([*programs, says("Done.")])

    Agent(model, [poll], code=True, limits=Limits(calls=8)).run("Go.")

    assert len(made) == 6  # and two programs


def test_a_program_that_polls_is_no_loop():
    state = {"count": 0}

    def poll() -> str:
        """Ask again."""
        state["count"] += 1
        return "done" if state["count"] == 30 else "not yet"

    outcome = answer_program("n = 0\nwhile poll() != 'done': n += 1\nn", poll)

    assert outcome.calls[0].output == "29"


def test_a_program_may_catch_any_number_of_refused_calls():
    code = "n = 0\nfor _ in range(9):\n    try:\n        get_order(x=1)\n    except RuntimeError:\n        n += 1\nn"

    assert answer_program(code).calls[0].output == "9"


def test_large_values_reach_the_program_whole():
    def read_all() -> str:
        """Read all."""
        return "x" * 200_000

    assert answer_program("len(read_all())", read_all).calls[0].output == "200000"


def test_images_of_calls_reach_the_model():
    def photograph() -> Media:
        """Take a picture."""
        return Media(data=b"\x89PNG", mime="image/png")

    outcome = answer_program("photograph()\nprint('taken')", photograph)

    assert outcome.calls[0].output == "taken"
    assert outcome.calls[0].result.media[0].mime == "image/png"


def test_tools_get_the_deps_of_the_run():
    def greet(context: Context[str]) -> str:
        """Greet."""
        return f"Hello, {context.deps}"

    assert answer_program("greet()", greet, deps="Anna").calls[0].output == "'Hello, Anna'"


def test_names_of_python_and_odd_names_are_changed():
    @tool(name="sum")
    def add_up(a: int, b: int) -> int:
        """Add."""
        return a + b

    @tool(name="server.do-it")
    def do_it() -> str:
        """Do it."""
        return "done"

    code = "print(sum([1, 2]), sum_tool(a=3, b=4))\nserver_do_it()"

    assert answer_program(code, add_up, do_it).calls[0].output == "3 7\n'done'"


# Approval

REFUND = (
    "for number in (1, 2, 3):\n    try:\n        print(refund(number=number))\n    except RuntimeError as e: print(e)"
)


class Till:
    """Refunds money after an approval, and notes it."""

    def __init__(self) -> None:
        self.refunded: list[int] = []

    def build_agent(self, code: str = REFUND, **options: Any) -> Agent:
        @tool(approve=True)
        def refund(number: int) -> str:
            """Refund an order."""
            self.refunded.append(number)
            return f"refunded {number}"

        model = ScriptedModel([calls(("run_program", {"code": code})), says("Done.")])
        return Agent(model, [refund, get_order], code=True, **options)


def test_each_call_of_a_program_is_approved():
    till, asked = Till(), list[ToolCall]()

    def approve(call: ToolCall) -> bool | str:
        asked.append(call)
        return True if call.arguments["number"] != 2 else "not this one"

    outcome = till.build_agent(approve=approve).run("Go.")

    assert till.refunded == [1, 3]
    assert [call.name for call in asked] == ["refund"] * 3
    expected = "refunded 1\nnot run: the user did not allow it: not this one\nrefunded 3"
    assert outcome.calls[0].output == expected


def test_a_run_without_an_approver_pauses_inside_of_the_program_and_goes_on():
    till = Till()
    agent = till.build_agent()
    facts: tuple[Fact, ...] = ()
    approvals: dict[str, bool | str] = {}
    for answer in (True, "too much", True):
        with pytest.raises(RunPaused) as paused:
            agent.resume(facts, approvals=approvals) if facts else agent.run("Go.")
        [call] = paused.value.calls
        assert call.name == "refund"
        facts, approvals = paused.value.facts, {call.id: answer}

    outcome = agent.resume(facts, approvals=approvals)

    assert till.refunded == [1, 3]
    assert outcome.calls[0].output == "refunded 1\nnot run: the user did not allow it: too much\nrefunded 3"


def test_nothing_runs_past_a_refusal():
    till = Till()

    till.build_agent(approve=lambda _: False).run("Go.")

    assert till.refunded == []


# Resuming


def cut(facts: tuple[Fact, ...], starts: int) -> list[Fact]:
    """Return the facts up to the start of the n-th call of the program, which then was under way."""
    count = 0

    def is_before(fact: Fact) -> bool:
        nonlocal count
        count += isinstance(fact, NestedFact) and isinstance(fact.event, ToolStarted)
        return count < starts

    kept = list(takewhile(is_before, facts))
    return [*kept, facts[len(kept)]]


def test_a_resumed_program_repeats_no_call_that_has_a_result():
    made: list[int] = []

    @tool(effect="idempotent")
    def mark(number: int) -> int:
        """Mark a number."""
        made.append(number)
        return number * number

    code = "import random\nprint([mark(number=n) + 0 * random.randint(1, 9) for n in range(5)])"
    model = ScriptedModel([calls(("run_program", {"code": code})), says("Done.")])
    agent = Agent(model, [mark], code=True)
    facts = agent.run("Go.").facts
    made.clear()

    outcome = agent.resume(cut(facts, 3))

    assert made == [2, 3, 4]
    assert outcome.calls[0].output == "[0, 1, 4, 9, 16]"


def test_a_call_that_must_not_be_repeated_has_an_unknown_outcome():
    made: list[int] = []

    def pay(number: int) -> str:
        """Pay a bill."""
        made.append(number)
        return "paid"

    code = "for n in range(3):\n    try:\n        print(pay(number=n))\n    except RuntimeError as e: print(e)"
    model = ScriptedModel([calls(("run_program", {"code": code})), says("Done.")])
    agent = Agent(model, [pay], code=True)
    facts = agent.run("Go.").facts
    made.clear()

    outcome = agent.resume(cut(facts, 2))

    assert made == [2]
    assert "whether it took effect is unknown" in str(outcome.calls[0].output)


def test_a_resumed_program_that_takes_another_course_is_stopped():
    made: list[float] = []

    @tool(effect="idempotent")
    def mark(number: float) -> float:
        """Mark a number."""
        made.append(number)
        return number

    code = "import time\nfor _ in range(3): mark(number=time.perf_counter())"
    model = ScriptedModel([calls(("run_program", {"code": code})), says("Done.")])
    agent = Agent(model, [mark], code=True)
    facts = agent.run("Go.").facts
    made.clear()

    outcome = agent.resume(cut(facts, 3))

    assert len(made) == 1  # the call that was under way
    assert "took another course" in str(outcome.calls[0].error)


# The end of the run


@pytest.mark.parametrize("program", ["wait()", "wait()\nwhile True: pass", "while True: pass"])
def test_a_run_that_ends_early_leaves_nothing_of_its_program(program: str):
    clock = SkippedClock()

    async def wait() -> str:
        """Wait for ever."""
        await asyncio.Event().wait()
        return "never"

    def record(fact: Fact) -> None:
        if isinstance(fact, ToolStarted):  # the program begins now
            threading.Timer(0.3, clock.skip, (60,)).start()

    model = ScriptedModel([calls(("run_program", {"code": program})), says("Done.")])
    agent = Agent(model, [wait], limits=Limits(seconds=60), code=SandboxLimits(seconds=5))
    outcome = clock.run(agent.arun("Go.", record=record))

    assert outcome.stop_reason == "limit"
    assert "cancelled" in str(outcome.calls[0].error)


# With other options


def test_a_typed_answer_and_a_handover_stay_outside():
    model = ScriptedModel(
        [calls(("run_program", {"code": "get_order(2)['total']"})), calls(("final_answer", {"answer": 4}))]
    )
    other = Agent(ScriptedModel([]))

    outcome = Agent(model, [get_order, other.as_handoff("expert")], code=True, output=int).run("Go.")

    assert outcome.output == 4
    assert [each.name for each in model.requests[0].shown.tools] == ["expert", "run_program", "final_answer"]


def make_thing(number: int) -> Any:
    def do(place: str) -> str:
        return f"{number} {place}"

    return tool(do, name=f"thing_{number}", description=f"Does the thing number {number}. It has no other use.")


def test_a_program_finds_tools_that_are_too_many_to_be_described():
    def send_mail(to: str) -> str:
        """Send a mail to somebody."""
        return f"sent to {to}"

    code = "print(find_tools('mail'))\nprint(help_tool('send_mail'))\nsend_mail(to='Anna')"
    model = ScriptedModel([calls(("run_program", {"code": code})), says("Done.")])
    agent = Agent(model, [*map(make_thing, range(100)), get_order, send_mail], code=True, tool_budget=400)

    outcome = agent.run("What is in the order 12?")

    [offered] = model.requests[0].shown.tools
    assert "def get_order" in offered.description
    assert "thing_99" not in offered.description
    output = str(outcome.calls[0].output)
    assert "send_mail" in output.split("\n")[0]
    assert output.endswith("'sent to Anna'")


@pytest.mark.parametrize("asked", ["ns.weather-now", "ns_weather_now"])
def test_a_program_is_told_of_found_tools_as_it_can_call_them(asked: str):
    @tool(name="ns.weather-now")
    def tell_weather(city: str) -> str:
        """Tell the weather in a city."""
        return "sunny"

    code = f"print(find_tools('weather'))\nprint(help_tool('{asked}'))\nns_weather_now(city='Oslo')"
    things = [*map(make_thing, range(100)), tell_weather]

    output = str(answer_program(code, *things, tool_budget=400).calls[0].output).split("\n")

    assert output[:2] == ["You can call these now: ns_weather_now", "def ns_weather_now(*, city: str):"]
    assert output[-1] == "'sunny'"


def test_a_tool_that_describes_itself_as_one_of_ours_is_an_ordinary_function():
    def collect(query: str) -> str:
        return "a list of what you said"

    impostor = tool(collect, name="collect", description=FIND_DESCRIPTION)
    model = ScriptedModel([calls(("run_program", {"code": "find_tools('number 7')"})), says("Done.")])
    agent = Agent(model, [impostor, *map(make_thing, range(100))], code=True, tool_budget=400)

    outcome = agent.run("What is in the order 12?")

    [offered] = model.requests[0].shown.tools
    assert offered.description.count("def find_tools(") == 1
    assert "thing_7" in str(outcome.calls[0].output)


def test_an_agent_that_is_a_tool_can_be_asked_by_a_program():
    expert = Agent(ScriptedModel([says("About 709,000.")])).as_tool("expert", "Knows cities.")

    outcome = answer_program("expert(prompt='People in Oslo?')", expert)

    assert outcome.calls[0].output == "'About 709,000.'"


def test_code_is_a_switch_or_limits():
    with pytest.raises(UsageError, match="code is True, False, or SandboxLimits"):
        Agent(ScriptedModel([]), [get_order], code="yes")  # pyright: ignore[reportCallIssue, reportArgumentType]  # the wrong type is what is tested
