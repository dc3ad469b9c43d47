"""What all worlds share, and how conversations are composed from their steps.

A step is called with a `Talk`, its world, and `do`, on which it makes calls: `do.find_room(city="Ulm")` is a message of
the model with one call, and returns what the world returned, or an `Error`. Calls within `with t.together():` are one
message. A step begins each turn with `t.user` and ends it with `t.say`. It reads the world to know what can be asked,
but the calls use only what was said or returned before: `t.knows(id, name)` tells whether that is so. A step that does
not fit the state of the world raises `Skip` before its first turn.

The sentences are in a TOML file beside the file of the step, in which `t.user` and `t.say` look up a key: variants with
`|` between them, in English and perhaps in other languages. `lacking` has requests without a value or with an
impossible one, each with the question for it and what the user replies. `{name}` is a value. A step without words in a
language does not fit it.
"""

import ast
import inspect
import json
import random
import re
import tomllib
import types
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from toolspeak.values.spec import ToolSpec

HERE = Path(__file__).parent
TABLES = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(HERE.glob("*.toml"))}
WORDS = TABLES.pop("words")
SENTENCES: dict[str, Any] = {world: steps for table in TABLES.values() for world, steps in table.items()}

LANGUAGES = ("de", "fr", "es")
STYLES = ("snake", "snake", "snake", "snake", "camel", "prefixed")
TURN_COUNTS = (1, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 6, 6)
TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object"}

LACKING_SHARE = 0.15  # how often a value is left out where that can be done
CORRECTED_SHARE = 0.15  # how often the user says a wrong value first
FRAMED_SHARE = 0.3  # how often a request has a sentence before or after it
JOINED_SHARE, DENSE_SHARE = 0.3, 0.65  # how often two requests are one turn, and where much is asked for at once
SLIP_SHARE = 0.4  # in how many conversations calls go wrong
PLAIN_SHARE = 0.1  # how often something is asked that no tool is for
FOLLOWING_SHARE = 0.5  # how often a step is looked for that refers to the one before
MAX_MISSES = 150  # steps that did not fit, after which a conversation is given up
LATER_SHARE = 0.08  # in how many conversations a tool is missing at first

ID = re.compile(r"[A-Za-z]*[-_#]?\d{2,}")


class WorldError(Exception):
    """An error as the API of a world returns it."""


class Error(str):
    """What a call returned that failed."""

    __slots__ = ()


class Skip(Exception):
    """A step does not fit the state of the world, or the language."""


class World:
    """A state and tools: the public attributes are the state, the public methods of a subclass the tools."""

    name: ClassVar[str] = ""
    _made = 0
    is_helper: ClassVar[bool] = False  # whether it takes what other worlds return
    aliases: ClassVar[dict[str, str]] = {}  # other names of its tools, which some settings use

    def __init__(self, rng: random.Random) -> None:
        raise NotImplementedError

    def _number(self, start: int) -> int:
        """Return a number that nothing made before has."""
        self._made += 1
        return start + self._made

    @classmethod
    def tool_names(cls) -> list[str]:
        return [key for key, value in vars(cls).items() if not key.startswith("_") and inspect.isfunction(value)]


def find(records: Sequence[dict[str, Any]], key: str, value: Any, error: str) -> dict[str, Any]:
    """Return the record with a value; raise a `WorldError` if there is none."""
    for each in records:
        if each[key] == value:
            return each
    raise WorldError(error)


@cache
def describe_tool(world: type[World], name: str) -> ToolSpec:
    """Return the description of a tool, from its signature and its docstring: `Text. | name: What it is. | …`."""
    function = vars(world)[name]
    text, *listed = " ".join(function.__doc__.split()).split(" | ")
    told = dict(each.split(": ", 1) for each in listed)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for key, parameter in list(inspect.signature(function).parameters.items())[1:]:
        properties[key] = {**describe_type(parameter.annotation), "description": told[key]}
        if parameter.default is inspect.Parameter.empty:
            required.append(key)
        elif parameter.default is not None:
            properties[key]["default"] = parameter.default
    parameters = {"type": "object", "properties": properties, "required": required}
    # They change one state, so calls run one after the other.
    return ToolSpec(name=name, description=text, parameters=parameters, sequential=True)


