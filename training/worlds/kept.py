"""Worlds that nothing is trained on: a library and a parcel service."""

import random
from typing import Any, Literal

from worlds.engine import PEOPLE, Error, Skip, Talk, World, WorldError, find, step


class Library(World):
    name = "library"

    def __init__(self, rng: random.Random) -> None:
        titles = rng.sample(
            (
                "The Salt Road|Winter Bees|A House of Maps|Tin Soldiers|The Last Ferry|Orchard "
                "Street|Cold Iron|Seven Bridges|The Clockmaker"
            ).split("|"),
            7,
        )
        authors = rng.sample(PEOPLE, 4)
        self.books = [
            {
                "book": f"B{rng.randint(100, 999)}{i}",
                "title": title,
                "author": rng.choice(authors),
                "shelf": f"{rng.choice('RST')}{rng.randint(1, 9)}",
                "lent_to": None,
                "held_for": None,
            }
            for i, title in enumerate(titles)
        ]
        self.readers = [
            {"reader": f"L{rng.randint(1000, 9999)}", "name": name, "fees": rng.choice([0, 0, 3, 7])}
            for name in rng.sample([each for each in PEOPLE if each not in authors], 5)
        ]
        for book in rng.sample(self.books, 2):
            book["lent_to"] = rng.choice(self.readers)["reader"]

    def _book(self, book: str) -> dict[str, Any]:
        return find(self.books, "book", book, f"no such book: {book}")

    def _reader(self, reader: str) -> dict[str, Any]:
        return find(self.readers, "reader", reader, f"no such reader: {reader}")

    def search_catalogue(self, title: str | None = None, author: str | None = None) -> list[dict[str, Any]]:
        """Search books by title or author; returns their numbers, shelves and who has them. | title: The title or a
        part of it. | author: The author."""
        return [
            each
            for each in self.books
            if (title or "").lower() in each["title"].lower() and (author or "").lower() in each["author"].lower()
        ]

    def look_up_reader(self, name: str) -> list[dict[str, Any]]:
        """Look up a reader by name; returns the card number and open fees. | name: The name."""
        return [each for each in self.readers if name.lower() in each["name"].lower()]

    def lend(self, book: str, reader: str) -> dict[str, Any]:
        """Lend a book to a reader. Readers with open fees cannot borrow. | book: The number of the book, such as B1230.
        | reader: The card number of the reader, such as L1234."""
        found, person = self._book(book), self._reader(reader)
        if person["fees"]:
            raise WorldError(f"reader {reader} has open fees: {person['fees']}")
        if found["lent_to"]:
            raise WorldError(f"{book} is lent to {found['lent_to']}")
        found.update(lent_to=reader, held_for=None)
        return {"book": book, "reader": reader, "due_in_days": 28}

    def take_back(self, book: str) -> dict[str, Any]:
        """Take a lent book back. | book: The number of the book."""
        found = self._book(book)
        if not found["lent_to"]:
            raise WorldError(f"{book} is not lent")
        found["lent_to"] = None
        return {"book": book, "held_for": found["held_for"], "shelf": found["shelf"]}

    def hold(self, book: str, reader: str) -> dict[str, Any]:
        """Hold a lent book for a reader, for when it comes back. | book: The number of the book. | reader: The card
        number of the reader."""
        self._reader(reader)
        found = self._book(book)
        if not found["lent_to"]:
            raise WorldError(f"{book} is on the shelf; lend it")
        found["held_for"] = reader
        return {"book": book, "held_for": reader}

    def settle_fees(self, reader: str) -> dict[str, Any]:
        """Note that a reader has paid all fees. | reader: The card number."""
        paid, self._reader(reader)["fees"] = self._reader(reader)["fees"], 0
        return {"reader": reader, "paid": paid}

    def loans(self, reader: str) -> list[dict[str, Any]]:
        """List the books that a reader has. | reader: The card number."""
        self._reader(reader)
        return [{"book": each["book"], "title": each["title"]} for each in self.books if each["lent_to"] == reader]

    def reshelve(self, book: str, shelf: str) -> dict[str, Any]:
        """Give a book another shelf. | book: The number of the book. | shelf: The shelf, such as R4."""
        self._book(book)["shelf"] = shelf
        return {"book": book, "shelf": shelf}

    def new_reader(self, name: str) -> dict[str, Any]:
        """Register a reader. | name: The name."""
        self.readers.append({"reader": f"L{self._number(9900)}", "name": name, "fees": 0})
        return self.readers[-1]


