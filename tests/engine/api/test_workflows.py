"""Registering workflows: versions, tenants, keys, limits, idempotency, and what runs make of a new version."""

import asyncio
from typing import Any, cast

import msgspec
import pytest

from tests.harness.cases import fails_without, present
from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, fault_of
from weftwork.engine.api import workflows as workflows_module
from weftwork.engine.api.idempotency import IdempotencyClaim
from weftwork.engine.api.keyring import Principal
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.protocol.errors import ClientFault, error_document
from weftwork.protocol.json import schema
from weftwork.protocol.limits import Limits
from weftwork.protocol.wire.idempotency import RETENTION_SECONDS
from weftwork.protocol.wire.v1.routes import SCOPES
from weftwork.protocol.workflow import registration
from weftwork.protocol.workflow.registration import GATED_NODE_TYPES, MAX_DESCRIPTION, MAX_LISTED_VIOLATIONS

OTHER = Principal.of("key_2", "other", "live", frozenset(SCOPES))
TESTER = Principal.of("key_3", "acme", "test", frozenset(SCOPES))
V1 = workflow([node("one")], version="1")
V2 = workflow([node("two")], version="2")


async def refused(
    bench: EngineHarness, document: Any, key: str | None = None, caller: Principal = CALLER
) -> ClientFault:
    fault = await fault_of(bench.workflows.register(caller, document, key))
    assert schema.check("error-envelope", error_document(fault.code, fault.message, fault.details)) == []
    return fault


async def read(bench: EngineHarness, version: str | None = None, caller: Principal = CALLER) -> Any:
    try:
        return msgspec.json.decode(await bench.workflows.get(caller, "sample", version))
    except ClientFault as fault:
        return fault.code


async def nodes_run(bench: EngineHarness, caller: Principal = CALLER) -> list[str]:
    outcome = await bench.service.create_run(caller, {"workflowId": "sample"})
    stored = present(await bench.executor.read_run(caller.run(outcome.run_id)))
    return list((await bench.catalog.pinned_plan("sample", stored.header.definition)).nodes)


@pytest.mark.rule("wf-11")
async def test_a_new_version_is_taken_by_new_runs_and_the_old_one_stays_readable() -> None:
    bench = await EngineHarness().open()
    first = await bench.workflows.register(CALLER, V1)
    assert (first.workflow_id, first.version, first.created, first.replayed) == ("sample", "1", True, False)
    assert await nodes_run(bench) == ["one"]
    bench.clock.advance(1000)
    second = await bench.workflows.register(CALLER, V2)
    assert second.created_at == first.created_at + 1000
    assert second.digest != first.digest
    assert await nodes_run(bench) == ["two"]
    assert [await read(bench, version) for version in (None, "1", "2", "3")] == [V2, V1, V2, "not_found"]


@pytest.mark.rule("wf-11")
@fails_without(workflows_module, "_existing_outcome", lambda there, *_: workflows_module._outcome(there, created=False))
async def test_a_version_says_one_thing_for_ever() -> None:
    bench = await EngineHarness().open()
    first = await bench.workflows.register(CALLER, V1)
    await bench.workflows.register(CALLER, V2)
    bench.clock.advance(1000)
    again = await bench.workflows.register(CALLER, dict(reversed(V1.items())))
    assert again == msgspec.structs.replace(first, created=False)
    conflict = await refused(bench, {**V1, "name": "Other"})
    assert (conflict.code, conflict.status) == ("workflow_version_conflict", 409)
    assert conflict.details == {"pointer": "/version"}
    assert await read(bench) == V2
    assert await nodes_run(bench) == ["two"]


@pytest.mark.rule("wf-11")
async def test_of_two_who_register_the_same_version_at_once_one_is_first() -> None:
    bench = await EngineHarness().open()
    same = await asyncio.gather(*(bench.workflows.register(CALLER, V1) for _ in range(5)))
    assert sorted(each.created for each in same) == [False] * 4 + [True]
    assert len({each.digest for each in same}) == 1
    other = [workflow([node(name)], version="3") for name in "abcde"]
    ends = await asyncio.gather(*(bench.workflows.register(CALLER, each) for each in other), return_exceptions=True)
    assert [getattr(end, "code", "made") for end in ends].count("workflow_version_conflict") == 4
    (won,) = [each for each, end in zip(other, ends, strict=True) if not isinstance(end, BaseException)]
    assert await read(bench) == won


@pytest.mark.rule("wf-08", "wf-11")
async def test_a_workflow_belongs_to_the_tenant_with_all_of_its_keys() -> None:
    bench = await EngineHarness().open()
    await bench.workflows.register(TESTER, V1)
    assert [await read(bench, None, caller) for caller in (CALLER, TESTER, OTHER)] == [V1, V1, "not_found"]
    assert await nodes_run(bench) == ["one"]
    missing = await fault_of(bench.service.create_run(OTHER, {"workflowId": "sample"}))
    assert missing.details == {"pointer": "/workflowId"}
    await bench.workflows.register(OTHER, {**V1, "nodes": [node("theirs")]})
    assert await nodes_run(bench, OTHER) == ["theirs"]
    assert await nodes_run(bench) == ["one"]


