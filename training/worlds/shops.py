"""Worlds of guests and customers: a shop and restaurant tables."""

import random
from typing import Any, Literal, TypedDict

from worlds.engine import PEOPLE, PLACES, Error, Skip, Talk, World, WorldError, find, say_day, step


class Shop(World):
    name = "shop"

    def __init__(self, rng: random.Random) -> None:
        kinds = {"lamp": (15, 90), "kettle": (20, 70), "blanket": (10, 60), "chair": (30, 150), "clock": (8, 50)}
        brands = ["Nordal", "Brisa", "Okto", "Velda", "Pino", "Lumo"]
        self.goods = [
            {
                "sku": f"{kind[:2].upper()}{rng.randint(100, 999)}",
                "name": f"{brand} {kind}",
                "price": round(rng.uniform(*kinds[kind]), 2),
                "stock": rng.choice([0, 2, 5, 9, 14]),
            }
            for kind in rng.sample(list(kinds), 4)
            for brand in rng.sample(brands, 3)
        ]
        self.basket: list[dict[str, Any]] = []
        self.voucher = ""
        self.addresses = {"home": "12 Mill Lane", "office": "3 Dock Street"}
        self.orders: list[dict[str, Any]] = [
            {
                "order": f"O-{rng.randint(4000, 4999)}",
                "items": [{"sku": self.goods[0]["sku"], "quantity": 1}],
                "total": self.goods[0]["price"],
                "status": rng.choice(["packed", "on its way", "delivered"]),
            }
        ]

    def _good(self, sku: str) -> dict[str, Any]:
        return find(self.goods, "sku", sku, f"SKU {sku} not found")

    def _total(self) -> float:
        total = sum(self._good(each["sku"])["price"] * each["quantity"] for each in self.basket)
        return round(total * (0.9 if self.voucher else 1), 2)

    def search_goods(self, word: str, max_price: float | None = None) -> list[dict[str, Any]]:
        """Search the shop; returns goods with their SKU, price and stock. | word: A word of the name. | max_price: The
        highest price."""
        return [
            each
            for each in self.goods
            if word.lower() in each["name"].lower() and (max_price is None or each["price"] <= max_price)
        ]

    def add_to_basket(self, sku: str, quantity: int = 1) -> dict[str, Any]:
        """Put goods into the basket. | sku: The SKU of the goods. | quantity: How many."""
        good = self._good(sku)
        if good["stock"] < quantity:
            raise WorldError(f"only {good['stock']} of {sku} in stock")
        if any(each["sku"] == sku for each in self.basket):
            raise WorldError(f"{sku} is in the basket already; change its quantity")
        self.basket.append({"sku": sku, "quantity": quantity})
        return {"basket": self.basket, "total": self._total()}

    def change_basket(self, sku: str, quantity: int) -> dict[str, Any]:
        """Change how many of something are in the basket; 0 takes it out. | sku: The SKU. | quantity: The new
        quantity."""
        item = find(self.basket, "sku", sku, f"{sku} is not in the basket")
        if self._good(sku)["stock"] < quantity:
            raise WorldError(f"only {self._good(sku)['stock']} of {sku} in stock")
        item["quantity"] = quantity
        self.basket = [each for each in self.basket if each["quantity"]]
        return {"basket": self.basket, "total": self._total()}

    def view_basket(self) -> dict[str, Any]:
        """Show the basket and its total."""
        return {"basket": self.basket, "total": self._total()}

    def use_voucher(self, code: str) -> dict[str, Any]:
        """Use a voucher code for the basket. | code: The code."""
        if not code.startswith("SAVE"):
            raise WorldError(f"voucher {code} is not valid")
        self.voucher = code
        return {"voucher": code, "discount": "10 %", "total": self._total()}

    def order_basket(self, address: Literal["home", "office"]) -> dict[str, Any]:
        """Order what is in the basket. | address: Which of the saved addresses it is sent to."""
        if not self.basket:
            raise WorldError("the basket is empty")
        made = {
            "order": f"O-{self._number(5000)}",
            "items": self.basket,
            "total": self._total(),
            "status": "received",
        }
        self.orders.append(made)
        for each in self.basket:
            self._good(each["sku"])["stock"] -= each["quantity"]
        self.basket, self.voucher = [], ""
        return {"order": made["order"], "total": made["total"], "sent_to": self.addresses[address]}

    def past_orders(self) -> list[dict[str, Any]]:
        """List all orders, the oldest first."""
        return self.orders

    def order_status(self, order: str) -> dict[str, Any]:
        """Tell where an order is. | order: The number of the order, such as O-4711."""
        found = find(self.orders, "order", order, f"order {order} not found")
        return {"order": order, "status": found["status"]}

    def withdraw_order(self, order: str) -> dict[str, Any]:
        """Withdraw an order that has not left yet. | order: The number of the order."""
        found = find(self.orders, "order", order, f"order {order} not found")
        if found["status"] not in ("received", "packed"):
            raise WorldError(f"order {order} is {found['status']} and can no longer be withdrawn")
        found["status"] = "withdrawn"
        return {"order": order, "status": "withdrawn"}

    def send_back(self, order: str, sku: str, reason: str) -> dict[str, Any]:
        """Announce that goods of a delivered order are sent back. | order: The number of the order. | sku: The SKU of
        the goods. | reason: Why."""
        found = find(self.orders, "order", order, f"order {order} not found")
        find(found["items"], "sku", sku, f"{sku} is not part of {order}")
        if found["status"] != "delivered":
            raise WorldError(f"order {order} is not delivered yet, it is {found['status']}")
        found["status"] = "being returned"
        return {"order": order, "label": f"R-{sku}", "reason": reason}


