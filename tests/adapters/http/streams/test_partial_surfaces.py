"""Partial surfaces on a socket: a scripted model writes a surface in small pieces while readers watch."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.engine.sdk.model_callers import MODULE, caller_workflows
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import node
from tests.harness.scripted_model import ScriptedModel
from tests.live import Frame, Stream, frames, in_thread, open_listening
from tests.live.host import OTHER_KEY
from tests.live.listening_host import ListeningHost, until
from tests.live.workflows import chain
from weftwork.engine.run.live_run import LiveRun
from weftwork.engine.streams import feeds, partial_surfaces
from weftwork.ports.models import ProviderFault
from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.json import schema
from weftwork.protocol.wire.surface_frames import PARTIAL_TYPE

HEADING = {"component": "heading", "text": "Your trip"}
FIELD = {"component": "field.text", "id": "who", "label": "Who comes?", "required": True}
BUTTON = {"component": "action.button", "id": "book", "label": "Book", "action": {"target": "resume"}}
FORM = {"catalogVersion": "0.9.1", "surface": {"title": "A trip", "components": [HEADING, FIELD, BUTTON]}}
ANSWER = json.dumps({"type": SURFACE_KIND, "payload": FORM})
HOSTILE = ANSWER.replace('"action.button"', '"html"')
SECRET = "secret-4711"
SECRETIVE = chain(
    "secretive",
    [node("secretive", "core.ai.callPrompt", config={"prompt": "Well?"})],
    variables=[{"name": "pin", "type": "string", "sensitive": True, "defaultValue": SECRET}],
)
QUIET = chain("quiet", [node("one"), node("two")])
CONTRACT = {"accepts": ["vendor.acme.plan"], "refusalMode": "discard-and-warn"}
GATED = chain("gated", [node("gated", "core.ai.callPrompt", config={"prompt": "?"}, envelopeContract=CONTRACT)])
RETRIED = chain("retried", [node("retried", "core.ai.callPrompt", config={"prompt": "?"}, settings={"maxRetries": 1})])


class Script:
    """An answer in pieces. The model waits before each part after the first until the test lets it continue."""

    def __init__(self, *parts: str, step: int = 5) -> None:
        self.gates = [asyncio.Event() for _ in parts[1:]]
        self.pieces: list[Any] = []
        for at, part in enumerate(parts):
            self.pieces += [self.gates[at - 1]] if at else []
            self.pieces += [part[start : start + step] for start in range(0, len(part), step)]

    def close(self) -> None:
        """Let the model write everything."""
        for each in self.pieces:
            if isinstance(each, asyncio.Event):
                each.set()

    def proceed(self) -> None:
        next(each for each in self.gates if not each.is_set()).set()


def split_after(text: str, *marks: str) -> list[str]:
    """The text in parts, each of which ends with the component that contains the mark."""
    parts: list[str] = []
    for mark in marks:
        end = text.index("}", text.index(mark)) + 1
        parts, text = [*parts, text[:end]], text[end:]
    return [*parts, text]


def by_component(text: str = ANSWER) -> Script:
    return Script(*split_after(text, "Your trip", '"required"'))


@asynccontextmanager
async def opened(monkeypatch: pytest.MonkeyPatch, *answers: Any) -> AsyncIterator[ListeningHost]:
    settings: dict[str, Any] = {"test_seams": True, "conformance": True, "nodes": (MODULE,)}
    async with open_listening(*caller_workflows(), SECRETIVE, RETRIED, QUIET, GATED, **settings) as served:
        model = ScriptedModel(*[each.pieces if isinstance(each, Script) else each for each in answers])
        monkeypatch.setattr(type(served.host.models), "find", lambda _models, _request: model)
        made: list[socket.socket] = []
        ask = served.ask

        def ask_and_keep(path: str) -> socket.socket:
            made.append(connection := ask(path))
            return connection

        monkeypatch.setattr(served, "ask", ask_and_keep)
        try:
            yield served
        finally:
            for each in (*answers, *made):
                each.close()


class Watcher:
    """A reader of one run."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    async def frames(self, count: int, kind: str = PARTIAL_TYPE) -> list[Frame]:
        """All frames, once it has so many of this type."""
        name = f"event: {kind}\n".encode()
        body = await in_thread(
            self.stream.read_until, lambda body: body.count(name) >= count and body.endswith(b"\n\n")
        )
        return frames(body)

    def close(self) -> None:
        self.stream.connection.close()


