"""The node that sends requests, alone and in a host."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.nodes.fake_context import outcome_of
from tests.adapters.outbound.peer import (
    AUTHORITY,
    PRIVATE_ALLOWED,
    CountingPeer,
    FakeStepContext,
    ReceivedRequest,
    call,
    listening_peer,
    open_client,
    request_node,
    run,
    until,
)
from tests.harness.cases import each_case, fails_without
from tests.live import in_thread, open_in_process, start_host, write_workflows
from weftwork.adapters.outbound.guard import AddressGuard
from weftwork.ports.node_outcome import Completed, Failed
from weftwork.ports.outbound import FetchFailed, FetchRefused, OutboundRequest, OutboundResponse
from weftwork.protocol.net.address import parse_address
from weftwork.protocol.net.outbound import METHODS


class Client:
    """Answers from a list: a response, or what is raised."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.sent: list[OutboundRequest] = []

    async def fetch(self, request: OutboundRequest) -> OutboundResponse:
        self.sent.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def close(self) -> None: ...


def answered(status: int = 200, body: bytes = b"", kind: str = "text/plain") -> OutboundResponse:
    return OutboundResponse(status, (("Content-Type", kind), ("X-A", "1"), ("x-a", "2")), body, "https://api.test/end")


def outcome(config: dict[str, Any], client: Any, context: FakeStepContext | None = None, **inputs: Any) -> Any:
    given = call({"url": "https://api.test/", **config}, inputs, {"id": "7", "key": "k"})
    return run(lambda: outcome_of(request_node(client), given, context or FakeStepContext()))


def only(client: Client) -> OutboundRequest:
    (request,) = client.sent
    return request


def test_the_answer_by_port() -> None:
    found = outcome({}, Client(answered(201, b'{"a":[1]}', "application/json; charset=utf-8")))
    assert found == Completed(
        {
            "status": 201,
            "ok": True,
            "url": "https://api.test/end",
            "headers": {"content-type": "application/json; charset=utf-8", "x-a": "1, 2"},
            "body": {"a": [1]},
            "binary": False,
        }
    )
    # Any status may be an answer.
    found = outcome({"failOnStatus": False, "method": "POST"}, Client(answered(500, b"no")))
    assert (found.outputs["status"], found.outputs["ok"], found.outputs["body"]) == (500, False, "no")


@each_case(
    "body, kind, value, binary",
    (b'{"a":1}', "application/problem+json", {"a": 1}, False),
    (b'{"a":1,"a":2}', "application/json", '{"a":1,"a":2}', False),
    (b"[" * 500 + b"]" * 500, "application/json", "[" * 500 + "]" * 500, False),
    (b"[" + b"1," * 40_000 + b"1]", "application/json", [1] * 40_001, False),
    (b"", "application/json", "", False),
    ("grün".encode(), "text/html", "grün", False),
    ("grün".encode("latin-1"), "text/html; charset=ISO-8859-1", "grün", False),
    ("grün".encode("latin-1"), "text/html", None, True),
    (b"a\0b", "text/plain", None, True),
    (b"hello", "text/plain; charset=utf-7", None, True),
    (b"hello", "", "hello", False),
    (b"\xff\xfe", "", None, True),
    (b"hello", "image/png", None, True),
    (b"", "image/png", "", False),
)
def test_the_body_by_its_type(body: bytes, kind: str, value: Any, binary: bool) -> None:
    found = outcome({}, Client(answered(200, body, kind)))
    wanted = base64.b64encode(body).decode() if binary else value
    assert (found.outputs["body"], found.outputs["binary"]) == (wanted, binary)


def test_templates_and_ports_make_the_request() -> None:
    client = Client(answered())
    config = {
        "url": "https://api.test/{{variables.id}}",
        "method": "POST",
        "headers": {"Authorization": "Bearer {{variables.key}}", "X-Own": "config"},
        "body": "id={{variables.id}}",
        "timeoutMs": 5,
        "followRedirects": False,
    }
    assert isinstance(outcome(config, client, headers={"x-own": "port"}), Completed)
    sent = only(client)
    assert (sent.url, sent.method, sent.content) == ("https://api.test/7", "POST", b"id=7")
    assert (sent.timeout_ms, sent.redirects) == (5, False)
    assert sent.headers == (
        ("Authorization", "Bearer k"),
        ("x-own", "port"),
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Idempotency-Key", "key-of-request"),
    )
    # A port is no template.
    client = Client(answered())
    outcome({}, client, url="https://api.test/{{1 + 1}}")
    assert only(client).url == "https://api.test/{{1 + 1}}"


