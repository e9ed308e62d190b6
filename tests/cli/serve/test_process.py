"""`weftwork serve` as a process: start, signals, logs, and what it prints."""

import contextlib
import http.client
import json
import logging
import os
import random
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.harness.definitions import node
from tests.live import KEY, Answer, Host, Stream, delays, start_host, until, weftwork, write_workflows
from tests.live.host import TIMEOUT_SECONDS, command
from tests.live.later_host import HOUR_MS, later_command
from tests.live.workflows import chain
from weftwork.app import Host as App
from weftwork.cli.serve import startup
from weftwork.cli.serve.startup import JsonLogFormatter
from weftwork.settings import Settings

LIVES = 20 if os.environ.get("WEFTWORK_PROOF") == "full" else 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_streams_cleanly_and_the_process_with_zero(tmp_path: Path, number: signal.Signals) -> None:
    with start_host(tmp_path, "--conformance") as host:
        run_id = host.create("conformance-cancellable")
        queries = ("", "?streamMode=values", "?streamMode=debug&bufferMs=5000", "?streamMode=messages")
        streams = [host.stream(run_id, query) for query in queries]
        streams[0].read_until(lambda body: b"run.started" in body)
        with host.connect() as idle, ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(host.call, "GET", f"/v1/runs/{run_id}/events/poll?lastSequence=1&timeout=60")
            answered = Stream(_ask(host.connect(), f"/v1/runs/{run_id}"))
            host.process.send_signal(number)
            assert host.process.wait(120) == 0
            for stream in streams:
                stream.finish()
            page = waiting.result(TIMEOUT_SECONDS).document
            assert (page["events"], page["isComplete"]) == ([], False)
            answered.connection.close()
            assert idle.recv(1) == b""
        _check_log(host)
    with start_host(tmp_path) as host:
        assert "unfinished" not in host.output, "a run that waits for a time is not loaded at start"
        assert host.snapshot(run_id)["status"] == "running"
        assert host.call("POST", f"/v1/runs/{run_id}/cancel").status == 200
        assert host.log(run_id)[-1]["type"] == "run.cancelled"


def _ask(connection: socket.socket, path: str) -> socket.socket:
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n\r\n".encode())
    return connection


def _check_log(host: Host) -> None:
    """Every line that a host wrote is one JSON object, and none of them holds a key."""
    lines = host.errors.splitlines()
    assert all({"time", "level", "message"} <= json.loads(line).keys() for line in lines)
    assert KEY not in host.errors
    assert not [line for line in lines if json.loads(line)["level"] in ("error", "critical")]


SHORT = """
import asyncio, sys
from weftwork.adapters.http.server import http_server as server
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.cli.serve import startup as boot
from weftwork.cli.main import main

async def never(store):
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass

server.GRACE_SECONDS = 0.3
if sys.argv.pop(1) == "hang":
    boot.STOP_SECONDS = 1.5
    SqliteStore.close = never
main()
"""
"""A host with little patience, whose store may never close, whatever is done to it."""


