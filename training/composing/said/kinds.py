"""The kinds of parameters that the tables of tools name, and the tools of a table."""

from composing.said import amounts, counts, moments, stays, units
from composing.said.slots import Tool
from composing.tables import make_all, read_table

KINDS = {
    "amount": amounts.amount,
    "clock": moments.clock,
    "code": amounts.code,
    "count": amounts.count,
    "day": moments.day,
    "duration": moments.duration,
    "enum": amounts.enum,
    "figure": counts.figure,
    "flag": amounts.flag,
    "heads": counts.heads,
    "height": units.height,
    "hours": moments.hours,
    "ident": counts.ident,
    "large": counts.large,
    "measure": units.measure,
    "money": amounts.money,
    "nights": stays.nights,
    "part": counts.part,
    "party": stays.party,
    "phone": amounts.phone,
    "price": units.price,
    "reading": amounts.reading,
    "share": amounts.share,
    "stay": moments.stay,
    "tally": counts.tally,
    "word": amounts.word,
}


def load_tools(name: str) -> list[Tool]:
    return [Tool(**each | {"values": make_all(each["values"], KINDS)}) for each in read_table(name)["tools"]]
