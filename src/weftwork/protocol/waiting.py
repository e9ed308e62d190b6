"""Waiting: whether a run does nothing but wait for people and for its children, and when it has something to do by
itself again."""

from weftwork.protocol.run import WAITS
from weftwork.protocol.state import RunState


def is_parked(state: RunState) -> bool:
    """park-01 (host): nothing of the run is under way here or can begin before somebody answers, a child has ended,
    somebody cancels, or time passes."""
    idle = state.status in WAITS or (state.status == "running" and bool(state.awaiting))
    if not idle or state.stop is not None or state.pausing is not None:
        return False
    busy = state.running or state.retrying or state.ready or state.answered or state.doomed or state.failing
    return not busy and not state.owed


def may_rest(state: RunState, limit: int | None, now: int) -> bool:
    """park-02 (host): whether a run is parked, and nothing of it is due."""
    return is_parked(state) and ((when := wake_at(state, limit)) is None or when > now)


def wake_at(state: RunState, limit: int | None) -> int | None:
    """park-02 (host): the earliest deadline or reminder of an open interrupt, or the end of the run's time limit."""
    found = [state.started_at + limit + 1] if limit is not None and state.started_at is not None else []
    for asked in state.asked.values():
        found += [when for when in (asked.due, asked.next_reminder) if when is not None]
    for node_id, node in state.awaiting.items():
        if (given := state.plan.nodes[node_id].node.timeout_ms) > 0:
            found.append(node.began_at + given)
    return min(found, default=None)
