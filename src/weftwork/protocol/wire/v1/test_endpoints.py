"""The seams that tell the scripted provider what to say, and show messages to a model. Part of the table in wire_v1.

The seam that sends one request by the guarded client. Part of the table in wire_v1.
"""

from typing import Final

from weftwork.protocol.wire.route import Parameter, Route

MAX_NODE_ID: Final = 256
NODE_PARAMETER = Parameter(
    "nodeId",
    {"type": "string", "minLength": 1, "maxLength": MAX_NODE_ID},
    "The node that has asked a model.",
    required=True,
)
MODEL_TEST_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "callAi",
        "POST",
        "/v1/host/sample/ai/call",
        "Look at messages as nodes do before they ask a model; none is asked.",
        scope="runs:create",
        request="ai-call",
        response="ai-call-response",
        errors=("unsupported_modality",),
        test_only=True,
    ),
    Route(
        "programMockAi",
        "POST",
        "/v1/host/sample/test/mock-ai/program",
        "Tell the scripted provider what to say to a node, one entry per call.",
        scope="runs:create",
        request="mock-ai-program",
        response="mock-ai-program-response",
        test_only=True,
    ),
    Route(
        "getMockAiBudget",
        "GET",
        "/v1/host/sample/test/mock-ai/last-dispatch-budget",
        "The most tokens that the last call of a node asked the scripted provider for.",
        scope="runs:read",
        response="mock-ai-budget",
        params=(NODE_PARAMETER,),
        test_only=True,
    ),
)


FETCH_TEST_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "safeFetch",
        "POST",
        "/v1/host/sample/http/safe-fetch",
        "Send a request by the guarded client and tell what became of it.",
        scope="runs:create",
        request="safe-fetch",
        response="safe-fetch-response",
        test_only=True,
    ),
)
