"""Debug bundles over HTTP: whole or broken off, at their cap, with media, for their owner alone, in little memory."""

import asyncio
import base64
import contextlib
import hashlib
import http.client
import itertools
import json
import logging
import os
import re
import socket
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from tests import live
from tests.harness.cases import each_case
from tests.harness.definitions import edge, node, variable, workflow
from tests.live import assets
from tests.live.fixtures import host_fixture
from tests.live.listening_host import until
from tests.protocol.privacy.test_credential_patterns import CREDENTIALS
from tests.readers.process_stats import forget_peak, memory, peak
from weftwork.adapters.http.response_writer import ResponseWriter
from weftwork.adapters.http.routes import review as module
from weftwork.adapters.http.server.connection import Connection
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.json import schema
from weftwork.protocol.media.asset_references import media_ref
from weftwork.protocol.privacy.redaction import Redactor
from weftwork.protocol.review.debug_bundle import EVENTS_TRUNCATED, MAX_BYTES, MAX_SPANS
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import Owner, RunHeader
from weftwork.protocol.run.projection import Projection
from weftwork.wiring.data_folder import DATABASE_FILE

NOBODY = "01zzzzzzzzzzzzzzzzzzzzzzzz"
SECRET = "canary of the night 5e0f/+"
ECHO = workflow(
    [
        node("echo", "core.identity", inputs={"x": {"type": "variable", "variableName": "text"}}),
        node("tell", "core.log", config={"message": "it goes on"}),
        node("hide", "core.identity", inputs={"x": {"type": "variable", "variableName": "secret"}}),
    ],
    [edge("echo", "tell"), edge("tell", "hide")],
    [variable("text"), variable("secret", sensitive=True)],
    id="bundle-echo",
)
plain = host_fixture(workflows=[ECHO], store="memory")
"""A host without seams."""


def finished(host: live.Host, workflow_id: str, **members: Any) -> str:
    run_id = host.create(workflow_id, **members)
    host.log(run_id)
    return run_id


@pytest.mark.rule("bundle-01")
@each_case("flow", "conformance-noop", "conformance-multi-node", "conformance-failure")
def test_a_bundle_has_what_polling_gives(host: live.Host, flow: str) -> None:
    run_id = finished(host, flow)
    answer = host.call("GET", f"/v1/runs/{run_id}/debug-bundle")
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-01", answer.headers["traceparent"])
    document = answer.document
    assert schema.check("debug-bundle", document) == []
    assert document["events"] == host.log(run_id)
    assert document["metrics"]["eventCount"] == len(document["events"])
    shown = host.snapshot(run_id)
    assert {**shown, **document["run"]} == {**document["run"], **shown}
    assert document["spans"][0]["name"] == "openwop.run"


@pytest.mark.rule("bundle-01", "trace-03")
def test_the_spans_are_in_the_callers_trace(host: live.Host) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    headers = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
    made = host.call("POST", "/v1/runs", {"workflowId": "conformance-noop"}, headers=headers).document
    host.log(made["runId"])
    spans = host.call("GET", f"/v1/runs/{made['runId']}/debug-bundle").document["spans"]
    assert {span["traceId"] for span in spans} == {trace}
    assert all(re.fullmatch("[0-9a-f]{16}", span["spanId"]) for span in spans)


@pytest.mark.rule("bundle-04", "bundle-09")
def test_max_events_is_a_number_of_events(host: live.Host) -> None:
    run_id = finished(host, "conformance-multi-node")
    path = f"/v1/runs/{run_id}/debug-bundle"
    count = len(host.log(run_id))
    for most in (1, 2, count - 1):
        document = host.call("GET", f"{path}?maxEvents={most}").document
        assert (len(document["events"]), document["truncated"]) == (most, True)
        assert document["metrics"]["eventCount"] == count
        assert document["truncatedReason"] == EVENTS_TRUNCATED
    for most in (count, 2**53 - 1):
        document = host.call("GET", f"{path}?maxEvents={most}").document
        assert (document["truncated"], document["metrics"]["eventCount"]) == (False, count)
    for bad in ("0", "-1", "", "a", "1.5", "1e3", "9007199254740992", "%C2%B2", "1,2"):
        answer = host.call("GET", f"{path}?maxEvents={bad}")
        assert (answer.status, answer.document["error"]) == (400, "validation_error"), bad
        assert answer.document["details"]["parameter"] == "maxEvents"


