"""The workflow catalog: finds the workflows that a tenant can start, and the plans that runs have pinned.

Theory. The operator's workflows come from files, are read at start and stay in memory. Workflows that tenants register
stay in the store and are read on demand, so neither the start nor the memory of a host grows with them. Lookups are
cached, including those without a result, because every new run needs one. Recently used plans are cached by digest
(`PlanCache`), so that the next run of a workflow does not build its plan again.
"""

import asyncio
import heapq
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from weftwork.ports.storage.definitions import (
    Definitions,
    ListedWorkflow,
    RegistrationLimitReached,
    VersionExists,
    VersionRegistered,
    WorkflowRegistration,
)
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, KindSet, check_host_kinds
from weftwork.protocol.errors import HostFault, invalid
from weftwork.protocol.json.canonical import encode_recorded, encode_stored
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.run.batch import IdempotencyRecord
from weftwork.protocol.spelling import MAX_KNOWN, did_you_mean
from weftwork.protocol.workflow.definition import Workflow
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.protocol.workflow.plan import Plan, plan_workflow
from weftwork.protocol.workflow.registration import (
    GatedNode,
    capability_required,
    find_gated_node,
    placeholder_types,
)
from weftwork.protocol.workflow.validation import parse_workflow

MAX_CACHED_PLANS: Final = 256
MAX_CACHED_PLAN_BYTES: Final = 8 * 2**20
"""Total size of the definitions in JSON. A plan takes about ten times as much memory."""
MAX_CACHED_DIGESTS: Final = 4096
"""Cached lookups of a tenant and a workflow id."""

THREAD_CHECK_BYTES: Final = 32_768
"""Definitions above this size are validated in a thread, so that they do not block the event loop."""

_NOT_CACHED: Final = ""


class PlanCache(msgspec.Struct, eq=False):
    """Plans by digest, limited in number and size; the least recently used plan is evicted first."""

    _cache: OrderedDict[str, tuple[Plan, int]] = msgspec.field(default_factory=OrderedDict[str, tuple[Plan, int]])
    _bytes: int = 0

    def get(self, digest: str) -> Plan | None:
        entry = self._cache.get(digest)
        if entry is None:
            return None
        self._cache.move_to_end(digest)
        return entry[0]

    def add(self, plan: Plan, size: int) -> None:
        """Add a plan; `size` is the size of its definition in JSON. The newest plan stays even if it is too large."""
        _, before = self._cache.pop(plan.workflow.digest, (plan, 0))
        self._cache[plan.workflow.digest] = plan, size
        self._bytes += size - before
        while len(self._cache) > 1 and (len(self._cache) > MAX_CACHED_PLANS or self._bytes > MAX_CACHED_PLAN_BYTES):
            _, (_, size) = self._cache.popitem(last=False)
            self._bytes -= size


