"""Polling: what comes, when it waits, when it is complete. Listing: pages, filters, and what others cannot see."""

from typing import Any

import pytest

from tests.live import KEY, OTHER_KEY, TEST_KEY, Host
from tests.live.fixtures import QUICK_WORKFLOW
from weftwork.protocol.json import schema


@pytest.fixture(scope="module")
def ended(host: Host) -> str:
    run_id = host.create(QUICK_WORKFLOW)
    host.log(run_id)
    return run_id


def poll(host: Host, run_id: str, query: str = "") -> dict[str, Any]:
    answer = host.call("GET", f"/v1/runs/{run_id}/events/poll{query}")
    assert answer.status == 200, answer.body
    assert schema.check("poll", answer.document) == []
    return answer.document


@pytest.mark.rule("poll-01", "poll-02", "evt-04")
def test_a_poll_returns_what_lies_after_its_cursor(host: Host, ended: str) -> None:
    log = poll(host, ended)["events"]
    assert [event["sequence"] for event in log] == list(range(len(log)))
    assert [log[0]["type"], log[-1]["type"]] == ["run.started", "run.completed"]
    for event in log:
        assert schema.check("run-event", event) == []
        assert schema.check_payload(event["type"], event["payload"]) == []
    for name in ("lastSequence", "since"):
        for last in range(-1, len(log)):
            page = poll(host, ended, f"?{name}={last}")
            assert page["events"] == log[last + 1 :]
            assert (page["isComplete"], page["isTerminal"], page["runStatus"]) == (True, True, "completed")
            assert page["lastEventSeq"] == len(log) - 1
            assert page["runId"] == ended


@pytest.mark.rule("poll-01")
def test_a_cursor_past_the_end_is_no_error(host: Host, ended: str) -> None:
    page = poll(host, ended, "?lastSequence=1000000&timeout=60")
    assert (page["events"], page["isComplete"], page["lastEventSeq"]) == ([], True, 1000000)
    largest = 2**53 - 1
    page = poll(host, ended, f"?lastSequence={largest}&timeout=60")
    assert (page["events"], page["isComplete"], page["lastEventSeq"]) == ([], True, largest)
    answer = host.call("GET", f"/v1/runs/{ended}/events?fromSequence={largest}")
    assert answer.document == {"events": [], "isComplete": True}


@pytest.mark.rule("poll-01", "poll-02")
def test_a_poll_waits_for_news_of_a_live_run(host: Host) -> None:
    run_id = host.create("conformance-cancellable")
    first = poll(host, run_id, "?timeout=60")
    assert [event["type"] for event in first["events"]] == ["run.started", "node.started"]
    assert (first["isComplete"], first["isTerminal"], first["runStatus"]) == (False, False, "running")
    quiet = poll(host, run_id, "?lastSequence=1&timeout=1")
    assert (quiet["events"], quiet["isComplete"], quiet["lastEventSeq"]) == ([], False, 1)
    host.call("POST", f"/v1/runs/{run_id}/cancel")
    log = host.log(run_id)
    last = poll(host, run_id, "?lastSequence=1&timeout=60")
    assert last["events"] == log[2:]
    assert (last["isComplete"], last["runStatus"]) == (True, "cancelled")


@pytest.mark.rule("poll-01", "poll-02")
def test_a_loop_of_polls_reads_a_live_run_once_and_ends(host: Host) -> None:
    run_id = host.create(QUICK_WORKFLOW)
    log = host.log(run_id)
    assert [event["sequence"] for event in log] == list(range(len(log)))
    assert log == poll(host, run_id)["events"]
    assert [event["type"] for event in log].count("run.completed") == 1
    assert log[-1]["type"] == "run.completed"


@pytest.mark.rule("poll-01")
@pytest.mark.parametrize(
    "query",
    [
        "lastSequence=x",
        "lastSequence=-2",
        "lastSequence=1.5",
        "lastSequence=",
        "lastSequence=9007199254740992",
        "lastSequence=99999999999999999999",
        "lastSequence=%F0%9F%A7%B6",
        "since=y",
        "timeout=0",
        "timeout=61",
        "timeout=soon",
    ],
)
def test_a_parameter_out_of_its_range_is_named(host: Host, ended: str, query: str) -> None:
    answer = host.call("GET", f"/v1/runs/{ended}/events/poll?{query}")
    assert (answer.status, answer.document["error"]) == (400, "validation_error")
    assert answer.document["details"]["parameter"] == query.partition("=")[0]


def listed(host: Host, query: str, key: str = KEY) -> dict[str, Any]:
    answer = host.call("GET", f"/v1/runs{query}", key=key)
    assert answer.status == 200, answer.body
    assert schema.check("run-list", answer.document) == []
    return answer.document


@pytest.mark.rule("run-05")
def test_a_listing_is_paged_newest_first_and_leaves_out_what_is_not_there(host: Host) -> None:
    made = [host.create("conformance-noop", tags=["paged", f"at-{at % 2}"]) for at in range(7)]
    for run_id in made:
        host.log(run_id)
    found: list[str] = []
    query = "?tag=paged&limit=3"
    while True:
        page = listed(host, query)
        assert len(page["runs"]) <= 3
        assert "null" not in str(page)
        assert None not in [value for run in page["runs"] for value in run.values()]
        found += [run["runId"] for run in page["runs"]]
        if "nextCursor" not in page:
            break
        query = f"?tag=paged&limit=3&cursor={page['nextCursor']}"
    assert found == made[::-1]
    even = listed(host, "?tag=paged&tag=at-0&status=completed&workflowId=conformance-noop")["runs"]
    assert [run["runId"] for run in even] == made[::2][::-1]
    assert listed(host, "?tag=paged&status=failed,cancelled")["runs"] == []
    assert listed(host, "?tag=paged&workflowId=another")["runs"] == []


@pytest.mark.rule("run-05")
def test_a_failed_run_is_listed_with_its_error(host: Host) -> None:
    run_id = host.create("conformance-failure", tags=["sad"])
    host.log(run_id)
    (run,) = listed(host, "?tag=sad")["runs"]
    assert (run["runId"], run["status"], run["error"]["code"]) == (run_id, "failed", "conformance_test_failure")


def test_nobody_reads_a_listing_with_the_cursor_of_another(host: Host) -> None:
    for _ in range(2):
        host.create("conformance-noop", tags=["mine"])
    cursor = listed(host, "?tag=mine&limit=1")["nextCursor"]
    for key in (OTHER_KEY, TEST_KEY):
        stolen = host.call("GET", f"/v1/runs?cursor={cursor}", key=key)
        made_up = host.call("GET", f"/v1/runs?cursor={cursor[::-1]}", key=key)
        assert (stolen.status, stolen.body) == (made_up.status, made_up.body) == (200, b'{"runs":[]}')


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("status=done", "status"),
        ("status=", "status"),
        ("status=completed,", "status"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=ten", "limit"),
        ("limit=5&limit=-5", "limit"),
        ("cursor=", "cursor"),
        ("cursor=%00", "cursor"),
        ("cursor=../x", "cursor"),
    ],
)
def test_a_listing_refuses_what_it_does_not_understand(host: Host, query: str, parameter: str) -> None:
    answer = host.call("GET", f"/v1/runs?{query}")
    assert (answer.status, answer.document["error"]) == (400, "validation_error")
    assert answer.document["details"]["parameter"] == parameter
