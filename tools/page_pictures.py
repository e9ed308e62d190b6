"""Writes the pictures of docs/reference/page: the page behind a link in each state, on a phone and on a desktop.

The pages are rendered as the host renders them, and drawn by the Chromium that the tests use. The pictures are reduced
to few colours, so that each stays small.
"""

import base64
import struct
import sys
import tempfile
import zlib
from collections import Counter
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.adapters.http.page.page_states import ABOUT, SITE, SITES, STATES  # noqa: E402
from tests.browser.chromium import Chromium, Tab  # noqa: E402
from tests.browser.question_server import QuestionServer  # noqa: E402

FOLDER = ROOT / "docs" / "reference" / "page"
SIZES = {"phone": (390, 844), "desktop": (1280, 800)}
DOCUMENT = FOLDER.parent / "answer-page-states.md"
INTRODUCTION = """# States of the answer page

Every state of the [answer page](answer-page.md), on a phone (390 pixels wide) and on a desktop (1,280 pixels).
`make screenshots` draws the pictures and writes this page. Long pages are cut below.
"""
MAX_BYTES = 60_000
MAX_HEIGHT = 2_000
"""In pixels of the page; what is below is not in the picture."""
COLOURS = 48
TRUE_COLOUR = 2
UP = 2
"""A type of picture and a filter (PNG, sections 11.2.1 and 9.2)."""


def draw(tab: Tab, url: str, size: str, dark: bool) -> bytes:
    """A picture of the whole page, as PNG."""
    width, height = SIZES[size]
    tab.screen(width, height, phone=size == "phone", dark=dark)
    tab.open(url)
    tab.evaluate("document.activeElement.blur()")
    full = min(MAX_HEIGHT, max(height, tab.evaluate("document.documentElement.scrollHeight")))
    clip = {"x": 0, "y": 0, "width": width, "height": full, "scale": 1}
    shot = tab.call(
        "Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True, optimizeForSpeed=True
    )
    return base64.b64decode(shot["data"])


def quantise(picture: bytes) -> bytes:
    """The picture with a palette: the colours that it has most, and for the others, which are edges of letters, the
    nearest of these."""
    width, height, rows = decode(picture)
    pixels = [[row[at : at + 3] for at in range(0, len(row), 3)] for row in rows]
    counted = Counter(chain.from_iterable(pixels))
    palette = [colour for colour, _ in counted.most_common(COLOURS)]
    index = {colour: place for place, colour in enumerate(palette)}
    for colour in counted:
        if colour not in index:
            index[colour] = min(range(len(palette)), key=lambda place: _distance(palette[place], colour))
    lines = b"".join(b"\0" + bytes(map(index.__getitem__, row)) for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = [(b"IHDR", head), (b"PLTE", b"".join(palette)), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*each) for each in parts)


def _distance(one: bytes, other: bytes) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def decode(picture: bytes) -> tuple[int, int, list[bytes]]:
    """Width, height and the rows of a PNG of Chromium, three bytes for each pixel (PNG, section 9)."""
    at, data, head = 8, b"", b""
    while at < len(picture):
        (size,) = struct.unpack(">I", picture[at : at + 4])
        name, body = picture[at + 4 : at + 8], picture[at + 8 : at + 8 + size]
        head, data = (body, data) if name == b"IHDR" else (head, data + body if name == b"IDAT" else data)
        at += 12 + size
    width, height, _, kind = struct.unpack(">IIBB", head[:10])
    assert kind == TRUE_COLOUR
    step = 3
    raw, rows = zlib.decompress(data), list[bytes]()
    before = bytes(width * step)
    for number in range(height):
        start = number * (width * step + 1)
        before = _unfilter(raw[start], raw[start + 1 : start + 1 + width * step], before)
        rows.append(before)
    return width, height, rows


def _unfilter(kind: int, line: bytes, above: bytes) -> bytes:
    assert kind in (0, UP), "Chromium filters with the row above when it encodes for speed"
    if kind == 0 or not any(line):
        return above if kind == UP else line
    return bytes([(a + b) & 255 for a, b in zip(line, above, strict=True)])


def render_document() -> str:
    """The page with all pictures."""
    parts = [INTRODUCTION]
    for name, about in ABOUT.items():
        pictures = " ".join(
            f'<img src="page/{name}-{size}.png" width="{width}" alt="{name.replace("-", " ")}, {size}">'
            for size, width in (("phone", 195), ("desktop", 480))
        )
        parts.append(f"## {name.replace('-', ' ').capitalize()}\n\n{about}\n\n{pictures}\n")
    return "\n".join(parts)


def main(names: list[str]) -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    DOCUMENT.write_text(render_document(), "utf-8")
    with tempfile.TemporaryDirectory() as profile, Chromium(Path(profile)) as browser:
        for name, document in STATES.items():
            if names and name not in names:
                continue
            with QuestionServer({}, SITES.get(name, SITE).headers, document) as server:
                tab = browser.tab()
                for size in SIZES:
                    picture = quantise(draw(tab, server.url, size, dark=name.endswith("-dark")))
                    target = FOLDER / f"{name}-{size}.png"
                    target.write_bytes(picture)
                    mark = "" if len(picture) <= MAX_BYTES else "  too large"
                    print(f"{target.relative_to(ROOT)} {len(picture):,}{mark}")  # noqa: T201
                tab.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
