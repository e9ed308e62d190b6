"""Interrupts over HTTP as lists, of one run or of a tenant, and as links for people with a page behind them."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.harness.cases import each_case, present
from tests.harness.definitions import edge
from tests.live import KEY, OTHER_KEY, TEST_KEY, Host, start_host, write_workflows
from tests.live.steering import (
    answer_over_http,
    cancel,
    error_code,
    event_types,
    flow,
    interrupt_node,
    payloads,
    register,
    without_tokens,
)
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
from weftwork.protocol.timestamps import iso, parse_iso

TWO = flow("listed-two", [interrupt_node("one"), interrupt_node("two"), interrupt_node("last")], [edge("one", "last")])
TIMED = flow("listed-timed", [approval_node("gate", timeoutMs=3_600_000)])
NOWHERE = "01zzzzzzzzzzzzzzzzzzzzzzzz"


def inbox(host: Host, key: str = KEY, **query: Any) -> dict[str, Any]:
    answer = host.call("GET", f"/v1/host/weftwork/interrupts?{urlencode(query, doseq=True)}", key=key)
    assert answer.status == 200, answer.body
    assert schema.check("interrupt-list", answer.document) == []
    return answer.document


def named(page: dict[str, Any]) -> list[str]:
    return [row["interruptId"] for row in page["interrupts"]]


@pytest.mark.rule("int-07", "tok-05")
def test_a_run_shows_what_it_asks_and_has_asked(host: Host) -> None:
    run_id = host.create(register(host, TWO))
    assert answer_over_http(host, run_id, "one", 1).status == 200
    path = f"/v1/runs/{run_id}/interrupts"
    shown = host.call("GET", path)
    assert shown.status == 200
    assert schema.check("interrupt-list", shown.document) == []
    assert sorted(named(shown.document)) == ["last.1", "two.1"]
    assert shown.document.keys() == host.call("GET", f"{path}?status=open").document.keys()
    for row in shown.document["interrupts"]:
        assert (row["runId"], row["workflowId"], row["status"]) == (run_id, "listed-two", "open")
        assert row["createdAt"] == row["requestedAt"]
        assert row["token"] == row["interruptToken"]
        assert row["callbackUrl"] == f"/v1/interrupts/{row['token']}"
        assert get_interrupt(host, row["token"]).document["interruptId"] == row["interruptId"]
    everything = host.call("GET", f"{path}?status=all").document["interrupts"]
    statuses = {row["interruptId"]: row["status"] for row in everything}
    assert statuses == {"one.1": "resolved", "two.1": "open", "last.1": "open"}
    (old,) = [row for row in everything if row["status"] == "resolved"]
    assert not {"token", "interruptToken", "callbackUrl", "tokenIntent"} & old.keys()
    cancel(host, run_id)
    assert host.call("GET", path).document == {"interrupts": []}
    ended = host.call("GET", f"{path}?status=all").document["interrupts"]
    assert sorted(row["status"] for row in ended) == ["cancelled", "cancelled", "resolved"]
    assert error_code(host.call("GET", f"{path}?status=closed")) == (400, "validation_error")
    quiet = host.create("conformance-noop")
    assert host.call("GET", f"/v1/runs/{quiet}/interrupts?status=all").document == {"interrupts": []}
    foreign = comparable(host.call("GET", path, key=OTHER_KEY))
    assert foreign == comparable(host.call("GET", f"/v1/runs/{NOWHERE}/interrupts", key=OTHER_KEY))
    assert foreign[0] == 404


@pytest.mark.rule("int-07")
def test_many_questions_of_a_run_are_listed_as_they_were_asked(host: Host) -> None:
    again = {"type": "expression", "expression": "nodes.ask.outputs.output < 12"}
    settings = {"maxLoopbackIterations": 20}
    many = flow("listed-many", [interrupt_node("ask")], [edge("ask", "ask", condition=again)], settings=settings)
    run_id = host.create(register(host, many))
    for number in range(1, 13):
        assert answer_over_http(host, run_id, "ask", number).status == 200
    shown = host.call("GET", f"/v1/runs/{run_id}/interrupts?status=all").document
    assert schema.check("interrupt-list", shown) == []
    assert named(shown) == [f"ask.{number}" for number in range(1, 13)]


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A host of its own with 25 open questions of acme, and one of its test side."""
    folder = tmp_path_factory.mktemp("crowd")
    flows = write_workflows(folder / "flows", TWO, TIMED)
    with start_host(folder, "--workflows", flows) as host:
        runs = [host.create("listed-two" if number % 5 else "listed-timed") for number in range(15)]
        host.create("listed-timed", key=TEST_KEY)
        yield host, runs


