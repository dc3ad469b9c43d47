"""The functions that a user gives to an agent, and how somebody is asked whether calls may run.

An answer is bound to the tool that would run: in a durable run it may come after a deploy.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from toolspeak.execution.user_functions import ask_function
from toolspeak.loop.provenance import list_allowed
from toolspeak.loop.state import State, Turn
from toolspeak.tools import Context, Toolbox
from toolspeak.values.codec import encode_argument
from toolspeak.values.errors import RunPaused, UsageError
from toolspeak.values.events import (
    Allow,
    ApprovalGiven,
    ApprovalNeeded,
    Doubt,
    Fact,
    NestedFact,
    join_ids,
)
from toolspeak.values.log import LOG
from toolspeak.values.messages import AllowedValue, Message, ToolCall

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # type checkers know it; it need not be installed

    Deps = TypeVar("Deps", default=Any)
else:
    from typing import TypeVar

    Deps = TypeVar("Deps")

Recorder: TypeAlias = Callable[[Fact], None]
"""A function that keeps the facts of a run. It is called with each fact before the run acts on it."""

BY_EARLIER_ANSWER = "an earlier answer"
"""Who answered (`ApprovalGiven.by`) for a call whose values in doubt were allowed with another call of its message."""

Answer: TypeAlias = bool | str | Allow | Awaitable[bool | str | Allow]

Approver: TypeAlias = Callable[[ToolCall], Answer] | Callable[[ToolCall, Context[Deps]], Answer]
"""A function, sync or async, that decides whether a call may run: returns True, False, or a text that says why not.

