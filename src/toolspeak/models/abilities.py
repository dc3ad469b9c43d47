"""Asks a server what a model can do: whether it supports native tool calls, and how long its context is.

It is done once for an endpoint and a model in a process, and takes `MAX_ASKING_SECONDS` at most. A server that does not
answer, or says nothing, leaves everything as it was; nothing is raised. Only a server that has not loaded the model yet
is asked once more, after its first answer, because some servers choose the context when they load a model.

A context is asked for where a server may cut without notice (`cuts_silently`): before the first run, once. An agent
does not ask another server for this alone, but uses what it said when it was asked for the dialect. The gateway asks
every server that may say it: it must clamp `max_tokens`, and its clients cannot be asked.
"""

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote
from weakref import WeakKeyDictionary

from toolspeak.models.endpoint import AbilityApiName, Endpoint
from toolspeak.values.frozen import frozen
from toolspeak.wire.json_data import as_count, as_list, as_object, as_text

MAX_COUNTING_SECONDS = 5.0
"""How long a server may take to count tokens."""

MAX_ASKING_SECONDS = 2.0
"""How long a run waits for what a server says about a model, unless the endpoint's own timeout is shorter."""


@frozen
class Abilities:
    """What a server says about a model. A value is None where it says nothing."""

    tool_calls: bool | None = None  # whether the model has native tool calls
    tool_source: str = ""  # the path at which the server said so
    context: int | None = None  # the tokens of a request and its answer, as the server runs the model
    max_context: int | None = None  # the most tokens with which the model can be run
    context_source: str = ""  # the path at which the server gave the context
    is_unloaded: bool = False  # whether it will choose the context when it loads the model, and must be asked again


@frozen
class AbilityApi:
    """A request for what a model can do."""

    path: str  # with `{model}` for the name of the model in a URL
    read: Callable[[dict[str, Any], str], Abilities]  # reads the response about the model of that name
    posts_model: bool = False  # whether the name of the model is sent in the body


def _read_llamacpp(response: dict[str, Any], model: str) -> Abilities:
    """Read `/props`: the context of a slot, and whether the chat template has tool calls.

    Older servers send only the template itself.
    """
    caps, template = as_object(response.get("chat_template_caps")), as_text(response.get("chat_template"))
    if "supports_tools" in caps:
        tool_calls = caps["supports_tools"] is True and caps.get("supports_tool_calls", True) is True
    elif response.get("chat_template_tool_use"):
        tool_calls = True
    else:
        tool_calls = "tools" in template if template else None
    context = as_count(as_object(response.get("default_generation_settings")).get("n_ctx"))
    return Abilities(tool_calls=tool_calls, context=context or None)


def _read_ollama_model(response: dict[str, Any], model: str) -> Abilities:
    """Read `/api/show`: the most tokens of the model, and the context if its file sets one."""
    info = as_object(response.get("model_info"))
    longest = max((as_count(info[name]) for name in info if name.endswith(".context_length")), default=0) or None
    parameter = re.search(r"^num_ctx\s+(\d+)\s*$", as_text(response.get("parameters")), re.MULTILINE)
    return Abilities(
        tool_calls=_has_ability(response, "tools"),
        # What runs on Ollama's own servers is run with all that the model has.
        context=int(parameter[1]) if parameter else longest if response.get("remote_host") else None,
        max_context=longest,
    )


def _read_ollama_processes(response: dict[str, Any], model: str) -> Abilities:
    """Read `/api/ps`: the models that are loaded, with their contexts."""
    if not isinstance(response.get("models"), list):
        return Abilities()
    names = (model, f"{model}:latest")
    listed = map(as_object, as_list(response["models"]))
    loaded = [each for each in listed if each.get("name") in names or each.get("model") in names]
    context = as_count(loaded[0].get("context_length")) if loaded else 0
    return Abilities(context=context or None, is_unloaded=not loaded)


def _read_lmstudio(response: dict[str, Any], model: str) -> Abilities:
    return Abilities(
        tool_calls=_has_ability(response, "tool_use"),
        context=as_count(response.get("loaded_context_length")) or None,
        max_context=as_count(response.get("max_context_length")) or None,
        is_unloaded=response.get("state") == "not-loaded",
    )


def _has_ability(response: Mapping[str, Any], ability: str) -> bool | None:
    listed = response.get("capabilities")
    return ability in as_list(listed) if isinstance(listed, list) else None


