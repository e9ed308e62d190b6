"""A key that is revoked ends what was opened with it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.live import Host, Stream, delays, open_in_process, start_host, write_workflows
from tests.live.fixtures import KEEPALIVE_SETTINGS
from tests.live.listening_host import until
from tests.live.tokens import administer
from tests.readers.process_stats import without_guard

WORKFLOWS = (delays("still", 60_000), delays("lively", *[100] * 150))
KEEPALIVE = b": keepalive\n\n"


@pytest.fixture
def start(tmp_path: Path) -> Any:
    workflows = write_workflows(tmp_path / "workflows", *WORKFLOWS)
    return lambda **more: start_host(tmp_path, "--workflows", workflows, env=KEEPALIVE_SETTINGS, **more)


def opened(host: Host, key: str, workflow_id: str, query: str) -> Stream:
    """A stream that has begun and whose client knows no end of it."""
    stream = host.stream(host.create(workflow_id, key=key), query, key=key)
    stream.read_until(lambda body: body.endswith(b"\n\n"))
    return stream


@pytest.mark.rule("auth-02")
@pytest.mark.parametrize("workflow_id", ["still", "lively"], ids=["at a keep-alive", "at an event"])
@pytest.mark.parametrize("query", ["?streamMode=debug", "?streamMode=values", "?streamMode=debug&bufferMs=50"])
def test_a_revoked_key_ends_its_streams_properly(start: Any, workflow_id: str, query: str) -> None:
    with start() as host:
        made, other = (administer(host, "keys.create", tenant="acme") for _ in range(2))
        stream = opened(host, made["key"], workflow_id, query)
        kept = opened(host, other["key"], workflow_id, query)
        administer(host, "keys.revoke", key_id=made["keyId"])
        stream.finish()
        assert host.call("GET", "/v1/runs", key=made["key"]).document["error"] == "key_revoked"
        with kept.connection:
            before = len(kept.read_until(lambda body: True))
            kept.read_until(lambda body: len(body) > before)
        assert "Traceback" not in host.errors


@pytest.mark.rule("auth-02")
@pytest.mark.parametrize("revoked", [True, False])
async def test_a_revoked_key_is_not_given_what_it_polls_for(revoked: bool) -> None:
    async with open_in_process(delays("still", 60_000)) as inside:
        keyring = inside.host.keyring
        key, row = await keyring.create("acme")
        run_id = (await inside.call("POST", "/v1/runs", {"workflowId": "still"})).document["runId"]
        path = f"/v1/runs/{run_id}/events/poll?lastSequence=1&timeout=15"
        polling = asyncio.create_task(inside.call("GET", path, key=key))
        await until(lambda: inside.host._feeds.readers == 1, "the poll")
        if revoked:
            await keyring.revoke(row.key_id)
        await inside.call("POST", f"/v1/runs/{run_id}/cancel", {})
        answer = await polling
    if revoked:
        assert (answer.status, answer.document["error"]) == (401, "key_revoked")
    else:
        assert answer.document["events"] != []


@pytest.mark.rule("auth-02")
def test_the_proof_sees_a_stream_that_outlives_its_key(start: Any) -> None:
    with start(program=without_guard("skip_key_recheck")) as host:
        made = administer(host, "keys.create", tenant="acme")
        stream = opened(host, made["key"], "still", "?streamMode=debug")
        administer(host, "keys.revoke", key_id=made["keyId"])
        with stream.connection:
            before = stream.read_until(lambda body: True).count(KEEPALIVE)
            stream.read_until(lambda body: body.count(KEEPALIVE) > before + 2)
