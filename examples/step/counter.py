"""What runs again after a crash: a node that counts in two files, outside of a step and inside one."""

import asyncio
from pathlib import Path

import msgspec

import weftwork

FOLDER = Path("example-counts")


class Counted(msgspec.Struct):
    outside: int
    inside: int


def count(name: str) -> int:
    """Adds one to a count and returns it. The files survive a crash, as effects on other systems do."""
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / name).open("a", encoding="utf-8") as file:
        file.write("x")
    return (FOLDER / name).stat().st_size


@weftwork.node("example.counter")
async def counter(ctx: weftwork.Context, pause: float = 0.0) -> Counted:
    """Counts, then waits so that you can kill the host."""
    outside = count("outside")
    inside = await ctx.step("count", count, "inside")
    if ctx.attempt == 1:
        await asyncio.sleep(pause)
    return Counted(outside, inside)
