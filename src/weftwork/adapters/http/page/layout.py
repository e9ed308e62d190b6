"""The frame of every page: document, stylesheet, security headers, and the region for text from the workflow.

The only stylesheet is inline. The Content-Security-Policy allows it by its hash and allows no other style and no
script, so content of a question cannot add either.
"""

import hashlib
from base64 import b64encode
from datetime import UTC, datetime
from importlib import resources
from typing import Any, Final

from weftwork.adapters.http.asgi import Headers
from weftwork.adapters.http.page.markup import Child, Markup, element

STYLESHEET: Final = resources.files("weftwork.adapters.http.page").joinpath("style.css").read_text("utf-8").strip()
_HASH: Final = b64encode(hashlib.sha256(STYLESHEET.encode()).digest()).decode()
CONTENT_SECURITY_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: Final[Headers] = [
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-robots-tag", b"noindex"),
]
CONTENT_TYPE: Final = b"text/html; charset=utf-8"
_REGION_START = "From the workflow. The host has not checked this content."
_REGION_END = "End of the content from the workflow."


def render_document(title: str, *content: Child) -> bytes:
    """A complete page. `title` must be the host's own text: text from a workflow belongs in `workflow_region`."""
    head = element(
        "head",
        {},
        element("meta", {"charset": "utf-8"}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("meta", {"name": "color-scheme", "content": "light dark"}),
        element("title", {}, f"{title} · weftwork"),
        element("style", {}, Markup(STYLESHEET)),
    )
    top = element("header", {}, element("strong", {}, "weftwork"), " · workflow host")
    notice = "You do not need an account. This page loads nothing from other sites."
    footer = element("footer", {}, element("p", {}, notice))
    main = element("main", {}, element("h1", {}, title), *content)
    body = element("body", {}, top, main, footer)
    page = Markup(f"<!doctype html>\n{element('html', {'lang': 'en', 'dir': 'ltr'}, head, body)}\n")
    return page.encode()


def workflow_region(*content: Child) -> Markup:
    """A bordered region for content from the workflow, labelled at its start and its end.

    The stylesheet clips the content to the region, so stacked combining characters cannot cover the host's own text.
    """
    label = element("p", {"class": "tag"}, _REGION_START)
    end = element("p", {"class": "tag end"}, _REGION_END)
    return element(
        "section",
        {"class": "workflow", "aria-label": "From the workflow"},
        label,
        element("div", {"class": "content"}, *content),
        end,
    )


def fact_list(rows: list[tuple[str, Child]]) -> Child:
    """A list of (name, value) rows. Rows without a value are left out; None if no row is left."""
    cells: list[Child] = []
    for name, value in rows:
        if value:
            cells.append(element("div", {"class": "pair"}, element("dt", {}, name), element("dd", {}, value)))
    return element("dl", {"class": "facts"}, *cells) if cells else None


def format_time(text: Any) -> Child:
    """A wire timestamp as text in UTC, such as "5 March 2026, 18:00 UTC"; None if it is not a timestamp."""
    try:
        at = datetime.fromisoformat(text)
        at = at.astimezone(UTC) if at.tzinfo is not None else at.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError):
        return None
    return element("time", {"datetime": f"{at:%Y-%m-%dT%H:%MZ}"}, f"{at.day} {at:%B %Y, %H:%M} UTC")
