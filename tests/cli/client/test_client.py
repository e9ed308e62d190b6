"""The client that the commands share: requests, answers, and what it says when there is none."""

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from tests.cli.foreign_host import HANG_UP, KEY, CannedResponse, ForeignHost, ReceivedRequest, open_foreign_host
from tests.harness.cases import each_case
from tests.live import delays
from weftwork.cli.client import http_client as client_module
from weftwork.cli.client import transport
from weftwork.cli.client import transport as connection
from weftwork.cli.client.errors import EXIT_UNREACHABLE, HostUnreachable, RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.protocol.run.header import STATUSES
from weftwork.protocol.wire.v1.paths import path_for

NOBODY = "http://127.0.0.1:1"


def asking(host: ForeignHost, timeout: float = 10) -> Client:
    client = Client(host.url, KEY, timeout)
    client.notify = lambda text: None
    return client


def in_turn(*answers: CannedResponse) -> Callable[[ReceivedRequest], CannedResponse]:
    """Each answer once; the last one for ever."""
    left = list(answers)
    return lambda asked: left.pop(0) if len(left) > 1 else left[0]


def test_a_request_carries_the_key_and_its_parameters(foreign: ForeignHost) -> None:
    foreign.replies["GET /base/v1/runs/a%2Fb"] = CannedResponse(200, {"ok": [1.5, None, "ä"]})
    client = Client(foreign.url + "/base/", KEY)
    assert client.get(path_for("getRun", runId="a/b"), status=["a b", "c&d"], no=None, yes=True) == {
        "ok": [1.5, None, "ä"]
    }
    asked = foreign.requests[0]
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.query == {"status": ["a b", "c&d"], "yes": ["true"]}
    assert (client.url, client.has_key) == (foreign.url + "/base", True)


def test_bodies_are_sent_and_empty_answers_are_none(foreign: ForeignHost) -> None:
    foreign.replies |= {
        "POST /v1/runs": CannedResponse(201, {"runId": "r"}),
        "DELETE /v1/runs/r": CannedResponse(204, raw=b""),
    }
    client = asking(foreign)
    assert client.post("/v1/runs", {"workflowId": "w"}, idempotency_key="k-1") == {"runId": "r"}
    assert client.delete("/v1/runs/r") is None
    sent, deleted = foreign.requests
    assert (sent.body, sent.headers["idempotency-key"]) == ({"workflowId": "w"}, "k-1")
    assert sent.headers["content-type"] == "application/json"
    assert (deleted.body, "idempotency-key" in deleted.headers) == (None, False)


def test_without_a_key_none_is_sent(foreign: ForeignHost) -> None:
    foreign.replies["GET /v1/runs"] = CannedResponse(401, {"error": "unauthenticated", "message": "No."})
    with pytest.raises(RequestRefused) as refused:
        Client(foreign.url, None).get("/v1/runs")
    assert "authorization" not in foreign.requests[0].headers
    assert "weftwork keys create" in refused.value.format_message()


