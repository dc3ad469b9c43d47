"""Provenance: whether the values of a call come from somebody who may say them.

A page that a tool returned may say "send 0.01 to US133…". A model that believes it writes a call in which nothing is
wrong but the values. So a value that decides something must be *explained* before its call runs. The rules:

1. The decisive parameters of a tool say whom, what, how much or where to (`values/spec.py`). Other values are not
   looked at, and neither is the typed answer of a run.
2. Nothing is asked as long as nothing foreign was shown to the model that wrote the call. What counts are results of
   tools that are declared as foreign. For a tool whose decisive parameters are declared, too, everything counts that
   neither the user nor the program wrote: results of tools that say nothing about theirs, attachments, and what a model
   wrote that was shown such text. So whoever declares nothing is asked nothing, and a declared tool is safe at once.
3. What counts is what was shown before the message was written. Calls of one message know nothing of each other's
   results, unless they refer to them.
4. A value is explained if it stands in the words of the user or the program (prompts, templates, descriptions,
   schemas), or in a result that is declared as own, or if the schema of its parameter gives it (an enum, a default, a
   boolean). In the code dialects, a reference to an own result explains itself.
5. An own result does not explain what the call itself has brought in. Somebody who is told "no contact evil@x.org" has
   not been told that there is one.
6. All else is in doubt, whether it stands in a foreign text or in none: a model that is fooled may also have put a
   value together from pieces, translated it or decoded it.
7. What somebody has allowed for the rest of a conversation is a part of its messages (`Result.allowed`).

Texts are compared by `values/mentions.py`. They are indexed with the first call that has to be explained, each once.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from toolspeak.loop.references import BrokenReference, find_references, resolve_references
from toolspeak.values.events import (
    ApprovalGiven,
    ApprovalNeeded,
    CallReady,
    Doubt,
    HandedOver,
    NestedFact,
    RunStarted,
    join_ids,
)
from toolspeak.values.mentions import Mentions
from toolspeak.values.messages import (
    AllowedValue,
    Call,
    Concat,
    Media,
    Message,
    Ref,
    Result,
    Text,
    ToolResult,
    find_origin,
    holds_foreign,
    split_text,
)
from toolspeak.values.origin import Origin, split_spans
from toolspeak.values.spec import ResultOwner, Schema, ToolSpec, list_decisive, resolve_reference

if TYPE_CHECKING:
    from toolspeak.loop.state import CallState, State


class Exposure(IntEnum):
    """What a model was shown that neither the user nor the program wrote.

    Attributes:
        NONE: Nothing.
        UNDECLARED: Text of which nobody has said whose it is.
        FOREIGN: A result that is declared as foreign.
    """

    NONE = 0
    UNDECLARED = 1
    FOREIGN = 2


def find_exposure(messages: Iterable[Message]) -> Exposure:
    """Return what these messages show that neither the user nor the program wrote."""
    exposure = Exposure.NONE
    for message in messages:
        if message.role == "assistant":
            continue
        for part in message.parts:
            if isinstance(part, Result):
                if part.origin is None:
                    exposure = exposure if part.reason else Exposure.UNDECLARED
                elif part.origin is not Origin.OWN_RESULT and not part.reason:
                    return Exposure.FOREIGN
        if exposure is Exposure.NONE and message.role != "tool" and holds_foreign(message):
            exposure = Exposure.UNDECLARED
    return exposure


EXPLAINED_BY = frozenset({Origin.USER, Origin.PROGRAM, Origin.OWN_RESULT, Origin.MODEL})
"""The origins of texts that explain values, in messages that are not the model's own. A prompt that another model wrote
explains values if that model was shown nothing foreign (`MODEL`)."""

MIN_PART_CHARS = 3
"""The fewest characters of a reference in a text that is put together: a text can be spelled from single letters."""

MAX_VALUE_CHARS = 1_000
"""Characters of a text in doubt that are kept."""


class InnerRun(NamedTuple):
    """What is known of the runs that a call makes: those of an agent that is a tool, or of a program.

    Attributes:
        owners: Whose words the results of their tools are, by the path of the run and the name of the tool.
        exposure: What they were shown.
        is_program: Whether a program made the calls, and no model.
        doubts: The values in doubt of their calls, by the id of the call.
        allowed: The values that somebody has allowed for the rest of the conversation.
    """

    owners: Mapping[tuple[tuple[str, ...], str], ResultOwner] = {}
    exposure: Exposure = Exposure.NONE
    is_program: bool = False
    doubts: Mapping[str, tuple[str, tuple[Doubt, ...]]] = {}
    allowed: tuple[AllowedValue, ...] = ()


def follow_inner_run(inner: InnerRun | None, fact: NestedFact) -> InnerRun | None:
    """Return what is known of the runs of a call after one more fact of theirs."""
    event, path = fact.event, fact.path
    known = InnerRun() if inner is None else inner
    if isinstance(event, RunStarted | HandedOver):
        owners = {**known.owners, **{(path, spec.name): spec.result for spec in event.tools}}
        known = known._replace(owners=owners)
        if isinstance(event, RunStarted):
            shown = Exposure.FOREIGN if event.exposed else find_exposure(event.messages)
            is_program = event.model == "program" if len(path) == 1 else known.is_program
            known = known._replace(exposure=max(known.exposure, shown), is_program=is_program)
        return known
    if isinstance(event, CallReady):
        shown = _OWNER_EXPOSURE[known.owners.get((path, event.call.name), "")]
        return known._replace(exposure=max(known.exposure, shown))
    if isinstance(event, ApprovalNeeded) and event.doubts:
        call_id = join_ids(path, event.call.id)
        return known._replace(doubts={**known.doubts, call_id: (event.call.name, event.doubts)})
    if isinstance(event, ApprovalGiven) and event.approved and event.remember:
        name, doubts = known.doubts.get(join_ids(path, event.call_id), ("", ()))
        return known._replace(allowed=(*known.allowed, *list_allowed(name, doubts)))
    return inner


_OWNER_EXPOSURE: dict[ResultOwner, Exposure] = {
    "own": Exposure.NONE,
    "": Exposure.UNDECLARED,
    "foreign": Exposure.FOREIGN,
}


def find_result_origin(state: "State", entry: "CallState", result: ToolResult) -> Origin | None:
    """Return the origin of the result of a call; None if nobody has said whose words it is."""
    spec = state.specs.get(entry.key.tool)
    if spec is not None and spec.result == "own":
        return Origin.OWN_RESULT
    if not result.ran:
        return None
    if spec is not None and spec.result == "foreign":
        return Origin.FOREIGN_RESULT
    inner = entry.inner
    if inner is None:
        return None
    if inner.exposure is Exposure.FOREIGN:
        return Origin.FOREIGN_RESULT
    is_own = inner.is_program and inner.exposure is Exposure.NONE and state.turn.exposure is Exposure.NONE
    return Origin.OWN_RESULT if is_own else None


def list_allowed(tool: str, doubts: Sequence[Doubt]) -> tuple[AllowedValue, ...]:
    """Return what somebody allows who says yes to values in doubt for the rest of the conversation."""
    return tuple(
        AllowedValue(tool=tool, parameter=_name_parameter(each.parameter), value=each.value) for each in doubts
    )


def _name_parameter(place: str) -> str:
    """Return the parameter of a place such as `order.items[0]`."""
    return place.partition("[")[0].partition(".")[0]


# What explains values


class Echo(NamedTuple):
    """An own result of a call with arguments that nothing explains: it explains what is not one of these."""

    result: Mentions
    arguments: Mentions


class Sources:
    """The texts of a conversation, by what they explain. It is a memo: `follow` reads each message once."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._messages: list[Message] = []
        self._specs: dict[int, ToolSpec] = {}
        self._prompts: set[str] = set()
        self._explaining = Mentions()
        self._echoes: list[Echo] = []
        self._exposure = Exposure.NONE
        self._calls: dict[str, tuple[str, Mentions | None, bool]] = {}  # the tool, what is unexplained, has references
        self._allowed: set[tuple[str, str, str]] = set()
        self._foreign = Mentions()
        self._foreign_texts: list[tuple[str, str, str]] = []  # the tool, the call and the text
        self._foreign_count = 0  # of those that are indexed

    def follow(
        self, messages: Sequence[Message], specs: Iterable[ToolSpec], system: str | None, *, exposed: bool
    ) -> None:
        """Read what is new in a conversation. If it is another one, everything is read again."""
        known = self._messages
        if len(known) > len(messages) or any(one is not other for one, other in zip(known, messages, strict=False)):
            self._clear()
        if exposed:
            self._exposure = Exposure.FOREIGN
        for spec in specs:
            if id(spec) not in self._specs:
                self._specs[id(spec)] = spec
                self._add_spec(spec)
        if system is not None and system not in self._prompts:
            self._prompts.add(system)
            self._explaining.add(system)
        for message in messages[len(self._messages) :]:
            self._add_message(message)
            self._messages.append(message)

    def _add_spec(self, spec: ToolSpec) -> None:
        for text, origin in split_spans(spec.description, spec.origin, spec.spans):
            if not origin.is_foreign:
                self._explaining.add(text)
        if not spec.origin.is_foreign and (texts := list(_list_texts(spec.parameters))):
            self._explaining.add("\n".join(texts))

    def _add_message(self, message: Message) -> None:
        for part in message.parts:
            if isinstance(part, Call):
                self._add_call(part)
            elif isinstance(part, Result):
                self._add_result(part)
            elif message.role != "assistant" and isinstance(part, Text):
                for text, origin in split_text(part, message.role):
                    self._add_text(text, origin)
            elif (
                message.role != "assistant" and isinstance(part, Media) and part.data and part.mime.startswith("text/")
            ):
                self._foreign_texts.append(("", "", part.data.decode(errors="replace")))
        self._exposure = max(self._exposure, find_exposure((message,)))

    def _add_text(self, text: str, origin: Origin, tool: str = "", result_id: str = "") -> None:
        if origin in EXPLAINED_BY and not (origin is Origin.OWN_RESULT and not tool and self._echoes):
            self._explaining.add(text)
        else:
            self._foreign_texts.append((tool, result_id, text))

    def _add_call(self, part: Call) -> None:
        arguments = part.call.arguments
        unexplained = self.find_unexplained(arguments) if self._exposure else None
        self._calls[part.call.id] = (part.call.name, unexplained, bool(find_references(arguments)))

    def find_unexplained(self, arguments: dict[str, Any]) -> Mentions | None:
        """Return the texts and numbers in arguments that nothing explains; None if there are none."""
        left = [each for each in _list_leaves(arguments) if not self.explains(each)]
        if not left:
            return None
        unexplained = Mentions()
        for each in left:
            unexplained.add(each if isinstance(each, str) else json.dumps(each))
        return unexplained

    def _add_result(self, part: Result) -> None:
        self._allowed.update((each.tool, each.parameter, _write(each.value)) for each in part.allowed)
        if part.reason:  # what the loop says
            return
        tool, arguments, refers = self._calls.get(part.call_id, ("", None, False))
        origin = find_origin(part, "tool")
        for each in part.content:
            for text, own in (
                split_spans(each.text, each.origin or origin, each.spans) if isinstance(each, Text) else ()
            ):
                # What a call refers to is not in its message, so nobody knows what its result repeats.
                if own is not Origin.OWN_RESULT or (arguments is None and not refers):
                    self._add_text(text, own, tool, part.call_id)
                elif arguments is not None and not refers and not part.is_error:
                    result = Mentions()
                    result.add(text)
                    self._echoes.append(Echo(result, arguments))

    def explains(self, value: Any) -> bool:
        """Whether a text or a number stands where it may."""
        if self._explaining.has(value):
            return True
        return any(each.result.has(value) and not each.arguments.has(value) for each in self._echoes)

    def allows(self, tool: str, parameter: str, value: Any) -> bool:
        """Whether somebody has allowed a value for the rest of the conversation."""
        return bool(self._allowed) and (tool, parameter, _write(shorten_value(value))) in self._allowed

    def find_place(self, parameter: str, value: Any) -> Doubt:
        """Return the doubt about a value, with the foreign text in which it stands."""
        for _, _, text in self._foreign_texts[self._foreign_count :]:
            self._foreign.add(text)
        self._foreign_count = len(self._foreign_texts)
        found, shown = self._foreign.find(value), shorten_value(value)
        if found is None:
            return Doubt(parameter=parameter, value=shown)
        tool, result_id, _ = self._foreign_texts[found.number]
        return Doubt(parameter=parameter, value=shown, tool=tool, result_id=result_id, around=found.words)


