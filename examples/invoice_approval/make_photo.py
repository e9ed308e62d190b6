"""Draws photo.jpg: python -m examples.invoice_approval.make_photo"""

from pathlib import Path
from random import Random

from PIL import Image, ImageDraw, ImageFilter, ImageFont

PAPER, TABLE = (640, 500), (760, 600)
INK, WHITE, WOOD = (45, 48, 60), (246, 244, 238), (126, 98, 74)
ITEMS = (("2 oak shelves", "310.00"), ("1 mirror frame", "50.00"), ("Delivery", "24.50"))


def draw_invoice() -> Image.Image:
    paper = Image.new("RGB", PAPER, WHITE)
    draw = ImageDraw.Draw(paper)
    large, small = ImageFont.load_default(34), ImageFont.load_default(23)
    draw.text((40, 34), "Brightwater Joinery", INK, large)
    draw.text((40, 84), "Harbour Lane 4, Seaford", INK, small)
    draw.text((40, 142), "Invoice 2026-117", INK, small)
    draw.text((600, 142), "12 March 2026", INK, small, anchor="ra")
    for row, (item, price) in enumerate(ITEMS):
        draw.text((40, 206 + 42 * row), item, INK, small)
        draw.text((600, 206 + 42 * row), price, INK, small, anchor="ra")
    draw.line((40, 344, 600, 344), INK, 2)
    draw.text((40, 364), "Total EUR", INK, large)
    draw.text((600, 364), "384.50", INK, large, anchor="ra")
    draw.text((40, 438), "Please pay within 30 days.", INK, small)
    return paper


def make_photo() -> Image.Image:
    """The invoice on a table: turned a little, out of focus, darker to the right, with noise."""
    mask = Image.new("L", PAPER, 255).rotate(1.5, Image.Resampling.BICUBIC, expand=True)
    paper = draw_invoice().rotate(1.5, Image.Resampling.BICUBIC, expand=True)
    photo = Image.new("RGB", TABLE, WOOD)
    photo.paste(paper, ((TABLE[0] - paper.width) // 2, (TABLE[1] - paper.height) // 2), mask)
    photo = photo.filter(ImageFilter.GaussianBlur(0.7))
    shadow = Image.linear_gradient("L").rotate(90).resize(TABLE).convert("RGB")
    dots = Random(117).randbytes(TABLE[0] * TABLE[1])  # noqa: S311
    noise = Image.frombytes("L", TABLE, dots).convert("RGB")
    return Image.blend(Image.blend(photo, shadow, 0.12), noise, 0.06)


if __name__ == "__main__":
    make_photo().save(Path(__file__).with_name("photo.jpg"), quality=80)