def describe_type(kind: Any) -> dict[str, Any]:
    if get_origin(kind) in (types.UnionType, Union):
        return describe_type(get_args(kind)[0])
    if get_origin(kind) is Literal:
        return {"type": "string", "enum": list(get_args(kind))}
    if is_typeddict(kind):
        fields = {key: describe_type(each) for key, each in get_type_hints(kind).items()}
        return {"type": "object", "properties": fields, "required": list(fields)}
    if get_origin(kind) is list:
        return {"type": "array", "items": describe_type(get_args(kind)[0])}
    return {"type": TYPES[kind]}


@dataclass(frozen=True)
class Setting:
    """What the conversations of a group share: the worlds, and how their tools are shown."""

    worlds: tuple[type[World], ...]
    style: str = "snake"
    tells_world: bool = False
    returns_errors: bool = False
    order: int = 0
    is_reduced: bool = False
    is_dense: bool = False  # whether much is asked for in one turn, and tools have their aliases

    def show(self, world: type[World], name: str) -> str:
        """Return the name of a tool in the style of the setting."""
        name = world.aliases.get(name, name) if self.is_dense else name
        if self.style == "camel":
            return re.sub(r"_(\w)", lambda match: match[1].upper(), name)
        return f"{world.name}_{name}" if self.style == "prefixed" else name

    def list_names(self) -> dict[str, tuple[type[World], str]]:
        return {self.show(world, name): (world, name) for world in self.worlds for name in world.tool_names()}

    def offer(self, needed: Collection[str]) -> tuple[ToolSpec, ...]:
        """Return the tools, in an order of the setting; some that are not needed may be missing."""
        rng = random.Random(self.order)
        specs: list[ToolSpec] = []
        for shown, (world, name) in self.list_names().items():
            if self.is_reduced and shown not in needed and rng.random() < 0.4:
                continue
            spec = describe_tool(world, name)
            text = f"{SENTENCES[world.name]['about']} {spec.description}" if self.tells_world else spec.description
            specs.append(replace(spec, name=shown, description=text))
        return tuple(rng.sample(specs, len(specs)))


class Stage:
    """Worlds in their first state, on which calls are run."""

    def __init__(self, setting: Setting, seed: str) -> None:
        self.seed = seed
        self.worlds = [world(random.Random(f"{seed}/{world.name}")) for world in setting.worlds]
        self._methods = {
            setting.show(type(world), name): getattr(world, name)
            for world in self.worlds
            for name in type(world).tool_names()
        }
        self._returns_errors = setting.returns_errors

    def run(self, name: str, arguments: dict[str, Any]) -> Any:
        """Run a call; return its result, as an `Error` if it failed, unless the worlds return errors as values."""
        method = self._methods[name]
        try:
            inspect.signature(method).bind(**arguments)
        except TypeError as error:
            return Error(error)
        try:
            return json.loads(json.dumps(method(**arguments)))
        except WorldError as error:
            return {"error": str(error)} if self._returns_errors else Error(error)

    @property
    def state(self) -> str:
        states = [{key: each for key, each in vars(world).items() if key[0] != "_"} for world in self.worlds]
        return json.dumps(states, sort_keys=True, default=str)


def has_twins(world: World) -> bool:
    """Whether two records of a list have the same id, which is their first field."""
    lists = [each for each in vars(world).values() if isinstance(each, list) and each and isinstance(each[0], dict)]
    return any(len({next(iter(record.values())) for record in each}) < len(each) for each in lists)


def write_code(name: str, arguments: dict[str, Any]) -> str:
    return f"{name}(**{arguments!r})"


def read_code(code: str) -> tuple[str, dict[str, Any]]:
    name, _, rest = code.partition("(**")
    return name, ast.literal_eval(rest[:-1])


