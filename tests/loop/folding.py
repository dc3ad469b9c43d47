"""What the tests of the loop share: facts in short, the state after them, and what the loop wants then."""

from collections.abc import Iterable
from typing import Any

from toolspeak.loop import Action, State, decide, initial_state, reduce
from toolspeak.values.events import (
    CallReady,
    Fact,
    FinishReason,
    RunStarted,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from toolspeak.values.messages import Call, Message, Part, Text, ToolCall, ToolResult, user
from toolspeak.values.spec import ToolSpec

PARAMETERS = {"type": "object", "properties": {"x": {}}, "additionalProperties": False}


def spec(name: str, **options: Any) -> ToolSpec:
    return ToolSpec(name=name, description="", parameters=PARAMETERS, **options)


SPECS = [
    spec("read", effect="read"),
    spec("put", effect="idempotent"),
    spec("send"),
    spec("alone", sequential=True),
    spec("pay", approve=True),
    spec("guarded", approve=True, sequential=True),
    spec("peek", approve=True, effect="read"),
    spec("short", max_output=5),
    spec("answer", effect="idempotent"),
]


def started(**options: Any) -> RunStarted:
    return RunStarted(run_id="r", model="m", **{"dialect": "native", "messages": (user("Go."),), **options})


def call(which: str, x: Any = None) -> ToolCall:
    """`"read a"` is a call of `read` with the id `a`."""
    name, call_id = which.split()
    return ToolCall(id=call_id, name=name, arguments={} if x is None else {"x": x})


def ready(which: str, x: Any = None) -> CallReady:
    return CallReady(call=call(which, x))


def ended(*calls: ToolCall, text: str = "", finish: FinishReason = "stop", **options: Any) -> TurnEnded:
    parts: list[Part] = [Text(text=text)] if text else []
    message = Message(role="assistant", parts=(*parts, *(Call(call=each) for each in calls)))
    return TurnEnded(message=message, finish=finish, **options)


def turn(*which: str, number: int = 1, finish: FinishReason = "stop", text: str = "", x: Any = None) -> list[Fact]:
    """A whole message that calls these."""
    made = [call(each, x) for each in which]
    return [TurnStarted(turn=number), *(CallReady(call=each) for each in made), ended(*made, text=text, finish=finish)]


def run(*ids: str) -> list[Fact]:
    return [ToolStarted(call_id=each) for each in ids]


def result(call_id: str, output: Any = "fine", **options: Any) -> ToolFinished:
    return ToolFinished(result=ToolResult(call_id=call_id, output=output, **options))


def after(*facts: Fact | Iterable[Fact], specs: Iterable[ToolSpec] = SPECS) -> State:
    state = initial_state(specs)
    for each in facts:
        for fact in each if isinstance(each, list) else [each]:
            state = reduce(state, fact)
    return state


def wanted(state: State) -> list[str]:
    """What the loop wants, in short; asked twice, as it must not matter."""
    actions = decide(state)
    assert decide(state) == actions
    return [_short(action) for action in actions]


def _short(action: Action) -> str:
    match action.kind:
        case "ask_model":
            choice = action.choice
            extra = "" if choice.mode == "auto" else f" {choice.mode} {' '.join(choice.names)}".rstrip()
            return f"ask {action.turn}{extra}"
        case "run_tools":
            return f"run {' '.join(each.id for each in action.calls)}"
        case "cancel_tools":
            return f"cancel {' '.join(action.call_ids)}"
        case "ask_approval":
            return f"approve {' '.join(each.id for each in action.calls)}"
        case "guide":
            return f"{action.fact.step} {' '.join(action.fact.tools)}".rstrip()
        case "finish":
            return f"finish {action.reason}"
        case kind:
            return kind
