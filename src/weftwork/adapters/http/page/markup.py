"""Markup: the one place where text becomes HTML.

Elements are made by `element` alone. A child or attribute that is plain text is escaped there; only what `element`
itself has made goes in as it is.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from weftwork.adapters.http.page.display_text import mark_hidden

VOID_ELEMENTS: Final = frozenset({"input", "meta"})
_ENTITIES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "`": "&#96;"})


class Markup(str):
    """HTML that was made here."""

    __slots__ = ()


Child = str | None
Attributes = Mapping[str, str | bool | None]


def escape(text: str) -> str:
    """The text as character data, good between tags and between the quotes of an attribute alike."""
    return mark_hidden(text).translate(_ENTITIES)


def element(name: str, attributes: Attributes, *children: Child) -> Markup:
    """One element. An attribute that is True stands without a value; one that is None or False is left out."""
    said = "".join(
        f" {key}" if value is True else f' {key}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in VOID_ELEMENTS:
        return Markup(f"<{name}{said}>")
    return Markup(f"<{name}{said}>{join(children)}</{name}>")


def join(children: Iterable[Child]) -> Markup:
    """The children one after the other, escaped unless they are markup."""
    return Markup("".join(each if isinstance(each, Markup) else escape(each) for each in children if each is not None))
