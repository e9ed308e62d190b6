"""What discovery says about supervised runs and agents, from the values that the node types are made of.

Sources: RFC 0006, 0007, 0022, 0023, 0024, 0037, 0039, 0040 D.
"""

from collections.abc import Container
from typing import Any

from weftwork.protocol.child import DISPATCH, SUB_WORKFLOW
from weftwork.protocol.orchestration import (
    ESCALATION_KIND,
    EXECUTION_MODEL,
    FLOOR,
    MOCK_AGENT,
    MODELS,
    ROUTINGS,
    SUPERVISOR,
    WORKER_IDS,
)
from weftwork.protocol.reasoning import VERBOSITY


def agent_families(types: Container[str], conversation: bool, host: str) -> dict[str, Any]:
    """disc-07 (OpenWOP capabilities, agents): blocks of the types that are there; a supervisor is nothing without a
    dispatch. `conversation`: whether people can be asked by one."""
    families: dict[str, Any] = {}
    if SUB_WORKFLOW in types:
        families["subWorkflow"] = {"inputMapping": True}
    mocks = MOCK_AGENT in types
    if mocks:
        families["conformance"] = {"mockAgent": True}
    dispatches = DISPATCH in types
    supervises = dispatches and SUPERVISOR in types
    if not dispatches and not mocks:
        return families
    agents: dict[str, Any] = {"supported": True, "orchestrator": supervises, "dispatch": dispatches}
    families["agents"] = {**agents, "dispatchMapping": dispatches}
    if mocks:
        families["agents"]["reasoning"] = {"verbosity": VERBOSITY, "streaming": True}
    if dispatches:
        families["dispatch"] = _dispatch(conversation)
    if supervises:
        families["orchestrator"] = {
            "supported": True,
            "workerIdInterpretation": WORKER_IDS,
            "fanOutSupported": True,
        }
        families["multiAgent"] = {"executionModel": _execution_model(host)}
    return families


def _dispatch(conversation: bool) -> dict[str, Any]:
    routings = [each for each in ROUTINGS if conversation or each != "conversation"]
    return {"supported": True, "models": list(MODELS), "fanOutSupported": True, "askUserRoutings": routings}


def _execution_model(host: str) -> dict[str, Any]:
    return {
        "supported": True,
        "version": EXECUTION_MODEL,
        "confidenceEscalationFloor": FLOOR,
        "confidenceEscalationInterruptKind": ESCALATION_KIND,
        "crossHostCausation": {"supported": False, "hostId": host, "ancestryEndpointSupported": True},
    }
