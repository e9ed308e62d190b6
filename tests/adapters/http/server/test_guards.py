"""Each guard of the wire, taken away: the proofs that rest on it turn red."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from tests.live import OTHER_KEY, Answer, InProcessHost, delays, open_in_process
from weftwork.adapters.http import message
from weftwork.adapters.http.app import App
from weftwork.adapters.http.router import Router
from weftwork.engine.api.keyring import Keyring
from weftwork.protocol.wire import idempotency, streams
from weftwork.protocol.wire.v1.routes import ROUTES, UNOFFERED_PATHS, split_path

Probe = Callable[[InProcessHost], Awaitable[Answer]]


def probe(ask: Probe) -> Answer:
    async def run() -> Answer:
        async with open_in_process(delays("short", 0, 0), delays("long", 15_000)) as inside:
            return await ask(inside)

    return asyncio.run(run())


@pytest.mark.rule("wire-04")
def test_without_the_cap_a_large_body_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def large(inside: InProcessHost) -> Awaitable[Answer]:
        return inside.call("POST", "/v1/runs", {"workflowId": "short", "inputs": {"x": "y" * 1_100_000}})

    assert probe(large).status == 413
    honest = App.__init__

    def boundless(app: App, keyring: Keyring, ids: object, handlers: object, body_cap: int) -> None:
        honest(app, keyring, ids, handlers, body_cap * 2)  # type: ignore[arg-type]

    monkeypatch.setattr(App, "__init__", boundless)
    assert probe(large).status == 201


@pytest.mark.rule("json-01")
def test_with_a_lenient_decoder_evil_json_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def evil(inside: InProcessHost) -> Awaitable[Answer]:
        return inside.call("POST", "/v1/runs", {"workflowId": "short", "inputs": {"x": "\ud800", "y": float("nan")}})

    assert probe(evil).status == 400
    monkeypatch.setattr(message, "decode", json.loads)
    assert probe(evil).status != 400


@pytest.mark.rule("auth-05")
def test_when_every_key_is_good_a_stranger_learns_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def stranger(inside: InProcessHost) -> Awaitable[Answer]:
        return inside.call("GET", "/v1/nothing", key="stranger")

    assert probe(stranger).status == 401
    monkeypatch.setattr(Keyring, "authenticate", lambda ring, key: None)
    assert probe(stranger).status == 404


@pytest.mark.rule("wire-03")
def test_when_a_verb_may_be_part_of_an_id_a_missing_verb_is_a_wrong_method(monkeypatch: pytest.MonkeyPatch) -> None:
    def halt(inside: InProcessHost) -> Awaitable[Answer]:
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
        assert (router.find(f"{path}:other") is not None) is path.endswith(("{nodeId}", "{token}"))
        assert router.find(f"{path}/other/more") is None
    assert split_path("/v1/prompts:render") == (["v1", "prompts"], "render")
    assert [router.find(path) for path in ("", "*", "v1/runs", "/v1/runs:")] == [None] * 4


@pytest.mark.rule("poll-02")
def test_when_completeness_is_guessed_a_poll_ends_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    async def poll(inside: InProcessHost) -> Answer:
        run_id = (await inside.call("POST", "/v1/runs", {"workflowId": "long"})).document["runId"]
        return await inside.call("GET", f"/v1/runs/{run_id}/events/poll")

    assert probe(poll).document["isComplete"] is False
    monkeypatch.setattr(streams, "is_complete", lambda *_: True)
    assert probe(poll).document["isComplete"] is True


@pytest.mark.rule("dedup-01")
def test_when_the_header_is_not_read_a_scope_fills_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def twice(inside: InProcessHost) -> Answer:
        body = {"workflowId": "long", "scopeId": "s"}
        headers = {"x-dedup": "enforce"}
        await inside.call("POST", "/v1/runs", body, headers=headers)
        assert (await inside.call("POST", "/v1/runs", body, headers=headers, key=OTHER_KEY)).status == 201
        return await inside.call("POST", "/v1/runs", body, headers=headers)

    assert probe(twice).status == 409
    monkeypatch.setattr(idempotency, "parse_dedup", lambda value: False)
    assert probe(twice).status == 201
