"""Worlds that are made from a line of words each: registers of beds, vans, plays and many other things.

A register has items with a number, a place, a state and somebody who is responsible, and the tools that one would
expect. All registers share their steps. They differ in names, and in what a tool wants and returns: in some an item is
called by its name, in most by an id that must be looked up first; a search returns the whole record, or the id alone;
a tool may want another one to have been called before.
"""

import inspect
import random
from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any, ClassVar

from worlds.engine import PEOPLE, PLACES, SENTENCES, STEPS, Error, Skip, Step, Talk, World, WorldError, find

TABLE = SENTENCES.pop("register")
TIMES = [f"{hour}:{minute}" for hour in range(10, 22) for minute in ("00", "15", "30", "45")]

# How the tools are called: find, show, list, add, set, move, give, person, remove.
NAMES = [
    "search_{plural}|get_{noun}|list_{plural}|create_{noun}|set_{number}_of_{noun}|move_{noun}|assign_{noun}|"
    "search_{person}|delete_{noun}",
    "find_{noun}_by_name|{noun}_details|{plural}_with_state|add_{noun}|change_{noun}_{number}|relocate_{noun}|"
    "hand_over_{noun}|look_up_{person}|remove_{noun}",
    "look_up_{noun}_id|show_{noun}|{plural}_overview|register_{noun}|update_{noun}_{number}|put_{noun}_into|"
    "give_{noun}_to|{person}_directory|strike_{noun}",
]
KINDS = ("find", "show", "list", "add", "set", "move", "give", "person", "remove")


