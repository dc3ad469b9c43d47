"""Worlds of money: a bank and a depot of funds."""

import random
from collections.abc import Sequence
from typing import Any, Literal

from worlds.engine import PEOPLE, PLACES, Error, Skip, Talk, World, WorldError, find, step


class Bank(World):
    name = "bank"

    def __init__(self, rng: random.Random) -> None:
        self.accounts = [
            {"account": f"AC{rng.randint(100, 999)}", "kind": kind, "balance": rng.randint(10, 400) * 10}
            for kind in ("current", "savings", "holiday")
        ]
        self.payees = [
            {"payee": f"PY{rng.randint(1000, 9999)}", "name": name}
            for name in rng.sample([*PEOPLE[:8], "City Gas", "Nova Rent", "Tennis Club"], 6)
        ]
        self.payments: list[dict[str, Any]] = []
        self.standing: list[dict[str, Any]] = []
        self.cards = [
            {"card": f"CD{rng.randint(10, 99)}", "kind": kind, "limit": 500, "locked": False}
            for kind in ("debit", "credit")
        ]

    def _take(self, account: str, amount: float) -> dict[str, Any]:
        found = find(self.accounts, "account", account, f"unknown account {account}")
        if found["balance"] < amount:
            raise WorldError(f"insufficient funds: {found['balance']} on {account}")
        return found

    def show_accounts(self) -> list[dict[str, Any]]:
        """Show all accounts with their balances."""
        return self.accounts

    def find_payee(self, name: str) -> list[dict[str, Any]]:
        """Find somebody who was paid before. | name: The name or a part of it."""
        return [each for each in self.payees if name.lower() in each["name"].lower()]

    def save_payee(self, name: str, iban: str) -> dict[str, Any]:
        """Save a new payee. | name: The name. | iban: The IBAN."""
        self.payees.append({"payee": f"PY{self._number(9990)}", "name": name})
        return self.payees[-1]

    def pay(self, account: str, payee: str, amount: float, purpose: str = "") -> dict[str, Any]:
        """Pay money to a payee. | account: The account that is charged, such as AC123. | payee: The id of the payee,
        such as PY1234. | amount: How much. | purpose: What it is for."""
        find(self.payees, "payee", payee, f"unknown payee {payee}")
        found = self._take(account, amount)
        found["balance"] -= amount
        self.payments.append(
            {
                "payment": f"TX{self._number(800)}",
                "account": account,
                "payee": payee,
                "amount": amount,
                "purpose": purpose,
            }
        )
        return {"payment": self.payments[-1]["payment"], "amount": amount, "balance": found["balance"]}

    def shift_money(self, source: str, target: str, amount: float) -> dict[str, Any]:
        """Move money between two accounts of one's own. | source: The account that is charged. | target: The account
        that receives. | amount: How much."""
        find(self.accounts, "account", target, f"unknown account {target}")
        found = self._take(source, amount)
        found["balance"] -= amount
        find(self.accounts, "account", target, "")["balance"] += amount
        return {source: found["balance"], target: find(self.accounts, "account", target, "")["balance"]}

    def recall_payment(self, payment: str) -> dict[str, Any]:
        """Call a payment of today back. | payment: The id of the payment."""
        found = find(self.payments, "payment", payment, f"unknown payment {payment}")
        self.payments.remove(found)
        find(self.accounts, "account", found["account"], "")["balance"] += found["amount"]
        return {"recalled": payment, "amount": found["amount"]}

    def recent_payments(self) -> list[dict[str, Any]]:
        """List the payments of today."""
        return self.payments

    def set_up_standing(self, account: str, payee: str, amount: float, day: int) -> dict[str, Any]:
        """Set up a monthly standing order. | account: The account that is charged. | payee: The id of the payee. |
        amount: How much. | day: The day of the month."""
        find(self.payees, "payee", payee, f"unknown payee {payee}")
        if not 1 <= day <= 28:
            raise WorldError("the day must be between 1 and 28")
        self.standing.append(
            {
                "standing": f"SO{self._number(20)}",
                "account": account,
                "payee": payee,
                "amount": amount,
                "day": day,
            }
        )
        return self.standing[-1]

    def end_standing(self, standing: str) -> dict[str, Any]:
        """End a standing order. | standing: The id of the standing order."""
        self.standing.remove(find(self.standing, "standing", standing, f"unknown standing order {standing}"))
        return {"ended": standing}

    def show_cards(self) -> list[dict[str, Any]]:
        """Show the bank cards."""
        return self.cards

    def lock_card(self, card: str, locked: bool = True) -> dict[str, Any]:
        """Lock or unlock a card. | card: The id of the card. | locked: Whether it is locked."""
        find(self.cards, "card", card, f"unknown card {card}")["locked"] = locked
        return {"card": card, "locked": locked}

    def limit_card(self, card: str, limit: int) -> dict[str, Any]:
        """Set how much a card may pay on a day. | card: The id of the card. | limit: The amount."""
        find(self.cards, "card", card, f"unknown card {card}")["limit"] = limit
        return {"card": card, "limit": limit}


