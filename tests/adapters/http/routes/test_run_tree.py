"""Runs that start runs, over HTTP: snapshots of parents and children, ancestry, trees, and lists of children."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live import KEY, OTHER_KEY, TEST_KEY, Host, start_host, until, write_workflows
from tests.live.child_workflows import (
    DETACHING_PARENT,
    GRANDPARENT,
    INTERRUPTED_CHILD,
    MAPPING_PARENT,
    PARENT,
    await_tree,
    child_workflows,
    tree_of,
)
from tests.live.steering import answer_over_http, await_status, cancel
from weftwork.protocol.json import schema

PLACE = "https://runs.example.com"


@pytest.fixture(scope="module")
def kin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("kin")
    flows = write_workflows(folder / "flows", *child_workflows())
    with start_host(folder, "--workflows", flows, env={"WEFTWORK_PUBLIC_URL": PLACE}) as running:
        yield running
        assert "Traceback" not in running.errors


def waiting(host: Host) -> list[dict[str, Any]]:
    """The rows of three runs, one below the other, of which the last one asks and the others wait for it."""
    return await_tree(host, host.create(GRANDPARENT), *["waiting-input"] * 3)


def listed(host: Host, query: str, key: str = KEY) -> Any:
    answer = host.call("GET", f"/v1/runs?{query}", key=key)
    assert answer.status == 200, answer.body
    assert schema.check("run-list", answer.document) == []
    return answer.document


@pytest.mark.rule("kin-10", "kin-12")
def test_parent_and_child_name_each_other(kin: Host) -> None:
    rows = waiting(kin)
    assert [(row["workflowId"], row["depth"]) for row in rows] == [
        (GRANDPARENT, 0),
        (PARENT, 1),
        (INTERRUPTED_CHILD, 2),
    ]
    assert [row["currentNodeId"] for row in rows] == ["begin", "call", "ask"]
    top, middle, last = (kin.snapshot(row["runId"]) for row in rows)
    for shown in (top, middle, last):
        assert schema.check("run-snapshot", shown) == []
    for above, below, node_id in ((top, middle, "begin"), (middle, last, "call")):
        assert (below["parentRunId"], below["parentNodeId"]) == (above["runId"], node_id)
        assert above["childRuns"] == [
            {
                "runId": below["runId"],
                "workflowId": below["workflowId"],
                "nodeId": node_id,
                "status": "waiting-input",
            }
        ]
        assert "childRunsTruncated" not in above
    assert "parentRunId" not in top
    assert "childRuns" not in last
    # The question is that of the child alone.
    assert "interrupt" not in top
    assert last["interrupt"]["nodeId"] == "ask"
    assert answer_over_http(kin, last["runId"], "ask", "yes").status == 200
    done = await_tree(kin, top["runId"], *["completed"] * 3)
    assert [row["runId"] for row in done] == [row["runId"] for row in rows]
    assert kin.snapshot(top["runId"])["childRuns"][0]["status"] == "completed"


@pytest.mark.rule("kin-09")
def test_an_ancestry_leads_up_to_the_top(kin: Host) -> None:
    rows = waiting(kin)
    run_id, way = rows[-1]["runId"], []
    while run_id is not None:
        answer = kin.call("GET", f"/v1/runs/{run_id}/ancestry")
        assert (answer.status, schema.check("run-ancestry-response", answer.document)) == (200, [])
        assert (answer.document["runId"], answer.document["hostId"]) == (run_id, PLACE)
        way.append(run_id)
        parent = answer.document["parent"]
        if parent is not None:
            assert (parent["hostId"], parent["cause"], set(parent)) == (
                PLACE,
                "core.subWorkflow",
                {"runId", "hostId", "cause"},
            )
        run_id = parent and parent["runId"]
    assert way == [row["runId"] for row in rows[::-1]]
    cancel(kin, rows[0]["runId"])


@pytest.mark.rule("kin-10", "kin-11", "kin-12")
def test_many_children_are_cut_counted_and_paged(kin: Host) -> None:
    run_id = kin.create(MAPPING_PARENT, inputs={"items": list(range(130))})
    kin.log(run_id)
    shown = kin.snapshot(run_id)
    assert (len(shown["childRuns"]), shown["childRunsTruncated"]) == (100, True)
    whole = tree_of(kin, run_id)
    assert (len(whole["runs"]), whole["truncated"]) == (131, False)
    ids = [row["runId"] for row in whole["runs"][1:]]
    assert [each["runId"] for each in shown["childRuns"]] == ids[:100]
    for limit in (1, 2, 130, 131, 132):
        part = tree_of(kin, run_id, limit)
        assert schema.check("run-tree", part) == []
        assert part["runs"] == whole["runs"][:limit]
        assert part["truncated"] == (limit < 131)
    found: list[str] = []
    cursor = ""
    while True:
        page = listed(kin, f"parentRunId={run_id}&limit=50{cursor}")
        found += [run["runId"] for run in page["runs"]]
        if "nextCursor" not in page:
            break
        cursor = f"&cursor={page['nextCursor']}"
    assert found == ids[::-1]
    assert listed(kin, f"parentRunId={run_id}&status=failed")["runs"] == []
    assert {run["parentNodeId"] for run in listed(kin, f"parentRunId={run_id}&limit=7")["runs"]} == {"each"}


@pytest.mark.rule("kin-10")
def test_children_that_nobody_waits_for_are_named_as_they_stand(kin: Host) -> None:
    run_id = kin.create(DETACHING_PARENT)
    kin.log(run_id)
    shown = kin.snapshot(run_id)
    assert shown["status"] == "completed"
    assert {each["nodeId"] for each in shown["childRuns"]} == {"one", "two"}
    first, second = (each["runId"] for each in shown["childRuns"])
    until(lambda: kin.snapshot(first)["status"] == "running", "the child to run")
    cancel(kin, first)
    await_status(kin, first, "cancelled")
    assert [each["status"] for each in kin.snapshot(run_id)["childRuns"]] == ["cancelled", "running"]
    cancel(kin, second)


@pytest.mark.rule("kin-10")
def test_a_stream_of_snapshots_shows_the_children(kin: Host) -> None:
    rows = waiting(kin)
    stream = kin.stream(rows[0]["runId"], "?streamMode=values")
    stream.read_until(lambda body: b"\n\n" in body)
    cancel(kin, rows[0]["runId"])
    first, *_, last = stream.frames()
    assert {first.event, last.event} == {"state.snapshot"}
    assert [first.document["status"], last.document["status"]] == ["waiting-input", "cancelled"]
    for frame in (first, last):
        assert [each["runId"] for each in frame.document["childRuns"]] == [rows[1]["runId"]]


@pytest.mark.rule("diff-02")
def test_two_parents_that_did_the_same_are_equal(kin: Host) -> None:
    both = [kin.create(PARENT) for _ in range(2)]
    for run_id in both:
        last = await_tree(kin, run_id, *["waiting-input"] * 2)[1]["runId"]
        assert answer_over_http(kin, last, "ask", "yes").status == 200
        kin.log(run_id)
    found = kin.call("GET", f"/v1/runs/{both[0]}:diff?against={both[1]}").document
    assert (found["divergedAtSeq"], found["eventDiffs"], found["stateDiff"]) == (None, [], {})


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "limit=", "limit=-1"])
def test_a_limit_that_is_none_is_refused(kin: Host, query: str) -> None:
    run_id = kin.create(INTERRUPTED_CHILD)
    answer = kin.call("GET", f"/v1/host/weftwork/runs/{run_id}/tree?{query}")
    assert (answer.status, answer.document["details"]["parameter"]) == (400, "limit")
    cancel(kin, run_id)


@pytest.mark.rule("kin-11")
@pytest.mark.parametrize("query", ["", "a%2Fb", "%20", "a" * 129, "%FF"])
def test_a_parent_that_can_be_none_is_refused(kin: Host, query: str) -> None:
    assert kin.call("GET", f"/v1/runs?parentRunId={query}").status == 400


@pytest.mark.rule("auth-05", "kin-11", "kin-12")
def test_the_family_of_others_is_not_there(kin: Host) -> None:
    rows = waiting(kin)
    top = rows[0]["runId"]
    for key in (OTHER_KEY, TEST_KEY):
        for row in rows:
            for path in (f"/v1/runs/{row['runId']}/ancestry", f"/v1/host/weftwork/runs/{row['runId']}/tree"):
                answer = kin.call("GET", path, key=key)
                assert (answer.status, answer.document["error"]) == (404, "not_found")
        assert listed(kin, f"parentRunId={top}", key)["runs"] == []
    for path in (f"/v1/runs/{top}/ancestry", f"/v1/host/weftwork/runs/{top}/tree", "/v1/runs/nobody/ancestry"):
        assert kin.call("GET", path, key=None).status == 401
        assert kin.call("POST", path, {}).status == 405
    assert kin.call("GET", "/v1/runs/nobody/ancestry").status == 404
    assert listed(kin, "parentRunId=nobody")["runs"] == []
    cancel(kin, top)


def test_a_host_without_an_address_has_a_name_all_the_same(tmp_path: Path) -> None:
    flows = write_workflows(tmp_path / "flows", *child_workflows())
    with start_host(tmp_path, "--workflows", flows, store="memory") as host:
        rows = waiting(host)
        above = [host.call("GET", f"/v1/runs/{row['runId']}/ancestry").document for row in rows]
        assert {each["hostId"] for each in above} == {each["parent"]["hostId"] for each in above[1:]} == {"weftwork"}
