"""Deltas between surfaces (RFC 0114) on a socket: `?a2uiDelta=1`."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.engine.sdk.model_callers import MODULE, CallerHost, caller_workflows, open_callers
from tests.harness.cases import each_case, fails_without
from tests.live import Frame, frames, in_thread, open_listening
from tests.live.listening_host import ListeningHost
from tests.live.stream import Stream
from weftwork.adapters.http.sse import SseStream
from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.json import schema
from weftwork.protocol.surfaces.delta import apply_patch
from weftwork.protocol.wire.surface_frames import DELTA_TYPE, SurfaceDeltas

LONG = [{"component": "text", "text": f"Paragraph {index}, which is the same in all surfaces."} for index in range(20)]
STEPS = ("Flights are searched.", "Flights are found.", "A flight is booked.")
SETTINGS: dict[str, Any] = {"test_seams": True, "conformance": True, "nodes": (MODULE,)}


def surface(steps: int) -> dict[str, Any]:
    """A surface that grows: it shows so many steps."""
    headings = [{"component": "heading", "text": step} for step in STEPS[:steps]]
    return {"catalogVersion": "0.9.1", "surface": {"title": "Trip", "components": [*headings, *LONG]}}


SURFACES = [surface(steps) for steps in (1, 2, 3)]
ANSWER = json.dumps([{"type": SURFACE_KIND, "payload": each} for each in SURFACES])


def reconstructed(found: list[Frame]) -> list[Any]:
    """Every payload that a client has after each frame of a surface."""
    held: dict[str, Any] = {}
    after: list[Any] = []
    for frame in found:
        if frame.event == SURFACE_KIND:
            held[frame.document["surfaceRef"]] = frame.document["payload"]
        elif frame.event == DELTA_TYPE:
            delta = frame.document["payload"]
            assert schema.check("a2ui-surface-delta-frame", delta) == []
            held[delta["surfaceRef"]] = apply_patch(held[delta["surfaceRef"]], delta["patch"])
        else:
            continue
        after.append(json.loads(json.dumps(held["prompt"])))
    return after


@pytest.fixture
async def served() -> AsyncIterator[ListeningHost]:
    async with open_listening(*caller_workflows(), **SETTINGS) as opened:
        yield opened


async def ended_run(served: ListeningHost) -> str:
    return await start(CallerHost(served.in_process))


async def start(callers: CallerHost) -> str:
    run_id = await callers.start("prompt", ANSWER)
    await callers.log(run_id)
    return run_id


async def stream(served: ListeningHost, run_id: str, query: str) -> list[Frame]:
    def read() -> bytes:
        return Stream(served.ask(f"/v1/runs/{run_id}/events{query}")).finish()

    return [each for each in frames(await in_thread(read)) if each.event in (SURFACE_KIND, DELTA_TYPE, "batch")]


@pytest.mark.rule("surf-53")
@each_case("mode", "updates", "debug", "updates,messages")
async def test_a_stream_with_deltas_gives_the_recorded_surfaces(served: ListeningHost, mode: str) -> None:
    run_id = await ended_run(served)
    whole = await stream(served, run_id, f"?streamMode={mode}")
    assert [each.event for each in whole] == [SURFACE_KIND] * 3
    assert [each.document["payload"] for each in whole] == SURFACES
    assert all("surfaceRef" not in each.document for each in whole)
    deltas = await stream(served, run_id, f"?streamMode={mode}&a2uiDelta=1")
    assert [each.event for each in deltas] == [SURFACE_KIND, DELTA_TYPE, DELTA_TYPE]
    assert [each.id for each in deltas] == [each.id for each in whole]
    assert reconstructed(deltas) == SURFACES
    assert len(deltas[1].raw) * 3 < len(whole[1].raw)
    assert await stream(served, run_id, f"?streamMode={mode}&a2uiDelta=0") == whole


@pytest.mark.rule("surf-53")
async def test_a_reader_that_reconnects_gets_a_whole_surface_first(served: ListeningHost) -> None:
    run_id = await ended_run(served)
    first, second, third = await stream(served, run_id, "?a2uiDelta=1")
    again = await stream(served, run_id, f"?a2uiDelta=1&lastEventId={first.id}")
    assert [each.event for each in again] == [SURFACE_KIND, DELTA_TYPE]
    assert [each.id for each in again] == [second.id, third.id]
    assert reconstructed(again) == SURFACES[1:]
    assert await stream(served, run_id, f"?a2uiDelta=1&lastEventId={third.id}") == []


@pytest.mark.rule("surf-53")
async def test_a_batch_has_the_same_frames(served: ListeningHost) -> None:
    run_id = await ended_run(served)
    plain = await stream(served, run_id, "?a2uiDelta=1")
    batches = await stream(served, run_id, "?a2uiDelta=1&bufferMs=50")
    documents = [document for batch in batches for document in batch.document]
    assert [each for each in documents if each["type"] in (SURFACE_KIND, DELTA_TYPE)] == [
        each.document for each in plain
    ]


@pytest.mark.rule("surf-53")
async def test_a_page_of_json_has_whole_surfaces_and_the_deltas_between_them() -> None:
    async with open_callers() as callers:
        run_id = await start(callers)
        path, headers = f"/v1/runs/{run_id}/events", {"accept": "application/json"}
        whole = (await callers.inside.call("GET", path, headers=headers)).document
        page = (await callers.inside.call("GET", f"{path}?a2uiDelta=1", headers=headers)).document
        assert [each["payload"] for each in whole["events"] if each["type"] == SURFACE_KIND] == SURFACES
        assert "deltas" not in whole
        assert schema.check("event-list", page) == []
        assert {**page, "deltas": []} == {**whole, "deltas": []}, "the events are those of the log"
        assert [each["type"] for each in page["deltas"]] == [DELTA_TYPE, DELTA_TYPE]
        recorded = [each["eventId"] for each in whole["events"] if each["type"] == SURFACE_KIND]
        assert [each["eventId"] for each in page["deltas"]] == recorded[1:]
        held: Any = SURFACES[0]
        for delta in page["deltas"]:
            held = apply_patch(held, delta["patch"])
        assert held == SURFACES[2]
        second = page["deltas"][0]["sequence"]
        later = (
            await callers.inside.call("GET", f"{path}?a2uiDelta=1&fromSequence={second}", headers=headers)
        ).document
        assert [each["sequence"] for each in later["deltas"]] == [page["deltas"][1]["sequence"]]
        for accept in ("application/json", "text/event-stream"):
            refused = await callers.inside.call("GET", f"{path}?a2uiDelta=yes", headers={"accept": accept})
            assert (refused.status, refused.document["error"]) == (400, "validation_error")
            assert "a2uiDelta must be 1" in refused.document["message"]


@pytest.mark.rule("surf-54")
async def test_discovery_offers_what_the_streams_do() -> None:
    async with open_callers() as callers:
        offered = (await callers.inside.call("GET", "/.well-known/openwop")).document
        assert (offered["a2uiSurface"]["deltaTransport"], SURFACE_KIND in offered["supportedEnvelopes"]) == (True, True)


def without_sent_state(stream: SseStream) -> None:
    stream._next_deltas = stream._deltas = stream._deltas or SurfaceDeltas()


@pytest.mark.rule("surf-53")
@fails_without(SseStream, "_begin_body", without_sent_state, errors=(KeyError, ValueError))
async def test_a_frame_that_is_encoded_again_has_the_same_bytes() -> None:
    """A client that does not read blocks its stream inside a frame; the rest of the frame is encoded again."""
    async with open_listening(*caller_workflows(), **SETTINGS) as served:
        run_id = await ended_run(served)
        expected = await stream(served, run_id, "?streamMode=debug&a2uiDelta=1")
        honest = SseStream._write_available
        cut: list[int] = []

        async def in_two(self: SseStream, body: bytes, at: int = 0) -> int:
            if at == 0 and b"event: ui.a2ui-surface.delta" in body and self._next_deltas is not None:
                cut.append(len(body))
                return await honest(self, body[:20])
            return await honest(self, body, at)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SseStream, "_write_available", in_two)
            assert await stream(served, run_id, "?streamMode=debug&a2uiDelta=1") == expected
        assert cut
