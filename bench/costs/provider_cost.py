"""What a host adds to the answers of a real model server: latency and CPU time per chunk, and many streams at once."""

import asyncio
import http.client
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from bench.child_process import ChildProcess, free_port
from bench.costs.graphs import definition, node
from bench.meter import cpu_seconds
from bench.plan import KEY, BenchError, Plan
from bench.report.statistics import percentile
from bench.subjects.host import Host, weftwork

HOST: Final = "bench.provider_host"
PEER: Final = "bench.load.model_peer"
RELAY: Final = "bench.subjects.bare_relay"
PACE_MS: Final = 20
"""Between two chunks of one stream."""
WARM_CHUNKS: Final = 10
"""Chunks of a paced answer before its CPU time is counted, so that the creation of the run, the request to the model
server and the end of the run are not counted as chunks."""
CONCURRENT_PACE_MS: Final = 50
SECONDS: Final = 300.0

SETTINGS: Final = """
[providers.bench]
type = "openai-compatible"
base_url = "{url}"
allow_private_network = true
[[providers.bench.models]]
name = "tiny"
"""

Progress = Callable[[str], None]


def provider_costs(plan: Plan, folder: Path, say: Progress) -> dict[str, float]:
    """Chunks of a model server on loopback, read through the host, through the bare relay and directly, in alternating
    rounds and by the same reader.

    The latency of a chunk is the time from its creation in the model server to its arrival at the reader. The relay is
    the floor: it makes each piece durable and passes it on, and does nothing else.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ChildProcess("models", PEER, (), folder) as peer:
        url = peer.receive(SECONDS)
        (folder / "data").mkdir()
        (folder / "data" / "weftwork.toml").write_text(SETTINGS.format(url=url), "utf-8")
        with weftwork(folder, module=HOST) as host, _relay(url, folder) as relay:
            host.wait()
            shapes = {
                "paced": (plan.provider_chunks, PACE_MS),
                "burst": (plan.chunks, 0),
                "many": (plan.provider_stream_chunks, CONCURRENT_PACE_MS),
            }
            for name, shape in shapes.items():
                host.call("POST", "/v1/workflows", _workflow(name, *shape))
            list(_through_host(host, "burst"))
            return _one_stream(plan, host, url, relay, say) | _many_streams(plan, host, say)


class _Relay(msgspec.Struct, frozen=True):
    pid: int
    url: str


@contextmanager
def _relay(url: str, folder: Path) -> Iterator[_Relay]:
    model_port, port = urlsplit(url).port, free_port()
    arguments = ("--file", folder / "relay.db", "--model-port", str(model_port), "--port", str(port))
    with ChildProcess("relay", RELAY, arguments, folder) as relay:
        relayed = urlsplit(url)._replace(netloc=f"127.0.0.1:{port}").geturl()
        until = time.monotonic() + SECONDS
        while True:
            try:
                list(_directly(relayed, 1, 0))
                break
            except OSError:
                relay.check()
                if time.monotonic() > until:
                    raise
                time.sleep(0.002)
        yield _Relay(relay.pid, relayed)


class _Paced(msgspec.Struct, frozen=True):
    """A paced answer: the median latency and the CPU time of a process per chunk, in milliseconds."""

    latency: float
    cpu: float


def _paced(latencies: Iterator[float], pid: int, chunks: int) -> _Paced:
    """Read an answer. CPU time is counted between the arrivals of two chunks."""
    found: list[float] = []
    first = last = 0.0
    for latency in latencies:
        found.append(latency)
        if len(found) == WARM_CHUNKS:
            first = cpu_seconds(pid)
        elif len(found) == chunks - 1:
            # The last chunk of the host comes with the end of the node and of the run.
            last = cpu_seconds(pid)
    if len(found) != chunks:
        raise BenchError(f"{len(found)} chunks came of {chunks}")
    return _Paced(median(found), (last - first) * 1000 / (chunks - 1 - WARM_CHUNKS))


def _one_stream(plan: Plan, host: Host, url: str, relay: _Relay, say: Progress) -> dict[str, float]:
    direct: list[float] = []
    floor: list[_Paced] = []
    paced: list[_Paced] = []
    burst_cpu: list[float] = []
    count = plan.provider_chunks
    for _ in range(plan.provider_rounds):
        direct.append(median(_directly(url, count, PACE_MS)))
        floor.append(_paced(_directly(relay.url, count, PACE_MS), relay.pid, count))
        paced.append(_paced(_through_host(host, "paced"), host.pid, count))
        before = cpu_seconds(host.pid)
        list(_through_host(host, "burst"))
        burst_cpu.append((cpu_seconds(host.pid) - before) * 1000 / plan.chunks)
    found = {
        "provider_direct_ms": median(direct),
        "provider_floor_added_ms": median(each.latency - other for each, other in zip(floor, direct, strict=True)),
        "provider_floor_cpu_ms": median(each.cpu for each in floor),
        "provider_added_ms": median(each.latency - other for each, other in zip(paced, direct, strict=True)),
        "provider_chunk_cpu_ms": median(each.cpu for each in paced),
        "provider_burst_cpu_ms": median(burst_cpu),
    }
    say(
        f"a chunk of a model server: {found['provider_added_ms']:.2f} ms later through the host, "
        f"{found['provider_chunk_cpu_ms']:.3f} ms of CPU; through a bare relay that makes it durable "
        f"{found['provider_floor_added_ms']:.2f} ms and {found['provider_floor_cpu_ms']:.3f} ms; "
        f"in a burst {found['provider_burst_cpu_ms']:.3f} ms"
    )
    return found


def _many_streams(plan: Plan, host: Host, say: Progress) -> dict[str, float]:
    delays: list[list[float]] = []
    latencies: list[float] = []
    cpu: list[float] = []
    chunks = plan.provider_streams * plan.provider_stream_chunks
    for _ in range(plan.provider_rounds):
        host.child.send("start")
        before = cpu_seconds(host.pid)
        latencies += asyncio.run(_follow_all(host, plan.provider_streams))
        cpu.append((cpu_seconds(host.pid) - before) * 1000 / chunks)
        host.child.send("stop")
        delays.append(host.child.receive(SECONDS))
    if len(latencies) != chunks * plan.provider_rounds:
        raise BenchError(f"{len(latencies)} chunks came of {chunks * plan.provider_rounds}")
    found = {
        "provider_lag_p99_ms": median(percentile(each, 0.99) for each in delays),
        "provider_many_ms": median(latencies),
        "provider_many_p99_ms": percentile(latencies, 0.99),
        "provider_many_cpu_ms": median(cpu),
    }
    say(
        f"{plan.provider_streams} streams at once: loop lag p99 {found['provider_lag_p99_ms']:.1f} ms, chunks after "
        f"{found['provider_many_ms']:.1f} ms, p99 {found['provider_many_p99_ms']:.1f} ms, "
        f"{found['provider_many_cpu_ms']:.3f} ms of CPU per chunk"
    )
    return found


def _workflow(name: str, chunks: int, interval: int) -> dict[str, Any]:
    return definition(name, [node(0, "core.ai.callPrompt", {"prompt": f"{chunks} {interval}"})], [])


def _directly(url: str, chunks: int, interval: int) -> Iterator[float]:
    """The latency of each chunk in milliseconds, read from the model server itself."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=SECONDS)
    body = {"model": "tiny", "stream": True, "messages": [{"role": "user", "content": f"{chunks} {interval}"}]}
    connection.request("POST", f"{parts.path}/chat/completions", json.dumps(body))
    response = connection.getresponse()
    while line := response.readline():
        now = time.monotonic_ns()
        if line.startswith(b"data: {"):
            for choice in msgspec.json.decode(line[6:])["choices"]:
                if text := choice["delta"].get("content"):
                    yield (now - int(text)) / 1e6
    connection.close()


