"""Reads plain Google docstrings, without griffe.

Most docstrings are a description, then `Args:` with one entry for each parameter. Such a docstring is read here in a
fraction of the time, and without importing griffe. Whatever else a docstring holds (another section, an example, a
list of results, an odd indent), it is left to griffe as a whole.
"""

import re
from typing import NamedTuple

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
