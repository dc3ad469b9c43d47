"""`replay`: a recorded run plays the model, the tools, or both.

The model answers by the number of answers that the conversation holds, as `ScriptedModel` does. In the dialect in which
it was recorded it repeats its text word for word; in another one its calls are written anew. A stand-in for a tool
returns what the tool returned to the same arguments.
"""

import asyncio
import json
import os
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Sequence
from pathlib import Path
from typing import Any

from toolspeak.dialects import dialect
from toolspeak.loop import BrokenReference, initial_state, reduce, resolve_references
from toolspeak.loop.compaction import drop_system, list_rounds
from toolspeak.loop.words import read_dropped_rounds
from toolspeak.models import Request
from toolspeak.models.cassettes.exchange import describe_difference, find_nearest
from toolspeak.run.compaction import INSTRUCTIONS
from toolspeak.testing.scripted import RenderedReply, ScriptedReply, find_dialect
from toolspeak.tools import Tool
from toolspeak.tools.context import Context
from toolspeak.tools.function_tool import Bound
from toolspeak.values.codec import encode, encode_argument, load_facts
from toolspeak.values.errors import (
    InvalidArguments,
    ProviderError,
    ReplayMiss,
    StreamInterrupted,
    ToolError,
    UsageError,
)
from toolspeak.values.events import (
    CallMalformed,
    CallReady,
    Compacted,
    Fact,
    FinishReason,
    HandedOver,
    NestedFact,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnRestarted,
    TurnStarted,
)
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Call, Message, Part, Text, Thinking, ToolCall, ToolResult
from toolspeak.values.outcome import Outcome
from toolspeak.values.pieces import Answer, ApiCall, CallPiece, Piece
from toolspeak.values.spec import ToolSpec


@frozen
class RecordedTurn:
    """One message of a recorded run.

    Attributes:
        history: The conversation that the model was shown.
        ended: The end of the message.
        answers_before: How many messages of the model the conversation had before, those included that were not shown.
        malformed: The calls in it that could not be understood, by their ids.
        failure: Why the message broke off; empty if it did not.
    """

    history: tuple[Message, ...]
    ended: TurnEnded
    answers_before: int
    malformed: tuple[CallMalformed, ...] = ()
    failure: str = ""


@frozen
class ReplayedCall:
    """A call of a recorded run, with its result."""

    call: ToolCall
    result: ToolResult


class Replay:
    """A recorded run to replay.

    Attributes:
        model: A model that answers as the recorded one did, in any dialect.
        tools: Stand-ins for the recorded tools, which return the recorded results.
        prompt: The prompt of the run.
        messages: The conversation before that, without the system prompt.
        compacted: How `messages` were compacted when the run started; None if they were shown whole.
    """

    def __init__(self, facts: Iterable[Fact]) -> None:
        facts = [fact for fact in facts if not isinstance(fact, NestedFact)]
        started = next((fact for fact in facts if isinstance(fact, RunStarted)), None)
        if started is None:
            raise UsageError("these are not the facts of a run: there is no RunStarted among them")
        talk = drop_system(started.messages)
        if not talk or talk[-1].role != "user":
            raise UsageError("the recorded run was asked nothing: its last message is not the user's")
        *before, self.prompt = talk
        self.messages: tuple[Message, ...] = tuple(before)
        self.compacted = started.compacted
        specs = {spec.name: spec for fact in facts if isinstance(fact, RunStarted | HandedOver) for spec in fact.tools}
        self.model = ReplayedModel(facts, started)
        book = _CallBook(_list_calls(facts), [fact.call.name for fact in facts if isinstance(fact, CallReady)])
        specs.pop(started.output or "", None)  # a run with `output` brings this tool itself
        self.tools: list[Tool[..., Any]] = [_StandIn(spec, book) for spec in specs.values()]


