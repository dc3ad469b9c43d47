"""Worlds of data: a calculator and a database."""

import random
from typing import Any, Literal

from worlds.engine import PEOPLE, Skip, Talk, World, WorldError, find, step


class Calculator(World):
    name = "calc"
    is_helper = True

    def __init__(self, rng: random.Random) -> None:
        self.kept: dict[str, float] = {}
        self._rng = rng

    def add_up(self, numbers: list[float]) -> dict[str, float]:
        """Add numbers up. | numbers: The numbers."""
        return {"sum": round(sum(numbers), 4)}

    def average_of(self, numbers: list[float]) -> dict[str, float]:
        """Calculate the average of numbers. | numbers: The numbers."""
        return {"average": round(sum(numbers) / len(numbers), 4)}

    def times(self, a: float, b: float) -> dict[str, float]:
        """Multiply two numbers. | a: The first number. | b: The second number."""
        return {"product": round(a * b, 4)}

    def share_of(self, part: float, whole: float) -> dict[str, float]:
        """Calculate how many percent a part is of a whole. | part: The part. | whole: The whole."""
        if not whole:
            raise WorldError("division by zero")
        return {"percent": round(100 * part / whole, 2)}

    def root(self, number: float, digits: int = 2) -> dict[str, float]:
        """Calculate a square root. | number: The number. | digits: The digits after the point."""
        if number < 0:
            raise WorldError("no root of a negative number")
        return {"root": round(number**0.5, digits)}

    def largest_of(self, numbers: list[float]) -> dict[str, float]:
        """Find the largest of some numbers. | numbers: The numbers."""
        return {"largest": max(numbers)}

    def keep_number(self, name: str, value: float) -> dict[str, float]:
        """Keep a number under a name. | name: The name. | value: The number."""
        self.kept[name] = value
        return dict(self.kept)

    def recall_number(self, name: str) -> dict[str, float]:
        """Recall a number that was kept. | name: Its name."""
        if name not in self.kept:
            raise WorldError(f"nothing kept under '{name}'")
        return {name: self.kept[name]}


@step(Calculator)
def average(t: Talk, w: Calculator, do: Any) -> None:
    numbers = [t.rng.randint(2, 99) for _ in range(t.rng.randint(3, 5))]
    what = t.pick(["average", "sum", "largest"])
    words = {"average": "the average", "sum": "the sum", "largest": "the largest"}[what]
    tool = {"average": do.average_of, "sum": do.add_up, "largest": do.largest_of}[what]
    t.user("ask", words=words, numbers=", ".join(map(str, numbers[:-1])) + f" and {numbers[-1]}")
    t.memory["numbers"], t.memory["value"] = numbers, tool(numbers=numbers)[what]
    t.memory.update(
        fact=(f"{words} of my figures", t.memory["value"]),
        others=[each for each in ("average", "sum", "largest") if each != what],
    )
    t.say("tell", words=words.capitalize(), value=t.memory["value"])


@step(Calculator)
def over_figures(t: Talk, w: Calculator, do: Any) -> None:
    noun, numbers = t.recent("figures") or t.pick([])
    if len(numbers) < 2:
        raise Skip
    what = t.pick(["average", "sum"])
    t.user("ask", what=what, noun=noun)
    value = (do.average_of if what == "average" else do.add_up)(numbers=numbers)[what]
    t.memory["value"], t.memory["fact"] = value, (f"the {what} of the {noun}", value)
    t.say("tell", what=what, noun=noun, value=value)


@step(Calculator)
def go_on(t: Talk, w: Calculator, do: Any) -> None:
    value, numbers = t.recent("value"), t.recent("numbers")
    if value is None:
        raise Skip
    tools = {"average": do.average_of, "sum": do.add_up, "largest": do.largest_of}
    kind = t.pick(["times", "root", "share", "keep", "both"])
    if kind == "times":
        by = t.rng.randint(2, 12)
        t.user("ask", by=by)
        t.memory["value"] = do.times(a=value, b=by)["product"]
        t.say("tell", value=t.memory["value"])
    elif kind == "root":
        digits = t.pick([1, 2, 3])
        t.user("ask_2", digits=digits)
        t.say("tell_2", value=do.root(number=value, digits=digits)["root"])
    elif kind == "share":
        whole = t.rng.randint(100, 900)
        t.user("ask_3", whole=whole)
        t.say("tell_3", value=do.share_of(part=value, whole=whole)["percent"])
    elif kind == "keep":
        name = t.pick(["spring", "base", "team", "goal"])
        t.user("ask_4", name=name)
        do.keep_number(name=name, value=value)
        t.memory["kept"] = name
        t.say("tell_4", value=value, name=name)
    else:
        a, b = t.recent("others") or t.pick([])
        t.user("ask_5", a=a, b=b)
        with t.together():
            x, y = (tools[each](numbers=numbers)[each] for each in (a, b))
        t.say("tell_5", a=a, b=b, x=x, y=y)


