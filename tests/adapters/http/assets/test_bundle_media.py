"""Media in bundles over HTTP: their URLs open, and no bytes of them stand in it, by the seam neither."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.live import OTHER_KEY, Host, start_host
from tests.live.assets import fetch

EXPORT = "/v1/host/sample/test/debug-bundle/export"


@pytest.fixture(scope="module")
def seamed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("seamed")
    with start_host(folder, "--conformance", "--test-seams", store="memory") as running:
        yield running
        assert "raceback" not in running.errors


def media(bundle: dict[str, Any]) -> list[dict[str, Any]]:
    return [event["payload"] for event in bundle["events"] if event["type"].startswith("media.")]


@pytest.mark.rule("bundle-08", "media-55")
def test_every_medium_of_a_bundle_opens_by_its_url(seamed: Host) -> None:
    run_id = seamed.create("conformance-media-emit")
    logged = media({"events": seamed.log(run_id)})
    answer = seamed.call("GET", f"/v1/runs/{run_id}/debug-bundle")
    exported = seamed.call("POST", EXPORT, {"runId": run_id})
    assert media(answer.document) == media(exported.document) == media(exported.document["bundle"])
    assert len(media(answer.document)) == len(logged) == 4
    assert [name for each in logged for name in ("base64", "url") if name in each].count("base64") == 1
    for shown, before in zip(media(answer.document), logged, strict=True):
        assert {**before, "base64": None, "url": None} == {**shown, "base64": None, "url": None}
        served = fetch(seamed, shown["url"])
        assert (served.status, len(served.body)) == (200, shown["bytes"])
    for body in (answer.body, exported.body):
        assert b'"base64"' not in body
        assert re.search(rb"[A-Za-z0-9+/=_-]{1025}", body) is None


@pytest.mark.rule("bundle-08")
def test_base64_in_inputs_is_left_out(seamed: Host) -> None:
    text = "QUJD" * 20_000
    run_id = seamed.create("conformance-noop", inputs={"scan": f"data:image/png;base64,{text}", "note": "stays"})
    seamed.log(run_id)
    answer = seamed.call("GET", f"/v1/runs/{run_id}/debug-bundle")
    assert len(answer.body) < 10_000
    assert b"characters left out" in answer.body
    assert b"stays" in answer.body
    assert seamed.call("GET", f"/v1/runs/{run_id}/debug-bundle", key=OTHER_KEY).status == 404
