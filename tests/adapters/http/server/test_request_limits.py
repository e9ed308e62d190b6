"""What a hostile or broken client can send: sizes, encodings, evil JSON, junk in queries and paths, no HTTP at all."""

import asyncio
import contextlib
import http.client
import json
import select
import socket
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests import live
from tests.harness.cases import each_case
from tests.harness.definitions import node
from tests.live.steering import flow, register
from weftwork.adapters.http import message
from weftwork.adapters.http.app import App
from weftwork.adapters.http.message import Request
from weftwork.adapters.http.router import Router
from weftwork.engine.api.keyring import Keyring
from weftwork.protocol.json import schema
from weftwork.protocol.wire import idempotency, streams
from weftwork.protocol.wire.v1.routes import ROUTES, UNOFFERED_PATHS, split_path

CAP = 1_048_576
POSTS = ("/v1/runs", "/v1/runs/nowhere/cancel")
MARK = "s3cr3t-value"


def head(path: str, *lines: str, key: str = live.KEY) -> bytes:
    start = [f"POST {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {key}", "Content-Type: application/json"]
    return "\r\n".join([*start, *lines, "", ""]).encode()


def answer_of(connection: socket.socket) -> tuple[int, dict[str, str], Any]:
    """The one answer on a connection that the host then closes."""
    stream = live.Stream(connection)
    body = stream.raw
    with connection:
        while chunk := connection.recv(65_536):
            body += chunk
    return stream.status, stream.headers, json.loads(body)


def refused(answer: live.Answer, status: int, code: str) -> dict[str, Any]:
    assert (answer.status, answer.document["error"]) == (status, code), answer.body
    assert schema.check("error-envelope", answer.document) == []
    return answer.document.get("details", {})


@pytest.mark.rule("wire-04")
@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("expect", [(), ("Expect: 100-continue",)])
def test_a_declared_length_over_the_cap_is_refused_unread(host: live.Host, path: str, expect: tuple[str, ...]) -> None:
    connection = host.connect()
    connection.sendall(head(path, f"Content-Length: {CAP + 1}", *expect))
    status, headers, document = answer_of(connection)
    assert (status, document["error"], headers["connection"]) == (413, "payload_too_large", "close")
    assert document["details"] == {"maxRequestBodyBytes": CAP}
    assert schema.check("error-envelope", document) == []


