"""A link of a real host in a real Chromium: from the question of a run to the answer in its log."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.chromium import Chromium, Tab
from tests.harness.definitions import node
from tests.live import Host
from tests.live.fixtures import host as host
from tests.live.steering import cancel, flow, payloads, register
from tests.live.tokens import approval_workflow, created_link

pytestmark = pytest.mark.slow

GATE = approval_workflow("browser-gate", title="Offer 17", actions=["accept", "reject", "refine", "edit-accept", "ask"])
PAIR = approval_workflow("browser-pair", approversList=["ada", "bob"], requiredApprovals=2)
QUESTIONS = [
    {"id": "colour", "question": "Which colour?", "schema": {"enum": ["blue", "red"]}},
    {"id": "count", "question": "How many?", "schema": {"type": "integer", "minimum": 1}},
]
FORM = flow("browser-form", [node("gate", "core.clarificationGate", config={"questions": QUESTIONS})])


@pytest.fixture
def tab(browser: Chromium) -> Iterator[Tab]:
    opened = browser.tab()
    opened.screen(390, 844, phone=True)
    yield opened
    opened.close()


def visit(host: Host, tab: Tab, run_id: str, document: Any = None) -> str:
    """Open a link to what the run asks."""
    url = host.address + created_link(host, run_id, document)["path"]
    tab.open(url)
    return url


def words(tab: Tab) -> str:
    return tab.evaluate("document.body.innerText")


def press(tab: Tab, action: str) -> None:
    tab.click(f"button[value={action}]")
    tab.loaded()


def test_an_approval_by_link(host: Host, tab: Tab) -> None:
    run_id = host.create(register(host, GATE))
    url = visit(host, tab, run_id)
    assert "Offer 17" in words(tab)
    tab.fill("#comment", "Good.\nGo on.")
    press(tab, "accept")
    assert "The run is now complete." in words(tab)
    (received,) = payloads(host, run_id, "approval.received")
    assert (received["action"], received["comment"]) == ("accept", "Good.\nGo on.")
    tab.open(url)
    assert "You have answered this" in words(tab)
    assert "This link has been used." in words(tab)
    assert set(tab.requests) == {url}
    assert [text for text in tab.complaints if "409" not in text] == []


def test_a_rejection_by_link(host: Host, tab: Tab) -> None:
    run_id = host.create(register(host, GATE))
    visit(host, tab, run_id)
    tab.fill("#comment", "Too dear")
    press(tab, "reject")
    assert "has failed" in words(tab)
    snapshot = host.snapshot(run_id)
    assert (snapshot["status"], snapshot["error"]["code"]) == ("failed", "interrupt_rejected")


def test_a_question_before_the_decision(host: Host, tab: Tab) -> None:
    run_id = host.create(register(host, GATE))
    url = visit(host, tab, run_id)
    tab.click("details:has(#ask) > summary")
    tab.fill("#ask", "Why?")
    press(tab, "ask")
    assert "still waiting for an approval" in words(tab)
    tab.open(url)
    press(tab, "accept")
    assert host.snapshot(run_id)["status"] == "completed"


def test_two_people_approve(host: Host, tab: Tab) -> None:
    run_id = host.create(register(host, PAIR))
    visit(host, tab, run_id, {"for": "ada"})
    press(tab, "accept")
    url = visit(host, tab, run_id, {"for": "bob"})
    assert "You are answering as" in words(tab)
    assert "ada approved." in words(tab)
    nobody = host.snapshot(run_id)["interrupt"]["interruptToken"]
    tab.open(f"{url.rpartition('/')[0]}/{nobody}")
    press(tab, "accept")
    assert "You cannot answer with this link" in words(tab)
    tab.open(url)
    assert "1 of 2 approvals" in words(tab)
    press(tab, "accept")
    assert [each["principal"] for each in payloads(host, run_id, "approval.granted")] == ["ada", "bob"]
    assert host.snapshot(run_id)["status"] == "completed"


def test_a_form_by_link(host: Host, tab: Tab) -> None:
    run_id = host.create(register(host, FORM))
    visit(host, tab, run_id)
    tab.evaluate("document.querySelectorAll('[required]').forEach(each => each.required = false)")
    tab.fill("#f1", "3")
    press(tab, "send")
    assert "The answer to question 1 is still empty." in words(tab)
    assert tab.evaluate("document.querySelector('#f1').value") == "3"
    tab.click("label[for=f0-1]")
    press(tab, "send")
    assert "Your answer was recorded" in words(tab)
    (resolved,) = payloads(host, run_id, "interrupt.resolved")
    assert resolved["resumeValue"] == {"answers": {"colour": "red", "count": 3}}


def test_links_that_lead_to_nothing(host: Host, tab: Tab) -> None:
    run_id = host.create(register(host, GATE))
    url = visit(host, tab, run_id)
    cancel(host, run_id)
    press(tab, "accept")
    assert "was withdrawn" in words(tab)
    tab.open(url[:-1] + ("A" if url[-1] != "A" else "B"))
    assert "does not work" in words(tab)
