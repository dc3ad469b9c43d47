"""The answers of the model itself to plain questions, which it is then trained on with tools present.

Trained on words that others wrote, a model begins to talk like them, and briefly. So it learns to answer a question
that no tool serves as it answers it when no tools are shown. What results say is better told by the written replies:
the model's own were less often whole, and some were wrong.
"""

from collections.abc import Iterable, Mapping
from typing import Any

PLAIN_PREFIX = "plain-"  # how the ids of plain questions begin

MAX_OWN_TOKENS = 400
"""Where an answer is cut. A cut one is not used."""


def choose_own(answers: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the answers that may be trained on, those that have ended by themselves, by the ids of their questions."""
    ended = [each for each in answers if each["text"].strip() and each["answer_tokens"] < MAX_OWN_TOKENS]
    return {each["id"]: each["text"].strip() for each in ended}


def use_own(groups: Iterable[Mapping[str, Any]], own: Mapping[str, str]) -> list[dict[str, Any]]:
    """Put the model's own answers in the place of written ones; plain questions without one are left out."""
    used: list[dict[str, Any]] = []
    for group in groups:
        examples = [
            {**each, "target": own.get(each["id"], each["target"])}
            for each in group["examples"]
            if each["id"] in own or not each["id"].startswith(PLAIN_PREFIX)
        ]
        if examples:
            used.append({**group, "examples": examples})
    return used
