"""A node that makes images of which no two are alike."""

from secrets import token_bytes

import weftwork

SIZE = 200 * 1024
_PNG = b"\x89PNG\r\n\x1a\n"


@weftwork.node("bench.images", version="1.0.0")
async def images(ctx: weftwork.Context, count: int = 1) -> int:
    """Emits so many of 200 KiB."""
    body = token_bytes(SIZE - len(_PNG) - 8)
    for number in range(count):
        await ctx.emit_image(
            _PNG + number.to_bytes(8, "big") + body, alt=f"Picture {number} of {count}, all of it noise."
        )
    return count
