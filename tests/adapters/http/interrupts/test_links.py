"""Links for people over HTTP: what they say, how long they last, for whom they are, and the page behind them."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.live import OTHER_KEY, Host, start_host, write_workflows
from tests.live.steering import answer_over_http, cancel, error_code, events, flow, interrupt_node, payloads, register
from tests.live.tokens import (
    ACCEPT,
    answer_by_token,
    approval_node,
    approval_workflow,
    comparable,
    create_link,
    created_link,
    get_interrupt,
    key_with,
    token_of,
)
from weftwork.protocol.json import schema
from weftwork.protocol.timestamps import parse_iso

PLAIN = approval_workflow("link-plain")
NAMED = approval_workflow("link-named", approversList=["ada", "bob"], requiredApprovals=2)
DUE = approval_workflow("link-due", timeoutMs=600_000)
PAGE = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
FORM = {**PAGE, "Content-Type": "application/x-www-form-urlencoded"}
DAY = 86_400_000
RACERS = 24


def lasts(made: dict[str, Any], shown: dict[str, Any]) -> float:
    """Milliseconds from the question to the end of the link."""
    ends, begins = parse_iso(made["expiresAt"]), parse_iso(shown["requestedAt"])
    assert ends is not None
    assert begins is not None
    return ends - begins


@pytest.mark.rule("tok-01", "tok-03")
def test_a_link_opens_the_question(host: Host) -> None:
    run_id = host.create(register(host, PLAIN))
    answer = create_link(host, run_id)
    assert answer.status == 201
    made = answer.document
    assert schema.check("interrupt-link", made) == []
    assert made["path"] == answer.headers["location"] == f"/v1/interrupts/{made['token']}"
    assert (made["runId"], made["nodeId"], made["interruptId"], made["intent"]) == (run_id, "gate", "gate.1", "resolve")
    assert "url" not in made
    assert 0 <= lasts(made, host.snapshot(run_id)["interrupt"]) - 7 * DAY < 60_000
    assert get_interrupt(host, made["token"]).document["expiresAt"] == made["expiresAt"]
    assert answer_by_token(host, made["token"], ACCEPT).document["status"] == "completed"
    assert error_code(create_link(host, run_id)) == (409, "interrupt_already_resolved")


@pytest.mark.rule("int-06")
def test_of_many_links_used_at_once_one_counts(host: Host) -> None:
    run_id = host.create(register(host, flow("link-race", [interrupt_node("gate")])))
    tokens = [created_link(host, run_id)["token"] for _ in range(RACERS)]
    start = threading.Barrier(RACERS)

    def racer(number: int) -> int:
        start.wait(120)
        return answer_by_token(host, tokens[number], number).status

    with ThreadPoolExecutor(RACERS) as pool:
        told = list(pool.map(racer, range(RACERS)))
    assert sorted(told) == [200] + [409] * (RACERS - 1)
    assert host.snapshot(run_id)["outputs"] == {"gate": {"output": told.index(200)}}


@pytest.mark.rule("tok-03")
def test_a_link_lasts_as_long_as_the_question_and_can_be_made_shorter(host: Host) -> None:
    run_id = host.create(register(host, DUE))
    shown = host.snapshot(run_id)["interrupt"]
    assert created_link(host, run_id)["expiresAt"] == shown["dueAt"]
    assert created_link(host, run_id, {"expiresInSeconds": 3_000_000_000})["expiresAt"] == shown["dueAt"]
    assert lasts(created_link(host, run_id, {"expiresInSeconds": 60}), shown) < 120_000
    assert get_interrupt(host, shown["interruptToken"]).document["expiresAt"] == shown["dueAt"], (
        "a read is not longer either"
    )
    plain = host.create(register(host, PLAIN))
    asked = host.snapshot(plain)["interrupt"]
    longest = created_link(host, plain, {"expiresInSeconds": 3_000_000_000})
    assert 0 <= lasts(longest, asked) - 7 * DAY < 60_000
    read = parse_iso(get_interrupt(host, asked["interruptToken"]).document["expiresAt"])
    assert read is not None
    assert 0 <= read - (parse_iso(asked["requestedAt"]) or 0) - 1_800_000 < 60_000


@pytest.mark.parametrize(
    "document",
    [
        [],
        {"for": ""},
        {"for": 1},
        {"for": "a\nb"},
        {"for": "x" * 101},
        {"intent": "admin"},
        {"expiresInSeconds": 0},
        {"expiresInSeconds": 1.5},
        {"expiresInSeconds": "60"},
        {"more": 1},
    ],
)
def test_a_link_that_makes_no_sense_is_refused(host: Host, document: Any) -> None:
    run_id = host.create(register(host, PLAIN))
    assert error_code(create_link(host, run_id, document)) == (400, "validation_error")
    cancel(host, run_id)


def test_there_is_no_link_to_what_is_not_open(host: Host) -> None:
    run_id = host.create(register(host, PLAIN))
    assert error_code(create_link(host, run_id, node_id="other")) == (404, "interrupt_not_found")
    assert error_code(create_link(host, "01zzzzzzzzzzzzzzzzzzzzzzzz")) == (404, "not_found")
    assert comparable(create_link(host, run_id, key=OTHER_KEY)) == comparable(
        create_link(host, "01zzzzzzzz", key=OTHER_KEY)
    )
    assert create_link(host, run_id, key=None).status == 401
    cancel(host, run_id)
    assert error_code(create_link(host, run_id)) == (410, "interrupt_gone")


def test_a_link_to_look_does_not_answer(host: Host) -> None:
    run_id = host.create(register(host, PLAIN))
    made = created_link(host, run_id, {"intent": "inspect"})
    assert get_interrupt(host, made["token"]).document["intent"] == "inspect"
    assert error_code(answer_by_token(host, made["token"], ACCEPT)) == (403, "forbidden")
    cancel(host, run_id)


@pytest.mark.rule("appr-06")
def test_a_gate_that_needs_a_key_has_no_link_to_answer(host: Host) -> None:
    run_id = host.create(register(host, approval_workflow("link-bearer", profile="openwop-interrupt-auth-required")))
    assert error_code(create_link(host, run_id)) == (403, "forbidden")
    shown = created_link(host, run_id, {"intent": "inspect"})
    page = get_interrupt(host, shown["token"], **PAGE)
    assert page.status == 200
    assert b"<form" not in page.body
    cancel(host, run_id)


@pytest.mark.rule("appr-03")
def test_a_link_for_somebody_speaks_for_nobody_else(host: Host) -> None:
    run_id = host.create(register(host, NAMED))
    ada, bob = (created_link(host, run_id, {"for": name})["token"] for name in ("ada", "bob"))
    nobody = host.snapshot(run_id)["interrupt"]["interruptToken"]
    assert error_code(answer_by_token(host, nobody, ACCEPT)) == (403, "forbidden")
    assert error_code(answer_by_token(host, nobody, {**ACCEPT, "voter": "ada"})) == (403, "forbidden")
    assert answer_by_token(host, ada, {**ACCEPT, "voter": "bob"}).document["status"] == "waiting-approval"
    assert answer_by_token(host, ada, ACCEPT).document["status"] == "waiting-approval", (
        "a second vote of hers is no other vote"
    )
    assert get_interrupt(host, bob).document["votes"] == [{"voter": "ada", "action": "accept"}]
    assert answer_by_token(host, bob, ACCEPT).document["status"] == "completed"
    granted = [each["principal"] for each in payloads(host, run_id, "approval.granted")]
    assert granted == ["ada", "bob"]


@pytest.mark.rule("appr-03")
@pytest.mark.parametrize("document", [{}, {"for": "eve"}, {"for": "Ada"}, {"for": "eve", "intent": "resolve"}])
def test_a_gate_that_names_its_approvers_has_links_for_them_only(host: Host, document: dict[str, str]) -> None:
    run_id = host.create(register(host, NAMED))
    refused = create_link(host, run_id, document)
    assert error_code(refused) == (400, "validation_error")
    assert refused.document["details"] == {"pointer": "/for", "supported": ["ada", "bob"]}
    # Anybody may look.
    shown = created_link(host, run_id, {**document, "intent": "inspect"})
    assert get_interrupt(host, shown["token"]).document.get("for") == document.get("for")
    cancel(host, run_id)


def test_a_link_knows_whose_it_is_and_what_it_has_said(host: Host) -> None:
    run_id = host.create(register(host, NAMED))
    ada, bob = (created_link(host, run_id, {"for": name})["token"] for name in ("ada", "bob"))
    before = get_interrupt(host, ada).document
    assert (before["for"], before["workflowId"], before["nodeId"]) == ("ada", "link-named", "gate")
    assert "voted" not in before
    assert b"Your approval is needed" in get_interrupt(host, ada, **PAGE).body
    assert answer_by_token(host, ada, ACCEPT).status == 200
    assert get_interrupt(host, ada).document["voted"] == "accept"
    assert b"You have approved. Sending again changes your vote." in get_interrupt(host, ada, **PAGE).body
    other = get_interrupt(host, bob)
    assert (other.document["for"], "voted" in other.document) == ("bob", False)
    assert b"Your approval is needed" in get_interrupt(host, bob, **PAGE).body
    cancel(host, run_id)


def test_a_link_for_nobody_knows_its_vote_as_well(host: Host) -> None:
    run_id = host.create(register(host, approval_workflow("link-open-pair", requiredApprovals=2)))
    first, second = (created_link(host, run_id)["token"] for _ in range(2))
    assert answer_by_token(host, first, ACCEPT).status == 200
    shown = get_interrupt(host, first).document
    assert (shown["voted"], "for" in shown) == ("accept", False)
    assert "voted" not in get_interrupt(host, second).document
    cancel(host, run_id)


@pytest.mark.rule("auth-01", "appr-03")
def test_links_for_others_need_a_scope(host: Host) -> None:
    register(host, NAMED)
    plain = key_with(host, "runs:read", "approvals:respond", label="ada")
    run_id = host.create("link-named")
    refused = create_link(host, run_id, {"for": "bob"}, key=plain)
    assert (refused.status, refused.document["details"]) == (403, {"scopeRequired": "approvals:delegate"})
    own = created_link(host, run_id, {"for": "ada"}, key=plain)
    assert answer_by_token(host, own["token"], ACCEPT).status == 200
    spoken = answer_over_http(host, run_id, "gate", {**ACCEPT, "voter": "bob"}, plain)
    assert (spoken.status, spoken.document["details"]) == (403, {"scopeRequired": "approvals:delegate"})
    assert answer_over_http(host, run_id, "gate", ACCEPT, plain).document["status"] == "waiting-approval", (
        "that is ada again"
    )
    wide = key_with(host, "approvals:respond", "approvals:delegate")
    assert answer_over_http(host, run_id, "gate", {**ACCEPT, "voter": "bob"}, wide).document["status"] == "completed"


@pytest.mark.rule("auth-01", "appr-07")
def test_an_override_needs_a_scope(host: Host) -> None:
    run_id = host.create(register(host, approval_workflow("link-override", approversList=["ada"], override=True)))
    value = {**ACCEPT, "override": True, "reason": "nobody is there"}
    refused = answer_over_http(host, run_id, "gate", value, key_with(host, "approvals:respond", "approvals:delegate"))
    assert (refused.status, refused.document["details"]) == (403, {"scopeRequired": "approvals:override"})
    assert error_code(answer_by_token(host, created_link(host, run_id, {"for": "ada"})["token"], value)) == (
        403,
        "forbidden",
    )
    wide = key_with(host, "approvals:respond", "approvals:override")
    assert answer_over_http(host, run_id, "gate", value, wide).document["status"] == "completed"
    assert "approval.overridden" in [event["type"] for event in events(host, run_id)]


def test_a_host_that_knows_where_it_is_gives_whole_links(tmp_path: Path) -> None:
    folder = write_workflows(tmp_path / "flows", flow("whole", [approval_node()]))
    env = {"WEFTWORK_PUBLIC_URL": "https://flows.example.org/weft/", "WEFTWORK_INTERRUPT_LINK_DAYS": "2"}
    with start_host(tmp_path, "--workflows", folder, env=env, store="memory") as host:
        run_id = host.create("whole")
        shown = host.snapshot(run_id)["interrupt"]
        base = "https://flows.example.org/weft/v1/interrupts/"
        assert shown["callbackUrl"] == base + shown["interruptToken"]
        made = created_link(host, run_id)
        assert made["url"] == base + made["token"]
        assert made["path"] == f"/v1/interrupts/{made['token']}"
        assert 0 <= lasts(made, shown) - 2 * DAY < 60_000


def submit(host: Host, token: str, fields: dict[str, str], **headers: str) -> Any:
    body = urlencode(fields).encode()
    return host.call("POST", f"/v1/interrupts/{token}", key=None, body=body, headers={**FORM, **headers})


@pytest.mark.rule("tok-04")
def test_a_browser_is_shown_a_page_and_its_form_answers(host: Host) -> None:
    run_id = host.create(register(host, PLAIN))
    token = created_link(host, run_id)["token"]
    for accept in ("application/json", "*/*", "text/html;q=0.5,application/json", "text/html;q=0", "text/htmlx"):
        assert get_interrupt(host, token, Accept=accept).headers["content-type"] == "application/json"
    shown = get_interrupt(host, token, **PAGE)
    assert (shown.status, shown.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert (shown.headers["cache-control"], shown.headers["referrer-policy"]) == ("no-store", "no-referrer")
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    assert re.search(rb'<form[^>]+action="([^"]+)"', shown.body)[1].decode() == token  # type: ignore[index]
    wrong = submit(host, token, {"action": "maybe"})
    assert (wrong.status, wrong.headers["content-type"]) == (400, "text/html; charset=utf-8")
    assert host.snapshot(run_id)["status"] == "waiting-approval"
    done = submit(host, token, {"action": "accept"})
    assert (done.status, done.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert host.snapshot(run_id)["status"] == "completed"
    for late in (get_interrupt(host, token, **PAGE), submit(host, token, {"action": "accept"})):
        assert (late.status, late.headers["content-type"]) == (409, "text/html; charset=utf-8")
        assert late.headers["referrer-policy"] == "no-referrer"
    lost = get_interrupt(host, "x" + token, **PAGE)
    assert (lost.status, lost.headers["content-type"]) == (404, "text/html; charset=utf-8")


@pytest.mark.parametrize("path", ["/v1/runs", "/v1/runs/{run}/interrupts/gate", "/v1/runs/{run}/approvals/gate"])
def test_a_form_is_taken_nowhere_else(host: Host, path: str) -> None:
    run_id = host.create(register(host, PLAIN))
    refused = host.call("POST", path.replace("{run}", run_id), body=b"action=accept", headers=FORM)
    assert error_code(refused) == (415, "unsupported_media_type")
    assert host.snapshot(run_id)["status"] == "waiting-approval"
    coded = submit(host, token_of(host, run_id), {"action": "accept"}, **{"Content-Encoding": "gzip"})
    assert coded.status == 415
    cancel(host, run_id)


def test_a_form_by_a_link_to_look_is_refused(host: Host) -> None:
    run_id = host.create(register(host, flow("link-look", [interrupt_node("gate")])))
    token = created_link(host, run_id, {"intent": "inspect"})["token"]
    assert submit(host, token, {"value": "1"}).status == 403
    cancel(host, run_id)