@dataclass
class Calls:
    """Calls that are one message of the model; a slip is not taught, and not among the right calls."""

    calls: list[tuple[str, dict[str, Any]]]
    results: list[Any]
    is_slip: bool = False


@dataclass
class Turn:
    """A request and the right messages, of which the last is a text.

    `hidden` are tools that are not there yet; `is_whole` says that the request can stand alone.
    """

    request: str
    messages: list[Calls | str] = field(default_factory=list)
    hidden: tuple[str, ...] = ()
    is_whole: bool = False


class Memory(dict[str, Any]):
    """What steps leave for later ones, with the number of the step."""

    step = 0

    def __init__(self) -> None:
        self.stamps: dict[str, int] = {}

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        self.stamps[key] = self.step

    def update(self, **values: Any) -> None:
        for key, value in values.items():
            self[key] = value


class Talk:
    """A conversation while it is composed."""

    def __init__(self, setting: Setting, seed: str, lang: str = "en") -> None:
        self.rng = random.Random(seed)
        self.lang = lang
        self.turns: list[Turn] = []
        self.memory = Memory()
        self.words: dict[str, Any] = {}  # those of the step
        self.setting = setting
        self.stage = Stage(setting, seed)
        if any(has_twins(world) for world in self.stage.worlds):
            raise Skip
        self._heard: list[str] = []
        self._open: Calls | None = None
        self._slips = self.rng.choice((1, 2)) if self.rng.random() < SLIP_SHARE else 0

    def pick(self, values: Sequence[Any]) -> Any:
        if not values:
            raise Skip
        return self.rng.choice(list(values))

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def recent(self, key: str, default: Any = None) -> Any:
        """Return what the step before left, to which the user can refer as "it" or "those"."""
        return self.memory.get(key, default) if self.memory.stamps.get(key, -1) == self.memory.step - 1 else default

    def knows(self, *values: Any) -> bool:
        """Whether the user has said values together, or a result has them: an id is known with its name."""
        patterns = [rf"(?<!\w){re.escape(json.dumps(str(each), ensure_ascii=False)[1:-1])}(?!\w)" for each in values]
        return any(all(re.search(pattern, text) for pattern in patterns) for text in self._heard)

    def user(self, key: str, /, *, lacking: bool = True, wrong: dict[str, Any] | None = None, **values: Any) -> None:
        """Begin a turn.

        Args:
            key: The place of the words.
            lacking: Whether a value may be left out at first.
            wrong: A value that the user may say first and then correct, by its name.
            values: The values in the words.
        """
        words = self.words[key]
        if lacking and "lacking" in words and self.lang == "en" and self.chance(LACKING_SHARE):
            partial, question, reply = (self._fill({"en": each}, values) for each in self.pick(words["lacking"]))
            self._begin(partial)
            self._end(question)
            self._begin(reply)
            return
        if wrong and self.chance(CORRECTED_SHARE):
            [(name, other)] = wrong.items()
            values[name] = f"{other}{self.pick(WORDS['corrections'][self.lang])}{values[name]}"
        self._begin(self._fill(words, values))
        self.turns[-1].is_whole = True

    def frame(self) -> None:
        """Add a sentence before or after some of the requests."""
        for place, turn in enumerate(self.turns):
            if turn.is_whole and self.chance(FRAMED_SHARE):
                before, after = (
                    self.pick(WORDS[key][self.lang]) for key in ("further" if place else "openers", "closers")
                )
                turn.request = f"{before} {turn.request}" if self.chance(0.6) else f"{turn.request} {after}"

    def say(self, key: str, /, **values: Any) -> None:
        """End a turn."""
        if self._slips > 0 and self.chance(0.3):
            self._repeat()
        self._end(self._fill(self.words[key], values))

    def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Make a call, in the message that is open or in one of its own."""
        shown = self._show(name)
        if self._open is None and self._slips > 0 and self.chance(0.5):
            self._slip(shown, arguments)
        result = self.stage.run(shown, arguments)
        message = self._open or Calls([], [])
        message.calls.append((shown, arguments))
        message.results.append(result)
        if self._open is None:
            self._close(message)
        return Error(result["error"]) if isinstance(result, dict) and set(result) == {"error"} else result

    @contextmanager
    def together(self) -> Iterator[None]:
        """Gather calls into one message."""
        self._open = Calls([], [])
        try:
            yield
            if self._open.calls:
                self._close(self._open)
        finally:
            self._open = None

    def _begin(self, words: str) -> None:
        if self.turns and not (self.turns[-1].messages and isinstance(self.turns[-1].messages[-1], str)):
            raise AssertionError(f"a turn does not end with words: {self.turns[-1]}")
        self.turns.append(Turn(words))
        self._heard.append(words)

    def _end(self, words: str) -> None:
        self.turns[-1].messages.append(words)
        self._heard.append(words)

    def _close(self, message: Calls) -> None:
        self.turns[-1].messages.append(message)
        self._heard += [json.dumps(each, ensure_ascii=False) for each in message.results]

    def _fill(self, words: dict[str, str], values: dict[str, Any]) -> str:
        if self.lang not in words:
            raise Skip
        chosen = self.pick(words[self.lang].split("|")).strip()
        found = chosen.format(**values)
        return found if chosen.startswith("{") else found[0].upper() + found[1:]

    def _slip(self, name: str, arguments: dict[str, Any]) -> None:
        """Let a call go wrong first: an id that is not there, an argument too few, or the call of before again."""
        wrong = dict(arguments)
        ids = [key for key, value in arguments.items() if isinstance(value, str) and ID.fullmatch(value)]
        if self.chance(0.3):
            self._repeat()
        elif ids:
            key = self.pick(ids)
            digit = self.pick([place for place, char in enumerate(wrong[key]) if char.isdigit()])
            wrong[key] = f"{wrong[key][:digit]}{self.rng.randint(0, 9)}{wrong[key][digit + 1 :]}"
            result = deepcopy(self.stage).run(name, wrong)
            if isinstance(result, Error) or (isinstance(result, dict) and set(result) == {"error"}):
                self._add_slip(Calls([(name, wrong)], [result], is_slip=True))
        elif len(arguments) > 1:
            world, own = self.setting.list_names()[name]
            del wrong[self.pick([key for key in describe_tool(world, own).parameters["required"] if key in wrong])]
            self._add_slip(Calls([(name, wrong)], [Error("")], is_slip=True))

    def slip(self, name: str, arguments: dict[str, Any]) -> None:
        """Perhaps make a call that fails before the right ones."""
        shown = self._show(name)
        if self._slips > 0 and self.chance(0.5):
            result = deepcopy(self.stage).run(shown, arguments)
            if isinstance(result, Error) or (isinstance(result, dict) and set(result) == {"error"}):
                self._add_slip(Calls([(shown, arguments)], [result], is_slip=True))

    def _show(self, name: str) -> str:
        return next(key for key, (_, each) in self.setting.list_names().items() if each == name)

    def _repeat(self) -> None:
        """Make the calls of before again, once or twice, if that changes nothing."""
        last = self.turns[-1].messages[-1] if self.turns[-1].messages else None
        if isinstance(last, Calls) and not last.is_slip:
            stage = deepcopy(self.stage)
            if [stage.run(*call) for call in last.calls] == last.results and stage.state == self.stage.state:
                for _ in range(self.pick((1, 1, 2))):
                    self._add_slip(replace(last, is_slip=True))

    def _add_slip(self, slip: Calls) -> None:
        self.turns[-1].messages.append(slip)
        self._slips -= 1


Step = Callable[[Talk, Any, Any], None]

STEPS: dict[str, list[Step]] = {}


def step(world: type[World]) -> Callable[[Step], Step]:
    """Make a function a step of a world."""

    def add(function: Step) -> Step:
        STEPS.setdefault(world.name, []).append(function)
        return function

    return add


def refers_back(step: Step) -> bool:
    """Whether a step takes up what the step before left."""
    return "recent" in inspect.unwrap(step).__code__.co_names


class Caller:
    """Makes calls by their names: `do.find_room(city="Ulm")`."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda **arguments: self._talk.call(name, arguments)