@each_case(
    "config, inputs, content, kind",
    ({"json": {"a": None}}, {}, b'{"a":null}', "application/json"),
    ({"json": "text"}, {}, b'"text"', "application/json"),
    ({"json": {"a": 1}}, {"body": "{{1 + 1}}"}, b"{{1 + 1}}", "text/plain; charset=utf-8"),
    ({"body": "x"}, {"body": [1]}, b"[1]", "application/json"),
    ({"body": "x", "headers": {"content-type": "text/csv"}}, {}, b"x", "text/csv"),
    ({}, {}, b"", ""),
)
def test_the_body_that_is_sent(config: dict[str, Any], inputs: dict[str, Any], content: bytes, kind: str) -> None:
    client = Client(answered())
    outcome({"method": "PUT", **config}, client, **inputs)
    sent = only(client)
    assert sent.content == content
    assert {name.lower(): value for name, value in sent.headers}.get("content-type", "") == kind


@each_case("method", "POST", "PUT", "PATCH", "DELETE")
def test_an_unsafe_request_carries_the_key_of_its_step(method: str) -> None:
    client, context = Client(answered()), FakeStepContext()
    outcome({"method": method}, client, context)
    assert ("Idempotency-Key", "key-of-request") in only(client).headers
    assert context.effects == ["once" if method in ("POST", "PATCH") else "idempotent"]
    own = Client(answered())
    outcome({"method": method, "headers": {"idempotency-key": "mine"}}, own)
    assert [value for name, value in only(own).headers if name.lower() == "idempotency-key"] == ["mine"]


@each_case("method", "GET", "HEAD", "OPTIONS")
def test_a_safe_request_is_no_step(method: str) -> None:
    client, context = Client(answered()), FakeStepContext()
    outcome({"method": method}, client, context)
    assert (only(client).headers, context.effects) == ((), [])


@each_case("method", "GET", "POST")
def test_without_url_or_client_or_with_a_broken_template_nothing_is_sent(method: str) -> None:
    client = Client()
    assert outcome({"method": method, "url": ""}, client).code == "node_input_missing"
    assert outcome({"method": method, "url": "https://{{variables.none.x}}/"}, client).code == "expression_failed"
    assert outcome({"method": method}, None).code == "fetch_failed"


REFUSED = FetchRefused("ssrf", "Not there.")
UNSENT, LOST = FetchFailed("No connection.", False), FetchFailed("Too slow.", True)


@each_case(
    "config, answer, code, retryable, again",
    ({}, REFUSED, "ssrf_blocked", False, 1),
    ({"method": "POST"}, REFUSED, "ssrf_blocked", False, 0),
    ({}, UNSENT, "fetch_failed", True, 1),
    ({}, LOST, "fetch_failed", True, 1),
    ({"method": "POST"}, UNSENT, "fetch_failed", True, 1),
    ({"method": "POST"}, LOST, "fetch_failed", False, 0),
    ({"method": "PATCH"}, LOST, "fetch_failed", False, 0),
    ({"method": "PUT"}, LOST, "fetch_failed", True, 1),
    ({"method": "POST", "effect": "idempotent"}, LOST, "fetch_failed", True, 1),
    ({}, answered(404), "http_status", False, 1),
    ({}, answered(503), "http_status", True, 1),
    ({}, answered(429), "http_status", True, 1),
    ({"method": "POST"}, answered(503), "http_status", False, 0),
    ({"method": "POST"}, answered(400), "http_status", False, 0),
    ({"method": "POST", "effect": "idempotent"}, answered(503), "http_status", True, 1),
    ({"method": "DELETE"}, answered(404), "http_status", False, 0),
)
def test_what_failed_and_what_may_be_sent_again(
    config: dict[str, Any], answer: Any, code: str, retryable: bool, again: int
) -> None:
    """`again` is how many requests another attempt of the node sends."""
    client, context = Client(answer, answered(), answered()), FakeStepContext()
    failed = outcome(config, client, context)
    assert isinstance(failed, Failed)
    assert (failed.code, failed.retryable) == (code, retryable)
    if isinstance(answer, OutboundResponse):
        assert failed.details == {"status": answer.status}
    second = outcome(config, client, context)
    assert len(client.sent) == 1 + again
    assert isinstance(second, Completed) == bool(again)
    keys = {dict(sent.headers).get("Idempotency-Key") for sent in client.sent}
    assert len(keys) == 1