@pytest.mark.rule("wf-11")
@fails_without(workflows_module, "_check_tenant", lambda *_: None)
async def test_a_definition_names_the_callers_tenant_or_none() -> None:
    bench = await EngineHarness().open()
    for tenant in ("other", "", "ACME", "live:acme"):
        fault = await refused(bench, {**V1, "tenantId": tenant})
        assert (fault.code, fault.details) == ("forbidden", {"pointer": "/tenantId"})
    assert await read(bench, None, OTHER) == "not_found"
    own = {**V1, "tenantId": "acme"}
    await bench.workflows.register(CALLER, own)
    assert await read(bench) == own


@pytest.mark.rule("wf-10")
@fails_without(registration, "check_version_length", lambda _: [])
async def test_every_violation_is_listed_up_to_a_bound() -> None:
    bench = await EngineHarness().open()
    bad = workflow([node("a", "no.such"), node("a"), node("b", "core.delay", config={"delayMs": "x"})])
    fault = await refused(bench, bad)
    details = fault.details or {}
    assert [(each["pointer"], each["keyword"]) for each in details["violations"]] == [
        ("/nodes/0/typeId", "known"),
        ("/nodes/1/id", "unique"),
        ("/nodes/2/config/delayMs", "type"),
    ]
    assert details["pointer"] == "/nodes/0/typeId"
    many = await refused(bench, workflow([node(str(number), "no.such") for number in range(300)]))
    assert len((many.details or {})["violations"]) == MAX_LISTED_VIOLATIONS
    for nothing in (None, [], "x", {}):
        assert (await refused(bench, nothing)).code == "validation_error"
    assert await read(bench) == "not_found"
    assert (await refused(bench, {**V1, "version": "v" * 129})).details == {
        "pointer": "/version",
        "violations": [{"pointer": "/version", "keyword": "maxLength", "message": "must have 128 or fewer characters"}],
    }


def without(bench: EngineHarness, *types: str) -> None:
    """As a host that never had these types."""
    for each in types:
        del cast(dict[str, Any], bench.catalog.types)[each]


@pytest.mark.rule("wf-09")
@pytest.mark.parametrize("type_id", GATED_NODE_TYPES)
async def test_a_run_of_what_was_registered_with_another_host_is_refused(type_id: str) -> None:
    """Whoever creates it learns what is missing, and where it is."""

    bench = await EngineHarness().open()
    document = workflow([node("a"), node("b", type_id)])
    await bench.workflows.register(CALLER, document)
    later = bench.successor()
    without(later, type_id)
    fault = await fault_of(later.service.create_run(CALLER, {"workflowId": document["id"]}))
    assert (fault.code, fault.status) == ("capability_required", 422)
    missing = {"requiredCapability": GATED_NODE_TYPES[type_id], "offendingTypeId": type_id, "nodeId": "b"}
    assert fault.details == {"pointer": "/workflowId", **missing}


@pytest.mark.rule("wf-09")
@fails_without(registration, "find_gated_node", lambda *_: None)
async def test_a_gated_type_is_refused_before_anything_else() -> None:
    bench = await EngineHarness().open()
    without(bench, "core.dispatch")
    fault = await refused(bench, {**workflow([node("a", "core.dispatch")]), "version": 7})
    assert (fault.code, fault.status) == ("capability_required", 422)
    body = {"workflowId": "w", "nodes": [{"nodeId": "n", "typeId": "core.dispatch", "config": {}}]}
    assert ((await fault_of(bench.workflows.register_sample(CALLER, body))).details or {})["nodeId"] == "n"


@pytest.mark.rule("wf-09")
@fails_without(WorkflowCatalog, "refuse", lambda *_: None)
async def test_a_file_workflow_that_is_refused_names_what_is_missing() -> None:
    bench = await EngineHarness().open()
    bench.catalog.refuse("sample", registration.GatedNode(0, "core.dispatch", "n"))
    fault = await fault_of(bench.service.create_run(CALLER, {"workflowId": "sample"}))
    assert (fault.code, (fault.details or {}).get("requiredCapability")) == (
        "capability_required",
        "dispatch.supported",
    )
    assert await read(bench) == "not_found"


@pytest.mark.rule("wf-20")
@fails_without(registration, "find_gated_config", lambda *_: [])
async def test_a_config_that_needs_a_missing_capability_is_refused_before_it_is_checked() -> None:
    bench = await EngineHarness().open()
    without(bench, "core.conversationGate")
    asks = {"askUserRouting": "conversation", "unknown": 1}
    for overrides, config, capability in (
        ((), asks, "conversationPrimitive"),
        (("agents.dispatchMapping",), {"inputMapping": 7}, "agents.dispatchMapping"),
    ):
        bench.workflows.overrides = lambda _, overrides=overrides: overrides
        fault = await refused(bench, workflow([node("a"), node("b", "core.dispatch", config=config)]))
        assert (fault.code, fault.status) == ("validation_error", 400)
        details = fault.details or {}
        assert details.get("requiredCapability") == capability
        assert details["pointer"] == f"/nodes/1/config/{next(iter(config))}"


