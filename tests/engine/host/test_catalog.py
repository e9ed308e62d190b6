"""The catalogue: who sees which workflow in which version; and what is remembered is never out of date, and bounded."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.harness.cases import fails_without, present
from tests.harness.definitions import node, plan_of, workflow
from tests.harness.engine_harness import run_ready_tasks, until
from weftwork.adapters.memory.store import MemoryStore
from weftwork.adapters.nodes.flow.control import BASIC_NODES
from weftwork.engine.host import catalog
from weftwork.engine.host import catalog as catalog_module
from weftwork.engine.host.catalog import PlanCache, WorkflowCatalog
from weftwork.ports.storage.definitions import ListedWorkflow, VersionRegistered, WorkflowRegistration
from weftwork.ports.storage.event_log import StoreUnavailable
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
    catalog = await catalog_of(shared, {**workflow([node("a")]), "id": "private", "tenantId": "acme"})
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
    first = present(await catalog.find_plan("acme", old["id"]))
    assert await catalog.register({**old, "version": "2.0", "nodes": [node("b")]}) == []
    assert list((await catalog.pinned_plan(old["id"], first.workflow.digest)).nodes) == ["a"]
    with pytest.raises(HostFault):
        await catalog.pinned_plan(old["id"], "0" * 64)


async def test_pages_are_merged_from_files_and_registrations() -> None:
    files = [workflow([node("a")], id=name, version="file") for name in ("b", "d", "f", "h")]
    catalog = await catalog_of(*files, workflow([node("a")], id="e", tenantId="other"))
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


class SlowDefinitions:
    """Definitions whose `find` and `register` come back when the test says so."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.gates: dict[str, list[asyncio.Future[None]]] = {"find": [], "register": []}
        self.slow: set[str] = set()
        self.reads = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def find(self, *arguments: Any) -> Any:
        self.reads += 1
        found = await self._real.find(*arguments)
        await self._wait("find")
        return found

    async def register(self, *arguments: Any) -> Any:
        async def write() -> Any:
            await self._wait("register")
            return await self._real.register(*arguments)

        # Whoever waits may be cancelled, the write is not.
        self.writing = asyncio.ensure_future(write())
        await asyncio.wait({self.writing})
        return self.writing.result()

    async def _wait(self, name: str) -> None:
        if name in self.slow:
            gate = asyncio.get_running_loop().create_future()
            self.gates[name].append(gate)
            await gate


async def slow_catalog() -> tuple[WorkflowCatalog, SlowDefinitions]:
    store = MemoryStore()
    await store.open()
    slow: Any = SlowDefinitions(store.definitions)
    return WorkflowCatalog(slow, TYPES), slow


@pytest.mark.rule("wf-11")
@fails_without(WorkflowCatalog, "_writes", property(lambda _: 0, lambda *_: None), False, match="old")
async def test_what_is_remembered_is_not_older_than_a_registration_during_an_earlier_look() -> None:
    catalog, slow = await slow_catalog()
    await register(catalog, workflow([node("old")], version="1"))
    slow.slow = {"find"}
    early = asyncio.ensure_future(catalog.find_plan("acme", "sample"))
    await until(lambda: slow.gates["find"])
    await register(catalog, workflow([node("new")], version="2"))
    slow.gates["find"].pop().set_result(None)
    await early
    slow.slow = set()
    assert await nodes_of(catalog) == ["new"]


async def unshielded(writing: Any) -> Any:
    return await writing


@pytest.mark.rule("wf-11")
@fails_without(catalog_module.asyncio, "shield", unshielded, match="None")
async def test_what_is_remembered_is_not_older_than_a_registration_whose_caller_went_away() -> None:
    catalog, slow = await slow_catalog()
    slow.slow = {"register"}
    writing = asyncio.ensure_future(register(catalog, workflow([node("new")])))
    await until(lambda: slow.gates["register"])
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert await nodes_of(catalog) is None
    slow.gates["register"].pop().set_result(None)
    assert await slow.writing == VersionRegistered()
    await run_ready_tasks()
    assert await nodes_of(catalog) == ["new"]


async def test_a_write_whose_end_is_unknown_is_looked_up() -> None:
    catalog, slow = await slow_catalog()
    assert await nodes_of(catalog) is None

    async def register_and_fail(*arguments: Any) -> Any:
        await slow._real.register(*arguments)
        raise StoreUnavailable("nobody knows")

    slow.register = register_and_fail
    with pytest.raises(StoreUnavailable):
        await register(catalog, workflow([node("new")]))
    assert await nodes_of(catalog) == ["new"]


async def test_the_store_is_asked_once_for_each_workflow_that_is_started() -> None:
    catalog, slow = await slow_catalog()
    assert await catalog.register(workflow([node("file")], id="file")) == []
    await register(catalog, workflow([node("own")], id="own"))
    for _ in range(5):
        assert await nodes_of(catalog, "acme", "file") == ["file"]
        assert await nodes_of(catalog, "acme", "own") == ["own"]
        assert await nodes_of(catalog, "acme", "none") is None
    assert slow.reads == 3


async def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_module, "MAX_CACHED_DIGESTS", 3)
    catalog, slow = await slow_catalog()
    for name in ("a", "b", "a", "c", "a", "d", "a"):
        await catalog.find_plan("acme", name)
    assert list(catalog._digests) == [("acme", "c"), ("acme", "d"), ("acme", "a")]
    assert slow.reads == 4


def made(kept: PlanCache, name: str, size: int) -> str:
    plan = plan_of(workflow([node("a")], name=name))
    kept.add(plan, size)
    return plan.workflow.digest


def test_the_number_is_bounded_and_use_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "MAX_CACHED_PLANS", 3)
    kept = PlanCache()
    first, second, third = (made(kept, name, 1) for name in "abc")
    assert present(kept.get(first)).workflow.digest == first
    assert kept.get("0" * 64) is None
    fourth = made(kept, "d", 1)
    assert [kept.get(digest) is not None for digest in (first, second, third, fourth)] == [True, False, True, True]


def test_the_size_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "MAX_CACHED_PLAN_BYTES", 100)
    kept = PlanCache()
    small = [made(kept, str(number), 30) for number in range(3)]
    assert all(kept.get(digest) for digest in small)
    made(kept, "0", 40)
    assert all(kept.get(digest) for digest in small)
    large = made(kept, "large", 500)
    assert [kept.get(digest) is not None for digest in (*small, large)] == [False, False, False, True]
    after = made(kept, "after", 30)
    assert (kept.get(large), kept.get(after) is not None, kept._bytes) == (None, True, 30)
