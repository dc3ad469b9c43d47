"""Control tokens in text that is not ours, and how they are made harmless without losing a byte.

Local servers put the text of messages into a chat template and tokenise the whole. A control token in that text, such
as `<|im_start|>` in a web page, then begins a message of its own. `break_tokens` puts one invisible character, the
breaker, after the first character of each control token, so that no tokenizer recognises it. `restore_tokens` takes the
breaker out again: `restore_tokens(break_tokens(text)) == text` for every text.

Rules of this file: a token that is broken already gets one more breaker, and loses only that one, so that both
directions are exact. No token holds the first character of a token at any other place, so that tokens cannot overlap.
Unlike in `forms.py`, case matters, since it matters to tokenizers: `[MASK]` is a token, and `[mask]` is code.
"""

import re
from functools import cache

from toolspeak.reading.forms import FAMILIES

BREAKER = "\u2060"
"""The word joiner: it has no width, no line breaks at it, and no known control token contains it."""

TEMPLATE_TOKENS = (
    *("<s>", "<unk>", "<pad>", "<bos>", "<eos>", "<sop>", "<eop>", "<SYS>"),
    *("[INST]", "[SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]", "[TOOL_CONTENT]", "[IMG]", "[IMG_BREAK]", "[IMG_END]"),
    *("[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[MODEL_SETTINGS]", "[AUDIO]", "[BEGIN_AUDIO]", "[gMASK]", "[sMASK]"),
    *("<start_of_turn>", "<end_of_turn>", "<start_of_image>", "<end_of_image>", "<image_soft_token>"),
    *("<|turn>", "<turn|>", "<|channel>", "<channel|>", "<|tool>", "<tool|>", "<|image>", "<image|>"),
    *("<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<fim_pad>", "<file_sep>"),
)
"""Tokens of chat templates and vocabularies that mark no call, and so are in no family of `forms.py`."""

_FIRST_CHARS = "<[◁"
_MAY_BEGIN_IN_JSON = re.compile(r'<|\[(?![\s"{}\[\]])|\\u25[cC]1|◁')
"""Where a token may begin in JSON text. After the `[` of a token there is no blank, quotation mark or bracket."""

_TOKEN = re.compile(r"<[^<>\s\[◁]+>|\[[^\[\]\s<◁]+\]|◁[^◁▷\s<\[]+▷")
_MARK = re.compile(r"<[^<>\s\[◁]+")
"""The part of a mark that is broken: it holds the first character of a token only at its beginning."""

_NAMED = r"[|｜][^\s|｜<>\[\]◁]{1,48}[|｜]"
"""`<|any_name|>` and `[|any_name|]`: the form of most control tokens. Vocabularies have hundreds of them."""


def _known_tokens() -> frozenset[str]:
    """Return the tokens of all families and templates, with the closing token of each opening one."""
    texts = [*TEMPLATE_TOKENS]
    for family in FAMILIES:
        texts += [*family.openers, *family.closers, *family.separators, *family.results]
        texts += [token for tokens in (*family.thinking, *family.answers) for token in tokens]
    found = {token for text in texts for token in _TOKEN.findall(text)}
    found |= {_MARK.findall(family.mark)[0] for family in FAMILIES if family.mark}
    closing = {f"{token[0]}/{token[1:]}" for token in found if token[1].isalpha()}
    return frozenset(found | closing)


CONTROL_TOKENS = _known_tokens()
"""Every control token that is known by its text. Tokens of the form `<|name|>` are known by their form as well."""

_RESTS = {first: tuple(token[1:] for token in sorted(CONTROL_TOKENS) if token[0] == first) for first in _FIRST_CHARS}
"""Tokens by their first character, without it."""

_NAMED_FORMS = {"<": (f"{_NAMED}>",), "[": (rf"{_NAMED}\]",)}
_NAMED_START = re.compile(r"[|｜][^\s|｜<>\[\]◁]{0,48}(?:[|｜])?")


@cache  # compiled when first needed, since the pattern is long
def _pattern(breakers: str) -> re.Pattern[str]:
    """Return the pattern of the first character of a token and the breakers after it."""
    alternatives: list[str] = []
    for first, rests in _RESTS.items():
        followers = [*map(re.escape, rests), *_NAMED_FORMS.get(first, ())]
        alternatives.append(f"{re.escape(first)}{breakers}(?={'|'.join(followers)})")
    return re.compile("|".join(alternatives))


_ANY_BREAKERS = f"{BREAKER}*+"
_SOME_BREAKERS = f"{BREAKER}++"


def may_hold_tokens(text: str) -> bool:
    """Whether JSON text may hold a control token in one of its strings. If not, `break_tokens` changes none of them."""
    return _MAY_BEGIN_IN_JSON.search(text) is not None


def break_tokens(text: str) -> str:
    """Return a text in which no tokenizer finds a control token."""
    if "<" not in text and "[" not in text and "◁" not in text:
        return text
    return _pattern(_ANY_BREAKERS).sub(lambda found: found[0] + BREAKER, text)


def restore_tokens(text: str) -> str:
    """Return a text with the tokens in it as they were before `break_tokens`."""
    if BREAKER not in text:
        return text
    return _pattern(_SOME_BREAKERS).sub(lambda found: found[0][:-1], text)


class TokenRestorer:
    """Restores the tokens of a text that arrives in chunks. All chunks together give what `restore_tokens` gives.

    A breaker is held back, with what follows it, as long as a token may follow it.
    """

    def __init__(self) -> None:
        self._last = ""  # the last character that was returned
        self._held = ""  # text that was not returned yet; it begins with the breaker that may have to go

    def feed(self, chunk: str) -> str:
        """Return the restored text that `chunk` makes certain."""
        if not self._held and BREAKER not in chunk:
            self._last = chunk[-1:] or self._last
            return chunk
        text = self._last + self._held + chunk
        start = self._find_open_token(text)
        certain, self._held = restore_tokens(text[:start]), text[start:]
        if self._held:
            breakers = len(self._held) - len(self._held.lstrip(BREAKER))
            certain, self._held = certain + self._held[: breakers - 1], self._held[breakers - 1 :]
        returned = certain[len(self._last) :]
        # With a held breaker, the next text must begin with the character before all breakers, whichever were returned.
        self._last = text[start - 1] if self._held else certain[-1:]
        return returned

    def close(self) -> str:
        """Return the text that is still held back: no token has followed it."""
        held, self._held = self._held, ""
        return held

    def _find_open_token(self, text: str) -> int:
        """Return where the breakers begin after which a token may be incomplete; else the length of the text."""
        first = max(map(text.rfind, _FIRST_CHARS))
        begun = text[first + 1 :].lstrip(BREAKER)
        if first < 0 or len(begun) == len(text) - first - 1:  # no breaker after it
            return len(text)
        may_follow = _NAMED_START.fullmatch(begun) or any(
            rest.startswith(begun) and rest != begun for rest in _RESTS[text[first]]
        )
        return first + 1 if may_follow or not begun else len(text)
