"""The page as a tree of elements, and a person who fills in its form."""

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

import msgspec

from weftwork.adapters.http.page.form_body import decode_form
from weftwork.adapters.http.page.pages import render_question
from weftwork.protocol.forms.answer import resume_value
from weftwork.protocol.forms.visible_text import mark_hidden

VOID = {"img", "input", "meta"}


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
    """The elements with their attributes, without the texts: those between tags, and those in fields."""
    return [(each.name, tuple(_without_text(each).items())) for each in tree.all()]


def _without_text(element: Element) -> dict[str, str | None]:
    is_line = element.name == "input" and element.get("type") in ("text", "date")
    hidden = {"value"} if is_line else {"placeholder"} if element.name == "textarea" else set[str]()
    return {name: None if name in hidden else value for name, value in element.attributes.items()}


class FilledForm:
    """The fields of a page, in their order, and what somebody has put into them."""

    def __init__(self, tree: Element) -> None:
        (self.form,) = tree.named("form")
        named = self.form.named("input", "select", "textarea")
        self.controls = [each for each in named if each.get("type") != "submit"]
        self.names = list(dict.fromkeys(each.get("name") for each in self.controls))
        self.sent: dict[str, list[str]] = {name: self._initial(name) for name in self.names}

    def _controls(self, name: str) -> list[Element]:
        return [each for each in self.controls if each.get("name") == name]

    def _initial(self, name: str) -> list[str]:
        first, *rest = self._controls(name)
        if first.name == "textarea":
            return [first.text.removeprefix("\n")]
        if first.name == "select":
            chosen = [each for each in first.named("option") if "selected" in each.attributes]
            return [(chosen or first.named("option"))[0].get("value")]
        if first.get("type") in ("radio", "checkbox"):
            return [each.get("value") for each in [first, *rest] if "checked" in each.attributes]
        return [first.get("value")]

    def options(self, name: str) -> dict[str, str]:
        """The labels of what can be chosen, with what is sent for each."""
        first, *rest = self._controls(name)
        if first.name == "select":
            return {each.text: each.get("value") for each in first.named("option")}
        found: dict[str, str] = {}
        for each in [first, *rest]:
            (label,) = [label for label in self.form.named("label") if label.get("for") == each.get("id")]
            found[label.text] = each.get("value")
        return found

    def fill(self, name: str, value: Any) -> None:
        """Answer with a JSON value, in the way that the control allows."""
        first = self._controls(name)[0]
        kind = first.get("type") if first.name == "input" else first.name
        if kind == "checkbox":
            options = self.options(name)
            self.sent[name] = [options[label_of(each)] for each in value]
        elif kind in ("radio", "select"):
            self.sent[name] = [self.options(name)[label_of(value)]]
        elif first.get("class") == "json":
            self.sent[name] = [json.dumps(value, ensure_ascii=False)]
        else:
            self.sent[name] = [value if isinstance(value, str) else json.dumps(value)]

    def body(self, action: str | None) -> bytes:
        """What the browser sends when a button is pressed: line ends are CR and LF."""
        pairs = [(name, text.replace("\n", "\r\n")) for name, texts in self.sent.items() for text in texts]
        if action is not None:
            assert action in [each.get("value") for each in self.form.named("button")]
            pairs.append(("action", action))
        return urlencode(pairs).encode()


def label_of(value: Any) -> str:
    if value is True or value is False:
        return "Yes" if value else "No"
    return mark_hidden(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def parse_form(question: dict[str, Any]) -> FilledForm:
    return FilledForm(parse(render_question(question, "token")))


def answer(question: dict[str, Any], form: FilledForm, action: str | None = "send") -> Any:
    return resume_value(question, decode_form(form.body(action)))
