"""However a client takes its stream, a little or a lot at a time, what it gets is the same to the byte."""

import asyncio
import random
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from tests.live import KEY, InProcessHost, frames, open_in_process
from weftwork.adapters.http import response_writer, sse
from weftwork.adapters.http.server.write_turns import WriteTurns
from weftwork.engine.streams import feeds
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import Owner, RunHeader
from weftwork.protocol.run.projection import Projection
from weftwork.protocol.wire import streams

RUN = "talkative"
MODES = ("updates", "debug", "messages", "updates,messages")


class Moody:
    """A connection that is full whenever it likes, and has room again a little later."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self.active_cycle = None
        self.on_lost: Callable[[], object] | None = None
        self.is_lost = False
        self.is_full = False
        self.body = bytearray()
        self.waits = 0
        self.turns = WriteTurns()

    async def send(self, message: Any) -> None:
        assert not (self.is_full and message.get("body")), "nothing is sent into a full connection"
        self.body += message.get("body", b"")
        self.is_full = self._dice.random() < 0.4

    async def drained(self) -> None:
        self.waits += 1
        await asyncio.sleep(0)
        self.is_full = False

    def disable_buffering(self) -> None: ...

    def restore_buffering(self) -> None: ...


def _events(sizes: list[int]) -> list[Event]:
    drafts: list[tuple[str, dict[str, Any]]] = [("run.started", {})]
    for at, size in enumerate(sizes):
        kind = ("output.chunk", "node.completed", "log.appended")[at % 3]
        payload = {"nodeId": "n", "chunk": "ü" * size, "isLast": False} if kind == "output.chunk" else {"x": "y" * size}
        drafts.append((kind, payload))
    drafts.append(("run.completed", {}))
    return [
        Event(RUN, at, f"e{at}", kind, at, msgspec.json.encode(payload)) for at, (kind, payload) in enumerate(drafts)
    ]


async def _store(inside: InProcessHost, sizes: list[int]) -> None:
    header = RunHeader(RUN, "live:acme", Owner("acme", "seed"), "none", "none", 0)
    events = _events(sizes)
    log = inside.host._store.log
    await log.create(header)
    last = len(events) - 1
    await log.append(header.key, -1, Batch(tuple(events), Projection("completed", last, 0, last)))


async def _read(inside: InProcessHost, query: str, seed: int) -> Moody:
    line = Moody(random.Random(seed))
    scope = {
        "type": "http",
        "method": "GET",
        "path": f"/v1/runs/{RUN}/events",
        "query_string": query.encode(),
        "headers": [(b"authorization", f"Bearer {KEY}".encode())],
        "weftwork.connection": line,
    }

    async def receive() -> Any:
        raise AssertionError("nobody asks")

    await inside.app(scope, receive, line.send)
    return line


def _whole(body: bytes, batched: bool) -> Any:
    shown = frames(body)
    return [item for frame in shown for item in frame.document] if batched else [frame.raw for frame in shown]


@settings(max_examples=example_count(20, 2000), deadline=None)
@given(
    sizes=st.lists(st.sampled_from([0, 1, 40, 300, 1000]), max_size=9),
    mode=st.sampled_from(MODES),
    buffer_ms=st.sampled_from([0, 1]),
    piece=st.sampled_from([13, 64, 1000]),
    seed=st.integers(0, 2**32),
)
async def test_a_stream_in_any_pieces_is_the_same(
    sizes: list[int], mode: str, buffer_ms: int, piece: int, seed: int
) -> None:
    async with open_in_process() as inside:
        await _store(inside, sizes)
        query = f"streamMode={mode}&bufferMs={buffer_ms}"
        plain = (await inside.call("GET", f"/v1/runs/{RUN}/events?{query}")).body
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(response_writer, "CHUNK_BYTES", piece)
            patch.setattr(feeds, "READ_BYTES", 700)
            line = await _read(inside, query, seed)
        assert _whole(bytes(line.body), bool(buffer_ms)) == _whole(plain, bool(buffer_ms))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("buffer_ms", [0, 5000])
async def test_a_frame_is_built_once(mode: str, buffer_ms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many reads a batch takes: here each read gives one event."""
    built: Counter[tuple[str, int]] = Counter()

    def count(name: str) -> None:
        honest = getattr(streams, name)

        def build(event: Event, *arguments: Any) -> Any:
            built[name, event.sequence] += 1
            return honest(event, *arguments)

        monkeypatch.setattr(streams, name, build)

    count("event_frame")
    count("chunk_frame")
    monkeypatch.setattr(feeds.Reader.next, "__defaults__", (feeds.PAGE_EVENTS, 1))
    async with open_in_process() as inside:
        await _store(inside, [40] * 9)
        answer = await inside.call("GET", f"/v1/runs/{RUN}/events?streamMode={mode}&bufferMs={buffer_ms}")
    shown = _whole(answer.body, bool(buffer_ms))
    assert len(shown) == len(built) > 2
    assert set(built.values()) == {1}
    if buffer_ms:
        assert len(frames(answer.body)) == 1


@pytest.mark.parametrize("mode", MODES)
def test_the_proof_sees_a_byte_that_is_sent_twice(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = sse.SseStream._write_available

    async def twice(pump: Any, body: bytes, at: int = 0) -> int:
        return await honest(pump, body, max(at - 1, 0))

    async def work() -> bool:
        async with open_in_process() as inside:
            await _store(inside, [300] * 9)
            plain = (await inside.call("GET", f"/v1/runs/{RUN}/events?streamMode={mode}")).body
            monkeypatch.setattr(response_writer, "CHUNK_BYTES", 64)
            line = await _read(inside, f"streamMode={mode}", 1)
            assert line.waits > 1
            return bytes(line.body) == plain

    assert asyncio.run(work())
    monkeypatch.undo()
    monkeypatch.setattr(sse.SseStream, "_write_available", twice)
    assert not asyncio.run(work())


async def _holding(pump: Any, reader: Any) -> None:
    while not reader.ended:
        _, _, body = await pump._next_body(reader)
        at = await pump._write_available(body)
        while at < len(body):
            await pump._writer.drained()
            at = await pump._write_available(body, at)


@pytest.mark.parametrize("guarded", [True, False])
async def test_nothing_is_held_while_there_is_no_room(guarded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was made ready is gone when the wait begins: no variable of the coroutines holds a part of the stream."""
    if not guarded:
        monkeypatch.setattr(sse.SseStream, "_stream_events", _holding)
    held: list[int] = []
    honest = Moody.drained

    async def watched(line: Moody) -> None:
        held.append(max(map(_size, _variables())))
        await honest(line)

    monkeypatch.setattr(Moody, "drained", watched)

    async with open_in_process() as inside:
        await _store(inside, [200_000] * 9)
        await _read(inside, "streamMode=debug", 1)
    assert (max(held) <= response_writer.CHUNK_BYTES) is guarded


def _variables() -> list[Any]:
    """Of every coroutine of this request, from the one that waits outwards."""
    found: list[Any] = []
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not _read.__code__:
        found += frame.f_locals.values()
        frame = frame.f_back
    assert frame is not None
    return found


def _size(value: Any) -> int:
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, Event):
        return len(value.payload)
    return sum(map(_size, value)) if isinstance(value, list | tuple) else 0
