"""Media in debug bundles over HTTP: a URL in place of the bytes, wherever a run has them."""

import base64
import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests import live
from tests.harness.definitions import node, variable
from tests.live import assets, weftwork
from tests.live.workflows import chain, write_workflows
from weftwork.protocol.json import schema
from weftwork.protocol.media.asset_references import media_ref

PLACES = (
    "streamed", "named", "typed", "envelope", "structured", "url", "bare", "lines", "part", "payload", "tiny",
    "wav", "config", "question", "answer", "note",
)  # fmt: skip
HEADS = {"wav": b"RIFF\x24\x00\x00\x00WAVEfmt ", "part": b"%PDF-1.4\n", "tiny": b"\x89PNG\r\n\x1a\n"}


def sample(place: str) -> bytes:
    """Media of its own for each place where a run can have some."""
    length = 4 if place == "tiny" else 300
    return HEADS.get(place, b"\x89PNG\r\n\x1a\n") + random.Random(place).randbytes(length)


def text_of(place: str) -> str:
    return base64.b64encode(sample(place)).decode()


def payload(place: str) -> dict[str, Any]:
    return {"base64": text_of(place), "bytes": len(sample(place)), "mimeType": "image/png", "alt": "a dot"}


def data_url(place: str) -> str:
    return f"data:image/png;base64,{text_of(place)}"


HALF = len(text_of("streamed")) // 2
SCRIPT = {
    "nodes": {
        "chat": [
            {
                "chunks": [
                    "See data:image/png;ba",
                    f"se64,{text_of('streamed')[:HALF]}",
                    text_of("streamed")[HALF:],
                    " !",
                ]
            }
        ],
        "json": [f"Here you are:\n```json\n{json.dumps({'image': payload('named'), 'raw': text_of('typed')})}\n```"],
        "envelope": [{"mode": "envelope", "envelope": {"type": "media.image", "payload": payload("envelope")}}],
        "object": [json.dumps({"picture": payload("structured")})],
    }
}
INPUTS = {
    "photo": data_url("url"),
    "scan": text_of("bare"),
    "mail": "Hello,\n" + base64.encodebytes(sample("lines")).decode() + "Regards",
    "parts": [{"type": "document", "mimeType": "application/pdf", "data": text_of("part")}],
    "upload": payload("payload"),
    "dot": {"mimeType": "image/png", "dataBase64": text_of("tiny")},
    "sound": {"nested": [{"deep": f"it is {text_of('wav')}"}]},
}
QUESTION = {"id": "q", "question": f"Is this a dot: {data_url('question')}?"}
KINDS = {str: "string", list: "array", dict: "object"}
PORTS = {name: {"type": "variable", "variableName": name} for name in INPUTS}
EVERYWHERE = chain(
    "everywhere",
    [
        node("chat", "core.ai.callPrompt", config={"prompt": "x"}),
        node("json", "core.ai.callPrompt", config={"prompt": "x"}),
        node("envelope", "core.ai.generateEnvelope", config={"envelopeType": "media.image", "userMessage": "x"}),
        node("object", "core.ai.structuredOutput", config={"prompt": "x", "outputSchema": {"type": "object"}}),
        node("echo", "core.identity", inputs=PORTS),
        node("log", "core.log", config={"message": "got {{variables.photo}} and {{variables.scan}}"}),
        node("keep", "core.artifact.emit", config={"artifactType": "x", "data": {"image": data_url("config")}}),
        node("ask", "core.clarificationGate", config={"questions": [QUESTION]}),
    ],
    variables=[variable(name, KINDS[type(value)]) for name, value in INPUTS.items()],
)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("media")
    (folder / "script.json").write_text(json.dumps(SCRIPT))
    files = write_workflows(folder / "workflows", EVERYWHERE)
    with live.start_host(
        folder, "--workflows", files, "--model-script", folder / "script.json", "--test-seams", store="memory"
    ) as running:
        yield running


