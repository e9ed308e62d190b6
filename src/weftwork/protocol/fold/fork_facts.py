"""The state change of `weftwork.run.forked`: the state of the past becomes one that can be continued now.

Called only by the fold."""

from typing import Any

import msgspec

from weftwork.protocol.fold.live_size import hold, release
from weftwork.protocol.fold.state import NodeState, RunState, UntrustedValues
from weftwork.protocol.fold.variable_views import INITIAL_STAMP
from weftwork.protocol.models.answers import fault_from_record
from weftwork.protocol.run.events import UNTRUSTED, Fact
from weftwork.protocol.run.map_items import ItemError
from weftwork.protocol.timestamps import parse_iso


def continue_from_past(state: RunState, fact: Fact) -> None:
    """fork-04 (OpenWOP replay): in a branch, deadlines count from the fork, and children that had not ended are
    forgotten, so that their nodes start new ones. Inputs of the overlay replace those of the source."""
    now, payload = fact.timestamp, fact.payload
    passed = max(0, now - (parse_iso(payload["pastEndedAt"]) or now))
    state.forked_at = now
    for interrupt in state.open_interrupts.values():
        interrupt.requested_at = now
        interrupt.reminders_sent = 0
        state.changed_rows.add(("interrupt", interrupt.interrupt_id))
    for node_id, node in state.nodes.items():
        keep_effect_keys(node, payload.get("effectsRunId") or payload["sourceRunId"])
        if node.status in ("running", "retrying"):
            _move_waits(node, now, passed)
            state.changed_rows.add(("node", node_id))
        if node.open_children:
            # Also of a node that waits for a person meanwhile.
            _forget_open_children(state, node)
    if (failed := state.nodes.get(payload.get("retryNodeId", ""))) is not None:
        _forget_failures(state, failed)
    if inputs := payload.get("inputs"):
        _replace_inputs(state, inputs, fact)


def _move_waits(node: NodeState, now: int, passed: int) -> None:
    """Time limits begin again, and waits are as long as they were."""
    node.started_at = node.resumed_at = now
    node.crashes = 0
    if node.retry_at:
        node.retry_at += passed
    if node.long_wait_end:
        node.long_wait_end += passed
    if node.provider_wait is not None:
        wait = node.provider_wait
        node.provider_wait = msgspec.structs.replace(wait, retry_at=wait.retry_at + passed)


def keep_effect_keys(node: NodeState, source_id: str) -> None:
    """fork-08 (host): an effect that the source began, and whose outcome is unknown, may have happened. The branch
    repeats it with the key of the source, so that the other side recognises it."""
    for effect in node.effects.values():
        if effect.status == "open" and not effect.key_run_id:
            effect.key_run_id = source_id


def _forget_open_children(state: RunState, node: NodeState) -> None:
    for key in [key for key, child in node.children.items() if child.awaited and not child.has_ended]:
        del node.children[key]
        release(state, node, [("child", key)])
    node.open_children = 0
    node.waiting_children = {}


def _forget_failures(state: RunState, node: NodeState) -> None:
    """retry-01 (host): what failed may be tried again. Results stay, and an effect with an unknown outcome stays open,
    so that a person is asked about it."""
    node.failures = 0
    for ref in [ref for ref, effect in node.effects.items() if effect.status == "failed"]:
        del node.effects[ref]
        release(state, node, [ref])
    for key in [key for key, child in node.children.items() if child.has_ended and child.status != "completed"]:
        del node.children[key]
        node.failed_children -= 1
        release(state, node, [("child", key)])
    for index in [index for index, ended in node.map_items.items() if isinstance(ended, ItemError)]:
        del node.map_items[index]
        release(state, node, [index])
    for call in [call for call, record in node.model_answers.items() if fault_from_record(record) is not None]:
        del node.model_answers[call]
        release(state, node, [("answer", call)])


def _replace_inputs(state: RunState, inputs: dict[str, Any], fact: Fact) -> None:
    """The variables of the same names get these values, also those that a node has written since."""
    state.inputs = {**state.inputs, **inputs}
    for name, value in inputs.items():
        state.variables[name] = value
        state.changed_rows.add(("variable", name))
        for node in state.nodes.values():
            # Nodes share the table of writes, except those that no write has reached yet.
            node.view.replace_value(name, value)
        _set_trust(state, name, fact.content_trust == UNTRUSTED)
    hold(state, "inputs", fact.size)


def _set_trust(state: RunState, name: str, untrusted: bool) -> None:
    """The new value has the trust of the overlay in every view."""
    known = state.untrusted
    if known is None:
        if not untrusted:
            return
        known = state.untrusted = UntrustedValues()
    if not untrusted:
        known.variables.pop(name, None)
        known.inputs -= {name}
        return
    stamps = {INITIAL_STAMP, state.variable_stamps.get(name, INITIAL_STAMP)}
    stamps |= {entry[0] for node in state.nodes.values() if (entry := node.view.get(name)) is not None}
    known.variables[name] = stamps
    known.inputs |= {name}
