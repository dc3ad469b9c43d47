"""`Notices`: what was left out of a request or could not be kept, told in a header and in the log."""

import re

from toolspeak._frozen import frozen
from toolspeak.wire.fields import FieldError

HEADER = "x-toolspeak-notice"

MAX_NAMES = 20
"""The most names in a header: a request may have any number of fields."""

MAX_NAME_CHARS = 60

_NOT_IN_HEADERS = re.compile(r"[^!-~]")


@frozen
class Notices:
    """What was left out of a request.

    Attributes:
        fields: The names of the fields.
        tools: The names of the tools that only servers of a vendor run.
        remarks: What else the client should know, in ASCII.
    """

    fields: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the text of the header, in ASCII; empty if nothing was left out."""
        parts = (
            f"fields ignored: {_join(self.fields)}" if self.fields else "",
            f"hosted tools left out: {_join(self.tools)}" if self.tools else "",
            *self.remarks,
        )
        return "; ".join(filter(None, parts))

    def refuse(self) -> None:
        """Raise `FieldError` for the first thing that was left out."""
        for name in self.fields[:1]:
            problem = "is not a field of this API, or not one that this model supports"
            raise FieldError(name[:MAX_NAME_CHARS], problem, "unknown_parameter")
        for name in self.tools[:1]:
            problem = f"{name[:MAX_NAME_CHARS]!r} runs on servers of its vendor, and this model cannot call it"
            raise FieldError("tools", problem, "unsupported_value")


NOTHING_LEFT_OUT = Notices()


def _join(names: tuple[str, ...]) -> str:
    shown = [_NOT_IN_HEADERS.sub("?", name[:MAX_NAME_CHARS]) for name in names[:MAX_NAMES]]
    return ", ".join(shown) + (f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else "")
