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
8. A foreign result may have fields that are more than that: own data, and keys such as ids (`records.py`).
9. The user may leave a hole: 'Dinner at {restaurant}'. A text that fits, with names out of results in the holes, is
   what the user has asked for.
10. A short id must be named as one, since texts hold numbers by chance (`short_ids.py`).

Texts are compared by `values/mentions.py`. They are indexed with the first call that has to be explained, each once.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from toolspeak.loop.records import Records, fold_name, list_scalars
from toolspeak.loop.references import find_references
from toolspeak.loop.short_ids import counts_things, is_named
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
from toolspeak.values.messages import (
    AllowedValue,
    Call,
    Media,
    Message,
    Result,
    Text,
    find_origin,
    holds_foreign,
    split_text,
)
from toolspeak.values.origin import Origin, Stretch, split_spans
from toolspeak.values.spec import ResultField, ResultOwner, ToolSpec

if TYPE_CHECKING:
    from toolspeak.values.mentions import Mentions


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


def list_allowed(tool: str, doubts: Sequence[Doubt]) -> tuple[AllowedValue, ...]:
    """Return what somebody allows who says yes to values in doubt for the rest of the conversation."""
    return tuple(AllowedValue(tool=tool, parameter=name_parameter(each.parameter), value=each.value) for each in doubts)


def name_parameter(place: str) -> str:
    """Return the parameter of a place such as `order.items[0]`."""
    return place.partition("[")[0].partition(".")[0]


# What explains values


def make_index(*texts: str) -> "Mentions":
    """Return an index of texts."""
    from toolspeak.values.mentions import Mentions  # imported with the first value that has to be explained

    return Mentions(texts)


class Echo(NamedTuple):
    """An own result of a call with arguments that nothing explains: it explains what is not one of these."""

    result: "Mentions"
    arguments: "Mentions"


class KnownCall(NamedTuple):
    """A call of the conversation.

    Attributes:
        tool: The tool.
        unexplained: The texts and numbers in its arguments that nothing explains; None if there are none.
        refers: Whether there are references in its arguments.
    """

    tool: str = ""
    unexplained: "Mentions | None" = None
    refers: bool = False


class FoundFields(NamedTuple):
    """The labelled fields of a result that the model has not seen yet: a call of the same message refers to it."""

    tool: str
    fields: tuple[ResultField, ...]
    output: Any
    arguments: dict[str, Any]


