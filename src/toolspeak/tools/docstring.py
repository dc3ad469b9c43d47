"""What a docstring says: the description, a line for each parameter, and the result.

Google, NumPy and Sphinx styles are told apart by the first sign of a section; griffe reads them. A docstring without
sections is a description and is not parsed at all.
"""

import inspect
import re
from typing import Any, Literal, TypeAlias

import griffe

from toolspeak._frozen import frozen

Style: TypeAlias = Literal["google", "numpy", "sphinx"]

SIGNS: tuple[tuple[Style, re.Pattern[str]], ...] = (
    (
        "numpy",
        re.compile(r"^[ \t]*(?:Parameters|Other Parameters|Returns|Yields|Raises)[ \t]*\n[ \t]*-{3,}[ \t]*$", re.M),
    ),
    (
        "sphinx",
        re.compile(r"^[ \t]*:(?:param|parameter|arg|argument|key|keyword|type|returns?|rtype|raises?)\b[^:\n]*:", re.M),
    ),
    (
        "google",
        re.compile(
            r"^[ \t]*(?:Args|Arguments|Params|Parameters|Keyword Args|Keyword Arguments|Other Parameters|"
            r"Returns|Yields|Raises|Examples?)[ \t]*:[ \t]*$",
            re.M,
        ),
    ),
)

ADMONITIONS_SHOWN = frozenset({"note", "warning", "important", "caution", "tip", "danger", "see-also"})


@frozen
class Documented:
    description: str = ""
    parameters: dict[str, str]
    returns: str = ""


def read_docstring(docstring: str | None) -> Documented:
    """Read a docstring in whichever style it is written."""
    if not docstring or not docstring.strip():
        return Documented(parameters={})
    text = inspect.cleandoc(docstring)
    for style, sign in SIGNS:
        if sign.search(text):
            return _sections(text, style)
    return Documented(description=text, parameters={})


def _sections(text: str, style: Style) -> Documented:
    # griffe would warn of every parameter without a type in the docstring; the types are in the signature.
    options: dict[str, Any] = {"returns_named_value": False} if style == "google" else {}
    parsed: list[Any] = griffe.Docstring(text, lineno=1).parse(style, warnings=False, **options)
    paragraphs: list[str] = []
    parameters: dict[str, str] = {}
    returns = ""
    for section in parsed:
        match section.kind.value:
            case "text":
                paragraphs.append(section.value.strip())
            case "parameters" | "other parameters":
                for parameter in section.value:
                    parameters[parameter.name.lstrip("*")] = _joined(parameter.description)
            case "returns":
                returns = _joined(" ".join(item.description for item in section.value))
            case "admonition" if section.value.kind in ADMONITIONS_SHOWN:
                paragraphs.append(
                    f"{section.title or section.value.kind.title()}: {_joined(section.value.description)}"
                )
            case _:
                pass
    return Documented(description="\n\n".join(filter(None, paragraphs)), parameters=parameters, returns=returns)


def _joined(text: str) -> str:
    """One paragraph of a wrapped text on one line; lists and blank lines stay."""
    return re.sub(r"(?<!\n)\n(?![\n*\-\d])[ \t]*", " ", inspect.cleandoc(text)).strip()
