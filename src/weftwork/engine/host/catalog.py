"""The workflow catalog: which workflows can be started, and the plans of those that runs have pinned.

Theory. Workflows of files are the operator's: they are read at start and held for good. Workflows that tenants
register are in the store and stay there until somebody asks for one, so neither the start nor the memory of a host
grows with them. Lookups are cached, also those that found nothing, because every new run makes one. Plans that were
used recently are cached by digest (`PlanCache`), so that the next run of a workflow does not build its plan again.
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
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.run.batch import IdempotencyRecord
from weftwork.protocol.spelling import MAX_KNOWN, did_you_mean
from weftwork.protocol.workflow.definition import Workflow
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.protocol.workflow.plan import Plan, plan_workflow
from weftwork.protocol.workflow.registration import capability_required, find_gated_node
from weftwork.protocol.workflow.validation import parse_workflow

MAX_CACHED_PLANS: Final = 256
MAX_CACHED_PLAN_BYTES: Final = 8 * 2**20
"""Of their definitions in JSON; in memory a plan takes some ten times as much."""
MAX_CACHED_DIGESTS: Final = 4096
"""Pairs of tenant and workflow id of which is remembered whether the tenant registered such a workflow."""

THREAD_CHECK_BYTES: Final = 32_768
"""Bytes of a definition that is checked in a thread of its own."""

_NOT_CACHED: Final = ""


class PlanCache(msgspec.Struct, eq=False):
    """Plans by digest, bounded in number and size; the least recently used goes first."""

    _cache: OrderedDict[str, tuple[Plan, int]] = msgspec.field(default_factory=OrderedDict[str, tuple[Plan, int]])
    _bytes: int = 0

    def get(self, digest: str) -> Plan | None:
        kept = self._cache.get(digest)
        if kept is None:
            return None
        self._cache.move_to_end(digest)
        return kept[0]

    def add(self, plan: Plan, size: int) -> None:
        """`size` is that of the definition in JSON. The plan kept last stays, however large it is."""
        _, before = self._cache.pop(plan.workflow.digest, (plan, 0))
        self._cache[plan.workflow.digest] = plan, size
        self._bytes += size - before
        while len(self._cache) > 1 and (len(self._cache) > MAX_CACHED_PLANS or self._bytes > MAX_CACHED_PLAN_BYTES):
            _, (_, size) = self._cache.popitem(last=False)
            self._bytes -= size


class WorkflowCatalog(msgspec.Struct, eq=False):
    """Workflows of files by id; those of tenants in the store; plans by digest, as pinned by runs."""

    _definitions: Definitions
    types: Mapping[str, NodeDeclaration]
    _kinds: KindSet = BUILTIN_KINDS
    _by_id: dict[tuple[str | None, str], Plan] = {}
    _plans: PlanCache = msgspec.field(default_factory=PlanCache)
    _digests: OrderedDict[tuple[str, str], str | None] = msgspec.field(
        default_factory=OrderedDict[tuple[str, str], str | None]
    )
    """What a tenant registered last under an id, None if nothing."""
    _writes: int = 0

    async def register(self, document: dict[str, Any]) -> list[Violation]:
        """Check a definition and make it startable; returns the violations, and registers nothing if there are any."""
        plan, violations = await self.check_async(document)
        if plan is None:
            return violations
        stored = encode_stored(document)
        await self._definitions.put(plan.workflow.digest, stored)
        self._by_id[document.get("tenantId"), plan.workflow.id] = plan
        self._plans.add(plan, len(stored))
        return []

    async def register_for_tenant(
        self, registration: WorkflowRegistration, plan: Plan, most: int, record: IdempotencyRecord | None
    ) -> VersionRegistered | VersionExists | RegistrationLimitReached | SlotTaken:
        """wf-11: register a checked definition for a tenant. Whoever looks for it after this returns finds it."""
        stored = encode_stored(plan.workflow.document)
        writing = asyncio.ensure_future(self._definitions.register(registration, stored, most, record))
        own = registration.tenant, registration.workflow_id

        def done(ended: asyncio.Future[Any]) -> None:
            # However it ended: a write whose caller was told of a failure may have happened.
            self._writes += 1
            self._digests.pop(own, None)
            if not ended.cancelled():
                ended.exception()

        writing.add_done_callback(done)
        # A caller who goes away does not stop the write, so it must not keep us from noticing its end either.
        return await asyncio.shield(writing)

    async def check_async(self, document: Any, pinned: bool = False) -> tuple[Plan | None, list[Violation]]:
        """`check`, in a thread if it takes long: nobody else waits for a large definition."""
        if len(encode_stored(document)) > THREAD_CHECK_BYTES:
            return await asyncio.to_thread(self.check, document, pinned)
        return self.check(document, pinned)

    def check(self, document: dict[str, Any], pinned: bool = False) -> tuple[Plan | None, list[Violation]]:
        """The plan of a definition, or everything that keeps this host from running it."""
        workflow, violations = parse_workflow(document, self.types, pinned)
        if workflow is not None and not pinned:
            violations = check_host_kinds(self._kinds, workflow.envelope_kinds)
        if workflow is None or violations:
            return None, violations
        return plan_workflow(workflow)

    async def find_plan(self, tenant: str, workflow_id: str) -> Plan | None:
        """wf-08: what this tenant starts under that id: what it registered, else what a file has for it or for all."""
        digest = await self._registered_digest(tenant, workflow_id)
        if digest is None:
            return self._by_id.get((tenant, workflow_id)) or self._by_id.get((None, workflow_id))
        plan, violations = await self._load_plan(workflow_id, digest)
        if plan is None:
            gate = find_gated_node(msgspec.json.decode(await self._load_definition(workflow_id, digest)), self.types)
            if gate is not None:
                raise capability_required(gate, pointer="/workflowId")
            first = violations[0]
            text = f"This host can no longer run the workflow, because of {first.pointer}: {first.message}."
            raise invalid(text, "/workflowId")
        return plan

    async def read_definition(self, tenant: str, workflow_id: str, version: str | None) -> bytes | None:
        """wf-08, wf-11: the definition in JSON, in that version or the current one, or None."""
        if version is None:
            digest = await self._registered_digest(tenant, workflow_id)
        else:
            found = await self._definitions.find(tenant, workflow_id, version)
            digest = found.digest if found is not None else None
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
        """What this tenant can start, by id, those behind `after`; and whether there are more."""
        registered = await self._definitions.workflows(tenant, after, limit + 1)
        found: dict[str, ListedWorkflow | Workflow] = {each.current.workflow_id: each for each in registered}
        named = {name for owner, name in self._by_id if owner in (None, tenant) and name > (after or "")}
        for name in heapq.nsmallest(limit + 1, named - found.keys()):
            found[name] = (self._by_id.get((tenant, name)) or self._by_id[None, name]).workflow
        return [found[name] for name in heapq.nsmallest(limit, found)], len(found) > limit

    async def similar_workflow(self, tenant: str, workflow_id: str) -> str:
        """`; did you mean X?` with a workflow that this tenant can start, or an empty text."""
        found, _ = await self.list_workflows(tenant, None, MAX_KNOWN)
        ids = [each.id if isinstance(each, Workflow) else each.current.workflow_id for each in found]
        return did_you_mean(workflow_id, ids)

    def has_file_workflow(self, document: dict[str, Any]) -> bool:
        """Whether a file has a workflow of this id for the same tenant, or for everybody."""
        return (document.get("tenantId"), document.get("id")) in self._by_id

    def public_ids(self) -> list[str]:
        """The ids that everybody can start."""
        return sorted(workflow_id for tenant, workflow_id in self._by_id if tenant is None)

    async def count_workflows(self) -> tuple[int, int]:
        """How many workflows come from files, and how many tenants have registered."""
        return len(self._by_id), await self._definitions.count()

    async def pinned_plan(self, workflow_id: str, digest: str) -> Plan:
        """The plan a run was started with. Raises HostFault when this host can no longer run it."""
        plan, violations = await self._load_plan(workflow_id, digest)
        if plan is None:
            first = violations[0]
            raise HostFault(f"workflow {workflow_id} cannot run here: {first.pointer} {first.message}")
        return plan

    async def _registered_digest(self, tenant: str, workflow_id: str) -> str | None:
        """The digest of what the tenant registered under the id, None if nothing."""
        own = tenant, workflow_id
        digest = self._digests.get(own, _NOT_CACHED)
        if digest != _NOT_CACHED:
            self._digests.move_to_end(own)
            return digest
        writes = self._writes
        found = await self._definitions.find(tenant, workflow_id)
        digest = found.digest if found is not None else None
        # What was read while something was registered may be older than that.
        if writes == self._writes:
            self._digests[own] = digest
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