If it has a second parameter, that is the `Context` of the call, with the deps, the id of the run, and the values that
are in doubt (`context.doubts`). `Allow(remember=True)` allows these values for the rest of the conversation.
"""

Summarizer: TypeAlias = Callable[[tuple[Message, ...]], str | Awaitable[str]]
"""A function, sync or async, that is called with the dropped messages and returns their summary. If messages were
dropped before, the first one is the summary of those."""


def build_answer(call_id: str, answer: object, source: str, by: str = "") -> ApprovalGiven:
    """Return the fact of an answer: yes, no, or a text that says why not. An error names the `source` of the answer."""
    if not isinstance(answer, bool | str | Allow):
        raise UsageError(
            f"{source} {answer!r:.80}; the answer is True, False, a text that says why not, or Allow(remember=True)"
        )
    is_yes = answer is True or isinstance(answer, Allow)
    reason = answer if isinstance(answer, str) else ""
    remember = isinstance(answer, Allow) and answer.remember
    return ApprovalGiven(call_id=call_id, approved=is_yes, reason=reason, by=by, remember=remember)


async def collect_approvals(
    calls: Sequence[ToolCall],
    approve: Approver[Any],
    build_context: Callable[[str], Context[Any]],
    put: Callable[[ApprovalGiven], None],
    only_doubted: Collection[str] = (),
) -> None:
    """Ask about one call after the other, since a person may be asked, and put each answer into the inbox of a run.

    What somebody allows for the rest of the conversation counts for the later calls, too: of those that are only asked
    about because of values in doubt (`only_doubted`, their ids), one that has no others is not asked about.
    """
    allowed: list[AllowedValue] = []
    for call in calls:
        context = build_context(call.id)
        values = list_allowed(call.name, context.doubts)
        if call.id in only_doubted and values and all(each in allowed for each in values):
            put(build_answer(call.id, True, "", BY_EARLIER_ANSWER))
            continue
        source = f"{getattr(approve, '__name__', approve)}, the function of approve=, returned for {call.name}:"
        answer = build_answer(call.id, await ask_function(approve, call, context), source)
        allowed += values if answer.remember else ()
        put(answer)


class UnansweredCalls:
    """The calls of a paused run: nobody can be asked about them now.

    Attributes:
        calls: The calls that wait for an approval; the run pauses when there are some.
        inside: The calls of inner runs that wait for one, by the ids of the calls that made these runs. There may be
            none, if calls of the inner run wait for a time or a signal.
        is_suspended: Whether the run pauses because calls wait for a time or a signal.
    """

    def __init__(self) -> None:
        self.calls: tuple[ToolCall, ...] = ()
        self.inside: dict[str, tuple[ToolCall, ...]] = {}
        self.is_suspended = False

    @property
    def is_pausing(self) -> bool:
        """Whether the run pauses as soon as nothing is under way."""
        return bool(self.calls) or self.is_suspended

    def has_paused(self, turn: Turn) -> bool:
        """Whether the run waits: for its own calls, or because nothing goes on but inner runs that wait.

        A call that the rule of its tool has let run may still be running: a pause would cut it off.
        """
        is_running = bool(set(turn.running_ids) - self.inside.keys())
        if not self.calls and self.inside and not turn.is_open and not is_running:
            self.calls = tuple(call for calls in self.inside.values() for call in calls)
            self.is_suspended = not self.calls
        return self.is_pausing and not is_running

    def build_pause(self, facts: Sequence[Fact]) -> RunPaused:
        """Return the error that pauses the run, which has these facts."""
        if not self.calls:
            return RunPaused(
                "calls of the run wait for a time or a signal; the workers of its store go on with it then",
                facts=tuple(facts),
            )
        names = ", ".join(call.name for call in self.calls)
        doubts = find_doubted(facts)
        reasons = "; ".join([each.summary for call in self.calls for each in doubts.get(call.id, ())])
        return RunPaused(
            f"the run waits for somebody to allow {names}{f' ({reasons})' if reasons else ''}; give the "
            "agent approve=…, or save the facts of this error and go on with agent.resume(facts, approvals={…})",
            self.calls,
            tuple(facts),
            {call.id: doubts[call.id] for call in self.calls if call.id in doubts},
        )


def find_doubted(facts: Sequence[Fact]) -> dict[str, tuple[Doubt, ...]]:
    """Return the values in doubt about which somebody was asked, by the id of the call in the outermost run."""
    found: dict[str, tuple[Doubt, ...]] = {}
    for fact in facts:
        path, event = (fact.path, fact.event) if isinstance(fact, NestedFact) else ((), fact)
        if isinstance(event, ApprovalNeeded) and event.doubts:
            found[join_ids(path, event.call.id)] = event.doubts
    return found


def build_questions(
    calls: Sequence[ToolCall], doubts: Mapping[str, tuple[Doubt, ...]], toolbox: Toolbox | None
) -> list[ApprovalNeeded]:
    """Return the facts that somebody must be asked about calls. An answer is bound to the tools that are given."""
    return [
        ApprovalNeeded(
            call=call, digest="" if toolbox is None else _digest(call, toolbox), doubts=doubts.get(call.id, ())
        )
        for call in calls
    ]


def withdraw_approvals(state: State, facts: Sequence[Fact], toolbox: Toolbox) -> None:
    """Withdraw, in the state of a resumed run, the approvals that were given for tools that have changed since.

    The call of such a tool waits again, so that `decide` asks somebody about it again.
    """
    asked = {fact.call.id: fact for fact in facts if isinstance(fact, ApprovalNeeded)}
    changed = {
        each.id: each.move_to("waiting")
        for each in state.turn.calls.values()
        if each.stage == "approved"
        and ((fact := asked.get(each.id)) is None or fact.digest != _digest(fact.call, toolbox))
    }
    for call_id in changed.keys() & asked.keys():  # the others were let run by the rule of their tool
        name = asked[call_id].call.name
        LOG.warning(
            "run %s: somebody is asked again, since %s has changed after its call was allowed", state.run_id, name
        )
    state.turn.calls |= changed


def _digest(call: ToolCall, toolbox: Toolbox) -> str:
    """Return what an approval is bound to: a digest of the name, the arguments and the schema of the tool."""
    import hashlib  # imported with the first approval

    schema = toolbox[call.name].spec.parameters if call.name in toolbox else None
    data = [call.name, encode_argument(call.arguments), schema]
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:32]