def shorten_value(value: Any) -> Any:
    """Return a value as a doubt keeps it: of a long text the beginning, its length and its digest."""
    if not isinstance(value, str) or len(value) <= MAX_VALUE_CHARS:
        return value
    digest = sha256(value.encode(errors="surrogatepass")).hexdigest()[:16]
    return f"{value[:MAX_VALUE_CHARS]}… ({len(value):,} characters, {digest})"


def _write(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _list_texts(schema: Any) -> Iterator[str]:
    left: list[Any] = [schema]
    while left:
        each = left.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, Mapping):
            left += cast("Mapping[str, Any]", each).values()
        elif isinstance(each, list):
            left += cast("list[Any]", each)


def _list_leaves(value: Any) -> Iterator[str | int | float]:
    """Yield the texts and numbers in arguments: keys, too, and the texts between references."""
    left: list[Any] = list(cast("dict[str, Any]", value).values())
    while left:
        each = left.pop()
        if isinstance(each, Concat):
            left += [part for part in each.parts if isinstance(part, str)]
        elif isinstance(each, dict):
            pairs = cast("dict[str, Any]", each)
            left += [*pairs.keys(), *pairs.values()]
        elif isinstance(each, list):
            left += cast("list[Any]", each)
        elif isinstance(each, str | int | float) and not isinstance(each, bool) and each != "":
            yield each


