"""Past orders that are made again with one value changed, for `selections.py`."""

import random
from collections.abc import Iterator
from typing import Any

from composing.records.choices import Spelling, expect
from composing.records.domain import (
    Record,
    Repeat,
    clock,
    day,
    decimal,
    form,
    make_id,
    make_near_id,
    one_of,
    tool,
    whole,
)
from composing.records.words import NUMBER_LEADS

REPEATS = (
    Repeat(
        "fishing",
        tool("angler licences", "Past licences of an angler.", "angler|string|Full name"),
        ("Rolf Aamot", "Greta Lind", "Sami Koski"),
        "licence",
        "FL-#####",
        tool(
            "issue licence",
            "Issues a fishing licence.",
            "water|string|Code of the water",
            "days|integer|How many days",
            "rods|integer|How many rods",
            "boat|boolean|Whether from a boat",
        ),
        {"water": form("W-##@"), "days": whole(1, 14), "rods": whole(1, 4), "boat": one_of(True, False)},
        (
            ("days", lambda n: n + 2, "two days longer"),
            ("days", lambda n: n * 2, "twice as long"),
            ("rods", lambda n: n + 1, "with one more rod"),
            ("days", lambda n: n + 7, "a week longer"),
        ),
        {"when": day(2026), "fee": decimal(8, 90, 2)},
        (
            "Issue {who} the same licence as the latest one, but {change}.",
            "{who} wants the most recent licence again, only {change}.",
            "Could you give {who} the same licence as last time, just {change}?",
            "Please repeat the newest licence of {who}, {change} this time.",
            "Same licence for {who} as in the last one on record, but {change}, please.",
        ),
        (
            tool("water rules", "Rules of a water.", "water|string|Code of the water"),
            tool("void licence", "Voids a licence.", "licence|string|Number of the licence"),
        ),
    ),
    Repeat(
        "linen",
        tool("linen orders", "Past linen orders of a house.", "house|string|Name of the house"),
        ("Hotel Adler", "Pension Rosa", "Seaview Lodge"),
        "order no",
        "int:######",
        tool(
            "order linen",
            "Orders linen for a house.",
            "article|string|Article number",
            "sets|integer|How many sets",
            "colour|string|Colour",
            "starch|boolean|Whether starched",
        ),
        {
            "article": form("##-####"),
            "sets": whole(4, 90),
            "colour": one_of("white", "sand", "grey"),
            "starch": one_of(True, False),
        },
        (
            ("sets", lambda n: n * 2, "twice as many sets"),
            ("sets", lambda n: n + 10, "ten sets more"),
            ("sets", lambda n: n - 2, "two sets fewer"),
            ("sets", lambda n: n * 3, "three times as many sets"),
        ),
        {"when": day(2026), "total": decimal(60, 900, 2), "driver": one_of("Jo", "Pim", "Sven")},
        (
            "Order the same linen for {who} as last time, but {change}.",
            "Please repeat the latest linen order of {who}, with {change}.",
            "{who} needs the most recent order again, only {change}.",
            "Could you reorder what {who} had in the newest order, but {change}?",
            "Same again for {who} as in the last order, {change}, please.",
        ),
        (
            tool("linen stock", "Stock of an article.", "article|string|Article number"),
            tool("cancel linen", "Cancels an order.", "order no|integer|Number of the order"),
        ),
    ),
    Repeat(
        "scaffold",
        tool("scaffold hires", "Past hires of a builder.", "builder|string|Name of the firm"),
        ("Keller Bau", "Mason & Sons", "Rapid Roof"),
        "hire",
        "%%%%-%%%%-%%",
        tool(
            "hire scaffold",
            "Hires a scaffold.",
            "frame|string|Type of frame",
            "height m|number|Height in metres",
            "weeks|integer|How many weeks",
            "net|boolean|Whether with a net",
        ),
        {"frame": form("@@-##"), "height m": decimal(3, 24), "weeks": whole(1, 9), "net": one_of(True, False)},
        (
            ("weeks", lambda n: n + 1, "a week longer"),
            ("weeks", lambda n: n * 2, "for twice the time"),
            ("weeks", lambda n: n + 3, "three weeks longer"),
            ("weeks", lambda n: n + 2, "two weeks longer"),
        ),
        {"when": day(2026), "deposit": whole(100, 900, 50)},
        (
            "Hire the same scaffold for {who} as last time, but {change}.",
            "{who} wants the most recent hire again, only {change}.",
            "Please repeat the latest hire of {who}, {change} this time.",
            "Could you set {who} up as in the newest hire, just {change}?",
            "Same scaffold as in the last hire of {who}, but {change}, please.",
        ),
        (tool("frame data", "Data of a frame.", "frame|string|Type of frame"),),
    ),
    Repeat(
        "karaoke",
        tool("cabin bookings", "Past bookings of a member.", "member|string|Name of the member"),
        ("Aiko", "Bastian", "Carmen"),
        "booking",
        "k:####",
        tool(
            "book karaoke cabin",
            "Books a cabin.",
            "cabin|string|Code of the cabin",
            "starts|string|Time as HH:MM",
            "hours|integer|How many hours",
            "guests|integer|How many people",
        ),
        {"cabin": form("C##@"), "starts": clock(15, 22), "hours": whole(1, 5), "guests": whole(2, 14)},
        (
            ("hours", lambda n: n + 1, "one hour longer"),
            ("guests", lambda n: n * 2, "for twice as many people"),
            ("guests", lambda n: n + 3, "for three people more"),
            ("hours", lambda n: n + 2, "two hours longer"),
        ),
        {"when": day(2026), "paid": one_of(True, False)},
        (
            "Book the same cabin for {who} as last time, but {change}.",
            "Please repeat {who}'s latest booking, {change} this time.",
            "{who} wants the most recent booking again, only {change}.",
            "Could you book what {who} had in the newest booking, just {change}?",
            "Same booking as {who}'s last one, but {change}, please.",
        ),
        (
            tool("cabin songs", "Songs of a cabin.", "cabin|string|Code of the cabin"),
            tool("order drinks", "Drinks to a cabin.", "cabin|string|Code", "tray|string|Which tray"),
        ),
    ),
    Repeat(
        "druckerei",
        tool("fruehere auflagen", "Frühere Druckaufträge eines Kunden.", "kunde|string|Name des Kunden"),
        ("Verlag Anker", "Café Linde", "TSV Auental"),
        "auftrag",
        "DA-#####",
        tool(
            "auflage drucken",
            "Gibt eine Auflage in Druck.",
            "vorlage|string|Nummer der Vorlage",
            "stueck|integer|Anzahl",
            "papier|string|Papier",
            "gefalzt|boolean|Ob gefalzt",
        ),
        {
            "vorlage": form("V##-%%%"),
            "stueck": whole(50, 900, 50),
            "papier": one_of("matt 135", "matt 170", "glanz 170"),
            "gefalzt": one_of(True, False),
        },
        (
            ("stueck", lambda n: n * 2, "doppelt so viele"),
            ("stueck", lambda n: n + 100, "100 Stück mehr"),
            ("stueck", lambda n: n * 3, "dreimal so viele"),
        ),
        {"when": day(2026), "preis": decimal(40, 900, 2)},
        (
            "Bitte den letzten Auftrag von {who} noch einmal drucken, aber {change}.",
            "{who} möchte dasselbe wie beim letzten Auftrag, nur {change}.",
            "Kannst du die neueste Auflage von {who} wiederholen, aber {change}?",
        ),
        (tool("papier lager", "Papier im Lager.", "papier|string|Papier"),),
        "de",
    ),
    Repeat(
        "cesta",
        tool("pedidos de socia", "Pedidos anteriores de una socia o un socio.", "persona|string|Nombre"),
        ("Marta", "Xoel", "Inés"),
        "pedido",
        "int:#####",
        tool(
            "pedir cesta",
            "Pide una cesta de verduras.",
            "tipo|string|Código de la cesta",
            "cestas|integer|Cuántas",
            "punto|string|Punto de recogida",
        ),
        {"tipo": form("CS-#@"), "cestas": whole(1, 6), "punto": one_of("Mercado", "Plaza Nueva", "Escuela")},
        (
            ("cestas", lambda n: n * 2, "el doble de cestas"),
            ("cestas", lambda n: n + 1, "una cesta más"),
            ("cestas", lambda n: n + 2, "dos cestas más"),
        ),
        {"when": day(2026), "importe": decimal(12, 90, 2)},
        (
            "Repite el último pedido de {who}, pero con {change}.",
            "{who} quiere lo mismo que en el pedido más reciente, pero {change}.",
            "¿Puedes hacer el mismo pedido que la última vez para {who}, con {change}?",
        ),
        (tool("verduras de temporada", "Verduras del mes.", "mes|integer|Número del mes"),),
        "es",
    ),
)


