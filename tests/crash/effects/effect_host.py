"""Hosts that send effects to a sink, runs that want them, and a person who looks at the sink before answering."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.crash.client import CONNECTION_ERRORS
from tests.crash.effects.effect_sink import CountingSink
from tests.crash.oracle import Log
from tests.crash.restartable_host import RestartableHost
from tests.harness.definitions import node
from tests.live import Host
from tests.live.steering import answer_over_http, events, flow
from weftwork.protocol.run.effects import UNKNOWN_OUTCOME_KIND, effect_key

ITEMS = 3

Identity = tuple[str, str]
"""Node, with its item in a map, and step."""

ONCE: list[Identity] = [
    ("pay", ""),
    ("book", "flight"),
    ("book", "room"),
    ("post", "request"),
    *((f"map[{item}]", "") for item in range(ITEMS)),
]
IDEMPOTENT: list[Identity] = [("put", "request")]
EFFECTS = len(ONCE) + len(IDEMPOTENT)

SINK_RESPONSE = {"status": 204, "ok": True, "url": "", "headers": {}, "body": "", "binary": False}
"""What an HTTP request node makes of the sink's answer."""


def key_of(run_id: str, identity: Identity) -> str:
    node_id, step = identity
    return effect_key("acme", run_id, node_id, 0, f"step:{step}" if step else "node")


def effect_workflow(url: str) -> dict[str, Any]:
    """A run with effects of all kinds, all at the same time."""
    to_sink = {"config": {"url": url}}
    post = {"url": url, "method": "POST", "json": {}}
    body = {"typeId": "test.pay", "config": {"url": url}, "inputs": {}}
    return flow(
        "effects",
        [
            node("pay", "test.pay", **to_sink),
            node("book", "test.book", **to_sink),
            node("post", "core.http.request", config=post),
            node("put", "core.http.request", config={**post, "effect": "idempotent"}),
            node("map", "core.flow.map", config={"items": list(range(ITEMS)), "body": body, "concurrency": 2}),
        ],
    )


class EffectHost(RestartableHost):
    workflows: Sequence[dict[str, Any]] = ()
    arguments = ("--nodes", "effect_nodes", "--allow-private-network")
    cwd = Path(__file__).parent

    def __init__(self, folder: Path, sink: CountingSink, sabotage: str | None = None) -> None:
        self.workflows = (*self.workflows, effect_workflow(sink.url), payment_workflow(sink.url))
        super().__init__(folder, sabotage)
        self._sink = sink

    def start(self, faults: str | None = None) -> Host:
        """A host that listens, and a sink that has heard all of the ones before it."""
        host = super().start(faults)
        self._sink.settle()
        return host


def payment_workflow(url: str) -> dict[str, Any]:
    return flow("pays", [node("pay", "test.pay", config={"url": url})])


def open_effect_interrupts(log: Log) -> list[dict[str, Any]]:
    """Open questions about effects of unknown outcome."""
    resolved = {event["interruptId"] for event in log if event["type"] == "interrupt.resolved"}
    asked = [event for event in log if event["type"] == "interrupt.requested" and event["interruptId"] not in resolved]
    return [event for event in asked if event["payload"]["data"]["customKind"] == UNKNOWN_OUTCOME_KIND]


def answer_truthfully(host: Host, sink: CountingSink, run_id: str) -> None:
    """Say of each effect that is asked about whether the sink has seen it."""
    for asked in open_effect_interrupts(events(host, run_id)):
        about, node_id = asked["payload"]["data"]["payload"], asked["nodeId"]
        place = f"{node_id}[{about['item']}]" if "item" in about else node_id
        seen = sink.counts[key_of(run_id, (place, about.get("step", "")))]
        output = SINK_RESPONSE if about.get("step") == "request" else 204
        value = {"outcome": "done", "output": output} if seen else {"outcome": "again"}
        assert answer_over_http(host, run_id, node_id, value).status == 200


def answer_until_host_gone(host: Host, sink: CountingSink) -> None:
    """Answer whatever is asked, until there is no host any more."""
    with contextlib.suppress(*CONNECTION_ERRORS):
        while True:
            answer_open_interrupts(host, sink)


def answer_open_interrupts(host: Host, sink: CountingSink) -> bool:
    """Answer whatever is asked now; whether all runs have ended."""
    for run_id in _runs_with_status(host, "waiting-input"):
        answer_truthfully(host, sink, run_id)
    return not _runs_with_status(host, "pending,running,waiting-input")


def _runs_with_status(host: Host, statuses: str) -> list[str]:
    page = host.call("GET", f"/v1/runs?limit=200&status={statuses}").document
    return [run["runId"] for run in page["runs"]]