def test_the_inbox_is_read_oldest_first_and_page_by_page(crowd: Any) -> None:
    host, runs = crowd
    whole = inbox(host)["interrupts"]
    assert len(whole) == 12 * 2 + 3
    assert [row["requestedAt"] for row in whole] == sorted(row["requestedAt"] for row in whole)
    assert {row["runId"] for row in whole} == set(runs)
    for limit in (1, 4, 27, 200):
        pages: list[dict[str, Any]] = [inbox(host, limit=limit)]
        while "nextCursor" in pages[-1]:
            pages.append(inbox(host, limit=limit, cursor=pages[-1]["nextCursor"]))
            assert len(pages) < 60
        read = [(row["runId"], row["interruptId"]) for page in pages for row in page["interrupts"]]
        assert read == [(row["runId"], row["interruptId"]) for row in whole]
        assert all(len(page["interrupts"]) <= limit for page in pages)


def test_the_inbox_finds_what_is_asked_for(crowd: Any) -> None:
    host, runs = crowd
    assert len(named(inbox(host, kind="approval"))) == 3
    assert len(named(inbox(host, kind=["approval", "custom"]))) == len(named(inbox(host, kind="approval,custom"))) == 27
    assert named(inbox(host, kind="clarification")) == []
    assert len(named(inbox(host, workflowId="listed-timed"))) == 3
    assert named(inbox(host, runId=runs[0])) == ["gate.1"]
    assert sorted(named(inbox(host, runId=runs[1]))) == ["one.1", "two.1"]
    assert set(named(inbox(host, nodeId="two"))) == {"two.1"}
    (row,) = inbox(host, runId=runs[0])["interrupts"]
    due = present(parse_iso(row["dueAt"]))
    assert named(inbox(host, runId=runs[0], dueBefore=iso(due))) == []
    assert named(inbox(host, runId=runs[0], dueBefore=iso(due + 1))) == ["gate.1"]
    assert len(named(inbox(host, dueBefore="2099-01-01T00:00:00Z"))) == 3
    assert named(inbox(host, workflowId="listed-timed", nodeId="two")) == []


@pytest.mark.rule("auth-03")
def test_the_inbox_of_others_is_another(crowd: Any) -> None:
    host, runs = crowd
    assert inbox(host, OTHER_KEY) == {"interrupts": []}
    assert inbox(host, OTHER_KEY, runId=runs[0]) == inbox(host, OTHER_KEY, runId=NOWHERE) == {"interrupts": []}
    assert len(inbox(host, TEST_KEY)["interrupts"]) == 1
    for cursor in (inbox(host, limit=1)["nextCursor"], "WzEsMl0", "bm8", "A", "_w"):
        assert inbox(host, OTHER_KEY, cursor=cursor) == {"interrupts": []}


@each_case(
    "query",
    *"""
    kind=maybe kind=conversation.start kind= limit=0 limit=201 limit=x dueBefore=tomorrow
    dueBefore=2026-13-01T00:00:00Z dueBefore=1767225600000 cursor= cursor=%21 workflowId=a%2Fb runId= nodeId=
    """.split(),
    f"nodeId={'n' * 129}",
)
def test_a_question_that_makes_no_sense_is_refused(host: Host, query: str) -> None:
    refused = host.call("GET", f"/v1/host/weftwork/interrupts?{query}")
    assert error_code(refused) == (400, "validation_error")
    assert refused.document["details"]["parameter"] == query.partition("=")[0]