def replay(facts: "Iterable[Fact] | Outcome[Any] | str | os.PathLike[str]") -> Replay:
    """Return a recorded run to replay: `.model` plays its model, `.tools` its tools.

    Args:
        facts: The facts of the run; its outcome; the JSON Lines that `codec.dump_facts` wrote; or the path of a file of
            them.

    Raises:
        UsageError: These are not the facts of a run.
        ReplayMiss: During the replay: a call has other arguments than the recorded ones, or the model is asked more
            often. The error shows the difference to the nearest call or conversation.

    Examples:
        >>> from toolspeak.run import Agent
        >>> from toolspeak.testing import ScriptedModel, calls
        >>> def add(first: int, second: int) -> int:
        ...     "Add two numbers."
        ...     return first + second
        >>> model = ScriptedModel([calls(("add", {"first": 1, "second": 2})), "It is 3."])
        >>> recorded = replay(Agent(model, tools=[add]).run("What is 1 + 2?"))
        >>> outcome = Agent(recorded.model, tools=recorded.tools).run(recorded.prompt)
        >>> outcome.text, outcome.calls[0].output
        ('It is 3.', 3)
    """
    if isinstance(facts, Outcome):
        return Replay(facts.facts)
    if isinstance(facts, str) and facts.lstrip().startswith("{"):
        return Replay(load_facts(facts))
    if isinstance(facts, str | os.PathLike):
        try:
            return Replay(load_facts(Path(facts).read_text(encoding="utf-8")))
        except OSError as error:
            raise UsageError(f"{os.fspath(facts)} cannot be read: {error.strerror or error}") from None
    return Replay(facts)


def _list_turns(facts: Sequence[Fact]) -> tuple[list[RecordedTurn], tuple[Message, ...]]:
    """Return the messages of the model, and the whole conversation at the end of the run."""
    state = initial_state(())
    turns: list[RecordedTurn] = []
    history: tuple[Message, ...] = ()
    answers = 0
    malformed: list[CallMalformed] = []
    for fact in facts:
        if isinstance(fact, TurnStarted):
            history, answers, malformed = state.shown_history, _count_answers(state.history), []
        elif isinstance(fact, CallMalformed):
            malformed.append(fact)
        elif isinstance(fact, TurnRestarted) and turns and turns[-1].history == history:
            turns.pop()  # another model was asked for this message
        state = reduce(state, fact)
        if isinstance(fact, TurnEnded):
            failure = state.interruption.detail if state.interruption and fact.finish == "error" else ""
            turns.append(
                RecordedTurn(
                    history=history, ended=fact, answers_before=answers, malformed=tuple(malformed), failure=failure
                )
            )
    return turns, state.history


def _count_answers(messages: Iterable[Message]) -> int:
    return sum(message.role == "assistant" for message in messages)


def _list_summaries(facts: Sequence[Fact]) -> list[Compacted]:
    """Return the compactions for which a summary was asked for: those that dropped more than the one before."""
    found: list[Compacted] = []
    dropped = 0
    for fact in facts:
        if isinstance(fact, RunStarted) and fact.compacted is not None:
            dropped = fact.compacted.dropped
        elif isinstance(fact, Compacted) and fact.dropped > dropped:
            found.append(fact)
            dropped = fact.dropped
    return found


def _list_calls(facts: Sequence[Fact]) -> list[ReplayedCall]:
    """Return the calls whose functions were called, with references to earlier results replaced by their values."""
    calls: dict[str, ToolCall] = {}
    results: dict[str, ToolResult] = {}
    started: set[str] = set()
    done: list[ReplayedCall] = []
    for fact in facts:
        if isinstance(fact, CallReady):
            calls[fact.call.id] = fact.call
        elif isinstance(fact, ToolStarted):
            started.add(fact.call_id)
        elif isinstance(fact, ToolFinished) and fact.result.call_id in started:
            call, result = calls[fact.result.call_id], fact.result
            try:
                arguments = resolve_references(call.arguments, results)
            except BrokenReference:
                continue  # the loop gives this result by itself
            results[call.id] = result
            done.append(ReplayedCall(call=ToolCall(id=call.id, name=call.name, arguments=arguments), result=result))
    return done