@dataclass(frozen=True)
class Script:
    """A conversation: what the user asks, what is right, and the worlds in which it takes place."""

    id: str
    setting: Setting
    seed: str
    turns: tuple[Turn, ...]
    lang: str = "en"
    needed: frozenset[str] = frozenset()  # tools that are offered in any case

    @property
    def used(self) -> set[str]:
        """The tools that are called."""
        messages = (each for turn in self.turns for each in turn.messages if isinstance(each, Calls))
        return {name for each in messages for name, _ in each.calls}

    @property
    def requests(self) -> tuple[str, ...]:
        return tuple(turn.request for turn in self.turns)

    @property
    def truth(self) -> list[list[str]]:
        """The right calls of each turn."""
        messages = ([each for each in turn.messages if isinstance(each, Calls)] for turn in self.turns)
        return [[write_code(*call) for each in turn if not each.is_slip for call in each.calls] for turn in messages]

    def tools_at(self, place: int) -> tuple[ToolSpec, ...]:
        """Return the tools that are there in a turn."""
        hidden = self.turns[place].hidden
        return tuple(spec for spec in self.setting.offer(self.used | self.needed) if spec.name not in hidden)

    def start(self) -> Callable[[str, dict[str, Any]], Any]:
        return Stage(self.setting, self.seed).run

    def judge(self, steps: Sequence[Sequence[Sequence[str]]]) -> list[bool]:
        """Say of each turn whether it is right: the state is the right one, and what was to be read was read."""
        stage, right = Stage(self.setting, self.seed), Stage(self.setting, self.seed)
        outputs: list[Any] = []
        marks: list[bool] = []
        for place, truth in enumerate(self.truth):
            codes = [code for message in (steps[place] if place < len(steps) else ()) for code in message]
            outputs += [stage.run(*read_code(code)) for code in codes]
            before = right.state
            needed = [right.run(*read_code(code)) for code in truth]
            is_read = right.state != before or all(each in outputs for each in needed)
            marks.append(place < len(steps) and is_read and stage.state == right.state)
        return marks


