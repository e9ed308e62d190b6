"""What a hostile or broken client can send: sizes, encodings, evil JSON, junk in queries and paths, no HTTP at all."""

import contextlib
import http.client
import json
import socket
from typing import Any

import pytest

from tests.harness.definitions import node
from tests.live import KEY, Answer, Host, Stream
from tests.live.steering import flow, register
from weftwork.protocol.json import schema
from weftwork.protocol.wire.v1.routes import ROUTES

CAP = 1_048_576
POSTS = ("/v1/runs", "/v1/runs/nowhere/cancel")
MARK = "s3cr3t-value"


def head(path: str, *lines: str, key: str = KEY) -> bytes:
    start = [f"POST {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {key}", "Content-Type: application/json"]
    return "\r\n".join([*start, *lines, "", ""]).encode()


def answer_of(connection: socket.socket) -> tuple[int, dict[str, str], Any]:
    """The one answer on a connection that the host then closes."""
    stream = Stream(connection)
    body = stream.raw
    with connection:
        while chunk := connection.recv(65_536):
            body += chunk
    return stream.status, stream.headers, json.loads(body)


def refused(answer: Answer, status: int, code: str) -> dict[str, Any]:
    assert (answer.status, answer.document["error"]) == (status, code), answer.body
    assert schema.check("error-envelope", answer.document) == []
    return answer.document.get("details", {})


@pytest.mark.rule("wire-04")
@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("expect", [(), ("Expect: 100-continue",)])
def test_a_declared_length_over_the_cap_is_refused_unread(host: Host, path: str, expect: tuple[str, ...]) -> None:
    connection = host.connect()
    connection.sendall(head(path, f"Content-Length: {CAP + 1}", *expect))
    status, headers, document = answer_of(connection)
    assert (status, document["error"], headers["connection"]) == (413, "payload_too_large", "close")
    assert document["details"] == {"maxRequestBodyBytes": CAP}
    assert schema.check("error-envelope", document) == []


@pytest.mark.rule("wire-04")
@pytest.mark.parametrize("path", POSTS)
def test_a_stream_of_chunks_is_refused_where_it_passes_the_cap(host: Host, path: str) -> None:
    connection = host.connect()
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    connection.sendall(head(path, "Transfer-Encoding: chunked") + chunk * (CAP // 65_536))
    connection.sendall(b"1\r\n \r\n")
    status, headers, document = answer_of(connection)
    assert (status, document["error"], headers["connection"]) == (413, "payload_too_large", "close")


@pytest.mark.rule("wire-04")
def test_an_endless_body_is_not_read_on(host: Host) -> None:
    def pour(connection: socket.socket) -> None:
        connection.sendall(head("/v1/runs", "Transfer-Encoding: chunked"))
        for _ in range(64):
            connection.sendall(b"100000\r\n" + b" " * CAP + b"\r\n")

    with host.connect() as connection, pytest.raises(ConnectionError):
        pour(connection)


@pytest.mark.rule("wire-04")
def test_a_body_of_exactly_the_cap_is_read(host: Host) -> None:
    body = json.dumps({"workflowId": "conformance-noop"}).encode().ljust(CAP)
    assert len(body) == CAP
    headers = {"Content-Type": "application/json"}
    assert host.call("POST", "/v1/runs", body=body, headers=headers).status == 201
    assert host.call("GET", "/.well-known/openwop").document["limits"]["maxRequestBodyBytes"] == CAP


def test_the_key_is_judged_before_the_size(host: Host) -> None:
    connection = host.connect()
    connection.sendall(head("/v1/runs", f"Content-Length: {CAP + 1}", key="wrong"))
    status, headers, _ = answer_of(connection)
    assert (status, headers["connection"]) == (401, "close")


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate", "gzip, identity", "zstd", ""])
def test_an_encoded_body_is_not_decoded(host: Host, path: str, encoding: str) -> None:
    headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}
    refused(host.call("POST", path, body=b"{}", headers=headers), 415, "unsupported_media_type")


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "application/jsonp", "json"])
def test_another_media_type_is_refused(host: Host, path: str, kind: str) -> None:
    refused(host.call("POST", path, body=b"{}", headers={"Content-Type": kind}), 415, "unsupported_media_type")


