"""The typed answer while the model writes it: what is known of it, and never a value that changes later.

Each call that gives the answer is an *attempt*. Within an attempt, values are only added. An attempt is dropped if its
call is refused, is quoted, or belongs to an answer that is taken back; the next attempt begins with nothing.
"""

from collections.abc import Iterable
from typing import Any

from toolspeak.events import (
    ArgsDelta,
    CallMalformed,
    CallQuoted,
    CallStarted,
    Event,
    Fact,
    RunStarted,
    SaidInThought,
    ToolFinished,
    TurnRestarted,
    TurnStarted,
)
from toolspeak.messages import ToolResult
from toolspeak.run.answer_growth import copy_values, describe_output, find_growth, is_extension
from toolspeak.run.argument_reader import ArgumentReader
from toolspeak.run.output import ANSWER, Output, list_fields
from toolspeak.run.partial import Partial


class PartialAnswer:
    """Follows the typed answer of a run through its events."""

    def __init__(self, output: Output, facts: Iterable[Fact] = ()) -> None:
        """Prepare to follow.

        Args:
            output: The type of the answer.
            facts: The facts of the run so far, if it is resumed.
        """
        self._output = output
        self._in_text = False
        self._is_one_value = list_fields(output.kind) is None
        self._growth = find_growth(output.kind)
        self._calls: list[str] = []
        self._is_refused = False
        self._earlier: Any = None  # an accepted answer that counts unless the latest one is accepted, too
        self._has_earlier = False
        self._attempt = 0
        self._reader: ArgumentReader | None = None
        self._has_grown = False
        self._partial: Partial | None = None
        for fact in facts:
            self.feed(fact)

    @property
    def partial(self) -> Partial | None:
        """What is known after the events so far; the same object until more is known."""
        if self._has_grown and self._reader is not None:
            self._has_grown = False
            self._partial = self._snapshot(self._reader.values)
        return self._partial

    def feed(self, event: Event) -> None:
        """Take notice of an event."""
        match event:
            case ArgsDelta(call_id=call_id, text=text):
                if self._reader is not None and call_id == self._calls[-1] and self._reader.feed(text):
                    self._has_grown = True
            case CallStarted(call_id=call_id, name=self._output.tool.name):
                self._drop()
                self._is_refused = False
                self._calls.append(call_id)
                self._attempt += 1
                if self._growth is not None:
                    self._reader = ArgumentReader(self._growth, waits_for_delimiter=not self._in_text)
            case RunStarted(in_text=in_text):
                self._in_text = in_text
            case CallMalformed(call_id=call_id) | CallQuoted(call_id=call_id):
                if self._calls and call_id == self._calls[-1]:
                    self._refuse()
            case SaidInThought() | TurnRestarted() | TurnStarted():  # what was shown without a result is void
                if isinstance(event, TurnStarted) and event.in_text is not None:
                    self._in_text = event.in_text
                if self._partial is None or not self._partial.is_complete:
                    self._drop()
            case ToolFinished(result=result):
                if result.call_id in self._calls:
                    self._finish(result)
            case _:
                pass

    def _drop(self) -> None:
        self._reader = self._partial = None
        self._has_grown = False

    def _refuse(self) -> None:
        """Drop the attempt. An earlier answer of the same message, if there is one, counts now."""
        self._drop()
        self._is_refused = True
        if self._has_earlier:
            self._attempt += 1
            self._partial = Partial(value=self._earlier, attempt=self._attempt, is_complete=True)

    def _finish(self, result: ToolResult) -> None:
        """Take notice of the result of a call that gave an answer: the answer, or why it was refused."""
        is_latest = result.call_id == self._calls[-1]
        if result.error is not None:
            if is_latest:
                self._refuse()
            return
        whole = describe_output(self._output.kind, self._output.load(result.output))
        if not is_latest:
            self._earlier, self._has_earlier = whole, True
            if self._is_refused:
                self._refuse()
            return
        shown = self.partial
        self._reader = None
        if shown is not None and not self._continues(whole, shown.value):
            self._attempt += 1
        self._partial = Partial(value=whole, attempt=self._attempt, is_complete=True)

    def _continues(self, whole: Any, shown: Any) -> bool:
        try:
            growth = self._growth.get_slot(ANSWER).growth if self._growth and self._is_one_value else self._growth
            return is_extension(whole, shown, growth)
        except Exception:  # values of the user's, which may compare in any way
            return False

    def _snapshot(self, values: dict[str, Any]) -> Partial | None:
        known = copy_values(values, self._growth)
        if not self._is_one_value:
            return Partial(value=known, attempt=self._attempt)
        return Partial(value=known[ANSWER], attempt=self._attempt) if ANSWER in known else None
