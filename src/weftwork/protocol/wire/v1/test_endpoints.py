"""Operations that serve JSON Schemas, and the test endpoints for the envelope gate, models and outbound requests.

The conformance suite calls test endpoints seams. One programs the scripted provider, one shows messages to a model,
and one sends a request by the guarded client.
"""

from functools import partial
from typing import Final

from weftwork.protocol.ids import SCHEMA_FILE_PATTERN
from weftwork.protocol.wire.route import IF_NONE_MATCH, Parameter, Route
from weftwork.protocol.wire.v1.paths import operation

SCHEMA_MEDIA_TYPE: Final = "application/schema+json"
SCHEMA_FILE_SUFFIX: Final = ".schema.json"
SERVED_SCHEMAS: Final[tuple[str, ...]] = tuple(
    """
    agent-ref ai-envelope capabilities create-run error-envelope run-event run-event-payloads run-options
    run-snapshot suspend-request workflow-definition
    """.split()
)
"""env-30 (readings, Schemas): wire documents whose schemas are served, in addition to the schemas of kinds."""

MAX_NODE_ID: Final = 256
NODE_PARAMETER = Parameter(
    "nodeId",
    {"type": "string", "minLength": 1, "maxLength": MAX_NODE_ID},
    "The node that has asked a model.",
    required=True,
)
_seam: Final = partial(Route, scope="runs:create", test_only=True)

MODEL_TEST_ROUTES: Final[tuple[Route, ...]] = (
    _seam(
        *operation("callAi"),
        "Look at messages as nodes do before they ask a model; none is asked.",
        request="ai-call",
        response="ai-call-response",
        errors=("unsupported_modality",),
    ),
    _seam(
        *operation("programMockAi"),
        "Tell the scripted provider what to say to a node, one entry per call.",
        request="mock-ai-program",
        response="mock-ai-program-response",
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
    _seam(
        *operation("safeFetch"),
        "Send a request by the guarded client and tell what became of it.",
        request="safe-fetch",
        response="safe-fetch-response",
    ),
)


_serve: Final = partial(
    Route,
    path_patterns={"schemaFile": SCHEMA_FILE_PATTERN},
    params=(IF_NONE_MATCH,),
    errors=("not_found",),
    content=SCHEMA_MEDIA_TYPE,
)

ENVELOPE_ROUTES: Final[tuple[Route, ...]] = (
    _serve(
        *operation("getSchema"),
        "The JSON Schema of a document of the wire, such as run-event.schema.json.",
    ),
    _serve(
        *operation("getEnvelopeSchema"),
        "The JSON Schema of the payload of a kind of envelope, such as error.schema.json.",
    ),
    _seam(
        *operation("acceptEnvelope"),
        "Show an envelope to the gate that models' envelopes pass, under the rules of the body.",
        request="envelope-accept",
        response="envelope-outcome",
        refusal="seam-refusal",
    ),
    _seam(
        *operation("toggleCapability"),
        "Let the seams see a capability as present or missing; null or reset ends it.",
        request="capability-toggle",
        response="capability-overlay",
    ),
    _seam(
        *operation("wrapPrompt"),
        "How content of an event would be shown to a model.",
        request="prompt-wrap",
        response="prompt-wrap-response",
    ),
    _seam(
        *operation("emitEnvelopeReliability"),
        "Write an event about the reliability of a model's answer to the test log, if it may be written.",
        request="emit-envelope-reliability",
        response="emitted-event",
        refusal="seam-refusal",
    ),
)
