"""Nodes that read and judge temperatures."""

from typing import Literal

import msgspec

import weftwork

Scale = Literal["celsius", "fahrenheit"]


class Reading(msgspec.Struct):
    degrees: float
    scale: Scale = "celsius"


class Range(msgspec.Struct):
    low: float = 18.0
    high: float = 24.0


@weftwork.node("temperature.convert")
async def convert(ctx: weftwork.Context, reading: Reading) -> Reading:
    """Gives a reading in degrees Celsius."""
    if reading.scale == "celsius":
        return reading
    return Reading(round((reading.degrees - 32) / 1.8, 1))


@weftwork.node("temperature.judge")
async def judge(ctx: weftwork.Context, degrees: float, *, config: Range) -> str:
    """Says whether it is too cold, too warm or just right."""
    if degrees < config.low:
        return "too cold"
    return "too warm" if degrees > config.high else "just right"
