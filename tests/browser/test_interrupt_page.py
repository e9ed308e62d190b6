"""The page in a real Chromium: people can answer there, by mouse, finger or keyboard."""

import copy
from typing import Any

import pytest

from tests.adapters.http.page.sample_questions import CLARIFICATION, KINDS, approval, quorum
from tests.browser.chromium import Chromium, Tab
from tests.browser.open_page import open_question
from tests.harness.cases import each_case
from tests.live import until

pytestmark = pytest.mark.slow

CHANGED = copy.deepcopy(approval()["data"]["artifactData"])
CHANGED["lines"][0]["item"] = "Mill"
TAB, ENTER, SPACE, DOWN = ("Tab", 9), ("Enter", 13, "\r"), (" ", 32, " "), ("ArrowDown", 40)


def walk(tab: Tab, target: str) -> None:
    """With the Tab key alone to an element."""
    for _ in range(80):
        if tab.evaluate(f"document.activeElement === document.querySelector({target!r})"):
            return
        tab.press(*TAB)
    raise AssertionError(f"{target} is not reached by the keyboard")


def test_approve(browser: Chromium) -> None:
    with open_question(browser, approval()) as (asker, tab):
        tab.click("button[value=accept]")
        tab.loaded()
        assert asker.answers == [{"action": "accept"}]
        assert "Your answer was recorded" in tab.evaluate("document.body.innerText")


def test_reject_with_a_comment(browser: Chromium) -> None:
    with open_question(browser, quorum()) as (asker, tab):
        tab.fill("#comment", "Too dear.\nSee § 4 — “sorry” 🙂")
        tab.click("button[value=reject]")
        tab.loaded()
        assert asker.answers == [{"action": "reject", "comment": "Too dear.\nSee § 4 — “sorry” 🙂"}]


@each_case(
    "field, action, text, answer",
    ("refine", "refine", "Shorter", {"action": "refine", "refineFeedback": {"scope": "whole", "text": "Shorter"}}),
    ("edit1", "edit-accept", "Mill", {"action": "edit-accept", "editedArtifactData": CHANGED}),
    ("ask", "ask", "Why?", {"action": "ask", "question": "Why?"}),
)
def test_the_other_ways_to_answer_are_unfolded(
    browser: Chromium, field: str, action: str, text: str, answer: Any
) -> None:
    with open_question(browser, approval()) as (asker, tab):
        tab.click(f"details:has(#{field}) > summary")
        tab.fill(f"#{field}", text)
        tab.click(f"button[value={action}]")
        tab.loaded()
        assert asker.answers == [answer]


@each_case("name", "approval", "approval of a text", "approval of hidden characters")
def test_what_is_not_edited_comes_back_as_it_was(browser: Chromium, name: str) -> None:
    with open_question(browser, KINDS[name]) as (asker, tab):
        tab.click("details:has(button[value=edit-accept]) > summary")
        tab.click("button[value=edit-accept]")
        tab.loaded()
        assert asker.answers[0]["editedArtifactData"] == KINDS[name]["data"]["artifactData"]


def test_a_clarification_on_a_phone(browser: Chromium) -> None:
    with open_question(browser, CLARIFICATION) as (asker, tab):
        tab.screen(390, 844, phone=True)
        tab.fill("#f0", "Work")
        tab.evaluate("document.querySelector('#f1').value = '2026-04-01'")
        tab.fill("#f2", "ann@example.org")
        tab.click("label[for=f3-1]")
        tab.fill("#f4", "2")
        tab.click("label[for=f5]")
        tab.click("label[for=f5-2]")
        tab.click("label[for=f6-1]")
        tab.evaluate("document.querySelector('#f7').value = '3'")
        tab.fill("#f8", "DE-123")
        tab.fill("#f9", "7.5")
        tab.fill("#f10", "{}")
        tab.click("button")
        tab.loaded()
        assert asker.answers == [
            {
                "answers": {
                    "why": "Work",
                    "day": "2026-04-01",
                    "mail": "ann@example.org",
                    "class": "second",
                    "seats": 2,
                    "extras": ["bicycle", "quiet zone"],
                    "insured": False,
                    "city": "City 3",
                    "code": "DE-123",
                    "weight": 7.5,
                    "rest": {},
                }
            }
        ]


def test_the_browser_asks_for_what_is_missing(browser: Chromium) -> None:
    with open_question(browser, CLARIFICATION) as (asker, tab):
        tab.click("button")
        until(lambda: tab.evaluate("document.activeElement.id") == "f0", "the focus on what is missing")
        assert not tab.evaluate("document.forms[0].checkValidity()")
        assert asker.paths == ["/v1/interrupts/token"]


def test_what_the_host_refuses_can_be_corrected(browser: Chromium) -> None:
    with open_question(browser, approval()) as (asker, tab):
        tab.click("details:has(#refine) > summary")
        tab.click("button[value=refine]")
        tab.loaded()
        assert (asker.answers, len(asker.refusals)) == ([], 1)
        until(lambda: tab.evaluate("document.activeElement.id") == "refine", "the focus on what is wrong")
        assert tab.evaluate("document.querySelector('[role=alert]').innerText").startswith("Not sent yet")
        tab.write("Shorter")
        tab.click("button[value=refine]")
        tab.loaded()
        assert asker.answers == [{"action": "refine", "refineFeedback": {"scope": "whole", "text": "Shorter"}}]


def test_by_keyboard_alone(browser: Chromium) -> None:
    with open_question(browser, approval()) as (asker, tab):
        walk(tab, "#comment")
        tab.write("Fine")
        tab.press(*ENTER)
        tab.write("by me")
        walk(tab, "button[value=reject]")
        outline = tab.evaluate("getComputedStyle(document.activeElement).outlineWidth")
        assert outline == "3px"
        tab.press(*ENTER)
        tab.loaded()
        assert asker.answers == [{"action": "reject", "comment": "Fine\nby me"}]


def test_choices_and_folds_by_keyboard(browser: Chromium) -> None:
    with open_question(browser, KINDS["custom with a schema"]) as (asker, tab):
        walk(tab, "#f0")
        tab.press(*SPACE)
        tab.press(*DOWN)
        walk(tab, "#f1")
        tab.write("4")
        tab.press(*ENTER)
        tab.loaded()
        assert asker.answers == [{"outcome": "bad", "count": 4, "key": "k-1"}]
    with open_question(browser, KINDS["low confidence"]) as (asker, tab):
        walk(tab, "details:has(#edit0) > summary")
        tab.press(*ENTER)
        walk(tab, "#edit0")
        # In a form with several buttons, Enter in a line presses none of them.
        tab.press(*ENTER)
        tab.loaded()
        assert (asker.answers, asker.refusals) == ([], ["Press one of the buttons of the form."])
        walk(tab, "details:has(#edit0) > summary")
        tab.press(*ENTER)
        walk(tab, "#edit0")
        walk(tab, "button[value=edit]")
        tab.press(*ENTER)
        tab.loaded()
        assert asker.answers == [KINDS["low confidence"]["data"]["decision"]]
