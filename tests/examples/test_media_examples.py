"""The examples with media: what the models are shown, what is drawn, and that their files are what the scripts make."""

import asyncio
import tomllib
import wave
import zlib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from weftwork.testing import Asset, FakeModel, RunResult, crash_everywhere, run_workflow

EXAMPLES = Path(__file__).parents[2] / "examples"
png: Any = import_module("examples.invoice.png")
photos: Any = import_module("examples.invoice.make_photo")
frames: Any = import_module("examples.invoice.frame")
notes: Any = import_module("examples.voice_note.make_note")

PHOTO = EXAMPLES / "invoice" / "photo.png"
NOTE = EXAMPLES / "voice_note" / "note.wav"
LETTER = EXAMPLES / "pdf_summary" / "letter.pdf"
BOX = {"x": 104, "y": 100, "width": 64, "height": 36}


def model_of(folder: str) -> FakeModel:
    """A model that says what the script of the example has."""
    return FakeModel(tomllib.loads((EXAMPLES / folder / "script.toml").read_text("utf-8"))["nodes"])


def ran(folder: str, variable: str, file: Path, nodes: Any = ()) -> tuple[RunResult, FakeModel]:
    model = model_of(folder)
    document = EXAMPLES / folder / f"{folder.replace('_', '-')}.json"
    return run_workflow(document, nodes=nodes, inputs={variable: Asset(file)}, model=model), model


@pytest.mark.parametrize(
    ("folder", "variable", "file", "modality"),
    [
        ("invoice", "photo", PHOTO, "image"),
        ("voice_note", "note", NOTE, "audio"),
        ("pdf_summary", "letter", LETTER, "document"),
    ],
)
def test_the_model_is_shown_the_file(folder: str, variable: str, file: Path, modality: str) -> None:
    result, model = ran(folder, variable, file, [frames.frame])
    assert result.error is None
    (part,) = model.requests[0].messages[-1].media
    assert (part.modality, part.media_ref) == (modality, Asset(file).media_ref)
    assert asyncio.run(_read(part)) == file.read_bytes()


async def _read(part: Any) -> bytes:
    return await part.read()


def test_the_total_is_framed_and_nothing_else_is_touched() -> None:
    result, _ = ran("invoice", "photo", PHOTO, [frames.frame])
    (shown,) = result.media
    assert (shown.kind, shown.payload["mimeType"]) == ("image", "image/png")
    assert "total of 384" in shown.payload["alt"]
    width, height, kind, before = png.unpack(PHOTO.read_bytes())
    assert png.unpack(shown.data)[:3] == (width, height, kind)
    after = png.unpack(shown.data)[3]
    changed = {(x, y) for y in range(height) for x in range(width) if before[y][x] != after[y][x]}
    assert {(104, 100), (167, 100), (104, 135), (167, 135), (130, 101)} <= changed
    assert (130, 110) not in changed
    assert all(104 <= x < 168 and 100 <= y < 136 for x, y in changed)


def test_the_framed_image_is_shown_once_wherever_the_host_dies() -> None:
    document = EXAMPLES / "invoice" / "invoice.json"
    found = crash_everywhere(
        document, nodes=[frames.frame], inputs={"photo": Asset(PHOTO)}, model=lambda: model_of_any("invoice")
    )
    counted = [(result.status, len(result.media)) for result in found]
    assert len(counted) > 6
    assert {*counted} == {("completed", 1)}


def model_of_any(folder: str) -> FakeModel:
    """The same, however often it is asked: a model whose answer was lost is asked again."""
    said = tomllib.loads((EXAMPLES / folder / "script.toml").read_text("utf-8"))["nodes"]
    return FakeModel(lambda request: said[request.node_id][0])


def filtered(way: int, rows: list[bytearray], step: int) -> bytes:
    """Rows as a PNG file has them that was written with this filter."""
    raw = bytearray()
    for y, row in enumerate(rows):
        above = rows[y - 1] if y else bytearray(len(row))
        raw.append(way)
        for x, value in enumerate(row):
            a, b = row[x - step] if x >= step else 0, above[x]
            c = above[x - step] if x >= step else 0
            guess = a + b - c
            nearest = min((a, b, c), key=lambda each: abs(guess - each))
            raw.append((value - (0, a, b, (a + b) // 2, nearest)[way]) & 255)
    return bytes(raw)


@pytest.mark.parametrize("way", range(5))
@pytest.mark.parametrize("kind", [0, 2, 4, 6])
def test_photos_of_other_programs_are_read_too(way: int, kind: int) -> None:
    step = png.CHANNELS[kind]
    rows = [bytearray((x * 7 + y * 31 + x * y) & 255 for x in range(9 * step)) for y in range(6)]
    packed = zlib.compress(filtered(way, rows, step))
    head = png.pack(9, 6, kind, rows)
    middle = len(packed).to_bytes(4, "big") + b"IDAT" + packed + b"\0" * 4
    assert png.unpack(head[:33] + middle) == (9, 6, kind, rows)
    assert png.unpack(head) == (9, 6, kind, rows)
    assert png.unpack(frames.framed(head, {"x": -2, "y": 1, "width": 99, "height": 99}))[:3] == (9, 6, kind)


@pytest.mark.parametrize(
    "data", [b"", b"GIF89a", png.SIGNATURE, PHOTO.read_bytes()[:60], PHOTO.read_bytes().replace(b"IDAT", b"IDOT")]
)
def test_what_is_no_photo_fails_the_node(data: bytes) -> None:
    document = EXAMPLES / "invoice" / "invoice.json"
    photo = Asset(data) if data.startswith(b"\x89") else None
    with pytest.raises(ValueError, match="PNG"):
        frames.framed(data, BOX)
    if photo is not None:
        result = run_workflow(document, nodes=[frames.frame], inputs={"photo": photo}, model=model_of("invoice"))
        assert result.error is not None
        assert (result.error.code, result.media) == ("photo_unusable", [])


def test_the_files_are_what_their_scripts_make() -> None:
    assert png.unpack(PHOTO.read_bytes()) == png.unpack(photos.photo())
    with wave.open(str(NOTE)) as note:
        assert (note.getframerate(), note.getnframes()) == (notes.RATE, notes.RATE // 2)
        assert note.readframes(notes.RATE) == notes.hum()
    letter = LETTER.read_bytes()
    at = int(letter.split(b"startxref\n")[1].split()[0])
    assert letter[at:].startswith(b"xref")
    assert [each["mimeType"] for each in map(Asset, (PHOTO, NOTE, LETTER))] == [
        "image/png",
        "audio/wav",
        "application/pdf",
    ]
