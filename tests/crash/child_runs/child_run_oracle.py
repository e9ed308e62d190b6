"""The oracle of trees: given what people were told, what a host that was started again must show.

Raises AssertionError.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import apsw

from tests.crash.child_runs.child_run_host import FAN_OUT, WORKERS, run_tree
from tests.crash.interrupts.scripted_clients import ScriptedClients, ScriptedRun, call
from tests.crash.oracle import TERMINAL, TIMEOUT_SECONDS, Log, follow, listing
from tests.harness.child_workflows import check_chain
from tests.live import Host, until
from weftwork.protocol.run.child_runs import CANCELLED_WITH_PARENT
from weftwork.protocol.run.events import CHILD_ENDED, CHILD_STARTED
from weftwork.wiring.data_folder import DATABASE_FILE

EXPECTED_STATUS = {"bad": "failed", "drop": "cancelled", "fell": "cancelled"}
"""How a case ends, unless it completes."""


def check_trees(host: Host, desk: ScriptedClients, patience: float = TIMEOUT_SECONDS) -> None:
    """Look before anybody does anything; then bring all to its end, and look again."""
    for case in desk.runs:
        if case.run_id:
            check_parent_status(host, case, patience)
    desk.finish_scripts(host)
    runs = listing(host)
    tags = Counter(tag for run in runs.values() for tag in run["tags"])
    assert tags == Counter(case.name for case in desk.runs), "a run is missing or twice"
    related: set[str] = set()
    for case in desk.runs:
        family = check_tree(host, case.run_id, patience)
        assert not related & family.keys(), "a run is in two trees"
        related |= family.keys()
        check_run(host, case, family)
    assert related == listing(host).keys(), f"runs without a parent: {listing(host).keys() - related}"
    check_no_messages(host.data, patience)


def check_parent_status(host: Host, case: ScriptedRun, patience: float) -> None:
    """A parent of one that waits comes to stand as its child does, without anybody doing something."""

    def look() -> bool:
        rows = run_tree(host, case.run_id)
        status = {row["runId"]: row["status"] for row in rows}
        below = {row["parentRunId"]: row["status"] for row in rows[1:]}
        return all(status[parent] == stands for parent, stands in below.items() if stands.startswith("waiting"))

    if case.workflow in ("call", "deep"):
        until(look, f"{case.name}: a parent to hear that its child waits", patience)


def check_tree(host: Host, run_id: str, patience: float = TIMEOUT_SECONDS) -> dict[str, Log]:
    """The logs of an ended run and of all below it: each child there once, named once, and ended as its parent says."""
    log = follow(host, run_id, patience)
    assert [event["sequence"] for event in log] == list(range(len(log))), f"{run_id} has a gap"
    ends = [event["type"] for event in log if event["type"] in TERMINAL]
    assert ends == [log[-1]["type"]], f"{run_id} has not one end, at its end"
    started = {each["childRunId"]: each for each in _payloads(log, CHILD_STARTED)}
    named = Counter(each["childRunId"] for each in _payloads(log, CHILD_STARTED))
    keys = Counter(each["key"] for each in _payloads(log, CHILD_STARTED))
    assert not named - Counter(list(named)), f"{run_id} names a child twice"
    assert not keys - Counter(list(keys)), f"{run_id} has started a child twice: {keys}"
    there = children(host, run_id)
    assert Counter(there) == named, f"{run_id} names {len(named)} children, and there are {len(there)}"
    ended = Counter(each["childRunId"] for each in _payloads(log, CHILD_ENDED))
    assert not ended - Counter(list(ended)), f"{run_id} has heard the end of a child twice"
    check_chain(log)
    family = {run_id: log}
    for child in there:
        family |= check_tree(host, child, patience)
    for each in _payloads(log, CHILD_ENDED):
        status = TERMINAL[family[each["childRunId"]][-1]["type"]]
        assert each["status"] == status, f"{run_id} has heard of {each['status']}, and its child has {status}"
    if ends == ["run.completed"]:
        waited = {child for child, each in started.items() if each["awaited"]}
        assert set(ended) == waited, f"{run_id} has ended before its children"
    elif ends == ["run.cancelled"]:
        _check_cascade(run_id, [family[child] for child in there])
    return family


def _check_cascade(run_id: str, logs: list[Log]) -> None:
    """Those that had not ended by themselves were cancelled, and say by whom."""
    for log in logs:
        if log[-1]["type"] == "run.cancelled":
            said = log[-1]["payload"]
            assert said["reason"] == CANCELLED_WITH_PARENT, said
            assert said["parentRunId"] == run_id, said


def check_run(host: Host, case: ScriptedRun, family: dict[str, Log]) -> None:
    log = family[case.run_id]
    status = TERMINAL[log[-1]["type"]]
    assert status == EXPECTED_STATUS.get(case.workflow, "completed"), f"{case.name} is {status}"
    shown = call(host, "GET", f"/v1/runs/{case.run_id}").document
    assert shown["status"] == status, f"{case.name} is shown as {shown['status']}"
    stands = {each["runId"]: each["status"] for each in shown.get("childRuns", ())}
    for child, how in stands.items():
        assert how == TERMINAL[family[child][-1]["type"]], f"{case.name} shows a child as {how}"
    outputs = shown.get("outputs", {})
    if case.workflow == "call":
        assert outputs["call"]["outputs"] == {"last": {"given": case.name}}, outputs
    elif case.workflow == "deep":
        assert outputs["begin"]["outputs"]["call"]["outputs"] == {"last": {"given": case.name}}, outputs
    elif case.workflow == "fan":
        assert outputs["each"] == {"results": list(range(FAN_OUT)), "count": FAN_OUT}, outputs
    elif case.workflow == "bad":
        assert sorted(stands.values()) == ["cancelled", "cancelled", "failed"], stands
    elif case.workflow == "first":
        found = Counter((each["workerId"], each["childStatus"]) for each in outputs["work"]["results"])
        assert found == Counter(("quick", "completed") if each == "quick" else (each, "cancelled") for each in WORKERS)
    elif case.workflow in ("drop", "fell"):
        assert set(stands.values()) <= {"cancelled"}, f"{case.name}: something goes on below it: {stands}"


def children(host: Host, run_id: str) -> list[str]:
    found: list[str] = []
    query = f"?parentRunId={run_id}&limit=200"
    while query:
        page = call(host, "GET", f"/v1/runs{query}").document
        found += [run["runId"] for run in page["runs"]]
        query = f"?parentRunId={run_id}&limit=200&cursor={page['nextCursor']}" if "nextCursor" in page else ""
    return found


def check_no_messages(data: Path, seconds: float = TIMEOUT_SECONDS) -> None:
    """All have ended: nobody has to hear or to do anything any more."""
    until(lambda: pending_messages(data) == (0, 0), "news and orders to be gone from the store", seconds)


def pending_messages(data: Path) -> tuple[int, int]:
    """How many news and orders are in the store of a host that runs."""
    connection = apsw.Connection(str(data / DATABASE_FILE), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.set_busy_timeout(1000)
        found: Any = connection.execute("SELECT (SELECT count(*) FROM news), (SELECT count(*) FROM orders)").fetchall()
        return found[0]
    finally:
        connection.close()


def _payloads(log: Log, kind: str) -> list[dict[str, Any]]:
    return [event["payload"] for event in log if event["type"] == kind]
