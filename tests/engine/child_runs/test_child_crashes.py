"""The host dies at each commit of a family of runs, before or after it is durable: each child is there once."""

import asyncio
from functools import partial
from itertools import count
from typing import Any

import pytest

from tests.engine.child_runs.test_child_maps import DOUBLING, mapping
from tests.engine.child_runs.test_sub_workflows import adding, number
from tests.harness.definitions import node, variable
from tests.harness.engine_harness import EngineHarness, run, run_ready_tasks
from tests.harness.run_tree import (
    ACCEPT,
    approval_workflow,
    child_keys,
    restart,
    sequence,
    snapshot_of,
    start_run,
    sub_workflow_node,
)
from weftwork.engine.decide.decision import NOTHING
from weftwork.ports.storage.event_log import EventLog
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey

BOTH: dict[str, Any] = {"inputMapping": {"n": "n"}, "outputMapping": {"n": "n"}}
MIDDLE = sequence("middle", sub_workflow_node("add", **BOTH), variables=[number("n")])
NESTED = sequence("parent", sub_workflow_node("middle", **BOTH), node("end"), variables=[number("n", 5)])
LATE = [variable("v", defaultValue="late")]
ASKING = sequence("parent", sub_workflow_node("gate", outputMapping={"v": "v"}), node("end"))
STORIES: dict[str, tuple[list[dict[str, Any]], dict[str, Any], list[int]]] = {
    "nested": ([NESTED, MIDDLE, adding()], {"n": 6}, [1, 1]),
    "asking": ([ASKING, approval_workflow(variables=LATE)], {"v": "late"}, [1]),
    "map": ([mapping([1, 2, 3, 4, 5], 2, output="result"), DOUBLING], {}, [5]),
}
"""Definitions, the variables of the parent in the end, and how many runs there are on each level below it."""


class CrashingLog:
    """A store whose host dies at one of its appends: when that is durable, or just before."""

    def __init__(self, log: EventLog, at: int, written: bool) -> None:
        self._log = log
        self._at = at
        self._written = written
        self.count = 0
        self.died = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def append(self, *given: Any) -> Any:
        self.count += 1
        if self.died.is_set() or self.count == self._at:
            if self._written and not self.died.is_set():
                await self._log.append(*given)
            self.died.set()
            await asyncio.get_running_loop().create_future()
        return await self._log.append(*given)


async def lived(name: str, at: int, written: bool, slow: bool) -> bool:
    """A story with a death in it; False if it was over before. `slow`: only commits stop at first."""
    documents, variables, levels = STORIES[name]
    logs: list[CrashingLog] = []

    def wrap(log: EventLog) -> CrashingLog:
        logs.append(CrashingLog(log, at, written))
        return logs[0]

    bench = EngineHarness(wrap=wrap)
    key = await start_run(bench, *documents)
    died = await _dies(bench, key, logs[0].died)
    if died:
        if slow:
            await run_ready_tasks()
            bench.clock.advance(300)
            await run_ready_tasks()
        bench = await restart(bench, *documents)
        assert not await _dies(bench, key, asyncio.Event())
    found = await snapshot_of(bench, key)
    assert (found["status"], found["variables"]) == ("completed", variables), found.get("error")
    if name == "map":
        assert found["outputs"] == {"map": {"results": [2, 4, 6, 8, 10], "count": 5}}
    line, counted = [key], []
    while line := [child for each in line for child in await child_keys(bench, each)]:
        counted.append(len(line))
        assert [await bench.status(each) for each in line] == ["completed"] * len(line)
    assert counted == levels
    return died


async def _dies(bench: EngineHarness, key: RunKey, died: asyncio.Event) -> bool:
    """Whether the host dies before the run has ended. Whoever is asked says yes."""
    for _ in range(40):
        await run_ready_tasks()
        if died.is_set() or await bench.status(key) in TERMINAL_STATUSES:
            return died.is_set()
        for each in await child_keys(bench, key):
            if await bench.status(each) == "waiting-approval":
                answer = asyncio.create_task(bench.answer(each, ACCEPT))
                await asyncio.wait([answer, asyncio.create_task(died.wait())], return_when="FIRST_COMPLETED")
        bench.clock.advance(300)
    raise AssertionError(f"it does not go on: {await bench.event_types(key)}")


def everywhere(name: str, written: bool, slow: bool = False) -> int:
    """Every place at which the host can die; returns how many there are."""
    return next(at for at in count() if not run(partial(lived, name, at + 1, written, slow)))


@pytest.mark.rule("kin-02", "kin-04")
@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("name", STORIES)
def test_each_child_is_there_once_wherever_the_host_dies(name: str, written: bool, slow: bool) -> None:
    assert everywhere(name, written, slow) > 3


def test_a_parent_that_hears_nothing_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.engine.decide.transitions.receive_results", lambda state, given: NOTHING)
    with pytest.raises(AssertionError, match="does not go on"):
        everywhere("nested", written=True)
