"""A node in Python that reads the text in a photo, with RapidOCR."""

import functools
from typing import Any

import msgspec
from examples.invoice_approval.photos import open_photo

import weftwork


class Line(msgspec.Struct):
    text: str
    confidence: float
    box: tuple[int, int, int, int]
    """Left, top, right and bottom, in pixels."""


class Reading(msgspec.Struct):
    text: str
    """The lines from top to bottom. Lines at the same height are one line here."""
    lines: list[Line]


@functools.cache
def engine() -> Any:
    """RapidOCR, loaded at its first use, which takes a second and 300 MB. One thread of it leaves room for the host."""
    from rapidocr import RapidOCR

    return RapidOCR(params={"Global.log_level": "critical", "EngineConfig.onnxruntime.intra_op_num_threads": 1})


def in_rows(lines: list[Line]) -> list[list[Line]]:
    """The lines grouped by height, each group from left to right."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: line.box[1] + line.box[3]):
        _, top, _, bottom = rows[-1][-1].box if rows else (0, 0, 0, 0)
        if top < (line.box[1] + line.box[3]) / 2 < bottom:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda line: line.box[0]) for row in rows]


@weftwork.node("example.read-text", concurrency=1)
def read_text(ctx: weftwork.PlainContext, photo: weftwork.Media) -> Reading:
    """Reads the text in a photo. The engine reads one photo at a time."""
    image = open_photo(ctx.read_media(photo).data)
    found = engine()(image)
    if found.txts is None:
        raise weftwork.NodeError("no_text", "The photo shows no text that can be read.")
    lines: list[Line] = []
    for text, confidence, corners in zip(found.txts, found.scores, found.boxes, strict=True):
        (left, top), (right, bottom) = corners.min(axis=0), corners.max(axis=0)
        lines.append(Line(text, round(float(confidence), 3), (int(left), int(top), int(right), int(bottom))))
    return Reading("\n".join(" ".join(line.text for line in row) for row in in_rows(lines)), lines)
