"""The facade: the order of checks, idempotency, tenancy, readers, listings, spans and the sweeper."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.harness.definitions import node, variable, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, run_ready_tasks, until
from weftwork.engine.api.keyring import Principal
from weftwork.engine.host.sweeper import SWEEP_INTERVAL_MS, Sweeper
from weftwork.ports.storage.event_log import EventLog, StoreUnavailable
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import schema
from weftwork.protocol.limits import Limits
from weftwork.protocol.wire.idempotency import RETENTION_SECONDS
from weftwork.protocol.wire.v1.routes import SCOPES

OTHER = Principal.of("key_2", "other", "live", frozenset(SCOPES))
TESTER = Principal.of("key_3", "acme", "test", frozenset(SCOPES))
GATE = workflow([node("a", "test.gate")], None, [variable("n", "number")])

LADDER: list[tuple[dict[str, Any], str, str]] = [
    ({"nonsense": 1}, "validation_error", "/nonsense"),
    ({"mode": "eval", "evalSuiteRef": "s", "agentId": "a"}, "capability_not_provided", ""),
    ({"configurable": {"mockProvider": {"id": "x"}, "runTimeoutMs": 0}}, "mock_provider_forbidden", ""),
    ({"tenantId": "other"}, "forbidden", ""),
    ({"workflowId": "gone"}, "validation_error", "/workflowId"),
    ({"configurable": {"runTimeoutMs": 0}}, "validation_error", "/configurable/runTimeoutMs"),
    ({"callbackUrl": "ftp://x"}, "validation_error", "/callbackUrl"),
    ({"inputs": {"n": "one"}}, "validation_error", "/inputs/n"),
]
"""Faults of a request to create a run, from the one that is found first to the one that is found last."""


async def refusal(
    bench: EngineHarness, document: Any, key: str | None = None, caller: Principal = CALLER
) -> ClientFault:
    with pytest.raises(ClientFault) as caught:
        await bench.service.create_run(caller, document, key)
    return caught.value


@pytest.mark.rule("run-07")
@pytest.mark.parametrize("first", range(len(LADDER)))
async def test_of_several_faults_the_first_check_speaks(first: int) -> None:
    bench = EngineHarness(limits=Limits(max_live_runs=0))
    await bench.store.open()
    await bench.catalog.register(GATE)
    document: dict[str, Any] = {"workflowId": "sample"}
    for fault, _, _ in reversed(LADDER[first:]):
        document.update({name: value for name, value in fault.items() if name != "configurable"})
        document["configurable"] = {**document.get("configurable", {}), **fault.get("configurable", {})}
    found = await refusal(bench, document)
    _, code, pointer = LADDER[first]
    assert (found.code, (found.details or {}).get("pointer", "")) == (code, pointer)
    assert await bench.store.queries.unfinished_runs(None, 10) == []


@pytest.mark.rule("run-07")
async def test_the_idempotency_key_is_looked_at_before_the_body() -> None:
    bench = EngineHarness()
    await bench.store.open()
    await bench.catalog.register(GATE)
    assert (await refusal(bench, {"nonsense": 1}, "no key")).details == {"pointer": ""}
    good = {"workflowId": "sample"}
    first = await bench.service.create_run(CALLER, good, "k")
    bench.catalog._by_id.clear()
    again = await bench.service.create_run(CALLER, good, "k")
    assert (again.run_id, again.status, again.replayed) == (first.run_id, "pending", True)
    assert (await refusal(bench, {"nonsense": 1}, "k")).code == "idempotency_key_mismatch"


@pytest.mark.rule("idem-01", "idem-02", "idem-03")
async def test_one_key_makes_one_run_until_it_is_forgotten() -> None:
    bench = EngineHarness()
    await bench.store.open()
    await bench.catalog.register(workflow([node("a")]))
    body = {"workflowId": "sample", "inputs": {"a": 1, "b": 2}}
    same = {"inputs": {"b": 2.0, "a": 1}, "workflowId": "sample"}
    outcomes = await asyncio.gather(*(bench.service.create_run(CALLER, b, "k") for b in (body, same) * 5))
    assert len({outcome.run_id for outcome in outcomes}) == 1
    assert [outcome.replayed for outcome in outcomes].count(False) == 1
    for caller in (OTHER, TESTER):
        assert (await bench.service.create_run(caller, body, "k")).replayed is False
    bench.clock.advance(RETENTION_SECONDS * 1000)
    assert (await bench.service.create_run(CALLER, body, "k")).replayed is True
    bench.clock.advance(1)
    assert await Sweeper(bench.log, bench.log, bench.clock).sweep() == 3
    assert (await bench.service.create_run(CALLER, body, "k")).replayed is False
    assert "'k'" not in repr(vars(bench.store.records)["_records"].keys())


async def test_a_full_host_says_when_to_come_again() -> None:
    bench = EngineHarness(limits=Limits(max_live_runs=1))
    key = await bench.start(GATE)
    await until(lambda: bench.gate_node.waiting)
    fault = await refusal(bench, {"workflowId": "sample"})
    assert (fault.code, fault.details) == ("service_unavailable", {"retryAfter": 5})
    bench.gate_node.release("a")
    await bench.run_to_end(key)
    await bench.service.create_run(CALLER, {"workflowId": "sample"})


class SlowLog:
    """A log whose commits take a turn of the loop, as on a disk."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def create(self, *arguments: Any) -> Any:
        await asyncio.sleep(0)
        return await self._log.create(*arguments)


