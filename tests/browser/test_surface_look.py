"""A surface is readable for all: axe finds nothing, at 200 % zoom, on a phone, in the dark, and with forced colours."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser import surface_page
from tests.browser.axe import findings
from tests.browser.chromium import Chromium
from tests.browser.surface_page import SurfacePage, SurfaceServer, booking, button, payload_of, view_of
from tests.harness.cases import fails_without

pytestmark = pytest.mark.slow

LAX = "default-src 'self' 'unsafe-inline' data:"
"""The checker adds styles to the page."""
SCHEME = (
    "const s = new CSSStyleSheet(); s.replaceSync(':root{color-scheme:light dark;background:Canvas;color:CanvasText}');"
)
LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft " * 3


def unknown_part() -> dict[str, Any]:
    view = booking()
    view["payload"]["surface"]["components"].insert(3, {"component": "field.rating", "id": "stars"})
    return view


VIEWS: dict[str, dict[str, Any]] = {
    "open": booking(),
    "untrusted": booking(contentTrust="untrusted"),
    "partial": booking(partial=True),
    "blocked": booking(blockedReason="Untrusted content cannot answer an approval."),
    "answered": booking(status="answered"),
    "unknown part": unknown_part(),
    "one button does not work": booking(actions=[{"id": "book", "label": "Book it", "target": "resume"}]),
    "not valid": view_of({"catalogVersion": "0.9.1", "surface": {"components": [{"component": "text"}]}}),
    "long": view_of(payload_of({"component": "text", "text": LONG}, button("go", LONG[:400]), title=LONG[:300])),
}


@pytest.fixture
def page(browser: Chromium) -> Iterator[SurfacePage]:
    with SurfacePage(browser, SurfaceServer(policy=LAX)) as opened:
        opened.run(f"(() => {{ {SCHEME} document.adoptedStyleSheets.push(s); }})()")
        yield opened


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_in_any_state(page: SurfacePage, dark: bool) -> None:
    for width, phone in ((1100, False), (390, True)):
        page.tab.screen(width, 844, phone=phone, dark=dark)
        for name, view in VIEWS.items():
            page.show(view)
            assert findings(page.tab, "#form") == [], (name, width)
            if name == "open":
                page.press("Book it")
                assert page.run("document.querySelectorAll('[aria-invalid=true]').length") == 3
                assert findings(page.tab, "#form") == [], "with errors"
    page.show(booking())
    page.fill_in()
    page.press("Book it")
    assert page.state == "sent"
    assert findings(page.tab, "#form") == []


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('class: "wfs-label", for: id', 'class: "wfs-label"', "label"),
        ("light-dark(#14181f,#eceff4)", "light-dark(#999,#888)", "color-contrast"),
        ("last = Math.min(ranks.indexOf(each) + 1, last + 1);", "last = each;", "heading-order"),
    ],
)
def test_axe_sees_what_is_wrong(
    browser: Chromium, monkeypatch: pytest.MonkeyPatch, old: str, new: str, rule: str
) -> None:
    monkeypatch.setattr(surface_page, "EDITS", ((old, new),))
    with SurfacePage(browser, SurfaceServer(policy=LAX)) as page:
        page.show(booking())
        assert rule in [each["rule"] for each in findings(page.tab, "#form")]


@fails_without(surface_page, "EDITS", (("overflow-wrap:anywhere;text-align:start", "text-align:start"),))
def test_nothing_is_cut_off_at_200_percent_and_on_a_phone(browser: Chromium) -> None:
    """A zoom of 200 % on a screen of 1280 pixels is a page of 640 pixels, and 400 % is one of 320 (WCAG 1.4.10)."""
    with SurfacePage(browser) as page:
        for width, scale in ((640, 2), (320, 4)):
            page.tab.screen(width, 700, scale=scale)
            for name, view in VIEWS.items():
                page.show(view)
                wide = page.run(
                    "[...document.querySelectorAll('.wfs, .wfs *')].filter(each => each.tagName !== 'OPTION' &&"
                    " each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0).map(each => each.className)"
                )
                assert page.run("document.documentElement.scrollWidth <= innerWidth"), (name, width)
                assert wide == [], (name, width)


def test_targets_are_large_enough_for_a_finger(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        page.tab.screen(390, 844, phone=True)
        page.show(booking())
        heights = page.run(
            "[...document.querySelectorAll('.wfs :is(button, input:not([type=checkbox]), select, .wfs-check > label)')]"
            ".map(each => each.getBoundingClientRect().height)"
        )
        assert len(heights) == 6
        assert min(heights) >= 40


def test_the_page_decides_about_colours(browser: Chromium) -> None:
    """The module follows `color-scheme` of the page and its custom properties."""
    background = "getComputedStyle(document.querySelector('.wfs')).backgroundColor"
    with SurfacePage(browser) as page:
        page.tab.screen(800, 600, dark=True)
        page.show(booking())
        assert page.run(background) == "rgb(255, 255, 255)"
        page.run(f"(() => {{ {SCHEME} document.adoptedStyleSheets.push(s); }})()")
        assert page.run(background) == "rgb(25, 29, 36)"
        own = "const s = new CSSStyleSheet(); s.replaceSync(':root{--wfs-ground:rgb(1, 2, 3)}');"
        page.run(f"(() => {{ {own} document.adoptedStyleSheets.push(s); }})()")
        assert page.run(background) == "rgb(1, 2, 3)"


def test_forced_colours_keep_a_border_and_a_dead_button_differs(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        page.tab.call("Emulation.setEmulatedMedia", features=[{"name": "forced-colors", "value": "active"}])
        style = "getComputedStyle(document.querySelector('.wfs button'))"
        border = f"[{style}.borderTopStyle, {style}.color]"
        page.show(booking())
        alive = page.run(border)
        page.update(booking(status="answered"))
        dead = page.run(border)
        assert (alive[0], dead[0]) == ("solid", "dashed")
        assert alive[1] != dead[1]
