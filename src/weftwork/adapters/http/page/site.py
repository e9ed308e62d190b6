"""What all pages of a host have in common: the organisation, its language, the stylesheet and the security headers.

The only stylesheet is inline. The Content-Security-Policy allows it by its hash and allows no other style and no
script, so content of a question cannot add either.
"""

import hashlib
from base64 import b64encode
from functools import cache
from importlib import resources
from typing import Final

import msgspec

from weftwork.adapters.http.asgi import Headers
from weftwork.adapters.http.page.messages import Messages, load_messages
from weftwork.protocol.people.organisation import Palette
from weftwork.protocol.wire.v1.interrupts import ORGANISATION_LOGO_PATH
from weftwork.protocol.wire.v1.paths import VERSION_PREFIX

STYLESHEET: Final = resources.files("weftwork.adapters.http.page").joinpath("style.css").read_text("utf-8").strip()
LOGO_PATH: Final = "../" + ORGANISATION_LOGO_PATH.removeprefix(f"{VERSION_PREFIX}/")
"""Relative to the page of a link, so that it also works behind a proxy that adds a path prefix."""
_PALETTE: Final = """
:root{{--accent:{light};--accent-ink:{light_ink}}}
@media (prefers-color-scheme:dark){{:root{{--accent:{dark};--accent-ink:{dark_ink}}}}}"""


class Site(msgspec.Struct, frozen=True):
    """The settings of the pages of a host."""

    name: str = ""
    """The name of the organisation; empty: the pages name the host."""
    has_logo: bool = False
    palette: Palette | None = None
    messages: Messages = msgspec.field(default_factory=load_messages)

    @property
    def stylesheet(self) -> str:
        if (palette := self.palette) is None:
            return STYLESHEET
        colours = {name: getattr(palette, name) for name in Palette.__struct_fields__}
        return STYLESHEET + _PALETTE.format(**colours)

    @property
    def headers(self) -> Headers:
        """The headers of every page."""
        return _headers(self.stylesheet, self.has_logo)


@cache
def _headers(stylesheet: str, has_logo: bool) -> Headers:
    digest = b64encode(hashlib.sha256(stylesheet.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; "
    if has_logo:
        policy += "img-src 'self'; "
    policy += "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    return [
        (b"content-security-policy", policy.encode()),
        (b"x-frame-options", b"DENY"),
        (b"referrer-policy", b"no-referrer"),
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"no-store"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"x-robots-tag", b"noindex"),
    ]


DEFAULT_SITE: Final = Site()
HEADERS: Final = DEFAULT_SITE.headers
"""The headers of the pages of a host without settings for them."""