def refusal(status: int, code: str, message: str, **details: Any) -> CannedResponse:
    return CannedResponse(status, {"error": code, "message": message, **({"details": details} if details else {})})


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        (
            refusal(401, "unauthenticated", "No."),
            "unauthenticated",
            "does not accept this API key; pass another key with --key",
        ),
        (refusal(401, "key_expired", "No."), "key_expired", "has expired; pass another key with --key"),
        (CannedResponse(401, raw=b"<html>"), "", "does not accept this API key"),
        (
            refusal(403, "forbidden", "Scope."),
            "forbidden",
            "Scope (forbidden); this key is not permitted to do this; check its scopes with `weftwork keys ls`",
        ),
        (refusal(404, "not_found", "No run."), "not_found", "No run (not_found); check the id, and that"),
        (
            CannedResponse(404, raw=b"<html>nope"),
            "",
            "responded with 404 Not Found; check that --url is the base URL of an OpenWOP v1 host",
        ),
        (
            CannedResponse(429, {"error": "rate_limited", "message": "Slow."}, {"Retry-After": "90"}),
            "rate_limited",
            "in 90 s",
        ),
        (CannedResponse(503, raw=b""), "", "responded with 503 Service Unavailable; try again later"),
        (refusal(501, "capability_not_provided", "No"), "capability_not_provided", "does not support the operation"),
        (
            CannedResponse(307, raw=b"", headers={"Location": "http://b\x1b[2J"}),
            "",
            "redirects to http://b\\u{1b}[2J, and redirects are not followed; pass that address with --url",
        ),
        (
            refusal(500, "internal_error", "Oh.", correlationId="c-9"),
            "internal_error",
            "Oh (internal_error); search the host's log for c-9.",
        ),
        (
            refusal(400, "validation_error", "Bad", pointer="/inputs/a"),
            "validation_error",
            "Bad (validation_error).\n  at /inputs/a",
        ),
        (
            refusal(400, "validation_error", "Bad", supported=["a", 2]),
            "validation_error",
            "Bad (validation_error).\n  supported: a, 2",
        ),
        # What hosts say that do not keep to the protocol.
        (CannedResponse(400, {"error": {"code": "bad", "message": "Inner."}}), "bad", "Inner (bad)."),
        (CannedResponse(422, {"detail": "No such thing."}), "", "No such thing."),
        (CannedResponse(400, {"title": "Title", "status": 400}), "", "Title."),
        (CannedResponse(409, {"error": "conflict"}), "conflict", "conflict (conflict)."),
        (CannedResponse(400, ["what"]), "", "responded with 400 Bad Request."),
        (CannedResponse(400, {"error": 5, "message": {}, "details": []}), "", "responded with 400 Bad Request."),
    ],
)
def test_a_refusal_says_what_happened_and_what_to_do(
    foreign: ForeignHost, said: CannedResponse, code: str, words: str
) -> None:
    foreign.replies["POST /v1/runs"] = said
    with pytest.raises(RequestRefused) as refused:
        asking(foreign).post("/v1/runs")
    shown = refused.value.format_message()
    assert (refused.value.status, refused.value.code, refused.value.exit_code) == (said.status, code, 7)
    assert words in shown
    assert KEY not in shown
    assert len(foreign.requests) == 1


@pytest.mark.parametrize(
    ("said", "lines"),
    [
        (
            refusal(400, "validation_error", "This gate takes accept, reject.", supported=["accept", "reject"]),
            {0: "This gate takes accept, reject (validation_error)."},
        ),
        (
            refusal(400, "validation_error", "No.", supported=[f"kind-{at}" for at in range(60)]),
            {1: f"  supported: {', '.join(f'kind-{at}' for at in range(50))} and others"},
        ),
        (
            refusal(
                400,
                "validation_error",
                "Wrong.",
                pointer="",
                violations=[{"pointer": f"/nodes/{at}", "message": "is wrong"} for at in range(30)],
            ),
            {1: "  at /nodes/0: is wrong", 11: "  and 20 more"},
        ),
    ],
)
def test_nothing_is_said_twice_and_many_places_or_alternatives_are_cut(
    foreign: ForeignHost, said: CannedResponse, lines: dict[int, str]
) -> None:
    foreign.replies["POST /v1/runs"] = said
    with pytest.raises(RequestRefused) as refused:
        asking(foreign).post("/v1/runs")
    shown = refused.value.format_message().splitlines()
    assert {at: shown[at] for at in lines} == lines
    assert len(shown) == max(lines) + 1


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"<html>hello", "is not valid JSON: The document is not valid JSON"),
        (b'{"a": 1, "a": 2}', "An object repeats a member name."),
        (b"\xff", "not valid UTF-8"),
    ],
)
def test_an_answer_is_decoded_strictly(foreign: ForeignHost, raw: bytes, words: str) -> None:
    foreign.replies["GET /v1/runs"] = CannedResponse(200, raw=raw)
    with pytest.raises(HostUnreachable, match=words):
        asking(foreign).get("/v1/runs")


