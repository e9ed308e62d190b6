"""Every state of the page in a real Chromium: axe finds nothing serious, in light and dark; it fits a phone, also at
twice the size; and it loads nothing."""

from collections.abc import Iterator

import pytest

from tests.adapters.http.page.page_states import SITE, SITES, STATES
from tests.browser.axe import findings
from tests.browser.chromium import Chromium, Tab
from tests.browser.question_server import LOGO_SIZE, QuestionServer
from weftwork.adapters.http.page.site import HEADERS
from weftwork.protocol.wire.v1.interrupts import ORGANISATION_LOGO_PATH

pytestmark = pytest.mark.slow

SERIOUS = ("serious", "critical")
UNFOLD = "document.querySelectorAll('details').forEach(each => each.open = true)"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SMALL = (
    "[...document.querySelectorAll('button,summary,.pick,select,textarea,input:not([hidden])')]"
    ".filter(each => !['radio', 'checkbox'].includes(each.type))"
    ".filter(each => each.getBoundingClientRect().height < 43.9).map(each => each.outerHTML.slice(0, 80))"
)
PARTS = 4


@pytest.fixture(scope="module")
def tab(browser: Chromium) -> Iterator[Tab]:
    opened = browser.tab()
    yield opened
    opened.close()


@pytest.mark.parametrize("part", range(PARTS))
def test_every_state_can_be_used_by_everybody(tab: Tab, part: int) -> None:
    # axe measures colours with a style of its own, which the policy of the page would keep out.
    free = [(name, value) for name, value in HEADERS if name != b"content-security-policy"]
    for name in [*STATES][part::PARTS]:
        with QuestionServer({}, free, STATES[name]) as server:
            for dark in (False, True):
                tab.screen(390, 844, phone=True, dark=dark)
                tab.open(server.url)
                tab.evaluate(UNFOLD)
                serious = [each for each in findings(tab, "html") if each["impact"] in SERIOUS]
                assert serious == [], (name, dark)


def test_axe_sees_a_page_that_cannot_be_used(tab: Tab) -> None:
    document = STATES["surface"].replace(b"--soft:#4a5361", b"--soft:#cccccc").replace(b' for="s4"', b"")
    free = [(name, value) for name, value in HEADERS if name != b"content-security-policy"]
    with QuestionServer({}, free, document) as server:
        tab.screen(390, 844, phone=True)
        tab.open(server.url)
        rules = {each["rule"] for each in findings(tab, "html") if each["impact"] in SERIOUS}
    assert {"color-contrast", "label"} <= rules


def test_every_state_fits_a_phone_also_at_twice_the_size(tab: Tab) -> None:
    for name, document in STATES.items():
        with QuestionServer({}, SITES.get(name, SITE).headers, document) as server:
            tab.screen(390, 844, phone=True)
            tab.open(server.url)
            assert tab.evaluate(OVERFLOW) <= 0, name
            assert tab.evaluate("getComputedStyle(document.querySelector('h1')).fontWeight") == "600", "no stylesheet"
            tab.evaluate(UNFOLD)
            assert tab.evaluate(OVERFLOW) <= 0, name
            assert tab.evaluate(SMALL) == [], name
            # A zoom of 200 % halves the pixels of a page.
            tab.screen(195, 422, phone=True)
            assert tab.evaluate(OVERFLOW) <= 0, (name, "at 200 %")
            logo = [ORGANISATION_LOGO_PATH] if SITES.get(name, SITE).has_logo else []
            assert server.paths == ["/v1/interrupts/token", *logo], name


@pytest.mark.parametrize("has_logo", [True, False])
def test_the_policy_lets_the_logo_of_the_host_in(tab: Tab, has_logo: bool) -> None:
    name = "approval-logo"
    with QuestionServer({}, SITES[name].headers if has_logo else SITE.headers, STATES[name]) as server:
        tab.open(server.url)
        assert (tab.evaluate("document.querySelector('header img').naturalWidth") == LOGO_SIZE) is has_logo


def test_an_exact_time_is_shown_when_it_is_pressed(tab: Tab) -> None:
    with QuestionServer({}, SITE.headers, STATES["approval"]) as server:
        tab.screen(390, 844, phone=True)
        tab.open(server.url)
        shown = "document.querySelector('.when > span').checkVisibility()"
        assert not tab.evaluate(shown)
        assert tab.evaluate("document.querySelector('.when time').title") == "5 March 2026, 18:00 UTC"
        tab.click(".when > summary")
        assert tab.evaluate(shown)
        assert tab.evaluate("document.querySelector('.when > span').innerText") == "5 March 2026, 18:00 UTC"
