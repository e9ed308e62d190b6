"""Cancelling many runs with one request, on an engine without edges."""

import asyncio
from typing import Any

import pytest

from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import CALLER, EngineHarness
from weftwork.engine.api import run_control
from weftwork.engine.api.keyring import Principal
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.errors import ClientFault, HostFault
from weftwork.protocol.wire.idempotency import RETENTION_SECONDS
from weftwork.protocol.wire.v1.routes import SCOPES

OTHER = Principal.of("key_2", "other", "live", frozenset(SCOPES))
GATE = workflow([node("a", "test.gate")])
NOOP = {**workflow([node("a", "core.noop")]), "id": "noop"}


def codes(results: list[dict[str, Any]]) -> list[str]:
    """The status of each entry, or its error code."""
    return [entry["status"] if entry["ok"] else entry["error"]["code"] for entry in results]


async def started(bench: EngineHarness, count: int) -> list[str]:
    return [(await bench.start(GATE)).run_id for _ in range(count)]


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
    with pytest.raises(ClientFault) as caught:
        await bench.control.cancel_runs(CALLER, {"runIds": [run_id]}, "k")
    assert caught.value.code == "idempotency_key_mismatch"
    bench.clock.advance(RETENTION_SECONDS * 1000 + 1)
    assert codes((await bench.control.cancel_runs(CALLER, {"runIds": [run_id]}, "k")).results) == ["cancelled"]


async def test_two_at_once_with_the_same_key_say_the_same() -> None:
    bench = EngineHarness()
    ids = await started(bench, 4)
    outcomes = await asyncio.gather(*(bench.control.cancel_runs(CALLER, {"runIds": ids}, "k") for _ in range(5)))
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

    bench = EngineHarness()
    await bench.store.open()
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
