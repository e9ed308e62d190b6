"""Finds out what the event loop is doing, from the stack of its thread.

The stage comes from the innermost frame whose module is in STAGES. Run, node, tenant and the other names come from the
local variables of the frames: an object of a type in SOURCES has them.
"""

from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any, Final, cast

from weftwork.adapters.http.message import Request
from weftwork.adapters.python.calls.invocation import Invocation
from weftwork.adapters.python.calls.steps import Steps
from weftwork.adapters.python.declaration.decorator import NodeFunction
from weftwork.adapters.python.node_tasks import GuardedCoroutine
from weftwork.engine.nodes.node_context import EntryContext
from weftwork.engine.run.live_run import LiveRun
from weftwork.ports.nodes import NodeCall
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.ids import tenant_of
from weftwork.protocol.run.header import RunHeader, RunKey
from weftwork.protocol.run.projection import StoredRun

STAGES: Final[dict[str, str]] = {
    "weftwork.adapters.admin": "administration",
    "weftwork.adapters.blobs": "asset",
    "weftwork.adapters.expressions": "expression",
    "weftwork.adapters.http": "request",
    "weftwork.adapters.http.response_writer": "stream",
    "weftwork.adapters.http.sse": "stream",
    "weftwork.adapters.memory": "store",
    "weftwork.adapters.model_server": "model",
    "weftwork.adapters.nodes": "node",
    "weftwork.adapters.outbound": "outbound",
    "weftwork.adapters.postgres": "store",
    "weftwork.adapters.providers": "model",
    "weftwork.adapters.python": "node",
    "weftwork.adapters.sqlite": "store",
    "weftwork.conformance.endpoints": "request",
    "weftwork.conformance.nodes": "node",
    "weftwork.engine.api": "request",
    "weftwork.engine.api.administration": "administration",
    "weftwork.engine.api.retention": "sweep",
    "weftwork.engine.decide": "decide",
    "weftwork.engine.host": "scheduling",
    "weftwork.engine.host.run_loader": "load",
    "weftwork.engine.host.sweeper": "sweep",
    "weftwork.engine.media": "asset",
    "weftwork.engine.media.asset_sweep": "sweep",
    "weftwork.engine.models": "model",
    "weftwork.engine.nodes": "node",
    "weftwork.engine.replay": "load",
    "weftwork.engine.replay_guard": "node",
    "weftwork.engine.run": "scheduling",
    "weftwork.engine.run.append": "append",
    "weftwork.engine.run.replay": "load",
    "weftwork.engine.sdk": "node",
    "weftwork.engine.streams": "stream",
    "weftwork.engine.tenant_logs": "request",
    "weftwork.protocol.envelopes": "model",
    "weftwork.protocol.expressions": "expression",
    "weftwork.protocol.fold": "fold",
    "weftwork.protocol.models": "model",
    "weftwork.protocol.workflow": "definition",
}
"""The stage of each package or module, and of the modules in it that have no row of their own. Modules without a stage,
such as the encoder, belong to the stage of their caller."""
LOOP_MODULES: Final = frozenset({"asyncio.base_events", "asyncio.runners"})
"""The modules of the loop itself, which call everything else."""
OUTER_STAGES: Final = {"fold": "load"}
"""An outer stage that says more than the inner one: a log is folded because a run is loaded."""
FIELDS: Final = ("runId", "tenant", "nodeId", "typeId", "operation")
"""The names that an activity can have."""


class LoopActivity:
    """Identifies activities. `nodes` are the Python nodes of the host."""

    def __init__(self, nodes: Iterable[NodeFunction]) -> None:
        self._nodes = {
            each.function.__code__: each.declaration.type_id  # pyright: ignore[reportFunctionMemberAccess]
            for each in nodes
        }

    def identify(self, frame: FrameType) -> dict[str, str]:
        """The stage and place of the stack with that innermost frame, and the names of FIELDS that are known."""
        frames = [*_frames(frame)]
        found: dict[str, str] = {}
        node_file = ""
        for each in frames:
            if (type_id := self._nodes.get(each.f_code)) is not None:
                found.setdefault("typeId", type_id)
                node_file = node_file or each.f_code.co_filename
            if len(found) < len(FIELDS):
                _add_names(found, each)
        stages = [stage for each in frames if (stage := stage_of(_module(each)))]
        stage = "node" if node_file and not stages else stages[0] if stages else "other" if frames else "loop"
        if (outer := OUTER_STAGES.get(stage)) in stages:
            stage = outer
        return {"stage": stage, **found, "place": _place(frames or [frame], node_file)}


def stage_of(module: str) -> str | None:
    """The stage of a module, from its row in STAGES or that of the nearest package."""
    while module.startswith("weftwork."):
        if (stage := STAGES.get(module)) is not None:
            return stage
        module = module.rpartition(".")[0]
    return None


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames that the loop has called, the innermost one first."""
    while frame is not None and _module(frame) not in LOOP_MODULES:
        if not (_module(frame) == "selectors" and frame.f_code.co_name == "select"):
            yield frame
        frame = frame.f_back


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _place(frames: list[FrameType], node_file: str) -> str:
    """The innermost line in the file of the node, or the innermost line of all."""
    chosen = next((each for each in frames if each.f_code.co_filename == node_file), frames[0])
    module = _module(chosen)
    return f"{module if module.startswith('weftwork.') else chosen.f_code.co_filename}:{chosen.f_lineno}"


def _add_names(found: dict[str, str], frame: FrameType) -> None:
    """Add the names that the local variables of a frame of this package have. Inner frames take precedence."""
    if not _module(frame).startswith("weftwork."):
        return
    values = frame.f_locals
    for value in [*values.values()]:
        source = SOURCES.get(cast("type[Any]", type(value)))
        if source is not None:
            for name, text in source(value).items():
                if text:
                    found.setdefault(name, text)
    if isinstance(node_id := values.get("node_id"), str):
        found.setdefault("nodeId", node_id)


def _header_names(header: RunHeader) -> dict[str, str]:
    return {"runId": header.run_id, "tenant": header.owner.tenant}


def _request_names(request: Request) -> dict[str, str]:
    return {
        "operation": request.route.operation_id if request.route is not None else "",
        "tenant": request.principal.tenant if request.principal is not None else "",
        "runId": request.params.get("runId", ""),
    }


def _key_names(key: RunKey) -> dict[str, str]:
    return {"runId": key.run_id, "tenant": tenant_of(key.partition)}


def _call_names(call: NodeCall) -> dict[str, str]:
    return {"runId": call.run_id, "nodeId": call.node_id}


def _task_names(task: GuardedCoroutine[Any]) -> dict[str, str]:
    return _invocation_names(task.entry) if isinstance(task.entry, Invocation) else {}


def _invocation_names(entry: Invocation) -> dict[str, str]:
    tenant = entry.host.tenant if isinstance(entry.host, EntryContext) else ""
    return {**_call_names(entry.call), "typeId": entry.type_id, "tenant": tenant}


SOURCES: Final[dict[type[Any], Callable[[Any], dict[str, str]]]] = {
    EntryContext: lambda context: {"tenant": context.tenant, "nodeId": context.node_id},
    GuardedCoroutine: _task_names,
    Invocation: _invocation_names,
    LiveRun: lambda live: _key_names(live.key),
    NodeCall: _call_names,
    NodeFunction: lambda node: {"typeId": node.declaration.type_id},
    Request: _request_names,
    RunHeader: _header_names,
    RunKey: _key_names,
    RunState: lambda state: _header_names(state.header),
    Steps: lambda steps: {"typeId": steps.type_id},
    StoredRun: lambda stored: _header_names(stored.header),
}
