"""A page as a tree: read by the parser of the standard library, strictly."""

from collections.abc import Iterator
from html.parser import HTMLParser

import msgspec

VOID = {"input", "meta"}


class Element(msgspec.Struct):
    name: str
    attributes: dict[str, str | None] = {}
    children: list["Element | str"] = []

    def all(self) -> Iterator["Element"]:
        """This one and all below, in the order of the page."""
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.all()

    def named(self, *names: str) -> list["Element"]:
        return [each for each in self.all() if each.name in names]

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def get(self, name: str) -> str:
        return self.attributes.get(name) or ""


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"{tag} repeats an attribute"
        made = Element(tag, dict(attrs))
        self.open[-1].children.append(made)
        if tag not in VOID:
            self.open.append(made)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].name == tag, f"</{tag}> closes {self.open[-1].name}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a comment")

    def handle_pi(self, data: str) -> None:
        raise AssertionError("a processing instruction")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError("a declaration")


def parse(page: bytes) -> Element:
    """The root of a page; fails if elements are not closed in order."""
    builder = _Builder()
    builder.feed(page.decode())
    builder.close()
    assert builder.open == [builder.root], "an element is not closed"
    return builder.root


def shape(tree: Element) -> list[tuple[str, tuple[tuple[str, str | None], ...]]]:
    """The elements with their attributes, without the texts."""
    return [(each.name, tuple(each.attributes.items())) for each in tree.all()]