def _read_models(response: dict[str, Any], model: str) -> Abilities:
    """Read the list of models of OpenAI's API, which has no context, but to which servers add one."""
    listed = [as_object(each) for each in as_list(response.get("data"))]
    entry = next((each for each in listed if each.get("id") == model), listed[0] if len(listed) == 1 else {})
    sizes = (as_count(entry.get(field)) for field in ("loaded_context_length", "max_model_len", "context_length"))
    return Abilities(
        context=next(filter(None, sizes), None), max_context=as_count(entry.get("max_context_length")) or None
    )


ABILITY_APIS: dict[AbilityApiName, tuple[AbilityApi, ...]] = {
    # A server of several models must not load one for this.
    "llamacpp": (AbilityApi(path="/props?model={model}&autoload=false", read=_read_llamacpp),),
    "ollama": (
        AbilityApi(path="/api/show", read=_read_ollama_model, posts_model=True),
        AbilityApi(path="/api/ps", read=_read_ollama_processes),
    ),
    "lmstudio": (AbilityApi(path="/api/v0/models/{model}", read=_read_lmstudio),),
    "models": (AbilityApi(path="/v1/models", read=_read_models),),
}
"""The requests of each API. Where several responses answer a question, the first of them counts."""

_known: dict[tuple[str, str], Abilities] = {}
_requests: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str], asyncio.Task[None]]] = WeakKeyDictionary()


def get_abilities(endpoint: Endpoint, model: str) -> Abilities | None:
    """Return what the server said about a model; None if it was not asked."""
    return _known.get((endpoint.base_url, model))


async def ask_abilities(endpoint: Endpoint, model: str, *, has_answered: bool = False) -> None:
    """Ask the server about a model, unless it was asked before. Runs that start at once share the request.

    If the model has just answered, a server is asked again that had not loaded it before, and for the last time.
    """
    key = endpoint.base_url, model
    known = _known.get(key)
    if not endpoint.ability_apis or (known is not None and not (has_answered and known.is_unloaded)):
        return
    requests = _requests.setdefault(asyncio.get_running_loop(), {})
    if (task := requests.get(key)) is None:
        task = requests[key] = asyncio.create_task(_ask(endpoint, model, has_answered=has_answered))
        task.add_done_callback(lambda _: requests.pop(key, None))
    await asyncio.shield(task)  # a run that is cancelled does not cancel the request of the others


async def _ask(endpoint: Endpoint, model: str, *, has_answered: bool) -> None:
    apis = [api for name in endpoint.ability_apis for api in ABILITY_APIS[name]]
    answers = await asyncio.gather(*(_ask_api(endpoint, model, api) for api in apis))
    reached = [answer for answer in answers if answer is not None]
    if not reached:
        return
    on_tools = next((each for each in reached if each.tool_calls is not None), Abilities())
    on_context = next((each for each in reached if each.context is not None), Abilities())
    is_unloaded = on_context.context is None and any(each.is_unloaded for each in reached)
    _known[endpoint.base_url, model] = Abilities(
        tool_calls=on_tools.tool_calls,
        tool_source=on_tools.tool_source,
        context=on_context.context,
        max_context=next((each.max_context for each in reached if each.max_context is not None), None),
        context_source=on_context.context_source,
        is_unloaded=is_unloaded and not has_answered,
    )


async def _ask_api(endpoint: Endpoint, model: str, api: AbilityApi) -> Abilities | None:
    from toolspeak.models import transport  # imported with the first request

    path = api.path.format(model=quote(model, safe=""))
    body = json.dumps({"model": model}).encode() if api.posts_model else None
    timeout = min(MAX_ASKING_SECONDS, endpoint.retry.read_timeout)
    try:
        data = await transport.fetch(endpoint, endpoint.root_url + path, body, timeout)
    except transport.NotReached:
        return None  # or it is still loading: a later run asks again
    try:
        response = as_object(json.loads(data))
    except (ValueError, RecursionError):
        return Abilities()
    source = path.partition("?")[0]
    return replace(api.read(response, model), tool_source=source, context_source=source)


async def count_tokens(endpoint: Endpoint, text: str) -> int | None:
    """Return the number of tokens of a text; None if the server does not count them.

    Servers of llama.cpp have the route `/tokenize`; other servers answer that there is none.
    """
    from toolspeak.models import transport  # imported with the first request

    address = endpoint.root_url + "/tokenize"
    try:
        data = await transport.fetch(endpoint, address, json.dumps({"content": text}).encode(), MAX_COUNTING_SECONDS)
        answer = as_object(json.loads(data))
    except (transport.NotReached, ValueError, RecursionError):
        return None
    return len(as_list(answer.get("tokens"))) or as_count(answer.get("count")) or None
