"""Writes a file of each kind that toolspeak saves, for the releases to come: `python scripts/saved_formats.py VERSION`.

The folder is `tests/saved/VERSION`; `scripts/release.py cut` makes one for each release, and none is ever changed or
removed. `tests/test_saved_formats.py` reads all of them: a release that cannot is broken. What is saved covers many
kinds of facts: calls that succeed and fail, an approval, several turns, a conversation that goes on, an attachment.
"""

import json
import sys
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from toolspeak import Agent, Media, Outcome, RunPaused, ToolError, codec, connect, tool, user
from toolspeak.durable import Runs, Worker
from toolspeak.durable.log import ConversationStore, RunLink, StoredFact
from toolspeak.testing import ScriptedModel, calls, cassette, says
from toolspeak.values.events import Fact, RunStarted

ROOT = Path(__file__).resolve().parent.parent
WAIT_SECONDS = 300
PIXEL = bytes.fromhex("89504e470d0a1a0a") + b"not a picture, but bytes"
ADDRESS = "http://127.0.0.1:{}/v1#recorded"


@tool(effect="read")
def look(order: int) -> dict[str, object]:
    """Look an order up.

    Args:
        order: The number of the order.
    """
    if order > 100:
        raise ToolError(f"there is no order {order}")
    return {"order": order, "state": "open", "price": 12.5}


@tool(approve=True)
def refund(order: int, reason: str = "none") -> str:
    """Give the money for an order back.

    Args:
        order: The number of the order.
        reason: Why.
    """
    return f"refunded order {order}: {reason}"


def build_agent() -> Agent[Any]:
    """Build the agent whose runs are saved, with a model that plays a script."""
    script = [
        calls(("look", {"order": 7}), ("look", {"order": 700})),
        calls(("refund", {"order": 7, "reason": "it is late"})),
        says("Order 7 is refunded."),
    ]
    return Agent(ScriptedModel(script), [look, refund], system="You help with orders.")


def run_and_pause() -> tuple[Fact, ...]:
    """Run the agent until it waits for an approval, and return the facts until then."""
    picture = Media(mime="image/png", data=PIXEL, name="receipt.png")
    try:
        build_agent().run(user("Refund order 7, please.", picture))
    except RunPaused as paused:
        return paused.facts
    raise AssertionError("the run did not pause")


class Answers(BaseHTTPRequestHandler):
    """An endpoint that answers each request with the same words."""

    def do_POST(self) -> None:
        """Answer a request of the chat API of OpenAI."""
        self.rfile.read(int(self.headers.get("content-length", 0)))
        choice = {"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}
        data = json.dumps({"id": "1", "object": "chat.completion", "model": "recorded", "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        """Have nothing else."""
        self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def save_cassette(path: Path) -> None:
    """Record one question to an endpoint, without tools: how those are shown may change from release to release."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        model = connect(ADDRESS.format(server.server_address[1]), dialect="json")
        Agent(cassette(model, path, mode="record")).run("Say hello.")
        server.shutdown()


def save_log(path: Path, outcome: Outcome[Any]) -> None:
    """Write two runs of one conversation into a log."""
    with closing(ConversationStore(path)) as log:
        started = outcome.facts[0]
        assert isinstance(started, RunStarted)  # noqa: S101 (for type checkers: the first fact of every run)
        log.start(started, 1_700_000_000.0, RunLink(conversation=outcome.run_id))
        log.append(outcome.run_id, [StoredFact(fact, 1_700_000_001.0 + n) for n, fact in enumerate(outcome.facts[1:])])


def save_store(path: Path) -> None:
    """Write a run that has ended and one that waits for an approval into a store of durable runs."""
    with Runs(f"sqlite:///{path}") as runs, Worker(runs, {"support": build_agent()}):
        waiting = runs.start_sync("support", "Refund order 7.", key="waits")
        while waiting.status_sync() != "paused":
            threading.Event().wait(0.05)
        ended = runs.start_sync("support", "Refund order 7.", key="ended")
        while ended.status_sync() != "paused":
            threading.Event().wait(0.05)
        for call in ended.waiting_sync():
            ended.approve_sync(call.call.id)
        ended.outcome_sync(timeout=WAIT_SECONDS)


def save_all(folder: Path) -> None:
    """Write a file of each kind into a folder that does not exist yet."""
    folder.mkdir(parents=True)
    paused = run_and_pause()
    (folder / "paused-run.jsonl").write_text(codec.dump_facts(paused), encoding="utf-8")
    resumed = build_agent().resume(paused, approve=lambda call: True)
    (folder / "run.jsonl").write_text(codec.dump_facts(resumed.facts), encoding="utf-8")
    (folder / "messages.jsonl").write_text(codec.dump_messages(resumed.messages), encoding="utf-8")
    chat = Agent(ScriptedModel([says("Hello, Ada.")])).chat()
    chat.run("I am Ada.")
    chat.save(folder / "chat.jsonl")
    save_cassette(folder / "cassette.jsonl")
    save_log(folder / "log.sqlite", resumed)
    save_store(folder / "store.sqlite")
    for each in folder.glob("store.sqlite-*"):  # of a store that is closed
        each.unlink()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: python {sys.argv[0]} VERSION")
    target = ROOT / "tests" / "saved" / sys.argv[1]
    if target.exists():
        sys.exit(f"{target} exists: what a release saved is never changed")
    save_all(target)
    print(target)
