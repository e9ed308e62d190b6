"""What a host on PostgreSQL needs: CPU time with many clients, bytes of a run, connections; and how the store alone
writes from one process and from four.

Comparisons alternate: each round measures one process and four processes, with the same number of clients in all.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Final

import msgspec
from tests.harness.postgres_server import PostgresServer

from bench.meter import cpu_seconds, server_cpu_seconds
from bench.plan import Plan, Sample
from bench.postgres_server import missing, started_server
from bench.report.statistics import figures
from bench.subjects.host import Host, weftwork
from bench.subjects.peer import STALL_SECONDS, Order, PeerLibrary
from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.database.connection import connect, disconnect

PROCESSES: Final = 4
MANY: Final = 64
FEW: Final = 16
"""Clients of all processes together."""
MANY_RUNS: Final = 10**9
WRITER: Final = "bench.load.store_writer"

_SIZES: Final = """
    SELECT (SELECT count(*) FROM runs), pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint, (
      SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = current_schema() AND c.relkind = 'r'
    ), (SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'weftwork%')
"""


class _Sizes(msgspec.Struct, frozen=True):
    """The store and its server at one time. `connections` are those of the host."""

    runs: int
    wal_bytes: int
    table_bytes: int
    connections: int


def postgres_costs(plan: Plan, folder: Path, say: Callable[[str], None]) -> dict[str, float]:
    folder.mkdir(parents=True, exist_ok=True)
    reason = missing(folder)
    if reason is not None:
        say(f"the figures of PostgreSQL are left out: {reason}")
        return {}
    with started_server(folder) as server:
        with weftwork(folder / "host", server=server) as host:
            host.wait()
            found = _host_figures(plan, host, server)
        say(f"a run on PostgreSQL needs {found['pg_run_bytes']:.0f} bytes")
        with ExitStack() as stack:
            writers = [
                stack.enter_context(PeerLibrary(f"writer{n}", WRITER, folder / f"writer{n}", server.url()))
                for n in range(PROCESSES)
            ]
            for writer in writers:
                writer.wait()
                _written(server, [writer], MANY, 0.1)
            found |= _store_figures(plan, server, writers, say)
    return found


def _host_figures(plan: Plan, host: Host, server: PostgresServer) -> dict[str, float]:
    host.drive("one-step", FEW, plan.warm)
    before = _sizes(server)
    stages = [figures(host.drive("one-step", MANY, plan.runs, plan.seconds)) for _ in range(plan.postgres_rounds)]
    after = _sizes(server)
    count = after.runs - before.runs
    return {
        "pg_64_per_s": median(each["runs_per_s"] for each in stages),
        "pg_64_p50_ms": median(each["p50_ms"] for each in stages),
        "pg_64_p99_ms": median(each["p99_ms"] for each in stages),
        "pg_64_cpu_ms": median(each["cpu_ms_per_run"] for each in stages),
        "pg_64_server_cpu_ms": median(each["server_cpu_ms_per_run"] for each in stages),
        "pg_run_bytes": (after.table_bytes - before.table_bytes) / count,
        "pg_run_wal_bytes": (after.wal_bytes - before.wal_bytes) / count,
        "pg_connections": after.connections,
    }


def _store_figures(
    plan: Plan, server: PostgresServer, writers: list[PeerLibrary], say: Callable[[str], None]
) -> dict[str, float]:
    found: dict[str, float] = {}
    for clients in (FEW, MANY):
        ones: list[dict[str, float]] = []
        fours: list[dict[str, float]] = []
        for number in range(plan.postgres_rounds):
            turn = [(ones, [writers[number % PROCESSES]]), (fours, writers)]
            for results, some in turn if number % 2 else reversed(turn):
                results.append(figures(_written(server, some, clients, plan.postgres_seconds)))
        rates = [[each["runs_per_s"] for each in results] for results in (ones, fours)]
        found |= {
            f"pg_store_{clients}_per_s": median(rates[0]),
            f"pg_store_{clients}_four_per_s": median(rates[1]),
            f"pg_store_{clients}_ratio": median(four / one for one, four in zip(*rates, strict=True)),
            f"pg_store_{clients}_cpu_ms": median(each["cpu_ms_per_run"] for each in ones),
            f"pg_store_{clients}_server_cpu_ms": median(each["server_cpu_ms_per_run"] for each in ones),
        }
        four, one = found[f"pg_store_{clients}_four_per_s"], found[f"pg_store_{clients}_per_s"]
        say(f"the store alone, {clients} clients: {one:.0f} runs/s from one process, {four:.0f} from {PROCESSES}")
    return found


def _written(server: PostgresServer, writers: Sequence[PeerLibrary], clients: int, seconds: float) -> Sample:
    """One sample of several processes that share the clients."""
    before = sum(cpu_seconds(writer.pid) for writer in writers)
    server_before = server_cpu_seconds(server.pid)
    for writer in writers:
        writer.child.send(Order(1, clients // len(writers), MANY_RUNS, seconds))
    samples = [msgspec.convert(writer.child.receive(seconds + STALL_SECONDS), Sample) for writer in writers]
    return Sample(
        max(sample.seconds for sample in samples),
        [latency for sample in samples for latency in sample.latencies],
        sum(cpu_seconds(writer.pid) for writer in writers) - before,
        server_cpu_seconds(server.pid) - server_before,
    )


def _sizes(server: PostgresServer) -> _Sizes:
    async def read() -> _Sizes:
        connection = await connect(StoreAddress(server.url()), application_name="bench")
        try:
            return _Sizes(*(await connection.fetch(_SIZES))[0])
        finally:
            await disconnect(connection)

    return asyncio.run(read())
