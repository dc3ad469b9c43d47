"""Worlds of notes: those of one person, and the notice board of a neighbourhood."""

import random
from typing import Any

from worlds.engine import PEOPLE, Skip, Talk, World, WorldError, find, step


class Notes(World):
    name = "notes"

    def __init__(self, rng: random.Random) -> None:
        self.notebooks = rng.sample(["Home", "Work", "Travel", "Health", "Hobby"], 3)
        lists = {
            "Shopping": "milk|tea|oats|onions|rice",
            "Gift ideas": "a scarf|a puzzle|good coffee|a plant",
            "Repairs": "the tap|the bike light|the back door",
            "Packing": "sun cream|a map|socks|the charger|a rope",
            "Questions for the doctor": "sleep|the left knee|vitamins",
            "Movies": "The Old Oak|Aftersun|Past Lives|Paterson",
            "Seeds to buy": "basil|poppies|carrots|beans",
            "Workshop": "nails|blue paint|batteries|sandpaper",
        }
        titles = rng.sample(list(lists), 6)
        self.notes = [
            {
                "note": f"n-{rng.randint(100, 999)}",
                "title": title,
                "notebook": rng.choice(self.notebooks),
                "tags": [],
                "pinned": False,
                "items": [
                    {"text": each, "done": False} for each in rng.sample(lists[title].split("|"), rng.randint(2, 3))
                ],
            }
            for title in titles
        ]

    def _note(self, note: str) -> dict[str, Any]:
        return find(self.notes, "note", note, f"404: note {note} does not exist")

    def find_notes(self, words: str = "", notebook: str | None = None) -> list[dict[str, Any]]:
        """Find notes by words of the title, in one notebook or in all. | words: Words of the title; empty for all
        notes. | notebook: The notebook."""
        fitting = [
            each
            for each in self.notes
            if words.lower() in each["title"].lower() and notebook in (None, each["notebook"])
        ]
        return [{key: each[key] for key in ("note", "title", "notebook")} for each in fitting]

    def open_note(self, note: str) -> dict[str, Any]:
        """Return a note with its items. | note: The id of the note, such as n-123."""
        return self._note(note)

    def new_note(self, title: str, notebook: str, items: list[str]) -> dict[str, Any]:
        """Write a new note. | title: The title. | notebook: The notebook that it goes to. | items: The items of the
        list."""
        if notebook not in self.notebooks:
            raise WorldError(f"400: no notebook {notebook}; there are {', '.join(self.notebooks)}")
        self.notes.append(
            {
                "note": f"n-{self._number(1000)}",
                "title": title,
                "notebook": notebook,
                "tags": [],
                "pinned": False,
                "items": [{"text": each, "done": False} for each in items],
            }
        )
        return {"note": self.notes[-1]["note"], "title": title, "notebook": notebook}

    def add_items(self, note: str, items: list[str]) -> dict[str, Any]:
        """Add items to a note. | note: The id of the note. | items: What is added."""
        self._note(note)["items"] += [{"text": each, "done": False} for each in items]
        return {"note": note, "items": [each["text"] for each in self._note(note)["items"]]}

    def tick(self, note: str, item: str) -> dict[str, Any]:
        """Tick an item of a note as done. | note: The id of the note. | item: The text of the item."""
        find(self._note(note)["items"], "text", item, f"404: '{item}' is not in note {note}")["done"] = True
        return {"note": note, "open": [each["text"] for each in self._note(note)["items"] if not each["done"]]}

    def shift_note(self, note: str, notebook: str) -> dict[str, Any]:
        """Put a note into another notebook. | note: The id of the note. | notebook: The other notebook."""
        if notebook not in self.notebooks:
            raise WorldError(f"400: no notebook {notebook}; there are {', '.join(self.notebooks)}")
        self._note(note)["notebook"] = notebook
        return {"note": note, "notebook": notebook}

    def label_note(self, note: str, tags: list[str]) -> dict[str, Any]:
        """Give a note tags. | note: The id of the note. | tags: The tags."""
        self._note(note)["tags"] += tags
        return {"note": note, "tags": self._note(note)["tags"]}

    def pin(self, note: str, on: bool = True) -> dict[str, Any]:
        """Pin a note to the top, or unpin it. | note: The id of the note. | on: Whether it is pinned."""
        self._note(note)["pinned"] = on
        return {"note": note, "pinned": on}

    def notebooks_list(self) -> list[str]:
        """List the notebooks."""
        return self.notebooks

    def remove_note(self, note: str) -> dict[str, Any]:
        """Delete a note for good. | note: The id of the note."""
        self.notes.remove(self._note(note))
        return {"removed": note}


def _note_id(t: Talk, do: Any, note: dict[str, Any]) -> str:
    if not t.knows(note["note"], note["title"]):
        do.find_notes(words=note["title"])
    return note["note"]


