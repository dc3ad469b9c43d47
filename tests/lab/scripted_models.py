"""What the tests of measuring share: a model that answers the questions of a suite rightly, or wrongly where told."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from toolspeak.dialects import PYTHON
from toolspeak.lab.judge import judge_calls
from toolspeak.lab.questions import Question, Suite
from toolspeak.lab.suites import describe_expected
from toolspeak.models import Request
from toolspeak.testing import ScriptedModel, ScriptedReply
from toolspeak.values.events import Usage
from toolspeak.values.messages import ToolCall, user
from toolspeak.values.spec import ToolSpec


def tool(name: str, /, **properties: Any) -> ToolSpec:
    """A tool; an argument that is a schema with a default need not be given."""
    required = [key for key, schema in properties.items() if "default" not in schema]
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return ToolSpec(name=name, description=f"Do {name}.", parameters=parameters)


def question(id: str, text: str, tools: Sequence[ToolSpec], *expected: Any, category: str = "single") -> Question:
    return Question(id=id, category=category, messages=(user(text),), tools=tuple(tools), expected=expected)


def suite_of(*questions: Question, name: str = "own") -> Suite:
    return Suite(name=name, questions=questions, judge=judge_calls, expected=describe_expected)


def right_calls(asked: Question) -> list[ToolCall]:
    """Calls that answer a question, but for those that need a result."""
    return [
        ToolCall(id="", name=each.name, arguments={key: meant(values[0]) for key, values in each.arguments.items()})
        for each in asked.expected
        if not each.after
    ]


def meant(right: Any) -> Any:
    """A value that is right."""
    match right:
        case {"$any": True}:
            return "anything"
        case {"$contains": words}:
            return f"Well, {' and '.join(words)}!"
        case {"$set": items}:
            return [meant(item) for item in reversed(items)]
        case _:
            return right


def answering(
    suite: Suite, *, wrong: Collection[str] = (), dialect: str = "native", name: str = "sage"
) -> ScriptedModel:
    """A model that knows all answers but those to the questions in `wrong`, where it calls when it must not, and the
    other way round. `wrong` may say in which dialect: `python/oslo`."""

    def answer(request: Request) -> ScriptedReply:
        asked = question_in(suite, request)
        usage = Usage(input_tokens=100, output_tokens=10)
        if asked.id not in wrong and f"{request.dialect}/{asked.id}" not in wrong:
            said = right_calls(asked)
        elif asked.expected:
            said = []
        else:
            said = [ToolCall(id="", name=asked.tools[0].name, arguments={})]
        calls = [_named(call, request) for call in said]
        return ScriptedReply(text="" if calls else "There is nothing to call.", calls=tuple(calls), usage=usage)

    return ScriptedModel([answer], dialect=dialect, name=name)


def slipping(suite: Suite, slips: Collection[str], *, times: int = 1) -> ScriptedModel:
    """A model that malforms its first calls, so many times, where it is asked one of the questions in `slips`, and
    knows all answers otherwise. It speaks Python, whatever it is asked in."""

    def slip(number: int) -> Callable[[Request], ScriptedReply]:
        def answer(request: Request) -> ScriptedReply:
            asked = question_in(suite, request)
            calls = right_calls(asked)
            text = PYTHON.format_calls(calls) if calls else "There is nothing to call."
            if asked.id in slips and number < times:
                text = f"{asked.tools[0].name}(a={'b' * (number + 1)})"
            return ScriptedReply(text=text, usage=Usage(input_tokens=100, output_tokens=10))

        return answer

    return ScriptedModel([slip(number) for number in range(times + 1)], name="sage")


def question_in(suite: Suite, request: Request) -> Question:
    said = "\n".join(message.text for message in request.shown.messages)
    return next(each for each in suite.questions if each.messages[-1].text in said)


def _named(call: ToolCall, request: Request) -> ToolCall:
    """As an API has it, which takes no dots in names."""
    name = call.name.replace(".", "_") if request.dialect == "native" else call.name
    return ToolCall(id="", name=name, arguments=call.arguments)
