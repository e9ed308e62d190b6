"""What holds of a tree of runs: at every append, at every quiet moment, when it rests, and once all of it has ended."""

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from tests.harness.engine_harness import background_tasks
from tests.simulation.child_runs.child_run_workflows import (
    CHILDREN_CANCELLED,
    CHILDREN_STARTED,
    PARENT_TYPES,
    ChildPlan,
)
from tests.simulation.random_schedule import check_log, is_parked_after_wakeups
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.child_runs import status_for_parent
from weftwork.protocol.run.events import CHILD_ENDED, CHILD_STARTED, CHILD_STATUS, Event
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey
from weftwork.protocol.run.projection import StoredRun

if TYPE_CHECKING:
    from tests.simulation.child_runs.child_run_schedule import ChildRunSchedule


ALARM_COROUTINES = ("Alarm._watch", "Event.wait", "ManualClock.sleep")
"""What the alarm is made of."""


def check_started(storm: "ChildRunSchedule", key: RunKey, batch: Batch) -> None:
    """What an append says of children is kept."""
    for event in batch.events:
        if event.type == CHILD_STARTED:
            said = msgspec.json.decode(event.payload)
            known = (key, event.node_id or "", said["key"], said["awaited"])
            assert storm.started.setdefault(said["childRunId"], known) == known, "a child has two parents"


async def check_quiescent(storm: "ChildRunSchedule") -> None:
    """All word has arrived, and the store was there all the time."""
    bench = storm.engine
    kin = bench.executor._child_messages
    under_way = [*kin._tasks], kin._queued, kin._delivered
    assert not any(under_way), f"word between runs is still under way: {under_way}"
    assert await bench.store.child_runs.child_results(None, 10) == [], "news that nobody hears"
    assert await bench.store.child_runs.cancel_requests(None, 10) == [], "orders that nobody follows"
    states = {each.header.run_id: await storm.folded(each) for each in await storm.runs()}
    for run_id, state in states.items():
        live = bench.executor._live.get(state.header.key)
        if state.is_terminal:
            assert live is None, "an ended run stays in memory"
            continue
        assert live is not None or is_parked_after_wakeups(state), f"{run_id} was left though it could go on"
        if live is None or not live.is_rechecking:
            _check_wakeups(state)
        _check_known_children(state, states)
        _check_parent(state, states)


def _check_wakeups(state: RunState) -> None:
    """Nobody who waits for children has missed something."""
    if state.status == "paused":
        return
    for node_id, waiting in state.awaiting_children.items():
        node = state.plan.nodes[node_id].node
        where = f"{state.header.run_id}, {node_id} ({node.declaration.type_id}): {waiting.children}"
        if node.declaration.type_id in PARENT_TYPES:
            assert not ChildPlan(node.config, waiting.children).needs_wakeup, f"a node is owed a look: {where}"
        else:
            assert waiting.open_children, f"a node waits for nobody: {where}"


def _check_parent(state: RunState, states: dict[str, RunState]) -> None:
    """kin-06, kin-08: whoever is open is waited for, or goes its own way."""
    parent, run_id = state.header.parent, state.header.run_id
    if parent is None:
        return
    above = states.get(parent.run_id)
    if above is None or above.status == "cancelled":
        assert not parent.cascade or (above is None and not parent.awaited), (
            "a child outlives its parent's cancellation"
        )
    elif parent.awaited:
        assert not above.is_terminal, f"a child is open though its parent is {above.status}"
        known = above.nodes[parent.node_id].children.get(parent.key)
        assert known is not None, "a child is open though its node has ended"
        assert known.run_id == run_id, "a child is open though its node has started another one"


def _check_known_children(state: RunState, states: dict[str, RunState]) -> None:
    """kin-03: what a run knows of children that it waits for is how they stand."""
    for node_id, node in state.nodes.items():
        opened = [child for child in node.children.values() if child.awaited and not child.has_ended]
        assert len(opened) == node.open_children, f"{node_id} counts its children wrongly"
        assert not opened or node_id in state.awaiting_children or node_id in state.suspended, (
            f"{node_id} left its children"
        )
        for child in opened:
            assert child.run_id in states, "a child that is waited for was deleted"
            found = status_for_parent(states[child.run_id].status)
            assert found == child.status, f"{child.run_id} is {found} and its parent has {child.status}"