def _need(t: Talk, do: Any, book: dict[str, Any] | None, reader: dict[str, Any] | None) -> None:
    """Look up what is not known yet."""
    needs = [
        book and not t.knows(book["book"], book["title"]),
        reader and not t.knows(reader["reader"], reader["name"]),
    ]
    with t.together():
        if book and needs[0]:
            do.search_catalogue(title=book["title"])
        if reader and needs[1]:
            do.look_up_reader(name=reader["name"])


@step(Library)
def lend_book(t: Talk, w: Library, do: Any) -> None:
    book, reader = t.pick([each for each in w.books if not each["lent_to"]]), t.pick(w.readers)
    t.user("ask", name=reader["name"], title=book["title"])
    _need(t, do, book, reader)
    if reader["fees"]:
        do.settle_fees(reader=reader["reader"])
    do.lend(book=book["book"], reader=reader["reader"])
    t.memory.update(book=book, reader=reader)
    t.say("tell", name=reader["name"], title=book["title"])


@step(Library)
def bring_back(t: Talk, w: Library, do: Any) -> None:
    book = t.pick([each for each in w.books if each["lent_to"]])
    t.user("ask", title=book["title"])
    _need(t, do, book, None)
    done = do.take_back(book=book["book"])
    t.memory["book"] = book
    t.say("tell", title=book["title"], shelf=done["shelf"])


@step(Library)
def hold_book(t: Talk, w: Library, do: Any) -> None:
    book, reader = t.pick([each for each in w.books if each["lent_to"]]), t.pick(w.readers)
    if book["lent_to"] == reader["reader"]:
        raise Skip
    t.user("ask", title=book["title"], name=reader["name"])
    _need(t, do, book, reader)
    do.hold(book=book["book"], reader=reader["reader"])
    t.memory.update(book=book, reader=reader)
    t.say("tell", title=book["title"], name=reader["name"])


@step(Library)
def by_author(t: Talk, w: Library, do: Any) -> None:
    author = t.pick([each["author"] for each in w.books])
    t.user("ask", author=author)
    found = do.search_catalogue(author=author)
    t.memory["books"] = [each["book"] for each in found]
    t.say(
        "tell",
        listed=", ".join(f"'{each['title']}' ({'lent' if each['lent_to'] else each['shelf']})" for each in found),
    )


@step(Library)
def move_listed(t: Talk, w: Library, do: Any) -> None:
    listed, shelf = t.recent("books", []), f"{t.pick('UVW')}{t.rng.randint(1, 9)}"
    if not listed:
        raise Skip
    if len(listed) > 1 and t.chance(0.5):
        t.user("ask", shelf=shelf)
        with t.together():
            for each in listed:
                do.reshelve(book=each, shelf=shelf)
        t.say("tell", n=len(listed), shelf=shelf)
    else:
        t.user("ask_2", word="first" if t.chance(0.5) or len(listed) == 1 else "last", shelf=shelf)
        book = listed[0 if "first" in t.turns[-1].request else -1]
        do.reshelve(book=book, shelf=shelf)
        t.say("tell_2", book=book, shelf=shelf)


@step(Library)
def whose_loans(t: Talk, w: Library, do: Any) -> None:
    reader = t.pick(w.readers)
    t.user("ask", name=reader["name"])
    _need(t, do, None, reader)
    found = do.loans(reader=reader["reader"])
    t.memory["reader"] = reader
    t.say("tell", name=reader["name"], books=", ".join(f"'{each['title']}'" for each in found) or "no books")


@step(Library)
def join_and_lend(t: Talk, w: Library, do: Any) -> None:
    book, name = (
        t.pick([each for each in w.books if not each["lent_to"]]),
        t.pick(["Zoe Hart", "Yann Le Goff", "Vera Blum"]),
    )
    if any(each["name"] == name for each in w.readers):
        raise Skip
    t.user("ask", name=name, title=book["title"])
    is_known = t.knows(book["book"], book["title"])
    with t.together():
        made = do.new_reader(name=name)
        if not is_known:
            do.search_catalogue(title=book["title"])
    do.lend(book=book["book"], reader=made["reader"])
    t.memory.update(book=book, reader=w.readers[-1])
    t.say("tell", name=name, card=made["reader"], title=book["title"])


