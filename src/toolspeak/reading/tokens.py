"""The tokens of all families, and finding one in a text."""

from toolspeak.reading.forms import FAMILIES
from toolspeak.reading.source import Reading, Source


def _roles() -> dict[str, str]:
    """Every token of every family, in lower case, and what it does."""
    roles = {"<|channel|>": "harmony", "<|start|>": "harmony", "<tool_call ": "open", "<tools>": "inert"}
    for family in FAMILIES:
        roles |= dict.fromkeys(map(str.lower, family.openers), "open")
        roles |= dict.fromkeys(map(str.lower, family.closers), "close")
        roles |= dict.fromkeys(map(str.lower, family.separators), "separate")
        roles |= dict.fromkeys(map(str.lower, family.results), "result")
        roles |= {opener.lower(): "think" for opener, _ in family.thinking}
    for family in FAMILIES:
        for _, closer in family.thinking:
            roles.setdefault(closer.lower(), "thought")  # what also closes other things says nothing on its own
    return roles


ROLES = _roles()
THOUGHT_ENDS = {opener.lower(): closer for family in FAMILIES for opener, closer in family.thinking}
TOKENS = sorted(ROLES, key=len, reverse=True)
LONGEST = len(TOKENS[0])
FIRST = frozenset(token[0] for token in TOKENS)
BY_START = {start: [token for token in TOKENS if token[:2] == start] for start in {token[:2] for token in TOKENS}}


def next_token(source: Source) -> Reading[tuple[str, str] | None]:
    """The role and the text of the token that comes next, if one does. It is not read."""
    while True:
        if source.pos >= len(source.text):
            if source.ended:
                return None
            yield
            continue
        rest = source.text[source.pos : source.pos + LONGEST].lower()
        if rest[0] not in FIRST or (len(rest) == 1 and source.ended):
            return None
        if len(rest) == 1:
            yield
            continue
        candidates = BY_START.get(rest[:2])
        if candidates is None:
            return None
        found = next((token for token in candidates if rest.startswith(token)), None)
        if source.ended or not any(
            len(token) > len(rest) and token.startswith(rest) for token in candidates if token != found
        ):
            return (ROLES[found], source.text[source.pos : source.pos + len(found)]) if found else None
        yield
