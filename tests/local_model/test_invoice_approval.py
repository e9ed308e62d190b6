"""examples/invoice_approval with OCR and a real model: nothing about the content of the photo is scripted."""

import re
from pathlib import Path

import pytest

from tests.examples.ocr import need_ocr
from tests.examples.pages import EXAMPLES, ROOT
from tests.live import start_host, weftwork
from tests.local_model.weights import WEIGHTS, has_weights

need_ocr()

FOLDER = EXAMPLES / "invoice_approval"
INVOICE = '{"vendor": "Brightwater Joinery", "total": 384.5, "currency": "EUR"}'


def test_a_person_corrects_what_the_model_found_in_the_text_of_a_photo(tmp_path: Path) -> None:
    if not has_weights():
        pytest.fail("the weights are missing; run make test, or the command in tests/local_model/weights.py")
    nodes = ("--nodes", "examples.invoice_approval.read_text", "--nodes", "examples.invoice_approval.mark")
    corrected = tmp_path / "invoice.json"
    corrected.write_text(INVOICE)
    with start_host(tmp_path, "--local-model", WEIGHTS, *nodes, "--workflows", FOLDER, cwd=ROOT) as host:
        to_host = ("--url", host.address, "--key", "key-of-acme", "--follow")
        photo = f"photo={FOLDER / 'photo.jpg'}"
        waiting = weftwork(tmp_path, "run", "invoice-approval", "--media", photo, *to_host, "--no-wait")
        assert waiting.returncode == 4, waiting.stdout + waiting.stderr
        (run,) = re.findall(r"answer with: weftwork answer (\w+)/approve", waiting.stderr)
        (question,) = host.call("GET", f"/v1/runs/{run}/interrupts").document["interrupts"]
        found = question["data"]["artifactData"]
        assert found.keys() == {"vendor", "total", "currency"}
        assert isinstance(found["total"], int | float)
        assert 1 <= len(found["vendor"]) <= 60
        assert found["currency"] in {"CHF", "EUR", "GBP", "USD"}

        answer = ("answer", run, "--action", "edit-accept", "--data", corrected)
        assert weftwork(tmp_path, *answer, *to_host).returncode == 0
        log = host.log(run)
        assert log[-1]["payload"]["outputs"]["mark"]["found"] == ["vendor", "total", "currency"]
        (usage,) = [event["payload"] for event in log if event["type"] == "provider.usage"]
        assert usage["provider"] == "local"
