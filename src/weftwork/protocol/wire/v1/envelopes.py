"""Operations that serve JSON Schemas, and the test endpoints of the envelope gate."""

from typing import Final

from weftwork.protocol.ids import SCHEMA_FILE_PATTERN
from weftwork.protocol.wire.route import IF_NONE_MATCH, Route
from weftwork.protocol.wire.v1.paths import operation

SCHEMA_MEDIA_TYPE: Final = "application/schema+json"
SCHEMA_FILE_SUFFIX: Final = ".schema.json"
"""How the name of a served schema ends."""
SERVED_SCHEMAS: Final[tuple[str, ...]] = (
    "agent-ref",
    "ai-envelope",
    "capabilities",
    "create-run",
    "error-envelope",
    "run-event",
    "run-event-payloads",
    "run-options",
    "run-snapshot",
    "suspend-request",
    "workflow-definition",
)
"""env-30 (readings, Schemas): documents of the wire whose schemas are served. Those of kinds are beside them."""

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
