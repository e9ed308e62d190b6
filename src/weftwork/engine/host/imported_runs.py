"""Imported runs whose logs are folded here: for a replay, or for an earlier state.

The events of an imported run may contradict its definition, and its bundle may name the definition of another tenant.
"""

from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.run.replay import RunTooLarge, load_state
from weftwork.engine.runtime import Runtime
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.run.header import RunHeader
from weftwork.protocol.run.imports import missing_definition, not_replayable


async def check_replayable(runtime: Runtime, catalog: WorkflowCatalog, header: RunHeader, last_sequence: int) -> None:
    """imp-05: raises 409 if an imported run cannot be replayed here: the tenant has not registered the definition that
    its bundle names, or the log cannot be folded with it.

    The definition must be one that the tenant can start. A bundle could otherwise name the digest of a definition of
    another tenant, and a replay would execute it.
    """
    imported = header.imported
    if imported is None:
        return
    version, tenant = imported.definition_version, header.owner.tenant
    if not header.definition or not await catalog.has_definition(
        tenant, header.workflow_id, version, header.definition
    ):
        raise missing_definition(header, imported)
    plan = await catalog.pinned_plan(header.workflow_id, header.definition)
    try:
        state = await load_state(runtime.log, header, plan, runtime.limits.max_run_state_bytes, runtime.loop_share)
    except (StoreUnavailable, ClientFault):
        raise
    except RunTooLarge as reason:
        raise not_replayable(f"The imported run is too large for this host ({reason}).") from None
    except Exception:
        message = "The events of the imported run contradict the definition of its workflow, so it cannot be replayed."
        raise not_replayable(message) from None
    assert state.last_sequence == last_sequence
