"""The client inside a host: its seam, what discovery says of it, and what a kill leaves behind."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.outbound.peer import AUTHORITY, CountingPeer, ReceivedRequest, listening_peer, run, until
from tests.live import in_thread, open_in_process, start_host, write_workflows
from weftwork.adapters.outbound.guard import AddressGuard
from weftwork.protocol.net.outbound import METHODS

SEAM = "/v1/host/sample/http/safe-fetch"
OPEN = {"test_seams": True, "allow_private_network": True}


def flow(name: str, **config: Any) -> dict[str, Any]:
    """One request; the run's input says where to."""
    url = {"type": "variable", "variableName": "url"}
    node = {"id": "ask", "typeId": "core.http.request", "name": "Ask", "position": {"x": 0, "y": 0}}
    rest = {"edges": [], "triggers": [], "metadata": {}, "settings": {}}
    variables = [{"name": "url", "type": "string"}]
    nodes = [node | {"config": config, "inputs": {"url": url}}]
    return {"id": name, "name": name, "version": "1.0", "nodes": nodes, "variables": variables, **rest}


@pytest.mark.rule("disc-05")
@pytest.mark.parametrize("seams", [False, True])
async def test_discovery_says_what_the_client_keeps(seams: bool) -> None:
    async with open_in_process(test_seams=seams, fetch_timeout_ms=1234, fetch_max_bytes=5678) as inside:
        shown = (await inside.call("GET", "/.well-known/openwop")).document["httpClient"]
        assert shown == {
            "supported": True,
            "ssrfGuard": True,
            "maxResponseBodyBytes": 5678,
            "requestTimeoutMs": 1234,
            "methods": list(METHODS),
            "safeFetch": {"supported": seams},
        }
        assert (await inside.call("POST", SEAM, {"url": "x"})).status == (200 if seams else 404)
    async with open_in_process(allow_private_network=True) as inside:
        assert "httpClient" not in (await inside.call("GET", "/.well-known/openwop")).document


async def test_the_seam_tells_what_became_of_a_request() -> None:
    async with listening_peer() as peer, open_in_process(**OPEN, fetch_max_bytes=10) as inside:
        url = f"http://127.0.0.1:{peer.port}/a"

        async def tried(**body: Any) -> Any:
            answer = await inside.call("POST", SEAM, body)
            assert answer.status == 200, answer.body
            return answer.document

        assert await tried(url=url) == {"outcome": "fetched", "status": 200}
        init = {"method": "PUT", "headers": {"X-A": "b"}, "body": "ü", "redirect": "follow"}
        assert await tried(url=url, init=init) == {"outcome": "fetched", "status": 200}
        heard = peer.requests[-1]
        assert (heard.method, heard.body, heard.headers["x-a"]) == ("PUT", "ü".encode(), "b")
        upgrade = {"headers": {"Connection": "Upgrade", "Upgrade": "websocket"}}
        assert await tried(url=url, init=upgrade) == {"outcome": "blocked", "blocked": "upgrade"}
        assert await tried(url="https://169.254.169.254/") == {"outcome": "blocked", "blocked": "ssrf"}
        peer.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world"
        assert await tried(url=url) == {"outcome": "failed"}


@pytest.mark.rule("out-05")
@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:7f00:1", "no address"])
def test_a_name_that_moves_is_blocked(address: str) -> None:
    async def work() -> None:
        async with listening_peer() as trap:
            settings = {"test_seams": True, "fetch_http": True, "fetch_ports": (trap.port,)}
            async with open_in_process(**settings) as inside:
                body = {"url": f"http://example.com:{trap.port}/", "simulateRebindTo": address}
                answer = await inside.call("POST", SEAM, body)
                assert answer.document == {"outcome": "blocked", "blocked": "ssrf"}
            assert trap.connections == 0

    run(work)


def test_without_the_guard_it_would_be_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    from weftwork.protocol.net.address import parse_address

    monkeypatch.setattr(AddressGuard, "check", lambda self, text: parse_address(text))
    with pytest.raises(AssertionError, match="fetched"):
        test_a_name_that_moves_is_blocked("127.0.0.1")


async def test_the_seam_needs_a_key_and_a_url() -> None:
    async with open_in_process(test_seams=True) as inside:
        assert (await inside.call("POST", SEAM, {"url": "x"}, key="wrong")).status == 401
        for body in ({}, {"url": 1}, {"url": "x", "more": 1}, {"url": "x", "init": {"headers": {"a": 1}}}):
            assert (await inside.call("POST", SEAM, body)).status == 400


