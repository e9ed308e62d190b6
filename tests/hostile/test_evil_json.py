"""Evil JSON through every route that takes a body: refused by name, or taken and given back as it came."""

import asyncio
import json
import math
from typing import Any

import pytest

from tests.hostile.evil import CAP, DOCUMENTS, FRAGMENTS, MARK
from tests.hostile.wire import POST, connect, hear, say
from tests.live import Answer, Host, delays, elsewhere, open_served
from weftwork.adapters.http import message
from weftwork.protocol import schema
from weftwork.protocol.wire_v1 import ROUTES

pytestmark = pytest.mark.usefixtures("nothing_failed")


TEMPLATES: dict[str, bytes] = {
    "createRun": b'{"workflowId":"conformance-noop","inputs":{"x":%b}}',
    "cancelRun": b'{"reason":%b}',
}
"""Where a fragment stands in the body of each route."""
BODIES = {route.operation: route for route in ROUTES if route.request is not None}
JSON = {"Content-Type": "application/json"}
LONGEST_REASON = schema.document("cancel-run")["properties"]["reason"]["maxLength"]


def test_every_route_with_a_body_has_a_template() -> None:
    assert set(TEMPLATES) == set(BODIES)
    assert len(FRAGMENTS) + len(DOCUMENTS) >= 120


def send(host: Host, operation: str, run_id: str, body: bytes, **headers: str) -> Answer:
    route = BODIES[operation]
    return host.call(route.method, route.path.replace("{runId}", run_id), body=body, headers={**JSON, **headers})


def refused(answer: Answer) -> None:
    assert (answer.status, answer.document["error"]) == (400, "validation_error"), answer.body[:300]
    assert schema.check("error-envelope", answer.document) == []
    assert MARK not in answer.body
    assert len(answer.body) < 10_000


@pytest.mark.rule("json-01")
@pytest.mark.parametrize("operation", BODIES)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_an_evil_document_is_refused(host: Host, run_id: str, name: str, operation: str) -> None:
    refused(send(host, operation, run_id, DOCUMENTS[name]))
    refused(send(host, operation, run_id, DOCUMENTS[name], **{"Idempotency-Key": f"evil-{operation}"}))


@pytest.mark.rule("json-01")
@pytest.mark.parametrize("operation", BODIES)
@pytest.mark.parametrize("name", FRAGMENTS)
def test_an_evil_value_is_refused_or_taken_as_it_is(host: Host, run_id: str, name: str, operation: str) -> None:
    evil = FRAGMENTS[name]
    body = TEMPLATES[operation] % evil.data
    assert len(body) <= CAP
    answer = send(host, operation, run_id, body)
    if evil.refused:
        refused(answer)
        return
    value = json.loads(evil.data)
    if operation == "cancelRun":
        if isinstance(value, str) and len(value) <= LONGEST_REASON:
            assert answer.status == 200
        else:
            refused(answer)
        return
    assert answer.status == 201, answer.body[:300]
    given = host.snapshot(answer.document["runId"])["inputs"]["x"]
    assert same(given, value)


def same(one: Any, other: Any) -> bool:
    """Equal in value and in kind; zero has a sign."""
    if isinstance(other, float):
        return type(one) is float and one == other and math.copysign(1, one) == math.copysign(1, other)
    return type(one) is type(other) and one == other


@pytest.mark.rule("json-01", "idem-03")
def test_what_is_taken_has_a_fingerprint(host: Host) -> None:
    """Each accepted value once more with an idempotency key, twice: the same run, and no other value has it."""
    seen: dict[str, str] = {}
    for name, evil in FRAGMENTS.items():
        if not evil.refused:
            body = TEMPLATES["createRun"] % evil.data
            first, again = (
                send(host, "createRun", "", body, **{"Idempotency-Key": f"take {name}".encode().hex()}) for _ in "ab"
            )
            assert (first.status, again.status) == (201, 201), (name, again.body[:300])
            assert first.document["runId"] == again.document["runId"]
            assert again.headers["openwop-idempotent-replay"] == "true"
            seen[name] = first.document["runId"]
    assert len(set(seen.values())) == len(seen)


@pytest.mark.rule("json-01")
def test_with_a_lenient_decoder_some_of_it_would_be_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message, "decode", json.loads)
    small = {name: evil.data for name, evil in FRAGMENTS.items() if evil.refused and len(evil.data) < 1000}

    async def work() -> list[str]:
        async with open_served(delays("conformance-noop", 0)) as served:
            return await elsewhere(_taken, served.port, small)

    taken = asyncio.run(work())
    assert {"number: big int", "name: twice", "shape: lists, too deep", "text: escaped NUL"} <= set(taken)


def _taken(port: int, fragments: dict[str, bytes]) -> list[str]:
    """Those with which a run is created."""
    found: list[str] = []
    for name, data in fragments.items():
        body = TEMPLATES["createRun"] % data
        with connect(port) as connection:
            say(connection, POST + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            if hear(connection, 1)[0].status == 201:
                found.append(name)
    return found


@pytest.mark.parametrize("operation", BODIES)
def test_a_body_may_be_as_large_as_the_cap_and_no_larger(host: Host, run_id: str, operation: str) -> None:
    template = TEMPLATES[operation]
    exact = template % (b'"' + b"x" * (CAP - len(template)) + b'"')
    assert len(exact) == CAP
    assert send(host, operation, run_id, exact).status in (200, 201, 400)
    assert send(host, operation, run_id, exact + b" ").status == 413
