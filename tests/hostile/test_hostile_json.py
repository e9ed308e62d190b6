"""Evil JSON through every route that takes a body: refused by name, or taken and given back as it came."""

import itertools
import json
import math
import re
from typing import Any

import pytest

from tests.harness.cases import check_cases
from tests.harness.definitions import FULL
from tests.hostile.hostile_json import DOCUMENTS, FRAGMENTS, MAX_BODY_BYTES, SECRET_MARK
from tests.hostile.raw_http import POST, connect, receive_answers, send_pieces
from tests.live import Answer, Host, delays, in_thread, open_listening, until
from tests.live.tokens import token_of
from weftwork.adapters.http import message
from weftwork.protocol.json import schema
from weftwork.protocol.models.prompt_composition import MAX_EVENT_PROMPT
from weftwork.protocol.people.interrupt_tokens import is_person_name
from weftwork.protocol.review.annotations import MAX_TEXT
from weftwork.protocol.review.bundle_import import MAX_IMPORT_BYTES
from weftwork.protocol.surfaces.limits import MAX_TITLE, MAX_VALUE
from weftwork.protocol.wire.v1.routes import ROUTES

pytestmark = pytest.mark.usefixtures("nothing_failed")


TEMPLATES: dict[str, bytes] = {
    "createRun": b'{"workflowId":"conformance-noop","inputs":{"x":%b}}',
    "cancelRun": b'{"reason":%b}',
    "createAnnotation": b'{"signal":{"kind":"flag"},"note":%b}',
    "importRun": b'{"bundleVersion":"1.0","generatedAt":"2026-01-31T08:05:09.042Z","redactionApplied":true,'
    b'"redactionMode":"mask","host":{"name":"evil","version":"1"},'
    b'"run":{"runId":"evil","workflowId":"evil","status":"completed"},'
    b'"events":[{"eventId":"e","runId":"evil","type":"run.completed","sequence":0,'
    b'"timestamp":"2026-01-31T08:05:09.042Z","payload":{"outputs":{"x":%b}}}]}',
    "pauseRun": b'{"drainPolicy":"immediate","reason":%b}',
    "resumeRun": b'{"reason":%b}',
    "forkRun": b'{"mode":"branch","fromSeq":0,"runOptionsOverlay":{"inputs":{"x":%b}}}',
    "retryRun": b'{"runOptionsOverlay":{"inputs":{"x":%b}}}',
    "setVariables": b'{"variables":{"known":%b}}',
    "resolveInterruptByRun": b'{"resumeValue":%b}',
    "resolveInterruptByToken": b'{"resumeValue":%b}',
    "actOnSurface": b'{"values":{"answer":%b}}',
    "actOnSurfaceByToken": b'{"values":{"answer":%b}}',
    "resolveApproval": b'{"action":"accept","more":%b}',
    "createInterruptLink": b'{"for":%b}',
    "bulkCancelRuns": b'{"runIds":["01zzzzzzzzzzzzzzzzzzzzzzzz"],"reason":%b}',
    "registerWorkflow": b'{"id":"evil","name":"Evil","version":"VERSION","nodes":[{"id":"n","typeId":"core.identity",'
    b'"name":"n","position":{"x":0,"y":0},"config":{},"inputs":{"x":{"type":"static","value":%b}}}],"edges":[],'
    b'"triggers":[],"variables":[],"metadata":{},"settings":{}}',
    "registerSampleWorkflow": b'{"workflowId":"evil-sample","version":"VERSION","nodes":[{"nodeId":"n",'
    b'"typeId":"core.identity","inputs":{"x":{"type":"static","value":%b}}}]}',
    "safeFetch": b'{"url":"https://127.0.0.1/","init":{"body":%b}}',
    "exportDebugBundle": b'{"runId":%b}',
    "resetSeams": b'{"more":%b}',
    "callAi": b'{"messages":[{"role":"user","content":%b}]}',
    "programMockAi": b'{"nodeId":"n","program":[{"mode":"envelope","envelope":%b}]}',
    "getModelCacheKey": b'{"provider":"p","model":"m","messages":[{"role":"user","content":%b}]}',
    "evaluateModelGate": b'{"activeProvider":"p","activeModel":%b}',
    "acceptEnvelope": b'{"envelope":%b}',
    "toggleCapability": b'{"name":%b,"value":null}',
    "wrapPrompt": b'{"payload":%b}',
    "resolvePrompts": b'{"more":%b}',
    "composePrompts": b'{"template":{"templateId":"evil","version":"1.0.0","kind":"user","text":"{{x}}"},'
    b'"variables":{"x":%b}}',
    "emitEnvelopeReliability": b'{"runId":"evil","type":"envelope.refusal",'
    b'"payload":{"nodeId":"n","provider":"p","model":"m","refusalText":%b}}',
    "emitSurface": b'{"runId":"evil","surface":{"catalogVersion":"0.9.1","surface":{"components":[],"title":%b}}}',
    "putMedia": b'{"contentType":"text/plain","contentBase64":%b}',
}
"""Where a fragment stands in the body of each route."""
BODIES = {route.operation_id: route for route in ROUTES if route.request is not None}
JSON = {"Content-Type": "application/json"}
REASONS = {"cancelRun": 200, "bulkCancelRuns": 200, "pauseRun": 409, "resumeRun": 409}
"""Routes whose fragment is a reason, and how they answer a good one for a run that has ended."""
LONGEST_REASON = 512
LONGEST_ID = 128
LONGEST_NAME = 256
ASK = {"kind": "custom", "data": {"customKind": "evil"}}
ASKS: dict[str, Any] = {
    **delays("evil-asks"),
    "nodes": [
        {"id": "ask", "typeId": "core.interrupt", "name": "Ask", "position": {"x": 0, "y": 0}}
        | {"config": ASK, "inputs": {}}
    ],
}
"""One node that takes any answer."""


