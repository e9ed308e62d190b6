"""The catalogue: who sees which workflow."""

import asyncio

import pytest

from tests.protocol.definition import node, workflow
from weftwork.adapters.memory.store import MemoryStore
from weftwork.adapters.nodes.core import CORE
from weftwork.engine.catalog import Catalog
from weftwork.protocol.errors import HostFault

TYPES = {item.declaration.type_id: item.declaration for item in CORE}


async def catalog_of(*documents: dict[str, object]) -> Catalog:
    store = MemoryStore()
    await store.open()
    catalog = Catalog(store.definitions, TYPES)
    for document in documents:
        assert await catalog.register(document) == []
    return catalog


@pytest.mark.rule("wf-08")
def test_a_definition_that_names_a_tenant_is_that_tenants_alone() -> None:
    shared = {**workflow([node("a")]), "id": "shared"}
    private = {**workflow([node("a")]), "id": "private", "tenantId": "acme"}
    catalog = asyncio.run(catalog_of(shared, private))
    assert catalog.get("acme", "private") is not None
    assert catalog.get("other", "private") is None
    assert catalog.get("acme", "shared") is not None
    assert catalog.get("other", "shared") is not None
    assert catalog.get("acme", "missing") is None


@pytest.mark.rule("wf-08")
def test_a_tenants_own_definition_stands_before_the_shared_one_of_the_same_id() -> None:
    shared = {**workflow([node("a")]), "id": "same"}
    own = {**workflow([node("b")]), "id": "same", "tenantId": "acme"}
    for order in ((shared, own), (own, shared)):
        catalog = asyncio.run(catalog_of(*order))
        mine, theirs = catalog.get("acme", "same"), catalog.get("other", "same")
        assert mine is not None
        assert theirs is not None
        assert (list(mine.nodes), list(theirs.nodes)) == (["b"], ["a"])
        assert catalog.has(own)
        assert not catalog.has({**own, "tenantId": "third"})
        assert (catalog.ids(), len(catalog)) == (["same"], 2)


def test_a_run_keeps_the_definition_it_started_with() -> None:
    async def prove() -> None:
        old = workflow([node("a")])
        catalog = await catalog_of(old)
        first = catalog.get("acme", old["id"])
        assert first is not None
        assert await catalog.register({**old, "version": "2.0", "nodes": [node("b")]}) == []
        pinned = await catalog.pinned(old["id"], first.workflow.digest)
        assert list(pinned.nodes) == ["a"]
        with pytest.raises(HostFault):
            await catalog.pinned(old["id"], "0" * 64)

    asyncio.run(prove())
