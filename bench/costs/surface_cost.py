"""The cost of surfaces: CPU time of the host to check and record one, and to turn a pressed button into an answer."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.costs.graphs import definition, edge, node
from bench.meter import cpu_seconds
from bench.plan import BenchError, Plan
from bench.subjects.host import Host, weftwork

KIND: Final = "ui.a2ui-surface"
RUNS: Final = "surface-runs"
FIELDS: Final = 14
WAIT_SECONDS: Final = 120.0
LOOK_SECONDS: Final = 0.02

Json = dict[str, Any]
Progress = Callable[[str], None]


def surface_costs(plan: Plan, folder: Path, say: Progress) -> dict[str, float]:
    """Forms of 20 components that a scripted model answers with, one after another, and a button of each.

    To check and record one: from the recorded answer to the suspended node, as bench.costs.gate_timing counts it. To
    answer one: all CPU time of the host for the request, and for the run from there to its end.
    """
    script = folder / "script.json"
    folder.mkdir(parents=True, exist_ok=True)
    script.write_text(json.dumps({"default": json.dumps({"type": KIND, "payload": sample_surface()})}), "utf-8")
    ask = node(0, "core.ai.generateEnvelope", {"envelopeType": KIND, "userMessage": "Ask."})
    with weftwork(folder, nodes="bench.costs.gate_timing", model_script=script) as host:
        host.wait()
        host.call("POST", "/v1/workflows", definition(RUNS, [ask, node(1, "bench.gate", {})], [edge(0, 1)]))
        _measure(host, plan.warm_surfaces)
        recorded, answered = _measure(host, plan.surfaces)
    found = {"surface_record_ms": median(recorded), "surface_action_ms": answered}
    found["surface_ms"] = found["surface_record_ms"] + answered
    say(
        f"a form of 20 components: {found['surface_record_ms']:.2f} ms of CPU to check and record it, "
        f"{answered:.2f} ms to answer it"
    )
    return found


def sample_surface() -> Json:
    """20 components: a heading, texts, fields of all kinds, and two buttons."""
    fields: list[Json] = []
    for number in range(FIELDS):
        field = {"id": f"field-{number}", "label": f"What about item {number} of the order?"}
        kind = ("field.text", "field.date", "field.select", "field.checkbox")[number % 4]
        if kind == "field.select":
            field["options"] = [{"value": f"room-{each}", "label": f"Room {each}, by the river"} for each in range(5)]
        elif kind != "field.checkbox":
            field["required"] = True
        fields.append({"component": kind, **field})
    texts = [{"component": "text", "text": f"Part {number} of what the order is about."} for number in range(3)]
    buttons = [
        {"component": "action.button", "id": name, "label": name.title(), "action": {"target": "resume"}}
        for name in ("send", "stop")
    ]
    components = [{"component": "heading", "text": "Your order"}, *texts, *fields, *buttons]
    return {"catalogVersion": "0.9.1", "surface": {"title": "An order", "components": components}}


def _values() -> Json:
    texts = {"field.text": "Two of them, please", "field.date": "2026-04-01", "field.select": "room-3"}
    fields = [each for each in sample_surface()["surface"]["components"] if each["component"].startswith("field.")]
    return {each["id"]: texts.get(each["component"], True) for each in fields}


def _measure(host: Host, count: int) -> tuple[list[float], float]:
    """CPU milliseconds of the host to check and record each of so many forms, and to answer one of them."""
    body = {"values": _values()}
    paths: list[str] = []
    runs: list[str] = []
    for _ in range(count):
        runs.append(host.call("POST", "/v1/runs", {"workflowId": RUNS})["runId"])
        waiting = _await(host, runs[-1], "waiting-input")
        surface_id = waiting["interrupt"]["surface"]["envelopeId"]
        paths.append(f"/v1/host/weftwork/runs/{runs[-1]}/surfaces/{surface_id}/actions/send")
    before = cpu_seconds(host.pid)
    for path in paths:
        host.call("POST", path, body)
    ended = _await(host, runs[-1], "completed")
    spent = (cpu_seconds(host.pid) - before) * 1000 / count
    seen: list[list[float]] = []
    for run in runs:
        ended = _await(host, run, "completed")
        seen += ended["outputs"]["n1"]["output"]
    if len(seen) != count:
        raise BenchError(f"{len(seen)} forms were recorded in {count} runs")
    return [each[1] for each in seen], spent


def _await(host: Host, run: str, status: str) -> Json:
    until = time.monotonic() + WAIT_SECONDS
    while (shown := host.call("GET", f"/v1/runs/{run}"))["status"] != status:
        if time.monotonic() > until:
            raise BenchError(f"a run is {shown['status']}")
        time.sleep(LOOK_SECONDS)
    return shown
