"""A greedy tenant on a real host: it cannot take the reserved slots, and its requests do not delay those of others."""

import asyncio
import contextlib
import tempfile
from typing import Any

import pytest

from tests.harness.cases import fails_without
from tests.live import KEY, OTHER_KEY, TEST_KEY, Answer, ListeningHost, delays, in_thread, open_listening
from tests.live.listening_host import until
from weftwork.adapters.http import app as http_app
from weftwork.adapters.http import message
from weftwork.adapters.http.server import request_turns
from weftwork.adapters.http.server.request_turns import MAX_IN_PROGRESS, RequestTurns
from weftwork.engine.host.executor import Executor
from weftwork.protocol.fair_share import FairLimit, FairQueue

LIMIT = 10
RESERVED = 2


def anything(self: FairLimit, tenant: str, units: int = 1) -> bool:
    return self.total + units <= self.limit


async def fill(served: ListeningHost, key: str) -> tuple[list[str], Answer]:
    """Runs of this key until the host refuses one: their ids, and the refusal."""
    ids: list[str] = []
    while True:
        answer = await served.in_process.call("POST", "/v1/runs", {"workflowId": "held"}, key=key)
        if answer.status != 201:
            return ids, answer
        ids.append(answer.document["runId"])
        assert len(ids) <= LIMIT


def refused_with(answer: Answer, status: int, code: str) -> str:
    assert (answer.status, answer.document.get("error")) == (status, code), answer.body
    return answer.document["message"]


@pytest.mark.rule("lim-07", "lim-20")
@fails_without(FairLimit, "has_room", anything)
async def test_a_late_tenant_finds_room_for_its_runs() -> None:
    async with open_listening(delays("held", 900), max_live_runs=LIMIT) as served:
        ids, refusal = await fill(served, KEY)
        assert len(ids) == LIMIT - RESERVED
        said = refused_with(refusal, 503, "service_unavailable")
        for text in ("8 live runs", "limit of 10", "`max_live_runs`", "is 5", "`reserved_share_percent`"):
            assert text in said
        late, refusal = await fill(served, OTHER_KEY)
        assert len(late) == RESERVED
        assert "at its limit of 10 live runs (`max_live_runs`)" in refused_with(refusal, 503, "service_unavailable")
        await until(lambda: not served.host._executor.live_count, "the runs")
        assert len((await fill(served, OTHER_KEY))[0]) == LIMIT - RESERVED


@pytest.mark.rule("lim-08", "lim-20")
@fails_without(FairLimit, "has_room", anything)
async def test_a_late_tenant_finds_room_for_its_streams_and_polls() -> None:
    async with open_listening(delays("held", 30_000), max_streams=LIMIT) as served:
        with contextlib.ExitStack() as clients:
            run_id = await served.create("held")
            for at in range(LIMIT - RESERVED):
                path = "/events/poll?lastSequence=1&timeout=60" if at % 2 else "/events"
                clients.enter_context(await in_thread(served.ask, f"/v1/runs/{run_id}{path}"))
            await until(lambda: served.readers == LIMIT - RESERVED, "the readers")
            path = f"/v1/runs/{run_id}/events/poll?lastSequence=1&timeout=1"
            answer = await served.in_process.call("GET", path)
            said = refused_with(answer, 429, "rate_limited")
            assert answer.document["details"]["scope"] == "tenant"
            for text in ("8 open streams", "limit of 10", "`max_streams`", "is 5", "`reserved_share_percent`"):
                assert text in said
            created = await served.in_process.call("POST", "/v1/runs", {"workflowId": "held"}, key=OTHER_KEY)
            path = f"/v1/runs/{created.document['runId']}/events/poll?lastSequence=0&timeout=1"
            assert (await served.in_process.call("GET", path, key=OTHER_KEY)).status == 200


