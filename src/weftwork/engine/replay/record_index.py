"""Where the record has the outcomes that a replay needs after it has left the record.

The index holds sequences, not payloads, so it is small; an event is read when it is needed.
"""

from typing import Final

import msgspec

from weftwork.engine.replay.record import Record
from weftwork.engine.run.loop_share import LoopShare
from weftwork.engine.run.replay import fold_event
from weftwork.ports.storage.event_log import EventLog
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.replay.event_classes import event_class
from weftwork.protocol.run import model_payloads, payloads
from weftwork.protocol.run.batch import HiddenValue
from weftwork.protocol.run.effects import EffectRef, effect_ref_of
from weftwork.protocol.run.events import EFFECT_RECORDED, MODEL_ANSWERED
from weftwork.protocol.run.header import RunKey

TURN_EVENTS: Final = 64
"""Events that are folded in one turn on the event loop."""


class RecordIndex(msgspec.Struct, eq=False):
    """Sequences of recorded outcomes."""

    effects: dict[tuple[str, int, EffectRef], int] = {}
    """By node, number of its earlier loop rounds, and step."""
    answers: dict[tuple[str, int, str], int] = {}
    """Model answers, by node, number of its earlier loop rounds, and name of the call."""
    usages: dict[int, int] = {}
    """The usage that was recorded with an answer."""
    ends: dict[str, list[tuple[int, int]]] = {}
    """By node, for each of its entries the events with which it ended: first and last."""
    resolutions: dict[str, tuple[int, int]] = {}
    """By key of the interrupt, the events of its resolution: first and last."""
    with_children: set[tuple[str, int]] = set()
    """The entries, by node and number, that had child runs."""
    versions: dict[str, int] = {}


async def build_index(
    eventlog: EventLog, source: RunKey, state: RunState, until: int, hidden: list[HiddenValue], share: LoopShare
) -> RecordIndex:
    """Index the whole record. `state` is the one before its first event, and is used up. Raises SourceMissing,
    StoreUnavailable."""
    index = RecordIndex()
    record = Record(eventlog, source, -1, until, hidden)
    block: list[int] = []
    block_node: str | None = None
    last_answer = -1
    resolved: tuple[str, str | None] | None = None
    while not record.is_complete or record.available:
        if not record.available:
            await record.read_more()
        event = record.take()
        if event.sequence % TURN_EVENTS == 0:
            await share.turn(state.header.partition)
        node_id, kind = event.node_id, event.type
        class_ = event_class(kind)
        if node_id != block_node or class_ not in ("produced", "ends-entry"):
            block, block_node = [], node_id
        if node_id is not None and node_id in state.nodes:
            node = state.nodes[node_id]
            is_active = node_id in state.running or node_id in state.awaiting_children or node_id in state.retrying
            if class_ in ("produced", "ends-entry") and is_active:
                block.append(event.sequence)
            if class_ == "ends-entry" and is_active:
                ends = index.ends.setdefault(node_id, [])
                if node.children:
                    index.with_children.add((node_id, len(ends)))
                ends.append((block[0], event.sequence))
                block = []
        fact = fold_event(state, event, record.hidden.get(event.sequence))
        if node_id is None or node_id not in state.nodes:
            resolved = None
            continue
        visits = state.nodes[node_id].visits
        if resolved is not None and event.interrupt_id == resolved[1] and class_ != "decided":
            first, _ = index.resolutions[resolved[0]]
            index.resolutions[resolved[0]] = (first, event.sequence)
        else:
            resolved = None
        if kind == EFFECT_RECORDED and ("output" in fact.payload or "error" in fact.payload):
            index.effects.setdefault((node_id, visits, effect_ref_of(fact.payload)), event.sequence)
        elif kind == MODEL_ANSWERED:
            index.answers.setdefault((node_id, visits, fact.payload["call"]), event.sequence)
            last_answer = event.sequence
        elif kind == model_payloads.ProviderUsage.event_type and last_answer == event.sequence - 1:
            index.usages[last_answer] = event.sequence
        elif kind == payloads.InterruptResolved.event_type and (name := event.interrupt_id) in state.interrupts:
            key = state.interrupts[name or ""].key
            if key not in index.resolutions:
                index.resolutions[key] = (event.sequence, event.sequence)
                resolved = key, name
    index.versions = dict(state.versions)
    return index
