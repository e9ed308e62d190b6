"""What models' answers cost: CPU of a streamed one, and what the gate and its commit add to a turn."""

import http.client
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec

from bench.costs.graphs import chain, definition, node
from bench.meter import cpu_seconds
from bench.plan import TEST_KEY, BenchError, Plan
from bench.report.statistics import percentile
from bench.subjects.host import Host, weftwork

CHUNKS_PER_FIGURE: Final = 20
"""Number of chunks for which the CPU time is reported."""
STREAM_SECONDS: Final = 120.0
LOOK_SECONDS: Final = 0.02
KIND: Final = "vendor.bench.booking"
ROOMS: Final = 9

Json = dict[str, Any]
Progress = Callable[[str], None]
STREAMED: Final = definition("streamed", [node(0, "core.ai.callPrompt", {"prompt": "Continue."})], [])


def stream_costs(plan: Plan, folder: Path, say: Progress) -> dict[str, float]:
    """An answer of many chunks to one subscriber, as fast as it goes and at one chunk in a millisecond.

    CPU time of the host from the creation of the run to the end of the stream; the reader is another process.
    """
    found: dict[str, float] = {}
    with weftwork(folder) as host:
        host.wait()
        host.call("POST", "/v1/workflows", STREAMED)
        _follow(host, plan.chunks, 0)
        for name, delay in (("chunks_ms", 0), ("chunks_paced_ms", 1)):
            costs: list[float] = []
            for _ in range(plan.answers_streamed):
                before = cpu_seconds(host.pid)
                _follow(host, plan.chunks, delay)
                costs.append((cpu_seconds(host.pid) - before) * 1000 * CHUNKS_PER_FIGURE / plan.chunks)
            found[name] = median(costs)
    say(
        f"an answer of {plan.chunks} chunks: {found['chunks_ms']:.2f} ms of CPU for {CHUNKS_PER_FIGURE} of them, "
        f"{found['chunks_paced_ms']:.2f} ms if they come one by one"
    )
    return found


def gate_turn_costs(plan: Plan, folder: Path, say: Progress) -> dict[str, float]:
    """Turns of a scripted model that answers with an envelope of 1.2 KB.

    bench.costs.gate_timing says what is timed."""
    payload = {"guest": "Ada", "note": "With breakfast.", "rooms": [_room(number) for number in range(ROOMS)]}
    script = folder / "script.json"
    folder.mkdir(parents=True, exist_ok=True)
    script.write_text(json.dumps({"default": json.dumps({"type": KIND, "payload": payload})}), "utf-8")
    turns = chain("turns", plan.turns_of_run, "core.ai.generateEnvelope")
    for each in turns["nodes"]:
        each["config"] = {"envelopeType": KIND, "userMessage": "Book it."}
    turns["metadata"] = {"envelopeKinds": {KIND: {"version": 1, "schema": _schema()}}}
    with weftwork(folder, nodes="bench.costs.gate_timing", model_script=script) as host:
        host.wait()
        for document in (turns, chain("look", 1, "bench.gate")):
            host.call("POST", "/v1/workflows", document)
        for _ in range(2):
            _complete(host, "turns")
        _look(host)
        for _ in range(plan.turns // plan.turns_of_run):
            _complete(host, "turns")
        seen = _look(host)
    if len(seen) != plan.turns // plan.turns_of_run * plan.turns_of_run:
        raise BenchError(f"{len(seen)} envelopes were recorded in {plan.turns} turns")
    wall, cpu = ([each[at] for each in seen] for at in (0, 1))
    found = {"gate_ms": median(wall), "gate_p99_ms": percentile(wall, 0.99), "gate_cpu_ms": median(cpu)}
    say(
        f"the gate adds {found['gate_ms']:.2f} ms to a turn, p99 {found['gate_p99_ms']:.2f} ms; "
        f"{found['gate_cpu_ms']:.2f} ms of CPU"
    )
    return found


def _follow(host: Host, chunks: int, delay: int) -> None:
    """Let a model say so many chunks and read them; raises BenchError unless all come, in order."""
    tokens = [f"word {number} " for number in range(chunks)]
    mock = {"id": "stream-text", "config": {"tokens": tokens, "delayMsPerToken": delay}}
    body = msgspec.json.encode({"workflowId": "streamed", "configurable": {"mockProvider": mock}})
    headers = {"Authorization": f"Bearer {TEST_KEY}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection("127.0.0.1", host.port, timeout=STREAM_SECONDS)
    connection.request("POST", "/v1/runs", body, headers)
    run = msgspec.json.decode(connection.getresponse().read())["runId"]
    connection.request("GET", f"/v1/runs/{run}/events?streamMode=messages", headers=headers)
    data = connection.getresponse().read()
    connection.close()
    came = [msgspec.json.decode(line[6:]) for line in data.splitlines() if line.startswith(b"data: ")]
    if [each["chunk"] for each in came] != tokens or [each["isLast"] for each in came].index(True) != chunks - 1:
        raise BenchError(f"{len(came)} chunks came of {chunks}, or not in their order")


def _complete(host: Host, workflow: str) -> str:
    """The id of a run that was started and has completed."""
    run = host.call("POST", "/v1/runs", {"workflowId": workflow})["runId"]
    until = time.monotonic() + STREAM_SECONDS
    while (status := host.call("GET", f"/v1/runs?workflowId={workflow}&limit=1")["runs"][0]["status"]) != "completed":
        if status not in ("pending", "running") or time.monotonic() > until:
            raise BenchError(f"a run of {workflow} is {status}")
        time.sleep(LOOK_SECONDS)
    return run


def _look(host: Host) -> list[list[float]]:
    return host.call("GET", f"/v1/runs/{_complete(host, 'look')}")["outputs"]["n0"]["output"]


def _room(number: int) -> Json:
    return {
        "id": f"room-{number}",
        "label": f"Room {number}, by the river, with a view",
        "nights": number + 1,
        "free": True,
    }


def _schema() -> Json:
    fields: Json = {"id": {"type": "string"}, "label": {"type": "string", "maxLength": 200}}
    fields |= {"nights": {"type": "integer", "minimum": 1}, "free": {"type": "boolean"}}
    room = {"type": "object", "required": list(fields), "properties": fields, "additionalProperties": False}
    members: Json = {"guest": {"type": "string"}, "note": {"type": "string"}, "rooms": {"type": "array", "items": room}}
    return {"type": "object", "required": list(members), "properties": members, "additionalProperties": False}