async def test_on_a_real_socket_with_nothing_of_the_answer_in_its_error() -> None:
    async with listening_peer() as peer, open_client(PRIVATE_ALLOWED) as client:
        body = json.dumps({"secret": "inner"}).encode()
        peer.answer = b"HTTP/1.1 500 Inner secret\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        given = call({"method": "POST", "json": {"a": 1}}, {"url": f"http://127.0.0.1:{peer.port}/x"})
        failed: Any = await outcome_of(request_node(client), given, FakeStepContext())
    assert (failed.code, failed.details) == ("http_status", {"status": 500})
    assert "inner" not in repr(failed).lower()
    assert (peer.requests[0].body, peer.requests[0].headers["idempotency-key"]) == (b'{"a":1}', "key-of-request")


@each_case("said, outputs", (None, {}), ("it is there", {"body": "it is there"}), ({"receipt": 7}, {"receipt": 7}))
def test_a_person_who_says_that_it_was_done_need_not_know_the_answer(said: Any, outputs: dict[str, Any]) -> None:
    context = FakeStepContext()
    context.steps["request"] = said
    client = Client()
    assert outcome({"method": "POST"}, client, context) == Completed(outputs)
    assert client.sent == []


SEAM = "/v1/host/sample/http/safe-fetch"
OPEN = {"test_seams": True, "allow_private_network": True}


def flow(name: str, **config: Any) -> dict[str, Any]:
    """One request; the run's input says where to."""
    url = {"type": "variable", "variableName": "url"}
    node = {"id": "ask", "typeId": "core.http.request", "name": "Ask", "position": {"x": 0, "y": 0}}
    rest = {"edges": [], "triggers": [], "metadata": {}, "settings": {}}
    variables = [{"name": "url", "type": "string"}]
    nodes = [node | {"config": config, "inputs": {"url": url}}]
    return {"id": name, "name": name, "version": "1.0", "nodes": nodes, "variables": variables, **rest}


@pytest.mark.rule("disc-05")
@each_case("seams", False, True)
async def test_discovery_says_what_the_client_keeps(seams: bool) -> None:
    async with open_in_process(test_seams=seams, fetch_timeout_ms=1234, fetch_max_bytes=5678) as inside:
        shown = (await inside.call("GET", "/.well-known/openwop")).document["httpClient"]
        assert shown == {
            "supported": True,
            "ssrfGuard": True,
            "maxResponseBodyBytes": 5678,
            "requestTimeoutMs": 1234,
            "methods": list(METHODS),
            "safeFetch": {"supported": seams},
        }
        assert (await inside.call("POST", SEAM, {"url": "x"})).status == (200 if seams else 404)
    async with open_in_process(allow_private_network=True) as inside:
        assert "httpClient" not in (await inside.call("GET", "/.well-known/openwop")).document


async def test_the_seam_needs_a_key_and_a_url_and_tells_what_became_of_a_request() -> None:
    async with listening_peer() as peer, open_in_process(**OPEN, fetch_max_bytes=10) as inside:
        url = f"http://127.0.0.1:{peer.port}/a"

        async def tried(**body: Any) -> Any:
            answer = await inside.call("POST", SEAM, body)
            assert answer.status == 200, answer.body
            return answer.document

        assert await tried(url=url) == {"outcome": "fetched", "status": 200}
        init = {"method": "PUT", "headers": {"X-A": "b"}, "body": "ü", "redirect": "follow"}
        assert await tried(url=url, init=init) == {"outcome": "fetched", "status": 200}
        heard = peer.requests[-1]
        assert (heard.method, heard.body, heard.headers["x-a"]) == ("PUT", "ü".encode(), "b")
        upgrade = {"headers": {"Connection": "Upgrade", "Upgrade": "websocket"}}
        assert await tried(url=url, init=upgrade) == {"outcome": "blocked", "blocked": "upgrade"}
        assert await tried(url="https://169.254.169.254/") == {"outcome": "blocked", "blocked": "ssrf"}
        peer.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world"
        assert await tried(url=url) == {"outcome": "failed"}
        assert (await inside.call("POST", SEAM, {"url": "x"}, key="wrong")).status == 401
        for body in ({}, {"url": 1}, {"url": "x", "more": 1}, {"url": "x", "init": {"headers": {"a": 1}}}):
            assert (await inside.call("POST", SEAM, body)).status == 400


