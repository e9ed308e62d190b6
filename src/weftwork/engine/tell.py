"""Telling nodes that what they asked for is durable, or that it no longer matters."""

import asyncio
from collections.abc import Iterable
from typing import Any

from weftwork.engine.inputs import (
    EffectClaimed,
    EffectEnded,
    EnvelopeSent,
    Input,
    InterruptPassed,
    ModelAnswered,
    NodeRecorded,
    VersionAsked,
)
from weftwork.engine.ledger import holds, is_past
from weftwork.protocol.state import RunState


def tell(state: RunState, inputs: Iterable[Input]) -> bool:
    """Tell those who wait for these inputs; False if somebody else turned out to move this run."""
    ours = True
    for given in inputs:
        match given:
            case NodeRecorded(durable=durable):
                _tell(durable, None)
            case EffectEnded(node_id=node_id, place=place, durable=durable):
                if (known := state.nodes[node_id].effects.get(place)) is not None:
                    _tell(durable, known)
                elif is_past(state, given):
                    ours = False
            case EffectClaimed(granted=granted):
                held = holds(state, given)
                if held is not None:
                    ours = ours and held
                    _tell(granted, held)
            case ModelAnswered(node_id=node_id, answer=answer, durable=durable):
                if (node := state.nodes.get(node_id)) is not None and answer["call"] in node.turns:
                    _tell(durable, node.turns[answer["call"]])
            case EnvelopeSent(judged=judged, recorded=recorded):
                if judged.correlation_id in state.envelopes:
                    _tell(recorded, state.envelopes[judged.correlation_id])
            case InterruptPassed(node_id=node_id, interrupt=interrupt, passed=passed, entered=entered):
                if interrupt.key in state.answers:
                    _tell(passed, state.answers[interrupt.key])
                elif (node := state.running.get(node_id)) is None or node.entered != entered:
                    # It was refused, and its node failed with it.
                    _tell(passed, None)
            case VersionAsked(change_id=change_id, pinned=pinned):
                if change_id in state.versions:
                    _tell(pinned, state.versions[change_id])
            case _:
                pass
    return ours


def _tell(waiting: asyncio.Future[Any], word: Any) -> None:
    if not waiting.done():
        waiting.set_result(word)
