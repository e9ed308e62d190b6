"""The frame of every page: document, stylesheet, security headers, and the region that holds the workflow's text.

The one stylesheet stands in the page. The Content-Security-Policy names it by its hash, so that no other style and no
script can get in, whatever a question contains.
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
_REGION_START = "From the workflow. This host passes it on and has not checked it."
_REGION_END = "End of what the workflow says."


def render_document(title: str, *content: Child) -> bytes:
    """A whole page. Its title is the host's: what a question says never leaves its region."""
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
    end = element("footer", {}, element("p", {}, "This page needs no account and loads nothing from elsewhere."))
    main = element("main", {}, element("h1", {}, title), *content)
    body = element("body", {}, top, main, end)
    page = Markup(f"<!doctype html>\n{element('html', {'lang': 'en', 'dir': 'ltr'}, head, body)}\n")
    return page.encode()


def workflow_region(*content: Child) -> Markup:
    """The region of what comes from the workflow: bounded on every side, and named at both ends.

    Nothing inside is drawn over the host's own words, however high its letters are piled.
    """
    label = element("p", {"class": "tag"}, _REGION_START)
    end = element("p", {"class": "tag end"}, _REGION_END)
    return element(
        "section",
        {"class": "said", "aria-label": "From the workflow"},
        label,
        element("div", {"class": "words"}, *content),
        end,
    )


def fact_list(rows: list[tuple[str, Child]]) -> Child:
    """Short facts, each with its name; those without a value are left out."""
    cells: list[Child] = []
    for name, value in rows:
        if value:
            cells.append(element("div", {"class": "pair"}, element("dt", {}, name), element("dd", {}, value)))
    return element("dl", {"class": "facts"}, *cells) if cells else None


def format_time(text: Any) -> Child:
    """An instant of the wire in words, always UTC; None for what is none."""
    try:
        at = datetime.fromisoformat(text)
        at = at.astimezone(UTC) if at.tzinfo is not None else at.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError):
        return None
    return element("time", {"datetime": f"{at:%Y-%m-%dT%H:%MZ}"}, f"{at.day} {at:%B %Y, %H:%M} UTC")
