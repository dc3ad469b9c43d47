"""Worlds of travel: trains, a boat, and trucks for hire."""

import random
from typing import Any, Literal

from worlds.engine import PEOPLE, Error, Skip, Talk, World, WorldError, find, say_day, step


class Rail(World):
    name = "rail"

    def __init__(self, rng: random.Random) -> None:
        self.stations = [
            {"code": code, "city": city}
            for city, code in {
                "Graz": "GRZ",
                "Lyon": "LYO",
                "Turin": "TRN",
                "Basel": "BSL",
                "Ghent": "GNT",
                "Malmö": "MMX",
            }.items()
        ]
        self.days = [f"2027-{rng.randint(5, 9):02}-{day:02}" for day in rng.sample(range(1, 29), 3)]
        self.trains: list[dict[str, Any]] = []
        codes = [each["code"] for each in self.stations]
        for number in range(14):
            start, end = rng.sample(codes[:4] if number < 9 else codes, 2)
            hour = rng.randint(6, 20)
            self.trains.append(
                {
                    "train": f"R{rng.randint(10, 99)}{number}",
                    "start": start,
                    "end": end,
                    "leaves": f"{hour:02}:{rng.choice(['05', '20', '48'])}",
                    "minutes": rng.randint(70, 300),
                    "price": rng.randint(19, 120),
                    "seats": rng.choice([0, 3, 8]),
                }
            )
        self.tickets: list[dict[str, Any]] = []

    def station_code(self, city: str) -> dict[str, Any]:
        """Look up the code of the station of a city. | city: The city."""
        return find(self.stations, "city", city, f"no station in {city}")

    def find_trains(self, start: str, end: str) -> list[dict[str, Any]]:
        """Find the trains between two stations; they go every day. | start: The code of the station of departure. |
        end: The code of the station of arrival."""
        codes = {each["code"] for each in self.stations}
        if start not in codes or end not in codes:
            raise WorldError("unknown station code")
        return sorted(
            (each for each in self.trains if (each["start"], each["end"]) == (start, end)),
            key=lambda each: each["leaves"],
        )

    def buy_ticket(self, train: str, date: str, passenger: str, first_class: bool = False) -> dict[str, Any]:
        """Buy a ticket for a train; first class costs twice as much. | train: The number of the train. | date: The day,
        as YYYY-MM-DD. | passenger: The name of the passenger. | first_class: Whether it is for first class."""
        found = find(self.trains, "train", train, f"no train {train}")
        if not found["seats"]:
            raise WorldError(f"{train} is sold out")
        self.tickets.append(
            {
                "ticket": f"TK{self._number(310)}",
                "train": train,
                "date": date,
                "passenger": passenger,
                "price": found["price"] * (1 + first_class),
                "extras": [],
            }
        )
        return self.tickets[-1]

    def rebook(self, ticket: str, date: str) -> dict[str, Any]:
        """Change the day of a ticket. | ticket: The number of the ticket. | date: The new day, as YYYY-MM-DD."""
        find(self.tickets, "ticket", ticket, f"no ticket {ticket}")["date"] = date
        return {"ticket": ticket, "date": date}

    def refund_ticket(self, ticket: str) -> dict[str, Any]:
        """Give a ticket back. | ticket: The number of the ticket."""
        found = find(self.tickets, "ticket", ticket, f"no ticket {ticket}")
        self.tickets.remove(found)
        return {"refunded": found["price"]}

    def add_extra(self, ticket: str, extra: Literal["bicycle", "seat", "insurance"]) -> dict[str, Any]:
        """Add an extra to a ticket. | ticket: The number of the ticket. | extra: The extra."""
        found = find(self.tickets, "ticket", ticket, f"no ticket {ticket}")
        found["extras"].append(extra)
        found["price"] += {"bicycle": 9, "seat": 5, "insurance": 12}[extra]
        return {"ticket": ticket, "extras": found["extras"], "price": found["price"]}

    def my_tickets(self) -> list[dict[str, Any]]:
        """List all tickets."""
        return self.tickets

    def delays(self, train: str) -> dict[str, Any]:
        """Tell whether a train is late today. | train: The number of the train."""
        find(self.trains, "train", train, f"no train {train}")
        return {"train": train, "delay_minutes": sum(map(ord, train)) % 3 * 10}


