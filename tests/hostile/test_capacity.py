"""At and beyond capacity: what is taken in is finished, the rest is told when to come back, and nothing is lost."""

import asyncio
import contextlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.live import (
    KEY,
    OTHER_KEY,
    TEST_KEY,
    Answer,
    Host,
    ListeningHost,
    Stream,
    delays,
    in_thread,
    open_listening,
    start_host,
    write_workflows,
)
from tests.live.listening_host import until, with_host
from weftwork.engine.api.runs import EventStreams
from weftwork.engine.host.admission import LiveRuns
from weftwork.engine.host.executor import Executor
from weftwork.protocol.fair_share import FairLimit
from weftwork.protocol.json import schema
from weftwork.protocol.run.header import RunKey

LIVE = 20
RESERVED = 4
"""What a tenant that is alone cannot take: 20 %."""
PER_TENANT = 8
TIMES = 10
STREAMS = 3


def refused(answer: Answer, status: int, code: str) -> dict[str, Any]:
    assert (answer.status, answer.document["error"]) == (status, code), answer.body
    assert schema.check("error-envelope", answer.document) == []
    details = answer.document["details"]
    assert answer.headers["retry-after"] == str(details["retryAfter"])
    assert 0 <= details["retryAfter"] <= 86_400
    return details


def storm(host: Host, keys: list[str], count: int) -> list[tuple[str, str, Answer]]:
    """So many creations at once, each with an idempotency key of its own: API key, idempotency key and answer."""

    def create(at: int) -> tuple[str, str, Answer]:
        key, once = keys[at % len(keys)], f"once-{at}"
        headers = {"Idempotency-Key": once}
        return key, once, host.call("POST", "/v1/runs", {"workflowId": "slow"}, key=key, headers=headers)

    with ThreadPoolExecutor(16) as clients:
        return list(clients.map(create, range(count)))


def reconcile(host: Host, answers: list[tuple[str, str, Answer]]) -> Counter[str]:
    """Every run that was acknowledged ends as completed, and there is no other one; how many there are by key."""
    taken: Counter[str] = Counter()
    for key in {key for key, _, _ in answers}:
        ids = {answer.document["runId"] for other, _, answer in answers if answer.status == 201 and other == key}
        for run_id in ids:
            assert host.log(run_id, key=key)[-1]["type"] == "run.completed"
        listed = host.call("GET", "/v1/runs?limit=200", key=key).document
        assert {run["runId"] for run in listed["runs"]} == ids
        assert "nextCursor" not in listed
        taken[key] = len(ids)
    return taken


@pytest.mark.rule("lim-07")
def test_ten_times_more_runs_than_there_may_be(tmp_path: Path) -> None:
    workflows = write_workflows(tmp_path / "flows", delays("slow", 1000))
    env = {"WEFTWORK_MAX_LIVE_RUNS": str(LIVE)}
    with start_host(tmp_path, "--workflows", workflows, env=env) as host:
        answers = storm(host, [KEY], LIVE * TIMES)
        turned_away = [once for _, once, answer in answers if answer.status != 201]
        for _, _, answer in answers:
            if answer.status != 201:
                assert refused(answer, 503, "service_unavailable") == {"retryAfter": 5}
        assert turned_away
        assert LIVE - RESERVED <= reconcile(host, answers)[KEY] == len(answers) - len(turned_away)
        # A refusal is not an outcome: the same key and body are taken when there is room.
        again = host.call("POST", "/v1/runs", {"workflowId": "slow"}, headers={"Idempotency-Key": turned_away[0]})
        assert (again.status, "openwop-idempotent-replay" in again.headers) == (201, False)


@pytest.mark.rule("lim-07")
def test_a_tenant_that_asks_for_too_much_does_not_crowd_out_another(tmp_path: Path) -> None:
    workflows = write_workflows(tmp_path / "flows", delays("slow", 1000))
    env = {"WEFTWORK_MAX_LIVE_RUNS_PER_TENANT": str(PER_TENANT)}
    with start_host(tmp_path, "--workflows", workflows, env=env) as host:
        greedy = storm(host, [KEY], PER_TENANT * TIMES)
        modest = [(OTHER_KEY, "", host.call("POST", "/v1/runs", {"workflowId": "slow"}, key=OTHER_KEY))]
        tests = [(TEST_KEY, "", host.call("POST", "/v1/runs", {"workflowId": "slow"}, key=TEST_KEY))]
        for _, _, answer in greedy:
            if answer.status != 201:
                details = refused(answer, 429, "rate_limited")
                assert details == {"retryAfter": 5, "retryAfterMs": 5000, "scope": "tenant"}
        taken = reconcile(host, [*greedy, *modest, *tests])
        assert PER_TENANT <= taken[KEY] < len(greedy)
        assert (taken[OTHER_KEY], taken[TEST_KEY]) == (1, 1)