def settled(status: str) -> str | None:
    return None if status in ("pending", "running") else status


@pytest.fixture(scope="module")
def run_id(host: live.Host) -> str:
    made = host.create("everywhere", inputs=INPUTS)
    assert live.until(lambda: settled(host.snapshot(made)["status"]), "the run to wait").startswith("waiting")
    answer = {"resumeValue": {"answers": {"q": data_url("answer")}}}
    assert host.call("POST", f"/v1/runs/{made}/interrupts/ask", answer).status == 200
    assert host.log(made)[-1]["type"] == "run.completed"
    note = {"signal": {"kind": "flag"}, "note": f"look at {data_url('note')}"}
    assert host.call("POST", f"/v1/runs/{made}/annotations", note).status == 201
    return made


def leaks(body: bytes) -> list[str]:
    """The places whose media are in a text, whole or in part."""
    text = body.decode()
    found: list[str] = []
    for place in PLACES:
        encoded = text_of(place)
        if any(encoded[at : at + 16] in text for at in range(0, len(encoded) - 15, 8)):
            found.append(place)
    return found


@pytest.mark.rule("bundle-08")
def test_no_bytes_of_media_are_anywhere_in_a_bundle(host: live.Host, run_id: str) -> None:
    log = json.dumps([host.log(run_id), host.snapshot(run_id)]).encode()
    assert set(leaks(log)) >= set(PLACES) - {"note", "streamed", "lines"}, "the log has them"
    answer = host.call("GET", f"/v1/runs/{run_id}/debug-bundle")
    assert (leaks(answer.body), schema.check("debug-bundle", answer.document)) == ([], [])
    exported = host.call("POST", "/v1/host/sample/test/debug-bundle/export", {"runId": run_id})
    assert leaks(exported.body) == []
    assert [event["sequence"] for event in answer.document["events"]] == list(range(len(host.log(run_id))))


@pytest.mark.rule("bundle-08")
def test_media_are_named_by_urls_that_open_or_by_their_digests(host: live.Host, run_id: str) -> None:
    document = host.call("GET", f"/v1/runs/{run_id}/debug-bundle").document
    events = {event.get("nodeId"): [] for event in document["events"]}
    for event in document["events"]:
        events[event.get("nodeId")].append(event)
    (shown,) = [each["payload"] for each in events["envelope"] if each["type"] == "media.image"]
    opened = assets.fetch(host, shown["url"])
    assert (opened.status, opened.body) == (200, sample("envelope"))
    # The record of the answer has the same bytes, and so the same asset.
    (answered,) = [each["payload"] for each in events["envelope"] if each["type"] == "weftwork.model.answered"]
    assert "/assets/v1." in answered["text"]
    whole = json.dumps(document)
    for place in PLACES:
        ref = media_ref(hashlib.sha256(sample(place)).hexdigest())
        assert place == "envelope" or ref in whole, place
    chunks = [each["payload"]["chunk"] for each in events["chat"] if each["type"] == "output.chunk"]
    assert "".join(chunks) == "See data:image/png;base64, !"
    assert document["run"]["inputs"]["mail"].startswith("Hello,\nweftwork-asset:")
    assert document["run"]["inputs"]["mail"].endswith("\nRegards")


@pytest.mark.rule("bundle-08")
def test_a_saved_bundle_shows_its_media_without_bytes(host: live.Host, run_id: str, tmp_path: Path) -> None:
    env = {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": live.KEY}
    assert weftwork(tmp_path, "bundle", run_id, "-o", "b.json", env=env).returncode == 0
    shown = weftwork(tmp_path, "bundle", "open", "b.json", "--all")
    assert (leaks(shown.stdout.encode()), shown.stderr) == ([], "")
    assert "/assets/v1." in shown.stdout
    assert media_ref(hashlib.sha256(sample("note")).hexdigest()) in shown.stdout
