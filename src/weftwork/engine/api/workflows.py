"""Workflow definitions for callers: register, read and list them. One method per operation."""

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import msgspec

from weftwork.engine.api.idempotency import IdempotencyClaim, idempotent
from weftwork.engine.api.keyring import Principal
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.read_back import known_outcome
from weftwork.engine.runtime import Runtime
from weftwork.ports.storage.definitions import (
    ListedWorkflow,
    RegistrationLimitReached,
    VersionExists,
    WorkflowRegistration,
)
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.run.batch import ReplayableOutcome
from weftwork.protocol.timestamps import iso
from weftwork.protocol.workflow import registration
from weftwork.protocol.workflow.definition import Workflow
from weftwork.protocol.workflow.plan import Plan

log = logging.getLogger("weftwork.workflows")


class RegistrationOutcome(ReplayableOutcome, frozen=True):
    """The outcome of a registration."""

    workflow_id: str
    version: str
    digest: str
    created_at: int
    created: bool
    """False if the same version with the same content was already registered."""


class Workflows(msgspec.Struct, eq=False):
    """Workflows for callers. Raises ClientFault, StoreUnavailable or HostFault."""

    _runtime: Runtime
    _catalog: WorkflowCatalog
    overrides: Callable[[Principal], Iterable[str]] = lambda _: ()
    """Capabilities that registration treats as missing for a caller. Only the test endpoints set it."""

    async def get(self, principal: Principal, workflow_id: str, version: str | None = None) -> bytes:
        """The definition in JSON, verbatim; without a version, the current one."""
        definition = await self._catalog.read_definition(principal.tenant, workflow_id, version)
        if definition is None:
            hint = await self._catalog.similar_workflow(principal.tenant, workflow_id)
            raise ClientFault("not_found", f"There is no such workflow{hint or '.'}")
        return definition

    async def list(self, principal: Principal, after: str | None, limit: int) -> dict[str, Any]:
        """A page of the workflows that the caller can start, ordered by id."""
        workflows, more = await self._catalog.list_workflows(principal.tenant, after, limit)
        items = [_listing(each) for each in workflows]
        document: dict[str, Any] = {"workflows": items}
        if more:
            document["nextCursor"] = items[-1]["workflowId"]
        return document

    async def register(self, principal: Principal, document: Any, key: str | None = None) -> RegistrationOutcome:
        """Register a definition for the caller's tenant. Durable on return."""
        return await self._register(principal, "registerWorkflow", key, document, document, "")

    async def register_sample(self, principal: Principal, body: Any, key: str | None = None) -> RegistrationOutcome:
        """Like `register`, for the body format of the test endpoint."""
        document, at = registration.read_test_definition(body)
        return await self._register(principal, "registerSampleWorkflow", key, body, document, at)

    async def _register(
        self, principal: Principal, operation: str, key: str | None, body: Any, document: Any, at: str
    ) -> RegistrationOutcome:
        work = partial(self._check_and_store, principal, document, at)
        return await idempotent(self._runtime, principal, operation, key, body, RegistrationOutcome, work)

    async def _check_and_store(
        self, principal: Principal, document: Any, at: str, claim: IdempotencyClaim
    ) -> RegistrationOutcome | SlotTaken:
        plan = await self._check(principal, document, at)
        new = _registration(principal.tenant, plan.workflow, claim.now)
        outcome = _outcome(new, created=True)
        most = self._runtime.limits.max_workflows_per_tenant
        answer = await known_outcome(
            self._runtime.clock,
            self._catalog.register_for_tenant(new, plan, most, claim.make_record(outcome)),
            partial(self._catalog.find_registered, new),
        )
        if isinstance(answer, SlotTaken):
            return answer
        if isinstance(answer, RegistrationLimitReached):
            text = (
                f"This tenant has reached its limit of {most:,} registered workflow versions "
                "(`max_workflows_per_tenant`)."
            )
            raise ClientFault("workflow_limit_reached", text, {"limit": most})
        if isinstance(answer, VersionExists):
            return await claim.save(_existing_outcome(answer.registration, new, at))
        fields = {"tenant": new.tenant, "workflowId": new.workflow_id, "version": new.version}
        log.info("workflow registered", extra=fields)
        return outcome

    async def _check(self, principal: Principal, document: Any, at: str) -> Plan:
        """wf-09, wf-10, wf-11, wf-20: validate a definition for registration. Raises ClientFault."""
        types, overrides = self._catalog.types, self.overrides(principal)
        gate = registration.find_gated_node(document, types, overrides)
        if gate is not None:
            raise registration.capability_required(gate, at)
        if gated := registration.find_gated_config(document, registration.absent_capabilities(types, overrides)):
            raise registration.registration_refusal(gated, at)
        plan, violations = await self._catalog.check_async(document)
        if plan is not None:
            violations = registration.check_version_length(plan.workflow.version)
        if plan is None or violations:
            raise registration.registration_refusal(violations, at)
        _check_tenant(document, principal.tenant, at)
        return plan


def _check_tenant(document: dict[str, Any], tenant: str, at: str) -> None:
    """wf-11: a caller registers workflows for its own tenant only."""
    if document.get("tenantId", tenant) != tenant:
        text = "tenantId is not the tenant of this key; leave it out."
        raise ClientFault("forbidden", text, {"pointer": f"{at}/tenantId"})


def _registration(tenant: str, workflow: Workflow, now: int) -> WorkflowRegistration:
    name, description = workflow.document["name"], workflow.document.get("description")
    if description is not None:
        description = description[: registration.MAX_DESCRIPTION]
    return WorkflowRegistration(tenant, workflow.id, workflow.version, workflow.digest, now, name, description)


def _existing_outcome(existing: WorkflowRegistration, offered: WorkflowRegistration, at: str) -> RegistrationOutcome:
    """wf-11: the content of a registered version never changes."""
    if existing.digest != offered.digest:
        text = "This version of the workflow is registered with other content; give the new content another version."
        raise ClientFault("workflow_version_conflict", text, {"pointer": f"{at}/version"})
    return _outcome(existing, created=False)


def _outcome(registered: WorkflowRegistration, created: bool) -> RegistrationOutcome:
    return RegistrationOutcome(
        registered.workflow_id, registered.version, registered.digest, registered.created_at, created
    )


def _listing(workflow: ListedWorkflow | Workflow) -> dict[str, Any]:
    if isinstance(workflow, ListedWorkflow):
        registered, versions = workflow.current, workflow.versions
    else:
        # A workflow of a file has no registration time, so the listing omits it.
        registered, versions = _registration("", workflow, 0), (workflow.version,)
    item = {
        "workflowId": registered.workflow_id,
        "name": registered.name,
        "version": registered.version,
        "versions": versions,
    }
    if registered.description is not None:
        item["description"] = registered.description
    return {**item, "createdAt": iso(registered.created_at)} if isinstance(workflow, ListedWorkflow) else item
