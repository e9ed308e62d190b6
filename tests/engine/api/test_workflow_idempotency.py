"""Idempotency keys of registrations."""

import asyncio

import msgspec
import pytest

from tests.engine.api.test_workflows import TESTER, V1, V2, opened, refused
from tests.harness.engine_harness import CALLER, run
from weftwork.engine.api.idempotency import IdempotencyClaim
from weftwork.protocol.limits import Limits
from weftwork.protocol.wire.idempotency import RETENTION_SECONDS


@pytest.mark.rule("idem-01", "idem-02", "idem-03")
def test_one_key_makes_one_registration_until_it_is_forgotten() -> None:
    async def work() -> None:
        bench = await opened()
        first = await bench.workflows.register(CALLER, V1, "k")
        await bench.workflows.register(CALLER, V2)
        bench.clock.advance(1000)
        again = await bench.workflows.register(CALLER, V1, "k")
        assert again == msgspec.structs.replace(first, replayed=True)
        assert (await refused(bench, V2, "k")).code == "idempotency_key_mismatch"
        assert (await bench.workflows.register(TESTER, V1, "k")).created is False
        assert (await bench.workflows.register_sample(CALLER, V1, "k")).replayed is False
        bench.clock.advance(RETENTION_SECONDS * 1000)
        later = await bench.workflows.register(CALLER, V1, "k")
        assert (later.created, later.replayed) == (False, False)
        assert (await bench.workflows.register(CALLER, V1, "k")).replayed
        assert (await bench.workflows.register(CALLER, V1, "k")).created is False

    run(work)


@pytest.mark.rule("idem-03")
async def test_a_refusal_leaves_the_key_unused() -> None:
    bench = await opened(limits=Limits(max_workflows_per_tenant=1))
    await bench.workflows.register(CALLER, V1)
    assert (await refused(bench, {**V1, "name": "Other"}, "k")).code == "workflow_version_conflict"
    assert (await refused(bench, V2, "k")).code == "workflow_limit_reached"
    assert (await refused(bench, {}, "k")).code == "validation_error"
    assert (await bench.workflows.register(CALLER, V1, "k")).replayed is False


@pytest.mark.rule("idem-02")
async def test_of_many_with_the_same_key_one_registers() -> None:
    bench = await opened()
    ends = await asyncio.gather(*(bench.workflows.register(CALLER, V1, "k") for _ in range(6)))
    assert [end.replayed for end in ends].count(False) == 1
    assert {end.created for end in ends} == {True}


def test_without_its_replay_a_key_means_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IdempotencyClaim, "replay", lambda *_: None)
    with pytest.raises(AssertionError):
        test_one_key_makes_one_registration_until_it_is_forgotten()
