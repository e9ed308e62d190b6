"""A node in Python that looks at an image, and shows it again with a frame."""

from typing import TypedDict

from examples.invoice.png import CHANNELS, pack, unpack

import weftwork

THICK = 2


class Box(TypedDict):
    x: int
    y: int
    width: int
    height: int


class Invoice(TypedDict):
    vendor: str
    total: float
    box: Box
    """Where the total stands."""


def framed(data: bytes, box: Box) -> bytes:
    """The image with a dark frame around the box."""
    width, height, kind, rows = unpack(data)
    step = CHANNELS[kind]
    dark = bytes([0] * (step - 1) + [255]) if kind in (4, 6) else bytes(step)
    left, top, right, bottom = box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]
    for y in range(max(top, 0), min(bottom, height)):
        for x in range(max(left, 0), min(right, width)):
            if min(x - left, right - 1 - x, y - top, bottom - 1 - y) < THICK:
                rows[y][x * step : (x + 1) * step] = dark
    return pack(width, height, kind, rows)


@weftwork.node("example.frame")
def frame(ctx: weftwork.PlainContext, photo: weftwork.Media, invoice: Invoice) -> weftwork.Media:
    """Shows the photo of an invoice with a frame around its total."""
    try:
        made = framed(ctx.read_media(photo).data, invoice["box"])
    except ValueError as error:
        raise weftwork.NodeError("photo_unusable", f"The photo cannot be framed: it is {error}.") from None
    alt = f"The invoice of {invoice['vendor']}, with a frame around its total of {invoice['total']:g}"
    return ctx.emit_image(made, alt=alt, name="framed.png")