KINDS = {
    "current": {"de": "Girokonto", "fr": "compte courant", "es": "cuenta corriente"},
    "savings": {"de": "Sparkonto", "fr": "compte d'épargne", "es": "cuenta de ahorros"},
    "holiday": {"de": "Urlaubskonto", "fr": "compte vacances", "es": "cuenta de vacaciones"},
}


@step(Bank)
def balances(t: Talk, w: Bank, do: Any) -> None:
    account = t.pick(w.accounts)
    t.user("ask", kind=KINDS[account["kind"]].get(t.lang, account["kind"]))
    found = do.show_accounts()
    t.memory.update(
        account=account,
        figures=("balances", [each["balance"] for each in found]),
        fact=(f"the balance of the {account['kind']} account", account["balance"]),
    )
    t.say("tell", kind=KINDS[account["kind"]].get(t.lang, account["kind"]), balance=account["balance"])


@step(Bank)
def pay_someone(t: Talk, w: Bank, do: Any) -> None:
    account, payee, amount = t.pick(w.accounts), t.pick(w.payees), t.rng.randint(2, 90) * 5
    purpose = t.pick(["rent", "tickets", "dinner", "fee", "gift"])
    t.user(
        "ask",
        wrong={"amount": amount + 10},
        amount=amount,
        name=payee["name"],
        kind=KINDS[account["kind"]].get(t.lang, account["kind"]),
        purpose=purpose,
    )
    needs = [not t.knows(payee["payee"], payee["name"]), not t.knows(account["account"], account["kind"])]
    with t.together():
        if needs[0]:
            do.find_payee(name=payee["name"])
        if needs[1]:
            do.show_accounts()
    if account["balance"] < amount and needs[1]:
        t.say(
            "tell", kind=KINDS[account["kind"]].get(t.lang, account["kind"]), balance=account["balance"], amount=amount
        )
        return
    done = do.pay(account=account["account"], payee=payee["payee"], amount=amount, purpose=purpose)
    if isinstance(done, Error):
        t.say("tell_2", kind=KINDS[account["kind"]].get(t.lang, account["kind"]), balance=account["balance"])
        return
    t.memory["payment"] = done["payment"]
    t.say("tell_3", amount=amount, name=payee["name"], balance=done["balance"])


@step(Bank)
def recall(t: Talk, w: Bank, do: Any) -> None:
    payment = t.recent("payment")
    if payment is None:
        raise Skip
    t.user("ask")
    done = do.recall_payment(payment=payment)
    t.say("tell", amount=done["amount"])


@step(Bank)
def fill_up(t: Talk, w: Bank, do: Any) -> None:
    source, target = t.rng.sample(w.accounts, 2)
    goal = t.rng.randint(1, 9) * 100 + 1000
    missing = goal - target["balance"]
    if not 0 < missing <= source["balance"] or t.lang != "en":
        raise Skip
    t.user("ask", target=target["kind"], goal=goal, source=source["kind"])
    do.show_accounts()
    do.shift_money(source=source["account"], target=target["account"], amount=missing)
    t.say("tell", missing=missing, target=target["kind"], goal=goal)


