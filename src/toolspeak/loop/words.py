"""What the loop says to a model: each sentence tells what happened and what to do."""

from collections.abc import Sequence

from toolspeak.events import CallMalformed, ToolChoice

CUT = "not run: your message was cut off before its end, so no call in it was started"
REFUSED = "not run: the message was refused"
BROKEN = "not run: the message broke off"
STOPPED = "not run: the run was stopped first; call it again if it is still needed"
UNKNOWN = (
    "the run was interrupted while this was running, and it must not be repeated: whether it took effect is unknown"
)
ONE_AT_A_TIME = "not run: make only one call in a message; call it again if it is still needed"
NO_TOOLS_NOW = "not run: no calls are allowed now; answer in plain words"
OUT_OF_CALLS = "not run: this run may not make any more calls"
DENIED = "not run: the user did not allow it"


def malformed(fact: CallMalformed) -> str:
    """What is wrong with a call that cannot be understood."""
    return f"{fact.reason}. {fact.hint}".strip() if fact.hint else fact.reason


def denied(reason: str) -> str:
    """Somebody said no."""
    return f"{DENIED}: {reason}" if reason else DENIED


def repeated(names: Sequence[str], times: int) -> str:
    """The same call gave the same result again."""
    which = ", ".join(names)
    return (
        f"You have called {which} {times} times with the same arguments and got the same result each time. Calling it "
        "again will not change that: use the result you have, try something else, or answer."
    )


def demanded(choice: ToolChoice) -> str:
    """A call was asked for and did not come."""
    if choice.mode == "required":
        return "You answered without a call, but one is needed. Answer with a call now."
    return f"You answered without calling {' and '.join(choice.names)}, which is needed. Call it now."


def wanted(output: str) -> str:
    """The answer is known; now it is to be given in its form."""
    return f"Now give this answer by calling {output}."


def cut(text: str, limit: int) -> str:
    """A text as long as a model may see it, with a mark where it was cut."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n… (cut: {limit:,} of {len(text):,} characters are shown)"
