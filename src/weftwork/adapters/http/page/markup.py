"""Builds HTML and escapes text. Every page is built by `element`.

`element` escapes every child and attribute that is plain text; only `Markup`, which this module created, is inserted
unescaped.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from weftwork.adapters.http.page.messages import NAME
from weftwork.protocol.forms.visible_text import mark_hidden

VOID_ELEMENTS: Final = frozenset({"img", "input", "meta"})
_ENTITIES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "`": "&#96;"})


class Markup(str):
    """A str that is HTML and needs no escaping. Created only from trusted constants and by `element` and `join`."""

    __slots__ = ()


Child = str | None
Attributes = Mapping[str, str | bool | None]


def escape(text: str) -> str:
    """Escape text for use as element content or as a quoted attribute value."""
    return mark_hidden(text).translate(_ENTITIES)


def element(name: str, attributes: Attributes, *children: Child) -> Markup:
    """One element with escaped attributes and children.

    An attribute with the value True is written without a value; one with None or False is left out.
    """
    rendered = "".join(
        f" {key}" if value is True else f' {key}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in VOID_ELEMENTS:
        return Markup(f"<{name}{rendered}>")
    return Markup(f"<{name}{rendered}>{join(children)}</{name}>")


def join(children: Iterable[Child]) -> Markup:
    """Concatenate the children. Plain text is escaped, None is left out."""
    return Markup("".join(each if isinstance(each, Markup) else escape(each) for each in children if each is not None))


def fill(template: str, **children: Child) -> Markup:
    """The template as escaped text, with each name in braces replaced by a child."""
    parts = NAME.split(template)
    # Odd positions are the names between the pieces of text.
    return join(children.get(part, f"{{{part}}}") if index % 2 else part for index, part in enumerate(parts))
