"""Media of a node in a real host: kept over a kill, shown once, and opened by the URL of the log."""

import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.adapters.python.single_node_workflows import single_node_workflow
from tests.live import Host, start_host, until, write_workflows

pytestmark = pytest.mark.slow

NODES = """
import asyncio
import weftwork


@weftwork.node("acme.shows")
async def shows(ctx: weftwork.Context) -> list[weftwork.Media]:
    made = [await ctx.emit_file(f"{number}".encode() * 1000, alt=f"{number}", name="n.txt") for number in range(3)]
    if ctx.attempt == 1:
        await asyncio.sleep(60)
    return made
"""


def opened(host: Host, url: str) -> bytes:
    answer = host.call("GET", urlsplit(url).path, key=None)
    assert answer.status == 200
    return answer.body


def shown(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event["payload"] for event in events if event["type"] == "media.file"]


@pytest.mark.rule("media-65")
def test_media_outlive_a_kill_and_are_shown_once(tmp_path: Path) -> None:
    (tmp_path / "acme_media.py").write_text(NODES)
    write_workflows(tmp_path / "flows", single_node_workflow("shows", "acme.shows"))
    options = ("--nodes", "acme_media", "--workflows", tmp_path / "flows")
    with start_host(tmp_path, *options, cwd=tmp_path) as host:
        run_id = host.create("shows")
        path = f"/v1/runs/{run_id}/events/poll?timeout=1"

        def three() -> list[dict[str, Any]] | None:
            found = shown(host.call("GET", path).document["events"])
            return found if len(found) == 3 else None

        before = until(three, "three emissions")
        host.kill()
    with start_host(tmp_path, *options, cwd=tmp_path) as host:
        events = host.log(run_id)
        assert [each["alt"] for each in shown(events)] == ["0", "1", "2"]
        assert shown(events) == before
        outputs = events[-1]["payload"]["outputs"]["n"]["output"]
        for number, made in enumerate(outputs):
            data = f"{number}".encode() * 1000
            assert opened(host, made["url"]) == data
            assert made["mediaRef"].endswith(hashlib.sha256(data).hexdigest())


@pytest.mark.rule("media-68")
def test_a_host_that_is_checked_serves_what_its_workflow_shows(tmp_path: Path) -> None:
    with start_host(tmp_path, "--conformance") as host:
        events = host.log(host.create("conformance-media-emit"))
        payloads = [event["payload"] for event in events if event["type"].startswith("media.")]
        assert [("url" in each, "base64" in each) for each in payloads] == [(True, False)] * 3 + [(False, True)]
        for each in payloads[:3]:
            assert len(opened(host, each["url"])) == each["bytes"]
