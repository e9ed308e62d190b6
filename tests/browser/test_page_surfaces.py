"""Surfaces on the page in a real Chromium: nothing in them runs or is loaded, and a button sends one answer."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from tests.adapters.http.page.sample_questions import PAYLOADS, POLYGLOTS, approval, with_text_everywhere
from tests.adapters.http.page.sample_surfaces import (
    EVERY_COMPONENT,
    INERT,
    PARTIAL,
    TRIP,
    UNTRUSTED_GATE,
    bound,
    surface_payload,
)
from tests.browser.chromium import Chromium, Tab
from tests.browser.open_page import made_no_requests, open_question
from tests.browser.question_server import QuestionServer
from tests.browser.test_interrupt_page import ENTER, SPACE, walk
from weftwork.adapters.http.page import pages
from weftwork.protocol.surfaces.surface import COMPONENTS

pytestmark = pytest.mark.slow

SHARES = range(4)
HOSTILE = [
    *PAYLOADS,
    *POLYGLOTS,
    *(f'" autofocus {payload} x="' for payload in PAYLOADS[:40]),
    *(f"</textarea></option></select></form>{payload}" for payload in PAYLOADS[:40]),
]
TRIP_ANSWER = {"who": "Ada Byron", "day": "2026-04-01", "class": "second", "meal": True, "action": "book"}


@pytest.fixture(scope="module")
def tab(browser: Chromium) -> Iterator[Tab]:
    opened = browser.tab()
    opened.screen(1100, 800)
    yield opened
    opened.close()


def everywhere(text: str) -> dict[str, Any]:
    """An approval and its surface, with this text in each field of both that can have text."""
    components: list[dict[str, Any]] = [copy.deepcopy(each) for each in EVERY_COMPONENT]
    for component in components:
        for name in ("text", "label", "placeholder"):
            if name in component:
                component[name] = text[:400]
        for option in component.get("options", []):
            option["label"] = text[:400]
    components[-2]["id"] = "accept"
    question = with_text_everywhere(approval(), text)
    payload = surface_payload(*components, title=text[:200] or None)
    return bound({**question, "for": text, "workflowId": text, "nodeId": text}, payload)


def test_there_are_enough_hostile_texts() -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) >= 200


@pytest.mark.parametrize("share", SHARES)
def test_nothing_in_a_surface_runs_or_is_loaded(tab: Tab, share: int) -> None:
    for payload in HOSTILE[share :: len(SHARES)]:
        question = everywhere(payload)
        alerts, seen = tab.alerts, len(tab.requests)
        with QuestionServer(question, None, pages.render_question(question, "token")) as asker:
            tab.open(asker.url)
            tab.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
            found = tab.evaluate("document.scripts.length + document.images.length + document.links.length")
            assert found == 0, payload
            assert tab.evaluate("document.forms.length") == 2, payload
            assert tab.alerts == alerts, payload
            loaded = {url for url in tab.requests[seen:] if not url.startswith("data:image/svg+xml;base64,")}
            assert loaded == {asker.url}, payload
            assert asker.paths == ["/v1/interrupts/token"], payload
    assert tab.complaints == []


def fill_in(tab: Tab) -> None:
    tab.fill("#s3", "Ada Byron")
    tab.evaluate("document.querySelector('#s4').value = '2026-04-01'")
    tab.evaluate("document.querySelector('#s5').value = '1'")


@pytest.mark.rule("surf-67")
def test_one_button_is_one_request_and_one_answer(browser: Chromium) -> None:
    with open_question(browser, TRIP) as (asker, tab):
        assert len({each["component"] for each in EVERY_COMPONENT}) == len(COMPONENTS)
        fill_in(tab)
        tab.click("button[value=book]")
        tab.loaded()
        assert asker.answers == [TRIP_ANSWER]
        assert asker.paths == ["/v1/interrupts/token"] * 2
        assert [url for url in tab.requests if not url.startswith("data:image/svg+xml;base64,")] == [asker.url] * 2
        assert "Book the journey" in tab.evaluate("document.body.innerText")


@pytest.mark.rule("surf-67")
def test_by_keyboard_alone(browser: Chromium) -> None:
    with open_question(browser, TRIP) as (asker, tab):
        walk(tab, "#s3")
        tab.write("Ada Byron")
        walk(tab, "#s4")
        for digits in "04012026":
            tab.press(digits, ord(digits), digits)
        walk(tab, "#s5")
        tab.press("S", ord("S"), "S")
        walk(tab, "#s6")
        tab.press(*SPACE)
        tab.press(*SPACE)
        walk(tab, "button[value=book]")
        assert tab.evaluate("getComputedStyle(document.activeElement).outlineWidth") == "3px"
        tab.press(*ENTER)
        tab.loaded()
        assert asker.answers == [TRIP_ANSWER]


def test_enter_in_a_field_presses_no_button(browser: Chromium) -> None:
    for field in ("#s4", "#s6"):
        with open_question(browser, TRIP) as (asker, tab):
            fill_in(tab)
            tab.evaluate(f"document.querySelector({field!r}).focus()")
            tab.press(*ENTER)
            tab.loaded()
            assert asker.answers == []
            assert "Press one of the buttons of the form." in tab.evaluate("document.body.innerText")
            assert tab.evaluate("document.querySelector('#s3').value") == "Ada Byron"


@pytest.mark.rule("surf-66")
def test_what_does_not_work_cannot_be_pressed(browser: Chromium) -> None:
    for question, dead in ((PARTIAL, "book"), (UNTRUSTED_GATE, "accept"), (INERT, "talk")):
        with open_question(browser, question) as (asker, tab):
            tab.click(f"button[name=press][value={dead}]")
            tab.evaluate(f"document.querySelector('button[name=press][value={dead}]').click()")
            assert tab.evaluate("document.readyState") == "complete"
            assert asker.paths == ["/v1/interrupts/token"]
            assert asker.answers == []


def test_a_person_decides_about_an_untrusted_form_with_the_buttons_of_the_host(browser: Chromium) -> None:
    with open_question(browser, UNTRUSTED_GATE) as (asker, tab):
        assert "untrusted source" in tab.evaluate("document.body.innerText")
        tab.fill("#comment", "Checked")
        tab.click("button[name=action][value=accept]")
        tab.loaded()
        assert asker.answers == [{"action": "accept", "comment": "Checked"}]


def test_what_the_host_refuses_can_be_corrected(browser: Chromium) -> None:
    with open_question(browser, TRIP) as (asker, tab):
        tab.evaluate("document.querySelectorAll('[required]').forEach(each => each.required = false)")
        tab.click("button[value=later]")
        tab.loaded()
        assert asker.answers == []
        assert tab.evaluate("document.querySelector('[role=alert]').innerText").startswith("Not sent yet")
        fill_in(tab)
        tab.click("button[value=book]")
        tab.loaded()
        assert asker.answers == [TRIP_ANSWER]
        assert made_no_requests(asker, tab)
