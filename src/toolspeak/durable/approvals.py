"""Approvals of durable runs: the first answer counts, and only for the very call that somebody was asked about.

An answer after a cancellation, or after the end, does not count; `ApprovalResult` says why.

An answer is a command named after the call, the digest in its `ApprovalNeeded` (of the tool, its schema and the
arguments) and the number of the question. So an answer to a call that nobody was asked about is refused. An answer is
always recorded. If the tool has changed meanwhile, the driver withdraws a yes and asks again (`run/approvals.py`): that
is another question, which can be answered once too.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Self, TypeAlias

from toolspeak.durable.journal import ApprovalRefused, JournalSession
from toolspeak.durable.records import load_facts, unwrap
from toolspeak.durable.rows import CommandRow, RunRow
from toolspeak.values.events import Allow, ApprovalGiven, ApprovalNeeded, Doubt, Fact, NestedFact, join_ids
from toolspeak.values.messages import ToolCall

PREFIX = "approve:"


class WaitingCall(NamedTuple):
    """A call that waits for approval.

    Attributes:
        id: Its id in the run; for a call of an inner run, with the ids of the calls that lead to it.
        call: The call.
        digest: The digest for which a decision is valid.
        path: The ids of the calls that lead to the inner run.
        question: How many questions were asked about the call; asking the same again, unanswered, is no other one.
        doubts: The values of the call that come from untrusted sources.
    """

    id: str
    call: ToolCall
    digest: str
    path: tuple[str, ...] = ()
    question: int = 1
    doubts: tuple[Doubt, ...] = ()

    @property
    def command(self) -> str:
        """The name of the command that decides about it."""
        return f"{PREFIX}{self.id}:{self.digest}:{self.question}"


def find_waiting(facts: Sequence[Fact]) -> dict[str, WaitingCall]:
    """Return the calls that wait for an approval, by their ids."""
    asked: dict[str, WaitingCall] = {}
    answered_ids: set[str] = set()
    for fact in facts:
        path, event = unwrap(fact)
        if isinstance(event, ApprovalNeeded):
            call_id = join_ids(path, event.call.id)
            last, was_answered = asked.get(call_id), call_id in answered_ids
            question = 1 if last is None else last.question + (was_answered or event.digest != last.digest)
            asked[call_id] = WaitingCall(call_id, event.call, event.digest, path, question, event.doubts)
            answered_ids.discard(call_id)
        elif isinstance(event, ApprovalGiven):
            answered_ids.add(join_ids(path, event.call_id))
    return {call_id: each for call_id, each in asked.items() if call_id not in answered_ids}


def list_waiting(session: JournalSession, run: RunRow) -> list[WaitingCall]:
    """Return the calls that an answer still counts for: none of a run that has ended or is to end."""
    if run.status == "done" or session.read_commands([run.run_id], names=("cancel", "deadline")):
        return []
    return list(find_waiting(load_facts(session, run)).values())


ApprovalState: TypeAlias = Literal["counts", "late", "cancelled", "ended"]
"""What became of an answer.

- `counts`: it was the first one, and the run goes on with it.
- `late`: another answer came first.
- `cancelled`: somebody has cancelled the run before.
- `ended`: the run has ended before, or its deadline is over.
"""


class ApprovalResult(int):
    """Whether an answer counts: 1 if it does, so that `if` can ask for it, else 0.

    Attributes:
        state: What became of the answer.
    """

    state: ApprovalState

    def __new__(cls, state: ApprovalState) -> Self:
        """Make the result of an answer."""
        made = super().__new__(cls, state == "counts")
        made.state = state
        return made

    def __repr__(self) -> str:
        return f"ApprovalResult({self.state!r})"


def answer(
    session: JournalSession, run: RunRow, call_id: str, approved: bool | str | Allow, by: str, digest: str | None
) -> ApprovalResult:
    """Store an answer if it is the first one and the run is not to end, and return what became of it.

    Raises:
        ApprovalRefused: Nobody was asked about the call, or it is another one than the digest says.
    """
    facts = load_facts(session, run)
    found = find_waiting(facts).get(call_id)
    if found is None:
        for path, event in map(unwrap, facts):
            if isinstance(event, ApprovalGiven) and join_ids(path, event.call_id) == call_id:
                return ApprovalResult("late")
        raise ApprovalRefused(
            f"no call {call_id!r} of run {run.run_id} waits for an approval (the run is {run.status}); an answer is "
            "taken after ApprovalNeeded"
        )
    if digest is not None and digest != found.digest:
        raise ApprovalRefused(
            f"the call {call_id!r} of run {run.run_id} is not the one that was approved: its tool or arguments are "
            f"others ({found.call.name}, digest {found.digest}); look at it again"
        )
    given = {"approved": True, "remember": approved.remember} if isinstance(approved, Allow) else {"approved": approved}
    data = json.dumps({**given, "by": by})
    if session.add_command(run.run_id, found.command, data, unless=("cancel", "deadline")):
        return ApprovalResult("counts")
    now = session.read_run(run.run_id)
    if session.find_command(run.run_id, "cancel") is not None or (now is not None and now.stop_reason == "cancelled"):
        return ApprovalResult("cancelled")
    if now is None or now.status == "done" or session.find_command(run.run_id, "deadline") is not None:
        return ApprovalResult("ended")
    return ApprovalResult("late")


def build_answers(facts: Sequence[Fact], commands: Sequence[CommandRow]) -> tuple[list[Fact], list[str]]:
    """Return the facts of answers to questions that are open, and the names of all commands that are answers."""
    waiting: Mapping[str, WaitingCall] = {each.command: each for each in find_waiting(facts).values()}
    given: list[Fact] = []
    names = [each.name for each in commands if each.name.startswith(PREFIX)]
    for command in commands:
        asked = waiting.get(command.name)
        if asked is None:
            continue
        data = json.loads(command.data)
        approved = data["approved"]
        fact = ApprovalGiven(
            call_id=asked.call.id,
            approved=approved is True,
            reason=approved if isinstance(approved, str) else "",
            by=data["by"],
            remember=data.get("remember") is True,
        )
        given.append(NestedFact(path=asked.path, event=fact) if asked.path else fact)
    return given, names
