"""Who may do what: every route, every kind of key, ids that exist and ids that do not."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.harness.cases import each_case, fails_without, present
from tests.harness.definitions import node
from tests.live import KEY, OTHER_KEY, TEST_KEY, Answer, Host, delays, open_in_process, start_host
from tests.live.operation_calls import CALLS, UNKNOWN_ID
from tests.live.steering import register
from tests.live.tokens import comparable
from weftwork.adapters.admin.client import send_request
from weftwork.protocol.wire.route import Route
from weftwork.protocol.wire.v1.routes import ROUTES, SCOPES, UNOFFERED_PATHS, UNVERSIONED_NAMES
from weftwork.wiring.data_folder import ADMIN_SOCKET

MADE = {**delays("matrix-made"), "nodes": [node("made", "core.artifact.emit", config={"artifactType": "a", "data": 1})]}
"""Ends at once and leaves something behind."""
PROBED = ("listTestEvents", "scrapeSpans")
"""Seams that show nothing of what is not there, since 404 would say that they are not."""
PRIVATE = [route for route in ROUTES if route.scope is not None]
PUBLIC = [route for route in ROUTES if route.scope is None]
BY_OPERATION: Callable[[Route], str] = lambda route: route.operation_id  # noqa: E731


class Keys(NamedTuple):
    refused: dict[str, tuple[str | None, str]]
    """Kind of key -> the key and the code of its 401."""
    without: dict[str, str]
    """Scope -> a key that has every other scope."""


@pytest.fixture(scope="module")
def keys(host: Host) -> Keys:
    def create(**arguments: Any) -> dict[str, Any]:
        wanted = {"operation": "keys.create", "arguments": {"tenant": "acme", **arguments}}
        return present(send_request(host.data / ADMIN_SOCKET, wanted))

    revoked, expired = create(), create(expires_at=1)
    send_request(host.data / ADMIN_SOCKET, {"operation": "keys.revoke", "arguments": {"key_id": revoked["keyId"]}})
    return Keys(
        {
            "no key": (None, "unauthenticated"),
            "garbage": ("hk_definitely_not_a_real_key_12345", "unauthenticated"),
            "revoked": (revoked["key"], "key_revoked"),
            "expired": (expired["key"], "key_expired"),
        },
        {scope: create(scopes=[other for other in SCOPES if other != scope])["key"] for scope in SCOPES},
    )


@pytest.fixture(scope="module")
def existing(host: Host) -> dict[str, str]:
    """Ids that exist, by what they name. The run is live."""
    run_id = host.create("conformance-cancellable", inputs={"delayMs": 110_000})
    return {"run": run_id, "workflow": "conformance-noop", "type": "core.noop", "": ""}


def filled(path: str, identity: str) -> str:
    path = path.replace("envelopes/{schemaFile}", "envelopes/error.schema.json")
    path = path.replace("{schemaFile}", "run-event.schema.json")
    return re.sub("{(runId|workflowId|typeId)}", identity, re.sub("{(nodeId|artifactId)}", "made", path))


def send(host: Host, route: Route, key: str | None, identity: str, accept: str = "application/json") -> Answer:
    call = CALLS[route.operation_id]
    path = filled(route.path, identity)
    query = call.query.replace("{id}", identity)
    document = call.document() if callable(call.document) else call.document
    return host.call(route.method, path + query, document, key=key, headers={"Accept": accept})


def test_no_route_is_missing_from_the_matrix() -> None:
    assert sorted(CALLS) == sorted(route.operation_id for route in ROUTES)


@pytest.mark.rule("auth-05")
@each_case("route", *PUBLIC, ids=BY_OPERATION)
def test_a_public_route_asks_for_no_key(host: Host, keys: Keys, route: Route) -> None:
    for key, _ in keys.refused.values():
        assert send(host, route, key, "").status == CALLS[route.operation_id].found


@pytest.mark.rule("auth-02", "auth-05")
@each_case("kind", "no key", "garbage", "revoked", "expired")
@each_case("route", *PRIVATE, ids=BY_OPERATION)
def test_a_bad_key_learns_nothing(host: Host, keys: Keys, existing: dict[str, str], route: Route, kind: str) -> None:
    key, code = keys.refused[kind]
    for accept in ("application/json", "text/event-stream"):
        known = send(host, route, key, existing[CALLS[route.operation_id].ids], accept)
        unknown = send(host, route, key, UNKNOWN_ID, accept)
        assert (known.status, known.document["error"]) == (401, code)
        assert known.headers["www-authenticate"] == "Bearer"
        assert comparable(known) == comparable(unknown)


@pytest.mark.rule("auth-01", "auth-04")
@each_case("route", *PRIVATE, ids=BY_OPERATION)
def test_a_missing_scope_is_named(host: Host, keys: Keys, existing: dict[str, str], route: Route) -> None:
    assert route.scope is not None
    poor = keys.without[route.scope]
    known = send(host, route, poor, existing[CALLS[route.operation_id].ids])
    assert (known.status, known.document["error"]) == (403, "forbidden")
    assert known.document["details"] == {"scopeRequired": route.scope}
    assert comparable(known) == comparable(send(host, route, poor, UNKNOWN_ID))
    assert host.snapshot(existing["run"])["status"] == "running"
    for scope, key in keys.without.items():
        if scope != route.scope:
            assert send(host, route, key, UNKNOWN_ID).status in (200, 201, 204, 404)


@pytest.mark.rule("auth-03")
@each_case("key", OTHER_KEY, TEST_KEY)
@each_case("route", *PRIVATE, ids=BY_OPERATION)
def test_what_belongs_to_others_is_not_there(host: Host, existing: dict[str, str], route: Route, key: str) -> None:
    call = CALLS[route.operation_id]
    for accept in ("application/json", "text/event-stream"):
        known, unknown = send(host, route, key, existing[call.ids], accept), send(host, route, key, UNKNOWN_ID, accept)
        if call.ids == "run":
            assert comparable(known) == comparable(unknown)
            assert known.status == (200 if route.operation_id in PROBED else 404)
        else:
            assert known.status == call.found
    if route.operation_id == "listRuns":
        shown = {run["runId"] for run in known.document["runs"]}
        assert existing["run"] not in shown
    assert host.snapshot(existing["run"])["status"] == "running"


@each_case("route", *PRIVATE, ids=BY_OPERATION)
def test_the_owner_is_served(host: Host, route: Route) -> None:
    run_id = host.create(register(host, MADE))
    host.log(run_id)
    ids = {"run": run_id, "workflow": "conformance-noop", "type": "core.noop", "": ""}
    answer = send(host, route, KEY, ids[CALLS[route.operation_id].ids])
    assert answer.status == CALLS[route.operation_id].found
    unknown = send(host, route, KEY, UNKNOWN_ID)
    if CALLS[route.operation_id].ids and route.operation_id not in PROBED:
        assert (unknown.status, unknown.document["error"]) == (404, "not_found")


@pytest.mark.rule("auth-02")
@each_case("value", "", "Bearer", "Bearer ", KEY, f"Basic {KEY}", f"Bearer {KEY}x", f"Bearer {KEY} {KEY}")
def test_a_header_that_is_no_bearer_key_is_refused(host: Host, value: str) -> None:
    answer = host.call("GET", "/v1/runs", key=None, headers={"Authorization": value})
    assert (answer.status, answer.document["error"]) == (401, "unauthenticated")
    # The name of the scheme is read in any case.
    assert host.call("GET", "/v1/runs", key=None, headers={"Authorization": f"bEARER {KEY}"}).status == 200


@pytest.mark.rule("auth-05", "wire-03")
@each_case(
    "path",
    *"""
    /v1 /v1/ /v1/nothing /v1/runs/ /v1/runs/x/y /v1/runs/x/events/ /v1/runs:bulk-delete /v1/runs/x:halt
    /v1/runs/x: /v1/runs/x:y:z /v1/runs/x/cancel:now /v1/host/sample/nothing /v1//runs /v1/interrupts /v1/interrupts/a/b
    """.split(),
)
@each_case("method", "GET", "POST", "PUT", "DELETE", "HEAD")
def test_an_unknown_path_is_first_a_question_of_the_key(host: Host, method: str, path: str) -> None:
    assert host.call(method, path, key=None).status == 401
    assert host.call(method, path, key="wrong").status == 401
    answer = host.call(method, path)
    assert answer.status == 404
    assert answer.body == b"" if method == "HEAD" else answer.document["error"] == "not_found"


@pytest.mark.rule("wire-02")
@each_case("path", *UNOFFERED_PATHS)
@each_case("method", "GET", "POST", "PUT", "DELETE")
def test_an_optional_surface_that_is_not_offered_says_so(host: Host, path: str, method: str) -> None:
    filled = "/".join("some%2Fid" if part.startswith("{") else part for part in path.split("/"))
    assert host.call(method, filled, key=None).status == 401
    answer = host.call(method, filled)
    assert (answer.status, answer.document["error"]) == (501, "capability_not_provided")


@pytest.mark.rule("wire-01")
@each_case("name", *sorted(UNVERSIONED_NAMES))
def test_a_path_without_its_version_is_told_so(host: Host, name: str) -> None:
    for path in (f"/{name}", f"/{name}/x", f"/{name}:verb", f"/{name}/x/y?z=1"):
        for key in (None, KEY):
            answer = host.call("GET", path, key=key)
            assert (answer.status, answer.document["error"]) == (400, "validation_error")


@pytest.mark.rule("wire-01")
@each_case("path", "/", "/favicon.ico", "/v2/runs", "/V1/runs", "/v1x", "/run", "//runs", "/.well-known")
def test_any_other_path_is_not_found(host: Host, path: str) -> None:
    for key in (None, KEY):
        answer = host.call("GET", path, key=key)
        assert (answer.status, answer.document["error"]) == (404, "not_found")


@pytest.mark.rule("err-02")
@each_case("route", *ROUTES, ids=BY_OPERATION)
def test_a_wrong_method_is_told_the_right_ones(host: Host, route: Route) -> None:
    path = filled(route.path, UNKNOWN_ID)
    allowed = {other.method for other in ROUTES if other.path == route.path}
    if "GET" in allowed and not route.stream:
        allowed.add("HEAD")
    for method in {"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"} - allowed:
        if path.startswith("/v1/"):
            assert host.call(method, path, key=None).status == 401
        answer = host.call(method, path)
        assert (answer.status, answer.document["error"]) == (405, "method_not_allowed")
        assert answer.headers["allow"] == ", ".join(sorted(allowed))


@pytest.mark.rule("auth-05", "disc-04")
def test_seams_that_are_switched_off_are_not_there(tmp_path: Path) -> None:
    with start_host(tmp_path, store="memory") as host:
        shown = host.call("GET", "/v1/openapi.json").document["paths"]
        for route in ROUTES:
            assert (route.path in shown) is not route.test_only
            if route.test_only:
                assert host.call(route.method, route.path, key=None).status == 401
                answer = host.call(route.method, route.path)
                assert (answer.status, answer.document["error"]) == (404, "not_found")


@fails_without("weftwork.engine.api.keyring.partition", lambda tenant, mode: "live:all")
async def test_a_run_of_another_partition_is_not_there() -> None:
    async with open_in_process(delays("wait", 20_000)) as inside:
        run_id = (await inside.call("POST", "/v1/runs", {"workflowId": "wait"})).document["runId"]
        known = await inside.call("GET", f"/v1/runs/{run_id}", key=OTHER_KEY)
        assert comparable(known) == comparable(await inside.call("GET", f"/v1/runs/{UNKNOWN_ID}", key=OTHER_KEY))


@fails_without("weftwork.adapters.http.app.require_scope", lambda principal, scope: None)
async def test_a_key_without_the_scope_is_refused() -> None:
    async with open_in_process() as inside:
        inside.host.keyring.accept_for_process("poor", "acme", ["runs:create"])
        assert (await inside.call("GET", "/v1/runs", key="poor")).status == 403
