"""Nodes that touch a sink outside the host: one as a whole, the others in steps. Loaded by hosts, not by tests."""

import urllib.request
from pathlib import Path
from typing import Any

import msgspec

import weftwork


class Config(msgspec.Struct):
    url: str
    broken: str = ""
    """A file. While it exists, `test.till` fails."""


@weftwork.node("test.pay", effect="once")
async def pay(ctx: weftwork.Context, *, config: Config) -> dict[str, Any]:
    """Sends once, outside of any step."""
    response = await ctx.fetch(config.url, method="POST", headers={"Idempotency-Key": ctx.idempotency_key}, json={})
    return {"status": response.status}


@weftwork.node("test.book")
def book(ctx: weftwork.PlainContext, *, config: Config) -> dict[str, Any]:
    """Sends in two steps, from a thread."""
    return {
        "flight": ctx.step("flight", lambda: _send(ctx, config)),
        "room": ctx.step("room", lambda: _send(ctx, config)),
    }


@weftwork.node("test.till")
def till(ctx: weftwork.PlainContext, *, config: Config) -> dict[str, Any]:
    """Sends in a step, and fails afterwards until it is repaired."""
    paid = ctx.step("pay", lambda: _send(ctx, config))
    if Path(config.broken).exists():
        raise weftwork.NodeError("out_of_paper", "No receipt.", retryable=False)
    return {"paid": paid}


def _send(ctx: weftwork.PlainContext, config: Config) -> int:
    headers = {"Idempotency-Key": ctx.idempotency_key}
    request = urllib.request.Request(config.url, b"{}", headers, method="POST")
    with urllib.request.urlopen(request, timeout=20) as response:
        return response.status
