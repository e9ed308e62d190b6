"""Decides which model a node uses whose type requires model capabilities, before the node starts. Pure."""

from collections.abc import Mapping
from typing import Any

import msgspec

from weftwork.protocol.fold.state import RunState
from weftwork.protocol.models.capability_gate import (
    ModelCatalogue,
    ModelNeeds,
    ModelRef,
    evaluate_gate,
    gate_event,
    refusal_error,
)
from weftwork.protocol.models.selection import requested_mock, select_model
from weftwork.protocol.privacy.credential_redaction import mask_credentials_in_text
from weftwork.protocol.run import payloads
from weftwork.protocol.run.events import Draft


class GatePass(msgspec.Struct, frozen=True):
    """The model of the node, or None if the node is refused, and the events that say so."""

    model: ModelRef | None
    events: tuple[Draft, ...] = ()


def pass_model_gate(state: RunState, models: ModelCatalogue, node_id: str, needs: ModelNeeds) -> GatePass:
    """cap-07 (RFC 0031 B and D): the gate applies once per round of a node, before its prompts are composed.

    Its result is in the log: `node.started` has the model, after `model.capability.substituted` if it is the fallback
    model. A node that is refused has `model.capability.insufficient` before `node.failed`, and never starts. All later
    attempts use the recorded model, even if the settings of the host have changed.
    """
    recorded = state.nodes[node_id].model
    if recorded is not None:
        return GatePass(recorded)
    active, mocked = _active_model(state.header.configurable, models, needs)
    result = evaluate_gate(
        needs,
        active,
        # A run that asked for a mock must not call a real model instead.
        substitution=models.allows_substitution and not mocked,
        supported=models.providers,
        capabilities_of=models.capabilities_of,
    )
    event = gate_event(node_id, _public(active), needs.fallback, result)
    events = (Draft.of(event, node_id),) if event is not None else ()
    match result.route:
        case "dispatch":
            return GatePass(active)
        case "substitute":
            return GatePass(needs.fallback, events)
        case "refuse":
            failure = refusal_error(result.missing, models.has_model_with(needs.required))
            return GatePass(None, (*events, Draft.of(payloads.NodeFailed(node_id, failure), node_id)))


def _active_model(configurable: Mapping[str, Any], models: ModelCatalogue, needs: ModelNeeds) -> tuple[ModelRef, bool]:
    """The model that would answer the node, and whether it is a mock of a run with a test key."""
    mock = requested_mock(configurable)
    if mock is not None:
        return ModelRef(mock, ""), True
    choice = select_model(configurable, needs.config)
    return models.resolve(choice.provider, choice.model), False


def _public(ref: ModelRef) -> ModelRef:
    """The names as the log shows them. The options of a run can contain any text as names."""
    return ModelRef(mask_credentials_in_text(ref.provider), mask_credentials_in_text(ref.model))
