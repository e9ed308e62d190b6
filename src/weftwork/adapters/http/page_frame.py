"""The frame: what the host itself says around a question, and the region that holds what the question says."""

from datetime import UTC, datetime
from typing import Any

from weftwork.adapters.http.page_markup import Child, Markup, element
from weftwork.adapters.http.page_style import SHEET

_FROM = "From the workflow. This host passes it on and has not checked it."
_END = "End of what the workflow says."


def document(title: str, *content: Child) -> bytes:
    """A whole page. Its title is the host's: what a question says never leaves its region."""
    head = element(
        "head",
        {},
        element("meta", {"charset": "utf-8"}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("meta", {"name": "color-scheme", "content": "light dark"}),
        element("title", {}, f"{title} · weftwork"),
        element("style", {}, Markup(SHEET)),
    )
    top = element("header", {}, element("strong", {}, "weftwork"), " · workflow host")
    end = element("footer", {}, element("p", {}, "This page needs no account and loads nothing from elsewhere."))
    main = element("main", {}, element("h1", {}, title), *content)
    body = element("body", {}, top, main, end)
    page = Markup(f"<!doctype html>\n{element('html', {'lang': 'en', 'dir': 'ltr'}, head, body)}\n")
    return page.encode()


def said(*content: Child) -> Markup:
    """The region of what comes from the workflow: bounded on every side, and named at both ends.

    Nothing inside is drawn over the host's own words, however high its letters are piled.
    """
    label = element("p", {"class": "tag"}, _FROM)
    end = element("p", {"class": "tag end"}, _END)
    return element(
        "section",
        {"class": "said", "aria-label": "From the workflow"},
        label,
        element("div", {"class": "words"}, *content),
        end,
    )


def facts(rows: list[tuple[str, Child]]) -> Child:
    """Short facts, each with its name; those without a value are left out."""
    cells: list[Child] = []
    for name, value in rows:
        if value:
            cells.append(element("div", {"class": "pair"}, element("dt", {}, name), element("dd", {}, value)))
    return element("dl", {"class": "facts"}, *cells) if cells else None


def moment(text: Any) -> Child:
    """An instant of the wire in words, always UTC; None for what is none."""
    try:
        at = datetime.fromisoformat(text)
        at = at.astimezone(UTC) if at.tzinfo is not None else at.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError):
        return None
    return element("time", {"datetime": f"{at:%Y-%m-%dT%H:%MZ}"}, f"{at.day} {at:%B %Y, %H:%M} UTC")