@pytest.mark.rule("wire-04")
@pytest.mark.parametrize("path", POSTS)
def test_a_stream_of_chunks_is_refused_where_it_passes_the_cap(host: live.Host, path: str) -> None:
    connection = host.connect()
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    connection.sendall(head(path, "Transfer-Encoding: chunked") + chunk * (CAP // 65_536))
    connection.sendall(b"1\r\n \r\n")
    status, headers, document = answer_of(connection)
    assert (status, document["error"], headers["connection"]) == (413, "payload_too_large", "close")


@pytest.mark.rule("wire-04")
def test_an_endless_body_is_not_read_on(host: live.Host) -> None:
    def pour(connection: socket.socket) -> None:
        connection.sendall(head("/v1/runs", "Transfer-Encoding: chunked"))
        for _ in range(64):
            connection.sendall(b"100000\r\n" + b" " * CAP + b"\r\n")

    with host.connect() as connection, pytest.raises(ConnectionError):
        pour(connection)


@pytest.mark.rule("wire-04")
def test_a_body_of_exactly_the_cap_is_read(host: live.Host) -> None:
    body = json.dumps({"workflowId": "conformance-noop"}).encode().ljust(CAP)
    assert len(body) == CAP
    headers = {"Content-Type": "application/json"}
    assert host.call("POST", "/v1/runs", body=body, headers=headers).status == 201
    assert host.call("GET", "/.well-known/openwop").document["limits"]["maxRequestBodyBytes"] == CAP


def test_the_key_is_judged_before_the_size(host: live.Host) -> None:
    connection = host.connect()
    connection.sendall(head("/v1/runs", f"Content-Length: {CAP + 1}", key="wrong"))
    status, headers, _ = answer_of(connection)
    assert (status, headers["connection"]) == (401, "close")


@each_case("path", *POSTS)
@each_case("encoding", "gzip", "br", "deflate", "gzip, identity", "zstd", "")
def test_an_encoded_body_is_not_decoded(host: live.Host, path: str, encoding: str) -> None:
    headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}
    refused(host.call("POST", path, body=b"{}", headers=headers), 415, "unsupported_media_type")


@each_case("path", *POSTS)
@each_case("kind", "", "text/plain", "application/x-www-form-urlencoded", "application/jsonp", "json")
def test_another_media_type_is_refused(host: live.Host, path: str, kind: str) -> None:
    refused(host.call("POST", path, body=b"{}", headers={"Content-Type": kind}), 415, "unsupported_media_type")


@each_case("kind", "application/json", "APPLICATION/JSON", "application/json ; charset=utf-8")
def test_json_is_taken_with_its_parameters(host: live.Host, kind: str) -> None:
    headers = {"Content-Type": kind, "Content-Encoding": "identity"}
    body = json.dumps({"workflowId": "conformance-noop"}).encode()
    assert host.call("POST", "/v1/runs", body=body, headers=headers).status == 201


EVIL: dict[str, tuple[bytes, str]] = {
    "not UTF-8": (b'{"reason":"\xff%b"}' % MARK.encode(), ""),
    "overlong": (b'{"reason":"\xc0\x80"}', ""),
    "byte-order mark": (b'\xef\xbb\xbf{"reason":"x"}', ""),
    "UTF-16": (json.dumps({"reason": MARK}).encode("utf-16"), ""),
    "cut off": (b'{"reason":"%b' % MARK.encode(), ""),
    "empty text": (b" ", ""),
    "two documents": (b'{} {"reason":"%b"}' % MARK.encode(), ""),
    "comment": (b'{} // "%b"' % MARK.encode(), ""),
    "single quotes": (b"{'reason':'x'}", ""),
    "trailing comma": (b'{"reason":"x",}', ""),
    "raw newline": (b'{"reason":"a\nb"}', ""),
    "repeated member": (b'{"reason":"%b","reason":"y"}' % MARK.encode(), "/reason"),
    "repeated below": (b'{"a~/b":[{"x":1,"x":2}]}', "/a~0~1b/0/x"),
    "NaN": (b'{"reason":NaN}', "/reason"),
    "infinity": (b'{"reason":[-Infinity]}', "/reason/0"),
    "overflow": (b'{"reason":1e999}', "/reason"),
    "huge integer": (b'{"reason":9007199254740992}', "/reason"),
    "endless digits": (b'{"reason":%b}' % (b"9" * 6000), ""),
    "lone surrogate": (b'{"reason":"\\ud800%b"}' % MARK.encode(), "/reason"),
    "surrogate in a name": (b'{"\\udc00":1}', "/\\udc00"),
    "NUL": (b'{"reason":"%b\\u0000"}' % MARK.encode(), "/reason"),
    "too deep": (b'{"reason":' + b"[" * 64 + b"]" * 64 + b"}", "/reason" + "/0" * 63),
    "far too deep": (b"[" * 100_000, ""),
    "too many": (b'{"reason":[' + b"1," * 100_000 + b"1]}", "/reason"),
    "too many members": (b"[" + b"{}," * 100_000 + b"{}]", ""),
}


@pytest.mark.rule("json-01")
@each_case("path", *POSTS)
@each_case("name", *EVIL)
def test_evil_json_is_refused_by_pointer_and_never_repeated(host: live.Host, path: str, name: str) -> None:
    body, pointer = EVIL[name]
    answer = host.call("POST", path, body=body, headers={"Content-Type": "application/json"})
    assert refused(answer, 400, "validation_error")["pointer"] == pointer
    assert MARK not in answer.body.decode()


def nested(depth: int) -> Any:
    return {"a": nested(depth - 1)} if depth > 1 else {}


INVALID: dict[str, tuple[Any, str]] = {
    "empty": ({}, ""),
    "a list": ([MARK], ""),
    "a text": (MARK, ""),
    "a number": (5, ""),
    "null": (None, ""),
    "no text": ({"workflowId": [MARK]}, "/workflowId"),
    "empty id": ({"workflowId": ""}, "/workflowId"),
    "unknown workflow": ({"workflowId": MARK}, "/workflowId"),
    "undeclared": ({"workflowId": "conformance-noop", "extra": MARK}, "/extra"),
    "inputs": ({"workflowId": "conformance-noop", "inputs": MARK}, "/inputs"),
    "missing input": ({"workflowId": "conformance-idempotent"}, "/inputs/nonce"),
    "mistyped input": ({"workflowId": "conformance-delay", "inputs": {"delayMs": MARK}}, "/inputs/delayMs"),
    "tags": ({"workflowId": "conformance-noop", "tags": [""]}, "/tags/0"),
    "too many tags": ({"workflowId": "conformance-noop", "tags": [MARK] * 101}, "/tags"),
    "long tag": ({"workflowId": "conformance-noop", "tags": ["a", MARK * 30]}, "/tags/1"),
    "metadata": ({"workflowId": "conformance-noop", "metadata": [MARK]}, "/metadata"),
    "deep metadata": ({"workflowId": "conformance-noop", "metadata": nested(5)}, "/metadata"),
    "large metadata": ({"workflowId": "conformance-noop", "metadata": {"a": MARK * 1000}}, "/metadata"),
    "configurable": ({"workflowId": "conformance-noop", "configurable": MARK}, "/configurable"),
    "limit": (
        {"workflowId": "conformance-noop", "configurable": {"recursionLimit": 0}},
        "/configurable/recursionLimit",
    ),
    "timeout": ({"workflowId": "conformance-noop", "configurable": {"runTimeoutMs": 0}}, "/configurable/runTimeoutMs"),
    "callback": ({"workflowId": "conformance-noop", "callbackUrl": f"no url {MARK}"}, "/callbackUrl"),
}


@pytest.mark.rule("run-07", "schema-02")
@each_case("name", *INVALID)
def test_a_run_that_cannot_be_created_is_told_why(host: live.Host, name: str) -> None:
    document, pointer = INVALID[name]
    answer = host.call(
        "POST", "/v1/runs", body=json.dumps(document).encode(), headers={"Content-Type": "application/json"}
    )
    assert refused(answer, 400, "validation_error")["pointer"] == pointer
    assert MARK not in answer.body.decode()


JUNK = ["%FF", "&&&", "=", "a=%00", "&".join(["x=1"] * 101), "%F0%9F%A7%B6", "limit", "status[]=1", "x" * 4000]


@each_case("query", *JUNK)
def test_junk_in_a_query_is_never_our_failure(host: live.Host, query: str) -> None:
    for route in ROUTES:
        if route.method == "GET":
            path = route.path.replace("{runId}", "nowhere").replace("{workflowId}", "conformance-noop")
            answer = host.call("GET", f"{path}?{query}")
            assert answer.status in (200, 400, 404), (route.operation_id, answer.body)


def test_an_id_may_be_percent_encoded(host: live.Host) -> None:
    run_id = host.create("conformance-noop")
    encoded = "".join(f"%{ord(letter):02X}" for letter in run_id)
    assert host.call("GET", f"/v1/runs/{encoded}").document["runId"] == run_id
    assert host.call("GET", "/v1/workflows/conformance%2Dnoop").document["id"] == "conformance-noop"


@each_case("text", "%00", "%2F", "..", "%2e%2e", "%C3%28", "%", "%zz", "x" * 129, "%F0%9F%A7%B6", "a%3Ab")
def test_what_cannot_be_an_id_is_not_found(host: live.Host, text: str) -> None:
    for path in (
        f"/v1/runs/{text}",
        f"/v1/workflows/{text}",
        f"/v1/runs/{text}/events",
        f"/v1/runs/{text}/events/poll",
    ):
        refused(host.call("GET", path), 404, "not_found")
    refused(host.call("POST", f"/v1/runs/{text}/cancel"), 404, "not_found")


READS = [route for route in ROUTES if route.method == "GET" and "{token}" not in route.path]


def run_that_asks(host: live.Host) -> str:
    ask = node("ask", "core.interrupt", config={"kind": "custom", "data": {"customKind": "vendor.acme.ask"}})
    run_id = host.create(register(host, flow("limits-asks", [ask])))
    live.until(lambda: host.snapshot(run_id)["status"] == "waiting-input" or None, "the question")
    return run_id


@each_case("route", *READS, ids=lambda r: r.operation_id)
def test_head_is_get_without_the_body(host: live.Host, route: Any) -> None:
    made = node("made", "core.artifact.emit", config={"artifactType": "a", "data": 1})
    run_id = host.create(register(host, flow("limits-made", [made])))
    host.log(run_id)
    named = {
        "runId": run_id if route.operation_id != "getSurface" else run_that_asks(host),
        "surfaceId": "ask.1",
        "workflowId": "conformance-noop",
        "typeId": "core.noop",
        "artifactId": "made",
    }
    against = f"?against={run_id}"
    asked = {"diffRun": against, "diffRunOutcome": against, "getMockAiBudget": "?nodeId=made"}
    served = "error" if route.operation_id == "getEnvelopeSchema" else "run-event"
    named["schemaFile"] = f"{served}.schema.json"
    path = route.path.format(**named) + asked.get(route.operation_id, "")
    got, only_head = host.call("GET", path), host.call("HEAD", path)
    if route.stream:
        assert (only_head.status, only_head.headers["allow"]) == (405, "GET")
        return
    found = 404 if route.operation_id == "getOrganisationLogo" else 200
    assert (got.status, only_head.status, only_head.body) == (found, found, b"")
    names = ("content-type", "content-length", "etag", "cache-control")
    assert [only_head.headers.get(name) for name in names] == [got.headers.get(name) for name in names]


def test_a_connection_is_used_again_after_an_error(host: live.Host) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", host.port, timeout=60)
    headers = {"Authorization": f"Bearer {live.KEY}", "Content-Type": "application/json"}
    with contextlib.closing(connection):
        for method, path, body, status in (
            ("POST", "/v1/runs", "{", 400),
            ("GET", "/v1/runs/nowhere", None, 404),
            ("POST", "/v1/runs", '{"workflowId":"conformance-noop"}', 201),
            ("GET", "/v1/runs", None, 200),
        ):
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            assert (response.status, bool(response.read())) == (status, True)


@each_case(
    "request_, status",
    (b"HELLO\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: x\r\nBad Header: 1\r\n\r\n", 400),
    (b"GET /v1/runs/\xff HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    (b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
    (b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
    (b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    (b"OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 404),
    (b"GET http://elsewhere/health HTTP/1.1\r\nHost: x\r\n\r\n", 400),
)
def test_an_odd_request_gets_a_document_and_ends(host: live.Host, request_: bytes, status: int) -> None:
    connection = host.connect()
    connection.sendall(request_)
    answered, headers, document = answer_of(connection)
    assert (answered, headers["content-type"]) == (status, "application/json")
    assert schema.check("error-envelope", document) == []


TIMES = 20


@each_case(
    "size, key, kind, status",
    (CAP * 105 // 100, live.KEY, "application/json", 413),
    (CAP * 19 // 10, live.KEY, "application/json", 413),
    (900_000, "wrong", "application/json", 401),
    (900_000, live.KEY, "text/plain", 415),
)
def test_an_ordinary_client_always_reads_why_it_was_refused(
    host: live.Host, size: int, key: str, kind: str, status: int
) -> None:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": kind}
    seen: list[tuple[int, str]] = []
    for _ in range(TIMES):
        request = urllib.request.Request(f"{host.address}/v1/runs", b"x" * size, headers)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=60)
        with refused.value as answer:
            seen.append((answer.code, json.loads(answer.read())["error"]))
    assert len(set(seen)) == 1
    assert seen[0][0] == status


def _send_on(served: live.ListeningHost) -> tuple[int, Any]:
    """Begin to send, wait until the answer is there, and only then send the rest and read it."""
    rest = b"x" * 900_000
    head = f"POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\nContent-Length: {len(rest)}\r\n\r\n"
    with served.connect() as connection:
        connection.sendall(head.encode())
        assert select.select([connection], [], [], 120)[0]
        for at in range(0, len(rest), 50_000):
            connection.sendall(rest[at : at + 50_000])
        stream = live.Stream(connection)
        body = stream.raw
        while chunk := connection.recv(65_536):
            body += chunk
    return stream.status, json.loads(body)["error"]


def _refuse() -> tuple[int, Any]:
    async def work() -> tuple[int, Any]:
        async with live.open_listening() as served:
            return await live.in_thread(_send_on, served)

    return asyncio.run(work())


def test_a_client_may_send_on_after_the_answer() -> None:
    assert _refuse() == (401, "unauthenticated")


def test_a_connection_that_closes_with_the_answer_breaks_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(request: Request) -> None: ...

    monkeypatch.setattr(Request, "discard_body", nothing)
    with pytest.raises(ConnectionError):
        _refuse()


def test_a_body_that_never_ends_is_cut(host: live.Host) -> None:
    def pour(connection: socket.socket) -> None:
        start = "POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\n"
        connection.sendall(f"{start}Transfer-Encoding: chunked\r\n\r\n".encode())
        for _ in range(64):
            connection.sendall(b"100000\r\n" + b" " * CAP + b"\r\n")

    with host.connect() as connection, pytest.raises(ConnectionError):
        pour(connection)


def test_a_body_that_never_comes_is_not_waited_for(host: live.Host) -> None:
    with host.connect() as connection:
        connection.sendall(b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n")
        assert live.Stream(connection).status == 401
        while connection.recv(65_536):
            pass


Probe = Callable[[live.InProcessHost], Awaitable[live.Answer]]


def probe(ask: Probe) -> live.Answer:
    async def run() -> live.Answer:
        async with live.open_in_process(live.delays("short", 0, 0), live.delays("long", 15_000)) as inside:
            return await ask(inside)

    return asyncio.run(run())


@pytest.mark.rule("wire-04")
def test_without_the_cap_a_large_body_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def large(inside: live.InProcessHost) -> Awaitable[live.Answer]:
        return inside.call("POST", "/v1/runs", {"workflowId": "short", "inputs": {"x": "y" * 1_100_000}})

    assert probe(large).status == 413
    honest = App.__init__

    def boundless(app: App, keyring: Keyring, ids: Any, handlers: Any, max_bytes: int, *more: Any) -> None:
        honest(app, keyring, ids, handlers, max_bytes * 2, *more)

    monkeypatch.setattr(App, "__init__", boundless)
    assert probe(large).status == 201


@pytest.mark.rule("json-01")
def test_with_a_lenient_decoder_evil_json_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def evil(inside: live.InProcessHost) -> Awaitable[live.Answer]:
        return inside.call("POST", "/v1/runs", {"workflowId": "short", "inputs": {"x": "\ud800", "y": float("nan")}})

    assert probe(evil).status == 400
    monkeypatch.setattr(message, "decode", json.loads)
    assert probe(evil).status != 400


@pytest.mark.rule("auth-05")
def test_when_every_key_is_good_a_stranger_learns_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def stranger(inside: live.InProcessHost) -> Awaitable[live.Answer]:
        return inside.call("GET", "/v1/nothing", key="stranger")

    assert probe(stranger).status == 401
    monkeypatch.setattr(Keyring, "authenticate", lambda ring, key: None)
    assert probe(stranger).status == 404


@pytest.mark.rule("wire-03")
def test_when_a_verb_may_be_part_of_an_id_a_missing_verb_is_a_wrong_method(monkeypatch: pytest.MonkeyPatch) -> None:
    def halt(inside: live.InProcessHost) -> Awaitable[live.Answer]:
        return inside.call("PUT", "/v1/runs/x:halt", {})

    assert probe(halt).status == 404
    monkeypatch.setattr("weftwork.adapters.http.router.split_path", lambda path: (path.split("/")[1:], ""))
    assert probe(halt).status == 405


@pytest.mark.rule("wire-03")
def test_the_router_knows_every_path_of_the_table_and_no_other() -> None:
    router = Router(ROUTES, UNOFFERED_PATHS)
    for path in [*(route.path for route in ROUTES), *UNOFFERED_PATHS]:
        found = router.find(path.replace("{", "").replace("}", ""))
        assert found is not None, path
        assert (router.find(f"{path}:other") is not None) is path.endswith(
            ("{nodeId}", "{token}", "{surfaceId}", "{actionId}")
        )
        assert router.find(f"{path}/other/more") is None
    assert split_path("/v1/prompts:render") == (["v1", "prompts"], "render")
    assert [router.find(path) for path in ("", "*", "v1/runs", "/v1/runs:")] == [None] * 4


@pytest.mark.rule("poll-02")
def test_when_completeness_is_guessed_a_poll_ends_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    async def poll(inside: live.InProcessHost) -> live.Answer:
        run_id = (await inside.call("POST", "/v1/runs", {"workflowId": "long"})).document["runId"]
        return await inside.call("GET", f"/v1/runs/{run_id}/events/poll")

    assert probe(poll).document["isComplete"] is False
    monkeypatch.setattr(streams, "is_complete", lambda *_: True)
    assert probe(poll).document["isComplete"] is True


@pytest.mark.rule("dedup-01")
def test_when_the_header_is_not_read_a_scope_fills_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def twice(inside: live.InProcessHost) -> live.Answer:
        body = {"workflowId": "long", "scopeId": "s"}
        headers = {"x-dedup": "enforce"}
        await inside.call("POST", "/v1/runs", body, headers=headers)
        assert (await inside.call("POST", "/v1/runs", body, headers=headers, key=live.OTHER_KEY)).status == 201
        return await inside.call("POST", "/v1/runs", body, headers=headers)

    assert probe(twice).status == 409
    monkeypatch.setattr(idempotency, "parse_dedup", lambda value: False)
    assert probe(twice).status == 201
