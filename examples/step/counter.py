"""What a crash repeats: a node that counts in two files, beside a step and inside one."""

import asyncio
from pathlib import Path

import msgspec

import weftwork

FOLDER = Path("example-counts")


class Counted(msgspec.Struct):
    beside: int
    inside: int


def count(name: str) -> int:
    """One more. The files stand for the world outside, which outlives every process."""
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / name).open("a", encoding="utf-8") as file:
        file.write("x")
    return (FOLDER / name).stat().st_size


@weftwork.node("example.counter")
async def counter(ctx: weftwork.Context, pause: float = 0.0) -> Counted:
    """Counts, and then gives you some seconds to kill the host."""
    beside = count("beside")
    inside = await ctx.step("count", count, "inside")
    if ctx.attempt == 1:
        await asyncio.sleep(pause)
    return Counted(beside, inside)
