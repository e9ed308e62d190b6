"""A surface that the page fetches and answers by itself: requests, errors of the host, and pages of another origin."""

import re
from typing import Any

import pytest

from tests.browser import surface_page
from tests.browser.chromium import Chromium
from tests.browser.surface_page import (
    POLICY,
    SURFACE_PATH,
    TOKEN_PATH,
    SurfacePage,
    SurfaceServer,
    booking,
    button,
    payload_of,
    view_of,
)
from tests.harness.cases import each_case, fails_without
from tests.live import until
from weftwork.protocol.errors import error_document

pytestmark = pytest.mark.slow

SENT = {"guest": "Ada", "arrival": "2026-02-03", "room": "r2", "breakfast": True}


def settled(page: SurfacePage, state: str) -> None:
    until(lambda: page.state == state, f"the form to be {state}", 20)


def test_a_surface_is_fetched_and_its_action_is_one_post(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        page.connect(options="{headers: {Authorization: 'Bearer of the page'}}")
        assert "Form from 127.0.0.1" in page.text(".wfs-frame")
        page.fill_in()
        page.press("Book it")
        settled(page, "sent")
        (post,) = page.server.posts
        assert (post["path"], post["body"]) == (f"{SURFACE_PATH}/actions/book", {"values": SENT})
        headers = {name.lower(): value for name, value in post["headers"].items()}
        assert headers["authorization"] == "Bearer of the page"
        assert re.fullmatch("[0-9a-f]{32}", headers["idempotency-key"])
        assert not {"cookie", "referer"} & headers.keys()
        assert page.server.actions == [("book", {**SENT, "action": "book"})]
        assert page.run("answers") == [[{"runId": "run-1", "nodeId": "ask", "status": "running"}, {"actionId": "book"}]]
        expected = ["GET /page", "GET /page.js", "GET /v1/host/weftwork/weftwork-surface.js", f"GET {SURFACE_PATH}"]
        assert page.server.paths == [*expected, f"POST {SURFACE_PATH}/actions/book"]


def test_the_surface_of_a_link_has_its_actions_at_the_link(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        page.connect(f"{TOKEN_PATH}/surface", "{headers: async () => ({})}")
        page.fill_in()
        page.press("Ask me later")
        settled(page, "sent")
        assert [post["path"] for post in page.server.posts] == [f"{TOKEN_PATH}/actions/later"]


@fails_without(surface_page, "EDITS", (("PATH_STEPS.includes(id)", "false"),))
def test_an_id_cannot_lead_to_another_path(browser: Chromium) -> None:
    names = ["..", ".", "a:b", "a.b"]
    with SurfacePage(browser) as page:
        for name in names:
            page.server.view = view_of(payload_of(button(name, "Go")))
            page.allowed |= {f"{SURFACE_PATH}/actions/{each}" for each in ("a%3Ab", "a.b")}
            page.connect()
            if page.state == "open":
                page.press("Go")
                until(lambda: page.state in ("sent", "closed"), "the answer", 20)
        assert [post["path"].rpartition("/")[2] for post in page.server.posts] == ["a%3Ab", "a.b"]


def test_what_the_host_refuses_is_shown_at_its_field_and_can_be_corrected(browser: Chromium) -> None:
    details = {"pointer": "/values/guest", "message": "Ada is on holiday.", "field": "guest"}
    with SurfacePage(browser) as page:
        page.server.failures = [
            (400, error_document("validation_error", "It is not valid.", {"violations": [details]})),
            (400, error_document("validation_error", "Not on this night.", {"pointer": "/values/arrival"})),
            (503, error_document("service_unavailable", "The host is busy.")),
        ]
        page.connect()
        page.fill_in()
        for text in ("Name: Ada is on holiday.", "First night: Not on this night.", "The host is busy."):
            page.press("Book it")
            until(lambda text=text: text in page.text(".wfs-errors"), "the error", 20)
            assert page.state == "open"
        page.press("Book it")
        settled(page, "sent")
        keys = [post["headers"]["Idempotency-Key"] for post in page.server.posts]
        # The same attempt is repeated only after an error that leaves open what happened.
        assert len(set(keys)) == 3
        assert keys[2] == keys[3]
        assert page.server.actions == [("book", {**SENT, "action": "book"})]


@each_case(
    "status, code, said",
    (409, "interrupt_already_resolved", "already answered"),
    (410, "interrupt_expired", "deadline"),
    (404, "interrupt_not_found", "closed"),
)
def test_a_form_that_is_no_longer_open_closes(browser: Chromium, status: int, code: str, said: str) -> None:
    with SurfacePage(browser) as page:
        page.server.failures = [(status, error_document(code, "No."))]
        page.connect()
        page.fill_in()
        page.press("Book it")
        settled(page, "closed")
        assert said in page.text(".wfs-status")
        page.press("Book it")
        assert len(page.server.posts) == 1


def test_a_blocked_approval_says_why_and_the_host_refuses_it_as_well(browser: Chromium) -> None:
    reason = "This form contains content from an untrusted source, so it cannot answer an approval."
    with SurfacePage(browser) as page:
        page.server.view = view_of(payload_of(button("accept")), contentTrust="untrusted", blockedReason=reason)
        page.server.kind = "approval"
        page.connect()
        assert reason in page.text(".wfs-status")
        assert (page.state, page.server.posts) == ("blocked", [])
        assert page.server.act("accept", {"values": {}})[1]["error"] == "untrusted_content_blocks_approval"


def test_a_form_that_cannot_be_loaded_can_be_tried_again(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        page.allowed.add("/nowhere")
        page.connect("/nowhere")
        assert "could not be loaded. There is nothing at this path." in page.text()
        assert page.run("faults") == ["There is nothing at this path."]
        page.connect(
            options="{fetch: (...about) => window.failed ? fetch(...about) :"
            " ((window.failed = true), Promise.reject(new TypeError('gone')))}"
        )
        page.press("Try again")
        settled(page, "open")


def test_a_host_that_is_gone_is_reported_and_the_same_attempt_repeated(browser: Chromium) -> None:
    lost = """{fetch: async (url, about) => {
        const response = await fetch(url, about);
        if (about.method === "POST" && !window.lost) { window.lost = true; throw new TypeError("gone"); }
        return response;
    }}"""
    with SurfacePage(browser) as page:
        page.connect(options=lost)
        page.fill_in()
        page.press("Book it")
        until(lambda: "did not answer" in page.text(".wfs-errors"), "the error", 20)
        page.press("Book it")
        settled(page, "sent")
        assert len({post["headers"]["Idempotency-Key"] for post in page.server.posts}) == 1


@fails_without(surface_page, "EDITS", (("if (address.origin !== base.origin) throw", "if (false) throw"),))
def test_nothing_is_sent_to_another_origin(browser: Chromium) -> None:
    with SurfaceServer() as other, SurfacePage(browser) as page:
        other.cors = "*"
        page.server.policy = POLICY.replace("connect-src 'self'", "connect-src *")
        page.tab.open(f"{page.server.address}/page")
        page.connect(options=f"{{actionUrl: (id) => '{other.address}{SURFACE_PATH}/actions/' + id}}")
        page.fill_in()
        page.press("Book it")
        until(lambda: page.text(".wfs-errors"), "the error", 20)
        assert (other.paths, page.server.posts) == ([], [])


def test_a_redirect_is_not_followed_and_only_http_is_spoken(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        page.connect(options="{fetch: (url, about) => { window.about = about; return fetch(url, about); }}")
        about = page.run("[about.redirect, about.credentials, about.referrerPolicy]")
        assert about == ["error", "same-origin", "no-referrer"]
        for url in ("javascript:alert(1)", "data:application/json,{}", "blob:null/x", "ftp://127.0.0.1/x"):
            connect = f"kit.connectSurface(document.body, {{url: '{url}'}})"
            assert page.run(f"(() => {{ try {{ {connect}; }} catch (e) {{ return e.name; }} }})()") == "TypeError"


def test_a_page_of_another_origin_imports_the_module(browser: Chromium) -> None:
    """The page, its policy and its server are those of somebody else. Its host is named by its policy."""
    with SurfaceServer(cors="*") as host:
        foreign = SurfaceServer()
        foreign.script = surface_page.SCRIPT.replace('"/v1', f'"{host.address}/v1')
        foreign.policy = POLICY.replace("script-src 'self'", f"script-src 'self' {host.address}").replace(
            "connect-src 'self'", f"connect-src {host.address}"
        )
        page = SurfacePage(browser, foreign)
        page.allowed.add(f"{host.address}/v1/host/weftwork/weftwork-surface.js")
        with page:
            page.connect(f"{host.address}{TOKEN_PATH}/surface")
            page.fill_in()
            page.press("Book it")
            settled(page, "sent")
            assert foreign.paths == ["GET /page", "GET /page.js"]
            assert host.actions == [("book", {**SENT, "action": "book"})]


def test_destroy_ends_the_load_and_an_answer_still_arrives(browser: Chromium) -> None:
    with SurfacePage(browser) as page:
        page.connect()
        page.fill_in()
        page.server.gate.clear()
        page.press("Book it")
        until(lambda: page.server.posts, "the request", 20)
        page.run("form.destroy()")
        page.server.gate.set()
        until(lambda: page.run("answers.length") == 1, "the answer", 20)
        assert page.run("document.getElementById('form').childNodes.length") == 0
        page.connect(wait=False)
        page.run("form.destroy(); form.ready")
        page.settle()
        assert page.run("[faults, document.getElementById('form').childNodes.length]") == [[], 0]


def test_a_closed_form_of_the_host_has_no_data_and_says_so(browser: Chromium) -> None:
    view: dict[str, Any] = {**booking(), "payload": None, "actions": [], "render": False}
    with SurfacePage(browser) as page:
        for status, said in (("answered", "already answered"), ("cancelled", "withdrawn")):
            page.show({**view, "status": status})
            assert (page.state, said in page.text(), "not valid" in page.text()) == ("closed", True, False)
        page.show({**view, "blockedReason": "Too many questions for one form."})
        assert (page.state, "Too many questions" in page.text()) == ("invalid", True)
