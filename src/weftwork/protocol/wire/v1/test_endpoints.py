"""Test endpoints for models and outbound requests. The conformance suite calls them seams.

One programs the scripted provider, one shows messages to a model, and one sends a request by the guarded client.
"""

from typing import Final

from weftwork.protocol.wire.route import Parameter, Route
from weftwork.protocol.wire.v1.paths import operation

MAX_NODE_ID: Final = 256
NODE_PARAMETER = Parameter(
    "nodeId",
    {"type": "string", "minLength": 1, "maxLength": MAX_NODE_ID},
    "The node that has asked a model.",
    required=True,
)
MODEL_TEST_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        *operation("callAi"),
        "Look at messages as nodes do before they ask a model; none is asked.",
        scope="runs:create",
        request="ai-call",
        body_required=True,
        response="ai-call-response",
        errors=("unsupported_modality",),
        test_only=True,
    ),
    Route(
        *operation("programMockAi"),
        "Tell the scripted provider what to say to a node, one entry per call.",
        scope="runs:create",
        request="mock-ai-program",
        body_required=True,
        response="mock-ai-program-response",
        test_only=True,
    ),
    Route(
        *operation("getMockAiBudget"),
        "The most tokens that the last call of a node asked the scripted provider for.",
        scope="runs:read",
        response="mock-ai-budget",
        params=(NODE_PARAMETER,),
        test_only=True,
    ),
)


FETCH_TEST_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        *operation("safeFetch"),
        "Send a request by the guarded client and tell what became of it.",
        scope="runs:create",
        request="safe-fetch",
        body_required=True,
        response="safe-fetch-response",
        test_only=True,
    ),
)