class Parcels(World):
    name = "parcels"

    def __init__(self, rng: random.Random) -> None:
        self.points = [
            {"point": f"PP{rng.randint(10, 99)}", "street": street, "open_until": f"{rng.randint(17, 22)}:00"}
            for street in rng.sample(["Harbour Road", "Elm Street", "Station Square", "Hill Lane"], 3)
        ]
        self.parcels = [
            {
                "parcel": f"X{rng.randint(1000, 9999)}",
                "receiver": name,
                "kilos": rng.randint(1, 20),
                "status": rng.choice(["announced", "in the depot", "in the van"]),
                "insured": 0,
                "point": None,
            }
            for name in rng.sample(PEOPLE, 5)
        ]

    def _parcel(self, parcel: str) -> dict[str, Any]:
        return find(self.parcels, "parcel", parcel, f"PARCEL_UNKNOWN {parcel}")

    def parcels_for(self, receiver: str) -> list[dict[str, Any]]:
        """Find the parcels for a receiver. | receiver: The name of the receiver."""
        return [each for each in self.parcels if receiver.lower() in each["receiver"].lower()]

    def announce_parcel(self, receiver: str, kilos: int) -> dict[str, Any]:
        """Announce a new parcel. | receiver: The name of the receiver. | kilos: The weight in kilos, at most 30."""
        if kilos > 30:
            raise WorldError("TOO_HEAVY: at most 30 kilos")
        self.parcels.append(
            {
                "parcel": f"X{self._number(200)}",
                "receiver": receiver,
                "kilos": kilos,
                "status": "announced",
                "insured": 0,
                "point": None,
            }
        )
        return {"parcel": self.parcels[-1]["parcel"], "price": 4 + kilos}

    def pickup_points(self) -> list[dict[str, Any]]:
        """List the pickup points with their ids, streets and closing times."""
        return self.points

    def redirect(self, parcel: str, point: str) -> dict[str, Any]:
        """Send a parcel to a pickup point instead. It must not be in the van yet. | parcel: The number of the parcel. |
        point: The id of the pickup point."""
        find(self.points, "point", point, f"POINT_UNKNOWN {point}")
        found = self._parcel(parcel)
        if found["status"] == "in the van":
            raise WorldError(f"TOO_LATE: {parcel} is in the van")
        found["point"] = point
        return {"parcel": parcel, "point": point}

    def insure(self, parcel: str, amount: int) -> dict[str, Any]:
        """Insure a parcel. | parcel: The number of the parcel. | amount: The sum insured."""
        self._parcel(parcel)["insured"] = amount
        return {"parcel": parcel, "insured": amount, "fee": round(amount * 0.02, 2)}

    def stop_parcel(self, parcel: str) -> dict[str, Any]:
        """Stop a parcel that was announced only. | parcel: The number of the parcel."""
        found = self._parcel(parcel)
        if found["status"] != "announced":
            raise WorldError(f"TOO_LATE: {parcel} is {found['status']}")
        found["status"] = "stopped"
        return {"parcel": parcel, "status": "stopped"}

    def quote(self, kilos: int, speed: Literal["normal", "express"] = "normal") -> dict[str, Any]:
        """Tell what a parcel would cost. | kilos: The weight in kilos. | speed: How fast it is."""
        return {"price": (4 + kilos) * (2 if speed == "express" else 1)}

    def correct_weight(self, parcel: str, kilos: int) -> dict[str, Any]:
        """Correct the weight of a parcel. | parcel: The number of the parcel. | kilos: The weight in kilos."""
        self._parcel(parcel)["kilos"] = kilos
        return {"parcel": parcel, "kilos": kilos}


@step(Parcels)
def where(t: Talk, w: Parcels, do: Any) -> None:
    parcel = t.pick(w.parcels)
    t.user("ask", name=parcel["receiver"])
    do.parcels_for(receiver=parcel["receiver"])
    t.memory["parcel"] = parcel
    t.say("tell", number=parcel["parcel"], status=parcel["status"])