@step(Bank)
def shift(t: Talk, w: Bank, do: Any) -> None:
    source, target = t.rng.sample(w.accounts, 2)
    amount = t.rng.randint(1, 30) * 10
    if amount > source["balance"]:
        raise Skip
    t.user(
        "ask",
        wrong={"amount": amount + 100},
        amount=amount,
        a=KINDS[source["kind"]].get(t.lang, source["kind"]),
        b=KINDS[target["kind"]].get(t.lang, target["kind"]),
    )
    if not (t.knows(source["account"], source["kind"]) and t.knows(target["account"], target["kind"])):
        do.show_accounts()
    done = do.shift_money(source=source["account"], target=target["account"], amount=amount)
    t.say(
        "tell",
        a=KINDS[source["kind"]].get(t.lang, source["kind"]),
        b=KINDS[target["kind"]].get(t.lang, target["kind"]),
        x=done[source["account"]],
        y=done[target["account"]],
    )


@step(Bank)
def standing_order(t: Talk, w: Bank, do: Any) -> None:
    account, payee, amount, day = (
        t.pick(w.accounts),
        t.pick(w.payees),
        t.rng.randint(1, 60) * 10,
        t.pick([1, 5, 15, 30]),
    )
    t.user("ask", amount=amount, name=payee["name"], day=day, kind=account["kind"])
    needs = [not t.knows(payee["payee"], payee["name"]), not t.knows(account["account"], account["kind"])]
    with t.together():
        if needs[0]:
            do.find_payee(name=payee["name"])
        if needs[1]:
            do.show_accounts()
    made = do.set_up_standing(account=account["account"], payee=payee["payee"], amount=amount, day=day)
    if isinstance(made, Error):
        t.say("tell", day=day)
        t.user("ask_2")
        made = do.set_up_standing(account=account["account"], payee=payee["payee"], amount=amount, day=28)
    t.say("tell_2", name=payee["name"], amount=amount, day=made["day"], standing=made["standing"])
    if t.chance(0.3):
        t.user("ask_3")
        do.end_standing(standing=made["standing"])
        t.say("tell_3", standing=made["standing"])


@step(Bank)
def card(t: Talk, w: Bank, do: Any) -> None:
    found = t.pick(w.cards)
    if t.chance(0.5) and not found["locked"]:
        t.user("ask", kind=found["kind"])
        if not t.knows(found["card"], found["kind"]):
            do.show_cards()
        do.lock_card(card=found["card"])
        t.say("tell", kind=found["kind"], card=found["card"])
        if t.chance(0.4):
            t.user("ask_2")
            do.lock_card(card=found["card"], locked=False)
            t.say("tell_2", card=found["card"])
        return
    limit = t.rng.randint(3, 20) * 100
    t.user("ask_3", kind=found["kind"], limit=limit)
    if not t.knows(found["card"], found["kind"]):
        do.show_cards()
    do.limit_card(card=found["card"], limit=limit)
    t.say("tell_3", kind=found["kind"], limit=limit)


@step(Bank)
def new_payee(t: Talk, w: Bank, do: Any) -> None:
    account, amount, iban = t.pick(w.accounts), t.rng.randint(1, 20) * 5, f"DE{t.rng.randint(10**9, 10**10 - 1)}"
    name = t.pick(["Luisa Brandt", "Kite School", "Otto Reim"])
    if amount > account["balance"] or any(each["name"] == name for each in w.payees):
        raise Skip
    t.user("ask", name=name, iban=iban, amount=amount, kind=account["kind"])
    needs = not t.knows(account["account"], account["kind"])
    with t.together():
        made = do.save_payee(name=name, iban=iban)
        if needs:
            do.show_accounts()
    done = do.pay(account=account["account"], payee=made["payee"], amount=amount)
    t.memory["payment"] = done["payment"]
    t.say("tell", name=name, amount=amount, balance=done["balance"])


