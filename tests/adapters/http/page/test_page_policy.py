"""The headers of the page, and the one sheet that they let in."""

import base64
import hashlib
import re

import pytest

from tests.adapters.http.page.page_tree import parse
from tests.adapters.http.page.sample_questions import KINDS
from weftwork.adapters.http.page import layout, pages
from weftwork.adapters.http.page.layout import CONTENT_TYPE, STYLESHEET
from weftwork.protocol.errors import ClientFault

HEADERS = {name.decode(): value.decode() for name, value in layout.HEADERS}
PAGES = {
    **{name: pages.render_question(question, "token") for name, question in KINDS.items()},
    "done": pages.render_done("running", None),
    "refusal": pages.render_refusal(ClientFault("forbidden", "no")),
}


def directives() -> dict[str, str]:
    pairs = [part.strip().partition(" ") for part in HEADERS["content-security-policy"].split(";")]
    return {name: value for name, _, value in pairs}


def sheet_fits(document: bytes) -> bool:
    (style,) = parse(document).named("style")
    digest = base64.b64encode(hashlib.sha256(style.text.encode()).digest()).decode()
    return directives()["style-src"] == f"'sha256-{digest}'"


def test_nothing_is_allowed_but_the_sheet_and_the_form() -> None:
    found = directives()
    style = found.pop("style-src")
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", style)
    assert found == {
        "default-src": "'none'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
    }


def test_the_other_headers() -> None:
    assert {name: value for name, value in HEADERS.items() if name != "content-security-policy"} == {
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "x-robots-tag": "noindex",
    }
    assert CONTENT_TYPE == b"text/html; charset=utf-8"


@pytest.mark.parametrize("name", PAGES)
def test_the_policy_lets_the_sheet_in(name: str) -> None:
    assert sheet_fits(PAGES[name])


def test_another_sheet_is_not_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "STYLESHEET", STYLESHEET + " ")
    assert not sheet_fits(pages.render_done("running", None))


def test_the_sheet_loads_nothing() -> None:
    assert not re.search(r"url\(|@import|@font-face|expression|javascript|//|<|\\", STYLESHEET)


def colours(dark: bool) -> dict[str, str]:
    light, _, rest = STYLESHEET.partition("@media (prefers-color-scheme:dark)")
    found = dict(re.findall(r"--([a-z-]+):(#[0-9a-f]{3,6})", light.partition("*,")[0]))
    return {**found, **dict(re.findall(r"--([a-z-]+):(#[0-9a-f]{3,6})", rest))} if dark else found


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(each * 2 for each in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


TEXTS = (
    "ink/ground ink/card ink/said ink/wrong soft/ground soft/card soft/said said-edge/said said-edge/ground "
    "accent/card go-ink/go stop/card stop/said"
).split()
LINES = "edge/card edge/said accent/ground accent/card accent/said stop/wrong go/ground go/card".split()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(("pair", "least"), [*((pair, 4.5) for pair in TEXTS), *((pair, 3.0) for pair in LINES)])
def test_colours_stand_out_as_wcag_asks(pair: str, least: float, dark: bool) -> None:
    one, other = (colours(dark)[name] for name in pair.split("/"))
    assert contrast(one, other) >= least, round(contrast(one, other), 2)


def test_contrast_is_reckoned_as_wcag_does() -> None:
    assert contrast("#000", "#fff") == 21
    assert round(contrast("#767676", "#ffffff"), 2) == 4.54
