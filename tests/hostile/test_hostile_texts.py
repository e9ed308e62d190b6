"""Evil texts in paths, queries and headers of every route: a listed answer, never ours to blame, never repeated."""

import itertools
import re
from collections.abc import Callable
from urllib.parse import quote_from_bytes

import pytest

from tests.harness.cases import check_cases
from tests.harness.definitions import FULL
from tests.hostile.raw_http import BODY, ReceivedAnswer, connect, receive_answers, send_pieces
from tests.live import KEY, Host
from weftwork.protocol.errors import ERRORS
from weftwork.protocol.json import schema
from weftwork.protocol.wire.route import Route
from weftwork.protocol.wire.v1.routes import ROUTES

pytestmark = pytest.mark.usefixtures("nothing_failed")


MARK = b"s3cr3t-text"
TEXTS: dict[str, bytes] = {
    "mark": MARK,
    "empty": b"",
    "space": b" ",
    "NUL": MARK + b"\x00",
    "CR LF": MARK + b"\r\nX-Evil: 1",
    "two lines": MARK + b"\r\n\r\nHTTP/1.1 200 OK\r\n",
    "LF": MARK + b"\nX-Evil: 1",
    "CR": MARK + b"\rX-Evil: 1",
    "tab": MARK + b"\tx",
    "escape": b"\x1b[2J" + MARK,
    "DEL": b"\x7f" + MARK,
    "latin-1": b"\xe9\xff" + MARK,
    "UTF-8": "é\u202e\U0001f9f6".encode() + MARK,
    "overlong": b"\xc0\xaf" + MARK,
    "ten thousand": MARK + b"a" * 10_000,
    "three thousand": MARK + b"a" * 3_000,
    "percent": b"%s%n%00%zz%" + MARK,
    "quotes": b"\"'`\\" + MARK,
    "dots": b"../../" + MARK,
    "semicolons": b"a;b=c;" + MARK,
    "commas": b"," * 500 + MARK,
    "colon": MARK + b":cancel",
    "markup": b"<script>" + MARK + b"</script>",
    "query": b"' OR 1=1 --" + MARK,
    "lookup": b"${jndi:ldap://x/}" + MARK,
    "plus": b"+1",
    "negative": b"-1",
    "zero": b"0",
    "huge": b"9" * 400,
    "exponent": b"1e9",
    "fraction": b"1.5",
    "other digits": "\u0661".encode(),
    "hexadecimal": b"0x10",
    "list": b"[1,2]",
    "object": b'{"a":"' + MARK + b'"}',
    "true": b"true",
    "star": b"*",
    "weights": b"text/html;q=x,*/*;q=" + b"9" * 50,
    "tags": b'W/"a", "b", ' * 200,
}
HEADERS = """
    Accept Authorization Keep-Alive Content-Encoding Content-Type Cookie Expect Forwarded Host Idempotency-Key
    If-None-Match Last-Event-ID Origin Range TE Traceparent Tracestate Trailer X-Dedup X-Forwarded-For
    X-HTTP-Method-Override
""".split()
KNOWN = frozenset(
    """
    access-control-allow-origin allow cache-control capabilities-etag connection content-length
    content-security-policy content-type cross-origin-resource-policy date etag location
    openwop-idempotent-replay referrer-policy retry-after traceparent transfer-encoding www-authenticate
    x-accel-buffering x-content-type-options
    """.split()
)
"""Every header that the host may answer with."""
NOOP = "conformance-noop"
REFUSALS = {
    **dict.fromkeys(
        ("deleteRun", "getArtifact", "getWorkflow", "diffRun", "diffRunOutcome", "getAsset", "getSampleAsset"), 404
    ),
    **dict.fromkeys(("resolveInterruptByRun", "createInterruptLink", "inspectInterruptByToken"), 404),
    **dict.fromkeys(("resolveInterruptByToken", "getSurface", "getSurfaceByToken"), 404),
    **dict.fromkeys(("actOnSurfaceByToken", "getOrganisationLogo"), 404),
    "pauseRun": 409,
    "getRun": 422,
    "resumeRun": 409,
    "retryRun": 409,
    "forkRun": 400,
}
"""How an ended run, or what is not there, is refused."""
NESTED = dict.fromkeys(("acceptEnvelope", "getModelCacheKey", "emitEnvelopeReliability"), ("invalid_argument",))
"""Seams whose own refusals have another form, with the codes of these."""
PROBED = {"listTestEvents": (200,)}
"""Seams that answer for every id, since 404 would say that they are not there."""
TRACEPARENT = re.compile("00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]")


def line(route: Route, target: bytes, *headers: bytes) -> bytes:
    """A request for one answer; the host closes the connection after it."""
    start = [route.method.encode() + b" " + target + b" HTTP/1.1", *headers]
    body = b""
    if route.request is not None:
        body = BODY if route.operation_id == "createRun" else b"{}"
        start.append(b"Content-Length: %d" % len(body))
    elif route.raw_body:
        body = b"bytes"
        start.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join([*start, b"", body])


def common(leave_out: str = "") -> list[bytes]:
    given = {
        "Host": b"x",
        "Authorization": b"Bearer " + KEY.encode(),
        "Content-Type": b"application/json",
        "Connection": b"close",
    }
    return [name.encode() + b": " + value for name, value in given.items() if name != leave_out]


