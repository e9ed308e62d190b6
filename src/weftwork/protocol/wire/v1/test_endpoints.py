"""Operations that serve JSON Schemas, and the test endpoints for the envelope gate, models and outbound requests.

The conformance suite calls test endpoints "seams". They exist only on hosts that are started with --test-seams.
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
"""env-30 (readings, Schemas): the served schemas of wire documents. The schemas of envelope kinds are served as
well."""

MAX_NODE_ID: Final = 256
NODE_PARAMETER = Parameter(
    "nodeId",
    {"type": "string", "minLength": 1, "maxLength": MAX_NODE_ID},
    "The node that called the model.",
    required=True,
)
_seam: Final = partial(Route, scope="runs:create", test_only=True)

MODEL_TEST_ROUTES: Final[tuple[Route, ...]] = (
    _seam(
        *operation("callAi"),
        "Validate messages as for a model call, without calling a model.",
        request="ai-call",
        response="ai-call-response",
        errors=("unsupported_modality",),
    ),
    _seam(
        *operation("programMockAi"),
        "Set the answers of the scripted provider to the calls of a node, one entry per call.",
        request="mock-ai-program",
        response="mock-ai-program-response",
    ),
    Route(
        *operation("getMockAiBudget"),
        "Get the token limit of a node's last call of the scripted provider.",
        scope="runs:read",
        response="mock-ai-budget",
        params=(NODE_PARAMETER,),
        test_only=True,
    ),
    _seam(
        *operation("evaluateModelGate"),
        "Evaluate the gate for model capabilities, with the model and the requirements in the body.",
        request="model-gate",
        response="model-gate-result",
    ),
    Route(
        *operation("listNodeCatalog"),
        "List the node types with the model capabilities that they require.",
        scope="runs:read",
        response="node-catalog",
        test_only=True,
    ),
    _seam(
        *operation("getModelCacheKey"),
        "Compute the semantic key of a model request, without calling a model.",
        request="llm-cache-key",
        response="llm-cache-key-response",
        refusal="seam-refusal",
    ),
    _seam(
        *operation("resolvePrompts"),
        "Select the prompt templates that a node with these references would use.",
        request="prompt-resolve",
        response="prompt-resolve-response",
    ),
    _seam(
        *operation("composePrompts"),
        "Compose prompts from templates and the values of their variables.",
        request="prompt-compose",
        response="prompt-compose-response",
    ),
)


FETCH_TEST_ROUTES: Final[tuple[Route, ...]] = (
    _seam(
        *operation("safeFetch"),
        "Send a request with the guarded HTTP client and return its outcome.",
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
        "Get the JSON Schema of a wire document, such as run-event.schema.json.",
    ),
    _serve(
        *operation("getEnvelopeSchema"),
        "Get the JSON Schema of the payload of an envelope kind, such as error.schema.json.",
    ),
    _seam(
        *operation("acceptEnvelope"),
        "Validate an envelope with the gate for model envelopes, under the rules in the body.",
        request="envelope-accept",
        response="envelope-outcome",
        refusal="seam-refusal",
    ),
    _seam(
        *operation("toggleCapability"),
        "Override a capability as present or missing for the gate's test endpoint and for registrations.",
        request="capability-toggle",
        response="capability-overlay",
    ),
    _seam(
        *operation("wrapPrompt"),
        "Show how the content of an event would appear in a prompt.",
        request="prompt-wrap",
        response="prompt-wrap-response",
    ),
    _seam(
        *operation("emitEnvelopeReliability"),
        "Append an envelope reliability event to the test log, if the event is valid.",
        request="emit-envelope-reliability",
        response="emitted-event",
        refusal="seam-refusal",
    ),
    _seam(
        *operation("emitSurface"),
        "Append a surface to the test log; the events of an unknown run then have it.",
        request="emit-surface",
        response="emitted-surface",
        errors=("a2ui_surface_invalid",),
    ),
)
