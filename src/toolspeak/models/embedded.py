"""`EmbeddedModel`: a model that runs on this machine, in a child process, and needs no key."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from toolspeak.dialects import Shown
from toolspeak.models.adapters import Adapter, choose_file
from toolspeak.models.endpoint import Endpoint
from toolspeak.models.http import HttpModel
from toolspeak.models.local import CONTEXT_TOKENS, SLOTS, LocalServer, ServerOptions, get_shared_server
from toolspeak.models.model import DialectChoice, Request, Sampling
from toolspeak.models.profiles import SERVERS, choose_dialect
from toolspeak.models.prompt_store import PromptStore, make_key
from toolspeak.models.request_encoder import RequestEncoder
from toolspeak.models.sender import HttpContent, HttpResponse, Sender
from toolspeak.models.warm import WarmOptions, WarmServer, get_warm_server
from toolspeak.values.errors import ModelError
from toolspeak.values.events import TextDelta, Usage
from toolspeak.values.messages import Media, Text, user
from toolspeak.values.pieces import Answer, Piece
from toolspeak.wire.media import explain_text_only

_PROGRESS = re.compile(rb'"prompt_progress":\{"total":(\d{1,9}),"cache":\d{1,9},"processed":(\d{1,9})')


def _watch_prompt(report: Callable[[int, int], None], sender: Sender | None) -> Sender:
    """Return a sender that reports how far a prompt has been read, as llama.cpp says it with `return_progress`."""

    async def send(endpoint: Endpoint, path: str, body: bytes, /) -> HttpResponse:
        from toolspeak.models import transport  # imported with the first request

        return _WatchedResponse(await (sender or transport.send_request)(endpoint, path, body), report)

    return send


class _WatchedResponse:
    """A response, and the body of it. A report that arrives in two pieces is left out: another one follows."""

    def __init__(self, response: HttpResponse, report: Callable[[int, int], None]) -> None:
        self.status, self.headers, self.content_type = response.status, response.headers, response.content_type
        self.close, self.at_eof = response.close, response.content.at_eof
        self._body = response.content
        self._report = report

    @property
    def content(self) -> HttpContent:
        return self

    async def readany(self) -> bytes:
        data = await self._body.readany()
        for total, done in _PROGRESS.findall(data):
            self._report(int(done), int(total))
        return data


class EmbeddedModel:
    """A model from a GGUF file, in a child process that is started with the first request.

    With `warm`, all programs of the user share the process, and it continues after this program ends. The temperature
    is 0 unless the request sets it. An adapter is used only for requests with tools. With `prompts`, instructions and
    tools that were read once are kept on disk, and a later process doesn't read them again.

    Attributes:
        weights: The GGUF file.
        adapter: The adapter for the weights; None for none.
        on_prompt_read: A function that is called while a streamed request is read, with the number of tokens read so
            far and their total; None for none.
    """

    def __init__(
        self,
        weights: Path,
        *,
        name: str | None = None,
        dialect: str | DialectChoice | None = None,
        threads: int | None = None,
        context: int = CONTEXT_TOKENS,
        slots: int = SLOTS,
        adapter: Adapter | None = None,
        warm: WarmOptions | None = None,
        prompts: PromptStore | None = None,
        sender: Sender | None = None,
    ) -> None:
        self.weights = weights
        self.adapter = adapter
        self._prompts = prompts if slots == 1 and sender is None else None  # a state is for one place of the server
        self._options = ServerOptions(
            weights=weights,
            threads=threads,
            context=context,
            slots=slots,
            adapter=adapter,
            prompts=self._prompts and self._prompts.folder,
        )
        self._name = name or f"local:{weights.name}"
        if isinstance(dialect, str):
            dialect = DialectChoice(name=dialect, reason="given with the model object")
        self._choice = dialect or choose_dialect(SERVERS["llamacpp"], weights.name)
        self._warm = warm
        self._sender = sender
        self._server: LocalServer | WarmServer | None = None
        self.on_prompt_read: Callable[[int, int], None] | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def dialect(self) -> str:
        return self._choice.name

    @property
    def dialect_choice(self) -> DialectChoice:
        """The dialect, and why it was chosen."""
        return self._choice

    async def choose_dialect(self) -> DialectChoice:
        """Return the dialect, and why it was chosen. The model is not asked, since that would load the weights."""
        return self._choice

    @property
    def reads_figures(self) -> bool:
        """Whether it was taught to read what is worked out from results."""
        return self.adapter is not None and self.adapter.reads_figures

    @property
    def slots(self) -> int:
        """How many conversations its server answers at the same time."""
        return self._options.slots

    @property
    def context_tokens(self) -> int:
        """The tokens of a request and its answer. Longer conversations are compacted."""
        return self._options.context

    def explain_unsupported(self, media: Media) -> str | None:
        """Return why the model cannot take an attachment, as the rest of a sentence; None for a text file."""
        return explain_text_only(media)

    def __repr__(self) -> str:
        return f"EmbeddedModel({self.name!r})"

    @property
    def is_ready(self) -> bool:
        """Whether its weights are loaded."""
        return self._server is not None and self._server.is_alive

    def load(self, on_progress: Callable[[float], None] | None = None) -> LocalServer | WarmServer:
        """Start the process unless it runs, and wait until its weights are loaded."""
        server = self._server
        if server is not None and server.is_alive:
            return server
        if isinstance(server, WarmServer):
            server.release()
        if self._warm is None:
            self._server = get_shared_server(self._options, on_progress=on_progress)
        else:
            self._server = get_warm_server(self._options, self._warm, on_progress=on_progress)
        return self._server

    def cost(self, usage: Usage) -> float:
        """Return 0: a model on this machine has no price."""
        return 0.0

    async def find_endpoint(self) -> Endpoint:
        """Return the endpoint of the process, after starting it if necessary."""
        server = self._server if self.is_ready and self._server else await asyncio.to_thread(self.load)
        return make_endpoint(server.base_url, server.key)

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        """Yield the pieces of an answer in batches, as they arrive. The last piece is the `Answer`.

        Where tools were left out of a long list, an answer that calls some of the others is not passed on: it says
        which tools the model looks at closer, and it answers once more (`Shown.closer`). It writes better values when
        it is shown few tools with all that is said of them, and it sees when none of them serves.
        """
        closer = request.shown.closer if self.reads_figures else None  # with the built-in adapter, as it was measured
        held: list[Sequence[Piece]] | None = None if closer is None else []
        text = ""
        async with aclosing(self._ask_once(request)) as answer:
            async for pieces in answer:
                if held is None:
                    yield pieces
                    continue
                held.append(pieces)
                text += "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))
                if text and not text.isspace() and not text.lstrip().startswith(CALL_STARTS):  # an answer in words
                    for each in held:
                        yield each
                    held = None
        if held is None or closer is None:
            return
        first = held[-1][-1] if held and held[-1] else None
        if not isinstance(first, Answer) or first.finish != "stop" or (shown := closer(_join_text(first))) is None:
            for each in held:
                yield each
            return
        again = replace(request, shown=shown, sent=None)
        async with aclosing(self._ask_once(again, is_kept=False)) as answer:
            async for pieces in answer:
                yield [_add_usage(piece, first) for piece in pieces]

    async def _ask_once(self, request: Request, *, is_kept: bool = True) -> AsyncGenerator[Sequence[Piece]]:
        """Yield the pieces of an answer. With `is_kept`, the beginning of the prompt is kept on disk."""
        sampling = request.sampling
        if sampling.temperature is None:  # small models call tools best without randomness
            sampling = replace(sampling, temperature=0.0)
        sampling = _add_fields(sampling, choose_adapter_fields(self.adapter, request.shown, self.slots))
        sender = self._sender
        if self.on_prompt_read is not None and request.stream:
            sampling = _add_fields(sampling, {"return_progress": True})
            sender = _watch_prompt(self.on_prompt_read, sender)
        endpoint = await self.find_endpoint()
        if is_kept and self._prompts is not None and self._server is not None:
            if beginning := cut_to_beginning(request):
                await self._read_beginning(self._prompts, self._server, endpoint, beginning)
            elif self.adapter is not None and not self._server.has_read(NO_ADAPTER):
                self._server.note_read(NO_ADAPTER)
        model = HttpModel(endpoint, self.weights.stem, sender=sender)
        async with aclosing(model.ask(replace(request, sampling=sampling))) as answer:
            async for pieces in answer:
                yield pieces

    async def _read_beginning(
        self, store: PromptStore, server: LocalServer | WarmServer, endpoint: Endpoint, beginning: Request
    ) -> None:
        """Let the server have read the beginning of a prompt: from the disk, or by reading it and keeping it there.

        Nothing of this must succeed. What the server has not read now, it reads with the request.
        """
        from toolspeak.models.transport import NotReached  # imported with the first request

        fields = {"id_slot": 0} | choose_adapter_fields(self.adapter, beginning.shown)
        beginning = replace(beginning, sampling=_add_fields(beginning.sampling, fields))
        sent = beginning.sampling.extra or {}  # what the user gives wins
        used = {name: sent[name] for name in ("id_slot", "lora") if name in sent}
        key = make_key(server.options, RequestEncoder(endpoint, self.weights.stem).encode(beginning).body)
        note = f"{used['id_slot']} {key}"
        if server.has_read(note) or not store.open():
            return
        with suppress(ModelError, NotReached):
            name = await asyncio.to_thread(store.find, key)
            if name is None or not await self._restore(store, endpoint, name, used):
                await self._read_and_save(store, endpoint, key, beginning)
            server.note_read(note)

    async def _restore(self, store: PromptStore, endpoint: Endpoint, name: str, used: dict[str, Any]) -> bool:
        """Let the server take up a state from a file, and return whether it did."""
        # A line break is read first: the place takes the adapter into use, and forgets what it has read with another
        # one. A server that keeps earlier conversations puts the last one aside.
        await _post(endpoint, "/completion", {"prompt": "\n", "n_predict": 0, **used})
        if await _post(endpoint, f"/slots/{used['id_slot']}?action=restore", {"filename": name}):
            return True
        store.remove(name)
        return False

    async def _read_and_save(self, store: PromptStore, endpoint: Endpoint, key: str, beginning: Request) -> None:
        """Let the server read the beginning of a prompt, and keep the state after it in a file."""
        sender: Sender | None = None
        if self.on_prompt_read is not None:
            beginning = replace(beginning, sampling=_add_fields(beginning.sampling, {"return_progress": True}))
            sender = _watch_prompt(self.on_prompt_read, None)
        read = 0
        async with aclosing(HttpModel(endpoint, self.weights.stem, sender=sender).ask(beginning)) as answer:
            async for pieces in answer:
                if isinstance(last := pieces[-1], Answer) and last.usage is not None:
                    read = last.usage.input_tokens
        name, place = store.make_name(key), (beginning.sampling.extra or {})["id_slot"]
        saved = await _post(endpoint, f"/slots/{place}?action=save", {"filename": name})
        # Another program may have asked something meanwhile; its prompt is not what the key names.
        if saved.get("n_saved") == read:
            await asyncio.to_thread(store.keep, key, name)
        else:
            store.remove(name)


CALL_STARTS = ("`", "{", "[", "<")
"""How an answer begins that calls tools."""


def _join_text(answer: Answer) -> str:
    return "".join(part.text for part in answer.parts if isinstance(part, Text))


def _add_usage(piece: Piece, first: Answer) -> Piece:
    """Return a piece; the last one of an answer with the tokens of the first answer, too."""
    if isinstance(piece, Answer) and piece.usage and first.usage:
        return replace(piece, usage=first.usage + piece.usage)
    return piece


NO_ADAPTER = "0 -"
"""The note that a server has read a prompt without tools, for which no adapter is used (`local.is_read`)."""


def cut_to_beginning(request: Request) -> Request | None:
    """Return a request whose prompt begins as that of another one, up to its first question.

    None if the model is shown no tools: such a beginning is short, or belongs to one conversation.
    """
    shown = request.shown
    own = tuple(takewhile(lambda message: message.role == "system", shown.messages))
    if not shown.has_tools or not (own or shown.tools):
        return None
    # The server has to write a token, and the prompt a question.
    sampling = Sampling(max_tokens=1, temperature=0.0, extra=request.sampling.extra)
    messages = (*own, user("-"))
    return Request(shown=replace(shown, messages=messages, constraint=None), dialect=request.dialect, sampling=sampling)


def _add_fields(sampling: Sampling, fields: dict[str, Any]) -> Sampling:
    return replace(sampling, extra={**fields, **(sampling.extra or {})})


async def _post(endpoint: Endpoint, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Ask the server for something else than an answer, and return what it says; nothing if it refuses."""
    from toolspeak.models.transport import fetch

    for _ in range(2):  # llama.cpp closes the connection of a streamed answer, maybe just when it is used again
        sent = json.dumps(body).encode()
        if data := await fetch(endpoint, endpoint.root_url + path, sent, endpoint.retry.read_timeout):
            return json.loads(data)
    return {}