def target(route: Route, run_id: str) -> bytes:
    path = route.path.replace("{nodeId}", "noop").replace("{artifactId}", "none").replace("{workflowId}", NOOP)
    path = path.replace("{typeId}", "core.noop").replace("{token}", "token")
    path = path.replace("{surfaceId}", "noop.1").replace("{actionId}", "send")
    path = path.replace("envelopes/{schemaFile}", "envelopes/error.schema.json")
    path = path.replace("{schemaFile}", "run-event.schema.json")
    # The run is needed for the other routes.
    return path.replace("{runId}", run_id if route.operation_id != "deleteRun" else "nowhere").encode()


def judge(route: Route, heard: list[ReceivedAnswer], listed: set[int]) -> None:
    assert heard, "there is always an answer"
    # An upgrade or an expectation may come before it.
    answer = heard[-1]
    where = (route.operation_id, answer.status, answer.body[:300])
    assert all(each.status == 100 for each in heard[:-1]), where
    assert answer.status in listed, where
    assert set(answer.headers) <= KNOWN, answer.headers
    shown = repr(answer.headers).encode() + answer.body
    if answer.status >= 400:
        if route.operation_id in NESTED and "code" in answer.document["error"]:
            assert answer.document["error"]["code"] in NESTED[route.operation_id], where
        else:
            assert schema.check("error-envelope", answer.document) == [], where
            at_sequence = route.operation_id == "getRun" and answer.status == 422
            assert at_sequence or ERRORS[answer.document["error"]].status == answer.status
        assert MARK not in shown, where
        assert len(answer.body) < 4_000, where
    if "traceparent" in answer.headers:
        assert TRACEPARENT.fullmatch(answer.headers["traceparent"]), where


def ask(host: Host, sent: bytes) -> list[ReceivedAnswer]:
    with connect(host.port) as connection:
        send_pieces(connection, sent)
        return receive_answers(connection)


def check_routes(check: Callable[[Route], None]) -> None:
    check_cases(ROUTES, check, lambda route: route.operation_id)


def test_ids_in_paths(host: Host) -> None:
    def check(route: Route) -> None:
        names = re.findall(r"{(\w+)}", route.path)
        for text in TEXTS.values():
            for given in (quote_from_bytes(text, safe=""), text.decode("latin-1")):
                path = route.path
                for each in names:
                    path = path.replace(f"{{{each}}}", given)
                if not names:
                    path = f"{path}/{given}"
                heard = ask(host, line(route, path.encode("latin-1"), *common()))
                # What is no id is not found; a target that is none makes no request.
                judge(route, heard, {400, 404, 405, *PROBED.get(route.operation_id, ())})

    check_routes(check)


def test_values_in_queries(host: Host, run_id: str) -> None:
    def check(route: Route) -> None:
        names = [param.name for param in route.params if param.location == "query"] or ["anything"]
        listed = {route.success_status, 400, REFUSALS.get(route.operation_id, 400)}
        for text in TEXTS.values():
            for query in (b"?" + text, *(f"?{name}={quote_from_bytes(text, safe='')}".encode() for name in names)):
                judge(route, ask(host, line(route, target(route, run_id) + query, *common())), listed)

    check_routes(check)


def test_values_in_headers(host: Host, run_id: str) -> None:
    def check(route: Route) -> None:
        listed = {route.success_status, 400, 304, 401, 415, REFUSALS.get(route.operation_id, 400)}
        # In the short proof each route gets some of the texts, and all routes together get all.
        texts = list(TEXTS.values())[0 if FULL else ROUTES.index(route) % 6 :: 1 if FULL else 6]
        for name, text in itertools.product(HEADERS, texts):
            sent = line(route, target(route, run_id), *common(name), name.encode() + b": " + text)
            judge(route, ask(host, sent), listed)

    check_routes(check)


FINE = {"content-type": "application/json"}
GOOD = b'{"error":"not_found","message":"There is nothing at this path."}'


@pytest.mark.parametrize(
    "heard",
    [
        [],
        [ReceivedAnswer(200, FINE, b"{}"), ReceivedAnswer(404, FINE, GOOD)],
        [ReceivedAnswer(500, FINE, b'{"error":"internal_error","message":"m"}')],
        [ReceivedAnswer(404, FINE, b'{"error":"not_found","message":"%b"}' % MARK)],
        [ReceivedAnswer(404, FINE, b'{"error":"not_found","message":"m","more":1}')],
        [ReceivedAnswer(404, FINE, b'{"error":"forbidden","message":"m"}')],
        [ReceivedAnswer(404, {**FINE, "x-evil": "1"}, GOOD)],
        [ReceivedAnswer(404, {**FINE, "traceparent": MARK.decode()}, GOOD)],
    ],
    ids=["none", "two", "ours", "echo", "open", "another code", "another header", "another trace"],
)
def test_an_answer_that_is_wrong_is_seen(heard: list[ReceivedAnswer]) -> None:
    judge(ROUTES[0], [ReceivedAnswer(404, FINE, GOOD)], {404})
    with pytest.raises(AssertionError):
        judge(ROUTES[0], heard, {404})
