"""Nodes that touch a sink outside the host: one as a whole, one in steps. Loaded by hosts, not by tests."""

import urllib.request
from typing import Any

import msgspec

import weftwork


class Config(msgspec.Struct):
    url: str


@weftwork.node("test.pay", effect="once")
async def pay(ctx: weftwork.Context, *, config: Config) -> dict[str, Any]:
    """Sends once, outside of any step."""
    response = await ctx.fetch(config.url, method="POST", headers={"Idempotency-Key": ctx.idempotency_key}, json={})
    return {"status": response.status}


@weftwork.node("test.book")
def book(ctx: weftwork.PlainContext, *, config: Config) -> dict[str, Any]:
    """Sends in two steps, from a thread."""

    def send() -> int:
        headers = {"Idempotency-Key": ctx.idempotency_key}
        request = urllib.request.Request(config.url, b"{}", headers, method="POST")
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.status

    return {"flight": ctx.step("flight", send), "room": ctx.step("room", send)}
