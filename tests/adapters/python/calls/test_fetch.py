"""Requests of nodes on a real host: through its guard, and no way around it."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.python.single_node_workflows import single_node_workflow
from tests.live import Host, start_host, write_workflows

pytestmark = pytest.mark.slow

NODES = """
import weftwork


@weftwork.node("acme.fetch")
async def fetch(ctx: weftwork.Context, url: str) -> dict:
    async def send() -> dict:
        answer = await ctx.fetch(url, method="POST", json={"a": 1}, headers={"Idempotency-Key": ctx.idempotency_key})
        return {"status": answer.status, "said": answer.json(), "url": answer.url}

    return await ctx.step("send", send)


@weftwork.node("acme.fetch-plain")
def fetch_plain(ctx: weftwork.PlainContext, url: str) -> dict:
    def send() -> dict:
        answer = ctx.fetch(url, method="POST", json={"a": 1}, headers={"Idempotency-Key": ctx.idempotency_key})
        return {"status": answer.status, "said": answer.json(), "url": answer.url}

    return ctx.step("send", send)
"""


class Sink(BaseHTTPRequestHandler):
    """Counts what arrives and says it back."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.keys.append(self.headers["idempotency-key"])  # type: ignore[attr-defined]
        said = json.dumps({"got": json.loads(body)}).encode()
        self.send_response(201)
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002


@pytest.fixture
def sink() -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    server.keys = []
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server
    server.shutdown()
    thread.join(10)
    server.server_close()


def run(host: Host, name: str) -> dict[str, Any]:
    return host.log(host.create(name))[-1]


def test_a_node_sends_through_the_guard(tmp_path: Path, sink: Any) -> None:
    url = f"http://127.0.0.1:{sink.server_port}/x"
    (tmp_path / "fetching_nodes.py").write_text(NODES)
    names = {"async": "acme.fetch", "plain": "acme.fetch-plain"}
    flows = [single_node_workflow(name, type_id, {"url": url}) for name, type_id in names.items()]
    args = ("--nodes", "fetching_nodes", "--workflows", write_workflows(tmp_path / "flows", *flows))
    with start_host(tmp_path, *args, store="memory", cwd=tmp_path) as host:
        for name in names:
            assert run(host, name)["payload"]["error"]["code"] == "ssrf_blocked"
    assert sink.keys == []
    with start_host(tmp_path, *args, "--allow-private-network", store="memory", cwd=tmp_path) as host:
        for name in names:
            outputs = run(host, name)["payload"]["outputs"]["n"]
            assert outputs == {"status": 201, "said": {"got": {"a": 1}}, "url": url}
    assert len(set(sink.keys)) == 2
    assert all(len(key) == 43 for key in sink.keys)
