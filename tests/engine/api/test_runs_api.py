"""The facade of runs: order of checks, idempotency, tenancy, listings, spans, sweeper, variables, bulk cancels."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, WrappedLog, fault_of, run_ready_tasks, until
from weftwork.engine.api import run_control
from weftwork.engine.api.keyring import Principal
from weftwork.engine.api.run_control import RunControl
from weftwork.engine.host.sweeper import SWEEP_INTERVAL_MS, Sweeper
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.errors import ClientFault, HostFault
from weftwork.protocol.json import schema
from weftwork.protocol.limits import Limits
from weftwork.protocol.wire.idempotency import RETENTION_SECONDS
from weftwork.protocol.wire.v1.routes import SCOPES
from weftwork.testing.storage.samples import unfinished

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
    return await fault_of(bench.service.create_run(caller, document, key))


@pytest.mark.rule("run-07")
@pytest.mark.parametrize("first", range(len(LADDER)))
async def test_of_several_faults_the_first_check_speaks(first: int) -> None:
    bench = await EngineHarness(limits=Limits(max_live_runs=0)).open()
    await bench.catalog.register(GATE)
    document: dict[str, Any] = {"workflowId": "sample"}
    for fault, _, _ in reversed(LADDER[first:]):
        document.update({name: value for name, value in fault.items() if name != "configurable"})
        document["configurable"] = {**document.get("configurable", {}), **fault.get("configurable", {})}
    found = await refusal(bench, document)
    _, code, pointer = LADDER[first]
    assert (found.code, (found.details or {}).get("pointer", "")) == (code, pointer)
    assert await unfinished(bench.store, None, 10) == []


@pytest.mark.rule("run-07")
async def test_the_idempotency_key_is_looked_at_before_the_body() -> None:
    bench = await EngineHarness().open()
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
    bench = await EngineHarness().open()
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
    bench, key = await EngineHarness(limits=Limits(max_live_runs=1)).with_gated_run(GATE)
    fault = await refusal(bench, {"workflowId": "sample"})
    assert (fault.code, fault.details) == ("service_unavailable", {"retryAfter": 5})
    await bench.run_to_end(key, release="a")
    await bench.service.create_run(CALLER, {"workflowId": "sample"})


class SlowLog(WrappedLog):
    """A log whose commits take a turn of the loop, as on a disk."""

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
    bench, key = await EngineHarness().with_run(GATE, scopeId="s")
    body = {"workflowId": "sample", "scopeId": "s"}
    fault = await fault_of(bench.service.create_run(CALLER, body, exclusive=True))
    assert fault.code == "run_already_active"
    assert fault.details == {"activeRunId": key.run_id, "activeHost": "cloud", "retryAfter": 5}
    await bench.service.create_run(OTHER, body, exclusive=True)
    await bench.service.create_run(CALLER, body)


@pytest.mark.rule("auth-03")
@pytest.mark.parametrize("stranger", [OTHER, TESTER])
async def test_another_partition_sees_nothing_of_a_run(stranger: Principal) -> None:
    bench, key = await EngineHarness().with_ended_run(workflow([node("a")]))
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
    bench = await EngineHarness().open()
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
    bench, key = await EngineHarness().with_gated_run(GATE)
    reader, _ = await bench.streams.join(CALLER, key.run_id, 1000)
    await bench.run_to_end(key, release="a")
    assert [event.type for event in await reader.next(1)] == ["node.completed", "run.completed"]
    bench.streams.leave(CALLER, key.run_id)
    reader, projection = await bench.streams.join(CALLER, key.run_id, 3)
    assert (reader.ended, projection.last_sequence) == (True, 3)


@pytest.mark.rule("trace-04")
async def test_spans_are_projected_from_the_log() -> None:
    bench, key = await EngineHarness().with_ended_run(workflow([node("a"), node("b", "core.fail")]))
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
    await bench.advance(RETENTION_SECONDS * 1000 + 1)
    assert await bench.log.sweep(bench.clock.now()) == 0
    await sweeper.stop()
    assert bench.clock.next_wake is None
    await bench.store.close()
    with pytest.raises(StoreUnavailable):
        await bench.service.check_ready()


ASKS = workflow(
    [node("ask", "core.interrupt", config={"kind": "custom", "data": {"customKind": "x"}}), node("after")],
    [edge("ask", "after")],
    variables=[variable("colour", defaultValue="red"), variable("secret", sensitive=True)],
)
READS = {"port": {"type": "variable", "variableName": "colour"}}


@pytest.mark.rule("seam-01")
async def test_what_is_set_is_there_for_what_comes_after() -> None:
    document = {**ASKS, "nodes": [ASKS["nodes"][0], node("after", "core.identity", inputs=READS)]}
    bench, key = await EngineHarness().with_run(document)
    control = RunControl(bench.runtime, bench.executor)
    assert await control.set_variables(CALLER, key.run_id, {"variables": {"colour": "blue"}}) == "waiting-input"
    assert await bench.payloads(key, "variable.changed") == [{"name": "colour", "next": "blue", "nodeId": "ask"}]
    await bench.answer(key, "x")
    assert (await bench.state(key)).nodes["after"].outputs["port"] == "blue"


async def test_what_does_not_fit_and_a_run_that_has_ended_or_is_not_there_change_nothing() -> None:
    bench, key = await EngineHarness().with_run(ASKS)
    control = RunControl(bench.runtime, bench.executor)
    for variables in ({"colour": 7}, {"unknown": "x"}, {"secret": "x"}, {}):
        fault = await fault_of(control.set_variables(CALLER, key.run_id, {"variables": variables}))
        assert fault.code == "validation_error"
    await bench.cancel(key)
    for run_id, code in ((key.run_id, "conflict"), ("nobody", "not_found")):
        fault = await fault_of(control.set_variables(CALLER, run_id, {"variables": {"colour": "b"}}))
        assert fault.code == code
    assert await bench.payloads(key, "variable.changed") == []


GATED = workflow([node("a", "test.gate")])
NOOP = {**workflow([node("a", "core.noop")]), "id": "noop"}


def codes(results: list[dict[str, Any]]) -> list[str]:
    """The status of each entry, or its error code."""
    return [entry["status"] if entry["ok"] else entry["error"]["code"] for entry in results]


async def started(bench: EngineHarness, count: int) -> list[str]:
    return [(await bench.start(GATED)).run_id for _ in range(count)]


@pytest.mark.rule("run-10")
async def test_each_run_has_its_own_answer_in_the_order_of_the_request() -> None:
    bench = EngineHarness()
    first, second, third = await started(bench, 3)
    done = (await bench.start(NOOP)).run_id
    await bench.cancel(CALLER.run(third))
    await bench.run_to_end(CALLER.run(third))
    asked = [second, "no:id", done, first, "unknown", third, second, "a b", "é" * 128]
    outcome = await bench.control.cancel_runs(CALLER, {"runIds": asked, "reason": "enough"})
    assert [entry["runId"] for entry in outcome.results] == asked
    wanted = ["cancelling", "validation_error", "run_terminal", "cancelling", "not_found", "cancelled"]
    assert codes(outcome.results) == [*wanted, "cancelling", "validation_error", "validation_error"]
    assert not outcome.replayed
    for run_id in (first, second):
        events = await bench.run_to_end(CALLER.run(run_id))
        assert events[-1].type == "run.cancelled"
        assert [event.type for event in events].count("weftwork.run.cancel-requested") == 1
        assert b'"enough"' in events[-1].payload
    again = await bench.control.cancel_runs(CALLER, {"runIds": [first, second]})
    assert codes(again.results) == ["cancelled", "cancelled"]


@pytest.mark.rule("run-10", "auth-03")
async def test_a_run_of_another_tenant_is_not_there() -> None:
    bench = EngineHarness()
    (theirs,) = await started(bench, 1)
    outcome = await bench.control.cancel_runs(OTHER, {"runIds": [theirs, "unknown"]})
    first, second = outcome.results
    assert {**first, "runId": ""} == {**second, "runId": ""}
    assert await bench.status(CALLER.run(theirs)) == "running"


@pytest.mark.rule("idem-03")
async def test_the_same_key_gives_the_whole_answer_again() -> None:
    bench = EngineHarness()
    (run_id,) = await started(bench, 1)
    asked = {"runIds": [run_id, "unknown"]}
    first = await bench.control.cancel_runs(CALLER, asked, "k")
    await bench.run_to_end(CALLER.run(run_id))
    again = await bench.control.cancel_runs(CALLER, asked, "k")
    assert (again.results, first.replayed, again.replayed) == (first.results, False, True)
    assert codes((await bench.control.cancel_runs(CALLER, asked, "k2")).results) == ["cancelled", "not_found"]
    with pytest.raises(ClientFault, match=r"^idempotency_key_mismatch: "):
        await bench.control.cancel_runs(CALLER, {"runIds": [run_id]}, "k")
    bench.clock.advance(RETENTION_SECONDS * 1000 + 1)
    assert codes((await bench.control.cancel_runs(CALLER, {"runIds": [run_id]}, "k")).results) == ["cancelled"]
    # Also to many who ask at once.
    ids = {"runIds": await started(bench, 4)}
    outcomes = await asyncio.gather(*(bench.control.cancel_runs(CALLER, ids, "at-once") for _ in range(5)))
    assert all(outcome.results == outcomes[0].results for outcome in outcomes)
    assert sorted(outcome.replayed for outcome in outcomes) == [False, True, True, True, True]


async def test_one_that_fails_does_not_stop_the_others() -> None:
    bench = EngineHarness()
    ids = await started(bench, 3)
    real = bench.executor.request

    async def request(key: Any, *rest: Any) -> Any:
        if key.run_id == ids[0]:
            raise StoreUnavailable("gone")
        return await real(key, *rest)

    bench.executor.request = request  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailable):
        await bench.control.cancel_runs(CALLER, {"runIds": ids}, "k")
    for run_id in ids[1:]:
        await bench.run_to_end(CALLER.run(run_id))
    bench.executor.request = real  # type: ignore[method-assign]
    outcome = await bench.control.cancel_runs(CALLER, {"runIds": ids}, "k")
    assert codes(outcome.results) == ["cancelling", "cancelled", "cancelled"]
    assert not outcome.replayed, "a request that failed is not recorded"


@pytest.mark.parametrize("bound", [1, 16, 10**6])
async def test_not_more_than_some_are_cancelled_at_the_same_time(monkeypatch: pytest.MonkeyPatch, bound: int) -> None:
    """With a bound that is no bound, all of them are: the sabotage."""
    monkeypatch.setattr(run_control, "MAX_CONCURRENT_CANCELS", bound)
    bench = await EngineHarness().open()
    busy, most = 0, 0

    async def request(*_: Any) -> Any:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(0)
        busy -= 1
        return "cancelled"

    bench.executor.request = request  # type: ignore[method-assign]
    asked = {"runIds": [f"run-{number}" for number in range(100)]}
    await bench.control.cancel_runs(CALLER, asked)
    assert most == min(bound, 100)


async def test_an_error_of_ours_is_not_hidden_in_an_entry() -> None:
    bench = EngineHarness()
    (run_id,) = await started(bench, 1)

    async def request(*_: Any) -> Any:
        raise HostFault("cannot be woken")

    bench.executor.request = request  # type: ignore[method-assign]
    with pytest.raises(HostFault):
        await bench.control.cancel_runs(CALLER, {"runIds": [run_id]})
