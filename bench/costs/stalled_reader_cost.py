"""How long many readers that do not read hold the event loop: when they come, while events are emitted, and when they
go."""

import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.costs.graphs import Json, definition, edge, node
from bench.load.runs import request
from bench.plan import BenchError, Plan
from bench.subjects.host import Host, weftwork
from bench.watched_host import STALL_SECONDS

MODES: Final = ("updates", "debug", "values")
MODULE: Final = "bench.watched_host"
WAIT_SECONDS: Final = 60.0
ROOM: Final = 4096
"""Bytes that the kernel may hold for a reader that does not read."""
KINDS: Final = {"small": (20_000, 300), "large": (900_000, 7)}
"""Bytes of each event, and how many a run emits: more than a connection takes without a client that reads."""
DELAY_MS: Final = 2_000
"""In which the readers come."""
PAUSES: Final = {"join": 0.5, "emit": 1.0, "abort": STALL_SECONDS + 1.0, "read": 2.0, "leave": 0.5}
"""Seconds until the end of each phase: the host may still be at work."""


def stalled_reader_costs(plan: Plan, folder: Path, say: Callable[[str], None]) -> dict[str, float]:
    """The longest hold of the loop over all phases, in CPU time."""
    with weftwork(folder, module=MODULE) as host:
        host.wait()
        phases: dict[str, float] = {}
        for kind, (size, events) in KINDS.items():
            host.call("POST", "/v1/workflows", _emitting(kind, events, DELAY_MS + 6 * plan.stalled))
            for mode in MODES:
                run = host.call("POST", "/v1/runs", {"workflowId": kind, "inputs": {"text": "x" * size}})["runId"]
                for name, hold in _phases(host, run, mode, plan.stalled).items():
                    phases[f"{kind} {mode} {name}"] = hold
    longest = max(phases, key=lambda name: phases[name])
    say(f"{plan.stalled} stalled readers hold the loop for {phases[longest]:.0f} ms at most ({longest})")
    return {"stalled_hold_ms": phases[longest]}


def _emitting(name: str, count: int, delay_ms: int) -> Json:
    """A delay, in which the readers come, and then nodes in a row that put their input into the log."""
    text = {"text": {"type": "variable", "variableName": "text"}}
    nodes = [node(0, "core.delay", {"delayMs": delay_ms})]
    nodes += [node(number, "core.identity", inputs=text) for number in range(1, count)]
    variables = [{"name": "text", "type": "string", "required": True}]
    return definition(name, nodes, [edge(at, at + 1) for at in range(count - 1)], variables=variables)


def _phases(host: Host, run: str, mode: str, count: int) -> dict[str, float]:
    """The longest hold when readers join, while events are emitted, when the host gives the readers up, when they read
    the log of the run, and when they disconnect."""
    _longest(host)
    found: dict[str, float] = {}
    readers = [_open(host.port, f"/v1/runs/{run}/events?streamMode={mode}") for _ in range(count)]
    try:
        found["join"] = _end_phase(host, "join")
        until = time.monotonic() + WAIT_SECONDS
        while host.call("GET", "/v1/runs?limit=1")["runs"][0]["status"] != "completed":
            if time.monotonic() > until:
                raise BenchError("the run of the stalled readers did not complete")
            time.sleep(0.05)
        found["emit"] = _end_phase(host, "emit")
        found["abort"] = _end_phase(host, "abort")
    finally:
        for reader in readers:
            reader.close()
    # Again to a run that has ended: all read the log, stall, and then all disconnect.
    readers = [_open(host.port, f"/v1/runs/{run}/events?streamMode={mode}") for _ in range(count)]
    found["read"] = _end_phase(host, "read")
    for reader in readers:
        reader.close()
    found["leave"] = _end_phase(host, "leave")
    return found


def _end_phase(host: Host, name: str) -> float:
    time.sleep(PAUSES[name])
    return _longest(host)


def _open(port: int, path: str) -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)
    connection.settimeout(WAIT_SECONDS)
    connection.connect(("127.0.0.1", port))
    connection.sendall(request("GET", path))
    return connection


def _longest(host: Host) -> float:
    host.child.send(None)
    return host.child.receive(WAIT_SECONDS)