def test_an_answer_beyond_the_bound_is_not_read(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MAX_RESPONSE_BYTES", 1000)
    foreign.replies["GET /v1/runs"] = CannedResponse(200, raw=b'"' + b"x" * 997 + b'"')
    assert asking(foreign).get("/v1/runs") == "x" * 997
    foreign.replies["GET /v1/runs"] = CannedResponse(200, raw=b'"' + b"x" * 1000 + b'"')
    with pytest.raises(HostUnreachable, match="larger than"):
        asking(foreign).get("/v1/runs")


@each_case(
    "url",
    "",
    "127.0.0.1:8787",
    "ftp://x",
    "http://",
    "http://x:99999",
    "http://x:0",
    "http://a b",
    "http://x/\x1b",
    "http://[1",
)
def test_an_address_that_is_none_is_a_mistake_of_the_caller(url: str) -> None:
    with pytest.raises(
        click.UsageError, match=r"--url must be an http or https URL, such as http://127\.0\.0\.1:8787"
    ) as error:
        Client(url, None)
    assert error.value.exit_code == 2


@pytest.mark.parametrize("url", ["http://me:secret@x", "http://x/?a=secret", "http://x/#secret"])
def test_an_address_may_hold_no_secret(url: str) -> None:
    with pytest.raises(click.UsageError) as error:
        Client(url, None)
    assert "secret" not in error.value.format_message()


@each_case("key", "a b", "a\r\nX-Other: 1", "schlüssel", "\x7f")
def test_a_key_that_is_none_is_not_sent_and_not_shown(key: str) -> None:
    with pytest.raises(click.UsageError) as error:
        Client("http://x", key)
    assert key not in error.value.format_message()


def test_a_redirect_is_not_followed(foreign: ForeignHost) -> None:
    with open_foreign_host() as other:
        other.replies["GET /v1/runs"] = CannedResponse(200, {})
        foreign.replies["GET /v1/runs"] = CannedResponse(302, raw=b"", headers={"Location": f"{other.url}/v1/runs"})
        with pytest.raises(RequestRefused, match=r"redirects to .*, and redirects are not followed"):
            asking(foreign).get("/v1/runs")
        assert other.requests == []


def test_a_refusal_is_read_although_the_body_was_not(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign.replies["POST /v1/runs"] = CannedResponse(413, {"error": "payload_too_large", "message": "Too large."})
    send = transport.http.client.HTTPConnection.request

    def half(self: Any, method: str, target: str, body: Any, headers: dict[str, str]) -> None:
        send(self, method, target, None, headers)
        raise BrokenPipeError

    monkeypatch.setattr(transport.http.client.HTTPConnection, "request", half)
    with pytest.raises(RequestRefused) as refused:
        asking(foreign).post("/v1/runs", {"inputs": {}})
    assert refused.value.code == "payload_too_large"


def test_proxies_of_the_environment_are_not_asked(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign.replies["GET /v1/runs"] = CannedResponse(200, {})
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, NOBODY)
    monkeypatch.delenv("no_proxy", raising=False)
    assert asking(foreign).get("/v1/runs") == {}


def test_a_host_that_asks_to_wait_is_asked_again(foreign: ForeignHost) -> None:
    busy = CannedResponse(503, {"error": "service_unavailable", "message": "Full."}, {"Retry-After": "0"})
    limited = CannedResponse(429, {"error": "rate_limited", "message": "Slow.", "details": {"retryAfter": 0}})
    in_flight = CannedResponse(409, {"error": "idempotency_in_flight", "message": "Wait."}, {"Retry-After": "0"})
    said: list[str] = []
    client = asking(foreign)
    client.notify = said.append
    foreign.replies["GET /v1/runs"] = in_turn(busy, limited, CannedResponse(200, {"runs": []}))
    assert client.get("/v1/runs") == {"runs": []}
    foreign.replies["POST /v1/runs"] = in_turn(in_flight, HANG_UP, CannedResponse(201, {"runId": "r"}))
    assert client.post("/v1/runs", {}, idempotency_key="once") == {"runId": "r"}
    assert [each.headers.get("idempotency-key") for each in foreign.requests] == [None] * 3 + ["once"] * 3
    assert said == ["the host is busy; retrying in 0 s"] * 3


@pytest.mark.parametrize(
    ("said", "key", "times"),
    [
        (CannedResponse(503, {}, {"Retry-After": "0"}), "key", client_module.MAX_TRIES),
        (CannedResponse(503, {}, {"Retry-After": "0"}), None, 1),
        (HANG_UP, "key", client_module.MAX_TRIES),
        (HANG_UP, None, 1),
        (CannedResponse(503, {}, {"Retry-After": "3600"}), "key", 1),
        (CannedResponse(503, {}, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}), "key", 1),
        (CannedResponse(503, {}), "key", 1),
        (CannedResponse(500, {}, {"Retry-After": "0"}), "key", 1),
        (CannedResponse(400, {}, {"Retry-After": "0"}), "key", 1),
    ],
)
def test_polling_has_a_bound(foreign: ForeignHost, said: CannedResponse, key: str | None, times: int) -> None:
    foreign.replies["POST /v1/runs"] = said
    with pytest.raises((RequestRefused, HostUnreachable)):
        asking(foreign).post("/v1/runs", {}, idempotency_key=key)
    assert len(foreign.requests) == times


LACKING = [CannedResponse(status, {"error": "x", "message": "y"}) for status in (404, 405, 501)]
"""From a host that does not have the operation."""
INBOX, TREE = "GET /v1/host/weftwork/interrupts", "GET /v1/host/weftwork/runs/r/tree"
STANDS = "sent a response without the status of run r (`status`); check that --url is an OpenWOP v1 host."
UNLISTED = """this host does not list runs: GET /v1/runs is optional for OpenWOP hosts. \
Show a run by its id with `weftwork runs show RUN`."""
UNRELATED = [{}, [], None, "ok"]
REGISTERED = "sent a response without the workflow id (`workflowId`); check that --url is an OpenWOP v1 host."


def wrong(*documents: Any) -> list[CannedResponse]:
    return [CannedResponse(200, document) for document in documents]


@pytest.mark.parametrize(
    ("line", "operation", "answers", "code", "words"),
    [
        ("inbox", INBOX, LACKING, 1, "this host does not list open interrupts, which is a weftwork extension"),
        ("inbox", INBOX, wrong([], {}, {"interrupts": 5}, None), 1, ""),
        ("runs ls", "GET /v1/runs", LACKING, 1, UNLISTED),
        (
            "runs ls",
            "GET /v1/runs",
            wrong([], {"runs": 5}, None, "runs"),
            1,
            "sent a response to GET /v1/runs without a list of runs",
        ),
        (
            "runs tree r",
            TREE,
            [*LACKING, *wrong({"runs": []}, [1])],
            1,
            "this host does not return run trees, which are a weftwork extension",
        ),
        (
            "workflows add FILE",
            "POST /v1/workflows",
            LACKING,
            1,
            "this host does not accept definitions: POST /v1/workflows is optional",
        ),
        ("workflows add FILE", "POST /v1/workflows", wrong(*UNRELATED, {"workflowId": 5}), 6, REGISTERED),
        *(
            (f"runs {verb} r{more}", f"POST /v1/runs/r{path}", wrong(*UNRELATED, {"status": 5}, {"a": 1}), 6, STANDS)
            for verb, path in (("cancel", "/cancel"), ("pause", ":pause"), ("resume", ":resume"))
            for more in ("", " --json")
        ),
    ],
)
def test_what_a_host_lacks_or_answers_wrongly_is_said(
    foreign: ForeignHost, tmp_path: Path, line: str, operation: str, answers: list[Any], code: int, words: str
) -> None:
    (tmp_path / "w.json").write_text(json.dumps(delays("w", 1)))
    foreign.replies["GET /v1/runs/r"] = CannedResponse(200, {"runId": "r", "status": "running"})
    for answer in answers:
        foreign.replies[operation] = answer
        done = foreign.run_command(*line.replace("FILE", str(tmp_path / "w.json")).split())
        assert (done.exit_code, done.stdout) == (code, ""), answer
        assert words in done.stderr, answer


@pytest.mark.parametrize(
    "args", [("runs", "ls"), ("runs", "show", "r"), ("workflows", "ls"), ("nodes", "ls"), ("run", "w"), ("events", "r")]
)
def test_an_address_that_ends_with_the_version_is_told(foreign: ForeignHost, args: tuple[str, ...]) -> None:
    done = foreign.run_command(*args, "--url", f"{foreign.url}/v1/")
    assert done.exit_code == EXIT_UNREACHABLE
    assert f"{foreign.url}/v1 has no /v1/" in done.stderr
    assert done.stderr.endswith(f"pass the base URL without /v1: --url {foreign.url}\n")


@pytest.mark.parametrize(("name", "is_told"), [("nope", True), ("failed", False)])
def test_a_status_that_is_none_is_answered_with_those_there_are(foreign: ForeignHost, name: str, is_told: bool) -> None:
    foreign.replies["GET /v1/runs"] = CannedResponse(400, {"error": "validation_error", "message": "no such status"})
    done = foreign.run_command("runs", "ls", "--status", name)
    assert done.exit_code == 7
    assert (f"valid values of --status are {', '.join(STATUSES)}.\n" in done.stderr) == is_told
    shown = " ".join(foreign.run_command("runs", "ls", "--help").stdout.split())
    assert all(status in shown for status in STATUSES)


def test_a_host_without_streams_is_polled(foreign: ForeignHost) -> None:
    ended = {"type": "run.completed", "sequence": 0, "payload": {}}
    foreign.replies["GET /v1/runs/r"] = CannedResponse(200, {"runId": "r", "status": "completed"})
    foreign.replies["GET /v1/runs/r/events/poll"] = CannedResponse(200, {"events": [ended], "isComplete": True})
    done = foreign.run_command("events", "r", "--follow")
    assert (done.exit_code, done.stdout) == (0, "- 0 run.completed -\n")
    assert done.stderr == "this host does not stream events; polling instead\n"


CERTIFICATES = Path(__file__).parents[2] / "adapters" / "outbound" / "ca"


@each_case(
    "url, words",
    (NOBODY, "no host is listening on .*start one with `weftwork serve`, or pass another address with --url"),
    ("http://no-such-name.invalid", "the host name no-such-name.invalid cannot be resolved; check --url"),
    (f"http://{'a' * 64}.invalid", "the host name a{64}.invalid cannot be resolved"),
)
def test_where_nobody_answers_it_says_so(url: str, words: str) -> None:
    with pytest.raises(HostUnreachable, match=words) as unreachable:
        Client(url, KEY).get("/v1/runs")
    assert unreachable.value.exit_code == 6
    assert KEY not in unreachable.value.format_message()


@each_case(
    "answer, words",
    (b"SSH-2.0-OpenSSH_9.6\r\n", "does not speak HTTP"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{", "was lost before the response was complete"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{", "was lost before the response was complete"),
    (b"", "was lost before the response was complete"),
    (None, "sent nothing for 0.2 s"),
)
def test_a_broken_answer_is_named(answer: bytes | None, words: str) -> None:
    over = threading.Event()

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65_536)
                if answer is None:
                    over.wait(120)
                else:
                    connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        with pytest.raises(HostUnreachable, match=words):
            Client(f"http://127.0.0.1:{listener.getsockname()[1]}", KEY, 0.2 if answer is None else 10).post("/v1/runs")
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(120)


@contextlib.contextmanager
def secured(answer: bytes) -> Iterator[int]:
    """A listener that speaks TLS; gives its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "api-test.pem")

    def serve(listener: socket.socket) -> None:
        try:
            line, _ = listener.accept()
            with line, context.wrap_socket(line, server_side=True) as safe:
                safe.recv(65_536)
                safe.sendall(answer)
        except OSError:
            pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        yield listener.getsockname()[1]


def ask_securely(host: str = "127.0.0.1") -> Any:
    with secured(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}") as port:
        return Client(f"https://{host}:{port}", KEY).get("/v1/runs")


def test_https_is_trusted_as_the_system_trusts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATES / "authority.pem"))
    assert ask_securely() == {}
    with pytest.raises(HostUnreachable, match=r"certificate of localhost is not trusted: .*mismatch"):
        ask_securely("localhost")
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(HostUnreachable, match=r"certificate of 127.0.0.1 is not trusted"):
        ask_securely()


def test_without_the_check_any_certificate_would_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(*args: Any, **more: Any) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context

    monkeypatch.setattr(connection.ssl, "create_default_context", careless)
    assert ask_securely("localhost") == {}


def test_tls_towards_a_host_without_it_is_named() -> None:
    with (
        open_foreign_host() as foreign,
        pytest.raises(HostUnreachable, match="if the host serves plain HTTP, use http:// in --url"),
    ):
        Client(foreign.url.replace("http:", "https:"), KEY).get("/v1/runs")
