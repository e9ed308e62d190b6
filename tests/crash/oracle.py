"""The oracle: given what clients were told, what a host that was started again must show. Raises AssertionError."""

import time
from collections import Counter
from datetime import datetime
from typing import Any

from tests.crash.client import ClientHistory, RecordingClient, stream
from tests.crash.workflows import MIN_NODE_MS, WITH_EFFECTS
from tests.live import Host, frames

TIMEOUT_SECONDS = 120.0
"""Seconds within which a run that was recovered must have ended."""
TERMINAL = {"run.completed": "completed", "run.failed": "failed", "run.cancelled": "cancelled"}
TAG_FIELDS = {"run.paused": "reason", "run.resumed": "reason", "interrupt.resolved": "resumeValue"}
"""Type of event -> the member in which a wish to steer finds its tag again."""
NODE_ENDS = ("node.completed", "node.failed", "node.skipped", "node.cancelled")

Log = list[dict[str, Any]]


def check_history(host: Host, ledger: ClientHistory, patience: float = TIMEOUT_SECONDS) -> dict[str, Log]:
    """Everything that was acknowledged is there, once, and ends; the logs of all runs by run id."""
    # A ledger may be audited again: what is asked then has other names.
    client = RecordingClient(host, ledger, f"audit{len(ledger.steers)}")
    _resend_all(client)
    runs = listing(host)
    _check_runs(ledger, runs)
    _check_deletes(host, ledger, runs)
    for run_id, run in runs.items():
        if run["workflowId"] in ("long", "drops") and run["status"] in ("pending", "running", "paused"):
            client.cancel(run_id)
        elif run["status"] == "paused":
            client.steer(run_id, ":resume")
        if run["workflowId"] == "asks":
            client.steer(run_id, "/interrupts/ask")
    logs = {run_id: follow(host, run_id, patience) for run_id in runs}
    # Some may have started others since.
    logs |= {run_id: follow(host, run_id, patience) for run_id in listing(host) if run_id not in logs}
    for run_id, run in listing(host).items():
        check_log(run_id, run["workflowId"], logs[run_id])
        _check_views(host, run_id, run, logs[run_id])
    _check_cancels(client, logs)
    _check_steers(ledger, logs)
    _check_streams(host, ledger, logs)
    for key in ledger.keys:
        assert host.call("GET", "/v1/runs?limit=1", key=key).status == 200, "a key that was shown does not work"
    return logs


def listing(host: Host) -> dict[str, dict[str, Any]]:
    """All runs of the tenant, by id."""
    return {run["runId"]: run for run in host.pages("/v1/runs?limit=200", "runs")}


def follow(host: Host, run_id: str, patience: float = TIMEOUT_SECONDS) -> Log:
    """The whole log of a run, once it has ended."""
    until = time.monotonic() + patience
    events: Log = []
    while True:
        last = events[-1]["sequence"] if events else -1
        page = host.call("GET", f"/v1/runs/{run_id}/events/poll?lastSequence={last}&timeout=1").document
        events += page["events"]
        if page["isComplete"]:
            return events
        assert time.monotonic() < until, f"{run_id} did not go on"


def timestamp_ms(event: dict[str, Any]) -> int:
    return round(datetime.fromisoformat(event["timestamp"]).timestamp() * 1000)


def check_log(run_id: str, workflow: str, log: Log) -> None:
    """No gap, one beginning, one end, nothing entered twice, and no wait cut short."""
    kinds = [event["type"] for event in log]
    assert [event["sequence"] for event in log] == list(range(len(log))), f"{run_id} has a gap"
    assert len({event["eventId"] for event in log}) == len(log), f"{run_id} has an event twice"
    assert kinds.count("run.started") <= 1, f"{run_id} began twice"
    assert [kind for kind in kinds if kind in TERMINAL] == kinds[-1:], f"{run_id} has not one end, at its end"
    begun: dict[tuple[str, int], int] = {}
    ended: Counter[str] = Counter()
    due: set[str] = set()
    for event in log:
        node, at = event.get("nodeId", ""), timestamp_ms(event)
        if event["type"] == "node.started":
            entry = (node, event["payload"]["attempt"])
            assert entry not in begun, f"{run_id} started {entry} twice"
            # A node with an effect that a dead host has begun is started again. Its sink counts what has happened.
            due |= {node} if workflow in WITH_EFFECTS else set()
            assert entry[1] == 1 or node in due, f"{run_id} started {node} twice, and nobody wanted {entry}"
            begun[entry] = at
            due.discard(node)
        elif event["type"] == "node.retried":
            due.add(node)
        elif event["type"] == "run.resumed":
            due |= {name for name, _ in begun if not ended[name]}
        elif event["type"] in NODE_ENDS:
            ended[node] += 1
            if event["type"] == "node.completed":
                waited = at - begun[node, 1]
                assert waited >= MIN_NODE_MS[workflow][node], f"{run_id} cut {node} short: {waited} ms"
    assert all(count == 1 for count in ended.values()), f"{run_id} ended a node twice"
    if kinds[-1] == "run.completed":
        assert set(ended) == set(MIN_NODE_MS[workflow]), f"{run_id} left nodes out"


