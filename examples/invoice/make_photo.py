"""Draws photo.png: python -m examples.invoice.make_photo"""

from pathlib import Path

from examples.invoice.png import pack

LETTERS = {
    "A": "25755", "C": "34443", "D": "65556", "E": "74647", "H": "55755", "I": "72227", "L": "44447",
    "N": "65555", "O": "25552", "R": "65655", "T": "72222", "V": "55552", "1": "26227", "3": "61216",
    "4": "55711", "7": "71222", "8": "25252", " ": "00000",
}  # fmt: skip
"""Five rows of three dots for each letter."""
WIDTH, HEIGHT, SCALE = 240, 150, 4
PAPER, INK = 235, 40


def write(rows: list[bytearray], text: str, x: int, y: int) -> None:
    for place, letter in enumerate(text):
        for line, dots in enumerate(LETTERS[letter]):
            for dot in range(3):
                if int(dots) & (4 >> dot):
                    left = x + (place * 4 + dot) * SCALE
                    for row in rows[y + line * SCALE : y + (line + 1) * SCALE]:
                        row[left : left + SCALE] = bytes([INK]) * SCALE


def photo() -> bytes:
    rows = [bytearray([PAPER]) * WIDTH for _ in range(HEIGHT)]
    write(rows, "CHAIR AND CO", 16, 16)
    write(rows, "INVOICE 17", 16, 52)
    for row in rows[86:88]:
        row[16:224] = bytes([INK]) * 208
    write(rows, "TOTAL 384", 16, 108)
    return pack(WIDTH, HEIGHT, 0, rows)


if __name__ == "__main__":
    Path(__file__).with_name("photo.png").write_bytes(photo())
