"""Lookups that hang: the host ends all the same, and only so many of them hang at once."""

import asyncio
import socket
import subprocess
import sys
import threading
from typing import Any

import pytest

from weftwork.adapters.outbound import resolver
from weftwork.adapters.outbound.resolver import SystemResolver

HANGS = """
import asyncio, socket, threading
from weftwork.adapters.outbound.resolver import SystemResolver
socket.getaddrinfo = lambda *_, **__: threading.Event().wait()

async def work():
    try:
        await asyncio.wait_for(SystemResolver().resolve("hangs.example", 443), 0.05)
    except TimeoutError:
        print("left")

asyncio.run(work())
"""


def test_a_process_does_not_wait_for_a_lookup() -> None:
    ended = subprocess.run([sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=30, check=False)
    assert (ended.returncode, ended.stdout) == (0, "left\n")


async def test_a_lookup_that_nobody_waits_for_keeps_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver, "MAX_CONCURRENT_LOOKUPS", 2)
    begun = 0
    gate = threading.Event()

    def slow(*_: Any, **__: Any) -> list[Any]:
        nonlocal begun
        begun += 1
        gate.wait(20)
        return [(0, 0, 0, "", ("192.0.2.1", 443))]

    monkeypatch.setattr(socket, "getaddrinfo", slow)

    made = SystemResolver()
    tasks = [asyncio.create_task(made.resolve("slow.example", 443)) for _ in range(3)]
    while begun < 2:
        await asyncio.sleep(0.001)
    for task in tasks[:2]:
        task.cancel()
    await asyncio.wait(tasks[:2])
    assert begun == 2
    gate.set()
    assert (await asyncio.wait_for(tasks[2], 20)) == ["192.0.2.1"]
    assert begun == 3
