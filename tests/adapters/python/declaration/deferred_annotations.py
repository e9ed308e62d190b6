"""A module whose annotations are texts until somebody reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

import weftwork

if TYPE_CHECKING:
    from weftwork import Context


class Point(msgspec.Struct):
    x: int
    y: int = 0


@weftwork.node("acme.shift")
async def shift(ctx: Context, point: Point, by: int = 1) -> Point:
    return Point(point.x + by, point.y)