@pytest.mark.parametrize("store", ["hang", "close"])
def test_the_end_has_a_deadline_and_loses_nothing(tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    short = [sys.executable, "-c", SHORT, store]
    monkeypatch.setattr("tests.live.host.command", lambda *args: [*short, *map(str, args)])
    with start_host(tmp_path, "--conformance") as host:
        run_id = host.create("conformance-cancellable")
        slow = host.connect()
        head = f"POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nContent-Length: 50\r\n\r\n"
        slow.sendall(head.encode() + b"{")
        host.call("GET", "/health")
        host.process.send_signal(signal.SIGTERM)
        assert Stream(slow).status == 503
        slow.close()
        assert host.process.wait(120) == 0
        _check_log(host)
        assert "raceback" not in host.errors
        said = [json.loads(line)["message"] for line in host.errors.splitlines()]
        late = "shutdown did not finish in time; exiting anyway"
        assert said.count(late) == (1 if store == "hang" else 0)
    monkeypatch.undo()
    with start_host(tmp_path) as host:
        assert "unfinished" not in host.output, "a run that waits for a time is not loaded at start"
        assert host.snapshot(run_id)["status"] == "running"


@pytest.mark.rule("fold-01")
def test_a_killed_host_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = {"items": {"type": "static", "value": [1]}}
    body = {"body": {"typeId": "core.delay", "config": {"delayMs": 500}}}
    mapped = chain("mapped", [node("map", "core.flow.map", config=body, inputs=items)])
    workflows = write_workflows(tmp_path / "workflows", delays("steps", 0, HOUR_MS, 0), mapped)
    with start_host(tmp_path, "--workflows", workflows, "--conformance") as host:
        steps = [host.create("steps", tags=[str(at)]) for at in range(5)]
        limited = host.create("conformance-run-duration-breach", configurable={"runTimeoutMs": 300})
        until(lambda: all(host.snapshot(run)["currentNodeId"] == "n1" for run in steps) or None, "the second node")
        busy = host.create("mapped")
        host.kill()
    monkeypatch.setattr("tests.live.host.command", lambda *args: later_command(1, command(*args)))
    with start_host(tmp_path, "--workflows", workflows) as host:
        # Those in a long delay are loaded when it is over.
        until(lambda: "1 unfinished, resumed" in host.output or None, "the run to be resumed")
        assert host.log(busy)[-1]["type"] == "run.completed"
        for run_id in steps:
            # The delay is over at the restart; one that began anew would last for another hour.
            log = host.log(run_id)
            assert log[-1]["type"] == "run.completed"
            started = [event["nodeId"] for event in log if event["type"] == "node.started"]
            assert started == ["n0", "n1", "n2"]
            assert [event["sequence"] for event in log] == list(range(8))
        log = host.log(limited)
        assert [event["type"] for event in log if event["type"] in ("cap.breached", "run.failed")] == [
            "cap.breached",
            "run.failed",
        ]
        assert host.snapshot(limited)["error"]["code"] == "run_timeout"
        _check_log(host)


@pytest.mark.rule("idem-01", "idem-02")
def test_what_was_answered_outlives_any_kill(tmp_path: Path) -> None:
    sent: list[str] = []
    answered: dict[str, bytes] = {}

    def create(host: Host, key: str) -> Answer:
        body = {"workflowId": "conformance-multi-node", "tags": ["crash"]}
        return host.call("POST", "/v1/runs", body, headers={"Idempotency-Key": key})

    def work(host: Host, name: str) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            for at in range(100_000):
                key = f"{name}-{at}"
                sent.append(key)
                answered[key] = create(host, key).body

    chance = random.Random(7)
    for life in range(LIVES):
        with start_host(tmp_path, "--conformance") as host, ThreadPoolExecutor(4) as pool:
            workers = [pool.submit(work, host, f"{life}-{number}") for number in range(4)]
            enough = len(answered) + chance.randint(20, 120)
            until(lambda enough=enough: len(answered) >= enough or None, "some answers")
            host.kill()
            for worker in workers:
                worker.result(TIMEOUT_SECONDS)
    with start_host(tmp_path, "--conformance") as host:
        for key, body in answered.items():
            again = create(host, key)
            assert (again.status, again.body, again.headers["openwop-idempotent-replay"]) == (201, body, "true")
        runs = {create(host, key).document["runId"] for key in sent}
        assert len(runs) == len(sent)
        for run_id in runs:
            assert [event["type"] for event in host.log(run_id)].count("node.started") == 3
        listed: list[str] = []
        query = "?tag=crash&limit=200"
        while query:
            page = host.call("GET", f"/v1/runs{query}").document
            listed += [run["runId"] for run in page["runs"]]
            query = f"?tag=crash&limit=200&cursor={page['nextCursor']}" if "nextCursor" in page else ""
        assert sorted(listed) == sorted(runs)


def test_a_second_host_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    with start_host(tmp_path) as host:
        second = weftwork(tmp_path, "serve", "--port", "0", "--data", host.data)
        assert second.returncode == 1
        assert f"another host (process {host.process.pid}) is using" in second.stderr
        assert "Traceback" not in second.stderr
        assert second.stdout == ""
        assert host.call("GET", "/readiness").status == 200


def test_a_port_in_use_is_named_and_costs_no_first_key(tmp_path: Path) -> None:
    with contextlib.closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = weftwork(tmp_path, "serve", "--port", str(port), "--data", tmp_path / "data")
    assert refused.returncode == 1
    assert f"port {port} on 127.0.0.1 is already in use" in refused.stderr
    assert "--port" in refused.stderr
    assert "hk_live_" not in refused.stdout
    listed = weftwork(tmp_path, "keys", "list", "--json", "--data", tmp_path / "data")
    assert json.loads(listed.stdout) == {"keys": []}


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_data_folder_that_cannot_be_is_named(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    refused = weftwork(tmp_path, "serve", "--port", "0", "--data", tmp_path / place)
    assert refused.returncode == 2
    assert str(tmp_path / place) in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_host_in_memory_leaves_nothing_behind(tmp_path: Path) -> None:
    with start_host(tmp_path, "--conformance", store="memory") as host:
        host.log(host.create("conformance-noop"))
        assert "in memory, lost at exit" in host.output
        assert host.stop() == 0
        assert not host.data.exists()


def test_a_store_in_use_does_not_answer_to_another_key(tmp_path: Path) -> None:
    with start_host(tmp_path) as host:
        assert host.call("GET", "/v1/runs", key="other").status == 401
        assert oct(host.data.stat().st_mode & 0o777) == "0o700"
        for file in host.data.iterdir():
            assert oct(file.stat().st_mode & 0o777) == ("0o700" if file.is_dir() else "0o600"), file


def line(**extra: Any) -> dict[str, Any]:
    record = logging.makeLogRecord({"name": "weftwork", "levelname": "ERROR", "msg": "node raised", **extra})
    written = JsonLogFormatter().format(record)
    assert written.isprintable()
    return json.loads(written.encode())


@each_case("odd", "\ud800", "x\udfffy", "\u2028", "\x1b[2J", "\u202e", "\n", "\x85")
def test_odd_characters_keep_a_line_whole(odd: str) -> None:
    try:
        raise KeyError(odd, odd)
    except KeyError:
        found = line(exc_info=sys.exc_info(), nodeId=odd, why=ValueError(odd))
    assert found["message"] == "node raised"
    assert "KeyError" in found["traceback"]
    assert {"nodeId", "why"} <= set(found)


async def test_nothing_that_can_go_away_is_left_out_of_garbage_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is frozen and held by a cycle never goes, so the freeze comes before runs are loaded."""
    order: list[str] = []
    honest = App.open

    async def opened(host: App, register: Any, resume: bool, take_over: bool) -> None:
        order.append("open")
        await honest(host, register, resume, take_over)

    async def served(*given: Any) -> None:
        given[1].close()
        order.append("serve")

    monkeypatch.setattr(App, "open", opened)
    monkeypatch.setattr(startup, "serve", served)
    monkeypatch.setattr(startup.gc, "freeze", lambda: order.append("freeze"))
    monkeypatch.setattr(startup.gc, "set_threshold", lambda *numbers: order.append("seldom"))
    assert (await startup.run_host(Settings(store="memory", port=0))) == 0
    assert order == ["freeze", "seldom", "open", "serve"]
