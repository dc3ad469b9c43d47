"""Webhooks: the end of a run is sent to an address, signed, until the address accepts it.

The form is that of Standard Webhooks: the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`, which is
`v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64. A program that gets one checks it with `verify`.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from toolspeak.durable.descriptions import describe_run
from toolspeak.durable.event_feed import find_run
from toolspeak.durable.journal import JournalSession
from toolspeak.durable.records import fold_facts, load_facts
from toolspeak.durable.rows import Webhook
from toolspeak.run.run import build_outcome, find_output
from toolspeak.values.address import hide_secrets
from toolspeak.values.errors import StoreUnavailable, UsageError
from toolspeak.values.log import LOG

SECRET_VARIABLE = "TOOLSPEAK_WEBHOOK_SECRET"  # noqa: S105 (the name of a variable)
"""Where a worker finds the secret, if it is not given one."""

SEND_SECONDS = 10.0
TAKE_MS = 60_000
"""How long a webhook is left to the worker that sends it."""

MAX_ATTEMPTS = 16
FIRST_DELAY_MS = 2_000
MAX_DELAY_MS = 2 * 3600 * 1000
MAX_TAKEN = 20
MAX_AGE_SECONDS = 300


def sign(secret: str, webhook_id: str, timestamp: str, body: bytes) -> str:
    """Return the signature of a webhook."""
    data = f"{webhook_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(secret.encode(), data, hashlib.sha256).digest()).decode()


def verify(secret: str, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
    """Return the run that a webhook tells of.

    Args:
        secret: The secret of the workers.
        headers: The headers of the request; the case of their names does not count.
        body: Its body, as it arrived.

    Raises:
        UsageError: The signature does not fit, the webhook is more than five minutes old, or the body is a text.
    """
    if isinstance(cast("object", body), str):
        raise UsageError("the body of a webhook is bytes, as they arrived, not str: the bytes are signed")
    found = {name.lower(): value for name, value in headers.items()}
    webhook_id, timestamp = found.get("webhook-id", ""), found.get("webhook-timestamp", "")
    expected = sign(secret, webhook_id, timestamp, body).encode()
    given = found.get("webhook-signature", "").split()
    if not any(hmac.compare_digest(each.encode(), expected) for each in given):
        raise UsageError("the webhook has no signature that fits the secret; it is not from your workers")
    if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > MAX_AGE_SECONDS:
        raise UsageError("the webhook is more than five minutes old; somebody may have sent an old one again")
    return json.loads(body)


class WebhookSender:
    """Sends what is due. It is used by one worker.

    Args:
        secret: The secret; "" if there is none, so that nothing is sent.
        write: Does something with the journal in a transaction.
    """

    def __init__(self, secret: str, write: Callable[[Callable[[JournalSession], Any]], Awaitable[Any]]) -> None:
        self._secret = secret
        self._write = write
        self._sending: asyncio.Task[None] | None = None
        self._has_warned = False

    async def send_due(self) -> None:
        """Begin to send what is due, unless that is under way."""
        if self._sending is not None and not self._sending.done():
            return
        if due := await self._write(self._take):
            self._sending = asyncio.create_task(self._send_all(due))

    async def close(self) -> None:
        """Stop sending. What was not taken is sent by another worker, or later."""
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.wait([self._sending])

    def _take(self, session: JournalSession) -> list[tuple[Webhook, bytes]]:
        if not self._secret:
            if not self._has_warned and session.has_webhooks():
                self._has_warned = True
                LOG.warning("webhooks are not sent: this worker has no %s to sign them with", SECRET_VARIABLE)
            return []
        return [(each, _write_body(session, each)) for each in session.take_webhooks(MAX_TAKEN, TAKE_MS)]

    async def _send_all(self, due: list[tuple[Webhook, bytes]]) -> None:
        from aiohttp import ClientSession, ClientTimeout

        async with ClientSession(timeout=ClientTimeout(total=SEND_SECONDS)) as client:
            await asyncio.gather(*(self._send(client, webhook, body) for webhook, body in due))

    async def _send(self, client: Any, webhook: Webhook, body: bytes) -> None:
        from aiohttp import ClientError

        timestamp = str(int(time.time()))
        headers = {
            "content-type": "application/json",
            "webhook-id": webhook.run_id,
            "webhook-timestamp": timestamp,
            "webhook-signature": sign(self._secret, webhook.run_id, timestamp, body),
        }
        try:
            async with client.post(webhook.url, data=body, headers=headers, allow_redirects=False) as answer:
                problem = "" if answer.status < 300 else f"it answered {answer.status}"
        except (ClientError, OSError, TimeoutError, ValueError) as error:
            problem = str(error) or type(error).__name__
        try:
            await self._write(lambda session: self._settle(session, webhook, problem))
        except StoreUnavailable as error:
            LOG.warning("the webhook of run %s may be sent once more: %s", webhook.run_id, error)

    def _settle(self, session: JournalSession, webhook: Webhook, problem: str) -> None:
        attempts = webhook.attempts + 1
        if problem and attempts < MAX_ATTEMPTS:
            session.delay_webhook(webhook.run_id, min(FIRST_DELAY_MS * 2**webhook.attempts, MAX_DELAY_MS))
            return
        session.drop_webhook(webhook.run_id)
        if problem:
            address = hide_secrets(webhook.url)
            LOG.warning(
                "the webhook of run %s to %s was given up after %d tries: %s",
                webhook.run_id,
                address,
                attempts,
                problem,
            )


def _write_body(session: JournalSession, webhook: Webhook) -> bytes:
    """Return the body of a webhook: what the HTTP routes show of the run, with its answer."""
    run = find_run(session, webhook.run_id)
    facts = load_facts(session, run)
    state = fold_facts(facts)
    outcome = build_outcome(state, tuple(facts))
    name = None if state.run is None else state.run.output
    answer = None if name is None else find_output(state, name)
    told = {"type": "run.ended", **describe_run(run), "text": outcome.text, "detail": outcome.detail or None}
    return json.dumps({**told, "output": None if answer is None else answer.output}).encode()
