"""The cost of assets: download and upload compared with a bare file server, and a run that emits 1,000 images."""

import itertools
import sqlite3
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from http.client import HTTPConnection
from importlib.util import find_spec
from pathlib import Path
from secrets import token_bytes
from statistics import median
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from bench.costs.graphs import chain
from bench.load.runs import drive_with, request
from bench.load.transfers import Transfer
from bench.meter import cpu_seconds
from bench.plan import KEY, BenchError, Plan
from bench.subjects.host import Host, bare_files, weftwork

SIZE: Final = 2**20
RANGE: Final = 65_536
CLIENTS: Final = (4, 16)
NODES: Final = "bench.costs.media_nodes"
UPLOADS: Final = "/v1/host/weftwork/assets"
PNG: Final = b"\x89PNG\r\n\x1a\n"
END_SECONDS: Final = 300.0
LOOK_SECONDS: Final = 0.05

Progress = Callable[[str], None]


def asset_costs(plan: Plan, folder: Path, say: Progress) -> dict[str, float]:
    """Assets of 1 MiB in a second by our host and files by the bare server, in turns; and what else is asked of us.

    Without Starlette there is nothing to compare with.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "file.png"
    body = PNG + token_bytes(SIZE - len(PNG))
    file.write_bytes(body)
    rates: dict[str, list[float]] = {}
    with ExitStack() as stack:
        host = stack.enter_context(weftwork(folder / "host"))
        host.wait()
        bare = stack.enter_context(bare_files(folder / "bare", file)) if find_spec("starlette") is not None else None
        if bare is not None:
            bare.wait()
        path = _uploaded(host, body)
        get = request("GET", path)
        stages: dict[str, tuple[Host, int, partial[Transfer]]] = {}
        for clients in CLIENTS:
            stages[f"asset_{clients}_per_s"] = host, clients, _fetch_requests(get)
            if bare is not None:
                stages[f"asset_bare_{clients}_per_s"] = bare, clients, _fetch_requests(request("GET", "/file"))
        part = get[:-2] + b"Range: bytes=%d-%d\r\n\r\n" % (SIZE // 2, SIZE // 2 + RANGE - 1)
        head = request("HEAD", path)
        stages["asset_range_per_s"] = host, 16, partial(Transfer, lambda: [part], b"206", RANGE, False)
        stages["asset_head_per_s"] = host, 16, partial(Transfer, lambda: [head], b"200", SIZE, True)
        stages["upload_4_per_s"] = host, 4, partial(Transfer, _upload_requests(body), b"201", None, False)
        for number in range(-1, plan.transfers):
            for name, (subject, clients, maker) in stages.items():
                sample = drive_with(subject.port, maker, clients, plan.runs, plan.transfer_seconds)
                if number >= 0:
                    rates.setdefault(name, []).append(len(sample.latencies) / sample.seconds)
    found = {name: median(each) for name, each in rates.items()}
    for clients in CLIENTS if bare is not None else ():
        turns = zip(rates[f"asset_{clients}_per_s"], rates[f"asset_bare_{clients}_per_s"], strict=True)
        found[f"asset_{clients}_ratio"] = median(ours / theirs for ours, theirs in turns)
    say("a second: " + ", ".join(f"{name.removesuffix('_per_s')} {rate:.2f}" for name, rate in found.items()))
    return found


def image_run_costs(plan: Plan, folder: Path, say: Progress) -> dict[str, float]:
    """One run that emits many images of 200 KiB: the time of each, and how large its log has become."""
    document = chain("images", 1, "bench.images")
    document["nodes"][0]["inputs"] = {"count": {"type": "variable", "variableName": "count"}}
    with weftwork(folder, nodes=NODES) as host:
        host.wait()
        host.call("POST", "/v1/workflows", document)
        _completed_run(host, 3)
        cpu, began = cpu_seconds(host.pid), time.perf_counter()
        run = _completed_run(host, plan.images)
        took, cpu = time.perf_counter() - began, cpu_seconds(host.pid) - cpu
        shown = _served_event_bytes(host, run, plan.images)
        stored = _stored(folder / "data")
    found = {
        "image_ms": took * 1000 / plan.images,
        "image_cpu_ms": cpu * 1000 / plan.images,
        "images_log_mb": stored / 1e6,
        "images_events_mb": shown / 1e6,
    }
    say(
        f"{plan.images} images: {found['image_ms']:.2f} ms each, {found['image_cpu_ms']:.2f} ms of CPU; "
        f"payloads of {found['images_log_mb']:.2f} MB, shown as {found['images_events_mb']:.2f} MB"
    )
    return found


def _fetch_requests(asking: bytes) -> "partial[Transfer]":
    return partial(Transfer, lambda: [asking], b"200", SIZE, False)


def _upload_requests(body: bytes) -> Callable[[], list[bytes]]:
    """Requests, each with a body that was not sent before."""
    # Only the head is needed here, and the length in it.
    head = request("POST", UPLOADS, body)[: -len(body)].replace(b"application/json", b"image/png")
    rest = body[len(PNG) + 8 :]
    numbers = itertools.count()
    return lambda: [head, PNG, next(numbers).to_bytes(8, "big"), rest]


def _uploaded(host: Host, body: bytes) -> str:
    """The path of an asset with these bytes."""
    connection = HTTPConnection("127.0.0.1", host.port, timeout=60)
    connection.request("POST", UPLOADS, body, {"Authorization": f"Bearer {KEY}", "Content-Type": "image/png"})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    if answer.status != 201:
        raise BenchError(f"an upload was answered with {answer.status}: {text[:200]!r}")
    return urlsplit(msgspec.json.decode(text)["url"]).path


def _completed_run(host: Host, images: int) -> str:
    """The id of a run that has made so many images."""
    run = host.call("POST", "/v1/runs", {"workflowId": "images", "inputs": {"count": images}})["runId"]
    until = time.monotonic() + END_SECONDS
    while (status := host.call("GET", "/v1/runs?workflowId=images&limit=1")["runs"][0]["status"]) != "completed":
        if status not in ("pending", "running") or time.monotonic() > until:
            raise BenchError(f"a run that makes images is {status}")
        time.sleep(LOOK_SECONDS)
    return run


def _served_event_bytes(host: Host, run: str, images: int) -> int:
    """Bytes of all events of a run as they are served; raises BenchError unless every image is among them."""
    total = seen = after = 0
    while True:
        page: Any = host.call("GET", f"/v1/runs/{run}/events/poll?lastSequence={after}&timeout=1")
        if not page["events"]:
            break
        total += sum(len(msgspec.json.encode(event)) for event in page["events"])
        seen += sum(event["type"] == "media.image" for event in page["events"])
        after = page["events"][-1]["sequence"]
    if seen != images:
        raise BenchError(f"{seen} images are in the log of a run that made {images}")
    return total


def _stored(data: Path) -> int:
    """Bytes of the payloads of the newest run."""
    connection = sqlite3.connect(f"file:{data / 'weftwork.db'}?mode=ro", uri=True)
    try:
        line = "SELECT sum(length(payload)) FROM events WHERE id >> 26 = (SELECT max(id >> 26) FROM events)"
        return connection.execute(line).fetchone()[0]
    finally:
        connection.close()