def most_at_once(monkeypatch: pytest.MonkeyPatch, **settings: int) -> int:
    """The most runs that were live at the same time, when fifty are asked for at once."""
    most = 0
    honest = Executor.create

    async def watched(self: Executor, *given: Any) -> Any:
        nonlocal most
        created = await honest(self, *given)
        most = max(most, self.live_count)
        return created

    async def work() -> None:
        async with open_listening(delays("slow", 300), **settings) as served:
            call = served.in_process.call
            asked = [call("POST", "/v1/runs", {"workflowId": "slow"}) for _ in range(50)]
            answers = await asyncio.gather(*asked)
            assert {answer.status for answer in answers} <= {201, 429, 503}

    with monkeypatch.context() as patch:
        patch.setattr(Executor, "create", watched)
        asyncio.run(work())
    return most


@pytest.mark.rule("lim-07")
@pytest.mark.parametrize("name", ["max_live_runs", "max_live_runs_per_tenant"])
def test_without_the_look_for_room_they_would_all_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert most_at_once(monkeypatch, **{name: 4}) == 4
    monkeypatch.setattr("weftwork.engine.api.runs.check_capacity", lambda executor, limits, partition: None)
    assert most_at_once(monkeypatch, **{name: 4}) == 50


STREAMING_HOST = with_host(delays("long", 15_000), max_streams=STREAMS)


async def fill(served: ListeningHost, run_id: str, clients: contextlib.ExitStack) -> None:
    """Streams and polls, as many as may be."""
    for at in range(STREAMS):
        path = "/events/poll?lastSequence=1&timeout=60" if at == 0 else "/events"
        clients.enter_context(await in_thread(served.ask, f"/v1/runs/{run_id}{path}"))
    await until(lambda: served.readers == STREAMS, "the readers")


async def one_more(served: ListeningHost, path: str) -> Answer:
    with await in_thread(served.ask, path) as client:
        stream = await in_thread(Stream, client)
        size = int(stream.headers.get("content-length", 0))
        while len(stream.raw) < size:
            stream.raw += await in_thread(client.recv, 65_536)
        return Answer(stream.status, stream.headers, stream.raw)


@STREAMING_HOST
@pytest.mark.rule("lim-08")
@pytest.mark.parametrize("path", ["/events", "/events?streamMode=values", "/events/poll?lastSequence=1&timeout=60"])
async def test_a_reader_too_many_is_told_when_to_come_back(served: ListeningHost, path: str) -> None:
    run_id = await served.create("long")
    with contextlib.ExitStack() as clients:
        await fill(served, run_id, clients)
        answer = await one_more(served, f"/v1/runs/{run_id}{path}")
        details = refused(answer, 429, "rate_limited")
        assert details == {"retryAfter": 5, "retryAfterMs": 5000, "scope": "global"}
        assert served.readers == STREAMS
        # Whoever does not wait is still served.
        page = await served.in_process.call("GET", f"/v1/runs/{run_id}/events", headers={"accept": "application/json"})
        assert page.status == 200
    await until(lambda: served.readers == 0, "the readers to go")
    assert (await one_more(served, f"/v1/runs/{run_id}/events")).status == 200


@STREAMING_HOST
@pytest.mark.rule("lim-08")
async def test_without_the_look_at_readers_one_more_would_be_let_in(
    served: ListeningHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EventStreams, "_check_capacity", lambda self, partition: None)

    run_id = await served.create("long")
    with contextlib.ExitStack() as clients:
        await fill(served, run_id, clients)
        assert (await one_more(served, f"/v1/runs/{run_id}/events")).status == 200


STEPS = st.lists(st.tuples(st.sampled_from(["set", "delete", "drop"]), st.sampled_from("ab"), st.integers(0, 3)))


@settings(max_examples=200, deadline=None)
@given(STEPS)
def test_the_slots_agree_with_the_runs_in_memory(steps: list[tuple[str, str, int]]) -> None:
    slots = FairLimit(2)
    there: LiveRuns[int] = LiveRuns(slots)
    for what, partition, number in steps:
        run = RunKey(partition, str(number))
        if what == "set":
            there[run] = number
        elif what == "drop":
            there.discard(run)
        elif run in there:
            del there[run]
        assert slots.total == len(there)
        for each in "ab":
            assert slots.held_by(each) == len([run for run in there if run.partition == each])
