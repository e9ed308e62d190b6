"""Operations under an idempotency key: done once, answered the same each time."""

import asyncio
from typing import Any

import pytest

from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import CALLER, EngineHarness
from weftwork.engine.api.idempotency import IdempotencyClaim, ReplayableOutcome, idempotent
from weftwork.engine.api.keyring import require_run
from weftwork.ports.storage.event_log import SlotTaken
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.limits import Limits

WAITS = workflow([node("a", "test.gate")])


class Number(ReplayableOutcome, frozen=True):
    number: int


class Counter:
    """Work that records how often it was done, and then may be refused."""

    def __init__(self, bench: EngineHarness, fault: ClientFault | None = None) -> None:
        self._bench = bench
        self._fault = fault
        self.done = 0

    async def apply(self, key: str | None, body: Any = None) -> Number:
        return await idempotent(self._bench.runtime, CALLER, "count", key, body, Number, self._work)

    async def _work(self, claim: IdempotencyClaim) -> Number | SlotTaken:
        self.done += 1
        outcome = Number(self.done)
        record = claim.make_record(outcome)
        taken = await self._bench.log.save_record(record) if record is not None else None
        if self._fault is not None:
            raise self._fault
        return taken or outcome


@pytest.mark.rule("idem-01")
async def test_a_key_does_its_work_once() -> None:
    work = Counter(await EngineHarness().open())
    assert [await work.apply("k"), await work.apply("k")] == [Number(1), Number(1, replayed=True)]
    assert [await work.apply("other"), work.done] == [Number(2), 2]
    with pytest.raises(ClientFault) as caught:
        await work.apply("k", "another body")
    assert (caught.value.code, work.done) == ("idempotency_key_mismatch", 2)


async def test_without_a_key_the_work_is_done_each_time() -> None:
    work = Counter(await EngineHarness().open())
    assert [await work.apply(None), await work.apply(None)] == [Number(1), Number(2)]


@pytest.mark.rule("idem-02")
async def test_requests_that_look_at_the_same_time_get_the_outcome_that_was_recorded_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def nothing(*_: Any) -> None:
        return None

    work = Counter(await EngineHarness().open())
    monkeypatch.setattr(IdempotencyClaim, "find_outcome", nothing)
    assert [await work.apply("k"), await work.apply("k")] == [Number(1), Number(1, replayed=True)]


@pytest.mark.rule("idem-03")
async def test_a_refusal_gives_way_to_an_outcome_that_was_recorded_meanwhile() -> None:
    """What refuses the second of two equal requests may be the effect of the first."""
    work = Counter(await EngineHarness().open(), ClientFault("conflict", "Done already."))
    assert await work.apply("k") == Number(1, replayed=True)
    with pytest.raises(ClientFault, match="Done already"):
        await work.apply(None)


@pytest.mark.rule("idem-02")
async def test_equal_creates_for_the_last_place_of_a_tenant_make_one_run() -> None:
    bench = await EngineHarness(limits=Limits(max_live_runs_per_tenant=1)).open()
    assert await bench.catalog.register(WAITS) == []
    asked = [bench.service.create_run(CALLER, {"workflowId": WAITS["id"]}, "k") for _ in range(4)]
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    await bench.close()
    runs = {outcome.run_id for outcome in outcomes if not isinstance(outcome, BaseException)}
    assert len(runs) == 1


@pytest.mark.parametrize("nothing", [None, False, []])
def test_nothing_found_of_a_run_is_a_run_that_is_not_there(nothing: Any) -> None:
    assert require_run("found") == "found"
    with pytest.raises(ClientFault) as caught:
        require_run(nothing)
    assert (caught.value.code, caught.value.message) == ("not_found", "There is no such run.")
