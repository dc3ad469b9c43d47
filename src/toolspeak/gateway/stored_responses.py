"""What the responses API does with stored answers: requests that refer to them, keeping new ones, and their routes.

    GET, DELETE /v1/responses/{id}          an answer that is kept
    GET /v1/responses/{id}/input_items      the conversation that it answers

A request that refers to what is stored (`previous_response_id`, `item_reference`) is expanded to the whole conversation
before it is read, so that the rest of the gateway knows nothing of stored answers. Answers are kept unless the request
has `store: false`, or the gateway keeps none. An answer is kept before the client gets its end: the next request may
refer to it.
"""

import asyncio
import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from toolspeak.gateway.guard import RequestRefused
from toolspeak.gateway.response_store import ResponseStore, StoredResponse, is_reference, name_owner
from toolspeak.gateway.routing import JsonResponse
from toolspeak.values.errors import StoreUnavailable
from toolspeak.values.frozen import frozen
from toolspeak.wire.fields import FieldError, Fields
from toolspeak.wire.json_data import as_list, as_object, as_text

log = logging.getLogger("toolspeak.gateway")

MAX_LISTED_ITEMS = 100
LISTED_ITEMS = 20
"""How many items a page of a list has, unless the client asks for another number."""

_INPUT_INDEX = re.compile(r"input\[(\d+)\]")

_ITEM_PREFIXES = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
}


@frozen
class StoredInput:
    """The part of a request that is stored with its answer.

    Attributes:
        owner: Who sent the request.
        items: The items of its own input.
        previous: The id of the answer that the request goes on from; "" if it is the first.
    """

    owner: str
    items: tuple[Any, ...]
    previous: str = ""


