"""Runs as JSON data, for people and programs that look at them: the command line and the HTTP routes show the same."""

import json
from typing import Any

from toolspeak import codec
from toolspeak.durable.approvals import WaitingCall
from toolspeak.durable.rows import RunRow
from toolspeak.messages import Message


def describe_run(run: RunRow) -> dict[str, Any]:
    """Return what a store knows of a run. Times are in seconds since 1970, by the clock of the database."""
    return {
        "id": run.run_id,
        "agent": run.agent,
        "prompt": read_prompt(run),
        "status": run.status,
        "stop_reason": run.stop_reason or None,
        "key": run.key or None,
        "lane": run.lane or None,
        "priority": run.priority,
        "chat": run.chat or None,
        "worker": run.owner or None,
        "facts": run.next_seq,
        "takeovers": run.takeovers,
        "deaths": run.deaths,
        "created": run.created / 1000,
        "updated": run.updated / 1000,
        "deadline": None if run.deadline is None else run.deadline / 1000,
    }


def read_prompt(run: RunRow) -> str:
    """Return the text of the prompt with which a run was started; "" if there is none."""
    stored = json.loads(run.request).get("prompt")
    if isinstance(stored, dict):
        message = codec.decode(stored)
        return message.text if isinstance(message, Message) else ""
    return stored or ""


def describe_waiting(waiting: WaitingCall) -> dict[str, Any]:
    """Return a call that waits for an approval, with the digest that an answer is bound to."""
    arguments = {name: codec.encode_argument(value) for name, value in waiting.call.arguments.items()}
    return {"id": waiting.id, "name": waiting.call.name, "arguments": arguments, "digest": waiting.digest}