def name_for_calibration(weights: Path, adapter: Adapter | None) -> str:
    """Return the name under which the best dialect of a model is saved. With an adapter, another one may be best."""
    return weights.name if adapter is None else f"{weights.name} with {adapter.name}"


def choose_adapter_fields(adapter: Adapter | None, shown: Shown, slots: int = 1) -> dict[str, Any]:
    """Return the fields of a request that say which file of an adapter is used, in which place of the server.

    A place forgets what it has read when its adapter changes, so each of two files has its own. With `slots` > 1,
    places are for any conversation, and none is named.

    A server with one file keeps the states of earlier conversations. If a place were named, it would take one up while
    it still answers somebody else. Nor does it distinguish states that were computed with the adapter: a conversation
    without tools whose system prompt another one may share is read anew when it begins. Later, its own beginning is the
    longest match among the states.
    """
    if adapter is None:
        return {}
    number = 0 if adapter.after_results is None else choose_file(shown)
    fields: dict[str, Any] = {"lora": [{"id": number, "scale": float(shown.has_tools)}]}
    if slots == 1 and adapter.after_results is not None:
        fields["id_slot"] = number
    roles = {message.role for message in shown.messages}
    begins_like_others = not shown.has_tools and "system" in roles and "assistant" not in roles
    return fields | ({"cache_prompt": False} if begins_like_others else {})


def make_endpoint(base_url: str, key: str | None) -> Endpoint:
    """Return the endpoint of a server that runs an embedded model."""
    return Endpoint(
        name="local",
        base_url=base_url,
        key=key,
        quirks=SERVERS["llamacpp"].quirks,
        reads_control_tokens=True,
        vendor="local",
    )
