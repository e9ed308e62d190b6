"""The example that reads a photo with OCR: on a host by the commands of its page, and its nodes without one."""

import io
import json
import re
import shlex
import tomllib
import urllib.request
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.examples.ocr import need_ocr
from tests.examples.pages import EXAMPLES, ROOT, client, served
from tests.harness.cases import each_case, fails_without
from tests.live import weftwork
from weftwork import NodeError
from weftwork.testing import Asset, FakeModel, RunResult, crash_everywhere, run_workflow

need_ocr()

numpy: Any = import_module("numpy")
pillow: Any = import_module("PIL.Image")
photos: Any = import_module("examples.invoice_approval.photos")
reader: Any = import_module("examples.invoice_approval.read_text")
marker: Any = import_module("examples.invoice_approval.mark")
generator: Any = import_module("examples.invoice_approval.make_photo")

FOLDER = EXAMPLES / "invoice_approval"
PHOTO = FOLDER / "photo.jpg"
DOCUMENT = FOLDER / "invoice-approval.json"
PAGE = (FOLDER / "README.md").read_text("utf-8")
SERVE, RUN, APPROVE, CORRECT = re.findall(r"^(weftwork .*|echo .*)$", PAGE, re.MULTILINE)
INVOICE = {"vendor": "Brightwater Joinery", "total": 384.5, "currency": "EUR"}
WRONG = '{"vendor": "Brightwater Joinery", "total": 384.5, "currency": "USD"}'
LINES = (
    ("Brightwater Joinery", (90, 86, 403, 136)),
    ("384.50", (551, 409, 668, 448)),
    ("Total EUR", (99, 419, 258, 460)),
)
"""Some lines of the photo, with boxes."""
UNTRUSTED = (
    ("node.completed", "read"),
    ("node.completed", "extract"),
    ("interrupt.requested", "approve"),
    ("media.image", "mark"),
)
"""Events with content from the photo."""


def event_of(log: list[dict[str, Any]], event_type: str, node_id: str) -> dict[str, Any]:
    """The only event of this type and node."""
    (found,) = [event for event in log if event["type"] == event_type and event.get("nodeId") == node_id]
    return found


def is_marked(before: Any, after: Any, box: tuple[int, int, int, int]) -> bool:
    """Whether the four sides of a box became green, and a place next to it did not. JPEG blurs lines a little."""
    left, top, right, bottom = box
    x, y = (left + right) // 2, (top + bottom) // 2
    sides = [(left + 1, y), (right - 1, y), (x, top + 1), (x, bottom - 1)]

    def is_green(place: tuple[int, int]) -> bool:
        red, green, blue = after.getpixel(place)
        return green > red + 40 and green > blue + 20 and before.getpixel(place) != after.getpixel(place)

    return all(map(is_green, sides)) and not is_green((left - 12, y))


@pytest.mark.slow
def test_the_commands_of_the_page_lead_from_the_photo_to_a_marked_picture(tmp_path: Path) -> None:
    with served(SERVE, tmp_path) as host:
        waiting = weftwork(ROOT, *client(RUN), "--url", host.address)
        assert waiting.returncode == 4, waiting.stderr
        run_id, _ = waiting.stderr.split("answer with: weftwork answer ", 1)[1].split()[0].split("/")
        (question,) = host.call("GET", f"/v1/runs/{run_id}/interrupts", key="demo").document["interrupts"]
        assert question["data"]["artifactData"] == INVOICE
        assert "\nTotal EUR 384.50\n" in question["data"]["description"]
        (url,) = re.findall(r"The photo: (\S+)\n", question["data"]["description"])
        assert urllib.request.urlopen(url, timeout=30).read() == PHOTO.read_bytes()

        answered = weftwork(ROOT, *client(APPROVE.replace("RUN", run_id)), "--url", host.address)
        assert answered.returncode == 0, answered.stderr
        log = host.log(run_id, key="demo")
        lines = event_of(log, "node.completed", "read")["payload"]["outputs"]["lines"]
        assert {"Brightwater Joinery", "Harbour Lane 4, Seaford", "384.50"} <= {line["text"] for line in lines}
        assert min(line["confidence"] for line in lines) > 0.9
        for event_type, node_id in UNTRUSTED:
            assert event_of(log, event_type, node_id)["contentTrust"] == "untrusted"
        picture = event_of(log, "media.image", "mark")["payload"]
        assert picture["alt"] == "The invoice of Brightwater Joinery, with boxes around: vendor, total, currency"
        marked = pillow.open(io.BytesIO(urllib.request.urlopen(picture["url"], timeout=30).read()))
        for text, _ in LINES:
            box = next(tuple(line["box"]) for line in lines if line["text"] == text)
            assert is_marked(pillow.open(PHOTO), marked, box), text
        assert '"level":"error"' not in host.errors


def reading(lines: Any = LINES) -> Any:
    """What RapidOCR returns for a photo with these lines."""
    corners = [[[a, b], [c, b], [c, d], [a, d]] for _, (a, b, c, d) in lines]
    return SimpleNamespace(
        txts=tuple(text for text, _ in lines), scores=(0.99,) * len(lines), boxes=numpy.array(corners, dtype="float32")
    )


