"""Forks and what happens to their source at the same time: it goes on, is deleted, or is forked twice."""

import asyncio
from collections.abc import Callable, Iterator
from itertools import count, pairwise
from typing import Any

import msgspec
import pytest

from tests.engine.forks.test_branches import fork, shape
from tests.engine.forks.test_retries import DOCUMENT, Till, retries_of, retry
from tests.engine.replay.replay_harness import check_rows
from tests.harness.cases import fails_without
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, WrappedLog, fault_of, settle, until
from weftwork.engine.api.idempotency import IdempotencyClaim
from weftwork.engine.api.lineage import forks as forks_module
from weftwork.engine.api.lineage import retries as retries_module
from weftwork.engine.api.lineage.forks import Forks
from weftwork.engine.host.load_retries import LoadRetries
from weftwork.ports.storage.event_log import STORE_RETRY_MS, StoreUnavailable
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.errors import ClientFault, HostFault
from weftwork.protocol.replay.fork_request import ForkOutcome
from weftwork.protocol.run.header import RunKey
from weftwork.testing.storage.harness import purge

MAX_CALLS = 40
SECRET_CHAIN = workflow(
    [node(name, "core.identity", inputs={"x": {"type": "variable", "variableName": "secret"}}) for name in "abc"],
    [edge("a", "b"), edge("b", "c")],
    [variable("secret", sensitive=True)],
)


class DeletingLog(WrappedLog):
    """A log whose store deletes a run at one of the calls, before or after it."""

    def __init__(self, log: Any) -> None:
        super().__init__(log)
        self.calls = 0
        self.at = -1
        self.is_after = False
        self.victim: RunKey | None = None
        self.delete: Any = None

    def __getattr__(self, name: str) -> Any:
        async def call(*arguments: Any) -> Any:
            number, self.calls = self.calls, self.calls + 1
            is_now = self.victim is not None and number == self.at
            if is_now and not self.is_after:
                await self.delete(self.victim)
            try:
                return await getattr(self._log, name)(*arguments)
            finally:
                if is_now and self.is_after:
                    await self.delete(self.victim)

        return call


async def deleting_engine(*types: Any) -> EngineHarness:
    engine = EngineHarness(*types, wrap=DeletingLog)

    async def delete(key: RunKey) -> None:
        assert await engine.store.retention.delete(key, engine.clock.now())
        await purge(engine.store)

    engine.log.delete = delete
    return engine


async def run_keys(engine: EngineHarness) -> set[str]:
    page = await engine.store.queries.list_runs(CALLER.partition, RunQuery(limit=100))
    return {each.header.run_id for each in page.runs}


@pytest.mark.rule("fork-01", "fork-02")
@pytest.mark.parametrize("way", ["start over", "branch", "overlay", "replay", "retry"])
async def test_a_fork_of_a_run_that_is_deleted_meanwhile_is_whole_or_not_found(way: str) -> None:
    await check_deletions(way)


@pytest.mark.parametrize(
    ("way", "owner", "guard", "instead"),
    [
        ("start over", forks_module, "check_exists", lambda log, key: asyncio.sleep(0)),
        ("branch", forks_module, "check_read", lambda last, wanted: None),
        ("retry", retries_module, "check_read", lambda last, wanted: None),
    ],
)
async def test_a_deletion_that_is_overlooked_is_seen(
    way: str, owner: Any, guard: str, instead: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, guard, instead)
    with pytest.raises((AssertionError, HostFault)):
        await check_deletions(way)


async def fork_or_fault(engine: EngineHarness, source: RunKey, way: str) -> RunKey | ClientFault:
    try:
        if way == "retry":
            return await retry(engine, source)
        if way == "replay":
            return await fork(engine, source, 4, "replay")
        if way == "overlay":
            return await fork(engine, source, 4, inputs={"secret": "t"})
        return await fork(engine, source, 0 if way == "start over" else 4)
    except ClientFault as fault:
        return fault