@step(Shop)
def search(t: Talk, w: Shop, do: Any) -> None:
    kind = t.pick([each["name"].split()[1] for each in w.goods])
    top = t.pick([None, None, 40, 60])
    t.user(
        "ask",
        kind=kind,
        under=f" up to {top} euros" if top else "",
        bis={"de": f" bis {top} Euro", "fr": f" jusqu'à {top} euros", "es": f" hasta {top} euros"}.get(t.lang, "")
        if top
        else "",
    )
    found = do.search_goods(word=kind, max_price=top) if top else do.search_goods(word=kind)
    t.memory["goods"] = found
    t.memory["figures"] = ("prices", [each["price"] for each in found])
    if found:
        t.memory["fact"] = (f"the price of the {found[0]['name']}", found[0]["price"])
    listed = ", ".join(f"{each['name']} ({each['price']:.2f}, {each['stock']})" for each in found)
    if found:
        t.say("tell", listed=listed)
    else:
        t.say("tell_2")


@step(Shop)
def take_listed(t: Talk, w: Shop, do: Any) -> None:
    found = t.recent("goods", [])
    if len(found) < 2:
        raise Skip
    place, count = t.pick([0, 1, -1]), t.pick([1, 1, 2, 3])
    kind = t.pick(["place", "cheapest", "dearest"])
    good = {
        "place": found[place],
        "cheapest": min(found, key=lambda each: each["price"]),
        "dearest": max(found, key=lambda each: each["price"]),
    }[kind]
    if any(each["sku"] == good["sku"] for each in w.basket):
        raise Skip
    word = PLACES[place] if kind == "place" else {"cheapest": "cheapest", "dearest": "most expensive"}[kind]
    if t.lang != "en":
        word = {
            "de": {"cheapest": "das billigste", "dearest": "das teuerste"},
            "fr": {"cheapest": "le moins cher", "dearest": "le plus cher"},
            "es": {"cheapest": "el más barato", "dearest": "el más caro"},
        }[t.lang].get(kind, "")
        if not word:
            raise Skip
    t.user("ask", count=count, word=word, lacking=count > 1)
    now = next(each for each in w.goods if each["sku"] == good["sku"])["stock"]
    done = do.add_to_basket(sku=good["sku"], quantity=count)
    if isinstance(done, Error):
        t.say("tell", stock=now, name=good["name"])
        return
    t.memory["good"] = good
    t.say("tell_2", count=count, name=good["name"], total=done["total"])


@step(Shop)
def take_two(t: Talk, w: Shop, do: Any) -> None:
    first, second = t.rng.sample(
        [each for each in w.goods if each["stock"] and not any(item["sku"] == each["sku"] for item in w.basket)], 2
    )
    t.user("ask", a=first["name"], b=second["name"])
    unknown = [each for each in (first, second) if not t.knows(each["sku"], each["name"])]
    with t.together():
        for each in unknown:
            do.search_goods(word=each["name"])
    with t.together():
        do.add_to_basket(sku=first["sku"])
        done = do.add_to_basket(sku=second["sku"])
    t.memory["good"] = second
    t.say("tell", total=done["total"])


