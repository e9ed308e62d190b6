"""The size of the live state of a run: the bytes of the events whose values the state still holds.

size-06 (host). Every large value of a state comes from an event: outputs, variables, channels, answers, results of
children. The fold counts the encoded payload of such an event, with its hidden values, for the place that holds the
value, until the value is replaced or dropped. So the size is known after each event without encoding anything, and it
is the same for a run in memory and for one that is loaded from its log. The count is never too small. It is too large
where the state drops a part of a value: a channel is encoded again, and superseded writes of a variable are dropped,
when their count doubles.

Other values are small, or shared with the plan, and do not count. Values that several places share in memory count for
each of them, because they are separate objects once the run is loaded from its log.
"""

from collections.abc import Iterable
from typing import Final

from weftwork.protocol.fold.state import NodeState, Place, RunState
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.run import events

OUTPUTS: Final = "outputs"
PREVIOUS_OUTPUTS: Final = "previous"
ERROR: Final = "error"
CHANNEL_SLACK: Final = 65_536
"""Size of a channel up to which it is not encoded again."""

HELD_TYPES: Final = frozenset(
    """
    run.started node.completed node.failed node.retried variable.changed channel.written interrupt.requested
    interrupt.resolved conversation.opened conversation.exchanged
    """.split()
) | {
    events.MAP_ITEM,
    events.EFFECT_RECORDED,
    events.CHILD_ENDED,
    events.ORCHESTRATOR_DECIDED,
    events.MODEL_ANSWERED,
    events.ENVELOPE_RECORDED,
    events.FORKED,
}
"""The event types whose payload the state holds."""
ERROR_TYPES: Final = frozenset({"node.failed", "node.retried"})
RELEASING_TYPE: Final = "node.completed"
"""The type of the event with which a node drops the values of its entry."""


def hold(state: RunState, place: Place, size: int) -> None:
    """A place of the run now holds the value of an event of this size, instead of its earlier value."""
    state.live_bytes += size - state.held.get(place, 0)
    state.held[place] = size


def hold_in_node(state: RunState, node: NodeState, place: Place, size: int) -> None:
    """The same for a place of one entry of a node."""
    state.live_bytes += size - node.held.get(place, 0)
    node.held[place] = size


def release(state: RunState, node: NodeState, places: Iterable[Place]) -> None:
    """The values of these places of a node were dropped."""
    for place in places:
        state.live_bytes -= node.held.pop(place, 0)


def release_all(state: RunState, node: NodeState, kept: Place = PREVIOUS_OUTPUTS) -> int:
    """The values of all places of a node but one were dropped. Returns the size of that one."""
    size = node.held.get(kept, 0)
    state.live_bytes -= sum(node.held.values()) - size
    node.held = {kept: size} if size else {}
    return size


def hold_channel(state: RunState, name: str, size: int) -> None:
    """A write of this size was reduced into a channel."""
    place = ("channel", name)
    held = state.held.get(place, 0) + size
    if held > state.remeasured_at.get(name, CHANNEL_SLACK):
        held = len(encode_stored(state.channels[name].value))
        state.remeasured_at[name] = max(CHANNEL_SLACK, 2 * held)
    hold(state, place, held)
