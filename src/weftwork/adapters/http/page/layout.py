"""The frame of every page: the document, the head with the organisation, the region for text from the workflow, and the
pieces that all pages use: facts, times and names."""

from datetime import UTC, datetime
from typing import Any, Final

from weftwork.adapters.http.page.markup import Child, Markup, element, fill
from weftwork.adapters.http.page.messages import Messages
from weftwork.adapters.http.page.site import LOGO_PATH, Site
from weftwork.protocol.forms.visible_text import shorten

CONTENT_TYPE: Final = b"text/html; charset=utf-8"
WORKFLOW_TEXT: Final = {"lang": "", "dir": "auto"}
"""Attributes of elements with text from the workflow, whose language and direction are unknown."""
MAX_NAME: Final = 100
_UNITS: Final = (("days", 86_400), ("hours", 3_600), ("minutes", 60))
_JUST_NOW: Final = 45
"""In seconds, as the units are."""


def render_document(site: Site, title: str, *content: Child) -> bytes:
    """A complete page. `title` must be the host's own text: text from a workflow belongs in `workflow_region`."""
    t = site.messages
    owner = site.name or "weftwork"
    head = element(
        "head",
        {},
        element("meta", {"charset": "utf-8"}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("meta", {"name": "color-scheme", "content": "light dark"}),
        element("title", {}, f"{title} · {owner}"),
        element("style", {}, Markup(site.stylesheet)),
    )
    main = element("main", {}, element("h1", {}, title), *content)
    footer = element("footer", {}, element("p", {}, t("footer")), element("p", {}, t("hosted")) if site.name else None)
    body = element("body", {}, _banner(site), main, footer)
    root = {"lang": t.tag, "dir": t.language.direction}
    return Markup(f"<!doctype html>\n{element('html', root, head, body)}\n").encode()


def _banner(site: Site) -> Markup:
    if not site.name:
        return element("header", {}, element("strong", {}, "weftwork"), element("span", {}, site.messages("host")))
    logo = element("img", {"src": LOGO_PATH, "alt": "", "height": "32"}) if site.has_logo else None
    return element("header", {}, logo, element("strong", {}, site.name))


def workflow_region(t: Messages, source: Child, *content: Child) -> Markup:
    """A frame for content from the workflow. Its first line says whose content it is, and its last one, for readers who
    do not see the frame, where that ends.

    The stylesheet clips the content to the region, so stacked combining characters cannot cover the host's own text.
    """
    tag = element("p", {"class": "tag"}, element("strong", {}, t("frame")), source)
    end = element("p", {"class": "hidden"}, t("frame-end"))
    attributes = {"class": "workflow", "aria-label": t("frame")}
    return element("section", attributes, tag, element("div", {"class": "content"}, *content), end)


def source_line(t: Messages, node: str, workflow: str) -> Child:
    """Which node of which workflow asks, by the names that the author of the workflow gave them."""
    if not node and not workflow:
        return None
    return element("span", {}, fill(t("frame-of"), node=name_text(node), workflow=name_text(workflow)))


def name_text(name: str) -> Markup:
    """A name that the host did not give."""
    return element("bdi", WORKFLOW_TEXT, shorten(name, MAX_NAME))


def fact_list(rows: list[tuple[str, Child]]) -> Child:
    """A list of (name, value) rows. Rows without a value are left out; None if no row is left."""
    cells: list[Child] = []
    for name, value in rows:
        if value:
            cells.append(element("div", {"class": "pair"}, element("dt", {}, name), element("dd", {}, value)))
    return element("dl", {"class": "facts"}, *cells) if cells else None


def folded(summary: Child, *content: Child, is_open: bool = False, style: str = "fold") -> Markup:
    """A part of the page that is shown when its first line is pressed."""
    return element("details", {"class": style, "open": is_open}, element("summary", {}, summary), *content)


def parse_time(text: Any) -> datetime | None:
    """A wire timestamp, in UTC; None if it is not one."""
    try:
        at = datetime.fromisoformat(text)
        return at.astimezone(UTC) if at.tzinfo is not None else at.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def date_text(t: Messages, at: datetime) -> str:
    month = t.language.months[at.month - 1]
    return t.language.date.format(day=at.day, month=month, year=at.year)


def time_text(t: Messages, at: datetime) -> str:
    """A time in words, such as "5 March 2026, 18:00 UTC"."""
    return t.language.time.format(date=date_text(t, at), hour=at.hour, minute=at.minute)


def show_time(t: Messages, text: Any, now: int | None = None) -> Child:
    """A wire timestamp in words; None if it is not one.

    With `now`, it is relative, such as "in 3 days". The exact time appears when the pointer is on it, and below it when
    it is pressed, because a finger cannot point.
    """
    if (at := parse_time(text)) is None:
        return None
    exact = time_text(t, at)
    stamp = f"{at:%Y-%m-%dT%H:%MZ}"
    if now is None:
        return element("time", {"datetime": stamp}, exact)
    relative = relative_time(t, int(at.timestamp() - now / 1000))
    summary = element("time", {"datetime": stamp, "title": exact}, relative)
    return folded(summary, element("span", {}, exact), style="when")


def relative_time(t: Messages, seconds: int) -> str:
    """The distance of a time from now, which is negative for the past: "in 3 days", "2 hours ago", "just now"."""
    if abs(seconds) < _JUST_NOW:
        return t("now")
    distance = abs(seconds)
    # Rounded, so that a link that is valid for seven days does not begin with "in 6 days".
    unit, length = next((each for each in _UNITS if distance >= 0.95 * each[1]), ("seconds", 1))
    text = t.count(unit, max(1, round(distance / length)))
    return t("ahead" if seconds > 0 else "ago", time=text)
