"""The catalogue: which workflows can be started, and the plans of those that runs have pinned."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from weftwork.ports.definitions import Definitions
from weftwork.protocol.canonical import encode_canonical
from weftwork.protocol.errors import HostFault
from weftwork.protocol.graph import Plan, plan_workflow
from weftwork.protocol.node_type import NodeDeclaration
from weftwork.protocol.schema import Violation
from weftwork.protocol.workflow import parse_workflow

PLANS_KEPT: Final = 256


class Catalog:
    """Workflows by id, as registered at start; plans by digest, as pinned by runs."""

    def __init__(self, definitions: Definitions, types: Mapping[str, NodeDeclaration]) -> None:
        self._definitions = definitions
        self._types = types
        self._by_id: dict[tuple[str | None, str], Plan] = {}
        self._by_digest: OrderedDict[str, Plan] = OrderedDict()

    async def register(self, document: dict[str, Any]) -> list[Violation]:
        """Check a definition and make it startable; returns the violations, and registers nothing if there are any."""
        plan, violations = self._plan(document)
        if plan is None:
            return violations
        await self._definitions.put(plan.workflow.digest, encode_canonical(document))
        self._by_id[document.get("tenantId"), plan.workflow.id] = plan
        self._keep(plan)
        return []

    def get(self, tenant: str, workflow_id: str) -> Plan | None:
        """wf-08: what this tenant can see; a definition that names a tenant is that tenant's alone."""
        return self._by_id.get((tenant, workflow_id)) or self._by_id.get((None, workflow_id))

    def has(self, document: dict[str, Any]) -> bool:
        """Whether a workflow of this id is registered for the same tenant, or for everybody."""
        return (document.get("tenantId"), document.get("id")) in self._by_id

    def ids(self) -> list[str]:
        """The ids that everybody can start."""
        return sorted(workflow_id for tenant, workflow_id in self._by_id if tenant is None)

    def __len__(self) -> int:
        return len(self._by_id)

    async def pinned(self, workflow_id: str, digest: str) -> Plan:
        """The plan a run was started with. Raises HostFault when this host can no longer run it."""
        plan = self._by_digest.get(digest)
        if plan is None:
            stored = await self._definitions.get(digest)
            if stored is None:
                raise HostFault(f"the definition {digest} of workflow {workflow_id} is not in the store")
            plan, violations = self._plan(msgspec.json.decode(stored))
            if plan is None:
                first = violations[0]
                raise HostFault(f"workflow {workflow_id} cannot run here: {first.pointer} {first.message}")
            self._keep(plan)
        return plan

    def _keep(self, plan: Plan) -> None:
        self._by_digest[plan.workflow.digest] = plan
        if len(self._by_digest) > PLANS_KEPT:
            self._by_digest.popitem(last=False)

    def _plan(self, document: dict[str, Any]) -> tuple[Plan | None, list[Violation]]:
        workflow, violations = parse_workflow(document, self._types)
        if workflow is None:
            return None, violations
        return plan_workflow(workflow)
