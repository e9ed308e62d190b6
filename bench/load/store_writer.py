"""A process that writes runs to a PostgreSQL store, without a host: `URL`. See bench.subjects.peer for its orders.

A run is what the host writes for a run of one step, in one commit: header, four events and a state row; here also an
idempotency record. A worker writes one run at a time.
"""

import asyncio
import secrets
import sys
import time

import uvloop

from bench.subjects.peer import Order, OrderDealer, serve
from weftwork.adapters.postgres.store import PostgresStore
from weftwork.ports.storage.event_log import RunCreated
from weftwork.protocol.run.batch import Batch, IdempotencyRecord
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import Owner, RunHeader
from weftwork.protocol.run.projection import Projection, StateRow

PARTITION, WORKFLOW = "live:bench", "one-step"
PROTOCOL = (
    ("run.started", None, b'{"workflowId":"one-step","inputs":{},"owner":{"tenant":"bench","principal":"key_1"}}'),
    ("node.started", "a", b'{"nodeId":"a","typeId":"core.noop","attempt":1}'),
    ("node.completed", "a", b'{"nodeId":"a","outputs":{}}'),
    ("run.completed", None, b'{"outputs":{"a":{}}}'),
)
ROWS = (StateRow("node", "a", b'{"status":"completed","attempt":1}'),)


def new_run(run_id: str, now: int) -> tuple[RunHeader, Batch, IdempotencyRecord]:
    header = RunHeader(
        run_id=run_id,
        partition=PARTITION,
        owner=Owner("bench", "key_1"),
        workflow_id=WORKFLOW,
        definition="5" * 64,
        created_at=now,
    )
    events = tuple(
        Event(run_id, sequence, secrets.token_hex(12), kind, now, payload, node_id)
        for sequence, (kind, node_id, payload) in enumerate(PROTOCOL)
    )
    projection = Projection("completed", len(events) - 1, now, now, None, None, 1, b'{"a":{}}')
    record = IdempotencyRecord(PARTITION, secrets.token_hex(32), "f" * 64, b'{"runId":"%b"}' % run_id.encode(), now)
    return header, Batch(events, projection, ROWS), record


async def carry_out(store: PostgresStore, order: Order) -> list[float]:
    dealer = OrderDealer(order)
    latencies: list[float] = []

    async def worker() -> None:
        while dealer.take():
            header, first, record = new_run(secrets.token_hex(13), time.time_ns() // 1_000_000)
            began = time.perf_counter()
            if await store.log.create(header, record=record, first=first) != RunCreated():
                raise RuntimeError("a run was not created")
            latencies.append((time.perf_counter() - began) * 1000)

    async with asyncio.TaskGroup() as group:
        for _ in range(order.workers):
            group.create_task(worker())
    return latencies


def main() -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        store = PostgresStore(sys.argv[1], may_migrate=True)
        runner.run(store.open())
        try:
            serve(lambda order: runner.run(carry_out(store, order)))
        finally:
            runner.run(store.close())


if __name__ == "__main__":
    main()