class Register(World):
    """A register; a subclass has the words of one, and its tools."""

    words: ClassVar[dict[str, Any]] = {}
    tools: ClassVar[dict[str, str]] = {}  # the name of the tool of each kind
    acts: ClassVar[list[tuple[str, str, str]]] = []  # a tool, what it leads to, and the state that it needs
    has_ids: ClassVar[bool] = True
    has_person_ids: ClassVar[bool] = True
    finds_all: ClassVar[bool] = True  # whether a search returns whole records

    def __init__(self, rng: random.Random) -> None:
        names, states = rng.sample(self.words["names"], 6), [self.words["state"], *(each[1] for each in self.acts)]
        ids, people = rng.sample(range(100, 1000), 12), rng.sample(PEOPLE, 5)
        values = self.draw_numbers(rng)
        self.items = [
            self.make_item(f"{self.words['prefix']}{ids[place]}", name, values[place], rng.choice(self.words["places"]))
            | {"state": rng.choice(states)}
            for place, name in enumerate(names)
        ]
        self.people = [{"id": f"{ids[-1 - place]}{place}", "name": name} for place, name in enumerate(people)]

    def draw_numbers(self, rng: random.Random) -> list[Any]:
        if self.words["span"] == "time":
            return rng.sample(TIMES, 9)
        low, high = map(int, self.words["span"].split("-"))
        step = 10 if high > 2000 else 1
        return rng.sample(range(low, high + 1, step), min(9, (high - low) // step))

    def make_item(self, number: str, name: str, value: Any, place: str) -> dict[str, Any]:
        key = {"id": number} if self.has_ids else {}
        made = {**key, "name": name, self.words["number"]: value, self.words["place"]: bare(place)}
        return {**made, "state": self.words["state"], self.words["person"]: None}

    @property
    def key(self) -> str:
        return "id" if self.has_ids else "name"

    # What the tools do; a subclass has a method for each, with its own name and parameters.

    def find(self, name: str) -> Any:
        found = [each for each in self.items if name.lower() in each["name"].lower()]
        return found if self.finds_all else [{"id": each["id"], "name": each["name"]} for each in found]

    def show(self, item: str) -> dict[str, Any]:
        return find(self.items, self.key, item, f"no {self.words['noun']} {item}")

    def list(self, state: str | None) -> Any:
        shown = ("id", "name", self.words["number"], "state")
        found = [each for each in self.items if state in (None, each["state"])]
        return [{key: each[key] for key in shown if key in each} for each in found]

    def add(self, name: str, number: Any, place: str) -> Any:
        if any(each["name"] == name for each in self.items):
            raise WorldError(f"there is a {self.words['noun']} called {name} already")
        self.items.append(self.make_item(f"{self.words['prefix']}{self._number(1000)}", name, number, place))
        return {self.key: self.items[-1][self.key], "name": name}

    def change(self, item: str, key: str, value: Any) -> Any:
        self.show(item)[key] = value
        return {self.key: item, key: value}

    def set(self, item: str, number: Any) -> Any:
        return self.change(item, self.words["number"], number)

    def move(self, item: str, place: str) -> Any:
        return self.change(item, self.words["place"], place)

    def give(self, item: str, person: str) -> Any:
        find(self.people, "id" if self.has_person_ids else "name", person, f"no {self.words['person']} {person}")
        return self.change(item, self.words["person"], person)

    def person(self, name: str) -> Any:
        return [each for each in self.people if name.lower() in each["name"].lower()]

    def remove(self, item: str) -> Any:
        self.items.remove(self.show(item))
        return {"deleted": item}

    def act(self, item: str, state: str, needed: str) -> Any:
        found = self.show(item)
        if found["state"] == state:
            raise WorldError(f"{item} is {state} already")
        if needed and found["state"] != needed:
            raise WorldError(f"{item} is not {needed}")
        return self.change(item, "state", state)


def bare(place: str) -> str:
    return place.removeprefix("the ")


Parameters = Mapping[str, tuple[Any, str]]
"""The type and the description of each parameter; a type that may be None is that of one that can be left out."""


def make_tool(name: str, text: str, parameters: Parameters, run: Callable[..., Any]) -> Callable[..., Any]:
    """Make a method that calls `run` with the arguments in their order."""

    def method(self: Register, **arguments: Any) -> Any:
        return run(self, *(arguments.get(key) for key in parameters))

    kind, none = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    listed = [
        inspect.Parameter(key, kind, annotation=each, default=none if isinstance(each, type) else None)
        for key, (each, _) in parameters.items()
    ]
    vars(method)["__signature__"] = inspect.Signature([inspect.Parameter("self", kind), *listed])
    method.__doc__ = " | ".join([text, *(f"{key}: {told}" for key, (_, told) in parameters.items())])
    method.__name__ = name
    return method


def make_register(row: str, rng: random.Random) -> type[Register]:
    """Make a register from its line."""
    words: dict[str, Any] = dict(zip(TABLE["fields"].split(";"), row.split(";"), strict=True))
    words["names"], words["places"] = words["names"].split("|"), words["places"].split("|")
    noun, plural, person, number, place = (words[key] for key in ("noun", "plural", "person", "number", "place"))
    has_ids, has_person_ids, finds_all = rng.random() < 0.8, rng.random() < 0.7, rng.random() < 0.6
    parts = {key: words[key].replace(" ", "_") for key in ("noun", "plural", "person", "number")}
    tools: dict[str, str] = dict(zip(KINDS, rng.choice(NAMES).format(**parts).split("|"), strict=True))
    item_key = rng.choice(["id", "{noun}_id", "{noun}"]).format(**parts) if has_ids else "name"
    person_key = rng.choice(["{person}_id", "{person}"]).format(**parts) if has_person_ids else person
    told = rng.choice([".", f", such as {words['prefix']}314.", f", as `{tools['find']}` returns it."])
    item = (str, f"The id of the {noun}{told}" if has_ids else f"The name of the {noun}.")
    value = (str if words["span"] == "time" else int, f"The {words['words']}.")
    who = (str, f"The {'id' if has_person_ids else 'name'} of the {person}.")
    name, there = (str, "The name."), (str, f"The {place}.")
    returned = f"id, {words['words']}, {place} and state" if finds_all else "id"
    described: dict[str, tuple[str, Parameters]] = {
        "find": (
            f"Search {plural} by name; returns the {returned}.",
            {"name": (str, "The name or a part of it.")},
        ),
        "show": (f"Show all about a {noun}: {words['words']}, {place}, state and {person}.", {item_key: item}),
        "list": (
            f"List {plural} with their {words['words']} and state.",
            {"state": (str | None, f"Only those in this state, such as {words['state']}.")},
        ),
        "add": (f"Enter a new {noun}.", {"name": name, number: value, place: there}),
        "set": (
            f"Set the {words['words']} of a {noun}.",
            {item_key: item, number: (value[0], f"The new {words['words']}.")},
        ),
        "move": (f"Move a {noun} to another {place}.", {item_key: item, place: there}),
        "give": (f"Make a {person} responsible for a {noun}.", {item_key: item, person_key: who}),
        "person": (f"Look a {person} up; returns the id.", {"name": (str, f"The name of the {person}.")}),
        "remove": (f"Delete a {noun} for good.", {item_key: item}),
    }
    if not has_ids:
        del described["find"]
    if not has_person_ids:
        del described["person"]
    made = {
        tools[kind]: make_tool(tools[kind], text, parameters, getattr(Register, kind))
        for kind, (text, parameters) in described.items()
    }
    acts: list[tuple[str, str, str]] = []
    for each in words["acts"].split("|"):
        verb, _, rest = each.partition(">")
        state, _, needed = rest.partition("<")
        tool = f"{verb}_{parts['noun']}"
        text = f"{verb.replace('_', ' ').capitalize()} a {noun}." + (f" It must be {needed} first." if needed else "")
        made[tool] = make_tool(tool, text, {item_key: item}, partial(Register.act, state=state, needed=needed))
        acts.append((tool, state, needed))
    kept = {"name": words["name"], "words": words, "tools": tools, "acts": acts, "has_ids": has_ids}
    more = {"has_person_ids": has_person_ids, "finds_all": finds_all, "item_key": item_key, "person_key": person_key}
    SENTENCES[words["name"]] = {
        **TABLE["steps"],
        "about": f"{words['about']}.",
        "cannot": [[each.format(**words | {"name": words["names"][0]}) for each in pair] for pair in TABLE["cannot"]],
    }
    return type(words["name"].capitalize(), (Register,), {**made, **kept, **more})


class Scene:
    """A step in a register while it is composed: what is said and called."""

    def __init__(self, t: Talk, w: Any) -> None:
        self.t, self.w = t, w
        words = w.words
        self.is_time = words["span"] == "time"
        self._common = {key: words[key] for key in ("noun", "plural", "words", "place")}

    def ask(self, key: str, /, **values: Any) -> None:
        self.t.user(key, **self._common | values)

    def tell(self, key: str, /, **values: Any) -> None:
        self.t.say(key, **self._common | values)

    def call(self, kind: str, **arguments: Any) -> Any:
        return self.t.call(self.w.tools.get(kind, kind), arguments)

    def on(self, kind: str, item: dict[str, Any], **arguments: Any) -> Any:
        return self.call(kind, **{self.w.item_key: item[self.w.key], **arguments})

    def pick(self, count: int = 1) -> list[dict[str, Any]]:
        return self.t.rng.sample(self.w.items, count) if len(self.w.items) >= count else self.t.pick([])

    def pick_act(self, item: dict[str, Any]) -> tuple[str, str, str]:
        """Pick something that can be done with an item at once."""
        return self.t.pick(
            [each for each in self.w.acts if item["state"] != each[1] and each[2] in ("", item["state"])]
        )

    def find(self, *items: dict[str, Any], then: str = "show", **arguments: Any) -> None:
        """Look up the ids that are not known yet; at times after a call with a name or an invented id instead."""
        needed = [each for each in items if self.w.has_ids and not self.t.knows(each["id"], each["name"])]
        if needed:
            wrong = self.t.pick(
                [needed[0]["name"], f"{self.w.words['prefix']}{self.t.pick(['1', '123', '001', '12'])}"]
            )
            self.t.slip(self.w.tools.get(then, then), {self.w.item_key: wrong, **arguments})
        with self.t.together():
            for each in needed:
                self.call("find", name=each["name"])

    def read(self, *items: dict[str, Any]) -> None:
        """Read the records: a search may be enough."""
        known = [not self.w.has_ids or self.t.knows(each["id"], each["name"]) for each in items]
        self.find(*items)
        with self.t.together():
            for each, is_known in zip(items, known, strict=True):
                if is_known or not self.w.finds_all:
                    self.on("show", each)

    def verb(self, act: tuple[str, str, str], /) -> dict[str, str]:
        verb = act[0].removesuffix(f"_{self.w.words['noun'].replace(' ', '_')}").replace("_", " ")
        first, _, particle = verb.partition(" ")
        verb_it = f"{first} it {particle}".rstrip()
        words = {"verb": verb, "verb_it": verb_it, "done": act[1]}
        return words | {"Verb": verb.capitalize(), "Verb_it": verb_it.capitalize()}

    def compared(self, is_more: bool) -> dict[str, str]:
        words = (
            ("later latest" if is_more else "earlier earliest")
            if self.is_time
            else ("higher highest" if is_more else "lower lowest")
        )
        return dict(zip(("more", "most"), words.split(), strict=True))

    def number(self, item: dict[str, Any]) -> Any:
        return item[self.w.words["number"]]

    def new_number(self) -> Any:
        return self.t.pick(self.w.draw_numbers(self.t.rng))

    def extreme(self, is_more: bool) -> dict[str, Any]:
        first, *others = sorted(self.w.items, key=self.number, reverse=is_more)
        if not others or self.number(first) == self.number(others[0]):
            raise Skip
        return first


def act_one(s: Scene) -> None:
    [item] = s.pick()
    act = s.pick_act(item)
    s.ask("ask", name=item["name"], **s.verb(act))
    s.find(item, then=act[0])
    s.on(act[0], item)
    s.t.memory["item"] = item
    s.tell("tell", name=item["name"], item=item[s.w.key], **s.verb(act))


def act_two(s: Scene) -> None:
    a, b = s.pick(2)
    act = s.pick_act(a)
    if b["state"] == act[1] or act[2] not in ("", b["state"]):
        raise Skip
    s.ask("ask", a=a["name"], b=b["name"], **s.verb(act))
    s.find(a, b, then=act[0])
    with s.t.together():
        s.on(act[0], a)
        s.on(act[0], b)
    s.tell("tell", a=a["name"], b=b["name"], x=a[s.w.key], y=b[s.w.key], **s.verb(act))


def act_in_order(s: Scene) -> None:
    [item] = s.pick()
    act = s.t.pick([each for each in s.w.acts if each[2] and item["state"] not in each[1:]])
    before = next(each for each in s.w.acts if each[1] == act[2])
    s.ask("ask", name=item["name"], **s.verb(act))
    s.find(item)
    s.on(before[0], item)
    s.on(act[0], item)
    s.t.memory["item"] = item
    s.tell("tell", name=item["name"], first=before[1], **s.verb(act))


def act_in_vain(s: Scene) -> None:
    [item] = s.pick()
    act = s.t.pick([each for each in s.w.acts if each[1] == item["state"]])
    if s.t.knows(item["name"]):
        raise Skip
    s.ask("ask", name=item["name"], **s.verb(act))
    s.find(item)
    if not (s.w.has_ids and s.w.finds_all):  # the state was not read
        s.on(act[0], item)
    s.tell("tell", name=item["name"], **s.verb(act))


def act_on_it(s: Scene) -> None:
    item = s.t.recent("item")
    if item not in s.w.items:
        raise Skip
    act = s.pick_act(item)
    s.ask("ask", lacking=False, **s.verb(act))
    s.on(act[0], item)
    s.t.memory["item"] = item
    s.tell("tell", name=item["name"], **s.verb(act))


def act_on_listed(s: Scene) -> None:
    listed = [each for each in s.t.recent("listed", []) if each in s.w.items]
    if len(listed) < 2:
        raise Skip
    act = s.pick_act(listed[0])
    if s.t.chance(0.4):
        s.ask("ask_2", **s.verb(act))
        with s.t.together():
            for each in listed:
                s.on(act[0], each)
        s.tell("tell_2", count=len(listed), listed=", ".join(f"'{each['name']}'" for each in listed), **s.verb(act))
        return
    place = s.t.pick([each for each in PLACES if each < len(listed)])
    s.ask("ask", word=PLACES[place], **s.verb(act))
    s.on(act[0], listed[place])
    s.t.memory["item"] = listed[place]
    s.tell("tell", name=listed[place]["name"], word=PLACES[place], **s.verb(act))


def give_listed(s: Scene) -> None:
    listed, person = [each for each in s.t.recent("listed", []) if each in s.w.items], s.t.pick(s.w.people)
    if len(listed) < 2:
        raise Skip
    place = s.t.pick([each for each in PLACES if each < len(listed)])
    s.ask("ask", word=PLACES[place], name_person=person["name"], Name_person=person["name"])
    if s.w.has_person_ids and not s.t.knows(person["id"], person["name"]):
        s.call("person", name=person["name"])
    s.on("give", listed[place], **{s.w.person_key: person["id" if s.w.has_person_ids else "name"]})
    s.t.memory["item"] = listed[place]
    s.tell("tell", name=listed[place]["name"], name_person=person["name"])


def act_on_extreme(s: Scene) -> None:
    is_more = s.t.chance(0.5)
    item = s.extreme(is_more)
    act = s.pick_act(item)
    s.ask("ask", **s.verb(act), **s.compared(is_more))
    s.call("list")
    s.on(act[0], item)
    s.t.memory["item"] = item
    s.tell("tell", name=item["name"], value=s.number(item), **s.verb(act), **s.compared(is_more))


def find_extreme(s: Scene) -> None:
    is_more = s.t.chance(0.5)
    item = s.extreme(is_more)
    s.ask("ask", **s.compared(is_more))
    s.call("list")
    s.t.memory["item"] = item
    s.tell("tell", name=item["name"], value=s.number(item), **s.compared(is_more))


def act_if(s: Scene) -> None:
    [item] = s.pick()
    act, there, value = s.pick_act(item), s.t.pick(s.w.words["places"]), s.number(item)
    if s.is_time:
        raise Skip
    limit = max(1, value + s.t.pick([-1, 1]) * max(2, int(value * s.t.pick([0.1, 0.3]))))
    s.ask("ask", name=item["name"], limit=limit, there=there, **s.verb(act))
    s.read(item)
    s.t.memory["item"] = item
    if value > limit:
        s.on(act[0], item)
        s.tell("tell", name=item["name"], limit=limit, value=value, **s.verb(act))
    else:
        s.on("move", item, **{s.w.words["place"]: bare(there)})
        s.tell("tell_2", name=item["name"], limit=limit, value=value, there=there)


def give(s: Scene) -> None:
    [item], person = s.pick(), s.t.pick(s.w.people)
    s.ask("ask", name=item["name"], name_person=person["name"], Name_person=person["name"])
    is_known = not s.w.has_ids or s.t.knows(item["id"], item["name"])
    knows_person = not s.w.has_person_ids or s.t.knows(person["id"], person["name"])
    with s.t.together():
        if not is_known:
            s.call("find", name=item["name"])
        if not knows_person:
            s.call("person", name=person["name"])
    s.on("give", item, **{s.w.person_key: person["id" if s.w.has_person_ids else "name"]})
    s.t.memory["item"] = item
    s.tell("tell", name=item["name"], name_person=person["name"])


def ask_number(s: Scene) -> None:
    [item] = s.pick()
    s.ask("ask", name=item["name"])
    s.read(item)
    s.t.memory["item"] = item
    s.tell("tell", name=item["name"], value=s.number(item))


def compare(s: Scene) -> None:
    a, b = s.pick(2)
    is_more = s.t.chance(0.5)
    s.ask("ask", a=a["name"], b=b["name"], **s.compared(is_more))
    s.read(a, b)
    x, y = s.number(a), s.number(b)
    best = a if (x > y) == is_more else b
    s.tell("tell_2" if x == y else "tell", a=a["name"], b=b["name"], x=x, y=y, best=best["name"], **s.compared(is_more))


def add_up(s: Scene) -> None:
    a, b = s.pick(2)
    if s.is_time:
        raise Skip
    s.ask("ask", a=a["name"], b=b["name"])
    s.read(a, b)
    x, y = s.number(a), s.number(b)
    is_sum = s.t.words is TABLE["steps"]["add_up"]
    s.tell("tell", a=a["name"], b=b["name"], x=x, y=y, total=x + y if is_sum else abs(x - y))


def difference(s: Scene) -> None:
    add_up(s)


def list_by_state(s: Scene) -> None:
    state = s.t.pick([s.w.words["state"], *(each[1] for each in s.w.acts)])
    s.ask("ask", state=state)
    s.call("list", state=state)
    found = [each for each in s.w.items if each["state"] == state]
    s.t.memory["listed"] = found
    listed = ", ".join(f"'{each['name']}'" for each in found)
    s.tell("tell" if found else "tell_2", state=state.capitalize() if found else state, listed=listed, count=len(found))


def count_by_state(s: Scene) -> None:
    list_by_state(s)


def set_number(s: Scene) -> None:
    [item], value = s.pick(), s.new_number()
    wrong = {} if s.is_time else {"wrong": {"value": value + 5}}
    s.ask("ask", name=item["name"], value=value, **wrong)
    s.find(item, then="set", **{s.w.words["number"]: value})
    s.on("set", item, **{s.w.words["number"]: value})
    s.t.memory.update(item=item, changed=item)
    s.tell("tell", name=item["name"], value=value)


def set_it_again(s: Scene) -> None:
    item, value = s.t.recent("changed"), s.new_number()
    if item not in s.w.items or s.number(item) == value:
        raise Skip
    s.ask("ask", value=value)
    s.on("set", item, **{s.w.words["number"]: value})
    s.t.memory["item"] = item
    s.tell("tell", name=item["name"], value=value)


def set_two(s: Scene) -> None:
    a, b = s.pick(2)
    x, y = s.new_number(), s.new_number()
    s.ask("ask", a=a["name"], b=b["name"], x=x, y=y)
    s.find(a, b)
    with s.t.together():
        s.on("set", a, **{s.w.words["number"]: x})
        s.on("set", b, **{s.w.words["number"]: y})
    s.tell("tell", a=a["name"], b=b["name"], x=x, y=y)


def set_like(s: Scene) -> None:
    a, b = s.pick(2)
    value = s.number(b)
    if value == s.number(a):
        raise Skip
    s.ask("ask", a=a["name"], b=b["name"])
    is_known = not s.w.has_ids or s.t.knows(b["id"], b["name"])
    s.find(a, b)
    if is_known or not s.w.finds_all:
        s.on("show", b)
    s.on("set", a, **{s.w.words["number"]: value})
    s.tell("tell", a=a["name"], b=b["name"], value=value)


def raise_number(s: Scene) -> None:
    [item], step = s.pick(), s.t.pick([2, 3, 5, 10, 20])
    if s.is_time:
        raise Skip
    before = s.number(item)
    s.ask("ask", name=item["name"], step=step)
    s.read(item)
    s.on("set", item, **{s.w.words["number"]: before + step})
    s.t.memory.update(item=item, changed=item)
    s.tell("tell", name=item["name"], before=before, value=before + step)


def add_item(s: Scene) -> None:
    free = [each for each in s.w.words["names"] if all(each != item["name"] for item in s.w.items)]
    name, value, there = s.t.pick(free), s.new_number(), s.t.pick(s.w.words["places"])
    s.ask("ask", name=name, value=value, there=there)
    made = s.call("add", **{"name": name, s.w.words["number"]: value, s.w.words["place"]: bare(there)})
    s.t.memory.update(item=s.w.items[-1], changed=s.w.items[-1])
    s.tell("tell", name=name, item=made[s.w.key])


def move(s: Scene) -> None:
    [item], there = s.pick(), s.t.pick(s.w.words["places"])
    s.ask("ask", name=item["name"], there=there)
    s.find(item, then="move", **{s.w.words["place"]: bare(there)})
    s.on("move", item, **{s.w.words["place"]: bare(there)})
    s.t.memory["item"] = item
    s.tell("tell", name=item["name"], there=there)


def move_and_act(s: Scene) -> None:
    [item], there = s.pick(), s.t.pick(s.w.words["places"])
    act = s.pick_act(item)
    s.ask("ask", name=item["name"], there=there, **s.verb(act))
    s.find(item)
    calls = [lambda: s.on("move", item, **{s.w.words["place"]: bare(there)}), lambda: s.on(act[0], item)]
    with s.t.together():
        for call in calls if s.t.turns[-1].request.partition("ove '")[1] else reversed(calls):
            call()
    s.t.memory["item"] = item
    s.tell("tell", name=item["name"], there=there, **s.verb(act))


def remove(s: Scene) -> None:
    [item] = s.pick()
    if len(s.w.items) < 4:
        raise Skip
    s.ask("ask", name=item["name"])
    s.find(item, then="remove")
    s.on("remove", item)
    s.tell("tell", name=item["name"])


def miss(s: Scene) -> None:
    """Ask about an item that is not there."""
    free = [each for each in s.w.words["names"] if all(each != item["name"] for item in s.w.items)]
    name, act = s.t.pick(free), s.t.pick(s.w.acts)
    if not s.w.has_ids or s.t.knows(name):
        raise Skip
    s.ask("ask", name=name, value=s.new_number(), **s.verb(act))
    if isinstance(s.call("find", name=name), Error):
        raise AssertionError(name)
    s.tell("tell", name=name)


def make_step(play: Callable[[Scene], None]) -> Step:
    @wraps(play)
    def run(t: Talk, w: Any, _: Any) -> None:
        play(Scene(t, w))

    return run


_STEPS = [
    make_step(each)
    for each in (
        act_one, act_two, act_in_order, act_in_vain, act_on_it, act_on_listed, act_on_extreme, act_if, give,
        give_listed, ask_number, compare, add_up, difference, list_by_state, count_by_state, find_extreme, set_number,
        set_two, set_like, raise_number, set_it_again, add_item, move, move_and_act, remove, miss,
    )
]  # fmt: skip
REGISTERS = [make_register(row, random.Random(row)) for row in TABLE["rows"]]
STEPS.update({each.name: _STEPS for each in REGISTERS})