@pytest.mark.rule("lim-20")
async def test_what_counts_as_a_live_run_of_a_tenant() -> None:
    """A run counts from its creation until it ends, is paused or only waits. Runs of test keys count separately, and
    child runs count for the tenant of their parent."""
    waits, parent = delays("waits", 0), delays("parent", 0)
    waits["nodes"][0] |= {"typeId": "core.approvalGate", "config": {"title": "May it?"}, "inputs": {}}
    parent["nodes"][0] |= {"typeId": "core.subWorkflow", "config": {"workflowId": "held"}, "inputs": {}}
    async with open_listening(delays("held", 900), delays("long", 5_000), waits, parent) as served:
        slots = served.host._executor.run_slots
        served.host.keyring.accept_for_process(TEST_KEY, "acme", None)

        async def settled(count: int, what: str) -> None:
            await until(lambda: slots.total == count, f"{what} to hold {count} slots")

        for workflow in ("waits", "long"):
            await served.create(workflow)
            await settled(0, workflow)
        await served.create("held")
        await served.in_process.call("POST", "/v1/runs", {"workflowId": "held"}, key=TEST_KEY)
        assert (slots.total, len(slots._held)) == (2, 2)
        await settled(0, "runs that have ended")
        run_id = await served.create("parent")
        await settled(1, "a child run and its parent, which only waits,")
        await served.in_process.call("POST", f"/v1/runs/{run_id}:pause", {})
        await settled(0, "a tree that is paused or has ended")


def taken_at_once(self: FairQueue[Any], cost: float = 1) -> tuple[str, Any]:
    tenant = next(iter(self._waiting))
    entry = self._waiting[tenant].popleft()
    self._count -= 1
    if not self._waiting[tenant]:
        del self._waiting[tenant]
    return tenant, entry


async def no_slice(partition: str) -> None: ...


@pytest.mark.rule("lim-25")
@fails_without(FairQueue, "take", taken_at_once)
async def test_hundreds_of_requests_of_a_tenant_do_not_delay_the_first_of_another() -> None:
    turns = RequestTurns(no_slice)
    started: list[str] = []

    async def request(tenant: str) -> None:
        await turns.wait(tenant)
        started.append(tenant)

    turns.in_progress = MAX_IN_PROGRESS
    waiting = [asyncio.create_task(request("greedy")) for _ in range(300)]
    await asyncio.sleep(0)
    waiting += [asyncio.create_task(request(tenant)) for tenant in ("late", "last")]
    await asyncio.sleep(0)
    assert started == []
    for _ in range(3):
        turns.end()
        await asyncio.sleep(0)
    assert sorted(started) == ["greedy", "last", "late"]
    assert turns.in_progress == MAX_IN_PROGRESS
    for each in waiting:
        each.cancel()
    await asyncio.wait(waiting)
    assert (len(turns.waiting), turns.in_progress) == (0, MAX_IN_PROGRESS)


@pytest.mark.rule("lim-25")
async def test_requests_that_do_not_end_do_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_turns, "STUCK_SECONDS", 0.001)
    turns = RequestTurns(no_slice)
    turns.in_progress = MAX_IN_PROGRESS
    async with asyncio.timeout(5):
        await asyncio.gather(*(turns.wait("a") for _ in range(3)))
    assert turns.in_progress == MAX_IN_PROGRESS + 3


UNLIMITED = [[module, "MAX_IN_PROGRESS", 10**6] for module in (http_app, message, request_turns)]


@pytest.mark.rule("lim-25")
@fails_without(*UNLIMITED, match="at once")
async def test_a_host_processes_so_many_requests_at_once_and_each_ends_its_turn() -> None:
    most = 0
    honest = Executor.create

    with tempfile.TemporaryDirectory() as data, pytest.MonkeyPatch.context() as patch:
        async with open_listening(delays("held", 900), store="sqlite", data=data) as served:
            app = served.host.app
            assert app is not None

            async def create(self: Executor, *given: Any) -> Any:
                nonlocal most
                most = max(most, app.turns.in_progress)
                return await honest(self, *given)

            patch.setattr(Executor, "create", create)
            # On a busy machine no request may end for that long.
            patch.setattr(request_turns, "STUCK_SECONDS", 60.0)
            call = served.in_process.call
            calls = [call("POST", "/v1/runs", {"workflowId": "held" if at % 3 else "none"}) for at in range(90)]
            calls += [call("GET", "/v1/runs") for _ in range(60)]
            statuses = {answer.status for answer in await asyncio.gather(*calls)}
            assert statuses == {200, 201, 400}
            assert served.host._executor.live_count == 60, "only the requests take turns, and not the runs"
            assert (app.turns.in_progress, len(app.turns.waiting)) == (0, 0)
    assert most == MAX_IN_PROGRESS, "more at once"
