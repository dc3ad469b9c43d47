"""Fields that events of that kind do not have."""

from toolspeak import Event, RunPaused


def show(event: Event) -> str:
    if event.kind == "text_delta":
        return event.call.name  # error:
    if event.kind == "tool_finished":
        return event.text  # error:
    if event.kind == "text_detla":  # error:
        return ""
    return event.text  # error:


def pause(error: RunPaused) -> None:
    for call in error.calls:
        call.tool  # error:
    for fact in error.facts:
        fact.text  # error:
    error.outcome.text  # error:
