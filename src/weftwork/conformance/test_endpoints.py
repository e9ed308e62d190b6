"""The handlers of the test endpoints, which `--test-seams` adds to a host."""

from collections.abc import Mapping
from functools import partial

from weftwork.adapters.http.app import Handler
from weftwork.adapters.outbound.client import GuardedClient
from weftwork.adapters.providers.scripted import ScriptPlayer
from weftwork.conformance.endpoints import envelopes, host_services, model_capabilities
from weftwork.conformance.endpoints.model_programs import ScriptedPrograms
from weftwork.conformance.endpoints.run_observation import ObservationEndpoints, RunObservation
from weftwork.conformance.endpoints.surfaces import SurfaceEmission
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
from weftwork.protocol.models.capability_gate import ModelCatalogue
from weftwork.protocol.models.prompt_templates import PromptTemplates
from weftwork.protocol.workflow.node_types import NodeDeclaration


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
    templates: PromptTemplates,
    models: ModelCatalogue,
    declarations: Mapping[str, NodeDeclaration],
    event_stream: Handler,
) -> dict[str, Handler]:
    """The handlers of all `test_only` routes, by operation, and of `streamRunEvents` for the ids of runs that only the
    test endpoints know. The arguments are components of the host; registration
    treats the capabilities that toggleCapability switches off as missing from now on.

    The handlers keep their state in memory by partition. `resetSeams` deletes the state of the caller's partition.
    """
    assert isinstance(player, ScriptedPrograms), "the test endpoints need a provider that can be programmed"
    test_log = TestLog(clock, ids)
    overlay = envelopes.CapabilityOverlay()
    workflows.overrides = lambda caller: overlay.missing(caller.partition)
    gate = envelopes.EnvelopeAcceptEndpoint(kinds, test_log, EnvelopeRecords(log), overlay)
    emission = SurfaceEmission(test_log, event_stream)
    resets = (test_log.reset, player.reset, overlay.reset, gate.reset)
    observation = ObservationEndpoints(RunObservation(log, clock, runs, bundles, test_log), resets)
    return {
        "acceptEnvelope": gate.accept,
        "callAi": partial(host_services.call_ai, model_input),
        "composePrompts": partial(host_services.compose_prompts, templates),
        "emitSurface": emission.emit,
        "streamRunEvents": emission.events,
        "emitEnvelopeReliability": partial(envelopes.emit_reliability_event, test_log),
        "evaluateModelGate": partial(model_capabilities.evaluate, models),
        "exportDebugBundle": observation.export,
        "getMockAiBudget": partial(host_services.mock_ai_budget, player),
        "getModelCacheKey": host_services.model_cache_key,
        "listNodeCatalog": partial(model_capabilities.list_node_catalog, declarations),
        "listTestEvents": observation.events,
        "programMockAi": partial(host_services.program_mock_ai, player),
        "putMedia": partial(host_services.put_media, assets),
        "registerSampleWorkflow": partial(host_services.register_sample, workflows),
        "resetSeams": observation.reset,
        "resolvePrompts": partial(host_services.resolve_prompts, templates),
        "safeFetch": partial(host_services.safe_fetch, outbound),
        "scrapeSpans": observation.spans,
        "setVariables": partial(host_services.set_variables, control),
        "toggleCapability": overlay.toggle,
        "wrapPrompt": envelopes.wrap_prompt,
    }