@pytest.fixture
def known_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that finds these lines in every photo."""
    monkeypatch.setattr(reader, "engine", lambda: lambda image: reading())


def model(answer: str = WRONG) -> FakeModel:
    return FakeModel(lambda request: answer)


def ran(answer: Any, model: FakeModel) -> RunResult:
    nodes = [reader.read_text, marker.mark]
    return run_workflow(DOCUMENT, nodes=nodes, inputs={"photo": Asset(PHOTO)}, model=model, answers={"approve": answer})


@pytest.mark.usefixtures("known_text")
def test_the_model_gets_the_text_of_the_photo_as_untrusted_and_not_the_photo() -> None:
    asked = model()
    ran({"action": "accept"}, asked)
    prompt = asked.requests[0].messages[-1].text
    untrusted = re.search(r"<UNTRUSTED[^>]*>(.*)</UNTRUSTED>", prompt, re.DOTALL)
    assert untrusted is not None
    assert "Brightwater Joinery\nTotal EUR 384.50" in untrusted[1]
    assert not asked.requests[0].messages[-1].media


@pytest.mark.usefixtures("known_text")
def test_the_picture_shows_the_values_that_the_person_corrected() -> None:
    accepted = ran({"action": "accept"}, model())
    assert accepted.outputs["mark"]["found"] == ["vendor", "total"]
    echo, correction, *_ = shlex.split(CORRECT)
    assert echo == "echo"
    corrected = ran({"action": "edit-accept", "editedArtifactData": json.loads(correction)}, model())
    assert corrected.outputs["mark"]["found"] == ["vendor", "total", "currency"]
    shown = [media for media in corrected.media if media.node_id == "mark"]
    assert [media.payload["mimeType"] for media in shown] == ["image/jpeg"]
    marked = pillow.open(io.BytesIO(shown[0].data))
    assert all(is_marked(pillow.open(PHOTO), marked, box) for _, box in LINES)


@pytest.mark.usefixtures("known_text")
def test_a_rejected_invoice_is_not_marked() -> None:
    result = ran({"action": "reject"}, model())
    assert result.error is not None
    assert result.error.code == "interrupt_rejected"
    assert [media.node_id for media in result.media] == ["show"]


@pytest.mark.slow
@pytest.mark.usefixtures("known_text")
def test_the_picture_is_shown_once_wherever_the_host_dies() -> None:
    found = crash_everywhere(
        DOCUMENT,
        nodes=[reader.read_text, marker.mark],
        inputs={"photo": Asset(PHOTO)},
        model=model,
        answers={"approve": {"action": "accept"}},
    )
    counted = [(result.status, {media.node_id for media in result.media}, len(result.media)) for result in found]
    assert len(counted) > 10
    assert all(each == ("completed", {"mark", "show"}, 2) for each in counted)


def test_a_photo_without_text_fails_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "engine", lambda: lambda image: SimpleNamespace(txts=None, scores=None, boxes=None))
    result = ran({"action": "accept"}, model())
    assert result.error is not None
    assert result.error.code == "no_text"


@each_case(
    "text, value, shown",
    ("Total EUR", "EUR", True),
    ("BRIGHTWATER JOINERY LTD", "Brightwater Joinery", True),
    ("Brightwater", "Brightwater Joinery", False),
    ("384.50", 384.5, True),
    ("EUR 1,384.50", 1384.5, True),
    ("1.384,50 EUR", 1384.5, True),
    ("384", 384, True),
    ("384.05", 384.5, False),
    ("1384.50", 384.5, False),
)
def test_a_line_shows_an_amount_in_any_notation(text: str, value: str | float, shown: bool) -> None:
    assert marker.shows(reader.Line(text, 0.9, (0, 0, 9, 9)), value) is shown


def test_lines_at_one_height_are_a_row_from_left_to_right() -> None:
    boxes = {"total": (10, 51, 60, 71), "384": (300, 46, 360, 66), "vendor": (10, 10, 90, 30)}
    lines = [reader.Line(text, 0.9, box) for text, box in boxes.items()]
    rows = [[line.text for line in row] for row in reader.in_rows(lines)]
    assert rows == [["vendor"], ["total", "384"]]


def jpeg(size: tuple[int, int], orientation: int = 1) -> bytes:
    file, exif = io.BytesIO(), pillow.Exif()
    exif[0x0112] = orientation
    pillow.new("RGB", size).save(file, "JPEG", exif=exif)
    return file.getvalue()


def test_a_photo_of_a_turned_camera_is_upright() -> None:
    assert photos.open_photo(jpeg((30, 20))).size == (30, 20)
    assert photos.open_photo(jpeg((30, 20), orientation=6)).size == (20, 30)


@fails_without(photos, "MAX_PIXELS", 2**62)
def test_a_photo_with_too_many_pixels_is_refused_before_it_is_decoded() -> None:
    file = io.BytesIO()
    pillow.new("1", (5_000, 4_001)).save(file, "PNG")
    header = file.getvalue()[:60]
    with pytest.raises(NodeError) as raised:
        photos.open_photo(header)
    assert "more than 20,000,000 pixels" in raised.value.message


@each_case("data", b"", b"GIF89a", PHOTO.read_bytes()[:2_000], b"\x89PNG\r\n\x1a\n")
def test_a_damaged_file_is_refused(data: bytes) -> None:
    with pytest.raises(NodeError) as raised:
        photos.open_photo(data)
    assert raised.value.code == "photo_unusable"


def test_the_photo_is_what_its_script_draws() -> None:
    """JPEG is lossy, and other versions of Pillow may draw letters slightly differently."""
    drawn = numpy.asarray(generator.make_photo(), dtype="int16")
    assert float(abs(drawn - numpy.asarray(pillow.open(PHOTO), dtype="int16")).mean()) < 8


def test_the_script_answers_with_the_values_of_the_invoice() -> None:
    said = tomllib.loads((FOLDER / "script.toml").read_text("utf-8"))["nodes"]["extract"]
    assert [json.loads(each) for each in said] == [INVOICE]