@pytest.mark.rule("out-05")
@fails_without(AddressGuard, "check", lambda self, text: parse_address(text), match="fetched")
async def test_a_name_that_moves_is_blocked() -> None:
    async with listening_peer() as trap:
        settings = {"test_seams": True, "fetch_http": True, "fetch_ports": (trap.port,)}
        async with open_in_process(**settings) as inside:
            for address in ("127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:7f00:1", "no address"):
                body = {"url": f"http://example.com:{trap.port}/", "simulateRebindTo": address}
                answer = await inside.call("POST", SEAM, body)
                assert answer.document == {"outcome": "blocked", "blocked": "ssrf"}, address
        assert trap.connections == 0


class Counter:
    """A sink that answers only when it is told to."""

    def __init__(self, peer: CountingPeer) -> None:
        self.go = asyncio.Event()
        self.keys: list[str | None] = []
        peer.answer = self.answer

    async def answer(self, heard: ReceivedRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.keys.append(heard.headers.get("idempotency-key"))
        await self.go.wait()
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{"n": 1}')


@pytest.mark.parametrize(
    ("config", "sent"),
    [
        ({"method": "POST", "json": {"a": 1}}, 1),
        ({"method": "POST", "json": {"a": 1}, "effect": "idempotent"}, 2),
        ({"method": "GET"}, 2),
    ],
)
async def test_a_request_that_a_kill_met_is_sent_again_only_if_it_may(
    tmp_path: Path, config: dict[str, Any], sent: int
) -> None:
    flows = write_workflows(tmp_path / "flows", flow("asking", **config))
    options = ("--workflows", flows, "--allow-private-network")
    async with listening_peer() as peer:
        sink = Counter(peer)
        with start_host(tmp_path, *options) as host:
            inputs = {"url": f"http://127.0.0.1:{peer.port}/pay"}
            run_id = await in_thread(lambda: host.create("asking", inputs=inputs))
            await until(lambda: sink.keys, "the request")
            await in_thread(host.kill)
        sink.go.set()
        with start_host(tmp_path, *options) as host:
            last: dict[str, Any] = {}

            def settled() -> bool:
                last.update(host.snapshot(run_id))
                return last["status"] in ("completed", "failed", "waiting-input", "waiting-external")

            while not await in_thread(settled):
                await asyncio.sleep(0.01)
        assert len(sink.keys) == sent
        assert len(set(sink.keys)) == 1
        assert (sink.keys[0] is None) == (config["method"] == "GET")
        assert (last["status"] == "completed") == (sent == 2), last


async def test_a_host_sends_over_tls(tmp_path: Path) -> None:
    """As it is started by people, with its own event loop."""
    flows = write_workflows(tmp_path / "flows", flow("asking"))
    options = ("--workflows", flows, "--allow-private-network")
    async with listening_peer(tls=True) as peer:
        inputs = {"url": f"https://127.0.0.1:{peer.port}/"}
        for env, status in (({"SSL_CERT_FILE": str(AUTHORITY)}, "completed"), ({}, "failed")):
            with start_host(tmp_path, *options, env=env) as host:
                run_id = await in_thread(lambda: host.create("asking", inputs=inputs))
                await in_thread(host.log, run_id)
                assert (await in_thread(host.snapshot, run_id))["status"] == status
                assert await in_thread(host.stop) == 0
        assert len(peer.requests) == 1


async def ended(flow: dict[str, Any], url: str, **settings: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A run of the flow to its end: its snapshot and its log."""
    async with open_in_process(flow, **settings) as inside:
        created = await inside.call("POST", "/v1/runs", {"workflowId": flow["id"], "inputs": {"url": url}})
        path = f"/v1/runs/{created.document['runId']}"
        shown: dict[str, Any] = {}
        while shown.get("status") not in ("completed", "failed"):
            shown = (await inside.call("GET", path)).document
            await asyncio.sleep(0.005)
        return shown, (await inside.call("GET", f"{path}/events/poll")).document["events"]


async def test_a_run_gets_the_answer_and_one_that_asks_for_the_inside_fails_by_name() -> None:
    async with listening_peer() as peer:
        peer.answer = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{"n": 1}'
        url = f"http://127.0.0.1:{peer.port}/"
        shown, log = await ended(flow("asking", method="POST", body="hello"), url, allow_private_network=True)
        done = next(event for event in log if event["type"] == "node.completed")
        assert done["payload"]["outputs"]["body"] == {"n": 1}, shown
        assert peer.connections == 1
    shown, _ = await ended(flow("asking"), "https://169.254.169.254/latest/meta-data")
    assert (shown["status"], shown["error"]["code"]) == ("failed", "ssrf_blocked")
