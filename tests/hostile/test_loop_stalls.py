"""No request keeps everybody else waiting: the longest turn of the event loop, in CPU time of its thread."""

import asyncio
import gc
import json
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.hostile_json import FRAGMENTS
from tests.hostile.raw_http import AUTH, HOST, connect, receive_answers, send_pieces
from tests.live import ListeningHost, echoes, in_thread, open_listening
from weftwork.engine.run.loop_share import LoopShare
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.privacy import redaction
from weftwork.protocol.privacy.secret_matcher import SecretMatcher
from weftwork.protocol.workflow.run_options import MAX_INPUTS

DECODES = 4
"""A turn may take as long as reading the widest document so many times. Where that takes 25 milliseconds, it is a
tenth of a second; a machine that is slower has slower turns, and that is not what is proved here."""
TRIES = 3
NEAR = ["a" * length + "b" for length in range(4, 64)]
"""Sensitive texts that a text of nothing but `a` is nearly a copy of, at every place and in sixty ways."""
HEAVY = [name for name, evil in FRAGMENTS.items() if len(evil.data) > 100_000]


WIDE = {"wide": b'{"workflowId":"plain","inputs":{"text":"t","x":%b}}' % FRAGMENTS["shape: many members"].data}


@cache
def bound() -> float:
    """Seconds of CPU that one turn of the loop may take on this machine."""
    taken: list[float] = []
    for _ in range(7):
        begun = time.thread_time()
        decode(WIDE["wide"])
        taken.append(time.thread_time() - begun)
    return DECODES * sorted(taken)[len(taken) // 2]


def flow(name: str, guarded: bool) -> dict[str, Any]:
    """Three nodes that put what they are given into the log; guarded, there is something to be hidden from it."""
    document = echoes(name, 3)
    if guarded:
        document["variables"].append({"name": "secret", "type": "array", "sensitive": True})
    return document


def body(name: str, inputs: dict[str, Any]) -> bytes:
    return json.dumps({"workflowId": name, "inputs": inputs}).encode()


def corpus() -> dict[str, bytes]:
    """The heaviest bodies that are let in, and some that are not."""
    hidden = {"text": "t", "secret": NEAR}
    found = {
        "a large text": body("plain", {"text": "x" * 1_000_000}),
        "many inputs": body("plain", {"text": "t", **{f"k{at}": "aaaab" for at in range(MAX_INPUTS - 2)}}),
        "many inputs, guarded": body("guarded", {**hidden, **{f"k{at}": "aaaab" for at in range(MAX_INPUTS - 2)}}),
        "nearly copies": body("guarded", {**hidden, "text": "a" * 1_000_000}),
        "nearly copies and one": body("guarded", {**hidden, "text": "a" * 1_000_000 + "b"}),
        "copies without end": body("guarded", {**hidden, "text": "aaaab" * 200_000}),
        "many copies": body("guarded", {**hidden, "x": ["aaaab"] * 90_000}),
        "copies at the ends": body("guarded", {**hidden, "x": ["a" * 16_000 + "b"] * 60}),
        "a large secret": body("guarded", {"text": "t", "secret": [f"{at}-abcdef" for at in range(60_000)]}),
    }
    for name in HEAVY:
        data = FRAGMENTS[name].data
        found[name] = b'{"workflowId":"plain","inputs":{"text":"t","x":%b}}' % data
        found[f"{name}, guarded"] = b'{"workflowId":"guarded","inputs":{"text":"t","secret":%b,"x":%b}}' % (
            json.dumps(NEAR).encode(),
            data,
        )
    return {name: data for name, data in found.items() if len(data) <= 2**20}


def ask(port: int, name: str, data: bytes, key: bool) -> list[int]:
    head = [b"POST /v1/runs HTTP/1.1", b"Content-Type: application/json", b"Content-Length: %d" % len(data)]
    if key:
        head.append(b"Idempotency-Key: " + name.encode().hex().encode())
    with connect(port) as client:
        send_pieces(client, b"\r\n".join(head) + b"\r\n" + HOST + AUTH + b"\r\n" + data)
        (answer,) = receive_answers(client, 1)
        statuses = [answer.status]
        if answer.status == 201:
            for path in ("", "/events/poll"):
                url = f"/v1/runs/{answer.document['runId']}{path}"
                send_pieces(client, f"GET {url} HTTP/1.1\r\n".encode() + HOST + AUTH + b"\r\n")
                statuses.append(receive_answers(client, 1)[0].status)
        return statuses


class Longest:
    """Comes round in every turn of the loop and notes how much CPU the thread used since it was there last."""

    def __init__(self) -> None:
        self.turn = 0.0

    async def watch(self) -> None:
        last = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            self.turn = max(self.turn, now - last)
            last = now


async def turns(served: ListeningHost, works: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The longest turn during each of the works."""
    found: dict[str, float] = {}
    longest = Longest()
    watching = asyncio.create_task(longest.watch())
    for name, work in works.items():
        longest.turn = 0.0
        statuses = await work()
        found[name] = longest.turn
        assert all(status in (200, 201, 400) for status in statuses), (name, statuses)
    watching.cancel()
    return found


def measure(names: dict[str, bytes], folder: Path, together: int = 1) -> dict[str, float]:
    data = tempfile.mkdtemp(dir=folder)

    async def run() -> dict[str, float]:
        flows = flow("plain", False), flow("guarded", True)
        async with open_listening(*flows, store="sqlite", data=data) as served:

            def one(name: str, data: bytes, key: bool) -> Callable[[], Any]:
                async def work() -> list[int]:
                    asked = [in_thread(ask, served.port, f"{name}-{at}", data, key) for at in range(together)]
                    return [status for statuses in await asyncio.gather(*asked) for status in statuses]

                return work

            return await turns(served, {name: one(name, data, len(name) % 2 == 0) for name, data in names.items()})

    # What the process holds besides the host is no business of the garbage collector now.
    gc.collect()
    gc.freeze()
    try:
        return asyncio.run(run())
    finally:
        gc.unfreeze()


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_no_body_takes_the_loop_for_long(part: int, tmp_path: Path) -> None:
    """The measure is CPU time, so that others on the machine do not count. A busy machine still makes memory and
    caches slow: a body is beyond the bound only if it is so three times."""
    left = {name: data for at, (name, data) in enumerate(corpus().items()) if at % 4 == part}
    assert len(left) > 5
    found: dict[str, float] = {}
    for _ in range(TRIES):
        found = measure(left, tmp_path)
        left = {name: left[name] for name, seconds in found.items() if seconds > bound()}
        if not left:
            return
    raise AssertionError(found)


@pytest.mark.slow
def test_several_large_bodies_at_once_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert any(measure(WIDE, tmp_path, together=6)["wide"] < 2 * bound() for _ in range(TRIES))

    async def at_once(self: LoopShare, partition: str, units: int = 0, run: str = "") -> None: ...

    monkeypatch.setattr(LoopShare, "turn", at_once)
    assert any(measure(WIDE, tmp_path, together=12)["wide"] > 2 * bound() for _ in range(TRIES))


@pytest.mark.slow
def test_without_bounds_a_search_for_copies_would_stop_everybody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = {"near": body("guarded", {"text": "a" * 1_000_000, "secret": NEAR})}
    monkeypatch.setattr(SecretMatcher, "is_absent", lambda self, value: False)
    monkeypatch.setattr(redaction, "MAX_EXACT_TEXT", 2**40)
    assert measure(near, tmp_path)["near"] > bound()
