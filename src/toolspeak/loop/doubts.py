"""Doubts: the values of a call that come from nobody who may say them.

`provenance.py` has the rules, and says what explains values. Here they are applied to one call: `find_doubts`. It is
asked before the call starts, when its references are resolved, and once: what was found is kept with the turn.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from toolspeak.loop.provenance import Exposure, FoundFields, Sources, name_parameter, shorten_value, write_value
from toolspeak.loop.references import BrokenReference, find_references, resolve_references
from toolspeak.loop.state import CallState, State
from toolspeak.values.events import Doubt
from toolspeak.values.messages import Concat, Ref, ToolResult
from toolspeak.values.origin import Origin
from toolspeak.values.spec import Schema, ToolSpec, list_decisive, resolve_reference

if TYPE_CHECKING:
    from toolspeak.values.mentions import Mentions

MIN_PART_CHARS = 3
"""The fewest characters of a reference in a text that is put together: a text can be spelled from single letters."""

MAX_AROUND_CHARS = 160
"""Characters of a result that a question shows of a value that the call refers to."""


def find_result_origin(state: State, entry: CallState, result: ToolResult) -> Origin | None:
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


def may_doubt(state: State, entry: CallState, spec: ToolSpec) -> bool:
    """Whether the values of a call have to be looked at. This is asked of every call, and `find_doubts` of few."""
    exposure = state.turn.exposure
    return exposure is Exposure.FOREIGN or bool(entry.depends_on) or (spec.decisive is not None and bool(exposure))


def find_doubts(state: State, entry: CallState, spec: ToolSpec) -> tuple[Doubt, ...]:
    """Return the values of a call that nobody explains who may. Its references must be resolved, or broken."""
    run, turn, call = state.run, state.turn, entry.call
    if run is None or call is None or run.provenance == "off" or spec.name == run.output:
        return ()
    known = turn.doubts.get(entry.id)
    if known is None:
        names = list_decisive(spec)
        is_checked = bool(names or (spec.free and spec.effect != "read" and spec.decisive is None))
        known = turn.doubts[entry.id] = tuple(_check_call(state, call.arguments, spec, names)) if is_checked else ()
    return known


def _check_call(state: State, arguments: dict[str, Any], spec: ToolSpec, names: Sequence[str]) -> Iterator[Doubt]:
    run, turn = state.run, state.turn
    least = Exposure.FOREIGN if spec.decisive is None else Exposure.UNDECLARED
    is_exposed = turn.exposure >= least
    if not is_exposed and not find_references({name: arguments[name] for name in names if name in arguments}):
        return
    messages = (*state.background, *state.history[: turn.history_start])
    sources = state.sources = state.sources or Sources()
    system = None if state.speaker is None else state.speaker.system
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
            self.values.update(map(write_value, given.get("enum") or ()))
            self.values.update(write_value(given[keyword]) for keyword in ("const", "default") if keyword in given)
            self.keys.update(given.get("properties") or ())
            for keyword in ("properties", "patternProperties", "dependentSchemas"):
                left += (given.get(keyword) or {}).values()
            for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
                left += given.get(keyword) or ()
            left += [given.get("items"), given.get("additionalProperties")]


class _CallCheck:
    """Looks at the arguments of one call."""

    def __init__(self, state: State, spec: ToolSpec, sources: Sources, least: Exposure, *, is_exposed: bool) -> None:
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
        if given.values and write_value(value) in given.values:
            return True
        sources, tool = self._sources, self._spec.name
        return (
            sources.explains(value, tool, place)
            or sources.allows(tool, name_parameter(place), value)
            or sources.fills(tool, place, value)
        )

    def _look_at_reference(self, place: str, ref: Ref, given: _SchemaValues) -> Iterator[Doubt]:
        exposure = self._find_exposure(ref)
        echo = self._find_unexplained(ref) if exposure is Exposure.NONE else None
        if not self._is_exposed and exposure < self._least:
            return
        if exposure is Exposure.NONE and echo is None:
            return
        tool = self._state.turn.calls[ref.call].key.tool if ref.call in self._state.turn.calls else ""
        for leaf_place, leaf in self._resolve(place, ref):
            is_clear = self._is_explained(leaf_place, leaf, given) or self._is_labelled(leaf_place, leaf, ref)
            if (echo is None or echo.has(leaf)) and not is_clear:
                yield Doubt(
                    parameter=leaf_place,
                    value=shorten_value(leaf),
                    tool=tool,
                    result_id=ref.call,
                    around=str(leaf)[:MAX_AROUND_CHARS],
                )

    def _is_labelled(self, place: str, leaf: Any, ref: Ref) -> bool:
        """Whether a value is in a field of a foreign result that may stand here."""
        entry = self._state.turn.calls.get(ref.call)
        if entry is None or entry.call is None or entry.result is None or entry.depends_on:
            return False
        spec = self._state.specs.get(entry.key.tool)
        if spec is None or not spec.fields or not entry.result.ran or entry.result.error is not None:
            return False
        found = FoundFields(spec.name, spec.fields, entry.result.output, entry.call.arguments)
        return self._sources.fills(self._spec.name, place, leaf, found)

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

    def _find_unexplained(self, ref: Ref) -> "Mentions | None":
        """Return what the call of a reference was given that nothing explains."""
        entry = self._state.turn.calls.get(ref.call)
        if not self._is_exposed or entry is None or entry.call is None:
            return None
        return self._sources.find_unexplained(entry.key.tool, entry.call.arguments)

    def look_for_links(self, place: str, value: Any) -> Iterator[Doubt]:
        """Yield the doubts about the links in an argument that is not decisive."""
        for where, leaf in self._resolve(place, value):
            for link in dict.fromkeys(list_links(leaf) if isinstance(leaf, str) else ()):
                if not self._sources.explains(link) and not self._sources.allows(
                    self._spec.name, name_parameter(where), link
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