def test_every_route_with_a_body_has_a_template() -> None:
    assert set(TEMPLATES) == set(BODIES)
    for name in ("cancel-run", "bulk-cancel", "pause-run", "resume-run"):
        assert schema.document(name)["properties"]["reason"]["maxLength"] == LONGEST_REASON
    assert len(FRAGMENTS) + len(DOCUMENTS) >= 120


def send(host: Host, operation: str, run_id: str, body: bytes, **headers: str) -> Answer:
    route = BODIES[operation]
    path = route.path.replace("{runId}", run_id).replace("{nodeId}", "ask")
    path = path.replace("{surfaceId}", "ask.1").replace("{actionId}", "send")
    if "{token}" in path:
        path = path.replace("{token}", token_of(host, host.create(ASKS["id"])))
    return host.call(route.method, path, body=body, headers={**JSON, **headers})


@pytest.fixture(scope="module", autouse=True)
def waiting(host: Host) -> str:
    """A run that nobody has answered yet."""
    assert host.call("POST", "/v1/workflows", ASKS).status in (200, 201)
    return host.create(ASKS["id"])


@pytest.mark.rule("json-01", "int-06")
def test_an_answer_is_refused_or_taken_as_it_is(host: Host, waiting: str) -> None:
    check_cases(FRAGMENTS, lambda name: check_evil_answer(host, waiting, name))


def check_evil_answer(host: Host, waiting: str, name: str) -> None:
    evil = FRAGMENTS[name]
    run_id = waiting if evil.refused else host.create(ASKS["id"])
    answer = send(host, "resolveInterruptByRun", run_id, TEMPLATES["resolveInterruptByRun"] % evil.data)
    if evil.refused:
        refused(answer)
        assert host.snapshot(waiting)["status"] == "waiting-input"
    else:
        # A large one is a long turn, and the rest of its run the next one.
        assert (answer.status, answer.document["status"] in ("running", "completed")) == (200, True)
        until(lambda: host.snapshot(run_id)["status"] == "completed", "the run to end")
        assert same(host.snapshot(run_id)["outputs"]["ask"]["output"], json.loads(evil.data))