@step(Notes)
def what_is_on(t: Talk, w: Notes, do: Any) -> None:
    note = t.pick(w.notes)
    t.user("ask", title=note["title"])
    found = do.open_note(note=_note_id(t, do, note))
    t.memory["note"] = note
    todo = ", ".join(each["text"] for each in found["items"] if not each["done"])
    done = ", ".join(each["text"] for each in found["items"] if each["done"])
    if done:
        t.say("tell", todo=todo or "–", done=done)
    else:
        t.say("tell_2", title=note["title"], todo=todo or "–")


@step(Notes)
def add_and_tick(t: Talk, w: Notes, do: Any) -> None:
    note = t.pick(
        [each for each in w.notes if any(not item["done"] and t.knows(item["text"]) for item in each["items"])]
    )
    item = t.pick([each["text"] for each in note["items"] if not each["done"] and t.knows(each["text"])])
    more = t.pick(["honey", "a torch", "glue", "two pens", "oat flakes"])
    if any(each["text"] == more for each in note["items"]):
        raise Skip
    t.user("ask", title=note["title"], item=item, more=more)
    _note_id(t, do, note)
    with t.together():
        do.tick(note=note["note"], item=item)
        do.add_items(note=note["note"], items=[more])
    t.memory["note"] = note
    t.say("tell", item=item[0].upper() + item[1:], more=more)


@step(Notes)
def write_list(t: Talk, w: Notes, do: Any) -> None:
    title, items = (
        t.pick(["Picnic", "First aid", "Birthday", "Balcony", "Camping"]),
        t.rng.sample(["plates", "lemons", "a blanket", "ice", "plasters", "balloons", "soil"], 3),
    )
    book = t.pick(w.notebooks)
    if any(each["title"] == title for each in w.notes):
        raise Skip
    t.user("ask", title=title, book=book, items=", ".join(items))
    do.new_note(title=title, notebook=book, items=items)
    t.memory["note"] = w.notes[-1]
    t.say("tell", title=title, book=book, n=len(items))


@step(Notes)
def tag_and_pin(t: Talk, w: Notes, do: Any) -> None:
    note = t.recent("note")
    if note not in w.notes:
        raise Skip
    tag = t.pick(["urgent", "family", "weekend", "later"])
    t.user("ask", tag=tag)
    with t.together():
        do.label_note(note=note["note"], tags=[tag])
        do.pin(note=note["note"])
    t.say("tell", title=note["title"], tag=tag)


@step(Notes)
def move_all(t: Talk, w: Notes, do: Any) -> None:
    source, target = t.rng.sample(w.notebooks, 2)
    inside = [each for each in w.notes if each["notebook"] == source]
    if not 1 <= len(inside) <= 3:
        raise Skip
    t.user("ask", source=source, target=target)
    found = do.find_notes(notebook=source)
    with t.together():
        for each in found:
            do.shift_note(note=each["note"], notebook=target)
    names = ", ".join(each["title"] for each in found)
    t.say("tell", target=target, names=names)


@step(Notes)
def remove_it(t: Talk, w: Notes, do: Any) -> None:
    note = t.pick(w.notes)
    t.user("ask", title=note["title"])
    do.remove_note(note=_note_id(t, do, note))
    t.memory.pop("note", None)
    t.say("tell", title=note["title"])


class Board(World):
    name = "board"

    def __init__(self, rng: random.Random) -> None:
        texts = {
            "Lost: grey cat": "lost",
            "Sofa to give away": "gifts",
            "Who repairs bikes?": "help",
            "Street party in June": "events",
            "Piano lessons": "offers",
            "Ladder wanted": "help",
            "Flea market": "events",
        }
        self.notices = [
            {
                "notice": 40 + 3 * i + rng.randint(0, 2),
                "author": rng.choice(PEOPLE),
                "text": text,
                "topics": [texts[text]],
                "thanks": rng.randint(0, 20),
                "replies": [],
                "pinned": False,
            }
            for i, text in enumerate(rng.sample(list(texts), 5))
        ]
        self.follows: list[str] = []

    def _notice(self, notice: int) -> dict[str, Any]:
        return find(self.notices, "notice", notice, f"notice {notice} was not found")

    def browse(self, topic: str) -> list[dict[str, Any]]:
        """List the notices on a topic. | topic: The topic, such as help or events."""
        return [
            {key: each[key] for key in ("notice", "author", "text", "thanks")}
            for each in self.notices
            if topic in each["topics"]
        ]

    def search_notices(self, words: str) -> list[dict[str, Any]]:
        """Find notices by words of their text. | words: The words."""
        return [
            {key: each[key] for key in ("notice", "author", "text", "thanks")}
            for each in self.notices
            if words.lower() in each["text"].lower()
        ]

    def put_up(self, text: str, topics: list[str], mentions: list[str] | None = None) -> dict[str, Any]:
        """Put up a notice. | text: The text. | topics: Its topics. | mentions: People who are told about it."""
        self.notices.append(
            {
                "notice": self._number(90),
                "author": "you",
                "text": text,
                "topics": topics,
                "mentions": mentions or [],
                "thanks": 0,
                "replies": [],
                "pinned": False,
            }
        )
        return {key: self.notices[-1][key] for key in ("notice", "text", "topics", "mentions")}

    def reply_to(self, notice: int, text: str) -> dict[str, Any]:
        """Reply to a notice. | notice: The number of the notice. | text: The reply."""
        self._notice(notice)["replies"].append(text)
        return {"notice": notice, "replies": len(self._notice(notice)["replies"])}

    def thank(self, notice: int) -> dict[str, Any]:
        """Say thanks for a notice. | notice: The number of the notice."""
        self._notice(notice)["thanks"] += 1
        return {"notice": notice, "thanks": self._notice(notice)["thanks"]}

    def tell_people(self, notice: int, people: list[str]) -> dict[str, Any]:
        """Point people to a notice. | notice: The number of the notice. | people: Their names."""
        found = self._notice(notice)
        found["mentions"] = [*found.get("mentions", []), *people]
        return {"notice": notice, "mentions": found["mentions"]}

    def follow_neighbour(self, name: str) -> dict[str, Any]:
        """Follow the notices of a neighbour. | name: The name."""
        if name in self.follows:
            raise WorldError(f"you follow {name} already")
        self.follows.append(name)
        return {"follows": self.follows}

    def take_down(self, notice: int) -> dict[str, Any]:
        """Take one of your own notices down. | notice: The number of the notice."""
        found = self._notice(notice)
        if found["author"] != "you":
            raise WorldError(f"notice {notice} belongs to {found['author']}")
        self.notices.remove(found)
        return {"taken_down": notice}


