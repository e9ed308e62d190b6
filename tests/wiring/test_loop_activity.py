"""What the event loop is doing, found from its stack while real runs are executed."""

import asyncio
import importlib
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from types import CodeType, FrameType
from typing import Any

import weftwork
import weftwork.adapters
import weftwork.engine
from tests.adapters.python.fake_node_host import single_node_workflow
from tests.harness.cases import each_case, fails_without, present
from tests.harness.definitions import node, workflow
from tests.live.in_process_host import KEY, InProcessHost
from weftwork.adapters.http.routes.runs import RunRoutes
from weftwork.adapters.python.declaration.decorator import node_of
from weftwork.app import Host
from weftwork.engine.decide import transitions
from weftwork.engine.host.sweeper import Sweeper
from weftwork.engine.run.append import BatchBuilder
from weftwork.engine.run.replay import load_state
from weftwork.protocol.expressions import cel
from weftwork.protocol.fold import fold
from weftwork.settings import Settings
from weftwork.wiring import loop_activity
from weftwork.wiring.loop_activity import LOOP_MODULES, STAGES, LoopActivity, stage_of

UNSTAGED = {
    "weftwork.adapters",
    "weftwork.adapters.system",
    "weftwork.engine",
    "weftwork.engine.fence",
    "weftwork.engine.node_events",
    "weftwork.engine.read_back",
    "weftwork.engine.runtime",
    "weftwork.engine.signer",
}
"""Packages and modules that belong to the stage of their caller."""


@weftwork.node("acme.task")
async def task(ctx: weftwork.Context) -> None:
    await asyncio.gather(in_task())


async def in_task() -> None: ...


@weftwork.node("acme.step")
async def step(ctx: weftwork.Context) -> None:
    await asyncio.gather(ctx.step("a", in_step))


async def in_step() -> None: ...


NODES = (task, step)


def code_of(function: Any) -> CodeType:
    return function.__code__


class Probe:
    """Identifies the activity whenever a function with one of the codes is entered."""

    def __init__(self, *codes: CodeType) -> None:
        self.activity = LoopActivity([present(node_of(each)) for each in NODES])
        self.codes = frozenset(codes)
        self.found: list[dict[str, str]] = []

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code in self.codes:
            self.found.append(self.activity.identify(frame))

    @contextmanager
    def installed(self) -> Iterator[None]:
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(None)


def expression_workflow() -> dict[str, Any]:
    inputs = {"x": {"type": "expression", "expression": "1 + 1"}}
    return workflow([node("n", "core.identity", inputs=inputs)])


WORKFLOWS = {
    "expression": expression_workflow(),
    "task": single_node_workflow("task", "acme.task"),
    "step": single_node_workflow("step", "acme.step"),
}


async def activities(name: str, function: Any) -> tuple[str, list[dict[str, str]]]:
    """The id of a run of that workflow, and what was found whenever the function was entered in it."""
    host = Host(Settings(store="memory"), nodes=NODES)
    await host.open()
    probe = Probe(code_of(function))
    try:
        host.keyring.accept_for_process(KEY, "acme", None)
        document = {**WORKFLOWS[name], "id": name}
        await host.register_fixture(document)
        inside = InProcessHost(host)
        with probe.installed():
            events = await inside.run_log(name)
    finally:
        await host.close()
    assert events[-1]["type"] == "run.completed", events[-1]
    return events[0]["runId"], probe.found


@each_case(
    "name, function, stage, names",
    ("expression", cel.evaluate_program, "expression", {"nodeId": "n"}),
    ("task", transitions.decide, "decide", {}),
    ("task", fold.apply, "fold", {}),
    ("task", BatchBuilder.build, "append", {}),
    ("task", task, "node", {"nodeId": "n", "typeId": "acme.task"}),
    ("task", in_task, "node", {"nodeId": "n", "typeId": "acme.task"}),
    ("step", in_step, "node", {"nodeId": "n", "typeId": "acme.step"}),
)
@fails_without(loop_activity, "SOURCES", {}, errors=(KeyError,))
async def test_run_node_tenant_and_stage_are_found(name: str, function: Any, stage: str, names: dict[str, str]) -> None:
    run_id, found = await activities(name, function)
    of_run = [each for each in found if each.get("runId") == run_id]
    assert of_run
    for each in of_run:
        assert {**each, "stage": stage, "runId": run_id, "tenant": "acme", **names} == each


async def test_a_request_is_named_by_its_operation() -> None:
    run_id, (created, *_) = await activities("task", RunRoutes.create_run)
    assert created == {**created, "stage": "request", "operation": "createRun", "tenant": "acme"}
    assert created["place"].startswith("weftwork.adapters.http.routes.runs:")
    assert run_id not in created.values()


def test_a_run_that_is_loaded_is_not_just_folded() -> None:
    folding, loading = FakeFrame(fold.apply.__module__), FakeFrame(load_state.__module__)
    assert identify(folding, loading)["stage"] == "load"
    assert identify(folding)["stage"] == "fold"


class FakeFrame:
    """A frame of a module, without local variables."""

    def __init__(self, module: str, file: str = "x.py") -> None:
        self.f_globals = {"__name__": module}
        self.f_code = compile("", file, "exec")
        self.f_lineno = 7
        self.f_locals: dict[str, Any] = {}
        self.f_back: FakeFrame | None = None


def identify(*frames: Any) -> dict[str, str]:
    """The activity of a stack, the innermost frame first, in a loop."""
    loop = FakeFrame("asyncio.runners", "runners.py")
    stack = [*frames, loop]
    for inner, outer in pairwise(stack):
        inner.f_back = outer
    return LoopActivity([]).identify(stack[0])


def test_the_innermost_module_with_a_stage_decides() -> None:
    encoder, route = FakeFrame("weftwork.protocol.json.canonical"), FakeFrame("weftwork.adapters.http.routes.runs")
    assert identify(encoder, route) == {"stage": "request", "place": "weftwork.protocol.json.canonical:7"}
    assert identify(FakeFrame("weftwork.adapters.http.sse"), route)["stage"] == "stream"
    assert identify(FakeFrame("weftwork.engine.host.sweeper"))["stage"] == "sweep"
    assert stage_of(Sweeper.__module__) == "sweep"


def test_a_stack_without_the_package_is_of_another_stage() -> None:
    assert identify(FakeFrame("requests.api", "/lib/requests/api.py")) == {
        "stage": "other",
        "place": "/lib/requests/api.py:7",
    }
    assert identify() == {"stage": "loop", "place": "runners.py:7"}
    assert "asyncio.runners" in LOOP_MODULES


def test_a_stage_has_a_module_and_a_module_has_a_stage() -> None:
    for name in STAGES:
        importlib.import_module(name)
    for package in (weftwork.adapters, weftwork.engine):
        names = [each.name for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
        assert len(names) > 20
        unstaged = {name for name in names if stage_of(name) is None}
        assert {name for name in unstaged if not name.startswith("weftwork.adapters.system.")} <= UNSTAGED