async def test_runs_that_are_being_created_count_as_live() -> None:
    bench = EngineHarness(limits=Limits(max_live_runs=5), wrap=SlowLog)
    await bench.start(GATE)
    await until(lambda: bench.gate_node.waiting)
    body = {"workflowId": "sample"}
    creating = (bench.service.create_run(CALLER, body) for _ in range(64))
    answers = await asyncio.gather(*creating, return_exceptions=True)
    assert [isinstance(answer, ClientFault) for answer in answers].count(False) <= 4
    await run_ready_tasks()
    assert bench.executor.live_count <= 5


async def test_one_live_run_per_scope_when_that_is_asked_for() -> None:
    bench = EngineHarness()
    key = await bench.start(GATE, scopeId="s")
    body = {"workflowId": "sample", "scopeId": "s"}
    with pytest.raises(ClientFault) as caught:
        await bench.service.create_run(CALLER, body, exclusive=True)
    assert caught.value.code == "run_already_active"
    assert caught.value.details == {"activeRunId": key.run_id, "activeHost": "cloud", "retryAfter": 5}
    await bench.service.create_run(OTHER, body, exclusive=True)
    await bench.service.create_run(CALLER, body)


@pytest.mark.rule("auth-03")
@pytest.mark.parametrize("stranger", [OTHER, TESTER])
async def test_another_partition_sees_nothing_of_a_run(stranger: Principal) -> None:
    bench = EngineHarness()
    key = await bench.start(workflow([node("a")]))
    await bench.run_to_end(key)
    service = bench.service
    for call in (
        lambda: service.get_run(stranger, key.run_id),
        lambda: bench.control.cancel_run(stranger, key.run_id, {}),
        lambda: service.get_event(stranger, key.run_id, 0),
        lambda: bench.streams.join(stranger, key.run_id, -1),
    ):
        with pytest.raises(ClientFault, match="not_found"):
            await call()
    assert await service.run_spans(stranger, key.run_id) == []
    assert await service.list_runs(stranger, RunQuery()) == {"runs": []}
    assert bench.feeds.readers == 0


@pytest.mark.rule("wf-08")
async def test_a_definition_that_names_a_tenant_is_that_tenants_alone() -> None:
    bench = EngineHarness()
    await bench.store.open()
    document = workflow([node("a")], tenantId="other")
    assert await bench.catalog.register(document) == []
    assert msgspec.json.decode(await bench.workflows.get(OTHER, "sample")) == document
    with pytest.raises(ClientFault, match="not_found"):
        await bench.workflows.get(CALLER, "sample")
    assert (await refusal(bench, {"workflowId": "sample"})).details == {"pointer": "/workflowId"}
    await bench.service.create_run(OTHER, {"workflowId": "sample"})


@pytest.mark.rule("run-05", "run-06")
async def test_a_snapshot_and_a_listing_show_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = EngineHarness()
    given = {"tags": ["t"], "metadata": {"m": 1}, "configurable": {"acme.x": [1]}, "inputs": {"n": 1, "free": "f"}}
    key = await bench.start(GATE, **given)
    await until(lambda: bench.gate_node.waiting)
    shown = msgspec.json.decode(msgspec.json.encode(await bench.service.get_run(CALLER, key.run_id)))
    assert schema.check("run-snapshot", shown) == []
    assert shown.items() >= given.items()
    assert (shown["status"], shown["currentNodeId"]) == ("running", "a")
    assert shown["variables"] == {"n": 1, "free": "f"}
    assert shown["nodeStates"] == {"a": {"status": "running", "attempt": 1}}
    listed = msgspec.json.decode(msgspec.json.encode(await bench.service.list_runs(CALLER, RunQuery())))
    assert schema.check("run-list", listed) == []
    assert [each["runId"] for each in listed["runs"]] == [key.run_id]


async def test_a_reader_beyond_the_log_waits_at_its_end_or_is_done() -> None:
    bench = EngineHarness()
    key = await bench.start(GATE)
    await until(lambda: bench.gate_node.waiting)
    reader, _ = await bench.streams.join(CALLER, key.run_id, 1000)
    bench.gate_node.release("a")
    await bench.run_to_end(key)
    assert [event.type for event in await reader.next(1)] == ["node.completed", "run.completed"]
    bench.streams.leave(CALLER, key.run_id)
    reader, projection = await bench.streams.join(CALLER, key.run_id, 3)
    assert (reader.ended, projection.last_sequence) == (True, 3)


@pytest.mark.rule("trace-04")
async def test_spans_are_projected_from_the_log() -> None:
    bench = EngineHarness()
    key = await bench.start(workflow([node("a"), node("b", "core.fail")]))
    await bench.run_to_end(key)
    found = await bench.service.run_spans(CALLER, key.run_id)
    assert [span["status"] for span in found] == ["error", "ok", "error"]
    assert await bench.service.run_spans(CALLER, key.run_id) == found


async def test_the_sweeper_goes_on_when_the_store_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = EngineHarness()
    sweeper = Sweeper(bench.log, bench.log, bench.clock)
    sweeper.start()
    await run_ready_tasks()
    assert bench.clock.next_wake == bench.clock.now() + SWEEP_INTERVAL_MS
    await bench.store.open()
    await bench.catalog.register(workflow([node("a")]))
    await bench.service.create_run(CALLER, {"workflowId": "sample"}, "k")
    bench.clock.advance(RETENTION_SECONDS * 1000 + 1)
    await run_ready_tasks()
    assert await bench.log.sweep(bench.clock.now()) == 0
    await sweeper.stop()
    assert bench.clock.next_wake is None
    await bench.store.close()
    with pytest.raises(StoreUnavailable):
        await bench.service.check_ready()