@pytest.mark.rule("bundle-05", "auth-03")
def test_a_bundle_is_for_the_owner_of_the_run(host: live.Host) -> None:
    run_id = finished(host, "conformance-noop")
    for key in (live.OTHER_KEY, live.TEST_KEY):
        theirs = host.call("GET", f"/v1/runs/{run_id}/debug-bundle", key=key)
        nobodys = host.call("GET", f"/v1/runs/{NOBODY}/debug-bundle", key=key)
        assert (theirs.status, theirs.body) == (nobodys.status, nobodys.body)
        assert theirs.status == 404
    assert host.call("GET", f"/v1/runs/{run_id}/debug-bundle", key=None).status == 401
    only_head = host.call("HEAD", f"/v1/runs/{run_id}/debug-bundle")
    assert (only_head.status, only_head.body) == (200, b"")


def forms(secret: str) -> dict[str, bytes]:
    """A text as it may come out when somebody has passed it on."""
    raw = secret.encode()
    return {
        "plain": raw,
        "json": json.dumps(secret)[1:-1].encode(),
        "base64": base64.b64encode(raw).rstrip(b"="),
        "base64url": base64.urlsafe_b64encode(raw).rstrip(b"="),
        "hex": raw.hex().encode(),
        "url": quote(secret).encode(),
        "url, all of it": quote(secret, safe="").encode(),
    }


@pytest.mark.rule("bundle-02")
def test_no_credential_no_sensitive_value_and_nothing_of_the_machine_comes_out(plain: live.Host) -> None:
    planted = dict(CREDENTIALS.items())
    inputs = {"text": "\n".join(planted.values()), "secret": SECRET, "deep": {"list": [SECRET, *planted.values()]}}
    run_id = finished(plain, "bundle-echo", inputs=inputs, metadata={"k": planted["model key"]}, tags=[SECRET])
    body = plain.call("GET", f"/v1/runs/{run_id}/debug-bundle").body
    assert schema.check("debug-bundle", json.loads(body)) == []
    for name, secret in planted.items():
        assert json.dumps(secret)[1:-1].encode() not in body, name
    # A tag is what its caller wants to be read; everything else is masked.
    for name, form in forms(SECRET).items():
        assert form not in body.replace(json.dumps([SECRET]).encode(), b""), name
    assert body.count(b"[REDACTED:") > len(planted)
    run_id = finished(plain, "bundle-echo", inputs={"text": "hello"})
    text = plain.call("GET", f"/v1/runs/{run_id}/debug-bundle").body.decode()
    for name in (socket.gethostname(), str(plain.data), str(Path.cwd()), str(Path.home()), "127.0.0.1", "sqlite"):
        assert name not in text or len(name) < 4


def annotate(host: live.Host, run_id: str, **body: Any) -> dict[str, Any]:
    answer = host.call("POST", f"/v1/runs/{run_id}/annotations", {"signal": {"kind": "flag"}, **body})
    assert answer.status == 201, answer.body
    return answer.document


@pytest.mark.rule("bundle-10", "bundle-02")
def test_annotations_are_in_the_bundle_without_credentials_and_sensitive_values(plain: live.Host) -> None:
    run_id = finished(plain, "bundle-echo", inputs={"text": "hello", "secret": SECRET})
    path = f"/v1/runs/{run_id}/debug-bundle"
    assert plain.call("GET", path).document["annotations"] == []
    key = CREDENTIALS["model key"]
    first = annotate(plain, run_id, note="too slow", target={"nodeId": "tell"})
    annotate(plain, run_id, note=f"I used {key} and {SECRET}", signal={"kind": "correction", "correction": key})
    answer = plain.call("GET", path)
    assert schema.check("debug-bundle", answer.document) == []
    shown = answer.document["annotations"]
    assert (shown[0], len(shown), "annotationsTruncated" in answer.document) == (first, 2, False)
    assert shown[1]["signal"] == {"kind": "correction", "correction": "[REDACTED:credential]"}
    assert shown[1]["note"].startswith("[REDACTED:") or shown[1]["note"].startswith("I used [REDACTED:credential]")
    assert key.encode() not in answer.body
    assert SECRET.encode() not in answer.body


async def test_the_proof_sees_a_sensitive_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Redactor, "hide_payload", lambda self, kind, node_id, payload: (payload, []))
    async with live.open_listening(ECHO) as served:
        run_id = await served.create("bundle-echo", inputs={"text": "x", "secret": SECRET})
        path = f"/v1/runs/{run_id}"
        while (await served.in_process.call("GET", path)).document["status"] != "completed":
            await asyncio.sleep(0)
        assert forms(SECRET)["json"] in (await served.in_process.call("GET", f"{path}/debug-bundle")).body


LONG = "long-run-0000000000"


