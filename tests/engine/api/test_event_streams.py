"""Readers and pages of events for callers, on an engine without edges."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import CALLER, EngineHarness
from weftwork.engine.api import runs
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.limits import Limits
from weftwork.protocol.run.header import RunKey

STEPS = workflow([node("a"), node("b"), node("c")], [edge("a", "b"), edge("b", "c")])


async def ended(bench: EngineHarness) -> RunKey:
    key = await bench.start(STEPS)
    await bench.run_to_end(key)
    return key


@pytest.mark.rule("lim-08")
async def test_a_reader_too_many_is_refused_and_one_that_does_not_wait_is_not() -> None:
    bench = EngineHarness(limits=Limits(max_streams=1))
    key = await ended(bench)
    await bench.streams.join(CALLER, key.run_id, -1)
    for late in (bench.streams.join(CALLER, key.run_id, -1), bench.streams.read_page(CALLER, key.run_id, -1, 9, 1.0)):
        with pytest.raises(ClientFault) as caught:
            await late
        assert (caught.value.code, caught.value.details) == (
            "rate_limited",
            {"retryAfter": 5, "retryAfterMs": 5000, "scope": "global"},
        )
    events, _ = await bench.streams.read_page(CALLER, key.run_id, -1, 2)
    assert [event.sequence for event in events] == [0, 1]
    bench.streams.leave(CALLER, key.run_id)
    assert bench.feeds.readers == 0


async def test_pages_are_the_log_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = EngineHarness()
    key = await ended(bench)
    log = await bench.events(key)
    assert (await bench.streams.read_page(CALLER, key.run_id, -1, 1000))[0] == log
    monkeypatch.setattr(runs, "PAGE_BYTES", 1)
    after, seen = -1, 0
    while page := (await bench.streams.read_page(CALLER, key.run_id, after, 1000))[0]:
        assert len(page) == 1, "a page ends with the event that reaches its bytes"
        after, seen = page[-1].sequence, seen + 1
    assert (seen, bench.feeds.readers) == (len(log), 0)


async def test_a_page_leaves_its_feed_when_the_log_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = EngineHarness()
    key = await ended(bench)

    async def fail(*_: Any) -> Any:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(bench.feeds, "_log", SimpleNamespace(read=fail))
    with pytest.raises(StoreUnavailable):
        await bench.streams.read_page(CALLER, key.run_id, -1, 1000)
    assert bench.feeds.readers == 0
