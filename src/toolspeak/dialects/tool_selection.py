"""Which of many tools a model is shown, and where, so that they fit a budget of tokens.

Everything follows from the tools, the budget and the conversation, so that a run that is resumed, and a server that
keeps nothing, show the same. What was shown stays where it is, and more is only appended: servers read a prompt anew
from the first character that differs.

- At the beginning of the prompt is a list. If all tools fit with at least a part of their descriptions, it has all of
  them (`slim_tools.py`), with the tool `help`. If not, it has those that the first message of the user may be about
  (`tool_index.py`), the likeliest ones first, and the tool `find_tools`. How many these are depends on how sure the
  ranking is. The first few are described as well as fits; of the others there is an outline, so that more of them fit.
- Later messages of the user, and calls of `find_tools`, add further tools. A dialect in text shows them right there, in
  the conversation; the native dialect appends them to the tools of the API.
- Where a message of the user is answered with calls, a model may look closer: it is shown only the tools that it
  called, with their whole descriptions, and answers once more (`Shown.closer`). The embedded model does.
- A tool that is called is known from then on. If it was shown with less than its whole description, that follows the
  results of its first call, as long as such descriptions take no more tokens than the list may.

A tool that exists can be called whether it is shown or not.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from toolspeak.dialects.dialect import Dialect, Shown
from toolspeak.dialects.slim_tools import (
    TOOL,
    count_text_tokens,
    count_tool_tokens,
    describe_tool,
    find_free_name,
    find_shortened,
    is_described,
    outline_tools,
    shorten_tools,
    slim_tools,
)
from toolspeak.values.events import CallReady, ToolChoice
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Message, Part, Text, ToolCall
from toolspeak.values.spec import ToolSpec
from toolspeak.values.validation import nearest

if TYPE_CHECKING:
    from toolspeak.dialects.tool_index import ToolIndex

FIND = "find_tools"
QUERY = "query"
"""The name of the tool that finds other tools, and of its parameter."""

FIND_DESCRIPTION = "Finds more tools by words for what they do, or by name, so that you can call them."

MAX_FOUND = 8
"""Tools that one call of `find_tools` finds."""

FOUND_SHARE = 0.25
"""A tool is found only if its score is at least this share of the score of the best tool."""

LISTED_SHARE = 0.21
"""A tool is listed for the first message if it weighs at least this share of the best tool (`ToolIndex.weigh`)."""

DESCRIBED_TOOLS = 3
"""Tools of that list, the likeliest ones, that are described as well as fits; of the others, it has an outline."""

MAX_ADDED, ADDED_SHARE = 4, 0.5
"""How many tools a later message of the user adds at most, and the share of the best score that they need."""

MAX_NAMESPACES = 20
"""Namespaces that the description of `find_tools` names."""

MAX_NAMED_TOOLS = 40
"""Names of tools in the answer to a question about a tool that does not exist."""

MAX_QUOTED_CHARS = 80
"""Characters of a name that are quoted in an error."""

MAX_KEPT = 16
"""Selections and indexes that are kept, since the same tools are shown in each turn."""

_NAMESPACE = re.compile(r"(.+?)(?:__|\.)[^_.]")


@frozen
class ToolSelection:
    """The tools that a conversation begins with, of those that can be called.

    Attributes:
        tools: All tools that can be called, by name, without `help` and `find`.
        listed: The tools at the beginning of the prompt, as they are shown, without `help` and `find`.
        dialect: The dialect in which they are shown.
        max_tokens: The budget; None for none.
        tokens: The tokens of the list, estimated; 0 without a budget.
        cut: The names of the listed tools that lost a part of their descriptions.
        help: The tool that returns the whole description of another; None if it is not needed.
        find: The tool that finds the tools that are not listed; None if all are.
    """

    tools: Mapping[str, ToolSpec]
    listed: tuple[ToolSpec, ...]
    dialect: Dialect
    max_tokens: int | None = None
    tokens: int = 0
    cut: frozenset[str] = frozenset()
    help: ToolSpec | None = None
    find: ToolSpec | None = None

    @property
    def left_out(self) -> tuple[str, ...]:
        """The names of the tools that are not in the list."""
        listed = {spec.name for spec in self.listed}
        return tuple(name for name in self.tools if name not in listed)

    @property
    def own_tools(self) -> tuple[ToolSpec, ...]:
        """`help` and `find`, as far as they are shown."""
        return tuple(each for each in (self.help, self.find) if each is not None)

    def answer(self, call: ToolCall) -> str:
        """Return the result of a call of `help` or of `find`."""
        if self.find is not None and call.name == self.find.name:
            query = call.arguments.get(QUERY)
            return say_found(find_names(tuple(self.tools.values()), query if isinstance(query, str) else ""))
        return explain_tool(call.arguments.get(TOOL), self.tools, self.dialect)

    def view(self, history: Sequence[Message]) -> "ToolView":
        """Return the tools and a conversation as the model is shown them."""
        if self.max_tokens is None or not (self.cut or self.find):
            return ToolView(listed=self.listed, history=tuple(history), dialect=self.dialect)
        return _Introduction(self, self.max_tokens).view(history)


@frozen
class ToolView:
    """The tools and a conversation as a model is shown them.

    Attributes:
        listed: The tools at the beginning of the prompt.
        added: The tools that the conversation has added, in order.
        history: The conversation, with the tools that it has added where the dialect is one in text.
        places: Where in the conversation tools were added, and which: the places of messages, with names.
        tools: All tools that can be called, by name, as they are; None if none was left out of the list.
    """

    listed: tuple[ToolSpec, ...]
    added: tuple[ToolSpec, ...] = ()
    history: tuple[Message, ...]
    dialect: Dialect
    places: tuple[tuple[int, tuple[str, ...]], ...] = ()
    tools: Mapping[str, ToolSpec] | None = None

    @property
    def prompt_tools(self) -> tuple[ToolSpec, ...]:
        """The tools that the dialect renders: in text, those of the conversation are shown by the conversation."""
        return self.listed if self.dialect.in_text else (*self.listed, *self.added)

    def render(self, history: Sequence[Message], choice: ToolChoice, *, parallel: bool) -> Shown:
        """Render a conversation, which is that of the view or a part of it, with these tools."""
        shown = self.dialect.render(self.prompt_tools, history, choice=choice, parallel=parallel)
        if self.tools and self.dialect.in_text and (asked := self._leave_searches(history)):
            shown = replace(shown, closer=partial(self._look_closer, asked, choice, parallel))
        if shown.constraint is None or not self.added or not self.dialect.in_text:
            return shown
        with_all = self.dialect.render((*self.listed, *self.added), (), choice=choice, parallel=parallel)
        return replace(shown, constraint=with_all.constraint)

    def _leave_searches(self, history: Sequence[Message]) -> Sequence[Message]:
        """Return a conversation up to the last message of the user; nothing if a tool was called after it."""
        last = max((place for place, message in enumerate(history) if message.role == "user"), default=-1)
        called = {call.name for message in history[last + 1 :] for call in message.calls}
        return () if self.tools is None or called & self.tools.keys() else history[: last + 1]

    def _look_closer(self, history: Sequence[Message], choice: ToolChoice, parallel: bool, answer: str) -> Shown | None:
        """Show a conversation with only the tools that an answer to it calls, or that were called before.

        None if the answer calls none, or one that is not among the tools, such as `find_tools`.
        """
        tools = self.tools or {}
        parser = self.dialect.parser((*tools.values(), *self.listed))
        events = [*parser.feed(answer), *parser.close()]
        called = dict.fromkeys(event.call.name for event in events if isinstance(event, CallReady))
        if not called or not called.keys() <= tools.keys():
            return None
        earlier = [call.name for message in history for call in message.calls if call.name in tools]
        chosen = [tools[name] for name in dict.fromkeys((*called, *earlier))]
        return self.dialect.render(chosen, history, choice=choice, parallel=parallel)


def select_tools(
    specs: Sequence[ToolSpec],
    dialect: Dialect,
    max_tokens: int | None,
    history: Sequence[Message],
    *,
    help_tool: ToolSpec | None = None,
    find_tool: ToolSpec | None = None,
    kept: Collection[str] = (),
) -> ToolSelection:
    """Choose the tools that a conversation begins with.

    Args:
        specs: The tools that can be called.
        dialect: The dialect in which a model is shown them.
        max_tokens: The most tokens that they may take; None for any number.
        history: The conversation, of which the first message of the user counts.
        help_tool: The tool that returns the whole description of another (`make_help_tool`).
        find_tool: The tool that finds others (`make_find_tool`).
        kept: The names of tools that are listed in any case.
    """
    if max_tokens is None or not specs:
        return ToolSelection(tools={spec.name: spec for spec in specs}, listed=tuple(specs), dialect=dialect)
    message = next((message.text for message in history if message.role == "user"), "")
    return _select(_Key(specs, dialect, help_tool, find_tool), max_tokens, message, tuple(kept))


def make_find_tool(specs: Sequence[ToolSpec]) -> ToolSpec:
    """Return the tool by which a model finds tools that it is not shown. Its name is one that none has."""
    return ToolSpec(
        name=find_free_name(specs, FIND, "search_tools"),
        description=describe_find_tool([spec.name for spec in specs]),
        parameters={"type": "object", "properties": {QUERY: {"type": "string"}}, "required": [QUERY]},
        effect="read",
    )


def describe_find_tool(names: Sequence[str]) -> str:
    """Return the description of the tool that finds others: how many there are, and in which namespaces."""
    spaces = Counter(found[1] for name in names if (found := _NAMESPACE.match(name)))
    shared = [f"{space} ({count})" for space, count in spaces.most_common(MAX_NAMESPACES) if count > 1]
    origin = f" from {', '.join(shared)}" if shared else ""
    return f"{FIND_DESCRIPTION} There are {len(names)} tools{origin}, and not all are shown."


def find_names(specs: Sequence[ToolSpec], query: str, limit: int = MAX_FOUND) -> tuple[str, ...]:
    """Return the names of the tools that a query is about: first those that it names, then those that fit its words."""
    known = {spec.name for spec in specs}
    named = [word for each in re.split(r"[\s,;]+", query) if (word := each.strip("`'\"()")) in known]
    scores = _index(_Key(specs)).score(query)
    least = FOUND_SHARE * max(scores.values(), default=0.0)
    found = dict.fromkeys((*named, *(name for name, score in scores.items() if score >= least)))
    return tuple(found)[: max(limit, len(set(named)))]


def say_found(names: Sequence[str]) -> str:
    """Return what a model is told of the tools that were found. How they are called stands elsewhere."""
    if not names:
        return "no tool fits these words; try other words, or go on without"
    return f"You can call these now: {', '.join(names)}"


def explain_tool(name: object, tools: Mapping[str, ToolSpec], dialect: Dialect) -> str:
    """Return the whole description of a tool, or what is wrong with the name."""
    if isinstance(name, str) and name in tools:
        return describe_tool(tools[name], dialect)
    similar = nearest(name, tuple(tools)) if isinstance(name, str) else None
    names = list(tools)
    more = f" and {len(names) - MAX_NAMED_TOOLS} more" if len(names) > MAX_NAMED_TOOLS else ""
    cure = f"did you mean {similar}?" if similar else f"the tools are: {', '.join(names[:MAX_NAMED_TOOLS])}{more}"
    return f"there is no tool {str(name)[:MAX_QUOTED_CHARS]!r}; {cure}"


class _Key:
    """Tools and a dialect as a key: schemas have no hash of their own."""

    def __init__(
        self,
        tools: Sequence[ToolSpec],
        dialect: Dialect | None = None,
        help_tool: ToolSpec | None = None,
        find_tool: ToolSpec | None = None,
    ) -> None:
        self.tools = tuple(tools)
        self.dialect = dialect
        self.own_tools = help_tool, find_tool

    def __hash__(self) -> int:
        return hash(tuple((tool.name, tool.description) for tool in self.tools))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Key)
            and self.dialect is other.dialect
            and self.own_tools == other.own_tools
            and self.tools == other.tools
        )


@lru_cache(maxsize=MAX_KEPT)
def _index(key: _Key) -> "ToolIndex":
    # imported with the first budget of tools
    from toolspeak.dialects.tool_index import ToolIndex
    from toolspeak.dialects.word_vectors import load_word_vectors

    return ToolIndex(key.tools, load_word_vectors())


@lru_cache(maxsize=MAX_KEPT)
def _select(key: _Key, max_tokens: int, message: str, kept: tuple[str, ...]) -> ToolSelection:
    specs, dialect, (help_tool, find_tool) = key.tools, key.dialect, key.own_tools
    assert dialect is not None  # noqa: S101 (only indexes are kept without one)
    tools = {spec.name: spec for spec in specs}
    selection = ToolSelection(tools=tools, listed=specs, dialect=dialect, max_tokens=max_tokens)
    beside = [help_tool] if help_tool else []
    slim = slim_tools(specs, dialect, max_tokens, beside=beside)
    is_described_well = all(is_described(spec, shown) for spec, shown in zip(specs, slim.tools, strict=True))
    if not (slim.fits and is_described_well) and find_tool is not None:
        beside = [*beside, find_tool]
        picked = _pick(specs, dialect, max_tokens, message, kept, beside)
        own = count_tool_tokens([*picked, *beside], dialect) - count_tool_tokens(picked, dialect)
        few = slim_tools(picked, dialect, max_tokens - own)
        tokens = few.tokens + own
        if len(picked) < len(specs) and (tokens <= max_tokens or tokens < slim.tokens):
            cut = find_shortened([tools[spec.name] for spec in picked], few.tools)
            return replace(selection, listed=few.tools, tokens=tokens, cut=cut, help=help_tool, find=find_tool)
    used_help = help_tool if slim.cut else None
    return replace(selection, listed=slim.tools, tokens=slim.tokens, cut=slim.cut, help=used_help)


def _pick(
    specs: tuple[ToolSpec, ...],
    dialect: Dialect,
    max_tokens: int,
    message: str,
    kept: tuple[str, ...],
    beside: Sequence[ToolSpec],
) -> list[ToolSpec]:
    """Return the tools that a message may be about, as many as fit, the likeliest ones first.

    Only the first ones are whole, and count in their short form; the others are outlined. The budget is not filled with
    tools that only come near: a small model would call one of them.
    """
    tools = {spec.name: spec for spec in specs}
    weights = _index(_Key(specs)).weigh(message)
    always = [name for name in dict.fromkeys(kept) if name in tools]
    likely = [name for name, weight in weights.items() if weight >= LISTED_SHARE]
    ranked = [tools[name] for name in dict.fromkeys((*always, *(likely or tools)))]
    described = len(always) + DESCRIBED_TOOLS
    whole, outlines = ranked[:described], outline_tools(ranked[described:])
    count = _count_fitting([*shorten_tools(whole), *outlines], dialect, max_tokens, beside)
    return [*whole, *outlines][: max(count, len(always), 1)]


def _count_fitting(
    specs: Sequence[ToolSpec], dialect: Dialect, max_tokens: int, beside: Sequence[ToolSpec] = ()
) -> int:
    """Return how many of the first tools take at most so many tokens together with those beside them."""
    low, high = 0, len(specs)
    while low < high:
        middle = (low + high + 1) // 2
        fits = count_tool_tokens([*specs[:middle], *beside], dialect) <= max_tokens
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


class _Introduction:
    """Goes through a conversation and adds tools and whole descriptions to it."""

    def __init__(self, selection: ToolSelection, max_tokens: int) -> None:
        self._selection = selection
        self._specs = tuple(selection.tools.values())
        self._known = {spec.name for spec in selection.listed}
        self._cut = set(selection.cut)
        self._described: set[str] = set()
        self._added: dict[str, ToolSpec] = {}
        self._added_tokens_left = self._whole_tokens_left = max_tokens

    def view(self, history: Sequence[Message]) -> ToolView:
        extended: list[Message] = []
        places: list[tuple[int, tuple[str, ...]]] = []
        calls: list[ToolCall] = []
        is_first = True
        for place, message in enumerate(history):
            notes: list[str] = []
            before = len(self._added)
            calls += message.calls
            if message.role == "user":
                notes = [] if is_first else self._add_fitting(message.text)
                is_first = False
            elif message.role == "tool":
                notes = [*self._add_found(calls), *self._describe_called(calls)]
                calls = []
            if len(self._added) > before:
                places.append((place, tuple(self._added)[before:]))
            parts: list[Part] = [Text(text=f"\n\n{note}") for note in notes]
            extended.append(replace(message, parts=(*message.parts, *parts)) if parts else message)
        return ToolView(
            listed=(*self._selection.listed, *self._selection.own_tools),
            added=tuple(self._added.values()),
            history=tuple(extended),
            dialect=self._selection.dialect,
            places=tuple(places),
            tools=self._selection.tools if self._selection.find else None,
        )

    def _add_fitting(self, text: str) -> list[str]:
        """Add the tools that a later message of the user may be about."""
        if self._selection.find is None:
            return []
        scores = _index(_Key(self._specs)).score(text)
        least = ADDED_SHARE * max(scores.values(), default=0.0)
        fitting = [name for name, score in scores.items() if score >= least][:MAX_ADDED]
        chosen: list[str] = []
        for short in shorten_tools([self._selection.tools[name] for name in fitting if name not in self._known]):
            tokens = count_text_tokens(describe_tool(short, self._selection.dialect))
            if tokens <= self._added_tokens_left:
                self._added_tokens_left -= tokens
                chosen.append(short.name)
        return self._add(chosen)

    def _add_found(self, calls: Sequence[ToolCall]) -> list[str]:
        """Add the tools that calls of `find_tools` have found."""
        find = self._selection.find
        queries = [call.arguments.get(QUERY) for call in calls if find is not None and call.name == find.name]
        found = [name for query in queries if isinstance(query, str) for name in find_names(self._specs, query)]
        return self._add([name for name in dict.fromkeys(found) if name not in self._known])

    def _add(self, names: Sequence[str]) -> list[str]:
        if not names:
            return []
        specs = [self._selection.tools[name] for name in names]
        short = shorten_tools(specs)
        self._known.update(names)
        self._cut |= find_shortened(specs, short)
        self._added |= {spec.name: spec for spec in short}
        if not self._selection.dialect.in_text:
            return []
        shown = "\n\n".join(describe_tool(spec, self._selection.dialect) for spec in short)
        return [_put_in_tag("more-tools", shown)]

    def _describe_called(self, calls: Sequence[ToolCall]) -> list[str]:
        """Return the whole descriptions of tools that were called for the first time and were not shown whole."""
        notes: list[str] = []
        for name in dict.fromkeys(call.name for call in calls):
            spec = self._selection.tools.get(name)
            is_known = name in self._known
            if spec is None or name in self._described or (is_known and name not in self._cut):
                continue
            self._described.add(name)
            if not is_known and not self._selection.dialect.in_text:
                self._add([name])
            note = _put_in_tag("tool-description", describe_tool(spec, self._selection.dialect))
            tokens = count_text_tokens(f"\n\n{note}")
            if tokens <= self._whole_tokens_left:
                self._whole_tokens_left -= tokens
                self._known.add(name)
                notes.append(note)
        return notes


def _put_in_tag(tag: str, text: str) -> str:
    """Return a text within a tag that nothing in the text closes."""
    return f"<{tag}>\n{text.replace(f'</{tag}', f'</ {tag}')}\n</{tag}>"
