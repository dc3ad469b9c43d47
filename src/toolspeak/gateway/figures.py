"""`GatewayFigures`: what a gateway has done since it was started, as figures for Prometheus at `/metrics`.

Nothing of it is written anywhere, and it holds no text of a conversation. Labels have few values: routes as they are
registered, the names of the models that are served, statuses.
"""

from collections.abc import Sequence

from toolspeak.telemetry.prometheus import LabelledCounter, LabelledHistogram, Sample, format_figure
from toolspeak.values.events import CallReady, Usage

FIRST_TOKEN_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""The bounds of its histogram. A model on a laptop reads a long prompt for a minute."""

REQUEST_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""The bounds of its histogram. A list of models takes milliseconds, a long answer of a small machine minutes."""


class GatewayFigures:
    """Counts what the routes of a gateway do.

    Attributes:
        open_streams: How many answers are being streamed.
    """

    def __init__(self) -> None:
        self.open_streams = 0
        self._requests = LabelledCounter("route", "model", "status")
        self._tokens = LabelledCounter("model", "kind")
        self._messages = LabelledCounter("model")
        self._calls = LabelledCounter("model")
        self._repaired = LabelledCounter("model", "repair")
        self._refused = LabelledCounter("model", "reason")
        self._rejected = LabelledCounter("model")
        self._doubted = LabelledCounter("model")
        self._first_token = LabelledHistogram(FIRST_TOKEN_SECONDS, "model")
        self._durations = LabelledHistogram(REQUEST_SECONDS, "route", "model")

    def count_request(self, route: str, model: str, status: int) -> None:
        """Count a request that is answered."""
        self._requests.add(route, model, str(status))

    def count_first_token(self, model: str, seconds: float) -> None:
        """Note after how long the first part of a stream was there."""
        self._first_token.add(seconds, model)

    def count_duration(self, route: str, model: str, seconds: float) -> None:
        """Note how long a request took, until all of its answer was sent."""
        self._durations.add(seconds, route, model)

    def count_message(
        self, model: str, usage: Usage, calls: Sequence[CallReady], refusal: str, *, is_rejected: bool
    ) -> None:
        """Count a message of a model.

        Args:
            model: The name under which the model is served.
            usage: The tokens of the message.
            calls: The calls in it that can be sent to the client.
            refusal: Why a call was refused: `malformed` or `quoted`; "" if none was.
            is_rejected: Whether the message is not acceptable: the model is asked again, or the request fails.
        """
        self._messages.add(model)
        self._tokens.add(model, "input", count=usage.input_tokens)
        self._tokens.add(model, "output", count=usage.output_tokens)
        self._tokens.add(model, "cached", count=usage.cached_tokens)
        self._calls.add(model, count=len(calls))
        for call in calls:
            if call.repair != "none":
                self._repaired.add(model, call.repair)
        if refusal:
            self._refused.add(model, refusal)
        if is_rejected:
            self._rejected.add(model)

    def count_doubts(self, model: str, calls: int) -> None:
        """Count calls with values that neither the user nor the program nor its own data said."""
        self._doubted.add(model, count=calls)

    def render(self) -> str:
        """Return the figures as text."""
        counters = (
            ("requests", "Requests that were answered.", self._requests),
            ("messages", "Messages of models.", self._messages),
            ("tokens", "Tokens of all messages; cached ones are input tokens, too.", self._tokens),
            ("calls", "Calls in messages of models.", self._calls),
            ("repaired_calls", "Calls that had to be repaired to be read.", self._repaired),
            ("refused_calls", "Calls that could not be read, or were quoted.", self._refused),
            ("doubted_calls", "Calls with values that nobody said who may, of clients that ask.", self._doubted),
            ("rejected_messages", "Messages that were not acceptable: the model is asked again.", self._rejected),
        )
        texts = [
            format_figure(f"gateway_{name}_total", text, counter.list_samples(), "counter")
            for name, text, counter in counters
        ]
        histograms = (
            ("request_seconds", "Seconds until all of an answer was sent.", self._durations),
            ("first_token_seconds", "Seconds until a stream could begin.", self._first_token),
        )
        texts += [
            format_figure(f"gateway_{name}", text, histogram.list_samples(), "histogram")
            for name, text, histogram in histograms
        ]
        return "".join(
            (*texts, format_figure("gateway_open_streams", "Streams that are open.", [Sample(self.open_streams, {})]))
        )
