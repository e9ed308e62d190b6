"""The example in which a model writes a form: by the commands of its page, and with models that make mistakes."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.examples.pages import EXAMPLES, ROOT, client, served
from tests.harness.cases import each_case
from tests.live import weftwork
from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.surfaces.stored import check_stored
from weftwork.testing import FakeModel, RunResult, run_workflow

FOLDER = EXAMPLES / "missing_facts"
DOCUMENT = FOLDER / "missing-facts.json"
INVOICE = (FOLDER / "invoice.txt").read_text("utf-8")
PAGE = (FOLDER / "README.md").read_text("utf-8")
SERVE, RUN, SHOW, ANSWER, _, OWN = re.findall(r"^((?:weftwork|WEFT|MODEL).*)$", PAGE, re.MULTILINE)
ANSWERS: dict[str, list[str]] = tomllib.loads((FOLDER / "script.toml").read_text("utf-8"))["nodes"]
FORM = json.loads(ANSWERS["ask"][0])["payload"]
PAYMENT = json.loads(ANSWERS["complete"][0])
REPLY = {"action": "save", "currency": "EUR", "dueDate": "2026-04-02", "costCentre": "4100 Furniture"}


def start(line: str, address: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the page with the script run.sh, at the root of the repository."""
    *assigned, shell, script = [word for word in shlex.split(line) if not word.startswith("--")]
    assert shell == "sh"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    given = dict(each.split("=", 1) for each in assigned)
    environment = {**os.environ, "PATH": path, "WEFTWORK_URL": address, **given}
    command = [shell, script, "--follow", "--no-wait"]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)


def waiting_run(started: subprocess.CompletedProcess[str]) -> str:
    assert started.returncode == 4, started.stderr
    return re.findall(r"answer with: weftwork answer (\w+)/ask", started.stderr)[0]


@pytest.mark.slow
def test_the_commands_of_the_page_lead_from_the_invoice_to_a_payment(tmp_path: Path) -> None:
    with served(SERVE, tmp_path) as host:
        run_id = waiting_run(start(RUN, host.address))
        (question,) = host.call("GET", f"/v1/runs/{run_id}/interrupts", key="demo").document["interrupts"]
        assert question["surface"]["contentTrust"] == "untrusted"
        assert question["surface"]["payload"]["surface"] == FORM["surface"]
        shown = weftwork(ROOT, *client(SHOW.replace("RUN", run_id)), "--url", host.address)
        assert "Until when is it to be paid?" in shown.stdout
        assert FORM["reasoning"] not in shown.stdout
        answered = weftwork(ROOT, *client(ANSWER.replace("RUN", run_id)), "--url", host.address)
        assert answered.returncode == 0, answered.stderr
        log = host.log(run_id, key="demo")
        assert log[-1]["payload"]["outputs"]["complete"]["data"] == PAYMENT
        (resolved,) = [each["payload"] for each in log if each["type"] == "interrupt.resolved"]
        assert resolved["resumeValue"] == REPLY
        own = waiting_run(start(OWN.replace("ollama/qwen3:8b", "scripted/some/model"), host.address))
        usage = host.call("GET", f"/v1/runs/{own}/events/poll?lastSequence=-1", key="demo").document["events"]
        assert [each["payload"]["model"] for each in usage if each["type"] == "provider.usage"] == ["some/model"]


def ran(*answers: str) -> tuple[RunResult, FakeModel]:
    """A run whose model says these things, one after another."""
    said = iter(answers)
    model = FakeModel(lambda request: next(said))
    return run_workflow(DOCUMENT, inputs={"invoice": INVOICE}, model=model, answers={"ask": REPLY}), model


def changed(path: str, value: Any) -> str:
    """The recorded form with another value at a place."""
    payload = json.loads(json.dumps(FORM))
    place = payload["surface"]["components"]
    *steps, last = path.split("/")
    for step in steps:
        place = place[int(step)]
    place[int(last) if last.isdigit() else last] = value
    return json.dumps({"type": SURFACE_KIND, "payload": payload})


MISTAKES = (
    changed("1/component", "field.money"),
    changed("1/id", "action"),
    changed("2/id", "currency"),
    changed("4/action", {"target": "https://example.com"}),
    changed("4/action", {"target": "exchange"}),
    changed("1/options", []),
    changed("0/html", "<b>Pay</b>"),
    json.dumps({"type": SURFACE_KIND, "payload": {**FORM, "catalogVersion": "2.0"}}),
    "Here is the form: name, date, button.",
)


@each_case("mistake", *MISTAKES)
def test_a_form_with_a_mistake_is_corrected_and_never_shown(mistake: str) -> None:
    result, model = ran(mistake, ANSWERS["ask"][0], ANSWERS["complete"][0])
    assert result.outputs["complete"]["data"] == PAYMENT
    assert [each.payload for each in result.events if each.type == SURFACE_KIND] == [FORM]
    assert "Correct" in model.requests[1].system or "JSON" in model.requests[1].system


def test_a_model_that_writes_no_form_fails_the_node() -> None:
    result, _ = ran(*[MISTAKES[0]] * 8)
    assert result.error is not None
    assert result.error.code == "envelope_invalid"
    assert not [each for each in result.events if each.type in (SURFACE_KIND, "interrupt.requested")]


def test_the_second_model_call_gets_the_answer_of_the_person() -> None:
    _, model = ran(ANSWERS["ask"][0], ANSWERS["complete"][0])
    prompt = model.requests[-1].messages[-1].text
    assert "4100 Furniture" in prompt
    assert "2026-04-02" in prompt
    assert FORM["surface"]["components"][1]["label"] in prompt


def test_the_recorded_form_is_one_and_its_payment_matches() -> None:
    surface = check_stored(FORM).surface
    assert surface is not None
    assert {each.id for each in surface.fields} | {"action"} == REPLY.keys()
    assert PAYMENT.items() >= {name: value for name, value in REPLY.items() if name != "action"}.items()