async def check_end(storm: "ChildRunSchedule") -> None:
    """All runs have ended, and all word has arrived."""
    bench = storm.engine
    assert not bench.executor._live, "a run stays in memory"
    left = bench.executor._retries.runs, bench.executor._loads, bench.executor._pending_requests
    assert not any(left), f"somebody is still looked for: {left}"
    others = [str(task.get_coro()) for task in background_tasks()]
    stray = [name for name in others if not any(own in name for own in ALARM_COROUTINES)]
    assert not stray, f"somebody is still at work: {stray}"
    keys = [each.header.key for each in await storm.runs()]
    runs = {key.run_id: await bench.stored_run(key) for key in keys}
    named: dict[str, tuple[RunKey, str]] = {}
    for each in runs.values():
        events = await bench.events(each.header.key)
        check_log(events)
        assert events[0].type in ("run.started", "run.cancelled")
        for child_id, node_id in _check_children(storm, each, events, runs).items():
            assert child_id not in named, "two runs have started the same child"
            named[child_id] = each.header.key, node_id
    for each in runs.values():
        parent = each.header.parent
        if parent is not None and parent.run_id in runs:
            key = RunKey(each.header.partition, parent.run_id)
            assert named.get(each.header.run_id) == (key, parent.node_id), f"nobody has started {each.header.run_id}"


def _check_children(
    storm: "ChildRunSchedule", run: StoredRun, events: list[Event], runs: dict[str, StoredRun]
) -> dict[str, str]:
    """What a log says of children, against their own. Returns the node of each."""
    facts = [(event, msgspec.json.decode(event.payload)) for event in events]
    started = {said["childRunId"]: (event, said) for event, said in facts if event.type == CHILD_STARTED}
    for kind in (CHILD_STARTED, CHILD_ENDED, CHILDREN_STARTED, CHILDREN_CANCELLED):
        said = Counter(payload["childRunId"] for event, payload in facts if event.type == kind)
        assert all(count == 1 for count in said.values()), f"{kind} twice for one child: {said}"
    _check_outcomes(facts)
    ended = {said["childRunId"]: (event, said) for event, said in facts if event.type == CHILD_ENDED}
    dropped = Counter(
        said["childRunId"] for event, said in facts if event.type == CHILD_STATUS and said["status"] == "cancelling"
    )
    assert all(count == 1 for count in dropped.values()), "a child is dropped twice"
    assert ended.keys() <= started.keys()
    for child_id, (event, said) in started.items():
        child = runs.get(child_id)
        if child is None:
            assert RunKey(run.header.partition, child_id) in storm.deleted, "a child is not there"
            continue
        assert child.projection.status in TERMINAL_STATUSES
        over = next((e.sequence for e in events if e.sequence > event.sequence and _ends(e, event.node_id)), None)
        if child_id in ended:
            _check_ended(ended[child_id][1], child)
            assert said["awaited"]
        elif said["awaited"]:
            assert over is not None, "a node went on without its child"
    steps = sum(event.type == "node.started" for event in events)
    asked = sum(event.type in ("weftwork.run.pause-requested", "run.paused", "run.resumed") for event in events)
    words = sum(event.type == CHILD_STATUS for event in events)
    most = 10 + 12 * (steps + asked) + 5 * len(started) + words
    assert len(events) <= most, f"a log of {len(events)} events for {steps} steps and {len(started)} children"
    return {child_id: event.node_id or "" for child_id, (event, _) in started.items()}


def _check_outcomes(facts: list[tuple[Event, dict[str, Any]]]) -> None:
    """What a node that waited makes of its children is what its log says of those of the same entry."""
    children: dict[str, dict[str, str]] = {}
    for event, said in facts:
        of = children.setdefault(event.node_id or "", {})
        if event.type == "node.started":
            of.clear()
        elif event.type == CHILD_STARTED and said["awaited"]:
            of[said["key"]] = "running"
        elif event.type == CHILD_ENDED:
            assert said["key"] in of, "word of a child of another entry"
            of[said["key"]] = said["status"]
        elif event.type == "node.completed" and "statuses" in said["outputs"]:
            told = {key: status for key, status in said["outputs"]["statuses"].items() if status in TERMINAL_STATUSES}
            assert said["outputs"]["statuses"].keys() == of.keys(), (
                f"{event.node_id} ended with other children than its own"
            )
            assert told.items() <= of.items(), f"{event.node_id} ended with {told}, and has {of}: {event.run_id}"


def _ends(event: Event, node_id: str | None) -> bool:
    kinds = ("node.completed", "node.failed", "node.cancelled", "node.retried", "node.skipped")
    return event.is_terminal or (event.node_id == node_id and event.type in kinds)


def _check_ended(said: dict[str, Any], child: StoredRun) -> None:
    """kin-04: what a parent has heard of an end is what the child's own log says."""
    projection = child.projection
    assert said["status"] == projection.status, f"{said} of a child that is {projection.status}"
    if projection.error is not None:
        assert said["error"] == msgspec.json.decode(projection.error)
    kinship = child.header.parent
    assert kinship is not None
    rows = {row.name: msgspec.json.decode(row.value) for row in child.rows if row.kind == "variable"}
    if projection.status == "completed":
        wanted = {name: rows[name] for name in kinship.variables if name in rows}
        assert said.get("variables", {}) == wanted, "other variables than the child's"
        if kinship.outputs:
            assert said["outputs"] == msgspec.json.decode(projection.outputs or b"null")
