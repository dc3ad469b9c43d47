"""`--debug`: prints the log of toolspeak on standard error."""

import logging

from toolspeak.cli.safe_text import escape_controls
from toolspeak.log import LOG


class SafeFormatter(logging.Formatter):
    """Formats a record as text that is safe to show: a traceback may hold a text of a model, a path one of
    a client.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text."""
        return escape_controls(super().format(record))


def print_log() -> None:
    """Print everything that is logged from now on."""
    handler = logging.StreamHandler()
    handler.setFormatter(SafeFormatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))
    LOG.addHandler(handler)
    LOG.setLevel(logging.DEBUG)
