"""Every scenario of the families that the host implements has a test on a real host."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.live import Host

TESTS = Path(__file__).parents[2]

COVERED = frozenset(
    """
    discovery auth errors runs-lifecycle failure-path eventOrdering identity-passthrough multi-node-ordering
    idempotency idempotencyRetry cancellation bulk-cancel pause-resume interruptRace cap-breach
    run-execution-bounds-shape runtime-capabilities configurable-schema stream-modes stream-modes-mixed
    stream-modes-buffer streamReconnect stream-text-fixture debugBundle channel-ttl agentMessageReducer
    subworkflow subworkflow-input-mapping
    interrupt-approval interrupt-clarification interrupt-quorum-resolution interrupt-auth-required-resume
    interrupt-external-event-correlation interrupt-parent-child-cascade
    conversationLifecycle conversationVsLegacySuspend conversationCapabilityNegotiation
    dispatchLoop orchestratorDispatch orchestratorTermination orchestratorConservativePath dispatch-input-mapping
    dispatch-output-mapping dispatch-cross-worker-handoff multi-agent-handoff-state-machine
    multi-agent-confidence-escalation
    agentMetadata agentReasoningEvents agentReasoningStreaming agentConfidenceEscalation prompt-composed
    ai-envelope-shape aiEnvelope.universalKinds aiEnvelope.schemaDrift aiEnvelope.correlationReplay
    aiEnvelope.contractRefusal aiEnvelope.trustBoundaryPropagation aiEnvelope.redaction aiEnvelope.capBreached
    envelope-reasoning-shape envelope-reasoning-secret-redaction envelope-tier-one-subset-static
    envelope-variant-discriminator-static envelope-rendering-hint envelope-retry-attempted envelope-retry-exhausted
    envelope-refusal-shape envelope-truncated envelope-truncation-cap-exhaustion
    envelope-completion-distinguishes-truncation envelope-nl-to-format-engaged envelope-recovery-applied
    model-capability-substituted model-capability-insufficient node-module-required-capabilities-shape
    aiproviders-input-shape callai-multimodal media-url-inline-cap
    a2ui-surface-shape a2ui-surface-degrades a2ui-surface-version-refusal a2ui-surface-replay
    a2ui-untrusted-blocks-approval a2ui-surface-delta-transport
    replay-fork replay-fork-arbitrary replayDeterminism conversationReplayDeterminism
    safefetch-behavior test-seam-unauthenticated redaction provider-usage replay-llm-cache-key-portable
    """.split()
)
NOT_ADVERTISED = {
    "replay-divergence-at-refusal": "multiAgent.executionModel.replayDeterminism",
    "replay-observable-sequence-determinism": "multiAgent.executionModel.replayDeterminism",
    "version-fold": "testing.forceEngineVersionRange",
    "webhook-signed-delivery": "webhooks",
    "prompt-prefix-cache": "aiProviders.promptPrefixCache",
    "safefetch-live-audit": "toolHooks.prePostEvents",
    "audit-log-integrity": "auth.auditLogIntegrity",
    "grpc": "grpc",
    "i18n": "i18n",
    "agentMemory": "memory",
    "agentPack": "packs",
    "agent-channel-dispatch": "agents.deployment",
    "artifact-type-store-without-render": "packs",
    "blob-cross-tenant-isolation": "blobStorage",
    "cache-cross-tenant-isolation": "cache",
}
"""Scenarios that do not apply to this host, with the member of discovery that would announce them. A family of
scenarios has one entry."""
NOT_ADVERTISED_FIXTURES = (
    "conformance-agent-memory-",
    "conformance-agent-pack-",
    "conformance-agent-channel-dispatch",
    "conformance-phase4-",
    "conformance-version-fold",
    "conformance-mcp-",
    "conformance-a2a-",
    "conformance-wasm-",
    "openwop-smoke-",
)
"""The beginnings of the ids of conformance workflows whose scenarios do not apply to this host."""


def marked_scenarios() -> Iterator[str]:
    """The names in all `pytest.mark.scenario(...)` of the tests."""
    for path in TESTS.rglob("test_*.py"):
        source = path.read_text("utf-8")
        if "mark.scenario(" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "scenario":
                for argument in node.args:
                    assert isinstance(argument, ast.Constant), f"{path}: a name that is no literal"
                    yield str(argument.value)


def test_every_scenario_has_a_test_and_no_other_is_marked() -> None:
    assert set(marked_scenarios()) == COVERED
    assert not COVERED & NOT_ADVERTISED.keys()


def test_a_scenario_without_a_test_is_not_advertised(host: Host) -> None:
    document = host.call("GET", "/.well-known/openwop", key=None).document
    for scenario, path in NOT_ADVERTISED.items():
        found = document
        for member in path.split("."):
            found = found.get(member) or {}
        assert not found, scenario
    assert [name for name in document["fixtures"] if name.startswith(NOT_ADVERTISED_FIXTURES)] == []
