"""Finds keys, tokens and passwords in any text, by their own form or by the name before them.

The text may be a stranger's, and hundreds of kilobytes long, so the work is linear in it. The patterns here keep one
rule, which a test checks: only the last part of a pattern may repeat without a limit. So no pattern can fail after a
long search and begin again at the next character. How far a value goes is found by code, and what was searched is
replaced.

- `TOKENS` are told by their beginning, such as `ghp_`. A word of small letters after it is an identifier, not a token.
- Addresses with a password in them, `Basic` and `Bearer`, and blocks of private keys have forms of their own.
- A value after a name that says what it is (`is_secret_name`) is replaced: in headers, query strings, settings, options
  of commands, XML, and JSON within other text. Prose about tokens and passwords stays.
"""

import base64
import re
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from toolspeak.models.cassettes.redaction import PLACEHOLDER

MAX_NAME_CHARS = 128
"""A longer word is not taken for the name of a value."""

MAX_BARE_CHARS = 512
"""A longer value after a secret name is a secret, whatever it is."""

_WORD = "[A-Za-z0-9_-]"

TOKENS: dict[str, tuple[str, str]] = {
    "OpenAI, Anthropic, OpenRouter, DeepSeek, Stripe": ("(?:sk|pk|rk)[-_]", _WORD + "{16,}"),
    "Groq": ("gsk_", _WORD + "{16,}"),
    "xAI": ("xai-", _WORD + "{16,}"),
    "Cerebras": ("csk-", _WORD + "{16,}"),
    "Hugging Face": ("(?:hf|api_org)_", _WORD + "{16,}"),
    "Replicate": ("r8_", _WORD + "{16,}"),
    "NVIDIA": ("nvapi-", _WORD + "{16,}"),
    "Perplexity": ("pplx-", _WORD + "{16,}"),
    "Tavily": ("tvly-", _WORD + "{16,}"),
    "Firecrawl": ("fc-", _WORD + "{24,}"),
    "Fireworks": ("fw_", _WORD + "{16,}"),
    "Together": ("tgp_v1_", _WORD + "{16,}"),
    "Jina": ("jina_", _WORD + "{16,}"),
    "Pinecone": ("pcsk_", _WORD + "{16,}"),
    "E2B": ("e2b_", _WORD + "{16,}"),
    "RunPod": ("rpa_", _WORD + "{16,}"),
    "LangSmith": ("lsv2_", _WORD + "{16,}"),
    "GitHub": ("gh[pousr]_", _WORD + "{16,}"),
    "GitHub, fine-grained": ("github_pat_", _WORD + "{16,}"),
    "GitLab": ("gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|imt|oas)-", "[A-Za-z0-9_.-]{16,}"),
    "Slack": ("xox[a-z]-", _WORD + "{10,}"),
    "Slack, apps": ("(?:xapp|xwfp|xoxe\\.xox[a-z])-", "[A-Za-z0-9_.-]{10,}"),
    "Slack, webhooks": ("hooks\\.slack\\.com/(?:services|workflows|triggers)/", "[A-Za-z0-9_/-]{16,}"),
    "Discord, webhooks": ("discord(?:app)?\\.com/api/webhooks/", "[A-Za-z0-9_/-]{16,}"),
    "Discord": ("[MNO][A-Za-z0-9_-]{22,28}\\.[A-Za-z0-9_-]{6}\\.", _WORD + "{25,}"),
    "Telegram": ("[0-9]{8,10}:AA", _WORD + "{30,}"),
    "Stripe, webhooks": ("whsec_", "[A-Za-z0-9_+/=-]{16,}"),
    "AWS": ("(?:AKIA|ASIA|ABIA|ACCA)", "[0-9A-Z]{16,}"),
    "Google": ("AIza", _WORD + "{30,}"),
    "Google, OAuth": ("ya29\\.", "[A-Za-z0-9_.-]{16,}"),
    "Google, refresh": ("1//0", _WORD + "{20,}"),
    "Google, clients": ("GOCSPX-", _WORD + "{16,}"),
    "Azure": ("[A-Za-z0-9_~.-]{3}[78]Q~", "[A-Za-z0-9_~.-]{30,}"),
    "DigitalOcean": ("do[opr]_v1_", _WORD + "{16,}"),
    "Databricks": ("dapi", "[0-9a-f]{32,}"),
    "npm": ("npm_", _WORD + "{16,}"),
    "PyPI": ("pypi-", _WORD + "{16,}"),
    "RubyGems": ("rubygems_", _WORD + "{16,}"),
    "Docker": ("dckr_[po]at_", _WORD + "{16,}"),
    "SendGrid": ("SG\\.", "[A-Za-z0-9_.-]{20,}"),
    "Mailgun": ("key-", "[0-9a-f]{32,}"),
    "Twilio": ("(?:SK|AC)", "[0-9a-f]{32,}"),
    "Shopify": ("shp(?:at|ss|ca|pa)_", _WORD + "{16,}"),
    "Square": ("sq0[a-z]{3}-", _WORD + "{16,}"),
    "Notion": ("(?:ntn|secret)_", "[A-Za-z0-9]{30,}"),
    "Linear": ("lin_(?:api|oauth)_", _WORD + "{16,}"),
    "Airtable": ("pat[A-Za-z0-9]{14}\\.", "[0-9a-f]{32,}"),
    "Figma": ("fig[dour]{1,2}_", _WORD + "{16,}"),
    "Postman": ("PMAK-", _WORD + "{16,}"),
    "Atlassian": ("AT[AC]TT3", "[A-Za-z0-9_=-]{16,}"),
    "Supabase": ("sb(?:p|_secret|_publishable)_", _WORD + "{16,}"),
    "Sentry": ("sntry[su]_", "[A-Za-z0-9_+/=.-]{16,}"),
    "Grafana": ("gl(?:c|sa)_", "[A-Za-z0-9_+/=-]{16,}"),
    "New Relic": ("NRAK-", _WORD + "{16,}"),
    "Vault": ("hv[sbr]\\.", _WORD + "{16,}"),
    "Terraform": ("[A-Za-z0-9]{14}\\.atlasv1\\.", "[A-Za-z0-9_=-]{16,}"),
    "Doppler": ("dp\\.[a-z]{2,5}\\.", "[A-Za-z0-9_.-]{16,}"),
    "1Password": ("ops_", "[A-Za-z0-9_.=-]{30,}"),
    "age": ("AGE-SECRET-KEY-1", "[0-9A-Z]{16,}"),
}
"""The tokens of vendors, each by its beginning and by what follows. Most vendors have chosen the beginning so that it
can be found; those without one, such as the keys of Mistral and Cohere, are known by the name before them only."""

