"""Forms of models in the terminal, with a host of our own."""

import json
from typing import Any

from tests.cli.answer.test_answer_host import sit_down
from tests.cli.answer.test_answer_terminal import talk
from tests.cli.foreign_host import run_on
from tests.harness.definitions import node, variable
from tests.live import Host, until
from tests.live.fixtures import host_fixture
from tests.live.steering import await_status, payloads
from tests.live.workflows import chain
from weftwork.protocol.envelopes.kinds import CLARIFICATION_KIND, SURFACE_KIND

SEAM = "/v1/host/sample/test/mock-ai/program"
FORM: dict[str, Any] = {
    "catalogVersion": "0.9.1",
    "reasoning": "Nobody is shown this.",
    "surface": {
        "title": "A \x1b[2Jtrip",
        "components": [
            {"component": "heading", "text": "Your trip", "level": 1},
            {"component": "field.text", "id": "who", "label": "Who comes?", "required": True},
            {"component": "field.date", "id": "when", "label": "Which day?"},
            {"component": "field.checkbox", "id": "news", "label": "Newsletter"},
            {"component": "action.button", "id": "book", "label": "Book it", "action": {"target": "resume"}},
            {"component": "action.button", "id": "talk", "label": "Talk", "action": {"target": "exchange"}},
        ],
    },
}
QUESTION = {"questions": [{"id": "who", "question": "Who?"}, {"id": "count", "question": "How many?"}]}
CONFIG = {"userMessage": "A trip: {{inputs.text}}", "envelopeType": SURFACE_KIND}
PAY: dict[str, Any] = {
    "title": "Invoice of {{variables.text}}",
    "components": [
        {"component": "field.text", "id": "comment", "label": "Why?"},
        {"component": "action.button", "id": "accept", "label": "Pay it", "action": {"target": "resume"}},
        {"component": "action.button", "id": "reject", "label": "Do not", "action": {"target": "resume"}},
    ],
}
GATE = {"title": "Pay?", "surface": PAY}
FLOWS = [
    chain("gate", [node("gate", "core.approvalGate", config=GATE)], variables=[variable("text")]),
    chain("trip", [node("trip", "core.ai.generateEnvelope", config=CONFIG)], variables=[variable("text")]),
    chain("ask", [node("ask", "core.ai.callPrompt", config={"prompt": "Well?"})]),
]
host = host_fixture("--test-seams", workflows=FLOWS)


def waiting(host: Host, workflow_id: str, *contents: Any, trust: str = "trusted") -> str:
    """A run whose node has the name of its workflow, and whose model answers with these documents."""
    program = [{"content": json.dumps(each)} for each in contents]
    assert host.call("POST", SEAM, {"nodeId": workflow_id, "program": program}).status == 200
    run_id = host.create(workflow_id, inputs={"text": "now"}, configurable={"trustBoundary": trust})
    await_status(host, run_id, "waiting-input")
    return run_id


def answered(host: Host, run_id: str) -> Any:
    until(lambda: payloads(host, run_id, "interrupt.resolved"), "an answer")
    (resolved,) = payloads(host, run_id, "interrupt.resolved")
    return resolved["resumeValue"]


def test_a_person_fills_in_the_form_of_a_model(host: Host) -> None:
    run_id = waiting(host, "trip", {"type": SURFACE_KIND, "payload": FORM}, trust="untrusted")
    (row,) = run_on(host, "inbox", "--run", run_id).stdout.splitlines()[1:]
    assert "A \\u{1b}[2Jtrip  untrusted" in row
    terminal = sit_down(host, run_id)
    terminal.until("│ # Your trip\r\n│\r\n│ Who comes? (required)\r\n│   > ")
    assert "╭─ Form written by node trip of workflow trip\r\n│ UNTRUSTED: " in terminal.shown
    assert "│ A ⟦U+001B⟧[2Jtrip\r\n" in terminal.shown
    assert "Nobody is shown this" not in terminal.shown
    code = talk(
        terminal,
        ("> ", "Ada\n"),
        ("optional > ", "2026-02-03\n"),
        ("default: n > ", "y\n"),
        ("[y/N] > ", "y\n"),
    )
    assert code == 0


def test_options_press_a_button_of_the_host(host: Host) -> None:
    run_id = waiting(host, "trip", {"type": SURFACE_KIND, "payload": FORM})
    shown = run_on(host, "answer", run_id, "--show").stdout
    assert "│   --action book\n" in shown
    assert "This button belongs to a conversation" in shown
    assert run_on(host, "answer", run_id, "--action", "talk", "--set", "who=x", code=2).stderr
    done = run_on(host, "answer", run_id, "--action", "book", "--set", "who=Ada")
    assert done.stdout.startswith(f"{run_id}/trip: answer recorded; the run is ")
    assert answered(host, run_id) == {"who": "Ada", "news": False, "action": "book"}
    again = run_on(host, "answer", run_id, "--action", "book", "--set", "who=Ada", code=7)
    assert "has no open interrupt" in again.stderr


def test_a_form_of_a_clarification_answers_it(host: Host) -> None:
    fields = [{"component": "field.text", "id": each, "label": each.title()} for each in ("who", "count")]
    button = {**FORM["surface"]["components"][4], "id": "send"}
    form = {"catalogVersion": "0.9.1", "surface": {"components": [*fields, button]}}
    documents = [{"type": SURFACE_KIND, "payload": form}, {"type": CLARIFICATION_KIND, "payload": QUESTION}]
    run_id = waiting(host, "ask", documents, "done")
    terminal = sit_down(host, run_id, "--yes")
    assert talk(terminal, ("│ Who\r\n│   optional > ", "Ada\n"), ("│ Count\r\n│   optional > ", "3\n")) == 0
    assert answered(host, run_id) == {"answers": {"who": "Ada", "count": "3"}}


def at_gate(host: Host, trust: str) -> str:
    run_id = host.create("gate", inputs={"text": "Acme"}, configurable={"trustBoundary": trust})
    await_status(host, run_id, "waiting-approval")
    return run_id


def test_a_form_of_an_approval_decides_it(host: Host) -> None:
    run_id = at_gate(host, "trusted")
    terminal = sit_down(host, run_id, "--yes")
    terminal.until("│ Why?")
    assert "│ Invoice of Acme\r\n" in terminal.shown
    code = talk(terminal, ("│   optional > ", "fine\n"), ("│   button > ", "1\n"))
    assert code == 0
    (received,) = payloads(host, run_id, "approval.received")
    assert (received["action"], received["comment"]) == ("accept", "fine")


def test_an_untrusted_form_explains_itself_and_the_approval_decides(host: Host) -> None:
    run_id = at_gate(host, "untrusted")
    refused = run_on(host, "answer", run_id, "--action", "accept", "--set", "comment=x", code=2).stderr
    assert "content from an untrusted source" in refused
    assert "Answer the interrupt itself: an approval with --approve" in refused
    terminal = sit_down(host, run_id, "--yes")
    terminal.until("2) reject")
    assert "│ This form contains content from an untrusted source, so it cannot answer an approval." in terminal.shown
    assert "Choose an action of the approval itself:" in terminal.shown
    assert talk(terminal, ("> ", "reject\n"), ("(optional) > ", "\n")) == 0
    (received,) = payloads(host, run_id, "approval.received")
    assert received["action"] == "reject"
