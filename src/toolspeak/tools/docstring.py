"""Reads a docstring: the description, a text for each parameter, and a text for the result.

The style (Google, NumPy or Sphinx) is recognised by the heading of a section, and griffe parses the sections, unless
they are plain enough for `google_sections.py`. A docstring without sections is a description and is not parsed at all.
griffe is imported with the first docstring that needs it.
"""

import inspect
import re
from typing import Any, Literal, TypeAlias

from toolspeak._frozen import frozen
from toolspeak.tools.google_sections import read_plain_sections

Style: TypeAlias = Literal["google", "numpy", "sphinx"]

STYLE_PATTERNS: tuple[tuple[Style, re.Pattern[str]], ...] = (
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
class ParsedDocstring:
    """The texts of a docstring: the description, each parameter by name, and the result."""

    description: str = ""
    parameters: dict[str, str]
    returns: str = ""


def read_docstring(docstring: str | None) -> ParsedDocstring:
    """Parse a docstring in any of the three styles."""
    if not docstring or not docstring.strip():
        return ParsedDocstring(parameters={})
    text = inspect.cleandoc(docstring)
    for style, pattern in STYLE_PATTERNS:
        if pattern.search(text):
            plain = read_plain_sections(text) if style == "google" else None
            return parse_sections(text, style) if plain is None else _join_lines(*plain)
    return ParsedDocstring(description=text, parameters={})


def _join_lines(description: str, parameters: dict[str, str]) -> ParsedDocstring:
    joined = {name: _join_wrapped_lines(text) for name, text in parameters.items()}
    return ParsedDocstring(description=description, parameters=joined)


def parse_sections(text: str, style: Style) -> ParsedDocstring:
    """Parse a docstring with sections, by griffe."""
    import griffe

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
                    parameters[parameter.name.lstrip("*")] = _join_wrapped_lines(parameter.description)
            case "returns":
                returns = _join_wrapped_lines(" ".join(item.description for item in section.value))
            case "admonition" if section.value.kind in ADMONITIONS_SHOWN:
                paragraphs.append(
                    f"{section.title or section.value.kind.title()}: {_join_wrapped_lines(section.value.description)}"
                )
            case _:
                pass
    return ParsedDocstring(description="\n\n".join(filter(None, paragraphs)), parameters=parameters, returns=returns)


def _join_wrapped_lines(text: str) -> str:
    """Join the lines of each paragraph; lists and blank lines stay."""
    if "\n" not in text:
        return text.expandtabs().strip()
    return re.sub(r"(?<!\n)\n(?![\n*\-\d])[ \t]*", " ", inspect.cleandoc(text)).strip()