LONG_WORD = re.compile(r"(?<![A-Za-z0-9_.~/+=:-])[A-Za-z0-9_.~/+=:-]{14,}")
"""Where a token may be. The few such words of a text are searched for all forms of tokens."""

TOKEN = re.compile(f"(?<![A-Za-z0-9])(?:{'|'.join(prefix + following for prefix, following in TOKENS.values())})")
WEB_TOKEN = re.compile(r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_.=-]{20,}")
KEY_BLOCK = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
KEY_BLOCK_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
KEY_BLOCK_LINE = re.compile(r"(?:\s|\\{1,7}[nr]){0,8}(?:[A-Za-z0-9+/]{1,64}={1,2}|[A-Za-z0-9+/]{16,})")
SCHEME = re.compile(r"(?i)(?<![A-Za-z0-9_])(?:basic|bearer)(?:[ \t]|%20|\+){1,4}[A-Za-z0-9._~+/=-]{8,}")
ADDRESS = re.compile(
    r"://(?:[^\s/@:\"'<>]{0,256}:(?![0-9]{1,5}[/?#\s\"'<>])(?:[^\s/\"'<>]{1,256}|[^\s@\"'<>]{1,256})@|[^\s/@:\"'<>]{20,256}@)"
)
DATABASE_ADDRESS = re.compile(r"(?<![\w.-])[\w.-]{1,64}:[^\s:@/\"'<>]{1,128}(?=@(?:tcp|unix|udp)\()")
USER_OPTION = re.compile(r"(?<!\S)(?:-u|--user)[ \t=]{1,4}[\"']?[^\s:\"']{1,128}:[^\s\"']{1,256}")