# One call


def may_doubt(state: "State", entry: "CallState", spec: ToolSpec) -> bool:
    """Whether the values of a call have to be looked at. This is asked of every call, and `find_doubts` of few."""
    exposure = state.turn.exposure
    return exposure is Exposure.FOREIGN or bool(entry.depends_on) or (spec.decisive is not None and bool(exposure))


def find_doubts(state: "State", entry: "CallState", spec: ToolSpec) -> tuple[Doubt, ...]:
    """Return the values of a call that nobody explains who may. Its references must be resolved, or broken."""
    run, turn, call = state.run, state.turn, entry.call
    if run is None or call is None or run.provenance == "off" or spec.name == run.output:
        return ()
    known = turn.doubts.get(entry.id)
    if known is None:
        names = list_decisive(spec)
        known = turn.doubts[entry.id] = tuple(_check_call(state, call.arguments, spec, names)) if names else ()
    return known


def _check_call(state: "State", arguments: dict[str, Any], spec: ToolSpec, names: Sequence[str]) -> Iterator[Doubt]:
    run, turn = state.run, state.turn
    least = Exposure.FOREIGN if spec.decisive is None else Exposure.UNDECLARED
    is_exposed = turn.exposure >= least
    if not is_exposed and not find_references({name: arguments[name] for name in names if name in arguments}):
        return
    messages = (*state.background, *state.history[: turn.history_start])
    sources, system = state.sources, None if state.speaker is None else state.speaker.system
    sources.follow(messages, state.all_specs, system, exposed=run is not None and run.exposed)
    check = _CallCheck(state, spec, sources, least, is_exposed=is_exposed)
    for name in names:
        if name in arguments:
            schema = cast("Mapping[str, Schema]", spec.parameters["properties"]).get(name, {})
            yield from check.look_at(name, arguments[name], _SchemaValues(schema, spec.parameters))
    if is_exposed and spec.effect != "read":
        for name, value in arguments.items():
            if name not in names:
                yield from check.look_for_links(name, value)


