"""How a run of an agent is traced: as its `tracer` says, or as a part of the run that it is an inner run of."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolspeak.events import Fact
from toolspeak.run.sub_agents import OuterCall

if TYPE_CHECKING:
    from toolspeak.telemetry import Tracing
    from toolspeak.telemetry.tracing import AnyTrace


def begin_trace(tracing: "Tracing | None", outer: OuterCall | None, facts: Sequence[Fact]) -> "AnyTrace | None":
    """Return what traces a run; None if nothing does.

    Args:
        tracing: How the agent traces its runs.
        outer: The call of another run that this run is a part of. If that is traced, so is this run, below the call.
        facts: The facts of the run so far, if it is resumed.
    """
    if outer is not None and outer.driver.trace is not None:
        return outer.driver.trace.inner(outer.call_id)
    return None if tracing is None else tracing.begin_run(facts)