async def check_deletions(way: str) -> None:
    seen: set[str] = set()
    for is_after in (False, True):
        for at in range(MAX_CALLS):
            till = Till()
            engine = await deleting_engine(*till.types())
            document = DOCUMENT if way == "retry" else SECRET_CHAIN
            source = await engine.start(document, inputs={"secret": "s"})
            await engine.run_to_end(source)
            whole, before = await shape(engine, source), await run_keys(engine)
            till.is_broken = False
            log = engine.log
            log.calls, log.at, log.is_after, log.victim = 0, at, is_after, source
            key = await fork_or_fault(engine, source, way)
            used, log.victim = log.calls, None
            if isinstance(key, ClientFault):
                assert (key.code, key.status) == ("not_found", 404), (at, is_after, key)
                assert await run_keys(engine) == set(), "a refused fork is not there"
                seen.add("not found")
                continue
            seen.add("whole")
            assert before.isdisjoint({key.run_id})
            await engine.run_to_end(key)
            header = (await engine.stored_run(key)).header
            assert header.fork is not None
            assert (await shape(engine, key))[: header.fork.from_seq] == whole[: header.fork.from_seq]
            assert way == "replay" or await engine.status(key) == "completed"
            wanted = "t" if way == "overlay" else "s"
            assert (await engine.state(key)).inputs == {"secret": wanted}, "a mask is no input"
            await check_rows(engine, key)
            if used <= at:
                break
        else:
            raise AssertionError("the fork never gets along without a deletion")
    assert seen == {"whole", "not found"}


@pytest.mark.rule("fork-01")
async def test_a_run_is_forked_while_it_goes_on() -> None:
    names = "abcde"
    chain = workflow(
        [node(each, "test.gate" if each in "bd" else "core.noop") for each in names],
        [edge(*pair) for pair in pairwise(names)],
    )
    engine = EngineHarness()
    source = await engine.start(chain)
    branches: list[RunKey] = []
    for gate in "bd":
        await until(lambda gate=gate: gate in engine.gate_node.waiting)
        before = await shape(engine, source)
        held = engine.gate_node.waiting[gate]
        for from_seq in range(0, len(before), 2):
            key = await fork(engine, source, from_seq)
            await settle()
            # Both wait at the gate, each in its own entry.
            while await engine.status(key) != "completed":
                for name in [*engine.gate_node.waiting]:
                    if engine.gate_node.waiting[name] is not held:
                        engine.gate_node.release(name)
                await settle()
            assert (await shape(engine, key))[:from_seq] == before[:from_seq]
            branches.append(key)
        assert await shape(engine, source) == before
        engine.gate_node.waiting[gate] = held
        await engine.release(gate)
    assert await engine.status(source) == "completed"
    assert len(branches) > 4
    for key in branches:
        await check_rows(engine, key)


async def keyed(engine: EngineHarness, source: RunKey, key: str, from_seq: int = 2) -> ForkOutcome:
    forks = Forks(engine.runtime, engine.catalog, engine.executor)
    return await forks.fork_run(CALLER, source.run_id, {"mode": "branch", "fromSeq": from_seq}, key)


@pytest.mark.rule("idem-01", "fork-02")
@fails_without(IdempotencyClaim, "find_outcome", lambda self, kind: _nothing(), errors=(ClientFault,))
async def test_the_same_key_and_body_are_one_fork() -> None:
    engine, source = await EngineHarness().with_ended_run(SECRET_CHAIN, inputs={"secret": "s"})
    first = await keyed(engine, source, "once")
    again = await keyed(engine, source, "once")
    assert (again.run_id, again.replayed) == (first.run_id, True)
    together = await asyncio.gather(*(keyed(engine, source, "together") for _ in range(5)))
    assert len({each.run_id for each in together}) == 1
    assert len(await engine.store.forks.forks_of(source, None, 10)) == 2
    fault = await fault_of(keyed(engine, source, "once", 3))
    assert (fault.status, fault.code) == (409, "idempotency_key_mismatch")
    # The same words are another request for another run.
    other = await engine.execute(SECRET_CHAIN, inputs={"secret": "s"})
    assert (await keyed(engine, other, "once")).run_id != first.run_id
    # The outcome stays also if the source is gone.
    assert await engine.store.retention.delete(source, engine.clock.now())
    assert (await keyed(engine, source, "once")).run_id == first.run_id
    assert (await fault_of(keyed(engine, source, "late"))).status == 404


async def _nothing() -> None:
    return None


