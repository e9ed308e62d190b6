"""The causes of a supervisor's handovers, on a real host that is killed and started again."""

from pathlib import Path
from typing import Any

import pytest

from tests.harness.child_workflows import CHAIN_EVENT, check_chain, next_worker, supervised_workflow
from tests.harness.definitions import variable
from tests.live import Host, start_host, until
from tests.live.steering import answer_over_http, flow, interrupt_node, register

WORKERS = [
    flow(name, [interrupt_node("ask")], [], [variable("has", defaultValue=name)]) for name in ("chain-a", "chain-b")
]
PLAN = [next_worker("chain-a", "chain-b"), next_worker("chain-b"), {"kind": "terminate"}]


def waiting_workers(host: Host, run_id: str, started: int, count: int) -> list[str]:
    """The workers that wait, once so many have been started and so many of them wait."""

    def look() -> list[str] | None:
        rows = host.snapshot(run_id).get("childRuns", ())
        waiting = [each["runId"] for each in rows if each["status"] == "waiting-input"]
        return waiting if (len(rows), len(waiting)) == (started, count) else None

    return until(look, "the workers to wait")


def answer_workers(host: Host, run_id: str, started: int, count: int) -> None:

    for worker in waiting_workers(host, run_id, started, count):
        assert answer_over_http(host, worker, "ask", {}).status == 200


@pytest.mark.rule("orch-04")
def test_the_causes_of_handovers_are_chained_across_restarts(tmp_path: Path) -> None:
    parents: dict[str, dict[str, Any]] = {}
    for policy in ("sequential", "parallel"):
        config = {"fanOutPolicy": policy, "outputMapping": {"found": "has"}}
        parents[policy] = {**supervised_workflow(PLAN, config, variables=[variable("found")]), "id": policy}
    with start_host(tmp_path) as host:
        for each in (*WORKERS, *parents.values()):
            register(host, each)
        runs = {policy: host.create(policy) for policy in parents}
        answer_workers(host, runs["sequential"], 1, 1)
        waiting_workers(host, runs["sequential"], 2, 1)
        waiting_workers(host, runs["parallel"], 2, 2)
        host.kill()
    with start_host(tmp_path) as host:
        answer_workers(host, runs["sequential"], 2, 1)
        answer_workers(host, runs["parallel"], 2, 2)
        for run_id in runs.values():
            answer_workers(host, run_id, 3, 1)
            log = host.log(run_id)
            assert log[-1]["type"] == "run.completed"
            check_chain(log)
            steps = [each["payload"]["phase"] for each in log if each["type"] == CHAIN_EVENT]
            names = ("dispatch.began", "dispatch.succeeded", "child.completed", "output.harvested")
            assert {name: steps.count(name) for name in names} == dict.fromkeys(names, 3)