def test_the_inbox_outlives_the_host(tmp_path: Path) -> None:
    flows = write_workflows(tmp_path / "flows", TWO, TIMED)
    with start_host(tmp_path, "--workflows", flows) as host:
        runs = [host.create("listed-timed") for _ in range(3)]
        before = inbox(host)["interrupts"]
        token = before[0]["token"]
        host.kill()
    with start_host(tmp_path, "--workflows", flows) as host:
        after = inbox(host)["interrupts"]
        for old, new in zip(before, after, strict=True):
            assert without_tokens({**old, "token": ""}) == without_tokens({**new, "token": ""})
        assert [row["runId"] for row in after] == runs
        assert get_interrupt(host, token).document["runId"] == runs[0], "its signing key is still there"
        assert answer_over_http(host, runs[0], "gate", {"action": "accept"}).status == 200
        assert [row["runId"] for row in inbox(host)["interrupts"]] == runs[1:]


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
    read = present(parse_iso(get_interrupt(host, asked["interruptToken"]).document["expiresAt"]))
    assert 0 <= read - (parse_iso(asked["requestedAt"]) or 0) - 1_800_000 < 60_000


@each_case(
    "document",
    *([], {"intent": "admin"}, {"more": 1}),
    *({"for": wrong} for wrong in ("", 1, "a\nb", "x" * 101)),
    *({"expiresInSeconds": wrong} for wrong in (0, 1.5, "60")),
)
def test_a_link_that_makes_no_sense_or_leads_to_nothing_open_is_refused(host: Host, document: Any) -> None:
    run_id = host.create(register(host, PLAIN))
    assert error_code(create_link(host, run_id, document)) == (400, "validation_error")
    assert error_code(create_link(host, run_id, node_id="other")) == (404, "interrupt_not_found")
    assert error_code(create_link(host, NOWHERE)) == (404, "not_found")
    foreign, unknown = (create_link(host, each, key=OTHER_KEY) for each in (run_id, NOWHERE))
    assert comparable(foreign) == comparable(unknown)
    assert create_link(host, run_id, key=None).status == 401
    cancel(host, run_id)
    assert error_code(create_link(host, run_id)) == (409, "interrupt_already_resolved")


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
@each_case("document", {}, {"for": "eve"}, {"for": "Ada"}, {"for": "eve", "intent": "resolve"})
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
    assert b"You have approved. Sending the form again changes your vote." in get_interrupt(host, ada, **PAGE).body
    other = get_interrupt(host, bob)
    assert (other.document["for"], "voted" in other.document) == ("bob", False)
    assert b"Your approval is needed" in get_interrupt(host, bob, **PAGE).body
    cancel(host, run_id)
    # So does a link for nobody.
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
    link = created_link(host, run_id, {"for": "ada"})
    assert error_code(answer_by_token(host, link["token"], value)) == (403, "forbidden")
    wide = key_with(host, "approvals:respond", "approvals:override")
    assert answer_over_http(host, run_id, "gate", value, wide).document["status"] == "completed"
    assert "approval.overridden" in event_types(host, run_id)


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


@each_case("path", "/v1/runs", "/v1/runs/{run}/interrupts/gate", "/v1/runs/{run}/approvals/gate")
def test_a_form_is_taken_nowhere_else_and_a_link_to_look_does_not_answer(host: Host, path: str) -> None:
    run_id = host.create(register(host, PLAIN))
    refused = host.call("POST", path.replace("{run}", run_id), body=b"action=accept", headers=FORM)
    assert error_code(refused) == (415, "unsupported_media_type")
    assert host.snapshot(run_id)["status"] == "waiting-approval"
    coded = submit(host, token_of(host, run_id), {"action": "accept"}, **{"Content-Encoding": "gzip"})
    assert coded.status == 415
    made = created_link(host, run_id, {"intent": "inspect"})
    assert get_interrupt(host, made["token"]).document["intent"] == "inspect"
    assert error_code(answer_by_token(host, made["token"], ACCEPT)) == (403, "forbidden")
    assert submit(host, made["token"], {"action": "accept"}).status == 403
    cancel(host, run_id)