NAME = re.compile(
    r"(?<![A-Za-z0-9_.-])([A-Za-z0-9_.-]{2,128})(?![A-Za-z0-9_.-])"  # no part of a word is tried
    r"[\\\"'`*]{0,17}\]?[ \t]{0,8}(?::=|=>|==|:|=|%3[AaDd])[ \t]{0,8}"
)
ELEMENT = re.compile(r"<([A-Za-z0-9_.:-]{2,128})>")
OPTION = re.compile(r"(?<!\S)--([A-Za-z0-9-]{2,128})[ \t]{1,4}(?=[^\s-])")
FORM_FIELD = re.compile(r"name=\\{0,7}[\"']([^\"'\\\r\n]{2,128})\\{0,7}[\"'](?:(?:\\{1,7}r|\r)?(?:\\{1,7}n|\n)){2}")
LOGIN = re.compile(r"(?i)(?<![A-Za-z])(?:login|user)[ \t]{1,8}\S{1,128}[ \t]{1,8}(password)[ \t]{1,8}")
STATEMENT = re.compile(r"(?i)(?<![A-Za-z])(?:password|identified by)[ \t]{1,8}(?=')")

_QUOTE = re.compile(r"[A-Za-z]{0,2}(\\{0,15})([\"'`])")
_LINE_START = re.compile(r"(?:[ \t>+*\"'`-]|export |set |[A-Za-z]{1,8}:|[0-9]{1,6}[:|]){0,6}")
_CODE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,64}(?:\.[A-Za-z_][A-Za-z0-9_]{0,64}){0,8}[\[(]")
_BARE = re.compile(r"[^\s\"'`<>{}\[\](),;&|\\]*")
_BARE_LINE = re.compile(r"[^\s\"'`]*")
_LINE_REST = re.compile(r"[^\r\n\"'`]*")

WHOLE_LINE_WORDS = ("authorization", "cookie")
"""How the names of headers end whose values are more than one word."""

SECRET_ENDINGS = (
    *("password", "passwords", "passwd", "passphrase", "passcode", "secret", "secrets", "token", "apikey", "apikeys"),
    *("secretkey", "accesskey", "accesskeyid", "privatekey", "encryptionkey", "signingkey", "masterkey", "accountkey"),
    *("sharedkey", "authkey", "sessionkey", "licensekey", "servicekey", "subscriptionkey", "webhooksecret"),
    *("authorization", "cookie", "cookies", "credential", "credentials", "connectionstring", "sessionid", "bearer"),
    *("amzsignature", "accesscode", "authcode", "recoverycode", "mnemonic", "seedphrase"),
)
"""How names end that say that a value is secret, in small letters and without the marks between their words."""

SECRET_WORDS = frozenset({"pwd", "jwt", "otp", "totp", "auth", "psk", "cvv", "cvc", "pat"})
"""Short words that say the same if one is the last word of a name."""

QUERY_NAMES = frozenset({"key", "sig", "signature", "code", "sid", "hmac", "access", "k"})
"""Names that are ordinary words, and hold secrets in the query of an address."""

HARMLESS_VALUES = frozenset(
    "none null nil true false undefined str string int integer number bool boolean bytes any object secretstr required "
    "optional missing invalid expired wrong incorrect empty hidden redacted valid revoked denied unknown changed reset "
    "unset set yes no ok failed error bearer basic".split()
)
"""What stands after such a name in code and in messages, and is no secret."""

_NAME_WORDS = re.compile(r"[A-Z]{1,64}(?![a-z])|[A-Z]?[a-z0-9]{1,64}")


@lru_cache(2048)
def is_secret_name(name: str) -> bool:
    """Whether the name of a field, a header or a variable says that its value is a secret."""
    name = name[-MAX_NAME_CHARS:]
    plain = "".join(letter for letter in name.lower() if letter.isalnum())
    if plain.endswith(SECRET_ENDINGS):
        return True
    words = [word.lower() for word in _NAME_WORDS.findall(name)]
    return bool(words) and (words[-1] in SECRET_WORDS or (words[-1] == "pass" and len(words) > 1))


def is_password_name(name: str) -> bool:
    """Whether a secret name is that of a password, which may be any word."""
    return "pass" in name.lower() or "pwd" in name.lower()


def is_random(value: str) -> bool:
    """Whether a value looks as if a machine, or a careful person, had chosen it: prose has no such words."""
    if len(value) < 6:
        return False
    has_digit = any(letter.isdigit() for letter in value)
    return len(value) >= 20 or has_digit or _has_mixed_case(value)


def _has_mixed_case(value: str) -> bool:
    return any(before.islower() and after.isupper() for before, after in pairwise(value))


def hide_keys(text: str) -> str:
    """Return a text with a placeholder for each key, token and password that can be told from other words."""
    if "PRIVATE KEY" in text:
        text = _hide_key_blocks(text)
    text = LONG_WORD.sub(_hide_tokens, text)
    lowered = text.lower()
    for words, pattern, hide in _FORMS:
        if any(word in lowered for word in words):
            text = pattern.sub(hide, text)
    for words, pattern, find in _NAMED_FORMS:
        if any(word in lowered for word in words):
            text = _hide_named(text, pattern, find)
    return text


def _hide_key_blocks(text: str) -> str:
    """Replace private keys; of a key whose end is missing, what looks like its content."""
    pieces: list[str] = []
    place = 0
    has_end = True
    while found := KEY_BLOCK.search(text, place):
        end = KEY_BLOCK_END.search(text, found.end()) if has_end else None
        has_end = end is not None  # or the search for it would begin again with each block
        pieces += [text[place : found.start()], PLACEHOLDER]
        place = found.end() if end is None else end.end()
        while end is None and (line := KEY_BLOCK_LINE.match(text, place)):
            place = line.end()
    return "".join((*pieces, text[place:]))


def _hide_tokens(found: re.Match[str]) -> str:
    # In JSON, the n of a line end would belong to the word.
    start = int(found[0][0] in "nrt" and found.string[found.start() - 1 : found.start()] == "\\")
    return found[0][:start] + WEB_TOKEN.sub(_hide_web_token, TOKEN.sub(_hide_token, found[0][start:]))


def _hide_token(found: re.Match[str]) -> str:
    token = found[0]
    return PLACEHOLDER if any(letter.isdigit() for letter in token) or _has_mixed_case(token) else token


def _hide_web_token(found: re.Match[str]) -> str:
    """Replace a JWT, two or more parts of base64; JSON in base64 alone stays."""
    parts = found[0].split(".")
    return PLACEHOLDER if len(parts) > 1 and len(parts[0]) >= 10 and len(parts[1]) >= 10 else found[0]


def _hide_address(found: re.Match[str]) -> str:
    user, colon, _ = found[0][3:].partition(":")
    return f"://{user}:{PLACEHOLDER}@" if colon else f"://{PLACEHOLDER}@"


def _hide_after_colon(found: re.Match[str]) -> str:
    return f"{found[0].partition(':')[0]}:{PLACEHOLDER}"


def _hide_scheme(found: re.Match[str]) -> str:
    value = re.split(r"(?:[ \t+]|%20)", found[0], maxsplit=1)[1].lstrip(" \t+")
    is_key = is_random(value) if found[0][1] in "eE" else _is_user_and_password(value)
    return f"{found[0][: -len(value)]}{PLACEHOLDER}" if is_key else found[0]


def _is_user_and_password(value: str) -> bool:
    """Whether a value is what follows `Basic`: a name, a colon and a password in base64."""
    try:
        decoded = base64.b64decode(
            value.rstrip("=") + "=" * (-len(value.rstrip("=")) % 4), altchars=b"-_" if "-" in value else None
        )
    except ValueError:
        return False
    return b":" in decoded and decoded.isascii()


def _hide_named(text: str, pattern: re.Pattern[str], find: "ValueFinder") -> str:
    """Replace the values that stand after a secret name."""
    pieces: list[str] = []
    place = 0
    for found in pattern.finditer(text):
        if found.start() < place or (found.lastindex and not _may_be_secret(text, found)):
            continue
        start, end = find(text, found)
        if end > start:
            pieces += [text[place:start], PLACEHOLDER]
            place = end
    return "".join((*pieces, text[place:]))


def _may_be_secret(text: str, found: re.Match[str]) -> bool:
    name = found[1]
    return is_secret_name(name) or (
        name.lower() in QUERY_NAMES and text[found.start() - 1 : found.start()] in ("?", "&")
    )


def _find_named_value(text: str, found: re.Match[str]) -> tuple[int, int]:
    """Return where the value after a name and a colon or an equals sign is; an empty range if there is no secret."""
    start = found.end()
    if quote := _QUOTE.match(text, start):
        return quote.end(), _find_quote_end(text, quote.end(), len(quote[1]), quote[2])
    begins_line = _begins_line(text, found.start())
    name, is_equals = found[1].lower(), "=" in found[0][len(found[1]) :] or "%3" in found[0]
    if name.endswith(WHOLE_LINE_WORDS) and not is_equals:
        return start, _match_end(_LINE_REST, text, start)
    bare = _BARE_LINE if begins_line and is_equals else _BARE
    end = bare.match(text, start, start + MAX_BARE_CHARS).end()  # pyright: ignore[reportOptionalMemberAccess] (it may be empty)
    if end == start + MAX_BARE_CHARS:
        return start, _match_end(bare, text, end)
    value = text[start:end].rstrip(".:!?")
    is_setting = begins_line and text[start - 1] == "="  # such as a line of .env, which has no spaces there
    if not value or _is_harmless(value) or (not is_setting and _CODE.match(text, start)):
        return start, start
    if is_equals:
        is_secret = is_random(value) or (is_secret_name(found[1]) and (len(value) >= 4 or begins_line))
    else:
        rest = re.split(r"\n|\\", text[end : end + 80], maxsplit=1)[0].strip(" \t\r,;\"'`")
        is_secret = is_random(value) or (begins_line and not rest and len(value) >= 4)
    return (start, start + len(value)) if is_secret else (start, start)


def _begins_line(text: str, place: int) -> bool:
    """Whether only marks and words such as `export` are before a place in its line; a line may end as in JSON."""
    window = text[max(0, place - 64) : place]
    start = max(window.rfind("\n") + 1, window.rfind("\\n") + 2 if "\\n" in window else 0)
    if window.endswith("\\") and text[place] in "nrt":
        return True
    return (start > 0 or place <= 64) and _LINE_START.fullmatch(window, start) is not None


def _is_harmless(value: str) -> bool:
    """Whether a value after a secret name is a word of code, a reference to a value, or what has been replaced."""
    if value.lower() in HARMLESS_VALUES or value[0] in "$%<*{" or value.startswith(PLACEHOLDER):
        return True
    return value.replace(".", "").replace("_", "").isalpha() and is_secret_name(value)


def _find_quote_end(text: str, start: int, depth: int, quote: str) -> int:
    """Return where a quoted value ends: at a quote with as many backslashes as the first one, for its level of JSON."""
    mark = "\\" * depth + quote
    if text.startswith(mark * 2, start):
        end = text.find(mark * 3, start + 2 * len(mark))
        return len(text) if end < 0 else end
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    place = text.find(quote, start, line_end)
    while place >= 0:
        slashes = place
        while slashes > start and text[slashes - 1] == "\\":
            slashes -= 1
        count = place - slashes
        if count < depth or (count - depth) % (2 * depth + 2) == 0:
            return place - min(count, depth)
        place = text.find(quote, place + 1, line_end)
    return line_end


def _find_element_value(text: str, found: re.Match[str]) -> tuple[int, int]:
    end = text.find("<", found.end())
    return (found.end(), end) if end >= 0 else (found.end(), found.end())


def _find_option_value(text: str, found: re.Match[str]) -> tuple[int, int]:
    start = found.end()
    if quote := _QUOTE.match(text, start):
        return quote.end(), _find_quote_end(text, quote.end(), len(quote[1]), quote[2])
    end = _match_end(_BARE_LINE, text, start)
    return (start, end) if is_random(text[start:end]) else (start, start)


def _find_line_value(text: str, found: re.Match[str]) -> tuple[int, int]:
    return found.end(), _match_end(_LINE_REST, text, found.end())


def _find_word(text: str, found: re.Match[str]) -> tuple[int, int]:
    return found.end(), _match_end(_BARE_LINE, text, found.end())


def _find_quoted(text: str, found: re.Match[str]) -> tuple[int, int]:
    return found.end() + 1, _find_quote_end(text, found.end() + 1, 0, "'")


def _match_end(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return start if found is None else found.end()


ValueFinder: TypeAlias = Callable[[str, re.Match[str]], tuple[int, int]]

_FORMS: tuple[tuple[tuple[str, ...], re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (("://",), ADDRESS, _hide_address),
    (("@tcp(", "@unix(", "@udp("), DATABASE_ADDRESS, _hide_after_colon),
    (("-u", "--user"), USER_OPTION, _hide_after_colon),
    (("basic", "bearer"), SCHEME, _hide_scheme),
)
"""Forms of their own, each with words of which one stands in every such text: other texts are not searched."""

_NAMED_FORMS: tuple[tuple[tuple[str, ...], re.Pattern[str], ValueFinder], ...] = (
    (("=", ":", "%3"), NAME, _find_named_value),
    (("<",), ELEMENT, _find_element_value),
    (("--",), OPTION, _find_option_value),
    (("name=",), FORM_FIELD, _find_line_value),
    (("password",), LOGIN, _find_word),
    (("password", "identified"), STATEMENT, _find_quoted),
)
"""Where a value may follow a name, and what finds the value."""