class WorkflowCatalog(msgspec.Struct, eq=False):
    """Workflows from files by id, workflows of tenants in the store, and plans by the digest that runs pin."""

    _definitions: Definitions
    types: Mapping[str, NodeDeclaration]
    _kinds: KindSet = BUILTIN_KINDS
    _by_id: dict[tuple[str | None, str], Plan] = {}
    _refused: dict[str, GatedNode] = {}
    """File workflows that exist only to be refused, by id."""
    _plans: PlanCache = msgspec.field(default_factory=PlanCache)
    _digests: OrderedDict[tuple[str, str], str | None] = msgspec.field(
        default_factory=OrderedDict[tuple[str, str], str | None]
    )
    """The digest of a tenant's current version of a workflow; None if the tenant has not registered it."""
    _writes: int = 0
    """Number of registrations, to detect one that happened during a lookup."""

    async def register(self, document: dict[str, Any]) -> list[Violation]:
        """Validate a definition of a file and make it startable; returns the violations, and registers nothing if there
        are any."""
        plan, violations = await self.check_async(document)
        if plan is None:
            return violations
        stored = encode_recorded(document)
        await self._definitions.put(plan.workflow.digest, stored)
        self._by_id[document.get("tenantId"), plan.workflow.id] = plan
        self._plans.add(plan, len(stored))
        return []

    def refuse(self, workflow_id: str, gate: GatedNode) -> None:
        """wf-09: refuse every run of a file workflow, because the host lacks the capability that `gate` needs."""
        self._refused[workflow_id] = gate

    async def register_for_tenant(
        self, registration: WorkflowRegistration, plan: Plan, most: int, record: IdempotencyRecord | None
    ) -> VersionRegistered | VersionExists | RegistrationLimitReached | SlotTaken:
        """wf-11: register a validated definition for a tenant. Every lookup that starts after the return finds it."""
        stored = encode_recorded(plan.workflow.document)
        writing = asyncio.ensure_future(self._definitions.register(registration, stored, most, record))
        cache_key = registration.tenant, registration.workflow_id

        def done(ended: asyncio.Future[Any]) -> None:
            # Also after an error: a write that was reported as failed may have happened.
            self._writes += 1
            self._digests.pop(cache_key, None)
            if not ended.cancelled():
                ended.exception()

        writing.add_done_callback(done)
        # Cancelling the caller does not cancel the write, so the cache must be cleared when the write ends.
        return await asyncio.shield(writing)

    async def find_registered(self, registration: WorkflowRegistration) -> VersionRegistered | None:
        """VersionRegistered if the store has exactly this registration, else None."""
        new = registration
        found = await self._definitions.find(new.tenant, new.workflow_id, new.version)
        return VersionRegistered() if found == new else None

    async def check_async(self, document: Any, pinned: bool = False) -> tuple[Plan | None, list[Violation]]:
        """`check`, in a thread for a large definition, so that other requests do not wait for it."""
        if len(encode_stored(document)) > THREAD_CHECK_BYTES:
            return await asyncio.to_thread(self.check, document, pinned)
        return self.check(document, pinned)

    def check(self, document: dict[str, Any], pinned: bool = False) -> tuple[Plan | None, list[Violation]]:
        """The plan of a definition, or the violations that keep this host from running it. `pinned` definitions were
        valid when their run started, so some checks are skipped."""
        workflow, violations = parse_workflow(document, self.types, pinned)
        if workflow is not None and not pinned:
            violations = check_host_kinds(self._kinds, workflow.envelope_kinds)
        if workflow is None or violations:
            return None, violations
        return plan_workflow(workflow)

    async def find_plan(self, tenant: str, workflow_id: str) -> Plan | None:
        """wf-08: the plan that this tenant starts with that id: its registered workflow, else the file workflow for
        this tenant, else the file workflow for all tenants, else None.

        Raises ClientFault for a registered workflow that this host cannot run, and for a refused one.
        """
        digest = await self._registered_digest(tenant, workflow_id)
        if digest is None:
            plan = self._by_id.get((tenant, workflow_id)) or self._by_id.get((None, workflow_id))
            if plan is None and workflow_id in self._refused:
                raise capability_required(self._refused[workflow_id], pointer="/workflowId")
            return plan
        plan, violations = await self._load_plan(workflow_id, digest)
        if plan is None:
            gate = find_gated_node(msgspec.json.decode(await self._load_definition(workflow_id, digest)), self.types)
            if gate is not None:
                raise capability_required(gate, pointer="/workflowId")
            first = violations[0]
            text = f"This host can no longer run the workflow: {first.pointer} {first.message}."
            raise invalid(text, "/workflowId")
        return plan

    async def has_definition(self, tenant: str, workflow_id: str, version: str, digest: str) -> bool:
        """Whether this tenant can start, or could in that version, the workflow with the definition of this digest. An
        empty version stands for the current one."""
        registration = await self._definitions.find(tenant, workflow_id, version or None)
        if registration is not None and registration.digest == digest:
            return True
        plans = [self._by_id.get((owner, workflow_id)) for owner in (tenant, None)]
        return any(plan is not None and plan.workflow.digest == digest for plan in plans)

    async def definition_version(self, workflow_id: str, digest: str) -> str:
        """The version in a stored definition; empty if the store does not have it."""
        if (plan := self._plans.get(digest)) is not None:
            return plan.workflow.version
        stored = await self._definitions.get(digest)
        return "" if stored is None else str(msgspec.json.decode(stored).get("version", ""))

    async def read_definition(self, tenant: str, workflow_id: str, version: str | None) -> bytes | None:
        """wf-08, wf-11: the definition in JSON, in that version or the current one, or None."""
        if version is None:
            digest = await self._registered_digest(tenant, workflow_id)
        else:
            registration = await self._definitions.find(tenant, workflow_id, version)
            digest = registration.digest if registration is not None else None
        if digest is not None:
            return await self._load_definition(workflow_id, digest)
        for owner in (tenant, None):
            plan = self._by_id.get((owner, workflow_id))
            if plan is not None and version in (None, plan.workflow.version):
                return msgspec.json.encode(plan.workflow.document)
        return None

    async def list_workflows(
        self, tenant: str, after: str | None, limit: int
    ) -> tuple[list[ListedWorkflow | Workflow], bool]:
        """The workflows that this tenant can start, ordered by id, after the id `after`; and whether there are more."""
        registered = await self._definitions.workflows(tenant, after, limit + 1)
        listed: dict[str, ListedWorkflow | Workflow] = {each.current.workflow_id: each for each in registered}
        named = {name for owner, name in self._by_id if owner in (None, tenant) and name > (after or "")}
        for name in heapq.nsmallest(limit + 1, named - listed.keys()):
            listed[name] = (self._by_id.get((tenant, name)) or self._by_id[None, name]).workflow
        return [listed[name] for name in heapq.nsmallest(limit, listed)], len(listed) > limit

    async def similar_workflow(self, tenant: str, workflow_id: str) -> str:
        """`; did you mean X?` with the most similar workflow that this tenant can start, or an empty string."""
        workflows, _ = await self.list_workflows(tenant, None, MAX_KNOWN)
        ids = [each.id if isinstance(each, Workflow) else each.current.workflow_id for each in workflows]
        return did_you_mean(workflow_id, ids)

    def has_file_workflow(self, document: dict[str, Any]) -> bool:
        """Whether a file has defined a workflow with this id for the same tenant, or for all if the document names
        none."""
        return (document.get("tenantId"), document.get("id")) in self._by_id

    def public_ids(self) -> list[str]:
        """The ids of file workflows that every tenant can start."""
        return sorted(workflow_id for tenant, workflow_id in self._by_id if tenant is None)

    async def count_workflows(self) -> tuple[int, int]:
        """The number of workflows from files, and the number of workflows that tenants have registered."""
        return len(self._by_id), await self._definitions.count()

    async def pinned_plan(self, workflow_id: str, digest: str) -> Plan:
        """The plan with which a run was started. Raises HostFault if this host can no longer run it."""
        plan, violations = await self._load_plan(workflow_id, digest)
        if plan is None:
            first = violations[0]
            raise HostFault(f"this host cannot run workflow {workflow_id}: {first.pointer} {first.message}")
        return plan

    async def cancel_plan(self, workflow_id: str, digest: str) -> Plan:
        """run-15: a plan with which a run can be cancelled and not executed, with placeholders for the node types that
        this host cannot use. Raises HostFault if the rest of the definition is invalid or missing."""
        document: dict[str, Any] = msgspec.json.decode(await self._load_definition(workflow_id, digest))
        _, violations = parse_workflow(document, self.types, pinned=True)
        types = {**self.types, **placeholder_types(document, violations)}
        workflow, violations = parse_workflow(document, types, pinned=True)
        plan = None
        if workflow is not None:
            plan, violations = plan_workflow(workflow)
        if plan is None:
            first = violations[0]
            raise HostFault(f"this host cannot read workflow {workflow_id}: {first.pointer} {first.message}")
        return plan

    async def _registered_digest(self, tenant: str, workflow_id: str) -> str | None:
        """The digest of the tenant's current version of the workflow; None if the tenant has not registered it."""
        cache_key = tenant, workflow_id
        digest = self._digests.get(cache_key, _NOT_CACHED)
        if digest != _NOT_CACHED:
            self._digests.move_to_end(cache_key)
            return digest
        writes = self._writes
        registration = await self._definitions.find(tenant, workflow_id)
        digest = registration.digest if registration is not None else None
        # A registration during the read may have made the result stale; then it is not cached.
        if writes == self._writes:
            self._digests[cache_key] = digest
            if len(self._digests) > MAX_CACHED_DIGESTS:
                self._digests.popitem(last=False)
        return digest

    async def _load_plan(self, workflow_id: str, digest: str) -> tuple[Plan | None, list[Violation]]:
        plan = self._plans.get(digest)
        if plan is not None:
            return plan, []
        stored = await self._load_definition(workflow_id, digest)
        plan, violations = await self.check_async(msgspec.json.decode(stored), pinned=True)
        if plan is not None:
            self._plans.add(plan, len(stored))
        return plan, violations

    async def _load_definition(self, workflow_id: str, digest: str) -> bytes:
        stored = await self._definitions.get(digest)
        if stored is None:
            raise HostFault(f"the definition {digest} of workflow {workflow_id} is not in the store")
        return stored
