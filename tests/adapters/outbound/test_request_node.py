"""core.http.request: what it sends, what it gives, and what may be sent again."""

import base64
import json
from typing import Any

import pytest

from tests.adapters.nodes.fake_context import outcome_of
from tests.adapters.outbound.peer import PRIVATE_ALLOWED, CountingPeer, listening_peer, open_client, run
from tests.adapters.outbound.request_node import FakeStepContext, call, request_node
from weftwork.ports.node_outcome import Completed, Failed
from weftwork.ports.outbound import FetchFailed, FetchRefused, OutboundRequest, OutboundResponse


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


@pytest.mark.parametrize(
    ("body", "kind", "value", "binary"),
    [
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
    ],
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


@pytest.mark.parametrize(
    ("config", "inputs", "content", "kind"),
    [
        ({"json": {"a": None}}, {}, b'{"a":null}', "application/json"),
        ({"json": "text"}, {}, b'"text"', "application/json"),
        ({"json": {"a": 1}}, {"body": "{{1 + 1}}"}, b"{{1 + 1}}", "text/plain; charset=utf-8"),
        ({"body": "x"}, {"body": [1]}, b"[1]", "application/json"),
        ({"body": "x", "headers": {"content-type": "text/csv"}}, {}, b"x", "text/csv"),
        ({}, {}, b"", ""),
    ],
)
def test_the_body_that_is_sent(config: dict[str, Any], inputs: dict[str, Any], content: bytes, kind: str) -> None:
    client = Client(answered())
    outcome({"method": "PUT", **config}, client, **inputs)
    sent = only(client)
    assert sent.content == content
    assert {name.lower(): value for name, value in sent.headers}.get("content-type", "") == kind


def test_a_port_is_no_template() -> None:
    client = Client(answered())
    outcome({}, client, url="https://api.test/{{1 + 1}}")
    assert only(client).url == "https://api.test/{{1 + 1}}"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_an_unsafe_request_carries_the_key_of_its_step(method: str) -> None:
    client, context = Client(answered()), FakeStepContext()
    outcome({"method": method}, client, context)
    assert ("Idempotency-Key", "key-of-request") in only(client).headers
    assert context.effects == ["once" if method in ("POST", "PATCH") else "idempotent"]
    own = Client(answered())
    outcome({"method": method, "headers": {"idempotency-key": "mine"}}, own)
    assert [value for name, value in only(own).headers if name.lower() == "idempotency-key"] == ["mine"]


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_a_safe_request_is_no_step(method: str) -> None:
    client, context = Client(answered()), FakeStepContext()
    outcome({"method": method}, client, context)
    assert (only(client).headers, context.effects) == ((), [])


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_without_url_or_with_a_broken_template_nothing_is_sent(method: str) -> None:
    client = Client()
    assert outcome({"method": method, "url": ""}, client).code == "node_input_missing"
    assert outcome({"method": method, "url": "https://{{variables.none.x}}/"}, client).code == "expression_failed"


REFUSED = FetchRefused("ssrf", "Not there.")
UNSENT, LOST = FetchFailed("No connection.", False), FetchFailed("Too slow.", True)


@pytest.mark.parametrize(
    ("config", "answer", "code", "retryable", "again"),
    [
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
    ],
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


def test_a_status_may_be_an_answer_like_any_other() -> None:
    found = outcome({"failOnStatus": False, "method": "POST"}, Client(answered(500, b"no")))
    assert (found.outputs["status"], found.outputs["ok"], found.outputs["body"]) == (500, False, "no")


def test_without_a_client_nothing_is_sent() -> None:
    assert outcome({}, None).code == "fetch_failed"


async def test_on_a_real_socket_with_nothing_of_the_answer_in_its_error() -> None:
    async def work() -> tuple[CountingPeer, Any]:
        async with listening_peer() as peer, open_client(PRIVATE_ALLOWED) as client:
            body = json.dumps({"secret": "inner"}).encode()
            peer.answer = b"HTTP/1.1 500 Inner secret\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
            given = call({"method": "POST", "json": {"a": 1}}, {"url": f"http://127.0.0.1:{peer.port}/x"})
            return peer, await request_node(client).run(given, FakeStepContext())

    peer, failed = await work()
    assert (failed.code, failed.details) == ("http_status", {"status": 500})
    assert "inner" not in repr(failed).lower()
    assert (peer.requests[0].body, peer.requests[0].headers["idempotency-key"]) == (b'{"a":1}', "key-of-request")


@pytest.mark.parametrize(
    ("said", "outputs"), [(None, {}), ("it is there", {"body": "it is there"}), ({"receipt": 7}, {"receipt": 7})]
)
def test_a_person_who_says_that_it_was_done_need_not_know_the_answer(said: Any, outputs: dict[str, Any]) -> None:
    context = FakeStepContext()
    context.steps["request"] = said
    client = Client()
    assert outcome({"method": "POST"}, client, context) == Completed(outputs)
    assert client.sent == []