@pytest.mark.parametrize("kind", ["application/json", "APPLICATION/JSON", "application/json ; charset=utf-8"])
def test_json_is_taken_with_its_parameters(host: Host, kind: str) -> None:
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
@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("name", EVIL)
def test_evil_json_is_refused_by_pointer_and_never_repeated(host: Host, path: str, name: str) -> None:
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
@pytest.mark.parametrize("name", INVALID)
def test_a_run_that_cannot_be_created_is_told_why(host: Host, name: str) -> None:
    document, pointer = INVALID[name]
    answer = host.call(
        "POST", "/v1/runs", body=json.dumps(document).encode(), headers={"Content-Type": "application/json"}
    )
    assert refused(answer, 400, "validation_error")["pointer"] == pointer
    assert MARK not in answer.body.decode()


JUNK = ["%FF", "&&&", "=", "a=%00", "&".join(["x=1"] * 101), "%F0%9F%A7%B6", "limit", "status[]=1", "x" * 4000]


@pytest.mark.parametrize("query", JUNK, ids=range(len(JUNK)))
def test_junk_in_a_query_is_never_our_failure(host: Host, query: str) -> None:
    for route in ROUTES:
        if route.method == "GET":
            path = route.path.replace("{runId}", "nowhere").replace("{workflowId}", "conformance-noop")
            answer = host.call("GET", f"{path}?{query}")
            assert answer.status in (200, 400, 404), (route.operation_id, answer.body)


def test_an_id_may_be_percent_encoded(host: Host) -> None:
    run_id = host.create("conformance-noop")
    encoded = "".join(f"%{ord(letter):02X}" for letter in run_id)
    assert host.call("GET", f"/v1/runs/{encoded}").document["runId"] == run_id
    assert host.call("GET", "/v1/workflows/conformance%2Dnoop").document["id"] == "conformance-noop"


@pytest.mark.parametrize(
    "text", ["%00", "%2F", "..", "%2e%2e", "%C3%28", "%", "%zz", "x" * 129, "%F0%9F%A7%B6", "a%3Ab"]
)
def test_what_cannot_be_an_id_is_not_found(host: Host, text: str) -> None:
    for path in (
        f"/v1/runs/{text}",
        f"/v1/workflows/{text}",
        f"/v1/runs/{text}/events",
        f"/v1/runs/{text}/events/poll",
    ):
        refused(host.call("GET", path), 404, "not_found")
    refused(host.call("POST", f"/v1/runs/{text}/cancel"), 404, "not_found")


READS = [route for route in ROUTES if route.method == "GET" and "{token}" not in route.path]


@pytest.mark.parametrize("route", READS, ids=lambda r: r.operation_id)
def test_head_is_get_without_the_body(host: Host, route: Any) -> None:
    made = node("made", "core.artifact.emit", config={"artifactType": "a", "data": 1})
    run_id = host.create(register(host, flow("limits-made", [made])))
    host.log(run_id)
    named = {"runId": run_id, "workflowId": "conformance-noop", "typeId": "core.noop", "artifactId": "made"}
    asked = {"diffRun": f"?against={run_id}", "getMockAiBudget": "?nodeId=made"}
    served = "error" if route.operation_id == "getEnvelopeSchema" else "run-event"
    named["schemaFile"] = f"{served}.schema.json"
    path = route.path.format(**named) + asked.get(route.operation_id, "")
    got, only_head = host.call("GET", path), host.call("HEAD", path)
    if route.stream:
        assert (only_head.status, only_head.headers["allow"]) == (405, "GET")
        return
    assert (only_head.status, only_head.body) == (200, b"")
    names = ("content-type", "content-length", "etag", "cache-control")
    assert [only_head.headers.get(name) for name in names] == [got.headers.get(name) for name in names]


def test_a_connection_is_used_again_after_an_error(host: Host) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", host.port, timeout=60)
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
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


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"HELLO\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nBad Header: 1\r\n\r\n", 400),
        (b"GET /v1/runs/\xff HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 404),
        (b"GET http://elsewhere/health HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ],
)
def test_an_odd_request_gets_a_document_and_ends(host: Host, request_: bytes, status: int) -> None:
    connection = host.connect()
    connection.sendall(request_)
    answered, headers, document = answer_of(connection)
    assert (answered, headers["content-type"]) == (status, "application/json")
    assert schema.check("error-envelope", document) == []