def compose_script(setting: Setting, seed: str, lang: str = "en") -> Script:
    """Compose a conversation."""
    for attempt in range(50):
        rng = random.Random(f"{seed}/{attempt}")
        with suppress(Skip):
            talk = Talk(setting, f"{seed}/{attempt}", lang)
            _add_steps(talk, rng)
            if all(isinstance(each, str) for turn in talk.turns for each in turn.messages):
                continue
            talk.frame()
            if rng.random() < LATER_SHARE and len(talk.turns) > 1:
                _hide_tool(talk, rng)
            return Script(seed, setting, f"{seed}/{attempt}", tuple(talk.turns), lang)
    raise ValueError(f"nothing can be composed for {[world.name for world in setting.worlds]} in {lang}")


def _add_steps(talk: Talk, rng: random.Random) -> None:
    """Add steps until there are enough turns; two that are one turn each may become one."""
    count, do = rng.choice(TURN_COUNTS), Caller(talk)
    worlds = talk.stage.worlds
    done: list[Step] = []
    misses, world = 0, rng.choice(worlds)
    while len(talk.turns) < count:
        if rng.random() < 0.3:
            world = rng.choice(worlds)
        tried = [(world, rng.choice(STEPS[world.name]))]
        if (kind := rng.random()) < PLAIN_SHARE and talk.turns:
            tried = [(world, rng.choice((_ask_plainly, _ask_too_much)))]
        elif kind < PLAIN_SHARE + FOLLOWING_SHARE:
            following = [(each, step) for each in worlds for step in STEPS[each.name] if refers_back(step)]
            tried = [*rng.sample(following, len(following)), *tried]
        before = len(talk.turns)
        for each, chosen in tried:
            is_aside = chosen in (_ask_plainly, _ask_too_much)
            if done.count(chosen) < (1 if is_aside else 2) and _try_step(talk, each, chosen, do):
                done.append(chosen)
                talk.memory.step -= is_aside  # one can still refer to what was before
                break
            misses += 1
        if misses > MAX_MISSES or _asks_again(talk.turns, before):
            raise Skip
        share = DENSE_SHARE if talk.setting.is_dense else JOINED_SHARE
        if before and len(talk.turns) == before + 1 and rng.random() < share:
            _join_last(talk, rng, refers_back(done[-1]))