def _routes(w: Rail) -> list[tuple[str, str]]:
    cities = {each["code"]: each["city"] for each in w.stations}
    return [(cities[each["start"]], cities[each["end"]]) for each in w.trains]


def _trains(t: Talk, w: Rail, do: Any, start: str, end: str) -> list[dict[str, Any]]:
    codes = {each["city"]: each["code"] for each in w.stations}
    unknown = [each for each in (start, end) if not t.knows(codes[each], each)]
    with t.together():
        for each in unknown:
            do.station_code(city=each)
    return do.find_trains(start=codes[start], end=codes[end])


@step(Rail)
def ask_trains(t: Talk, w: Rail, do: Any) -> None:
    start, end = t.pick(_routes(w))
    t.user("ask", a=start, b=end)
    found = _trains(t, w, do, start, end)
    t.memory.update(trains=found, figures=("prices", [each["price"] for each in found]))
    listed = "; ".join(
        f"{each['train']}, {each['leaves']}, {each['price']} €, {each['seats'] or 'no'} seats"
        if t.lang == "en"
        else f"{each['train']}, {each['leaves']}, {each['price']} €"
        for each in found
    )
    t.say("tell", a=start, b=end, listed=listed)


@step(Rail)
def buy(t: Talk, w: Rail, do: Any) -> None:
    start, end = t.pick(_routes(w))
    date, name, first = t.pick(w.days), t.pick(PEOPLE), t.chance(0.3)
    trains = sorted((each for each in w.trains if _city(w, each) == (start, end)), key=lambda each: each["price"])
    if len(trains) > 1 and trains[0]["price"] == trains[1]["price"]:
        raise Skip
    t.user("ask", a=start, b=end, day=say_day(t, date), name=name, first=" in first class" if first else "")
    found = sorted(_trains(t, w, do, start, end), key=lambda each: each["price"])
    free = [each for each in found if each["seats"]]
    if not free:
        t.say("tell", a=start, b=end)
        return
    chosen = {"train": free[0]["train"], "date": date, "passenger": name} | ({"first_class": True} if first else {})
    made = do.buy_ticket(**chosen)
    t.memory["ticket"] = w.tickets[-1]
    note = "The cheapest train was sold out. " if free[0] is not found[0] else ""
    t.say(
        "tell_2",
        note=note,
        name=name,
        ticket=made["ticket"],
        train=free[0]["train"],
        leaves=free[0]["leaves"],
        price=made["price"],
    )


def _city(w: Rail, train: dict[str, Any]) -> tuple[str, str]:
    cities = {each["code"]: each["city"] for each in w.stations}
    return cities[train["start"]], cities[train["end"]]


@step(Rail)
def buy_listed(t: Talk, w: Rail, do: Any) -> None:
    trains = t.recent("trains", [])
    if len(trains) < 2:
        raise Skip
    kind, date, name = t.pick(["first", "last", "fastest"]), t.pick(w.days), t.pick(PEOPLE)
    train = {"first": trains[0], "last": trains[-1], "fastest": min(trains, key=lambda each: each["minutes"])}[kind]
    t.user("ask", kind=kind, day=say_day(t, date), name=name)
    if not train["seats"] and t.chance(0.7):
        t.say("tell", train=train["train"])
        return
    made = do.buy_ticket(train=train["train"], date=date, passenger=name)
    if isinstance(made, Error):
        t.say("tell_2", train=train["train"])
        return
    t.memory["ticket"] = w.tickets[-1]
    t.say("tell_3", ticket=made["ticket"], train=train["train"], price=made["price"])