class ReplayedModel:
    """A model that answers as the model of a recorded run did.

    Attributes:
        requests: All requests so far, in order.
    """

    def __init__(self, facts: Sequence[Fact], started: RunStarted) -> None:
        self._turns, history = _list_turns(facts)
        self._rounds = list_rounds(drop_system(history))
        self._summaries = iter(_list_summaries(facts))
        self._started = started
        self._counts: Counter[int] = Counter()
        self.requests: list[Request] = []

    @property
    def name(self) -> str:
        return self._started.model

    @property
    def dialect(self) -> str:
        return self._started.dialect

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        """Answer as recorded."""
        self.requests.append(request)
        if any(INSTRUCTIONS in message.text for message in request.shown.messages):
            yield [self._summarize()]
            return
        turn = self._find_turn(request)
        parts, finish = _render_turn(turn, request.dialect)
        await asyncio.sleep(0)
        if request.stream:
            for piece in _stream(parts):
                yield [piece]
        if turn.ended.finish == "error":
            raise StreamInterrupted(turn.failure or f"{self.name} broke off here when it was recorded")
        yield [Answer(parts=parts, finish=finish, usage=turn.ended.usage)]

    def _summarize(self) -> Answer:
        """Answer a request for the summary of a conversation that has become too long.

        When a conversation is compacted depends on the tokens that the endpoint counted before the run, which are not
        recorded. So a summary that was not recorded counts as one that failed, and the run goes on without it.
        """
        compacted = next(self._summaries, None)
        if compacted is None:
            raise ProviderError("the recorded run has no further summary")
        if compacted.failure:
            raise ProviderError(compacted.failure.removeprefix(f"{ProviderError.__name__}: "))
        return Answer(parts=(Text(text=compacted.summary),), finish="stop", usage=compacted.usage)

    def _find_turn(self, request: Request) -> RecordedTurn:
        first = next((message.text for message in request.shown.messages if message.role == "user"), "")
        replaced = self._rounds[: read_dropped_rounds(first)]  # by a summary
        answers = _count_answers(request.shown.messages) + sum(map(_count_answers, replaced))
        turns = [turn for turn in self._turns if turn.answers_before == answers]
        if turns:  # several, if the model was asked again after an empty message
            number = min(self._counts[answers], len(turns) - 1)
            self._counts[answers] += 1
            return turns[number]
        count = len(self._turns)
        text = f"the recorded run has {count} answer{'s' * (count != 1)}, and one more was asked for"
        if not self._turns:
            raise ReplayMiss(text)
        last = self._turns[-1]
        shown = dialect(request.dialect).render(self._started.tools, (*last.history, last.ended.message))
        difference = describe_difference(_write_messages(shown.messages), _write_messages(request.shown.messages))
        raise ReplayMiss(f"{text}. The conversation goes on where the recording ends:\n{difference}")


def _write_messages(messages: Iterable[Message]) -> str:
    plain = [encode(message) for message in messages if message.role != "system"]
    return "\n".join(json.dumps(each, indent=1, ensure_ascii=False) for each in plain)


def _render_turn(turn: RecordedTurn, name: str) -> tuple[tuple[Part | ApiCall, ...], FinishReason]:
    """Return the parts of a recorded message as a model writes them in a dialect, and how the message ends."""
    message, finish = turn.ended.message, turn.ended.finish
    finish = ("tool_calls" if message.calls else "stop") if finish == "closed" else finish
    if message.raw is not None and message.raw.dialect == name:
        thinking = tuple(
            part for part in message.parts if isinstance(part, Thinking) and part.text not in message.raw.text
        )
        return (*thinking, Text(text=message.raw.text)), finish
    if message.raw is None and name == "native":
        broken = {each.call_id: each for each in turn.malformed}
        parts = [part for part in message.parts if not isinstance(part, Call)]
        calls = [part for part in message.parts if isinstance(part, Call)]
        return (*parts, *(_to_api_call(index, call, broken) for index, call in enumerate(calls))), finish
    thinking_text = "".join(part.text for part in message.parts if isinstance(part, Thinking))
    reply = ScriptedReply(text=message.text, calls=message.calls, thinking=thinking_text, finish=finish)
    answer = RenderedReply(reply, find_dialect(name, reply), None).answer()
    return answer.parts, finish