async def long_run(served: live.ListeningHost, count: int, size: int) -> str:
    """An ended run of so many events, straight in the store."""
    header = RunHeader(LONG, "live:acme", Owner("acme", "key_1"), "w", "d", 1_000)
    kinds = ["run.started", *["acme.thing"] * (count - 2), "run.completed"]
    payload = msgspec.json.encode({"text": "x" * size})
    events = tuple(Event(LONG, at, f"e-{at:08}", kind, 1_000, payload) for at, kind in enumerate(kinds))
    await served.log.create(header, first=Batch(events, Projection("completed", count - 1, 1_000, 1_000)))
    return f"/v1/runs/{LONG}/debug-bundle"


def fetch(port: int, path: str) -> tuple[int, bytes]:
    """Status and body; raises IncompleteRead for an answer that is broken off."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        connection.request("GET", path, headers={"Authorization": f"Bearer {live.KEY}"})
        answer = connection.getresponse()
        return answer.status, answer.read()


@pytest.mark.rule("bundle-04", "bundle-05")
async def test_a_run_that_is_too_long_is_cut_to_the_cap() -> None:
    async with live.open_listening() as served:
        status, body = await live.in_thread(fetch, served.port, await long_run(served, 10_000, 1_000))
    document = json.loads(body)
    assert (status, document["truncated"], document["truncatedReason"]) == (200, True, EVENTS_TRUNCATED)
    assert MAX_BYTES - 3_000 < len(body) <= MAX_BYTES
    assert document["metrics"]["eventCount"] == 10_000
    assert [event["sequence"] for event in document["events"]] == list(range(len(document["events"])))


async def cut(good: int) -> tuple[int, bytes]:
    """A bundle whose log cannot be read from its page `good` on."""
    async with live.open_listening() as served:
        path = await long_run(served, 2_000, 1_000)
        honest, pages = served.log.read, itertools.count(1)

        async def read(*arguments: Any) -> Any:
            if next(pages) > good:
                raise StoreUnavailable("away")
            return await honest(*arguments)

        served.log.read = read
        return await live.in_thread(fetch, served.port, path)


@pytest.mark.rule("bundle-05")
@pytest.mark.parametrize("good", [0, 1, 5, 20])
async def test_a_bundle_that_cannot_be_finished_is_broken_off(good: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
        await cut(good)
    assert "store unavailable" in caplog.messages


async def test_otherwise_half_of_it_would_look_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    async def as_frames(out: ResponseWriter, data: bytes, more: bool = True) -> None:
        await out._send_message({"type": "http.response.body", "body": data, "more_body": more})
        out._at_boundary = more

    monkeypatch.setattr(ResponseWriter, "write_part", as_frames)
    status, body = await cut(5)
    assert status == 200
    with pytest.raises(json.JSONDecodeError):
        json.loads(body)


def connections() -> list[Connection]:
    """The connections of requests that are being answered."""
    found: list[Any] = [task.get_coro() for task in asyncio.all_tasks()]
    return [coro.cr_frame.f_locals["self"].scope["weftwork.connection"] for coro in found if "run_asgi" in repr(coro)]


@pytest.mark.rule("bundle-07")
@pytest.mark.parametrize("reset", [False, True], ids=["closes", "resets"])
def test_a_bundle_is_made_no_further_than_its_reader_takes_it(monkeypatch: pytest.MonkeyPatch, reset: bool) -> None:
    """It waits for a reader who does not read, and ends when that one goes away."""
    ended: list[str] = []
    honest = module._stream_chunks

    async def noted(*arguments: Any) -> None:
        try:
            await honest(*arguments)
            ended.append("whole")
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    monkeypatch.setattr(module, "_stream_chunks", noted)

    async def work() -> None:
        async with live.open_listening() as served:
            path = await long_run(served, 8_000, 1_000)
            pages = [0]
            honest_read = served.log.read

            async def read(*arguments: Any) -> Any:
                pages[0] += 1
                return await honest_read(*arguments)

            served.log.read = read
            before = len(asyncio.all_tasks())
            connection = await live.in_thread(served.ask, path, 4096)
            await until(lambda: any(each.is_full for each in connections()), "the connection to be full")
            seen = pages[0]
            # The buffers of the socket take some of it, and no more is read for the rest.
            assert 0 < seen < 110
            assert ended == []
            if reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            connection.close()
            await until(lambda: ended, "the end of it")
            assert ended == ["cancelled"]
            assert pages[0] <= seen + 1
            await until(lambda: len(asyncio.all_tasks()) <= before, "nothing to be left")

    asyncio.run(work())


FULL = os.environ.get("WEFTWORK_PROOF") == "full"
EVENTS = 200_000 if FULL else 60_000
PART = 5_000
ALLOWED = 12 * 2**20
"""What the host may need for a bundle, less than two of them; a log of that length is many times more."""

START = 1_790_000_000_000


def event(at: int) -> Event:
    """Nodes that start, say two things, and end."""
    name = f"node{at // 4}"
    kind, payload = [
        ("node.started", {"nodeId": name, "typeId": "core.noop", "attempt": 1}),
        ("log.appended", {"level": "info", "message": "on the way to https://example.com/"}),
        ("log.appended", {"level": "info", "message": "x" * 80}),
        ("node.completed", {"nodeId": name, "outputs": {}}),
    ][at % 4]
    return Event(LONG, at, f"e-{at:012}", kind, START + at, msgspec.json.encode(payload), name)


async def write(data: Path) -> None:
    header = RunHeader(LONG, "live:acme", Owner("acme", "key_1"), "w", "none", START)
    store = SqliteStore(data / DATABASE_FILE)
    await store.open()
    try:
        await store.log.create(header)
        for first in range(0, EVENTS, PART):
            last = first + PART - 1
            status = "completed" if last == EVENTS - 1 else "running"
            projection = Projection(status, last, START, START if status == "completed" else None)
            await store.log.append(header.key, first - 1, Batch(tuple(map(event, range(first, last + 1))), projection))
    finally:
        await store.close()


@pytest.mark.rule("bundle-04", "bundle-07")
def test_the_bundle_of_a_long_run_takes_little_memory(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    asyncio.run(write(data))
    with live.start_host(tmp_path, data=data) as host:
        path = f"/v1/runs/{LONG}/debug-bundle"
        host.call("GET", f"{path}?maxEvents=1000")
        forget_peak(host)
        before = memory(host)
        answer = host.call("GET", path)
        assert peak(host) - before < ALLOWED
    document = json.loads(answer.body)
    assert MAX_BYTES - 1_000 < len(answer.body) <= MAX_BYTES
    assert (document["truncated"], document["truncatedReason"]) == (True, EVENTS_TRUNCATED)
    assert document["metrics"]["eventCount"] == EVENTS
    assert [each["sequence"] for each in document["events"]] == list(range(len(document["events"])))
    assert (len(document["spans"]), document["spansTruncated"]) == (MAX_SPANS, True)


EXPORT = "/v1/host/sample/test/debug-bundle/export"
seamed = host_fixture("--conformance", "--test-seams", store="memory")


def media(bundle: dict[str, Any]) -> list[dict[str, Any]]:
    return [event["payload"] for event in bundle["events"] if event["type"].startswith("media.")]


@pytest.mark.rule("bundle-08", "media-55")
def test_every_medium_of_a_bundle_opens_by_its_url(seamed: live.Host) -> None:
    run_id = seamed.create("conformance-media-emit")
    logged = media({"events": seamed.log(run_id)})
    answer = seamed.call("GET", f"/v1/runs/{run_id}/debug-bundle")
    exported = seamed.call("POST", EXPORT, {"runId": run_id})
    assert media(answer.document) == media(exported.document) == media(exported.document["bundle"])
    assert len(media(answer.document)) == len(logged) == 5
    assert [name for each in logged for name in ("base64", "url") if name in each].count("base64") == 2
    for shown, before in zip(media(answer.document), logged, strict=True):
        assert {**before, "base64": None, "url": None} == {**shown, "base64": None, "url": None}
        served = assets.fetch(seamed, shown["url"])
        assert (served.status, len(served.body)) == (200, shown["bytes"])
    for body in (answer.body, exported.body):
        assert b'"base64"' not in body
        assert re.search(rb"[A-Za-z0-9+/=_-]{1025}", body) is None


@pytest.mark.rule("bundle-08")
def test_base64_in_inputs_is_left_out(seamed: live.Host) -> None:
    text = "QUJD" * 20_000
    run_id = seamed.create("conformance-noop", inputs={"scan": f"data:image/png;base64,{text}", "note": "stays"})
    seamed.log(run_id)
    answer = seamed.call("GET", f"/v1/runs/{run_id}/debug-bundle")
    assert len(answer.body) < 10_000
    assert media_ref(hashlib.sha256(b"ABC" * 20_000).hexdigest()).encode() in answer.body
    assert b"stays" in answer.body
    assert seamed.call("GET", f"/v1/runs/{run_id}/debug-bundle", key=live.OTHER_KEY).status == 404
