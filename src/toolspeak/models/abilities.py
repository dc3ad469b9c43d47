"""Asks a server whether a model supports native tool calls, where servers list what their models can do.

It is done once for an endpoint and a model in a process, and takes `MAX_ASKING_SECONDS` at most. A server that does not
answer, or says nothing about tools, leaves the choice of the dialect as it was; nothing is raised.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import quote
from weakref import WeakKeyDictionary

from toolspeak._frozen import frozen
from toolspeak.models.endpoint import AbilityApiName, Endpoint

MAX_ASKING_SECONDS = 2.0
"""How long a run waits for what a server says about a model, unless the endpoint's own timeout is shorter."""

Unreached: TypeAlias = Literal["unreached"]
"""The server could not be reached, or is still loading: a later run asks again."""


@frozen
class ToolSupport:
    """What a server says about the native tool calls of a model.

    Attributes:
        is_supported: Whether the model has them; None if the server says nothing.
        source: The path at which the server said so.
    """

    is_supported: bool | None = None
    source: str = ""


@frozen
class AbilityApi:
    """A request for what a model can do, in the own API of a kind of server.

    Attributes:
        path: The path, with `{model}` for the name of the model in a URL.
        posts_model: Whether the name of the model is sent in the body.
        read: Returns whether a response says that native tool calls are supported; None if it says nothing.
    """

    path: str
    read: Callable[[Mapping[str, Any]], bool | None]
    posts_model: bool = False


def _read_llamacpp(response: Mapping[str, Any]) -> bool | None:
    """Read `/props`: what the server found out about the chat template, or the template itself on older servers."""
    found = response.get("chat_template_caps")
    if isinstance(found, dict) and "supports_tools" in found:
        caps = cast("dict[str, Any]", found)
        return caps["supports_tools"] is True and caps.get("supports_tool_calls", True) is True
    if response.get("chat_template_tool_use"):
        return True
    template = response.get("chat_template")
    return "tools" in template if isinstance(template, str) and template else None


def _read_ollama(response: Mapping[str, Any]) -> bool | None:
    return _read_list(response, "tools")


def _read_lmstudio(response: Mapping[str, Any]) -> bool | None:
    return _read_list(response, "tool_use")


def _read_list(response: Mapping[str, Any], ability: str) -> bool | None:
    listed = response.get("capabilities")
    return ability in cast("list[Any]", listed) if isinstance(listed, list) else None


ABILITY_APIS: dict[AbilityApiName, AbilityApi] = {
    # A server of several models must not load one for this.
    "llamacpp": AbilityApi(path="/props?model={model}&autoload=false", read=_read_llamacpp),
    "ollama": AbilityApi(path="/api/show", read=_read_ollama, posts_model=True),
    "lmstudio": AbilityApi(path="/api/v0/models/{model}", read=_read_lmstudio),
}

_known: dict[tuple[str, str], ToolSupport] = {}
_requests: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str], asyncio.Task[None]]] = WeakKeyDictionary()


def get_tool_support(endpoint: Endpoint, model: str) -> ToolSupport | None:
    """Return what the server said about the tool calls of a model; None if it was not asked."""
    return _known.get((endpoint.base_url, model))


async def ask_tool_support(endpoint: Endpoint, model: str) -> None:
    """Ask the server about the tool calls of a model, unless it was asked before. Runs that start at once share it."""
    key = endpoint.base_url, model
    if key in _known or not endpoint.ability_apis:
        return
    requests = _requests.setdefault(asyncio.get_running_loop(), {})
    if (task := requests.get(key)) is None:
        task = requests[key] = asyncio.create_task(_ask(endpoint, model))
        task.add_done_callback(lambda _: requests.pop(key, None))
    await asyncio.shield(task)  # a run that is cancelled does not cancel the request of the others


async def _ask(endpoint: Endpoint, model: str) -> None:
    answers = await asyncio.gather(*(_ask_api(endpoint, model, ABILITY_APIS[name]) for name in endpoint.ability_apis))
    reached = [answer for answer in answers if answer != "unreached"]
    if reached:
        said = (answer for answer in reached if answer.is_supported is not None)
        _known[endpoint.base_url, model] = next(said, ToolSupport())


async def _ask_api(endpoint: Endpoint, model: str, api: AbilityApi) -> ToolSupport | Unreached:
    from toolspeak.models import transport  # aiohttp is imported with the first request

    path = api.path.format(model=quote(model, safe=""))
    body = json.dumps({"model": model}).encode() if api.posts_model else None
    timeout = min(MAX_ASKING_SECONDS, endpoint.retry.read_timeout)
    try:
        data = await transport.fetch(endpoint, endpoint.base_url.removesuffix("/v1") + path, body, timeout)
    except transport.NotReached:
        return "unreached"
    try:
        response: object = json.loads(data)
    except (ValueError, RecursionError):
        return ToolSupport()
    if not isinstance(response, dict):
        return ToolSupport()
    return ToolSupport(is_supported=api.read(cast("dict[str, Any]", response)), source=path.partition("?")[0])
