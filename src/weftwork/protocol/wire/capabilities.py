"""The discovery document, generated from the values that the host enforces.

Every family, the envelope kinds and the limits are at the root of the document and again under `capabilities`, for
older clients (readings, Discovery layout). A block is present only if its feature is enabled. The blocks about
supervisors and agents depend on the registered node types, those about models and envelopes on the envelope gate.

Sources: RFC 0006, 0007, 0021, 0022, 0023, 0024, 0026, 0030, 0031, 0032, 0033, 0037, 0039, 0040 D, 0094 F, 0114.
"""

import hashlib
from collections.abc import Container
from typing import Any, Final

import msgspec

from weftwork.protocol.envelopes.completion import RELIABILITY_EVENTS, TRUNCATION_MULTIPLIER
from weftwork.protocol.envelopes.instructions import PROMPT_DIRECTIVE
from weftwork.protocol.envelopes.kinds import MEDIA_KINDS, SURFACE_KIND
from weftwork.protocol.envelopes.schema_subset import Compliance
from weftwork.protocol.ids import TEST_KEY_PREFIX
from weftwork.protocol.limits import Limits
from weftwork.protocol.media.message_parts import Modality, input_family
from weftwork.protocol.models.capability_gate import ModelCatalogue, capability_family
from weftwork.protocol.net.outbound import METHODS, FetchLimits
from weftwork.protocol.people.approvals import AUTH_REQUIRED
from weftwork.protocol.review.annotations import SIGNAL_KINDS, TARGET_KINDS
from weftwork.protocol.review.debug_bundle import DEBUG_BUNDLE_CAPABILITY
from weftwork.protocol.run.child_runs import DISPATCH, SUB_WORKFLOW
from weftwork.protocol.run.header import DRAIN_POLICIES, ENGINE_VERSION, EVENT_LOG_SCHEMA_VERSION, ForkMode
from weftwork.protocol.run.projection import MAX_BULK_CANCEL
from weftwork.protocol.wire.idempotency import RETENTION_SECONDS
from weftwork.protocol.wire.surface_frames import DELTA_TRANSPORT
from weftwork.protocol.workflow import orchestration
from weftwork.protocol.workflow.registration import GATED_NODE_TYPES
from weftwork.protocol.workflow.run_options import DEFAULT_VERBOSITY, MOCK_PROVIDERS


def agent_families(types: Container[str], conversation: bool, host: str) -> dict[str, Any]:
    """disc-07 (OpenWOP capabilities, agents): the blocks of the registered node types. A supervisor is advertised only
    together with `core.dispatch`, and agents only if a node type emits their events. `conversation`: whether the host
    can ask people in a conversation."""
    families: dict[str, Any] = {}
    if SUB_WORKFLOW in types:
        families["subWorkflow"] = {"inputMapping": True}
    mocks = orchestration.MOCK_AGENT in types
    if mocks:
        families["conformance"] = {"mockAgent": True}
    dispatches = DISPATCH in types
    supervises = dispatches and orchestration.SUPERVISOR in types
    emits = any(type_id in types for type_id in orchestration.AGENT_EVENT_EMITTERS)
    if not dispatches and not emits:
        return families
    agents: dict[str, Any] = {"supported": emits, "orchestrator": supervises, "dispatch": dispatches}
    families["agents"] = {**agents, "dispatchMapping": dispatches}
    if emits:
        families["agents"]["reasoning"] = {"verbosity": DEFAULT_VERBOSITY, "streaming": True}
    if dispatches:
        routings = [each for each in orchestration.ASK_USER_ROUTINGS if conversation or each != "conversation"]
        models = list(orchestration.DISPATCH_MODELS)
        families["dispatch"] = {
            "supported": True,
            "models": models,
            "fanOutSupported": True,
            "askUserRoutings": routings,
        }
    if supervises:
        families["orchestrator"] = {
            "supported": True,
            "workerIdInterpretation": orchestration.WORKER_ID_INTERPRETATION,
            "fanOutSupported": True,
        }
        model = {
            "supported": True,
            "version": orchestration.EXECUTION_MODEL_VERSION,
            "confidenceEscalationFloor": orchestration.CONFIDENCE_FLOOR,
            "confidenceEscalationInterruptKind": orchestration.ADVERTISED_ESCALATION_KIND,
            "crossHostCausation": {"supported": False, "hostId": host, "ancestryEndpointSupported": True},
        }
        families["multiAgent"] = {"executionModel": model}
    return families


