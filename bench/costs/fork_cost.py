"""How long a fork of a long run takes to be created, and how fast a replay of it is executed."""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

import msgspec

from bench.costs.long_run_cost import definition
from bench.costs.lookback_cost import last_sequence, writing_loop
from bench.plan import BenchError, Plan
from bench.subjects.host import Host, weftwork

SETTINGS: Final = "max_node_executions = 1000000\n"
POLL_SECONDS: Final = 10
END_SECONDS: Final = 60


def fork_costs(plan: Plan, folder: Path, say: Callable[[str], None]) -> dict[str, float]:
    """Branches at the last event of a run, and replays of it from its first event, one after the other.

    The rate of a replay is the number of its events divided by the time from its 201 until a reader, who waits for the
    terminal event, has it. Its events are durable by then. Measured for nodes that do nothing, and for a loop whose
    nodes compute and write a variable each.
    """
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "weftwork.toml").write_text(SETTINGS, "utf-8")
    flows = folder / "flows"
    flows.mkdir()
    (flows / "plain.json").write_bytes(msgspec.json.encode(definition("plain", plan.fork_events // 2 - 1)))
    (flows / "writing.json").write_bytes(msgspec.json.encode(writing_loop("writing", plan.fork_events)))
    with weftwork(folder, flows) as host:
        host.wait()
        plain, last = _source(host, "plain", plan.fork_events)
        branches, creates, rates = list[float](), list[float](), list[float]()
        for _ in range(plan.forks):
            branches.append(_fork(host, plain, "branch", last)[0])
            create, seconds = _fork(host, plain, "replay", last)
            creates.append(create)
            rates.append((last + 1) / seconds)
        writing, writing_last = _source(host, "writing", plan.fork_events)
        writing_rates = [
            (writing_last + 1) / _fork(host, writing, "replay", writing_last)[1] for _ in range(plan.forks)
        ]
    found = {
        "fork_branch_ms": median(branches),
        "fork_branch_p99_ms": _p99(branches),
        "fork_replay_ms": median(creates),
        "fork_replay_p99_ms": _p99(creates),
        "replay_events_per_s": median(rates),
        "replay_writing_events_per_s": median(writing_rates),
    }
    say(
        f"a branch of {last + 1:,} events takes {found['fork_branch_ms']:.0f} ms, p99 "
        f"{found['fork_branch_p99_ms']:.0f} ms; a replay has {found['replay_events_per_s']:,.0f} events/s, with "
        f"variables {found['replay_writing_events_per_s']:,.0f}"
    )
    return found


def _source(host: Host, workflow: str, least: int) -> tuple[str, int]:
    """A run of this workflow that has completed, and the sequence of its last event."""
    host.complete(workflow, 1)
    run_id = host.newest()["runId"]
    return run_id, last_sequence(host, run_id, least - 1)


def _fork(host: Host, source: str, mode: str, last: int) -> tuple[float, float]:
    """Milliseconds until the fork is created, and seconds from then until its last event is read.

    A branch begins with all events of its source but the last one, and a replay with none of them.
    """
    body = {"mode": mode, "fromSeq": last if mode == "branch" else 0}
    began = time.perf_counter()
    fork = host.call("POST", f"/v1/runs/{source}:fork", body)["runId"]
    created = time.perf_counter()
    page, at = dict[str, Any](isComplete=False), last - 1
    while not page["isComplete"]:
        # A poll beyond the end of the log may be answered as soon as the log has grown.
        page = host.call("GET", f"/v1/runs/{fork}/events/poll?lastSequence={at}&timeout={POLL_SECONDS}")
        at = max(at, page["events"][-1]["sequence"] if page["events"] else at)
        if time.perf_counter() - created > END_SECONDS:
            raise BenchError(f"the {mode} did not end within {END_SECONDS} s")
    ended = time.perf_counter()
    if page["runStatus"] != "completed" or (mode == "replay" and at != last):
        raise BenchError(f"the {mode} did not end as its source did")
    return (created - began) * 1000, ended - created


def _p99(times: list[float]) -> float:
    return quantiles(times, n=100, method="inclusive")[98] if len(times) > 1 else times[0]
