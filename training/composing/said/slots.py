"""What a tool, its parameters and the places in its sentences are.

A `Kind` makes a `Slot` for a set of tools: the set decides the form that the description tells (`DD/MM/YYYY`, metres or
kilometres), so that the same words have different values in different sets.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from composing.said.days import LANGUAGES, Talk
from composing.tables import make_all, read_table

Schema = dict[str, Any]


@dataclass(frozen=True)
class Slot:
    """A place in a sentence: the parameters that it fills, and how words and values are drawn.

    It is fixable if a speaker may name a wrong value first; `optional` parameters may be left out alone.
    """

    schemas: Mapping[str, Schema]
    say: Callable[[Talk], tuple[str, dict[str, Any]]]
    is_fixable: bool = True
    optional: frozenset[str] = frozenset()


Kind = Callable[[random.Random, str], Slot]
"""Makes the slot of a parameter: the chance of the set, and the name of the parameter."""

KINDS: dict[str, Callable[..., Kind]] = {}
"""The kinds that tables name, each with the function that takes what a table tells of a parameter."""


def kind(make: Callable[..., Slot]) -> Callable[..., Kind]:
    """Let a table name a function that makes a slot; what follows the chance and the name stands in the table."""

    def take(*arguments: Any, **named: Any) -> Kind:
        return lambda rng, name: make(rng, name, *arguments, **named)

    KINDS[make.__name__] = take
    return take


@dataclass(frozen=True)
class Tool:
    """A tool and how people ask for it; the README of `training` tells what each entry is."""

    name: str
    description: str
    area: str
    values: Mapping[str, Kind]
    frames: str
    pairs: str = ""

    def list_frames(self, lang: str, *, is_pair: bool = False) -> list[str]:
        lines = (self.pairs if is_pair else self.frames).splitlines()
        marked = [line if line[2:4] == ": " and line[:2] in LANGUAGES else f"en: {line}" for line in lines]
        return [line[4:] for line in marked if line.startswith(f"{lang}: ")]


def load_tools(*tables: str) -> list[Tool]:
    entries = [each for name in tables for each in read_table(name)["tools"]]
    return [Tool(**each | {"values": make_all(each["values"], KINDS)}) for each in entries]


def clean(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


def one(name: str, schema: Schema, say: Callable[[Talk], tuple[str, Any]], *, is_fixable: bool = True) -> Slot:
    """Make the slot of one parameter."""

    def say_one(talk: Talk) -> tuple[str, dict[str, Any]]:
        words, value = say(talk)
        return words, {name: value}

    return Slot({name: schema}, say_one, is_fixable)