def _resend_all(client: RecordingClient) -> None:
    """Send everything that has a key again, and once more: whatever became of it, it is one run."""
    for wish in list(client.history.creates.values()):
        if wish.key is not None:
            assert client.send_create(wish) is not None
            client.send_create(wish)
    for doomed in client.history.deletes:
        if doomed.key is not None:
            client.send_delete(doomed)
            client.send_delete(doomed)


def _check_runs(ledger: ClientHistory, runs: dict[str, dict[str, Any]]) -> None:
    tags = Counter(tag for run in runs.values() for tag in run["tags"])
    assert not tags - Counter(list(ledger.creates)), f"runs that nobody asked for, or twice: {tags}"
    for run_id, wish in ledger.acknowledged().items():
        assert run_id in runs, f"{run_id} was acknowledged and is lost"
        assert runs[run_id]["tags"] == [wish.tag], f"{run_id} is another run now"


def _check_deletes(host: Host, ledger: ClientHistory, runs: dict[str, dict[str, Any]]) -> None:
    """A run that was deleted is gone; one of which nobody knows is either whole, like all that are listed, or gone."""
    for wish in ledger.deletes:
        gone = host.call("GET", f"/v1/runs/{wish.run_id}").status == 404
        assert gone is (wish.run_id not in runs), f"{wish.run_id} is listed and not there, or the other way round"
        assert gone or not wish.done, f"{wish.run_id} was deleted and is back"


def _check_views(host: Host, run_id: str, run: dict[str, Any], log: Log) -> None:
    """The listing and the snapshot say what the log says."""
    status = TERMINAL[log[-1]["type"]]
    assert run["status"] == status, f"{run_id} is listed as {run['status']}, its log says {status}"
    snapshot = host.snapshot(run_id)
    assert snapshot["status"] == status, f"{run_id} is shown as {snapshot['status']}, its log says {status}"
    ends = {event["nodeId"]: event["type"].removeprefix("node.") for event in log if event["type"] in NODE_ENDS}
    states = {node: state["status"] for node, state in snapshot["nodeStates"].items()}
    # A node that a pause interrupted has not ended if its run was not resumed.
    assert {node: shown for node, shown in states.items() if shown != "pending"} == ends


def _check_cancels(client: RecordingClient, logs: dict[str, Log]) -> None:
    for wish in client.history.cancels:
        if wish.key is not None:
            client.send_cancel(wish)
        if wish.status is not None:
            wanted = "cancelled" if wish.status == "cancelling" else wish.status
            assert TERMINAL[logs[wish.run_id][-1]["type"]] == wanted, f"{wish.run_id}: the cancel is lost"


def tags(log: Log) -> list[Any]:
    """What was asked of a run, as its log has it."""
    return [event["payload"].get(TAG_FIELDS[event["type"]]) for event in log if event["type"] in TAG_FIELDS]


def _check_steers(ledger: ClientHistory, logs: dict[str, Log]) -> None:
    """A pause, resume or answer that was taken is there once, one that was refused is not."""
    for wish in ledger.steers:
        if wish.run_id in logs:
            found = tags(logs[wish.run_id]).count(wish.tag)
            assert found <= 1, f"{wish.tag} counts twice"
            assert wish.was_accepted is None or found == wish.was_accepted, (
                f"{wish.tag} was taken and is lost, or was refused and is"
            )
    for run_id, log in logs.items():
        answered = [event["interruptId"] for event in log if event["type"] == "interrupt.resolved"]
        assert len(set(answered)) == len(answered), f"{run_id}: a question has two answers"


def _check_streams(host: Host, ledger: ClientHistory, logs: dict[str, Log]) -> None:
    """What a reader saw is how the log begins; a stream that broke goes on to the byte where it was."""
    for run_id, events in ledger.pages:
        assert logs[run_id][: len(events)] == events, f"{run_id}: what was read has changed"
    for run_id, body in ledger.streams:
        _, whole, ended = stream(host, run_id)
        assert ended, f"{run_id}: the stream broke"
        assert whole.startswith(body), f"{run_id}: what was streamed has changed"
        seen = frames(body)
        if seen and seen[-1].event not in TERMINAL:
            _, rest, _ = stream(host, run_id, seen[-1].id)
            assert b"".join(frame.raw for frame in seen) + rest == whole, f"{run_id}: the stream does not go on"
