"""LangGraph with its SQLite checkpointer: every step is durable before the next begins, as `durability="sync"` says."""

import asyncio
import sys
import time
import uuid
from typing import Any, TypedDict

import aiosqlite
import uvloop
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from bench.subjects.peer import Order, OrderDealer, serve


class State(TypedDict):
    count: int


async def step(state: State) -> State:
    return {"count": state["count"] + 1}


def graph(steps: int, saver: AsyncSqliteSaver) -> Any:
    """So many steps in a row."""
    builder = StateGraph(State)
    before = START
    for number in range(steps):
        name = f"step-{number}"
        builder.add_node(name, step)
        builder.add_edge(before, name)
        before = name
    builder.add_edge(before, END)
    return builder.compile(checkpointer=saver)


async def open_saver(file: str) -> AsyncSqliteSaver:
    """WAL is what the checkpointer sets itself; FULL is the default of most builds of SQLite, and set all the same."""
    saver = AsyncSqliteSaver(await aiosqlite.connect(file))
    await saver.setup()
    await saver.conn.execute("PRAGMA synchronous=FULL")
    return saver


async def carry_out(compiled: Any, order: Order) -> list[float]:
    turns = OrderDealer(order)
    latencies: list[float] = []

    async def worker() -> None:
        while turns.take():
            began = time.perf_counter()
            config = {"configurable": {"thread_id": uuid.uuid4().hex}}
            ended = await compiled.ainvoke({"count": 0}, config, durability="sync")
            latencies.append((time.perf_counter() - began) * 1000)
            if ended["count"] != order.steps:
                raise RuntimeError(f"a graph of {order.steps} steps ended with {ended}")

    await asyncio.gather(*(worker() for _ in range(order.workers)))
    return latencies


def main() -> None:
    loop = uvloop.new_event_loop()
    asyncio.set_event_loop(loop)
    saver = loop.run_until_complete(open_saver(sys.argv[1]))
    graphs = {steps: graph(steps, saver) for steps in (1, 3)}
    serve(lambda order: loop.run_until_complete(carry_out(graphs[order.steps], order)))
    loop.run_until_complete(saver.conn.close())


if __name__ == "__main__":
    main()