class Depot(World):
    name = "depot"

    def __init__(self, rng: random.Random) -> None:
        names = rng.sample(
            ["Green Rivers", "Alpine Bonds", "World Small", "Nordic Tech", "Clean Air", "Old Bridges", "Gold Coast"], 5
        )
        self.funds = [
            {
                "fund": f"F{rng.randint(10, 99)}{i}",
                "name": name,
                "sector": rng.choice(["energy", "bonds", "technology"]),
                "price": round(rng.uniform(8, 120), 2),
            }
            for i, name in enumerate(names)
        ]
        self.cash = rng.randint(5, 40) * 100
        self.watched: list[str] = []
        self.held = {self.funds[0]["fund"]: rng.randint(5, 30)}
        self.trades: list[dict[str, Any]] = []

    def _fund(self, fund: str) -> dict[str, Any]:
        return find(self.funds, "fund", fund, f"fund {fund} is not listed")

    def funds_of(self, sector: Literal["energy", "bonds", "technology"]) -> list[dict[str, Any]]:
        """List the funds of a sector, with their codes. | sector: The sector."""
        return [{"fund": each["fund"], "name": each["name"]} for each in self.funds if each["sector"] == sector]

    def fund_code(self, name: str) -> dict[str, Any]:
        """Look up the code of a fund. | name: The name of the fund."""
        found = find(self.funds, "name", name, f"no fund called {name}")
        return {"fund": found["fund"], "name": name}

    def price_of(self, fund: str) -> dict[str, Any]:
        """Tell the price of one share of a fund. | fund: The code of the fund."""
        return {"fund": fund, "price": self._fund(fund)["price"]}

    def buy_shares(self, fund: str, shares: int, price: float) -> dict[str, Any]:
        """Buy shares of a fund at its price. | fund: The code of the fund. | shares: How many. | price: The price of
        one share."""
        if self._fund(fund)["price"] != price:
            raise WorldError(f"the price of {fund} is not {price}")
        if self.cash < shares * price:
            raise WorldError(f"not enough cash: {self.cash}")
        self.cash = round(self.cash - shares * price, 2)
        self.held[fund] = self.held.get(fund, 0) + shares
        self.trades.append(
            {"trade": f"D{self._number(7100)}", "kind": "bought", "fund": fund, "shares": shares, "price": price}
        )
        return {"trade": self.trades[-1]["trade"], "cost": round(shares * price, 2), "cash": self.cash}

    def sell_shares(self, fund: str, shares: int) -> dict[str, Any]:
        """Sell shares of a fund at today's price. | fund: The code of the fund. | shares: How many."""
        if self.held.get(fund, 0) < shares:
            raise WorldError(f"only {self.held.get(fund, 0)} shares of {fund} are held")
        self.held[fund] -= shares
        self.cash = round(self.cash + shares * self._fund(fund)["price"], 2)
        self.trades.append(
            {
                "trade": f"D{self._number(7100)}",
                "kind": "sold",
                "fund": fund,
                "shares": shares,
                "price": self._fund(fund)["price"],
            }
        )
        return {"trade": self.trades[-1]["trade"], "cash": self.cash}

    def trade_slip(self, trade: str) -> dict[str, Any]:
        """Show the slip of a trade. | trade: The number of the trade."""
        return find(self.trades, "trade", trade, f"no trade {trade}")

    def undo_trade(self, trade: str) -> dict[str, Any]:
        """Undo a trade of today. | trade: The number of the trade."""
        found = find(self.trades, "trade", trade, f"no trade {trade}")
        sign = 1 if found["kind"] == "bought" else -1
        self.cash = round(self.cash + sign * found["shares"] * found["price"], 2)
        self.held[found["fund"]] -= sign * found["shares"]
        self.trades.remove(found)
        return {"undone": trade, "cash": self.cash}

    def watch(self, fund: str, on: bool = True) -> dict[str, Any]:
        """Put a fund on the list of watched ones, or take it off. | fund: The code of the fund. | on: Whether it is
        watched."""
        self._fund(fund)
        self.watched = [each for each in self.watched if each != fund] + ([fund] if on else [])
        return {"watched": self.watched}

    def overview(self) -> dict[str, Any]:
        """Show the cash, the shares that are held and the watched funds."""
        return {"cash": self.cash, "held": self.held, "watched": self.watched}

    def pay_in(self, amount: int) -> dict[str, Any]:
        """Pay cash into the depot. | amount: How much."""
        self.cash += amount
        return {"cash": self.cash}


def _price(t: Talk, do: Any, fund: dict[str, Any]) -> float:
    """Look up the code and the price of a fund unless they are known."""
    if not t.knows(fund["fund"], fund["name"]):
        do.fund_code(name=fund["name"])
    if not t.knows(fund["fund"], fund["price"]):
        do.price_of(fund=fund["fund"])
    return fund["price"]