@step(Shop)
def change_mind(t: Talk, w: Shop, do: Any) -> None:
    good = t.recent("good")
    item = next((each for each in w.basket if good and each["sku"] == good["sku"]), None)
    if item is None:
        raise Skip
    count = t.pick([each for each in (0, 1, 2, 3) if each != item["quantity"]])
    if count == 0:
        t.user("ask", name=good["name"])
    else:
        t.user("ask_2", count=count, name=good["name"])
    done = do.change_basket(sku=good["sku"], quantity=count)
    if isinstance(done, Error):
        t.say("tell", reason=str(done))
    else:
        t.say("tell_2", total=done["total"])


@step(Shop)
def pay_basket(t: Talk, w: Shop, do: Any) -> None:
    if not w.basket:
        raise Skip
    place, code = (
        t.pick(["home", "office"]),
        t.pick(["", f"SAVE{t.rng.randint(10, 99)}", f"LUCK{t.rng.randint(10, 99)}"]),
    )
    if code and t.lang == "en":
        t.user("ask", code=code, place=place)
        if code.startswith("LUCK") and "without" not in t.turns[-1].request:
            do.use_voucher(code=code)
            t.say("tell", code=code)
            t.user("ask_2")
        elif code.startswith("LUCK"):
            do.use_voucher(code=code)
        else:
            do.use_voucher(code=code)
    else:
        t.user(
            "ask_3",
            place=place,
            ort={
                "home": {"de": "zu Hause", "fr": "de la maison", "es": "de casa"},
                "office": {"de": "im Büro", "fr": "du bureau", "es": "de la oficina"},
            }[place].get(t.lang, ""),
        )
    made = do.order_basket(address=place)
    t.memory["order"] = made["order"]
    t.say("tell_2", order=made["order"], total=made["total"], street=made["sent_to"])


@step(Shop)
def where_is_order(t: Talk, w: Shop, do: Any) -> None:
    order = w.orders[-1]
    is_new = t.memory.get("order") == order["order"]
    t.user("ask" if is_new else "ask_2")
    if not t.knows(order["order"]):
        do.past_orders()
    else:
        do.order_status(order=order["order"])
    t.memory["order"] = order["order"]
    t.say("tell", order=order["order"], status=order["status"])


@step(Shop)
def undo_order(t: Talk, w: Shop, do: Any) -> None:
    order = t.recent("order")
    found = next((each for each in w.orders if each["order"] == order), None)
    if found is None or found["status"] in ("withdrawn", "being returned"):
        raise Skip
    good = find(w.goods, "sku", found["items"][0]["sku"], "")
    if found["status"] == "delivered":
        reason = t.pick(["it is scratched", "it is the wrong colour", "it came too late"])
        t.user("ask", reason=reason)
        do.send_back(order=order, sku=good["sku"], reason=reason)
        t.say("tell", sku=good["sku"])
        return
    t.user("ask_2")
    if isinstance(do.withdraw_order(order=order), Error):
        t.say("tell_2", order=order, status=found["status"])
    else:
        t.say("tell_3", order=order)


class Guest(TypedDict):
    name: str
    diet: Literal["any", "vegan", "no gluten", "no fish"]


