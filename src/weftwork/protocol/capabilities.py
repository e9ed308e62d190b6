"""Discovery: what the host offers, from the very values that enforce it.

Every family stands at the document root, and once more, identical, under `capabilities` for older
readers (readings, Discovery layout); so do the kinds of envelopes and the limits. A block is shown only when what it
says is wired.
"""

import hashlib
from typing import Any, Final

import msgspec

from weftwork.protocol.agent_capabilities import agent_families
from weftwork.protocol.annotation import SIGNALS, TARGETS
from weftwork.protocol.approval import AUTH_REQUIRED
from weftwork.protocol.bulk import MAX_BULK
from weftwork.protocol.bundle import DEBUG_BUNDLE
from weftwork.protocol.envelope.kind import MEDIA
from weftwork.protocol.envelope_capabilities import envelope_families
from weftwork.protocol.gated import GATED
from weftwork.protocol.idempotency import RETENTION_SECONDS
from weftwork.protocol.ids import TEST_KEY_PREFIX
from weftwork.protocol.limits import Limits
from weftwork.protocol.media.parts import Modality
from weftwork.protocol.options import MOCK_PROVIDERS
from weftwork.protocol.outbound import METHODS, FetchLimits
from weftwork.protocol.run import DRAIN_POLICIES, ENGINE_VERSION, EVENT_LOG_SCHEMA_VERSION

PROTOCOL_VERSION: Final = "1.1"
MIN_CLIENT_VERSION: Final = "1.0"
INTERRUPT_PROFILES: Final = (
    "openwop-interrupt-quorum",
    AUTH_REQUIRED,
    "openwop-interrupt-external-event",
    "openwop-interrupt-parent-child",
)
"""disc-06 (interrupt-profiles): what approvals, outside events and the cancelling of parents keep to."""


class Offer(msgspec.Struct, frozen=True):
    """What was wired at start."""

    version: str
    limits: Limits
    fixtures: tuple[str, ...] = ()
    provided: frozenset[str] = frozenset()
    test_seams: bool = False
    fetch: FetchLimits | None = None
    """None: requests go out unguarded, or none do."""
    node_types: frozenset[str] = frozenset()
    tokens: bool = False
    """Whether interrupts are answered by signed tokens too."""
    host_id: str = "weftwork"
    envelopes: dict[str, int] = {}
    """Kinds of envelopes that pass the gate, with their versions."""
    providers: tuple[str, ...] = ()
    modalities: frozenset[Modality] = frozenset()
    """What models take beside text."""
    prompts: dict[str, Any] | None = None
    bundles: bool = False


def discovery(offer: Offer) -> dict[str, Any]:
    """disc-01 (OpenWOP capabilities): the discovery document.

    disc-02 (readings, Advertising): kinds of envelopes are those that the gate of this host lets pass.
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


def _families(offer: Offer) -> dict[str, Any]:
    families: dict[str, Any] = {
        "supportedEnvelopes": list(offer.envelopes),
        "schemaVersions": offer.envelopes,
        "limits": _limits(offer.limits),
        "idempotency": {
            "supported": True,
            "layer1RetentionSeconds": RETENTION_SECONDS,
            "crossRegion": "single-region",
        },
        "runs": {
            "pauseResume": {"supported": True, "drainPolicies": list(DRAIN_POLICIES)},
            "bulkCancel": {"supported": True, "maxRunIds": MAX_BULK},
        },
        "testing": {"testKeyPrefix": TEST_KEY_PREFIX},
        "feedback": {"supported": True, "targets": list(TARGETS), "signals": list(SIGNALS)},
        "runtimeCapabilities": sorted(offer.provided),
        "observability": {"namespace": "openwop", "testSeams": {"otelScrape": offer.test_seams}},
    }
    if offer.providers:
        families["testing"]["mockProviders"] = list(MOCK_PROVIDERS)
    if offer.envelopes:
        media = any(kind in offer.envelopes for kind in MEDIA)
        families |= envelope_families(offer.limits, offer.providers, offer.modalities, media)
    if offer.prompts is not None:
        families["prompts"] = offer.prompts
    if offer.bundles:
        families["debugBundle"] = DEBUG_BUNDLE
        families["observability"]["testSeams"]["debugBundleExport"] = offer.test_seams
    if offer.fetch is not None:
        families["httpClient"] = _http_client(offer.fetch, offer.test_seams)
    for type_id, capability in GATED.items():
        # The others are blocks with more in them than a yes.
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
    """disc-05 (RFC 0076): the client that the nodes send with; what may be called from outside is its seam."""
    return {
        "supported": True,
        "ssrfGuard": True,
        "maxResponseBodyBytes": limits.max_bytes,
        "requestTimeoutMs": limits.timeout_ms,
        "methods": list(METHODS),
        "safeFetch": {"supported": test_seams},
    }


def _limits(limits: Limits) -> dict[str, int]:
    shown = {
        "clarificationRounds": limits.clarification_rounds,
        "schemaRounds": limits.schema_rounds,
        "envelopesPerTurn": limits.envelopes_per_turn,
        "maxNodeExecutions": limits.max_node_executions,
        "maxRequestBodyBytes": limits.max_request_body_bytes,
        "maxLoopIterations": limits.max_loop_iterations,
    }
    if limits.max_run_duration_ms:
        shown["maxRunDurationMs"] = limits.max_run_duration_ms
    return shown


def etag(document: bytes) -> str:
    """disc-03 (OpenWOP capabilities): a strong validator that changes exactly when the bytes do."""
    return f'"{hashlib.sha256(document).hexdigest()[:32]}"'
