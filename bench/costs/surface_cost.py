"""The cost of surfaces: CPU time of the host to check and record one, and to turn a pressed button into an answer."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.costs.graphs import chain, definition, node
from bench.meter import cpu_seconds
from bench.plan import BenchError, Plan
from bench.subjects.host import Host, weftwork
from weftwork.engine.host.run_loader import MAX_PARKED

KIND: Final = "ui.a2ui-surface"
RUNS: Final = "surface-runs"
LOOKS: Final = {"look-recorded": "bench.forms", "look-answered": "bench.actions"}
FIELDS: Final = 14
WAIT_SECONDS: Final = 120.0
LOOK_SECONDS: Final = 0.02

Json = dict[str, Any]
Progress = Callable[[str], None]


def surface_costs(plan: Plan, folder: Path, say: Progress) -> dict[str, float]:
    """Forms of 20 components that a scripted model answers with, one after another, and a button of each.

    bench.costs.gate_timing says what is timed of recording and of answering one. To continue the run is not part of
    the answer; `surface_request_ms` is all CPU time of the host from the request to the end of the run. The runs are
    answered in the order of their creation, so the first of them have left the memory of the host since, and are read
    from the store: `surface_unloaded_ms` is the answer to one of these.
    """
    script = folder / "script.json"
    folder.mkdir(parents=True, exist_ok=True)
    # In one chunk: what the chunks of an answer cost is another figure.
    answer = json.dumps({"type": KIND, "payload": sample_surface()})
    script.write_text(json.dumps({"default": {"chunks": [answer]}}), "utf-8")
    ask = node(0, "core.ai.generateEnvelope", {"envelopeType": KIND, "userMessage": "Ask."})
    with weftwork(folder, nodes="bench.costs.gate_timing", model_script=script) as host:
        host.wait()
        for document in (definition(RUNS, [ask], []), *(chain(name, 1, type_id) for name, type_id in LOOKS.items())):
            host.call("POST", "/v1/workflows", document)
        _measure(host, plan.warm_surfaces)
        forms, answers, requested = _measure(host, plan.surfaces)
    recorded, answered = median(forms), median(answers)
    unloaded = median(answers[: max(1, plan.surfaces - MAX_PARKED)])
    found = {"surface_record_ms": recorded, "surface_action_ms": answered, "surface_ms": recorded + answered}
    found |= {"surface_unloaded_ms": unloaded, "surface_request_ms": requested}
    say(
        f"a form of 20 components: {recorded:.2f} ms of CPU to check and record it, {answered:.2f} ms to answer it, "
        f"{unloaded:.2f} ms if its run is not in memory, {requested:.2f} ms from the request to the end of the run"
    )
    return found


def sample_surface() -> Json:
    """20 components: a heading, texts, fields of all kinds, and two buttons."""
    fields: list[Json] = []
    for number in range(FIELDS):
        field: Json = {"id": f"field-{number}", "label": f"What about item {number} of the order?"}
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


def _measure(host: Host, count: int) -> tuple[list[float], list[float], float]:
    """CPU milliseconds of the host to check and record each of so many forms, to answer each of them, and of one from
    the request of the answer to the end of its run."""
    body = {"values": _values()}
    actions: list[tuple[str, str]] = []
    for _ in range(count):
        run = host.call("POST", "/v1/runs", {"workflowId": RUNS})["runId"]
        # Requests of the bench must not count as cost of the form.
        time.sleep(LOOK_SECONDS)
        surface_id = _await(host, run, "waiting-input")["interrupt"]["surface"]["envelopeId"]
        actions.append((run, f"/v1/host/weftwork/runs/{run}/surfaces/{surface_id}/actions/send"))
    before = cpu_seconds(host.pid)
    for _, path in actions:
        host.call("POST", path, body)
        time.sleep(LOOK_SECONDS)
    _await(host, actions[-1][0], "completed")
    requested = (cpu_seconds(host.pid) - before) * 1000 / count
    for run, _ in actions:
        _await(host, run, "completed")
    recorded, answered = (_look(host, each) for each in LOOKS)
    if len(recorded) != count or len(answered) != count:
        raise BenchError(f"{len(recorded)} forms were recorded and {len(answered)} answered in {count} runs")
    return recorded, answered, requested


def _look(host: Host, workflow: str) -> list[float]:
    run = host.call("POST", "/v1/runs", {"workflowId": workflow})["runId"]
    return [cpu for _, cpu in _await(host, run, "completed")["outputs"]["n0"]["output"]]


def _await(host: Host, run: str, status: str) -> Json:
    until = time.monotonic() + WAIT_SECONDS
    while (shown := host.call("GET", f"/v1/runs/{run}"))["status"] != status:
        if time.monotonic() > until:
            raise BenchError(f"a run is {shown['status']}")
        time.sleep(LOOK_SECONDS)
    return shown