class Tables(World):
    name = "tables"

    def __init__(self, rng: random.Random) -> None:
        names = rng.sample(
            ["Olive Yard", "Red Lantern", "Casa Mirto", "The Anchor", "Blue Door", "Saffron", "Old Mill", "Miso House"],
            6,
        )
        self.houses = [
            {
                "house": f"h{rng.randint(10, 99)}{i}",
                "name": name,
                "city": ["Porto", "Leeds"][i % 2],
                "food": rng.choice(["fish", "vegan", "pizza", "noodles"]),
                "stars": round(rng.uniform(3, 5), 1),
            }
            for i, name in enumerate(names)
        ]
        self.days = [f"2027-{rng.randint(4, 8):02}-{day:02}" for day in rng.sample(range(1, 29), 3)]
        self.full = {
            f"{house['house']} {day}": rng.sample(["18:00", "19:00", "20:00", "21:00"], rng.choice([1, 2, 4]))
            for house in self.houses
            for day in self.days
        }
        self.reserved: list[dict[str, Any]] = []

    def find_restaurants(
        self, city: str, food: Literal["fish", "vegan", "pizza", "noodles"] | None = None
    ) -> list[dict[str, Any]]:
        """Find restaurants of a city, with their ids. | city: The city. | food: The kind of food."""
        return [each for each in self.houses if each["city"].lower() == city.lower() and food in (None, each["food"])]

    def free_times(self, house: str, date: str) -> list[str]:
        """List the times of an evening at which a restaurant has a free table. | house: The id of the restaurant. |
        date: The day, as YYYY-MM-DD."""
        find(self.houses, "house", house, f"no restaurant {house}")
        return [
            each for each in ("18:00", "19:00", "20:00", "21:00") if each not in self.full.get(f"{house} {date}", [])
        ]

    def reserve(self, house: str, date: str, time: str, people: int, name: str) -> dict[str, Any]:
        """Reserve a table. | house: The id of the restaurant. | date: The day, as YYYY-MM-DD. | time: The time, as
        HH:MM. | people: For how many people. | name: The name of the guest."""
        if time not in self.free_times(house, date):
            raise WorldError(f"fully booked at {time}")
        self.reserved.append(
            {
                "reservation": f"RS{self._number(700)}",
                "house": house,
                "date": date,
                "time": time,
                "people": people,
                "name": name,
                "wishes": "",
            }
        )
        self.full.setdefault(f"{house} {date}", []).append(time)
        return {"reservation": self.reserved[-1]["reservation"], "date": date, "time": time, "people": people}

    def my_reservations(self) -> list[dict[str, Any]]:
        """List all reservations."""
        return self.reserved

    def resize_party(self, reservation: str, people: int) -> dict[str, Any]:
        """Change the number of people of a reservation. | reservation: The code of the reservation. | people: The new
        number."""
        if people > 8:
            raise WorldError("tables have 8 seats at most")
        find(self.reserved, "reservation", reservation, f"unknown reservation {reservation}")["people"] = people
        return {"reservation": reservation, "people": people}

    def retime(self, reservation: str, time: str) -> dict[str, Any]:
        """Change the time of a reservation on the same day. | reservation: The code of the reservation. | time: The new
        time, as HH:MM."""
        found = find(self.reserved, "reservation", reservation, f"unknown reservation {reservation}")
        if time not in self.free_times(found["house"], found["date"]):
            raise WorldError(f"fully booked at {time}")
        self.full[f"{found['house']} {found['date']}"].remove(found["time"])
        self.full[f"{found['house']} {found['date']}"].append(time)
        found["time"] = time
        return {"reservation": reservation, "time": time}

    def note_wish(self, reservation: str, wish: str) -> dict[str, Any]:
        """Note a wish of the guests, such as a high chair. | reservation: The code of the reservation. | wish: The
        wish."""
        find(self.reserved, "reservation", reservation, f"unknown reservation {reservation}")["wishes"] = wish
        return {"reservation": reservation, "wish": wish}

    def tell_guests(self, reservation: str, guests: list[Guest]) -> dict[str, Any]:
        """Tell the restaurant who comes and what they eat. | reservation: The code of the reservation. |
        guests: The guests, each with a name and a diet."""
        find(self.reserved, "reservation", reservation, f"unknown reservation {reservation}")["guests"] = guests
        return {"reservation": reservation, "guests": guests}

    def give_up_table(self, reservation: str) -> dict[str, Any]:
        """Cancel a reservation. | reservation: The code of the reservation."""
        found = find(self.reserved, "reservation", reservation, f"unknown reservation {reservation}")
        self.reserved.remove(found)
        self.full[f"{found['house']} {found['date']}"].remove(found["time"])
        return {"cancelled": reservation}


@step(Tables)
def list_houses(t: Talk, w: Tables, do: Any) -> None:
    city = t.pick(["Porto", "Leeds"])
    t.user("ask", city=city)
    found = do.find_restaurants(city=city)
    t.memory["houses"] = found
    listed = ", ".join(f"{each['name']} ({each['food']}, {each['stars']})" for each in found)
    t.say("tell", city=city, listed=listed)


