"""Scenarios of surfaces that are emitted through the test endpoint: what the events of a run then have."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.live import OTHER_KEY, Answer, Host
from tests.live.envelopes import TEST, events_in_test_log, run_id
from weftwork.protocol.json import schema
from weftwork.protocol.surfaces.delta import apply_patch

EMIT = "/v1/host/sample/a2ui/emit-surface"
KIND = "ui.a2ui-surface"


def surface(*texts: str, **more: Any) -> dict[str, Any]:
    components = [{"component": "text", "text": each} for each in texts]
    return {"catalogVersion": "0.9.1", "surface": {"components": components}, **more}


def emit(host: Host, run: str, payload: Any, **more: Any) -> Answer:
    return host.call("POST", EMIT, {"runId": run, "surface": payload}, **more)


def events(host: Host, run: str, query: str = "", **more: Any) -> Answer:
    return host.call("GET", f"/v1/runs/{run}/events{query}", headers={"Accept": "application/json"}, **more)


@contextlib.contextmanager
def emitted(host: Host, *payloads: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """An unknown run with these surfaces, and the references that the endpoint gave."""
    run = run_id()
    answers = [emit(host, run, each) for each in payloads]
    assert {each.status for each in answers} == {200}, answers
    yield run, [each.document["surfaceRef"] for each in answers]
    assert host.call("POST", f"{TEST}/reset", {}).status == 200


@pytest.mark.rule("seam-04")
@pytest.mark.parametrize("query", ["", "?a2uiDelta=1"])
def test_the_events_of_an_unknown_run_have_the_whole_surfaces(host: Host, query: str) -> None:
    first, second = surface("A"), surface("A", "B", reasoning="More.")
    with emitted(host, first, second) as (run, references):
        assert len(set(references)) == 1
        answer = events(host, run, query)
        assert answer.status == 200, answer.body
        found = [each for each in answer.document["events"] if each["type"] == KIND]
        assert [each["payload"] for each in found] == [first, second]
        for each in found:
            assert schema.check("run-event", each) == []
        assert events_in_test_log(host, run) == found


@pytest.mark.rule("seam-04", "surf-53")
@pytest.mark.scenario("a2ui-surface-delta-transport")
def test_deltas_of_an_unknown_run_give_its_whole_surfaces(host: Host) -> None:
    assert host.call("GET", "/.well-known/openwop", key=None).document["a2uiSurface"]["deltaTransport"] is True
    long = [f"Paragraph {index} of the form." for index in range(20)]
    first, second = surface(*long), surface(*long[:10], "Changed.", *long[11:])
    with emitted(host, first, second) as (run, references):
        page = events(host, run, "?a2uiDelta=1").document
        assert [each["payload"] for each in page["events"]] == [first, second]
        (frame,) = [each["payload"] for each in page["deltas"]]
        assert schema.check("a2ui-surface-delta-frame", frame) == []
        assert {frame["surfaceRef"]} == set(references)
        assert apply_patch(first, frame["patch"]) == second
        assert "deltas" not in events(host, run).document
        assert emit(host, run, {"catalogVersion": "9"}).status >= 400
        assert events(host, run, "?a2uiDelta=2").status == 400


@pytest.mark.rule("seam-04")
def test_other_runs_and_other_tenants_do_not_have_them(host: Host) -> None:
    with emitted(host, surface("A")) as (run, _):
        assert events(host, run, key=OTHER_KEY).status == 404
        assert events(host, run_id()).status == 404
    assert events(host, run).status == 404


@pytest.mark.rule("seam-04")
def test_a_run_that_exists_has_its_own_events_only(host: Host) -> None:
    run = host.create("conformance-noop")
    before = {each["type"] for each in events(host, run).document["events"]}
    assert emit(host, run, surface("A")).status == 200
    assert KIND not in before | {each["type"] for each in events(host, run).document["events"]}


@each_case(
    "payload",
    {"catalogVersion": "0.8", "surface": {"components": []}},
    {"catalogVersion": "0.9.1"},
    {"surface": {"components": []}},
    {"components": []},
    surface("A", onClick="x"),
    {"catalogVersion": "0.9.1", "surface": {"components": [{"component": "video", "url": "https://example.org"}]}},
)
def test_what_is_not_in_the_catalogue_is_refused(host: Host, payload: Any) -> None:
    run = run_id()
    answer = emit(host, run, payload)
    assert (answer.status, answer.document["error"]) == (422, "a2ui_surface_invalid")
    assert answer.document["details"]["pointer"].startswith("/surface")
    assert events(host, run).status == 404


@each_case("body", {}, {"runId": "r"}, {"surface": surface("A")}, {"runId": "r", "surface": []}, {"runId": "a b"})
def test_a_request_without_its_members_is_refused(host: Host, body: Any) -> None:
    answer = host.call("POST", EMIT, body)
    assert (answer.status, answer.document["error"]) == (400, "validation_error")


def test_the_endpoint_needs_a_key(host: Host) -> None:
    assert emit(host, run_id(), surface("A"), key=None).status == 401