class StoredResponses:
    """The answers that clients may refer to; none if there is no store."""

    def __init__(self, store: ResponseStore | None) -> None:
        self._store = store

    @property
    def is_on(self) -> bool:
        """Whether answers are kept."""
        return self._store is not None

    def read_input(self, request: Request, body: Mapping[str, Any]) -> StoredInput:
        """Return what would be stored of a request."""
        given = body.get("input")
        items = [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else as_list(given)
        previous = as_text(body.get("previous_response_id"))
        return StoredInput(owner=name_owner(request.headers), items=tuple(items), previous=previous)

    @staticmethod
    def has_references(body: Mapping[str, Any]) -> bool:
        """Whether a request refers to what is stored, so that it must be expanded."""
        return body.get("previous_response_id") is not None or any(map(is_reference, as_list(body.get("input"))))

    def expand(self, body: Mapping[str, Any], given: StoredInput) -> tuple[dict[str, Any], int]:
        """Return a request with the whole conversation as its input, and how many items stand before its own.

        Raises `FieldError` if it refers to something that is not stored.
        """
        previous = Fields(body).optional_text("previous_response_id")
        chain = self._find_chain(given.owner, previous, "previous_response_id")
        found = {response.id: response for response in chain}
        earlier = self._resolve(given.owner, (item for response in chain for item in response.items), found, "")
        own = self._resolve(given.owner, given.items, found, "input")
        if self._store is not None:
            self._store.use(given.owner, found)
        expanded = {name: value for name, value in body.items() if name != "previous_response_id"}
        return {**expanded, "input": [*earlier, *own]}, len(earlier)

    async def keep(self, given: StoredInput, body: Mapping[str, Any], written: str = "") -> None:
        """Keep an answer, whose JSON may be `written` already.

        If that fails, the log has the cause, and the client gets its answer all the same.
        """
        if self._store is None:
            return
        answer_id = as_text(body.get("id"))
        items = [_complete_item(item, answer_id, place) for place, item in enumerate(given.items)]
        response = StoredResponse(body=body, input=items, previous=given.previous, written=written)
        try:
            if self._store.is_file:
                await asyncio.to_thread(self._store.add, given.owner, response)
            else:
                self._store.add(given.owner, response)
        except StoreUnavailable as error:
            log.warning("%s is not kept: %s", answer_id, error)

    # Routes

    async def get(self, request: Request, request_id: str) -> Response:
        """Return an answer."""
        if request.query_params.get("stream") == "true":
            raise FieldError("stream", "an answer that is kept is not streamed again", "unsupported_value")
        found = await asyncio.to_thread(self._find, name_owner(request.headers), request.path_params["id"])
        return JsonResponse(dict(found.body))

    async def delete(self, request: Request, request_id: str) -> Response:
        """Delete an answer and its input."""
        response_id: str = request.path_params["id"]
        owner = name_owner(request.headers)
        if self._store is None or not await asyncio.to_thread(self._store.delete, owner, response_id):
            raise self._unknown(response_id)
        return JsonResponse({"id": response_id, "object": "response", "deleted": True})

    async def list_input(self, request: Request, request_id: str) -> Response:
        """List the items of the conversation that an answer belongs to, without its own; the latest come first."""
        query = request.query_params
        order, after = query.get("order", "desc"), query.get("after", "")
        limit = Fields({"limit": _read_number(query.get("limit"))}).integer(
            "limit", minimum=1, maximum=MAX_LISTED_ITEMS
        )
        if order not in ("asc", "desc"):
            raise FieldError("order", f"{order[:20]!r} is none of asc, desc")
        owner = name_owner(request.headers)
        items = await asyncio.to_thread(self._read_conversation, owner, request.path_params["id"])
        if order == "desc":
            items.reverse()
        if after:
            places = [place for place, item in enumerate(items) if item.get("id") == after]
            if not places:
                raise FieldError("after", f"there is no item {after[:80]!r}")
            items = items[places[0] + 1 :]
        page = items[: limit or LISTED_ITEMS]
        ends = {"first_id": page[0].get("id") if page else None, "last_id": page[-1].get("id") if page else None}
        return JsonResponse({"object": "list", "data": page, **ends, "has_more": len(page) < len(items)})

    async def refuse(self, request: Request, request_id: str) -> Response:
        """Refuse what else clients ask of answers that are kept."""
        if request.path_params["path"] == "compact":
            raise RequestRefused("route_unknown", "nothing is compacted here; let the client shorten the conversation")
        raise RequestRefused("route_unknown", "nothing runs here without a client that waits, so nothing is cancelled")

    def _find(self, owner: str, response_id: str) -> StoredResponse:
        found = self._store.find(owner, response_id) if self._store is not None else None
        if found is None:
            raise self._unknown(response_id)
        return found

    def _unknown(self, response_id: str) -> RequestRefused:
        return RequestRefused("route_unknown", f"there is no response {response_id[:80]!r}: {self._explain()}")

    def _explain(self) -> str:
        """Return why something is not stored, and what to do about it, as the end of a sentence."""
        if self._store is None:
            return "nothing is kept here between requests; send the whole conversation in input, with store: false"
        hours = self._store.limits.seconds / 3600
        return (
            f"it was never kept for this key, was deleted, or is no longer kept (for {hours:g} h, and as long as "
            "there is room); send the whole conversation in input"
        )

    def _find_chain(self, owner: str, response_id: str, param: str) -> list[StoredResponse]:
        """Return the answers that a conversation consists of, the first one first."""
        chain: list[StoredResponse] = []
        while response_id:
            found = self._store.find(owner, response_id) if self._store is not None else None
            if found is None:
                before = f", which {chain[0].id!r} goes on from" if chain else ""
                problem = f"there is no response {response_id[:80]!r}{before}: {self._explain()}"
                raise FieldError(param, problem, "previous_response_not_found")
            chain.append(found)
            response_id = found.previous
        return chain[::-1]

    def _resolve(self, owner: str, items: Iterable[Any], found: dict[str, StoredResponse], path: str) -> list[Any]:
        """Return items with those that are stored in place of references; answers that hold them go into `found`."""
        known = {as_object(item).get("id"): item for response in found.values() for item in response.items}
        resolved: list[Any] = []
        for place, item in enumerate(items):
            if not is_reference(item):
                resolved.append(item)
                continue
            item_id = as_text(as_object(item).get("id"))
            if (stored := known.get(item_id)) is None or is_reference(stored):
                holder = self._store.find_by_item(owner, item_id) if self._store is not None else None
                if holder is None:
                    where = f"{path}[{place}].id" if path else "previous_response_id"
                    raise FieldError(where, f"there is no item {item_id[:80]!r}: {self._explain()}", "item_not_found")
                found.setdefault(holder.id, holder)
                known |= {as_object(each).get("id"): each for each in holder.items if not is_reference(each)}
                stored = known[item_id]
            resolved.append(stored)
        return resolved

    def _read_conversation(self, owner: str, response_id: str) -> list[dict[str, Any]]:
        last = self._find(owner, response_id)
        chain = self._find_chain(owner, last.previous, "previous_response_id")
        found = {response.id: response for response in (*chain, last)}
        items = [*(item for response in chain for item in response.items), *last.input]
        return [as_object(item) for item in self._resolve(owner, items, found, "")]


def number_own_items(error: FieldError, earlier: int) -> FieldError:
    """Return an error about an expanded request with the numbers that its items have in the request of the client."""

    def renumber(text: str) -> str:
        return _INPUT_INDEX.sub(lambda found: f"input[{max(int(found[1]) - earlier, 0)}]", text, count=1)

    problem = str(error).removeprefix(f"{error.param or 'the request'}: ")
    return FieldError(renumber(error.param), problem, error.code, error.failure)


def _complete_item(item: Any, answer_id: str, place: int) -> Any:
    """Return an item of an input as a list of inputs shows it: with an id, and with its content as a list."""
    given = as_object(item)
    if not given or is_reference(given):
        return given
    kind = as_text(given.get("type")) or "message"
    prefix = _ITEM_PREFIXES.get(kind, "item")
    own_id = as_text(given.get("id")) or f"{prefix}_{answer_id.removeprefix('resp_')}_in{place}"
    completed: dict[str, Any] = {**given, "type": kind, "id": own_id}
    if kind == "message":
        content = given.get("content")
        if isinstance(content, str):
            is_output = given.get("role") == "assistant"
            part = {"type": "output_text" if is_output else "input_text", "text": content}
            completed["content"] = [{**part, "annotations": []} if is_output else part]
        completed.setdefault("status", "completed")
    return completed


def _read_number(text: str | None) -> Any:
    return int(text) if text is not None and text.isdecimal() and len(text) < 10 else text