@step(Calculator)
def recall_kept(t: Talk, w: Calculator, do: Any) -> None:
    name, by = t.memory.pop("kept", None), t.rng.randint(2, 9)
    if name is None:
        raise Skip
    t.user("ask", name=name, by=by)
    value = do.recall_number(name=name)[name]
    t.memory["value"] = do.times(a=value, b=by)["product"]
    t.say("tell", name=name, value=value, by=by, product=t.memory["value"])


class Database(World):
    name = "db"

    def __init__(self, rng: random.Random) -> None:
        names = rng.sample(PEOPLE, 5)
        staff = [
            {
                "id": 10 + 3 * i,
                "name": name,
                "city": rng.choice(["Bonn", "Nantes", "Vigo"]),
                "salary": rng.randint(28, 70) * 100,
            }
            for i, name in enumerate(names)
        ]
        stock = [
            {"id": 200 + i, "item": item, "count": rng.randint(0, 60), "shelf": rng.choice("ABC")}
            for i, item in enumerate(rng.sample(["bolts", "hinges", "paint", "tape", "wire", "screws"], 5))
        ]
        self.tables: dict[str, list[dict[str, Any]]] = {"staff": staff, "stock": stock}
        self.saved: dict[str, list[dict[str, Any]]] = {}

    def _table(self, table: str) -> list[dict[str, Any]]:
        if table not in self.tables:
            raise WorldError(f'relation "{table}" does not exist')
        return self.tables[table]

    def table_names(self) -> list[str]:
        """List the tables."""
        return list(self.tables)

    def columns(self, table: str) -> list[str]:
        """List the columns of a table. | table: The table."""
        return list(self._table(table)[0])

    def select(self, table: str, column: str, operator: Literal["=", "<", ">"], value: str) -> list[dict[str, Any]]:
        """Select the rows of a table whose column fits. | table: The table: staff (id, name, city, salary) or stock
        (id, item, count, shelf). | column: The column that is compared. | operator: How it is compared. | value: The
        value to compare with, as text."""
        rows = self._table(table)
        if column not in rows[0]:
            raise WorldError(f'column "{column}" does not exist in {table}; there are {", ".join(rows[0])}')
        if operator == "=":
            return [row for row in rows if str(row[column]) == value]
        return [row for row in rows if (row[column] < int(value) if operator == "<" else row[column] > int(value))]

    def insert(self, table: str, row: dict) -> dict[str, Any]:  # type: ignore[type-arg]  # shown to the model as it is
        """Insert a row; its id is given by the database. | table: The table. | row: The values by column, without the
        id."""
        rows = self._table(table)
        if unknown := set(row) - set(rows[0]):
            raise WorldError(f'column "{min(unknown)}" does not exist in {table}')
        rows.append({"id": max(each["id"] for each in rows) + 1, **row})
        return rows[-1]

    def update(self, table: str, row_id: int, column: str, value: str) -> dict[str, Any]:
        """Change one value of a row. | table: The table. | row_id: The id of the row. | column: The column. | value:
        The new value, as text."""
        found = find(self._table(table), "id", row_id, f"no row {row_id} in {table}")
        if column not in found:
            raise WorldError(f'column "{column}" does not exist in {table}')
        found[column] = int(value) if isinstance(found[column], int) else value
        return found

    def delete(self, table: str, row_id: int) -> dict[str, Any]:
        """Delete a row. | table: The table. | row_id: The id of the row."""
        self._table(table).remove(find(self._table(table), "id", row_id, f"no row {row_id} in {table}"))
        return {"deleted": row_id, "rows": len(self.tables[table])}

    def aggregate(self, table: str, column: str, function: Literal["sum", "max", "min", "count"]) -> dict[str, Any]:
        """Calculate one value over all rows of a table. | table: The table. | column: The column. | function: What is
        calculated."""
        values = [row[column] for row in self._table(table)]
        return {
            function: len(values) if function == "count" else {"sum": sum, "max": max, "min": min}[function](values)
        }

    def snapshot(self, table: str) -> dict[str, Any]:
        """Save a table as it is now, so that it can be rolled back. | table: The table."""
        self.saved[table] = [dict(row) for row in self._table(table)]
        return {"saved": table, "rows": len(self.saved[table])}

    def roll_back(self, table: str) -> dict[str, Any]:
        """Bring a table back to its snapshot. | table: The table."""
        if table not in self.saved:
            raise WorldError(f"no snapshot of {table}")
        self.tables[table] = self.saved.pop(table)
        return {"restored": table, "rows": len(self.tables[table])}


