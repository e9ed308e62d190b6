"""What `--test-seams` adds to a host: the handlers of the test endpoints."""

from weftwork.adapters.http.app import Handler
from weftwork.adapters.outbound.client import GuardedClient
from weftwork.adapters.providers.scripted import ScriptPlayer
from weftwork.conformance.endpoints.envelope_acceptance import CapabilityOverlay, EnvelopeAcceptEndpoint
from weftwork.conformance.endpoints.envelope_endpoints import ReliabilityEventEndpoint, wrap_prompt
from weftwork.conformance.endpoints.host_services import (
    AiCallEndpoint,
    MediaPutEndpoint,
    MockAiEndpoints,
    SafeFetchEndpoint,
    SetupEndpoints,
)
from weftwork.conformance.endpoints.model_programs import ScriptedPrograms
from weftwork.conformance.endpoints.run_observation import ObservationEndpoints, RunObservation
from weftwork.conformance.endpoints.test_log import TestLog
from weftwork.engine.api.assets import TenantAssets
from weftwork.engine.api.models import EnvelopeRecords, ModelInput
from weftwork.engine.api.review import Bundles
from weftwork.engine.api.run_control import RunControl
from weftwork.engine.api.runs import Runs
from weftwork.engine.api.workflows import Workflows
from weftwork.ports.clock import Clock
from weftwork.ports.ids import Ids
from weftwork.ports.storage.event_log import EventLog
from weftwork.protocol.envelopes.kinds import KindSet


def endpoint_handlers(
    *,
    clock: Clock,
    ids: Ids,
    log: EventLog,
    kinds: KindSet,
    player: ScriptPlayer,
    model_input: ModelInput,
    assets: TenantAssets,
    runs: Runs,
    control: RunControl,
    workflows: Workflows,
    bundles: Bundles,
    outbound: GuardedClient,
) -> dict[str, Handler]:
    """The handlers of all routes that are `test_only`, by operation; the arguments are parts of the host.

    What they remember is in memory, by partition, and gone after a reset.
    """
    assert isinstance(player, ScriptedPrograms), "a host with test endpoints has a provider that they program"
    test_log = TestLog(clock, ids)
    overlay = CapabilityOverlay()
    envelopes = EnvelopeAcceptEndpoint(kinds, test_log, EnvelopeRecords(log), overlay)
    resets = (test_log.reset, player.reset, overlay.reset, envelopes.reset)
    observation = ObservationEndpoints(RunObservation(log, clock, runs, bundles, test_log), resets)
    mock_ai = MockAiEndpoints(player)
    setup = SetupEndpoints(workflows, control)
    return {
        "acceptEnvelope": envelopes.accept,
        "callAi": AiCallEndpoint(model_input).call,
        "emitEnvelopeReliability": ReliabilityEventEndpoint(test_log).emit,
        "exportDebugBundle": observation.export,
        "getMockAiBudget": mock_ai.budget,
        "listTestEvents": observation.events,
        "programMockAi": mock_ai.program,
        "putMedia": MediaPutEndpoint(assets).put,
        "registerSampleWorkflow": setup.register_sample,
        "resetSeams": observation.reset,
        "safeFetch": SafeFetchEndpoint(outbound).safe_fetch,
        "scrapeSpans": observation.spans,
        "setVariables": setup.set_variables,
        "toggleCapability": overlay.toggle,
        "wrapPrompt": wrap_prompt,
    }
