"""A reader who gathers a batch when something is said of its run: it gets both, and nobody spins meanwhile."""

import asyncio
from typing import Any, cast

import pytest

from tests.live import Stream, delays, frames, in_thread, open_listening
from tests.live.listening_host import until
from weftwork.adapters.http.sse import SseStream
from weftwork.engine.streams.feeds import Reader

MOST_LOOKS = 200
QUERY = "?streamMode=debug&bufferMs=5000"


def gathered(monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[str]]:
    """How often the reader looked for events, and the frames it got, with an annotation while it gathered."""
    looks = 0
    honest = Reader.next

    async def count(reader: Reader, *arguments: Any) -> Any:
        nonlocal looks
        looks += 1
        if looks > MOST_LOOKS:
            await asyncio.Event().wait()
        return await honest(reader, *arguments)

    monkeypatch.setattr(Reader, "next", count)

    async def work() -> list[str]:
        async with open_listening(delays("long", 600_000)) as served:
            run_id = await served.create("long")
            stream = await in_thread(Stream, served.ask(f"/v1/runs/{run_id}/events{QUERY}"))
            with stream.connection:
                await until(lambda: looks > 1, "the reader to gather")
                said = {"signal": {"kind": "flag"}}
                assert (await served.in_process.call("POST", f"/v1/runs/{run_id}/annotations", said)).status == 201
                told = in_thread(stream.read_until, lambda body: b"run.annotated" in body)
                over = asyncio.create_task(until(lambda: looks > MOST_LOOKS, "too many looks", 60))
                reading = asyncio.create_task(told)
                await asyncio.wait((reading, over), return_when=asyncio.FIRST_COMPLETED)
                over.cancel()
                if not reading.done():
                    await served.in_process.call("POST", f"/v1/runs/{run_id}/cancel", {})
                    stream.connection.shutdown(2)
                    await asyncio.wait((reading,))
                    return []
                return [frame.event for frame in frames(reading.result())]

    shown = asyncio.run(work())
    return looks, shown


@pytest.mark.rule("sse-13", "sse-03")
def test_a_note_ends_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    looks, shown = gathered(monkeypatch)
    assert shown == ["batch", "batch"]
    assert looks < 10


def test_a_pump_that_does_not_look_for_notes_would_spin(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = SseStream._next_batch

    class Heedless:
        """The reader, for a stream that gathers; it says of no note that it is there."""

        has_notification = False

        def __init__(self, reader: Reader) -> None:
            self.next = reader.next
            self.ended = False

    async def heedless(pump: SseStream, reader: Reader, events: Any) -> Any:
        return await honest(pump, cast("Any", Heedless(reader)), events)

    monkeypatch.setattr(SseStream, "_next_batch", heedless)
    looks, shown = gathered(monkeypatch)
    assert (looks > MOST_LOOKS, shown) == (True, [])
