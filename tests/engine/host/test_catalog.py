"""The catalogue: who sees which workflow, and in which version."""

from typing import Any

import msgspec
import pytest

from tests.harness.definitions import node, workflow
from weftwork.adapters.memory.store import MemoryStore
from weftwork.adapters.nodes.flow.control import BASIC_NODES
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.ports.storage.definitions import ListedWorkflow, VersionRegistered, WorkflowRegistration
from weftwork.protocol.errors import ClientFault, HostFault

TYPES = {item.declaration.type_id: item.declaration for item in BASIC_NODES}


async def catalog_of(*documents: dict[str, object], store: MemoryStore | None = None) -> WorkflowCatalog:
    store = store or MemoryStore()
    await store.open()
    catalog = WorkflowCatalog(store.definitions, TYPES)
    for document in documents:
        assert await catalog.register(document) == []
    return catalog


async def register(catalog: WorkflowCatalog, document: dict[str, Any], tenant: str = "acme") -> Any:
    plan, violations = catalog.check(document)
    assert plan is not None, violations
    flow = plan.workflow
    return await catalog.register_for_tenant(
        WorkflowRegistration(tenant, flow.id, flow.version, flow.digest, 1, "Sample"), plan, 100, None
    )


async def nodes_of(catalog: WorkflowCatalog, tenant: str = "acme", workflow_id: str = "sample") -> list[str] | None:
    plan = await catalog.find_plan(tenant, workflow_id)
    return None if plan is None else list(plan.nodes)


@pytest.mark.rule("wf-08")
async def test_a_definition_that_names_a_tenant_is_that_tenants_alone() -> None:
    shared = {**workflow([node("a")]), "id": "shared"}
    private = {**workflow([node("a")]), "id": "private", "tenantId": "acme"}
    catalog = await catalog_of(shared, private)
    for tenant, workflow_id, nodes in (
        ("acme", "private", ["a"]),
        ("other", "private", None),
        ("acme", "shared", ["a"]),
        ("other", "shared", ["a"]),
        ("acme", "missing", None),
    ):
        assert await nodes_of(catalog, tenant, workflow_id) == nodes


@pytest.mark.rule("wf-08")
async def test_a_tenants_own_definition_stands_before_the_shared_one_of_the_same_id() -> None:
    shared = {**workflow([node("a")]), "id": "same"}
    own = {**workflow([node("b")]), "id": "same", "tenantId": "acme"}
    for order in ((shared, own), (own, shared)):
        catalog = await catalog_of(*order)
        assert await nodes_of(catalog, "acme", "same") == ["b"]
        assert await nodes_of(catalog, "other", "same") == ["a"]
        assert catalog.has_file_workflow(own)
        assert not catalog.has_file_workflow({**own, "tenantId": "third"})
        assert (catalog.public_ids(), await catalog.count_workflows()) == (["same"], (2, 0))
    assert await register(catalog, {**shared, "nodes": [node("c")]}) == VersionRegistered()
    assert await nodes_of(catalog, "acme", "same") == ["c"]
    assert await nodes_of(catalog, "other", "same") == ["a"]
    assert await catalog.count_workflows() == (2, 1)


@pytest.mark.rule("wf-08", "wf-11")
async def test_a_version_is_looked_for_where_the_workflow_is() -> None:
    catalog = await catalog_of(workflow([node("file")], version="1"))
    await register(catalog, workflow([node("two")], version="2"))
    await register(catalog, workflow([node("three")], version="3"))
    for tenant, version, first in (
        ("acme", None, "three"),
        ("acme", "2", "two"),
        ("acme", "1", "file"),
        ("acme", "4", None),
        ("other", None, "file"),
        ("other", "1", "file"),
        ("other", "2", None),
    ):
        found = await catalog.read_definition(tenant, "sample", version)
        assert (found and msgspec.json.decode(found)["nodes"][0]["id"]) == first, (tenant, version)


async def test_a_run_keeps_the_definition_it_started_with() -> None:
    old = workflow([node("a")])
    catalog = await catalog_of(old)
    first = await catalog.find_plan("acme", old["id"])
    assert first is not None
    assert await catalog.register({**old, "version": "2.0", "nodes": [node("b")]}) == []
    pinned = await catalog.pinned_plan(old["id"], first.workflow.digest)
    assert list(pinned.nodes) == ["a"]
    with pytest.raises(HostFault):
        await catalog.pinned_plan(old["id"], "0" * 64)


async def test_pages_are_merged_from_files_and_registrations() -> None:
    files = [workflow([node("a")], id=name, version="file") for name in ("b", "d", "f", "h")]
    private = workflow([node("a")], id="e", tenantId="other")
    catalog = await catalog_of(*files, private)
    for name in ("a", "d", "g"):
        await register(catalog, workflow([node("a")], id=name, version="own"))
    for limit in range(1, 9):
        seen: list[tuple[str, str]] = []
        after, more = None, True
        while more:
            page, more = await catalog.list_workflows("acme", after, limit)
            assert len(page) == limit or not more
            for each in page:
                of = (each.current.workflow_id, "own") if isinstance(each, ListedWorkflow) else (each.id, "file")
                seen.append(of)
            after = seen[-1][0]
        names = [("a", "own"), ("b", "file"), ("d", "own"), ("f", "file"), ("g", "own"), ("h", "file")]
        assert seen == names, limit
    assert [getattr(each, "id", "") for each in (await catalog.list_workflows("other", "d", 9))[0]] == ["e", "f", "h"]


async def test_a_start_reads_no_registered_definition() -> None:
    store = MemoryStore()
    catalog = await catalog_of(store=store)
    for number in range(50):
        await register(catalog, workflow([node("a")], id=f"w{number}"))
    after = await catalog_of(store=store)
    assert (after._by_id, len(after._plans._cache), after._digests) == ({}, 0, {})
    assert await nodes_of(after, "acme", "w7") == ["a"]
    assert len(after._plans._cache) == 1
    assert await after.count_workflows() == (0, 50)


async def test_a_registered_workflow_that_the_host_can_no_longer_run_is_read_and_not_started() -> None:
    store = MemoryStore()
    await register(await catalog_of(store=store), workflow([node("a", "core.delay", config={"ms": 1})]))
    poorer = WorkflowCatalog(store.definitions, {"core.noop": TYPES["core.noop"]})
    assert await poorer.read_definition("acme", "sample", None) is not None
    with pytest.raises(ClientFault, match="/nodes/0/typeId") as refused:
        await poorer.find_plan("acme", "sample")
    assert refused.value.details == {"pointer": "/workflowId"}