def _try_step(talk: Talk, world: World, chosen: Step, do: Caller) -> bool:
    """Add a step; return whether it fits."""
    before = len(talk.turns)
    talk.memory.step += 1
    talk.words = SENTENCES[world.name].get(chosen.__name__, {})
    try:
        chosen(talk, world, do)
    except Skip:
        if len(talk.turns) > before:
            raise
        talk.memory.step -= 1
        return False
    return True


def _asks_again(turns: Sequence[Turn], before: int) -> bool:
    """Whether a new turn makes a call that an earlier one made, with the same result or with a longer text."""
    calls = [
        [
            (*call, result)
            for each in turn.messages
            if isinstance(each, Calls) and not each.is_slip
            for call, result in zip(each.calls, each.results, strict=True)
        ]
        for turn in turns
    ]
    earlier = [call for turn in calls[:before] for call in turn]
    texts = [call[:2] for call in earlier if any(len(str(leaf)) > 8 for leaf in list_leaves(call[1]))]
    return any(turn[0] in earlier or any(call[:2] in texts for call in turn) for turn in calls[before:] if turn)


def _join_last(talk: Talk, rng: random.Random, is_reference: bool) -> None:
    """Make one turn of the last two, and one message of calls that do not need each other's results.

    A step that refers to the one before waits for its results, even where it uses none of their values.
    """
    first, second = talk.turns[-2:]
    parts = [[each for each in turn.messages if isinstance(each, Calls)] for turn in (first, second)]
    most_calls, most_chars = (9, 450) if talk.setting.is_dense else (5, 260)
    is_short = sum(map(len, parts)) <= most_calls and len(first.request) + len(second.request) <= most_chars
    is_plain = len(first.messages) - len(parts[0]) <= 1 and not any(each.is_slip for part in parts for each in part)
    if not (first.is_whole and second.is_whole and all(parts) and is_short and is_plain):
        return
    joiner = rng.choice(WORDS["joiners"][talk.lang])
    request = f"{first.request} {joiner}{second.request}"
    earlier = " ".join(
        [
            json.dumps(
                [turn.request, [each.results for each in turn.messages if isinstance(each, Calls)]], ensure_ascii=False
            )
            for turn in talk.turns[:-2]
        ]
        + [request]
    )
    fresh = json.dumps([each.results for each in parts[0]], ensure_ascii=False)
    values = [value for _, arguments in parts[1][0].calls for value in list_leaves(arguments)]
    is_free = not is_reference and all(str(value) in earlier or str(value) not in fresh for value in values)
    first_words, second_words = str(first.messages[-1]), str(second.messages[-1])
    words = first_words + ("\n" if "\n" in first_words else " ") + second_words
    zipped: list[Calls | str] = [
        Calls([*a.calls, *b.calls], [*a.results, *b.results]) for a, b in zip_longest(*parts, fillvalue=Calls([], []))
    ]
    for messages in ([zipped] if is_free else []) + [[*parts[0], *parts[1]]]:
        tried = [*talk.turns[:-2], Turn(request, [*messages, words], is_whole=True)]
        if can_repeat(talk.setting, talk.stage, tried):
            talk.turns[:] = tried
            return


