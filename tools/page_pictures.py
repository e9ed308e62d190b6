"""Writes the pictures of docs/reference/page: the page behind a link in each state, on a phone and on a desktop.

The pages are rendered as the host renders them, and drawn by the Chromium that the tests use. The pictures are reduced
to few colours, so that each stays small.
"""

import base64
import struct
import sys
import tempfile
import zlib
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.adapters.http.page.page_states import PLAIN, SITE, STATES  # noqa: E402
from tests.browser.chromium import Chromium, Tab  # noqa: E402
from tests.browser.question_server import QuestionServer  # noqa: E402

from weftwork.adapters.http.page.site import HEADERS  # noqa: E402

FOLDER = ROOT / "docs" / "reference" / "page"
SIZES = {"phone": (390, 844), "desktop": (1280, 800)}
MAX_BYTES = 60_000
MAX_HEIGHT = 2_000
"""In pixels of the page; what is below is not in the picture."""
LEVELS = 12
"""Shades of each colour in a picture. Edges of letters need some, and nothing else does."""


def draw(tab: Tab, url: str, size: str, dark: bool) -> bytes:
    """A picture of the whole page, as PNG."""
    width, height = SIZES[size]
    tab.screen(width, height, phone=size == "phone", dark=dark)
    tab.open(url)
    tab.evaluate("document.activeElement.blur()")
    full = min(MAX_HEIGHT, max(height, tab.evaluate("document.documentElement.scrollHeight")))
    clip = {"x": 0, "y": 0, "width": width, "height": full, "scale": 1}
    shot = tab.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
    return base64.b64decode(shot["data"])


def quantise(picture: bytes) -> bytes:
    """The picture with a palette of at most 256 colours."""
    width, height, rows = decode(picture)
    table = bytes(round(round(value * (LEVELS - 1) / 255) * 255 / (LEVELS - 1)) for value in range(256))
    colours: dict[bytes, int] = {}
    lines: list[bytes] = []
    for row in rows:
        reduced = row.translate(table)
        pixels = [reduced[at : at + 3] for at in range(0, len(reduced), 3)]
        lines.append(b"\0" + bytes(colours.setdefault(each, min(len(colours), 255)) for each in pixels))
    palette = b"".join(list(colours)[:256])
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = [(b"IHDR", head), (b"PLTE", palette), (b"IDAT", zlib.compress(b"".join(lines), 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*each) for each in parts)


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
    step = {2: 3, 6: 4}[kind]
    raw, rows = zlib.decompress(data), list[bytes]()
    before = bytes(width * step)
    for number in range(height):
        start = number * (width * step + 1)
        line = _unfilter(raw[start], bytearray(raw[start + 1 : start + 1 + width * step]), before, step)
        rows.append(b"".join(line[at : at + 3] for at in range(0, len(line), step)) if step == 4 else bytes(line))
        before = bytes(line)
    return width, height, rows


def _unfilter(kind: int, line: bytearray, above: bytes, step: int) -> bytearray:
    for at in range(len(line)):
        left = line[at - step] if at >= step else 0
        corner = above[at - step] if at >= step else 0
        guess = (0, left, above[at], (left + above[at]) // 2, _paeth(left, above[at], corner))[kind]
        line[at] = (line[at] + guess) & 255
    return line


def _paeth(left: int, above: int, corner: int) -> int:
    estimate = left + above - corner
    distances = [(abs(estimate - each), index) for index, each in enumerate((left, above, corner))]
    return (left, above, corner)[min(distances)[1]]


def main(names: list[str]) -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as profile, Chromium(Path(profile)) as browser:
        for name, document in STATES.items():
            if names and name not in names:
                continue
            with QuestionServer({}, HEADERS if name in PLAIN else SITE.headers, document) as server:
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