def refused(answer: Answer) -> None:
    assert (answer.status, answer.document["error"]) == (400, "validation_error"), answer.body[:300]
    assert schema.check("error-envelope", answer.document) == []
    assert SECRET_MARK not in answer.body
    assert len(answer.body) < 10_000


@pytest.mark.rule("json-01")
def test_an_evil_document_is_refused(host: Host, run_id: str) -> None:
    def check(case: tuple[str, str]) -> None:
        operation, name = case
        refused(send(host, operation, run_id, DOCUMENTS[name]))
        refused(send(host, operation, run_id, DOCUMENTS[name], **{"Idempotency-Key": f"evil-{operation}"}))

    check_cases(itertools.product(BODIES, DOCUMENTS), check)


@pytest.mark.rule("json-01")
@pytest.mark.parametrize("operation", BODIES)
def test_an_evil_value_is_refused_or_taken_as_it_is(host: Host, run_id: str, operation: str) -> None:
    # In the short proof each route gets some of the values, and all routes together get all.
    at = list(BODIES).index(operation)
    some = list(FRAGMENTS)[0 if FULL else at % 4 :: 1 if FULL else 4]
    check_cases(some, lambda name: check_evil_value(host, run_id, name, operation))


def check_evil_value(host: Host, run_id: str, name: str, operation: str) -> None:
    evil = FRAGMENTS[name]
    body = TEMPLATES[operation].replace(b"VERSION", name.encode().hex().encode()[-100:]) % evil.data
    assert len(body) <= MAX_BODY_BYTES
    answer = send(host, operation, run_id, body)
    # Deep fragments are as deep as they may be in the inputs of a run; in a definition they stand lower.
    if operation == "importRun" and name in ("shape: too wide", "shape: too many members"):
        # A bundle may have more values than other bodies.
        assert answer.status == 201
        return
    if evil.refused or (name.endswith(", deep") and operation.startswith(("register", "import"))):
        refused(answer)
        return
    value = json.loads(evil.data)
    if not is_wanted(operation, value):
        refused(answer)
    elif operation in ("resolveInterruptByRun", "resolveApproval", "createInterruptLink", "actOnSurface"):
        assert (answer.status, answer.document["error"]) == (404, "interrupt_not_found")
    elif operation in ("setVariables", "retryRun"):
        # The run has ended.
        assert (answer.status, answer.document["error"]) == (409, "conflict")
    elif operation == "safeFetch":
        assert answer.document == {"outcome": "blocked", "blocked": "ssrf"}
    elif operation == "exportDebugBundle":
        assert answer.document["bundle"]["events"] == []
    elif operation == "emitSurface" and isinstance(value, str) and len(value) <= MAX_TITLE:
        assert answer.document["surfaceRef"]
    elif operation == "emitSurface":
        assert (answer.status, answer.document["error"]) == (422, "a2ui_surface_invalid")
    elif operation == "callAi":
        assert answer.document["accepted"] is True
    elif operation == "programMockAi":
        assert answer.document == {"ok": True, "count": 1}
    elif operation == "getModelCacheKey":
        assert re.fullmatch("[0-9a-f]{64}", answer.document["cacheKey"])
    elif operation == "evaluateModelGate":
        assert answer.document == {"outcome": {"route": "dispatch"}, "event": None}
    elif operation == "putMedia":
        assert answer.document["bytes"] == len(value) // 4 * 3
    elif operation in GATE:
        seen_at_the_gate(operation, answer, value)
    elif operation in ("resolveInterruptByToken", "actOnSurfaceByToken"):
        assert answer.status == 200
    elif operation in REASONS:
        assert answer.status == REASONS[operation]
    else:
        assert answer.status == 201, answer.body[:300]
        assert same(given_back(host, operation, answer), value)