@step(Tables)
def reserve_best(t: Talk, w: Tables, do: Any) -> None:
    date, time, people, name = t.pick(w.days), t.pick(["18:00", "19:00", "20:00"]), t.rng.randint(2, 7), t.pick(PEOPLE)
    later = f"{int(time[:2]) + 1}:00"
    houses = t.recent("houses", [])
    place = t.pick(list(range(len(houses)))) if houses and t.chance(0.6) else None
    house = find(w.houses, "house", houses[place]["house"], "") if place is not None else t.pick(w.houses)
    if all(each in w.full.get(f"{house['house']} {date}", []) for each in (time, later)):
        raise Skip
    which = f"the {PLACES[place]} one" if place is not None else f"{house['name']} in {house['city']}"
    t.user(
        "ask",
        wrong={"people": people + 1},
        which=which,
        day=say_day(t, date),
        time=time,
        later=later,
        people=people,
        name=name,
    )
    if not t.knows(house["house"], house["name"]):
        do.find_restaurants(city=house["city"])
    made = do.reserve(house=house["house"], date=date, time=time, people=people, name=name)
    if isinstance(made, Error):
        made = do.reserve(house=house["house"], date=date, time=later, people=people, name=name)
        t.say("tell", time=time, later=later, house=house["name"], code=made["reservation"])
    else:
        t.say("tell_2", house=house["name"], time=time, code=made["reservation"])
    t.memory["reservation"] = w.reserved[-1]


@step(Tables)
def ask_times(t: Talk, w: Tables, do: Any) -> None:
    house, date = t.pick(w.houses), t.pick(w.days)
    t.user("ask", name=house["name"], city=house["city"], day=say_day(t, date))
    if not t.knows(house["house"], house["name"]):
        do.find_restaurants(city=house["city"])
    times = do.free_times(house=house["house"], date=date)
    if times:
        t.say("tell", times=", ".join(times))
    else:
        t.say("tell_2", name=house["name"])


@step(Tables)
def alter_reservation(t: Talk, w: Tables, do: Any) -> None:
    found = t.recent("reservation")
    if found not in w.reserved:
        raise Skip
    kind = t.pick(["people", "time", "wish", "both", "cancel"])
    code = found["reservation"]
    if kind == "people":
        people = t.pick([4, 5, 6, 9])
        t.user("ask", people=people)
        if isinstance(do.resize_party(reservation=code, people=people), Error):
            t.say("tell", people=found["people"])
        else:
            t.say("tell_2", people=people)
    elif kind == "time":
        time = t.pick([each for each in ("18:00", "19:00", "20:00", "21:00") if each != found["time"]])
        t.user("ask_2", time=time)
        if isinstance(do.retime(reservation=code, time=time), Error):
            t.say("tell_3", time=time, old=found["time"])
        else:
            t.say("tell_4", time=time)
    elif kind == "wish":
        wish = t.pick(["a table by the window", "a high chair", "no nuts", "a quiet corner"])
        t.user("ask_3", wish=wish)
        do.note_wish(reservation=code, wish=wish)
        t.say("tell_5", code=code, wish=wish)
    elif kind == "both":
        people, wish = t.pick([3, 4, 5]), t.pick(["a birthday candle", "space for a pram"])
        t.user("ask_4", people=people, wish=wish)
        with t.together():
            do.resize_party(reservation=code, people=people)
            do.note_wish(reservation=code, wish=wish)
        t.say("tell_6", people=people, wish=wish)
    else:
        t.user("ask_5")
        do.give_up_table(reservation=code)
        t.memory.pop("reservation")
        t.say("tell_7", code=code)


@step(Tables)
def who_eats_what(t: Talk, w: Tables, do: Any) -> None:
    found = t.recent("reservation")
    if found not in w.reserved:
        raise Skip
    names, diets = t.rng.sample(PEOPLE, 2), t.rng.sample(["vegan", "no gluten", "no fish"], 2)
    words = {"vegan": "is vegan", "no gluten": "eats no gluten", "no fish": "eats no fish"}
    t.user("ask", a=names[0], b=names[1], x=words[diets[0]], y=words[diets[1]])
    guests = [{"name": name, "diet": diet} for name, diet in zip(names, diets, strict=True)]
    do.tell_guests(reservation=found["reservation"], guests=guests)
    t.memory["reservation"] = found
    t.say("tell", a=names[0], b=names[1], x=diets[0], y=diets[1])


@step(Tables)
def list_mine(t: Talk, w: Tables, do: Any) -> None:
    if not w.reserved:
        raise Skip
    t.user("ask")
    listed = "; ".join(
        f"{each['reservation']}: {each['date']} {each['time']} ({each['people']})" for each in do.my_reservations()
    )
    t.say("tell", listed=listed)
