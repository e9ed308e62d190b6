"""Lists of interrupts over HTTP: of one run, and of all runs of a tenant, page by page."""

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.harness.definitions import edge
from tests.live import KEY, OTHER_KEY, TEST_KEY, Host, start_host, write_workflows
from tests.live.steering import answer_over_http, cancel, error_code, flow, interrupt_node, register
from tests.live.tokens import approval_node, comparable, get_interrupt
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
    assert {row["interruptId"]: row["status"] for row in everything} == {
        "one.1": "resolved",
        "two.1": "open",
        "last.1": "open",
    }
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
    due = parse_iso(row["dueAt"])
    assert due is not None
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
    cursor = inbox(host, limit=1)["nextCursor"]
    assert inbox(host, OTHER_KEY, cursor=cursor) == {"interrupts": []}


@pytest.mark.parametrize(
    "query",
    [
        "kind=maybe",
        "kind=conversation.start",
        "kind=",
        "limit=0",
        "limit=201",
        "limit=x",
        "dueBefore=tomorrow",
        "dueBefore=2026-13-01T00:00:00Z",
        "dueBefore=1767225600000",
        "cursor=",
        "cursor=%21",
        "workflowId=a%2Fb",
        "runId=",
        "nodeId=",
        f"nodeId={'n' * 129}",
    ],
)
def test_a_question_that_makes_no_sense_is_refused(host: Host, query: str) -> None:
    refused = host.call("GET", f"/v1/host/weftwork/interrupts?{query}")
    assert error_code(refused) == (400, "validation_error")
    assert refused.document["details"]["parameter"] == query.partition("=")[0]


def test_a_cursor_of_nowhere_is_an_empty_page(host: Host) -> None:
    for cursor in ("WzEsMl0", "bm8", "A", "_w"):
        assert inbox(host, cursor=cursor) == {"interrupts": []}


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
            assert {name: old[name] for name in old if "oken" not in name and name != "callbackUrl"} == {
                name: new[name] for name in new if "oken" not in name and name != "callbackUrl"
            }
        assert [row["runId"] for row in after] == runs
        assert get_interrupt(host, token).document["runId"] == runs[0], "its signing key is still there"
        assert answer_over_http(host, runs[0], "gate", {"action": "accept"}).status == 200
        assert [row["runId"] for row in inbox(host)["interrupts"]] == runs[1:]