@step(Rail)
def ticket_changes(t: Talk, w: Rail, do: Any) -> None:
    ticket = t.recent("ticket")
    if ticket not in w.tickets:
        raise Skip
    kind, number = t.pick(["day", "extra", "extras", "refund", "late"]), ticket["ticket"]
    if kind == "day":
        date = t.pick([each for each in w.days if each != ticket["date"]])
        t.user("ask", day=say_day(t, date))
        do.rebook(ticket=number, date=date)
        t.say("tell", ticket=number, date=date)
    elif kind == "refund":
        t.user("ask_2")
        done = do.refund_ticket(ticket=number)
        t.memory.pop("ticket")
        t.say("tell_2", price=done["refunded"], ticket=number)
    elif kind == "late":
        t.user("ask_3")
        late = do.delays(train=ticket["train"])["delay_minutes"]
        t.say("tell_3" if late else "tell_4", train=ticket["train"], late=late)
    else:
        extras = t.rng.sample(["bicycle", "seat", "insurance"], 1 if kind == "extra" else 2)
        words = {"bicycle": "I'm taking a bicycle", "seat": "I'd like a reserved seat", "insurance": "I want insurance"}
        t.user("ask_4", words=" and ".join(words[each] for each in extras))
        with t.together():
            for each in extras:
                price = do.add_extra(ticket=number, extra=each)["price"]
        t.say("tell_5", extras=" and ".join(extras), ticket=number, price=price)


