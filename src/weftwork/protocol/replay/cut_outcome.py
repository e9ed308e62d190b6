"""A fork point within the outcome of a node.

The outcome of a node is several events, which one decision of the engine has made: what the node writes, then its end.
A fork point between them leaves a node that has written and still runs. It runs again in the branch and writes again.
Therefore what the prefix has of its outcome must not count.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from weftwork.protocol.replay.retry_point import LogEntry
from weftwork.protocol.run.events import ORCHESTRATOR_DECIDED, WORKFLOW_CHAIN, is_author_event_type

OUTCOME_TYPES: Final = frozenset(
    """
    variable.changed channel.written artifact.created log.appended interrupt.requested approval.requested
    clarification.requested conversation.opened conversation.exchanged node.dispatched agent.decided agent.handoff
    """.split()
) | {ORCHESTRATOR_DECIDED, WORKFLOW_CHAIN}
"""The types of events that an outcome of a node has before its end."""


def is_outcome_part(entry: LogEntry, following: LogEntry) -> bool:
    """Whether an event may belong to the same outcome as the one after it."""
    if entry.node_id is None or entry.node_id != following.node_id:
        return False
    return entry.type in OUTCOME_TYPES or is_author_event_type(entry.type)


def cut_outcome(before: Iterable[LogEntry], following: LogEntry) -> tuple[Sequence[int], bool]:
    """fork-07 (host): of the events before the fork point, latest first, the sequences of those that belong to the
    outcome which `following`, the event at the fork point, continues. The second value tells that the outcome begins
    within `before`, so that no earlier event belongs to it."""
    found: list[int] = []
    for entry in before:
        if not is_outcome_part(entry, following):
            return found, True
        found.append(entry.sequence)
    return found, False