def can_repeat(setting: Setting, stage: Stage, turns: Sequence[Turn]) -> bool:
    """Whether the calls of some turns, run anew, have the results that were noted."""
    fresh = Stage(setting, stage.seed)
    for message in (each for turn in turns for each in turn.messages if isinstance(each, Calls)):
        for call, result in zip(message.calls, message.results, strict=True):
            if result != "" and fresh.run(*call) != result:
                return False
    return True


def list_leaves(value: Any) -> list[Any]:
    if isinstance(value, dict | list):
        return [leaf for each in (value.values() if isinstance(value, dict) else value) for leaf in list_leaves(each)]
    return [value]


def _hide_tool(talk: Talk, rng: random.Random) -> None:
    """Hide a tool until the user has asked for it once in vain."""
    used: set[str] = set()
    places: list[tuple[int, str]] = []
    for place, turn in enumerate(talk.turns):
        names = [name for each in turn.messages if isinstance(each, Calls) for name, _ in each.calls]
        if turn.is_whole and len(set(names)) == 1 and names[0] not in used:
            places.append((place, names[0]))
        used.update(names)
    if not places:
        return
    place, name = rng.choice(places)
    turn = talk.turns[place]
    world, own = talk.setting.list_names()[name]
    deed = describe_tool(world, own).description.partition(".")[0]
    reply = rng.choice(WORDS["unable"][talk.lang]).format(deed=deed[0].lower() + deed[1:])
    refused = Turn(turn.request, [reply])
    granted = Turn(rng.choice(WORDS["granted"][talk.lang]).format(name=name), turn.messages)
    talk.turns[place : place + 1] = [refused, granted]
    for each in talk.turns[: place + 1]:
        each.hidden = (name,)


def _ask_plainly(t: Talk, _: World, __: Any) -> None:
    question, reply = t.pick(WORDS["plain"][t.lang])
    t._begin(question)
    t._end(reply)


def _ask_too_much(t: Talk, world: World, _: Any) -> None:
    if t.lang != "en":
        raise Skip
    request, reply = t.pick(SENTENCES[world.name]["cannot"])
    t._begin(request)
    t._end(reply)


def draw_setting(worlds: Sequence[type[World]], rng: random.Random, *, is_plain: bool = False) -> Setting:
    """Draw one to three worlds, and a way to show their tools."""
    chosen = [rng.choice(worlds)]
    for share in () if is_plain else (0.6, 0.15):
        others = [each for each in worlds if each not in chosen]
        if rng.random() < share:
            chosen.append(rng.choice([each for each in others if each.is_helper] if rng.random() < 0.7 else others))
    drawn = Setting(
        worlds=tuple(chosen),
        style=rng.choice(STYLES),
        tells_world=rng.random() < 0.2,
        returns_errors=rng.random() < 0.4,
        order=rng.randrange(10**6),
        is_reduced=rng.random() < 0.35,
    )
    return replace(drawn, is_dense=not is_plain and drawn.order % 5 < 3)


# What several worlds have.

PEOPLE = (
    "Anna Weber|Ben Costa|Carla Ruiz|David Okafor|Elif Kaya|Farid Nasser|Greta Lind|Hugo Marin|Ines "
    "Duarte|Jonas Falk|Kira Sato|Lars Holm|Mona Petit|Nils Berg|Olga Ivanova|Pavel Novak"
).split("|")

TEXTS = (
    "bring the samples on Thursday|the contract is signed|we start half an hour later|check the numbers "
    "in part two|the key is with the neighbour|lunch is ordered for eight|the print shop called "
    "back|please water the plants|the new logo is ready|the roof needs repair"
).split("|")

MONTHS = "January February March April May June July August September October November December".split()


def say_day(t: Talk, date: str) -> str:
    year, month, day = map(int, date.split("-"))
    return f"{day} {MONTHS[month - 1]} {year}" if t.lang == "en" and t.chance(0.6) else date


PLACES = {0: "first", 1: "second", 2: "third", -1: "last"}
