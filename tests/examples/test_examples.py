"""Every example is short, runs by the two commands that its page shows, and its media are what the scripts make."""

import asyncio
import os
import re
import shlex
import subprocess
import sys
import tomllib
import wave
import zlib
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.docs.shell import need_curl
from tests.examples.pages import EXAMPLES, PAGE, ROOT, client, served, without
from tests.harness.cases import each_case
from tests.live import start_host, until, weftwork
from weftwork.testing import Asset, Crash, FakeModel, RunResult, crash_everywhere, run_workflow

MOST_LINES = 60
PAIRS = re.findall(r"```sh\n(.*)\n(.*)\n```", PAGE)
TALKS = re.findall(r"```sh\n(weftwork serve .*)\n```\n\n```sh\n((?:.+\n){3,})```", PAGE)
"""The command that starts a host, and those that a person gives in another terminal."""
FILES = [path for path in sorted(EXAMPLES.rglob("*")) if path.suffix in (".json", ".py", ".toml")]

SAID = {
    "fan-out": '"total":{"output":100}',
    "retry": '"output":"answered in attempt 4"',
    "loop": '"result":{"spent":18,"rounds":6}',
    "article": '"result":{"text":"Did you know that bats see in the dark?","decisions":3}',
    "first": '"result":{"answer":"Is it open? The near one says yes."}',
    "room": '"output":"too warm"',
    "order": '"offer":{"output":"12 chairs for 384"}',
    "parcels": '"results":["1: Ada","2: Bob","3: Eve","4: Kim"]',
    "summary": '"text":"The new lamp is broken."',
    "extract": '"order":{"output":"2 x chair"}',
    "invoice": '"pay":{"output":"384 to Chair and Co"}',
    "voice-note": '"remind":{"output":"Monday: Call the joiner about the door"}',
}
"""What the last event of each run holds, with the inputs of the page."""

ANSWERED = {
    "approval": {"paid": {"output": "a lamp is paid: 80"}},
    "quorum": {"release": {"output": "v2.4 is out: quorum:2-of-2"}},
    "form": {"book": {"output": "A table for 4 in Basel, Monday"}},
    "event": {"ship": {"output": "o-7 is shipped, 12 is paid"}},
    "clarify": {"confirm": {"output": "A table for 4, Monday"}},
    "complaint": {"ticket": {"title": "Lamp does not work", "urgent": True}},
    "pdf-summary": {
        "tell": {
            "output": "The rent rises by 20 from May on; the landlord wants an answer by the end of March. (83 bytes)"
        }
    },
}
"""The outputs of runs that people answer, or give something to, as the page shows it."""


def node(name: str, folder: str, module: str) -> Any:
    sys.path.insert(0, str(EXAMPLES / folder))
    try:
        return getattr(__import__(module), name)
    finally:
        sys.path.pop(0)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(EXAMPLES).as_posix())
def test_an_example_is_short(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) < MOST_LINES


def test_every_example_is_on_the_page() -> None:
    assert {client(line)[1] for _, line in PAIRS} == {*SAID, "step"}
    assert {workflow_of(lines) for _, lines in TALKS} == {*ANSWERED}
    for folder in (path for path in EXAMPLES.iterdir() if path.is_dir() and path.name != "__pycache__"):
        assert f"]({folder.name}" in PAGE, folder


@pytest.mark.slow
@pytest.mark.parametrize(("serve", "run"), PAIRS, ids=[client(line)[1] for _, line in PAIRS])
def test_the_two_commands_of_the_page(serve: str, run: str, tmp_path: Path) -> None:
    name = client(run)[1]
    if name == "step":
        crash(serve, run, tmp_path)
        return
    with served(serve, tmp_path) as host:
        ended = weftwork(
            ROOT, *client(run), "--url", host.address, "--json", env={"XDG_DATA_HOME": str(tmp_path / "xdg")}
        )
        assert ended.returncode == 0, ended.stderr
        assert SAID[name] in ended.stdout.splitlines()[-2]


def workflow_of(lines: str) -> str:
    (found,) = re.findall(r"weftwork run (\S+)", lines)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("serve", "lines"), TALKS, ids=[workflow_of(lines) for _, lines in TALKS])
