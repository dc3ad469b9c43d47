"""Reads a docstring: the description, a text for each parameter, and a text for the result.

The style (Google, NumPy or Sphinx) is recognised by the heading of a section, and griffe parses the sections. A
docstring without sections is a description and is not parsed at all.

Most docstrings are a description, then `Args:` with one entry for each parameter. Such a docstring is read without
griffe, which takes an eighth of the start of a small program to import. Whatever else a docstring holds (another
section, an example, a list of results, an odd indent), it is left to griffe as a whole.
"""

import inspect
import re
from typing import Any, Literal, NamedTuple, TypeAlias

from toolspeak.values.frozen import frozen

INDENT = "    "

PARAMETER_HEADINGS = frozenset({"Args:", "Arguments:", "Params:"})
HEADINGS = PARAMETER_HEADINGS | {"Raises:"}

ENTRY = re.compile(r"    (\w+)(?: \([^():]*\))?: (\S.*)")
"""An entry of `Args:`: the name of a parameter, perhaps its type, and what it is."""

UNUSUAL = re.compile(r"^[^\n]*:[ \t]*$|```|>>>|~~~", re.MULTILINE)
"""What may be a heading or an example of code in a description."""


class PlainSections(NamedTuple):
    """The description of a docstring, and the text of each parameter by its name, with its line breaks."""

    description: str
    parameters: dict[str, str]


def read_plain_sections(text: str) -> PlainSections | None:
    """Return the sections of a docstring without indent; None if it is not a plain one."""
    description, *sections = re.split(r"\n\n(?=[A-Z][a-z]+:\n)", f"\n\n{text}")
    description = description.strip()
    if not sections or not description or UNUSUAL.search(description):
        return None
    parameters: dict[str, str] = {}
    seen: set[str] = set()
    for section in sections:
        heading, *lines = section.rstrip().split("\n")
        if heading not in HEADINGS or heading in seen or not lines:
            return None
        seen.add(heading)
        entries = _read_entries(lines)
        if entries is None:
            return None
        if heading in PARAMETER_HEADINGS:
            parameters |= entries
    return PlainSections(description, parameters)


def _read_entries(lines: list[str]) -> dict[str, str] | None:
    """Return the texts of a section by name; None if it has a line that is neither an entry nor goes on with one."""
    entries: dict[str, list[str]] = {}
    last: list[str] | None = None
    for line in lines:
        if found := ENTRY.fullmatch(line):
            if found[1] in entries:
                return None
            last = entries[found[1]] = [found[2]]
        elif last is not None and line.startswith(INDENT * 2) and not line[len(INDENT) * 2 :][:1].isspace():
            last.append(line.strip())
        else:
            return None
    return {name: "\n".join(texts) for name, texts in entries.items()}


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
            if plain is None:
                return parse_sections(text, style)
            joined = {name: _join_wrapped_lines(text) for name, text in plain.parameters.items()}
            return ParsedDocstring(description=plain.description, parameters=joined)
    return ParsedDocstring(description=text, parameters={})


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