class Boat(World):
    name = "boat"

    def __init__(self, rng: random.Random) -> None:
        self.battery = rng.randint(3, 9) * 10
        self.hatches = {each: rng.random() < 0.4 for each in ("fore", "aft", "cabin")}  # whether they are open
        self.shore_power = rng.random() < 0.5
        self.lines = True
        self.motor = False
        self.knots = 0
        self.lights = "off"
        self.pump = False
        self.course = ""
        names = rng.sample(["Gullhaven", "Stone Quay", "Marsh End", "Westerlock", "Elm Bay", "Tidewell"], 5)
        self.harbours = [
            {"harbour": f"HB{rng.randint(10, 99)}", "name": name, "miles": rng.randint(2, 30)} for name in names
        ]

    def boat_status(self) -> dict[str, Any]:
        """Show the battery, hatches, lines, shore power, motor, speed and lights."""
        keys = ("battery", "shore_power", "lines", "motor", "knots", "lights", "pump")
        return {"open_hatches": [key for key, value in self.hatches.items() if value]} | {
            key: getattr(self, key) for key in keys
        }

    def move_hatch(self, hatch: Literal["fore", "aft", "cabin"], open: bool) -> dict[str, Any]:
        """Open or close a hatch. | hatch: Which hatch. | open: True to open it, False to close it."""
        self.hatches[hatch] = open
        return {"hatch": hatch, "open": open}

    def shore_cable(self, connected: bool) -> dict[str, Any]:
        """Connect or disconnect the cable for shore power, which charges the battery. | connected: Whether the cable is
        connected."""
        if connected and not self.lines:
            raise WorldError("tie up first: the lines are released")
        self.shore_power = connected
        return {"shore_power": connected}

    def handle_lines(self, tied: bool) -> dict[str, Any]:
        """Tie the boat up, or release its lines. | tied: True to tie it up, False to release it."""
        if not tied and self.shore_power:
            raise WorldError("the shore cable is still connected")
        if tied and self.knots:
            raise WorldError("the boat is moving; set the speed to 0 first")
        self.lines = tied
        return {"lines": "tied" if tied else "released"}

    def run_motor(self, on: bool) -> dict[str, Any]:
        """Switch the motor on or off. All hatches must be closed to start it. | on: Whether the motor runs."""
        if on and any(self.hatches.values()):
            raise WorldError("hatch open: " + ", ".join(key for key, value in self.hatches.items() if value))
        self.motor, self.knots = on, 0
        return {"motor": on}

    def set_knots(self, knots: int) -> dict[str, Any]:
        """Set the speed. The motor must run and the lines must be released. | knots: The speed in knots, 0 to 12."""
        if not self.motor:
            raise WorldError("the motor is off")
        if self.lines and knots:
            raise WorldError("the lines are tied")
        if knots > 12:
            raise WorldError("12 knots is the highest speed")
        self.knots = knots
        return {"knots": knots}

    def set_lights(self, mode: Literal["off", "anchor", "sailing"]) -> dict[str, Any]:
        """Set the lights. | mode: The mode of the lights."""
        self.lights = mode
        return {"lights": mode}

    def bilge_pump(self, on: bool) -> dict[str, Any]:
        """Switch the pump that takes water out of the boat on or off. | on: Whether it runs."""
        self.pump = on
        return {"pump": on}

    def find_harbour(self, name: str) -> dict[str, Any]:
        """Look up a harbour, its code and its distance from here in miles. | name: The name of the harbour."""
        return find(self.harbours, "name", name, f"no harbour {name}")

    def set_course(self, harbour: str) -> dict[str, Any]:
        """Set the course to a harbour. | harbour: The code of the harbour, such as HB42."""
        found = find(self.harbours, "harbour", harbour, f"no harbour {harbour}")
        self.course = harbour
        return {"course": found["name"], "miles": found["miles"]}

    def reach(self) -> dict[str, Any]:
        """Tell how many miles the battery is good for."""
        return {"battery": self.battery, "miles": self.battery // 4}


@step(Boat)
def start(t: Talk, w: Boat, do: Any) -> None:
    if w.motor:
        raise Skip
    is_told = t.chance(0.4)
    t.user("ask" if is_told else "ask_2")
    if is_told and t.lang == "en":
        opened = do.boat_status()["open_hatches"]
        with t.together():
            for each in opened:
                do.move_hatch(hatch=each, open=False)
            do.run_motor(on=True)
    else:
        opened = [key for key, value in w.hatches.items() if value]
        if isinstance(do.run_motor(on=True), Error):
            with t.together():
                for each in opened:
                    do.move_hatch(hatch=each, open=False)
                do.run_motor(on=True)
    if opened:
        t.say("tell", hatches=", ".join(opened))
    else:
        t.say("tell_2")


@step(Boat)
def leave(t: Talk, w: Boat, do: Any) -> None:
    if not w.lines:
        raise Skip
    t.user("ask")
    if isinstance(do.handle_lines(tied=False), Error):
        with t.together():
            do.shore_cable(connected=False)
            do.handle_lines(tied=False)
        t.say("tell")
    else:
        t.say("tell_2")


@step(Boat)
def sail(t: Talk, w: Boat, do: Any) -> None:
    knots = t.rng.randint(3, 14)
    if not w.motor or w.lines or w.knots == knots:
        raise Skip
    t.user("ask", wrong={"knots": knots - 1 or 1}, knots=knots)
    if isinstance(do.set_knots(knots=knots), Error):
        t.say("tell", knots=knots)
        t.user("ask_2")
        do.set_knots(knots=12)
        t.say("tell_2")
    else:
        t.say("tell_3", knots=knots)


@step(Boat)
def plan_course(t: Talk, w: Boat, do: Any) -> None:
    harbour = t.pick(w.harbours)
    t.user("ask", name=harbour["name"])
    with t.together():
        found = do.find_harbour(name=harbour["name"])
        reach = do.reach()
    if reach["miles"] < found["miles"]:
        t.say("tell", name=harbour["name"], miles=found["miles"], reach=reach["miles"])
    else:
        do.set_course(harbour=found["harbour"])
        t.say("tell_2", name=harbour["name"], miles=found["miles"], reach=reach["miles"])


@step(Boat)
def nearer(t: Talk, w: Boat, do: Any) -> None:
    first, second = t.rng.sample(w.harbours, 2)
    if first["miles"] == second["miles"]:
        raise Skip
    t.user("ask", a=first["name"], b=second["name"])
    with t.together():
        for each in (first, second):
            do.find_harbour(name=each["name"])
    best, other = sorted((first, second), key=lambda each: each["miles"])
    t.memory["fact"] = (f"the distance to {best['name']} in miles", best["miles"])
    do.set_course(harbour=best["harbour"])
    t.say("tell", a=best["name"], b=other["name"], x=best["miles"], y=other["miles"])


@step(Boat)
def evening(t: Talk, w: Boat, do: Any) -> None:
    mode, on = t.pick([each for each in ("off", "anchor", "sailing") if each != w.lights]), not w.pump
    if t.chance(0.5):
        t.user("ask", mode=mode, on="on" if on else "off")
        with t.together():
            do.set_lights(mode=mode)
            do.bilge_pump(on=on)
        t.say("tell", mode=mode, on="on" if on else "off")
    else:
        t.user("ask_2")
        found = do.boat_status()
        hatches = ", ".join(found["open_hatches"])
        t.say(
            "tell_2",
            battery=found["battery"],
            lines="tied" if found["lines"] else "released",
            hatches=f"these hatches are open: {hatches}" if hatches else "all hatches are closed",
            offen=hatches or "–",
            fest={"de": ("los", "fest"), "fr": ("larguées", "en place"), "es": ("sueltas", "puestas")}.get(
                t.lang, ("", "")
            )[found["lines"]],
        )


@step(Boat)
def arrive(t: Talk, w: Boat, do: Any) -> None:
    if w.lines or not w.motor:
        raise Skip
    t.user("ask")
    with t.together():
        if w.knots:
            do.set_knots(knots=0)
        do.handle_lines(tied=True)
        do.run_motor(on=False)
        do.shore_cable(connected=True)
    t.say("tell")


class Freight(World):
    """A desk that hires out trucks. Areas have codes and loads are in pounds, and tools tell both."""

    name = "freight"

    def __init__(self, rng: random.Random) -> None:
        towns = rng.sample(["Leeds", "Porto", "Bremen", "Nantes", "Verona", "Tampere", "Gdansk", "Linz", "Seville"], 5)
        self.areas = dict(zip(towns, map(str, rng.sample(range(10_000, 99_999), 5)), strict=True))
        codes = sorted(self.areas.values())
        lengths = rng.sample(range(60, 900, 5), 10)
        self.roads = {f"{a}-{b}": lengths.pop() for a in codes for b in codes if a < b}
        self.trucks: list[dict[str, Any]] = []
        self._drivers = rng.sample(PEOPLE, 6)

    def _road(self, start: str, end: str) -> int:
        if (key := "-".join(sorted((start, end)))) not in self.roads:
            raise WorldError(f"there is no road from area {start} to area {end}")
        return self.roads[key]

    def area_of_town(self, town: str) -> dict[str, Any]:
        """Look up the code of the area that a town lies in. | town: The name of the town."""
        if town not in self.areas:
            raise WorldError(f"unknown town: {town}")
        return {"town": town, "area": self.areas[town]}

    def road_length(self, start: str, end: str) -> dict[str, Any]:
        """Tell how long the road between two areas is, in kilometres. | start: The code of one area, such as 40213.
        | end: The code of the other area."""
        return {"kilometres": self._road(start, end)}

    def kilos_to_pounds(self, kilos: float) -> dict[str, Any]:
        """Convert kilograms to pounds. | kilos: The weight in kilograms."""
        return {"pounds": round(kilos * 2.2046, 1)}

    def kilometres_to_miles(self, kilometres: float) -> dict[str, Any]:
        """Convert kilometres to miles. | kilometres: The distance in kilometres."""
        return {"miles": round(kilometres * 0.62137, 1)}

    def price_of_load(self, start: str, end: str, pounds: float) -> dict[str, Any]:
        """Tell the price of a transport in €. | start: The code of the area where it begins. | end: The code of the
        area where it ends. | pounds: The weight of the load in pounds."""
        return {"price": round(0.6 * self._road(start, end) + 0.04 * pounds, 2)}

    def hire_truck(self, start: str, end: str, pounds: float, price: float) -> dict[str, Any]:
        """Hire a truck for a load. | start: The code of the area where it begins. | end: The code of the area where it
        ends. | pounds: The weight of the load in pounds. | price: The price, as price_of_load tells it."""
        if price != self.price_of_load(start, end, pounds)["price"]:
            raise WorldError("that is not the price of this load")
        truck = {"truck": f"TK{self._number(410)}", "start": start, "end": end, "pounds": pounds, "price": price}
        self.trucks.append(truck)
        return {"truck": truck["truck"], "driver": self._drivers[len(self.trucks) % 6]}

    def add_load(self, truck: str, pounds: float) -> dict[str, Any]:
        """Put more on a truck. | truck: The number of the truck, such as TK411. | pounds: The weight in pounds."""
        found = find(self.trucks, "truck", truck, f"no truck {truck}")
        found["pounds"] = round(found["pounds"] + pounds, 1)
        return {"truck": truck, "pounds": found["pounds"]}

    def release_truck(self, truck: str) -> dict[str, Any]:
        """Give a truck back that is not needed any more. | truck: The number of the truck."""
        self.trucks.remove(find(self.trucks, "truck", truck, f"no truck {truck}"))
        return {"released": truck}


def _areas(t: Talk, w: Freight, do: Any, *towns: str) -> list[str]:
    """Look up the areas of towns that are not known yet."""
    for each in towns:
        if not t.knows(w.areas[each], each):
            do.area_of_town(town=each)
    return [w.areas[each] for each in towns]


@step(Freight)
def how_far(t: Talk, w: Freight, do: Any) -> None:
    a, b = t.rng.sample([*w.areas], 2)
    is_in_miles = t.chance(0.5)
    t.user("ask_2" if is_in_miles else "ask", a=a, b=b)
    with t.together():
        start, end = _areas(t, w, do, a, b)
    length = do.road_length(start=start, end=end)["kilometres"]
    t.memory["fact"] = (f"the road from {a} to {b} in kilometres", length)
    if is_in_miles:
        t.say("tell_2", a=a, b=b, miles=do.kilometres_to_miles(kilometres=length)["miles"])
    else:
        t.say("tell", a=a, b=b, length=length)


@step(Freight)
def which_is_nearer(t: Talk, w: Freight, do: Any) -> None:
    a, b, c = t.rng.sample([*w.areas], 3)
    t.user("ask", a=a, b=b, c=c)
    with t.together():
        start, *ends = _areas(t, w, do, a, b, c)
    with t.together():
        lengths = [do.road_length(start=start, end=end)["kilometres"] for end in ends]
    nearer = b if lengths[0] < lengths[1] else c
    t.say("tell", b=b, c=c, x=lengths[0], y=lengths[1], nearer=nearer)


@step(Freight)
def ask_price(t: Talk, w: Freight, do: Any) -> None:
    a, b = t.rng.sample([*w.areas], 2)
    kilos = t.rng.randint(4, 60) * 25
    is_order = t.chance(0.6)
    t.user("ask_2" if is_order else "ask", wrong={"kilos": kilos + 50}, a=a, b=b, kilos=kilos)
    with t.together():
        start, end = _areas(t, w, do, a, b)
        pounds = do.kilos_to_pounds(kilos=kilos)["pounds"]
    price = do.price_of_load(start=start, end=end, pounds=pounds)["price"]
    load = {"start": start, "end": end, "pounds": pounds, "price": price}
    if is_order:
        made = do.hire_truck(**load)
        t.memory["truck"] = made["truck"]
        t.say("tell_2", truck=made["truck"], driver=made["driver"], price=price, a=a, b=b)
    else:
        t.memory["load"] = load
        t.say("tell", price=price, a=a, b=b, kilos=kilos)


@step(Freight)
def take_offer(t: Talk, w: Freight, do: Any) -> None:
    load = t.recent("load")
    if load is None:
        raise Skip
    t.user("ask")
    made = do.hire_truck(**load)
    t.memory["truck"] = made["truck"]
    t.say("tell", truck=made["truck"], driver=made["driver"])


@step(Freight)
def more_or_nothing(t: Talk, w: Freight, do: Any) -> None:
    truck = t.recent("truck")
    if truck is None:
        raise Skip
    if t.chance(0.3):
        t.user("ask_2")
        do.release_truck(truck=truck)
        t.memory.pop("truck")
        t.say("tell_2", truck=truck)
        return
    kilos = t.rng.randint(1, 12) * 25
    t.user("ask", kilos=kilos)
    pounds = do.kilos_to_pounds(kilos=kilos)["pounds"]
    total = do.add_load(truck=truck, pounds=pounds)["pounds"]
    t.say("tell", truck=truck, pounds=pounds, total=total)
