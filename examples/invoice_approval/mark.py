"""A node in Python that marks the approved values in the photo of an invoice."""

import re
from typing import TypedDict

from examples.invoice_approval.photos import open_photo, to_jpeg
from examples.invoice_approval.read_text import Line
from PIL import ImageDraw, ImageFont

import weftwork

GREEN = (0, 130, 60)
AMOUNT = re.compile(r"\d[\d.,]*")


class Invoice(TypedDict):
    vendor: str
    total: float
    currency: str


class Marked(TypedDict):
    picture: weftwork.Media
    found: list[str]
    """The members of the invoice that the photo shows."""


def shows(line: Line, value: str | float) -> bool:
    """Whether a line has this text or this amount, in any notation: 1384.5 is also 1,384.50 and 1.384,50."""
    if isinstance(value, str):
        return value.casefold() in line.text.casefold()
    amounts = {re.sub(r"\D", "", amount) for amount in AMOUNT.findall(line.text)}
    return not amounts.isdisjoint({f"{value:.2f}".replace(".", ""), f"{value:g}"})


@weftwork.node("example.mark")
def mark(ctx: weftwork.PlainContext, photo: weftwork.Media, lines: list[Line], invoice: Invoice) -> Marked:
    """Draws a box around each value of an invoice that the photo shows. Of several lines it takes the lowest."""
    image = open_photo(ctx.read_media(photo).data)
    draw = ImageDraw.Draw(image)
    places = {name: line.box for name, value in invoice.items() for line in lines if shows(line, value)}
    for name, box in places.items():
        draw.rectangle(box, outline=GREEN, width=3)
        draw.text((box[0], box[1]), name, GREEN, ImageFont.load_default(14), anchor="lb")
    alt = f"The invoice of {invoice['vendor']}, with boxes around: {', '.join(places) or 'nothing'}"
    return {"picture": ctx.emit_image(to_jpeg(image), alt=alt, name="approved.jpg"), "found": [*places]}