@step(Parcels)
def announce(t: Talk, w: Parcels, do: Any) -> None:
    name, kilos = t.pick(PEOPLE), t.pick([2, 5, 9, 14, 34])
    if any(each["receiver"] == name for each in w.parcels):
        raise Skip
    t.user("ask", name=name, kilos=kilos, wrong={"kilos": kilos + 1})
    made = do.announce_parcel(receiver=name, kilos=kilos)
    if isinstance(made, Error):
        t.say("tell", kilos=kilos)
        return
    t.memory["parcel"] = w.parcels[-1]
    t.say("tell_2", number=made["parcel"], price=made["price"])


@step(Parcels)
def to_point(t: Talk, w: Parcels, do: Any) -> None:
    parcel = t.recent("parcel") or t.pick(w.parcels)
    hours = [each["open_until"] for each in w.points]
    if hours.count(max(hours)) > 1:
        raise Skip
    which = "that parcel" if t.recent("parcel") else f"the parcel for {parcel['receiver']}"
    t.user("ask", which=which)
    is_known, knows_points = t.knows(parcel["parcel"], parcel["receiver"]), t.knows(w.points[0]["point"])
    with t.together():
        if not is_known:
            do.parcels_for(receiver=parcel["receiver"])
        if not knows_points:
            do.pickup_points()
    best = max(w.points, key=lambda each: each["open_until"])
    t.memory["parcel"] = parcel
    if parcel["status"] == "in the van":
        t.say("tell", number=parcel["parcel"])
        return
    do.redirect(parcel=parcel["parcel"], point=best["point"])
    t.say("tell_2", number=parcel["parcel"], street=best["street"], time=best["open_until"])


@step(Parcels)
def insure_and_weigh(t: Talk, w: Parcels, do: Any) -> None:
    parcel, amount, kilos = t.recent("parcel"), t.rng.randint(1, 9) * 100, t.rng.randint(1, 20)
    if parcel is None:
        raise Skip
    t.user("ask", amount=amount, kilos=kilos)
    with t.together():
        if t.turns[-1].request.startswith("It weighs"):
            do.correct_weight(parcel=parcel["parcel"], kilos=kilos)
            fee = do.insure(parcel=parcel["parcel"], amount=amount)["fee"]
        else:
            fee = do.insure(parcel=parcel["parcel"], amount=amount)["fee"]
            do.correct_weight(parcel=parcel["parcel"], kilos=kilos)
    t.say("tell", number=parcel["parcel"], amount=amount, fee=fee, kilos=kilos)


@step(Parcels)
def stop(t: Talk, w: Parcels, do: Any) -> None:
    parcel = t.recent("parcel")
    if parcel is None or parcel["status"] == "stopped":
        raise Skip
    t.user("ask")
    if isinstance(do.stop_parcel(parcel=parcel["parcel"]), Error):
        t.say("tell", number=parcel["parcel"], status=parcel["status"])
    else:
        t.say("tell_2", number=parcel["parcel"])


@step(Parcels)
def compare_prices(t: Talk, w: Parcels, do: Any) -> None:
    kilos = t.rng.randint(2, 25)
    t.user("ask", kilos=kilos)
    with t.together():
        prices = [do.quote(kilos=kilos, speed=each)["price"] for each in ("normal", "express")]
    t.say("tell", a=prices[0], b=prices[1], c=prices[1] - prices[0])


@step(Parcels)
def insure_each(t: Talk, w: Parcels, do: Any) -> None:
    first, second = t.rng.sample(w.parcels, 2)
    amount = t.rng.randint(1, 9) * 50
    t.user("ask", a=first["receiver"], b=second["receiver"], amount=amount)
    unknown = [each for each in (first, second) if not t.knows(each["parcel"], each["receiver"])]
    with t.together():
        for each in unknown:
            do.parcels_for(receiver=each["receiver"])
    with t.together():
        for each in (first, second):
            do.insure(parcel=each["parcel"], amount=amount)
    t.say("tell", a=first["parcel"], b=second["parcel"], amount=amount)