class FailingLog(WrappedLog):
    """A log whose store fails as soon as it has a fork."""

    is_down = False

    def __getattr__(self, name: str) -> Any:
        async def call(*arguments: Any) -> Any:
            if self.is_down:
                raise StoreUnavailable("no disk")
            result = await getattr(self._log, name)(*arguments)
            self.is_down = name == "create_fork"
            return result

        return call


@pytest.mark.rule("fork-01")
@pytest.mark.parametrize("mode", ["branch", "replay"])
@fails_without(LoadRetries, "add", lambda self, run: None)
async def test_a_fork_is_executed_when_the_store_is_back(mode: str) -> None:
    chain = workflow([node("a"), node("b")], [edge("a", "b")])
    engine, source = await EngineHarness(wrap=FailingLog).with_ended_run(chain)
    key = await fork(engine, source, 2, mode)
    await settle()
    engine.log.is_down = False
    await engine.advance(STORE_RETRY_MS)
    await settle()
    assert await engine.status(key) == "completed"


HELD = workflow([node("till", "test.till"), node("hold", "test.gate")], [edge("till", "hold")])
"""A retry of its failed run waits at the gate."""


async def failed_run() -> tuple[EngineHarness, RunKey]:
    till = Till()
    engine, source = await EngineHarness(*till.types()).with_ended_run(HELD)
    till.is_broken = False
    return engine, source


async def cancelled_run() -> tuple[EngineHarness, RunKey]:
    """A run without an event before its cancellation, so that its retry starts over."""
    engine, other = await EngineHarness().with_settled_run(workflow([node("hold", "test.gate")]))
    header = msgspec.structs.replace((await engine.stored_run(other)).header, run_id="run-cancelled")
    await engine.store.log.create(header)
    await engine.cancel(header.key)
    assert await engine.event_types(header.key) == ["run.cancelled"]
    return engine, header.key


def separate_scopes(numbers: Iterator[int]) -> Callable[[str], str]:
    return lambda run_id: f"{run_id} {next(numbers)}"


@pytest.mark.rule("retry-04")
@fails_without(forks_module, "retry_scope", separate_scopes(count()))
async def test_of_concurrent_retries_one_is_made() -> None:
    for engine, source in (await failed_run(), await cancelled_run()):
        requests = [retries_of(engine).retry_run(CALLER, source.run_id, {}) for _ in range(6)]
        answers = await asyncio.gather(*requests, return_exceptions=True)
        made = [each for each in answers if isinstance(each, ForkOutcome)]
        assert len(made) == 1
        refused = [each for each in answers if isinstance(each, ClientFault)]
        assert len(refused) == 5
        for each in refused:
            assert (each.code, each.status, each.details) == ("conflict", 409, {"retryRunId": made[0].run_id})
        assert len(await engine.store.forks.forks_of(source, None, 10)) == 1
        await engine.crash()


@pytest.mark.rule("retry-04", "idem-01")
async def test_another_retry_is_made_when_the_first_has_ended_or_the_caller_allows_it() -> None:
    engine, source = await failed_run()
    first = await retry(engine, source)
    assert (await fault_of(retry(engine, source))).details == {"retryRunId": first.run_id}
    beside = await retry(engine, source, allowConcurrent=True)
    assert (await fault_of(retry(engine, source))).details == {"retryRunId": first.run_id}
    for key in (first, beside):
        await engine.cancel(key)
        await engine.run_to_end(key)
    outcome = await retries_of(engine).retry_run(CALLER, source.run_id, {}, "key")
    again = await retries_of(engine).retry_run(CALLER, source.run_id, {}, "key")
    assert (again.run_id, again.replayed) == (outcome.run_id, True), "the same request is no second retry"
    # Forks that are no retries, and retries of other runs, are not counted.
    await fork(engine, source, 2)
    await retry(engine, first)
    last = CALLER.run(outcome.run_id)
    await until(lambda: "hold" in engine.gate_node.waiting)
    assert (await fault_of(retry(engine, source))).details == {"retryRunId": last.run_id}
    await engine.cancel(last)
    await engine.run_to_end(last)
    assert (await retry(engine, source)).run_id != last.run_id
    await engine.crash()