class Sources:
    """The texts of a conversation, by what they explain. It is a memo: `follow` reads each message once."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._messages: list[Message] = []
        self._specs: dict[int, ToolSpec] = {}
        self._prompts: set[str] = set()
        self._explaining = make_index()
        self._echoes: list[Echo] = []
        self._exposure = Exposure.NONE
        self._calls: dict[str, KnownCall] = {}
        self._fields: dict[str, tuple[ResultField, ...]] = {}  # the labels of a tool's results
        self._records = Records()
        self._spoken = make_index()  # what people and programs wrote for this conversation
        self._quotes: set[str] = set()  # what stands there in quotes
        self._templates: list[tuple[str, ...]] = []
        self._allowed: set[tuple[str, str, str]] = set()
        self._foreign = make_index()
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
        known = self._fields.setdefault(spec.name, spec.fields)
        if known != spec.fields:  # another tool of the same name
            self._fields[spec.name] = ()
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
                stretches = split_text(part, message.role)
                for text, origin in stretches:
                    self._add_text(text, origin)
                self._add_quotes(stretches)
            elif (
                message.role != "assistant" and isinstance(part, Media) and part.data and part.mime.startswith("text/")
            ):
                self._foreign_texts.append(("", "", part.data.decode(errors="replace")))
        self._exposure = max(self._exposure, find_exposure((message,)))

    def _add_text(self, text: str, origin: Origin, tool: str = "", result_id: str = "") -> None:
        if origin in EXPLAINED_BY and not (origin is Origin.OWN_RESULT and not tool and self._echoes):
            self._explaining.add(text)
            if origin is not Origin.OWN_RESULT:
                self._spoken.add(text)
            if origin is Origin.USER:
                for link in list_glued_links(text):
                    self._explaining.add(link)
        elif origin is not Origin.LOOP:
            self._foreign_texts.append((tool, result_id, text))

    def _add_quotes(self, stretches: Sequence[Stretch]) -> None:
        """Add what stands in quotes, which may begin in one stretch of a text and end in another."""
        is_spoken = EXPLAINED_BY - {Origin.OWN_RESULT}
        whole = "".join(text if origin in is_spoken else _FOREIGN_SIGN for text, origin in stretches)
        for quote in list_quotes(whole):
            if _FOREIGN_SIGN not in quote:
                self._quotes.add(fold_name(quote))
                self._templates += filter(None, [read_template(quote)])

    def _add_call(self, part: Call) -> None:
        tool, arguments = part.call.name, part.call.arguments
        refers = bool(find_references(arguments))
        self._calls[part.call.id] = KnownCall(tool, self._find_brought(tool, arguments), refers)

    def find_unexplained(self, tool: str, arguments: dict[str, Any]) -> "Mentions | None":
        """Return the texts and numbers in arguments that nothing explains; None if there are none."""
        pairs = ((name, each) for name, value in arguments.items() for each in list_scalars(value) if each != "")
        left = [each for name, each in pairs if not self.explains(each, tool, name)]
        if not left:
            return None
        return make_index(*(each if isinstance(each, str) else json.dumps(each) for each in left))

    def _find_brought(self, tool: str, arguments: dict[str, Any]) -> "Mentions | None":
        """Return what a call brings in that a stranger may have said."""
        return self.find_unexplained(tool, arguments) if self._exposure else None

    def _add_result(self, part: Result) -> None:
        self._allowed.update((each.tool, each.parameter, write_value(each.value)) for each in part.allowed)
        if part.reason:  # what the loop says
            return
        call = self._calls.get(part.call_id, KnownCall())
        origin = find_origin(part, "tool")
        for each in part.content:
            for text, own in (
                split_spans(each.text, each.origin or origin, each.spans) if isinstance(each, Text) else ()
            ):
                if own is not Origin.OWN_RESULT:
                    self._add_text(text, own, call.tool, part.call_id)
                else:
                    self._add_own([f"{call.tool}: {text}" if counts_things(call.tool) else text], call, part)
        is_labelled = part.origin is Origin.FOREIGN_RESULT and not part.is_error and not call.refers
        if is_labelled and (fields := self._fields.get(call.tool)):
            self._add_own([*self._records.add(fields, _read_output(part), call.unexplained)], call, part)

    def _add_own(self, texts: list[str], call: KnownCall, part: Result) -> None:
        """Add texts of a result that are own data."""
        if call.refers:  # what a call refers to is not in its message, so nobody knows what its result repeats
            return
        if call.unexplained is None:
            for text in texts:
                self._add_text(text, Origin.OWN_RESULT, call.tool, part.call_id)
        elif not part.is_error and texts:
            self._echoes.append(Echo(make_index(*texts), call.unexplained))

    def explains(self, value: Any, tool: str = "", place: str = "") -> bool:
        """Whether a text or a number stands where it may, for this place in a call."""
        indexes = chain([self._explaining], (each.result for each in self._echoes if not each.arguments.has(value)))
        return any(each.has(value) and is_named(each.texts, value, tool, place) for each in indexes)

    def fills(self, tool: str, place: str, value: Any, found: FoundFields | None = None) -> bool:
        """Whether a value is a key that may stand at this place of a call, or fits what the user has left open."""
        records = self._records
        if found is not None:
            records, brought = records.copy(), self._find_brought(found.tool, found.arguments)
            own = records.add(found.fields, found.output, brought)
            texts = [text for text, leaf in own.items() if leaf == str(value)]
            if texts and is_named(texts, value, tool, place) and (brought is None or not brought.has(value)):
                return True
        names = {name_parameter(place), place.rpartition(".")[2].partition("[")[0]}
        if records.may_fill({*names, *(f"{tool}.{name}" for name in names)}, value, self._is_named):
            return True
        if not self._templates or not isinstance(value, str):
            return False
        fillings = (fill_template(each, value) for each in self._templates)
        return any(each and all(map(self._was_shown, each)) for each in fillings)

    def _is_named(self, name: str) -> bool:
        """Whether the user has said what a thing is called, and not by chance."""
        return name in self._quotes or (_is_odd(name) and self._spoken.has(name))

    def _was_shown(self, value: str) -> bool:
        self._index_foreign()
        return self._foreign.has(value) or self.explains(value)

    def allows(self, tool: str, parameter: str, value: Any) -> bool:
        """Whether somebody has allowed a value for the rest of the conversation."""
        return bool(self._allowed) and (tool, parameter, write_value(shorten_value(value))) in self._allowed

    def find_place(self, parameter: str, value: Any) -> Doubt:
        """Return the doubt about a value, with the foreign text in which it stands."""
        self._index_foreign()
        found, shown = self._foreign.find(value), shorten_value(value)
        if found is None:
            return Doubt(parameter=parameter, value=shown)
        tool, result_id, _ = self._foreign_texts[found.number]
        return Doubt(parameter=parameter, value=shown, tool=tool, result_id=result_id, around=found.words)

    def _index_foreign(self) -> None:
        for _, _, text in self._foreign_texts[self._foreign_count :]:
            self._foreign.add(text)
        self._foreign_count = len(self._foreign_texts)


def _read_output(part: Result) -> Any:
    """Return a result as the tool gave it, as far as its message tells."""
    if part.output is not None:
        return part.output
    text = "".join(each.text for each in part.content if isinstance(each, Text))
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


# What the user names and leaves open

_HOLE = re.compile(r"\{[A-Za-z_][\w ]{0,40}\}")
_FILLING = re.compile(r"\w[\w '’&,()\-]{0,59}")
_WORD = re.compile(r"[^\W\d_]{3}")
_QUOTES = {"'": "'", '"': '"', "`": "`", "‘": "’", "“": "”", "„": "“", "«": "»"}
_QUOTE_START = re.compile(r"(?<![^\W_])['\"`‘“„«](?=\S)")

_FOREIGN_SIGN = "\0"
"""Stands for the words of others in a text."""

MAX_QUOTE_CHARS = 200
"""Characters of a text in quotes that is looked at."""

MAX_HOLES = 3

MIN_ODD_CHARS = 12
"""The fewest characters of a name that counts without quotes."""


def _is_odd(name: str) -> bool:
    """Whether a name is one long word that is none of a language, such as that of a file or an account."""
    is_long = len(name) >= MIN_ODD_CHARS and " " not in name and not any(sign in name for sign in "@/:")
    return is_long and any(sign.isdigit() or sign == "." for sign in name[:-1])


def list_glued_links(text: str) -> list[str]:
    """Return the links that a sentence follows without a blank.

    Examples:
        >>> list_glued_links("Post it on www.shop.example.They know it.")
        ['www.shop.example']
    """
    words = (word.lstrip("(\"'") for word in text.split())
    pairs = (word.rpartition(".") for word in words if word.startswith(("www.", "http://", "https://")))
    return [link for link, _, start in pairs if start.isalpha() and start.istitle()]


def list_quotes(text: str) -> list[str]:
    """Return what stands in quotes.

    Examples:
        >>> list_quotes("Add Anna's list to 'plans.txt' and to «the cook's notes», but not to ' this '.")
        ['plans.txt', "the cook's notes"]
    """
    found: list[str] = []
    done = 0
    for sign in _QUOTE_START.finditer(text):
        start = sign.end()
        if sign.start() >= done and (end := _find_closing(text, start, _QUOTES[sign.group()])) > start:
            found.append(text[start:end])
            done = end + 1
    return found


def _find_closing(text: str, start: int, quote: str) -> int:
    last = start + MAX_QUOTE_CHARS
    end = text.find(quote, start, last)
    while end >= 0 and (text[end - 1].isspace() or text[end + 1 : end + 2].isalnum()):
        end = text.find(quote, end + 1, last)
    return end


def read_template(quote: str) -> tuple[str, ...]:
    """Return the pieces of a text around its holes, and nothing if it has none, or hardly anything else.

    Examples:
        >>> read_template("Dinner at {restaurant_name}")
        ('dinner at ', '')
    """
    pieces = tuple(re.sub(r"\s+", " ", each).casefold() for each in _HOLE.split(quote))
    is_template = 1 < len(pieces) <= MAX_HOLES + 1 and all(each.strip() for each in pieces[1:-1])
    return pieces if is_template and any(map(_WORD.search, pieces)) else ()


def fill_template(pieces: tuple[str, ...], value: str) -> list[str]:
    """Return what stands in the holes of a template if a value fits it, and nothing otherwise.

    Names fit: letters, digits and blanks, without the signs that addresses and links have.

    Examples:
        >>> fill_template(("dinner at ", ""), "Dinner at Chez Anna")
        ['chez anna']
        >>> fill_template(("dinner at ", ""), "Dinner at www.evil.example")
        []
    """
    left = " ".join(value.split()).casefold()
    if not left.startswith(pieces[0]):
        return []
    left = left[len(pieces[0]) :]
    found: list[str] = []
    for piece in pieces[1:]:
        end = left.find(piece) if piece else len(left)
        if end < 0:
            return []
        found.append(left[:end])
        left = left[end + len(piece) :]
    return [] if left or not all(map(_FILLING.fullmatch, found)) else found


def shorten_value(value: Any) -> Any:
    """Return a value as a doubt keeps it: of a long text the beginning, its length and its digest."""
    if not isinstance(value, str) or len(value) <= MAX_VALUE_CHARS:
        return value
    from hashlib import sha256  # imported with the first long value

    digest = sha256(value.encode(errors="surrogatepass")).hexdigest()[:16]
    return f"{value[:MAX_VALUE_CHARS]}… ({len(value):,} characters, {digest})"


def write_value(value: Any) -> str:
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
