"""Calls per run: Python and C functions that the host calls, held to a table.

Theory. Time depends on the machine, the number of calls hardly does. One host in one process, one client, one request
at a time; the counts are read when the host has come to rest, so each difference is one run. Timers and collections of
garbage add to some runs, more of them on a busy machine: the figure is the lower quartile. In ten repetitions on a
quiet machine it was the same each time; in ten with a load of 5 one figure differed once, by 0.9 %. The table
has a row for each minor version of Python, as each compiles differently; a run may make `ALLOWED` more calls than its
row says.
"""

import argparse
import json
import os
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from bench.child_process import ROOT
from bench.cost_load import response
from bench.load.runs import creation, request, text_after
from bench.plan import BenchError
from bench.report.statistics import text_table
from bench.scenarios import SCENARIOS, host_of, register
from bench.subjects.host import Host

TABLE: Final = ROOT / "tests" / "bench" / "calls.json"
WRITE: Final = ".venv/bin/python -m bench.calls --write"
MODULE: Final = "bench.counted_host"
ALLOWED: Final = 0.03
RUNS: Final = 40
WARM: Final = 20
KINDS: Final = ("python", "c")
ANSWER_SECONDS: Final = 30.0

Figures = dict[str, dict[str, int]]
"""Scenario -> kind of call -> calls per run."""
Table = dict[str, Figures]
"""Minor version of Python -> its figures."""


def version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def measure(names: list[str], module: str = MODULE, runs: int = RUNS, warm: int = WARM) -> Figures:
    """Calls per run of these scenarios. Raises BenchError.

    `module` is the host as a module of its own: bench.counted_host, or one that changes something and calls its main.
    """
    os.environ["PYTHONHASHSEED"] = "0"
    with tempfile.TemporaryDirectory(prefix="weftwork-calls-") as folder, host_of(names, Path(folder), module) as host:
        host.wait()
        register(host, names)
        return {name: _scenario(host, SCENARIOS[name].workflow, runs, warm) for name in names}


def _scenario(host: Host, workflow: str, runs: int, warm: int) -> dict[str, int]:
    samples: list[tuple[int, int]] = []
    with socket.create_connection(("127.0.0.1", host.port), ANSWER_SECONDS) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(warm):
            _run(host, connection, workflow)
        before = _counts(host)
        for _ in range(2 * runs):
            completed = _run(host, connection, workflow)
            after = _counts(host)
            if completed:
                samples.append((after[0] - before[0], after[1] - before[1]))
            before = after
            if len(samples) == runs:
                return {kind: quartile([sample[at] for sample in samples]) for at, kind in enumerate(KINDS)}
    raise BenchError(f"of {2 * runs} runs of {workflow} only {len(samples)} had completed when the host was at rest")


def _run(host: Host, connection: socket.socket, workflow: str) -> bool:
    """Create a run, let the host come to rest, read the run once; whether it had completed."""
    created = _exchange(connection, creation(workflow), b"201")
    _counts(host)
    path = "/v1/runs/" + text_after(b'"runId":"', created).decode()
    status = text_after(b'"status":"', _exchange(connection, request("GET", path), b"200"))
    if status not in (b"pending", b"running", b"completed"):
        raise BenchError(f"a run of {workflow} is {status.decode()}")
    return status == b"completed"


def _exchange(connection: socket.socket, sent: bytes, expected: bytes) -> bytes:
    """Send a request in one piece, as each piece costs the host some calls; the body of the response."""
    connection.sendall(sent)
    return response(connection, expected)


def _counts(host: Host) -> tuple[int, int]:
    """Calls of all threads so far, once the host rests."""
    host.child.send(None)
    counts: dict[str, list[int]] = host.child.receive(ANSWER_SECONDS)
    return sum(each[0] for each in counts.values()), sum(each[1] for each in counts.values())


def quartile(values: list[int]) -> int:
    """The lower one."""
    return sorted(values)[len(values) // 4]


def violations(table: Table, found: Figures, python: str) -> list[str]:
    """What is above the table, a line each; a missing row is a violation too."""
    row = table.get(python)
    if row is None:
        return [f"{TABLE.name} has no row for Python {python}: write one with `{WRITE}` and commit it"]
    said: list[str] = []
    for name, kinds in found.items():
        for kind, calls in kinds.items():
            known = row.get(name, {}).get(kind)
            if known is None:
                said.append(f"{name}: the row for Python {python} has no {kind} calls: write it with `{WRITE}`")
            elif calls > known * (1 + ALLOWED):
                said.append(
                    f"{name}: {calls:,} {kind} calls per run, {calls / known - 1:+.1%} against the {known:,} of "
                    f"{TABLE.name}; at most {ALLOWED:+.0%}. Save calls, or if they are needed write the table with "
                    f"`{WRITE}` and give the reason in the commit"
                )
    return said


def read_table() -> Table:
    return json.loads(TABLE.read_text("utf-8")) if TABLE.exists() else {}


def write_table(table: Table) -> None:
    TABLE.write_text(json.dumps(dict(sorted(table.items())), indent=2) + "\n", "utf-8")


def _rows(found: Figures, row: Figures) -> list[list[str]]:
    rows: list[list[str]] = []
    for name, kinds in found.items():
        known = row.get(name, {})
        beside = [f"{calls / known[kind] - 1:+.1%}" if kind in known else "-" for kind, calls in kinds.items()]
        shown = [f"{calls:,}" for calls in kinds.values()]
        rows.append([SCENARIOS[name].title, *(cell for pair in zip(shown, beside, strict=True) for cell in pair)])
    return rows


def main(arguments: list[str]) -> int:
    """Exit status: 0 if every figure is within the table or was written to it."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.calls",
        description="Count the calls of Python and C functions per run, and compare them with tests/bench/calls.json.",
    )
    parser.add_argument("--write", action="store_true", help="write the row of this Python version to the table")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON instead of a table")
    given = parser.parse_args(arguments)
    try:
        found = measure(list(SCENARIOS))
    except BenchError as error:
        sys.stderr.write(f"calls: {error}\n")
        return 1
    table = read_table()
    head = ["calls per run", "Python", "vs table", "C", "vs table"]
    shown: Any = {version(): found}
    text = (
        json.dumps(shown, indent=2) + "\n" if given.json else text_table(head, _rows(found, table.get(version(), {})))
    )
    sys.stdout.write(text)
    if given.write:
        write_table({**table, version(): found})
        sys.stderr.write(f"calls: wrote the row of Python {version()} to {TABLE}\n")
        return 0
    said = violations(table, found, version())
    for line in said:
        sys.stderr.write(f"calls: {line}\n")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