@step(Board)
def browse_topic(t: Talk, w: Board, do: Any) -> None:
    topic = t.pick([each["topics"][0] for each in w.notices])
    t.user("ask", topic=topic)
    found = do.browse(topic=topic)
    t.memory["notice"] = (
        next(each for each in w.notices if each["notice"] == found[0]["notice"]) if len(found) == 1 else None
    )
    t.memory["notices"] = found
    t.say("tell", listed="; ".join(f'"{each["text"]}" by {each["author"]}' for each in found))


@step(Board)
def thank_most(t: Talk, w: Board, do: Any) -> None:
    found = t.recent("notices") or []
    thanks = [each["thanks"] for each in found]
    if len(found) < 2 or thanks.count(max(thanks)) > 1:
        raise Skip
    best = max(found, key=lambda each: each["thanks"])
    t.user("ask")
    count = do.thank(notice=best["notice"])["thanks"]
    t.say("tell", text=best["text"], count=count)


@step(Board)
def reply(t: Talk, w: Board, do: Any) -> None:
    notice = t.recent("notice") or t.pick(w.notices if t.chance(0.4) else [])
    text = t.pick("I can help on Saturday|Is this still current?|Count me in|Please call me".split("|"))
    is_it = t.recent("notice") is notice and t.turns
    t.user("ask", which="it" if is_it else f"the notice '{notice['text']}'", text=text)
    if not t.knows(notice["notice"], notice["text"]):
        do.search_notices(words=notice["text"])
    count = do.reply_to(notice=notice["notice"], text=text)["replies"]
    t.memory["notice"] = notice
    t.say("tell", what=notice["text"], count=count)


@step(Board)
def put_up_notice(t: Talk, w: Board, do: Any) -> None:
    text, topic = t.pick(
        [
            ("Found a blue glove", "lost"),
            ("Free tomatoes", "gifts"),
            ("Choir looks for voices", "events"),
            ("Drill to borrow", "offers"),
        ]
    )
    people = t.rng.sample(PEOPLE, 2)
    if any(each["text"] == text for each in w.notices):
        raise Skip
    if t.chance(0.5):
        t.user("ask", text=text, topic=topic, a=people[0])
        made = do.put_up(text=text, topics=[topic], mentions=people[:1])
    else:
        t.user("ask_2", text=text, topic=topic)
        made = do.put_up(text=text, topics=[topic])
    t.memory["notice"] = w.notices[-1]
    t.say("tell", text=text, number=made["notice"])
    if t.chance(0.4):
        t.user("ask_3", b=people[1])
        do.tell_people(notice=made["notice"], people=people[1:])
        t.say("tell_2", b=people[1])


@step(Board)
def take_own_down(t: Talk, w: Board, do: Any) -> None:
    notice = t.recent("notice")
    if notice is None or notice["author"] != "you":
        raise Skip
    t.user("ask")
    do.take_down(notice=notice["notice"])
    t.memory["notice"] = None
    t.say("tell", text=notice["text"])


@step(Board)
def follow_author(t: Talk, w: Board, do: Any) -> None:
    notice = t.pick([each for each in w.notices if each["author"] not in ("you", *w.follows)])
    t.user("ask", text=notice["text"])
    if not t.knows(notice["notice"], notice["text"]):
        do.search_notices(words=notice["text"])
    do.follow_neighbour(name=notice["author"])
    t.say("tell", name=notice["author"])