def _through_host(host: Host, workflow: str) -> Iterator[float]:
    """The latency of each chunk in milliseconds, read from the event stream of a new run."""
    connection = http.client.HTTPConnection("127.0.0.1", host.port, timeout=SECONDS)
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/runs", msgspec.json.encode({"workflowId": workflow}), headers)
    run = msgspec.json.decode(connection.getresponse().read())["runId"]
    connection.request("GET", f"/v1/runs/{run}/events?streamMode=messages", headers=headers)
    response = connection.getresponse()
    while line := response.readline():
        now = time.monotonic_ns()
        if line.startswith(b"data: "):
            document = msgspec.json.decode(line[6:])
            # The first chunk of a server has no text, and the last one of the host may have none.
            if text := document["chunk"].strip():
                yield (now - int(text)) / 1e6
            if document["isLast"]:
                break
    connection.close()


async def _follow_all(host: Host, count: int) -> list[float]:
    found = await asyncio.gather(*(_follow(host, "many") for _ in range(count)))
    return [latency for each in found for latency in each]


async def _follow(host: Host, workflow: str) -> list[float]:
    async with asyncio.timeout(SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", host.port)
        run = msgspec.json.decode(await _request(reader, writer, "POST", "/v1/runs", {"workflowId": workflow}))["runId"]
        _send(writer, "GET", f"/v1/runs/{run}/events?streamMode=messages", None)
        latencies: list[float] = []
        while line := await reader.readline():
            now = time.monotonic_ns()
            if line.startswith(b"data: "):
                document = msgspec.json.decode(line[6:])
                # The first chunk of a server has no text, and the last one of the host may have none.
                if text := document["chunk"].strip():
                    latencies.append((now - int(text)) / 1e6)
                if document["isLast"]:
                    break
        writer.close()
        return latencies


async def _request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, method: str, path: str, document: Any
) -> bytes:
    _send(writer, method, path, document)
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    size = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
    return await reader.readexactly(size)


def _send(writer: asyncio.StreamWriter, method: str, path: str, document: Any) -> None:
    body = msgspec.json.encode(document) if document is not None else b""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n"
    writer.write(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