@step(Database)
def who_in(t: Talk, w: Database, do: Any) -> None:
    city = t.pick(["Bonn", "Nantes", "Vigo"])
    t.user("ask", city=city)
    found = do.select(table="staff", column="city", operator="=", value=city)
    t.memory["rows"] = found
    if found:
        t.say("tell", names=", ".join(each["name"] for each in found))
    else:
        t.say("tell_2")


@step(Database)
def low_stock(t: Talk, w: Database, do: Any) -> None:
    limit, operator = t.rng.randint(5, 50), t.pick(["<", ">"])
    t.user(
        "ask",
        word="fewer" if operator == "<" else "more",
        sign=f"{'below' if operator == '<' else 'above'}",
        limit=limit,
    )
    found = do.select(table="stock", column="count", operator=operator, value=str(limit))
    t.memory["figures"] = ("counts", [each["count"] for each in found])
    t.say("tell", items=", ".join(f"{each['item']} ({each['count']})" for each in found) or "None of them")


@step(Database)
def raise_pay(t: Talk, w: Database, do: Any) -> None:
    row = t.pick(w.tables["staff"])
    column, value = t.pick([("salary", str(t.rng.randint(30, 80) * 100)), ("city", t.pick(["Bonn", "Nantes", "Vigo"]))])
    t.user("ask", column=column, name=row["name"], value=value)
    if not t.knows(row["id"], row["name"]):
        do.select(table="staff", column="name", operator="=", value=row["name"])
    do.update(table="staff", row_id=row["id"], column=column, value=value)
    t.say("tell", name=row["name"], column=column, value=value)


@step(Database)
def add_row(t: Talk, w: Database, do: Any) -> None:
    if t.chance(0.5):
        name, city, salary = (
            t.pick(["Rosa Lim", "Timo Adler", "Una Byrne"]),
            t.pick(["Bonn", "Vigo"]),
            t.rng.randint(30, 60) * 100,
        )
        t.user("ask", name=name, city=city, salary=salary)
        made = do.insert(table="staff", row={"name": name, "city": city, "salary": salary})
    else:
        item, count, shelf = t.pick(["glue", "nails", "foil"]), t.rng.randint(1, 90), t.pick("ABC")
        name = item
        t.user("ask_2", item=item, count=count, shelf=shelf)
        made = do.insert(table="stock", row={"item": item, "count": count, "shelf": shelf})
    t.memory["row"] = ("staff" if "salary" in made else "stock", made["id"], name)
    t.say("tell", name=name.capitalize() if name.islower() else name, id=made["id"])


@step(Database)
def drop_row(t: Talk, w: Database, do: Any) -> None:
    table, row_id, name = t.recent("row") or t.pick([])
    t.user("ask", name=name)
    done = do.delete(table=table, row_id=row_id)
    t.say("tell", id=row_id, table=table, rows=done["rows"])


@step(Database)
def figures(t: Talk, w: Database, do: Any) -> None:
    functions = t.rng.sample(["sum", "max", "min"], t.pick([1, 2]))
    table, column = t.pick([("staff", "salary"), ("stock", "count")])
    words = {"sum": "total", "max": "highest", "min": "lowest"}
    t.user("ask", words=" and the ".join(words[each] for each in functions), column=column, table=table)
    with t.together():
        found = [
            f"{words[each]} {column}: {do.aggregate(table=table, column=column, function=each)[each]}"
            for each in functions
        ]
    t.say("tell", table=table, found=", ".join(found))


@step(Database)
def empty_shelf(t: Talk, w: Database, do: Any) -> None:
    source, target = t.rng.sample("ABC", 2)
    rows = [each for each in w.tables["stock"] if each["shelf"] == source]
    if not rows or len(rows) > 3:
        raise Skip
    t.user("ask", a=source, b=target)
    with t.together():
        do.snapshot(table="stock")
        found = do.select(table="stock", column="shelf", operator="=", value=source)
    with t.together():
        for each in found:
            do.update(table="stock", row_id=each["id"], column="shelf", value=target)
    t.say("tell", items=", ".join(each["item"] for each in found), b=target)
    if t.chance(0.4):
        t.user("ask_2")
        rows_now = do.roll_back(table="stock")["rows"]
        t.say("tell_2", rows=rows_now)


@step(Database)
def which_columns(t: Talk, w: Database, do: Any) -> None:
    t.user("ask")
    names = do.table_names()
    with t.together():
        found = [f"{name}: {', '.join(do.columns(table=name))}" for name in names]
    t.say("tell", found="; ".join(found))
