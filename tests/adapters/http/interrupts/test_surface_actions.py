"""Actions of surfaces over real sockets: whatever a client sends, only the stored surface decides what is answered."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import strategies as st

from tests.engine.sdk.test_surfaces import ANSWER, FORM, NOTE, button, field, payload
from tests.harness.definitions import for_all, node
from tests.live import OTHER_KEY, Answer, Host
from tests.live.host import KEY
from tests.live.steering import await_status, cancel, events, flow, payloads, register
from tests.live.tokens import approval_workflow, created_link, key_with
from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.json import schema
from weftwork.protocol.json.values import is_object

SEAM = "/v1/host/sample/test/mock-ai/program"
CONFIG = {"userMessage": "Well?", "envelopeType": SURFACE_KIND}
WHO = {"who": "Ada"}
CANARY = "sk-canary-" + "4f9a0b7c" * 4
TWO = payload(field(), button("book"), button("sell"))


@pytest.fixture(scope="module")
def forms(host: Host) -> Host:
    register(host, flow("surface-live", [node("form", "core.ai.generateEnvelope", config=CONFIG)]))
    register(host, approval_workflow("surface-gate"))
    return host


def start(host: Host, document: Any = FORM) -> str:
    """A run that waits for the form, or that has shown it if it has no button."""
    content = json.dumps({"type": SURFACE_KIND, "payload": document})
    program = {"nodeId": "form", "program": [{"content": content}]}
    assert host.call("POST", SEAM, program).status == 200
    run_id = host.create("surface-live")
    await_status(host, run_id, "waiting-input" if any_button(document) else "completed")
    return run_id


def any_button(document: Any) -> bool:
    return any(each["component"] == "action.button" for each in document["surface"]["components"])


def surface_id(host: Host, run_id: str) -> str:
    return payloads(host, run_id, "weftwork.envelope.recorded")[0]["envelopeId"]


def path(run_id: str, name: str, action: str | None = None) -> str:
    base = f"/v1/host/weftwork/runs/{run_id}/surfaces/{quote(name, safe='')}"
    return base if action is None else f"{base}/actions/{quote(action, safe='')}"


def press(host: Host, run_id: str, name: str, action: str = "book", values: Any = WHO, **more: Any) -> Answer:
    return host.call("POST", path(run_id, name, action), {"values": values}, **more)


def resolutions(host: Host, run_id: str) -> list[Any]:
    return [each["resumeValue"] for each in payloads(host, run_id, "interrupt.resolved")]


@pytest.mark.rule("surf-25", "auth-03")
def test_another_tenant_finds_nothing(forms: Host) -> None:
    run_id = start(forms)
    name = surface_id(forms, run_id)
    mine = {"run": run_id, "surface": name}
    there = [forms.call("GET", path(run_id, name), key=OTHER_KEY), press(forms, run_id, name, key=OTHER_KEY)]
    nowhere = [
        forms.call("GET", path("01zzzzzzzzzzzzzzzzzzzzzzzz", name), key=OTHER_KEY),
        press(forms, "01zzzzzzzzzzzzzzzzzzzzzzzz", name, key=OTHER_KEY),
    ]
    assert [(each.status, each.body) for each in there] == [(each.status, each.body) for each in nowhere], mine
    assert {each.status for each in there} == {404}
    assert resolutions(forms, run_id) == []


@pytest.mark.rule("auth-01", "surf-25")
def test_a_key_needs_the_scope_to_answer(forms: Host) -> None:
    run_id = start(forms)
    name = surface_id(forms, run_id)
    reader = key_with(forms, "runs:read")
    assert forms.call("GET", path(run_id, name), key=reader).status == 200
    assert press(forms, run_id, name, key=reader).status == 403
    assert press(forms, run_id, name, key=None).status == 401
    assert forms.call("GET", path(run_id, name), key=key_with(forms, "approvals:respond")).status == 403
    assert resolutions(forms, run_id) == []


@pytest.mark.rule("surf-25")
def test_a_button_of_another_surface_and_a_surface_of_another_run_answer_nothing(forms: Host) -> None:
    one, two = start(forms), start(forms, TWO)
    assert press(forms, two, surface_id(forms, one)).status == 404
    assert press(forms, one, surface_id(forms, one), "sell").status == 400
    for forged in ("env-", "env-1", "form.2", "form", "..", "%", "\x00", "é", "x" * 160, surface_id(forms, two) + "x"):
        refused = press(forms, one, forged)
        assert (refused.status, refused.document["error"]) == (404, "interrupt_not_found"), forged
        assert forms.call("GET", path(one, forged)).status == 404
    assert press(forms, one, "x" * 161).status == 404
    assert resolutions(forms, one) == resolutions(forms, two) == []


@pytest.mark.rule("surf-26")
def test_an_action_after_the_end_is_refused_as_an_answer_is(forms: Host) -> None:
    shown = start(forms, NOTE)
    assert press(forms, shown, surface_id(forms, shown)).document["error"] == "interrupt_not_found"
    for end in ("answer", "cancel"):
        run_id = start(forms)
        name = surface_id(forms, run_id)
        if end == "answer":
            assert press(forms, run_id, name).status == 200
            await_status(forms, run_id, "completed")
        else:
            cancel(forms, run_id)
        late = press(forms, run_id, name)
        ordinary = forms.call("POST", f"/v1/runs/{run_id}/interrupts/form", {"resumeValue": ANSWER})
        assert (late.status, late.body) == (ordinary.status, ordinary.body)
        assert (late.status, late.document["error"]) == (409, "interrupt_already_resolved")
        # What is wrong in a late action does not matter, and says nothing about the form.
        assert press(forms, run_id, name, "sell", {}).document["error"] == "interrupt_already_resolved"
        assert len(resolutions(forms, run_id)) == (1 if end == "answer" else 0)


@pytest.mark.rule("surf-26", "int-16")
def test_an_action_after_the_deadline_is_refused(forms: Host) -> None:
    register(forms, approval_workflow("surface-due", timeoutMs=150))
    run_id = forms.create("surface-due")
    await_status(forms, run_id, "failed")
    late = press(forms, run_id, "gate.1", "accept", {})
    assert (late.status, late.document["error"]) == (409, "interrupt_already_resolved")


@pytest.mark.rule("surf-25", "tok-04")
def test_a_link_is_for_one_interrupt_and_its_person(forms: Host) -> None:
    run_id = forms.create("surface-gate")
    await_status(forms, run_id, "waiting-approval")
    token = created_link(forms, run_id, {"for": "ada"}, key=KEY)["token"]
    base = f"/v1/host/weftwork/interrupts/{token}"
    shown = forms.call("GET", f"{base}/surface", key=None)
    assert [each["id"] for each in shown.document["actions"]] == ["accept", "reject"]
    assert token not in "".join(forms.errors)
    pressed = forms.call("POST", f"{base}/actions/accept", {"values": {"comment": "Go."}}, key=None)
    assert pressed.status == 200, pressed.body
    assert resolutions(forms, run_id)[0]["decidedBy"] == "ada"
    late = forms.call("POST", f"{base}/actions/reject", {"values": {}}, key=None)
    assert (late.status, late.document["error"]) == (409, "interrupt_already_resolved")
    for bad in (token[:-2] + "xx", "x" * 60, token.partition(".")[0]):
        for method, rest in (("GET", "surface"), ("POST", "actions/accept")):
            answer = forms.call(method, f"/v1/host/weftwork/interrupts/{bad}/{rest}", {"values": {}}, key=None)
            assert (answer.status, answer.document["error"]) == (404, "interrupt_not_found")


@pytest.mark.rule("surf-25")
def test_of_many_racing_actions_exactly_one_is_the_answer(forms: Host) -> None:
    for _ in range(3):
        run_id = start(forms, TWO)
        name = surface_id(forms, run_id)
        barrier = Barrier(8)

        def race(number: int, run_id: str = run_id, name: str = name, barrier: Barrier = barrier) -> Answer:
            barrier.wait(30)
            return press(forms, run_id, name, ("book", "sell")[number % 2], {"who": f"person {number}"})

        with ThreadPoolExecutor(8) as pool:
            answers = [each.result(60) for each in [pool.submit(race, number) for number in range(8)]]
        assert sorted(each.status for each in answers) == [200, *[409] * 7]
        winner = next(number for number, each in enumerate(answers) if each.status == 200)
        expected = {"action": ("book", "sell")[winner % 2], "who": f"person {winner}"}
        assert resolutions(forms, run_id) == [expected]


@pytest.mark.rule("surf-25", "idem-01")
def test_a_repeated_action_is_one_answer(forms: Host) -> None:
    run_id = start(forms)
    name = surface_id(forms, run_id)
    key = {"Idempotency-Key": "surface-press"}
    answers = [press(forms, run_id, name, headers=key) for _ in range(3)]
    assert [(each.status, each.body) for each in answers] == [(200, answers[0].body)] * 3
    assert press(forms, run_id, name, "book", {"who": "Bob"}, headers=key).document["error"] == (
        "idempotency_key_mismatch"
    )
    assert len(resolutions(forms, run_id)) == 1


def everything_shown(host: Host, run_id: str) -> bytes:
    """All that readers get of a run, except what it gives to its next node."""
    paths = (f"/v1/runs/{run_id}", f"/v1/runs/{run_id}/events", f"/v1/runs/{run_id}/interrupts?status=all")
    paths += (f"/v1/runs/{run_id}/debug-bundle", path(run_id, surface_id(host, run_id)))
    return b"".join(host.call("GET", each).body for each in paths) + host.errors.encode()


@pytest.mark.rule("surf-25")
def test_a_credential_in_a_value_is_masked_everywhere(forms: Host) -> None:
    run_id = start(forms)
    name = surface_id(forms, run_id)
    for action, values in (
        ("book", {"who": ["x", CANARY]}),
        ("sell", {"who": CANARY}),
        ("book", {"who": CANARY * 3_000}),
    ):
        refused = press(forms, run_id, name, action, values)
        assert refused.status == 400
        assert CANARY.encode() not in refused.body
    assert press(forms, run_id, name, "book", {"who": CANARY}).status == 200
    await_status(forms, run_id, "completed")
    assert CANARY.encode() not in everything_shown(forms, run_id)


TEXTS = st.text(max_size=12) | st.sampled_from(
    ["action", "book", "sell", "who", "__proto__", "constructor", "prototype", "openwop.x", "values", "a~1b", "\u202e"]
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
BODIES = st.one_of(
    JSON_VALUES,
    st.fixed_dictionaries({"values": JSON_VALUES}, optional={"action": JSON_VALUES, "resumeValue": JSON_VALUES}),
    st.fixed_dictionaries({"values": st.dictionaries(TEXTS, JSON_VALUES, max_size=3)}),
    st.fixed_dictionaries({"values": st.fixed_dictionaries({"who": TEXTS | JSON_VALUES})}),
)
ACTIONS = st.sampled_from(["book", "sell", "who", "action", "", "a:b", "book/x", "BOOK"]) | st.text(max_size=8)


class MutatedForm:
    """A waiting form, and a new one whenever it was answered."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.answered = 0
        self._open()

    def _open(self) -> None:
        self.run_id = start(self._host, TWO)
        self.name = surface_id(self._host, self.run_id)

    def check(self, action: str, body: Any) -> None:
        sent = json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        answer = self._host.call("POST", path(self.run_id, self.name, action), body=sent, headers=headers)
        is_right = (
            action in ("book", "sell")
            and is_object(body)
            and body.keys() == {"values"}
            and is_object(body["values"])
            and body["values"].keys() == {"who"}
            and isinstance(body["values"]["who"], str)
            and bool(body["values"]["who"].strip())
        )
        assert (answer.status == 200) == is_right, (action, body, answer.body)
        if is_right:
            assert resolutions(self._host, self.run_id) == [{"action": action, **body["values"]}]
            self.answered += 1
            self._open()
            return
        assert answer.status in (400, 404, 405), answer.body
        assert schema.check("error-envelope", answer.document) == []


@pytest.fixture
def mutated(forms: Host) -> Iterator[MutatedForm]:
    made = MutatedForm(forms)
    yield made
    assert resolutions(forms, made.run_id) == []
    assert "interrupt.resolved" not in [each["type"] for each in events(forms, made.run_id)]


@pytest.mark.rule("surf-07", "surf-25")
def test_no_body_answers_more_than_the_form_asks(mutated: MutatedForm) -> None:
    @for_all(80, ACTIONS, BODIES, full=2_000)
    def check(action: str, body: Any) -> None:
        mutated.check(action, body)

    check()
    mutated.check("sell", {"values": {"who": "action"}})
    assert mutated.answered
    assert re.fullmatch(r"env-[\w-]+", mutated.name)
