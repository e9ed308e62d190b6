"""A host that another process has replaced stops by itself, and says so."""

import json
import signal
import sys
from pathlib import Path

import pytest

from tests.cli.serve.test_process import HOUR_MS, delays, start_host, write_workflows
from tests.live.host import command, until

REPLACED = """
import asyncio, signal
from weftwork.adapters.sqlite.ownership import SqliteElection
from weftwork.cli.main import main

take = SqliteElection.take

async def take_until_the_signal(self, force=False):
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, self.lost.set)
    return await take(self, force)

SqliteElection.take = take_until_the_signal
main()
"""
"""A host that loses the election at a signal."""


def test_a_host_that_was_replaced_exits_with_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workflows = write_workflows(tmp_path / "workflows", delays("steps", 0, HOUR_MS))
    monkeypatch.setattr("tests.live.host.command", lambda *args: [sys.executable, "-c", REPLACED, *map(str, args)])
    with start_host(tmp_path, "--workflows", workflows) as host:
        run_id = host.create("steps")
        host.process.send_signal(signal.SIGUSR1)
        assert host.process.wait(60) == 1
        errors = host.errors.splitlines()
        (critical,) = [json.loads(line) for line in errors if '"critical"' in line]
        assert critical["message"] == "another process executes the runs of this store; this host stops"
        assert "weftwork: another process executes the runs of this store now, so this one has stopped" in errors
    monkeypatch.setattr("tests.live.host.command", command)
    with start_host(tmp_path, "--workflows", workflows) as host:
        until(lambda: host.snapshot(run_id)["status"] == "running" or None, "the run")
