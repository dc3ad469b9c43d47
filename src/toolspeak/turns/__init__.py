"""Turns: the pieces of one answer become events."""

from toolspeak.turns.turn_reader import TurnReader

__all__ = ["TurnReader"]
