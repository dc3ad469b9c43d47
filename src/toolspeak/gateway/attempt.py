"""`Attempt`: one message of a model in answer to a request, from its pieces to what may be sent of it."""

from collections.abc import Sequence

from toolspeak.dialects import Dialect
from toolspeak.gateway.gate import Gate, SentText
from toolspeak.gateway.held_format import FormatGate, HeldFormat
from toolspeak.loop import words
from toolspeak.turns import QuotationFinder, TurnReader
from toolspeak.values.errors import StreamInterrupted
from toolspeak.values.events import CallMalformed, CallReady, Event, FinishReason, TextDelta, ToolChoice, Usage
from toolspeak.values.messages import Message, ToolCall
from toolspeak.values.pieces import Piece
from toolspeak.values.spec import ToolSpec
from toolspeak.wire.chat_request import ChatRequest

MAX_TRAILING_CHARS = 200
"""Characters after a whole answer that are read, so that the end of the message and its token counts arrive."""


class Attempt:
    """Reads one message. Nothing that `feed` and `close` return can be taken back.

    Attributes:
        problem: Why the message is not acceptable; None if it is, or has not ended.
        help_calls: The calls of the help tool that are to be answered, after which the model is asked again.
    """

    def __init__(
        self,
        request: ChatRequest,
        choice: ToolChoice,
        tools: tuple[ToolSpec, ...],
        dialect: Dialect,
        quotations: QuotationFinder,
        *,
        sent: SentText,
        prefix: str,
        held: HeldFormat | None = None,
        thinks: bool = False,
        ends_at_quotation: bool = True,
        help_names: frozenset[str] = frozenset(),
        gives_help: bool = False,
    ) -> None:
        """Prepare to read.

        Args:
            request: The request of the client.
            choice: Which tools must be called.
            tools: The tools that may be called, and the one that gives the answer.
            dialect: The dialect of the model.
            quotations: Tells which calls are quoted.
            sent: The text that was sent of earlier messages.
            prefix: The beginning of the ids of calls.
            held: The format of the answer, if the client asks for one.
            thinks: Whether the message may begin in the middle of reasoning.
            ends_at_quotation: Whether a quoted call ends the message.
            help_names: The names of the tools that the gateway answers itself.
            gives_help: Whether a call of them is answered. Otherwise a message with nothing else is not acceptable.
        """
        self.problem: str | None = None
        self.help_calls: tuple[ToolCall, ...] = ()
        self._gives_help = gives_help
        self._choice = choice
        self._trailing_chars = 0
        by_tool = held is not None and held.asking in ("tool", "none")
        self._gate = Gate(
            {tool.name for tool in tools},
            single=not request.parallel,
            hold_text=choice.mode in ("required", "named") or by_tool,
            hold_all=bool(tools) and (thinks or not request.stream),
            may_be_quoted=quotations.is_named,
            ends_at_quotation=ends_at_quotation,
            sent=sent if held is None else None,
            help_names=help_names,
        )
        self._format_gate = FormatGate(held, sent, hold_text=by_tool or thinks) if held is not None else None
        self._reader = TurnReader(
            dialect,
            tools,
            single=not request.parallel,
            prefix=prefix,
            taken={call.id for message in request.messages for call in message.calls},
            quotations=quotations,
        )

    def feed(self, pieces: Sequence[Piece]) -> list[Event]:
        """Read pieces that have arrived, and return the events to send."""
        events = self._gate.admit(self._reader.feed(pieces))
        if self._format_gate is None:
            return events
        if self._format_gate.is_done:
            self._trailing_chars += sum(len(piece.text) for piece in pieces if isinstance(piece, TextDelta))
        return self._format_gate.admit(events)

    @property
    def is_over(self) -> bool:
        """Whether the rest of the message is not needed."""
        has_trailed_off = self._trailing_chars > MAX_TRAILING_CHARS
        return has_trailed_off or self._gate.is_done or self._gate.has_sent_reasoning

    def close(self, name: str) -> list[Event]:
        """End the message of the model `name`, set `problem`, and return the last events to send."""
        gate = self._gate
        events = [*gate.admit(self._reader.close("closed")), *gate.release_held()]
        if gate.has_sent_reasoning:
            raise StreamInterrupted(
                f"text of the model {name} was sent and turned out to be reasoning; start the gateway with "
                "toolspeak serve --thinks"
            )
        if self._gives_help and self._only_asks_help():
            self.help_calls = tuple(gate.help_calls)
            return events if self._format_gate is None else self._format_gate.admit(events)
        if self._format_gate is not None:
            return self._close_format(self._format_gate, events)
        self.problem = self._find_problem()
        return events if self.problem is not None else [*events, *gate.release_text()]

    def _close_format(self, format_gate: FormatGate, events: list[Event]) -> list[Event]:
        gate = self._gate
        is_well_formed = gate.malformed is None and gate.quoted is None
        sent = format_gate.admit([*events, *gate.release_text()] if is_well_formed else events)
        if is_well_formed:
            sent += format_gate.close(ended_well=gate.finish not in ("length", "refused", "error"))
        if gate.finish == "refused":
            sent += format_gate.release_prose()
        self.problem = self._find_problem()
        if self.problem is None and gate.finish not in ("length", "refused"):
            self.problem = format_gate.find_problem()
        return sent

    def describe_problem(self) -> str:
        """Return the problem and what to do about it, in words for the model."""
        advice = self._format_gate.give_advice() if self._format_gate is not None else ""
        return f"{str(self.problem).rstrip('.')}. {advice}" if advice else str(self.problem)

    @property
    def has_sent_call(self) -> bool:
        """Whether a part of a call was sent, so that the model cannot be asked again."""
        return (self._format_gate or self._gate).has_sent_call

    @property
    def has_quoted(self) -> bool:
        """Whether a quoted call ended the message."""
        return self._gate.quoted is not None

    @property
    def calls(self) -> Sequence[CallReady]:
        """The calls that may be sent."""
        return self._gate.calls

    @property
    def refusal(self) -> str:
        """Why a call was refused: `malformed` or `quoted`; empty if none ended the message."""
        return "malformed" if self._gate.malformed is not None else "quoted" if self._gate.quoted is not None else ""

    @property
    def usage(self) -> Usage:
        return self._gate.usage

    @property
    def finish(self) -> FinishReason:
        """Why the message that was sent ends."""
        finish = self._gate.finish
        if self._format_gate is None:
            return finish
        if self._format_gate.has_answer:
            return "stop"
        is_usual = finish in ("stop", "tool_calls")
        return finish if not is_usual else "tool_calls" if self._format_gate.has_sent_call else "stop"

    @property
    def stop_text(self) -> str:
        """The stop text of the request that ended the message; empty if none did, or the endpoint does not say."""
        return self._gate.stop_text

    def build_message(self) -> Message:
        """Return what was sent, as a message."""
        message = self._gate.build_message()
        return message if self._format_gate is None else self._format_gate.build_message(message)

    @property
    def original(self) -> Message | None:
        """The message as the model wrote it."""
        return self._gate.ended.message if self._gate.ended else None

    def _only_asks_help(self) -> bool:
        """Whether the message has calls of the help tool and no others."""
        gate = self._gate
        is_well_formed = gate.malformed is None and gate.quoted is None
        ended_well = gate.finish not in ("length", "refused", "error")
        return bool(gate.help_calls) and not gate.called_tools and is_well_formed and ended_well

    def _find_problem(self) -> str | None:
        gate, choice = self._gate, self._choice
        if gate.finish in ("length", "refused"):
            return None
        if gate.malformed is not None:
            return _describe(gate.malformed)
        if gate.quoted is not None:
            return f"{words.describe_quotation(gate.quoted)}."
        if self._only_asks_help():
            return "help was given already; call a tool with what you know, or answer"
        if choice.mode == "required" and not gate.called_tools:
            return "a call is needed, and none was made"
        if choice.mode == "named" and (missing := [name for name in choice.names if name not in gate.called_tools]):
            return f"{' and '.join(missing)} must be called, and was not"
        return None


def _describe(malformed: CallMalformed) -> str:
    return " ".join(filter(None, (malformed.reason + ".", malformed.hint)))
