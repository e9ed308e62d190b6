"""The hostile corpus: requests, runs and model answers that once stalled the host, or could.

Each case checks that the host did what the case is about: a run that ended in another way would measure something
else.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

import msgspec

from bench.costs import graphs
from bench.costs.graphs import Json, definition, edge, node
from bench.load import tenants
from bench.load.hostile_clients import answers_together, slow_bodies, unread_requests
from bench.load.runs import request
from bench.plan import BenchError, Plan
from bench.subjects.host import Host

NUMBERS: Final = (340, 500, 1_000)
"""Sizes of the list that the expressions read: each evaluation is just small enough for the loop; runs in a worker and
is one of 26 that a node may have; and is one of 12."""
CONDITION_NUMBERS: Final = (500, 700, 9_000)
"""The same for conditions: within the limit, and about and far beyond it."""
TEXT: Final = "x" * 990_000
KIND: Final = "vendor.bench.hostile"
MODEL_ANSWER: Final = "~" * 24_000 + "{"
TEMPLATE: Final = '{{"' + '\\"' * 30_000
CREDENTIALS: Final = ("sk-", "eyJ.", "AKIA", "Bearer ", "ghp_a", "https://a:", "-----BEGIN PRIVATE KEY-----", "a@b:c@")
"""What a credential begins with. A text of 64 KB repeats it."""
STATE_COPIES: Final = 40
"""Nodes that copy their input into the state of the run whose snapshot is read."""
VALUES: Final = 90_000
"""Of a list that each of them copies."""
BRANCHES: Final = 10
"""Children of each run of the tree that grows."""
LOOK_SECONDS: Final = 0.02
END_SECONDS: Final = 60.0
ACTIVE: Final = "pending,running"
OPEN: Final = "pending,running,waiting-approval,waiting-input,waiting-external,paused"


class Case(NamedTuple):
    """`work` is repeated until the case has taken as long as the plan says."""

    name: str
    work: Callable[[Host, Plan], None]


def _expensive(number: int) -> str:
    """No two have the same text."""
    return f"inputs.numbers.map(x, x * 2.0 + {number}.0).filter(x, x > 3.0).size()"


def _expressions(count: int) -> Json:
    return {f"p{number}": {"type": "expression", "expression": _expensive(number)} for number in range(count)}


def documents() -> Iterator[Json]:
    """All workflows of the corpus."""
    numbers = [{"name": "numbers", "type": "array", "required": True}]
    text = [{"name": "text", "type": "string", "required": True}]
    copied: Json = {"text": {"type": "variable", "variableName": "text"}}
    yield definition("ports", [node(0, "core.identity", inputs=_expressions(60))], [], variables=numbers)
    body = {"typeId": "core.identity", "inputs": _expressions(30)}
    yield definition("bodies", [node(0, "core.flow.map", {"items": [1, 2], "body": body})], [], variables=numbers)
    headers = {f"x-h{number}": f"{{{{ {_expensive(number)} }}}}" for number in range(40)}
    config = {"url": "https://127.0.0.1/", "headers": headers}
    yield definition("headers", [node(0, "core.http.request", config)], [], variables=numbers)
    yield _conditions("conditions", 20, numbers)
    yield tenants.definitions()[0]
    yield graphs.mapped("mapped")
    envelope = {"envelopeType": KIND, "userMessage": "Say it."}
    kinds = {"envelopeKinds": {KIND: {"version": 1, "schema": {"type": "object"}}}}
    yield definition("model", [node(0, "core.ai.generateEnvelope", envelope)], [], metadata=kinds)
    yield definition("echo", [node(0, "core.identity", inputs=copied)], [], variables=text)
    copies = [node(number, "core.identity", inputs=copied) for number in range(1, 901)]
    edges = [edge(0, number) for number in range(1, 901)]
    yield definition("copies", [node(0), *copies], edges, variables=text)
    grow = {"items": list(range(BRANCHES)), "body": {"workflowId": "grow"}, "concurrency": BRANCHES}
    yield definition("grow", [node(0, "core.flow.map", grow)], [])
    variables = [{"name": "text", "type": "array", "required": True}]
    gate = node(STATE_COPIES, "core.approvalGate", {"title": "May it?"})
    held = [node(number, "core.identity", inputs=copied) for number in range(STATE_COPIES)]
    edges = [edge(number, number + 1) for number in range(STATE_COPIES)]
    for name, declared in (("large", text), ("fine", variables)):
        yield definition(name, [*held, gate], edges, variables=declared)


def _conditions(name: str, count: int, variables: Sequence[Json]) -> Json:
    conditions = [
        {"type": "expression", "expression": f"inputs.numbers.all(x, x >= -{number}.0)"} for number in range(count)
    ]
    edges = [edge(0, at + 1, condition=condition) for at, condition in enumerate(conditions)]
    return definition(name, [node(number) for number in range(count + 1)], edges, variables=variables)


def _create(host: Host, workflow: str, inputs: Json) -> str:
    return host.call("POST", "/v1/runs", {"workflowId": workflow, "inputs": inputs})["runId"]


def _await_rest(host: Host, statuses: str = ACTIVE) -> None:
    until = time.monotonic() + END_SECONDS
    while host.call("GET", f"/v1/runs?status={statuses}&limit=1")["runs"]:
        if time.monotonic() > until:
            raise BenchError(f"runs of the hostile corpus did not end within {END_SECONDS:.0f} s")
        time.sleep(LOOK_SECONDS)


def _ended(host: Host, workflow: str, inputs: Sequence[Json], *codes: str) -> None:
    """Runs at the same time that end with one of these error codes; the empty code stands for completion."""
    runs = [_create(host, workflow, each) for each in inputs]
    _await_rest(host)
    for run in host.call("GET", f"/v1/runs?limit={len(runs)}")["runs"]:
        code = (run.get("error") or {}).get("code", "")
        if run["runId"] not in runs or run["status"] not in ("completed", "failed") or code not in codes:
            raise BenchError(f"a run of {workflow} is {run['status']}: {run.get('error')}")


def _expect(statuses: Counter[int], *allowed: int) -> None:
    if set(statuses) - set(allowed):
        raise BenchError(f"a case of the hostile corpus was answered with {dict(statuses)}")


def _numbers(sizes: Sequence[int]) -> list[Json]:
    return [{"numbers": [float(number) for number in range(size)]} for size in sizes]


def _ports(host: Host, _: Plan) -> None:
    _ended(host, "ports", _numbers(NUMBERS), "", "expression_limit")


def _map_bodies(host: Host, _: Plan) -> None:
    _ended(host, "bodies", _numbers(NUMBERS), "", "map_item_failed")


def _headers(host: Host, _: Plan) -> None:
    """The guard refuses the request, which comes after the templates."""
    _ended(host, "headers", _numbers(NUMBERS), "ssrf_blocked", "expression_limit")


def _edge_conditions(host: Host, _: Plan) -> None:
    _ended(host, "conditions", _numbers(CONDITION_NUMBERS), "", "expression_limit")


def _loops(host: Host, plan: Plan) -> None:
    runs = [_create(host, tenants.LOOP, {}) for _ in range(8)]
    time.sleep(plan.hostile_seconds)
    for run in runs:
        answers_together(host.port, [request("POST", f"/v1/runs/{run}/cancel", b"{}")])
    _await_rest(host)


def _map_items(host: Host, plan: Plan) -> None:
    _ended(host, "mapped", [{"items": graphs.items(plan.items)}], "")


def _model(host: Host, _: Plan) -> None:
    _ended(host, "model", [{}] * 4, "envelope_invalid")


def _template(host: Host, _: Plan) -> None:
    document = definition("template", [node(0, "core.template", {"template": TEMPLATE})], [])
    body = json.dumps(document).encode()
    _expect(answers_together(host.port, [request("POST", "/v1/workflows", body)]), 400)


def _credentials(host: Host, _: Plan) -> None:
    _ended(host, "echo", [{"text": shape * (64_000 // len(shape))} for shape in CREDENTIALS], "")


def _slow_bodies(host: Host, plan: Plan) -> None:
    _expect(slow_bodies(host.port, plan.hostile_bodies, 1_000_000, plan.hostile_seconds), -1, 0, 503)


def _large_creates(host: Host, plan: Plan) -> None:
    body = json.dumps({"workflowId": "echo", "inputs": {"text": TEXT}}).encode()
    _expect(answers_together(host.port, [request("POST", "/v1/runs", body)] * plan.hostile_creates), 201, 503)
    _await_rest(host)


def _state_copies(host: Host, _: Plan) -> None:
    _ended(host, "copies", [{"text": TEXT}], "run_state_too_large")


def _growing_tree(host: Host, plan: Plan) -> None:
    root = _create(host, "grow", {})
    time.sleep(2 * plan.hostile_seconds)
    host.call("POST", f"/v1/runs/{root}/cancel")
    _await_rest(host, OPEN)


def _large_run(host: Host, workflow: str) -> str:
    """A run with a large state that waits."""
    run = _create(host, workflow, {"text": TEXT if workflow == "large" else [0.1234567] * VALUES})
    _await_rest(host)
    return run


def _stalled_snapshots(host: Host, plan: Plan) -> None:
    for workflow in ("large", "fine"):
        run = _large_run(host, workflow)
        for path in ("", "/events?streamMode=values", "/events/poll"):
            unread_requests(host.port, [f"/v1/runs/{run}{path}"] * 12, plan.hostile_seconds / 2)
        host.call("POST", f"/v1/runs/{run}/cancel")


def _debug_bundles(workflow: str, host: Host, _: Plan) -> None:
    run = _large_run(host, workflow)
    path = f"/v1/runs/{run}/debug-bundle"
    for count in (1, 4):
        _expect(answers_together(host.port, [request("GET", path)] * count), 200)
    host.call("POST", f"/v1/runs/{run}/cancel")


CASES: Final = (
    Case("60 expression ports", _ports),
    Case("map of 2 items with 30 body inputs", _map_bodies),
    Case("40 header templates", _headers),
    Case("20 edge conditions", _edge_conditions),
    Case("8 looping runs", _loops),
    Case("map over 10,000 items", _map_items),
    Case("24,000 tildes and a brace from a model", _model),
    Case("30,000 escaped quotes in a template", _template),
    Case("64 KB that look like credentials", _credentials),
    Case("800 slow bodies of 1 MB", _slow_bodies),
    Case("100 creates with 1 MB each", _large_creates),
    Case("900 nodes that copy 1 MB", _state_copies),
    Case("a tree that grows until it is cancelled", _growing_tree),
    Case("12 stalled readers of a large run", _stalled_snapshots),
    Case("debug bundles of a run with large texts", partial(_debug_bundles, "large")),
    Case("debug bundles of a run with many values", partial(_debug_bundles, "fine")),
)


def model_script() -> bytes:
    """For the scripted model of the host."""
    return msgspec.json.encode({"default": MODEL_ANSWER})
