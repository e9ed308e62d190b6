"""The page in a real Chromium: it fits every screen and finger, is dark or light, and has names for all it holds."""

import pytest

from tests.adapters.http.page.sample_questions import KINDS, approval, with_text_everywhere
from tests.browser.chromium import Chromium
from tests.browser.open_page import open_question
from tests.browser.question_server import QuestionServer
from weftwork.adapters.http.page import pages

pytestmark = pytest.mark.slow

SIZES = (
    "(() => { document.querySelectorAll('details').forEach(each => each.open = true);"
    " return [...document.querySelectorAll('button,summary,.pick,select,textarea,"
    "input:not([type=radio]):not([type=checkbox]):not([hidden])')]"
    ".map(each => [each.outerHTML.slice(0, 60), each.getBoundingClientRect().height]); })()"
)
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
LONG = "Donaudampfschifffahrtsgesellschaftskapitänswitwe" * 6


@pytest.mark.parametrize("name", KINDS)
def test_nothing_is_wider_than_a_small_phone_or_twice_the_size(browser: Chromium, name: str) -> None:
    for question in (KINDS[name], with_text_everywhere(KINDS[name], LONG)):
        with open_question(browser, question) as (_, tab):
            for width in (320, 640, 1280):
                tab.screen(width, 640, phone=width == 320)
                if width == 640:
                    tab.evaluate("document.documentElement.style.fontSize = '200%'")
                tab.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
                assert tab.evaluate(OVERFLOW) <= 0, width


@pytest.mark.parametrize("name", KINDS)
def test_targets_are_large_enough_for_a_finger(browser: Chromium, name: str) -> None:
    with open_question(browser, KINDS[name]) as (_, tab):
        tab.screen(320, 640, phone=True)
        found = tab.evaluate(SIZES)
        assert found
        assert [each for each in found if each[1] < 44] == []


def test_a_page_without_its_sheet_is_seen_to_be_too_wide_and_too_small(browser: Chromium) -> None:
    bare = pages.render_question(with_text_everywhere(approval(), LONG), "token").replace(b"<style>", b"<style>/**/")
    with QuestionServer(approval(), None, bare) as asker:
        tab = browser.tab()
        tab.screen(320, 640, phone=True)
        tab.open(asker.url)
        assert tab.evaluate(OVERFLOW) > 0
        assert [each for each in tab.evaluate(SIZES) if each[1] < 44]
        tab.close()


def test_dark_and_light(browser: Chromium) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    with open_question(browser, approval()) as (_, tab):
        assert tab.evaluate(ground) == "rgb(246, 247, 249)"
        tab.screen(390, 844, phone=True, dark=True)
        assert tab.evaluate(ground) == "rgb(16, 19, 24)"
        assert tab.evaluate("getComputedStyle(document.querySelector('textarea')).colorScheme") == "light dark"


def test_each_control_has_a_name_for_those_who_do_not_see_it(browser: Chromium) -> None:
    for name in ("approval", "clarification", "custom with a schema", "low confidence"):
        with open_question(browser, KINDS[name]) as (_, tab):
            tab.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
            nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
            roles = {"textbox", "radio", "checkbox", "combobox", "button", "spinbutton", "Date", "group", "region"}
            named = [each for each in nodes if each.get("role", {}).get("value") in roles and not each["ignored"]]
            inner = [each for each in named if each["role"]["value"] not in ("group",)]
            assert inner
            assert [each for each in inner if not each.get("name", {}).get("value", "").strip()] == []
