"""A token stands in what its reader is given and nowhere else: not in logs, events, streams, errors or the store."""

import logging
from pathlib import Path
from typing import Any

import pytest

from tests.live import Host, open_in_process, start_host, write_workflows
from tests.live.steering import cancel, flow, interrupt_node
from tests.live.tokens import ACCEPT, answer_by_token, approval_workflow, created_link, get_interrupt, token_of
from weftwork.adapters.http import app
from weftwork.engine.api.interrupts import Interrupts
from weftwork.ports.storage.event_log import StoreUnavailable

ASKS = flow("hush-asks", [interrupt_node("ask")])
GATE = approval_workflow("hush-gate")


def stream(host: Host, run_id: str, mode: str) -> bytes:
    """All that a stream says until its run has ended."""
    reader = host.stream(run_id, f"?streamMode={mode}")
    if mode == "values":
        reader.read_until(lambda body: b"waiting-input" in body)
    cancel(host, run_id)
    return reader.finish()


@pytest.mark.rule("tok-07")
def test_a_token_is_written_nowhere(tmp_path: Path) -> None:
    folder = write_workflows(tmp_path / "flows", ASKS, GATE)
    tokens: list[str] = []
    told: list[bytes] = []
    with start_host(tmp_path, "--workflows", folder, "--test-seams", "--log-level", "debug") as host:
        run_id = host.create("hush-gate")
        tokens += [
            token_of(host, run_id),
            created_link(host, run_id)["token"],
            created_link(host, run_id, {"for": "ada"})["token"],
        ]
        for token in tokens:
            for path in (f"/interrupts/{token}", f"/v1/interrupts/{token}/x", f"/v1/runs/{token}", f"/v1/{token}:x"):
                told.append(host.call("GET", path).body)
            for method in ("PUT", "DELETE", "OPTIONS"):
                told.append(host.call(method, f"/v1/interrupts/{token}").body)
            told.append(get_interrupt(host, token + "x").body)
            told.append(get_interrupt(host, token[:-1]).body)
            for value in ({"action": "maybe"}, None):
                told.append(answer_by_token(host, token, value).body)
            told.append(host.call("POST", f"/v1/interrupts/{token}", key=None, body=b"{").body)
            told.append(host.call("GET", f"/v1/runs?cursor={token}").body)
            told.append(host.call("GET", "/v1/runs", headers={"Idempotency-Key": token}).body)
        told.append(answer_by_token(host, tokens[0], ACCEPT, **{"Idempotency-Key": "k"}).body)
        told += [get_interrupt(host, token, Accept="text/html").body for token in tokens]
        for mode in ("values", "updates", "debug", "messages"):
            waiting = host.create("hush-asks")
            tokens.append(token_of(host, waiting))
            told.append(stream(host, waiting, mode))
            told.append(host.call("GET", f"/v1/runs/{waiting}/events").body)
            told.append(host.call("GET", f"/v1/runs/{waiting}/events/poll?timeout=1").body)
            told.append(host.call("GET", f"/v1/host/sample/test/otel/spans?runId={waiting}").body)
        told.append(host.call("GET", f"/v1/runs/{run_id}/events").body)
        assert host.stop() == 0
        told += [host.output.encode(), host.errors.encode()]
    told += [file.read_bytes() for file in host.data.rglob("*") if file.is_file()]
    assert len(tokens) == 7
    assert any(b"hush-gate" in each for each in told)
    for token in tokens:
        payload, signature = (part.encode() for part in token.split("."))
        assert not [each[:200] for each in told if signature in each or payload in each]


def test_what_streams_say_would_be_seen(tmp_path: Path) -> None:
    """The proof above looks at what it says it looks at."""
    folder = write_workflows(tmp_path / "flows", ASKS)
    with start_host(tmp_path, "--workflows", folder, store="memory") as host:
        said = stream(host, host.create("hush-asks"), "values")
        assert b"waiting-input" in said
        assert b'"interrupts"' in said


async def mishaps(log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> tuple[str, list[str]]:
    """The token, and what the log says of requests that end in a fault of the host."""
    async with open_in_process(ASKS) as inside:
        made = await inside.call("POST", "/v1/runs", {"workflowId": "hush-asks"})
        shown = await inside.call("GET", f"/v1/runs/{made.document['runId']}")
        token = shown.document["interrupt"]["interruptToken"]

        async def broken(*_: Any) -> Any:
            raise RuntimeError("broken")

        async def away(*_: Any) -> Any:
            raise StoreUnavailable("away")

        for fault, status in ((broken, 500), (away, 503)):
            monkeypatch.setattr(Interrupts, "inspect", fault)
            answer = await inside.call("GET", f"/v1/interrupts/{token}")
            assert (answer.status, token in answer.body.decode()) == (status, False)
            assert answer.document["error"] in ("internal_error", "service_unavailable")
        paths = [str(getattr(record, "path", "")) for record in log.records]
        return token, [*paths, log.text]


@pytest.mark.rule("tok-07")
async def test_a_request_that_fails_is_logged_without_its_token(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    token, said = await mishaps(caplog, monkeypatch)
    assert said.count("/v1/interrupts/(token)") == 2
    assert not [each for each in said if token[:30] in each or token[-43:] in each]


@pytest.mark.rule("tok-07")
async def test_unmasked_it_would_stand_there(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "mask_tokens", lambda text: text)
    token, said = await mishaps(caplog, monkeypatch)
    assert [each for each in said if token[:30] in each]