@step(Depot)
def list_sector(t: Talk, w: Depot, do: Any) -> None:
    sector = t.pick([each["sector"] for each in w.funds])
    t.user("ask", sector=sector)
    found = do.funds_of(sector=sector)
    t.memory["funds"] = [each["fund"] for each in found]
    t.say("tell", listed=", ".join(f"{each['name']} ({each['fund']})" for each in found))


@step(Depot)
def buy_fund(t: Talk, w: Depot, do: Any) -> None:
    listed, shares = t.recent("funds", []), t.rng.randint(2, 30)
    place = t.pick([0, -1]) if listed and t.chance(0.6) else None
    fund = find(w.funds, "fund", listed[place], "") if place is not None else t.pick(w.funds)
    which = f"the {PLACES[place]} fund on that list" if place is not None else fund["name"]
    t.user("ask", wrong={"shares": shares + 5}, shares=shares, which=which)
    price = _price(t, do, fund)
    done = do.buy_shares(fund=fund["fund"], shares=shares, price=price)
    t.memory["fact"] = (f"the price of {fund['name']}", price)
    if isinstance(done, Error):
        t.say("tell", shares=shares, price=price, cash=w.cash)
        return
    t.memory["trade"] = w.trades[-1]
    t.say(
        "tell_2",
        shares=shares,
        name=fund["name"],
        price=price,
        cost=done["cost"],
        cash=done["cash"],
        trade=done["trade"],
    )


@step(Depot)
def about_trade(t: Talk, w: Depot, do: Any) -> None:
    trade = t.recent("trade")
    if trade not in w.trades:
        raise Skip
    if t.chance(0.5):
        t.user("ask")
        do.trade_slip(trade=trade["trade"])
        t.say("tell", **trade)
    else:
        t.user("ask_2")
        cash = do.undo_trade(trade=trade["trade"])["cash"]
        t.say("tell_2", trade=trade["trade"], cash=cash)


@step(Depot)
def sell_all(t: Talk, w: Depot, do: Any) -> None:
    fund = t.pick([each for each in w.funds if w.held.get(each["fund"])])
    t.user("ask", name=fund["name"])
    is_known = t.knows(fund["fund"], fund["name"])
    with t.together():
        if not is_known:
            do.fund_code(name=fund["name"])
        count = do.overview()["held"][fund["fund"]]
    done = do.sell_shares(fund=fund["fund"], shares=count)
    t.memory["trade"] = w.trades[-1]
    t.say("tell", count=count, name=fund["name"], cash=done["cash"])


def find_codes(t: Talk, do: Any, funds: Sequence[dict[str, Any]]) -> None:
    """Look the codes of funds up that were not told yet, in one message."""
    unknown = [each for each in funds if not t.knows(each["fund"], each["name"])]
    with t.together():
        for each in unknown:
            do.fund_code(name=each["name"])


@step(Depot)
def watch_two(t: Talk, w: Depot, do: Any) -> None:
    first, second = t.rng.sample(w.funds, 2)
    t.user("ask", a=first["name"], b=second["name"])
    find_codes(t, do, (first, second))
    with t.together():
        for each in (first, second):
            do.watch(fund=each["fund"])
    t.say("tell", a=first["name"], b=second["name"])


@step(Depot)
def dearer(t: Talk, w: Depot, do: Any) -> None:
    first, second = t.rng.sample(w.funds, 2)
    t.user("ask", a=first["name"], b=second["name"])
    find_codes(t, do, (first, second))
    with t.together():
        for each in (first, second):
            do.price_of(fund=each["fund"])
    high, low = sorted((first, second), key=lambda each: -each["price"])
    t.memory["fact"] = (f"the price of {high['name']}", high["price"])
    t.say("tell", a=high["name"], x=high["price"], y=low["price"], b=low["name"])


@step(Depot)
def cash_in(t: Talk, w: Depot, do: Any) -> None:
    if t.chance(0.5):
        t.user("ask")
        found = do.overview()
        t.memory["fact"] = ("the cash in my depot", found["cash"])
        t.say(
            "tell",
            cash=found["cash"],
            held=", ".join(f"{count} of {fund}" for fund, count in found["held"].items() if count) or "none",
        )
        return
    amount = t.rng.randint(1, 20) * 50
    t.user("ask_2", amount=amount, wrong={"amount": amount + 50})
    t.say("tell_2", cash=do.pay_in(amount=amount)["cash"])
