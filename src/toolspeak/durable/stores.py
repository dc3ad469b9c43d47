"""`open_journal`: the journal of an address.

`sqlite:///runs.db` is a file of this machine; a path that begins with `/` follows after `sqlite://`. `postgresql://…`
is a database that many machines share, and needs the extra `cluster`.
"""

from importlib import import_module

from toolspeak.durable.journal import Journal
from toolspeak.durable.sqlite import SqliteJournal
from toolspeak.errors import UsageError

SQLITE_PREFIX = "sqlite:///"
POSTGRES_SCHEMES = ("postgresql://", "postgres://")


def open_journal(url: str) -> Journal:
    """Return the journal of an address. Nothing is opened before its first session.

    Raises:
        UsageError: The address has another form, or needs a package that is not installed.
    """
    if url.startswith(SQLITE_PREFIX):
        return SqliteJournal(url.removeprefix(SQLITE_PREFIX))
    if url.startswith(POSTGRES_SCHEMES):
        try:
            module = import_module("toolspeak.durable.postgres")
        except ModuleNotFoundError as error:
            cure = "pip install 'toolspeak[cluster]'"
            raise UsageError(f"{error.name} is missing, which a store in Postgres needs: {cure}") from None
        return module.PostgresJournal(url)
    raise UsageError(f"{url!r} is not the address of a store; use sqlite:///FILE or postgresql://USER@HOST/DATABASE")