def _to_api_call(index: int, part: Call, broken: dict[str, CallMalformed]) -> ApiCall:
    call, malformed = part.call, broken.get(part.call.id)
    arguments = malformed.raw if malformed else json.dumps(encode_argument(call.arguments), ensure_ascii=False)
    name = (malformed.name if malformed else None) or call.name
    return ApiCall(index=index, id=call.id, name=name, arguments=arguments, extra=part.extra)


def _stream(parts: Iterable[Part | ApiCall]) -> Iterable[Piece]:
    for part in parts:
        if isinstance(part, Text):
            yield TextDelta(text=part.text)
        elif isinstance(part, Thinking):
            yield ThinkingDelta(text=part.text)
        elif isinstance(part, ApiCall):
            yield CallPiece(index=part.index, id=part.id, name=part.name)
            yield CallPiece(index=part.index, arguments=part.arguments)


class _CallBook:
    """The calls of a recorded run. Each is used once; equal calls get their results in the recorded order."""

    def __init__(self, calls: Sequence[ReplayedCall], written_names: Sequence[str] = ()) -> None:
        """Prepare the calls that have a result; `written_names` are the tools of all calls that the model wrote."""
        self._written_names = frozenset(written_names)
        self._unused = list(calls)
        self._calls = tuple(calls)

    def take(self, tool: str, arguments: Any) -> ToolResult:
        """Return the recorded result of a call.

        Raises:
            ReplayMiss: The call was not recorded. The error shows the difference to the nearest call of the tool.
        """
        for number, known in enumerate(self._unused):
            if known.call.name == tool and known.call.arguments == arguments:
                return self._unused.pop(number).result
        raise ReplayMiss(self._explain_miss(tool, arguments))

    def _explain_miss(self, tool: str, arguments: Any) -> str:
        calls = [each.call for each in self._calls if each.call.name == tool]
        if not calls and tool in self._written_names:
            return (
                f"{tool} was called in the recorded run, but has no result there: the call waited for an approval, was "
                "not run, or was still running when the recording ended; record the run to its end"
            )
        if not calls:
            names = ", ".join(dict.fromkeys(each.call.name for each in self._calls)) or "none"
            return f"{tool} was not called in the recorded run; the tools that were called: {names}"
        if count := sum(each.arguments == arguments for each in calls):
            times = "once" if count == 1 else f"{count} times"
            return f"{tool} was called {times} with these arguments in the recorded run, and is called once more"
        sought, known = _write(arguments), [_write(each.arguments) for each in calls]
        nearest = known[find_nearest(sought, known) or 0]
        difference = describe_difference(nearest, sought, names=("recorded", "called"))
        return f"{tool} was not called with these arguments in the recorded run. The nearest call:\n{difference}"


def _write(arguments: Any) -> str:
    return json.dumps(arguments, indent=1, sort_keys=True, ensure_ascii=False, default=repr)


class _RecordedRefusal(InvalidArguments):
    """The recorded call was refused because of its arguments, with this text."""

    def __str__(self) -> str:
        return self.problems[0]


class _StandIn(Tool[..., Any]):
    """A tool that returns the results of a recorded run."""

    def __init__(self, spec: ToolSpec, book: _CallBook) -> None:
        super().__init__(_give_result, name=spec.name)
        self.spec = spec
        self._book = book

    def __repr__(self) -> str:
        return f"Tool({self.name}({', '.join(self.spec.parameters['properties'])}))"

    def validate(self, arguments: Any) -> dict[str, Any]:
        """Return the arguments as they are: they were validated when they were recorded."""
        return dict(arguments)

    def bind(self, arguments: Any, context: Context[Any] | None = None) -> Bound:
        """Find the recorded result. Raises `ReplayMiss` if the call was not recorded."""
        result = self._book.take(self.name, arguments)
        if not result.ran:
            raise _RecordedRefusal(self.name, (result.error or "",))
        return Bound((result,), {})


async def _give_result(result: Any) -> Any:
    if result.error is not None:
        raise ToolError(result.error)
    return [result.output, *result.media] if result.media else result.output
