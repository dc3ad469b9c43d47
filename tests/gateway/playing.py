"""A model that says given pieces; for what a script cannot say."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from toolspeak.models import Request
from toolspeak.values.pieces import Piece


class Piecewise:
    """Says the same batches of pieces each time."""

    def __init__(self, pieces: Sequence[Sequence[Piece]], dialect: str = "native") -> None:
        self._pieces = pieces
        self.name, self.dialect = "piecewise", dialect

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        for batch in self._pieces:
            await asyncio.sleep(0)
            yield batch
