"""`Partial`: what is known of a typed answer while it arrives. `partial_answer.py` follows the answer."""

from typing import Any

from toolspeak._frozen import frozen


@frozen
class Partial:
    """What is known of a typed answer that is still arriving.

    Attributes:
        value: The values that are known. For a model or a dataclass it is a dict of the fields that are complete; a
            field that was left out has its default when the answer is complete. A list, a dict or a typed dict has the
            items that are complete. Any other answer is here when it is complete. All values are validated.
        attempt: The number of the attempt, from 1. Within an attempt, values are added and never changed. An answer
            that was refused is followed by the next attempt.
        is_complete: Whether the answer was accepted, so that `value` is all of it.
    """

    value: Any
    attempt: int = 1
    is_complete: bool = False