async def test_a_tenant_registers_so_many_versions_and_no_more() -> None:
    bench = await EngineHarness(limits=Limits(max_workflows_per_tenant=2)).open()
    await bench.workflows.register(CALLER, V1)
    await bench.workflows.register(CALLER, V2)
    fault = await refused(bench, {**V1, "version": "3"})
    assert (fault.code, fault.status, fault.details) == ("workflow_limit_reached", 409, {"limit": 2})
    assert (await bench.workflows.register(CALLER, V1)).created is False
    assert (await bench.workflows.register(OTHER, V1)).created is True
    assert await bench.catalog.register(workflow([node("a")], id="file")) == []


async def test_a_list_shows_what_can_be_started() -> None:
    bench = await EngineHarness().open()
    await bench.catalog.register(workflow([node("a")], id="file", description="x" * 600))
    await bench.workflows.register(CALLER, V1)
    await bench.workflows.register(CALLER, {**V2, "name": "Second", "description": "y" * 600})
    page = await bench.workflows.list(CALLER, None, 50)
    assert page["workflows"][1].pop("createdAt").endswith("Z")
    long = MAX_DESCRIPTION
    assert page == {
        "workflows": [
            {"workflowId": "file", "name": "Sample", "version": "1.0.0", "versions": ("1.0.0",)}
            | {"description": "x" * long},
            {"workflowId": "sample", "name": "Second", "version": "2", "versions": ("2", "1")}
            | {"description": "y" * long},
        ]
    }
    assert (await bench.workflows.list(CALLER, None, 1))["nextCursor"] == "file"
    assert [each["workflowId"] for each in (await bench.workflows.list(OTHER, None, 50))["workflows"]] == ["file"]


@pytest.mark.rule("wf-08")
async def test_what_describes_a_definition_changes_nothing_about_its_course() -> None:
    bench = await EngineHarness().open()
    for version, more in enumerate(
        ({"status": "inactive"}, {"status": "draft"}, {"status": "archived"}, {"isActive": False})
    ):
        document = {**workflow([node("a")]), "version": str(version), **more}
        await bench.workflows.register(CALLER, document)
        assert await read(bench) == document
        assert await nodes_run(bench) == ["a"]


async def test_registrations_and_their_keys_are_there_after_a_restart() -> None:
    before = await EngineHarness().open()
    first = await before.workflows.register(CALLER, V1, "k")
    await before.workflows.register(CALLER, V2)
    after = before.successor()
    assert await nodes_run(after) == ["two"]
    assert [await read(after, version) for version in (None, "1")] == [V2, V1]
    assert await after.workflows.register(CALLER, V1, "k") == msgspec.structs.replace(first, replayed=True)
    assert (await refused(after, {**V2, "name": "Other"})).code == "workflow_version_conflict"


@pytest.mark.rule("idem-01", "idem-02", "idem-03")
@fails_without(IdempotencyClaim, "replay", lambda *_: None)
async def test_one_key_makes_one_registration_until_it_is_forgotten() -> None:
    bench = await EngineHarness().open()
    first = await bench.workflows.register(CALLER, V1, "k")
    await bench.workflows.register(CALLER, V2)
    bench.clock.advance(1000)
    assert await bench.workflows.register(CALLER, V1, "k") == msgspec.structs.replace(first, replayed=True)
    assert (await refused(bench, V2, "k")).code == "idempotency_key_mismatch"
    assert (await bench.workflows.register(TESTER, V1, "k")).created is False
    assert (await bench.workflows.register_sample(CALLER, V1, "k")).replayed is False
    bench.clock.advance(RETENTION_SECONDS * 1000)
    later = await bench.workflows.register(CALLER, V1, "k")
    assert (later.created, later.replayed) == (False, False)
    assert (await bench.workflows.register(CALLER, V1, "k")).replayed
    assert (await bench.workflows.register(CALLER, V1, "k")).created is False


@pytest.mark.rule("idem-03")
async def test_a_refusal_leaves_the_key_unused() -> None:
    bench = await EngineHarness(limits=Limits(max_workflows_per_tenant=1)).open()
    await bench.workflows.register(CALLER, V1)
    assert (await refused(bench, {**V1, "name": "Other"}, "k")).code == "workflow_version_conflict"
    assert (await refused(bench, V2, "k")).code == "workflow_limit_reached"
    assert (await refused(bench, {}, "k")).code == "validation_error"
    assert (await bench.workflows.register(CALLER, V1, "k")).replayed is False


@pytest.mark.rule("idem-02")
async def test_of_many_with_the_same_key_one_registers() -> None:
    bench = await EngineHarness().open()
    ends = await asyncio.gather(*(bench.workflows.register(CALLER, V1, "k") for _ in range(6)))
    assert [end.replayed for end in ends].count(False) == 1
    assert {end.created for end in ends} == {True}
