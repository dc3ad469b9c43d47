"""Addresses as they may be shown, in errors, logs, pages and `repr`s: without what is or may be a secret.

Addresses of models, MCP servers, stores and collectors may hold passwords and keys. Whatever shows an address passes it
through `hide_secrets`. It shows the parts that it knows to be harmless, and of an address that it cannot read only the
scheme: a password with a character that should have been escaped moves into the host, the port or the path.
"""

import re
from urllib.parse import unquote, urlsplit

HIDDEN = "…"

LONG_CODE = re.compile(r"(?<![A-Za-z0-9_-])(?=[A-Za-z_-]*+[0-9])(?=[0-9_-]*+[A-Za-z])[A-Za-z0-9_-]{20,}+")
"""Letters and digits that may be a key. It is looked for only where a word begins, so that its work is linear."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")

_PLACE = re.compile(r"(?:\[[^\[\]\s]*\]|(?:\$\{[^\s{}]*\}|[^\s:${}\[\]])+)(?::(?:[0-9]*|\$\{[^\s{}]*\}))?")

_HOST = r"(?:\[[^\[\]@/?]*\]|[^\[\]@:/?,]*)(?::\d*)?"
_POSTGRES = re.compile(
    # As libpq reads it: user and password end at the first @ before any /, and may hold ? and #.
    rf"(?:(?P<user>[^@/:]*+)(?P<password>:[^@/]*+)?@)?+(?P<hosts>{_HOST}(?:,{_HOST})*+)"
    r"(?P<database>/[^?@]*+)?(?:\?(?P<query>.*))?",
    re.DOTALL,
)
_SHOWN_PARAMETERS = frozenset("application_name connect_timeout dbname host hostaddr port sslmode user".split())


def hide_secrets(address: str) -> str:
    """Return an address without passwords, queries, fragments, and long codes that may be keys.

    Examples:
        >>> hide_secrets("https://ann:secret@example.com/v1?key=secret")
        'https://…@example.com/v1'
        >>> hide_secrets("postgresql://ann:se#cr?et@db:5432/runs?sslpassword=x&sslmode=require")
        'postgresql://ann@db:5432/runs?sslmode=require'
        >>> hide_secrets("postgresql://ann:se/cret@db/runs"), hide_secrets("host=db password=secret")
        ('postgresql://…', '…')
    """
    scheme, mark, rest = address.partition("://")
    if not mark or not _SCHEME.fullmatch(scheme):
        return HIDDEN if re.search(r"[@=;\s]|://", address) else address
    match scheme.lower():
        case "http" | "https" | "ws" | "wss":
            shown = _hide_in_url(address)
        case "sqlite" | "file":
            return address
        case "postgresql" | "postgres":
            shown = _hide_in_postgres(rest)
        case _:
            shown = None
    return f"{scheme}://{HIDDEN if shown is None else shown}"


def is_plain_url(address: str) -> bool:
    """Whether an address is one of HTTP that names a host, and no user or password."""
    shown = hide_secrets(address)
    _, _, place = shown.partition("://")
    return shown.startswith(("http://", "https://")) and place != HIDDEN and "@" not in place.partition("/")[0]


def is_postgres_address(address: str) -> bool:
    """Whether libpq reads an address as its author meant it: no part of a password is taken for a host or a port."""
    return _POSTGRES.fullmatch(address.partition("://")[2]) is not None


def _hide_in_url(address: str) -> str | None:
    """Return what may be shown after the scheme; None if it is not clear what is what."""
    try:
        parts = urlsplit(address)
        has_port = parts.netloc.endswith("}") or parts.port != 0  # `${PORT}`, a variable that is not read yet
    except ValueError:  # the port is no number, or half an IPv6 address
        return None
    _, at, place = parts.netloc.rpartition("@")
    if not parts.hostname or not has_port or not _PLACE.fullmatch(place):
        return None
    return f"{HIDDEN + at if at else ''}{place}{LONG_CODE.sub(HIDDEN, parts.path)}"


def _hide_in_postgres(rest: str) -> str | None:
    found = _POSTGRES.fullmatch(rest)
    if found is None:
        return None
    user = f"{found['user']}@" if found["user"] else ""
    pairs = (each.partition("=") for each in (found["query"] or "").split("&"))
    shown = "&".join(f"{name}={value}" for name, _, value in pairs if unquote(name) in _SHOWN_PARAMETERS)
    return f"{user}{found['hosts']}{found['database'] or ''}{f'?{shown}' if shown else ''}"
