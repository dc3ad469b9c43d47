"""Functions whose hints are text until somebody asks: what `from __future__ import annotations` does to a module."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import NotRequired, TypedDict

from toolspeak import Context


@dataclass
class Stay:
    start: date
    nights: int = 1


class Order(TypedDict):
    item: str
    count: NotRequired[int]
    parts: NotRequired[list[Order]]


def book(stay: Stay, rooms: int | None = None):
    return stay, rooms


def whose(key: str, context: Context[dict[str, str]]):
    return key, context.deps


class Hotel:
    def __init__(self, name: str):
        self.name = name

    async def cancel(self, day: date):
        return self.name, day
