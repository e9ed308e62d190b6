"""core.dispatch with workers side by side: when they have done enough, and what becomes of the others."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.adapters.nodes.runs.fake_dispatch import UNKNOWN, DispatchCall, workers
from tests.adapters.nodes.runs.test_dispatch import PARALLEL, begun, completed, failed
from weftwork.ports.node_outcome import AwaitsChildren, Failed
from weftwork.protocol.workflow import orchestration


@pytest.mark.rule("orch-07")
def test_all_are_waited_for_and_harvested_in_their_order() -> None:
    one = DispatchCall(workers("a", "b", "c"), {**PARALLEL, "outputMapping": {"last": "x"}})
    one.call()
    assert one.event_steps() == [*begun("a", 0), *begun("b", 1), *begun("c", 2)]
    for index in (2, 0, 1):
        assert one.outcome is None
        one.end(index, x=index)
        one.call()
    harvests = [[f"child.completed {name}", f"last = {index}", f"output.harvested {name}"] for index, name in
                enumerate("abc")]  # fmt: skip
    assert one.event_steps()[12:] == [line for each in harvests for line in each]
    assert completed(one).outputs["childRunId"] == "run-2"


@pytest.mark.rule("orch-07")
def test_of_all_the_first_in_their_order_that_failed_counts() -> None:
    one = DispatchCall(workers("a", "b", "c"), PARALLEL)
    one.call()
    one.end(2, "failed")
    assert one.call() == AwaitsChildren()
    one.end(1, "cancelled")
    one.call()
    one.end(0)
    one.call()
    assert (failed(one).code, (failed(one).details or {})["workerId"]) == ("child_run_cancelled", "b")
    assert one.event_steps()[12:] == ["child.completed a", "child.cancelled b", "child.failed c"]


@pytest.mark.rule("orch-07")
@pytest.mark.parametrize(
    ("mode", "decides"),
    [({"joinMode": "quorum", "quorum": 2}, 2), ({"joinMode": "first"}, 1), ({"joinMode": "race"}, 1)],
)
def test_those_that_are_not_needed_are_cancelled_and_waited_for(mode: dict[str, Any], decides: int) -> None:
    one = DispatchCall(workers(*"abcde"), {**PARALLEL, **mode, "maxParallel": 4, "outputMapping": {"found": "x"}})
    one.call()
    for index in range(decides):
        one.end(index + 1, x=index)
        one.call()
    losers = [index for index in range(4) if not one.children[str(index)].has_ended]
    started = 4 + decides - 1
    assert [line for line in one.event_steps() if line.startswith("cancel ")] == [f"cancel {key}" for key in one.open]
    assert len(one.children) == started
    assert one.call() == AwaitsChildren()
    assert one.outcome is None
    for index in map(int, one.open):
        one.end(index, "cancelled")
        one.call()
    assert {f"child.cancelled {'abcde'[index]}" for index in losers} <= set(one.event_steps())
    assert [line for line in one.event_steps() if line.startswith("found")] == [
        f"found = {index}" for index in range(decides)
    ]
    assert completed(one).outputs["childRunId"] == f"run-{decides}"
    assert len(completed(one).outputs["results"]) == started


@pytest.mark.rule("orch-07")
def test_a_race_is_over_with_its_first_end() -> None:
    one = DispatchCall(workers("a", "b"), {**PARALLEL, "joinMode": "race"})
    one.call()
    one.end(1, "failed")
    one.end(0)
    one.call()
    assert (failed(one).details or {})["workerId"] == "b", "the one that ended first counts"
    assert one.event_steps()[-2:] == ["child.completed a", "child.failed b"]
    first = DispatchCall(workers("a", "b"), {**PARALLEL, "joinMode": "first"})
    first.call()
    first.end(1, "failed")
    assert first.call() == AwaitsChildren()
    first.end(0, "failed")
    first.call()
    assert (failed(first).details or {})["workerId"] == "a"


@pytest.mark.rule("orch-07")
@pytest.mark.parametrize(
    ("config", "ends", "tail"),
    [
        ({"joinMode": "race"}, [(1, "failed")], ["child.cancelled a", "child.failed b"]),
        (
            {"joinMode": "quorum", "quorum": 3},
            [(1, "failed")],
            ["child.cancelled a", "child.failed b"],
        ),
        (
            {"joinMode": "first", "outputMapping": {"mine": "pin"}},
            [(1, "completed")],
            ["child.cancelled a", "child.completed b"],
        ),
        (
            {"joinMode": "wait-all"},
            [(1, "completed")],
            ["child.cancelled a", "child.completed b", f"dispatch.began {UNKNOWN}", f"dispatch.failed {UNKNOWN}"],
        ),
    ],
)
def test_a_node_that_fails_waits_for_the_others_as_well(
    config: dict[str, Any], ends: list[tuple[int, str]], tail: list[str]
) -> None:
    one = DispatchCall(workers("a", "b", UNKNOWN), {**PARALLEL, "maxParallel": 2, **config})
    one.call()
    for index, status in ends:
        one.end(index, status)
        one.children[str(index)] = replace(one.children[str(index)], hidden=("pin",))
    told = one.event_steps()
    one.call()
    assert one.outcome is None
    assert one.event_steps() == [*told, "cancel 0"]
    assert one.reasons == {"parent-failed"}
    assert one.call() == AwaitsChildren()
    one.end(0, "cancelled")
    one.call()
    assert isinstance(one.outcome, Failed)
    assert one.event_steps() == [*told, "cancel 0", *tail]


@pytest.mark.rule("orch-07")
def test_a_worker_that_cannot_be_started_fails_the_node_whatever_ends_meanwhile() -> None:
    """It was due before the other one completed."""
    for at_once in (False, True):
        one = DispatchCall(workers("a", "b", UNKNOWN), {**PARALLEL, "maxParallel": 2, "joinMode": "first"})
        one.call()
        one.end(0, "failed")
        if not at_once:
            one.call()
        one.end(1)
        one.call()
        assert failed(one).code == "unknown_child_workflow"
    enough = DispatchCall(workers("a", "b", UNKNOWN), {**PARALLEL, "maxParallel": 2, "joinMode": "first"})
    enough.call()
    enough.end(1)
    enough.end(0, "failed")
    enough.call()
    assert completed(enough).outputs["childRunId"] == "run-1"


def test_workers_beside_one_that_cannot_be_started_are_not_started() -> None:
    one = DispatchCall(workers("a", UNKNOWN, "b"), PARALLEL)
    one.call()
    assert failed(one).code == "unknown_child_workflow"
    assert one.event_steps() == [f"dispatch.began {UNKNOWN}", f"dispatch.failed {UNKNOWN}"]


@pytest.mark.rule("orch-07")
def test_a_quorum_that_cannot_be_reached_fails_the_node() -> None:
    one = DispatchCall(workers("a"), {**PARALLEL, "joinMode": "quorum", "quorum": 2})
    one.call()
    assert (failed(one).code, failed(one).details) == ("quorum_unreachable", {"quorum": 2, "workers": 1})
    assert one.events == []
    late = DispatchCall(workers("a", "b", "c"), {**PARALLEL, "joinMode": "quorum", "quorum": 2})
    late.call()
    late.end(1, "failed")
    assert late.call() == AwaitsChildren()
    late.end(2, "failed")
    late.call()
    late.end(0)
    late.call()
    assert (failed(late).details or {})["workerId"] == "b"


def test_modes_are_spelled_once() -> None:
    config = DispatchCall(None).type.declaration.config["properties"]
    assert config["joinMode"]["enum"] == list(orchestration.JOIN_MODES)
    assert config["maxParallel"]["maximum"] == orchestration.MAX_PARALLEL
