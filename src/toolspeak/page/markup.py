"""Builds HTML as text. Whatever is not made by `element` is text, and is escaped."""

import html
import re
from collections.abc import Iterable, Mapping
from typing import NewType

from toolspeak.escaping import UNSAFE_CHARS, escape_match

Markup = NewType("Markup", str)
"""HTML that was built here."""

VOID_ELEMENTS = frozenset({"img", "meta"})
"""Elements without content and without an end tag."""

_UNSAFE = re.compile(f"[{UNSAFE_CHARS}]")


def escape_text(text: str) -> Markup:
    """Return a text as HTML. Characters that are obeyed or hidden instead of shown become marked escapes."""
    escaped = html.escape(text.replace("\r\n", "\n"))
    return Markup(_UNSAFE.sub(_mark_control, escaped))


def escape_title(text: str) -> Markup:
    """Return a text as HTML for a place that cannot hold elements, such as a title."""
    return Markup(html.escape(_UNSAFE.sub(_escape, text)))


def _mark_control(found: re.Match[str]) -> str:
    return f'<span class="control">{_escape(found)}</span>'


def _escape(found: re.Match[str]) -> str:
    return escape_match(found) or r"\r"


def element(tag: str, attributes: Mapping[str, str | bool | None], *children: Markup | None) -> Markup:
    """Return an element with these attributes and children."""
    named = "".join(_write_attribute(name, value) for name, value in attributes.items())
    if tag in VOID_ELEMENTS:
        return Markup(f"<{tag}{named}>")
    return Markup(f"<{tag}{named}>{''.join(child for child in children if child)}</{tag}>")


def text_element(tag: str, kind: str, text: str) -> Markup:
    """Return an element of one class with a text in it."""
    return element(tag, {"class": kind or None}, escape_text(text))


def join(parts: Iterable[Markup]) -> Markup:
    """Return elements one after the other, each on a line of its own."""
    return Markup("\n".join(parts))


def _write_attribute(name: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    return f' {name}="{escape_title(value)}"'
