"""Operations that serve JSON Schemas, and the test endpoints for the envelope gate, models and outbound requests.

The conformance suite calls test endpoints seams. One programs the scripted provider, one shows messages to a model,
and one sends a request by the guarded client.
"""

from typing import Final

from weftwork.protocol.ids import SCHEMA_FILE_PATTERN
from weftwork.protocol.wire.route import IF_NONE_MATCH, Parameter, Route
from weftwork.protocol.wire.v1.paths import operation

SCHEMA_MEDIA_TYPE: Final = "application/schema+json"
SCHEMA_FILE_SUFFIX: Final = ".schema.json"
"""How the name of a served schema ends."""
SERVED_SCHEMAS: Final[tuple[str, ...]] = tuple(
    """
    agent-ref ai-envelope capabilities create-run error-envelope run-event run-event-payloads run-options
    run-snapshot suspend-request workflow-definition
    """.split()
)
"""env-30 (readings, Schemas): documents of the wire whose schemas are served. Those of kinds are beside them."""

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


ENVELOPE_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        *operation("getSchema"),
        "The JSON Schema of a document of the wire, such as run-event.schema.json.",
        path_patterns={"schemaFile": SCHEMA_FILE_PATTERN},
        params=(IF_NONE_MATCH,),
        errors=("not_found",),
        content=SCHEMA_MEDIA_TYPE,
    ),
    Route(
        *operation("getEnvelopeSchema"),
        "The JSON Schema of the payload of a kind of envelope, such as error.schema.json.",
        path_patterns={"schemaFile": SCHEMA_FILE_PATTERN},
        params=(IF_NONE_MATCH,),
        errors=("not_found",),
        content=SCHEMA_MEDIA_TYPE,
    ),
    Route(
        *operation("acceptEnvelope"),
        "Show an envelope to the gate that models' envelopes pass, under the rules of the body.",
        scope="runs:create",
        request="envelope-accept",
        body_required=True,
        response="envelope-outcome",
        test_only=True,
        refusal="seam-refusal",
    ),
    Route(
        *operation("toggleCapability"),
        "Let the seams see a capability as present or missing; null or reset ends it.",
        scope="runs:create",
        request="capability-toggle",
        body_required=True,
        response="capability-overlay",
        test_only=True,
    ),
    Route(
        *operation("wrapPrompt"),
        "How content of an event would be shown to a model.",
        scope="runs:create",
        request="prompt-wrap",
        body_required=True,
        response="prompt-wrap-response",
        test_only=True,
    ),
    Route(
        *operation("emitEnvelopeReliability"),
        "Write an event about the reliability of a model's answer to the test log, if it may be written.",
        scope="runs:create",
        request="emit-envelope-reliability",
        body_required=True,
        response="emitted-event",
        test_only=True,
        refusal="seam-refusal",
    ),
)