class Counter:
    """A sink that answers only when it is told to."""

    def __init__(self, peer: CountingPeer) -> None:
        self.go = asyncio.Event()
        self.keys: list[str | None] = []
        peer.answer = self.answer

    async def answer(self, heard: ReceivedRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.keys.append(heard.headers.get("idempotency-key"))
        await self.go.wait()
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{"n": 1}')


@pytest.mark.parametrize(
    ("config", "sent"),
    [
        ({"method": "POST", "json": {"a": 1}}, 1),
        ({"method": "POST", "json": {"a": 1}, "effect": "idempotent"}, 2),
        ({"method": "GET"}, 2),
    ],
)
async def test_a_request_that_a_kill_met_is_sent_again_only_if_it_may(
    tmp_path: Path, config: dict[str, Any], sent: int
) -> None:
    flows = write_workflows(tmp_path / "flows", flow("asking", **config))
    options = ("--workflows", flows, "--allow-private-network")

    async with listening_peer() as peer:
        sink = Counter(peer)
        with start_host(tmp_path, *options) as host:
            inputs = {"url": f"http://127.0.0.1:{peer.port}/pay"}
            run_id = await in_thread(lambda: host.create("asking", inputs=inputs))
            await until(lambda: sink.keys, "the request")
            await in_thread(host.kill)
        sink.go.set()
        with start_host(tmp_path, *options) as host:
            last: dict[str, Any] = {}

            def settled() -> bool:
                last.update(host.snapshot(run_id))
                return last["status"] in ("completed", "failed", "waiting-input", "waiting-external")

            while not await in_thread(settled):
                await asyncio.sleep(0.01)
        assert len(sink.keys) == sent
        assert len(set(sink.keys)) == 1
        assert (sink.keys[0] is None) == (config["method"] == "GET")
        assert (last["status"] == "completed") == (sent == 2), last


async def test_a_host_sends_over_tls(tmp_path: Path) -> None:
    """As it is started by people, with its own event loop."""
    flows = write_workflows(tmp_path / "flows", flow("asking"))
    options = ("--workflows", flows, "--allow-private-network")

    async with listening_peer(tls=True) as peer:
        inputs = {"url": f"https://127.0.0.1:{peer.port}/"}
        for env, status in (({"SSL_CERT_FILE": str(AUTHORITY)}, "completed"), ({}, "failed")):
            with start_host(tmp_path, *options, env=env) as host:
                run_id = await in_thread(lambda: host.create("asking", inputs=inputs))
                await in_thread(host.log, run_id)
                assert (await in_thread(host.snapshot, run_id))["status"] == status
                assert await in_thread(host.stop) == 0
        assert len(peer.requests) == 1


async def test_a_run_gets_the_answer(tmp_path: Path) -> None:
    async with listening_peer() as peer:
        peer.answer = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{"n": 1}'
        url = f"http://127.0.0.1:{peer.port}/"
        definition = flow("asking", method="POST", body="hello")
        async with open_in_process(definition, allow_private_network=True) as inside:
            created = await inside.call("POST", "/v1/runs", {"workflowId": "asking", "inputs": {"url": url}})
            run_id = created.document["runId"]
            shown: dict[str, Any] = {}
            while shown.get("status") not in ("completed", "failed"):
                shown = (await inside.call("GET", f"/v1/runs/{run_id}")).document
                await asyncio.sleep(0.005)
            log = (await inside.call("GET", f"/v1/runs/{run_id}/events/poll")).document["events"]
        done = next(event for event in log if event["type"] == "node.completed")
        assert done["payload"]["outputs"]["body"] == {"n": 1}, shown
        assert peer.connections == 1


async def test_a_run_that_asks_for_the_inside_fails_by_name() -> None:
    async with open_in_process(flow("asking")) as inside:
        body = {"workflowId": "asking", "inputs": {"url": "https://169.254.169.254/latest/meta-data"}}
        run_id = (await inside.call("POST", "/v1/runs", body)).document["runId"]
        shown: dict[str, Any] = {}
        while shown.get("status") not in ("completed", "failed"):
            shown = (await inside.call("GET", f"/v1/runs/{run_id}")).document
            await asyncio.sleep(0.005)
        assert (shown["status"], shown["error"]["code"]) == ("failed", "ssrf_blocked")