_LINK = re.compile(
    r"(?:https?://|www\.)[^\s<>\"'`]++"
    r"|(?<![\w@.\-/])(?:[\w\-]{1,63}\.){1,5}(?:com|org|net|info|biz|io|ai|app|dev|xyz|site|online|top|shop|link|me|co)\b"
    r"(?:/[^\s<>\"'`]*+)?",
    re.IGNORECASE,
)
"""A link as programs recognise one in plain text: with a scheme, with `www.`, or a name under a well-known domain."""


def list_links(text: str) -> list[str]:
    """Return the links in a text.

    Examples:
        >>> list_links("See https://a.example/x, (www.b.example) or c.com/d; not e.g. this one or f@g.com.")
        ['https://a.example/x', 'www.b.example', 'c.com/d']
    """
    return [link.rstrip(".,;:!?)]}*_") for link in _LINK.findall(text)]


class _SchemaValues:
    """The values and keys that the schema of a parameter gives."""

    def __init__(self, schema: Schema, root: Schema) -> None:
        self.values: set[str] = set()
        self.keys: set[str] = set()
        left: list[Any] = [schema]
        seen: set[int] = set()
        while left:
            each = left.pop()
            if not isinstance(each, Mapping) or id(cast("object", each)) in seen:
                continue
            given = cast("Mapping[str, Any]", each)
            seen.add(id(given))
            if "$ref" in given:
                left.append(resolve_reference(given, root))
                continue
            self.values.update(map(_write, given.get("enum") or ()))
            self.values.update(_write(given[keyword]) for keyword in ("const", "default") if keyword in given)
            self.keys.update(given.get("properties") or ())
            for keyword in ("properties", "patternProperties", "dependentSchemas"):
                left += (given.get(keyword) or {}).values()
            for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
                left += given.get(keyword) or ()
            left += [given.get("items"), given.get("additionalProperties")]