ENVELOPE_STRICTNESS: Final = "warn"
"""An envelope of an older version of its kind is validated against the current version and marked with a warning."""


def envelope_families(
    limits: Limits, providers: tuple[str, ...], modalities: frozenset[Modality] = frozenset(), media: bool = False
) -> dict[str, Any]:
    """disc-08 (RFC 0021, RFC 0032): the blocks about model envelopes.

    disc-09 (RFC 0055 C, RFC 0091): the modalities that models accept in addition to text, and the limit of inline
    media.
    """
    models: dict[str, Any] = {"supported": list(providers), "byok": []}
    if (accepted := input_family(modalities, limits.max_bytes_per_part)) is not None:
        models["input"] = accepted
    if media:
        models["maxInlineMediaBytes"] = limits.max_inline_media_bytes
    completion = {"distinguishesTruncation": True, "truncationBudgetMultiplier": TRUNCATION_MULTIPLIER}
    reliability = {
        "supported": True,
        "events": list(RELIABILITY_EVENTS),
        "maxRetryAttempts": limits.max_retry_attempts,
        "completion": completion,
    }
    return {
        "aiEnvelope": {"supported": True, "schemaResponseCounterPolicy": "counted"},
        "aiProviders": models,
        "envelopeContracts": {"advertised": True},
        "envelopeStrictness": ENVELOPE_STRICTNESS,
        "envelopes": {
            "reasoning": {"supported": True, "promptDirective": PROMPT_DIRECTIVE},
            "reliability": reliability,
        },
    }


SIDE_EFFECT_SUPPRESSION: Final = "recorded-outcome"
"""fork-06 (OpenWOP replay): a replay takes the outcome of every effect from the record, and calls nothing."""
PROTOCOL_VERSION: Final = "1.1"
MIN_CLIENT_VERSION: Final = "1.0"
INTERRUPT_PROFILES: Final = (
    "openwop-interrupt-quorum",
    AUTH_REQUIRED,
    "openwop-interrupt-external-event",
    "openwop-interrupt-parent-child",
)
"""disc-06 (interrupt-profiles): the interrupt profiles that this host implements."""


class HostOffer(msgspec.Struct, frozen=True):
    """The features that are enabled when the host starts."""

    version: str
    limits: Limits
    fixtures: tuple[str, ...] = ()
    runtime_capabilities: frozenset[str] = frozenset()
    test_seams: bool = False
    fetch: FetchLimits | None = None
    """The limits of outbound requests. None if the host sends none, or sends them without the SSRF guard."""
    node_types: frozenset[str] = frozenset()
    tokens: bool = False
    """Whether interrupts can also be answered with signed tokens."""
    host_id: str = "weftwork"
    envelopes: dict[str, int] = {}
    """Envelope kinds that the gate accepts, with their versions."""
    subset_compliance: Compliance = "off"
    """How the schemas of these kinds relate to the structured-output subset."""
    providers: tuple[str, ...] = ()
    modalities: frozenset[Modality] = frozenset()
    """Modalities that models accept in addition to text."""
    models: ModelCatalogue | None = None
    """The models of nodes that require model capabilities. None if the host does not check these."""
    prompts: dict[str, Any] | None = None
    bundles: bool = False
    fork_modes: tuple[ForkMode, ...] = ()


def discovery_document(offer: HostOffer) -> dict[str, Any]:
    """disc-01 (OpenWOP capabilities): the discovery document.

    disc-02 (readings, Advertising): the listed envelope kinds are those that the gate of this host accepts.
    """
    families = _families(offer)
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "implementation": {"name": "weftwork", "version": offer.version, "vendor": "weftwork"},
        "engineVersion": ENGINE_VERSION,
        "eventLogSchemaVersion": EVENT_LOG_SCHEMA_VERSION,
        "minClientVersion": MIN_CLIENT_VERSION,
        "supportedTransports": ["rest"],
        **families,
        "capabilities": families,
    }