def compose_repeats(repeat: Repeat, spelling: Spelling, count: int, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield questions in which a past order is made again with one value changed."""
    for _ in range(count):
        orders: list[Record] = []
        while len({each["when"] for each in orders}) < rng.choice([1, 2, 3, 4]):
            drawn = {name: maker(rng) for name, maker in (*repeat.fields.items(), *repeat.noise.items())}
            made = (
                make_near_id(orders[0][repeat.ident], repeat.pattern, rng) if orders else make_id(repeat.pattern, rng)
            )
            if not any(each["when"] == drawn["when"] or each[repeat.ident] == made for each in orders):
                orders.append({repeat.ident: made, **drawn})
        order = rng.sample(list(orders[0]), len(orders[0]))
        is_numbered = repeat.lang == "en" and rng.random() < 0.3
        chosen = rng.choice(orders) if is_numbered else max(orders, key=lambda each: each["when"])
        lead = rng.choice(NUMBER_LEADS if is_numbered else repeat.requests)
        who, (name, change, words) = rng.choice(repeat.asked), rng.choice(repeat.changes)
        arguments = {key: chosen[key] for key in repeat.order.parameters} | {name: change(chosen[name])}
        rows = [{spelling.key(key): each[key] for key in order} for each in orders]
        result = rng.choice([rows, {"found": len(rows), "rows": rows}])
        turns = [
            {"user": lead.format(who=who, change=words, ident=repeat.ident, number=chosen[repeat.ident])},
            {"calls": [spelling.call(repeat.lookup, {next(iter(repeat.lookup.parameters)): who})]},
            {"results": [result]},
        ]
        yield {"category": "next", "turns": turns, "expected": expect([spelling.call(repeat.order, arguments)])}