def is_wanted(operation: str, value: Any) -> bool:
    """Whether the route takes this value, which is JSON."""
    text = isinstance(value, str)
    match operation:
        case "createInterruptLink":
            return is_person_name(value)
        case "safeFetch":
            return text
        case "actOnSurface":
            return text or value is None or isinstance(value, bool)
        case "actOnSurfaceByToken":
            return text and bool(value.strip()) and len(value) <= MAX_VALUE
        case "exportDebugBundle":
            return text and 1 <= len(value) <= LONGEST_ID
        case "resetSeams":
            return False
        case "callAi":
            return text or value == []
        case "evaluateModelGate":
            return text and 1 <= len(value) <= LONGEST_NAME
        case "putMedia":
            return text and re.fullmatch("([A-Za-z0-9+/]{4})+", value) is not None
        case "createAnnotation":
            return text and len(value) <= MAX_TEXT
        case _:
            return operation not in REASONS or (text and len(value) <= LONGEST_REASON)


def given_back(host: Host, operation: str, answer: Answer) -> Any:
    if operation == "createAnnotation":
        return answer.document["note"]
    if operation in ("createRun", "forkRun"):
        return host.snapshot(answer.document["runId"])["inputs"]["x"]
    if operation == "importRun":
        return host.snapshot(answer.document["runId"])["outputs"]["x"]
    return host.call("GET", answer.headers["location"]).document["nodes"][0]["inputs"]["x"]["value"]


GATE = (
    *("acceptEnvelope", "toggleCapability", "wrapPrompt", "emitEnvelopeReliability"),
    *("resolvePrompts", "composePrompts"),
)


def seen_at_the_gate(operation: str, answer: Answer, value: Any) -> None:
    """What the seams on the gate say of a value that is JSON, and mostly not what they want."""
    if operation == "acceptEnvelope":
        assert (answer.status, answer.document["status"]) == (200, "invalid")
        assert SECRET_MARK not in answer.body
    elif operation == "toggleCapability" and isinstance(value, str) and 1 <= len(value) <= LONGEST_NAME:
        assert answer.document == {"overlay": {}}
    elif operation == "toggleCapability":
        refused(answer)
    elif operation == "wrapPrompt":
        prompt = answer.document["prompt"]
        assert same(prompt if isinstance(value, str) else json.loads(prompt), value)
    elif operation == "resolvePrompts":
        assert (answer.status, answer.document) == (200, {"prompts": []})
    elif operation == "composePrompts" and value is None:
        assert answer.document["variableBindings"] == {}
    elif operation == "composePrompts":
        bound = answer.document.get("variableBindings")
        assert same(bound["x"], value) if bound is not None else len(answer.body) < MAX_EVENT_PROMPT
    elif value is None or isinstance(value, str):
        assert answer.document["event"]["payload"]["refusalText"] == value
    else:
        assert (answer.status, answer.document["error"]["code"]) == (400, "invalid_argument")


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
async def test_with_a_lenient_decoder_some_of_it_would_be_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message, "decode", json.loads)
    small = {name: evil.data for name, evil in FRAGMENTS.items() if evil.refused and len(evil.data) < 1000}
    async with open_listening(delays("conformance-noop", 0)) as served:
        taken = await in_thread(_taken, served.port, small)
    assert {"number: big int", "name: twice", "shape: lists, too deep", "text: escaped NUL"} <= set(taken)


def _taken(port: int, fragments: dict[str, bytes]) -> list[str]:
    found: list[str] = []
    for name, data in fragments.items():
        body = TEMPLATES["createRun"] % data
        with connect(port) as connection:
            send_pieces(connection, POST + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            if receive_answers(connection, 1)[0].status == 201:
                found.append(name)
    return found


def test_a_body_may_be_as_large_as_the_cap_and_no_larger(host: Host, run_id: str) -> None:
    def check(operation: str) -> None:
        template = TEMPLATES[operation]
        limit = MAX_IMPORT_BYTES if operation == "importRun" else MAX_BODY_BYTES
        exact = template % (b'"' + b"x" * (limit - len(template)) + b'"')
        assert len(exact) == limit
        assert send(host, operation, run_id, exact).status in (200, 201, 400, 404, 409, 422)
        assert send(host, operation, run_id, exact + b" ").status == 413

    check_cases(BODIES, check)