def _families(offer: HostOffer) -> dict[str, Any]:
    families: dict[str, Any] = {
        "supportedEnvelopes": list(offer.envelopes),
        "schemaVersions": offer.envelopes,
        "limits": _limits(offer.limits),
        "idempotency": {"supported": True, "layer1RetentionSeconds": RETENTION_SECONDS, "crossRegion": "single-region"},
        "runs": {
            "pauseResume": {"supported": True, "drainPolicies": list(DRAIN_POLICIES)},
            "bulkCancel": {"supported": True, "maxRunIds": MAX_BULK_CANCEL},
        },
        "testing": {"testKeyPrefix": TEST_KEY_PREFIX, "mockProviders": list(MOCK_PROVIDERS)},
        "feedback": {"supported": True, "targets": list(TARGET_KINDS), "signals": list(SIGNAL_KINDS)},
        "runtimeCapabilities": sorted(offer.runtime_capabilities),
        "observability": {"namespace": "openwop", "testSeams": {"otelScrape": offer.test_seams}},
    }
    if offer.envelopes:
        media = any(kind in offer.envelopes for kind in MEDIA_KINDS)
        families |= envelope_families(offer.limits, offer.providers, offer.modalities, media)
        families["envelopes"]["tierOneSubsetCompliance"] = offer.subset_compliance
    if SURFACE_KIND in offer.envelopes:
        families["a2uiSurface"] = DELTA_TRANSPORT
    if offer.models is not None:
        families["modelCapabilities"] = capability_family(offer.models)
    if offer.prompts is not None:
        families["prompts"] = offer.prompts
    if offer.fork_modes:
        families["replay"] = {
            "supported": True,
            "modes": list(offer.fork_modes),
            "sideEffectSuppression": SIDE_EFFECT_SUPPRESSION,
        }
    if offer.bundles:
        families["debugBundle"] = DEBUG_BUNDLE_CAPABILITY
        families["observability"]["testSeams"]["debugBundleExport"] = offer.test_seams
    if offer.fetch is not None:
        families["httpClient"] = _http_client(offer.fetch, offer.test_seams)
    for type_id, capability in GATED_NODE_TYPES.items():
        # A capability with a dot is a member of a block, which agent_families adds.
        if type_id in offer.node_types and "." not in capability:
            families[capability] = True
    families |= agent_families(offer.node_types, "conversationPrimitive" in families, offer.host_id)
    if offer.tokens:
        interrupts = {"profiles": list(INTERRUPT_PROFILES), "signedCallbackTokens": True}
        families["extensions"] = {"interrupts": interrupts}
    if offer.fixtures:
        families["fixtures"] = sorted(offer.fixtures)
    return families


def _http_client(limits: FetchLimits, test_seams: bool) -> dict[str, Any]:
    """disc-05 (RFC 0076): the HTTP client of the nodes. Callers can use it only through the test endpoint
    `safeFetch`."""
    return {
        "supported": True,
        "ssrfGuard": True,
        "maxResponseBodyBytes": limits.max_bytes,
        "requestTimeoutMs": limits.timeout_ms,
        "methods": list(METHODS),
        "safeFetch": {"supported": test_seams},
    }


def _limits(limits: Limits) -> dict[str, int]:
    advertised = {
        "clarificationRounds": limits.clarification_rounds,
        "schemaRounds": limits.schema_rounds,
        "envelopesPerTurn": limits.envelopes_per_turn,
        "maxNodeExecutions": limits.max_node_executions,
        "maxRequestBodyBytes": limits.max_request_body_bytes,
        "maxLoopIterations": limits.max_loop_iterations,
    }
    if limits.max_run_duration_ms:
        advertised["maxRunDurationMs"] = limits.max_run_duration_ms
    return advertised


def document_etag(document: bytes) -> str:
    """disc-03 (OpenWOP capabilities): a strong ETag, a hash of the bytes."""
    return f'"{hashlib.sha256(document).hexdigest()[:32]}"'