def test_a_person_answers_as_the_page_says(serve: str, lines: str, tmp_path: Path) -> None:
    need_curl()
    name = workflow_of(lines)
    with served(serve, tmp_path) as host:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        env = {**os.environ, "PATH": path, "HOME": str(tmp_path), "WEFTWORK_URL": host.address}
        script = ["bash", "-euo", "pipefail", "-c", lines]
        ended = subprocess.run(script, env=env, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
        assert ended.returncode == 0, ended.stderr
        (run,) = host.call("GET", "/v1/runs", key="demo").document["runs"]
        if name == "approval":
            link = urlsplit(ended.stdout.strip())
            assert run["status"] == "waiting-approval"
            assert host.call("POST", link.path, {"resumeValue": {"action": "accept"}}, key=None).status == 200
        assert host.log(run["runId"], key="demo")[-1]["payload"]["outputs"] == ANSWERED[name]


def crash(serve: str, run: str, tmp_path: Path) -> None:
    """What the page tells of the step: the host is killed, and starts again."""
    counts = tmp_path / "host" / "example-counts"
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "examples").symlink_to(EXAMPLES)
    options = without(shlex.split(serve)[2:], "--data")
    with start_host(tmp_path / "host", *options, cwd=tmp_path / "host") as host:
        # Without --follow the command ends at once, and the run goes on.
        started = weftwork(tmp_path, *client(run)[:-1], "--url", host.address)
        assert started.returncode == 0, started.stderr
        run_id = started.stdout.strip()
        recorded = f"/v1/runs/{run_id}/events/poll?timeout=1"
        until(lambda: b"effect.recorded" in host.call("GET", recorded, key="demo").body, "the step")
        host.kill()
    with start_host(tmp_path / "host", *options, cwd=tmp_path / "host") as host:
        events = host.log(run_id, key="demo")
        assert events[-1]["payload"]["outputs"] == {"count": {"outside": 2, "inside": 1}}
        host.stop()
    assert {path.name: path.stat().st_size for path in counts.iterdir()} == {"outside": 2, "inside": 1}


def test_the_step_counts_once_wherever_the_host_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = node("counter", "step", "counter")
    monkeypatch.chdir(tmp_path)
    sizes: list[tuple[int, int]] = []
    for number, result in enumerate(crash_everywhere(EXAMPLES / "step" / "step.json", nodes=[counter])):
        assert result.status == "completed"
        counts = tmp_path / "example-counts"
        sizes.append(((counts / "outside").stat().st_size, (counts / "inside").stat().st_size))
        counts.rename(tmp_path / f"counts-{number}")
    assert {inside for _, inside in sizes} == {1}
    assert max(outside for outside, _ in sizes) > 1


def test_the_answers_of_the_examples_without_a_host() -> None:
    answers: dict[str, Any] = {
        "approval": {"action": "accept"},
        "form": {"answers": {"day": "Monday", "people": 4, "lunch": True}},
        "event": {"orderId": "o-7", "status": "paid", "amount": 12},
    }
    inputs: dict[str, Any] = {
        "approval": {"amount": 80, "purpose": "a lamp"},
        "form": {"city": "Basel"},
        "event": {"orderId": "o-7"},
    }
    for name, answer in answers.items():
        path = EXAMPLES / name / f"{name}.json"
        node_id = {"approval": "gate", "form": "ask", "event": "wait"}[name]
        assert run_workflow(path, inputs=inputs[name], answers={node_id: answer}).outputs == ANSWERED[name]
    rejected = run_workflow(EXAMPLES / "approval" / "approval.json", answers={"gate": {"action": "reject"}})
    assert rejected.outputs == {"kept": {"output": "a chair is not paid"}}


def test_the_examples_without_a_host() -> None:
    fan_out = run_workflow(EXAMPLES / "fan_out" / "fan-out.json")
    assert (fan_out.outputs, fan_out.elapsed_ms) == ({"total": {"output": 140.0}}, 300)
    loop = run_workflow(EXAMPLES / "loop" / "loop.json", inputs={"budget": 1000})
    assert loop.outputs["result"]["rounds"] == 10
    flaky = node("flaky", "retry", "flaky")
    path = EXAMPLES / "retry" / "retry.json"
    tried = run_workflow(path, nodes=[flaky], faults=[Crash(event="node.retried", written=True)])
    assert (tried.status, tried.nodes["call"].attempts) == ("completed", 3)
    failed = run_workflow(path, nodes=[flaky], inputs={"failures": 9})
    assert failed.error is not None
    assert (failed.error.code, failed.nodes["call"].attempts) == ("busy", 5)


@pytest.mark.slow
def test_the_tests_of_the_package_pass() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "error"]
    ended = subprocess.run(command, cwd=EXAMPLES / "package", capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stdout
    assert "5 passed" in ended.stdout


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


@each_case(
    "folder, variable, file, modality",
    ("invoice", "photo", PHOTO, "image"),
    ("voice_note", "note", NOTE, "audio"),
    ("pdf_summary", "letter", LETTER, "document"),
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


@each_case("data", b"", b"GIF89a", png.SIGNATURE, PHOTO.read_bytes()[:60], PHOTO.read_bytes().replace(b"IDAT", b"IDOT"))
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
