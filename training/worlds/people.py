"""Worlds of people: a calendar and a chat."""

import random
from typing import Any, Literal, TypedDict

from worlds.engine import PEOPLE, TEXTS, Error, Skip, Talk, World, WorldError, find, say_day, step


class Rule(TypedDict):
    every: Literal["day", "week", "month"]
    times: int


class Calendar(World):
    name = "calendar"

    def __init__(self, rng: random.Random) -> None:
        self.days = [f"2027-{rng.randint(3, 9):02}-{day:02}" for day in rng.sample(range(1, 29), 4)]
        titles = rng.sample(
            (
                "Dentist|Team lunch|Yoga|Budget review|Parents' evening|Haircut|Interview|Car inspection|Choir|Standup"
            ).split("|"),
            8,
        )
        self.entries: list[dict[str, Any]] = []
        for place, title in enumerate(titles):
            start = 8 + 2 * (place // 4) * 2 + rng.randint(0, 2)
            self.entries.append(
                {
                    "entry": f"e{rng.randint(10, 99)}{place}",
                    "title": title,
                    "date": self.days[place % 4],
                    "start": f"{start:02}:00",
                    "end": f"{start + 1:02}:00",
                    "place": "",
                    "guests": [],
                }
            )

    def _entry(self, entry: str) -> dict[str, Any]:
        return find(self.entries, "entry", entry, f"unknown entry {entry!r}")

    def _check(self, date: str, start: str, end: str, but: str = "") -> None:
        for each in self.entries:
            if each["entry"] != but and each["date"] == date and each["start"] < end and start < each["end"]:
                raise WorldError(f"conflict with '{each['title']}' ({each['start']}-{each['end']})")

    def agenda(self, date: str) -> list[dict[str, Any]]:
        """List the entries of a day. | date: The day, as YYYY-MM-DD."""
        return sorted((each for each in self.entries if each["date"] == date), key=lambda each: each["start"])

    def look_up_entry(self, title: str) -> list[dict[str, Any]]:
        """Find entries by their title. | title: The title or a part of it."""
        return [
            {key: each[key] for key in ("entry", "title", "date", "start")}
            for each in self.entries
            if title.lower() in each["title"].lower()
        ]

    def put_entry(self, title: str, date: str, start: str, end: str) -> dict[str, Any]:
        """Put a new entry into the calendar; entries must not overlap. | title: The title. | date: The day, as YYYY-MM-
        DD. | start: The time at which it starts, as HH:MM. | end: The time at which it ends, as HH:MM."""
        self._check(date, start, end)
        made = {
            "entry": f"e{self._number(500)}",
            "title": title,
            "date": date,
            "start": start,
            "end": end,
            "place": "",
            "guests": [],
        }
        self.entries.append(made)
        return {"entry": made["entry"], "title": title, "date": date, "start": start, "end": end}

    def shift_entry(self, entry: str, date: str, start: str) -> dict[str, Any]:
        """Move an entry to another time; it stays as long as it was. | entry: The id of the entry. | date: The new day,
        as YYYY-MM-DD. | start: The new time, as HH:MM."""
        found = self._entry(entry)
        minutes = [int(found[key][:2]) * 60 + int(found[key][3:]) for key in ("start", "end")]
        ends = int(start[:2]) * 60 + int(start[3:]) + minutes[1] - minutes[0]
        self._check(date, start, f"{ends // 60:02}:{ends % 60:02}", entry)
        found.update(date=date, start=start, end=f"{ends // 60:02}:{ends % 60:02}")
        return {"entry": entry, "date": date, "start": start, "end": found["end"]}

    def drop_entry(self, entry: str) -> dict[str, Any]:
        """Delete an entry. | entry: The id of the entry."""
        self.entries.remove(self._entry(entry))
        return {"dropped": entry}

    def set_place(self, entry: str, place: str) -> dict[str, Any]:
        """Note where an entry takes place. | entry: The id of the entry. | place: The place."""
        self._entry(entry)["place"] = place
        return {"entry": entry, "place": place}

    def add_guests(self, entry: str, guests: list[str]) -> dict[str, Any]:
        """Invite people to an entry. | entry: The id of the entry. | guests: The names of the people."""
        self._entry(entry)["guests"] += guests
        return {"entry": entry, "guests": self._entry(entry)["guests"]}

    def repeat_entry(self, entry: str, rule: Rule) -> dict[str, Any]:
        """Repeat an entry. | entry: The id of the entry. | rule: How often it is repeated, and how many times."""
        self._entry(entry)["rule"] = rule
        return {"entry": entry, "rule": rule}

    def free_hours(self, date: str) -> list[str]:
        """List the full hours between 8 and 18 o'clock at which nothing is planned on a day. | date: The day, as YYYY-
        MM-DD."""
        taken = [each for each in self.entries if each["date"] == date]
        hours = [f"{hour:02}:00" for hour in range(8, 18)]
        return [hour for hour in hours if not any(each["start"] <= hour < each["end"] for each in taken)]


def _entry_of(t: Talk, w: Calendar, do: Any, entry: dict[str, Any]) -> None:
    if not t.knows(entry["entry"], entry["title"]):
        do.look_up_entry(title=entry["title"])


@step(Calendar)
def tell_day(t: Talk, w: Calendar, do: Any) -> None:
    date = t.pick(w.days)
    t.user("ask", day=say_day(t, date))
    found = do.agenda(date=date)
    t.memory["agenda"] = [each["entry"] for each in found]
    listed = ", ".join(f"{each['start']} {each['title']}" for each in found)
    if found:
        t.say("tell", listed=listed)
    else:
        t.say("tell_2")


@step(Calendar)
def plan_entry(t: Talk, w: Calendar, do: Any) -> None:
    date, hour = t.pick(w.days), t.rng.randint(8, 16)
    title = t.pick(["Call with the bank", "Swimming", "Language class", "Flat viewing", "Project kickoff", "Eye test"])
    if any(each["title"] == title for each in w.entries):
        raise Skip
    start, later, end = f"{hour:02}:00", f"{hour + 1:02}:00", f"{hour + 2:02}:00"
    busy = [each for each in w.entries if each["date"] == date and each["start"] < later and start < each["end"]]
    if any(each["date"] == date and each["start"] < end and later < each["end"] for each in w.entries) and busy:
        raise Skip
    t.user("ask", day=say_day(t, date), title=title, start=start, later=later)
    made = do.put_entry(title=title, date=date, start=start, end=later)
    if isinstance(made, Error):
        do.put_entry(title=title, date=date, start=later, end=end)
        t.say("tell", start=start, later=later, title=title, other=busy[0]["title"])
    else:
        t.say("tell_2", title=title, start=start)
    t.memory["entry"] = w.entries[-1]


@step(Calendar)
def move_entry(t: Talk, w: Calendar, do: Any) -> None:
    entry, date, hour = t.pick(w.entries), t.pick(w.days), t.rng.randint(8, 17)
    start = f"{hour:02}:00"
    if sum(entry["title"] in each["title"] for each in w.entries) > 1:
        raise Skip
    if any(
        each is not entry and each["date"] == date and each["start"] < f"{hour + 1:02}:00" and start < each["end"]
        for each in w.entries
    ):
        raise Skip
    t.user(
        "ask", wrong={"start": f"{(hour - 7) % 10 + 8:02}:30"}, title=entry["title"], day=say_day(t, date), start=start
    )
    _entry_of(t, w, do, entry)
    do.shift_entry(entry=entry["entry"], date=date, start=start)
    t.memory["entry"] = entry
    t.say("tell", title=entry["title"], date=date, start=start)


@step(Calendar)
def invite_and_place(t: Talk, w: Calendar, do: Any) -> None:
    entry = t.recent("entry")
    if entry not in w.entries:
        raise Skip
    guests, place = t.rng.sample(PEOPLE, 2), t.pick(["room 4", "Café Linden", "the town hall", "my office"])
    if t.chance(0.5):
        t.user("ask", a=guests[0], b=guests[1], place=place)
        with t.together():
            do.add_guests(entry=entry["entry"], guests=guests)
            do.set_place(entry=entry["entry"], place=place)
        t.say("tell", a=guests[0], b=guests[1], place=place)
    else:
        t.user("ask_2", a=guests[0])
        found = do.add_guests(entry=entry["entry"], guests=guests[:1])
        t.say("tell_2", all=", ".join(found["guests"]))


@step(Calendar)
def repeat_it(t: Talk, w: Calendar, do: Any) -> None:
    entry, every, times = t.recent("entry"), t.pick(["day", "week", "month"]), t.rng.randint(2, 10)
    if entry not in w.entries:
        raise Skip
    t.user("ask", every=every, times=times)
    do.repeat_entry(entry=entry["entry"], rule={"every": every, "times": times})
    t.memory["entry"] = entry
    t.say("tell", title=entry["title"], every=every, times=times)


@step(Calendar)
def drop_listed(t: Talk, w: Calendar, do: Any) -> None:
    listed = t.recent("agenda", [])
    if len(listed) < 2:
        raise Skip
    place = t.pick([0, -1])
    entry = next((each for each in w.entries if each["entry"] == listed[place]), None)
    if entry is None:
        raise Skip
    t.user("ask", word="first" if place == 0 else "last")
    do.drop_entry(entry=entry["entry"])
    t.say("tell", title=entry["title"])


@step(Calendar)
def first_free(t: Talk, w: Calendar, do: Any) -> None:
    date, title = t.pick(w.days), t.pick(["Tax papers", "Gym", "Call Grandma", "Read the offer"])
    if any(each["title"] == title for each in w.entries):
        raise Skip
    t.user("ask", day=say_day(t, date), title=title)
    hour = do.free_hours(date=date)[0]
    end = f"{int(hour[:2]) + 1:02}:00"
    do.put_entry(title=title, date=date, start=hour, end=end)
    t.memory["entry"] = w.entries[-1]
    t.say("tell", hour=hour, end=end, title=title)


class Chat(World):
    name = "chat"
    is_helper = True

    def __init__(self, rng: random.Random) -> None:
        self.contacts = [
            {"contact": f"u{rng.randint(1000, 9999)}", "name": name, "muted": False} for name in rng.sample(PEOPLE, 6)
        ]
        self.received = [
            {
                "message": f"m{300 + i * 3 + rng.randint(0, 2)}",
                "sender": rng.choice(self.contacts)["name"],
                "text": text[0].upper() + text[1:],
                "read": rng.random() < 0.4,
            }
            for i, text in enumerate(rng.sample(TEXTS, 5))
        ]
        self.sent: list[dict[str, Any]] = []
        self.groups: list[dict[str, Any]] = []

    def look_up_contact(self, name: str) -> list[dict[str, Any]]:
        """Look up people in the address book. | name: A name or a part of it."""
        return [each for each in self.contacts if name.lower() in each["name"].lower()]

    def write_to(self, contact: str, text: str) -> dict[str, Any]:
        """Write a message to a person. | contact: The id of the person, such as u1234. | text: The message."""
        find(self.contacts, "contact", contact, f"No contact with id {contact}")
        self.sent.append({"message": f"s{self._number(0):02}", "to": contact, "text": text})
        return self.sent[-1]

    def unread(self) -> list[dict[str, Any]]:
        """List the messages that were not read yet."""
        return [{key: each[key] for key in ("message", "sender", "text")} for each in self.received if not each["read"]]

    def mark_read(self, messages: list[str]) -> dict[str, Any]:
        """Mark messages as read. | messages: The ids of the messages."""
        for each in messages:
            find(self.received, "message", each, f"No message {each}")["read"] = True
        return {"read": messages}

    def search_chats(self, term: str) -> list[dict[str, Any]]:
        """Find received messages that contain a term. | term: A word of the message."""
        return [each for each in self.received if term.lower() in each["text"].lower()]

    def pass_on(self, message: str, contact: str) -> dict[str, Any]:
        """Forward a received message to a person. | message: The id of the message. | contact: The id of the person."""
        text = find(self.received, "message", message, f"No message {message}")["text"]
        return self.write_to(contact, text)

    def unsend(self, message: str) -> dict[str, Any]:
        """Take back a message that was sent. | message: The id of the sent message."""
        self.sent.remove(find(self.sent, "message", message, f"Nothing sent with id {message}"))
        return {"unsent": message}

    def outbox(self) -> list[dict[str, Any]]:
        """List all messages that were sent."""
        return self.sent

    def form_group(self, title: str, members: list[str]) -> dict[str, Any]:
        """Form a group of people. | title: The name of the group. | members: The ids of the people."""
        for each in members:
            find(self.contacts, "contact", each, f"No contact with id {each}")
        self.groups.append({"group": f"g{self._number(0)}", "title": title, "members": members, "posts": []})
        return self.groups[-1]

    def post_in_group(self, group: str, text: str) -> dict[str, Any]:
        """Write a message to all members of a group. | group: The id of the group. | text: The message."""
        found = find(self.groups, "group", group, f"No group {group}")
        found["posts"].append(text)
        return {"group": group, "posts": len(found["posts"])}

    def mute(self, contact: str, on: bool = True) -> dict[str, Any]:
        """Mute a person. | contact: The id of the person. | on: Whether the person is muted."""
        find(self.contacts, "contact", contact, f"No contact with id {contact}")["muted"] = on
        return {"contact": contact, "muted": on}


def _contact(t: Talk, do: Any, contact: dict[str, Any]) -> str:
    if not t.knows(contact["contact"], contact["name"]):
        do.look_up_contact(name=contact["name"])
    return contact["contact"]


@step(Chat)
def write_someone(t: Talk, w: Chat, do: Any) -> None:
    contact, text = t.pick(w.contacts), t.pick(TEXTS)
    t.user(
        "ask",
        wrong={"name": t.pick([each["name"] for each in w.contacts if each is not contact])},
        name=contact["name"],
        text=text,
    )
    sent = do.write_to(contact=_contact(t, do, contact), text=text)
    t.memory["sent"] = sent["message"]
    t.say("tell", name=contact["name"])
    if t.chance(0.2):
        t.user("ask_2")
        do.unsend(message=sent["message"])
        t.memory.pop("sent")
        t.say("tell_2")


@step(Chat)
def send_fact(t: Talk, w: Chat, do: Any) -> None:
    words, value = t.recent("fact") or t.pick([])
    contact, start = t.pick(w.contacts), t.pick(["Just so you know", "For your list", "As promised", "Update"])
    t.user("ask", name=contact["name"], start=start, words=words)
    do.write_to(contact=_contact(t, do, contact), text=f"{start}, {words}: {value}")
    t.say("tell", name=contact["name"], text=f"{start}, {words}: {value}")


@step(Chat)
def send_text(t: Talk, w: Chat, do: Any) -> None:
    text, contact = t.recent("text") or t.pick([]), t.pick(w.contacts)
    t.user("ask", name=contact["name"])
    do.write_to(contact=_contact(t, do, contact), text=text)
    t.say("tell", name=contact["name"])


@step(Chat)
def read_new(t: Talk, w: Chat, do: Any) -> None:
    t.user("ask")
    found = do.unread()
    t.memory["unread"] = found
    listed = " ".join(f'{each["sender"]}: "{each["text"]}"' for each in found)
    if found:
        t.say("tell", n=len(found), listed=listed)
    else:
        t.say("tell_2")


@step(Chat)
def handle_unread(t: Talk, w: Chat, do: Any) -> None:
    found = t.recent("unread", [])
    if not found:
        raise Skip
    if t.chance(0.5):
        t.user("ask")
        do.mark_read(messages=[each["message"] for each in found])
        t.say("tell", n=len(found))
        return
    place = t.pick([0, len(found) - 1])
    contact = t.pick([each for each in w.contacts if each["name"] != found[place]["sender"]])
    t.user("ask_2", word="first" if place == 0 else "last", name=contact["name"])
    do.pass_on(message=found[place]["message"], contact=_contact(t, do, contact))
    t.say("tell_2", text=found[place]["text"], name=contact["name"])


@step(Chat)
def search_and_pass(t: Talk, w: Chat, do: Any) -> None:
    message, contact = t.pick(w.received), t.pick(w.contacts)
    term = max(message["text"].split(), key=len).lower()
    if sum(term in each["text"].lower() for each in w.received) != 1:
        raise Skip
    t.user("ask", term=term, name=contact["name"])
    is_known = t.knows(contact["contact"], contact["name"])
    with t.together():
        do.search_chats(term=term)
        if not is_known:
            do.look_up_contact(name=contact["name"])
    do.pass_on(message=message["message"], contact=contact["contact"])
    t.say("tell", sender=message["sender"], text=message["text"], name=contact["name"])


@step(Chat)
def make_group(t: Talk, w: Chat, do: Any) -> None:
    members, title, text = (
        t.rng.sample(w.contacts, t.pick([2, 3])),
        t.pick(["Summer party", "Car pool", "Book club", "Move on Saturday"]),
        t.pick(TEXTS),
    )
    names = [each["name"] for each in members]
    t.user("ask", title=title, names=f"{', '.join(names[:-1])} and {names[-1]}", text=text)
    unknown = [each for each in members if not t.knows(each["contact"], each["name"])]
    with t.together():
        for each in unknown:
            do.look_up_contact(name=each["name"])
    group = do.form_group(title=title, members=[each["contact"] for each in members])["group"]
    do.post_in_group(group=group, text=text)
    t.memory["group"] = group
    t.say("tell", title=title)


@step(Chat)
def post_again(t: Talk, w: Chat, do: Any) -> None:
    group, text = t.memory.get("group"), t.pick(TEXTS)
    if not group:
        raise Skip
    t.user("ask", text=text)
    count = do.post_in_group(group=group, text=text)["posts"]
    t.say("tell", count=count)


@step(Chat)
def mute_someone(t: Talk, w: Chat, do: Any) -> None:
    contact = t.pick([each for each in w.contacts if not each["muted"]])
    t.user("ask", name=contact["name"])
    do.mute(contact=_contact(t, do, contact))
    t.say("tell", name=contact["name"])


@step(Chat)
def show_sent(t: Talk, w: Chat, do: Any) -> None:
    if not w.sent:
        raise Skip
    t.user("ask")
    listed = "; ".join(f'"{each["text"]}"' for each in do.outbox())
    t.say("tell", listed=listed)
