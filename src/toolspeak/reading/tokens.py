"""The tokens of all model families by what they do, and finding a token in a text."""

from typing import Literal, TypeAlias

from toolspeak.reading.forms import FAMILIES
from toolspeak.reading.source import Reading, Source

TokenRole: TypeAlias = Literal["open", "close", "separate", "result", "think", "thought", "answer", "header", "inert"]
"""What a token does.

`open` announces calls and `close` ends them; `separate` stands between the name of a call and its arguments; `result`
begins a result; `think` begins reasoning and `thought` ends it; `answer` begins text for the user, in which nothing is
a call; `header` begins the header of a message; `inert` begins a list of tools, in which nothing is a call.
"""


def _roles() -> dict[str, TokenRole]:
    """Return the role of every token of every family, by the token in lower case."""
    roles: dict[str, TokenRole] = {"<tools>": "inert"}  # of no family: it begins a list of tools in many prompts
    for family in FAMILIES:
        roles |= dict.fromkeys(map(str.lower, family.openers), "open")
        roles |= dict.fromkeys(map(str.lower, family.closers), "close")
        roles |= dict.fromkeys(map(str.lower, family.separators), "separate")
        roles |= dict.fromkeys(map(str.lower, family.results), "result")
        roles |= dict.fromkeys(map(str.lower, family.headers), "header")
        roles |= {opener.lower(): "think" for opener, _ in family.thinking}
        roles |= {opener.lower(): "answer" for opener, *_ in family.answers}
    for family in FAMILIES:
        for _, closer in family.thinking:
            roles.setdefault(closer.lower(), "thought")  # a token that also closes other things keeps that role
    return roles


ROLES = _roles()
UNCLOSED_OPENERS = frozenset(opener.lower() for family in FAMILIES for opener in family.unclosed)
"""Openers after which a call need not be closed."""

THINKING_CLOSERS = {opener.lower(): closer for family in FAMILIES for opener, closer in family.thinking}
"""The token that closes reasoning, by the token that opened it."""

THINKING_ENDS = frozenset(map(str.lower, THINKING_CLOSERS.values()))
"""All tokens that close reasoning, in lower case."""

ANSWER_ENDS = {
    opener.lower(): frozenset(map(str.lower, ends)) for family in FAMILIES for opener, *ends in family.answers
}
"""The tokens that end text for the user, by the token that opened it."""

TOKENS = sorted(ROLES, key=len, reverse=True)
MAX_TOKEN_CHARS = len(TOKENS[0])
FIRST_CHARS = frozenset(token[0] for token in TOKENS)
"""The characters with which tokens begin."""

INLINE_FIRST_CHARS = FIRST_CHARS - {"#"}
"""The characters with which tokens begin in the middle of a line, where a `#` begins no heading."""

TOKENS_BY_START = {
    start: [token for token in TOKENS if token[:2] == start] for start in {token[:2] for token in TOKENS}
}
"""Tokens by their first two characters, the longest first."""


def is_tag_start(opener: str) -> bool:
    """Whether an opener is only the beginning of a tag (`<invoke `, `<function=`), which is then read as a whole."""
    return opener[-1] in " ="


def next_token(source: Source) -> Reading[tuple[TokenRole, str] | None]:
    """Return the role and the text of the token that comes next, if one does. The token is not read."""
    while True:
        if source.pos >= len(source.text):
            if source.ended:
                return None
            yield
            continue
        rest = source.text[source.pos : source.pos + MAX_TOKEN_CHARS].lower()
        if rest[0] not in FIRST_CHARS or (len(rest) == 1 and source.ended):
            return None
        if len(rest) == 1:
            yield
            continue
        candidates = TOKENS_BY_START.get(rest[:2])
        if candidates is None:
            return None
        found = next((token for token in candidates if rest.startswith(token)), None)
        if source.ended or not any(
            len(token) > len(rest) and token.startswith(rest) for token in candidates if token != found
        ):
            return (ROLES[found], source.text[source.pos : source.pos + len(found)]) if found else None
        yield
