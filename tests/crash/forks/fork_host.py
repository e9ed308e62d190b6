"""Hosts whose runs are forked, the runs that they are forked from, and what must hold of a fork after a crash."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tests.crash.effects import effect_host, effect_nodes
from tests.crash.effects.effect_host import answer_truthfully, key_of
from tests.crash.effects.effect_sink import CountingSink
from tests.crash.oracle import TERMINAL, Log, listing
from tests.crash.restartable_host import RestartableHost, stop
from tests.harness.definitions import edge, node
from tests.live import Answer, Host, until
from tests.live.steering import await_status, events, flow
from weftwork.adapters.python.node_runner import PythonNodes
from weftwork.adapters.python.threads import ThreadPool
from weftwork.ports.nodes import NodeType
from weftwork.protocol.run.events import FORKED
from weftwork.testing.fake_outbound import FakeOutbound
from weftwork.wiring.node_types import load_python_nodes

ITEMS = 600
"""Items of a map. Their events make a replay write several batches."""
BEFORE = [("pay", "")]
"""Effects before the fork point of a branch."""
AFTER = [("book", "flight"), ("book", "room"), ("till", "pay")]
KEY = {"Idempotency-Key": "fork"}
PREFIX_MEMBERS = ("sequence", "eventId", "type", "nodeId", "payload", "timestamp")
REPLAY_MEMBERS = ("sequence", "eventId", "type", "nodeId", "payload")


def work(url: str, broken: Path) -> dict[str, Any]:
    """A chain of effects after many events. Its last effect belongs to a node that fails until it is repaired."""
    to_sink = {"url": url, "broken": str(broken)}
    items = {"items": list(range(ITEMS)), "body": {"typeId": "core.identity", "config": {}, "inputs": {}}}
    nodes = [
        node("pay", "test.pay", config={"url": url}),
        node("wide", "core.flow.map", config=items),
        node("book", "test.book", config={"url": url}),
        node("till", "test.till", config=to_sink),
        node("last"),
    ]
    return flow("work", nodes, [edge(*pair) for pair in pairwise(each["id"] for each in nodes)])


class ForkHost(RestartableHost):
    arguments = ("--nodes", "effect_nodes", "--allow-private-network")
    cwd = Path(effect_host.__file__).parent

    def __init__(self, folder: Path, sink: CountingSink, broken: Path, sabotage: str | None = None) -> None:
        self.workflows = (work(sink.url, broken),)
        super().__init__(folder, sabotage)
        self._sink = sink

    def start(self, faults: str | None = None) -> Host:
        """A host that listens, and a sink that has heard all of the ones before it."""
        host = super().start(faults)
        self._sink.settle()
        return host


def node_types() -> Iterable[NodeType]:
    """The node types of the runs that are not built in."""
    functions = load_python_nodes((), (effect_nodes.pay, effect_nodes.book, effect_nodes.till))
    return PythonNodes(functions, ThreadPool(1, 1), FakeOutbound()).types.values()


class Sources(NamedTuple):
    """What a host has left that was stopped: its data, a completed and a failed run, and their logs."""

    sink: CountingSink
    data: Path
    broken: Path
    completed: str
    failed: str
    logs: dict[str, Log]

    def source(self, way: str) -> str:
        return self.failed if way == "retry" else self.completed

    def request(self, way: str) -> tuple[str, dict[str, Any]]:
        """The path and the body of a request for a fork."""
        if way == "retry":
            return f"/v1/host/weftwork/runs/{self.failed}/retry", {}
        body = {"mode": way, "fromSeq": self.first_of("book") if way == "branch" else 0}
        return f"/v1/runs/{self.completed}:fork", body

    def first_of(self, node_id: str) -> int:
        """The first event of a node in the completed run."""
        return next(each["sequence"] for each in self.logs[self.completed] if each.get("nodeId") == node_id)


@contextmanager
def prepare_sources(folder: Path) -> Iterator[Sources]:
    broken = folder / "broken"
    with CountingSink(5).listening() as sink, ForkHost(folder, sink, broken) as ground:
        host = ground.start()
        completed = host.create("work")
        await_status(host, completed, "completed")
        broken.touch()
        failed = host.create("work")
        await_status(host, failed, "failed")
        broken.unlink()
        logs = {run_id: events(host, run_id) for run_id in (completed, failed)}
        stop(host)
        yield Sources(sink, ground.data, broken, completed, failed, logs)


def send_request(host: Host, sources: Sources, way: str) -> Answer:
    path, body = sources.request(way)
    return host.call("POST", path, body, headers=KEY)


def fork_ids(host: Host, source: str) -> list[str]:
    rows = host.call("GET", f"/v1/host/weftwork/runs/{source}/tree").document["runs"]
    forks = [row["runId"] for row in rows if row.get("forkedFrom", {}).get("runId") == source]
    assert {*listing(host)} >= {*forks}
    return forks


def check_fork(host: Host, sources: Sources, way: str, is_stored: bool) -> None:
    """After a restart: the fork is there as a whole or not at all, the repeated request finds or makes it, and it comes
    to its end without an effect that happens twice."""
    source = sources.source(way)
    stored = fork_ids(host, source)
    assert len(stored) == is_stored, f"{len(stored)} forks after the crash"
    answer = send_request(host, sources, way)
    assert answer.status == 201, answer.body
    assert ("openwop-idempotent-replay" in answer.headers) == is_stored, "the request is not known again"
    fork = answer.document["runId"]
    assert fork_ids(host, source) == [fork], "the repeated request has another fork"
    assert not stored or stored == [fork]
    assert {*listing(host)} == {sources.completed, sources.failed, fork}, "there are other runs"
    log = follow_to_end(host, sources.sink, fork)
    before, from_seq = sources.logs[source], answer.document["fromSeq"]
    if way == "replay":
        assert picked(log, REPLAY_MEMBERS) == picked(before, REPLAY_MEMBERS), "the replay differs from its source"
    else:
        assert picked(log[:from_seq], PREFIX_MEMBERS) == picked(before[:from_seq], PREFIX_MEMBERS), "another prefix"
        assert log[from_seq]["type"] == FORKED
        assert log[-1]["type"] == "run.completed", log[-1]
    assert events(host, source) == before
    check_sink(sources, way, fork)


def picked(log: Log, members: tuple[str, ...]) -> list[tuple[Any, ...]]:
    return [tuple(each.get(name) for name in members) for each in log]


def check_sink(sources: Sources, way: str, fork: str) -> None:
    """What the source has done is done once, and a branch does only what comes after its fork point."""
    counts = sources.sink.counts
    for run_id in (sources.completed, sources.failed):
        assert {counts[key_of(run_id, each)] for each in [*BEFORE, *AFTER]} == {1}, "an effect of a source was repeated"
    assert {counts[key_of(fork, each)] for each in BEFORE} == {0}, "an effect of the prefix was repeated"
    after = {counts[key_of(fork, each)] for each in AFTER}
    assert after == ({1} if way == "branch" else {0}), f"effects of the fork happened {after} times"


def follow_to_end(host: Host, sink: CountingSink, run_id: str) -> Log:
    """The log of a run once it has ended. Whoever is asked about an effect looks at the sink."""

    def look() -> Log | None:
        answer_truthfully(host, sink, run_id)
        log = events(host, run_id)
        return log if log and log[-1]["type"] in TERMINAL else None

    return until(look, f"{run_id} to end")
