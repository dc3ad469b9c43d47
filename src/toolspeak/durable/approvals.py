"""Approvals of durable runs: the first answer counts, and only for the very call that somebody was asked about.

An answer is a command named after the call and the digest in its `ApprovalNeeded`: of the tool, its schema and the
arguments. So an answer to a call that nobody was asked about is refused, and an answer that no longer fits, because the
tool has changed meanwhile, does not count: somebody is asked again.
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from toolspeak.durable.journal import ApprovalRefused, JournalSession
from toolspeak.durable.records import load_facts
from toolspeak.durable.rows import CommandRow, RunRow
from toolspeak.events import ApprovalGiven, ApprovalNeeded, Fact, NestedFact, join_ids
from toolspeak.messages import ToolCall
from toolspeak.run.approvals import digest_call
from toolspeak.tools import Toolbox

PREFIX = "approve:"


class WaitingCall(NamedTuple):
    """A call that waits for somebody to allow it.

    Attributes:
        id: The id by which the run knows it; for a call of an inner run, with the ids of the calls that lead to it.
        call: The call.
        digest: What an answer is bound to.
        path: The ids of the calls that lead to the inner run.
    """

    id: str
    call: ToolCall
    digest: str
    path: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The name of the command that answers."""
        return f"{PREFIX}{self.id}:{self.digest}"


def find_waiting(facts: Sequence[Fact]) -> dict[str, WaitingCall]:
    """Return the calls that wait for an approval, by their ids."""
    waiting: dict[str, WaitingCall] = {}
    for fact in facts:
        path, event = (fact.path, fact.event) if isinstance(fact, NestedFact) else ((), fact)
        if isinstance(event, ApprovalNeeded):
            call_id = join_ids(path, event.call.id)
            waiting[call_id] = WaitingCall(call_id, event.call, event.digest, path)
        elif isinstance(event, ApprovalGiven):
            waiting.pop(join_ids(path, event.call_id), None)
    return waiting


def answer(
    session: JournalSession, run: RunRow, call_id: str, approved: bool | str, by: str, digest: str | None
) -> bool:
    """Store an answer, and return whether it is the first one.

    Raises:
        ApprovalRefused: Nobody was asked about the call, or it is another one than the digest says.
    """
    facts = load_facts(session, run)
    found = find_waiting(facts).get(call_id)
    if found is None:
        if _was_answered(facts, call_id):
            return False
        raise ApprovalRefused(
            f"no call {call_id!r} of run {run.run_id} waits for an approval (the run is {run.status}); an answer is "
            "taken after ApprovalNeeded"
        )
    if digest is not None and digest != found.digest:
        raise ApprovalRefused(
            f"the call {call_id!r} of run {run.run_id} is not the one that was approved: its tool or arguments are "
            f"others ({found.call.name}, digest {found.digest}); look at it again"
        )
    return session.add_command(run.run_id, found.command, json.dumps({"approved": approved, "by": by}))


def _was_answered(facts: Sequence[Fact], call_id: str) -> bool:
    for fact in facts:
        path, event = (fact.path, fact.event) if isinstance(fact, NestedFact) else ((), fact)
        if isinstance(event, ApprovalGiven) and join_ids(path, event.call_id) == call_id:
            return True
    return False


def build_answers(
    facts: Sequence[Fact], commands: Sequence[CommandRow], toolbox: Toolbox
) -> tuple[list[Fact], list[str]]:
    """Return the facts of answers that count, and the names of all commands that are answers."""
    waiting: Mapping[str, WaitingCall] = {each.command: each for each in find_waiting(facts).values()}
    given: list[Fact] = []
    names = [each.name for each in commands if each.name.startswith(PREFIX)]
    for command in commands:
        asked = waiting.get(command.name)
        if asked is None or not _is_unchanged(asked, toolbox):
            continue
        data = json.loads(command.data)
        approved = data["approved"]
        fact = ApprovalGiven(
            call_id=asked.call.id,
            approved=approved is True,
            reason=approved if isinstance(approved, str) else "",
            by=data["by"],
        )
        given.append(NestedFact(path=asked.path, event=fact) if asked.path else fact)
    return given, names


def _is_unchanged(asked: WaitingCall, toolbox: Toolbox) -> bool:
    """Whether the tool is still the one that somebody was asked about, as far as this agent has it."""
    if asked.path or asked.call.name not in toolbox:
        return True
    return digest_call(asked.call, toolbox[asked.call.name].spec) == asked.digest