async def watch(served: ListeningHost, run_id: str, query: str = "") -> Watcher:
    connection = served.ask(f"/v1/runs/{run_id}/events{query}")
    connection.settimeout(5)
    return Watcher(await in_thread(Stream, connection))


def partials(found: list[Frame]) -> list[Any]:
    """The components of each partial surface; None for one that is void."""
    documents = [each.document for each in found if each.event == PARTIAL_TYPE]
    return [None if each["isVoid"] else each["payload"]["surface"]["components"] for each in documents]


async def stored(served: ListeningHost, run_id: str) -> list[dict[str, Any]]:
    path = f"/v1/runs/{run_id}/events"
    page = await served.in_process.call("GET", path, headers={"accept": "application/json"})
    return page.document["events"]


@pytest.mark.rule("surf-51", "env-27")
@each_case("name", "surface", "prompt", "chat")
@each_case("mode", "updates", "debug", "updates,messages")
def test_a_surface_is_shown_as_it_grows(name: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        script = by_component()
        async with opened(monkeypatch, script) as served:
            run_id = await served.create(name)
            reader = await watch(served, run_id, f"?streamMode={mode}")
            assert partials(await reader.frames(1)) == [[HEADING]]
            script.proceed()
            assert partials(await reader.frames(2)) == [[HEADING], [HEADING, FIELD]]
            script.proceed()
            found = await reader.frames(1, "node.suspended")
            shown = [each for each in found if each.event == PARTIAL_TYPE]
            assert partials(shown)[:2] == [[HEADING], [HEADING, FIELD]]
            (final,) = [each for each in found if each.event == SURFACE_KIND]
            assert found.index(final) > found.index(shown[-1])
            assert final.document["payload"] == FORM
            assert {each.id for each in shown} == {""}
            for at, each in enumerate(shown):
                document = each.document
                assert schema.check("run-event", document) == []
                assert document["partial"] == {"isPartial": True, "index": at, "total": -1}
                assert (document["type"], document["nodeId"], document["surfaceRef"]) == (PARTIAL_TYPE, name, name)
                assert document["sequence"] < final.document["sequence"]
                assert document["payload"]["surface"]["title"] == "A trip"
            events = await stored(served, run_id)
            assert PARTIAL_TYPE not in {each["type"] for each in events}
            assert "".join(each["payload"]["chunk"] for each in events if each["type"] == "output.chunk") == ANSWER
            assert served.host._feeds._partial_surfaces.runs == {}

    asyncio.run(work())


@pytest.mark.rule("surf-51")
def test_a_reader_that_reconnects_gets_the_current_state(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        script = by_component()
        async with opened(monkeypatch, script) as served:
            run_id = await served.create("surface")
            first = await watch(served, run_id)
            last_id = [each.id for each in await first.frames(1) if each.id][-1]
            first.close()
            await until(lambda: served.readers == 0, "the reader to leave")
            script.proceed()
            await until(lambda: served.host._feeds._partial_surfaces._number == 2, "the second component")
            again = await watch(served, run_id, f"?lastEventId={last_id}")
            assert partials(await again.frames(1)) == [[HEADING, FIELD]]
            script.proceed()
            found = await again.frames(1, "node.suspended")
            assert [each.event for each in found if each.event == SURFACE_KIND] == [SURFACE_KIND]
            # A reader that comes too late sees only what is recorded.
            late = await watch(served, run_id)
            assert partials(await late.frames(1, "node.suspended")) == []

    asyncio.run(work())


async def until_void(served: ListeningHost, run_id: str, *scripts: Script) -> list[Any]:
    """The partial surfaces of a reader from the first component of the first script until one is void. The others
    wait."""
    reader = await watch(served, run_id)
    assert partials(await reader.frames(1)) == [[HEADING]]
    while any(not each.is_set() for each in scripts[0].gates):
        scripts[0].proceed()
    body = await in_thread(reader.stream.read_until, lambda body: b'"isVoid":true' in body and body.endswith(b"\n\n"))
    return partials(frames(body))


@pytest.mark.rule("surf-51")
def test_a_partial_surface_that_is_refused_is_void_and_its_correction_is_shown() -> None:
    async def work(monkeypatch: pytest.MonkeyPatch) -> None:
        bad, good = by_component(ANSWER.replace('"resume"', '"exchange"')), by_component(ANSWER)
        good.pieces.insert(0, held := asyncio.Event())
        async with opened(monkeypatch, bad, good) as served:
            run_id = await served.create("surface")
            found = await until_void(served, run_id, bad)
            assert (found[0], found[-1]) == ([HEADING], None)
            again = await watch(served, run_id)
            held.set()
            # A reader that saw nothing of the void surface gets no frame about it.
            assert partials(await again.frames(1)) == [[HEADING]]
            good.close()
            last = await again.frames(1, "node.suspended")
            assert [each.document["payload"] for each in last if each.event == SURFACE_KIND] == [FORM]
            assert None not in partials(last)

    with pytest.MonkeyPatch.context() as patch:
        asyncio.run(work(patch))


@pytest.mark.rule("surf-50")
def test_a_hostile_component_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        bad, good = by_component(HOSTILE + " "), by_component()
        good.pieces.insert(0, asyncio.Event())
        async with opened(monkeypatch, bad, good) as served:
            run_id = await served.create("surface")
            found = await until_void(served, run_id, bad)
            assert found[0] == [HEADING]
            assert found[-1] is None
            assert set(map(str, found[1:-1])) <= {str([HEADING, FIELD])}

    asyncio.run(work())


@pytest.mark.rule("surf-51")
@each_case("name, second", ("retried", "A plain text."), ("prompt", None))
def test_a_surface_that_is_cut_off_is_void(name: str, second: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        cut = Script(*split_after(ANSWER[: ANSWER.index('"label"')], "Your trip"))
        cut.pieces.append(ProviderFault("provider_unavailable", "Cut.", second is not None))
        later = Script("", second or "")
        async with opened(monkeypatch, cut, later) as served:
            run_id = await served.create(name)
            reader = await watch(served, run_id)
            assert partials(await reader.frames(1)) == [[HEADING]]
            for gate in cut.gates:
                gate.set()
            if second is not None:
                assert partials(await reader.frames(2))[-1] is None
                for gate in later.gates:
                    gate.set()
            # The end of the node or of the run says the same: the stream closes after it.
            body = await in_thread(reader.stream.finish)
            events = [each.event for each in frames(body)]
            assert events[-1] == ("run.failed" if second is None else "run.completed")
            assert served.host._feeds._partial_surfaces.runs == {}

    asyncio.run(work())


@pytest.mark.rule("surf-51")
@each_case("query", "?streamMode=messages", "?streamMode=values")
def test_other_modes_have_no_partial_surfaces(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        script = by_component()
        async with opened(monkeypatch, script) as served:
            run_id = await served.create("surface")
            reader = await watch(served, run_id, query)
            sign = "ai.message.chunk" if "messages" in query else "state.snapshot"
            await reader.frames(1, sign)
            while any(not each.is_set() for each in script.gates):
                script.proceed()
            other = await watch(served, run_id)
            await other.frames(1, "node.suspended")
            cancelled = await served.in_process.call("POST", f"/v1/runs/{run_id}/cancel", {})
            assert cancelled.status < 300
            found = frames(await in_thread(reader.stream.finish))
            assert {each.event for each in found} == {sign}

    asyncio.run(work())


def test_a_buffered_stream_has_them_as_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        script = by_component()
        async with opened(monkeypatch, script) as served:
            run_id = await served.create("surface")
            reader = await watch(served, run_id, "?bufferMs=20")
            body = await in_thread(
                reader.stream.read_until, lambda body: PARTIAL_TYPE.encode() in body and body.endswith(b"\n\n")
            )
            found = frames(body)
            assert {each.event for each in found} == {"batch"}
            assert (found[-1].id, [each["type"] for each in found[-1].document]) == ("", [PARTIAL_TYPE])

    asyncio.run(work())


def not_redacted(_run: LiveRun, _node_id: str, payload: dict[str, Any]) -> dict[str, Any]:
    return payload


@pytest.mark.rule("surf-51")
@fails_without(LiveRun, "_visible_surface", not_redacted)
def test_a_secret_is_masked_also_if_its_json_is_escaped() -> None:
    async def work(monkeypatch: pytest.MonkeyPatch) -> None:
        # The chunks hold the secret in a form that is not its text.
        hidden = SECRET.replace("s", "\\u0073")
        script = by_component(ANSWER.replace("Your trip", f"Your trip {hidden}"))
        async with opened(monkeypatch, script) as served:
            run_id = await served.create("secretive")
            reader = await watch(served, run_id)
            found = partials(await reader.frames(1))
            assert SECRET not in json.dumps(found)
            assert "REDACTED" in json.dumps(found)

    with pytest.MonkeyPatch.context() as patch:
        asyncio.run(work(patch))


@pytest.mark.rule("surf-51")
@fails_without(LiveRun, "_visible_surface", not_redacted)
def test_a_surface_that_its_node_does_not_accept_is_not_shown() -> None:
    async def work(monkeypatch: pytest.MonkeyPatch) -> None:
        script = by_component()
        async with opened(monkeypatch, script, Script("No form.")) as served:
            run_id = await served.create("gated")
            reader = await watch(served, run_id, "?streamMode=debug")
            await reader.frames(len(ANSWER[: ANSWER.index("}")]) // 5, "output.chunk")
            script.close()
            found = frames(await in_thread(reader.stream.finish))
            assert partials(found) == []
            assert SURFACE_KIND not in {each.event for each in found}

    with pytest.MonkeyPatch.context() as patch:
        asyncio.run(work(patch))


def test_another_tenant_sees_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        script, others = (
            by_component(),
            by_component(ANSWER.replace("Your trip", "Another trip").replace("A trip", "Your trip")),
        )
        async with opened(monkeypatch, script, others) as served:
            run_id = await served.create("surface")
            reader = await watch(served, run_id)
            await reader.frames(1)
            path = f"/v1/runs/{run_id}/events"
            refused = await served.in_process.call("GET", path, key=OTHER_KEY)
            assert (refused.status, refused.document["error"]) == (404, "not_found")
            made = await served.in_process.call("POST", "/v1/runs", {"workflowId": "surface"}, key=OTHER_KEY)
            assert made.status == 201
            held = served.host._feeds._partial_surfaces
            await until(lambda: len(held.runs) == 2, "the other run")
            script.proceed()
            found = partials(await reader.frames(2))
            assert "Another" not in json.dumps(found)
            assert {each.partition for each in held.runs} == {"live:acme", "live:other"}

    asyncio.run(work())


@pytest.mark.rule("surf-51")
def test_a_run_without_an_answer_in_progress_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    updated: list[Any] = []

    def update(_surfaces: Any, *arguments: Any) -> None:
        updated.append(arguments)

    async def work() -> None:
        async with opened(monkeypatch) as served:
            monkeypatch.setattr(partial_surfaces.PartialSurfaces, "update", update)
            await served.in_process.run_log("quiet")

    monkeypatch.setattr(feeds, "PartialSurfaces", partial_surfaces.PartialSurfaces)
    asyncio.run(work())
    assert updated == []