class _CallCheck:
    """Looks at the arguments of one call."""

    def __init__(self, state: "State", spec: ToolSpec, sources: Sources, least: Exposure, *, is_exposed: bool) -> None:
        self._state, self._spec, self._sources, self._least = state, spec, sources, least
        self._is_exposed = is_exposed
        self._results = state.results

    def look_at(self, place: str, value: Any, given: _SchemaValues) -> Iterator[Doubt]:
        """Yield the doubts about an argument, or about a value in it."""
        if value is None or isinstance(value, bool) or value in ("", [], {}):
            return
        if isinstance(value, dict):
            for key, each in cast("dict[str, Any]", value).items():
                if key not in given.keys:
                    yield from self.look_at(f"{place}.{key}", key, given)
                yield from self.look_at(f"{place}.{key}", each, given)
        elif isinstance(value, list):
            for number, each in enumerate(cast("list[Any]", value)):
                yield from self.look_at(f"{place}[{number}]", each, given)
        elif isinstance(value, Ref):
            yield from self._look_at_reference(place, value, given)
        elif isinstance(value, Concat):
            yield from self._look_at_joined(place, value, given)
        elif self._is_exposed and not self._is_explained(place, value, given):
            yield self._sources.find_place(place, value)

    def _is_explained(self, place: str, value: Any, given: _SchemaValues) -> bool:
        if given.values and _write(value) in given.values:
            return True
        return self._sources.explains(value) or self._sources.allows(self._spec.name, _name_parameter(place), value)

    def _look_at_reference(self, place: str, ref: Ref, given: _SchemaValues) -> Iterator[Doubt]:
        exposure = self._find_exposure(ref)
        echo = self._find_unexplained(ref) if exposure is Exposure.NONE else None
        if not self._is_exposed and exposure < self._least:
            return
        if exposure is Exposure.NONE and echo is None:
            return
        tool = self._state.turn.calls[ref.call].key.tool if ref.call in self._state.turn.calls else ""
        for leaf_place, leaf in self._resolve(place, ref):
            if (echo is None or echo.has(leaf)) and not self._is_explained(leaf_place, leaf, given):
                yield Doubt(
                    parameter=leaf_place,
                    value=shorten_value(leaf),
                    tool=tool,
                    result_id=ref.call,
                    around=str(leaf)[:MAX_AROUND_CHARS],
                )

    def _find_exposure(self, ref: Ref) -> Exposure:
        """Return what the value of a reference is: that of an own result counts as nothing foreign."""
        entry = self._state.turn.calls.get(ref.call)
        if entry is None or entry.result is None:
            return Exposure.UNDECLARED
        origin = find_result_origin(self._state, entry, entry.result)
        if origin is Origin.FOREIGN_RESULT:
            return Exposure.FOREIGN
        if origin is not Origin.OWN_RESULT:
            return Exposure.UNDECLARED
        # An own result may repeat what its call was given.
        return max([self._find_exposure(Ref(call=call_id)) for call_id in entry.depends_on], default=Exposure.NONE)

    def _find_unexplained(self, ref: Ref) -> Mentions | None:
        """Return what the call of a reference was given that nothing explains."""
        entry = self._state.turn.calls.get(ref.call)
        if not self._is_exposed or entry is None or entry.call is None:
            return None
        return self._sources.find_unexplained(entry.call.arguments)

    def look_for_links(self, place: str, value: Any) -> Iterator[Doubt]:
        """Yield the doubts about the links in an argument that is not decisive."""
        for where, leaf in self._resolve(place, value):
            for link in dict.fromkeys(list_links(leaf) if isinstance(leaf, str) else ()):
                if not self._sources.explains(link) and not self._sources.allows(
                    self._spec.name, _name_parameter(where), link
                ):
                    yield self._sources.find_place(where, link)

    def _resolve(self, place: str, ref: Any) -> Iterator[tuple[str, Any]]:
        try:
            value = resolve_references(ref, self._results)
        except BrokenReference:  # the call fails with the reason
            return
        left: list[tuple[str, Any]] = [(place, value)]
        while left:
            where, each = left.pop(0)
            if isinstance(each, dict):
                left += [(f"{where}.{key}", item) for key, item in cast("dict[str, Any]", each).items()]
            elif isinstance(each, list):
                left += [(f"{where}[{number}]", item) for number, item in enumerate(cast("list[Any]", each))]
            elif each is not None and not isinstance(each, bool) and each != "":
                yield where, each

    def _look_at_joined(self, place: str, joined: Concat, given: _SchemaValues) -> Iterator[Doubt]:
        """Look at a text that is put together: as a whole, else in its parts."""
        try:
            whole = resolve_references(joined, self._results)
        except BrokenReference:
            return
        if self._is_explained(place, whole, given):
            return
        references = [part for part in joined.parts if isinstance(part, Ref)]
        exposures = [self._find_exposure(each) for each in references]
        if not self._is_exposed and max(exposures, default=Exposure.NONE) < self._least:
            return
        texts = [part for part in joined.parts if isinstance(part, str) and any(map(str.isalnum, part))]
        values = [leaf for each in references for _, leaf in self._resolve(place, each)]
        is_clear = (
            max(exposures, default=Exposure.NONE) is Exposure.NONE
            and all(self._find_unexplained(each) is None for each in references)
            and all(len(str(value)) >= MIN_PART_CHARS for value in values)
            and (not self._is_exposed or all(self._sources.explains(text) for text in texts))
        )
        if not is_clear:
            yield self._sources.find_place(place, whole)


MAX_AROUND_CHARS = 160
"""Characters of a result that a question shows of a value that the call refers to."""
